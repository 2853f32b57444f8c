"""Arguments of the estimators: checked here, so that every refusal is one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from opdisc.data.datasets import load_schema
from opdisc.data.schema import Schema
from opdisc.data.target import Label
from opdisc.errors import TableError

SchemaLike = Schema | Mapping[str, Any] | str | PathLike[str]

_NO_LABELS = "y must hold labels of one type, text or finite numbers."

_CONVENTIONAL_LABELS = {(0, 1), (-1, 1)}


def parse_schema(schema: SchemaLike) -> Schema:
    """Return a schema from any accepted form."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema.from_dict(schema)
    return load_schema(schema)


def as_table(X: ArrayLike | pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return rows as a DataFrame that has the schema's columns."""
    if isinstance(X, pd.DataFrame):
        return X
    values = np.asarray(X, dtype=object)
    if values.ndim != 2 or values.shape[1] != len(schema.columns):
        raise TableError(
            f"X must be a DataFrame with the schema's columns, or an array with exactly those "
            f"{len(schema.columns)} columns in order."
        )
    return pd.DataFrame(values, columns=list(schema.columns))


def two_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the two classes that some labels hold, sorted, shape (2,).

    Raises
    ------
    TableError
        If they hold one class only, or more than two, or are neither text nor numbers.
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
    if len(classes) > 2:
        raise TableError(
            "Only binary classification is supported. The type of the target is "
            f"{type_of_target(labels)}."
        )
    if len(classes) < 2:
        raise TableError("y must hold rows of both classes, it has one class.")
    return classes


def label_assumptions(negative: Label, positive: Label) -> tuple[str, ...]:
    """Return what must be public when two labels were taken from the table itself."""
    if (negative, positive) in _CONVENTIONAL_LABELS:
        return ()
    return ("the two label values, taken from the table, are public",)
