"""Saved models: JSON, validated on load, the receipt inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from opdisc.data import Schema, as_table, encode_features
from opdisc.errors import ModelFileError
from opdisc.models.card import Explanation, Row, card_fragment, explain_row
from opdisc.models.document import _FORMAT, _VERSION, check_receipt, model_digest, spelled_classes
from opdisc.models.risk_table import RiskTable
from opdisc.models.scorecard import Scorecard, used_columns
from opdisc.models.verdict import Verdict, is_constant, judge_card
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
    risk_table : RiskTable or None
        Rates per total, if they were paid for.

    Raises
    ------
    ModelFileError
        If the three do not belong together.
    """

    scorecard: Scorecard
    schema: Schema
    receipt: GridReceipt
    risk_table: RiskTable | None = None

    def __post_init__(self) -> None:
        """Refuse parts that contradict each other."""
        if self.scorecard.columns != self.schema.column_names:
            raise ModelFileError("a model's scorecard must use the columns of its schema.")
        if self.scorecard.classes != self.schema.classes:
            raise ModelFileError("a model's scorecard must use the classes of its schema.")
        if self.scorecard.target != self.schema.target.column:
            raise ModelFileError("a model's scorecard must predict the target of its schema.")
        check_receipt(self.receipt, self.schema)
        check_points(self.scorecard, self.receipt)
        self._check_risks()

    def _check_risks(self) -> None:
        """Refuse a table that was not paid for, or that is not the one that was."""
        paid = None if self.receipt.risks is None else self.receipt.risks.noise_scale
        held = None if self.risk_table is None else self.risk_table.noise_scale
        if paid != held:
            raise ModelFileError("a model must hold the risk table on its receipt, and no other.")

    def predict(self, table: pd.DataFrame) -> NDArray[Any]:
        """Return the predicted label of each row, as the schema spells the labels.

        Parameters
        ----------
        table : DataFrame
            Has the feature columns that have points; others are not needed. A frame of any library
            that :func:`opdisc.count_rows` reads.
        """
        labels = np.array(self.schema.classes, dtype=object)
        return np.asarray(labels[self.predicts_positive(table).astype(int)])

    def predicts_positive(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Return whether each row has a total of at least 1, shape (n,) bool."""
        used = self.used_columns
        encoded = encode_features(as_table(table, self.schema, used), self.schema, used)
        scores = self.scorecard.scores(encoded)
        return np.asarray(scores >= 1)

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Raw columns that a prediction asks for: those that can change a total."""
        return used_columns(self.schema, (self.scorecard,))

    def written_predictions(
        self, table: pd.DataFrame, spelled_in: pd.DataFrame | None = None
    ) -> NDArray[Any]:
        """Return predicted labels as a file should hold them: as the table spells them.

        A part of a table says with ``spelled_in`` where the labels of all of it are.
        """
        whole = table if spelled_in is None else spelled_in
        spelled = np.array(spelled_classes(whole, self.schema), dtype=object)
        return np.asarray(spelled[self.predicts_positive(table).astype(int)])

    def explain(self, row: Row) -> Explanation:
        """Return why a row gets its answer: the statements that are true of it, and their points.

        Parameters
        ----------
        row : mapping, Series, sequence or DataFrame of one row
            Cells by column name; a sequence has one cell for each column of the schema, in order.
        """
        return explain_row(self.scorecard, self.schema, row)

    def _repr_html_(self) -> str:
        return card_fragment(self)

    @property
    def verdict_(self) -> Verdict:
        """What to know before the points: whether the card is constant, what the noise may cost.

        Computed from the card and public facts only.
        """
        return judge_card(self.scorecard, self.schema, self.receipt)

    @property
    def is_only_constant(self) -> bool:
        """Whether everyone gets one answer, and no rates were bought that points tell apart."""
        return self.risk_table is None and is_constant(self.scorecard, self.schema)

    @property
    def summary(self) -> str:
        """The scorecard as a table in words, and what its totals stand for if that was paid."""
        if self.risk_table is None:
            return str(self.scorecard)
        return f"{self.scorecard}\n\n{self.risk_table.text(self.scorecard.classes[1])}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with a digest over all of them."""
        body = {
            "format": _FORMAT,
            "version": _VERSION,
            "scorecard": self.scorecard.to_dict(),
            "schema": self.schema.to_dict(),
            "receipt": self.receipt.to_dict(),
        }
        if self.risk_table is not None:
            body["risk_table"] = self.risk_table.to_dict()
        return {**body, "sha256": model_digest(body)}


def check_points(card: Scorecard, receipt: GridReceipt) -> None:
    """Refuse points that were not among those that could be released.

    Raises
    ------
    ModelFileError
        If so.
    """
    weights, allowed = card.hypothesis, receipt.weights
    if len(weights) != len(allowed) or any(
        w not in values for w, values in zip(weights, allowed, strict=True)
    ):
        raise ModelFileError("a model's points must be among those on its receipt.")
    budget = receipt.norm_budget
    if budget is not None and sum(weight * weight for weight in weights) > budget:
        raise ModelFileError("a model's points must keep to the norm on its receipt.")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; two readers may disagree on which of two equal names counts."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name is repeated")
    return record
