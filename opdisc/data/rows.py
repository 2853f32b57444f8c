"""Rows given in memory: a frame goes by the names of its columns, an array by their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from opdisc.data.cells import note_numbers
from opdisc.data.encoding import check_names, refuse_value_labels
from opdisc.data.precision import plain_cells, shortest_doubles
from opdisc.data.reading import frame_reader, narwhals_frame, typed_columns
from opdisc.errors import TableError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from opdisc.data.reading import TableReader
    from opdisc.data.schema import Schema


def as_table(
    X: ArrayLike | pd.DataFrame, schema: Schema, used: tuple[str, ...] | None = None
) -> pd.DataFrame:
    """Return rows as a DataFrame that has the schema's columns.

    Parameters
    ----------
    X : DataFrame, or array-like of shape (n, number of the schema's columns)
        A frame of any library is read by its names, as :func:`opdisc.count_rows` does; what has
        no names by place.
    schema : Schema
        Public facts.
    used : tuple of str or None
        Raw columns that a frame must have; None for all of the schema's.

    Raises
    ------
    TableError
        If a frame lacks a declared column, an array has another number of columns, or a table has
        names that cannot be read.
    """
    if isinstance(X, pd.DataFrame):
        return X
    reader = frame_reader(X)
    if reader is not None:
        columns = schema.columns if used is None else used
        refuse_value_labels_of(X, schema, columns)
        return named_cells(reader, columns)
    _refuse_unknown_names(X)
    values = _by_place(X)
    if values.ndim != 2 or values.shape[1] != len(schema.columns):
        raise TableError(
            f"X must be a DataFrame with the schema's columns, or an array with exactly those "
            f"{len(schema.columns)} columns in order."
        )
    return pd.DataFrame(values, columns=list(schema.columns))


def refuse_value_labels_of(
    frame: Any, schema: Schema, used: tuple[str, ...] | None = None
) -> None:
    """Refuse a frame of another library by what the types of the declared columns list.

    Of columns that are not ``used`` nothing is asked; None asks of all.
    """
    asked = schema.columns if used is None else used
    columns = typed_columns(frame, asked)
    for feature in schema.features:
        if feature.column in columns:
            missing = schema.missing_texts(feature)
            refuse_value_labels(columns[feature.column], feature, missing)


def named_cells(reader: TableReader, names: Sequence[str]) -> pd.DataFrame:
    """Return the texts of some columns."""
    columns = list(names)
    check_names(reader.header, columns)
    chunks = list(reader.chunks([reader.header.index(name) for name in columns]))
    cells = [[text for chunk in chunks for text in chunk.cells[at]] for at in range(len(columns))]
    rows = range(sum(chunk.n_rows for chunk in chunks))
    table = pd.DataFrame(dict(zip(columns, cells, strict=True)), index=rows, dtype="str")
    note_numbers(table, {columns[at] for chunk in chunks for at in chunk.numbers})
    return table


def _refuse_unknown_names(X: object) -> None:
    """Refuse a table whose columns have names that nobody here can read: none goes by place."""
    if hasattr(X, "columns") or getattr(getattr(X, "dtype", None), "names", None):
        raise TableError(
            "a table with column names must be a frame of pandas, polars, Arrow or another "
            f"library that narwhals knows, got {type(X).__name__}; make it one of these"
        )


def _by_place(X: ArrayLike) -> NDArray[Any]:
    """Return cells without names; numbers keep their own precision."""
    if hasattr(X, "__array__"):
        values = np.asarray(X)
        return values if values.dtype.kind == "f" else values.astype(object)
    if isinstance(X, list | tuple) and any(hasattr(row, "__array__") for row in X):
        # numpy would hand out the elements of an array within a list as doubles.
        X = [list(row) if hasattr(row, "__len__") else row for row in X]
    return np.asarray(X, dtype=object)


def plain_numbers(X: Any) -> Any:
    """Return rows or labels in which no number has less than double precision.

    Parameters
    ----------
    X : DataFrame, Series or array-like
        Of any kind; a frame or array that holds other things than numbers, too.

    Returns
    -------
    object
        A frame of any library is one of pandas, with the same names; whatever need not change is
        itself.

    Raises
    ------
    TableError
        If a table has names that cannot be read.
    """
    if str(getattr(X, "type", "")).startswith("dictionary"):  # an array of Arrow
        X = pd.Series(pd.arrays.ArrowExtensionArray(X))
    if isinstance(X, pd.Series):
        return plain_cells(X)
    frame = X if isinstance(X, pd.DataFrame) else _frame_of_types(X)
    if frame is not None:
        cells = [plain_cells(frame.iloc[:, at]) for at in range(frame.shape[1])]
        if frame is X and all(c.dtype == d for c, d in zip(cells, X.dtypes, strict=True)):
            return X
        plain = pd.concat(cells, axis=1) if cells else frame
        plain.columns = frame.columns
        return plain
    is_matrix = isinstance(X, np.matrix)
    if is_matrix or not (hasattr(X, "__array__") or isinstance(X, list | tuple)):
        return X
    try:
        values = np.asarray(X)
    except (TypeError, ValueError):  # whoever reads it says what is wrong
        return X
    is_narrow = values.dtype.kind == "f" and values.dtype != np.float64
    return shortest_doubles(values) if is_narrow else X


def _frame_of_types(X: Any) -> pd.DataFrame | None:
    """Return a frame of another library as one of pandas, each column by itself; or None."""
    if isinstance(X, np.ndarray | list | tuple):
        return None
    if frame_reader(X) is None:
        return None
    if type(X).__module__.startswith("pyarrow"):
        return cast("pd.DataFrame", X.to_pandas())
    frame = narwhals_frame(X)
    return pd.DataFrame({name: frame.get_column(name).to_numpy() for name in frame.columns})
