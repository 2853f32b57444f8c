"""What the rows of a table hold that its schema does not declare: for the table's owner only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pandas as pd

from opdisc.data.cells import canonical_text, format_number, marks_missing, parse_number
from opdisc.data.encoding import encode_features, plain_table
from opdisc.data.inputs import SchemaLike, parse_schema
from opdisc.data.label_encoding import encode_labels, label_texts
from opdisc.data.precision import plain_cells
from opdisc.data.reading import frame_reader
from opdisc.data.rows import named_cells
from opdisc.data.schema import (
    CategoryFeature,
    MulticlassTarget,
    NumberFeature,
    Schema,
    did_you_mean,
)
from opdisc.data.spelling import require_readable
from opdisc.errors import TableError, escaped, quoted

NOT_PRIVATE = "NOT PRIVATE, for the owner of the table only: what follows comes from single rows."

_MOST_SHOWN = 20

_LINE_END = re.compile("\r\n|\r|\n")

_NOTHING = "every cell of a declared column is declared"

_Cells = list[tuple[int, Any]]
"""Where a cell is, and the cell; None where it is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFindings:
    """What an owner's check found: sentences that hold private values.

    Parameters
    ----------
    sentences : tuple of str
        One for each value or kind of mistake.
    """

    sentences: tuple[str, ...]

    def __str__(self) -> str:
        """Return the sentences below a warning."""
        return "\n".join((NOT_PRIVATE, *self.sentences))


def check_table(table: Any, schema: SchemaLike) -> TableFindings:
    """Look for cells that a schema does not declare, before a fit takes them for something else.

    Parameters
    ----------
    table : DataFrame
        Of pandas, polars, Arrow or another library that narwhals knows, with the declared columns
        and the target.
    schema : Schema, mapping, path or name of a shipped schema
        What is declared.

    Returns
    -------
    TableFindings
        Values that no category, label or yes/no declares, text among numbers, numbers outside a
        declared range, rows without a label, and what a fit would refuse. Rows are counted from 0.

    Raises
    ------
    TableError, SchemaError
        If a declared column is missing or occurs twice, the table is empty, or the schema is none.

    Notes
    -----
    **Not private.** It shows cells, to whoever owns the table, and spends no budget because it
    protects nobody: publish none of it, and declare nothing on account of it that you would not
    have declared without it.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = {"name": "t", "target": {"column": "ill", "positive": 1, "negative": 0},
    ...           "feature": [{"column": "sex", "categories": ["Male"]},
    ...                       {"column": "months", "thresholds": [12], "range": [0, 83]}]}
    >>> table = pd.DataFrame({"sex": ["Male", "male"], "months": [-7, 20], "ill": [1, None]})
    >>> print(check_table(table, schema))
    NOT PRIVATE, for the owner of the table only: what follows comes from single rows.
    1 of 2 rows have no label, and teach nothing: row 1
    sex: 'male' is not declared (did you mean 'Male'?), row 1
    months: -7 is outside the declared range from 0 to 83, row 0
    """
    declared = parse_schema(schema)
    if not isinstance(table, pd.DataFrame) and (reader := frame_reader(table)) is not None:
        table = named_cells(reader, (*declared.columns, declared.target.column))
    table = plain_table(table, (*declared.columns, declared.target.column))
    found = row_findings(table, declared, places=range(len(table)), word="row")
    return TableFindings(sentences=(*_refusals(table, declared), *found))


def _refusals(table: pd.DataFrame, schema: Schema) -> list[str]:
    """Return what a fit would say instead of learning; it names no cell."""
    plain = schema.with_stand_ins() if schema.private_thresholds else schema
    said = []
    try:
        encode_features(table, plain)
        if not schema.is_multiclass:
            encode_labels(table, plain)
    except TableError as error:
        said.append(f"a fit would refuse: {error}")
    return said


def row_findings(
    table: pd.DataFrame, schema: Schema, *, places: Sequence[int], word: str = "line"
) -> list[str]:
    """Return what no category, label or range declares, and where it is.

    Parameters
    ----------
    table : DataFrame
        All declared columns.
    schema : Schema
        What is declared.
    places : sequence of int
        Where each row is.
    word : str
        What such a place is called.

    Returns
    -------
    list of str
        Sentences that hold private values.
    """
    say = _Places(word=word, number=len(places))
    cells = {
        name: list(zip(places, _values(table[name]), strict=True))
        for name in (schema.target.column, *schema.columns)
    }
    found = _label_findings(cells[schema.target.column], schema, say)
    numbers = {f.column for f in schema.features if isinstance(f, NumberFeature)}
    for feature in schema.features:
        missing = schema.missing_texts(feature)
        own = [(at, cell) for at, cell in cells[feature.column] if cell is not None]
        if isinstance(feature, NumberFeature):
            found += _number_findings(own, feature, missing, say)
            continue
        if feature.column in numbers:  # its numbers are declared by the other feature
            own = [(at, cell) for at, cell in own if parse_number(cell) is None]
            missing = (*missing, *_missing_of_numbers(schema, feature.column))
        spell = feature.spell if isinstance(feature, CategoryFeature) else canonical_text
        found += _undeclared(own, feature.column, {*feature.values, *missing}, spell, say)
    return list(dict.fromkeys(found)) or [_NOTHING]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """How places of rows are listed."""

    word: str
    number: int

    def listed(self, places: Sequence[int]) -> str:
        shown = ", ".join(str(place) for place in places[:_MOST_SHOWN])
        more = f" and {len(places) - _MOST_SHOWN} more" if len(places) > _MOST_SHOWN else ""
        return f"{self.word}{'' if len(places) == 1 else 's'} {shown}{more}"


def _values(column: pd.Series[Any]) -> list[Any]:
    """Return the cells of a column, None where one is missing."""
    plain = plain_cells(column).astype(object)
    return [
        None if gone else _readable(cell) for cell, gone in zip(plain, plain.isna(), strict=True)
    ]


def _readable(cell: Any) -> Any:
    """Return a cell, or how Python writes it if no text stands for it: bytes, for one."""
    try:
        require_readable(type(cell))
    except TableError:
        return repr(cell)
    return cell


def _label_findings(cells: _Cells, schema: Schema, say: _Places) -> list[str]:
    target, missing = schema.target, schema.missing_values
    gone = [at for at, cell in cells if cell is None or canonical_text(cell) in missing]
    found = []
    if gone:
        share = f"{len(gone)} of {say.number} rows have no label, and teach nothing"
        found.append(f"{share}: {say.listed(gone)}")
    declared = {*label_texts(target, missing), *missing}
    own = [(at, cell) for at, cell in cells if cell is not None]
    if isinstance(target, MulticlassTarget) or not target.takes_any_other:
        return found + _undeclared(own, target.column, declared, canonical_text, say)
    words = {}
    for text, at in _values_besides(declared, own, canonical_text).items():
        said = f"counts as negative{did_you_mean(text, declared)}"
        if marks_missing(text):
            said = "marks a missing value, so a fit refuses it"
        rows = "1 row" if len(at) == 1 else f"{len(at)} rows"
        words[f"{quoted(text)} {said}, {rows}:"] = at
    return found + _most_frequent(words, escaped(target.column), say)


def _missing_of_numbers(schema: Schema, column: str) -> Iterable[str]:
    return chain.from_iterable(
        schema.missing_texts(f)
        for f in schema.features
        if f.column == column and isinstance(f, NumberFeature)
    )


def _number_findings(
    cells: _Cells, feature: NumberFeature, missing: tuple[str, ...], say: _Places
) -> list[str]:
    """Return cells that are no number, and numbers that are bent into the declared range."""
    coded = {parse_number(text) for text in missing}
    unreadable: list[int] = []
    outside: dict[float, list[int]] = {}
    for at, cell in cells:
        number = parse_number(cell)
        if number is None:
            if canonical_text(cell) not in missing:
                unreadable.append(at)
        elif (
            feature.range is not None
            and number not in coded
            and not feature.range[0] <= number <= feature.range[1]
        ):
            outside.setdefault(number, []).append(at)
    name = escaped(feature.column)
    found = [f"{name}: no number on {say.listed(unreadable)}"] if unreadable else []
    if feature.range is not None:
        low, high = map(format_number, feature.range)
        where = {
            f"{format_number(number)} is outside the declared range from {low} to {high},": at
            for number, at in outside.items()
        }
        found += _most_frequent(where, name, say)
    return found


def _undeclared(
    cells: _Cells,
    column: str,
    declared: set[str],
    spell: Callable[[object], str],
    say: _Places,
) -> list[str]:
    words = {
        f"{quoted(text)} is not declared{did_you_mean(text, declared)},": at
        for text, at in _values_besides(declared, cells, spell).items()
    }
    return _most_frequent(words, escaped(column), say)


def _values_besides(
    declared: set[str], cells: _Cells, spell: Callable[[object], str]
) -> dict[str, list[int]]:
    """Return where the values are that are not declared."""
    where: dict[str, list[int]] = {}
    for at, cell in cells:
        text = spell(cell)
        if text not in declared:
            where.setdefault(text, []).append(at)
    return where


def _most_frequent(where: dict[str, list[int]], name: str, say: _Places) -> list[str]:
    """Return a sentence for each value, the most frequent first."""
    ordered = sorted(where.items(), key=lambda item: -len(item[1]))
    found = [f"{name}: {words} {say.listed(at)}" for words, at in ordered[:_MOST_SHOWN]]
    if len(ordered) > _MOST_SHOWN:
        found.append(f"{name}: {len(ordered) - _MOST_SHOWN} more values")
    return found


def line_numbers(table: pd.DataFrame, first: int | None) -> list[int]:
    """Return the line on which each row of a text file starts; a quoted cell may go over several.

    Parameters
    ----------
    table : DataFrame
        All its cells, as text.
    first : int or None
        On which the rows start; None: below a header.
    """
    line = first
    if line is None:
        line = 2 + sum(len(_LINE_END.findall(str(name))) for name in table.columns)
    numbers = []
    for cells in table.itertuples(index=False, name=None):
        numbers.append(line)
        line += 1 + sum(len(_LINE_END.findall(cell)) for cell in cells)
    return numbers
