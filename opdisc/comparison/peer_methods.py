"""External peers, run by a Python interpreter of their own.

diffprivlib needs an older scikit-learn than this package may be installed with, so its
classifiers and those of other libraries run in a child process of another environment. They see
encoded columns and public facts only, and draw their own random numbers. What they promise is
theirs: the row of results says how they document it, and on which conditions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from opdisc.comparison.methods import ComparisonError, FitTask, Fitted, Method
from opdisc.comparison.peer_processes import Lease, find_interpreter
from opdisc.convex import LinearFeatures
from opdisc.data import Schema, encode_features, encode_labels
from opdisc.privacy import NeighboringRelation
from oracles.arithmetic import BoolArray, FloatArray

Form = Literal["unit rows", "columns", "levels"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """An external classifier and what its authors say about its privacy.

    Parameters
    ----------
    name, title, summary : str
        As in :class:`~opdisc.comparison.methods.method.Method`.
    form : str
        What it is given: "unit rows" (centred columns and the constant, scaled publicly to norm at
        most 1), "columns" (encoded 0/1 columns), or "levels" (one coded column per attribute).
    settings : mapping
        Fixed public settings, JSON types.
    per_epsilon : mapping
        Settings that are powers of epsilon: each name's value at epsilon 1, and the exponent.
    theorem : str
        What its authors rest on.
    conditions : tuple of str
        What the promise rests on, relation included.
    needs_delta : bool
        Whether its guarantee is approximate.
    share : float
        The part of the comparison's epsilon that it is given.
    private : bool
        Whether it promises anything. A reference without privacy gets no epsilon.
    """

    name: str
    title: str
    summary: str
    form: Form
    settings: Mapping[str, Any]
    theorem: str
    conditions: tuple[str, ...]
    needs_delta: bool = False
    share: float = 1.0
    private: bool = True
    per_epsilon: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def delta_beside(self, epsilon: float, delta: float) -> float:
        """Return what it is given of the comparison's delta, beside an epsilon.

        (e, d) for an added or removed row is (2 e, (1 + exp(e)) d) for a replaced one, which is
        both.
        """
        return delta if self.share == 1 else delta / (1 + math.exp(epsilon))

    def settings_at(self, epsilon: float) -> dict[str, Any]:
        """Return the settings for an epsilon; they depend on nothing else."""
        powers = self.per_epsilon.items()
        return {**self.settings, **{name: at * epsilon**power for name, (at, power) in powers}}


_FOR_REPLACED_ROWS = "replace-one, as in the paper it implements"

_PEER_WORD = "the peer's own proof, code and floating-point noise are right; none was checked here"

# The settings that are not a library's defaults (C, n_estimators, max_depth) were tried on the
# census table, which is public, to give each peer its best. Those of AIM let a fit end: by
# default its model has no limit, and 1,000 inference steps follow each of its rounds.
_PEERS = (
    Peer(
        name="diffprivlib-logistic",
        title="diffprivlib logistic regression",
        summary="Objective perturbation of diffprivlib, on rows scaled publicly to norm 1.",
        form="unit rows",
        settings={"data_norm": 1.0, "fit_intercept": False, "max_iter": 1000},
        per_epsilon={"C": (0.1, 1.5)},
        theorem="Chaudhuri, Monteleoni, Sarwate (2011), Algorithm 2",
        conditions=(
            _PEER_WORD,
            "the minimiser is exact",
            _FOR_REPLACED_ROWS,
            "rows are given to it with the constant column and norm at most 1, because its noise "
            "is too small beyond norm 1, its own intercept included",
        ),
    ),
    Peer(
        name="diffprivlib-naive-bayes",
        title="diffprivlib naive Bayes",
        summary="Gaussian naive Bayes of diffprivlib on the encoded 0/1 columns.",
        form="columns",
        settings={},
        theorem="Vaidya, Shafiq, Basu, Hong (2013)",
        conditions=(
            _PEER_WORD,
            "the relation is not documented: its sensitivities are those of adding or removing "
            "one row while the number of rows is public; replacing a row can cost twice epsilon",
        ),
    ),
    Peer(
        name="diffprivlib-forest",
        title="diffprivlib random forest",
        summary="Random decision forest of diffprivlib on the encoded 0/1 columns.",
        form="columns",
        settings={"n_estimators": 20, "max_depth": 8, "shuffle": True},
        theorem="Fletcher, Islam (2017), with permute-and-flip at the leaves",
        conditions=(
            _PEER_WORD,
            "the relation is not documented: its sensitivities are those of adding or removing "
            "one row of one tree's share; replacing a row can cost twice epsilon",
            "its noise comes from NumPy's global generator, which is not secure",
        ),
    ),
    Peer(
        name="dp-ebm",
        title="DP-EBM (InterpretML)",
        summary="Differentially private explainable boosting, one feature per attribute.",
        form="levels",
        settings={},
        theorem="Nori, Caruana, Bu, Shen, Kulkarni (2021), Gaussian DP composition",
        conditions=(
            _PEER_WORD,
            "the relation is not documented: its sensitivity, one residual of size at most 1, is "
            "that of adding or removing one row; replacing a row can cost more",
            "the number of rows, which it keeps, and which levels of a category occur, which it "
            "reads off the rows, are public",
        ),
        needs_delta=True,
    ),
    Peer(
        name="sbdt",
        title="S-BDT",
        summary="Private boosted trees with Newton steps, built from source.",
        form="columns",
        settings={"trees": 300, "depth": 2, "gradient_bound": 0.5},
        theorem="Peinemann, Kirschte, Stock, Cotrini, Mohammadi (2023), Renyi composition",
        conditions=(
            _PEER_WORD,
            "add-or-remove-one; replacing a row costs twice epsilon",
            "it was built with the line of dp_tree.cpp mended that adds half the noise which its "
            "own accountant assumes to sums of Hessians",
            "its delta, fixed when it is built, is at most that of the comparison",
            "its noise comes from a Mersenne Twister, which is not secure",
        ),
        needs_delta=True,
    ),
    Peer(
        name="dpmm-aim-logistic",
        title="AIM marginals, then logistic regression (dpmm)",
        summary="Synthetic rows by AIM of dpmm, and scikit-learn's logistic regression on them.",
        form="levels",
        settings={"inference_steps": 100, "model_megabytes": 1.0},
        theorem="McKenna, Mullins, Sheldon, Miklau (2022), zero-concentrated composition",
        conditions=(
            _PEER_WORD,
            "add-or-remove-one, with as many synthetic rows as there are rows; replacing a row "
            "costs twice epsilon",
            "what it selects by comes from NumPy's RandomState, which is not secure; its Gaussian "
            "noise is OpenDP's",
        ),
        needs_delta=True,
    ),
)

_REFERENCES = (
    Peer(
        name="fasterrisk",
        title="FasterRisk (not private)",
        summary="Sparse integer scorecards for the logistic loss, without privacy.",
        form="columns",
        settings={"nonzero": 10, "largest_points": 5},
        theorem="",
        conditions=(),
        private=False,
    ),
)


def _at_half(peer: Peer) -> Peer:
    """Return a peer that gets half of epsilon.

    A replaced row is one that is removed and one that is added. So half of epsilon under
    add-or-remove-one is all of it under replace-one; of delta it gets less than half.
    """
    return replace(
        peer,
        name=f"{peer.name}-half",
        title=f"{peer.title} at half of epsilon",
        summary=f"{peer.summary[:-1]}, at half of epsilon: a promise for replaced rows.",
        share=0.5,
    )


_REPLACES_ONE = "diffprivlib-logistic"

PEERS = (*_PEERS, *(_at_half(peer) for peer in _PEERS if peer.name != _REPLACES_ONE), *_REFERENCES)
"""All peers: as they are, at half of epsilon where a replaced row costs twice, and references."""


def public_rows(table: pd.DataFrame, schema: Schema, form: Form) -> NDArray[Any]:
    """Return rows in the form a peer is given; a map of one row and public facts.

    Parameters
    ----------
    table : DataFrame
        Raw rows.
    schema : Schema
        Public facts.
    form : str
        See :class:`Peer`.

    Returns
    -------
    ndarray of shape (n, k)
        float64; of form "levels", text codes, "0" where no column of the attribute is 1.
    """
    encoded = encode_features(table, schema)
    if form == "columns":
        return encoded[:, 1:].astype(np.float64)
    if form == "unit rows":
        features = LinearFeatures.of_schema(schema)
        mapped = encoded.astype(np.float64)
        mapped[:, 1:] = (mapped[:, 1:] - features.centre) / features.scale
        # Rounded away from the bound, so that no row is longer than 1 in floating point.
        return np.asarray(mapped / (features.bounds.l2 * (1 + 1e-12)))
    codes = []
    for attribute in schema.attributes:
        block = encoded[:, list(attribute.indices)].astype(np.int64)
        if attribute.kind == "categories":
            codes.append(block @ np.arange(1, block.shape[1] + 1))
        else:
            codes.append(block.sum(axis=1))
    return np.column_stack(codes).astype("U4")


def feature_types(schema: Schema) -> list[Any]:
    """Return DP-EBM's type of each attribute: nominal, or the public list of ordered levels."""
    types: list[Any] = []
    for attribute in schema.attributes:
        ordered = [str(level) for level in range(len(attribute.indices) + 1)]
        types.append("nominal" if attribute.kind == "categories" else ordered)
    return types


def fit_peer(peer: Peer, task: FitTask) -> Fitted:
    """Fit one peer in a process that no other fitted model uses.

    Parameters
    ----------
    peer : Peer
        Which.
    task : FitTask
        The peer gets its share of ``epsilon``. What it promises under the task's relation, the
        conditions say.

    Returns
    -------
    Fitted
        ``parameters["fit_seconds"]`` is the fit's own time, without starting the interpreter.

    Raises
    ------
    ComparisonError
        If there is no interpreter, the peer needs delta > 0, promises nothing under the task's
        relation, or failed.
    """
    interpreter = find_interpreter(task.peers)
    epsilon = None
    if peer.private:
        if task.epsilon is None or not 0 < task.epsilon < math.inf:
            raise ComparisonError(f"{peer.name} needs a finite epsilon > 0, got {task.epsilon!r}.")
        epsilon = task.epsilon * peer.share
    adds = task.relation is NeighboringRelation.ADD_OR_REMOVE_ONE
    if adds and _FOR_REPLACED_ROWS in peer.conditions:
        raise ComparisonError(
            f"{peer.name} promises for replaced rows only; compare it under replace_one."
        )
    if peer.needs_delta and not task.delta > 0:
        raise ComparisonError(f"{peer.name} needs delta > 0, got {task.delta!r}; give one.")
    settings = dict(peer.settings) if epsilon is None else peer.settings_at(epsilon)
    labels = encode_labels(task.table, task.schema)
    kept = labels != 0
    header = {
        "peer": peer.name,
        "epsilon": epsilon,
        "delta": task.delta if epsilon is None else peer.delta_beside(epsilon, task.delta),
        "settings": settings,
        "feature_types": feature_types(task.schema),
        "levels": [len(attribute.indices) + 1 for attribute in task.schema.attributes],
    }
    lease = Lease(interpreter)
    rows = public_rows(task.table, task.schema, peer.form)
    reply, _ = lease.process.exchange(header, X=rows[kept], y=(labels[kept] > 0).astype(np.int64))
    lease.keep_afterwards(interpreter)

    def scores(table: pd.DataFrame) -> FloatArray:
        _, arrays = lease.process.exchange({}, X=public_rows(table, task.schema, peer.form))
        return np.asarray(arrays["scores"], dtype=np.float64)

    def predict(table: pd.DataFrame) -> BoolArray:
        return scores(table) > 0

    parameters = {
        **settings,
        "form": peer.form,
        "fit_seconds": reply["seconds"],
        "peer_versions": reply["versions"],
    }
    if not peer.private:
        return Fitted(predict=predict, scores=scores, parameters=parameters)
    if peer.share != 1:
        parameters["epsilon_given"] = epsilon
        if peer.needs_delta:
            parameters["delta_given"] = header["delta"]
    return Fitted(
        predict=predict,
        scores=scores,
        parameters=parameters,
        delta=task.delta if peer.needs_delta else 0.0,
        guarantee="CONDITIONAL",
        label="published",
        theorem=peer.theorem,
        conditions=peer.conditions,
        unit="one row",  # whatever the schema's unit: peers know of rows only
    )


def _method(peer: Peer) -> Method:
    def fit(task: FitTask) -> Fitted:
        return fit_peer(peer, task)

    return Method(
        name=peer.name,
        title=peer.title,
        family="peer" if peer.private else "reference",
        private=peer.private,
        tuning="fixed",
        fit=fit,
        requires="peers",
        summary=peer.summary,
    )


METHODS = tuple(_method(peer) for peer in PEERS)
"""The peers as methods of a comparison."""
