"""Typed values as the texts of cells: each by itself, whatever the others are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from opdisc.data.reading.chunks import Chunk
from opdisc.data.spelling import NUMBERS, plain_text, require_readable


def cell_texts(values: Sequence[Any]) -> tuple[list[str], bool]:
    """Return the text of each value, and whether there are numbers among them.

    Parameters
    ----------
    values : sequence
        Texts, numbers, truth values, dates or times; None and NaN are missing. A number of less
        than double precision must have its own type of numpy, or its text would be longer.

    Returns
    -------
    texts : list of str
        Empty where the value is missing. A number has its shortest text, without exponent.
    holds_numbers : bool
        Whether a value is a number, other than NaN, or a truth value.

    Raises
    ------
    TableError
        If a value has no text form, such as a list or bytes.
    """
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {str} and None not in values:
        return list(values), False
    for kind in kinds:
        require_readable(kind)
    texts = ["" if value is None or value != value else _text(value) for value in values]
    numbers = tuple(kind for kind in kinds if issubclass(kind, NUMBERS))
    holds = any(isinstance(value, numbers) and value == value for value in values)
    return texts, holds


def _text(value: Any) -> str:
    """Return a text as it stands, and the plain text of anything else."""
    if isinstance(value, str):
        return value
    # Millions of cells are such numbers: without an exponent their text is plain already.
    if type(value) in (float, int) and "e" not in (text := str(value)):
        return text
    return plain_text(value)


def chunk_of_values(columns: Sequence[Sequence[Any]], n_rows: int) -> Chunk:
    """Return a chunk of typed columns."""
    read = [cell_texts(values) for values in columns]
    return Chunk(
        n_rows=n_rows,
        cells=tuple(texts for texts, _ in read),
        numbers=frozenset(i for i, (_, holds) in enumerate(read) if holds),
    )


def chunk_of_rows(rows: Sequence[Sequence[Any]], positions: Sequence[int]) -> Chunk:
    """Return a chunk of typed rows, of the columns at these positions."""
    return chunk_of_values([[row[at] for row in rows] for at in positions], len(rows))


_QUOTED = re.compile('[",\r\n]')


def csv_text(rows: Iterable[Iterable[str]]) -> str:
    """Return rows as lines of CSV text."""
    return "".join(_csv_line(cells) + "\n" for cells in rows)


def _csv_line(cells: Iterable[str]) -> str:
    """Quote what RFC 4180 says must be quoted, and a lone empty cell: a blank line is no row."""
    line = ",".join(
        '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell for cell in cells
    )
    return line or '""'
