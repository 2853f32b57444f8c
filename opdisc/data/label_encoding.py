"""Labels of a table as -1 and +1, or as numbers of classes; a missing label counts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from opdisc.data.cells import (
    canonical_text,
    marks_missing,
    read_texts,
    refuse_lost_codes,
)
from opdisc.data.encoding import plain_table
from opdisc.data.schema import (
    MulticlassTarget,
)
from opdisc.errors import TableError

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt
    import pandas as pd

    from opdisc.data.encoding import Table
    from opdisc.data.packing import CellArray
    from opdisc.data.schema import Label, Schema, Target
    from oracles.arithmetic import IntArray


def encode_labels(table: Table, schema: Schema) -> CellArray:
    """Encode the target column: :func:`encode_label_values` of that column."""
    table = plain_table(table, (schema.target.column,))
    return encode_label_values(table[schema.target.column], schema)


def encode_label_values(values: npt.ArrayLike | pd.Series[Any], schema: Schema) -> CellArray:
    """Encode labels.

    Parameters
    ----------
    values : array-like, shape (n,)
        Raw labels.
    schema : Schema
        Public facts.

    Returns
    -------
    int8 array, shape (n,)
        +1 positive, -1 negative, 0 missing.

    Raises
    ------
    TableError
        If a label is of neither class, or labels are numbers where a declared one is a code that
        numbers do not keep. Where any other value is negative, if a text marks a missing value and
        is not declared as one.
    """
    import pandas as pd

    return _label_signs(pd.Series(values), schema.binary_target, schema.missing_values)


def encode_classes(
    values: npt.ArrayLike | pd.Series[Any],
    labels: Sequence[Label],
    column: str,
    missing_values: tuple[str, ...],
) -> IntArray:
    """Encode labels of several declared classes.

    Parameters
    ----------
    values : array-like, shape (n,)
        Raw labels.
    labels : sequence of str, int, float or bool
        Declared ones.
    column : str
        What messages call the column.
    missing_values : tuple of str
        Texts that count as missing.

    Returns
    -------
    int64 array, shape (n,)
        Position of the label among the declared ones, -1 where it is missing.

    Raises
    ------
    TableError
        If a label is not declared, or as for :func:`encode_label_values`.
    """
    import pandas as pd

    declared = [canonical_text(label) for label in labels]
    cells = pd.Series(values)
    refuse_lost_codes(cells, declared, column)
    codes, texts = read_texts(cells, column)
    found = np.full(len(texts) + 1, -1, dtype=np.int64)  # the last entry serves code -1: missing
    for i, text in enumerate(texts):
        if text in missing_values:
            continue
        if text not in declared:
            raise TableError(
                f"target column {column!r} must hold only the {len(declared)} declared labels, "
                "but has another; correct the table or the declaration"
            )
        found[i] = declared.index(text)
    return np.asarray(found[codes])


def encode_declared_labels(values: npt.ArrayLike, target: Target) -> CellArray:
    """Encode labels of two declared classes where there is no schema.

    Parameters
    ----------
    values : array-like, shape (n,)
        Raw labels.
    target : Target
        Both classes.

    Returns
    -------
    int8 array, shape (n,)
        +1 positive, -1 negative.

    Raises
    ------
    TableError
        If a label is missing or of neither class, or as for :func:`encode_label_values`.
    """
    import pandas as pd

    signs = _label_signs(pd.Series(values), target, ("",))
    if not signs.all():
        raise TableError("y must hold a label in each row; leave out rows without one")
    return signs


def _label_signs(
    cells: pd.Series[Any], target: Target, missing_values: tuple[str, ...]
) -> CellArray:
    positive = canonical_text(target.positive)
    negative = canonical_text(target.negative)
    refuse_lost_codes(cells, label_texts(target, missing_values), target.column)
    codes, texts = read_texts(cells, target.column)
    signs = np.zeros(len(texts) + 1, dtype=np.int8)  # the last entry serves code -1: missing
    for i, text in enumerate(texts):
        if text in missing_values:
            continue
        if target.takes_any_other:
            if text != positive and marks_missing(text):
                raise TableError(
                    f"target column {target.column!r} must hold labels, any but "
                    f"{target.positive!r} negative, but has a text that programs write for a "
                    "missing one, such as NA; declare it in missing_values, or declare the "
                    "negative label instead of '*'"
                )
        elif text not in (positive, negative):
            raise TableError(
                f"target column {target.column!r} must hold only the labels {target.positive!r} "
                f"and {target.negative!r}, but has a third label; correct the table or the "
                "declaration"
            )
        signs[i] = 1 if text == positive else -1
    out: CellArray = signs[codes]
    return out


def label_texts(
    target: Target | MulticlassTarget, missing_values: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the texts that labels are compared with."""
    if isinstance(target, MulticlassTarget):
        return tuple(map(canonical_text, target.labels))
    positive = canonical_text(target.positive)
    if target.takes_any_other:
        return (positive, *missing_values)
    return positive, canonical_text(target.negative)


def require_both_classes(labels: CellArray) -> None:
    """Refuse labels (+1, -1, 0) among which a class does not occur."""
    if not (np.any(labels == 1) and np.any(labels == -1)):
        raise TableError(
            "a table must hold rows of both classes, but fewer than two of the schema's classes "
            "occur; check the target column and its labels in the schema"
        )
