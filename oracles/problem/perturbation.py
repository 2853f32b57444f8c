"""Perturbation of the objective: one term a block of coordinates, one of the norm."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracles.arithmetic import Objective, frozen
from oracles.errors import InvalidProblem
from oracles.problem.grid import WeightGrid

_FINEST_UNIT_BITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Perturbation:
    """A function of the hypothesis that is subtracted from its loss.

    Parameters
    ----------
    blocks : tuple of tuple of int
        Disjoint groups of coordinates. Coordinates in no block are not perturbed.
    tables : tuple of ndarray
        One table per block; axis ``k`` runs over the values of the block's ``k``-th coordinate, in
        grid order. Integer multiples of ``unit`` (int64) if ``unit`` is set, else float64 in rows.
    norm_table : ndarray of shape (max_norm + 1,) or None
        Added for the squared norm of the hypothesis; entry ``k`` is for ``|w|^2 == k``.
    unit : float or None
        Lattice spacing in rows, a power of two at most 1. ``None``: the tables are floats.
    """

    blocks: tuple[tuple[int, ...], ...]
    tables: tuple[NDArray[Any], ...]
    norm_table: NDArray[Any] | None = None
    unit: float | None = None

    def __post_init__(self) -> None:
        """Validate shapes and the lattice; freeze the arrays."""
        blocks = tuple(tuple(int(j) for j in block) for block in self.blocks)
        covered = [j for block in blocks for j in block]
        if len(set(covered)) != len(covered) or any(not block for block in blocks):
            raise InvalidProblem("blocks must be non-empty and disjoint.")
        if len(blocks) != len(self.tables):
            raise InvalidProblem("there must be one table per block.")
        if self.unit is not None:
            bits = -math.log2(self.unit) if self.unit > 0 else -1.0
            if bits != int(bits) or not 0 <= bits <= _FINEST_UNIT_BITS:
                raise InvalidProblem(
                    f"unit must be 2**-r with r in 0..{_FINEST_UNIT_BITS}, got unit={self.unit}."
                )
        for block, table in zip(blocks, self.tables, strict=True):
            if np.ndim(table) != len(block):
                raise InvalidProblem("a table needs one axis per coordinate of its block.")
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "tables", tuple(self._stored(table) for table in self.tables))
        if self.norm_table is not None:
            object.__setattr__(self, "norm_table", self._stored(self.norm_table))

    def _stored(self, table: NDArray[Any]) -> NDArray[Any]:
        array = np.asarray(table)
        if self.unit is None:
            array = array.astype(np.float64)
            if not np.isfinite(array).all():
                raise InvalidProblem("tables must be finite.")
        elif array.dtype.kind not in "biu":
            raise InvalidProblem(f"tables on a lattice must hold integers, got {array.dtype}.")
        else:
            array = array.astype(np.int64)
        return frozen(array)

    @classmethod
    def separable(
        cls,
        tables: Iterable[ArrayLike],
        *,
        unit: float | None,
        norm_table: ArrayLike | None = None,
    ) -> Perturbation:
        """Return a perturbation with one block per coordinate (``tables[j][a]``)."""
        arrays = tuple(np.asarray(table) for table in tables)
        return cls(
            blocks=tuple((j,) for j in range(len(arrays))),
            tables=arrays,
            norm_table=None if norm_table is None else np.asarray(norm_table),
            unit=unit,
        )

    def _check_against(self, grid: WeightGrid) -> None:
        for block, table in zip(self.blocks, self.tables, strict=True):
            if any(not 0 <= j < grid.n_features for j in block):
                raise InvalidProblem("blocks must name coordinates of the grid.")
            expected = tuple(len(grid.values[j]) for j in block)
            if table.shape != expected:
                raise InvalidProblem(f"a table must have shape {expected}, got {table.shape}.")
        if self.norm_table is not None and (
            self.norm_table.ndim != 1 or len(self.norm_table) <= grid.largest_norm
        ):
            raise InvalidProblem("norm_table must have one entry per squared norm from 0 upwards.")

    def largest_value(self) -> Objective:
        """Return an upper bound on the perturbation of any hypothesis, in objective units."""
        parts = [table.max().item() for table in self.tables]
        if self.norm_table is not None:
            parts.append(self.norm_table.max().item())
        return sum(parts) if self.unit is not None else math.fsum(parts)
