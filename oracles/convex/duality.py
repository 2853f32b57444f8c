"""Weak duality, evaluated here: from a solver's claim to a certificate.

For a convex loss and any multipliers a_i where the conjugate is finite,
``phi(s, y) >= a s - phi*(a)``, hence for every theta of the domain

    sum_i c_i phi(<theta, x_i>, y_i) - <tilt, theta>
        >= min over the domain of <v, theta> - sum_i c_i phi*(a_i),  v = sum_i c_i a_i x_i - tilt.

The right side is the lower bound. Nothing of it rests on the solver: wrong multipliers make it
low, never wrong. Rounding errors of both sides are bounded and added to the gap.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.problem import TiltedProblem
from oracles.errors import InconsistentSolution


class Basis(enum.Enum):
    """What a lower bound rests on."""

    DUALITY = "weak duality"
    """Evaluated here from multipliers; independent of the solver."""
    PARTITION = "partition"
    """The domain was split into boxes, each bounded by the search itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealClaim:
    """What an oracle says about its own answer. Nothing here is trusted.

    Parameters
    ----------
    point : float array, shape (d,)
        The parameter vector found.
    multipliers : float array of shape (n,) or None
        Claimed dual solution, one slope of the loss per point; None takes the slopes at ``point``.
    lower_bound : float
        Lower bound on the optimum from a partition of the domain; ``-inf`` without one.
    """

    point: FloatArray
    multipliers: FloatArray | None
    lower_bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCertificate:
    """What was verified. Made by :func:`certify` only.

    Parameters
    ----------
    primal_bound : float
        Upper bound on the point's objective, rounding included, objective units.
    dual_bound : float
        Lower bound on the optimum, rounding included, objective units.
    basis : Basis
        What the lower bound rests on.
    """

    primal_bound: float
    dual_bound: float
    basis: Basis

    @property
    def gap(self) -> float:
        """Upper bound on how far the point is from optimal, objective units."""
        return self.primal_bound - self.dual_bound


def certify(
    problem: TiltedProblem, claim: RealClaim, *, proves_partitions: bool
) -> RealCertificate:
    """Recompute both bounds of a claim.

    Parameters
    ----------
    problem : TiltedProblem
        What was minimised.
    claim : RealClaim
        What the oracle says.
    proves_partitions : bool
        Whether the oracle's own lower bound may be used.

    Returns
    -------
    RealCertificate

    Raises
    ------
    InconsistentSolution
        If the point is not in the domain, or a lower bound is above the point's own objective.
    """
    point = np.asarray(claim.point, dtype=np.float64)
    if point.shape != (problem.dimension,) or not np.isfinite(point).all():
        raise InconsistentSolution("an oracle must answer with a finite vector of the right size.")
    if not problem.domain.contains_exactly(point):
        raise InconsistentSolution("an oracle answered outside the domain.")
    primal = problem.objective(point) + problem.objective_error(point)
    if problem.loss.is_convex:
        slopes = problem.loss.slopes(problem.features @ point, problem.targets)
        dual = lower_bound(problem, slopes)
        if claim.multipliers is not None:
            dual = max(dual, lower_bound(problem, claim.multipliers))
        if dual >= claim.lower_bound or not proves_partitions:
            return _certificate(primal, dual, Basis.DUALITY)
    if not proves_partitions or math.isnan(claim.lower_bound):
        return _certificate(primal, -math.inf, Basis.PARTITION)
    return _certificate(primal, claim.lower_bound, Basis.PARTITION)


def _certificate(primal: float, dual: float, basis: Basis) -> RealCertificate:
    if dual > primal:
        raise InconsistentSolution("a lower bound must not exceed the objective of the answer.")
    return RealCertificate(primal_bound=primal, dual_bound=dual, basis=basis)


def lower_bound(problem: TiltedProblem, multipliers: FloatArray) -> float:
    """Return the weak-duality bound of any multipliers, objective units.

    Parameters
    ----------
    problem : TiltedProblem
        Convex loss.
    multipliers : float array, shape (n,)
        One per point; clipped to where the conjugate is finite.

    Returns
    -------
    float
        At most the minimum of the objective over the domain, rounding included; ``-inf`` if the
        multipliers are not finite.
    """
    loss, weights = problem.loss, problem.weights
    slopes = np.asarray(multipliers, dtype=np.float64)
    if slopes.shape != problem.targets.shape or not np.isfinite(slopes).all():
        return -math.inf
    slopes = np.clip(slopes, *loss.slope_range(problem.targets))
    conjugates = loss.conjugates(slopes, problem.targets)
    form = (weights * slopes) @ problem.features - problem.tilt
    value = problem.domain.smallest(form) - float(weights @ conjugates)
    sizes = (weights * np.abs(slopes)) @ np.abs(problem.features) + np.abs(problem.tilt)
    farthest = np.maximum(np.abs(problem.domain.lower), np.abs(problem.domain.upper))
    reach = float(sizes @ farthest)
    terms = 1.0 + np.abs(conjugates) + np.abs(slopes) * (1.0 + np.abs(problem.targets))
    error = problem.chain_error * (reach + float(weights @ terms))
    return value - error if math.isfinite(value) else -math.inf
