"""Convex private learning: small functions over a (loss, domain) pair, each with a receipt."""

from opdisc.convex.base import ConvexPublic, ConvexReceipt, ConvexRelease, NoisePlan, Rows
from opdisc.convex.descent import accelerated_mirror_descent, gradient_descent
from opdisc.convex.exponential import exponential_sampling
from opdisc.convex.ftrl import OnlineRelease, private_ftrl
from opdisc.convex.grid_walk import grid_walk_sampling
from opdisc.convex.localization import localization
from opdisc.convex.output_perturbation import output_perturbation
from opdisc.convex.perturbation import (
    approximate_minima,
    objective_perturbation,
)
from opdisc.convex.simplex import simplex_sampling
from opdisc.convex.single_use import mirror_descent
from opdisc.convex.stochastic import BatchPlan, noisy_sgd
from opdisc.convex.svrg import SVRGPlan, svrg

__all__ = [
    "BatchPlan",
    "ConvexPublic",
    "ConvexReceipt",
    "ConvexRelease",
    "NoisePlan",
    "OnlineRelease",
    "Rows",
    "SVRGPlan",
    "accelerated_mirror_descent",
    "approximate_minima",
    "exponential_sampling",
    "gradient_descent",
    "grid_walk_sampling",
    "localization",
    "mirror_descent",
    "noisy_sgd",
    "objective_perturbation",
    "output_perturbation",
    "private_ftrl",
    "simplex_sampling",
    "svrg",
]
