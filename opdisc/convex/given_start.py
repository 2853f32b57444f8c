"""Where a fit starts: a released model, a published score or public rows, as weights."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from opdisc.convex import (
    MADE_WITHOUT_ROWS,
    HullShape,
    PublicStart,
    rounded_weights,
    weights_of_rows,
)
from opdisc.data import (
    Label,
    RowCounts,
    Schema,
    canonical_text,
    column_structure,
    count_rows,
    schema_points,
)
from opdisc.errors import CalibrationError, TableError, quoted
from opdisc.models import (
    LARGEST_POINTS,
    OddsScale,
    SavedModel,
    load_model,
    read_object,
    within_limits,
)
from opdisc.privacy import Guarantee
from opdisc.tuned import ROUNDED_START, START_SPREAD
from oracles.problem import ErrorCosts

if TYPE_CHECKING:
    from opdisc.models import SavedLinearModel

Prior: TypeAlias = "SavedModel | SavedLinearModel | Mapping[str, float] | str | PathLike[str]"
Pilot: TypeAlias = pd.DataFrame | RowCounts | str | PathLike[str]

CONSTANT = "start with"
"""Under this name a mapping of points has those that everyone starts with, as a card prints it."""


_DIGITS = 12


_MOST = 10**9
"""Points of a prior at most, in size: far beyond any that a person adds up."""

_COST = "what the start cost,"
"""How a condition begins that adds up a start's own epsilon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Score:
    """Weights by the name of the statement, towards a label; odds, or points of unknown worth.

    Of a card also its own points, and the least total that is answered with the label.
    """

    constant: float
    weights: Mapping[str, float]
    towards: Label | None
    is_odds: bool
    least: int | None = None
    whole: Mapping[str, float] = field(default_factory=dict)

    def points(self, schema: Schema, sign: int) -> tuple[int, ...] | None:
        """Return whole points by a schema, towards its positive label; None if there are none."""
        values = [self.whole.get(name, 0) for name in (CONSTANT, *schema.column_names)]
        if self.least is None or any(value != int(value) for value in values):
            return None
        first, *rest = map(int, values)
        above = first - self.least + 1  # a total of 1 or more
        return (above if sign > 0 else 1 - above, *(sign * value for value in rest))


def start_from(
    prior: Prior | None,
    pilot: Pilot | None,
    schema: Schema,
    *,
    costs: ErrorCosts | None = None,
    counted: Sequence[str] = (),
) -> PublicStart | None:
    """Return the weights that a fit starts from; None where nothing is given.

    Parameters
    ----------
    prior : SavedModel, SavedLinearModel, path, mapping of str to float, or None
        A released scorecard or linear model, points by the names of the schema's statements, or a
        file with either: points as a JSON object, or in a schema file (.toml) whose features have
        ``points``. Statements without a name there get 0.
    pilot : DataFrame, RowCounts, path, or None
        Public rows with labels.
    schema : Schema
        The statements of the fit.
    costs : ErrorCosts or None
        What the pilot's rows weigh.
    counted : sequence of str
        Digests of released models whose cost is added up already.

    Raises
    ------
    CalibrationError
        If both are given, or the prior is about other statements or labels.
    TableError
        If the pilot cannot be read by the schema, or has rows of one label only.

    Notes
    -----
    **Guarantee.** What it returns is public as far as prior and pilot are.
    """
    if prior is None and pilot is None:
        return None
    if prior is not None and pilot is not None:
        raise CalibrationError(
            "a fit must start from one thing, but prior and pilot are given; leave one out."
        )
    if prior is not None:
        return _from_prior(prior, schema, counted)
    return _from_pilot(pilot, schema, costs)


def _read(path: str | PathLike[str]) -> Any:
    """Return the model in a file, or the points by statement of a JSON object or a schema file."""
    if Path(path).suffix.lower() == ".toml":
        return schema_points(path)
    record = read_object(Path(path), "a prior")
    return load_model(path) if "format" in record else record


def _from_pilot(pilot: Any, schema: Schema, costs: ErrorCosts | None) -> PublicStart:
    # Costs decide nothing of how rows are counted.
    is_counted = isinstance(pilot, RowCounts)
    same = is_counted and pilot.schema.at_equal_costs() == schema.at_equal_costs()
    rows = count_rows(pilot, pilot.schema if same else schema)
    if not rows.positives.sum() or not rows.negatives.sum():
        raise TableError(
            "a pilot must have rows of both labels, but this one has not; take more public rows."
        )
    numbers = np.column_stack([rows.points, rows.positives, rows.negatives]).astype("<i8")
    digest = hashlib.sha256(schema.digest().encode() + numbers.tobytes()).hexdigest()
    return PublicStart(
        weights=weights_of_rows(rows.table, HullShape.of_schema(schema), costs),
        source=f"logistic regression on {rows.n_rows:,} public rows, sha256 {digest[:_DIGITS]}",
    )


def _from_prior(prior: Any, schema: Schema, counted: Sequence[str]) -> PublicStart:
    if isinstance(prior, str | PathLike):
        prior = _read(prior)
    if isinstance(prior, Mapping):
        score = _mapped(prior)
        text = repr(sorted((name, float(value)) for name, value in prior.items()))
        digest = hashlib.sha256(text.encode()).hexdigest()
        source = f"given points, sha256 {digest[:_DIGITS]}"
        conditions: tuple[str, ...] = (MADE_WITHOUT_ROWS,)
    else:
        score = _released(prior)
        digest = prior.to_dict()["sha256"]
        source, receipt = f"a released model, sha256 {digest[:_DIGITS]}", prior.receipt
        delta = f" and delta {receipt.delta:g}" if receipt.delta else ""
        if receipt.guarantee == Guarantee.VOID.value:  # it promises nothing, so nothing adds up
            conditions = (MADE_WITHOUT_ROWS,)
        elif digest in counted:
            source, conditions = f"{source}, which the ledger has", ()
        else:
            conditions = (
                f"{_COST} epsilon {receipt.epsilon:g}{delta}, is added to this where it was "
                "learned from the same rows",
            )
        # What the start itself started from is a condition on its own receipt.
        conditions += tuple(
            one
            for one in receipt.conditions
            if one == MADE_WITHOUT_ROWS or one.startswith(_COST)
            if one not in conditions
        )
    sign = _sign(score, schema)
    return PublicStart(
        weights=_weights(score, schema, sign),
        source=source,
        conditions=conditions,
        points=score.points(schema, sign),
    )


def whole_points(start: PublicStart, schema: Schema, bound: int | None = None) -> tuple[int, ...]:
    """Return a start as a card in whole points, those that everyone has first.

    Parameters
    ----------
    start : PublicStart
        By the schema.
    schema : Schema
        Its statements; points beyond its limits are the nearest allowed.
    bound : int or None
        Largest points of a statement. None: points that were given stay up to 10, and what has to
        be rounded gets up to 5.

    Returns
    -------
    tuple of int
        A total of 1 or more is the positive label. Those that everyone has are no more than decide
        every answer.
    """
    points = start.points
    if points is None or max(map(abs, points[1:])) > (LARGEST_POINTS if bound is None else bound):
        weights = list(map(float, start.weights))
        unit = (ROUNDED_START if bound is None else bound) / (max(map(abs, weights[1:])) or 1.0)
        # Rounded up, it leaves each decision of whole points as it is.
        points = (math.ceil(weights[0] * unit), *(round(weight * unit) for weight in weights[1:]))
    rest = list(map(int, within_limits(points[1:], schema)))
    most = sum(map(abs, rest)) + 1
    return (max(-most, min(most, points[0])), *rest)


def _mapped(points: Mapping[Any, Any]) -> _Score:
    """Return what a mapping of names to points says, decided at a total of 1 as a card is."""
    for name, value in points.items():
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not isinstance(name, str) or not is_number or not -_MOST <= value <= _MOST:
            raise CalibrationError(
                "a prior of points must map names of statements to numbers of at most "
                f"{_MOST:,} in size, but {quoted(name)} has none; correct it."
            )
    rest = {name: float(value) for name, value in points.items() if name != CONSTANT}
    if not any(rest.values()):
        raise CalibrationError("a prior must have points for a statement; leave it out.")
    constant = float(points.get(CONSTANT, 0.0)) - 0.5
    return _Score(
        constant=constant, weights=rest, towards=None, is_odds=False, least=1, whole=points
    )


def _released(model: Any) -> _Score:
    """Return what a released model says."""
    if isinstance(model, SavedModel):
        card = model.scorecard
        scale = model.odds or OddsScale(points0=card.threshold - 0.5, odds0=1, pdo=math.log(2))
        return _Score(
            constant=float(scale.log_odds(card.start)),
            weights={
                n: p * scale.per_point for n, p in zip(card.columns, card.points, strict=True)
            },
            towards=card.classes[1],
            is_odds=model.odds is not None,
            least=card.threshold,
            whole={CONSTANT: card.start, **dict(zip(card.columns, card.points, strict=True))},
        )
    if getattr(model, "schema", None) is None or not hasattr(model, "coefficients"):
        raise CalibrationError(
            "a prior must be a scorecard or a linear model of two classes by a schema, or points "
            f"by the names of its statements, got {type(model).__name__}; give one of these."
        )
    return _Score(
        constant=model.intercept,
        weights=dict(zip(model.columns, model.coefficients, strict=True)),
        towards=model.classes[1],
        is_odds=model.receipt.loss == "logistic",
    )


def _sign(score: _Score, schema: Schema) -> int:
    """Return 1 if a score is towards the schema's positive label, -1 if towards the other.

    Raises
    ------
    CalibrationError
        If it is about other statements or labels.
    """
    unknown = [n for n, w in score.weights.items() if w and n not in schema.column_names]
    if unknown:
        raise CalibrationError(
            f"a prior must be about statements of the schema, but {quoted(unknown[0])} is none; "
            "declare it, or leave its points out."
        )
    labels = [canonical_text(label) for label in schema.classes]
    towards = labels[1] if score.towards is None else canonical_text(score.towards)
    if towards not in labels:
        raise CalibrationError(
            "a prior must tell the schema's labels apart, "
            f"{' and '.join(map(repr, schema.classes))}; give a model of these."
        )
    return 1 if towards == labels[1] else -1


def _weights(score: _Score, schema: Schema, sign: int) -> Any:
    """Return a score's weights for the statements of a schema, towards its positive label."""
    own = [score.weights.get(name, 0.0) for name in schema.column_names]
    factor = sign if score.is_odds else sign * START_SPREAD / (_spread(own, schema) or 1.0)
    return rounded_weights(factor * weight for weight in (score.constant, *own))


def _spread(weights: Sequence[float], schema: Schema) -> float:
    """Return a score's standard deviation where all rows that a schema allows are as likely."""
    variance = 0.0
    for group in column_structure(schema):
        own = [weights[column - 1] for column in group.columns]
        if group.kind == "free":
            variance += sum(weight * weight for weight in own) / 4
        else:
            sums = np.cumsum(own) if group.kind == "nested" else np.array(own)
            variance += float(np.var([0.0, *sums]))
    return math.sqrt(variance)
