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
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from oracles.acceptance import accept
from oracles.block_sums import BlockDraw
from oracles.column_groups import ColumnGroup, check_structure, choose_blocks, complete_structure
from oracles.entropy import EntropySource, RandomBits
from oracles.envelope import Envelope, Region
from oracles.errors import InconsistentSolution, NoHypothesis, UnsupportedProblem
from oracles.loss_levels import checked_beta
from oracles.partition import (
    MASS_BITS,
    Cell,
    MassTree,
    best_split,
    integer_mass,
    split_cell,
)
from oracles.problem import Hypothesis, ZeroOneProblem
from oracles.sampling_options import SamplingDiagnostics, SamplingOptions
from oracles.tightening import Tightener

_WORDS = 1024
_SLACK = 1e-7
_LARGEST_GRID_BITS = 300
_FARTHEST_GAP_BITS = 150
_SMALLEST_DOUBLE_BITS = 1022


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
        self._grid_bits = math.log2(problem.grid.n_assignments)
        if self._grid_bits > _LARGEST_GRID_BITS:
            raise UnsupportedProblem(
                f"sampling takes grids of at most 2**{_LARGEST_GRID_BITS} weight combinations, "
                f"got 2**{self._grid_bits:.0f}; use fewer columns or smaller weights."
            )
        if 1000 * problem.grid.n_hypotheses < problem.grid.n_assignments:
            raise UnsupportedProblem(
                "a norm budget must leave at least one weight combination in 1,000 of the box for "
                "sampling; raise it or use smaller weights."
            )
        # Deep sums are redone in logarithms, the earlier the larger the grid.
        self._depth_bits = min(600.0, 772.0 - 2 * self._grid_bits)
        groups = complete_structure(structure, problem.n_features)
        check_structure(groups, problem.points)
        blocks = choose_blocks(groups, problem.grid, self._options.n_blocks)
        self._started = time.perf_counter()
        least_log = -self._depth_bits * math.log(2.0)
        self._envelope = Envelope(problem, float(self._beta), blocks, least_log=least_log)
        self._slack = _slack(self._envelope)
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
        """Bound on the total-variation distance of a draw's law from the target.

        Every choice is exact except that configurations may underflow in a block sum, each of
        relative weight below ``|W| * 2**-1022`` where the sum is at least ``2**-depth``. Together
        they weigh at most ``|W|**2 * 2**(depth - 1022) * S / Z``, S the sum of the masses and Z
        that of the target. A round in which ``S / Z > 2**150`` succeeds with probability below
        ``2**-150``; the bound allows for ``2**50`` of them.
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
        reported = time.perf_counter()
        rounds = 0
        while self._options.max_rounds is None or rounds < self._options.max_rounds:
            rounds += 1
            self._rounds += 1
            hypothesis = self._round(bits)
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
        found = self._tightener.run(None, self._whole, step=2.0, n_steps=80)
        self._reference = math.floor(found.log_sum)
        log_mass = found.log_sum - self._reference + self._slack
        self._tree.add(
            Cell(
                parent=None,
                condition=(),
                depth=0,
                mass=integer_mass(log_mass),
                log_mass=log_mass,
                bound=found.bound,
                mixtures=found.mixtures,
                step=found.step,
                tightened=True,
            )
        )

    def _round(self, bits: RandomBits) -> Hypothesis | None:
        """Run one round; return the hypothesis it accepts, if it does."""
        cell = self._tree.draw(bits)
        region = cell.region(self._whole)
        if not cell.tightened and not self._tightened(cell, region, bits):
            return None
        log_sum = self._envelope.log_sum(cell.bound, region)
        if not log_sum - self._reference <= cell.log_mass:
            raise InconsistentSolution("a cell's mass must bound the sum over the cell.")
        draws = self._block_draws(bits)
        hypothesis = self._assembled(draws)
        accepted, chance = False, 0.0
        if self._problem.grid.contains(hypothesis):  # the norm budget may exclude it
            accepted, chance = self._tested(cell, hypothesis, draws, bits)
        cell.trials += 1
        cell.accepted += chance
        self._trials += 1
        self._accepted += chance
        if accepted:
            return hypothesis
        # Only after the accept test: refining on a pending draw would favour or shun it.
        if cell.accepted < 0.6 * cell.trials:
            self._split(cell, region)
        return None

    def _tested(
        self, cell: Cell, hypothesis: Hypothesis, draws: Sequence[BlockDraw], bits: RandomBits
    ) -> tuple[bool, float]:
        """Run the accept test; return the decision and its probability."""
        loss = self._problem.loss(hypothesis)
        indices = self._envelope.score_indices([drawn.weights for drawn in draws])
        if loss < self._envelope.certified(cell.bound, indices) - 1e-6 * max(1, abs(loss)):
            raise InconsistentSolution("the loss must not be below its certified bound.")
        chances = [pair for drawn in draws for pair in drawn.chances]
        return accept(self._beta * loss + self._reference, cell.mass, chances, bits)

    def _tightened(self, cell: Cell, region: Region, bits: RandomBits) -> bool:
        """Tighten a fresh cell; return False with the probability that its mass shrank by."""
        cell.tightened = True
        before = cell.mass
        n_steps = max(10, 40 // cell.depth)
        found = self._tightener.run(cell.mixtures, region, step=cell.step, n_steps=n_steps)
        if found.log_sum == -math.inf:
            cell.mass = 0  # no hypothesis meets the conditions
        else:
            log_mass = found.log_sum - self._reference + self._slack
            # The smaller of the two bounds holds; a worse fresh one never replaces the parent's.
            if log_mass < cell.log_mass:
                cell.log_mass, cell.bound = log_mass, found.bound
                cell.mixtures, cell.step = found.mixtures, found.step
                cell.mass = min(cell.mass, integer_mass(log_mass))
        self._tree.update(cell)
        return cell.mass > 0 and bits.below(before) < cell.mass

    def _block_draws(self, bits: RandomBits) -> list[BlockDraw]:
        words = bits.words(_WORDS)
        draws, used = [], 0
        for block in self._envelope.sums:
            drawn, used = block.draw(words, used, bits)
            if used < 0:
                raise InconsistentSolution("the random words of a draw ran out.")
            draws.append(drawn)
        return draws

    def _assembled(self, draws: Sequence[BlockDraw]) -> Hypothesis:
        weights = np.zeros(self._problem.n_features, dtype=np.int64)
        for columns, drawn in zip(self._envelope.columns, draws, strict=True):
            weights[columns] = drawn.weights
        return tuple(weights.tolist())

    def _split(self, cell: Cell, region: Region) -> None:
        assert cell.mixtures is not None
        self._envelope.log_sum(cell.bound, region)
        self._envelope.take_laws()
        shares = self._tightener.shares(cell.mixtures, region)
        row = best_split(self._envelope.shortfalls(shares), region)
        if row is None:
            return
        children = split_cell(cell, row, region, self._envelope.law[row], self._slack)
        self._tree.add(children[0], cell.slot)
        for child in children[1:]:
            self._tree.add(child)
        cell.mixtures = None


def _slack(envelope: Envelope) -> float:
    """Return by how much a log sum is raised: far more than its rounding errors.

    Sums of ``N`` non-negative doubles are good to ``N * 2**-53``; shares are good to about
    ``1e-14`` each, which moves ``beta * m(w)`` by at most the second term.
    """
    entries = sum(block.n_entries for block in envelope.sums)
    rows = float(np.abs(envelope.counts).sum()) * len(envelope.sums)
    return _SLACK + entries * 2.0**-50 + envelope.beta * rows * 1e-12
