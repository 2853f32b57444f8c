"""Draws from single cells of a partition, and the exact test of the few that may be accepted."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import FloatArray, IntArray, RandomBits, results_in_order
from oracles.errors import InconsistentSolution
from oracles.problem import Hypothesis, LogWeights, ZeroOneProblem
from oracles.sampling.elimination import BROKEN, CANDIDATE, WORDS_TO_SPARE, BlockDraws, first_look
from oracles.sampling.rejection.acceptance import accept
from oracles.sampling.rejection.lower_bound import LowerBound, Region
from oracles.sampling.rejection.partition import MASS_BITS, PartitionCell


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A draw that the first look could not rule out.

    Parameters
    ----------
    place : int
        Which round of the batch it belongs to.
    hypothesis : tuple of int
        The weights.
    chances : tuple of (int, int)
        Their exact probability under the cell's law is the product of ``p / q``.
    threshold : int
        64 random bits, the first of the uniform number that the test compares with.
    chance : float
        The probability that the test accepts it, in doubles.
    """

    place: int
    hypothesis: Hypothesis
    chances: tuple[tuple[int, int], ...]
    threshold: int
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawJob:
    """Draws to make from one cell.

    Parameters
    ----------
    cell : PartitionCell
        The cell.
    region : Region
        Its region.
    places : ndarray of shape (n,), int64
        The rounds of the batch that drew the cell, ascending: one draw each.
    words : list of ndarray, uint64
        Random words of each block's draws: more than one per choice, whatever is needed.
    thresholds : ndarray of shape (n,), uint64
        First random bits of each accept test, in units of ``2**-64``.
    """

    cell: PartitionCell
    region: Region
    places: IntArray
    words: list[NDArray[np.uint64]]
    thresholds: NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Screened:
    """What a first look left of a job's draws.

    Parameters
    ----------
    job : DrawJob
        The job.
    chance : float
        Sum of the draws' acceptance probabilities.
    kept : ndarray of shape (k,), int64
        Which draws of the job may be accepted.
    chances : ndarray of shape (k,), float64
        The probabilities that they are.
    draws : list of BlockDraws
        Their states, one entry per block, ``k`` draws each.
    """

    job: DrawJob
    chance: float
    kept: IntArray
    chances: FloatArray
    draws: list[BlockDraws]


class CellDraws:
    """Draws from the law that a cell's bound has on its region.

    It keeps the points in descending order of what they cost: ``_rows``, shape (points, blocks)
    int32, the row of each in each block, and ``_counts``, shape (points,) int64, rows of loss.

    Parameters
    ----------
    problem : ZeroOneProblem
        The points.
    lower_bound : LowerBound
        Its buffers are overwritten.
    beta : Fraction
        Inverse temperature, nats per row of loss.
    reference : int
        What masses are relative to, nats.
    log_weights : LogWeights or None
        What the lower bound weighs hypotheses by.
    """

    def __init__(
        self,
        problem: ZeroOneProblem,
        lower_bound: LowerBound,
        beta: Fraction,
        reference: int,
        log_weights: LogWeights | None = None,
    ) -> None:
        self._problem, self._lower_bound = problem, lower_bound
        self._beta, self._reference, self._log_weights = beta, reference, log_weights
        order = np.argsort(-np.abs(lower_bound.counts), kind="stable")
        self._rows = np.ascontiguousarray(lower_bound.rows[order], dtype=np.int32)
        self._counts = lower_bound.counts[order]
        self._ready: PartitionCell | None = None
        self._empty = False

    def with_lower_bound(self, lower_bound: LowerBound) -> CellDraws:
        """Return the same for another lower bound that is equal to this one's."""
        return CellDraws(
            self._problem, lower_bound, self._beta, self._reference, self._log_weights
        )

    def job(
        self, cell: PartitionCell, region: Region, places: IntArray, bits: RandomBits
    ) -> DrawJob:
        """Return the task of drawing once for each of some places, with all its random words."""
        n, words = len(places), []
        for block in self._lower_bound.sums:
            # A choice takes a word, and with probability below 2**-11 another one.
            choices = n * len(block.plan.own)
            words.append(bits.words(choices + choices // 64 + WORDS_TO_SPARE))
        return DrawJob(
            cell=cell, region=region, places=places, words=words, thresholds=bits.words(n)
        )

    def look(self, job: DrawJob) -> Screened:
        """Draw, and sort out what is far from being accepted.

        Jobs that follow each other on one cell share its sums; between batches of jobs,
        :meth:`forget` them.

        Raises
        ------
        InconsistentSolution
            If an invariant was found violated.
        """
        cell, lower_bound, n = job.cell, self._lower_bound, len(job.places)
        if self._ready is not cell:
            self._prepare(cell, job.region)
        draws = [block.new_draws(n) for block in lower_bound.sums]
        chances, status = np.zeros(n), np.zeros(n, dtype=np.int8)
        if not self._empty:  # no hypothesis meets the conditions of an empty cell
            self._draw(job, draws, chances, status)
        if (status == BROKEN).any():
            raise InconsistentSolution(
                "a loss must not be below its certified bound, nor an acceptance probability "
                "exceed 1."
            )
        kept = np.flatnonzero(status == CANDIDATE)
        return Screened(
            job=job,
            chance=float(chances.sum()),
            kept=kept,
            chances=chances[kept],
            draws=[BlockDraws(states=d.states[kept], weights=d.weights[kept]) for d in draws],
        )

    def forget(self) -> None:
        """Forget which cell the lower bound is ready for."""
        self._ready = None

    def _prepare(self, cell: PartitionCell, region: Region) -> None:
        log_sum = self._lower_bound.log_sum(cell.bound, region)
        if not log_sum - self._reference <= cell.log_mass:
            raise InconsistentSolution("a cell's mass must bound the sum over the cell.")
        self._ready, self._empty = cell, log_sum == -math.inf
        if not self._empty:
            for block in self._lower_bound.sums:
                block.prepare()

    def _draw(
        self, job: DrawJob, draws: list[BlockDraws], chances: FloatArray, status: NDArray[np.int8]
    ) -> None:
        lower_bound, cell, n = self._lower_bound, job.cell, len(job.places)
        indices = np.zeros((n, len(lower_bound.costs)), dtype=np.int32)
        log_chances = np.zeros(n)
        for block, drawn, words, start in zip(
            lower_bound.sums, draws, job.words, lower_bound.starts, strict=False
        ):
            if block.draw(words, 0, drawn, start, indices, log_chances) < 0:
                raise InconsistentSolution("the random words of a draw ran out.")
        first_look(
            indices,
            log_chances,
            job.thresholds,
            self._rows,
            self._counts,
            lower_bound.base,
            lower_bound.target,
            job.region.low,
            job.region.high,
            cell.bound.costs,
            cell.bound.constant,
            lower_bound.beta,
            MASS_BITS * math.log(2.0) - self._reference - math.log(cell.mass),
            chances,
            status,
        )

    def candidates(self, screened: Screened, limit: int, bits: RandomBits) -> Iterator[Candidate]:
        """Yield the candidates of rounds before the limit in order; others cost nothing."""
        before = screened.job.places[screened.kept] < limit
        for i, place in enumerate(screened.kept[before]):
            weights: IntArray = np.zeros(self._problem.n_features, dtype=np.int64)
            pairs: list[tuple[int, int]] = []
            for block, drawn, columns in zip(
                self._lower_bound.sums, screened.draws, self._lower_bound.columns, strict=True
            ):
                chosen = block.chosen(drawn, i, bits)
                weights[columns] = chosen.weights
                pairs += chosen.chances
            yield Candidate(
                place=int(screened.job.places[place]),
                hypothesis=tuple(weights.tolist()),
                chances=tuple(pairs),
                threshold=int(screened.job.thresholds[place]),
                chance=float(screened.chances[i]),
            )

    def accepts(self, cell: PartitionCell, candidate: Candidate, bits: RandomBits) -> bool:
        """Decide exactly; a hypothesis beyond the norm budget is never accepted."""
        if not self._problem.grid.contains(candidate.hypothesis):
            return False
        loss = self._problem.loss(candidate.hypothesis)
        exponent = self._beta * loss + self._reference
        if self._log_weights is not None:
            exponent += self._log_weights.penalty(self._problem.grid, candidate.hypothesis)
        return accept(exponent, cell.mass, candidate.chances, candidate.threshold, bits)


def look_at_all(workers: Sequence[CellDraws], jobs: Iterator[DrawJob]) -> Generator[Screened]:
    """Look at jobs on as many threads as there are members, and yield results in order.

    Random words are drawn in the same order whichever thread is the faster.
    """
    for _, screened in results_in_order(workers, jobs, CellDraws.look):
        yield screened
