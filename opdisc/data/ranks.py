"""How many rows lie below each place where a private threshold may be drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd

from opdisc.data.cells import read_numbers
from opdisc.data.encoding import check_columns
from opdisc.data.packing import CellArray
from opdisc.data.schema import Schema
from oracles.arithmetic import IntArray


def count_below(table: pd.DataFrame, schema: Schema, labels: CellArray) -> tuple[IntArray, ...]:
    """Count rows below every candidate of every private threshold of a schema.

    Parameters
    ----------
    table : DataFrame
        Raw rows.
    schema : Schema
        Public facts.
    labels : int8 array, shape (n,)
        Signs of the labels; a row without one (0) does not count, nor does a missing number.

    Returns
    -------
    tuple of int64 array, each of shape (n_candidates + 1,)
        For each of ``schema.private_thresholds``: rows with a number below each candidate, then
        all rows that count.

    Raises
    ------
    TableError
        If a column is missing or a cell cannot be read, as :func:`opdisc.data.encode` does.
    """
    check_columns(table, schema.columns)
    found = []
    for feature in schema.private_thresholds:
        numbers = read_numbers(table[feature.column], feature.column, schema.missing_values)
        numbers = np.clip(numbers, *feature.range)[labels != 0]
        # The first candidate above a number is the first that it lies below.
        places = np.searchsorted(feature.candidates, numbers[~np.isnan(numbers)], side="right")
        counts = np.bincount(places, minlength=feature.n_candidates + 1)
        found.append(np.cumsum(counts).astype(np.int64))
    return tuple(found)
