"""The one objective and the one tie rule, over the lattice of oracles/grid.py.

A hypothesis is a tuple of integer weights ``w``. It scores a point ``x`` with ``<w, x>`` and
predicts "+" if and only if the score is at least 1. Its loss is the weight of the points it gets
wrong, and its objective is that loss minus a perturbation of ``w``. Formulations, searches,
verification and tests all call the methods of :class:`ZeroOneProblem`; nothing else spells these
rules out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracles.arrays import IntArray
from oracles.errors import InvalidProblem
from oracles.grid import WeightGrid

__all__ = [
    "Hypothesis",
    "IntArray",
    "Objective",
    "Perturbation",
    "WeightGrid",
    "ZeroOneProblem",
]

Hypothesis = tuple[int, ...]
Objective = int | float

_LARGEST_SUM = 2**62
_FINEST_UNIT_BITS = 40


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a C-contiguous private copy that cannot be written to."""
    owned = np.array(array, order="C", copy=True)
    owned.setflags(write=False)
    return owned


def _integers(values: ArrayLike, *, name: str, n_dimensions: int) -> IntArray:
    array = np.asarray(values)
    if array.ndim != n_dimensions:
        raise InvalidProblem(f"{name} must have {n_dimensions} dimension(s), got {array.ndim}.")
    if array.dtype.kind not in "biu" and not (array.dtype.kind == "f" and array.size == 0):
        raise InvalidProblem(f"{name} must hold integers, got dtype {array.dtype}.")
    return _frozen(array.astype(np.int64))


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
        return _frozen(array)

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
            expected = tuple(grid.shape[j] for j in block)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroOneProblem:
    """Minimise weighted 0/1 loss minus a perturbation over a grid of integer weights.

    Parameters
    ----------
    points : array-like of int, shape (m, d)
        Distinct or repeated feature vectors; a constant column is the intercept.
    positives, negatives : array-like of int, shape (m,)
        Weight of the point's "+" and "-" labels. May be negative.
    grid : WeightGrid
        The hypotheses.
    perturbation : Perturbation or None
        Subtracted from the loss.

    Notes
    -----
    **Guarantee.** If ``perturbation`` is None or has a ``unit``, :meth:`objective` is an exact
    integer: a number of lattice steps, ``steps_per_row`` of which make one misclassified row.

    Examples
    --------
    >>> problem = ZeroOneProblem(points=[[1, 0], [1, 1]], positives=[0, 3], negatives=[2, 1],
    ...                          grid=WeightGrid.box(2, 1))
    >>> problem.loss((0, 1)), problem.objective((0, 1))
    (1, 1)
    """

    points: IntArray
    positives: IntArray
    negatives: IntArray
    grid: WeightGrid
    perturbation: Perturbation | None = None

    def __post_init__(self) -> None:
        """Validate shapes and magnitudes; freeze the arrays."""
        points = np.asarray(self.points)
        if points.size == 0 and points.ndim != 2:
            points = np.zeros((0, self.grid.n_features), dtype=np.int64)
        object.__setattr__(self, "points", _integers(points, name="points", n_dimensions=2))
        for name in ("positives", "negatives"):
            counts = _integers(getattr(self, name), name=name, n_dimensions=1)
            if len(counts) != len(self.points):
                raise InvalidProblem(f"{name} must have one entry per point.")
            object.__setattr__(self, name, counts)
        if self.points.shape[1] != self.grid.n_features:
            raise InvalidProblem(
                f"points must have one column per grid coordinate ({self.grid.n_features}), "
                f"got {self.points.shape[1]}."
            )
        if self.perturbation is not None:
            self.perturbation._check_against(self.grid)
        self._check_magnitudes()

    def _check_magnitudes(self) -> None:
        """Refuse problems whose exact sums could leave 64-bit integers."""
        largest = float(np.abs(self.positives.astype(float)).sum())
        largest += float(np.abs(self.negatives.astype(float)).sum())
        largest *= self.steps_per_row
        if self.perturbation is not None and self.perturbation.unit is not None:
            for table in (*self.perturbation.tables, self.perturbation.norm_table):
                largest += 0.0 if table is None else float(np.abs(table.astype(float)).max())
        reach = np.abs(self.points.astype(float)).max(initial=0.0) * sum(
            float(max(abs(allowed[0]), abs(allowed[-1]))) for allowed in self.grid.values
        )
        if max(largest, reach) >= _LARGEST_SUM:
            raise InvalidProblem("counts and tables must keep every sum below 2**62.")

    @property
    def n_points(self) -> int:
        """Number of points, m."""
        return int(self.points.shape[0])

    @property
    def n_features(self) -> int:
        """Number of coordinates, d."""
        return self.grid.n_features

    @property
    def is_exact(self) -> bool:
        """Whether objectives are exact integers on a lattice."""
        return self.perturbation is None or self.perturbation.unit is not None

    @property
    def unit(self) -> float:
        """Rows per objective unit: the lattice spacing, or 1.0 where objectives are in rows."""
        if self.perturbation is None or self.perturbation.unit is None:
            return 1.0
        return self.perturbation.unit

    @property
    def steps_per_row(self) -> int:
        """Objective units per misclassified row, ``1 / unit``."""
        return round(1.0 / self.unit)

    def predict(self, hypothesis: Sequence[int]) -> NDArray[np.bool_]:
        """Return, for each point, whether it is predicted "+": its score is at least 1."""
        self.grid.indices(hypothesis)
        scores = self.points @ np.asarray(hypothesis, dtype=np.int64)
        return np.asarray(scores >= 1)

    def loss(self, hypothesis: Sequence[int]) -> int:
        """Return the weight of misclassified labels, in rows."""
        positive = self.predict(hypothesis)
        return int(np.where(positive, self.negatives, self.positives).sum())

    def perturbation_value(self, hypothesis: Sequence[int]) -> Objective:
        """Return what the perturbation subtracts, in objective units."""
        if self.perturbation is None:
            return 0
        indices = self.grid.indices(hypothesis)
        parts: list[Objective] = [
            table[tuple(indices[j] for j in block)].item()
            for block, table in zip(
                self.perturbation.blocks, self.perturbation.tables, strict=True
            )
        ]
        if self.perturbation.norm_table is not None:
            norm = sum(int(w) ** 2 for w in hypothesis)
            parts.append(self.perturbation.norm_table[norm].item())
        return sum(parts) if self.is_exact else math.fsum(parts)

    def objective(self, hypothesis: Sequence[int]) -> Objective:
        """Return loss minus perturbation, in objective units (``int`` if :attr:`is_exact`)."""
        return self.loss(hypothesis) * self.steps_per_row - self.perturbation_value(hypothesis)

    def trivial_bound(self) -> Objective:
        """Return a valid, usually loose, lower bound on the objective, in objective units."""
        sure = int(np.minimum(self.positives, self.negatives).sum()) * self.steps_per_row
        return sure if self.perturbation is None else sure - self.perturbation.largest_value()

    def with_perturbation(self, perturbation: Perturbation | None) -> ZeroOneProblem:
        """Return the same problem under another perturbation."""
        return ZeroOneProblem(
            points=self.points,
            positives=self.positives,
            negatives=self.negatives,
            grid=self.grid,
            perturbation=perturbation,
        )
