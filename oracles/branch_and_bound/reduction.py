"""From a problem to what the exact search works on: fewer points, one cost each, finer units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.arrays import INFINITE, Model
from oracles.problem import ZeroOneProblem

LARGEST_COST = 2**57
"""Every sum of costs must stay below this, in internal units.

Why 64 bits are enough: ``total_cost`` bounds the cost of every hypothesis and every partial sum of
costs and regrets, and ``reduce_problem`` refines the unit only while that bound stays below 2**57.
What a factor shares out is such a sum, divided among its members; ``INFINITE`` (2**61) is 16 times
larger, and a sum of two of them still fits. Scores are sums of point entries times weights, below
2**62 by the problem's own check. Completion works in 32 bits: it is used only where scores stay
below 2**14 and all rows together below 2**31.
"""

LARGEST_NORM = 4_000_000
"""Largest squared norm that is told apart."""

_FINEST_SCALE = 2**12


@dataclass(frozen=True, slots=True)
class Reduction:
    """A problem's points merged, its costs in internal units.

    Parameters
    ----------
    model : Model
        Grid, blocks and norm.
    points : ndarray of shape (n, d), int64
        Distinct points that cost something, and are not all zero.
    costs : ndarray of shape (n,), int64
        What predicting "+" costs more than predicting "-", internal units, never zero.
    unary : ndarray of shape (d, k), int64
        Cost of each value of each coordinate, internal units, padded with 0.
    base : int
        Cost of every hypothesis, internal units: each point's cheaper label, points that score 0,
        and the least cost of every block and of the norm (which the model's costs are relative
        to).
    row : int
        Internal units per row of loss, of which all costs of points are multiples.
    """

    model: Model
    points: IntArray
    costs: IntArray
    unary: IntArray
    base: int
    row: int

    @property
    def is_perturbed(self) -> bool:
        """Whether some hypotheses cost more than others apart from their predictions."""
        model = self.model
        return bool(np.ptp(self.unary, axis=1).any() or len(model.block_at))

    @property
    def least(self) -> int:
        """What every hypothesis costs at least, whatever its points cost; internal units."""
        return self.base + int(self.unary.min(axis=1).sum())


def whole_domain(reduction: Reduction) -> BoolArray:
    """Return the box: every position that holds a value."""
    model = reduction.model
    return np.arange(model.values.shape[1])[None, :] < model.n_values[:, None]


def value_ranges(model: Model, domain: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the least and the largest weight that each coordinate may take."""
    least = np.where(domain, model.values, np.int64(INFINITE)).min(axis=1)
    largest = np.where(domain, model.values, np.int64(-INFINITE)).max(axis=1)
    return least.astype(np.int64), largest.astype(np.int64)


def total_cost(problem: ZeroOneProblem) -> int:
    """Return a bound on every sum of costs and regrets, in objective steps."""
    total = int(np.abs(problem.negatives - problem.positives).astype(object).sum())
    # Negative counts must not cancel positive ones.
    total += int(np.abs(np.minimum(problem.positives, problem.negatives)).astype(object).sum())
    total *= problem.steps_per_row
    if problem.perturbation is not None:
        for table in (*problem.perturbation.tables, problem.perturbation.norm_table):
            if table is not None:
                total += 2 * int(np.abs(table).max(initial=0))
    return total


def largest_box_norm(problem: ZeroOneProblem) -> int:
    """Return the largest squared norm of the box, the norm budget ignored."""
    return sum(max(v * v for v in allowed) for allowed in problem.grid.values)


def needs_norm(problem: ZeroOneProblem) -> bool:
    """Return whether the squared norm matters: it has a cost, or a budget that binds."""
    if problem.perturbation is not None and problem.perturbation.norm_table is not None:
        return True
    budget = problem.grid.norm_budget
    return budget is not None and budget < largest_box_norm(problem)


def reduce_problem(problem: ZeroOneProblem) -> Reduction:
    """Merge equal points, drop those that cost nothing, and refine the unit of cost."""
    unit_cost = max(1, total_cost(problem))
    scale = 1
    while problem.steps_per_row * scale < _FINEST_SCALE and unit_cost * scale * 2 < LARGEST_COST:
        scale *= 2
    points, inverse = np.unique(problem.points, axis=0, return_inverse=True)
    labels = np.zeros((2, len(points)), dtype=np.int64)
    np.add.at(labels[0], inverse.ravel(), problem.positives)
    np.add.at(labels[1], inverse.ravel(), problem.negatives)
    factor = problem.steps_per_row * scale
    costs = (labels[1] - labels[0]) * factor
    base = int(labels.min(axis=0, initial=2**62).sum()) * factor if len(points) else 0
    blank = ~points.any(axis=1)
    base += int(np.maximum(-costs[blank], 0).sum())
    kept = ~blank & (costs != 0)
    model, shifted = _shifted(_model(problem, scale))
    base += shifted
    points, costs = points[kept], costs[kept]
    # Sharing passes gain most when points with few columns go first, heavy ones before light ones.
    order = np.lexsort((-np.abs(costs), np.count_nonzero(points, axis=1)))
    return Reduction(
        model=model,
        points=np.ascontiguousarray(points[order]),
        costs=costs[order],
        unary=_unary(problem, model.values.shape, scale),
        base=base,
        row=factor,
    )


def _shifted(model: Model) -> tuple[Model, int]:
    """Return the model with least block and norm costs 0, and what was taken off."""
    total = 0
    ends = [*model.block_at[1:], len(model.block_cost)]
    block_cost, norm_cost = model.block_cost.copy(), model.norm_cost.copy()
    for first, last in zip(model.block_at, ends, strict=False):
        least = block_cost[first:last].min()
        block_cost[first:last] -= least
        total += int(least)
    if len(norm_cost):
        least = norm_cost.min()
        norm_cost[norm_cost < INFINITE] -= least
        total += int(least)
    return model._replace(block_cost=block_cost, norm_cost=norm_cost), total


def _unary(problem: ZeroOneProblem, shape: tuple[int, ...], scale: int) -> IntArray:
    unary = np.zeros(shape, dtype=np.int64)
    if problem.perturbation is not None:
        for block, table in zip(
            problem.perturbation.blocks, problem.perturbation.tables, strict=True
        ):
            if len(block) == 1:
                unary[block[0], : len(table)] = -table * scale
    return unary


def _model(problem: ZeroOneProblem, scale: int) -> Model:
    shape = problem.grid.shape
    values = np.zeros((len(shape), max(shape)), dtype=np.int64)
    for j, allowed in enumerate(problem.grid.values):
        values[j, : len(allowed)] = allowed
    starts = [0]
    coords: list[int] = []
    strides: list[int] = []
    places: list[int] = []
    costs = [np.zeros(0, dtype=np.int64)]
    perturbation = problem.perturbation
    if perturbation is not None:
        size = 0
        for block, table in zip(perturbation.blocks, perturbation.tables, strict=True):
            if len(block) > 1:
                coords.extend(block)
                starts.append(len(coords))
                strides.extend(stride // table.itemsize for stride in table.strides)
                places.append(size)
                costs.append(-table.ravel() * scale)
                size += table.size
    keys = np.random.default_rng(0).integers(-(2**62), 2**62, len(shape)) | 1

    def integers(numbers: list[int]) -> IntArray:
        return np.asarray(numbers, dtype=np.int64)

    return Model(
        values=values,
        n_values=integers(list(shape)),
        keys=keys,
        block_start=integers(starts),
        block_coord=integers(coords),
        block_stride=integers(strides),
        block_at=integers(places),
        block_cost=np.concatenate(costs),
        norm_cost=_norm_cost(problem, scale),
        scale=scale,
    )


def _norm_cost(problem: ZeroOneProblem, scale: int) -> IntArray:
    if not needs_norm(problem):
        return np.zeros(0, dtype=np.int64)
    largest = largest_box_norm(problem)
    if problem.grid.norm_budget is not None:
        largest = min(largest, problem.grid.norm_budget)
    costs = np.full(largest + 1, 0, dtype=np.int64)
    perturbation = problem.perturbation
    if perturbation is not None and perturbation.norm_table is not None:
        # Norms that no hypothesis of the grid has need no entry in the table.
        table = perturbation.norm_table[: largest + 1]
        costs[:] = INFINITE
        costs[: len(table)] = -table * scale
    return costs
