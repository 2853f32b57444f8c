"""The one objective and the one tie rule, over the lattice of oracles/problem/grid.py.

A hypothesis is a tuple of integer weights ``w``. It scores a point ``x`` with ``<w, x>`` and
predicts "+" if and only if the score is at least 1. Its loss is the weight of the points it gets
wrong, and its objective is that loss minus a perturbation of ``w``. Formulations, searches,
verification and tests all call the methods of :class:`ZeroOneProblem`; nothing else spells these
rules out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracles.arithmetic import IntArray, Objective
from oracles.errors import InvalidProblem
from oracles.problem.grid import WeightGrid
from oracles.problem.perturbation import Perturbation

_LARGEST_SUM = 2**62


def _integers(values: ArrayLike, *, name: str, n_dimensions: int) -> IntArray:
    array = np.asarray(values)
    if array.ndim != n_dimensions:
        raise InvalidProblem(f"{name} must have {n_dimensions} dimension(s), got {array.ndim}.")
    if array.dtype.kind not in "biu" and not (array.dtype.kind == "f" and array.size == 0):
        raise InvalidProblem(f"{name} must hold integers, got dtype {array.dtype}.")
    if array.dtype == np.int64 and array.base is None and not array.flags.writeable:
        if array.flags.c_contiguous:
            return array  # another problem's: nobody writes to it
    owned = np.array(array, dtype=np.int64, order="C", copy=True)
    owned.setflags(write=False)
    return owned


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
        # Of the two ends: a copy in doubles would be the largest array of all.
        ends = (self.points.min(initial=0), self.points.max(initial=0))
        reach = max(abs(float(end)) for end in ends) * sum(
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
