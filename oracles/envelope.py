"""A lower bound on the loss that can be summed exactly over all hypotheses.

Columns are split into two blocks. With partial scores ``t`` and ``y`` and any threshold ``h``::

    1[t + y >= 1] >= 1[t >= 1 - h] - 1[y < h],    1[t + y <= 0] >= 1[t <= 1 - h] - 1[y >= h]

so every convex combination over ``h``, one per point (its *shares*), bounds the loss from below by
a constant plus a function of each block's scores: ``m(w) <= L(w)``, and the sum of
``exp(-beta * m(w))`` is a product of two block sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.block_kernels import FloatArray
from oracles.block_sums import BlockSum
from oracles.column_groups import ColumnBlock, ColumnGroup
from oracles.envelope_kernels import (
    SHARES,
    boltzmann,
    cumulated,
    expected_losses,
    round_shares,
    threshold_tables,
    tighten,
)
from oracles.problem import IntArray, ZeroOneProblem

Shares = NDArray[np.uint16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A set of hypotheses: an interval of score indices for every context of both blocks.

    Parameters
    ----------
    low, high : tuple of two ndarrays, int64
        Inclusive ends per context, one array per block.
    """

    low: tuple[IntArray, IntArray]
    high: tuple[IntArray, IntArray]

    def narrowed(self, block: int, context: int, low: int, high: int) -> Region:
        """Return the part whose score index of one context lies in ``low .. high``."""
        lows, highs = list(self.low), list(self.high)
        lows[block], highs[block] = lows[block].copy(), highs[block].copy()
        lows[block][context] = low
        highs[block][context] = high
        return Region(low=(lows[0], lows[1]), high=(highs[0], highs[1]))


class Envelope:
    """The two-block bound of one problem at one weight, with buffers for its evaluation.

    Parameters
    ----------
    problem : ZeroOneProblem
        Its perturbation is ignored.
    beta : float
        Weight of one row of loss.
    blocks : sequence of two ColumnBlock
        A partition of the columns.
    """

    def __init__(
        self, problem: ZeroOneProblem, beta: float, blocks: Sequence[ColumnBlock]
    ) -> None:
        self.beta = beta
        spans = [_score_span(problem, block) for block in blocks]
        # The block with the narrower scores carries the thresholds.
        if spans[0][1] - spans[0][0] < spans[1][1] - spans[1][0]:
            blocks, spans = [blocks[1], blocks[0]], [spans[1], spans[0]]
        self.columns = tuple(list(block.columns) for block in blocks)
        lowest, highest = spans[1]
        n = highest - lowest + 1
        self.n_scores = n
        difference = problem.negatives - problem.positives
        self.base = int(np.minimum(problem.positives, problem.negatives).sum())
        keep = difference != 0
        points, self.counts = problem.points[keep], difference[keep]
        contexts = []
        indices = []
        for columns in self.columns:
            unique, inverse = np.unique(points[:, columns], axis=0, return_inverse=True)
            contexts.append(unique)
            indices.append(np.ascontiguousarray(inverse.ravel().astype(np.int64)))
        self.owner, self.cell = indices
        self.offsets = (highest, -lowest)
        self.widths = (n + 1, n)
        self.sums = tuple(
            BlockSum(
                [problem.grid.values[c] for c in columns],
                _local_groups(block, columns),
                part,
                lowest=-offset,
                width=width,
            )
            for block, columns, part, offset, width in zip(
                blocks, self.columns, contexts, self.offsets, self.widths, strict=True
            )
        )
        self.costs = tuple(np.zeros(len(s.weights)) for s in self.sums)
        self._reach = np.zeros(len(contexts[0]) * (n + 1))
        self._below = np.zeros(len(contexts[1]) * (n + 1))

    @property
    def n_points(self) -> int:
        """Number of points whose labels do not cancel."""
        return len(self.counts)

    def whole(self) -> Region:
        """Return the region of all hypotheses."""
        low = tuple(np.zeros(len(s.contexts), dtype=np.int64) for s in self.sums)
        high = tuple(
            np.full(len(s.contexts), width - 1)
            for s, width in zip(self.sums, self.widths, strict=True)
        )
        return Region(low=(low[0], low[1]), high=(high[0], high[1]))

    def uniform_shares(self) -> FloatArray:
        """Return equal shares for every threshold, shape (points, n + 1)."""
        return np.full((self.n_points, self.n_scores + 1), 1.0 / (self.n_scores + 1))

    def evaluate(self, shares: FloatArray, region: Region) -> float:
        """Return the log of the sum of ``exp(-beta * m(w))`` over a region."""
        threshold_tables(shares, self.owner, self.cell, self.counts, *self.costs)
        return self._log_sum(region)

    def evaluate_rounded(self, shares: Shares, region: Region) -> float:
        """Return the same for stored shares; the tables of ``m`` are then exact."""
        return self.evaluate(as_fractions(shares), region)

    def _log_sum(self, region: Region) -> float:
        total, least = 0.0, float(self.base)
        for b, block in enumerate(self.sums):
            least += boltzmann(
                self.costs[b],
                self.widths[b],
                self.beta,
                region.low[b],
                region.high[b],
                block.weights,
            )
            total += block.sum()
        return total - self.beta * least if math.isfinite(total) else -math.inf

    def relative_log_sum(self, region: Region) -> float:
        """Return the log of the number of hypotheses of a region (``-inf`` if it is empty)."""
        total = 0.0
        for b, block in enumerate(self.sums):
            inside = np.arange(self.widths[b])[None, :]
            allowed = (inside >= region.low[b][:, None]) & (inside <= region.high[b][:, None])
            block.weights[:] = allowed.ravel()
            total += block.sum()
        return total

    def laws(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return cumulated marginals after an evaluation, for :meth:`tighten` and splits."""
        first, second = (block.marginals() for block in self.sums)
        cumulated(first, second, self.n_scores, self._reach, self._below)
        return first, self._reach, self._below

    def freeze(self, shares: FloatArray, region: Region) -> NDArray[np.bool_]:
        """Give points with a fixed score their best shares; return which points those are."""
        n = self.n_scores
        frozen = np.zeros(self.n_points, dtype=bool)
        fixed = region.low[1] == region.high[1]
        at = np.flatnonzero(fixed[self.cell])
        # The second score y is known: threshold y for a point that wants "-", y + 1 for "+".
        place = region.low[1][self.cell[at]] + (self.counts[at] < 0)
        shares[at] = 0.0
        shares[at, place] = 1.0
        frozen[at] = True
        fixed = region.low[0] == region.high[0]
        at = np.flatnonzero(fixed[self.owner])
        shares[at] = 0.0
        shares[at, n - region.low[0][self.owner[at]]] = 1.0
        frozen[at] = True
        return frozen

    def certified(self, scores: tuple[IntArray, IntArray]) -> float:
        """Return ``m(w)`` in rows from the score indices of all contexts, after an evaluation."""
        total = float(self.base)
        for b in range(2):
            rows = np.arange(len(scores[b])) * self.widths[b]
            total += float(self.costs[b][rows + scores[b]].sum())
        return total

    def score_indices(self, b: int, weights: IntArray) -> IntArray:
        """Return the clipped score index of every context of a block, shape (K,) int64."""
        scores = self.sums[b].contexts @ weights + self.offsets[b]
        clipped: IntArray = np.clip(scores, 0, self.widths[b] - 1)
        return clipped

    def shortfalls(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return how far the bound falls short per context of each block, after :meth:`laws`."""
        lost = (np.zeros(len(self.sums[0].contexts)), np.zeros(len(self.sums[1].contexts)))
        laws = (self.sums[0].law, self._reach, self._below)
        second = self.sums[1].law
        expected_losses(shares, self.owner, self.cell, self.counts, second, laws, *lost)
        return lost


def as_fractions(shares: Shares) -> FloatArray:
    """Return stored shares as doubles, exactly."""
    return np.asarray(shares, dtype=np.float64) / SHARES


def _score_span(problem: ZeroOneProblem, block: ColumnBlock) -> tuple[int, int]:
    """Return the least and largest partial score that a point can have."""
    lowest = highest = 0
    for group in block.groups:
        low, high = [0], [0]
        for c in group.columns:
            values = problem.grid.values[c]
            column = problem.points[:, c]
            reach = [0, *(int(v) * int(x) for x in {*np.unique(column)} for v in values)]
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


class Tightener:
    """Searches for shares with a small sum, by multiplicative steps.

    Parameters
    ----------
    envelope : Envelope
        The bound.
    """

    def __init__(self, envelope: Envelope) -> None:
        self._envelope = envelope
        self.steps_done = 0

    def run(
        self, start: Shares | None, region: Region, *, step: float, n_steps: int, n_least: int
    ) -> tuple[Shares, float, float]:
        """Return rounded shares, the log of their sum, and the final step size.

        Whatever it returns is a valid bound; only its tightness is searched for.
        """
        envelope = self._envelope
        shares = envelope.uniform_shares() if start is None else as_fractions(start)
        frozen = envelope.freeze(shares, region)
        previous = np.zeros_like(shares)
        paces = np.ones(len(shares))
        best, best_value, stale = shares.copy(), math.inf, 0
        for i in range(max(n_least, n_steps)):
            self.steps_done += 1
            value = envelope.evaluate(shares, region)
            if value == -math.inf:
                break
            if value < best_value:
                gained = best_value - value
                best_value, best[:] = value, shares
                stale = stale + 1 if i and gained < 0.03 else 0
                if stale >= 2:
                    break
                laws = envelope.laws()
                step *= 1.2
            else:
                shares[:] = best
                step *= 0.6
                paces = np.sqrt(paces)
                stale += 1
                if stale >= 5:
                    break
            tighten(
                shares,
                frozen,
                envelope.owner,
                envelope.cell,
                envelope.counts,
                laws,
                previous,
                paces,
                step,
            )
        rounded = np.zeros(best.shape, dtype=np.uint16)
        round_shares(best, rounded)
        value = envelope.evaluate_rounded(rounded, region)
        return rounded, value, max(0.3, min(step, 4.0))
