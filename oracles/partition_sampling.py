"""Exact draws by adaptive rejection over a partition of the hypotheses.

Fix the history before a round: cells with integer masses ``N_c`` that add up to ``S``. The round
draws a cell, then hypothesis ``w`` with an exactly known rational probability ``q_c(w)``, and
accepts with probability ``e^(ref - beta * L(w)) / (N_c q_c(w))``. So it ends with ``w`` with
probability ``e^(ref - beta * L(w)) / S``, whatever the cells are and however they came about: an
accepted hypothesis has exactly the target law. The envelope only has to keep the acceptance
probability at most 1, and rounds must be neither abandoned nor steered by their own draw.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oracles.block_sums import BlockDraw
from oracles.column_groups import ColumnGroup, check_structure, choose_blocks, complete_structure
from oracles.entropy import EntropySource, RandomBits, exponential_enclosure
from oracles.envelope import Envelope, Region, Tightener, as_fractions
from oracles.errors import InconsistentSolution, NoHypothesis, UnsupportedProblem
from oracles.loss_levels import checked_beta
from oracles.partition import MASS_BITS, Cell, MassTree, best_split, integer_mass
from oracles.problem import Hypothesis, IntArray, ZeroOneProblem

_WORDS = 2048
_SLACK = 1e-7
_LOG_FLOOR = -600 * math.log(2.0)
_DOUBT = 1e-6

SamplingProgress = Callable[["SamplingDiagnostics"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingDiagnostics:
    """How a draw went. Depends on the points: never part of what is published.

    Parameters
    ----------
    rounds : int
        Rounds so far.
    acceptance : float
        Mean acceptance probability of the draws so far.
    cells : int
        Cells of the partition.
    steps : int
        Tightening steps.
    log_total : float
        Log of the sum of the masses: an upper bound on ``log(sum exp(-beta * L))``.
    seconds : float
        Wall seconds.
    """

    rounds: int
    acceptance: float
    cells: int
    steps: int
    log_total: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """How to sample.

    Parameters
    ----------
    max_rounds : int or None
        Public cap on the rounds of one draw; reaching it raises and yields nothing.
    n_blocks : int or None
        Blocks of columns; None: chosen from the structure.
    progress : callable or None
        Called after rounds with :class:`SamplingDiagnostics`, at most once a second.
    """

    max_rounds: int | None = None
    n_blocks: int | None = None
    progress: SamplingProgress | None = None


class PartitionSampler:
    """Draws independent hypotheses from one problem; every draw refines the partition.

    Parameters
    ----------
    problem : ZeroOneProblem
        Binary points; no perturbation.
    beta : Fraction or float
        Weight of one row of loss, >= 0.
    structure : sequence of ColumnGroup
        Public facts; columns of no group are free.
    options : SamplingOptions
        Limits and callbacks.

    Raises
    ------
    UnsupportedProblem
        If the blocks are too large, or the problem has a perturbation.
    """

    def __init__(
        self,
        problem: ZeroOneProblem,
        beta: Fraction | float,
        structure: Sequence[ColumnGroup] = (),
        options: SamplingOptions | None = None,
    ) -> None:
        if problem.perturbation is not None:
            raise UnsupportedProblem("sampling takes problems without a perturbation.")
        self._problem = problem
        self._beta = checked_beta(beta)
        self._options = options or SamplingOptions()
        groups = complete_structure(structure, problem.n_features)
        check_structure(groups, problem.points)
        blocks = choose_blocks(groups, problem.grid, self._options.n_blocks)
        self._started = time.perf_counter()
        self._envelope = Envelope(problem, float(self._beta), blocks)
        self._tightener = Tightener(self._envelope)
        self._whole = self._envelope.whole()
        self._tree = MassTree()
        self._rounds, self._trials, self._accepted = 0, 0, 0.0
        self._plant()

    @property
    def diagnostics(self) -> SamplingDiagnostics:
        """What happened so far."""
        return SamplingDiagnostics(
            rounds=self._rounds,
            acceptance=self._accepted / max(1, self._trials),
            cells=len(self._tree),
            steps=self._tightener.steps_done,
            log_total=self._reference + math.log(self._tree.total) - MASS_BITS * math.log(2.0),
            seconds=time.perf_counter() - self._started,
        )

    @property
    def distance_bound(self) -> float:
        """Bound on the total-variation distance of a draw's law from the target."""
        return 2.0**-100

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
        reported = time.perf_counter()
        rounds = 0
        while self._options.max_rounds is None or rounds < self._options.max_rounds:
            rounds += 1
            self._rounds += 1
            hypothesis = self._round(entropy, bits)
            if hypothesis is not None:
                if not self._tree.masses_add_up():
                    raise InconsistentSolution("the masses of the cells must add up.")
                return hypothesis
            now = time.perf_counter()
            if self._options.progress is not None and now - reported > 1.0:
                reported = now
                self._options.progress(self.diagnostics)
        raise NoHypothesis(
            f"a draw must succeed within max_rounds={self._options.max_rounds} rounds; raise the "
            "cap or use a smaller grid."
        )

    def _plant(self) -> None:
        shares, value, step = self._tightener.run(
            None, self._whole, step=2.0, n_steps=80, n_least=10
        )
        if not math.isfinite(value):
            raise InconsistentSolution("the sum over all hypotheses underflowed.")
        self._reference = math.floor(value)
        log_mass = value - self._reference + _SLACK
        self._tree.add(
            Cell(
                parent=None,
                condition=(),
                depth=0,
                mass=integer_mass(log_mass),
                log_mass=log_mass,
                shares=shares,
                step=step,
                tightened=True,
            )
        )

    def _round(self, entropy: EntropySource, bits: RandomBits) -> Hypothesis | None:
        """Run one round; return the hypothesis it accepts, if it does."""
        cell = self._tree.draw(bits)
        region = cell.region(self._whole)
        if not cell.tightened and not self._tightened(cell, region, bits):
            return None
        assert cell.shares is not None
        self._checked(self._envelope.evaluate_rounded(cell.shares, region), cell)
        draws = self._block_draws(entropy, bits)
        hypothesis, scores = self._assembled(draws)
        loss = self._problem.loss(hypothesis)
        if loss < self._envelope.certified(scores) - 1e-6 * max(1, abs(loss)):
            raise InconsistentSolution("the loss must not be below its certified bound.")
        chances = draws[0].chances + draws[1].chances
        accepted, chance = self._accepts(cell, loss, chances, bits)
        cell.trials += 1
        cell.accepted += chance
        self._trials += 1
        self._accepted += chance
        if accepted and self._problem.grid.contains(hypothesis):
            return hypothesis
        # Only after the accept test: refining on a pending draw would favour or shun it.
        if cell.accepted < 0.6 * cell.trials:
            self._split(cell, region)
        return None

    def _tightened(self, cell: Cell, region: Region, bits: RandomBits) -> bool:
        """Tighten a fresh cell; return False with the probability that its mass shrank by."""
        cell.tightened = True
        shares, value, step = self._tightener.run(
            cell.shares,
            region,
            step=cell.step,
            n_steps=40 // cell.depth,
            n_least=10,
        )
        before = cell.mass
        if value == -math.inf:
            if self._envelope.relative_log_sum(region) > -math.inf:
                raise InconsistentSolution("the sum over a cell underflowed.")
            cell.mass = 0  # no hypothesis meets the cell's conditions
        else:
            log_mass = value - self._reference + _SLACK
            # The smaller of the two bounds holds; a worse fresh one never replaces the parent's.
            if log_mass < cell.log_mass:
                cell.log_mass, cell.shares, cell.step = log_mass, shares, step
                cell.mass = min(cell.mass, integer_mass(log_mass))
        self._tree.update(cell)
        return cell.mass > 0 and bits.below(before) < cell.mass

    def _checked(self, value: float, cell: Cell) -> None:
        if not value - self._reference <= cell.log_mass:
            raise InconsistentSolution("a cell's mass must bound the sum over the cell.")

    def _block_draws(
        self, entropy: EntropySource, bits: RandomBits
    ) -> tuple[BlockDraw, BlockDraw]:
        while True:
            words = np.array([bits.integer(64) for _ in range(256)], dtype=np.uint64)
            first, used = self._envelope.sums[0].draw(words, 0, bits)
            if used >= 0:
                second, used = self._envelope.sums[1].draw(words, used, bits)
            if used >= 0:
                return first, second

    def _assembled(
        self, draws: tuple[BlockDraw, BlockDraw]
    ) -> tuple[Hypothesis, tuple[IntArray, IntArray]]:
        weights = np.zeros(self._problem.n_features, dtype=np.int64)
        for columns, drawn in zip(self._envelope.columns, draws, strict=True):
            weights[columns] = drawn.weights
        scores = (
            self._envelope.score_indices(0, draws[0].weights),
            self._envelope.score_indices(1, draws[1].weights),
        )
        return tuple(int(w) for w in weights), scores

    def _accepts(
        self,
        cell: Cell,
        loss: int,
        chances: Sequence[tuple[int, int]],
        bits: RandomBits,
    ) -> tuple[bool, float]:
        """Decide the accept test exactly; also return its probability as a float."""
        exponent = self._beta * loss + self._reference
        log_chance = MASS_BITS * math.log(2.0) - float(exponent) - math.log(cell.mass)
        log_chance -= math.fsum(math.log(p) - math.log(q) for p, q in chances)
        if log_chance > 0:
            raise InconsistentSolution("an acceptance probability must not exceed 1.")
        chance = math.exp(log_chance)
        drawn = bits.integer(64)
        if (drawn + 1) * 2.0**-64 <= chance * (1 - _DOUBT):
            return True, chance
        if drawn * 2.0**-64 >= chance * (1 + _DOUBT):
            return False, chance
        return _decide(drawn, exponent, cell.mass, chances, bits), chance

    def _split(self, cell: Cell, region: Region) -> None:
        assert cell.shares is not None
        self._envelope.evaluate_rounded(cell.shares, region)
        self._envelope.laws()
        shares = as_fractions(cell.shares)
        chosen = best_split(self._envelope.shortfalls(shares), region)
        if chosen is None:
            return
        block, context = chosen
        width = self._envelope.widths[block]
        law = self._envelope.sums[block].law[context * width : (context + 1) * width]
        total = float(law.sum())
        slot: int | None = cell.slot
        for value in range(int(region.low[block][context]), int(region.high[block][context]) + 1):
            share = float(law[value]) / total
            log_mass = cell.log_mass + math.log(share) + _SLACK if share > 0 else -math.inf
            log_mass = max(log_mass, -MASS_BITS * math.log(2.0))
            child = Cell(
                parent=cell,
                condition=(block, context, value, value),
                depth=cell.depth + 1,
                mass=integer_mass(log_mass),
                log_mass=log_mass,
                shares=cell.shares,
                step=cell.step,
            )
            self._tree.add(child, slot)
            slot = None
        cell.shares = None


def _decide(
    drawn: int,
    exponent: Fraction,
    mass: int,
    chances: Sequence[tuple[int, int]],
    bits: RandomBits,
) -> bool:
    """Decide ``U < 2**MASS_BITS * exp(-exponent) / (mass * prod(p / q))`` in integers."""
    numerator = math.prod(p for p, _ in chances) * mass
    denominator = math.prod(q for _, q in chances) << MASS_BITS
    drawn_bits, precision = 64, 256
    while True:
        low, high = exponential_enclosure(abs(exponent), precision)
        # U * numerator / denominator against exp(-exponent); one of the two enclosures divides.
        below, above = drawn * numerator, (drawn + 1) * numerator
        scale = denominator << drawn_bits
        if exponent >= 0:
            if above << precision <= low * scale:
                return True
            if below << precision >= high * scale:
                return False
        else:
            if above * high <= scale << precision:
                return True
            if below * low >= scale << precision:
                return False
        drawn = (drawn << precision) | bits.integer(precision)
        drawn_bits += precision
        precision *= 2
