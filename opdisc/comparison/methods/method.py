"""What a comparison compares: a method fits a task and hands back something that predicts.

A module named in :data:`SOURCES` contributes its tuple ``METHODS``. Workers look methods up by
name, so a method's functions need not be picklable. Importing a source must be cheap and must not
need an optional package. ``fit`` imports what it needs, and its failure becomes a row.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from opdisc.arguments import check_choice
from opdisc.data import Schema
from opdisc.errors import OPDiscError, PublicMistake
from opdisc.models import Scorecard
from opdisc.privacy import NeighboringRelation, PrivacyReceipt
from oracles.arithmetic import BoolArray, FloatArray, IntArray
from oracles.problem import ErrorCosts

Family: TypeAlias = Literal["opdisc", "convex", "reference", "peer"]

Classes: TypeAlias = Literal["two", "several", "any"]

Tuning: TypeAlias = Literal["fixed", "non-private", "private"]

ROWS_GUESS = 10_000
"""Public constant that every method plans for where the number of rows is private."""

SOURCES = (
    "opdisc.comparison.methods.scorecards",
    "opdisc.comparison.methods.classes",
    "opdisc.comparison.methods.linear",
    "opdisc.comparison.methods.references",
    "opdisc.comparison.methods.majority",
    "opdisc.comparison.methods.naive_bayes",
    "opdisc.comparison.methods.moments",
    "opdisc.comparison.methods.tuning",
    "opdisc.comparison.methods.paper",
    "opdisc.comparison.peer_methods",
)


class ComparisonError(OPDiscError, ValueError):
    """A comparison cannot be planned, started or resumed as asked."""


class ComparisonMistake(ComparisonError, PublicMistake):
    """What was asked for, or a directory of results, breaks a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTask:
    """One fit and its evaluation, in one process.

    Parameters
    ----------
    table : DataFrame
        Training rows: raw columns of the schema, target included.
    test : DataFrame
        Held-out rows with the same columns; no rows where nothing is held out. Not for fitting.
    schema : Schema
        Public facts.
    epsilon : float or None
        Privacy loss; None for a method that is not private.
    delta : float
        For methods that need one. A method with a pure guarantee ignores it.
    relation : NeighboringRelation
        Which tables are neighbours.
    weight_bound : int or "auto"
        Points of scorecards are in ``-weight_bound .. weight_bound``; "auto" only for methods
        that decide it themselves.
    oracle : str
        Who minimises, for methods that have a choice.
    time_limit : float or None
        Seconds after which the process of this run is ended from outside; for information.
    seed : int
        For things that are not private: splits, references, peers. The private methods of this
        package use the operating system's randomness instead.
    noise_seed : int or None
        Set only where several oracles are given the same noise on purpose; the receipt is VOID.
    peers : str or None
        Python interpreter of the environment that holds external peers.
    error_costs : ErrorCosts
        What a mistake costs. The schema states the same, but to methods whose loss counts every
        mistake alike.
    patience : float or None
        Seconds that a fit may be expected to take, where a method chooses by that; None: its own
        default.
    prior, pilot : str or None
        Files to start from, for methods that can.
    """

    table: pd.DataFrame
    test: pd.DataFrame
    schema: Schema
    epsilon: float | None
    delta: float
    relation: NeighboringRelation
    weight_bound: int | Literal["auto"]
    oracle: str
    time_limit: float | None
    seed: int
    noise_seed: int | None = None
    peers: str | None = None
    error_costs: ErrorCosts = ErrorCosts()
    patience: float | None = None
    prior: str | None = None
    pilot: str | None = None

    @property
    def public_row_guess(self) -> int | None:
        """A public constant to plan for, where the number of rows is private; else None."""
        return None if self.relation is NeighboringRelation.REPLACE_ONE else ROWS_GUESS

    @property
    def log_odds(self) -> float:
        """From which log-odds of the positive class on it is the cheaper prediction."""
        return math.log(self.error_costs.false_positive / self.error_costs.false_negative)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What a fit hands back.

    Parameters
    ----------
    predict : callable
        Table of n raw rows to bool array (n,): whether the positive class is predicted. Of more
        than two classes: to int array (n,), positions in declared order.
    scores : callable or None
        Table to float array (n,), larger for the positive class; None where there is no score. Of
        more than two classes: to float array (n, n_classes).
    chances : callable or None
        Table to float array (n,): probability of the positive class, where a method states one.
    receipt : PrivacyReceipt or None
        The privacy statement, if the method writes one.
    scorecard : Scorecard or None
        The scorecard, where one is learned.
    scorecards : tuple of Scorecard
        All of them, where several classes need several.
    parameters : mapping
        What was chosen or learned about settings, as JSON types.
    delta : float or None
        What was spent where there is no receipt; None where there is one or nothing was spent.
    guarantee, label, theorem : str or None
        Where there is no receipt. The first is HOLDS, CONDITIONAL or VOID, the second proven,
        published or refuted, the third the statement it rests on.
    conditions : tuple of str
        What the guarantee rests on; added to those of the receipt.
    unit : str or None
        Who is protected, in words, where there is no receipt; None where nobody is.
    """

    predict: Callable[[pd.DataFrame], BoolArray | IntArray]
    scores: Callable[[pd.DataFrame], FloatArray] | None = None
    chances: Callable[[pd.DataFrame], FloatArray] | None = None
    receipt: PrivacyReceipt | None = None
    scorecard: Scorecard | None = None
    scorecards: tuple[Scorecard, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    delta: float | None = None
    guarantee: str | None = None
    label: str | None = None
    theorem: str | None = None
    conditions: tuple[str, ...] = ()
    unit: str | None = None


def same_for_all(table: pd.DataFrame) -> FloatArray:
    """Return the scores of a method that gives everyone the same answer: all 0."""
    return np.zeros(len(table))


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A way to learn a classifier, as a comparison names it.

    Parameters
    ----------
    name, title : str
        Key on the command line, and words for a figure's legend.
    family : str
        "opdisc", "convex", "reference" or "peer".
    private : bool
        Whether the fit is differentially private in the training rows, tuning aside.
    tuning : str
        "fixed" settings, "non-private" search on the private rows, or "private" selection.
    fit : callable
        FitTask to Fitted; any exception becomes a row of the results.
    requires : str
        What must be there besides opdisc's own dependencies; "" for nothing. "peers": the
        interpreter named by ``--peers``. "start": the file named by ``--prior`` or ``--pilot``.
        Else an importable module's name.
    summary : str
        One sentence for the list of methods.
    uses_oracle : bool
        Whether an oracle minimises, so that sweeping oracles makes sense.
    has_grid : bool
        Whether it learns points in ``-weight_bound .. weight_bound``; "name@B" then asks for B.
    automatic_bound : bool
        Whether it can decide that bound itself; "name@auto" then asks for it.
    classes : str
        What it tells apart: "two" classes, "several" (more than two), or "any" number.
    """

    name: str
    title: str
    family: Family
    private: bool
    tuning: Tuning
    fit: Callable[[FitTask], Fitted]
    requires: str = ""
    summary: str = ""
    uses_oracle: bool = False
    has_grid: bool = False
    automatic_bound: bool = False
    classes: Classes = "two"

    def takes(self, n_classes: int) -> bool:
        """Return whether it tells so many classes apart."""
        return self.classes in ("any", "two" if n_classes == 2 else "several")


@cache
def registry() -> Mapping[str, Method]:
    """Return every method by name, in the order of :data:`SOURCES`."""
    found: dict[str, Method] = {}
    for source in SOURCES:
        if importlib.util.find_spec(source) is None:
            continue
        for method in importlib.import_module(source).METHODS:
            assert method.name not in found, method.name
            found[method.name] = method
    return MappingProxyType(found)


def find_method(name: str) -> Method:
    """Return the method of that name.

    Parameters
    ----------
    name : str
        A key of :func:`registry`, or "module:attribute" for a method of one's own, which must be
        importable wherever runs happen.

    Raises
    ------
    ComparisonError
        If there is none.
    """
    module, colon, attribute = name.partition(":")
    if colon:
        return _own_method(module, attribute)
    known = registry()
    check_choice("a method", name, known, error=ComparisonMistake)
    return known[name]


@cache
def _own_method(module: str, attribute: str) -> Method:
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not isinstance(found, Method):
        raise ComparisonMistake(
            f"a method of your own must be an importable Method, but '{module}:{attribute}' is "
            "not; write it as module:attribute."
        )
    return found
