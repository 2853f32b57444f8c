"""Arguments of the estimators: checked here, so that every refusal is one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from opdisc.entropy import EntropySource, SeededEntropy, SystemEntropy
from opdisc.errors import CalibrationError, TableError
from opdisc.privacy import NeighboringRelation
from opdisc.schema import Schema
from opdisc.shipped_schemas import load_schema
from opdisc.target import Label

SchemaLike = Schema | Mapping[str, Any] | str | PathLike[str]

LARGEST_WEIGHT_BOUND = 1000
"""Beyond this the grid alone fills the memory, and points stop being simple."""

_NO_LABELS = "y must hold labels of one type, text or finite numbers."
_CONVENTIONAL_LABELS = {(0, 1), (-1, 1)}


def parse_relation(name: str) -> NeighboringRelation:
    """Return the relation of that name."""
    try:
        return NeighboringRelation(name)
    except ValueError:
        known = ", ".join(member.value for member in NeighboringRelation)
        raise CalibrationError(f"relation must be one of {known}, got {name!r}.") from None


def parse_weight_bound(bound: object) -> int:
    """Return an integer bound of a scorecard that a person could add up."""
    if (
        isinstance(bound, bool)
        or not isinstance(bound, int | np.integer)
        or not 1 <= int(bound) <= LARGEST_WEIGHT_BOUND
    ):
        raise CalibrationError(
            f"weight_bound must be an integer from 1 to {LARGEST_WEIGHT_BOUND:,}, got {bound!r}."
        )
    return int(bound)


def parse_automatic_bound(bound: int | str) -> int | None:
    """Return an integer bound, or None for "auto"."""
    if isinstance(bound, str):
        if bound == "auto":
            return None
        raise CalibrationError(f"weight_bound must be an integer or 'auto', got {bound!r}.")
    return parse_weight_bound(bound)


def parse_max_rounds(cap: int | None) -> int | None:
    """Return a cap under which a draw can succeed at all."""
    if cap is None:
        return None
    if isinstance(cap, bool) or not isinstance(cap, int | np.integer) or cap < 1:
        raise CalibrationError(f"max_rounds must be an integer of at least 1, got {cap!r}.")
    return int(cap)


def parse_time_limit(seconds: float | None) -> float | None:
    """Return a limit in seconds; an infinite one is none, anything else is checked by its user."""
    return None if seconds == math.inf else seconds


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


def parse_entropy(random_state: int | np.random.RandomState | None) -> EntropySource:
    """Return the operating system's entropy, or a seeded source for tests."""
    if random_state is None:
        return SystemEntropy()
    if isinstance(random_state, np.random.RandomState):
        return SeededEntropy(int(random_state.randint(2**31)))
    return SeededEntropy(int(random_state))


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
