"""What a table and its schema do not agree on: by the header, and for the owner by the rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opdisc.data import (
    CategoryFeature,
    MulticlassTarget,
    Schema,
    canonical_text,
    did_you_mean,
    marks_missing,
    parse_number,
)
from opdisc.errors import escaped, quoted, shortened

if TYPE_CHECKING:
    import pandas as pd

_MOST_SHOWN = 20

_LINE_END = re.compile("\r\n|\r|\n")

NOT_PRIVATE = "NOT PRIVATE, for the owner of the table only: what follows comes from single rows."


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderFindings:
    """How a header differs from a schema.

    Parameters
    ----------
    missing : tuple of str
        Declared columns that the header lacks.
    repeated : tuple of str
        Declared columns that it has twice.
    extra : tuple of str
        Its columns that are not declared; they are not read. For the owner only: of a file without
        a header they are cells.
    doubt : str
        Why its names may be the cells of a row.
    """

    missing: tuple[str, ...]
    repeated: tuple[str, ...]
    extra: tuple[str, ...]
    doubt: str = ""

    @property
    def fits(self) -> bool:
        """Whether a fit finds its columns."""
        return not self.missing and not self.repeated

    def lines(self, *, owner_only: bool = False) -> list[str]:
        """Return the findings in words; for the owner with names that nobody declared."""
        known = self.extra if owner_only else ()
        found = [f"missing: {quoted(name)}{did_you_mean(name, known)}" for name in self.missing]
        found += [f"there twice: {quoted(name)}" for name in self.repeated]
        if known:
            named = ", ".join(quoted(name) for name in known)
            found.append(f"not declared, so not read: {shortened(named, 2_000)}")
        elif self.extra:
            found.append(
                f"not declared, so not read: {len(self.extra)} other names; --owner-only shows "
                "them"
            )
        if self.doubt and not self.fits:
            found.append(
                f"the line of names {self.doubt}, so it may be a row; if it is one, give the "
                "names with --names"
            )
        if self.fits:
            found.insert(0, "every declared column is in the header")
        return found


def header_findings(header: Sequence[str], schema: Schema, doubt: str = "") -> HeaderFindings:
    """Compare a header with a schema."""
    declared = (schema.target.column, *schema.columns)
    missing = tuple(name for name in declared if name not in header)
    extra = tuple(dict.fromkeys(name for name in header if name not in declared))
    return HeaderFindings(
        missing=missing,
        repeated=tuple(name for name in declared if list(header).count(name) > 1),
        extra=extra,
        doubt=doubt,
    )


def row_findings(
    table: pd.DataFrame, schema: Schema, *, first_line: int | None = None
) -> list[str]:
    """Return values without a declared category or label, and lines with unreadable numbers.

    Parameters
    ----------
    table : DataFrame
        Text cells, as :func:`opdisc.read_table` reads them, with all declared columns.
    schema : Schema
        What is declared.
    first_line : int or None
        On which the rows start; None: below a header.

    Returns
    -------
    list of str
        Sentences that hold private values: for the owner of the table only.
    """
    lines = _line_numbers(table, first_line)
    found = _undeclared_labels(table, schema, lines)
    for feature in schema.features:
        if isinstance(feature, CategoryFeature):
            declared = {value for category in feature.categories for value in category.values}
            found += _unmatched(table, feature.column, declared, schema, lines, feature.spell)
        else:
            unreadable = [
                line
                for line, cell in zip(lines, table[feature.column], strict=True)
                if parse_number(cell) is None and canonical_text(cell) not in schema.missing_values
            ]
            if unreadable:
                found.append(f"{escaped(feature.column)}: no number on {_listed(unreadable)}")
    return list(dict.fromkeys(found)) or ["every cell of a declared column is declared"]


def _undeclared_labels(table: pd.DataFrame, schema: Schema, lines: Sequence[int]) -> list[str]:
    """Return a sentence for each label that is not declared, or is one of any others."""
    target = schema.target
    if isinstance(target, MulticlassTarget) or not target.takes_any_other:
        declared = {canonical_text(label) for label in schema.labels}
        return _unmatched(table, target.column, declared, schema, lines)
    declared = {canonical_text(target.positive)}
    where = _values_besides(declared, table, target.column, schema, lines)
    found = []
    for text, at in where[:_MOST_SHOWN]:
        said = f"counts as negative{did_you_mean(text, declared)}"
        if marks_missing(text):
            said = "marks a missing value, so a fit refuses it"
        rows = "1 row" if len(at) == 1 else f"{len(at)} rows"
        found.append(f"{escaped(target.column)}: {quoted(text)} {said}, {rows}: {_listed(at)}")
    return found + _more(where, target.column)


def _unmatched(
    table: pd.DataFrame,
    column: str,
    declared: set[str],
    schema: Schema,
    lines: Sequence[int],
    spell: Callable[[object], str] = canonical_text,
) -> list[str]:
    """Return a sentence for each value that nothing declares, the most frequent first."""
    where = _values_besides(declared, table, column, schema, lines, spell)
    return [
        f"{escaped(column)}: {quoted(text)} is not declared{did_you_mean(text, declared)}, "
        f"{_listed(at)}"
        for text, at in where[:_MOST_SHOWN]
    ] + _more(where, column)


def _values_besides(
    declared: set[str],
    table: pd.DataFrame,
    column: str,
    schema: Schema,
    lines: Sequence[int],
    spell: Callable[[object], str] = canonical_text,
) -> list[tuple[str, list[int]]]:
    """Return values neither declared nor missing, with their lines, the most frequent first."""
    where: dict[str, list[int]] = {}
    for line, cell in zip(lines, table[column], strict=True):
        text = spell(cell)
        if text not in declared and text not in schema.missing_values:
            where.setdefault(text, []).append(line)
    return sorted(where.items(), key=lambda item: -len(item[1]))


def _more(where: Sequence[object], column: str) -> list[str]:
    more = len(where) - _MOST_SHOWN
    return [f"{escaped(column)}: {more} more values"] if more > 0 else []


def _listed(lines: Sequence[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:_MOST_SHOWN])
    more = f" and {len(lines) - _MOST_SHOWN} more" if len(lines) > _MOST_SHOWN else ""
    return f"{'line' if len(lines) == 1 else 'lines'} {shown}{more}"


def _line_numbers(table: pd.DataFrame, first: int | None) -> list[int]:
    """Return the line on which each row starts; a quoted cell may go over several."""
    breaks: Any = first
    if first is None:
        breaks = 2 + sum(len(_LINE_END.findall(str(name))) for name in table.columns)
    numbers = []
    for cells in table.itertuples(index=False, name=None):
        numbers.append(breaks)
        breaks += 1 + sum(len(_LINE_END.findall(cell)) for cell in cells)
    return numbers
