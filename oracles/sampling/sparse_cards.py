"""Exact draws of sparse cards: few columns with a weight of 1 or -1, any start from a range.

Or of cards that differ so from a given one, the centre. Cards are counted, not listed. For every
choice of columns the cost of each pattern of active ones follows from sums over the points where
some of them are active and the centre's score is the same. Those come from matrix products. A
card's loss is a sum over patterns. A first walk counts the cards of each size by loss, a second
one stops at the drawn card.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from oracles.arithmetic import FloatArray, IntArray, RandomBits, products_on_one_thread
from oracles.errors import InconsistentSolution
from oracles.problem import Hypothesis
from oracles.sampling.coin_order import CoinOrder
from oracles.sampling.listed import draw_level
from oracles.sampling.sparse_candidates import SparseCards
from oracles.sampling.staged_points import BinaryPoints

_CHUNK = 1 << 24

_EXACT_IN_SINGLE = 2**24


def draw_sparse_card(
    points: BinaryPoints, cards: SparseCards, beta: Fraction, bits: RandomBits
) -> Hypothesis:
    """Draw the card that shows the first head, each as often among the coins as it weighs.

    A card shows heads with probability ``exp(-beta * (loss - least loss))``.

    Parameters
    ----------
    points : BinaryPoints
        The problem.
    cards : SparseCards
        What is drawn from.
    beta : Fraction
        Weight of one row of loss, >= 0.
    bits : RandomBits
        Where decisions come from; every one is exact.
    """
    walk = CardWalk(points, cards)
    levels = CardLevels(walk, cards.factors)
    coins = CoinOrder(levels.losses, levels.weights, beta, bits)
    while True:
        k = coins.propose()
        loss = levels.losses[k]
        if levels.is_exact(k):
            if coins.keeps(loss, loss):
                return levels.member(k, bits)
            continue
        card = levels.member(k, bits)
        if coins.keeps(loss, points.loss(card)):
            return card


def draw_weighed_card(
    points: BinaryPoints, cards: SparseCards, beta: Fraction, bits: RandomBits
) -> Hypothesis:
    """Draw a card with probability proportional to what it weighs times ``exp(-beta * loss)``.

    Parameters are those of :func:`draw_sparse_card`; every decision is exact.
    """
    levels = CardLevels(CardWalk(points, cards), cards.factors)
    while True:
        k = draw_level(levels.losses, levels.weights, beta, bits)
        card = levels.member(k, bits)
        if levels.is_exact(k):
            return card
        if bits.exponential_trial(beta * (points.loss(card) - levels.losses[k])):
            return card


class CardLevels:
    """All cards of a problem by loss, weighed by their size.

    Parameters
    ----------
    walk : CardWalk
        What counts them.
    factors : sequence of int
        How much one card of each size weighs; sizes of weight 0 are left out.

    Attributes
    ----------
    losses : list of int
        Increasing; the last one may stand for larger ones too.
    weights : list of int
        What the cards of each weigh together, > 0.
    """

    def __init__(self, walk: CardWalk, factors: Sequence[int]) -> None:
        self._walk, self._factors = walk, factors
        self._counts = walk.all_counts()
        self._places, self.losses, self.weights = [], [], []
        for place in np.flatnonzero(np.sum(self._counts, axis=0)).tolist():
            weight = sum(
                factor * int(count[place])
                for factor, count in zip(factors, self._counts, strict=True)
            )
            if weight:
                self._places.append(place)
                self.losses.append(walk.least + place)
                self.weights.append(weight)

    def is_exact(self, k: int) -> bool:
        """Return whether the cards of the k-th loss have that loss, not at least that."""
        return self._walk.is_exact(self._places[k])

    def member(self, k: int, bits: RandomBits) -> Hypothesis:
        """Return one of the k-th loss's cards, each as often as it weighs."""
        level, place, size = self._places[k], bits.below(self.weights[k]), 0
        while place >= (weight := self._factors[size] * int(self._counts[size][level])):
            place -= weight
            size += 1
        return self._walk.checked(size, level, place // self._factors[size])


class CardWalk:
    """Counts and finds cards of one problem.

    Attributes
    ----------
    least : int
        The loss of level 0: 0 where every loss has a level, else the least loss of all cards that
        may be drawn.
    """

    def __init__(self, points: BinaryPoints, cards: SparseCards) -> None:
        self._points, self._cards = points, cards
        self._used = [j for j, signs in enumerate(cards.signs) if signs]
        self._columns = points.columns[self._used]
        masks = [sum({1: 1, -1: 2}[sign] for sign in cards.signs[j]) for j in self._used]
        self._allowed = np.array(masks, dtype=np.int64)
        self._group, self._set = cards.places(self._used)
        single = points.total < _EXACT_IN_SINGLE
        self._dtype: type[np.float32 | np.float64] = np.float32 if single else np.float64
        self._known: dict[tuple[int, ...], tuple[FloatArray, IntArray]] = {}
        self._scores = cards.scores
        self._of_score = self._points_by_score()
        self._last, self.least = points.last_level, 0
        if not points.is_told_apart:
            self.least = self._least()

    def _points_by_score(self) -> list[IntArray]:
        """Return which points the centre gives each score, those beyond at the ends."""
        if self._cards.centre is None:
            return [np.arange(len(self._points.costs))]
        ends = self._scores[0], self._scores[-1]
        scores = np.clip(self._points.scores(self._cards.centre), *ends)
        return [np.flatnonzero(scores == score) for score in self._scores]

    def is_exact(self, level: int) -> bool:
        """Return whether all cards of a level have its loss, not at least its loss."""
        return level < self._last or self._points.is_told_apart

    def all_counts(self) -> list[IntArray]:
        """Return :meth:`count` of every size that is drawn, each card being counted once.

        A size of weight 0 may have losses below the least one: it is counted nowhere.
        """
        sizes = range(self._cards.most + 1)
        drawn = [self._points.is_told_apart or self._weighs(size) for size in sizes]
        counts = [
            self.count(size) if is_drawn else np.zeros(self._last + 1, dtype=np.int64)
            for size, is_drawn in zip(sizes, drawn, strict=True)
        ]
        expected = [
            n if is_drawn else 0 for n, is_drawn in zip(self._cards.counts, drawn, strict=True)
        ]
        if [int(count.sum()) for count in counts] != expected:
            raise InconsistentSolution("every card must be counted once.")
        return counts

    def _weighs(self, size: int) -> bool:
        """Return whether cards of a size may be drawn."""
        return self._cards.shares is None or self._cards.shares[size] > 0

    def _least(self) -> int:
        """Return the least loss of all cards that may be drawn."""
        least = np.full(1, self._points.total, dtype=np.int64)
        for size in filter(self._weighs, range(self._cards.most + 1)):
            if size < 2:
                losses = (loss for _, _, loss in self._smallest(size))
                least[0] = min(least[0], min(losses, default=least[0]))
            else:
                self._run(size, -2, 0, least, np.zeros(4, dtype=np.int64))
        return int(least[0])

    @functools.cached_property
    def _totals(self) -> IntArray:
        """Cost of the points of each score."""
        return self._costs_of(self._of_score)

    def _costs_of(self, parts: Sequence[IntArray]) -> IntArray:
        return np.array([self._points.costs[part].sum() for part in parts], dtype=np.int64)

    @functools.cached_property
    def _sums(self) -> IntArray:
        """Cost of the points of each score where each column is active."""
        return np.array([self._sums_over(part) for part in self._of_score], dtype=np.int64)

    def _sums_over(self, part: IntArray) -> IntArray:
        costs = self._points.costs[part].astype(np.float64)
        step = max(1, _CHUNK // max(1, len(costs)))
        columns = self._columns
        parts = [columns[k : k + step][:, part] @ costs for k in range(0, len(columns), step)]
        # Integers within a double's precision: any order is exact.
        return np.concatenate([np.zeros(0), *parts]).astype(np.int64)

    def count(self, size: int) -> IntArray:
        """Return how many cards of a size are at each level."""
        counts = np.zeros(self._last + 1, dtype=np.int64)
        if size < 2:
            for _, _, loss in self._smallest(size):
                counts[self._level(loss)] += 1
        else:
            self._run(size, -1, 0, counts, np.zeros(4, dtype=np.int64))
        return counts

    def _level(self, loss: int) -> int:
        return min(loss - self.least, self._last)

    def checked(self, size: int, level: int, rank: int) -> Hypothesis:
        """Return what :meth:`find` does, after another look at its loss."""
        card = self.find(size, level, rank)
        if self._level(self._points.loss(card)) != level:
            raise InconsistentSolution("the drawn card must have the drawn loss.")
        return card

    def find(self, size: int, level: int, rank: int) -> Hypothesis:
        """Return the card of a size, a level and a rank."""
        if size < 2:
            members = (
                (start, weights)
                for start, weights, loss in self._smallest(size)
                if self._level(loss) == level
            )
            return self._card(*next(itertools.islice(members, rank, None)))
        found = np.zeros(4, dtype=np.int64)
        prefix = self._run(size, level, rank, np.zeros(0, dtype=np.int64), found)
        if prefix is None:
            raise InconsistentSolution("a level must have as many members as were counted.")
        columns = (*prefix, int(found[0]), int(found[1]))
        signs = {c: -1 if found[2] >> k & 1 else 1 for k, c in enumerate(columns)}
        return self._card(int(found[3]), signs)

    def _run(
        self, size: int, level: int, rank: int, counts: IntArray, found: IntArray
    ) -> tuple[int, ...] | None:
        """Walk over the cards of a size; return the first columns of one that is found."""
        with products_on_one_thread():
            for prefix in self._prefixes(size - 2):
                rank = self._pairs(prefix, level, rank, counts, found)
                if rank < 0:
                    return prefix
        return None

    def _card(self, start: int, weights: dict[int, int]) -> Hypothesis:
        card = list(self._cards.centre or (0,) * (1 + len(self._cards.signs)))
        card[0] += start
        for c, weight in weights.items():
            card[1 + self._used[c]] += weight
        return tuple(card)

    def _smallest(self, size: int) -> Iterator[tuple[int, dict[int, int], int]]:
        """Yield start, weights and loss of the cards of no or of one column."""
        low, high = self._cards.starts[size]
        base, scores = self._points.base, np.array(self._scores)
        if size == 0:
            for start in range(low, high + 1):
                yield start, {}, base + int(self._totals[scores + start >= 1].sum())
            return
        for c in range(len(self._used)):
            active = self._sums[:, c]
            for sign in self._cards.signs[self._used[c]]:
                for start in range(low, high + 1):
                    loss = base + int(active[scores + start + sign >= 1].sum())
                    loss += int((self._totals - active)[scores + start >= 1].sum())
                    yield start, {c: sign}, loss

    def _prefixes(self, length: int) -> Iterator[tuple[int, ...]]:
        """Yield the columns before the last two; sums of every subset are known meanwhile."""
        self._known = {}
        for shorter in range(length):
            for subset in itertools.combinations(range(len(self._used)), shorter):
                self._known[subset] = self._overlaps(subset)
        for prefix in itertools.combinations(range(len(self._used)), length):
            if prefix and len(self._used) - prefix[-1] < 3:
                continue
            if any(self._exclude(c, e) for c, e in itertools.combinations(prefix, 2)):
                continue
            self._known[prefix] = self._overlaps(prefix)
            yield prefix
            del self._known[prefix]

    def _exclude(self, c: int, e: int) -> bool:
        """Return whether two columns are of different sets of one group."""
        return bool(self._group[c] == self._group[e] >= 0 and self._set[c] != self._set[e])

    def _overlaps(self, subset: tuple[int, ...]) -> tuple[FloatArray, IntArray]:
        """Return the cost where a subset and two columns are active, of each score, and in all."""
        columns = self._columns[list(subset)]
        parts = [part[columns[:, part].all(axis=0)] for part in self._of_score]
        sums = np.array([self._overlaps_over(subset, part) for part in parts])
        return sums, self._costs_of(parts)

    def _overlaps_over(self, subset: tuple[int, ...], active: IntArray) -> FloatArray:
        columns, costs = self._columns, self._points.costs
        n, first = len(columns), subset[-1] + 1 if subset else 0
        sums = np.zeros((n, n))
        step = max(1, _CHUNK // max(1, n - first))
        for begin in range(0, len(active), step):
            part = active[begin : begin + step]
            chosen = columns[first:, part].astype(self._dtype)
            # Partial sums are integers within the type's precision: any order is exact.
            weighted = chosen * costs[part].astype(self._dtype)
            sums[first:, first:] += np.matmul(weighted, chosen.T)
        return sums

    def _pairs(
        self,
        prefix: tuple[int, ...],
        level: int,
        rank: int,
        counts: IntArray,
        found: IntArray,
    ) -> int:
        from oracles.sampling.sparse_card_kernels import walk_pairs  # slow to import

        parts = [
            self._known[tuple(c for k, c in enumerate(prefix) if subset >> k & 1)]
            for subset in range(1 << len(prefix))
        ]
        low, high = self._cards.starts[len(prefix) + 2]
        left: int = walk_pairs(
            np.array([sums for sums, _ in parts]),
            np.array([totals for _, totals in parts]),
            np.array(prefix, dtype=np.int64),
            self._allowed,
            self._group,
            self._set,
            self._scores[0],
            low,
            high - low + 1,
            self._points.base - self.least,
            self._last,
            level,
            rank,
            counts,
            found,
        )
        return left
