"""Attacks on the edges of a release: what a receipt that says HOLDS must not let through.

The other audits try a mechanism's noise. These try what surrounds it: where labels, types and the
order of the rows come from, and what is promised where no noise is drawn at all. The observer sees
the whole public side of a fit. Each attack is run as the library is, and once more as it would be
without its defence, which a good audit refutes. They use the operating system's random bits,
because a seed makes every receipt VOID, and a receipt that promises nothing cannot be refuted.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pandas as pd

from opdisc.audit.case import AuditCase, Draw, first_seen, one_by_one
from opdisc.data import Schema
from opdisc.errors import OPDiscError
from opdisc.estimators import PrivateScorecardClassifier, RobustVoteClassifier
from opdisc.privacy import EntropySource, NeighboringRelation, PrivacyParams, PublicInputs
from oracles.arithmetic import IntArray

Observation = Hashable | None
"""What an observer sees of one fit; None if nothing was released or nothing was promised."""

View = Callable[[int, float], Observation]
"""From the table, 0 or 1, and the claimed epsilon to what is seen."""


def attack(
    name: str, tables: str, seen: View, careless: View, effort: float = 0.1, least: int = 100
) -> AuditCase:
    """Return a case that compares what an observer sees of a fit to two neighbouring tables.

    Parameters
    ----------
    name, tables : str
        What is attacked, and how the tables differ.
    seen : callable
        The library's own fit.
    careless : callable
        The same without the defence.
    effort, least
        As in :class:`opdisc.audit.AuditCase`.
    """
    return AuditCase(
        name=name,
        tables=tables,
        first=0,
        second=1,
        public=_claim,
        draw=_views(seen),
        control=_views(careless),
        choose=first_seen,
        # There is no noise to divide: the control drops the defence altogether.
        divisor=1.0,
        effort=effort,
        least=least,
    )


def _claim(epsilon: float) -> PublicInputs:
    return PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        n_rows=1,
    )


def _views(view: View) -> Draw:
    """Return views of a table; their fits take the operating system's bits (see the module)."""

    def release(table: int, public: PublicInputs, entropy: EntropySource) -> Observation:
        return view(table, public.params.epsilon)

    return one_by_one(release)


def attack_cases() -> dict[str, AuditCase]:
    """Return the attacks by name."""
    cases = (
        attack(
            "labels_from_rows",
            "one label replaced",
            _labels,
            lambda table, epsilon: tuple(np.unique(_label_rows(table)).tolist()),
        ),
        attack(
            "types_from_rows",
            "one cell replaced",
            _types,
            lambda table, epsilon: _zip_table(table)["zip"].astype(str).iloc[0],
        ),
        attack(
            "preparation_saw_rows",
            "one cell replaced",
            _prepared,
            lambda table, epsilon: _edges(table),
        ),
        attack(
            "order_of_rows",
            "one row leaves, one comes",
            _elected,
            _elected_by_position,
            effort=0.25,
        ),
    )
    return {case.name: case for case in cases}


def _public_side(model: PrivateScorecardClassifier) -> Observation:
    """Return classes, their type and the schema's digest, if the receipt promises anything."""
    if model.receipt_.guarantee != "HOLDS":
        return None
    classes = np.asarray(model.classes_)
    return (str(classes.dtype), tuple(classes.tolist()), model.receipt_.schema_digest)


def _fitted(epsilon: float, X: Any, y: Any, schema: Schema | None) -> Observation:
    model = PrivateScorecardClassifier(
        epsilon=epsilon, schema=schema, weight_bound=1, mechanism="permute_and_flip"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except OPDiscError:
            return None
    return _public_side(model)


def _label_rows(table: int) -> IntArray:
    """Return 199 ones and a 0, or 199 ones and a -1."""
    return np.array([1] * 199 + [-table], dtype=np.int64)


def _labels(table: int, epsilon: float) -> Observation:
    """Without public classes, the names of the classes are read from the rows."""
    return _fitted(epsilon, np.ones((200, 1), dtype=np.int64), _label_rows(table), None)


_ZIP_SCHEMA = {
    "name": "letters",
    "target": {"column": "ill", "positive": 1, "negative": 0},
    "feature": [{"column": "zip", "categories": ["02139", "K1A 0B1"]}],
}


def _zip_table(table: int) -> pd.DataFrame:
    """Return a table as pandas reads it: digits are numbers unless a row has letters."""
    last = ("02140", "K1A 0B1")[table]
    text = "zip,ill\n" + "02139,1\n" * 100 + "02138,0\n" * 99 + f"{last},0\n"
    return pd.read_csv(io.StringIO(text))


def _types(table: int, epsilon: float) -> Observation:
    """One row decides how every other row's category is read."""
    frame, schema = _zip_table(table), Schema.from_dict(_ZIP_SCHEMA)
    seen = _fitted(epsilon, frame, frame["ill"], schema)
    # The rows that both tables share, as the fit read them.
    return None if seen is None else (seen, str(frame["zip"].dtype))


def _values(table: int) -> IntArray:
    """Return 200 values of a column, the last of them 200 or 1,000."""
    return np.append(np.arange(199), (200, 1000)[table])[:, None]


def _edges(table: int) -> tuple[float, ...]:
    """Return three cuts of equal width that were taken from the rows."""
    values = _values(table)
    return tuple(np.linspace(values.min(), values.max(), 5)[1:-1].tolist())


def _prepared(table: int, epsilon: float) -> Observation:
    """Columns that a preparation made of the rows, whose cuts are published with the model."""
    edges = _edges(table)
    columns = (_values(table) >= np.array(edges)).astype(np.int64)
    seen = _fitted(epsilon, columns, np.arange(200) % 2, None)
    return None if seen is None else (seen, edges)


_PARTS, _HALF = 20, 3


def _sorted_rows(table: int) -> IntArray:
    """Return labels in the order of an export; on the second table one row comes to the end.

    With parts by position all twenty parts of the first table have a majority of ones, and ten of
    the second: every row behind the one that left moves to the next part.
    """
    many, few = [1] * _HALF, [0] * (_HALF - 1) + [1]
    first = np.array([many if part % 2 == 0 else few for part in range(_PARTS)]).T.ravel()
    second = np.array([few if part % 2 == 0 else many for part in range(_PARTS)]).T.ravel()
    rows = np.concatenate([first, second])
    if table:
        leaving = len(first)
        rows = np.append(np.delete(rows, leaving), rows[leaving])
    return rows


def _elected(table: int, epsilon: float) -> Observation:
    """Return the winner. Every receipt counts here: the learner keeps to its one condition."""
    labels = _sorted_rows(table)
    X = np.ones((len(labels), 1), dtype=np.int64)
    schema = Schema.from_dict(
        {
            "name": "order",
            "target": {"column": "y", "positive": 1, "negative": 0},
            "feature": [{"column": "x", "binary": True}],
        }
    )
    model = RobustVoteClassifier(
        epsilon=epsilon, schema=schema, n_parts=_PARTS, isolation="none", oracle="enumeration"
    )
    model.fit(pd.DataFrame(X, columns=["x"]), labels)
    return int(model.predict(pd.DataFrame(X[:1], columns=["x"]))[0])


def _elected_by_position(table: int, epsilon: float) -> Observation:
    """Return the winner of two by Laplace noise on the votes of parts by position."""
    labels = _sorted_rows(table)
    parts = np.arange(len(labels)) % _PARTS
    ones = sum(2 * labels[parts == part].sum() > 2 * _HALF for part in range(_PARTS))
    noise = np.random.default_rng().laplace(scale=2 / epsilon)
    return int(2 * ones - _PARTS + noise > 0)
