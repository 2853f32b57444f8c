"""A scorecard as a Python file that needs nothing but Python."""

from __future__ import annotations

import math
from collections.abc import Iterator

from opdisc.data import (
    ANY_NUMBER,
    BOOLEAN_TEXTS,
    MOMENT,
    PLAIN_NUMBER,
    PRINTED_NUMBER,
    SAS_ZERO_TEXTS,
    BinaryFeature,
    CategoryFeature,
    Feature,
    Schema,
    ThresholdFeature,
    exclusive_positions,
    is_kept_by_a_number,
    parse_number,
)
from opdisc.errors import escaped
from opdisc.models.card import CardSource, CardsSource, output_names, used_features
from opdisc.models.odds import LARGEST_LOG_ODDS
from opdisc.models.scorecard import Scorecard
from opdisc.privacy import TREE, way_to

_FILE = '''\
"""{kind} released under differential privacy, as code that needs no package."""

# Written by opdisc.
# {title}
# A cell is text, a number, True, False, or None where it is missing.

import math
import re
import unicodedata
from decimal import Decimal

THRESHOLD = {threshold!r}
{answers}
{scores}

MISSING_TEXTS = {missing_texts!r}
MISSING_NUMBERS = {missing_numbers!r}
BOOLEANS = {booleans!r}
PLAIN_NUMBER = re.compile({plain!r})
PRINTED_NUMBER = re.compile({printed!r})
ANY_NUMBER = re.compile({any_number!r})
MOMENT = re.compile({moment!r})
ZEROS = {zeros!r}
UNREADABLE = (bytes, bytearray, memoryview, list, tuple, dict, set, complex)


def _cell(row, column):
    if column not in row:
        raise ValueError("a row must have the column " + repr(column))
    cell = row[column]
    # NaN differs from itself, whatever type of number it is.
    return None if type(cell).__name__ == "NAType" or cell != cell else cell


def _text(row, column, codes=False):
    """Return the text under which a cell is compared, None where it is missing."""
    cell = _cell(row, column)
    if cell is None:
        return None
    if codes and not isinstance(cell, str):
        raise ValueError("text is needed in the column " + repr(column))
    text = _canonical(cell)
    return None if text in MISSING_TEXTS else text


def _code(row, column):
    """Return the text of a cell as it stands, None where it is missing."""
    cell = _cell(row, column)
    if cell is None:
        return None
    if not isinstance(cell, str):
        raise ValueError("text is needed in the column " + repr(column))
    text = _plain(cell)
    return None if text in MISSING_TEXTS else text


def _number(row, column, texts=(), numbers=()):
    """Return the number of a cell; NaN, which reaches no threshold, where it is missing.

    Texts and numbers may be missing in this column only.
    """
    cell = _cell(row, column)
    if cell is None:
        return math.nan
    text = _plain(cell)
    text = BOOLEANS.get(text, text)
    number = float(text) if ANY_NUMBER.fullmatch(text) else math.inf
    if not math.isinf(number):
        return math.nan if number in MISSING_NUMBERS or number in numbers else number
    if _canonical(cell) in MISSING_TEXTS or _canonical(cell) in texts:
        return math.nan
    raise ValueError("a number is needed in the column " + repr(column))


def _yes(row, column, one, zero, codes=False):
    """Return whether a cell says yes; one that is missing does not."""
    text = _text(row, column, codes)
    if text is not None and text not in one and text not in zero:
        raise ValueError("a declared value is needed in the column " + repr(column))
    return text in one


def _plain(cell):
    if isinstance(cell, UNREADABLE) or hasattr(cell, "total_seconds"):
        raise ValueError("a cell must be text, a number or a date")
    text = " ".join(unicodedata.normalize("NFC", str(cell)).split())
    moment = MOMENT.fullmatch(text)
    if moment:
        date, minutes, seconds, parts = moment.groups()
        rest = (parts or "").rstrip("0")
        time = minutes + ":" + (seconds or "00") + ("." + rest if rest else "")
        return date if time == "00:00:00" else date + " " + time
    if text in ZEROS:
        return "0"
    if not isinstance(cell, str) and PRINTED_NUMBER.fullmatch(text):
        return format(Decimal(text), "f")
    return text


def _canonical(cell):
    text = _plain(cell)
    text = BOOLEANS.get(text, text)
    if not PLAIN_NUMBER.fullmatch(text):
        return text
    digits = format(Decimal(text), "f").removeprefix("+")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits
'''

_ONE = """\
NEGATIVE, POSITIVE = {negative!r}, {positive!r}


def predict(row):
    \"\"\"Return the label of a row: a mapping of column names to cells.\"\"\"
    return POSITIVE if score(row) >= THRESHOLD else NEGATIVE

"""

_CHANCE = """
def chance(row):
    \"\"\"Return the chance that a row is POSITIVE.\"\"\"
    odds = {log_odds!r} + (score(row) - {points0!r}) * {per_point!r}
    return 1 / (1 + math.exp(-max(-{most!r}, min({most!r}, odds))))

"""

_RATES = """
# Totals up to the first number have the rate beside it; those beyond them have the last one.
RATES = {rates!r}


def chance(row):
    \"\"\"Return the chance that a row is POSITIVE.\"\"\"
    total = score(row)
    return next((rate for highest, rate in RATES if total <= highest), RATES[-1][1])

"""

_SCORED = """
def scored(row):
    \"\"\"Return what a row gets in a scored table: its columns by name.\"\"\"
    return {{{columns}}}

"""

_TREE = """\
# To each label, the answers that lead there: position of a card, and whether it says yes.
WAYS = (
{ways})


def predict(row):
    \"\"\"Return the label of a row: a mapping of column names to cells.\"\"\"
    yes = [total >= THRESHOLD for total in scores(row)]
    return next(label for label, way in WAYS if all(yes[card] == said for card, said in way))

"""

_RIVALS = """\
LABELS = {labels!r}


def predict(row):
    \"\"\"Return the label of a row: a mapping of column names to cells.\"\"\"
    totals = scores(row)
    return LABELS[totals.index(max(totals))]

"""

_SCORES = """
def scores(row):
    \"\"\"Return the total points of a row on each card: a mapping of column names to cells.\"\"\"
    return [{calls}]

"""

_SCORE = """
def {name}(row):
    \"\"\"Return the total points of a row: a mapping of column names to cells.\"\"\"
    total = {start!r}
{body}    return total

"""


def card_python(model: CardSource | CardsSource) -> str:
    """Return a Python file with ``scored(row)``, ``score(row)`` and ``predict(row)``.

    A card with odds or a risk table has ``chance(row)`` too. Of several cards it has
    ``scores(row)``, the total on each.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Scorecards and their schema.

    Returns
    -------
    str
        Python 3.9 or later, its standard library only. Names and values are quoted. Columns
        without points are not read; a cell that cannot be read raises ValueError.
    """
    schema = model.schema
    numbers = map(parse_number, schema.missing_values)
    if isinstance(model, CardsSource):
        kind, words = "Scorecards that were", "the scorecards"
        names = [f"_score_{k}" for k in range(1, len(model.scorecards) + 1)]
        scores = _SCORES.format(calls=", ".join(f"{name}(row)" for name in names))
        for name, card in zip(names, model.scorecards, strict=True):
            scores += _score(name, card, schema)
        answers, threshold = _answers(model), model.scorecards[0].threshold
    else:
        kind, words, card = "A scorecard that was", "the scorecard", model.scorecard
        answers = _ONE.format(negative=card.classes[0], positive=card.classes[1])
        answers += _chance(model)
        scores, threshold = _score("score", card, schema), card.threshold
    return _FILE.format(
        kind=kind,
        title=escaped(f"Predict {schema.target.column} by {words} {schema.name}."),
        threshold=threshold,
        answers=answers,
        scores=scores + _scored(model),
        missing_texts=schema.missing_values,
        missing_numbers=tuple(number for number in numbers if number is not None),
        booleans=BOOLEAN_TEXTS,
        plain=PLAIN_NUMBER.pattern,
        printed=PRINTED_NUMBER.pattern,
        any_number=ANY_NUMBER.pattern,
        moment=MOMENT.pattern,
        zeros=SAS_ZERO_TEXTS,
    )


def _chance(model: CardSource) -> str:
    """Return the function of the chance, where odds are known or rates were bought."""
    if (risks := getattr(model, "risk_table", None)) is not None:
        return _RATES.format(rates=tuple((row.highest, row.rate) for row in risks.rows))
    if (odds := getattr(model, "odds", None)) is None:
        return ""
    return _CHANCE.format(
        log_odds=math.log(odds.odds0),
        points0=odds.points0,
        per_point=odds.per_point,
        most=LARGEST_LOG_ODDS,
    )


def _scored(model: CardSource | CardsSource) -> str:
    """Return the function that gives all columns of a scored table."""
    names = output_names(model)
    columns = [f"{names.prediction!r}: predict(row)"]
    if isinstance(model, CardsSource):
        columns.append(f"**dict(zip({names.totals!r}, scores(row)))")
    else:
        columns.append(f"{names.totals[0]!r}: score(row)")
    if names.probability is not None:
        columns.append(f"{names.probability!r}: chance(row)")
    return _SCORED.format(columns=", ".join(columns))


def _answers(model: CardsSource) -> str:
    """Return how totals of several cards lead to a label."""
    labels = model.schema.labels
    if model.receipt.strategy != TREE:
        return _RIVALS.format(labels=labels)
    lines = (
        f"    ({label!r}, {way_to(model.questions, k)!r}),\n" for k, label in enumerate(labels)
    )
    return _TREE.format(ways="".join(lines))


def _score(name: str, card: Scorecard, schema: Schema) -> str:
    body = "".join(f"    {line}\n" for line in _lines(card, schema))
    return _SCORE.format(name=name, start=card.start, body=body)


def _lines(card: Scorecard, schema: Schema) -> Iterator[str]:
    features = used_features(card, schema)
    groups = exclusive_positions(schema.exclusive, schema.features)
    grouped = {position for group in groups for position in group}
    for (feature, named), attribute in zip(features, schema.attributes, strict=True):
        points = [p for _, p in named]
        if not any(points) or grouped.intersection(attribute.indices):
            continue
        if isinstance(feature, CategoryFeature):
            yield from _category_lines(feature, points, schema.missing_texts(feature))
            continue
        if isinstance(feature, BinaryFeature):
            yield f"total += {points[0]} if {_said(feature, schema)} else 0"
            continue
        assert isinstance(feature, ThresholdFeature)
        yield f"number = {_read(feature)}"
        for cut, p in zip(feature.thresholds, points, strict=True):
            if p:
                yield f"total += {p} if number >= {cut!r} else 0"
    binary = {f.column: f for f in schema.features if isinstance(f, BinaryFeature)}
    for group, columns in zip(groups, schema.exclusive, strict=True):
        pairs = [(binary[c], card.points[i - 1]) for c, i in zip(columns, group, strict=True)]
        if any(p for _, p in pairs):
            yield "# Of these only the first that is true counts."
            said = ", ".join(f"({_said(feature, schema)}, {p})" for feature, p in pairs)
            yield f"answers = [{said}]"
            yield "total += next((points for yes, points in answers if yes), 0)"


def _read(feature: Feature) -> str:
    """Return the call that reads the number of a feature."""
    codes = {text: parse_number(text) for text in feature.missing_codes}
    texts = tuple(text for text, number in codes.items() if number is None)
    numbers = tuple(number for number in codes.values() if number is not None)
    more = f", {texts!r}, {numbers!r}" if codes else ""
    return f"_number(row, {feature.column!r}{more})"


def _said(feature: BinaryFeature, schema: Schema) -> str:
    """Return the call that reads a yes or no."""
    missing = schema.missing_texts(feature)
    codes = not all(map(is_kept_by_a_number, (*feature.values, *missing)))
    no = (*feature.zero, *feature.missing_codes)
    more = ", codes=True" if codes else ""
    return f"_yes(row, {feature.column!r}, {feature.one!r}, {no!r}{more})"


def _category_lines(
    feature: CategoryFeature, points: list[int], missing_values: tuple[str, ...]
) -> Iterator[str]:
    table: dict[str | None, int] = {}
    for category, p in zip(feature.categories, points, strict=True):
        if p:
            table |= dict.fromkeys(category.values, p)
            table |= {None: p} if category.name == feature.missing else {}
    declared = [value for category in feature.categories for value in category.values]
    codes = not all(map(is_kept_by_a_number, (*declared, *missing_values)))
    if feature.text:
        yield f"text = _code(row, {feature.column!r})"
    else:
        yield f"text = _text(row, {feature.column!r}{', codes=True' if codes else ''})"
    yield f"total += {table!r}.get(text, 0)"
