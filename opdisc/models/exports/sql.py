"""A scorecard as one SELECT that a person can read: a CASE a statement, columns of known types.

The text runs as it is in DuckDB, SQLite and PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from opdisc.data import BinaryFeature, CategoryFeature, Schema
from opdisc.errors import ModelFileError, quoted
from opdisc.models.card import (
    AtLeast,
    CardSource,
    CardsSource,
    Characteristic,
    Column,
    OneOf,
    Statement,
    card_characteristics,
    card_columns,
    is_number_text,
    output_names,
)
from opdisc.models.exports.sql_answer import (
    NAN_TEXTS,
    card_select,
    name_literal,
    number_literal,
    one_of,
    text_literal,
)
from opdisc.models.scorecard import Scorecard

_TOP = "1e308"
"""Keeps out NaN, which engines rank above every number, and SQLite's texts in such columns."""


_WIDTH = 92
"""Characters of a line."""

_CHECKED = 3
"""Columns that one CASE checks."""


class _Kind(Enum):
    """What a column holds, in words of the header."""

    NUMBER = "number"
    FLAG = "1 or 0: boolean, number or text"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """One column as statements compare it.

    Parameters
    ----------
    column : Column
        What it may hold.
    kind : _Kind
        Its type.
    declared : tuple of str
        Values of its categories, or its yes and no.
    """

    column: Column
    kind: _Kind
    declared: tuple[str, ...]

    @property
    def name(self) -> str:
        return "t." + name_literal(self.column.name)

    def is_in(self, values: tuple[str, ...]) -> str:
        """Return the condition that the cell is one of some declared values."""
        literal = str if self.kind is _Kind.NUMBER else text_literal
        return one_of(self.name, values, literal)

    def is_missing(self, texts: tuple[str, ...]) -> str:
        """Return the condition that the cell is empty or one of some texts."""
        numbers = tuple(text for text in texts if is_number_text(text))
        if self.kind is _Kind.NUMBER:
            listed = f" OR {self.is_in(numbers)}" if numbers else ""
            return f"{self.name} IS NULL OR {self.name} > {_TOP}{listed}"
        name, printed = self.name, ("", *texts)
        if self.kind is _Kind.FLAG:  # a boolean cannot be compared with another text
            name = f"CAST({name} AS TEXT)"
            printed += (*NAN_TEXTS, *(f"{text}.0" for text in numbers))
        return one_of(f"COALESCE({name}, '')", printed)

    def is_no(self, values: tuple[str, ...]) -> str:
        """Return the condition that the cell is one of some values, or missing."""
        return f"{self.is_in(values)} OR {self.is_missing(self.column.missing)}"

    def is_one_of(self, test: OneOf) -> str:
        """Return the condition that a test is true of the cell."""
        if not test.blank:
            return self.is_in(test.values)
        own = tuple(text for text in test.values if text in self.declared)
        missing = self.is_missing(tuple(text for text in test.values if text not in own))
        return f"{self.is_in(own)} OR {missing}" if own else missing


def card_sql(model: CardSource | CardsSource) -> str:
    """Return a SELECT that adds totals and prediction to a table of typed columns.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Scorecards and their schema.

    Returns
    -------
    str
        For DuckDB, SQLite and PostgreSQL. A comment says the type of each column that is read.

    Raises
    ------
    ModelFileError
        If a column would have to be numbers and texts at once, or a name or value holds what SQL
        text cannot.

    Notes
    -----
    Numbers are compared as numbers, texts as they stand. NULL, NaN and an infinity are missing. A
    yes/no column that says neither makes total and prediction NULL. For tables whose numbers are
    kept as text there is :func:`card_sql_text`.
    """
    cards = model.scorecards if isinstance(model, CardsSource) else (model.scorecard,)
    read: dict[str, _Cell] = {}
    for cell in (cell for card in cards for cell in _cells(card, model.schema).values()):
        if read.setdefault(cell.column.name, cell).kind is not cell.kind:
            raise _two_types(cell.column)
    return card_select(model, _terms, _notes(model, read) if read else [])


def _notes(model: CardSource | CardsSource, read: dict[str, _Cell]) -> list[str]:
    """Return the comment: columns with their types, and which cells have no total."""
    names = output_names(model)
    empty = ", ".join(map(name_literal, (*names.totals, names.prediction)))
    return [
        "It reads these columns; one of another type has to be cast:",
        *(f"  {name_literal(name)}: {cell.kind.value}" for name, cell in read.items()),
        f"{empty} are NULL where a yes/no column holds another value,",
        "or SQLite keeps text in a column of numbers.",
        f"Numbers above {_TOP} are missing, for to an engine NaN is above every number.",
        "Columns of numbers of 4 bytes (REAL, FLOAT) need the form --sql-text.",
    ]


def _cells(card: Scorecard, schema: Schema) -> dict[str, _Cell]:
    """Return the columns that a card reads, by name."""
    found = card_characteristics(card, schema)
    read = {statement.name for one in found for statement in one.statements}
    values: dict[str, list[str]] = {}
    for feature in schema.features:
        if isinstance(feature, CategoryFeature | BinaryFeature) and read.intersection(
            feature.column_names
        ):
            values.setdefault(feature.column, []).extend(feature.values)
    return {
        column.name: _cell(column, tuple(values.get(column.name, ())))
        for column in card_columns(found, schema)
    }


def _cell(column: Column, values: tuple[str, ...]) -> _Cell:
    are_numbers = not column.needs_text and all(map(is_number_text, values))
    if column.is_number and not are_numbers:
        raise _two_types(column)
    kind = _Kind.NUMBER if are_numbers else _Kind.TEXT
    if not column.is_number and set(values) <= {"0", "1"}:
        kind = _Kind.FLAG
    return _Cell(column=column, kind=kind, declared=values)


def _two_types(column: Column) -> ModelFileError:
    return ModelFileError(
        f"a column of plain SQL must have one type, but statements take {quoted(column.name)} for "
        "more than one, such as numbers and texts; write --sql-text instead."
    )


def _terms(card: Scorecard, schema: Schema) -> list[str]:
    """Return the summands of a card's total."""
    cells, found = _cells(card, schema), card_characteristics(card, schema)
    terms = [term for one in found for term in _points(one, cells)]
    numbers = [cell.name for cell in cells.values() if cell.kind is _Kind.NUMBER]
    # True of text alone, which SQLite keeps in any column: a sign takes away the column's type.
    texts = [f"+{name} <> {name} + 0" for name in numbers]
    parts = [texts[i : i + _CHECKED] for i in range(0, len(texts), _CHECKED)]
    return terms + [_case([f"WHEN {' OR '.join(part)} THEN NULL", "ELSE 0"]) for part in parts]


def _points(one: Characteristic, cells: dict[str, _Cell]) -> Iterator[str]:
    if one.adds_up:
        for statement in one.statements:
            if statement.points and isinstance(statement.test, AtLeast):
                condition = _from(statement.test, cells)
                yield _case([f"WHEN {condition} THEN {statement.points}", "ELSE 0"])
        return
    first = cells[one.columns[0]]
    if len(one.columns) == len(one.statements) == 1 and first.column.allowed is not None:
        yield _yes_or_no(one.statements[0], first)
        return
    lines = [
        f"WHEN {cells[statement.test.column].is_one_of(statement.test)} THEN {statement.points}"
        for statement in one.statements
        if isinstance(statement.test, OneOf) and (statement.points or len(one.columns) > 1)
    ]
    yield _case([*lines, "ELSE 0"])
    for cell in map(cells.__getitem__, one.columns):
        if cell.column.allowed is not None:  # a cell that says neither has no total
            yield _case([f"WHEN {cell.is_no(cell.column.allowed)} THEN 0"])


def _yes_or_no(statement: Statement, cell: _Cell) -> str:
    assert isinstance(statement.test, OneOf)
    no = tuple(text for text in cell.column.allowed or () if text not in statement.test.values)
    yes = f"WHEN {cell.is_one_of(statement.test)} THEN {statement.points}"
    return _case([yes, f"WHEN {cell.is_no(no)} THEN 0"])


def _from(test: AtLeast, cells: dict[str, _Cell]) -> str:
    name = cells[test.column].name
    condition = f"{name} BETWEEN {number_literal(test.cut)} AND {_TOP}"
    absent = ", ".join(map(number_literal, test.absent))
    return f"{condition} AND {name} NOT IN ({absent})" if absent else condition


def _case(lines: list[str]) -> str:
    """Return a CASE on one line, on several if it is long."""
    short = f"CASE {' '.join(lines)} END"
    if len(short) <= _WIDTH:
        return short
    return "CASE" + "".join(f"\n        {line}" for line in lines) + "\n      END"
