"""What every SELECT of a card shares: the table around its points, and the way to an answer."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Collection
from typing import Any

from opdisc.data import Schema
from opdisc.errors import ModelFileError, escaped
from opdisc.models.card import CardSource, CardsSource, OutputNames, output_names
from opdisc.models.odds import LARGEST_LOG_ODDS, OddsScale
from opdisc.models.risk_table import RiskTable
from opdisc.models.scorecard import Scorecard
from opdisc.privacy import TREE, way_to

_EXACT = 15
"""Decimal digits that every engine reads as the nearest double, also by way of a decimal type."""

_FLAT, _TERMS = 300, 50
"""Summands without brackets, and in one pair of them; engines limit how deep an expression is."""

_FORM = """\
-- {title}
-- Written by opdisc. Put the name of your table in place of your_table, near the end.
-- It adds {added} to the table's columns.
-- Rename a column of your table that has such a name: it is refused as ambiguous, or shown twice.
-- Shown twice, yours comes first, and a query around this one would find yours.
{notes}SELECT
  scored.*,
  {answers}
FROM (
  SELECT
    t.*,
    {sums}
  FROM your_table AS t
  CROSS JOIN (SELECT {starts}) AS start
) AS scored
"""

NAN_TEXTS = ("NaN", "nan")
"""How engines print it."""

Terms = Callable[[Scorecard, Schema], list[str]]
"""What gives the summands of a card's total, but for its start."""


def card_select(model: CardSource | CardsSource, terms: Terms, notes: list[str]) -> str:
    """Return the SELECT of a model whose points are written by ``terms``.

    Raises
    ------
    ModelFileError
        If a name or value holds what SQL text cannot: a null character, a lone surrogate.
    """
    schema, names = model.schema, output_names(model)
    cards = model.scorecards if isinstance(model, CardsSource) else (model.scorecard,)
    owns = [name_literal(name) for name in names.totals]
    sums = [
        summed([own, *terms(card, schema)]) + f"\n    AS {own}"
        for own, card in zip(owns, cards, strict=True)
    ]
    # A table with a column of such a name makes it ambiguous here: no engine takes the wrong one.
    starts = [f"{card.start} AS {own}" for own, card in zip(owns, cards, strict=True)]
    text = _FORM.format(
        title=escaped(_title(model)),
        added=escaped(_added(model, names)),
        notes="".join(f"-- {escaped(note)}\n" for note in notes),
        answers=",\n  ".join(_answers(model, names)),
        sums=",\n    ".join(sums),
        starts=", ".join(starts),
    )
    if any(c == "\0" or unicodedata.category(c) == "Cs" for c in text):
        raise ModelFileError(
            "SQL text cannot hold a null character or half of a character pair, but a name or "
            "value of this model does; correct the schema and fit again."
        )
    return text


def text_literal(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def name_literal(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def number_literal(number: float) -> str:
    """Return a number as every engine reads it: by an exponent, unless it is short."""
    text = repr(number)
    if "e" not in text and sum(c.isdigit() for c in text) > _EXACT:
        return f"{text}e0"
    return text.removesuffix(".0")


def one_of(
    text: str, values: Collection[str], literal: Callable[[str], str] = text_literal
) -> str:
    """Return the condition that an expression is one of some values."""
    listed = ", ".join(map(literal, values))
    return f"{text} = {listed}" if len(values) == 1 else f"{text} IN ({listed})"


def _title(model: CardSource | CardsSource) -> str:
    several = "s" if isinstance(model, CardsSource) else ""
    return f"Predict {model.schema.target.column} by the scorecard{several} {model.schema.name}"


def _added(model: CardSource | CardsSource, names: OutputNames) -> str:
    """Return the columns that are added, in words."""
    labels = model.schema.labels if isinstance(model, CardsSource) else model.scorecard.classes
    said = " or ".join(text_literal(str(label)) for label in labels)
    totals = ", ".join(map(name_literal, names.totals))
    found = f"{totals} and {name_literal(names.prediction)} ({said})"
    if names.probability is None:
        return found
    return f"{found} and {name_literal(names.probability)} (of {text_literal(str(labels[1]))})"


def summed(terms: list[str]) -> str:
    """Return a sum, in brackets where it is so long that engines refuse it."""
    if len(terms) > _FLAT:
        parts = [terms[i : i + _TERMS] for i in range(0, len(terms), _TERMS)]
        return summed(["(" + "\n      + ".join(part) + ")" for part in parts])
    return "\n    + ".join(terms)


def _answers(model: CardSource | CardsSource, names: OutputNames) -> list[str]:
    """Return the columns that follow from totals."""
    totals = [f"scored.{name_literal(name)}" for name in names.totals]
    if isinstance(model, CardsSource):
        return [_case(_several(model, totals), names.prediction)]
    (total,), card = totals, model.scorecard
    low, high = (text_literal(str(label)) for label in card.classes)
    lines = [
        f"WHEN {total} >= {card.threshold} THEN {high}",
        f"WHEN {total} < {card.threshold} THEN {low}",
    ]
    found = [_case(lines, names.prediction)]
    if names.probability is not None:
        found.append(_case(_chances(model, total), names.probability))
    return found


def _case(lines: list[str], name: str) -> str:
    body = "".join(f"\n    {line}" for line in lines)
    return f"CASE{body}\n  END AS {name_literal(name)}"


def _several(model: CardsSource, totals: list[str]) -> list[str]:
    """Return how totals of several cards lead to a label; NULL if one of them is."""
    lines = [f"WHEN {' OR '.join(f'{total} IS NULL' for total in totals)} THEN NULL"]
    for k, label in enumerate(model.schema.labels):
        if model.receipt.strategy == TREE:
            reasons = [
                f"{totals[card]} {'>=' if yes else '<'} {model.scorecards[card].threshold}"
                for card, yes in way_to(model.questions, k)
            ]
        else:  # the first one of which this is true wins
            reasons = [f"{totals[k]} >= {total}" for total in totals if total != totals[k]]
        lines.append(f"WHEN {' AND '.join(reasons)} THEN {text_literal(str(label))}")
    return lines


def _chances(model: Any, total: str) -> list[str]:
    """Return the chance that a total stands for: by odds or by bought rates, never by both."""
    risks = getattr(model, "risk_table", None)
    return _by_odds(model.odds, total) if risks is None else _by_rates(risks, total)


def _by_rates(risks: RiskTable, total: str) -> list[str]:
    lines = [f"WHEN {total} <= {row.highest} THEN {_double(row.rate)}" for row in risks.rows[:-1]]
    return [*lines, f"WHEN {total} IS NOT NULL THEN {_double(risks.rows[-1].rate)}"]


def _by_odds(odds: OddsScale, total: str) -> list[str]:
    most = LARGEST_LOG_ODDS
    log_odds = (
        f"{number_literal(math.log(odds.odds0))} + ({total} - {number_literal(odds.points0)}) "
        f"* {_double(odds.per_point)}"
    )
    return [
        f"WHEN {log_odds} > {most:.0f} THEN 1",
        f"WHEN {log_odds} < -{most:.0f} THEN 0",
        f"ELSE 1 / (1 + EXP(-({log_odds})))",
    ]


def _double(number: float) -> str:
    return f"CAST({number!r} AS DOUBLE PRECISION)"
