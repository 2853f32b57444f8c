"""Tables, losses that count, objectives and optima: what the convex methods are measured on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.arithmetic.arrays import FloatArray
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import HuberisedHingeLoss, LogisticLoss, SigmoidLoss
from oracles.convex.constants import RowBounds
from oracles.convex.linear_losses import LinearLoss

Run = Callable[[Rows, ConvexPublic], FloatArray]

RADIUS, DELTA = 3.0, 1e-6


class Counts:
    """Rows for which a derivative, or a value, was evaluated."""

    derivatives = 0
    values = 0


class _Counted:
    """Counts what a loss is asked for; mixed in before a loss."""

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        Counts.values += len(scores)
        return super().of_scores(scores, y)  # type: ignore[misc]

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        Counts.derivatives += len(scores)
        return super().slopes(scores, y)  # type: ignore[misc]

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        Counts.derivatives += len(scores)
        return super().curvatures(scores, y)  # type: ignore[misc]


class CountedLogistic(_Counted, LogisticLoss):
    """Logistic loss that counts."""


class CountedSigmoid(_Counted, SigmoidLoss):
    """Sigmoid loss that counts."""


class CountedHuber(_Counted, HuberisedHingeLoss):
    """Huberised hinge that counts."""


@dataclass(frozen=True)
class Method:
    """A line of a table: what runs, and what the paper says."""

    name: str
    run: Run
    rate: str
    source: str
    pure: bool = False


@dataclass(frozen=True)
class Setting:
    """A table of a paper: loss, regularisation, what is measured, methods."""

    name: str
    loss: LinearLoss
    ridge: float
    measure: str
    methods: tuple[Method, ...]


def facts(loss: LinearLoss, n: int, epsilon: float, p: int) -> ConvexPublic:
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=DELTA),
        relation=NeighboringRelation.REPLACE_ONE,
        loss=loss,
        bounds=RowBounds(l2=1.0),
        dimension=p,
        domain=L2Ball(dimension=p, radius=RADIUS),
        n_rows=n,
    )


def synthetic(n: int, p: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    chance = 1 / (1 + np.exp(-3 * X[:, 0]))
    return Rows(X=X, y=np.where(rng.random(n) < chance, 1.0, -1.0))


def objective(loss: LinearLoss, rows: Rows, parameters: FloatArray, ridge: float) -> float:
    return rows.sum_value(loss, parameters) / len(rows.y) + 0.5 * ridge * float(
        parameters @ parameters
    )


def optimum(loss: LinearLoss, rows: Rows, ridge: float) -> float:
    """Minimum over the ball, by a general solver."""
    return float(
        optimize.minimize(
            lambda t: objective(loss, rows, t, ridge),
            np.full(rows.X.shape[1], 0.1),
            constraints={"type": "ineq", "fun": lambda t: RADIUS**2 - t @ t},
            options={"ftol": 1e-14, "maxiter": 500},
        ).fun
    )


def quality(setting: Setting, method: Method, rows: Rows, parameters: FloatArray) -> float:
    """Return the excess or the gradient map's squared length; of several points, the mean."""
    if parameters.ndim == 2:
        return float(np.mean([quality(setting, method, rows, point) for point in parameters]))
    p = rows.X.shape[1]
    if setting.name == "not convex":
        loss, ball = SigmoidLoss(), L2Ball(dimension=p, radius=RADIUS)
        slope = rows.sum_gradient(loss, parameters) / len(rows.y)
        beta = loss.curvature_bound()
        return float(
            (beta * np.linalg.norm(parameters - ball.project(parameters - slope / beta))) ** 2
        )
    loss = HuberisedHingeLoss() if "Huberised" in method.name else LogisticLoss()
    found = objective(loss, rows, parameters, setting.ridge)
    return found - optimum(loss, rows, setting.ridge)
