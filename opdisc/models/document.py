"""What every saved model has in common."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from opdisc.data import (
    TextTable,
    canonical_text,
    check_names,
    encode_features,
    marks_missing,
    plain_cells,
)
from opdisc.errors import ModelFileError
from oracles.problem import ErrorCosts

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import ArrayLike

    from opdisc.data import CellArray, Schema
    from opdisc.privacy import PrivacyReceipt

FORMAT = "opdisc-model"

Rows: TypeAlias = "pd.DataFrame | TextTable"
"""Rows that are read by the names of their columns."""


def spelled_classes(table: Rows, schema: Schema) -> tuple[str, str]:
    """Return the two labels as a table spells them.

    Parameters
    ----------
    table : DataFrame
        Text cells; it need not have the target column.
    schema : Schema
        Says which label is which.

    Returns
    -------
    (negative, positive) : tuple of str
        The first spelling of each class in the target column; for a class that is not there, the
        schema's. Where any other value is negative, the table's only other label; a mark of a
        missing value is none.
    """
    target = schema.binary_target
    negative, positive = (str(label) for label in schema.classes)
    if target.column not in table.columns:
        return negative, positive
    found: dict[str, str] = {}
    for text in distinct_texts(table, target.column):
        if canonical_text(text) not in schema.missing_values:
            found.setdefault(canonical_text(text), str(text))
    positive = found.pop(canonical_text(target.positive), positive)
    if not target.takes_any_other:
        negative = found.get(canonical_text(target.negative), negative)
    else:
        others = [spelled for text, spelled in found.items() if not marks_missing(text)]
        negative = others[0] if len(others) == 1 else negative
    return negative, positive


def distinct_texts(table: Rows, column: str) -> Iterable[Any]:
    """Return each cell of a column once, in order; none that is missing."""
    if isinstance(table, TextTable):
        return dict.fromkeys(table.cells[column])
    return plain_cells(table[column]).dropna().drop_duplicates()


def encoded_rows(
    table: Rows | ArrayLike, schema: Schema, used: tuple[str, ...] | None = None
) -> CellArray:
    """Return the rows of a frame of any library, or an array, as a schema encodes them.

    Parameters
    ----------
    table : TextTable, DataFrame or array-like
        As for :func:`opdisc.data.as_table`; it may have no row.
    schema : Schema
        Public facts.
    used : tuple of str or None
        Raw columns that are read; None reads all of the schema's.
    """
    if isinstance(table, TextTable):
        return _encoded(table, table.n_rows, schema, used)
    from opdisc.data import as_table  # loads pandas, and readers of frames

    frame = as_table(table, schema, used)
    return _encoded(frame, len(frame), schema, used)


def _encoded(table: Rows, n_rows: int, schema: Schema, used: tuple[str, ...] | None) -> CellArray:
    """Return encoded rows; none is no error, for a batch may have none."""
    if n_rows:
        return encode_features(table, schema, used)
    check_names(list(map(str, table.columns)), schema.columns if used is None else used)
    return np.zeros((0, 1 + schema.n_columns), dtype=np.int8)


def check_receipt(receipt: PrivacyReceipt, schema: Schema, *, states_costs: bool = True) -> None:
    """Refuse a receipt of another schema, or one that says otherwise than the schema.

    Error costs are compared where the release depends on them.

    Raises
    ------
    ModelFileError
        If digest, privacy unit, the unit's number of rows or error costs differ.
    """
    if receipt.schema_digest != schema.digest():
        raise ModelFileError("a model's receipt must be that of its schema.")
    # Receipts of older versions may not state it.
    rows = schema.rows_per_unit if receipt.rows_per_unit is None else receipt.rows_per_unit
    if (receipt.privacy_unit, rows) != (schema.privacy_unit, schema.rows_per_unit):
        raise ModelFileError("a model's receipt must protect the privacy unit of its schema.")
    stated = getattr(receipt, "error_costs", None)
    if not states_costs and stated is None:
        return
    if schema.error_costs != (ErrorCosts() if stated is None else stated.costs):
        raise ModelFileError("a model's receipt must state the error costs of its schema.")


def model_digest(body: dict[str, Any]) -> str:
    """Return the SHA-256 of a saved model's fields, as written in the file."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
