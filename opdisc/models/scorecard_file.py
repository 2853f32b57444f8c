"""Saved models: JSON, validated on load, the receipt inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from opdisc.data import Schema, encode_features
from opdisc.errors import ModelFileError
from opdisc.models.document import (
    _FORMAT,
    _VERSION,
    check_receipt,
    model_digest,
    spelled_classes,
)
from opdisc.models.scorecard import Scorecard
from opdisc.privacy import GridReceipt

_LARGEST_FILE = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedModel:
    """Everything needed to predict, and the promise that was kept.

    Parameters
    ----------
    scorecard : Scorecard
        The published classifier.
    schema : Schema
        The public facts that encode a row.
    receipt : GridReceipt
        The privacy statement of the release.

    Raises
    ------
    ModelFileError
        If the three do not belong together.
    """

    scorecard: Scorecard
    schema: Schema
    receipt: GridReceipt

    def __post_init__(self) -> None:
        """Refuse parts that contradict each other."""
        if self.scorecard.columns != self.schema.column_names:
            raise ModelFileError("a model's scorecard must use the columns of its schema.")
        if self.scorecard.classes != self.schema.classes:
            raise ModelFileError("a model's scorecard must use the classes of its schema.")
        if self.scorecard.target != self.schema.target.column:
            raise ModelFileError("a model's scorecard must predict the target of its schema.")
        check_receipt(self.receipt, self.schema)
        weights, allowed = self.scorecard.hypothesis, self.receipt.weights
        if len(weights) != len(allowed) or any(
            w not in values for w, values in zip(weights, allowed, strict=True)
        ):
            raise ModelFileError("a model's points must be among those on its receipt.")
        budget = self.receipt.norm_budget
        if budget is not None and sum(weight * weight for weight in weights) > budget:
            raise ModelFileError("a model's points must keep to the norm on its receipt.")

    def predict(self, table: pd.DataFrame) -> NDArray[Any]:
        """Return the predicted label of each row, as the schema spells the labels.

        Parameters
        ----------
        table : DataFrame
            Has the schema's feature columns; the target is not needed.
        """
        labels = np.array(self.schema.classes, dtype=object)
        return np.asarray(labels[self.predicts_positive(table).astype(int)])

    def predicts_positive(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Return whether each row has a total of at least 1, shape (n,) bool."""
        scores = self.scorecard.scores(encode_features(table, self.schema))
        return np.asarray(scores >= 1)

    def written_predictions(
        self, table: pd.DataFrame, spelled_in: pd.DataFrame | None = None
    ) -> NDArray[Any]:
        """Return predicted labels as a file should hold them: as the table spells them.

        A part of a table says with ``spelled_in`` where the labels of all of it are.
        """
        whole = table if spelled_in is None else spelled_in
        spelled = np.array(spelled_classes(whole, self.schema), dtype=object)
        return np.asarray(spelled[self.predicts_positive(table).astype(int)])

    @property
    def summary(self) -> str:
        """The scorecard as a table in words."""
        return str(self.scorecard)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with a digest over all of them."""
        body = {
            "format": _FORMAT,
            "version": _VERSION,
            "scorecard": self.scorecard.to_dict(),
            "schema": self.schema.to_dict(),
            "receipt": self.receipt.to_dict(),
        }
        return {**body, "sha256": model_digest(body)}


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; two readers may disagree on which of two equal names counts."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name is repeated")
    return record
