"""Exponential sampling on a convex domain, and localization before it.

The density is proportional to ``exp(-beta F(theta))`` on the domain, F the sum of losses. One row
changes differences of F by at most ``kL`` times the diameter (k = 1, or 2 under replace-one), so
``beta = epsilon / (k L D)`` is pure epsilon-DP.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from opdisc.accounting import Ledger
from opdisc.convex.base import ConvexPublic, ConvexRelease, NoisePlan, Rows, release
from opdisc.convex.draws import categorical, l2_laplace, uniforms
from opdisc.convex.minimise import minimise_on, row_spectrum
from opdisc.convex.perturbation import RELATIVE_ACCURACY
from opdisc.domains import Domain, Simplex
from opdisc.errors import CalibrationError
from opdisc.noise import EntropySource
from opdisc.privacy import CalibrationStatus, PrivacyParams

FloatArray = NDArray[np.float64]
_LARGEST_DIMENSION = 5
_TAIL = 2.0**-63
_ENDS = "the rejection sampler ends on every table (it has no limit)"


def gibbs_rate(public: ConvexPublic, epsilon: float, diameter: float) -> float:
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
    _check_shape(public, domain)
    rate = gibbs_rate(public, public.params.epsilon, domain.diameter_l2)
    return NoisePlan(
        mechanism="exponential-sampling",
        theorem="exponential mechanism on the domain (docs/convex.md, exponential-sampling)",
        status=CalibrationStatus.PROVEN,
        law="density proportional to exp(-rate times the sum of losses) on the domain",
        scales=(rate,),
        settings=(("diameter", domain.diameter_l2),),
        conditions=(_ENDS,),
    )


def _check_shape(public: ConvexPublic, domain: Domain) -> None:
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


def exponential_sampling(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    ledger: Ledger | None = None,
) -> ConvexRelease:
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
    sum is at most ``p k L D / epsilon`` (B14 Theorem 3.2: ``2 p L D / epsilon``). The sampler is
    rejection under a piecewise constant envelope made of tangents, without a cap on its rounds.
    """
    plan = plan_exponential_sampling(public)
    domain = public.require_domain("exponential sampling")

    def compute() -> FloatArray:
        return sample_density(ConvexSum.of(rows, public), domain, plan.scales[0], entropy)

    pure = replace(public, params=replace(public.params, delta=0.0))
    return release(plan, rows, pure, compute, entropy=entropy, ledger=ledger)


@dataclass(slots=True)
class _Cell:
    """A box, a lower bound on F over it, and its envelope mass (log)."""

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

        def value(theta: FloatArray) -> float:
            return rows.sum_value(public.loss, theta) + 0.5 * ridge * float(theta @ theta)

        def gradient(theta: FloatArray) -> FloatArray:
            return rows.sum_gradient(public.loss, theta) + ridge * theta

        return cls(value=value, gradient=gradient)


def sample_density(
    total: ConvexSum, domain: Domain, rate: float, entropy: EntropySource
) -> FloatArray:
    """Draw from the density proportional to ``exp(-rate F)`` on the domain.

    The domain's box is cut into cells, each with a lower bound on F from the tangent at its
    centre.
    A round draws a cell by envelope mass and a uniform point in it, and accepts with the ratio of
    density to envelope; a rejecting cell is cut in half *afterwards*. Given the history, an
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


def _disjoint(domain: Domain, centre: FloatArray, reach: float) -> bool:
    """Return True only if no point within ``reach`` of ``centre`` is in the domain."""
    if isinstance(domain, LocalBall):
        far = float(np.linalg.norm(centre - domain.centre_point)) > domain.radius + reach
        return far or _disjoint(domain.domain, centre, reach)
    return float(np.linalg.norm(domain.project(centre) - centre)) > reach


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
    if _disjoint(domain, centre, float(np.linalg.norm(half)) + 1e-9):
        return None
    gradient = total.gradient(centre)
    tangent = total.value(centre) - float(np.abs(gradient) @ half)
    # Convexity makes the tangent a lower bound; a little slack covers its rounding.
    bound = max(inherited, tangent - 1e-13 * (1 + abs(tangent)))
    volume = float(np.log(np.maximum(high - low, 1e-300)).sum())
    return _Cell(low=low, high=high, bound=bound, log_mass=volume - rate * bound)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBall(Domain):
    """The part of a domain within a radius of a point; projections by Dykstra's method.

    Parameters
    ----------
    domain : Domain
        The whole domain.
    centre_point : ndarray of shape (p,)
        A point of the domain.
    radius : float
        Euclidean radius.
    """

    domain: Domain
    centre_point: FloatArray
    radius: float

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Number of coordinates."""
        return self.domain.dimension

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest point of the intersection, to about 1e-12."""
        point, first, second = np.array(theta), np.zeros_like(theta), np.zeros_like(theta)
        for _ in range(500):
            near = self.domain.project(point + first)
            first = point + first - near
            moved = near + second - self.centre_point
            length = float(np.linalg.norm(moved))
            onto = self.centre_point + moved * min(1.0, self.radius / max(length, 1e-300))
            second = near + second - onto
            if float(np.abs(onto - near).max()) <= 1e-13:
                return onto
            point = onto
        return point

    def contains(self, theta: FloatArray, *, tolerance: float = 1e-9) -> bool:
        """Return whether theta is in both sets."""
        close = float(np.linalg.norm(theta - self.centre_point)) <= self.radius + tolerance
        return close and self.domain.contains(theta, tolerance=tolerance)

    def gauge(self, theta: FloatArray) -> float:
        """Return the gauge of the whole domain, a lower bound."""
        return self.domain.gauge(theta)

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Refuse: not needed here."""
        raise CalibrationError("a local ball has no linear minimiser; use its domain's.")

    @property
    def lower(self) -> FloatArray:
        """Smallest values of the surrounding box."""
        return np.maximum(self.domain.lower, self.centre_point - self.radius)

    @property
    def upper(self) -> FloatArray:
        """Largest values of the surrounding box."""
        return np.minimum(self.domain.upper, self.centre_point + self.radius)

    @property
    def diameter_l2(self) -> float:
        """Public bound: twice the radius, or the domain's diameter."""
        return min(2 * self.radius, self.domain.diameter_l2)

    @property
    def diameter_l1(self) -> float:
        """Public bound on the l1 diameter."""
        return min(self.domain.diameter_l1, math.sqrt(self.dimension) * self.diameter_l2)

    @property
    def radius_l2(self) -> float:
        """Bound of the whole domain."""
        return self.domain.radius_l2

    @property
    def radius_l1(self) -> float:
        """Bound of the whole domain."""
        return self.domain.radius_l1


def plan_localization(
    public: ConvexPublic, *, ridge: float, confidence: float = 0.99
) -> NoisePlan:
    """Calibrate localization; arguments as in :func:`localization`."""
    public.require_convex("localization")
    public.require_smooth("localization")
    domain = public.require_domain("localization")
    if not 0 < confidence < 1:
        raise CalibrationError(f"confidence must be in (0, 1), got {confidence}.")
    if not 0 < ridge < math.inf:
        raise CalibrationError(f"the ridge must be finite and > 0, got {ridge!r}.")
    _check_shape(public, domain)
    half = public.params.epsilon / 2
    one_row = public.constants.lipschitz_l2 / ridge
    accuracy = RELATIVE_ACCURACY * one_row
    scale = (public.changed_rows * one_row + 2 * accuracy) / half * (1 + 1e-9)
    # The noise's length is a Gamma variable: this radius holds the optimum with that chance.
    from scipy import stats

    radius = float(stats.gamma.ppf(confidence, public.dimension, scale=scale))
    # B14 Algorithm 4 regularises both halves, so that the optimum of the second is near.
    lipschitz = public.constants.lipschitz_l2
    diameter = min(2 * radius, domain.diameter_l2)
    rate = half / (public.changed_rows * lipschitz * diameter) * (1 - 1e-9)
    return NoisePlan(
        mechanism="localization",
        theorem="output perturbation, then exponential sampling (docs/convex.md, localization)",
        status=CalibrationStatus.PROVEN,
        law="l2-Laplace on the minimiser, then exp(-rate times the sum) on a ball around it",
        scales=(scale, rate),
        settings=(("ridge", ridge), ("accuracy", accuracy), ("radius", radius)),
        conditions=(
            "the minimiser reaches its public accuracy on every table (otherwise nothing is "
            "released)",
            _ENDS,
        ),
        distance=2 * public.dimension * _TAIL,
    )


def localization(
    rows: Rows,
    public: ConvexPublic,
    *,
    ridge: float,
    entropy: EntropySource,
    confidence: float = 0.99,
    ledger: Ledger | None = None,
) -> ConvexRelease:
    """Half of epsilon finds a small ball, the other half samples in it (B14 Algorithm 4).

    Parameters
    ----------
    rows, public, entropy, ledger
        As in :func:`exponential_sampling`; the loss must also be smooth.
    ridge : float
        Strong convexity of the sum in both halves: ``(ridge/2)|theta|^2`` is added.
    confidence : float
        Chance that the ball holds the exact minimiser; affects accuracy only. B14's radius is
        ``zeta 4 L p / (nu epsilon n)`` with zeta = 3 ln n.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP by basic composition, both relations: the ball's centre is
    released by output perturbation, its radius is public, and the sampler's diameter is that of
    the ball. The ridge is public, so it adds nothing to the sensitivity.
    """
    plan = plan_localization(public, ridge=ridge, confidence=confidence)
    domain = public.require_domain("localization")

    def compute() -> FloatArray:
        found = minimise_on(
            rows,
            public.loss,
            domain,
            ridge=ridge,
            smoothness=public.loss.curvature_bound() * row_spectrum(rows) + ridge,
            accuracy=plan.setting("accuracy"),
        )
        centre = domain.project(found + l2_laplace(public.dimension, plan.scales[0], entropy))
        ball = LocalBall(domain=domain, centre_point=centre, radius=plan.setting("radius"))
        return sample_density(ConvexSum.of(rows, public, ridge), ball, plan.scales[1], entropy)

    pure = replace(public, params=PrivacyParams(epsilon=public.params.epsilon, delta=0.0))
    return release(plan, rows, pure, compute, entropy=entropy, ledger=ledger)
