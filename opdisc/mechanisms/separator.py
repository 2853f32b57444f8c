"""RSPM: objective perturbation on a separator set (Neel, Roth, Wu 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.calibration import lattice_margin, separator_decay_rate
from opdisc.mechanisms.base import NoiseSpec
from opdisc.noise import EntropySource, discrete_laplace, geometric_distance
from opdisc.privacy import CalibrationStatus, PublicInputs
from oracles import Perturbation, WeightGrid, ZeroOneProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorSpec(NoiseSpec):
    """Calibrated separator noise.

    Parameters
    ----------
    rate : Fraction
        Decay per lattice step of each separator's two-sided noise.
    """

    rate: Fraction


def thermometer_size(grid: WeightGrid) -> int:
    """Return the number m of thermometer separators: ``sum_j (|V_j| - 1)``."""
    return sum(len(allowed) - 1 for allowed in grid.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorMechanism:
    """RSPM with the thermometer set: one Laplace variable per (coordinate, threshold).

    Parameters
    ----------
    allowance : float
        Certified gap that a release may have, rows; priced into the noise.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP: Theorem A of docs/theory.md with ``psi(w)`` the indicators
    ``1[w_j >= a]`` for every coordinate j and value a above the smallest. Two hypotheses differ in
    at least one of them, and the shift ``mu (2 psi(w) - 1)`` has l1 norm ``m mu``.

    References
    ----------
    .. [1] Neel, Roth, Wu (2018), Theorem for RSPM with Laplace noise; docs/theory.md, entry
       "separator".
    """

    allowance: float = 0.0
    name: str = "rspm"

    def calibrate(self, public: PublicInputs) -> SeparatorSpec:
        """Return the rate of every separator's noise."""
        spacing = Fraction(public.spacing)
        margin = lattice_margin(public.sensitivity, self.allowance, spacing)
        size = thermometer_size(public.grid)
        rate = separator_decay_rate(size, margin, spacing, public.params.epsilon)
        return SeparatorSpec(
            law=f"discrete Laplace on each of {size} separators",
            scales=(float(spacing / rate),),
            theorem="Theorem A with the separator embedding (docs/theory.md, separator)",
            status=CalibrationStatus.PROVEN,
            allowance=self.allowance,
            distance=geometric_distance(rate, 2 * size),
            rate=rate,
            spacing=public.spacing,
        )

    def perturb(
        self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource
    ) -> ZeroOneProblem:
        """Return the problem with ``<eta, psi(w)>`` as one table per coordinate."""
        assert isinstance(spec, SeparatorSpec)
        noise = discrete_laplace(spec.rate, thermometer_size(problem.grid), entropy)
        tables = []
        start = 0
        for allowed in problem.grid.values:
            stop = start + len(allowed) - 1
            tables.append(np.concatenate([[0], np.cumsum(noise[start:stop])]))
            start = stop
        return problem.with_perturbation(Perturbation.separable(tables, unit=spec.spacing))
