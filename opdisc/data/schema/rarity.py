"""What the 0/1 loss does with a rare outcome: one answer for everyone, unless costs say more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from opdisc.errors import escaped
from oracles.problem import LARGEST_COST

if TYPE_CHECKING:
    from opdisc.data.schema.schema import Schema
    from opdisc.data.schema.target import Label

_EXPECTED, _OFTEN = Fraction(1, 10), Fraction(1, 4)
"""Weights of an outcome below which one answer is to be expected, or often given.

An outcome's weight is its share of what all rows would cost if all were answered wrongly; with
equal costs, its share of the rows. Measured: docs/how-to/rare-outcomes.md.
"""

_USUAL_RATIO = 9
"""A cost to name where no share is public: it moves the line to one in ten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One of two labels as an outcome that may be rare; public facts only.

    Parameters
    ----------
    label, other : str, int, float or bool
        The label, and the one that everyone else gets.
    option : str
        Which cost weighs a missed row of it.
    cost, other_cost : int
        What missing a row of each label costs.
    share : Fraction or None
        Share of the rows that have it; None where none is stated.
    """

    label: Label
    other: Label
    option: str
    cost: int
    other_cost: int
    share: Fraction | None

    @property
    def weight(self) -> Fraction | None:
        """Its weight among all rows; None where its share is not stated."""
        if self.share is None:
            return None
        own = self.share * self.cost
        return own / (own + (1 - self.share) * self.other_cost)

    @property
    def line(self) -> Fraction:
        """The share that a group of rows must exceed to be given this label."""
        return Fraction(self.other_cost, self.cost + self.other_cost)

    @property
    def better_cost(self) -> int | None:
        """A cost beside 1 for the other mistake that makes both classes weigh about the same.

        None where the present ratio is no smaller, or where no cost is that large.
        """
        ratio = Fraction(self.cost, self.other_cost)
        if self.share is not None:
            better = round((1 - self.share) / self.share)
        elif ratio < Fraction(_USUAL_RATIO, 2):
            better = _USUAL_RATIO
        else:
            better = math.ceil(3 * ratio)
        better = min(better, LARGEST_COST)
        return better if better > ratio else None

    def one_in(self, weight: Fraction) -> int:
        """Return N: one row in N has the label where its weight is this."""
        return round(1 + (1 - weight) / weight * Fraction(self.cost, self.other_cost))

    @property
    def options(self) -> str:
        """The better cost as it is typed; empty if there is none."""
        if self.better_cost is None:
            return ""
        typed = f"--false-{self.option}-cost {self.better_cost}"
        if self.cost == self.other_cost:
            return typed
        rest = {"negative": "positive", "positive": "negative"}[self.option]
        return f"{typed} --false-{rest}-cost 1"

    def rule(self) -> str:
        """Return where the loss is lower with the label."""
        return (
            f"{_quoted(self.label)} pays only in a group where more than {_percent(self.line)} are"
        )

    def way_out(self) -> str:
        """Return what costs would change; empty where they would not."""
        if self.better_cost is None:
            return ""
        line = _percent(Fraction(1, 1 + self.better_cost))
        return (
            f"With {self.options} it pays from {line} on, and noise counts "
            f"{self.better_cost} times"
        )


def outcomes(schema: Schema) -> tuple[Outcome, Outcome]:
    """Return both labels of a target of two classes, the positive one first."""
    negative, positive = schema.classes
    costs = schema.error_costs
    share = None if schema.positive_share is None else Fraction(str(schema.positive_share))
    missed, alarm = costs.false_negative, costs.false_positive
    return (
        Outcome(
            label=positive,
            other=negative,
            option="negative",
            cost=missed,
            other_cost=alarm,
            share=share,
        ),
        Outcome(
            label=negative,
            other=positive,
            option="positive",
            cost=alarm,
            other_cost=missed,
            share=None if share is None else 1 - share,
        ),
    )


def rare_outcome_text(schema: Schema) -> str:
    """Return what the loss will do with a rare outcome; empty where the stated share is not rare.

    Parameters
    ----------
    schema : Schema
        Of two classes, with the error costs of the fit. Without a stated share of positive rows
        it is said as a condition.

    Notes
    -----
    **Guarantee.** A function of public facts.
    """
    positive, negative = outcomes(schema)
    if positive.weight is None:
        label, other = _quoted(positive.label), _quoted(positive.other)
        said = (
            f"If fewer than 1 in {positive.one_in(_EXPECTED):,} rows are {label}, expect {other} "
            f"for everyone (up to 1 in {positive.one_in(_OFTEN):,} it often happens): "
            f"{positive.rule()}. "
        )
        way = positive.way_out()
        said += f"{way}: plan that first." if way else ""
        likewise = f" Likewise for {other}, with --false-positive-cost."
        return (said + likewise if positive.cost == positive.other_cost else said).strip()
    for one in (positive, negative):
        assert one.weight is not None and one.share is not None
        if one.weight < _OFTEN:
            answer = f"{_quoted(one.other)} for everyone"
            expected = f"expect {answer}" if one.weight < _EXPECTED else f"{answer} is no surprise"
            said = f"{_percent(one.share)} are {_quoted(one.label)}: {expected}, for {one.rule()}."
            way = one.way_out()
            return f"{said} {way}: plan that first." if way else said
    return ""


def constant_remedy(schema: Schema, answer: Label) -> str:
    """Return what would make a card tell rows apart that gives everyone one answer.

    Parameters
    ----------
    schema : Schema
        Public facts.
    answer : str, int, float or bool
        What the card answers.
    """
    missing = next(one for one in outcomes(schema) if one.other == answer)
    rule, way = missing.rule(), missing.way_out()
    if not way:
        return f"{rule}; other columns, more rows or a larger epsilon may find one."
    return f"{rule}. {way} (error_costs in Python): plan that first, for another fit spends again."


def _quoted(label: Label) -> str:
    return f"'{escaped(str(label))}'"


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):.3g}%"
