"""RSPM: objective perturbation on a separator set (Neel, Roth, Wu 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import mpmath
import numpy as np
from numpy.typing import NDArray

from opdisc.arguments import check_choice
from opdisc.calibration import (
    continuous_margin,
    lattice_margin,
    published_separator_stddev,
    require_gaussian_delta,
    separator_decay_rate,
    separator_gaussian_stddev,
    separator_quantile,
    thermometer_shift_size,
    thermometer_size,
)
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import (
    MINIMISER_OPTIONS,
    SMALLEST_BOUND,
    NeededBound,
    NoiseSpec,
    Problem,
)
from opdisc.mechanisms.separator_sets import (
    SeparatorRows,
    SeparatorSet,
    append_weighted_rows,
    coordinate_rows,
)
from opdisc.noise import (
    check_noise_fits,
    discrete_laplace,
    gaussian_vector,
    geometric_total_variation,
    largest_geometric,
    sphere_total_variation,
)
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic
from oracles.arithmetic import FloatArray
from oracles.problem import Perturbation, WeightGrid, ZeroOneProblem

SeparatorNoise = Literal["laplace", "gaussian", "gaussian-published-3.5"]

SEPARATOR_NOISES: tuple[SeparatorNoise, ...] = ("laplace", "gaussian", "gaussian-published-3.5")

SeparatorRoute = Literal["tables", "rows"]

_LARGEST_NORMAL = 22.0  # in standard deviations: sqrt(-2 ln U) for U of 320 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorSpec(NoiseSpec):
    """Calibrated separator noise.

    Parameters
    ----------
    rate : Fraction
        Decay, nats per lattice step, of each separator's two-sided noise; 0 for Gaussian noise.
    stddev : float
        Standard deviation of each separator's noise, rows; 0 for Laplace noise.
    size : int
        Number m of separators.
    """

    rate: Fraction
    stddev: float
    size: int

    def simulated_excess(
        self, grid: WeightGrid, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """Draw ``sum_i max(0, eta_i)``: by symmetry the best gain over a fixed pattern."""
        total = np.zeros(draws)
        for _ in range(self.size):
            if self.rate > 0:
                steps = np.floor(rng.exponential(size=(2, draws)) / float(self.rate))
                total += self.spacing * np.maximum(steps[0] - steps[1], 0.0)
            else:
                total += np.maximum(self.stddev * rng.standard_normal(draws), 0.0)
        if self.rate == 0:  # Gaussian tables are rounded once per coordinate
            total += self.size * self.spacing
        return total + self.allowance


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorMechanism:
    """RSPM: one noise variable per separator.

    Parameters
    ----------
    noise : str
        ``"laplace"`` (proven, pure), ``"gaussian"`` (proven), or ``"gaussian-published-3.5"``
        (refuted; receipts are VOID).
    route : str
        ``"tables"`` perturbs the objective by tables; ``"rows"`` appends the separators to the
        data set as weighted rows, negative weights included. The objectives are equal.
    separators : SeparatorSet or None
        None: one per coordinate and value above the smallest, ``psi(w) = 1[w_j >= a]``. Any other
        set goes by rows.
    allowance : float
        Certified gap that a release may have, rows; priced into the noise. By rows the oracle is
        asked for the same number of lattice steps instead, which is stricter.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP (Laplace) or (epsilon, delta)-DP (Gaussian) by Theorem A of
    docs/theory.md. Two hypotheses differ on at least one separator. The shift is
    ``mu (2 psi(w) - 1)`` on all of them, or on a thermometer only at a hypothesis' own threshold
    and the next one.

    References
    ----------
    .. [1] Neel, Roth, Wu (2018), Theorem for RSPM with Laplace noise; docs/theory.md, entry
       "separator".
    """

    options: ClassVar[frozenset[str]] = MINIMISER_OPTIONS

    noise: SeparatorNoise = "laplace"
    route: SeparatorRoute = "tables"
    separators: SeparatorSet | None = None
    allowance: float = 0.0
    name: str = "rspm"

    @property
    def uses_delta(self) -> bool:
        """Whether the noise is Gaussian."""
        return self.noise != "laplace"

    def calibrate(self, public: GridPublic) -> SeparatorSpec:
        """Return the noise of every separator."""
        check_choice("noise", self.noise, SEPARATOR_NOISES)
        size, moved, rounded = self._sizes(public.grid)
        if size < 1:
            raise CalibrationError("the grid must offer a choice; allow more weights.")
        self._check_assumption(public)
        if self.noise == "laplace":
            return self._laplace(public, size, moved)
        return self._gaussian(public, size, moved, rounded)

    def work(self, public: GridPublic, points: float) -> None:
        """Return None: how long an exact search takes depends on the rows."""

    def needed_bound(self, public: GridPublic) -> NeededBound:
        """Return -1..1: the search is the harder, the larger the points."""
        return SMALLEST_BOUND

    def _sizes(self, grid: WeightGrid) -> tuple[int, int, int]:
        """Return how many separators there are, a shift moves, and a hypothesis' roundings."""
        check_choice("route", self.route, ("tables", "rows"))
        if self.separators is None:
            if self.route == "rows":
                coordinate_rows(grid)
            choices = sum(len(allowed) > 1 for allowed in grid.values)
            return thermometer_size(grid), thermometer_shift_size(grid), choices
        if self.route != "rows":
            raise CalibrationError("own separators need route='rows'.")
        if not self.separators.separates(grid):
            raise CalibrationError(
                "separators must tell any two hypotheses of the grid apart, but these do not; add "
                "rows or restrict the grid."
            )
        size = len(self.separators.labels)
        return size, size, size

    def _check_assumption(self, public: GridPublic) -> None:
        """Refuse a proof that only the caller has, unless the receipt will say so."""
        if self.separators is None or type(self.separators) is SeparatorRows:
            return
        if not any("separat" in assumption for assumption in public.assumptions):
            raise CalibrationError(
                "a separator set that vouches for itself must be a condition on the receipt; add "
                "'the separators separate every two hypotheses' to public.assumptions."
            )

    def _laplace(self, public: GridPublic, size: int, moved: int) -> SeparatorSpec:
        spacing = Fraction(public.spacing)
        margin = lattice_margin(public.loss_sensitivity, self.allowance, spacing)
        rate = separator_decay_rate(moved, margin, spacing, public.params.epsilon)
        most_steps = float(size * largest_geometric(rate))
        check_noise_fits(most_steps)
        return SeparatorSpec(
            law=f"discrete Laplace on each of {size} separators, {moved} of them moved",
            scales=(float(spacing / rate),),
            theorem="Theorem A with the separator embedding (docs/theory.md, separator)",
            status=CalibrationStatus.PROVEN,
            allowance=self.allowance,
            total_variation=geometric_total_variation(rate, 2 * size),
            spacing=public.spacing,
            most_steps=most_steps,
            rate=rate,
            stddev=0.0,
            size=size,
        )

    def _gaussian(self, public: GridPublic, size: int, moved: int, rounded: int) -> SeparatorSpec:
        epsilon, delta = public.params.epsilon, public.params.delta
        require_gaussian_delta(delta)
        if self.noise == "gaussian":
            # Half a step for each rounded entry of two hypotheses, and one for the draw itself.
            rounding = (rounded + 1) * public.spacing
            margin = continuous_margin(public.loss_sensitivity, self.allowance + rounding)
            kappa = separator_quantile(size, public.grid.n_hypotheses, delta)
            shift = margin * math.sqrt(moved) * (1 + 1e-12)
            stddev = separator_gaussian_stddev(shift, kappa, epsilon)
            status = CalibrationStatus.PROVEN
            theorem = "Theorem A with the separator embedding (docs/theory.md, separator)"
        else:
            stddev = published_separator_stddev(size, epsilon, delta)
            stddev *= public.error_costs.largest
            status = CalibrationStatus.REFUTED
            theorem = "Neel, Roth, Wu 2018, as published (docs/theory.md, published-gaussian)"
        most_steps = _LARGEST_NORMAL * stddev * size / public.spacing
        check_noise_fits(most_steps)
        return SeparatorSpec(
            law=f"{self.noise} on each of {size} separators, {moved} of them moved",
            scales=(stddev,),
            theorem=theorem,
            status=status,
            allowance=self.allowance,
            total_variation=sphere_total_variation(size),
            spacing=public.spacing,
            most_steps=most_steps,
            rate=Fraction(0),
            stddev=stddev,
            size=size,
        )

    def perturb(self, problem: Problem, spec: NoiseSpec, entropy: EntropySource) -> Problem:
        """Return the problem with ``<eta, psi(w)>`` as tables, or with weighted separators."""
        assert isinstance(spec, SeparatorSpec)
        if self.separators is None and self.route == "tables":
            tables = self._tables(problem.grid, spec, entropy)
            return problem.with_perturbation(Perturbation.separable(tables, unit=spec.spacing))
        if not isinstance(problem, ZeroOneProblem):
            raise CalibrationError("weighted separators take a problem of rows; use tables.")
        if self.separators is not None:
            rows, steps = self.separators, self._steps(spec, entropy)
        else:
            tables = self._tables(problem.grid, spec, entropy)
            rows = coordinate_rows(problem.grid)
            steps = np.concatenate([np.diff(table) for table in tables])
        return append_weighted_rows(problem, rows, steps, round(1 / spec.spacing))

    def _tables(
        self, grid: WeightGrid, spec: SeparatorSpec, entropy: EntropySource
    ) -> list[NDArray[np.int64]]:
        """Return one table per coordinate: the noise of the thresholds that a value passes."""
        noise = None if self.noise != "laplace" else self._steps(spec, entropy)
        normals = gaussian_vector(spec.size, spec.stddev, entropy) if noise is None else []
        tables, start = [], 0
        for allowed in grid.values:
            stop = start + len(allowed) - 1
            if noise is not None:
                entries = np.cumsum(noise[start:stop]).tolist()
            else:
                entries = [
                    _nearest_step(normals[start : i + 1], spec.spacing) for i in range(start, stop)
                ]
            tables.append(np.array([0, *entries], dtype=np.int64))
            start = stop
        return tables

    def _steps(self, spec: SeparatorSpec, entropy: EntropySource) -> NDArray[np.int64]:
        """Return each separator's noise in lattice steps, Gaussian noise rounded."""
        if self.noise == "laplace":
            return discrete_laplace(spec.rate, spec.size, entropy)
        normals = gaussian_vector(spec.size, spec.stddev, entropy)
        return np.array([_nearest_step([z], spec.spacing) for z in normals], dtype=np.int64)


def _nearest_step(normals: list[mpmath.mpf], spacing: float) -> int:
    """Return the sum of normals in lattice steps, rounded to the nearest."""
    with mpmath.workprec(256):
        return int(mpmath.nint(mpmath.fsum(normals) / mpmath.mpf(spacing)))
