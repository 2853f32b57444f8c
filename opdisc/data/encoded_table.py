"""A table in memory as a fit sees it: equal rows merged into points with two counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opdisc.data.encoding import encode_features, plain_table
from opdisc.data.label_encoding import encode_labels, require_both_classes
from opdisc.data.packing import group_rows, pack_rows, sum_groups

if TYPE_CHECKING:
    from opdisc.data.encoding import Table
    from opdisc.data.packing import CellArray
    from opdisc.data.schema import Schema
    from oracles.arithmetic import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedTable:
    """A table as distinct weighted points; arrays are read-only.

    Parameters
    ----------
    points : int8 array, shape (m, 1 + n_columns)
        Distinct encoded rows in lexicographic order, column 0 the constant 1.
    positives, negatives : int64 array, shape (m,)
        Number of positive and of negative rows at each point, at least one together.
    n_rows : int
        Raw rows of the table, rows with a missing label included.
    """

    points: CellArray
    positives: IntArray
    negatives: IntArray
    n_rows: int

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.points, self.positives, self.negatives):
            array.setflags(write=False)


def encode(table: Table, schema: Schema) -> EncodedTable:
    """Encode a labelled table and merge equal rows.

    Parameters
    ----------
    table : DataFrame
        Has the schema's feature columns and its target column; other columns are ignored.
    schema : Schema
        Public facts.

    Returns
    -------
    EncodedTable
        Independent of the order of the rows.

    Raises
    ------
    TableError
        If columns are missing or repeated, the table is empty, a cell cannot be read, a label is
        of neither class, or only one class occurs.
    """
    table = plain_table(table, (*schema.columns, schema.target.column))
    labels = encode_labels(table, schema)
    require_both_classes(labels)
    return aggregate(encode_features(table, schema), labels)


def aggregate(features: CellArray, labels: CellArray) -> EncodedTable:
    """Merge equal rows and count them by class.

    Parameters
    ----------
    features : int8 array, shape (n, d)
        Encoded rows of 0 and 1, as :func:`encode_features` returns.
    labels : int8 array, shape (n,)
        +1, -1, or 0 for a row that contributes nothing.

    Returns
    -------
    EncodedTable
        ``n_rows`` is n; one class or no row at all is not refused here.
    """
    kept = labels != 0
    rows, signs = (features, labels) if kept.all() else (features[kept], labels[kept])
    order, starts = group_rows(pack_rows(rows))
    return EncodedTable(
        points=np.ascontiguousarray(rows[order[starts]]),
        positives=sum_groups(signs == 1, order, starts),
        negatives=sum_groups(signs == -1, order, starts),
        n_rows=len(labels),
    )
