"""Candidates of a private selection: what they offer, and what their receipts must agree on."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.privacy import Expense, PrivacyParams, PublicInputs, stated_rows

CANDIDATE_NUMERICAL = 2.0**-40
"""Largest delta_numerical of a candidate; the receipt pays for it whichever candidates ran."""

Model = TypeVar("Model")


class CandidateReceipt(Expense, Protocol):
    """What a candidate's own receipt must say.

    It also takes ``rows_per_unit`` or ``sensitivity``, and ``n_rows``, of receipts that have them.
    """

    @property
    def conditions(self) -> tuple[str, ...]:
        """What it rests on."""
        ...


class Candidate(Protocol[Model]):
    """One setting: fits privately, and marks the right answers of what it fitted."""

    @property
    def name(self) -> str:
        """Names the setting; public."""
        ...

    def fit(self, params: PrivacyParams) -> tuple[Model, CandidateReceipt]:
        """Fit within a budget and return the model with its receipt."""
        ...

    def correct(self, model: Model) -> Any:
        """Mark the private rows that the model predicts rightly, bool of shape (n,).

        A row's mark must depend on that row and the model alone. A count of them is taken too.
        """
        ...


@runtime_checkable
class PromisingCandidate(Protocol):
    """A candidate that can say before anything is spent what its receipt will be."""

    def promise(self, params: PrivacyParams) -> CandidateReceipt:
        """Return the receipt of a fit within a budget, without drawing; refuse what it would."""
        ...


def count_right(marks: Any) -> int:
    """Return how many rows are marked; a count is taken as it is.

    Raises
    ------
    CalibrationError
        If marks are neither booleans in one dimension nor a whole number.
    """
    found = np.asarray(marks)
    if found.dtype == bool and found.ndim == 1:
        return int(np.count_nonzero(found))
    if found.dtype.kind in "iu" and found.ndim == 0:
        return int(found)
    raise CalibrationError(
        "a candidate must mark each row True or False, or count its right answers as an integer."
    )


def check_promise(promised: CandidateReceipt, fit: PrivacyParams, public: PublicInputs) -> None:
    """Refuse a receipt beyond its budget, or for other neighbours than the selection's.

    Raises
    ------
    CalibrationError
        If epsilons of such receipts could not be added to that of the score.
    """
    within = promised.epsilon <= fit.epsilon and promised.delta <= fit.delta
    if not (within and promised.delta_numerical <= CANDIDATE_NUMERICAL):
        raise CalibrationError(
            "a candidate's receipt must keep to the budget it was given, with a delta_numerical "
            "of at most 2^-40 (it grows with epsilon)."
        )
    if promised.relation != public.relation.value:
        raise CalibrationError(
            f"candidates must be private under {public.relation.value}, but one is under "
            f"{promised.relation}; fit it under the same relation."
        )
    if promised.privacy_unit != public.privacy_unit:
        raise CalibrationError(
            f"candidates must protect the privacy unit of the selection, {public.privacy_unit!r}, "
            f"but one protects {promised.privacy_unit!r}; give all the same schema, and its "
            "privacy_unit to the selection."
        )
    rows = stated_rows(promised)
    if rows is not None and rows != public.rows_per_unit:
        raise CalibrationError(
            f"candidates must allow a unit as many rows as the selection, {public.rows_per_unit}, "
            f"but one allows {rows}; give all the same schema, and its rows_per_unit to the "
            "selection."
        )
