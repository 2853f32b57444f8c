"""From raw rows to rows within public bounds: centred one-hot columns, or clipped numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdisc.convex.rows import Rows
from opdisc.data import CategoryFeature, EncodedTable, Schema, aggregate
from oracles.arithmetic import FloatArray
from oracles.convex import RowBounds


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearFeatures:
    """A public affine map of feature columns, and the bounds that it guarantees.

    The mechanism sees ``(1, (x - centre) / scale)``; its parameter is mapped back to weights on x
    afterwards. The constant column counts in the bounds.

    Parameters
    ----------
    centre : float64 array, shape (d,)
        Subtracted from each column, in the column's units.
    scale : float
        Divides the columns, in their units.
    bounds : RowBounds
        Of a mapped row, the constant included.
    """

    centre: FloatArray
    scale: float
    bounds: RowBounds

    @classmethod
    def of_schema(cls, schema: Schema) -> LinearFeatures:
        """Return the map for a schema's 0/1 columns.

        A category feature of K > 1 columns, of which at most one is 1, is centred at 1/K and has
        squared norm at most ``1 - 1/K``; every other column is centred at 1/2 and has 1/4.
        """
        centre = np.full(schema.n_columns, 0.5)
        square, widest = 1.0, 1.0
        for feature, attribute in zip(schema.features, schema.attributes, strict=True):
            size = len(attribute.indices)
            if isinstance(feature, CategoryFeature) and size > 1:
                centre[np.array(attribute.indices) - 1] = 1 / size
                square += 1 - 1 / size
            else:
                square += size / 4
        bounds = RowBounds(l2=math.sqrt(square), linf=widest)
        return cls(centre=centre, scale=1.0, bounds=bounds)

    @classmethod
    def of_signs(cls, schema: Schema) -> LinearFeatures:
        """Return the map of a schema's 0/1 columns to -1 and 1.

        Where only the largest cell counts, each column then moves a gradient as far as it may.
        """
        centre = np.full(schema.n_columns, 0.5)
        bounds = RowBounds(l2=math.sqrt(1 + len(centre)), linf=1.0)
        return cls(centre=centre, scale=0.5, bounds=bounds)

    @classmethod
    def of_norm(cls, n_features: int, data_norm: float) -> LinearFeatures:
        """Return the map for numbers whose rows are shortened to ``data_norm``."""
        bounds = RowBounds(l2=math.sqrt(2.0), linf=1.0)
        return cls(centre=np.zeros(n_features), scale=float(data_norm), bounds=bounds)

    def weights(self, parameters: FloatArray) -> tuple[FloatArray, float]:
        """Return (coefficients, intercept) on the columns themselves."""
        coefficients = parameters[1:] / self.scale
        return coefficients, float(parameters[0] - coefficients @ self.centre)

    def encoded_rows(self, features: NDArray[np.int8], labels: NDArray[np.int8]) -> Rows:
        """Return distinct rows with counts; a row without a label becomes all zeros.

        Parameters
        ----------
        features : int8 array, shape (n, 1 + d)
            Encoded rows, column 0 the constant.
        labels : int8 array, shape (n,)
            +1, -1, or 0 where missing.
        """
        return self.merged_rows(aggregate(features, labels))

    def merged_rows(self, table: EncodedTable) -> Rows:
        """Return the same of a table whose equal rows are merged already."""
        mapped = table.points.astype(np.float64)
        mapped[:, 1:] = (mapped[:, 1:] - self.centre) / self.scale
        nothing = np.zeros((1, mapped.shape[1]))
        X = np.concatenate([mapped, mapped, nothing])
        y = np.repeat([1.0, -1.0, 1.0], [len(mapped), len(mapped), 1])
        missing = table.n_rows - int(table.positives.sum() + table.negatives.sum())
        counts = np.concatenate([table.positives, table.negatives, [missing]]).astype(np.float64)
        kept = counts > 0
        return Rows(X=np.ascontiguousarray(X[kept]), y=y[kept], counts=counts[kept], is_exact=True)

    def numeric_rows(self, X: FloatArray, y: FloatArray) -> Rows:
        """Return rows shortened to the declared norm, with the constant in front."""
        with np.errstate(over="ignore"):
            # No length of such a row is infinite: it would be no number after it is shortened.
            scaled = np.clip((X - self.centre) / self.scale, -1e150, 1e150)
        lengths = np.maximum(np.linalg.norm(scaled, axis=1), 1.0)
        return Rows(X=np.column_stack([np.ones(len(X)), scaled / lengths[:, None]]), y=y)
