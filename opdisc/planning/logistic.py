"""When a card is a logistic one, and what its noise amounts to: public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from opdisc.convex import (
    MOST_EPSILON,
    ConvexPublic,
    ConvexReceipt,
    HullShape,
    LinearFeatures,
    hull_receipt,
    mean_square,
)
from opdisc.data import Schema
from opdisc.errors import CalibrationError
from opdisc.planning.choice import LOGISTIC
from opdisc.planning.verdict import LARGE_SHARE
from opdisc.privacy import PrivacyParams, PublicInputs, Reason, SystemEntropy
from oracles.convex import LogisticLoss

LOGISTIC_COLUMNS = 18
"""With so many statements or fewer, exact draws of whole cards lead whatever the budget."""

LOGISTIC_WEIGHT = 100
"""Rows times epsilon for each statement, from which on it leads (docs/utility.md)."""


def logistic_public(
    schema: Schema, params: PrivacyParams, facts: Mapping[str, Any]
) -> tuple[HullShape, ConvexPublic]:
    """Return what the logistic card's noise is calibrated with.

    Parameters
    ----------
    schema : Schema
        Its statements; no threshold is left to be found.
    params : PrivacyParams
        What would be spent.
    facts : mapping
        What the public inputs of every mechanism say of a table.

    Raises
    ------
    CalibrationError
        If a threshold is to be found.
    """
    if schema.private_thresholds:
        raise CalibrationError(
            f"mechanism='{LOGISTIC}' needs thresholds that are written down, but the schema "
            "leaves some to be found; declare them or name another mechanism."
        )
    shape = HullShape.of_schema(schema)
    public = ConvexPublic(
        params=params,
        loss=LogisticLoss(),
        bounds=LinearFeatures.of_schema(schema).bounds,
        dimension=shape.n_columns + 1,
        **facts,
    )
    return shape, public


def prefers_logistic(schema: Schema, public: PublicInputs) -> bool:
    """Return whether ``mechanism="auto"`` takes the logistic card.

    Parameters
    ----------
    schema : Schema
        Statements and error costs.
    public : PublicInputs
        Budget, relation and the number of rows, or a guess of it.

    Notes
    -----
    **Guarantee.** A function of public facts. **Rule.** More than 18 statements, thresholds that
    are written down, and at least 100 rows times epsilon for each of them: under replace-one, with
    one row a person. Where costs differ rows count at their typical cost, so it comes earlier:
    costs multiply the noise of the other draws and not this one's.
    """
    return (
        not schema.private_thresholds
        and schema.n_columns > LOGISTIC_COLUMNS
        and public.params.epsilon <= MOST_EPSILON
        and _weight(schema, public) >= LOGISTIC_WEIGHT * schema.n_columns
    )


def why_logistic(schema: Schema, public: PublicInputs) -> Reason:
    """Return why the logistic card was taken."""
    each = _weight(schema, public) / schema.n_columns
    return Reason(
        f"many rows for {schema.n_columns} statements, so weights are found together and rounded",
        f"rows times epsilon are {each:,.0f} for each statement, and from {LOGISTIC_WEIGHT} on a "
        "logistic card errs least",
    )


def _weight(schema: Schema, public: PublicInputs) -> float:
    if public.typical_rows is None:
        return 0.0
    rows = public.typical_rows * float(schema.error_costs.typical)
    return 2 * rows * float(public.params.epsilon) / public.changed_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class TiltVerdict:
    """What the noise of a logistic card amounts to beside the rows.

    Parameters
    ----------
    epsilon : float
        The privacy loss.
    rows : int or None
        Rows of the table; None where their number is not public.
    moved : float
        How many rows, each as far from the middle as a row can be, the tilt is as long as.
    """

    epsilon: float
    rows: int | None
    moved: float

    rows_needed: ClassVar[None] = None
    epsilon_needed: ClassVar[None] = None

    @property
    def share(self) -> float:
        """The tilt's rows as a share of all, at most 1; NaN where their number is not public."""
        if self.rows is None:
            return math.nan
        return min(1.0, self.moved / self.rows) if self.rows else 1.0

    @property
    def dominates(self) -> bool:
        """Whether the tilt is as long as half of the rows."""
        return self.share > 0.5

    @property
    def word(self) -> str:
        """The verdict in two or three words."""
        if self.rows is None:
            return "rows not public"
        if self.dominates:
            return "noise dominates"
        return "noise is large" if self.share > LARGE_SHARE else "noise is small"

    @property
    def is_small(self) -> bool:
        """Whether it is known to be small."""
        return self.word == "noise is small"

    def __str__(self) -> str:
        """Return the verdict as a sentence."""
        few = math.ceil(self.moved)
        weighs = f"it weighs as much as {few:,} {'row' if few == 1 else 'rows'} that are not there"
        if self.rows is None:
            return f"Noise: {weighs}; the number of rows is not public."
        begins = f"{self.word[0].upper()}{self.word[1:]}"
        return f"{begins}: {weighs}, beside {self.rows:,} ({self.share:.1%})."


def tilt_of(schema: Schema, receipt: ConvexReceipt) -> TiltVerdict:
    """Return the verdict on the noise of a logistic card.

    Parameters
    ----------
    schema : Schema
        Its statements.
    receipt : ConvexReceipt
        That of hull noise.

    Notes
    -----
    **Guarantee.** A function of public facts. A row moves the gradient by its centred length at
    most; the noise's length (root of its mean square) is counted in such rows. It is no bound on
    extra errors: for real weights none is known that holds for every table.
    """
    shape, (scale,) = HullShape.of_schema(schema), receipt.noise_scales
    moved = scale * math.sqrt(mean_square(shape) / float(shape.squared_radius))
    return TiltVerdict(epsilon=receipt.epsilon, rows=receipt.n_rows, moved=moved)


def logistic_receipt(schema: Schema, public: PublicInputs, choice: Reason) -> ConvexReceipt:
    """Return the receipt of a logistic card that is not drawn."""
    facts = {
        name: getattr(public, name)
        for name in (
            "relation",
            "n_rows",
            "assumptions",
            "rows_per_unit",
            "privacy_unit",
            "schema_digest",
            "public_row_guess",
            "earlier_delta",
        )
    }
    shape, convex = logistic_public(schema, public.params, facts)
    return hull_receipt(shape, convex, SystemEntropy(), choice)


def expected_work(schema: Schema, rows: int | None) -> tuple[float | None, float | None]:
    """Return seconds and bytes that a logistic card is expected to take, orders of magnitude."""
    if rows is None:
        return None, None
    cells = rows * (schema.n_columns + 1)
    return 0.1 + _SECONDS * cells, 1e8 + _BYTES * cells


_SECONDS, _BYTES = 3e-7, 5.0
"""For each cell of distinct rows: 100,000 x 1,000 took 14 to 28 s and .47 GB."""
