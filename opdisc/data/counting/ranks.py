"""How many rows lie below each place where a private threshold may be drawn."""

from __future__ import annotations

import numpy as np
import pandas as pd

from opdisc.data.cells import read_numbers
from opdisc.data.encoding import plain_table
from opdisc.data.packing import CellArray
from opdisc.data.schema import QuantileFeature, Schema
from oracles.arithmetic import FloatArray, IntArray


class RankCounter:
    """A running sum of rows between the candidates of a schema's private thresholds.

    Its size is that of the candidates, whatever the number of rows.

    Parameters
    ----------
    schema : Schema
        Public facts.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._features = {
            i: feature
            for i, feature in enumerate(schema.features)
            if isinstance(feature, QuantileFeature)
        }
        self._places = {i: np.array(f.candidates) for i, f in self._features.items()}
        self._rows = {i: np.zeros(len(at) + 1, dtype=np.int64) for i, at in self._places.items()}

    def add(self, position: int, numbers: FloatArray, labels: CellArray) -> None:
        """Add the numbers of the feature at this position; nothing for one of another kind.

        Parameters
        ----------
        position : int
            Of the feature in the schema.
        numbers : float64 array, shape (n,)
            NaN where the cell is missing.
        labels : int8 array, shape (n,)
            Signs of the labels; a row without one (0) does not count, nor does a missing number.
        """
        feature = self._features.get(position)
        if feature is None:
            return
        clipped = np.clip(numbers, *feature.range)[labels != 0]
        # The first candidate above a number is the first that it lies below.
        found = np.searchsorted(self._places[position], clipped[~np.isnan(clipped)], side="right")
        np.add.at(self._rows[position], found, 1)

    def add_table(self, table: pd.DataFrame, labels: CellArray) -> None:
        """Add all rows of a table."""
        for position, feature in self._features.items():
            cells = table[feature.column]
            missing = self._schema.missing_texts(feature)
            numbers = read_numbers(cells, feature.column, missing)
            self.add(position, numbers, labels)

    def add_below(self, below: tuple[IntArray, ...]) -> None:
        """Add what another counter's :meth:`below` returned."""
        for rows, more in zip(self._rows.values(), below, strict=True):
            rows += np.diff(more, prepend=0)

    def below(self) -> tuple[IntArray, ...]:
        """Return rows with a number below each candidate, then all rows that count."""
        return tuple(np.cumsum(rows) for rows in self._rows.values())


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
    table = plain_table(table, schema.columns)
    counter = RankCounter(schema)
    counter.add_table(table, labels)
    return counter.below()
