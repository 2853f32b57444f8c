"""Exact draws by adaptive rejection over a partition of the hypotheses.

Fix the history before a batch of rounds: cells with integer masses ``N_c`` that add up to ``S``.
A round draws a cell, then hypothesis ``w`` with an exactly known rational probability ``q_c(w)``,
and accepts with probability ``e^(ref - beta * L(w)) / (N_c q_c(w))``. So it ends with ``w`` with
probability ``e^(ref - beta * L(w)) / S``, whatever the cells are and however they came about: an
accepted hypothesis has exactly the target law, and so has the first one of a batch. The lower
bound on the loss only has to keep the acceptance probability at most 1, and rounds must be neither
abandoned nor steered by their own draw: cells change between batches only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from fractions import Fraction
from functools import partial

import numba
import numpy as np

from oracles.arithmetic import EntropySource, RandomBits
from oracles.errors import InconsistentSolution, NoHypothesis, UnsupportedProblem
from oracles.problem import (
    ColumnGroup,
    Hypothesis,
    LogWeights,
    ZeroOneProblem,
    check_structure,
    check_summable,
    checked_weights,
    complete_structure,
)
from oracles.sampling.effort import LARGEST_GRID_BITS
from oracles.sampling.elimination import choose_blocks
from oracles.sampling.listed import checked_beta
from oracles.sampling.options import SamplingDiagnostics, SamplingOptions
from oracles.sampling.rejection.annealing import AnnealedSum
from oracles.sampling.rejection.cell_draws import (
    Candidate,
    CellDraws,
    DrawJob,
    Screened,
    look_at_all,
)
from oracles.sampling.rejection.counted_part import CountedPart
from oracles.sampling.rejection.lower_bound import (
    LowerBound,
    draw_work,
    rounding_slack,
    visit_work,
)
from oracles.sampling.rejection.partition import MASS_BITS, PartitionCell
from oracles.sampling.rejection.refinement import GOOD, Refinement
from oracles.sampling.rejection.schedule import DrawSchedule, log_of_sum
from oracles.sampling.staged import SparseCards

_FIRST_BATCH = 16

_CHUNK, _LONG_CHUNK = 1024, 8192

_LONG_BATCH = 1e8

_FARTHEST_GAP_BITS = 150

_SMALLEST_DOUBLE_BITS = 1022


class PartitionSampler:
    """Draws independent hypotheses from one problem; every draw refines the partition.

    Parameters
    ----------
    problem : ZeroOneProblem
        Binary points; no perturbation.
    beta : Fraction or float
        Inverse temperature, nats per row of loss, >= 0.
    structure : sequence of ColumnGroup
        Public facts; columns of no group are free.
    options : SamplingOptions
        Limits and callbacks.
    log_weights : LogWeights or None
        If given, the target is multiplied by the exponential of a hypothesis's log-weight. At
        most 1, after scaling, and a factor of each block's sum: sums and masses stay exact.
    counted : tuple of (SparseCards, int), or None
        If given, the target is ``exp(-beta * L(w))`` times the weight of ``w`` in a mixture:
        cards whose shares are by their number of points, and the share of the whole grid.

    Raises
    ------
    UnsupportedProblem
        If the blocks are too large, the log-weights differ too much, the problem has a
        perturbation, or there are both log-weights and counted cards.
    """

    def __init__(
        self,
        problem: ZeroOneProblem,
        beta: Fraction | float,
        structure: Sequence[ColumnGroup] = (),
        options: SamplingOptions | None = None,
        log_weights: LogWeights | None = None,
        counted: tuple[SparseCards, int] | None = None,
    ) -> None:
        if problem.perturbation is not None:
            raise UnsupportedProblem("sampling takes problems without a perturbation.")
        self._problem = problem
        self._beta = checked_beta(beta)
        self._options = options or SamplingOptions()
        if counted is not None and log_weights is not None:
            raise UnsupportedProblem("sampling takes log-weights or counted cards, not both.")
        weights = checked_weights(log_weights, problem.grid)
        self._grid_bits = math.log2(problem.grid.n_assignments)
        if self._grid_bits > LARGEST_GRID_BITS:
            raise UnsupportedProblem(
                f"sampling takes grids of at most 2**{LARGEST_GRID_BITS} weight combinations, "
                f"got 2**{self._grid_bits:.0f}; use fewer columns or smaller weights."
            )
        if 1000 * problem.grid.n_hypotheses < problem.grid.n_assignments:
            raise UnsupportedProblem(
                "a norm budget must leave at least one weight combination in 1,000 of the box for "
                "sampling; raise it or use smaller weights."
            )
        if weights is not None:
            check_summable(weights, problem.grid)
        # Deep sums are redone in logarithms, the earlier the larger the grid.
        self._depth_bits = min(600.0, 772.0 - 2 * self._grid_bits)
        groups = complete_structure(structure, problem.n_features)
        check_structure(groups, problem.points)
        blocks = choose_blocks(groups, problem.grid, self._options.n_blocks)
        self._started = self._reported = time.perf_counter()
        penalties = None
        if weights is not None:
            penalties = [[float(v) for v in table] for table in weights.penalties]
        new_lower_bound = partial(
            LowerBound,
            problem,
            float(self._beta),
            blocks,
            least_log=-self._depth_bits * math.log(2.0),
            penalties=penalties,
        )
        allowed: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
        self._lower_bound = new_lower_bound()
        self._refinement = Refinement(
            self._lower_bound,
            rounding_slack(self._lower_bound),
            self._options.n_threads or min(2, allowed),
            new_lower_bound,
        )
        self._cells = self._refinement.cells
        self._counted = None if counted is None else CountedPart(problem, self._beta, *counted)
        self._known = -math.inf if self._counted is None else self._counted.log_sum
        self._rounds, self._trials, self._accepted = 0, 0, 0.0
        self._draw_work = draw_work(self._lower_bound)
        self._drawn = self._recent = 0.0
        self._schedule = DrawSchedule(
            self._draw_work,
            partial(AnnealedSum, problem, float(self._beta), weights),
            self._known,
        )
        self._cell_draws = [
            CellDraws(problem, self._lower_bound, self._beta, self._refinement.reference, weights)
        ]

    @property
    def diagnostics(self) -> SamplingDiagnostics:
        """What happened so far."""
        return SamplingDiagnostics(
            rounds=self._rounds,
            acceptance=self._accepted / max(1, self._trials),
            cells=len(self._cells),
            steps=self._refinement.steps,
            log_total=self._log_total,
            seconds=time.perf_counter() - self._started,
            gap=self._schedule.gap(self._log_total),
        )

    @property
    def _log_total(self) -> float:
        return log_of_sum(self._log_mass, self._known)

    @property
    def _log_mass(self) -> float:
        units = math.log(self._cells.total) - MASS_BITS * math.log(2.0)
        return self._refinement.reference + units

    @property
    def total_variation_bound(self) -> float:
        """Bound on the total-variation distance of a draw's law from the target.

        Every choice is exact except that configurations may underflow in a block sum, each of
        relative weight below ``|W| * 2**-1022`` where the sum is at least ``2**-depth``. Together
        they weigh at most ``|W|**2 * 2**(depth - 1022) * S / Z``, S the sum of the masses and Z
        that of the target; a counted part adds the same to both, and lowers the ratio. A round in
        which ``S / Z > 2**150`` succeeds with probability below ``2**-150``; the bound allows for
        ``2**50`` of them.
        """
        bits = 2 * self._grid_bits + self._depth_bits + _FARTHEST_GAP_BITS - _SMALLEST_DOUBLE_BITS
        return float(2.0**-100 + 2.0**bits)

    def draw(self, entropy: EntropySource) -> Hypothesis:
        """Return one hypothesis, independent of all earlier ones given the points.

        Raises
        ------
        NoHypothesis
            If the public cap on rounds was met.
        InconsistentSolution
            If an invariant was found violated; nothing is returned then.
        """
        bits = RandomBits(entropy)
        rounds, cap = 0, self._options.max_rounds
        batch = 1 if self._recent > 0.1 else _FIRST_BATCH
        while cap is None or rounds < cap:
            self._refine()
            work = self._refinement.work
            room = int(self._schedule.room(work, self._drawn, self._log_total))
            batch = min(batch, max(room, _FIRST_BATCH))
            if cap is not None:
                batch = min(batch, cap - rounds)
            hypothesis = self._tried(batch, bits)
            rounds += batch
            if hypothesis is not None:
                if not self._cells.masses_add_up():
                    raise InconsistentSolution("the masses of the cells must add up.")
                return hypothesis
            batch *= 4
            self._report()
        raise NoHypothesis(
            f"a draw must succeed within max_rounds={cap} rounds; raise the cap or use a "
            "smaller grid."
        )

    def _tried(self, count: int, bits: RandomBits) -> Hypothesis | None:
        """Run so many rounds; the first one that draws from the counted part is the last."""
        if self._counted is None:
            return self._rounds_of(count, bits)
        reference, total = self._refinement.reference, self._cells.total
        place = self._counted.first(count, reference, total, bits)
        before = count if place is None else place
        hypothesis = self._rounds_of(before, bits) if before else None
        if hypothesis is not None or place is None:
            return hypothesis
        self._rounds += 1
        return self._counted.draw(bits)

    def _rounds_of(self, count: int, bits: RandomBits) -> Hypothesis | None:
        """Run so many rounds on the partition as it stands; return what the first success drew.

        The partition does not change meanwhile, so the rounds are independent and their order of
        computation is free: cell by cell.
        """
        slots = self._cells.draw(count, bits)
        order = np.argsort(slots, kind="stable")
        visited, starts, hits = np.unique(slots[order], return_index=True, return_counts=True)
        first, winner = count, None
        trials, accepted = self._trials, self._accepted
        workers = self._workers(count)
        size = _CHUNK if len(workers) == 1 else _LONG_CHUNK

        def jobs() -> Iterator[DrawJob]:
            for j in np.argsort(-hits, kind="stable"):
                places = order[starts[j] : starts[j] + hits[j]]
                cell = self._cells[int(visited[j])]
                region = cell.region(self._refinement.whole)
                for start in range(0, len(places), size):
                    # Rounds after one that succeeded need not be run.
                    part = places[start : start + size]
                    part = part[part < first]
                    if len(part):
                        yield workers[0].job(cell, region, part, bits)

        with closing(look_at_all(workers, jobs())) as looks:
            for screened in looks:
                found = self._success(screened, first, bits)
                if found is not None:
                    first, winner = found.place, found.hypothesis
        self._drawn += len(visited) * visit_work(self._lower_bound)
        self._rounds += count if winner is None else first + 1
        share = (self._accepted - accepted) / (self._trials - trials)
        self._recent += 0.1 * (share - self._recent)
        return winner

    def _workers(self, count: int) -> list[CellDraws]:
        """Return who draws, one for each thread: a single one for a short batch."""
        envelopes = self._refinement.envelopes
        if count * self._draw_work < _LONG_BATCH:
            envelopes = envelopes[:1]
        for lower_bound in envelopes[len(self._cell_draws) :]:
            self._cell_draws.append(self._cell_draws[0].with_lower_bound(lower_bound))
        workers = self._cell_draws[: len(envelopes)]
        for draws in workers:
            draws.forget()
        return workers

    def _success(self, screened: Screened, limit: int, bits: RandomBits) -> Candidate | None:
        """Return the first draw that the exact test accepts, of a round before the limit."""
        cell, n = screened.job.cell, len(screened.job.places)
        cell.accepted += screened.chance
        cell.trials += n
        self._accepted += screened.chance
        self._trials += n
        self._drawn += n * self._draw_work
        for candidate in self._cell_draws[0].candidates(screened, limit, bits):
            if self._accepts(cell, candidate, bits):
                return candidate
        return None

    def _accepts(self, cell: PartitionCell, candidate: Candidate, bits: RandomBits) -> bool:
        return self._cell_draws[0].accepts(cell, candidate, bits)

    def _refine(self) -> None:
        """Refine as long as the schedule says so, or nothing is left to do.

        Only rounds that are over count: a pending draw must not be favoured or shunned.
        """
        done = -1.0
        while self._rejected() >= 1 - GOOD and self._refinement.work > done:
            done = self._refinement.work
            limit = self._schedule.limit(done, self._drawn, self._log_total, self._accepted)
            if done < limit:
                self._refinement.run(limit, self._report)

    def _rejected(self) -> float:
        """Return what share of rounds is expected to be rejected: none of the counted part."""
        return (1.0 - self._recent) * math.exp(self._log_mass - self._log_total)

    def _report(self) -> None:
        now = time.perf_counter()
        if self._options.progress is not None and now - self._reported > 1.0:
            self._reported = now
            self._options.progress(self.diagnostics)
