"""The receipt of OPSamp: real parameters instead of a grid of weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

from opdisc.privacy import PrivacyReceipt


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledReceipt(PrivacyReceipt):
    """A receipt of OPSamp: real parameters, so no grid of weights.

    Parameters
    ----------
    loss, domain : str
        What was minimised and where, in words.
    draws : int
        Number of minimisers averaged.
    stability : float
        Bound on the mean l1 distance between neighbours' minimisers, parameter units.
    """

    loss: str
    domain: str
    draws: int
    stability: float

    def __str__(self) -> str:
        """Return the receipt as lines that a reviewer can check one by one."""
        rows = "not public" if self.n_rows is None else f"{self.n_rows:,} (public)"
        scales = ", ".join(f"{scale:.6g}" for scale in self.noise_scales)
        lines = [
            ("guarantee", self.guarantee),
            *(("  condition", condition) for condition in self.conditions),
            ("epsilon", f"{self.epsilon:g}"),
            ("delta", f"{self.delta:g} (+ {self.delta_numerical:.1e} numerical)"),
            ("neighbours", f"{self.relation.replace('_', '-')}, unit: {self.privacy_unit}"),
            ("mechanism", self.mechanism),
            ("theorem", f"{self.theorem} [{self.calibration}]"),
            ("loss", f"{self.loss}, on {self.domain}"),
            ("minimisers", f"{self.draws:,}, certified gap allowed: {self.allowance:g}"),
            ("stability", f"{self.stability:.6g} in l1"),
            ("noise", f"{self.noise_law}; scales {scales}"),
            ("lattice", f"released coordinates are multiples of 2^{math.log2(self.spacing):g}"),
            ("rows", rows),
            ("oracle", f"{self.oracle} ({', '.join(f'{k} {v}' for k, v in self.versions)})"),
            ("not covered", "running time; anything published besides this model"),
        ]
        return "\n".join(f"{name + ':':<20}{text}" for name, text in lines)
