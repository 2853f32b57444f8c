"""Saved cards that together tell several classes apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from opdisc.data import Schema, canonical_text
from opdisc.errors import ModelFileError, escaped
from opdisc.models.card import card_fragment, check_reasons, explain_class, output_columns
from opdisc.models.document import Rows, check_receipt, distinct_texts, encoded_rows, model_digest
from opdisc.models.risk_table import RiskTable
from opdisc.models.scorecard import Scorecard, used_columns
from opdisc.models.scorecard_file import check_points
from opdisc.models.verdict import judge_cards
from opdisc.privacy import TREE, MulticlassReceipt, Record, ask, preferences

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opdisc.data import CellArray, Label
    from opdisc.models.card import ClassExplanation, Row
    from opdisc.models.verdict import ClassesVerdict
    from opdisc.privacy import Question
    from oracles.arithmetic import FloatArray, IntArray

MULTICLASS_FORMAT = "opdisc-multiclass-model"

MULTICLASS_VERSIONS = (1,)


def card_classes(
    strategy: str, question: Question, labels: Sequence[Label]
) -> tuple[Label, Label]:
    """Return what a card says below 1 point and from 1 point on.

    Parameters
    ----------
    strategy : str
        As in :func:`opdisc.privacy.ask`.
    question : Question
        What the card answers.
    labels : sequence of str, int, float or bool
        Of all classes, in declared order.
    """
    if strategy == TREE:
        no, yes = (_either([labels[k] for k in part]) for part in (question.no, question.yes))
        return no, yes
    (position,) = question.yes
    return f"not {labels[position]}", labels[position]


def _either(labels: list[Label]) -> Label:
    if len(labels) == 1:
        return labels[0]
    return f"{', '.join(map(str, labels[:-1]))} or {labels[-1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedMulticlassModel:
    """Everything needed to predict several classes, and the promise that was kept.

    Parameters
    ----------
    scorecards : tuple of Scorecard
        One for each question of the receipt's strategy.
    schema : Schema
        The public facts that encode a row, and the classes in order.
    receipt : MulticlassReceipt
        The privacy statement of all cards.
    risk_tables : tuple of RiskTable
        Of each card, if they were paid for; of a tree.

    Raises
    ------
    ModelFileError
        If the parts do not belong together.
    """

    scorecards: tuple[Scorecard, ...]
    schema: Schema
    receipt: MulticlassReceipt
    risk_tables: tuple[RiskTable, ...] = ()

    def __post_init__(self) -> None:
        """Refuse parts that contradict each other."""
        labels, receipt = self.schema.labels, self.receipt
        if receipt.n_classes != len(labels) or len(self.scorecards) != len(receipt.cards):
            raise ModelFileError("a model's cards must be those of its receipt and schema.")
        check_receipt(receipt, self.schema)
        for card, question, own in zip(
            self.scorecards, self.questions, receipt.cards, strict=True
        ):
            if card.columns != self.schema.column_names:
                raise ModelFileError("a model's scorecard must use the columns of its schema.")
            if card.classes != card_classes(receipt.strategy, question, labels):
                raise ModelFileError("a model's scorecard must use the classes of its schema.")
            if card.target != self.schema.target.column:
                raise ModelFileError("a model's scorecard must predict the target of its schema.")
            check_points(card, own)
        paid = [card.risks.noise_scale for card in receipt.cards if card.risks is not None]
        if paid != [table.noise_scale for table in self.risk_tables]:
            raise ModelFileError("a model must hold the risk tables on its receipt, and no other.")
        if paid and receipt.strategy != TREE:
            raise ModelFileError("a model with risk tables must be a tree of cards.")

    @property
    def questions(self) -> tuple[Question, ...]:
        """What each card tells apart."""
        return ask(self.receipt.strategy, self.receipt.n_classes)

    def predict(self, table: pd.DataFrame) -> NDArray[Any]:
        """Return the predicted label of each row, as the schema spells the labels.

        Parameters
        ----------
        table : DataFrame
            Has the feature columns that have points; others are not needed. A frame of any library
            that :func:`opdisc.count_rows` reads.
        """
        return np.asarray(np.array(self.schema.labels, dtype=object)[self.positions(table)])

    def risks(self, encoded: CellArray) -> FloatArray:
        """Return the rate of each declared class, shape (n, n_classes): they add up to 1.

        The product of the rates on the way to the class.

        Parameters
        ----------
        encoded : ndarray of shape (n, 1 + n_columns)
            Rows as the schema encodes them.
        """
        found = np.ones((len(encoded), len(self.schema.labels)))
        for card, table, question in zip(
            self.scorecards, self.risk_tables, self.questions, strict=True
        ):
            rates = table.rates(card.scores(encoded))[:, np.newaxis]
            found[:, list(question.yes)] *= rates
            found[:, list(question.no)] *= 1 - rates
        return found

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Raw columns that a prediction asks for: those that can change a total."""
        return used_columns(self.schema, self.scorecards)

    def positions(self, table: Rows) -> IntArray:
        """Return the position of each row's class among the declared ones, shape (n,)."""
        return self._positions(encoded_rows(table, self.schema, self.used_columns))

    def _positions(self, encoded: CellArray) -> IntArray:
        totals = np.column_stack([card.scores(encoded) for card in self.scorecards])
        liked = preferences(self.receipt.strategy, self.questions, totals)
        return np.asarray(np.argmax(liked, axis=1))

    def written_predictions(self, table: Rows, spelled_in: Rows | None = None) -> NDArray[Any]:
        """Return predicted labels as a file should hold them: as the table spells them.

        A part of a table says with ``spelled_in`` where the labels of all of it are.
        """
        return self._spelled(self.positions(table), table if spelled_in is None else spelled_in)

    def _spelled(self, positions: IntArray, whole: Rows) -> NDArray[Any]:
        spelled = {canonical_text(label): str(label) for label in self.schema.labels}
        column, found = self.schema.target.column, set()
        if column in whole.columns:
            for text in distinct_texts(whole, column):
                label = canonical_text(text)
                if label in spelled and label not in found:  # the first spelling counts
                    found.add(label)
                    spelled[label] = str(text)
        return np.asarray(np.array(list(spelled.values()), dtype=object)[positions])

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
            Must be 0: reasons need one scorecard.
        points : bool
            Whether each statement with points has a column for each card.

        Returns
        -------
        dict of str to ndarray of shape (n,)
            ``prediction``, an object as the table spells it; ``total_1`` and so on, int64, one
            for each card; ``probability: LABEL`` of each label, float64, if rates were bought;
            and ``points 1: STATEMENT``, int64. A name that the schema has gets underscores at its
            end.

        Raises
        ------
        ModelFileError
            If reasons are asked for.
        TableError
            If a column is missing, or a cell cannot be read; no cell is named.
        """
        check_reasons(self, reasons)
        encoded = encoded_rows(table, self.schema, self.used_columns)
        whole = table if spelled_in is None else spelled_in
        answers = self._spelled(self._positions(encoded), whole)
        rates = self.risks(encoded) if self.risk_tables else np.empty((len(encoded), 0))
        return output_columns(self, answers, encoded, rates, points=points)

    def explain(self, row: Row) -> ClassExplanation:
        """Return the way of a row to its class: the cards that it meets, and their sums.

        Parameters
        ----------
        row : mapping, Series, sequence or DataFrame of one row
            Cells by column name; a sequence has one cell for each column of the schema, in order.
        """
        return explain_class(
            self.scorecards, self.questions, self.receipt.strategy, self.schema, row
        )

    def _repr_html_(self) -> str:
        return card_fragment(self)

    @property
    def verdict_(self) -> ClassesVerdict:
        """What to know before the points: labels that no row gets.

        Computed from the cards and public facts only.
        """
        return judge_cards(self.scorecards, self.questions, self.receipt.strategy, self.schema)

    @property
    def is_only_constant(self) -> bool:
        """Whether everyone gets one answer, and no rates were bought that points tell apart."""
        return not self.risk_tables and self.verdict_.is_constant

    @property
    def summary(self) -> str:
        """The cards as tables in words, and how they go together."""
        parts = [f"Card {k}: {card}" for k, card in enumerate(self.scorecards, 1)]
        for k, table in enumerate(self.risk_tables):
            parts[k] += f"\n\n{table.text(self.scorecards[k].classes[1])}"
        return "\n\n".join([*parts, escaped(self.rule())])

    def rule(self) -> str:
        """Return how the cards go together, in words."""
        if self.receipt.strategy == TREE:
            return (
                "Start with card 1. Where its answer names several labels, go on with the card "
                "that tells those apart."
            )
        listed = ", ".join(map(str, self.schema.labels))
        return (
            "The card with the highest total gives the label; of equal totals the one that comes "
            f"first in: {listed}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with a digest over all of them."""
        body = {
            "format": MULTICLASS_FORMAT,
            "version": MULTICLASS_VERSIONS[-1],
            "scorecards": [card.to_dict() for card in self.scorecards],
            "schema": self.schema.to_dict(),
            "receipt": self.receipt.to_dict(),
        }
        if self.risk_tables:
            body["risk_tables"] = [table.to_dict() for table in self.risk_tables]
        return {**body, "sha256": model_digest(body)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> SavedMulticlassModel:
        """Return the model that :meth:`to_dict` wrote; its digest is checked by the caller.

        Raises
        ------
        ValueError, LookupError, TypeError
            If a field is missing, unknown, or of the wrong type.
        """
        file = _MulticlassFile.from_dict(record)
        return cls(
            scorecards=tuple(Scorecard.from_dict(card) for card in file.scorecards),
            schema=Schema.from_stored(file.schema),
            receipt=MulticlassReceipt.from_dict(file.receipt),
            risk_tables=tuple(RiskTable.from_dict(table) for table in file.risk_tables),
        )


class _MulticlassFile(Record, frozen=True, kw_only=True):
    """What the file holds, its digest apart."""

    any_text: ClassVar[tuple[str, ...]] = ("schema",)

    format: str
    version: int
    scorecards: tuple[dict[str, Any], ...]
    schema: dict[str, Any]
    receipt: dict[str, Any]
    risk_tables: tuple[dict[str, Any], ...] = ()
