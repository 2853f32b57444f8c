"""Hull perturbation on two tables of one column, where its noise is as small as it may be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from opdisc.audit.convex import ConvexAuditCase, overspent
from opdisc.convex import (
    ConvexPublic,
    HullShape,
    Rows,
    hull_perturbation,
    smooth_hull_perturbation,
)
from opdisc.data import EncodedTable
from opdisc.privacy import EntropySource, NeighboringRelation, PrivacyParams
from oracles.convex import HuberisedHingeLoss, LogisticLoss, RowBounds, with_costs
from oracles.problem import ColumnGroup, ErrorCosts

_SHAPE = HullShape.of_groups((ColumnGroup(columns=(1,)),))

_OTHERS = ((1.0, 0.0, 1.0), (1.0, 0.0, -1.0))
"""Rows of both tables: the constant, the column, the label."""


def hull_audit_cases() -> tuple[ConvexAuditCase, ...]:
    """Return rows that turn their label, one that is removed, and one that costs five times."""
    replaced, added = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
    equal, costly = ErrorCosts(), ErrorCosts(false_negative=5, false_positive=1)
    hinge = _case("smooth_hull_perturbation", replaced, (1.0, 1.0, -1.0), equal)
    return (
        replace(hinge, public=_hinge_facts(hinge.public), release=_smooth_release),
        _case("hull_perturbation, replace", replaced, (1.0, 1.0, -1.0), equal),
        _case("hull_perturbation, remove", added, None, equal),
        _case("hull_perturbation, costs", added, None, costly),
    )


def _case(
    name: str,
    relation: NeighboringRelation,
    second: tuple[float, float, float] | None,
    costs: ErrorCosts,
) -> ConvexAuditCase:
    first = ((1.0, 1.0, 1.0), *_OTHERS)
    removed = relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    return ConvexAuditCase(
        name=name,
        tables="one row " + ("removed" if removed else "replaced"),
        public=_facts(None if removed else len(first), relation, costs),
        first=_rows(first),
        second=_rows(_OTHERS if second is None else (second, *_OTHERS)),
        release=_release,
        divisor=8.0,
        louder=overspent,
    )


def _facts(
    n_rows: int | None, relation: NeighboringRelation, costs: ErrorCosts
) -> Callable[[float], ConvexPublic]:
    def public(epsilon: float) -> ConvexPublic:
        return ConvexPublic(
            params=PrivacyParams(epsilon=epsilon, delta=0.0),
            relation=relation,
            loss=with_costs(LogisticLoss(), costs),
            bounds=RowBounds(l2=math.sqrt(2.0), linf=1.0),
            dimension=2,
            n_rows=n_rows,
        )

    return public


def _hinge_facts(public: Callable[[float], ConvexPublic]) -> Callable[[float], ConvexPublic]:
    """Return the same facts with the smoothed hinge."""

    def hinge(epsilon: float) -> ConvexPublic:
        return replace(public(epsilon), loss=HuberisedHingeLoss())

    return hinge


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
