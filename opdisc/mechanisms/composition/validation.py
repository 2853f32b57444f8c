"""Validating a released card on new private rows: checks, the spend, one draw of noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from opdisc.data import RowCounts, count_rows, require_rows
from opdisc.errors import ModelFileError, TableError
from opdisc.mechanisms import noisy_counts, planned_bins
from opdisc.mechanisms.composition.validation_counts import (
    calibrate_validation,
    noise_rate,
    validation_receipt,
)
from opdisc.models import Bins, FittedEstimator, SavedModel
from opdisc.models.validation import (
    ValidationReceipt,
    ValidationReport,
    answers_positive,
    card_groups,
    count_groups,
    counted_groups,
    load_report,
)
from opdisc.privacy import (
    EntropySource,
    Ledger,
    NeighboringRelation,
    Prepared,
    PrivacyParams,
    PublicInputs,
    parse_entropy,
    parse_relation,
)
from oracles.arithmetic import IntArray

Earlier = ValidationReport | str | PathLike[str]


def validate_card(
    model: SavedModel | FittedEstimator,
    table: Any,
    *,
    epsilon: float,
    relation: str = "replace_one",
    public_row_guess: int | None = None,
    ledger: Ledger | str | PathLike[str] | None = None,
    since: Earlier | None = None,
    random_state: int | np.random.RandomState | None = None,
    **reading: Any,
) -> ValidationReport:
    """Count how a released scorecard answers the rows of a private table, for a budget.

    Parameters
    ----------
    model : SavedModel or fitted estimator
        A scorecard of two classes, a logistic one too. It is public.
    table : path, table, iterable or RowCounts
        Rows with their labels, as :func:`opdisc.count_rows` takes them; read by the card's schema.
    epsilon : float
        Privacy loss, > 0, of all that the report says.
    relation : str, default "replace_one"
        "replace_one" (the number of rows is public) or "add_or_remove_one".
    public_row_guess : int or None
        Public number near that of the rows, for plans under add_or_remove_one.
    ledger : Ledger, path or None
        Where the budget is recorded before the release.
    since : ValidationReport, path or None
        An earlier report of the same card: its groups of totals are counted again, so that the
        two can be compared.
    random_state : int, RandomState or None
        None draws from the operating system. Anything else is for tests: the receipt is VOID.
    **reading
        As for :func:`opdisc.count_rows`, of paths.

    Returns
    -------
    ValidationReport
        Accuracy, the four counts and the calibration by total, each with its interval.

    Raises
    ------
    ModelFileError
        If the model is no scorecard of two classes, or ``since`` no report of this card.
    CalibrationError, TableError, SchemaError, LedgerError
        As for a fit. Nothing is spent then.

    Notes
    -----
    **Guarantee.** As stated on the report's ``receipt``; docs/theory.md, entry "validation". Every
    call pays for itself, and a card that was made of the same rows was paid for apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from opdisc import PrivateScorecardClassifier, Schema
    >>> rows = pd.DataFrame({"x0": [0, 1] * 500, "x1": [1, 0] * 500, "target": [0, 1] * 500})
    >>> schema = Schema.equal_width(2)
    >>> card = PrivateScorecardClassifier(schema=schema).fit(rows, rows["target"]).to_model()
    >>> report = validate_card(card, rows, epsilon=2.0)
    >>> report.accuracy.low <= report.accuracy.estimate <= report.accuracy.high
    True
    """
    card = _two_class_card(model)
    params = PrivacyParams(epsilon=epsilon, delta=0.0)
    asked = _Asked(
        card=card,
        digest=card.to_dict()["sha256"],
        facts={
            "params": params,
            "relation": parse_relation(relation),
            "rows_per_unit": card.schema.rows_per_unit,
            "privacy_unit": card.schema.privacy_unit,
            "schema_digest": card.schema.digest(),
            "public_row_guess": public_row_guess,
        },
        groups=None if since is None else _earlier_groups(card, since),
    )
    asked.rehearse()
    book = Ledger(ledger) if isinstance(ledger, str | PathLike) else ledger
    if book is not None:
        book.limits()  # a ledger that cannot be read is refused before the rows are
    counts = _counted(card, table, reading)
    return asked.release(counts, parse_entropy(random_state), book)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A validation as far as it is known without the rows.

    Parameters
    ----------
    card : SavedModel
        Who answers.
    digest : str
        Its SHA-256.
    facts : mapping
        Public facts but for the number of rows.
    groups : tuple or None
        Groups of an earlier report.
    """

    card: SavedModel
    digest: str
    facts: Mapping[str, Any]
    groups: Bins | None

    def groups_for(self, public: PublicInputs) -> Bins:
        if self.groups is not None:
            return self.groups
        return card_groups(self.card, planned_bins(noise_rate(public), public.typical_rows))

    def rehearse(self) -> None:
        """Try what needs no rows."""
        public = PublicInputs(**self.facts)
        calibrate_validation(public, len(self.groups_for(public)))

    def release(
        self, counts: RowCounts, entropy: EntropySource, ledger: Ledger | None
    ) -> ValidationReport:
        """Record the budget, then draw the noise of the rows' counts."""
        replaces = self.facts["relation"] is NeighboringRelation.REPLACE_ONE
        if replaces:
            require_rows(counts.n_rows)
        public = PublicInputs(
            **self.facts,
            n_rows=counts.n_rows if replaces else None,
            assumptions=counts.conditions,
        )
        bins = self.groups_for(public)
        spec = calibrate_validation(public, len(bins))
        receipt = validation_receipt(spec, public, entropy, self.digest)
        exact = count_groups(self.card, counts, bins)
        self._reported(bins, np.zeros_like(exact), receipt)  # what could fail fails here

        def draw() -> ValidationReport:
            return self._reported(bins, noisy_counts(exact, spec.rate, entropy), receipt)

        return Prepared(receipt=receipt, draw=draw, refusal=_UNDRAWN).run(ledger)

    def _reported(
        self, bins: Bins, noisy: IntArray, receipt: ValidationReceipt
    ) -> ValidationReport:
        negative, positive = self.card.schema.classes
        return ValidationReport(
            target=self.card.scorecard.target,
            classes=(negative, positive),
            groups=counted_groups(self.card, bins, noisy),
            receipt=receipt,
        )


_UNDRAWN = (
    "a validation needs noise on all its counts, but it ended without; the budget is spent and "
    "nothing is released: try the card on a public table."
)


def _two_class_card(model: object) -> SavedModel:
    """Return the card of a model or a fitted estimator, if it tells two classes apart."""
    released = model.to_model() if hasattr(model, "to_model") else model
    if not isinstance(released, SavedModel):
        raise ModelFileError(
            "a validation needs a scorecard of two classes, got "
            f"{type(released).__name__}; give a saved card, such as opdisc.load_model returns."
        )
    return released


def _earlier_groups(card: SavedModel, since: Earlier) -> Bins:
    """Return the groups of an earlier report, if it is of this card."""
    if not isinstance(since, ValidationReport | str | PathLike):
        raise ModelFileError(
            "since must be an earlier validation report or its file, got "
            f"{type(since).__name__}; only what was released is compared with, rows would have "
            "to pay."
        )
    report = since if isinstance(since, ValidationReport) else load_report(since)
    if report.receipt.card != card.to_dict()["sha256"]:
        raise ModelFileError(
            "the earlier report must be of the same card, but it names another; give the report "
            "of this one, or leave out since."
        )
    for group in report.groups:
        ends = {answers_positive(card, total) for total in (group.lowest, group.highest)}
        if ends != {group.answers_positive}:
            raise ModelFileError(
                "the earlier report's groups must not mix the card's answers, but one does; give "
                "the file as it was saved."
            )
    return tuple((group.lowest, group.highest) for group in report.groups)


def _counted(card: SavedModel, table: Any, reading: Mapping[str, Any]) -> RowCounts:
    """Return a table's rows, counted by the card's schema."""
    if isinstance(table, RowCounts):
        if table.schema.at_equal_costs() != card.schema.at_equal_costs():
            raise TableError(
                "the rows must be counted by the card's schema, but they were by another; count "
                "them with opdisc.count_rows(table, model.schema)."
            )
        table.check()
        table = table.described(schema=card.schema)
    return count_rows(table, card.schema, **reading)
