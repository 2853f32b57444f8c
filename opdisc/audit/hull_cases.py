"""Hull perturbation on two tables of one column, where its noise is as small as it may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from opdisc.audit.case import AuditCase, one_by_one, with_facts
from opdisc.audit.controls import overspent
from opdisc.convex import (
    ConvexPublic,
    HullShape,
    Rows,
    hull_perturbation,
    smooth_hull_perturbation,
)
from opdisc.data import EncodedTable
from opdisc.privacy import EntropySource, NeighboringRelation, PrivacyParams
from oracles.convex import HuberisedHingeLoss, LinearLoss, LogisticLoss, RowBounds, with_costs
from oracles.problem import ColumnGroup, ErrorCosts

_SHAPE = HullShape.of_groups((ColumnGroup(columns=(1,)),))

_OTHERS = ((1.0, 0.0, 1.0), (1.0, 0.0, -1.0))
"""Rows of both tables: the constant, the column, the label."""


_TURNED = (1.0, 1.0, -1.0)
"""The row of the first table with its label turned."""


def hull_audit_cases() -> tuple[AuditCase, ...]:
    """Return rows that turn their label, one that is removed, and one that costs five times."""
    logistic, hinge = LogisticLoss(), HuberisedHingeLoss()
    costly = with_costs(logistic, ErrorCosts(false_negative=5, false_positive=1))
    return (
        _case("smooth_hull_perturbation", _smooth_release, hinge, _TURNED),
        _case("hull_perturbation, replace", _release, logistic, _TURNED),
        _case("hull_perturbation, remove", _release, logistic, None),
        _case("hull_perturbation, costs", _release, costly, None),
    )


def _case(
    name: str,
    release: Callable[[Rows, ConvexPublic, EntropySource], float],
    loss: LinearLoss,
    second: tuple[float, float, float] | None,
) -> AuditCase:
    """Return a case whose second table has ``second`` for the first row, or nothing."""

    def public(epsilon: float) -> ConvexPublic:
        return ConvexPublic(
            params=PrivacyParams(epsilon=epsilon, delta=0.0),
            relation=NeighboringRelation.ADD_OR_REMOVE_ONE
            if second is None
            else NeighboringRelation.REPLACE_ONE,
            loss=loss,
            bounds=RowBounds(l2=math.sqrt(2.0), linf=1.0),
            dimension=2,
            n_rows=None if second is None else 1 + len(_OTHERS),
        )

    draw = one_by_one(release)
    return AuditCase(
        name=name,
        tables="one row " + ("removed" if second is None else "replaced"),
        first=_rows(((1.0, 1.0, 1.0), *_OTHERS)),
        second=_rows(_OTHERS if second is None else (second, *_OTHERS)),
        public=public,
        draw=draw,
        control=with_facts(draw, partial(overspent, divisor=8.0)),
        divisor=8.0,
    )


def _rows(rows: tuple[tuple[float, float, float], ...]) -> Rows:
    table = np.array(rows)
    return Rows(X=table[:, :2].copy(), y=table[:, 2].copy())


def _release(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
    """Return the score of the row that differs: large if it is positive."""
    released = hull_perturbation(_table(rows), _SHAPE, public, entropy=entropy)
    return float(released.parameters.sum())


def _smooth_release(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
    weights, _ = smooth_hull_perturbation(_table(rows), _SHAPE, public, entropy=entropy)
    return float(weights.sum())


def _table(rows: Rows) -> EncodedTable:
    points, where = np.unique(rows.X, axis=0, return_inverse=True)
    counts = [np.bincount(where, rows.y == sign, len(points)) for sign in (1.0, -1.0)]
    return EncodedTable(
        points=points.astype(np.int8),
        positives=counts[0].astype(np.int64),
        negatives=counts[1].astype(np.int64),
        n_rows=len(rows.y),
    )
