"""Mechanisms and entropy that break the promise on purpose: every audit must catch them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from opdisc.mechanisms.objective_perturbation import BlockOneHotMechanism, BlockSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfNoiseBlocks(BlockOneHotMechanism):
    """Block noise with half the calibrated mean; the receipt still claims the full epsilon."""

    def calibrate(self, public: Any) -> BlockSpec:
        spec = BlockOneHotMechanism.calibrate(self, public)
        return replace(spec, rates=tuple(2 * Fraction(rate) for rate in spec.rates))
