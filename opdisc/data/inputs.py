"""Arguments of the estimators: checked here, so that every refusal is one sentence."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from opdisc.data.cells import canonical_text, refuse_codes_among_numbers
from opdisc.data.datasets import load_schema
from opdisc.data.encoding import category_texts, check_names
from opdisc.data.precision import plain_cells, shortest_doubles
from opdisc.data.reading import TableReader, frame_reader, narwhals_frame
from opdisc.data.schema import CategoryFeature, Label, MulticlassTarget, Schema, Target, make_target
from opdisc.errors import LONGEST_NAME, SchemaError, TableError, is_plain, quoted

SchemaLike = Schema | Mapping[str, Any] | str | PathLike[str]

Classes: TypeAlias = tuple[Label, Label] | list[Label] | NDArray[Any]
"""(negative, positive) labels, as ``classes=`` declares them."""

_NO_LABELS = "y must hold labels of one type, text or finite numbers."


def parse_schema(schema: SchemaLike) -> Schema:
    """Return a schema from any accepted form."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema.from_dict(schema)
    return load_schema(schema)


def as_table(X: ArrayLike | pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return rows as a DataFrame that has the schema's columns.

    Parameters
    ----------
    X : DataFrame, or array-like of shape (n, number of the schema's columns)
        A frame of any library is read by its names, as :func:`opdisc.count_rows` does; what has
        no names by place.
    schema : Schema
        Public facts.

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
        return _named_cells(reader, schema)
    _refuse_unknown_names(X)
    values = _by_place(X)
    if values.ndim != 2 or values.shape[1] != len(schema.columns):
        raise TableError(
            f"X must be a DataFrame with the schema's columns, or an array with exactly those "
            f"{len(schema.columns)} columns in order."
        )
    return pd.DataFrame(values, columns=list(schema.columns))


def _named_cells(reader: TableReader, schema: Schema) -> pd.DataFrame:
    """Return the texts of the schema's columns."""
    columns = list(schema.columns)
    check_names(reader.header, columns)
    chunks = list(reader.chunks([reader.header.index(name) for name in columns]))
    numbers = {columns[at] for chunk in chunks for at in chunk.numbers}
    for feature in schema.features:
        if isinstance(feature, CategoryFeature) and feature.column in numbers:
            texts = category_texts(feature, schema.missing_values)
            refuse_codes_among_numbers(texts, feature.column)
    cells = [[text for chunk in chunks for text in chunk.cells[at]] for at in range(len(columns))]
    return pd.DataFrame(dict(zip(columns, cells, strict=True)), dtype="str")


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


def as_numbers(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return an array of doubles; the refusal of anything else quotes no cell.

    Raises
    ------
    TableError
        If a value is no number.
    """
    with suppress(TypeError, ValueError, OverflowError):
        return np.asarray(plain_numbers(values), dtype=np.float64)
    # Raised outside the handler: what numpy says would quote the cell.
    raise TableError(f"{what} must be an array of real numbers; encode it first.")


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


def two_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the two classes that some labels hold, sorted, shape (2,).

    Raises
    ------
    TableError
        If they hold one class only, or more than two, or are neither text nor numbers.
    """
    classes = several_classes(labels)
    if len(classes) > 2:
        raise TableError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(labels)}."
        )
    return classes


def several_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes that some labels hold, two or more, sorted.

    Raises
    ------
    TableError
        If they hold one class only, or are neither text nor numbers.
    """
    kind = labels.dtype.kind
    if kind not in "biufUTO" or (kind == "f" and not np.isfinite(labels).all()):
        raise TableError(_NO_LABELS)
    try:
        check_classification_targets(labels)
        classes: NDArray[Any] = np.unique(labels)
    except ValueError as error:  # names the kind of labels, none of them
        raise TableError(str(error)) from None
    except TypeError:
        raise TableError(_NO_LABELS) from None
    if len(classes) < 2:
        raise TableError("y must hold rows of both classes, but it has one class.")
    return classes


def require_storable_labels(labels: Sequence[Label]) -> None:
    """Refuse labels of y that a saved model could not hold or tell apart; none is quoted.

    Raises
    ------
    TableError
        If two are the same text, or one breaks the rules for declared labels.
    """
    texts = {canonical_text(label) for label in labels}
    if len(texts) < len(labels) or not all(
        text and is_plain(text) and len(text) <= LONGEST_NAME for text in texts
    ):
        raise TableError(
            "the labels in y must be different texts, printable, not blank and of at most "
            f"{LONGEST_NAME} characters, but they are not; rename them."
        )


def parse_classes(classes: object, column: str = "y") -> Target:
    """Return two declared labels as the target that they are.

    Parameters
    ----------
    classes : (negative, positive)
        Two different labels.
    column : str
        What messages call the labels.

    Raises
    ------
    SchemaError
        If they are not two different labels.
    """
    labels = list(classes) if isinstance(classes, tuple | list | np.ndarray) else []
    if len(labels) != 2 or None in labels:
        raise SchemaError(
            f"classes must be two labels, (negative, positive), got {classes!r}; leave it out to "
            "take them from y, which is a condition on the receipt."
        )
    negative, positive = labels
    return Target(column=column, positive=positive, negative=negative)


def parse_labels(classes: object) -> tuple[Label, ...]:
    """Return two or more declared labels, checked.

    Raises
    ------
    SchemaError
        If they are not different labels.
    """
    labels = list(classes) if isinstance(classes, tuple | list | np.ndarray) else []
    if len(labels) < 2 or None in labels:
        raise SchemaError(
            f"classes must be two labels or more, got {quoted(classes)}; leave it out to take "
            "them from y, which is a condition on the receipt."
        )
    target = make_target("y", tuple(labels))
    return target.labels if isinstance(target, MulticlassTarget) else target.classes


def warn_of_cells_between_0_and_1(values: NDArray[np.float64]) -> None:
    """Warn if cells that one threshold in the middle of [0, 1] reads are other than 0 and 1."""
    if not np.isin(values, (0.0, 1.0)).all():
        warnings.warn(
            "without a schema every column is cut once, at 0.5 of the public range [0, 1], but X "
            "holds a cell other than 0 and 1, so most of what its column says is lost; declare "
            "thresholds with schema=opdisc.Schema.equal_width(...). This warning depends on the "
            "rows: do not publish it.",
            UserWarning,
            stacklevel=5,  # whoever called fit
        )
