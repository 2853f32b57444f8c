"""Convex private learning: small functions over a (loss, domain) pair, each with a receipt."""

from opdisc.convex.base import ConvexPublic, ConvexReceipt, ConvexRelease, NoisePlan, Rows
from opdisc.convex.perturbation import (
    approximate_minima,
    huberised_svm,
    objective_perturbation,
    output_perturbation,
)

__all__ = [
    "ConvexPublic",
    "ConvexReceipt",
    "ConvexRelease",
    "NoisePlan",
    "Rows",
    "approximate_minima",
    "huberised_svm",
    "objective_perturbation",
    "output_perturbation",
]
