"""When a card is a logistic one, and what its noise amounts to: public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from opdisc.convex import (
    MOST_EPSILON,
    ConvexPublic,
    HullShape,
    LinearFeatures,
    PublicStart,
    hull_receipt,
    largest_score,
    mean_square,
)
from opdisc.data import Schema
from opdisc.errors import CalibrationError
from opdisc.models import TiltVerdict
from opdisc.planning.choice import LOGISTIC
from opdisc.privacy import ConvexReceipt, PrivacyParams, PublicInputs, Reason, SystemEntropy
from opdisc.tuned import LOGISTIC_COLUMNS, LOGISTIC_WEIGHT, START_LEVEL
from oracles.convex import LogisticLoss

STARTED = Reason("a public start is given, and a logistic card is drawn around it")
"""Why it is taken whatever the number of rows."""


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


def worth_of_start(schema: Schema, public: PublicInputs) -> str:
    """Return in a sentence what a public start is expected to be worth.

    Parameters
    ----------
    schema : Schema
        Statements.
    public : PublicInputs
        Budget, relation and the number of rows, or a guess of it.

    Notes
    -----
    **Guarantee.** A function of public facts; the start itself is not looked at. The figures are
    those of 60 public rows on three tables (docs/how-to/start-from-a-card.md).
    """
    shape = HullShape.of_schema(schema)
    length = public.changed_rows / float(public.params.epsilon) * math.sqrt(mean_square(shape))
    reach = largest_score(public.typical_rows, length, is_started=True)
    if public.typical_rows is None:
        return (
            f"Start: rows and noise may move a score from it by about {reach:.2g} log-odds; the "
            "number of rows is not public."
        )
    if reach <= 1:
        leads, gained = "it decides most answers", ".05 to .4"
    elif public.typical_rows < START_LEVEL * length:
        leads, gained = "it and the rows decide together", ".005 to .05"
    else:
        leads, gained = "the rows decide", "next to nothing"
    return (
        f"Start: {leads}, for rows and noise may move a score by about {reach:.2g} log-odds; 60 "
        f"public rows gained {gained} of accuracy there."
    )


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


def logistic_receipt(
    schema: Schema, public: PublicInputs, choice: Reason, start: PublicStart | None = None
) -> ConvexReceipt:
    """Return the receipt of a logistic card that is not drawn."""
    facts = public.facts()
    shape, convex = logistic_public(schema, facts.pop("params"), facts)
    return hull_receipt(shape, convex, SystemEntropy(), choice, start)


def expected_work(schema: Schema, rows: int | None) -> tuple[float | None, float | None]:
    """Return seconds and bytes that a logistic card is expected to take, orders of magnitude."""
    if rows is None:
        return None, None
    cells = rows * (schema.n_columns + 1)
    return 0.1 + _SECONDS * cells, 1e8 + _BYTES * cells


_SECONDS, _BYTES = 3e-7, 5.0
"""For each cell of distinct rows: 100,000 x 1,000 took 14 to 28 s and .47 GB."""
