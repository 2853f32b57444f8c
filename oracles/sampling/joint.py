"""Exact draws of joint steps from a hypothesis along several directions at once.

Directions have no column in common. Every joint step is looked at, but
subtrees that a lower bound shows to be far worse than the best step known are only counted, at
that bound. A member of such a subtree is proposed as if it were as good as the bound, and kept
with
the probability that makes up for it; otherwise the next proposal follows. So the law is exact
whatever is cut off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray, RandomBits
from oracles.errors import InconsistentSolution
from oracles.problem import Hypothesis
from oracles.sampling.coin_order import CoinOrder
from oracles.sampling.staged_points import BinaryPoints

_CHEAP_NATS = 2.0

_FEW = -0.7
"""Log of how much proposals that may fail may weigh, beside those that are what they seem."""

_NEVER = 1 << 40

Direction = tuple[tuple[int, int], ...]
"""Columns and their signs, 1 or -1."""

TableArray = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSteps:
    """The candidates of one draw: ``centre + shift + sum of step_g * direction_g``.

    Parameters
    ----------
    centre : tuple of int
        Weights, the constant column's first.
    directions : tuple of Direction
        For each direction its columns (0 is the first one that is not constant) and their signs,
        1 or -1.
    steps : tuple of (int, int)
        For each direction its least and largest step, of size 1 at most, 0 among them.
    shifts : (int, int)
        Least and largest change of the constant column's weight, 0 among them.
    """

    centre: Hypothesis
    directions: tuple[Direction, ...]
    steps: tuple[tuple[int, int], ...]
    shifts: tuple[int, int]

    @property
    def count(self) -> int:
        """Number of candidates."""
        sizes = [high - low + 1 for low, high in self.steps]
        return math.prod(sizes) * (self.shifts[1] - self.shifts[0] + 1)

    def at(self, steps: Sequence[int], shift: int) -> Hypothesis:
        """Return a candidate."""
        weights = list(self.centre)
        weights[0] += shift
        for direction, step in zip(self.directions, steps, strict=True):
            for column, sign in direction:
                weights[1 + column] += int(step) * sign
        return tuple(weights)


def draw_joint(
    points: BinaryPoints, candidates: JointSteps, beta: Fraction, bits: RandomBits
) -> Hypothesis:
    """Draw the candidate that shows the first head, exactly.

    A candidate shows heads with probability ``exp(-beta * (loss - least loss))``.

    Parameters
    ----------
    points : BinaryPoints
        The problem.
    candidates : JointSteps
        What is drawn from.
    beta : Fraction
        Weight of one row of loss, >= 0.
    bits : RandomBits
        Where decisions come from.
    """
    walk = _Walk(points, candidates)
    leaves, subtrees = walk.settle(beta)
    counts = leaves + subtrees
    levels = np.flatnonzero(counts)
    if int(counts.sum()) != candidates.count:
        raise InconsistentSolution("every joint step must be counted once.")
    coins = CoinOrder(walk.least + levels, counts[levels], beta, bits)
    while True:
        level = int(levels[coins.propose()])
        counted = walk.least + level
        place = bits.below(int(counts[level]))
        in_subtree = place >= leaves[level]
        is_exact = not in_subtree and walk.is_exact(level)
        if is_exact and not coins.keeps(counted, counted):
            continue
        place -= int(leaves[level]) if in_subtree else 0
        drawn = walk.find(level, place, in_subtree)
        loss = points.loss(drawn)
        if loss < counted or (loss > counted and is_exact):
            raise InconsistentSolution("a lower bound must not exceed a loss.")
        if is_exact or coins.keeps(counted, loss):
            return drawn


class _Walk:
    """The arrays that the compiled walk runs on.

    Attributes
    ----------
    least : int
        The loss of level 0: 0 where every loss has a level, else the least of all candidates.
    """

    def __init__(self, points: BinaryPoints, candidates: JointSteps) -> None:
        self._points, self._candidates = points, candidates
        n, m = len(candidates.directions), len(points.costs)
        moves = np.zeros((n, m), dtype=np.int64)
        for k, direction in enumerate(candidates.directions):
            for column, sign in direction:
                moves[k] += sign * points.columns[column]
        busy = (np.abs(moves) * np.abs(points.costs)).sum(axis=1)
        self._order = np.argsort(-busy, kind="stable")
        moves = moves[self._order]
        self._moves = moves
        self._low = np.array([candidates.steps[k][0] for k in self._order], dtype=np.int64)
        self._high = np.array([candidates.steps[k][1] for k in self._order], dtype=np.int64)
        sizes = np.ones(n + 1, dtype=np.int64)
        for i in range(n - 1, -1, -1):
            sizes[i] = sizes[i + 1] * (self._high[i] - self._low[i] + 1)
        self._sizes = sizes
        largest = np.abs(moves).max(axis=1, initial=0)
        left = np.concatenate([np.cumsum(largest[::-1])[::-1], [0]]).astype(np.int64)
        shifts = candidates.shifts
        self._width = shifts[1] - shifts[0] + 1 + 2 * left
        groups, firsts = [np.zeros(m, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
        for i in range(n - 1, -1, -1):
            span = 2 * int(largest[i]) + 1
            key = groups[-1] * span + moves[i] + int(largest[i])
            _, first, group = np.unique(key, return_index=True, return_inverse=True)
            groups.append(group.ravel().astype(np.int64))
            firsts.append(first.astype(np.int64))
        groups.reverse()
        firsts.reverse()
        self._n_groups = np.array([len(first) for first in firsts], dtype=np.int64)
        if m == 0:
            self._n_groups[:] = 1
            firsts = [np.zeros(0, dtype=np.int64)] * (n + 1)
        self._starts = np.concatenate([[0], np.cumsum(self._n_groups)]).astype(np.int64)
        self._child = np.zeros(self._starts[-1], dtype=np.int64)
        self._moved = np.zeros(self._starts[-1], dtype=np.int64)
        self._reach = np.zeros(self._starts[-1], dtype=np.int64)
        for i in range(n):
            place = slice(self._starts[i], self._starts[i] + len(firsts[i]))
            self._child[place] = groups[i + 1][firsts[i]]
            self._moved[place] = moves[i][firsts[i]]
            self._reach[place] = np.abs(moves[i:][:, firsts[i]]).sum(axis=0)
        self._group = groups[0]
        self._scores = points.scores(candidates.centre)
        self._first = self._cumulate(int(left[0]))
        self._last, self.least = points.last_level, 0
        if not points.is_told_apart:
            self.least = self._least()
        self._cut, self._slack = self._last + 1, _NEVER

    def is_exact(self, level: int) -> bool:
        """Return whether all leaves of a level have its loss, not at least its loss."""
        return level < self._last or self._points.is_told_apart

    def _cumulate(self, far: int) -> TableArray:
        """Return per group the cost of all points that score at least each threshold."""
        low, high = self._candidates.shifts
        # A shift of t asks for a score of at least 1 - t: the largest shift comes first.
        least = 1 - high - far
        n_thresholds = high - low + 1 + 2 * far
        place = np.clip(self._scores - least, -1, n_thresholds - 1)
        table = np.zeros((int(self._n_groups[0]), n_thresholds), dtype=np.int64)
        kept = place >= 0
        np.add.at(table, (self._group[kept], place[kept]), self._points.costs[kept])
        cumulated = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
        size = np.int32 if self._points.fits_32_bits else np.int64
        return np.ascontiguousarray(cumulated.astype(size)).ravel()

    def descended(self) -> int:
        """Return the loss of a good candidate: single steps as long as one helps."""
        costs, base = self._points.costs, self._points.base
        low, high = self._candidates.shifts
        step = np.zeros(len(self._moves), dtype=np.int64)
        shift = 0
        scores = self._scores.copy()
        best = base + int(costs[scores >= 1].sum())
        while True:
            options = [
                (base + int(costs[scores + change * move >= 1].sum()), k, change)
                for k, move in enumerate(self._moves)
                for change in (-1, 1)
                if self._low[k] <= step[k] + change <= self._high[k]
            ]
            options += [
                (base + int(costs[scores + change >= 1].sum()), -1, change)
                for change in (-1, 1)
                if low <= shift + change <= high
            ]
            loss, k, change = min(options, default=(best, -1, 0))
            if loss >= best:
                return best
            best = loss
            if k < 0:
                shift += change
                scores = scores + change
            else:
                step[k] += change
                scores = scores + change * self._moves[k]

    def settle(self, beta: Fraction) -> tuple[IntArray, IntArray]:
        """Count everything, cut off where it is known to be bad; cuts are found on the way.

        First at the best loss itself. What is cut off there is counted at bounds that are too
        good, so proposals would fail too often. As many nats as they outweigh the leaves go onto
        the cut, and so on. Only the time depends on where it ends.
        """
        last, rate = self._last, float(beta)
        if not beta:
            return self.count(last + 1)
        enough = math.log(self._candidates.count) + _CHEAP_NATS
        nats, known = 0.0, self.descended() - self.least
        while True:
            above = min(last + 1, math.ceil(min(nats, enough) / rate))
            leaves, subtrees = self.count(min(last + 1, known + above), above)
            levels = np.flatnonzero(leaves)
            known = min(known, int(levels[0])) if len(levels) else known
            ratio = _log_mass(subtrees, known, rate) - max(0.0, _log_mass(leaves, known, rate))
            if ratio <= _FEW or nats >= enough or known + above > last:
                return leaves, subtrees
            nats += max(1.0, ratio + 1)

    def count(self, cut: int, slack: int = _NEVER) -> tuple[IntArray, IntArray]:
        """Return how many leaves, and how many members of subtrees, there are by level."""
        self._cut, self._slack = cut, slack
        leaves, subtrees = (np.zeros(self._last + 1, dtype=np.int64) for _ in "ab")
        found = np.zeros(len(self._low) + 2, dtype=np.int64)
        self._run(-1, 0, False, leaves, subtrees, found)
        return leaves, subtrees

    def _least(self) -> int:
        """Return the least loss of all candidates."""
        self._cut, self._slack = self.descended(), 0
        empty = np.zeros(0, dtype=np.int64)
        found = np.zeros(len(self._low) + 2, dtype=np.int64)
        return self._run(-2, 0, False, empty, empty, found)

    def find(self, level: int, rank: int, in_subtree: bool) -> Hypothesis:
        """Return the leaf of a loss, or the member of a subtree of a bound, of a rank.

        Ranks are those of the last count.
        """
        n = len(self._order)
        empty = np.zeros(0, dtype=np.int64)
        found = np.zeros(n + 2, dtype=np.int64)
        depth = self._run(level, rank, in_subtree, empty, empty, found)
        if depth < 0:
            raise InconsistentSolution("a level must have as many members as were counted.")
        place = int(found[n + 1])
        for i in range(depth, n):
            options = int(self._sizes[i + 1])
            found[i] = self._low[i] + place // options
            place %= options
        steps = np.zeros(n, dtype=np.int64)
        steps[self._order] = found[:n]
        return self._candidates.at(steps.tolist(), self._candidates.shifts[1] - int(found[n]))

    def _run(
        self,
        level: int,
        rank: int,
        in_subtree: bool,
        leaves: IntArray,
        subtrees: IntArray,
        found: IntArray,
    ) -> int:
        from oracles.sampling.joint_kernels import walk_steps  # compiled, slow to import

        low, high = self._candidates.shifts
        depth: int = walk_steps(
            self._first,
            high - low + 1,
            self._n_groups,
            self._starts,
            self._child,
            self._moved,
            self._reach,
            self._width,
            self._low,
            self._high,
            self._sizes,
            self._points.base - self.least,
            self._last,
            self._cut,
            self._slack,
            level,
            rank,
            in_subtree,
            leaves,
            subtrees,
            found,
        )
        return depth


def _log_mass(counts: IntArray, least: int, beta: float) -> float:
    """Return the log of what all weigh, where the best known weighs 1."""
    levels = np.flatnonzero(counts)
    if not len(levels):
        return -math.inf
    nats = np.log(counts[levels]) - beta * (levels - least)
    top = float(nats.max())
    return top + math.log(float(np.exp(nats - top).sum()))
