"""Exponential sampling on a convex domain.

The density is proportional to ``exp(-beta F(theta))`` on the domain, F the sum of losses. One row
changes differences of F by at most ``kL`` times the diameter (k = 1, or 2 under replace-one), so
``beta = epsilon / (k L D)`` is pure epsilon-DP.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from opdisc.convex import noiseless_minimum
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.errors import CalibrationError
from opdisc.noise import categorical, uniforms
from opdisc.privacy import CalibrationStatus, EntropySource, Ledger, Prepared, prepared_first
from oracles.arithmetic import FloatArray
from oracles.convex import Domain, Simplex

_LARGEST_DIMENSION = 5

ENDS = "the rejection sampler ends on every table (it has no limit)"


def inverse_temperature(public: ConvexPublic, epsilon: float, diameter: float) -> float:
    """Return beta per unit of summed loss: ``epsilon / (k L D)``, rounded down.

    References
    ----------
    .. [1] B14 Algorithm 2, ``exp(-epsilon F / (2 L |C|))`` under replace-one; docs/convex.md,
       entry "exponential-sampling".
    """
    sensitivity = public.changed_rows * public.constants.lipschitz_l2 * diameter
    return epsilon / sensitivity * (1 - 1e-9)


def plan_exponential_sampling(public: ConvexPublic) -> NoisePlan:
    """Calibrate exponential sampling; the loss must be convex and the domain bounded."""
    public.require_convex("exponential sampling")
    domain = public.require_domain("exponential sampling")
    check_shape(public, domain)
    rate = inverse_temperature(public, public.params.epsilon, domain.diameter_l2)
    return NoisePlan(
        mechanism="exponential_sampling",
        theorem="exponential mechanism on the domain (docs/convex.md, exponential-sampling)",
        status=CalibrationStatus.PROVEN,
        law="density proportional to exp(-rate times the sum of losses) on the domain",
        scales=(rate,),
        settings=(("diameter", domain.diameter_l2),),
        conditions=(ENDS,),
    )


def check_shape(public: ConvexPublic, domain: Domain) -> None:
    """Refuse dimensions and domains that the sampler cannot take."""
    if public.dimension > _LARGEST_DIMENSION:
        raise CalibrationError(
            f"exact exponential sampling needs at most {_LARGEST_DIMENSION} parameters, got "
            f"{public.dimension}; use objective perturbation."
        )
    if isinstance(domain, Simplex) or np.any(domain.widths <= 0):
        raise CalibrationError(
            "exponential sampling needs a domain with an interior; drop fixed coordinates, or use "
            "simplex sampling."
        )


@prepared_first
def exponential_sampling(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Draw exactly from ``exp(-beta F)`` on the domain (B14 Algorithm 2), for small p.

    Parameters
    ----------
    rows : Rows
        Private rows.
    public : ConvexPublic
        Public facts; a convex loss, a bounded domain, at most 5 parameters.
    entropy : EntropySource
        Random bits.
    ledger : Ledger or None
        Where the budget is recorded first.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP, both relations; delta is not used. The expected excess of the
    sum is at most ``p k L D / epsilon`` (B14 Theorem 3.2; docs/convex.md). The sampler is
    rejection under a piecewise constant upper bound made of tangents, without a cap on its rounds.
    """
    if public.is_noiseless:
        return noiseless_minimum("exponential_sampling", rows, public, ridge=None, entropy=entropy)
    plan = plan_exponential_sampling(public)
    domain = public.require_domain("exponential sampling")

    def compute() -> FloatArray:
        return sample_density(ConvexSum.of(rows, public), domain, plan.scales[0], entropy)

    pure = replace(public, params=replace(public.params, delta=0.0))
    return prepare(plan, rows, pure, compute, entropy=entropy)


@dataclass(slots=True)
class _Cell:
    """A box, a lower bound on F over it, and the mass of that bound.

    Parameters
    ----------
    low, high : float64 array, shape (p,)
        Corners of the box, parameter units.
    bound : float
        Lower bound on F over the box, loss units.
    log_mass : float
        Log of the box's volume times ``exp(-rate * bound)``, nats.
    """

    low: FloatArray
    high: FloatArray
    bound: float
    log_mass: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexSum:
    """A convex function of theta: its value and a subgradient.

    Parameters
    ----------
    value, gradient : callable
        Of one parameter vector.
    """

    value: Callable[[FloatArray], float]
    gradient: Callable[[FloatArray], FloatArray]

    @classmethod
    def of(cls, rows: Rows, public: ConvexPublic, ridge: float = 0.0) -> ConvexSum:
        """Return the sum of losses plus ``(ridge/2)|theta|^2``."""

        def value(parameters: FloatArray) -> float:
            return rows.sum_value(public.loss, parameters) + 0.5 * ridge * float(
                parameters @ parameters
            )

        def gradient(parameters: FloatArray) -> FloatArray:
            return rows.sum_gradient(public.loss, parameters) + ridge * parameters

        return cls(value=value, gradient=gradient)


def sample_density(
    total: ConvexSum, domain: Domain, rate: float, entropy: EntropySource
) -> FloatArray:
    """Draw from the density proportional to ``exp(-rate F)`` on the domain.

    The domain's box is cut into cells, each with a lower bound on F from the tangent at its
    centre.
    A round draws a cell by its mass and a uniform point in it, and accepts with the ratio of
    density to upper bound; a rejecting cell is cut in half *afterwards*. Given the history, an
    accepted point has exactly the target law, so refinement never biases it (docs/convex.md, entry
    "exponential-sampling").
    """
    low, high = np.array(domain.lower), np.array(domain.upper)
    start = _cell(total, domain, rate, low, high, -math.inf)
    if start is None:
        return domain.centre
    cells = [start]
    while True:
        masses = np.array([cell.log_mass for cell in cells])
        chances = np.exp(masses - masses.max())
        chosen = int(categorical(chances, 1, entropy)[0])
        cell = cells[chosen]
        point = cell.low + (cell.high - cell.low) * uniforms(len(low), entropy)
        if domain.contains(point, tolerance=1e-12):
            excess = total.value(point) - cell.bound
            if math.log(float(uniforms(1, entropy)[0])) <= -rate * excess:
                return point
        cells[chosen : chosen + 1] = _halves(total, domain, rate, cell)


def _halves(total: ConvexSum, domain: Domain, rate: float, cell: _Cell) -> list[_Cell]:
    gradient = total.gradient((cell.low + cell.high) / 2)
    # Cut where the loss varies most; where it is flat, the longest side.
    widths = cell.high - cell.low
    side = int(np.argmax(widths * (np.abs(gradient) + 1e-12 + 1e-3 * np.abs(gradient).max())))
    middle = (cell.low[side] + cell.high[side]) / 2
    left_high, right_low = cell.high.copy(), cell.low.copy()
    left_high[side] = right_low[side] = middle
    halves = (
        _cell(total, domain, rate, cell.low, left_high, cell.bound),
        _cell(total, domain, rate, right_low, cell.high, cell.bound),
    )
    return [half for half in halves if half is not None]


def _cell(
    total: ConvexSum,
    domain: Domain,
    rate: float,
    low: FloatArray,
    high: FloatArray,
    inherited: float,
) -> _Cell | None:
    """Return the cell, or None if it holds no point of the domain."""
    centre, half = (low + high) / 2, (high - low) / 2
    if domain.misses_ball(centre, float(np.linalg.norm(half)) + 1e-9):
        return None
    gradient = total.gradient(centre)
    tangent = total.value(centre) - float(np.abs(gradient) @ half)
    # Convexity makes the tangent a lower bound; a little slack covers its rounding.
    bound = max(inherited, tangent - 1e-13 * (1 + abs(tangent)))
    volume = float(np.log(np.maximum(high - low, 1e-300)).sum())
    return _Cell(low=low, high=high, bound=bound, log_mass=volume - rate * bound)
