"""Where a table comes from, and what a receipt takes for granted where that is not known.

A receipt compares two tables whose columns are maps of one row. Yet pandas infers the type of a
column from all its rows, and a preparation may be fitted to all of them. Neither can be seen in
the cells. So the conditions below stand on every receipt, whatever the rows are, except where the
library itself gave the columns their types and every column that is used still has them
(docs/theory.md, entry "provenance").

A text file has no types: each cell is read by itself, and no condition is needed. The columns of
Parquet, Arrow and Excel files and of query results got their types before, perhaps by a look at
all rows. Reading each value as text does not bring back what that lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from opdisc.data.encoding import with_plain_names
from opdisc.data.reading.chunks import COLUMNS_UNSEEN, DTYPES_DECLARED, ROWS_ALONE

if TYPE_CHECKING:
    from opdisc.data.schema import Schema

LABELS_PUBLIC = "the two label values, taken from the table, are public"

CLASSES_PUBLIC = "the label values, taken from the table, are public"

MADE_BY_HAND = "the counts, made by hand, count every row of a table once"

NO_ROW_TWICE = "no row is in two of the tables that were added up"

_ORDER = (DTYPES_DECLARED, COLUMNS_UNSEEN, ROWS_ALONE, NO_ROW_TWICE, MADE_BY_HAND)

_MARK = "opdisc: declared dtypes"

_NOTE = "opdisc: assumptions"


def with_declared_dtypes(table: pd.DataFrame) -> pd.DataFrame:
    """Note on a table that its columns have the types which their source declares.

    The note is text in ``table.attrs``: pandas hands it on to columns, rows and copies, and a
    pickle keeps it. It does not protect against who changes the cells afterwards.
    """
    table.attrs[_MARK] = " ".join(sorted({str(dtype) for dtype in table.dtypes}))
    return table


def with_assumptions(table: pd.DataFrame, assumptions: tuple[str, ...]) -> pd.DataFrame:
    """Note on a table what its source takes for granted; it follows the table as types do."""
    table.attrs[_NOTE] = "\n".join(assumptions)
    return table


def _noted(*several: object) -> tuple[str, ...]:
    """Return what is noted on tables or columns; nothing that is not this library's own."""
    frames = [cells for cells in several if isinstance(cells, pd.DataFrame | pd.Series)]
    notes = {line for cells in frames for line in str(cells.attrs.get(_NOTE, "")).split("\n")}
    return tuple(each for each in _ORDER if each in notes)


def has_declared_dtypes(cells: object) -> bool:
    """Return whether a table or column still has the types that its source declares."""
    if not isinstance(cells, pd.DataFrame | pd.Series):
        return False
    declared = str(cells.attrs.get(_MARK, "")).split()
    dtypes = cells.dtypes if isinstance(cells, pd.DataFrame) else [cells.dtype]
    return all(str(dtype) in declared for dtype in dtypes)


def table_assumptions(X: Any, y: Any, schema: Schema) -> tuple[str, ...]:
    """Return what must be true of a table that is read by a schema, besides the schema.

    Parameters
    ----------
    X : DataFrame or array-like
        Rows as given; columns that the schema does not use do not count.
    y : array-like
        Labels as given.
    schema : Schema
        Public facts.

    Returns
    -------
    tuple of str
        None for what :func:`opdisc.read_table` read from a text file. No cell is looked at.
    """
    used = with_plain_names(X)[list(schema.columns)] if isinstance(X, pd.DataFrame) else X
    if has_declared_dtypes(used) and has_declared_dtypes(y):
        return ()
    return all_assumptions((DTYPES_DECLARED, COLUMNS_UNSEEN), _noted(X, y))


def all_assumptions(*several: tuple[str, ...]) -> tuple[str, ...]:
    """Return what several parts of a table take for granted, each once and in one order."""
    found = {assumption for each in several for assumption in each}
    known = tuple(each for each in _ORDER if each in found)
    return known + tuple(sorted(found.difference(_ORDER)))
