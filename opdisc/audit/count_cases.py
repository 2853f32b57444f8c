"""Noisy counts and drawn thresholds, on two neighbouring tables of a row or a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from opdisc.audit.case import AuditCase, Draw, Event, with_facts
from opdisc.audit.controls import overspent
from opdisc.mechanisms import (
    calibrate_risks,
    calibrate_tables,
    calibrate_validation,
    draw_cuts,
    noisy_counts,
    noisy_tables,
    plan_cuts,
)
from opdisc.privacy import EntropySource, NeighboringRelation, PrivacyParams, PublicInputs
from oracles.arithmetic import IntArray, RandomBits

_SHARE = 0.5
"""The counts of a card that leaves them half are audited at what they cost."""

_Tables = tuple[IntArray, IntArray]


def _one_row(epsilon: float) -> PublicInputs:
    return PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        n_rows=1,
    )


def _case(
    name: str, tables: str, pair: tuple[Any, Any], draw: Draw, event: Event, effort: float = 1.0
) -> AuditCase:
    """Return a case whose control has half the noise."""
    return AuditCase(
        name=name,
        tables=tables,
        first=pair[0],
        second=pair[1],
        public=_one_row,
        draw=draw,
        control=with_facts(draw, partial(overspent, divisor=2.0)),
        event=event,
        effort=effort,
    )


def count_audit_cases() -> dict[str, AuditCase]:
    """Return the counts of a risk table, of a validation and of attribute tables.

    One row's label flips: one count falls by 1, another grows, the worst of replace-one. In
    attribute tables the row's attribute changes too. Each event is where the ratio of the two laws
    is largest.
    """
    flips, labels = "one label flips, n = 1", (np.array([1, 0]), np.array([0, 1]))
    risks, validation = _counts(_risk_rate), _counts(_validation_rate)
    attributes = (_attribute_tables(0), _attribute_tables(1))
    return {
        "risk_table": _case("risk table", flips, labels, risks, _has_moved),
        "validation": _case("validation", flips, labels, validation, _has_moved),
        "attribute_tables": _case(
            "attribute tables",
            "one row becomes another",
            attributes,
            _noisy_tables,
            _both_moved,
            3,
        ),
    }


def threshold_audit_cases() -> dict[str, AuditCase]:
    """Return a median between two places.

    Of eight rows four and then all lie below the two places: in halves of a row the losses are
    (0, 8). The other table has one row moved from below both to above: (2, 6).
    """
    ranks = (np.array([4, 8, 8]), np.array([3, 7, 8]))
    return {
        "thresholds_median": _case(
            "private thresholds", "two places, one row moves", ranks, _median, _is_higher, 3
        ),
    }


def _counts(rate: Callable[[PublicInputs], Fraction]) -> Draw:
    def draw(
        table: IntArray, public: PublicInputs, size: int, entropy: EntropySource
    ) -> Sequence[Any]:
        return list(noisy_counts(np.tile(table, (size, 1)), rate(public), entropy))

    return draw


def _has_moved(counts: IntArray) -> bool:
    return bool(counts[0] < 1 and counts[1] > 0)


def _risk_rate(public: PublicInputs) -> Fraction:
    whole = PrivacyParams(epsilon=public.params.epsilon / _SHARE, delta=0.0)
    return calibrate_risks(replace(public, params=whole), _SHARE).rate


def _validation_rate(public: PublicInputs) -> Fraction:
    return calibrate_validation(public, 1).rate


def _attribute_tables(positive: int) -> _Tables:
    """Return the counts of one row by label, and by label and value."""
    labels, cells = np.zeros((2, 1), dtype=np.int64), np.zeros((2, 2), dtype=np.int64)
    labels[positive, 0] = cells[positive, positive] = 1
    return labels, cells


def _noisy_tables(
    tables: _Tables, public: PublicInputs, size: int, entropy: EntropySource
) -> Sequence[Any]:
    spec = calibrate_tables(public, tuple(table.shape for table in tables))
    shapes = tuple((size * len(table), table.shape[1]) for table in tables)
    many = [np.tile(table, (size, 1)) for table in tables]
    labels, cells = noisy_tables(many, replace(spec, shapes=shapes), entropy)
    return list(zip(labels.reshape(size, 2, 1), cells.reshape(size, 2, 2), strict=True))


def _both_moved(tables: _Tables) -> bool:
    labels, cells = tables
    return bool(labels[0, 0] < 1 and labels[1, 0] > 0 and cells[0, 0] < 1 and cells[1, 1] > 0)


def _median(
    ranks: IntArray, public: PublicInputs, size: int, entropy: EntropySource
) -> Sequence[Any]:
    cuts = plan_cuts(1, Fraction(public.params.epsilon), public.relation, 1)
    bits = RandomBits(entropy)
    return [draw_cuts(cuts, ranks, bits) for _ in range(size)]


def _is_higher(places: tuple[int, ...]) -> bool:
    return places == (1,)
