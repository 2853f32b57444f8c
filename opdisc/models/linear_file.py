"""Saved linear models: real weights, what rows they take, and the receipt."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from opdisc.data import Label, Schema, TextTable, parse_number
from opdisc.errors import (
    LONGEST_NAME,
    ModelFileError,
    OPDiscError,
    TableError,
    escaped,
    shortened,
)
from opdisc.models.card import free_prediction
from opdisc.models.document import Rows, check_receipt, encoded_rows, model_digest, spelled_classes
from opdisc.privacy import ConvexReceipt, OPSampReceipt, Record

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from oracles.arithmetic import FloatArray

FORMAT = "opdisc-linear-model"

_LOGISTIC = "logistic"
"""The loss whose scores are odds; its class would need SciPy, which a saved model does without."""

_WIDEST = 80

VERSIONS = (1, 2)
"""Format versions that are read; the last one is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedLinearModel:
    """Weights that predict a label or a number, and the promise that was kept.

    Parameters
    ----------
    columns : tuple of str
        Names of the columns that the coefficients weigh: of the encoding if there is a schema,
        else of the raw table.
    coefficients : tuple of float
        One for each column.
    intercept : float
        Score of a row of zeros.
    classes : (negative, positive) or None
        Labels of a classifier; None for a regressor.
    schema : Schema or None
        The public facts that encode a row.
    feature_range : tuple of (low, high), or None
        Public range of each column; rows are clipped to it.
    target_range : (low, high) or None
        Public range of the target; predictions are clipped to it.
    receipt : ConvexReceipt or OPSampReceipt
        The privacy statement of the release.

    Raises
    ------
    ModelFileError
        If the parts do not belong together.
    """

    columns: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float
    classes: tuple[Label, Label] | None
    schema: Schema | None
    feature_range: tuple[tuple[float, float], ...] | None
    target_range: tuple[float, float] | None
    receipt: ConvexReceipt | OPSampReceipt

    def __post_init__(self) -> None:
        """Refuse parts that contradict each other."""
        if len(self.columns) != len(self.coefficients) or not self.columns:
            raise ModelFileError("a linear model must have one coefficient for each column.")
        ranges = [*(self.feature_range or ()), *([self.target_range] if self.target_range else [])]
        numbers = [*self.coefficients, self.intercept, *(end for pair in ranges for end in pair)]
        if not all(math.isfinite(number) for number in numbers):
            raise ModelFileError("a linear model must have finite numbers.")
        if any(low >= high for low, high in ranges):
            raise ModelFileError("a linear model's ranges must have their low end first.")
        if self.feature_range is not None and len(self.feature_range) != len(self.columns):
            raise ModelFileError("a linear model must have one range for each column.")
        if self.schema is not None:
            check_receipt(self.receipt, self.schema)
        elif self.receipt.schema_digest:
            raise ModelFileError("a model's receipt must be that of its schema.")
        if self.schema is not None and (
            self.columns != self.schema.column_names or self.classes != self.schema.classes
        ):
            raise ModelFileError("a model's columns and classes must be those of its schema.")

    def scores(self, table: Rows | ArrayLike) -> FloatArray:
        """Return the score of each row, shape (n,).

        Parameters
        ----------
        table : DataFrame, or array-like of shape (n, n_columns)
            With a schema: a table that has its feature columns. Without: numbers, by column name
            in a frame of any library, by position in an array.
        """
        if self.schema is not None:
            values = encoded_rows(table, self.schema)[:, 1:].astype(np.float64)
        else:
            values = self._raw(table.frame() if isinstance(table, TextTable) else table)
        if self.feature_range is not None:
            low, high = np.array(self.feature_range).T
            values = np.clip(values, low, high)
        return np.asarray(values @ np.array(self.coefficients) + self.intercept)

    def _raw(self, table: pd.DataFrame | ArrayLike) -> FloatArray:
        """Return raw numbers: of a frame by column name, of an array by position."""
        import pandas as pd

        from opdisc.data import plain_numbers

        plain = plain_numbers(table)
        if isinstance(plain, pd.DataFrame):
            return self._numbers(plain)
        values = np.asarray(plain, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise TableError(f"the rows must have {len(self.columns)} columns.")
        return values

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Raw columns that a prediction asks for."""
        return self.columns if self.schema is None else self.schema.columns

    def _numbers(self, table: pd.DataFrame) -> FloatArray:
        import pandas as pd

        missing = [name for name in self.columns if name not in table.columns]
        if missing:
            raise TableError(f"the table must have a column '{missing[0]}'; the model weighs it.")
        values = np.empty((len(table), len(self.columns)))
        for j, name in enumerate(self.columns):
            cells = table[name]
            if cells.dtype == object or isinstance(cells.dtype, pd.StringDtype):
                parsed = [parse_number(str(cell)) for cell in cells]
                values[:, j] = [math.nan if number is None else number for number in parsed]
            else:
                values[:, j] = cells.to_numpy(dtype=np.float64, na_value=math.nan)
        if not np.isfinite(values).all():
            raise TableError("the columns that the model weighs must hold numbers; fill the gaps.")
        return values

    def predict(self, table: Rows | ArrayLike) -> NDArray[Any]:
        """Return the predicted label or number of each row, shape (n,)."""
        scores = self.scores(table)
        if self.classes is not None:
            return np.asarray(np.array(self.classes, dtype=object)[(scores > 0).astype(int)])
        return scores if self.target_range is None else np.clip(scores, *self.target_range)

    def predict_proba(self, table: pd.DataFrame | ArrayLike) -> FloatArray:
        """Return the fitted probability of each class, shape (n, 2), the negative one first.

        With error costs it is the class's share of the cost, not of the rows.

        Raises
        ------
        OPDiscError
            If the weights are not those of a logistic loss.
        """
        if self.classes is None or self.receipt.loss != _LOGISTIC:
            raise OPDiscError(
                "probabilities need a logistic regression, but this model is another; take its "
                "scores."
            )
        positive = np.exp(-np.logaddexp(0.0, -self.scores(table)))
        return np.column_stack([1 - positive, positive])

    def written_predictions(self, table: Rows, spelled_in: Rows | None = None) -> NDArray[Any]:
        """Return predictions as a file should hold them: labels as the table spells them.

        A part of a table says with ``spelled_in`` where the labels of all of it are.
        """
        if self.schema is None:
            predicted = [_plain(value) for value in self.predict(table)]
            if any(isinstance(value, float) and not math.isfinite(value) for value in predicted):
                raise ModelFileError(
                    "a model's predictions must be finite numbers; its weights are too large."
                )
            return np.array(predicted, dtype=object)
        whole = table if spelled_in is None else spelled_in
        spelled = np.array(spelled_classes(whole, self.schema), dtype=object)
        return np.asarray(spelled[(self.scores(table) > 0).astype(int)])

    def scored(
        self,
        table: Rows,
        spelled_in: Rows | None = None,
        *,
        reasons: int = 0,
        points: bool = False,
    ) -> dict[str, NDArray[Any]]:
        """Return what ``opdisc predict`` adds to a table: the column ``prediction``.

        A feature or a target of that name keeps it, and the column is ``prediction_``.

        Parameters
        ----------
        table, spelled_in
            As for :meth:`written_predictions`.
        reasons, points
            Must be left out: a linear model has no points.

        Raises
        ------
        ModelFileError
            If reasons or points are asked for.
        """
        if reasons or points:
            raise ModelFileError(
                "reasons and points need a scorecard, but this model is a linear one; leave them "
                "out."
            )
        predicted = self.written_predictions(table, spelled_in)
        own = (*self.used_columns, *((self.schema.target.column,) if self.schema else ()))
        found = predicted.astype(float) if self.classes is None else predicted
        return {free_prediction(own): found}

    @property
    def summary(self) -> str:
        """The weights as a table in words."""
        names = [shortened(escaped(name), LONGEST_NAME) for name in self.columns]
        width = min(_WIDEST, max(map(len, [*names, "start"]))) + 2
        lines = [f"{'start':<{width}}{self.intercept:>12.6g}"]
        lines += [
            f"{name:<{width}}{weight:>12.6g}"
            for name, weight in zip(names, self.coefficients, strict=True)
        ]
        if self.classes is None:
            lines.append("Prediction: the total.")
        else:
            negative, positive = self.classes
            rule = f"Prediction: {positive} if the total is above 0, otherwise {negative}."
            lines.append(escaped(rule))
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with a digest over all of them."""
        body = _LinearModelFile(
            format=FORMAT,
            version=VERSIONS[-1],
            columns=self.columns,
            coefficients=self.coefficients,
            intercept=self.intercept,
            classes=self.classes,
            schema=None if self.schema is None else self.schema.to_dict(),
            feature_range=self.feature_range,
            target_range=self.target_range,
            receipt_kind="sampled" if isinstance(self.receipt, OPSampReceipt) else "convex",
            receipt=self.receipt.to_dict(),
        ).to_dict()
        return {**body, "sha256": model_digest(body)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> SavedLinearModel:
        """Return the model that :meth:`to_dict` wrote; its digest is checked by the caller.

        Raises
        ------
        ValueError, LookupError, TypeError
            If a field is missing, unknown, or of the wrong type.
        """
        file = _LinearModelFile.from_dict(record)
        receipt: ConvexReceipt | OPSampReceipt
        if file.receipt_kind == "convex":
            receipt = ConvexReceipt.from_dict(file.receipt)
        else:
            receipt = OPSampReceipt.from_dict(_without_grid(file.receipt, file.version))
        return cls(
            columns=file.columns,
            coefficients=file.coefficients,
            intercept=file.intercept,
            classes=file.classes,
            schema=None if file.schema is None else Schema.from_stored(file.schema),
            feature_range=file.feature_range,
            target_range=file.target_range,
            receipt=receipt,
        )


class _LinearModelFile(Record, frozen=True, kw_only=True):
    """What the file holds, its digest apart.

    Columns are named as a table names them, whatever that is; a schema has rules of its own.
    """

    any_text: ClassVar[tuple[str, ...]] = ("columns", "schema")

    format: str
    version: int
    columns: tuple[str, ...]
    coefficients: tuple[float, ...]
    intercept: float
    classes: tuple[Label, Label] | None
    schema: dict[str, Any] | None
    feature_range: tuple[tuple[float, float], ...] | None
    target_range: tuple[float, float] | None
    receipt_kind: Literal["sampled", "convex"]
    receipt: dict[str, Any]


def _without_grid(receipt: dict[str, Any], version: int) -> dict[str, Any]:
    """Return OPSamp's receipt without the empty grid of weights that format version 1 wrote."""
    if version > 1:
        return receipt
    empty: dict[str, Any] = {"weights": [], "norm_budget": None, "choice": ""}
    if any(name not in receipt or receipt[name] != value for name, value in empty.items()):
        raise ValueError("a receipt of OPSamp has no grid of weights.")
    return {name: value for name, value in receipt.items() if name not in empty}


def column_names(n_columns: int, names: Any) -> tuple[str, ...]:
    """Return the raw columns' names, or x0, x1, ... where rows came without any."""
    if names is None:
        return tuple(f"x{j}" for j in range(n_columns))
    return tuple(str(name) for name in names)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
