"""OPSamp (Neel, Roth, Vietri, Wu 2019, Algorithm 2): average tilted minimisers, then add noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Literal

import numpy as np

from opdisc.arguments import check_finite, check_within
from opdisc.errors import CalibrationError, as_calibration_error
from opdisc.mechanisms.opsamp.calibration import (
    TiltLattice,
    TiltLaw,
    chernoff_draws,
    default_allowance,
    proven_stability,
    published_draws,
    published_stability,
    tilt_lattice,
)
from opdisc.mechanisms.opsamp.parameter_space import (
    ROUND_UP,
    SearchSpace,
    lifted_space,
    release_error,
    search_space,
)
from opdisc.mechanisms.opsamp.public import OPSampSpec
from opdisc.noise import geometric_total_variation
from opdisc.privacy import CalibrationStatus, PublicInputs
from oracles.convex import Domain, L1Ball, LinearLoss, LossConstants, RowBounds

StabilityBound = Literal["proven", "published"]

_RATES_TRIED = 121

_INFLATIONS = (1.25, 1.5, 1.75, 2.0, 2.5)

_SUMMATION = 2.0**-44
"""Bound on the relative rounding error of an average and of its map to parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OPSampMechanism:
    """OPSamp for one loss on one domain.

    Parameters
    ----------
    loss : LinearLoss
        Lipschitz on the domain; utility is bounded for convex ones only. Error costs are part of
        it: see :func:`oracles.convex.with_costs`.
    domain : Domain
        Public parameter set.
    bounds : RowBounds
        Public bounds on one row.
    stability : str
        ``"proven"``, or ``"published"`` (the constants of Algorithm 2, about 31 times larger).
    lift : bool or None
        Tilt on a simplex that maps onto an l1 ball; None does where it lowers the error bound.
    tilts : str or None
        Law of the tilts: "exponential" as published, "uniform", or None for the one that predicts
        the smaller error.
    inflation : float or None
        The average may differ by this many times S before delta is charged (the paper's 2); None
        takes the value that predicts the smallest error with at most ``most_draws``.
    tilt_rate : float or None
        eta (uniform tilts: the inverse of their half-width); None minimises the predicted error,
        from public inputs.
    allowance : float or None
        Certified gap that each solve may have, objective units, priced; None chooses one by eta.
    allowance_share : float
        Part of S that the chosen allowance may cost.
    most_draws : int
        Limit on m: small eta would want more.
    project : bool
        Whether the release is moved to the nearest point of the domain.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** (epsilon, delta)-DP if every solve is certified within the allowance
    (docs/opsamp.md). For non-convex losses too; what is then not bounded is the error.

    References
    ----------
    .. [1] Neel, Roth, Vietri, Wu (2019), Algorithm 2, Theorems 7 and 11. Suggala, Netrapalli
       (2019).
    """

    loss: LinearLoss
    domain: Domain
    bounds: RowBounds
    stability: StabilityBound = "proven"
    lift: bool | None = None
    tilts: TiltLaw | None = None
    inflation: float | None = None
    tilt_rate: float | None = None
    allowance: float | None = None
    allowance_share: float = 0.02
    most_draws: int = 10_000
    project: bool = True
    name: str = "opsamp"

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other."""
        if not self.domain.diameter_l1 > 0:
            raise CalibrationError("the domain must offer a choice, but it is a single point.")
        if self.lift and not isinstance(self.domain, L1Ball):
            raise CalibrationError("lift applies to an l1 ball only; drop it.")
        if self.lift and self.stability == "published":
            raise CalibrationError("lift needs the proven stability; the published has no lift.")
        if self.stability == "published" and self.tilts == "uniform":
            raise CalibrationError("the published stability is for exponential tilts; drop tilts.")
        if not self.project and math.isinf(self.loss.slope_bound(self.bounds, math.inf)):
            raise CalibrationError(
                f"the {self.loss.name} loss is Lipschitz on the domain only; keep project=True."
            )
        for name in ("tilt_rate", "allowance"):
            value = getattr(self, name)
            if value is not None:
                check_finite(name, value)
        check_within("allowance_share", self.allowance_share, 0, 10, ends="(]")

    def calibrate(self, public: PublicInputs) -> OPSampSpec:
        """Return tilts, draws and release noise; no table is involved.

        Raises
        ------
        CalibrationError
            If the loss is not Lipschitz, delta is 0, or no tilt rate needs few enough draws.
        """
        found: _Setting | None = None
        constants = self.constants()
        for space in self._spaces():
            choices = product(self._rates(space, public), self._inflations(), self._laws())
            for rate, inflation, tilts in choices:
                setting = self._setting(space, rate, inflation, tilts, public, constants)
                fits = setting.draws <= self.most_draws
                if fits and (found is None or setting.expected_error < found.expected_error):
                    found = setting
        if found is None:
            raise CalibrationError(
                f"OPSamp must need at most most_draws={self.most_draws} minimisations, but it "
                "needs more at every tilt rate tried; raise most_draws, epsilon or delta."
            )
        return self._spec(found, public)

    def constants(self) -> LossConstants:
        """Return the constants of one row's loss on the domain."""
        inside = self.domain.score_bound(self.bounds)
        with as_calibration_error():
            return self.loss.constants(
                self.bounds, score_bound=inside if self.project else math.inf
            )

    def _spaces(self) -> list[SearchSpace]:
        plain, liftable = search_space(self.domain), isinstance(self.domain, L1Ball)
        if not liftable or self.lift is False or self.stability == "published":
            return [plain]
        assert isinstance(self.domain, L1Ball)
        lifted = lifted_space(self.domain)
        return [lifted] if self.lift else [plain, lifted]

    def _rates(self, space: SearchSpace, public: PublicInputs) -> list[float]:
        """Return the tilt rates that are tried, around the one of the closed form."""
        if self.tilt_rate is not None:
            return [self.tilt_rate]
        lipschitz = space.stretch * self.constants().lipschitz_l1
        n, epsilon = _tuned_rows(public), public.params.epsilon
        middle = math.sqrt(epsilon / n) / (4 * lipschitz * space.dimension)
        return [float(middle * r) for r in np.geomspace(1e-4, 1e4, _RATES_TRIED)]

    def _inflations(self) -> tuple[float, ...]:
        return _INFLATIONS if self.inflation is None else (self.inflation,)

    def _laws(self) -> tuple[TiltLaw, ...]:
        if self.tilts is not None:
            return (self.tilts,)
        return ("exponential",) if self.stability == "published" else ("exponential", "uniform")

    def _setting(
        self,
        space: SearchSpace,
        rate: float,
        inflation: float,
        tilts: TiltLaw,
        public: PublicInputs,
        constants: LossConstants,
    ) -> _Setting:
        params = public.params
        lipschitz = space.stretch * constants.lipschitz_l1
        difference = public.changed_rows * lipschitz
        allowance = self.allowance
        if allowance is None:
            allowance = default_allowance(
                space, difference=difference, rate=rate, share=self.allowance_share
            )
        lattice = tilt_lattice(space, difference=difference, rate=rate, tilts=tilts)
        proven = proven_stability(
            space, difference=difference, rate=rate, allowance=allowance, tilts=tilts
        )
        bound, theorem, status, draws = proven, "stability proven", CalibrationStatus.PROVEN, 0
        if self.stability == "published":
            bound, status = self._published(rate, lipschitz, allowance, proven)
            draws = published_draws(space.total_width, min(bound, space.diameter), params.delta)
            implied = status is CalibrationStatus.PROVEN
            theorem = "stability as published" + (", implied by the proven" if implied else "")
        bound = min(bound, space.diameter)
        covered = space.stretch * min(inflation * bound, space.diameter) * ROUND_UP
        covered += _SUMMATION * space.stretch * space.total_width
        d = self.domain.dimension
        spacing = 2.0 ** math.floor(math.log2(covered / (64 * d)))
        # Rounding to the lattice moves each of d coordinates by at most one more step.
        scale = (covered / spacing + d) * spacing / params.epsilon
        release = release_error(self.domain, constants, scale, spacing, project=self.project)
        return _Setting(
            space=space,
            tilts=tilts,
            lattice=lattice,
            allowance=allowance,
            theorem=theorem,
            status=status,
            draws=max(draws, chernoff_draws(bound / space.diameter, inflation, params.delta)),
            stability=space.stretch * bound,
            covered=covered,
            spacing=spacing,
            scale=scale,
            expected_error=space.mean_tilts[tilts == "uniform"] * lattice.scale
            + allowance
            + _tuned_rows(public) * release,
        )

    def _spec(self, setting: _Setting, public: PublicInputs) -> OPSampSpec:
        d = self.domain.dimension
        steps = Fraction(setting.covered) / Fraction(setting.spacing) + d
        release_decay = Fraction(public.params.epsilon) / steps
        space, tilts, lattice = setting.space, setting.tilts, setting.lattice
        return OPSampSpec(
            law=f"centred {tilts} tilts on a lattice; discrete Laplace on the average",
            scales=(lattice.scale, setting.scale),
            theorem=f"OPSamp, {setting.theorem} (docs/opsamp.md)",
            status=setting.status,
            allowance=setting.allowance,
            total_variation=_tilt_total_variation(tilts, lattice, setting.draws * space.dimension)
            + geometric_total_variation(release_decay, 2 * d),
            spacing=setting.spacing,
            space=space,
            draws=setting.draws,
            tilts=tilts,
            tilt_step=lattice.spacing,
            stability=setting.stability,
            l1_sensitivity=setting.covered,
            release_decay=release_decay,
            expected_error=setting.expected_error,
        )

    def _published(
        self, rate: float, lipschitz: float, allowance: float, proven: float
    ) -> tuple[float, CalibrationStatus]:
        bound = published_stability(
            dimension=self.domain.dimension,
            width=self.domain.diameter_linf,
            lipschitz=lipschitz,
            rate=rate,
            allowance=allowance,
        )
        implied = min(bound, self.domain.diameter_l1) >= min(proven, self.domain.diameter_l1)
        return bound, CalibrationStatus.PROVEN if implied else CalibrationStatus.PUBLISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """One choice of tilts and release noise: what decides between choices, and what they need."""

    space: SearchSpace
    tilts: TiltLaw
    lattice: TiltLattice
    allowance: float
    theorem: str
    status: CalibrationStatus
    draws: int
    stability: float
    covered: float
    spacing: float
    scale: float
    expected_error: float


def _tilt_total_variation(tilts: TiltLaw, lattice: TiltLattice, count: int) -> float:
    """Return the total variation between the tilts drawn and their law; uniform ones are exact."""
    if tilts == "uniform":
        return 0.0
    return geometric_total_variation(Fraction(lattice.spacing) / Fraction(lattice.scale), count)


def _tuned_rows(public: PublicInputs) -> int:
    """Return the number of rows that the noise is tuned for: the guess, else the public number."""
    return public.public_row_guess or public.step_rows
