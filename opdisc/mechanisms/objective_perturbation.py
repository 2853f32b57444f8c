"""Objective perturbation: the sphere (OPDisc) and one-hot embeddings, whole or in blocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import mpmath
import numpy as np

from opdisc.arguments import check_choice
from opdisc.calibration import (
    block_decay_rates,
    continuous_margin,
    gaussian_stddev,
    harmonic_number,
    l2_laplace_scale,
    lattice_margin,
    published_gaussian_stddev,
    sphere_shift,
)
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import (
    MINIMISER_OPTIONS,
    SMALLEST_BOUND,
    NeededBound,
    NoiseSpec,
    Problem,
)
from opdisc.noise import (
    check_noise_fits,
    gaussian_vector,
    geometric,
    geometric_total_variation,
    l2_laplace_vector,
    largest_geometric,
    sphere_total_variation,
)
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic
from oracles.arithmetic import FloatArray
from oracles.problem import Perturbation, WeightGrid

SphereNoise = Literal["l2-laplace", "gaussian", "gaussian-published-7", "gaussian-published-3.5"]

SPHERE_NOISES: tuple[SphereNoise, ...] = (
    "l2-laplace",
    "gaussian",
    "gaussian-published-7",
    "gaussian-published-3.5",
)

_LARGEST_SPHERE_NOISE = 2.0**50

_LARGEST_DIMENSION = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSpec(NoiseSpec):
    """Calibrated block noise.

    Parameters
    ----------
    blocks : tuple of tuple of int
        Coordinates of each block.
    rates : tuple of Fraction
        Decay of each block's noise, nats per lattice step; 0 for none.
    """

    blocks: tuple[tuple[int, ...], ...]
    rates: tuple[Fraction, ...]

    def expected_excess(self, grid: WeightGrid) -> float:
        """Return ``lambda (H_n - 1) + g`` for each block: a mean, and a step for the floor.

        It is the mean of the largest of n exponentials minus a given one.
        """
        total = self.allowance
        for rate, size in self._drawn(grid):
            total += self.spacing * (float(1 / rate) * (harmonic_number(size) - 1) + 1)
        return total

    def simulated_excess(
        self, grid: WeightGrid, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """Return, for each draw, what the blocks' noise can gain over a given hypothesis."""
        total = np.zeros(draws)
        for rate, size in self._drawn(grid):
            if size > 1:
                total += self.spacing * _largest_minus_own(float(rate), size, rng, draws)
        return total + self.allowance

    def _drawn(self, grid: WeightGrid) -> list[tuple[Fraction, int]]:
        """Return decay and number of assignments of each block that has noise."""
        pairs = zip(self.blocks, self.rates, strict=True)
        return [(rate, _occurring(grid, block)) for block, rate in pairs if rate > 0]


def _largest_minus_own(rate: float, size: int, rng: np.random.Generator, draws: int) -> FloatArray:
    """Draw "largest of ``size`` geometric variables minus a given one of them", lattice steps."""
    own = np.floor(rng.exponential(size=draws) / rate)
    # The largest of k exponentials by inversion, stable for astronomically many.
    log_uniform = np.log1p(-rng.random(draws)) / (size - 1)
    largest = np.floor(-np.log(-np.expm1(log_uniform)) / rate)
    return np.asarray(np.maximum(largest - own, 0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockOneHotMechanism:
    """One-sided exponential noise for every assignment of every block of coordinates.

    Parameters
    ----------
    blocks : tuple of tuple of int
        A public partition of the coordinates. One block per coordinate is the one-hot mechanism,
        a single block is permute-and-flip.
    allowance : float
        Certified gap that a release may have, rows; priced into the noise.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP by Theorem A of docs/theory.md with the shift ``mu * psi(w)``.
    ``psi(w)`` are the indicators of the assignments chosen by w. The shift's l1 norm is at most
    one ``mu`` per block, and adding to one-sided noise keeps it in its support.
    """

    uses_delta: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = MINIMISER_OPTIONS

    blocks: tuple[tuple[int, ...], ...]
    allowance: float = 0.0
    name: str = "block_one_hot"

    def calibrate(self, public: GridPublic) -> BlockSpec:
        """Return the rates of all blocks."""
        check_partition(self.blocks, public.grid)
        spacing = Fraction(public.spacing)
        margin = lattice_margin(public.loss_sensitivity, self.allowance, spacing)
        sizes = [_assignments(public.grid, block) for block in self.blocks]
        rates = block_decay_rates(sizes, margin, spacing, public.params.epsilon)
        active = [(r, n) for r, n in zip(rates, sizes, strict=True) if r > 0]
        most_steps = float(sum(largest_geometric(rate) for rate, _ in active))
        check_noise_fits(most_steps)
        return BlockSpec(
            law=f"one-sided geometric on blocks of {', '.join(str(n) for _, n in active)}",
            scales=tuple(float(spacing / rate) for rate, _ in active),
            theorem="Theorem A with the one-hot embedding (docs/theory.md, block-one-hot)",
            status=CalibrationStatus.PROVEN,
            allowance=self.allowance,
            total_variation=sum(geometric_total_variation(rate, size) for rate, size in active),
            blocks=self.blocks,
            rates=rates,
            spacing=public.spacing,
            most_steps=most_steps,
        )

    def work(self, public: GridPublic, points: float) -> None:
        """Return None: how long an exact search takes depends on the rows."""

    def needed_bound(self, public: GridPublic) -> NeededBound:
        """Return -1..1: the search is the harder, the larger the points."""
        return SMALLEST_BOUND

    def perturb(self, problem: Problem, spec: NoiseSpec, entropy: EntropySource) -> Problem:
        """Return the problem with fresh noise tables."""
        assert isinstance(spec, BlockSpec)
        tables = []
        for block, rate in zip(spec.blocks, spec.rates, strict=True):
            shape = tuple(len(problem.grid.values[j]) for j in block)
            size = _assignments(problem.grid, block)
            noise = geometric(rate, size, entropy) if rate > 0 else np.zeros(size, dtype=np.int64)
            tables.append(noise.reshape(shape))
        perturbation = Perturbation(blocks=spec.blocks, tables=tuple(tables), unit=spec.spacing)
        return problem.with_perturbation(perturbation)


def one_hot_mechanism(n_features: int, *, allowance: float = 0.0) -> BlockOneHotMechanism:
    """Return the mechanism with one block per coordinate."""
    return BlockOneHotMechanism(
        blocks=tuple((j,) for j in range(n_features)), allowance=allowance, name="one_hot"
    )


def check_partition(blocks: tuple[tuple[int, ...], ...], grid: WeightGrid) -> None:
    """Refuse blocks that do not partition the coordinates."""
    if sorted(j for block in blocks for j in block) != list(range(grid.n_features)):
        raise CalibrationError(
            f"blocks must contain each of the {grid.n_features} coordinates exactly once."
        )


def _assignments(grid: WeightGrid, block: tuple[int, ...]) -> int:
    return math.prod(len(grid.values[j]) for j in block)


def _occurring(grid: WeightGrid, block: tuple[int, ...]) -> int:
    """Return how many assignments of a block occur; one of all coordinates heeds the budget."""
    return grid.n_hypotheses if len(block) == grid.n_features else _assignments(grid, block)


@dataclass(frozen=True, slots=True, kw_only=True)
class SphereSpec(NoiseSpec):
    """Calibrated sphere noise.

    Parameters
    ----------
    noise : str
        Which of :data:`SPHERE_NOISES`.
    scale : float
        Scale (l2-Laplace) or standard deviation (Gaussian), rows.
    radius_squared : int
        R^2, the squared radius of the sphere; no unit, as weights are integers.
    """

    noise: SphereNoise
    scale: float
    radius_squared: int

    def simulated_excess(
        self, grid: WeightGrid, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """Draw ``|eta| - <eta, u>`` for a fixed unit vector u: its law is the same for every u."""
        dimension = grid.n_features + 1
        if self.noise == "l2-laplace":
            radius = self.scale * rng.gamma(dimension, size=draws)
        else:
            radius = self.scale * np.sqrt(rng.chisquare(dimension, size=draws))
        half = (dimension - 1) / 2
        cosine = 2 * rng.beta(half, half, size=draws) - 1
        rounding = (dimension + 1) * self.spacing
        return np.asarray(radius * (1 - cosine), dtype=np.float64) + (self.allowance + rounding)


@dataclass(frozen=True, slots=True, kw_only=True)
class SphereMechanism:
    """OPDisc: a linear perturbation of hypotheses lifted to the unit sphere.

    Parameters
    ----------
    noise : str
        ``"l2-laplace"`` (proven, pure), ``"gaussian"`` (proven), or ``"gaussian-published-7"`` and
        ``"gaussian-published-3.5"`` (refuted; receipts are VOID).
    radius_squared : int or None
        R^2; None takes the largest squared norm of the grid.
    allowance : float
        Certified gap that a release may have, rows; priced into the noise.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** (epsilon, delta)-DP by Theorem A of docs/theory.md with the shift ``c psi(w)``;
    pure with l2-Laplace noise. The noise is continuous, and every table entry is rounded to the
    lattice. The calibration pays for that as a gap of ``(d + 2)`` lattice spacings: half a spacing
    for each of ``d + 1`` entries of two hypotheses, and one for the draw's own precision.

    References
    ----------
    .. [1] Neel, Roth, Vietri, Wu (2019), Algorithm 1, Theorems 1 and 2 (OPDisc).
    """

    options: ClassVar[frozenset[str]] = MINIMISER_OPTIONS | {"noise"}

    noise: SphereNoise = "l2-laplace"
    radius_squared: int | None = None
    allowance: float = 0.0
    name: str = "opdisc"

    @property
    def uses_delta(self) -> bool:
        """Whether the noise is Gaussian."""
        return self.noise != "l2-laplace"

    def calibrate(self, public: GridPublic) -> SphereSpec:
        """Return the noise scale."""
        check_choice("noise", self.noise, SPHERE_NOISES)
        dimension = public.grid.n_features + 1
        squared = self.radius_squared or public.grid.largest_norm
        if dimension >= _LARGEST_DIMENSION:
            raise CalibrationError(
                f"the sphere takes fewer than {_LARGEST_DIMENSION - 1} weights."
            )
        if squared < 1:
            raise CalibrationError("the sphere needs a hypothesis besides 0; allow more weights.")
        rounding = (dimension + 1) * public.spacing
        margin = continuous_margin(public.loss_sensitivity, self.allowance + rounding)
        shift = sphere_shift(public.grid, squared, margin)
        scale, status, theorem = self._scale(public, shift, dimension, squared)
        tail = 2.0 * (dimension + 128)
        if scale * tail > _LARGEST_SPHERE_NOISE:
            raise CalibrationError("epsilon must be larger: the sphere noise would not fit.")
        box = sum(max(v * v for v in allowed) for allowed in public.grid.values)
        most_steps = scale * tail * (1 + math.sqrt(box / squared)) / public.spacing
        check_noise_fits(most_steps)
        return SphereSpec(
            law=f"{self.noise} in {dimension} dimensions, R^2 = {squared}",
            scales=(scale,),
            theorem=theorem,
            status=status,
            allowance=self.allowance,
            total_variation=sphere_total_variation(dimension),
            noise=self.noise,
            scale=scale,
            radius_squared=squared,
            spacing=public.spacing,
            most_steps=most_steps,
        )

    def work(self, public: GridPublic, points: float) -> None:
        """Return None: how long an exact search takes depends on the rows."""

    def needed_bound(self, public: GridPublic) -> NeededBound:
        """Return -1..1: the search is the harder, the larger the points."""
        return SMALLEST_BOUND

    def _scale(
        self, public: GridPublic, shift: float, dimension: int, squared: int
    ) -> tuple[float, CalibrationStatus, str]:
        epsilon, delta = public.params.epsilon, public.params.delta
        if self.noise == "l2-laplace":
            theorem = "Theorem A with the sphere embedding, pure (docs/theory.md, sphere)"
            return l2_laplace_scale(shift, epsilon), CalibrationStatus.PROVEN, theorem
        if self.noise == "gaussian":
            theorem = "Theorem A with the sphere embedding, chi tail (docs/theory.md, sphere)"
            stddev = gaussian_stddev(shift, epsilon, delta, dimension)
            return stddev, CalibrationStatus.PROVEN, theorem
        constant = 7.0 if self.noise == "gaussian-published-7" else 3.5
        stddev = published_gaussian_stddev(squared, epsilon, delta, constant=constant)
        stddev *= public.error_costs.largest
        theorem = "Neel et al. 2019, as published (docs/theory.md, published-gaussian)"
        return stddev, CalibrationStatus.REFUTED, theorem

    def perturb(self, problem: Problem, spec: NoiseSpec, entropy: EntropySource) -> Problem:
        """Return the problem with ``<eta, psi(w)>`` as tables on the lattice."""
        assert isinstance(spec, SphereSpec)
        dimension = problem.n_features + 1
        if spec.noise == "l2-laplace":
            eta = l2_laplace_vector(dimension, spec.scale, entropy)
        else:
            eta = gaussian_vector(dimension, spec.scale, entropy)
        with mpmath.workprec(256):
            step = mpmath.sqrt(spec.radius_squared) * mpmath.mpf(spec.spacing)
            tables = [
                np.array([int(mpmath.nint(eta[j] * a / step)) for a in allowed], dtype=np.int64)
                for j, allowed in enumerate(problem.grid.values)
            ]
            norms = [
                int(mpmath.nint(eta[-1] * mpmath.sqrt(spec.radius_squared - k) / step))
                for k in range(problem.grid.largest_norm + 1)
            ]
        return problem.with_perturbation(
            Perturbation.separable(
                tables, unit=spec.spacing, norm_table=np.array(norms, dtype=np.int64)
            )
        )
