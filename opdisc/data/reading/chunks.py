"""Chunks of a table, and what every reader of one offers: names first, then texts in pieces."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from opdisc.errors import TableError

CHUNK_CELLS = 2**14
"""Cells that are held as text at a time: few enough for a processor's cache."""

COLUMNS_UNSEEN = "columns were made without looking at the rows"

DTYPES_DECLARED = "dtypes were declared, not inferred from the rows"

ROWS_ALONE = "each row that the query returned was made from one row of the table"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some rows of a table, one after the other in the file; every cell is text.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    cells : tuple of list of str
        The cells of each column that was asked for; an empty text where a cell is missing.
    numbers : frozenset of int
        Positions in ``cells`` of columns that held numbers and no texts in the file.
    listed : mapping of int to collection
        Of columns whose type lists categories, their positions in ``cells`` and the categories
        that it listed so far.
    """

    n_rows: int
    cells: tuple[list[str], ...]
    numbers: frozenset[int] = frozenset()
    listed: Mapping[int, Collection[object]] = field(default_factory=dict)


class TableReader(Protocol):
    """A table that is open to be read once, from its start to its end.

    Attributes
    ----------
    header : tuple of str
        Names of the columns.
    doubt : str
        Why the names may be cells of a row, which are private; "" if they surely are names.
    assumptions : tuple of str
        What must be true of the table and the reader cannot see; each becomes a condition.
    remedy : str
        What to do if a column is missing, where the file holds other tables; "" elsewhere.
    """

    header: tuple[str, ...]
    doubt: str
    remedy: str
    assumptions: tuple[str, ...]

    def chunks(self, positions: Sequence[int], chunk_cells: int = CHUNK_CELLS) -> Iterator[Chunk]:
        """Yield all rows, of the columns at these positions of the header.

        Raises
        ------
        TableError
            If a part of the file cannot be read; no cell is named.
        """
        ...


def require_rows(n_rows: int) -> int:
    """Return a number of rows other than 0."""
    if n_rows == 0:
        raise TableError(
            "a table must have a header and at least one row, but this one has no row"
        )
    return n_rows
