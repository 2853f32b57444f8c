"""Every convex loss and domain through CVXPY and its interior-point solver Clarabel."""

from __future__ import annotations

import importlib
import sys
import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import HingeLoss, HuberisedHingeLoss, LogisticLoss
from oracles.convex.domain import ExactDomain
from oracles.convex.duality import RealClaim
from oracles.convex.polytopes import Box
from oracles.convex.problem import TiltedProblem
from oracles.convex.regression_losses import AbsoluteLoss, SquaredLoss
from oracles.convex.solve import RealOptions, Session
from oracles.errors import NoHypothesis, UnsupportedProblem


def import_cvxpy() -> Any:
    """Import CVXPY without OR-tools, which it loads to see whether it is there.

    OR-tools and highspy crash when both are loaded into one process, and highspy is ours.
    """
    hidden = "ortools" not in sys.modules
    if hidden:
        sys.modules["ortools"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("cvxpy")
    finally:
        if hidden:
            del sys.modules["ortools"]


# Untyped on purpose: an optional dependency that the type checker may not find.
cvxpy: Any = import_cvxpy()


class CvxpyOracle:
    """Clarabel through CVXPY; the tilt is a parameter, so the model is compiled once."""

    name = "cvxpy"
    proves_partitions = False
    requirement = "takes convex losses only"

    def supports(self, problem: TiltedProblem) -> bool:
        """Return whether the loss is convex."""
        return problem.loss.is_convex

    def session(self, problem: TiltedProblem, options: RealOptions) -> Session:
        """Return a function that minimises the problem under any tilt."""
        return _Model(problem, options)


class _Model:
    """One compiled problem; call it with a tilt."""

    def __init__(self, problem: TiltedProblem, options: RealOptions) -> None:
        self._problem, self._options = problem, options
        self._scale = 1.0 / max(1.0, float(problem.weights.sum()))
        self._theta = cvxpy.Variable(problem.dimension)
        self._scores = cvxpy.Variable(len(problem.targets))
        self._tilt = cvxpy.Parameter(problem.dimension)
        self._link = self._scores == problem.features @ self._theta
        losses = (self._scale * problem.weights) @ _losses(problem, self._scores)
        self._model = cvxpy.Problem(
            cvxpy.Minimize(losses - self._tilt @ self._theta),
            [self._link, *_constraints(problem.domain, self._theta)],
        )

    def __call__(self, tilt: FloatArray) -> RealClaim:
        """Minimise under a tilt."""
        self._tilt.value = self._scale * tilt
        settings: dict[str, Any] = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-10}
        if self._options.time_limit is not None:
            settings["time_limit"] = self._options.time_limit
        # Whatever the solver thinks of its own accuracy: the certificate decides.
        with warnings.catch_warnings(), suppress(cvxpy.error.SolverError):
            warnings.simplefilter("ignore")
            self._model.solve(solver=cvxpy.CLARABEL, **settings)
        if self._theta.value is None:
            raise NoHypothesis("oracle 'cvxpy' must find a point, but it stopped without one.")
        weights = self._scale * self._problem.weights
        duals = self._link.dual_value
        multipliers = None
        if duals is not None:
            # The link's dual is minus the weighted slope of the loss.
            multipliers = np.divide(-duals, weights, out=np.zeros(len(weights)), where=weights > 0)
        point = self._problem.domain.nearest_inside(
            np.asarray(self._theta.value, dtype=np.float64)
        )
        return RealClaim(point=point, multipliers=multipliers, lower_bound=-np.inf)


def _losses(problem: TiltedProblem, scores: Any) -> Any:
    """Return the vector of losses as an expression."""
    y, loss = problem.targets, problem.loss
    margins = cvxpy.multiply(y, scores)
    match loss:
        case HingeLoss():
            return cvxpy.pos(1.0 - margins)
        case LogisticLoss():
            return cvxpy.logistic(-margins)
        case AbsoluteLoss():
            return cvxpy.abs(scores - y)
        case SquaredLoss():
            return 0.5 * cvxpy.square(scores - y)
        case HuberisedHingeLoss(width):
            return cvxpy.huber(cvxpy.pos(1.0 + width - margins), 2 * width) / (4 * width)
    raise UnsupportedProblem(f"oracle 'cvxpy' has no expression for the {loss.name} loss.")


def _constraints(domain: ExactDomain, parameters: Any) -> list[Any]:
    if isinstance(domain, Box):
        return [parameters >= domain.lower, parameters <= domain.upper]
    if isinstance(domain, L1Ball):
        return [cvxpy.norm1(parameters) <= domain.radius]
    if isinstance(domain, L2Ball):
        return [cvxpy.norm2(parameters) <= domain.radius]
    return [parameters >= 0, cvxpy.sum(parameters) == 1.0]
