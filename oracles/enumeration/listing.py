"""Every hypothesis: the referee for all other oracles.

The coordinates are split into a leading and a trailing part. Points that agree on the trailing
columns form a *cell*: for one leading assignment, what a cell costs depends only on its trailing
partial score. So the losses of all hypotheses are a matrix product: (leading assignments) x (cell,
partial score) times (cell, partial score) x (trailing assignments). Entries are integers small
enough to be exact in floating point.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray, Objective
from oracles.interface import Claim, Limit, SolveOptions, Termination
from oracles.problem import (
    ENUMERATION_LIMIT,
    WeightGrid,
    ZeroOneProblem,
    grid_assignments,
    hypothesis_at,
    members,
    squared_norms,
)

_CHUNK_CELLS = 4_000_000


@dataclass(frozen=True, slots=True)
class _Split:
    """The matrix product behind an enumeration.

    A cell is all points that agree on the trailing coordinates. Points are sorted by cell.

    Parameters
    ----------
    leading : ndarray of shape (a, s), int64
        Assignments of the first ``s`` coordinates.
    leading_scores : ndarray of shape (a, m), int64
        What each of them adds to each point's score.
    costs : ndarray of shape (m,), int64
        What predicting "+" costs more than "-", rows of loss.
    cell_starts : ndarray of shape (c,), int64
        First point of each cell.
    trailing_values : ndarray of shape (v,), int64
        Distinct scores that trailing assignments give to cells.
    selector : ndarray of shape (c * max(v, 1), b), float32 or float64
        1 where trailing assignment ``b`` gives a cell that score, else 0; float32 where that is
        exact.
    base : int
        Loss if everything is predicted "-", rows.
    """

    leading: IntArray
    leading_scores: IntArray
    costs: IntArray
    cell_starts: IntArray
    trailing_values: IntArray
    selector: NDArray[Any]
    base: int


def _leading_size(problem: ZeroOneProblem) -> int:
    """Return how many coordinates lead, so that both parts have similar sizes."""
    sizes = problem.grid.shape
    best = min(
        range(len(sizes) + 1),
        key=lambda s: math.prod(sizes[:s]) + 4 * math.prod(sizes[s:]),
    )
    return max(1, min(best, len(sizes)))


def _split(problem: ZeroOneProblem) -> _Split:
    s = _leading_size(problem)
    cells, inverse = np.unique(problem.points[:, s:], axis=0, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    starts = np.searchsorted(inverse.ravel()[order], np.arange(len(cells)))
    points, costs = problem.points[order], (problem.negatives - problem.positives)[order]
    leading = grid_assignments(problem.grid.values[:s])
    trailing = grid_assignments(problem.grid.values[s:])
    scores = cells @ trailing.T if len(cells) else np.zeros((0, len(trailing)), dtype=np.int64)
    values, codes = np.unique(scores, return_inverse=True)
    exact_in_single = float(np.abs(costs.astype(float)).sum()) < 2**24
    selector = np.zeros(
        (len(cells), max(1, len(values)), len(trailing)),
        dtype=np.float32 if exact_in_single else np.float64,
    )
    if len(cells):
        rows, columns = np.indices(scores.shape)
        selector[rows, codes.reshape(scores.shape), columns] = 1
    return _Split(
        leading=leading,
        leading_scores=leading @ points[:, :s].T,
        costs=costs,
        cell_starts=starts,
        trailing_values=values,
        selector=selector.reshape(-1, len(trailing)),
        base=int(problem.positives.sum()),
    )


def _loss_chunks(problem: ZeroOneProblem) -> Iterator[tuple[int, IntArray]]:
    """Yield (first position, losses) of consecutive runs of hypotheses, in enumeration order."""
    split = _split(problem)
    n_trailing = split.selector.shape[1]
    n_leading = len(split.leading)
    if not len(split.costs):
        yield 0, np.zeros(n_leading * n_trailing, dtype=np.int64)
        return
    width = max(n_trailing, split.selector.shape[0], len(split.costs))
    chunk = max(1, _CHUNK_CELLS // width)
    for start in range(0, n_leading, chunk):
        scores = split.leading_scores[start : start + chunk]
        table = np.empty(
            (len(scores), len(split.cell_starts), len(split.trailing_values)),
            dtype=split.selector.dtype,
        )
        for k, value in enumerate(split.trailing_values):
            charged = np.where(scores >= 1 - value, split.costs, 0)
            table[:, :, k] = np.add.reduceat(charged, split.cell_starts, axis=1)
        losses = table.reshape(len(scores), -1) @ split.selector
        yield start * n_trailing, np.rint(losses).astype(np.int64).ravel() + split.base


def all_losses(problem: ZeroOneProblem) -> IntArray:
    """Return the loss of every assignment of the whole box, shape (N,) int64, rows.

    Assignments are in enumeration order: the last coordinate varies fastest.
    """
    return np.concatenate([losses for _, losses in _loss_chunks(problem)])


def all_perturbations(problem: ZeroOneProblem) -> NDArray[Any]:
    """Return the perturbation of every assignment of the box, shape (N,), objective units."""
    shape = problem.grid.shape
    perturbation = problem.perturbation
    dtype = np.int64 if problem.is_exact else np.float64
    total = np.zeros(shape, dtype=dtype)
    if perturbation is None:
        return total.ravel()
    for block, table in zip(perturbation.blocks, perturbation.tables, strict=True):
        order = np.argsort(block)
        aligned = np.transpose(table, order)
        total += aligned.reshape([shape[j] if j in block else 1 for j in range(len(shape))])
    flat = total.ravel()
    if perturbation.norm_table is not None:
        flat = flat + perturbation.norm_table[_clipped_norms(problem.grid)]
    return flat


def _clipped_norms(grid: WeightGrid) -> IntArray:
    """Squared norms with those beyond the budget mapped onto it (they are masked anyway)."""
    norms = squared_norms(grid)
    return norms if grid.norm_budget is None else np.minimum(norms, grid.largest_norm)


class EnumerationOracle:
    """Exact minimisation by looking at every hypothesis.

    Returns the lexicographically smallest minimiser. Complete: without a time limit it always
    ends with a proof.
    """

    name = "enumeration"
    integer_arithmetic = True
    takes_alternatives = True
    requirement = (
        f"takes grids of at most {ENUMERATION_LIMIT:,} weight combinations; use fewer columns, "
        "smaller weights or another oracle"
    )

    def supports(self, problem: ZeroOneProblem) -> bool:
        """Return whether the box is small enough."""
        return problem.grid.n_assignments <= ENUMERATION_LIMIT

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Minimise by enumeration."""
        started = time.perf_counter()
        perturbations = all_perturbations(problem)
        allowed = members(problem.grid)
        best: tuple[Objective, int] | None = None
        for start, losses in _loss_chunks(problem):
            objectives = losses * problem.steps_per_row
            objectives = objectives - perturbations[start : start + len(losses)]
            best = self._improved(best, start, objectives, allowed)
            seconds = time.perf_counter() - started
            if options.progress is not None:
                incumbent = None if best is None else float(best[0]) * problem.unit
                options.progress(incumbent, float(problem.trivial_bound()) * problem.unit, seconds)
            finished = start + len(losses) == len(perturbations)
            if options.time_limit is not None and seconds > options.time_limit and not finished:
                return self._claim(problem, best, start + len(losses), Limit.TIME)
        return self._claim(problem, best, len(perturbations), None)

    @staticmethod
    def _improved(
        best: tuple[Objective, int] | None,
        start: int,
        objectives: NDArray[Any],
        allowed: NDArray[np.bool_] | None,
    ) -> tuple[Objective, int] | None:
        positions = np.arange(len(objectives))
        if allowed is not None:
            positions = np.flatnonzero(allowed[start : start + len(objectives)])
            if not len(positions):
                return best
        place = int(positions[np.argmin(objectives[positions])])
        value: Objective = objectives[place].item()
        return (value, start + place) if best is None or value < best[0] else best

    @staticmethod
    def _claim(
        problem: ZeroOneProblem, best: tuple[Objective, int] | None, seen: int, limit: Limit | None
    ) -> Claim:
        if best is None:
            return Claim(
                hypothesis=None,
                objective=None,
                dual_bound=-math.inf,
                termination=Termination.NO_HYPOTHESIS,
                limit=limit,
                nodes=seen,
            )
        return Claim(
            hypothesis=hypothesis_at(problem.grid, best[1]),
            objective=best[0],
            dual_bound=best[0] if limit is None else min(problem.trivial_bound(), best[0]),
            termination=Termination.OPTIMAL if limit is None else Termination.FEASIBLE,
            limit=limit,
            nodes=seen,
        )
