"""Mechanisms and entropy that break the promise on purpose: every audit must catch them."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from opdisc.mechanisms import ExponentialMechanism
from opdisc.mechanisms.objective_perturbation import BlockOneHotMechanism, BlockSpec
from oracles.problem import LevelWeights
from oracles.sampling import sample_by_levels


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfNoiseBlocks(BlockOneHotMechanism):
    """Block noise with half the calibrated mean; the receipt still claims the full epsilon."""

    def calibrate(self, public: Any) -> BlockSpec:
        spec = BlockOneHotMechanism.calibrate(self, public)
        return replace(spec, rates=tuple(2 * Fraction(rate) for rate in spec.rates))


class MassesFromRows(ExponentialMechanism):
    """A measure by levels whose masses look at a row, at the claim of one that does not."""

    def draw(self, problem: Any, spec: Any, entropy: Any) -> Any:
        shares = (1, 63) if problem.positives[0] else (63, 1)
        weights = LevelWeights(shares=shares, whole=1)
        return sample_by_levels(problem, spec.beta, entropy, weights)[0]
