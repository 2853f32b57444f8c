"""Learners for the parts of a robust vote, and the ballots that are made of their answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray
from oracles.enumeration import all_losses
from oracles.interface import Oracle, SolveOptions, solve
from oracles.problem import ErrorCosts, WeightGrid, ZeroOneProblem, grid_assignments, squared_norms

CANDIDATE_LIMIT = 1_000_000
"""Largest grid whose hypotheses may be candidates of a vote."""

Part = tuple[NDArray[Any], ...]


class PartLearner(Protocol):
    """Anything that looks at one part and names hypotheses. Nothing it does is trusted."""

    def __call__(self, part: Part, grid: WeightGrid, /) -> Any:
        """Return one hypothesis of the grid, or a sequence of hypotheses it approves of.

        Parameters
        ----------
        part : tuple of ndarray
            The rows of one part; for classifiers ``(points, labels)``, points (n, d) int64 with
            the constant 1 first, labels +1, -1 or 0 (missing).
        grid : WeightGrid
            The candidates.
        """
        ...


@dataclass(frozen=True, slots=True)
class Ballots:
    """Turns a learner's answer into a ballot: one bit per assignment of the grid.

    Parameters
    ----------
    learner : PartLearner
        Not trusted: whatever is not a hypothesis of the grid is dropped.
    grid : WeightGrid
        The candidates.
    """

    learner: PartLearner
    grid: WeightGrid

    @property
    def n_bytes(self) -> int:
        """Length of a ballot."""
        return -(-self.grid.n_assignments // 8)

    def nothing(self) -> bytes:
        """Return the ballot that approves of no one: the fixed public vote of a failed part."""
        return bytes(self.n_bytes)

    def __call__(self, part: Part) -> bytes:
        """Return the ballot of a part."""
        answer = np.asarray(self.learner(part, self.grid))
        if answer.dtype.kind not in "iu" or answer.ndim not in (1, 2) or not answer.size:
            return self.nothing()
        marks = np.zeros(self.grid.n_assignments, dtype=bool)
        marks[grid_positions(np.atleast_2d(answer).astype(np.int64), self.grid)] = True
        return np.packbits(marks).tobytes()


def grid_positions(hypotheses: IntArray, grid: WeightGrid) -> NDArray[np.intp]:
    """Return the enumeration positions of those hypotheses that belong to the grid."""
    if hypotheses.shape[1] != grid.n_features:
        return np.zeros(0, dtype=np.intp)
    inside = np.ones(len(hypotheses), dtype=bool)
    columns = []
    for allowed, column in zip(grid.values, hypotheses.T, strict=True):
        values = np.asarray(allowed)
        place = np.minimum(np.searchsorted(values, column), len(values) - 1)
        inside &= values[place] == column
        columns.append(place)
    if grid.norm_budget is not None:
        # Compare as floats first: squares of absurd weights overflow.
        inside &= (hypotheses.astype(float) ** 2).sum(axis=1) <= grid.norm_budget
    kept = tuple(column[inside] for column in columns)
    return np.asarray(np.ravel_multi_index(kept, grid.shape), dtype=np.intp)


def part_problem(part: Part, grid: WeightGrid) -> ZeroOneProblem:
    """Return a part's 0/1 loss, equal rows merged."""
    points, labels = part
    kept = labels != 0
    merged, inverse = np.unique(points[kept], axis=0, return_inverse=True)
    counts = [
        np.bincount(inverse.ravel()[labels[kept] == s], minlength=len(merged)) for s in (1, -1)
    ]
    return ZeroOneProblem(points=merged, positives=counts[0], negatives=counts[1], grid=grid)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErmLearner:
    """The part's best hypothesis, or all that come close.

    Parameters
    ----------
    slack : float
        Approve of every hypothesis whose loss exceeds the part's smallest by at most
        ``slack * sqrt(rows of the part)`` rows, about what chance does to it; 0 approves of all
        minimisers. Looks at every hypothesis. Negative: ask the oracle for one hypothesis.
    oracle : str or Oracle
        Who minimises when ``slack`` is negative. It may lie.
    options : SolveOptions
        Its limits.
    error_costs : ErrorCosts
        What the loss weighs mistakes by; the slack is then in what rows typically cost.
    """

    slack: float = 0.5
    oracle: str | Oracle = "auto"
    options: SolveOptions = SolveOptions()
    error_costs: ErrorCosts = ErrorCosts()

    def __call__(self, part: Part, grid: WeightGrid, /) -> Any:
        """Return the approved hypotheses."""
        problem = self.error_costs.weigh(part_problem(part, grid))
        if self.slack < 0:
            return solve(problem, self.oracle, self.options).hypothesis
        losses = all_losses(problem)
        if grid.norm_budget is not None:
            losses = np.where(
                squared_norms(grid) <= grid.norm_budget, losses, np.iinfo(np.int64).max
            )
        slack = self.slack * float(self.error_costs.typical)
        limit = losses.min() + slack * math.sqrt(len(part[1]))
        return grid_assignments(grid.values)[losses <= limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorLearner:
    """Any scikit-learn classifier; approves of the scorecards that imitate it on its part.

    Parameters
    ----------
    estimator : object
        Has ``fit`` and ``predict``. Fitted on the columns without the constant one.
    slack : float
        As in :class:`ErmLearner`, the estimator's predictions taking the place of the labels.
    """

    estimator: Any
    slack: float = 0.5

    def __call__(self, part: Part, grid: WeightGrid, /) -> Any:
        """Return the approved hypotheses."""
        from sklearn.base import clone

        points, labels = part
        kept = labels != 0
        fitted = clone(self.estimator).fit(points[kept, 1:], labels[kept])
        predicted = np.asarray(fitted.predict(points[:, 1:]))
        return ErmLearner(slack=self.slack)((points, predicted), grid)
