"""Draws from single cells of a partition, and the exact test of the few that may be accepted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oracles.acceptance import accept
from oracles.block_sums import BlockDraws
from oracles.draw_kernels import BROKEN, CANDIDATE, WORDS_TO_SPARE, first_look
from oracles.entropy import RandomBits
from oracles.envelope import Envelope, Region
from oracles.errors import InconsistentSolution
from oracles.log_weights import LogWeights
from oracles.partition import MASS_BITS, Cell
from oracles.problem import Hypothesis, IntArray, ZeroOneProblem

_CHUNK = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A draw that the first look could not rule out.

    Parameters
    ----------
    place : int
        Which of the cell's draws it is.
    hypothesis : tuple of int
        The weights.
    chances : tuple of (int, int)
        Their exact probability under the cell's law is the product of ``p / q``.
    ticket : int
        64 random bits, the first of the uniform number that the test compares with.
    chance : float
        The probability that the test accepts it, in doubles.
    """

    place: int
    hypothesis: Hypothesis
    chances: tuple[tuple[int, int], ...]
    ticket: int
    chance: float


class CellDraws:
    """Draws from the law that a cell's bound has on its region.

    Parameters
    ----------
    problem : ZeroOneProblem
        The points.
    envelope : Envelope
        Its buffers are overwritten.
    beta : Fraction
        Weight of one row of loss.
    reference : int
        What masses are relative to, nats.
    log_weights : LogWeights or None
        What the envelope weighs hypotheses by.
    """

    def __init__(
        self,
        problem: ZeroOneProblem,
        envelope: Envelope,
        beta: Fraction,
        reference: int,
        log_weights: LogWeights | None = None,
    ) -> None:
        self._problem, self._envelope = problem, envelope
        self._beta, self._reference, self._log_weights = beta, reference, log_weights
        order = np.argsort(-np.abs(envelope.counts), kind="stable")
        self._rows = np.ascontiguousarray(envelope.rows[order], dtype=np.int32)
        self._counts = envelope.counts[order]
        self._draws: list[BlockDraws] = []

    def visit(
        self, cell: Cell, region: Region, count: int, bits: RandomBits
    ) -> Iterator[tuple[int, float, Iterator[Candidate]]]:
        """Draw so often, in pieces: yield their sizes, sums of chances, and candidates in order.

        Candidates must be taken before the next piece; those not taken cost nothing.

        Raises
        ------
        InconsistentSolution
            If an invariant was found violated.
        """
        envelope = self._envelope
        log_sum = envelope.log_sum(cell.bound, region)
        if not log_sum - self._reference <= cell.log_mass:
            raise InconsistentSolution("a cell's mass must bound the sum over the cell.")
        if log_sum == -math.inf:  # no hypothesis meets the cell's conditions
            return
        for block in envelope.sums:
            block.prepare()
        log_height = MASS_BITS * math.log(2.0) - self._reference - math.log(cell.mass)
        for first in range(0, count, _CHUNK):
            n = min(_CHUNK, count - first)
            yield self._piece(cell, region, n, first, log_height, bits)

    def _piece(
        self, cell: Cell, region: Region, n: int, first: int, log_height: float, bits: RandomBits
    ) -> tuple[int, float, Iterator[Candidate]]:
        envelope = self._envelope
        draws = [block.new_draws(n) for block in envelope.sums]
        indices = np.zeros((n, len(envelope.costs)), dtype=np.int32)
        log_chances = np.zeros(n)
        for block, drawn, start in zip(envelope.sums, draws, envelope.starts, strict=False):
            # A choice takes a word, and with probability below 2**-11 another one.
            choices = n * len(block.plan.own)
            words = bits.words(choices + choices // 64 + WORDS_TO_SPARE)
            if block.draw(words, 0, drawn, start, indices, log_chances) < 0:
                raise InconsistentSolution("the random words of a draw ran out.")
        tickets = bits.words(n)
        chances, status = np.zeros(n), np.zeros(n, dtype=np.int8)
        first_look(
            indices,
            log_chances,
            tickets,
            self._rows,
            self._counts,
            envelope.base,
            envelope.target,
            region.low,
            region.high,
            cell.bound.costs,
            cell.bound.constant,
            envelope.beta,
            log_height,
            chances,
            status,
        )
        if (status == BROKEN).any():
            raise InconsistentSolution(
                "a loss must not be below its certified bound, nor an acceptance probability "
                "exceed 1."
            )
        candidates = (
            self._candidate(draws, int(i), first, int(tickets[i]), float(chances[i]), bits)
            for i in np.flatnonzero(status == CANDIDATE)
        )
        return n, float(chances.sum()), candidates

    def _candidate(
        self,
        draws: list[BlockDraws],
        i: int,
        first: int,
        ticket: int,
        chance: float,
        bits: RandomBits,
    ) -> Candidate:
        weights: IntArray = np.zeros(self._problem.n_features, dtype=np.int64)
        pairs: list[tuple[int, int]] = []
        for block, drawn, columns in zip(
            self._envelope.sums, draws, self._envelope.columns, strict=True
        ):
            chosen = block.chosen(drawn, i, bits)
            weights[columns] = chosen.weights
            pairs += chosen.chances
        return Candidate(
            place=first + i,
            hypothesis=tuple(weights.tolist()),
            chances=tuple(pairs),
            ticket=ticket,
            chance=chance,
        )

    def accepts(self, cell: Cell, candidate: Candidate, bits: RandomBits) -> bool:
        """Decide exactly; a hypothesis beyond the norm budget is never accepted."""
        if not self._problem.grid.contains(candidate.hypothesis):
            return False
        loss = self._problem.loss(candidate.hypothesis)
        exponent = self._beta * loss + self._reference
        if self._log_weights is not None:
            exponent += self._log_weights.penalty(self._problem.grid, candidate.hypothesis)
        return accept(exponent, cell.mass, candidate.chances, candidate.ticket, bits)
