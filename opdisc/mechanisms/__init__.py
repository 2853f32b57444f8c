"""Private mechanisms over finite grids of hypotheses."""

from opdisc.mechanisms.base import (
    Mechanism,
    NoiseSpec,
    PerturbingMechanism,
    Release,
    SamplingMechanism,
)
from opdisc.mechanisms.base_measure import BaseMeasure
from opdisc.mechanisms.lazy_selection import LazyPermuteAndFlipMechanism
from opdisc.mechanisms.objective_perturbation import (
    BlockOneHotMechanism,
    SphereMechanism,
    one_hot_mechanism,
)
from opdisc.mechanisms.running import run_mechanism
from opdisc.mechanisms.selection import ExponentialMechanism, PermuteAndFlipMechanism
from opdisc.mechanisms.separator import SeparatorMechanism

__all__ = [
    "BaseMeasure",
    "BlockOneHotMechanism",
    "ExponentialMechanism",
    "LazyPermuteAndFlipMechanism",
    "Mechanism",
    "NoiseSpec",
    "PermuteAndFlipMechanism",
    "PerturbingMechanism",
    "Release",
    "SamplingMechanism",
    "SeparatorMechanism",
    "SphereMechanism",
    "one_hot_mechanism",
    "run_mechanism",
]
