"""The receipt of a hypothesis on a grid of weights, and how its budget is split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import msgspec

from opdisc.privacy.public import MOST_ROWS_GUESSED
from opdisc.privacy.receipts.receipt import BRIEF, CertifiedReceipt, power_of_two
from opdisc.privacy.records import Amount, Count, Record
from oracles.problem import LARGEST_COST, ErrorCosts

if TYPE_CHECKING:
    from opdisc.privacy.receipts.receipt import Lines

Point = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31)]
"""A weight of a size that can be added up."""

Cost = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_COST)]
"""A cost of a mistake."""


RowGuess = Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS_GUESSED)]
"""A number of rows to plan for."""

BELOW = "all that is said below"
"""What a receipt says of a part whose own lines come after."""


class Stage(Record, frozen=True, kw_only=True):
    """One part of a release and what it cost.

    Parameters
    ----------
    name : str
        What was released.
    epsilon : str
        Its exact cost, a fraction such as "1/10".
    guarantee : str
        The statement that makes it private.
    law : str
        What was drawn, in words.
    scales : tuple of float
        Scale parameters of the law.
    schema_digest : str
        SHA-256 of the public schema that it started from; empty where the receipt says it.

    Raises
    ------
    ValueError
        If the cost is not a fraction above 0.
    """

    name: str
    epsilon: str
    guarantee: str
    law: str
    scales: tuple[Amount, ...]
    schema_digest: str

    def __post_init__(self) -> None:
        """Refuse a cost that is none."""
        if self.cost <= 0:
            raise ValueError("a stage must cost more than nothing.")

    @property
    def cost(self) -> Fraction:
        """The exact cost."""
        return Fraction(self.epsilon)

    def line(self) -> tuple[str, str]:
        """Return (name, text) as printed."""
        scales = ", ".join(f"{scale:.6g}" for scale in dict.fromkeys(self.scales))
        text = f"epsilon {float(self.cost):.12g}: {self.law}{f' {scales}' if scales else ''}"
        if self.schema_digest:
            text += f"; {self.guarantee}; declared schema sha256 {self.schema_digest[:16]}"
        return f"  for {self.name}", text


class RiskReceipt(Record, frozen=True, kw_only=True):
    """The part of a card's receipt that says what its risk table cost.

    Parameters
    ----------
    card_epsilon, epsilon : float
        What the card and the risks cost.
    sensitivity : int
        Rows by which all counts together can change between neighbouring tables.
    noise_scale : float
        Scale of the discrete Laplace noise on each count, rows.
    counts : int
        Most counts.
    """

    card_epsilon: Amount
    epsilon: Amount
    sensitivity: Count
    noise_scale: Amount
    counts: Count

    def lines(self) -> Lines:
        """Return how the budget is split, and the noise of the risks."""
        return [
            ("  for the card", f"epsilon {self.card_epsilon:.12g}: {BELOW}"),
            (
                "  for the risks",
                f"epsilon {self.epsilon:.12g}: exact discrete Laplace noise, scale "
                f"{self.noise_scale:.6g} rows, on each of at most {self.counts} counts; "
                f"sensitivity {self.sensitivity} rows in all",
            ),
        ]


class StatedCosts(Record, frozen=True, kw_only=True):
    """What a mistake was taken to cost, as a receipt states it.

    Parameters
    ----------
    false_negative, false_positive : int
        In lowest terms, and not the same.

    Raises
    ------
    ValueError
        If they are equal or not in lowest terms.
    """

    false_negative: Cost
    false_positive: Cost

    def __post_init__(self) -> None:
        """Refuse a second way to write the same costs."""
        if self.costs.are_equal or msgspec.structs.asdict(self) != asdict(self.costs):
            raise ValueError("error costs must differ and be in lowest terms.")

    @property
    def costs(self) -> ErrorCosts:
        """The costs."""
        return ErrorCosts(**msgspec.structs.asdict(self))

    def line(self) -> tuple[str, str]:
        """Return the costs as a receipt prints them."""
        return "error costs", str(self.costs)


def receipt_costs(costs: ErrorCosts) -> StatedCosts | None:
    """Return costs as a receipt states them; None where every mistake costs the same."""
    return None if costs.are_equal else StatedCosts(**asdict(costs))


def planned_with(costs: StatedCosts | None, row_guess: int | None) -> Lines:
    """Return what mistakes cost, where that differs, and how many rows were guessed."""
    lines = [] if costs is None else [costs.line()]
    if row_guess is not None:
        lines.append(("rows guessed", f"{row_guess:,}; a plan from a public number"))
    return lines


class GridReceipt(CertifiedReceipt, frozen=True, kw_only=True, omit_defaults=True):
    """The receipt of a hypothesis on a grid of weights.

    Parameters
    ----------
    weights : tuple of tuple of int
        Allowed weights of each coordinate, the intercept first.
    norm_budget : int or None
        Largest allowed squared norm.
    choice : str
        Why this mechanism, when it was chosen automatically: in plain words, or as an older
        version put it.
    choice_detail : str
        What stands behind it, for a reviewer. Not written if empty.
    risks : RiskReceipt or None
        How epsilon is split, where a risk table was released with the card. Not written if None.
    stages : tuple of Stage
        What was released one after the other under this promise, where it was more than one
        hypothesis. Not written if empty.
    error_costs : StatedCosts or None
        What a mistake costs; None, and left out where it is written, if both cost the same. The
        loss is then in units of cost, and so are sensitivity, allowance and spacing.
    public_row_guess : int or None
        The public guess that plans took for the number of rows, where that is not public. Not
        written if None.
    patience : float or None
        Seconds that a staged draw was planned for, a public limit. Not written if None.
    start : str
        The public card that the candidates were counted from. Not written if empty.
    start_points : tuple of int
        Its points, those that everyone starts with first. Not written if empty.
    alternatives : tuple of tuple of tuple of int
        Groups of sets of weights, by position with the intercept as 0: of each group at most one
        set has weights other than 0. Not written if empty.
    """

    weights: tuple[tuple[Point, ...], ...]
    norm_budget: Count | None
    choice: str
    risks: RiskReceipt | None = None
    stages: tuple[Stage, ...] = ()
    error_costs: StatedCosts | None = None
    choice_detail: str = ""
    public_row_guess: RowGuess | None = None
    patience: Amount | None = None
    start: str = ""
    start_points: tuple[Point, ...] = ()
    alternatives: tuple[tuple[tuple[Count, ...], ...], ...] = ()

    def __post_init__(self) -> None:
        """Refuse sections that cost more than what is promised."""
        super().__post_init__()
        risks = self.risks
        if risks is not None and (
            Fraction(risks.card_epsilon) + Fraction(risks.epsilon) > Fraction(self.epsilon)
        ):
            raise ValueError("the sections of a receipt must not cost more than it promises.")
        if sum(stage.cost for stage in self.stages) > Fraction(self.epsilon):
            raise ValueError("the stages of a receipt must not cost more than it promises.")
        if self.public_row_guess is not None and self.n_rows is not None:
            raise ValueError("a receipt with a public number of rows must not guess it.")

    @property
    def card_epsilon(self) -> float:
        """What the card itself was drawn with: all of epsilon, or what other parts left of it."""
        if self.risks is not None:
            return self.risks.card_epsilon
        return float(self.stages[-1].cost) if self.stages else self.epsilon

    @property
    def largest_cost(self) -> int:
        """By how much one changed row moves the sensitivity: one where ballots are counted."""
        if self.error_costs is None or self.mechanism == "robust_vote":
            return 1
        return self.error_costs.costs.largest

    def split(self) -> Lines:
        """Return what each part cost, where more than one was released."""
        stages = [stage.line() for stage in self.stages]
        return stages if self.risks is None else [*stages, *self.risks.lines()]

    def section(self) -> Lines:
        """Return sensitivity, lattice, hypotheses and oracle."""
        gap = f"certified gap allowed: {self.allowance:g}"
        unit = "rows" if self.largest_cost == 1 else "units of cost"
        step = f"multiples of {power_of_two(self.spacing)} {unit}"
        lines = [
            *self.terms(),
            *([("start", self.start)] if self.start else []),
            ("sensitivity", f"{self.sensitivity} {unit}, {gap}"),
            ("lattice", step if self.spacing > 0 else "none: exact draw"),
            ("hypotheses", self._grid_text()),
            ("oracle", self.oracle),
        ]
        reasons = [("chosen because", self.choice), ("  in detail", self.choice_detail)]
        return [*lines, *((name, text) for name, text in reasons if text)]

    def _why_chosen(self) -> str:
        return self.choice if self.choice_detail or len(self.choice) <= BRIEF else ""

    def terms(self) -> Lines:
        """Return what mistakes cost, where that differs, and how many rows were guessed."""
        return planned_with(self.error_costs, self.public_row_guess)

    def _grid_text(self) -> str:
        lows, highs = {v[0] for v in self.weights}, {v[-1] for v in self.weights}
        if self.start_points:
            return f"{len(self.weights)} weights around the start's, in {min(lows)}..{max(highs)}"
        budget = "" if self.norm_budget is None else f", |w|^2 <= {self.norm_budget}"
        counts = (
            ("never negative", sum(v[0] >= 0 for v in self.weights)),
            ("never positive", sum(v[-1] <= 0 for v in self.weights)),
            *_sizes(self.weights),
        )
        restricted = "".join(f", {count} of them {what}" for what, count in counts if count)
        groups = "".join(
            f", at most one of {len(group)} alternatives with points"
            for group in self.alternatives[:_MOST_SIZES]
        )
        if len(self.alternatives) > _MOST_SIZES:
            groups = f", at most one of each of {len(self.alternatives)} groups with points"
        shown = f"{len(self.weights)} weights in {min(lows)}..{max(highs)}"
        return f"{shown}{restricted}{groups}{budget}"


def _sizes(weights: Sequence[Sequence[int]]) -> list[tuple[str, int]]:
    """Return which limits of points hold for how many statements, beside signs."""
    shown = min(v[0] for v in weights), max(v[-1] for v in weights)
    statements = [(v[0], v[-1]) for v in weights[1:] if v[0] <= 0 <= v[-1]]
    furthest = max((max(-low, high) for low, high in statements), default=0)
    bound = max(furthest, -weights[0][0])  # the start reaches as far up, or one further
    usual = {shown, (-bound, bound), (0, bound), (-bound, 0), (0, 0)}
    found = Counter(ends for ends in statements if ends not in usual)
    if len(found) > _MOST_SIZES:
        return [("within limits of their own", sum(found.values()))]
    return [(f"in {low}..{high}", count) for (low, high), count in sorted(found.items())]


_MOST_SIZES = 3
"""Kinds of limits that a line tells apart; a receipt lists the weights of every column."""
