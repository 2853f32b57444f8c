"""Saved models: JSON, validated on load, the receipt inside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opdisc.data import with_error_costs
from opdisc.errors import ModelFileError, OPDiscError
from opdisc.models.attainable import attainable_totals
from opdisc.models.card import card_fragment, check_reasons, explain_row, output_columns
from opdisc.models.document import (
    FORMAT,
    Rows,
    check_receipt,
    encoded_rows,
    model_digest,
    spelled_classes,
)
from opdisc.models.noise_verdict import NoBound, TiltVerdict, noise_record
from opdisc.models.odds import odds_text, with_threshold
from opdisc.models.scorecard import used_columns
from opdisc.models.verdict import is_constant, judge_card
from opdisc.privacy import HULL, ConvexReceipt

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opdisc.data import CostsLike, Schema
    from opdisc.models.card import Explanation, Row
    from opdisc.models.noise_verdict import Noise
    from opdisc.models.odds import OddsScale
    from opdisc.models.risk_table import RiskTable
    from opdisc.models.scorecard import Scorecard
    from opdisc.models.verdict import Verdict
    from opdisc.privacy import GridReceipt
    from oracles.arithmetic import FloatArray

VERSIONS = (1, 2, 3)
"""Versions of the format that are read: 3 says what the noise may cost, 1 and 2 do not.

Of these the second one is that of a card whose totals are odds.
"""

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
    receipt : GridReceipt or ConvexReceipt
        The privacy statement of the release; of a logistic card that of hull perturbation.
    risk_table : RiskTable or None
        Rates per total, if they were paid for.
    odds : OddsScale or None
        What a total stands for, of a logistic card.
    noise : NoiseVerdict, TiltVerdict, NoBound or None
        What its noise may have cost, found at the fit from public facts; None of a card that an
        earlier version saved. Nothing that is promised rests on it.

    Raises
    ------
    ModelFileError
        If the parts do not belong together.
    """

    scorecard: Scorecard
    schema: Schema
    receipt: GridReceipt | ConvexReceipt
    risk_table: RiskTable | None = None
    odds: OddsScale | None = None
    noise: Noise | None = None

    def __post_init__(self) -> None:
        """Refuse parts that contradict each other."""
        if self.scorecard.columns != self.schema.column_names:
            raise ModelFileError("a model's scorecard must use the columns of its schema.")
        classes = self.scorecard.classes
        if classes != self.schema.classes and (self.odds is None or not self._scores_other):
            raise ModelFileError("a model's scorecard must use the classes of its schema.")
        if self.scorecard.target != self.schema.target.column:
            raise ModelFileError("a model's scorecard must predict the target of its schema.")
        self._check_noise()
        if isinstance(self.receipt, ConvexReceipt):
            self._check_odds()
            return
        if self.odds is not None or self.scorecard.threshold != 1:
            raise ModelFileError("only a logistic card's totals may be odds, with a threshold.")
        check_receipt(self.receipt, self.schema)
        check_points(self.scorecard, self.receipt)
        self._check_risks(self.receipt)

    @property
    def _scores_other(self) -> bool:
        """Whether the negative label is the one that scores high."""
        return self.scorecard.classes == self.schema.classes[::-1]

    def _check_noise(self) -> None:
        """Refuse noise that is not that of the receipt: it was edited, or is another card's."""
        noise, receipt = self.noise, self.receipt
        if noise is None or isinstance(noise, NoBound):
            return
        if isinstance(noise, TiltVerdict) != isinstance(receipt, ConvexReceipt) or (
            (noise.epsilon, noise.rows) != (receipt.epsilon, receipt.n_rows)
        ):
            raise ModelFileError("a model's noise must be that of its receipt.")

    def _check_odds(self) -> None:
        """Refuse weights of a mechanism that no card is made of, and rates that are two things."""
        if self.odds is None or self.receipt.mechanism != HULL or self.risk_table is not None:
            raise ModelFileError(
                "a card with a convex receipt must be a logistic one, of hull noise and with odds."
            )
        check_receipt(self.receipt, self.schema, states_costs=False)

    def _check_risks(self, receipt: GridReceipt) -> None:
        """Refuse a table that was not paid for, or that is not the one that was."""
        paid = None if receipt.risks is None else receipt.risks.noise_scale
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

    def predicts_positive(self, table: Rows) -> NDArray[np.bool_]:
        """Return whether each row gets the positive label, shape (n,) bool."""
        return self._are_positive(self._totals(table))

    def _are_positive(self, totals: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray((totals >= self.scorecard.threshold) != self._scores_other)

    def predict_proba(self, table: pd.DataFrame) -> FloatArray:
        """Return the probability of each class, shape (n, 2), the negative one first.

        Parameters
        ----------
        table : DataFrame
            As for :meth:`predict`.

        Raises
        ------
        OPDiscError
            If the card is neither a logistic one nor has rates that were bought.
        """
        if self.odds is None and self.risk_table is None:
            raise OPDiscError(
                "probabilities need a logistic card or rates that were bought, but this card has "
                "neither; fit with mechanism='logistic', or with a risk_budget."
            )
        chances = self._chances(self._totals(table))[:, 0]
        columns = [1 - chances, chances]
        return np.column_stack(columns[::-1] if self._scores_other else columns)

    def at_costs(self, error_costs: CostsLike) -> SavedModel:
        """Return the same logistic card that answers by other costs of a mistake.

        Parameters
        ----------
        error_costs : mapping, ErrorCosts or "balanced"
            As in :class:`~opdisc.PrivateScorecardClassifier`.

        Returns
        -------
        SavedModel
            Other threshold, same points, odds and receipt: it costs no budget.

        Raises
        ------
        OPDiscError
            If the card is no logistic one: its points depend on the costs.
        """
        if self.odds is None:
            raise OPDiscError(
                "only a logistic card takes other error costs after the fit; fit this one again, "
                "which spends again."
            )
        costs = with_error_costs(self.schema, error_costs).error_costs
        card = with_threshold(self.scorecard, self.odds, costs, self.schema.classes[1])
        return replace(self, scorecard=card)

    def _totals(self, table: Rows) -> NDArray[np.int64]:
        used = self.used_columns
        encoded = encoded_rows(table, self.schema, used)
        return self.scorecard.scores(encoded)

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Raw columns that a prediction asks for: those that can change a total."""
        return used_columns(self.schema, (self.scorecard,))

    def written_predictions(self, table: Rows, spelled_in: Rows | None = None) -> NDArray[Any]:
        """Return predicted labels as a file should hold them: as the table spells them.

        A part of a table says with ``spelled_in`` where the labels of all of it are.
        """
        return self._spelled(self._totals(table), table if spelled_in is None else spelled_in)

    def _spelled(self, totals: NDArray[np.int64], whole: Rows) -> NDArray[Any]:
        spelled = np.array(spelled_classes(whole, self.schema), dtype=object)
        return np.asarray(spelled[self._are_positive(totals).astype(int)])

    def scored(
        self,
        table: Rows,
        spelled_in: Rows | None = None,
        *,
        reasons: int = 0,
        points: bool = False,
    ) -> dict[str, NDArray[Any]]:
        """Return what ``opdisc predict`` adds to a table, by column.

        Parameters
        ----------
        table : DataFrame
            As for :meth:`predict`; it may have no row.
        spelled_in : DataFrame or None
            Where the labels are that are spelled so; None: in the table.
        reasons : int
            How many of the statements that cost a row most are named, from 0 to 100. A line of a
            card costs what a row below the threshold has less there than its most points, and a
            row from the threshold on more than its fewest.
        points : bool
            Whether each statement with points has a column.

        Returns
        -------
        dict of str to ndarray of shape (n,)
            ``prediction``, an object as the table spells it; ``total``, int64; ``probability``
            of the label from the threshold on, float64, of a logistic card or one that bought
            rates; ``reason_1`` and so on, objects, empty where nothing more cost anything; and
            ``points: STATEMENT``, int64, 0 where it is not true. A name that the schema has gets
            underscores at its end.

        Raises
        ------
        OPDiscError
            If the reasons are no number from 0 to 100.
        TableError
            If a column is missing, or a cell cannot be read; no cell is named.
        """
        check_reasons(self, reasons)
        encoded = encoded_rows(table, self.schema, self.used_columns)
        totals = self.scorecard.scores(encoded)
        return output_columns(
            self,
            self._spelled(totals, table if spelled_in is None else spelled_in),
            encoded,
            self._chances(totals),
            reasons=reasons,
            points=points,
        )

    def _chances(self, totals: NDArray[np.int64]) -> FloatArray:
        """Return the probability of the label from the threshold on, shape (n, 1) or (n, 0)."""
        if self.odds is not None:
            return self.odds.chances(totals)[:, np.newaxis]
        if self.risk_table is not None:
            return self.risk_table.rates(totals)[:, np.newaxis]
        return np.empty((len(totals), 0))

    def explain(self, row: Row) -> Explanation:
        """Return why a row gets its answer: the statements that are true of it, and their points.

        Parameters
        ----------
        row : mapping, Series, sequence or DataFrame of one row
            Cells by column name; a sequence has one cell for each column of the schema, in order.
        """
        found = explain_row(self.scorecard, self.schema, row)
        if self.odds is None:
            return found
        return replace(found, chance=float(self.odds.chances(found.total)))

    def _repr_html_(self) -> str:
        return card_fragment(self)

    @property
    def verdict_(self) -> Verdict:
        """What to know before the points: whether the card is constant, what the noise may cost.

        Computed from the card and public facts only.
        """
        return judge_card(self.scorecard, self.schema, self.noise, has_odds=self.odds is not None)

    @property
    def is_only_constant(self) -> bool:
        """Whether everyone gets one answer, and no chances that points tell apart."""
        has_chances = self.risk_table is not None or self.odds is not None
        return not has_chances and is_constant(self.scorecard, self.schema)

    @property
    def summary(self) -> str:
        """The scorecard as a table in words, and what its totals stand for if that was paid."""
        if self.odds is not None:
            lowest, highest = attainable_totals(self.scorecard, self.schema)
            high = self.scorecard.classes[1]
            return f"{self.scorecard}\n\n{odds_text(self.odds, high, lowest, highest)}"
        if self.risk_table is None:
            return str(self.scorecard)
        return f"{self.scorecard}\n\n{self.risk_table.text(self.scorecard.classes[1])}"

    @property
    def _version(self) -> int:
        """The format version that is written: a card keeps the one that it was read from."""
        if self.noise is not None:
            return VERSIONS[-1]
        return 1 if self.odds is None else 2

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with a digest over all of them."""
        body = {
            "format": FORMAT,
            "version": self._version,
            "scorecard": self.scorecard.to_dict(),
            "schema": self.schema.to_dict(),
            "receipt": self.receipt.to_dict(),
        }
        if self.risk_table is not None:
            body["risk_table"] = self.risk_table.to_dict()
        if self.odds is not None:
            body["odds"] = self.odds.to_dict()
        if self.noise is not None:
            body["noise"] = noise_record(self.noise)
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
    for group in receipt.alternatives:
        if sum(any(weights[j] != 0 for j in one) for one in group) > 1:
            raise ModelFileError("a model's points must keep to the alternatives on its receipt.")


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; two readers may disagree on which of two equal names counts."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a name is repeated")
    return record
