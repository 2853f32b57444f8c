"""A scorecard as one SELECT that scores a table of text, however a number is spelled.

The text runs as it is in DuckDB, SQLite and PostgreSQL: it keeps to CASE, CAST, TRIM, REPLACE and
LIKE. SQL cannot refuse a row, so a cell that the encoder refuses makes the total NULL.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from opdisc.data import (
    BOOLEAN_TEXTS,
    PLAIN_NUMBER,
    BinaryFeature,
    CategoryFeature,
    Feature,
    Schema,
    ThresholdFeature,
    exclusive_positions,
    parse_number,
    spellings,
)
from opdisc.errors import escaped
from opdisc.models.card import CardSource, CardsSource, used_features
from opdisc.models.exports.sql_answer import (
    NAN_TEXTS,
    card_select,
    name_literal,
    number_literal,
    one_of,
    summed,
    text_literal,
)
from opdisc.models.scorecard import Scorecard

_BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace())
"""What Python's ``str.strip`` takes away."""

_BLANKS_WITHIN = "\t\n\r\u00a0\u2002\u2003\u2007\u2009\u202f\u3000"
"""White space that is one space within a text; SQLite's parser nests no more than a few dozen."""

_CAST_BLANKS = " \t\n\v\f\r"
"""What engines skip around a number that they cast."""

_MARK = "\x02"
"""A character that no text has."""

_LARGE, _SMALL = 1e15, 1e-3
"""Numbers from the one on, or below the other, are printed by an exponent by some engine."""

_TENTHS = "CAST(0.1 AS DOUBLE PRECISION) + CAST(0.2 AS DOUBLE PRECISION)"
_TENTHS_PRINTED = "0.30000000000000004"
"""A number and its text where an engine prints as many digits as a number has."""

_NOTES = (
    "Cells are read by their text. An answer is NULL where a column that is used ought to hold a",
    "number, or a declared yes or no, but does not. Codes such as 007, 5.0 and 5E1 must be text.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """One column as the statement reads it.

    Parameters
    ----------
    number : int
        Tells its names from those of other columns.
    feature : Feature
        What is declared of it.
    named : tuple of (str, int)
        Its statements and their points.
    missing : tuple of str
        Texts that count as missing in it.
    """

    number: int
    feature: Feature
    named: tuple[tuple[str, int], ...]
    missing: tuple[str, ...]

    @property
    def is_number(self) -> bool:
        return not isinstance(self.feature, CategoryFeature)

    @property
    def cuts(self) -> tuple[float, ...]:
        """Numbers from which a statement is true; a yes is read as 1."""
        return self.feature.thresholds if isinstance(self.feature, ThresholdFeature) else (1.0,)


def card_sql_text(model: CardSource | CardsSource) -> str:
    """Return a SELECT that adds totals and prediction to a table whose columns are text.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Scorecards and their schema.

    Returns
    -------
    str
        For DuckDB, SQLite and PostgreSQL. Columns of other types are read by their text.

    Raises
    ------
    ModelFileError
        If a name or value holds what SQL text cannot: a null character, a lone surrogate.

    Notes
    -----
    The answers are those of the encoder, with some exceptions on the safe side or of no practical
    weight. Numbers that are surrounded by white space beyond ASCII give NULL. So do texts with an
    exponent where a category is a number so large or small that engines print it by one. "nan" in
    a column of numbers is missing; NaN is no missing cell of a category. A number that no double
    holds is above every threshold, or stops the engine. Rare white space within a text, such as a
    thin sixth of a space, is not a space. The zero of SAS files with a minus is below 0.
    """
    return card_select(model, _terms, list(_NOTES))


def _cells(card: Scorecard, schema: Schema) -> list[_Cell]:
    """Return the columns that take part: with points, or before one that excludes them."""
    groups = exclusive_positions(schema.exclusive, schema.features)
    needed = {
        position
        for group in groups
        for position in group
        if any(card.points[later - 1] for later in group)
    }
    return [
        _Cell(number=number, feature=feature, named=named, missing=schema.missing_texts(feature))
        for number, ((feature, named), attribute) in enumerate(
            zip(used_features(card, schema), schema.attributes, strict=True), start=1
        )
        if any(points for _, points in named) or needed.intersection(attribute.indices)
    ]


def _terms(card: Scorecard, schema: Schema) -> list[str]:
    """Return the points of a row as one query of nested ones: text, form, number, points."""
    cells = _cells(card, schema)
    if not cells:
        return []
    texts = [line for cell in cells for line in _texts(cell)]
    forms = [form for cell in cells for form in _forms(cell)]
    read = [_number(cell) for cell in cells if cell.is_number]
    read += [f"text_{cell.number}" for cell in cells if not cell.is_number]
    constants = f"{text_literal(_CAST_BLANKS)} AS spaces, {text_literal(_BLANKS)} AS blanks"
    if any(isinstance(cell.feature, ThresholdFeature) for cell in cells):
        constants += f", CAST({_TENTHS} AS TEXT) AS tenths"
        texts, forms = ["tenths", *texts], ["tenths", *forms]
    return [
        f"""(
      SELECT
        {summed(list(_points_of(schema, cells)))}
      FROM (
        SELECT
          {_list(read, 10)}
        FROM (
          SELECT
            {_list(forms, 12)}
          FROM (
            SELECT
              {_list(texts, 14)}
            FROM (SELECT {constants}) AS constants
          ) AS texts
        ) AS forms
      ) AS cells
    )"""  # nosec B608 # a text for the reader to run; names and literals are quoted
    ]


def _texts(cell: _Cell) -> tuple[str, ...]:
    """Return the text of a cell, the empty one for NULL; a number with thresholds itself too."""
    column, number = _column(cell), cell.number
    if isinstance(cell.feature, CategoryFeature | BinaryFeature):
        text = f"CAST({column} AS TEXT)"
        if any(" " in value for value in (*cell.feature.values, *cell.missing)):
            text = _single_spaces(text)
        return (f"COALESCE(TRIM({text}, blanks), '') AS text_{number}",)
    text = f"COALESCE(TRIM(CAST({column} AS TEXT), spaces), '') AS text_{number}"
    return f"{column} AS cell_{number}", text


def _single_spaces(text: str) -> str:
    """Return the text in which white space of every kind is one space."""
    for blank in _BLANKS_WITHIN:
        text = f"REPLACE({text}, {text_literal(blank)}, ' ')"
    # A mark after each space; of a run of spaces the marks take all but the first.
    text = f"REPLACE({text}, ' ', {text_literal(' ' + _MARK)})"
    text = f"REPLACE({text}, {text_literal(_MARK + ' ')}, '')"
    return f"REPLACE({text}, {text_literal(_MARK)}, '')"


def _forms(cell: _Cell) -> tuple[str, ...]:
    """Return what the next step reads: the text, and what shows whether it is a number."""
    number = cell.number
    if not isinstance(cell.feature, ThresholdFeature):
        return (f"text_{number}",)
    form = f"REPLACE(REPLACE(LOWER(text_{number}), 'e+', 'e'), 'e-', 'e') AS form_{number}"
    return f"cell_{number}", f"text_{number}", form


def _points_of(schema: Schema, cells: list[_Cell]) -> Iterator[str]:
    groups = exclusive_positions(schema.exclusive, schema.features)
    member = {position: group for group in groups for position in group}
    start = {
        id(feature): attribute.indices[0]
        for feature, attribute in zip(schema.features, schema.attributes, strict=True)
    }
    by_position = {start[id(cell.feature)]: cell for cell in cells}
    done: set[tuple[int, ...]] = set()
    for position, cell in by_position.items():
        group = member.get(position)
        if group is None:
            yield _points(cell)
        elif group not in done:
            done.add(group)
            yield _first_of([by_position[i] for i in group])


def _points(cell: _Cell) -> str:
    if isinstance(cell.feature, CategoryFeature):
        return _category_points(cell, cell.feature)
    number = f"number_{cell.number}"
    lines = [f"WHEN {gap} THEN 0" for gap in _gaps(cell)]
    sums = [sum(p for _, p in cell.named[: i + 1]) for i in range(len(cell.cuts))]
    for cut, points, (_, own) in reversed(list(zip(cell.cuts, sums, cell.named, strict=True))):
        if own:
            lines.append(f"WHEN {number} >= {number_literal(cut)} THEN {points}")
    return _case([*lines, f"WHEN {number} IS NOT NULL THEN 0"], cell)


def _first_of(cells: list[_Cell]) -> str:
    """Return the points of the first yes among columns of which one counts."""
    unread = " OR ".join(f"number_{cell.number} IS NULL" for cell in cells)
    lines = [f"WHEN {unread} THEN NULL"]
    for cell in cells:
        true = [f"number_{cell.number} >= 1", *(f"NOT {gap}" for gap in _gaps(cell))]
        lines.append(f"WHEN {' AND '.join(true)} THEN {cell.named[0][1]}")
    return _case([*lines, "ELSE 0"], cells[0])


def _gaps(cell: _Cell) -> list[str]:
    """Return the condition that a number stands for a missing one, where a cut would not tell."""
    if isinstance(cell.feature, BinaryFeature):
        return []
    numbers = [number for text in cell.missing if (number := parse_number(text)) is not None]
    listed = [number_literal(number) for number in numbers if number >= cell.cuts[0]]
    return [f"number_{cell.number} IN ({', '.join(listed)})"] if listed else []


def _number(cell: _Cell) -> str:
    """Return how a cell is read as a number: NULL unless it has the form of one.

    A missing cell is read as a number below every cut; a yes as 1 and a no as 0.
    """
    if isinstance(cell.feature, BinaryFeature):
        return _answer(cell, cell.feature)
    text, form = f"text_{cell.number}", f"form_{cell.number}"
    # A number is cast from its text: 38.3 in 4 bytes is less as a double. It is cast as it is
    # where the engine prints 15 of its 17 digits, as SQLite does, which has no numbers of 4 bytes.
    source = f"CAST({text} AS DOUBLE PRECISION)"
    own = f"CAST(cell_{cell.number} AS DOUBLE PRECISION)"
    source = f"CASE WHEN tenths = '{_TENTHS_PRINTED}' THEN {source} ELSE {own} END"
    true, false = (
        one_of(text, [spelling for spelling, value in BOOLEAN_TEXTS.items() if value == which])
        for which in "10"
    )
    first = cell.cuts[0]
    absent = one_of(text, (*_all_spellings(cell.missing), *NAN_TEXTS))
    below = number_literal(max(-sys.float_info.max, first - max(1.0, abs(first))))
    unsigned = f"LTRIM({form}, '+-.')"
    rules = (
        f"TRIM({form}, '0123456789.+-e') = '' AND {unsigned} <> '' AND {unsigned} NOT LIKE 'e%'",
        f"{form} NOT LIKE '_%+%' AND {form} NOT LIKE '_%-%' AND {form} NOT LIKE '%.%.%'",
        f"{form} NOT LIKE '%e%e%' AND {form} NOT LIKE '%e%.%' AND {form} NOT LIKE '%e'",
    )
    pad = "\n            "
    return (
        f"CASE{pad}WHEN {absent} THEN {below}{pad}WHEN {true} THEN 1{pad}WHEN {false} THEN 0{pad}"
        f"WHEN {f'{pad}  AND '.join(rules)}{pad}  THEN {source}\n"
        f"          END AS number_{cell.number}"
    )


def _answer(cell: _Cell, feature: BinaryFeature) -> str:
    """Return how a yes/no cell is read: NULL if it says neither."""
    text, pad = f"text_{cell.number}", "\n            "
    no = _equals(text, dict.fromkeys((*feature.zero, *cell.missing, *NAN_TEXTS)))
    return (
        f"CASE{pad}WHEN {_equals(text, feature.one)} THEN 1{pad}WHEN {no} THEN 0\n"
        f"          END AS number_{cell.number}"
    )


def _all_spellings(missing: tuple[str, ...]) -> list[str]:
    """Return the spellings of the texts that are no numbers."""
    return [each for text in missing if parse_number(text) is None for each in spellings(text)]


def _category_points(cell: _Cell, feature: CategoryFeature) -> str:
    text = f"text_{cell.number}"
    points = {
        category.name: p for category, (_, p) in zip(feature.categories, cell.named, strict=True)
    }
    cases = [(category.values, points[category.name]) for category in feature.categories]
    if feature.missing is not None:
        cases.insert(0, (cell.missing, points[feature.missing]))
    equals = _equal_texts if feature.text else _equals
    lines = [f"WHEN {equals(text, values)} THEN {p}" for values, p in cases if p]
    declared = [value for values, _ in cases for value in values]
    if not feature.text and any(map(_prints_by_exponent, declared)):
        lowered = f"LOWER({text})"
        zero = [equals(text, values) for values, p in cases if not p]
        lines += [f"WHEN {' OR '.join(zero)} THEN 0"] if zero else []
        form = (
            f"{lowered} LIKE '%e%' AND TRIM({lowered}, '0123456789.+-e') = '' "
            f"AND TRIM({lowered}, '.+-e') <> ''"
        )
        lines.append(f"WHEN {form} THEN NULL")
    return _case([*lines, "ELSE 0"], cell)


def _prints_by_exponent(value: str) -> bool:
    """Return whether an engine may print a number so: a text that looks alike is a code."""
    if not PLAIN_NUMBER.fullmatch(value):
        return False
    number = abs(float(value))
    return number >= _LARGE or 0 < number < _SMALL


def _equal_texts(text: str, values: Iterable[str]) -> str:
    """Return the condition that a trimmed text is one of some texts as it stands."""
    return one_of(text, [each for value in values for each in spellings(value)])


def _equals(text: str, values: Iterable[str]) -> str:
    """Return the condition that a trimmed text is one of some canonical texts."""
    same, tailed, tailed_whole = [], [], []
    for value in values:
        same += [*spellings(value), *(s for s, v in BOOLEAN_TEXTS.items() if v == value)]
        if PLAIN_NUMBER.fullmatch(value):
            forms = [value] if value.startswith("-") else [value, f"+{value}"]
            forms += ["-0"] if value == "0" else []
            same += forms[1:]
            if "." in value:
                tailed += forms
            else:
                tailed_whole += [f"{form}." for form in forms]
    conditions = [one_of(text, same)]
    if tailed:
        conditions.append(one_of(f"RTRIM({text}, '0')", tailed))
    if tailed_whole:
        whole = one_of(f"RTRIM({text}, '0')", tailed_whole)
        conditions.append(f"({text} LIKE '%0' AND {whole})")
    return " OR ".join(conditions)


def _case(lines: list[str], cell: _Cell) -> str:
    body = "".join(f"\n            {line}" for line in lines)
    return f"CASE  -- {escaped(cell.feature.column)}{body}\n          END"


def _list(items: list[str], indent: int) -> str:
    return (",\n" + " " * indent).join(items)


def _column(cell: _Cell) -> str:
    return "t." + name_literal(cell.feature.column)
