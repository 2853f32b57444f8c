"""A lower bound on the loss that can be summed exactly over all hypotheses.

Columns are split into blocks. With the partial scores ``x_1 .. x_k`` of a point and any thresholds
``h`` that add up to 1 (first line) or 0 (second line)::

    1[x_1 + .. + x_k >= 1] >= 1[x_1 >= h_1] + .. + 1[x_k >= h_k] - (k - 1)
    1[x_1 + .. + x_k <= 0] >= 1[x_1 <= h_1] + .. + 1[x_k <= h_k] - (k - 1)

So every mixture over ``h``, one per point, bounds the loss from below by a constant plus a
function of each block's scores: ``m(w) <= L(w)``, and the sum of ``exp(-beta * m(w))`` is a
product of block sums.

Two functions say how exact the sums are, and what they cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import FloatArray, IntArray
from oracles.problem import ColumnGroup, ZeroOneProblem
from oracles.sampling.elimination import BlockSum, ColumnBlock
from oracles.sampling.rejection.lower_bound_kernels import boltzmann, mix_shares, threshold_tables
from oracles.sampling.rejection.tightening_kernels import shortfalls, tails, tighten

Mixtures = NDArray[np.float16]
"""Logs of the mixtures of all points, nats, shape (points, blocks * w + 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A set of hypotheses: an interval of score indices for every row (context of a block).

    Parameters
    ----------
    low, high : ndarray of shape (rows,), int64
        Inclusive ends; an index is the row's score minus the block's lowest one, clipped.
    """

    low: IntArray
    high: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """One function ``m(w)``: a constant plus a cost per row and score index, in rows of loss.

    Parameters
    ----------
    constant : float
        In rows of loss.
    costs : ndarray of shape (rows, w), float64
        In rows of loss, per score index: exactly what is summed and drawn from.
    """

    constant: float
    costs: FloatArray


class LowerBound:
    """The lower bound of one problem at one inverse temperature, with buffers for it.

    Parameters
    ----------
    problem : ZeroOneProblem
        Its perturbation is ignored.
    beta : float
        Inverse temperature, nats per row of loss.
    blocks : sequence of ColumnBlock
        A partition of the columns.
    least_log : float
        Block sums whose log is less are redone in logarithms, see :class:`BlockSum`.
    penalties : sequence of sequence of float, or None
        Minus the log-weight of each value of each coordinate, nats, >= 0: sums and laws weigh
        hypotheses by it, bounds do not contain it. None: all weigh 1.

    Attributes
    ----------
    columns : tuple of list of int
        The problem's columns in each block.
    spans : list of (int, int)
        Least and largest score of each block that are told apart.
    base : int
        Rows of loss that every hypothesis has.
    counts : ndarray of shape (points,), int64
        What predicting "+" costs more than "-", rows of loss, never 0.
    target : int
        Indices of a point's rows that add up to this or more make it "+".
    width : int
        ``w``, the largest number of score indices of a block.
    rows : ndarray of shape (points, blocks), int64
        Row of each point in each block.
    starts : list of int
        First row of each block, and the number of rows.
    row_high : ndarray of shape (rows,), int64
        Largest score index of each row.
    costs : ndarray of shape (rows, w), float64
        Not filled: what has its shape is made like it.
    weights, logs : ndarray of shape (rows, w), float64
        ``exp(-beta * cost)`` relative to the row's least cost, and its log in nats.
    law : ndarray of shape (rows, w), float64
        Probability of every score index of every row.
    sums : tuple of BlockSum
        One per block; each has its part of the three arrays above.
    """

    def __init__(
        self,
        problem: ZeroOneProblem,
        beta: float,
        blocks: Sequence[ColumnBlock],
        *,
        least_log: float = -300.0,
        penalties: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self.beta = beta
        self.columns = tuple(list(block.columns) for block in blocks)
        self.spans = _clipped([_score_span(problem, block) for block in blocks])
        difference = problem.negatives - problem.positives
        self.base = int(np.minimum(problem.positives, problem.negatives).sum())
        points = problem.points[difference != 0]
        self.counts = difference[difference != 0]
        self.target = 1 - sum(low for low, _ in self.spans)
        sizes = [high - low + 1 for low, high in self.spans]
        self.width = max(sizes)
        contexts, self.rows, self.starts = _contexts(points, self.columns)
        self.costs = np.zeros((self.starts[-1], self.width))
        self.weights = np.zeros_like(self.costs)
        self.logs = np.zeros_like(self.costs)
        self.law = np.zeros_like(self.costs)
        self._at_least, self._at_most = np.zeros_like(self.costs), np.zeros_like(self.costs)
        self.row_high = np.repeat(np.array(sizes, dtype=np.int64) - 1, np.diff(self.starts))
        self.sums = tuple(
            BlockSum(
                [problem.grid.values[c] for c in self.columns[b]],
                _local_groups(blocks[b], self.columns[b]),
                contexts[b],
                lowest=self.spans[b][0],
                n_scores=sizes[b],
                weights=self.weights[self.starts[b] : self.starts[b + 1]],
                logs=self.logs[self.starts[b] : self.starts[b + 1]],
                law=self.law[self.starts[b] : self.starts[b + 1]],
                least_log=least_log,
                penalties=None if penalties is None else [penalties[c] for c in self.columns[b]],
            )
            for b in range(len(blocks))
        )

        self._region: Region | None = None

    @property
    def n_points(self) -> int:
        """Number of points whose labels do not cancel."""
        return len(self.counts)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of mixtures and shares."""
        return self.n_points, len(self.columns) * self.width + 1

    def whole(self) -> Region:
        """Return the region of all hypotheses."""
        return Region(low=np.zeros_like(self.row_high), high=self.row_high.copy())

    def bound(self, logs: FloatArray, region: Region, shares: FloatArray) -> Bound:
        """Return the bound of some mixtures, valid in a region; also fill their shares.

        ``logs``, nats, and ``shares``, probabilities, are float64 of :attr:`shape`.
        """
        mix_shares(logs, self.rows, self.counts, region.low, region.high, self.target, shares)
        costs = np.empty_like(self.costs)
        constant = threshold_tables(shares, self.rows, self.counts, costs)
        return Bound(constant=constant + self.base, costs=costs)

    def log_sum(self, bound: Bound, region: Region) -> float:
        """Return the log of the sum of ``exp(-beta * m(w))`` over a region (``-inf``: empty).

        The block sums are then ready for :meth:`take_laws` and for draws.
        """
        if region is not self._region:
            for block, first, last in zip(self.sums, self.starts, self.starts[1:], strict=False):
                block.restrict(region.low[first:last], region.high[first:last])
            self._region = region
        least = boltzmann(bound.costs, self.beta, region.low, region.high, self.weights, self.logs)
        total = 0.0
        for block in self.sums:
            total += block.sum()
            if total == -math.inf:
                return total
        return total - self.beta * (least + bound.constant)

    def take_laws(self) -> None:
        """Fill :attr:`law` with every row's marginal, after :meth:`log_sum`."""
        for block in self.sums:
            block.take_marginals()
        tails(self.law, self._at_least, self._at_most)

    def tighten(
        self,
        logs: FloatArray,
        shares: FloatArray,
        previous: FloatArray,
        paces: FloatArray,
        region: Region,
        step: float,
    ) -> None:
        """Move mixtures one step, after :meth:`take_laws`.

        ``logs``, ``shares`` and ``previous`` are float64 of :attr:`shape`, ``paces`` (points,).
        """
        tighten(
            logs,
            shares,
            previous,
            self.rows,
            self.counts,
            region.low,
            region.high,
            self.target,
            self._at_least,
            self._at_most,
            paces,
            step,
        )

    def certified(self, bound: Bound, indices: IntArray) -> float:
        """Return ``m(w)`` in rows of loss from the score indices of all rows, shape (rows,)."""
        return bound.constant + float(bound.costs[np.arange(len(indices)), indices].sum())

    def shortfalls(self, shares: FloatArray) -> FloatArray:
        """Return the bound's mean shortfall per row, after :meth:`take_laws`.

        Shape (rows,) float64, rows of loss.
        """
        lost = np.zeros(len(self.law))
        shortfalls(
            shares,
            self.rows,
            self.counts,
            self.target,
            self.law,
            self._at_least,
            self._at_most,
            lost,
        )
        return lost


def _contexts(
    points: IntArray, columns: Sequence[Sequence[int]]
) -> tuple[list[IntArray], IntArray, list[int]]:
    """Return every block's distinct contexts, each point's rows, and where each block starts."""
    contexts, rows, starts = [], [], [0]
    for part in columns:
        unique, inverse = np.unique(points[:, list(part)], axis=0, return_inverse=True)
        contexts.append(unique)
        rows.append(inverse.ravel() + starts[-1])
        starts.append(starts[-1] + len(unique))
    return contexts, np.stack(rows, axis=1).astype(np.int64), starts


def _clipped(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Cut each block's scores to those that the others can still outweigh."""
    clipped = list(spans)
    for i, (low, high) in enumerate(spans):
        rest = [span for j, span in enumerate(clipped) if j != i]
        low = max(low, -sum(top for _, top in rest))
        high = min(high, 1 - sum(bottom for bottom, _ in rest))
        # A block that never decides keeps one score.
        clipped[i] = (min(low, high), high) if low <= high else _only(spans[i], low, high)
    return clipped


def _only(span: tuple[int, int], low: int, high: int) -> tuple[int, int]:
    score = low if span[1] < low else high
    return score, score


def _score_span(problem: ZeroOneProblem, block: ColumnBlock) -> tuple[int, int]:
    """Return the least and largest partial score that a point can have."""
    lowest = highest = 0
    for group in block.groups:
        low, high = [0], [0]
        for c in group.columns:
            entries = set(problem.points[:, c].tolist())
            reach = [0, *(v * x for x in entries for v in problem.grid.values[c])]
            low.append(min(reach))
            high.append(max(reach))
        exclusive = group.kind == "exclusive"
        lowest += min(low) if exclusive else sum(low)
        highest += max(high) if exclusive else sum(high)
    return lowest, highest


def _local_groups(block: ColumnBlock, columns: Sequence[int]) -> list[ColumnGroup]:
    place = {c: i for i, c in enumerate(columns)}
    return [
        ColumnGroup(columns=tuple(place[c] for c in group.columns), kind=group.kind)
        for group in block.groups
    ]


SLACK = 1e-7
"""Least slack of a cell's log mass, nats."""


def rounding_slack(lower_bound: LowerBound) -> float:
    """Return by how much a log sum is raised: far more than its rounding errors.

    Sums of ``N`` non-negative doubles are good to ``N * 2**-53``; shares are good to about
    ``1e-14`` each, which moves ``beta * m(w)`` by at most the second term.
    """
    entries = sum(block.n_entries for block in lower_bound.sums)
    rows = float(np.abs(lower_bound.counts).sum()) * len(lower_bound.sums)
    return SLACK + entries * 2.0**-50 + lower_bound.beta * rows * 1e-12


def step_work(lower_bound: LowerBound) -> float:
    """Estimate a tightening step in the region summed over last, in nanoseconds.

    Only the order of things depends on it. Counts of operations, so that a seed repeats a run.
    """
    return sum(block.work for block in lower_bound.sums) + other_work(lower_bound)


def other_work(lower_bound: LowerBound) -> float:
    """Estimate what a step takes besides the sums, in nanoseconds."""
    points, width = lower_bound.shape
    return 18.0 * points * width + 50_000.0


def visit_work(lower_bound: LowerBound) -> float:
    """Estimate a visit to a cell in nanoseconds, after its sum."""
    return 0.4 * sum(block.work for block in lower_bound.sums) + 100_000.0


def draw_work(lower_bound: LowerBound) -> float:
    """Estimate a draw in nanoseconds."""
    cliques = sum(len(block.plan.own) for block in lower_bound.sums)
    return 2.0 * lower_bound.n_points + 100.0 * cliques + 1000.0
