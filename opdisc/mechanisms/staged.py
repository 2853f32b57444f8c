"""The staged mechanism: an exact draw of few points, of equal steps, or of a decision stump."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from opdisc.arguments import check_finite
from opdisc.calibration import inverse_temperature
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import NeededBound, NoiseSpec, Work
from opdisc.mechanisms.changes import PublicCard, plan_changes
from opdisc.mechanisms.equal_steps import EqualSteps
from opdisc.mechanisms.stage_sequence import WHY_NO_MORE, Stages
from opdisc.mechanisms.stages import plan_stages
from opdisc.noise import ExcessBound, Simulation, excess_of_draw, held_in_double
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic
from opdisc.tuned import ASSUMED_ROWS, DRAW_SECONDS, LARGEST_START
from oracles.arithmetic import RandomBits
from oracles.problem import ColumnGroup, Hypothesis, WeightGrid, ZeroOneProblem, complete_structure
from oracles.sampling import (
    BinaryPoints,
    SparseCards,
    Stumps,
    draw_joint,
    draw_sparse_card,
    draw_stump,
    draw_weighed_card,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedSpec(NoiseSpec):
    """A calibrated draw.

    Parameters
    ----------
    stages : Stages
        What is drawn.
    beta : Fraction
        Inverse temperature per misclassified row, exact.
    log_inverse : float
        Largest ``ln(1 / mu(w))`` of the base measure, nats; 0 of a stump, whose column is not
        chosen for its loss.
    """

    stages: Stages
    beta: Fraction
    log_inverse: float

    @property
    def is_stump(self) -> bool:
        """Whether a decision stump is all that is drawn."""
        return isinstance(self.stages.first, Stumps)

    @property
    def yardstick(self) -> str:
        """What the excess loss is counted from: the best of the draw's own candidates."""
        return self.stages.yardstick

    def n_candidates(self, grid: WeightGrid) -> int | None:
        """Return the number of cards that are counted; None of a stump."""
        return None if self.is_stump else self.stages.n_candidates

    def expected_excess(self, grid: WeightGrid) -> float:
        """Return ``ln(1 / mu(w)) / beta``, the largest; of a stump ``1 / (e beta)``.

        On each of a stump's two sides that is at most the maximum of ``x exp(-beta x) / 2``.
        """
        if self.is_stump:
            return 1 / (math.e * float(self.beta))
        return self.log_inverse / float(self.beta)

    def excess(
        self, grid: WeightGrid, level: float, simulation: Simulation | None = None
    ) -> ExcessBound:
        """Return the bound in closed form.

        A stump's excess is at least t with probability at most ``exp(-beta t)`` (docs/theory.md,
        staged-draws).
        """
        if not self.is_stump:
            return excess_of_draw(self.beta, self.log_inverse, level)
        beta = held_in_double(self.beta)
        return ExcessBound(
            mean=1 / (math.e * beta), quantile=-math.log1p(-level) / beta, confidence=1.0
        )

    def excess_over_constants(self, level: float) -> float | None:
        """Return the bound in closed form where the draw is by numbers of points.

        Where the cards that give everyone this answer have share m of the base measure,
        ``P[excess >= t] <= x / (1 + x)`` with ``x = (1 - m) / m * exp(-beta t)``, as beside the
        best hypothesis. The smaller share of the two answers is taken.
        """
        share = self.stages.constant_share
        if share is None:
            return None
        log_odds = math.log1p(-share) - math.log(share) + math.log(level) - math.log1p(-level)
        return max(log_odds / float(self.beta), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedMechanism:
    """One exact draw of a card of few points, for any number of 0/1 columns.

    Parameters
    ----------
    by_levels : bool
        Whether each number of points has a weight of its own, instead of every scorecard
        (:func:`plan_stages`).
    patience : float
        Seconds that the draw is expected to take at most, > 0; decides how many candidates there
        are, before anything is drawn. No limit is kept while drawing.
    structure : tuple of ColumnGroup
        Public facts about the columns, from the schema: which are thresholds of one attribute.
    stump : bool or None
        Whether a decision stump is all that is drawn, instead of the public rule.
    around : PublicCard or None
        A public card: candidates are those that change few of its points
        (:func:`~opdisc.mechanisms.changes.plan_changes`).
    is_exponential : bool
        Whether a card around it is drawn by the exponential mechanism, not permute-and-flip.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP: permute-and-flip or the exponential mechanism over candidates
    that are public, weighed by a public measure (docs/theory.md, staged-draws). A stump's two
    sides share no row, so each has all of epsilon.

    References
    ----------
    .. [1] McKenna, Sheldon (2020), Theorem 1.
    """

    by_levels: bool = True
    patience: float = DRAW_SECONDS
    structure: tuple[ColumnGroup, ...] = ()
    stump: bool | None = None
    around: PublicCard | None = None
    is_exponential: bool = False
    name: str = "staged"
    uses_delta: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = frozenset({"base_measure", "patience"})
    takes_alternatives: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse impossible settings."""
        check_finite("patience", self.patience)
        if self.is_exponential and self.around is None:
            raise CalibrationError(
                "the exponential mechanism draws few points around a start only; give one."
            )

    @property
    def sampler(self) -> str:
        """Who draws."""
        return "staged sampler: exact draws, decided by integers"

    @property
    def condition(self) -> str | None:
        """None: the draw ends on every table."""
        return None

    def calibrate(self, public: GridPublic) -> StagedSpec:
        """Return the draw and its inverse temperature; refuse grids that are no box."""
        beta = inverse_temperature(public.loss_sensitivity, public.params.epsilon)
        stages = self._stages(public)
        law, theorem = stages.describe(), "McKenna, Sheldon 2020, Theorem 1"
        if self.is_exponential:
            law = f"Gibbs law over counted candidates: {stages.candidates()}"
            theorem = "McSherry, Talwar 2007, Theorem 6"
        if isinstance(stages.first, Stumps):
            theorem += " and sides of a column, which share no row"
        return StagedSpec(
            law=law,
            scales=(float(beta),),
            theorem=f"{theorem} (docs/theory.md, staged-draws)",
            status=CalibrationStatus.PROVEN,
            allowance=0.0,
            total_variation=0.0,
            spacing=0.0,
            stages=stages,
            beta=beta,
            log_inverse=_log_inverse(stages.first),
            patience=self.patience,
            start="" if self.around is None else self.around.source,
            start_points=() if self.around is None else self.around.points,
        )

    def _stages(self, public: GridPublic) -> Stages:
        """Return what is drawn from."""
        if self.around is not None:
            points = self.around.points
            return plan_changes(public.grid, points, public.typical_rows, self.patience)
        beta = inverse_temperature(public.loss_sensitivity, public.params.epsilon)
        weight = None if public.typical_loss is None else float(2 * beta * public.typical_loss)
        groups = None
        if self.by_levels and self.structure:
            groups = complete_structure(self.structure, public.grid.n_features)
        return plan_stages(
            public.grid,
            weight,
            public.typical_rows,
            by_levels=self.by_levels,
            patience=self.patience,
            structure=groups,
            stump=self.stump,
        )

    def work(self, public: GridPublic, points: float) -> Work:
        """Return what the draw takes at most; nothing of a stump, which is two sums."""
        seconds, memory = self.calibrate(public).stages.work(public.typical_rows or ASSUMED_ROWS)
        return Work(seconds=seconds, memory=memory)

    def needed_bound(self, public: GridPublic) -> NeededBound:
        """Return the largest point of the candidates; a box must have room for them first."""
        largest, boxed = public.grid.values[0][-1], public.grid.norm_budget is None
        if boxed and largest < LARGEST_START:
            return NeededBound(bound=LARGEST_START, why=WHY_NO_MORE)
        stages = self.calibrate(public).stages
        bound = stages.needed_bound if boxed else largest
        return NeededBound(bound=bound, why=stages.why_no_more)

    def prepare(self, problem: ZeroOneProblem, spec: NoiseSpec) -> None:
        """Refuse points that are not 0/1 before anything is spent."""
        assert isinstance(spec, StagedSpec)
        BinaryPoints.of(problem)

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Draw the scorecard."""
        assert isinstance(spec, StagedSpec)
        bits, first = RandomBits(entropy), spec.stages.first
        points = BinaryPoints.of(problem)
        if isinstance(first, SparseCards) and self.is_exponential:
            return draw_weighed_card(points, first, spec.beta, bits)
        if isinstance(first, SparseCards):
            return draw_sparse_card(points, first, spec.beta, bits)
        if isinstance(first, Stumps):
            return draw_stump(points, first, spec.beta, bits)
        return draw_joint(points, first.candidates, spec.beta, bits)


def _log_inverse(first: SparseCards | EqualSteps | Stumps) -> float:
    """Return the largest log of the total weight over one card's; 0 of stumps."""
    if isinstance(first, Stumps):
        return 0.0
    if isinstance(first, EqualSteps):
        return first.log_inverse
    total = sum(count * factor for count, factor in zip(first.counts, first.factors, strict=True))
    least = min(factor for count, factor in zip(first.counts, first.factors, strict=True) if count)
    return math.log(total // least) if total > 10**300 else math.log(total / least)
