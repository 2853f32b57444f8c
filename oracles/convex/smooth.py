"""Smooth losses: a scipy method to get close, then Newton steps until the gap is small.

At a point with slopes ``a_i = phi'(s_i)`` the duality gap of a smooth loss is
``<v, theta> - min over the domain of <v, theta>``, so it can be driven to rounding level.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy import optimize

from oracles.arithmetic import FloatArray
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.domain import ExactDomain
from oracles.convex.duality import RealClaim
from oracles.convex.polytopes import Box
from oracles.convex.problem import TiltedProblem
from oracles.convex.solve import RealOptions, Session

_NEWTON_STEPS = 60

_INNER_STEPS = 4000

_HALVINGS = 40

_scipy_minimise: Any = optimize.minimize


class SmoothOracle:
    """L-BFGS-B on a box and SLSQP elsewhere, both of scipy, polished by projected Newton steps."""

    name = "scipy"
    proves_partitions = False
    requirement = "takes smooth losses only (logistic, squared, huberised hinge)"

    def supports(self, problem: TiltedProblem) -> bool:
        """Return whether the loss is smooth."""
        return problem.loss.is_convex and problem.loss.is_smooth

    def session(self, problem: TiltedProblem, options: RealOptions) -> Session:
        """Return a function that minimises the problem under any tilt, from the last point."""
        return _Descent(problem, options)


class _Descent:
    """One problem; call it with a tilt."""

    def __init__(self, problem: TiltedProblem, options: RealOptions) -> None:
        self._problem, self._options = problem, options
        middle = 0.5 * (problem.domain.lower + problem.domain.upper)
        self._last = problem.domain.nearest_inside(middle)

    def __call__(self, tilt: FloatArray) -> RealClaim:
        """Minimise under a tilt."""
        problem = self._problem.with_tilt(tilt)
        deadline = time.perf_counter() + (self._options.time_limit or np.inf)
        parameters = _closer(problem, self._last)
        best, best_gap = parameters, np.inf
        for _ in range(_NEWTON_STEPS):
            gradient = _gradient(problem, parameters)
            gap = float(gradient @ parameters) - problem.domain.smallest(gradient)
            if gap < best_gap:
                best, best_gap = parameters, gap
            if gap <= 0.25 * self._options.absolute_gap or time.perf_counter() > deadline:
                break
            moved = _newton_step(problem, parameters, gradient)
            if moved is None:
                break
            parameters = moved
        self._last = best
        return RealClaim(point=best, multipliers=None, lower_bound=-np.inf)


def _gradient(problem: TiltedProblem, parameters: FloatArray) -> FloatArray:
    slopes = problem.loss.slopes(problem.features @ parameters, problem.targets)
    out: FloatArray = (problem.weights * slopes) @ problem.features - problem.tilt
    return out


def _closer(problem: TiltedProblem, start: FloatArray) -> FloatArray:
    """Return a scipy method's answer if it is better than the start."""

    def both(parameters: FloatArray) -> tuple[float, FloatArray]:
        return problem.objective(parameters), _gradient(problem, parameters)

    domain = problem.domain
    box = optimize.Bounds(domain.lower, domain.upper)
    if isinstance(domain, Box):
        found = _scipy_minimise(
            both,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=box,
            options={"maxiter": 200, "ftol": 1e-14, "gtol": 1e-10},
        ).x
    elif isinstance(domain, L1Ball):
        found = _slsqp_on_l1(problem, start, domain.radius)
    else:
        scale = 1.0 / max(1.0, float(problem.weights.sum()))
        found = _scipy_minimise(
            lambda parameters: (scale * both(parameters)[0], scale * both(parameters)[1]),
            start,
            jac=True,
            method="SLSQP",
            bounds=None if isinstance(domain, L2Ball) else box,
            constraints=_constraint(domain),
            options={"maxiter": 100, "ftol": 1e-12},
        ).x
    if not np.isfinite(found).all():
        return start
    candidate = domain.nearest_inside(np.asarray(found, dtype=np.float64))
    return candidate if problem.objective(candidate) < problem.objective(start) else start


def _constraint(domain: ExactDomain) -> Any:
    if isinstance(domain, L2Ball):
        square = domain.radius**2
        return {
            "type": "ineq",
            "fun": lambda parameters: square - float(parameters @ parameters),
            "jac": lambda parameters: -2.0 * parameters,
        }
    ones = np.ones(domain.dimension)
    return {
        "type": "eq",
        "fun": lambda parameters: float(parameters.sum()) - 1.0,
        "jac": lambda parameters: ones,
    }


def _slsqp_on_l1(problem: TiltedProblem, start: FloatArray, radius: float) -> FloatArray:
    """Write theta as the difference of two non-negative vectors with a bounded sum."""
    d, scale = problem.dimension, 1.0 / max(1.0, float(problem.weights.sum()))

    def both(parts: FloatArray) -> tuple[float, FloatArray]:
        parameters = parts[:d] - parts[d:]
        gradient = scale * _gradient(problem, parameters)
        return scale * problem.objective(parameters), np.concatenate([gradient, -gradient])

    found = _scipy_minimise(
        both,
        np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)]),
        jac=True,
        method="SLSQP",
        bounds=optimize.Bounds(np.zeros(2 * d), np.full(2 * d, np.inf)),
        constraints={
            "type": "ineq",
            "fun": lambda parts: radius - float(parts.sum()),
            "jac": lambda parts: -np.ones(2 * d),
        },
        options={"maxiter": 100, "ftol": 1e-12},
    ).x
    return np.asarray(found[:d] - found[d:], dtype=np.float64)


def _newton_step(
    problem: TiltedProblem, parameters: FloatArray, gradient: FloatArray
) -> FloatArray | None:
    """Minimise the quadratic model over the domain, then search along the segment to it."""
    curvature = problem.loss.curvatures(problem.features @ parameters, problem.targets)
    hessian = (problem.features * (problem.weights * curvature)[:, None]).T @ problem.features
    hessian += (1e-12 * float(np.trace(hessian)) + 1e-12) * np.eye(problem.dimension)
    target = _quadratic_minimiser(hessian, gradient, parameters, problem.domain)
    here, step = problem.objective(parameters), 1.0
    slope = float(gradient @ (target - parameters))
    for _ in range(_HALVINGS):
        # Rounding hides progress below the objective's own precision; accept equality there.
        candidate = problem.domain.nearest_inside(parameters + step * (target - parameters))
        if problem.objective(candidate) <= here + 1e-4 * step * slope + 1e-14 * abs(here):
            return None if np.array_equal(candidate, parameters) else candidate
        step *= 0.5
    return None


def _quadratic_minimiser(
    hessian: FloatArray, gradient: FloatArray, parameters: FloatArray, domain: ExactDomain
) -> FloatArray:
    """Minimise ``<g, u - theta> + <u - theta, H (u - theta)> / 2`` by accelerated projections."""
    rate = 1.0 / float(np.linalg.eigvalsh(hessian)[-1])
    point, ahead, momentum = parameters, parameters, 1.0
    for _ in range(_INNER_STEPS):
        slope = gradient + hessian @ (ahead - parameters)
        moved = domain.nearest_inside(ahead - rate * slope)
        change = moved - point
        if float((ahead - moved) @ change) > 0:
            ahead, momentum = point, 1.0  # restart: momentum points uphill
            if np.array_equal(moved, point):
                break
            continue
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = moved + (momentum - 1.0) / grown * change
        point, momentum = moved, grown
        if float(np.abs(change).max()) <= 1e-15 * (1.0 + float(np.abs(point).max())):
            break
    return point
