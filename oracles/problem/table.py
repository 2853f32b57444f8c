"""An explicit table of losses: any hypothesis class that can be listed, any bounded loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracles.arithmetic import IntArray, Objective
from oracles.errors import InvalidProblem
from oracles.problem.grid import (
    Hypothesis,
    WeightGrid,
    hypothesis_at,
    members,
    squared_norms,
)
from oracles.problem.perturbation import Perturbation

_LARGEST_SUM = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class TabularProblem:
    """Minimise a listed loss minus a perturbation over a grid.

    A hypothesis is a tuple of integers from a grid, and what the integers mean is the caller's
    business: positions of medians, indices of columns, entries of a decision list. It answers to
    the same names as :class:`~oracles.problem.ZeroOneProblem`, wherever losses and perturbations
    are concerned.

    Parameters
    ----------
    losses : array-like of int, one entry per assignment of the grid
        In multiples of ``unit``; enumeration order (last coordinate fastest) or the grid's shape.
    grid : WeightGrid
        The hypotheses.
    unit : float
        Rows per step of ``losses``, a power of two at most 1. A perturbation must share it.
    perturbation : Perturbation or None
        Subtracted from the loss.
    from_bounded_rows : bool
        Whether each row is known to add a number in [0, 1] to every loss: :meth:`from_rows` and
        :meth:`from_function` see to it.

    Raises
    ------
    InvalidProblem
        If sizes, types or units do not fit.

    Notes
    -----
    **Guarantee.** :meth:`objective` is an exact integer number of steps.

    Examples
    --------
    >>> grid = WeightGrid(values=((0, 1, 2),))
    >>> problem = TabularProblem(losses=[6, 3, 5], grid=grid, unit=0.5)
    >>> problem.loss((1,)), problem.objective((1,))
    (1.5, 3)
    """

    losses: IntArray
    grid: WeightGrid
    unit: float = 1.0
    perturbation: Perturbation | None = None
    from_bounded_rows: bool = False

    def __post_init__(self) -> None:
        """Validate, and freeze the table."""
        losses = np.asarray(self.losses)
        if losses.dtype.kind not in "biu":
            raise InvalidProblem(f"losses must hold integers, got dtype {losses.dtype}.")
        if losses.size != self.grid.n_assignments:
            raise InvalidProblem(
                f"losses must have one entry per assignment ({self.grid.n_assignments:,}), "
                f"got {losses.size:,}."
            )
        table = np.array(losses.reshape(-1), dtype=np.int64, copy=True)
        table.setflags(write=False)
        object.__setattr__(self, "losses", table)
        bits = -math.log2(self.unit) if self.unit > 0 else -1.0
        if bits != int(bits) or bits < 0:
            raise InvalidProblem(f"unit must be a power of two at most 1, got {self.unit}.")
        largest = float(np.abs(table.astype(float)).max())
        if self.perturbation is not None:
            if self.perturbation.unit != self.unit:
                raise InvalidProblem("a perturbation must have the unit of the losses.")
            self.perturbation._check_against(self.grid)
            for part in (*self.perturbation.tables, self.perturbation.norm_table):
                largest += 0.0 if part is None else float(np.abs(part.astype(float)).max())
        if largest >= _LARGEST_SUM:
            raise InvalidProblem("losses and tables must keep every sum below 2**62.")

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[ArrayLike],
        grid: WeightGrid,
        *,
        unit: float = 2.0**-10,
        bound: float = 1.0,
    ) -> TabularProblem:
        """Return the sum of per-row losses.

        Parameters
        ----------
        rows : iterable of array-like, each one loss per assignment
            A row's loss under every hypothesis, in enumeration order or the grid's shape.
        grid : WeightGrid
            The hypotheses.
        unit : float
            Each row's losses are rounded to multiples of it, row by row.
        bound : float
            Largest loss of a row; losses are clipped to [0, bound] and divided by it, so that a
            row counts for at most one.

        Returns
        -------
        TabularProblem
            Every row adds a number in [0, 1] to each loss, whatever the other rows are.

        Raises
        ------
        InvalidProblem
            If a loss is not a number, or ``bound`` is not positive.
        """
        if not (bound > 0 and math.isfinite(bound)):
            raise InvalidProblem(f"bound must be finite and > 0, got {bound}.")
        total = np.zeros(grid.n_assignments, dtype=np.int64)
        for row in rows:
            values = np.asarray(row, dtype=np.float64).reshape(-1)
            if values.size != total.size or np.isnan(values).any():
                raise InvalidProblem("a row needs one loss per assignment, none of them NaN.")
            total += np.rint(np.clip(values / bound, 0.0, 1.0) / unit).astype(np.int64)
        return cls(losses=total, grid=grid, unit=unit, from_bounded_rows=True)

    @classmethod
    def from_function(
        cls,
        table: Iterable[Any],
        loss: Callable[[Any, Hypothesis], float],
        grid: WeightGrid,
        *,
        unit: float = 2.0**-10,
        bound: float = 1.0,
    ) -> TabularProblem:
        """Return the sum of ``loss(row, hypothesis)`` over the rows of a table.

        Parameters
        ----------
        table : iterable
            Rows of any type.
        loss : callable
            ``loss(row, hypothesis)``; must look at nothing else.
        grid, unit, bound
            As in :meth:`from_rows`.
        """
        everything = [hypothesis_at(grid, k) for k in range(grid.n_assignments)]
        rows = (np.array([loss(row, w) for w in everything]) for row in table)
        return cls.from_rows(rows, grid, unit=unit, bound=bound)

    @property
    def n_features(self) -> int:
        """Number of coordinates of a hypothesis."""
        return self.grid.n_features

    @property
    def is_exact(self) -> bool:
        """Whether objectives are exact integers: always."""
        return True

    @property
    def steps_per_row(self) -> int:
        """Objective units per row, ``1 / unit``."""
        return round(1.0 / self.unit)

    def _position(self, hypothesis: Sequence[int]) -> int:
        return int(np.ravel_multi_index(self.grid.indices(hypothesis), self.grid.shape))

    def loss(self, hypothesis: Sequence[int]) -> float:
        """Return the loss in rows."""
        return float(self.losses[self._position(hypothesis)]) * self.unit

    def perturbation_value(self, hypothesis: Sequence[int]) -> Objective:
        """Return what the perturbation subtracts, in steps."""
        if self.perturbation is None:
            return 0
        return int(self.all_perturbations()[self._position(hypothesis)])

    def objective(self, hypothesis: Sequence[int]) -> Objective:
        """Return loss minus perturbation, in steps (``int``)."""
        loss: int = self.losses[self._position(hypothesis)].item()
        return loss - self.perturbation_value(hypothesis)

    def all_perturbations(self) -> IntArray:
        """Return the perturbation of every assignment, enumeration order, shape (N,) int64."""
        shape = self.grid.shape
        total = np.zeros(shape, dtype=np.int64)
        if self.perturbation is None:
            return total.ravel()
        for block, table in zip(self.perturbation.blocks, self.perturbation.tables, strict=True):
            aligned = np.transpose(table, np.argsort(block))
            total += aligned.reshape([shape[j] if j in block else 1 for j in range(len(shape))])
        flat = total.ravel()
        if self.perturbation.norm_table is not None:
            norms = np.minimum(squared_norms(self.grid), len(self.perturbation.norm_table) - 1)
            flat = flat + self.perturbation.norm_table[norms]
        return flat

    def members(self) -> NDArray[np.intp]:
        """Return the positions of the hypotheses of the grid, increasing."""
        inside = members(self.grid)
        return np.arange(len(self.losses)) if inside is None else np.flatnonzero(inside)

    def minimiser(self) -> tuple[Hypothesis, int]:
        """Return the first minimiser in enumeration order, and its objective in steps."""
        objectives = self.losses - self.all_perturbations()
        members = self.members()
        place = int(members[np.argmin(objectives[members])])
        return hypothesis_at(self.grid, place), objectives[place].item()

    def trivial_bound(self) -> Objective:
        """Return a valid lower bound on the objective, in steps."""
        smallest: int = self.losses.min().item()
        return (
            smallest
            if self.perturbation is None
            else (smallest - self.perturbation.largest_value())
        )

    def with_perturbation(self, perturbation: Perturbation | None) -> TabularProblem:
        """Return the same problem under another perturbation."""
        return replace(self, perturbation=perturbation)
