"""Minimise the loss minus an independent random gain of every hypothesis, without listing them.

This is A* sampling (Maddison, Tarlow, Minka 2014) with another law. Gains are one-sided geometric,
``P[gain >= k] = exp(-rate * k)``, and drawn top-down as a best-first search goes: a node needs
only the largest gain below it. What the search never looks at is never drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from oracles.arithmetic import EntropySource, IntArray
from oracles.errors import InconsistentSolution, NoHypothesis, UnsupportedProblem
from oracles.problem import Hypothesis, ZeroOneProblem, require_no_alternatives

if TYPE_CHECKING:
    from oracles.sampling.a_star_kernels import AStarModel, Heap

LARGEST_A_STAR_BITS = 62
"""Log2 of the largest box."""

MOST_VALUES = 2001
"""Largest number of allowed weights of a coordinate."""

ROUNDING = 1
"""Units by which a computed gain may differ from the exact one."""

_LARGEST_SUM = 2**54

_WIDEST_REACH = 1_000_000

_WORDS = 1 << 16

_SLICE = 2_000

_NONE = 2**62

Watch = Callable[[int, int], None]
"""Called between slices with nodes expanded and nodes open."""


def check_a_star(problem_bits: float, most_values: int, rate: Fraction) -> None:
    """Refuse, by public facts alone, grids and rates for which rounding is not covered."""
    if problem_bits > LARGEST_A_STAR_BITS or most_values > MOST_VALUES:
        raise UnsupportedProblem(
            f"A* sampling takes grids of at most 2**{LARGEST_A_STAR_BITS} weight combinations "
            f"and {MOST_VALUES:,} values per weight; use fewer columns or smaller weights."
        )
    if not 2.0**-36 <= float(rate) <= 2.0**10:
        raise UnsupportedProblem(
            "A* sampling needs a decay per unit from 2**-36 to 2**10; use another unit."
        )


def check_a_star_table(problem: ZeroOneProblem, steps_per_row: int) -> int:
    """Refuse points and counts that are too large to add up; return the widest reach of a score.

    Raises
    ------
    UnsupportedProblem
        If there is a perturbation, the grid has alternatives, a score may vary by more than a
        million, or all counts make more than ``2**54`` units: bounds, of which gains take less
        than ``2**47``, are kept 64 times enlarged in 64 bits.
    """
    if problem.perturbation is not None:
        raise UnsupportedProblem("A* sampling takes problems without a perturbation.")
    require_no_alternatives(problem.grid, "A* sampling")
    spans = np.array([float(v[-1]) - float(v[0]) for v in problem.grid.values])
    widest = float((np.abs(problem.points.astype(float)) @ spans).max(initial=0.0))
    total = float(np.abs(problem.positives.astype(float)).sum())
    total += float(np.abs(problem.negatives.astype(float)).sum())
    if widest > _WIDEST_REACH or total * steps_per_row > _LARGEST_SUM:
        raise UnsupportedProblem(
            f"A* sampling takes scores that vary by at most {_WIDEST_REACH:,} and counts of at "
            f"most 2**{math.log2(_LARGEST_SUM):.0f} units in all; use a coarser unit."
        )
    return int(widest)


def minimise_by_a_star(
    problem: ZeroOneProblem,
    rate: Fraction,
    steps_per_row: int,
    *,
    entropy: EntropySource,
    max_nodes: int | None = None,
    watch: Watch | None = None,
    order: Sequence[int] | None = None,
    ways: int | None = None,
) -> Hypothesis:
    """Return a minimiser of ``steps_per_row * L(w) - gain(w)``, every gain drawn once.

    Parameters
    ----------
    problem : ZeroOneProblem
        No perturbation; norm budgets included.
    rate : Fraction
        Decay of the gains per unit.
    steps_per_row : int
        Units per row of loss.
    entropy : EntropySource
        Where the random words come from.
    max_nodes : int or None
        Cap on nodes expanded; reaching it raises and yields nothing.
    watch : callable or None
        Called between slices; what it raises ends the search.
    order : sequence of int or None
        In which order coordinates are fixed; None: those that move most rows first. Affects time
        only.
    ways : int or None
        Parts that a coordinate's values are split into at once; None: one per value.

    Raises
    ------
    UnsupportedProblem
        If the grid, the scores or the rate are too large.
    NoHypothesis
        If the cap was met.

    Notes
    -----
    **Guarantee.** There are independent gains of the stated law such that the answer is within
    ``2 * ROUNDING`` units of the minimum. Clocks are sums of positive terms, each good to a few
    ``2**-52`` of itself. So a clock is good to ``1e-13`` of itself at any depth. The exponential
    below a gain is good to ``1e-13 / rate`` units plus as much of itself: less than one unit.
    """
    from oracles.sampling import a_star_kernels as kernels  # compiled code, slow to import

    widest = check_a_star_table(problem, steps_per_row)
    grid = problem.grid
    check_a_star(float(np.log2(grid.n_assignments)), max(grid.shape), rate)
    columns = tuple(order) if order is not None else _order(problem)
    model = _model(problem, columns, float(rate), steps_per_row, ways or max(grid.shape))
    heap = _new_heap(1 << 12)
    state = np.zeros(8, dtype=np.int64)
    state[kernels.SIZE], state[kernels.INCUMBENT], state[kernels.BEST] = 1, _NONE, -1
    words = entropy.words(_WORDS)
    first = np.zeros(8, dtype=np.int64)
    heap.clock[0] = kernels.root_clock(words, first, float(grid.n_assignments))
    heap.key[0], heap.place[0] = -(2**62), int(model.n_values[0])
    state[kernels.USED] = first[kernels.USED]
    scores = np.zeros(len(model.costs), dtype=np.int64)
    steps = np.zeros(widest + 2, dtype=np.int64)
    while True:
        room = _SLICE if max_nodes is None else min(_SLICE, max_nodes - int(state[kernels.NODES]))
        status = kernels.expand(model, heap, state, words, scores, steps, room)
        if status == kernels.FINISHED:
            break
        if status == kernels.FULL:
            heap = _grown(heap)
        elif status == kernels.WORDS:
            words = entropy.words(_WORDS)
            state[kernels.USED] = 0
        elif max_nodes is not None and state[kernels.NODES] >= max_nodes:
            raise NoHypothesis(
                f"the search must end within {max_nodes} nodes; raise the cap or use a smaller "
                "grid."
            )
        if watch is not None:
            watch(int(state[kernels.NODES]), int(state[kernels.SIZE]))
    code = int(state[kernels.BEST])
    if code < 0:
        raise InconsistentSolution("a search must end with a hypothesis.")
    found = [0] * grid.n_features
    for j, column in enumerate(columns):
        place = code // int(model.strides[j + 1]) % int(model.n_values[j])
        found[column] = grid.values[column][place]
    if not grid.contains(found):
        raise InconsistentSolution("a search must end inside of the grid.")
    return tuple(found)


def _order(problem: ZeroOneProblem) -> tuple[int, ...]:
    """Return the coordinates, those that move most rows first."""
    weights = np.abs(problem.negatives - problem.positives)
    moved = weights @ (problem.points != 0)
    return tuple(int(j) for j in np.argsort(-moved, kind="stable"))


def _model(
    problem: ZeroOneProblem,
    columns: Sequence[int],
    rate: float,
    steps_per_row: int,
    ways: int,
) -> AStarModel:
    from oracles.sampling.a_star_kernels import AStarModel

    points, where = np.unique(problem.points[:, list(columns)], axis=0, return_inverse=True)
    costs = np.zeros(len(points), dtype=np.int64)
    np.add.at(costs, where.ravel(), problem.negatives - problem.positives)
    points, costs = points[costs != 0], costs[costs != 0]
    allowed = [problem.grid.values[c] for c in columns]
    m, d = points.shape
    values = np.zeros((d, max(map(len, allowed))), dtype=np.int64)
    strides = np.ones(d + 1, dtype=np.int64)
    low, high = np.zeros((d + 1, m), dtype=np.int64), np.zeros((d + 1, m), dtype=np.int64)
    squares = np.zeros(d + 1, dtype=np.int64)
    order = np.zeros((d + 1, m), dtype=np.int64)
    last = np.ones((d + 1, m), dtype=np.bool_)
    for t in range(d, -1, -1):
        if t < d:
            values[t, : len(allowed[t])] = allowed[t]
            strides[t] = strides[t + 1] * len(allowed[t])
            ends = np.outer([allowed[t][0], allowed[t][-1]], points[:, t])
            low[t], high[t] = low[t + 1] + ends.min(axis=0), high[t + 1] + ends.max(axis=0)
            squares[t] = squares[t + 1] + min(v * v for v in allowed[t])
        rest = np.hstack([points[:, t:], np.zeros((m, 1), dtype=np.int64)])
        order[t] = np.lexsort(rest.T[::-1])
        ordered = rest[order[t]]
        last[t, :-1] = (ordered[1:] != ordered[:-1]).any(axis=1)
    budget = problem.grid.norm_budget
    return AStarModel(
        columns=np.ascontiguousarray(points.T),
        costs=costs,
        values=values,
        n_values=np.array([len(v) for v in allowed], dtype=np.int64),
        strides=strides,
        low=low,
        high=high,
        squares=squares,
        order=order,
        last=last,
        base=int(problem.positives.sum()),
        budget=_NONE if budget is None else int(budget),
        steps=int(steps_per_row),
        rate=rate,
        ways=int(min(ways, values.shape[1])),
    )


def _new_heap(size: int) -> Heap:
    from oracles.sampling.a_star_kernels import Heap

    integers: list[IntArray] = [np.zeros(size, dtype=np.int64) for _ in range(3)]
    return Heap(key=integers[0], clock=np.zeros(size), code=integers[1], place=integers[2])


def _grown(heap: Heap) -> Heap:
    """Return a heap with twice the room."""
    larger = _new_heap(2 * len(heap.key))
    for old, new in zip(heap, larger, strict=True):
        new[: len(old)] = old
    return larger
