"""What is asked of one card, and how its epsilon is split: options and public facts alone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from opdisc.arguments import check_integer
from opdisc.data import Schema, count_combinations
from opdisc.errors import CalibrationError
from opdisc.mechanisms import PublicCard, RiskSpec, ThresholdPlan, calibrate_risks, plan_thresholds
from opdisc.planning.choice import ScorecardMechanism, build_mechanism
from opdisc.planning.named import MechanismSettings, check_alternatives, mechanism_around
from opdisc.privacy import GridPublic, PrivacyParams, PublicInputs, Reason
from opdisc.tuned import LARGEST_SHIFT, THRESHOLD_BUDGET
from oracles.problem import WeightGrid


@dataclass(frozen=True, slots=True, kw_only=True)
class CardRequest:
    """What is asked of a card; whoever plans and whoever fits ask the same.

    Parameters
    ----------
    schema : Schema
        Public facts about the table, with the error costs that count.
    mechanism : str
        A name, or "auto".
    bound : int or None
        Points are in ``-bound .. bound``; None: automatic.
    norm_budget, max_nonzero : int or None
        As for :func:`~opdisc.planning.scorecard_grid`. OPDisc without either takes its published
        grid: squared norms up to the number of coordinates.
    settings : MechanismSettings
        What the mechanism needs besides the grid.
    threshold_budget : float
        Share of epsilon that finds private thresholds, where the schema leaves some open.
    risk_budget : float or None
        Share of what is left then that buys risks.
    around : PublicCard or None
        A public card, to draw one that changes few of its points.
    """

    schema: Schema
    mechanism: str = "auto"
    bound: int | None = None
    norm_budget: int | None = None
    max_nonzero: int | None = None
    settings: MechanismSettings = MechanismSettings()
    threshold_budget: float = THRESHOLD_BUDGET
    risk_budget: float | None = None
    around: PublicCard | None = None
    _grids: dict[int, WeightGrid] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """By bound. A plan tries a hundred budgets on a few grids, which may have many columns."""

    @property
    def is_free(self) -> bool:
        """Whether no option rules the logistic card out."""
        settings = self.settings
        given = (
            self.bound,
            self.norm_budget,
            self.max_nonzero,
            self.risk_budget,
            settings.base_measure,
            settings.max_rounds,
            settings.time_limit,
        )
        if self.mechanism != "auto" or settings.minimise or self.limits_sizes:
            return False
        if self.schema.alternatives:
            return False
        return given == (None,) * len(given)

    @property
    def limits_sizes(self) -> bool:
        """Whether points are limited by more than signs."""
        return any(limits.has_sizes for limits in self.schema.point_limits)

    def on_grid(self, public: PublicInputs, bound: int) -> GridPublic:
        """Return public facts of a card with the grid of a bound, or that around its start."""
        return GridPublic(
            **public.facts(),
            grid=self._grids.get(bound) or self._grids.setdefault(bound, self._grid(bound)),
            error_costs=self.schema.error_costs,
            most_points=count_combinations(self.schema),
        )

    def build(self, public: GridPublic) -> tuple[ScorecardMechanism, Reason]:
        """Return what draws, and why if it was chosen; refuses with CalibrationError."""
        if self.schema.alternatives:
            is_started = self.around is not None
            check_alternatives(self.mechanism, self.settings, is_started=is_started)
        if self.around is not None:
            return mechanism_around(self.mechanism, self.around, self.settings), Reason()
        return build_mechanism(self.mechanism, public.grid, public=public, settings=self.settings)

    def _grid(self, bound: int) -> WeightGrid:
        if self.around is not None:
            return grid_around(self.schema, self.around.points, self.bound)
        budget = self.norm_budget
        if budget is None and self.max_nonzero is None and self.mechanism == "opdisc":
            budget = self.schema.n_columns + 1
        return scorecard_grid(self.schema, bound, norm_budget=budget, max_nonzero=self.max_nonzero)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """One epsilon and what becomes of it: thresholds, then risks of what is left, then the card.

    Parameters
    ----------
    whole : PublicInputs
        With the epsilon of the whole fit.
    card : PublicInputs
        The same with what is left for the card.
    thresholds : ThresholdPlan or None
        None where the schema leaves no threshold open.
    risks : RiskSpec or None
        None where no risks are bought.
    """

    whole: PublicInputs
    card: PublicInputs
    thresholds: ThresholdPlan | None
    risks: RiskSpec | None


def split(request: CardRequest, whole: PublicInputs) -> Shares:
    """Return how the epsilon of a fit is split; nowhere else is it.

    Parameters
    ----------
    request : CardRequest
        The shares that are asked for.
    whole : PublicInputs
        Public facts, with all of epsilon.

    Raises
    ------
    CalibrationError
        If a share is not in (0, 1).

    Notes
    -----
    **Guarantee.** A function of public facts. The parts add up to the whole exactly.
    """
    card, risks = whole, None
    cuts = plan_thresholds(request.schema, whole, request.threshold_budget)
    if cuts is not None:
        card = at_epsilon(card, cuts.card_epsilon)
    if request.risk_budget is not None:
        risks = calibrate_risks(card, request.risk_budget)
        card = at_epsilon(card, risks.card_epsilon)
    return Shares(whole=whole, card=card, thresholds=cuts, risks=risks)


def at_epsilon(public: PublicInputs, epsilon: float) -> PublicInputs:
    """Return the same public facts with another epsilon."""
    return replace(public, params=PrivacyParams(epsilon=epsilon, delta=public.params.delta))


def scorecard_grid(
    schema: Schema, bound: int, *, norm_budget: int | None = None, max_nonzero: int | None = None
) -> WeightGrid:
    """Return the allowed weights, the starting points first.

    Parameters
    ----------
    schema : Schema
        A feature's ``sign`` and ``points`` restrict its points within ``-bound .. bound``; those
        that everyone starts with are not restricted. Of its ``alternatives`` at most one column
        has points.
    bound : int
        Points are in ``-bound .. bound``.
    norm_budget : int or None
        Largest squared norm of all weights.
    max_nonzero : int or None
        Largest number of weights other than 0, the starting points included. At ``bound = 1`` that
        is the squared norm; with larger points it is refused.

    Raises
    ------
    CalibrationError
        If a budget is not a number of at least 1, both are given, or ``max_nonzero`` comes with
        larger points.

    Notes
    -----
    **Guarantee.** A function of public facts. The grid stands on the receipt.
    """
    for name, value in (("norm_budget", norm_budget), ("max_nonzero", max_nonzero)):
        if value is not None:
            check_integer(name, value)
    if norm_budget is not None and max_nonzero is not None:
        raise CalibrationError("norm_budget and max_nonzero exclude each other; drop one.")
    if max_nonzero is not None and bound != 1:
        raise CalibrationError(
            f"max_nonzero needs weight_bound=1, where it is a squared norm, got weight_bound="
            f"{bound}; use norm_budget or smaller weights."
        )
    start = tuple(range(-bound, bound + 1))
    return WeightGrid(
        values=(start, *(limits.within(bound) for limits in schema.point_limits)),
        norm_budget=norm_budget if max_nonzero is None else max_nonzero,
        alternatives=schema.alternative_positions,
    )


def grid_around(schema: Schema, points: tuple[int, ...], bound: int | None = None) -> WeightGrid:
    """Return the weights of cards that change points of a public one by 1.

    Parameters
    ----------
    schema : Schema
        A feature's ``sign`` and ``points`` restrict its points as in :func:`scorecard_grid`.
    points : tuple of int
        The card's, those that everyone starts with first, which may change by more; within the
        bound and the limits.
    bound : int or None
        Largest points of a statement; None: one more than those of the card.

    Notes
    -----
    **Guarantee.** A function of public facts. The grid stands on the receipt.
    """
    start = range(points[0] - LARGEST_SHIFT, points[0] + LARGEST_SHIFT + 1)
    values = (
        tuple(
            new
            for new in (point - 1, point, point + 1)
            if limits.allows(new) and (bound is None or abs(new) <= bound)
        )
        for point, limits in zip(points[1:], schema.point_limits, strict=True)
    )
    return WeightGrid(values=(tuple(start), *values))
