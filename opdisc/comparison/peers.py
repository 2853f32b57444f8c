"""External peers, run by a Python interpreter of their own.

diffprivlib needs an older scikit-learn than this package may be installed with, so its
classifiers and InterpretML's run in a child process of another environment. They see encoded
columns and public facts only, and use their own secure random numbers. What they promise is
theirs: the row of results says how they document it, and on which conditions.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from opdisc.comparison import peer_worker
from opdisc.comparison.methods import BoolArray, ComparisonError, Fitted, FloatArray, Method, Task
from opdisc.convex.features import LinearFeatures
from opdisc.encoding import encode_features, encode_labels
from opdisc.schema import Schema

VARIABLE = "OPDISC_PEERS"
"""Environment variable that names the interpreter where ``--peers`` does not."""

RECIPE = (
    "python -m venv peers && peers/bin/pip install diffprivlib interpret-core 'scikit-learn<1.8'"
)
"""How to make the environment; its interpreter is then peers/bin/python."""

Form = Literal["unit rows", "columns", "levels"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """An external classifier and what its authors say about its privacy.

    Parameters
    ----------
    name, title, summary : str
        As in :class:`~opdisc.comparison.methods.Method`.
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
    """

    name: str
    title: str
    summary: str
    form: Form
    settings: Mapping[str, Any]
    theorem: str
    conditions: tuple[str, ...]
    needs_delta: bool = False
    per_epsilon: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def settings_at(self, epsilon: float) -> dict[str, Any]:
        """Return the settings for an epsilon; they depend on nothing else."""
        powers = self.per_epsilon.items()
        return {**self.settings, **{name: at * epsilon**power for name, (at, power) in powers}}


_PEER_WORD = "the peer's own proof, code and floating-point noise are right; none was checked here"

# The settings that are not a library's defaults (C, n_estimators, max_depth) were tried on the
# census table, which is public, to give each peer its best.
PEERS = (
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
            "the minimiser is exact; replace-one, as in the paper it implements",
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
        ),
        needs_delta=True,
    ),
)


def find_interpreter(given: str | None) -> str:
    """Return the path of the peers' interpreter.

    Parameters
    ----------
    given : str or None
        What ``--peers`` named; None looks at the environment variable ``OPDISC_PEERS``.

    Raises
    ------
    ComparisonError
        If neither names an executable; the message says how to make the environment.
    """
    named = given or os.environ.get(VARIABLE)
    if not named:
        raise ComparisonError(
            "external peers need a Python environment of their own, and none is named; make one "
            f"by {RECIPE}, then give --peers peers/bin/python or set {VARIABLE}."
        )
    found = shutil.which(str(Path(named).expanduser()))
    if found is None:
        raise ComparisonError(
            f"the peers' interpreter must be an executable file, '{named}' is not; make one by "
            f"{RECIPE}."
        )
    return found


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


class PeerProcess:
    """A child of the peers' interpreter that holds one fitted model at a time.

    Parameters
    ----------
    interpreter : str
        Path of the Python that has the peers.

    Notes
    -----
    The child ends with this object, and with this process.
    """

    def __init__(self, interpreter: str) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        # -I: nothing of this environment, the directory of the script included, is importable.
        self._child = subprocess.Popen(
            [interpreter, "-I", peer_worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.close = weakref.finalize(self, _end, self._child)

    @property
    def is_alive(self) -> bool:
        """Whether the child is still there."""
        return self._child.poll() is None

    def ask(self, header: dict[str, Any], **arrays: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Send one message and return the reply.

        Parameters
        ----------
        header : dict
            JSON types.
        **arrays : ndarray
            Numbers or fixed-width text.

        Raises
        ------
        ComparisonError
            If the child ended, or reports a failure.
        """
        assert self._child.stdin is not None and self._child.stdout is not None
        try:
            peer_worker.write_message(self._child.stdin, header, **arrays)
            reply = peer_worker.read_message(self._child.stdout)
        except OSError:
            reply = None
        if reply is None:
            raise ComparisonError(
                "the peers' interpreter ended without an answer; try it by hand, or make a new "
                f"environment by {RECIPE}."
            )
        if "error" in reply[0]:
            raise ComparisonError(_explained(str(reply[0]["error"])))
        return reply


def _explained(error: str) -> str:
    if error.startswith(("ModuleNotFoundError", "ImportError", "PackageNotFoundError")):
        return (
            f"the peers' environment lacks a package ({error}); make a new one by {RECIPE} and "
            "give its interpreter."
        )
    return f"the peer failed: {error}"


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    child.wait()


class _Lease:
    """The use of a process by one fitted model; without the model it is free for another fit."""

    def __init__(self, interpreter: str) -> None:
        idle = _idle.setdefault(interpreter, [])
        idle[:] = [process for process in idle if process.is_alive]
        self.process = idle.pop() if idle else PeerProcess(interpreter)

    def keep_afterwards(self, interpreter: str) -> None:
        """Let the process outlive the model: starting one costs more than most fits."""
        weakref.finalize(self, _idle[interpreter].append, self.process)


_idle: dict[str, list[PeerProcess]] = {}


def fit_peer(peer: Peer, task: Task) -> Fitted:
    """Fit one peer in a process that no other fitted model uses.

    Parameters
    ----------
    peer : Peer
        Which.
    task : Task
        Its ``epsilon`` is handed over as it is, whatever the peer's relation; see the conditions.

    Returns
    -------
    Fitted
        ``parameters["fit_seconds"]`` is the fit's own time, without starting the interpreter.

    Raises
    ------
    ComparisonError
        If there is no interpreter, the peer needs delta > 0, or it failed.
    """
    interpreter = find_interpreter(task.peers)
    if task.epsilon is None or not 0 < task.epsilon < math.inf:
        raise ComparisonError(f"{peer.name} needs a finite epsilon > 0, got {task.epsilon!r}.")
    if peer.needs_delta and not task.delta > 0:
        raise ComparisonError(f"{peer.name} needs delta > 0, got {task.delta!r}; give one.")
    settings = peer.settings_at(task.epsilon)
    labels = encode_labels(task.table, task.schema)
    kept = labels != 0
    header = {
        "peer": peer.name,
        "epsilon": task.epsilon,
        "delta": task.delta,
        "settings": settings,
        "feature_types": feature_types(task.schema),
    }
    lease = _Lease(interpreter)
    rows = public_rows(task.table, task.schema, peer.form)
    reply, _ = lease.process.ask(header, X=rows[kept], y=(labels[kept] > 0).astype(np.int64))
    lease.keep_afterwards(interpreter)

    def scores(table: pd.DataFrame) -> FloatArray:
        _, arrays = lease.process.ask({}, X=public_rows(table, task.schema, peer.form))
        return np.asarray(arrays["scores"], dtype=np.float64)

    def predict(table: pd.DataFrame) -> BoolArray:
        return scores(table) > 0

    return Fitted(
        predict=predict,
        scores=scores,
        parameters={
            **settings,
            "form": peer.form,
            "fit_seconds": reply["seconds"],
            "peer_versions": reply["versions"],
        },
        delta=task.delta if peer.needs_delta else 0.0,
        guarantee="CONDITIONAL",
        label="published",
        theorem=peer.theorem,
        conditions=peer.conditions,
    )


def _method(peer: Peer) -> Method:
    def fit(task: Task) -> Fitted:
        return fit_peer(peer, task)

    return Method(
        name=peer.name,
        title=peer.title,
        family="peer",
        private=True,
        tuning="fixed",
        fit=fit,
        requires="peers",
        summary=peer.summary,
    )


METHODS = tuple(_method(peer) for peer in PEERS)
"""The peers as methods of a comparison."""
