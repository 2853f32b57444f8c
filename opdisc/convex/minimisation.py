"""Accurate minimisers of regularised convex sums, each with a bound on its distance from the best.

The objective is always ``F(theta) = sum_i l_i(theta) + (ridge/2)|theta|^2 + <tilt, theta>``, which
is strongly convex with constant ``ridge``. A minimiser returns a parameter only when it can show
that the exact optimum is within ``accuracy`` of it.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.sparse import linalg as sparse_linalg

from opdisc.convex.rows import Rows
from oracles.arithmetic import FloatArray
from oracles.convex import Domain, LinearLoss

_NEWTON_STEPS = 200

_LARGEST_DENSE = 400

_PROJECTED_STEPS = 20_000


class NotReached(Exception):
    """The accuracy was not reached. Says nothing about the rows."""


def minimise(
    rows: Rows,
    loss: LinearLoss,
    *,
    ridge: float,
    accuracy: float,
    tilt: FloatArray | None = None,
) -> FloatArray:
    """Return a point within ``accuracy`` of the minimiser over all of R^p, by Newton's method.

    Parameters
    ----------
    rows : Rows
        Data.
    loss : LinearLoss
        Convex, with a gradient that does not jump.
    ridge : float
        Strong convexity, > 0.
    accuracy : float
        Largest acceptable distance to the exact minimiser.
    tilt : ndarray of shape (p,), or None
        Linear term.

    Returns
    -------
    ndarray of shape (p,)

    Raises
    ------
    NotReached
        If 200 damped steps do not reach it.

    Notes
    -----
    **Guarantee.** ``|gradient| <= ridge * accuracy`` at the returned point, and strong convexity
    gives ``|theta - optimum| <= |gradient| / ridge``.
    """
    return _newton(rows, loss, ridge=ridge, steepness=ridge * accuracy, tilt=tilt)


def _newton(
    rows: Rows,
    loss: LinearLoss,
    *,
    ridge: float,
    steepness: float,
    tilt: FloatArray | None = None,
) -> FloatArray:
    """Return a point at which the gradient is at most ``steepness`` long."""
    parameters = np.zeros(rows.X.shape[1])
    linear = np.zeros_like(parameters) if tilt is None else tilt

    def objective(point: FloatArray) -> float:
        return (
            rows.sum_value(loss, point)
            + 0.5 * ridge * float(point @ point)
            + float(linear @ point)
        )

    value = objective(parameters)
    for _ in range(_NEWTON_STEPS):
        gradient = rows.sum_gradient(loss, parameters) + ridge * parameters + linear
        if np.linalg.norm(gradient) <= steepness:
            return parameters
        step = _newton_direction(rows, loss, parameters, ridge, gradient)
        slope, length = float(gradient @ step), 1.0
        while length > 1e-12:
            trial = parameters + length * step
            found = objective(trial)
            # Near the optimum the decrease is below rounding: accept a full step there.
            if found <= value + 1e-4 * length * slope + 1e-12 * (1 + abs(value)):
                break
            length /= 2
        parameters, value = trial, found
    raise NotReached


def _newton_direction(
    rows: Rows, loss: LinearLoss, parameters: FloatArray, ridge: float, gradient: FloatArray
) -> FloatArray:
    curvatures = loss.curvatures(rows.X @ parameters, rows.y)
    if rows.counts is not None:
        curvatures = curvatures * rows.counts
    p = len(parameters)
    # Without a ridge the Hessian may be singular; this damping vanishes with the gradient.
    damping = ridge if ridge > 0 else 0.1 * float(np.linalg.norm(gradient))
    if p <= _LARGEST_DENSE:
        hessian = (rows.X * curvatures[:, None]).T @ rows.X
        hessian.flat[:: p + 1] += damping
        return np.asarray(-linalg.solve(hessian, gradient, assume_a="pos"))

    def product(v: FloatArray) -> FloatArray:
        return np.asarray((curvatures * (rows.X @ v)) @ rows.X + damping * v)

    operator = sparse_linalg.LinearOperator((p, p), matvec=product, dtype=np.float64)
    step, _ = sparse_linalg.cg(operator, -gradient, rtol=1e-8, maxiter=500)
    return np.asarray(step)


def minimise_on(
    rows: Rows,
    loss: LinearLoss,
    domain: Domain,
    *,
    ridge: float,
    smoothness: float,
    accuracy: float,
) -> FloatArray:
    """Return a point of the domain within ``accuracy`` of the minimiser over it.

    Parameters
    ----------
    rows, loss, ridge, accuracy
        As in :func:`minimise`.
    domain : Domain
        Where to minimise.
    smoothness : float
        Upper bound M on the Lipschitz constant of the gradient of the sum, ridge included.

    Raises
    ------
    NotReached
        If 20,000 accelerated projected steps do not reach it.

    Notes
    -----
    **Guarantee.** With ``g = M (theta - Proj(theta - gradient / M))`` the exact minimiser over the
    domain is within ``2 |g| / ridge`` of theta (Nesterov 2004, Theorem 2.2.7).
    """
    parameters = domain.centre
    ahead, momentum = parameters, 1.0
    for _ in range(_PROJECTED_STEPS):
        gradient = rows.sum_gradient(loss, ahead) + ridge * ahead
        moved = domain.project(ahead - gradient / smoothness)
        if 2 * smoothness * np.linalg.norm(ahead - moved) <= ridge * accuracy:
            return np.asarray(ahead)
        faster = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        if float((ahead - moved) @ (moved - parameters)) > 0:
            faster, momentum = 1.0, 1.0  # restart when the momentum points uphill
        ahead = domain.project(moved + (momentum - 1) / faster * (moved - parameters))
        parameters, momentum = moved, float(faster)
    raise NotReached


def minimum(
    rows: Rows, loss: LinearLoss, domain: Domain | None, *, ridge: float = 0.0
) -> FloatArray:
    """Return a minimiser over a domain, or over R^p, whether strongly convex or not.

    Parameters
    ----------
    rows, loss, domain
        As in :func:`minimise_on`; None is all of R^p.
    ridge : float
        >= 0.

    Returns
    -------
    ndarray of shape (p,)
        Its sum is within ``1e-9`` a row of the least, or its gradient within ``1e-9`` a row of 0.

    Raises
    ------
    NotReached
        If neither is reached, for instance because there is no minimiser in R^p.

    Notes
    -----
    In a domain the error is at most the largest ``<gradient, theta - z>`` over z in it, by
    convexity.
    """
    tolerance = 1e-9 * max(1, rows.n_rows)
    try:
        free = _newton(rows, loss, ridge=ridge, steepness=tolerance)
    except (NotReached, linalg.LinAlgError):
        free = None
    if free is not None and (domain is None or domain.contains(free, tolerance=0.0)):
        return free
    if domain is None:
        raise NotReached
    smoothness = loss.curvature_bound() * row_spectrum(rows) + ridge
    parameters, ahead, momentum = domain.centre, domain.centre, 1.0
    for step in range(_PROJECTED_STEPS):
        gradient = rows.sum_gradient(loss, ahead) + ridge * ahead
        moved = domain.project(ahead - gradient / max(smoothness, 1e-300))
        faster = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        if float((ahead - moved) @ (moved - parameters)) > 0:
            faster, momentum = 1.0, 1.0  # restart when the momentum points uphill
        ahead = domain.project(moved + (momentum - 1) / faster * (moved - parameters))
        parameters, momentum = moved, float(faster)
        if step % 10 == 0:
            slope = rows.sum_gradient(loss, parameters) + ridge * parameters
            if float(slope @ (parameters - domain.minimise_linear(slope))) <= tolerance:
                return np.asarray(parameters)
    raise NotReached


def row_spectrum(rows: Rows) -> float:
    """Return an upper bound on the largest eigenvalue of ``sum_i x_i x_i^T``. Private."""
    weighted = rows.X if rows.counts is None else rows.X * np.sqrt(rows.counts)[:, None]
    if min(weighted.shape) <= _LARGEST_DENSE:
        small = weighted if weighted.shape[0] < weighted.shape[1] else weighted.T
        return float(np.linalg.eigvalsh(small @ small.T)[-1]) * (1 + 1e-9)
    # Beyond that size the sum of squared lengths is a cheap upper bound.
    return float((weighted**2).sum())
