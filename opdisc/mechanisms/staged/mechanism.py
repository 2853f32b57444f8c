"""The staged mechanism: several exact draws, each from candidates that are public by then."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from opdisc.calibration import inverse_temperature
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import NoiseSpec
from opdisc.mechanisms.staged.equal_steps import EqualSteps
from opdisc.mechanisms.staged.sequence import LARGEST_SHIFT, Stages
from opdisc.mechanisms.staged.signs import CountNoise, SignedColumns
from opdisc.mechanisms.staged.stages import PATIENCE, plan_stages
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic
from oracles.arithmetic import RandomBits
from oracles.problem import (
    ColumnGroup,
    ErrorCosts,
    Hypothesis,
    ZeroOneProblem,
    check_structure,
    complete_structure,
)
from oracles.sampling import (
    BinaryPoints,
    Direction,
    JointSteps,
    SparseCards,
    Stumps,
    deal_directions,
    draw_joint,
    draw_sparse_card,
    draw_stump,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedSpec(NoiseSpec):
    """Calibrated stages.

    Parameters
    ----------
    stages : Stages
        What is drawn.
    betas : tuple of Fraction
        Inverse temperature per misclassified row of every draw, exact.
    log_inverse : float
        Largest ``ln(1 / mu(w))`` of the first draw's base measure, nats; 0 of a stump, whose
        column is not chosen for its loss.
    counts : CountNoise or None
        Noise of the counts that give columns their signs, where there are any.
    """

    stages: Stages
    betas: tuple[Fraction, ...]
    log_inverse: float
    counts: CountNoise | None = None

    @property
    def beta(self) -> Fraction:
        """Inverse temperature of the first draw."""
        return self.betas[0]

    @property
    def is_stump(self) -> bool:
        """Whether a decision stump is all that is drawn."""
        return isinstance(self.stages.first, Stumps)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedMechanism:
    """Exact draws one after the other, for any number of 0/1 columns and any bound.

    Parameters
    ----------
    by_levels : bool
        Whether each number of points has a weight of its own in the first draw, instead of every
        scorecard (:func:`plan_stages`).
    patience : float
        Seconds that the draws are expected to take at most, > 0; decides how many candidates
        there are, before anything is drawn. No limit is kept while drawing.
    structure : tuple of ColumnGroup
        Public facts about the columns, from the schema. They say how many columns a row can be
        counted in, and which columns are thresholds of one attribute.
    later, first_share, counted : int, Fraction or None
        Number of joint draws, share of the first one and share of the counts, instead of the
        public rule.
    stump : bool or None
        Whether a decision stump is all that is drawn, instead of the public rule.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP. Every draw is permute-and-flip at its share of epsilon, and the
    shares add up to 1. Candidates are functions of earlier draws and of coins that do not look at
    the table. Where columns get their signs from counts, these have discrete Laplace noise at
    their own share of epsilon, up to the numerical delta on the receipt (docs/theory.md,
    staged-draws). A stump's two sides share no row, so each has all of epsilon.

    References
    ----------
    .. [1] McKenna, Sheldon (2020), Theorem 1; Dwork, Rothblum, Vadhan (2010): adaptive
       composition.
    """

    by_levels: bool = True
    patience: float = PATIENCE
    structure: tuple[ColumnGroup, ...] = ()
    later: int | None = None
    first_share: Fraction | None = None
    counted: Fraction | None = None
    stump: bool | None = None
    name: str = "staged"
    uses_delta: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = frozenset({"base_measure", "patience"})

    def __post_init__(self) -> None:
        """Refuse impossible settings."""
        if not 0 < self.patience < math.inf:
            raise CalibrationError(f"patience must be finite and > 0, got {self.patience!r}.")
        for name, share in (("first_share", self.first_share), ("counted", self.counted)):
            if share is not None and not 0 < share < 1:
                raise CalibrationError(f"{name} must be in (0, 1), got {share}.")

    @property
    def sampler(self) -> str:
        """Who draws."""
        return "staged sampler: exact draws, decided by integers"

    @property
    def condition(self) -> str | None:
        """None: every draw ends on every table."""
        return None

    def calibrate(self, public: GridPublic) -> StagedSpec:
        """Return the stages and their inverse temperatures; refuse grids that are no box."""
        beta = inverse_temperature(public.loss_sensitivity, public.params.epsilon)
        weight = None if public.typical_loss is None else float(2 * beta * public.typical_loss)
        stages = plan_stages(
            public.grid,
            weight,
            public.typical_rows,
            by_levels=self.by_levels,
            patience=self.patience,
            later=self.later,
            first_share=self.first_share,
            structure=self._groups(public),
            signs=public.error_costs == ErrorCosts(),
            counted=self.counted,
            stump=self.stump,
        )
        betas: tuple[Fraction, ...] = (beta * stages.first_share,)
        betas += (beta * stages.later_share,) * stages.later
        counts, spent = None, sum(betas)
        if isinstance(stages.first, SignedColumns):
            counts = CountNoise.of(stages.first, public)
            spent += beta * stages.first.share
        if spent != beta or min(betas) < 0:
            raise CalibrationError(
                "the shares of the stages must be >= 0 and add up to the budget."
            )
        drawn = tuple(float(part) for part in betas)
        return StagedSpec(
            law=stages.describe(),
            scales=drawn if counts is None else (*counts.scales, *drawn),
            theorem="McKenna, Sheldon 2020, Theorem 1 and "
            + (
                "sides of a column, which share no row"
                if isinstance(stages.first, Stumps)
                else "adaptive composition"
            )
            + ("" if counts is None else "; counts: the Laplace mechanism (Dwork et al. 2006)")
            + " (docs/theory.md, staged-draws)",
            status=CalibrationStatus.PROVEN,
            allowance=0.0,
            total_variation=0.0 if counts is None else counts.total_variation,
            spacing=0.0,
            stages=stages,
            betas=betas,
            log_inverse=_log_inverse(stages.first),
            patience=self.patience,
            counts=counts,
        )

    def _groups(self, public: GridPublic) -> tuple[ColumnGroup, ...] | None:
        """Return all columns by attribute; None where they decide nothing."""
        if not self.by_levels or not (self.structure or self.counted is not None):
            return None
        return complete_structure(self.structure, public.grid.n_features)

    def prepare(self, problem: ZeroOneProblem, spec: NoiseSpec) -> None:
        """Refuse points that are not 0/1 before anything is spent."""
        assert isinstance(spec, StagedSpec)
        BinaryPoints.of(problem)
        if spec.counts is not None:
            check_structure(complete_structure(self.structure, problem.n_features), problem.points)

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Draw every stage and return the released scorecard."""
        assert isinstance(spec, StagedSpec)
        stages, bits = spec.stages, RandomBits(entropy)
        points = BinaryPoints.of(problem)
        waiting: list[int] = []
        if isinstance(stages.first, SparseCards):
            card = draw_sparse_card(points, stages.first, spec.betas[0], bits)
        elif isinstance(stages.first, Stumps):
            card = draw_stump(points, stages.first, spec.betas[0], bits)
        elif isinstance(stages.first, EqualSteps):
            card = draw_joint(points, stages.first.candidates, spec.betas[0], bits)
        else:
            assert spec.counts is not None
            signed = stages.first.candidates(spec.counts.draw(problem, entropy))
            card = draw_joint(points, signed, spec.betas[0], bits)
            tried = {column for direction in signed.directions for column, _ in direction}
            waiting = [
                j
                for j, (low, high) in enumerate(stages.ranges[1:])
                if low < high and j not in tried
            ]
        card = tuple(stages.scale * weight for weight in card)
        drawn = [card]
        for beta in spec.betas[1:]:
            directions = _deal(stages, waiting, bits)
            card = draw_joint(points, _steps(stages, card, directions), beta, bits)
            drawn.append(card)
        return combined(drawn[len(drawn) - stages.summed :])


def combined(cards: list[Hypothesis]) -> Hypothesis:
    """Return the sum of several scorecards; a score of half a point stays in the middle.

    A scorecard's middle between its predictions is a score of 1/2, that of a sum of T ones T/2,
    so the start gives up the integer part of ``(T - 1) / 2``, rounded up.
    """
    total = [sum(weights) for weights in zip(*cards, strict=True)]
    total[0] -= len(cards) // 2
    return tuple(total)


def _deal(stages: Stages, waiting: list[int], bits: RandomBits) -> tuple[Direction, ...]:
    """Return the directions of a draw: what the draws before left out goes first.

    ``waiting`` holds the columns left out so far and is brought up to date.
    """
    columns = [j for j, (low, high) in enumerate(stages.ranges[1:]) if low < high]
    if stages.together > 1:  # all columns are dealt again, in other directions
        return deal_directions(columns, stages.directions, stages.together, bits)
    dealt = deal_directions(waiting, stages.directions, 1, bits)
    taken = {column for direction in dealt for column, _ in direction}
    waiting[:] = [j for j in waiting if j not in taken]
    if waiting:
        return dealt
    left = [j for j in columns if j not in taken]
    more = deal_directions(left, stages.directions - len(dealt), 1, bits)
    chosen = {column for direction in more for column, _ in direction}
    waiting[:] = [j for j in columns if j not in chosen]
    return dealt + more


def _steps(stages: Stages, card: Hypothesis, directions: tuple[Direction, ...]) -> JointSteps:
    """Return the candidates around a scorecard."""
    steps = []
    for direction in directions:
        allowed = [
            step
            for step in (-1, 0, 1)
            if all(
                stages.ranges[1 + j][0] <= card[1 + j] + step * sign <= stages.ranges[1 + j][1]
                for j, sign in direction
            )
        ]
        steps.append((allowed[0], allowed[-1]))
    low, high = stages.ranges[0]
    return JointSteps(
        centre=card,
        directions=directions,
        steps=tuple(steps),
        shifts=(max(low - card[0], -LARGEST_SHIFT), min(high - card[0], LARGEST_SHIFT)),
    )


def _log_inverse(first: SparseCards | EqualSteps | Stumps | SignedColumns) -> float:
    """Return the largest log of the total weight over one card's; 0 of stumps."""
    if isinstance(first, Stumps):
        return 0.0
    if isinstance(first, SignedColumns):
        return first.log_count
    if isinstance(first, EqualSteps):
        return first.log_inverse
    total = sum(count * factor for count, factor in zip(first.counts, first.factors, strict=True))
    least = min(factor for count, factor in zip(first.counts, first.factors, strict=True) if count)
    return math.log(total // least) if total > 10**300 else math.log(total / least)
