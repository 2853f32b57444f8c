"""Fixed public defaults for each mechanism by name: what the estimators run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from opdisc.convex.full_gradient import (
    accelerated_mirror_descent,
    gradient_descent,
    plan_accelerated_steps,
    plan_descent_steps,
)
from opdisc.convex.noise_plan import ConvexRelease
from opdisc.convex.objective import approximate_minima, objective_perturbation
from opdisc.convex.one_pass import mirror_descent
from opdisc.convex.output import output_perturbation
from opdisc.convex.public import ConvexPublic, check_ridge
from opdisc.convex.rows import Rows
from opdisc.convex.sampling import (
    exponential_sampling,
    frank_wolfe,
    grid_walk_sampling,
    localization,
)
from opdisc.convex.stochastic import noisy_sgd, plan_batches
from opdisc.convex.variance_reduced import SVRGPlan, plan_epochs, svrg
from opdisc.errors import CalibrationError
from opdisc.privacy import EntropySource, Prepared, PreparedFirst

_UNBOUNDED = (objective_perturbation, approximate_minima, output_perturbation)
"""Their fit without noise has no domain."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A mechanism and what it needs beside the rows.

    Parameters
    ----------
    name : str
        What an estimator calls it.
    draw : PreparedFirst
        The mechanism.
    ridge : str
        Its ridge is that of the "sum" or of the "mean"; "output" is "sum" with a public default;
        "none" takes none.
    plans : dict
        From a setting's name to a function of the public facts, and of the ridge if it takes one.
    fixed : dict
        Settings that are always the same.
    """

    name: str
    draw: PreparedFirst[..., ConvexRelease]
    ridge: Literal["sum", "mean", "output", "none"]
    plans: dict[str, Callable[..., object]] = field(default_factory=dict)
    fixed: dict[str, object] = field(default_factory=dict)

    def prepare(
        self, rows: Rows, public: ConvexPublic, ridge: float | None, entropy: EntropySource
    ) -> Prepared[ConvexRelease]:
        """Prepare one release; ``ridge`` is that of the sum, None its default."""
        if public.is_noiseless and self.draw in _UNBOUNDED:
            public = replace(public, domain=None)
        settings = self._ridge(public, ridge)
        settings |= {name: plan(public, **settings) for name, plan in self.plans.items()}
        return self.draw.prepare(rows, public, **settings, **self.fixed, entropy=entropy)

    def _ridge(self, public: ConvexPublic, ridge: float | None) -> dict[str, object]:
        match self.ridge:
            case "sum":
                return {"ridge": ridge}
            case "mean":
                return {"ridge": 0.0 if ridge is None else check_ridge(ridge) / public.step_rows}
            case "output":
                return {"ridge": _output_ridge(public) if ridge is None else ridge}
        if ridge is not None:
            raise CalibrationError(f"{self.name} takes no ridge, got ridge={ridge!r}; omit it.")
        return {}


def _output_ridge(public: ConvexPublic) -> float:
    """Return the ridge that balances its bias with noise of length ``p k L / (epsilon ridge)``.

    Both in the units of the sum of losses: ``ridge R^2 / 2`` against ``curvature |noise|^2 / 2``
    with the curvature of a public number of rows.
    """
    if public.is_noiseless:
        return 0.0
    constants = public.unbounded_constants
    noise = public.dimension * public.gradient_sensitivity / public.params.epsilon
    curvature = public.step_rows * constants.smoothness_l2 / public.dimension
    radius = 5.0 / public.bounds.l2
    return float((2 * curvature * noise**2 / radius**2) ** (1 / 3))


def _doubling_epochs(public: ConvexPublic, ridge: float) -> SVRGPlan:
    return plan_epochs(public)  # without a ridge the plan doubles


def _steps(public: ConvexPublic) -> int:
    return 2000 * public.dimension


def _spacing(public: ConvexPublic) -> float:
    return public.require_domain("the grid walk").diameter_linf / 32


_RANDOM_STEPS = partial(plan_descent_steps, iterate="random")

_RUNNERS = (
    Runner("auto", objective_perturbation, "sum"),
    Runner("objective_perturbation", objective_perturbation, "sum"),
    Runner("approximate_minima", approximate_minima, "sum"),
    Runner("output_perturbation", output_perturbation, "output"),
    Runner("noisy_sgd", noisy_sgd, "mean", {"batches": plan_batches}),
    Runner("gradient_descent", gradient_descent, "mean", {"steps": plan_descent_steps}),
    Runner(
        "gradient_descent_random",
        gradient_descent,
        "mean",
        {"steps": _RANDOM_STEPS},
        {"iterate": "random"},
    ),
    Runner(
        "accelerated_mirror_descent",
        accelerated_mirror_descent,
        "none",
        {"steps": plan_accelerated_steps},
    ),
    Runner("mirror_descent", mirror_descent, "none"),
    Runner("svrg", svrg, "mean", {"epochs": plan_epochs}),
    Runner("svrg++", svrg, "mean", {"epochs": _doubling_epochs}),
    Runner("exponential_sampling", exponential_sampling, "none"),
    Runner("grid_walk", grid_walk_sampling, "none", {"spacing": _spacing, "steps": _steps}),
    Runner("localization", localization, "output"),
    Runner("frank_wolfe", frank_wolfe, "none"),
    Runner("objective_perturbation_c11", objective_perturbation, "sum", fixed={"noise": "c11"}),
    Runner("objective_perturbation_k12", objective_perturbation, "sum", fixed={"noise": "k12"}),
    Runner("objective_perturbation_j14", objective_perturbation, "sum", fixed={"noise": "j14"}),
    Runner("output_perturbation_j14", output_perturbation, "output", fixed={"noise": "j14"}),
)

RUNNERS = {runner.name: runner for runner in _RUNNERS}
"""Mechanisms by name, as estimators run them."""
