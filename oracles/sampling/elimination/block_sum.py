"""Exact sums, marginals and draws over the weights of one block, by variable elimination."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import FloatArray, IntArray, RandomBits
from oracles.problem import ColumnGroup
from oracles.sampling.elimination.bundle_kernels import ROWS
from oracles.sampling.elimination.draw_kernels import add_scores, draw_states, fill_ladder
from oracles.sampling.elimination.marginal_kernels import block_marginals
from oracles.sampling.elimination.plan import Term, bundle_sizes, without_halves
from oracles.sampling.elimination.plan_builder import PlanBuilder
from oracles.sampling.elimination.restriction import PlanRestriction
from oracles.sampling.elimination.restriction_kernels import to_full_states
from oracles.sampling.elimination.sum_kernels import sum_block, sum_block_logs
from oracles.sampling.elimination.variables import LevelVariable, Variable, cheapest_variables


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDraw:
    """Weights drawn from a block's law, with their exact probability.

    Parameters
    ----------
    weights : ndarray of shape (columns,), int64
        One weight per column of the block.
    chances : tuple of (int, int)
        The probability of the draw is the product of ``p / q`` over these pairs.
    """

    weights: IntArray
    chances: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDraws:
    """Many draws from one block's law.

    Parameters
    ----------
    states : ndarray of shape (n, variables), int64
        State of every variable, numbered within it.
    weights : ndarray of shape (n, 2 * cliques), uint64
        Pairs ``(p, q)``: the states' exact probability is the product of ``p / q``.
    """

    states: IntArray
    weights: NDArray[np.uint64]


def settled(weights: FloatArray, bits: RandomBits) -> tuple[int, tuple[int, int]]:
    """Draw one of several assignments and return its exact probability, near its weight's share.

    Parameters
    ----------
    weights : ndarray of shape (n,), float64
        Weights of the assignments, > 0, no unit.
    bits : RandomBits
        What decides.

    Returns
    -------
    (int, (int, int))
        The place drawn, and ``(p, q)``: its probability is ``p / q``.
    """
    shares = weights / weights.max()
    if (shares == 1.0).all():
        return bits.below(len(shares)), (1, len(shares))
    thresholds = [int(share * 2.0**52) + 1 for share in shares]
    ends = list(itertools.accumulate(thresholds))
    place = bisect.bisect_right(ends, bits.below(ends[-1]))
    return place, (thresholds[place], ends[-1])


class BlockSum:
    """The law of one block's weights: a product of one factor per context.

    Parameters
    ----------
    values : sequence of sequence of int
        Allowed weights of each column of the block.
    groups : sequence of ColumnGroup
        How these columns relate; indices are positions within the block.
    contexts : ndarray of shape (K, columns), int64
        The distinct combinations that occur.
    lowest, n_scores : int
        A factor is a table over scores ``lowest .. lowest + n_scores - 1``, clipped at both ends.
    weights : ndarray of shape (K, w), float64
        The factors, w >= n_scores, no unit; the caller writes them.
    logs : ndarray of shape (K, w), float64
        Their logarithms, nats; the caller writes these too.
    least_log : float
        Sums whose log is less, nats, of factors that are at most 1, are redone in logarithms.
    law : ndarray of shape (K, w), float64
        Where marginals are written: the probability of each score of each context.
    penalties : sequence of sequence of float, or None
        Minus the log of the weight of each allowed weight, nats, >= 0: one more factor of the law
        that does not depend on the contexts. None: all of them weigh 1.

    Notes
    -----
    Working arrays are one-dimensional float64, laid out as the plan says and overwritten by every
    sum: ``_factors``, ``_tables``, ``_messages``, ``_peaks`` (means of messages), ``_downward``
    (as ``_messages``), ``_beliefs`` (as the largest table), ``_scratch`` and ``_sides`` (rows and
    marginals of a bundle). ``_ladder``, uint64, cumulates the last clique's integer weights. For
    the states of all variables, one variable after the other from ``_offsets`` (int64) on:
    ``_scores``, shape (states, K) int32, what each adds to every context's score, and ``_gains``,
    shape (states,), the log of its weight in nats.
    """

    def __init__(
        self,
        values: Sequence[Sequence[int]],
        groups: Sequence[ColumnGroup],
        contexts: IntArray,
        *,
        lowest: int,
        n_scores: int,
        weights: FloatArray,
        logs: FloatArray,
        law: FloatArray,
        least_log: float,
        penalties: Sequence[Sequence[float]] | None = None,
    ) -> None:
        self.contexts = contexts
        self.variables, terms, fixed = cheapest_variables(values, groups, contexts, penalties)
        sizes = [v.size for v in self.variables]
        self.plan = PlanBuilder(
            sizes, terms, fixed, lowest=lowest, n_scores=n_scores, width=weights.shape[1]
        ).build()
        self.n_entries = int(self.plan.own @ self.plan.rest)
        self._least_log = least_log
        self._weights = weights.reshape(-1)
        self._logs = logs.reshape(-1)
        self._law = law.reshape(-1)
        self._factors = np.zeros(len(self.plan.fixed))
        self._tables = np.zeros(self.n_entries)
        self._messages = np.zeros(int(self.plan.rest.sum()))
        self._peaks = np.ones(len(self.plan.own))
        self._downward = np.zeros_like(self._messages)
        self._scratch, self._sides = np.zeros(0), np.zeros(0)
        self._make_room()
        self._beliefs = np.zeros(int((self.plan.own * self.plan.rest).max()))
        self._ladder = np.zeros(int(self.plan.rest[-1]), dtype=np.uint64)
        self._lowest, self._n_scores = lowest, n_scores
        self._offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._scores, self._gains = _contributions(self.variables, terms, self._offsets)
        self._steps = _weighted_steps(self.variables)
        self._restriction = PlanRestriction(
            self.plan, self._offsets, self._scores, lowest=lowest, n_scores=n_scores
        )
        self._current = self._restriction.full
        self._empty = False

    def restrict(self, low: IntArray, high: IntArray) -> None:
        """Leave out states that rows' index intervals rule out; weights there must be 0."""
        found = self._restriction.find(low, high)
        self._empty = found is None
        self._current = found or self._restriction.full
        self.plan = self._current.plan
        self._make_room()

    def _make_room(self) -> None:
        row, marginals = bundle_sizes(self.plan)
        if ROWS * row > len(self._scratch):
            self._scratch = np.zeros(ROWS * row)
        if marginals > len(self._sides):
            self._sides = np.zeros(marginals)

    @property
    def work(self) -> float:
        """Estimate of a sum and its marginals as it is restricted now, in nanoseconds."""
        return self._current.work

    def sum(self) -> float:
        """Return the log of the sum over the block of the product of the weights.

        ``-inf`` if and only if no assignment of the block has a positive product.
        """
        if self._empty:
            return -math.inf
        self.plan = self._current.plan
        buffers = (self.plan, self._factors, self._tables, self._messages, self._peaks)
        total = float(sum_block(self._weights, *buffers, self._scratch))
        if total < self._least_log:
            # Logarithms fill whole tables, for marginals and draws as well.
            self.plan = without_halves(self.plan)
            total = float(sum_block_logs(self._logs, self.plan, *buffers[1:]))
        return total

    def take_marginals(self) -> None:
        """Write the law of every context's score, after :meth:`sum`."""
        block_marginals(
            self._law,
            self.plan,
            self._factors,
            self._tables,
            self._messages,
            self._peaks,
            self._downward,
            self._beliefs,
            self._scratch,
            self._sides,
        )

    def prepare(self) -> None:
        """Get ready for :meth:`draw`, after :meth:`sum`."""
        fill_ladder(self.plan, self._messages, self._ladder)

    def draw(
        self,
        words: NDArray[np.uint64],
        used: int,
        draws: BlockDraws,
        start: int,
        indices: NDArray[np.int32],
        log_chances: FloatArray,
    ) -> int:
        """Draw states after :meth:`prepare`; return how many words are used up (-1: all).

        ``words`` is a uint64 array. Also fills the score indices of the block's contexts,
        ``indices[:, start:]``, shape (draws, rows of all blocks) int32, and adds to
        ``log_chances``, shape (draws,) nats, the log of every draw's probability as a set of
        weights, over its weight.
        """
        used = draw_states(
            self.plan,
            self._tables,
            self._ladder,
            words,
            used,
            draws.states,
            draws.weights,
            log_chances,
        )
        if used >= 0:
            to_full_states(draws.states, self._current.kept, self._current.starts)
            add_scores(
                draws.states,
                self._offsets,
                self._scores,
                self._gains,
                self._lowest,
                self._n_scores,
                start,
                indices,
                log_chances,
            )
            for before, after, penalties in self._steps:
                log_chances += penalties[draws.states[:, before], draws.states[:, after]]
        return used

    def new_draws(self, count: int) -> BlockDraws:
        """Return room for so many draws."""
        return BlockDraws(
            states=np.zeros((count, len(self.variables)), dtype=np.int64),
            weights=np.zeros((count, 2 * len(self.plan.own)), dtype=np.uint64),
        )

    def chosen(self, draws: BlockDraws, place: int, bits: RandomBits) -> BlockDraw:
        """Return one of the draws as weights, with its exact probability.

        States that stand for several assignments are settled here, by fresh bits.
        """
        weights = np.zeros(self.contexts.shape[1], dtype=np.int64)
        pairs = draws.weights[place].tolist()
        chances = [(pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2)]
        states = draws.states[place].tolist()
        for variable, state in zip(self.variables, states, strict=True):
            if isinstance(variable, LevelVariable):
                below = variable.previous
                base = 0 if below is None else self._total(below, states[below])
                weights[variable.column] = int(variable.totals[state]) - base
                continue
            start, stop = int(variable.starts[state]), int(variable.starts[state + 1])
            place, chance = start, (1, 1)
            if stop - start > 1:
                place, chance = settled(variable.weights[start:stop], bits)
                place, chances = start + place, [*chances, chance]
            weights[list(variable.columns)] = variable.assignments[place]
        return BlockDraw(weights=weights, chances=tuple(chances))

    def _total(self, position: int, state: int) -> int:
        variable = self.variables[position]
        assert isinstance(variable, LevelVariable)
        return int(variable.totals[state])


def _weighted_steps(variables: Sequence[Variable]) -> list[tuple[int, int, FloatArray]]:
    """Return the penalties of steps between levels where steps differ in weight."""
    found = []
    for i, variable in enumerate(variables):
        if isinstance(variable, LevelVariable) and variable.previous is not None:
            below = variables[variable.previous]
            assert isinstance(below, LevelVariable)
            if any(variable.penalties):
                found.append((variable.previous, i, variable.step_penalties(below.totals)))
    return found


def _contributions(
    variables: Sequence[Variable], terms: Sequence[Term], offsets: IntArray
) -> tuple[NDArray[np.int32], FloatArray]:
    """Return what every state adds to every context's score, and logs of its own weight."""
    scores = np.zeros((int(offsets[-1]), len(terms)), dtype=np.int32)
    gains = np.zeros(int(offsets[-1]))
    for k, term in enumerate(terms):
        for i, added in zip(term.variables, term.scores, strict=True):
            scores[offsets[i] : offsets[i + 1], k] = added
    for i, variable in enumerate(variables):
        own = slice(int(offsets[i]), int(offsets[i + 1]))
        if not isinstance(variable, LevelVariable):
            gains[own] = np.log(variable.masses)
        elif variable.previous is None:
            gains[own] = -variable.step_penalties(np.zeros(1, dtype=np.int64))[0]
    return scores, gains
