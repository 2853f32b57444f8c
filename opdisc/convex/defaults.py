"""Fixed public defaults for each mechanism by name: what the estimators run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from opdisc.convex.variance_reduced import plan_epochs, svrg
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
    settings : mapping
        From a setting's name to its value, or to a function of the public facts and, by name, of
        what is given before it; first of all the ridge, if there is one.
    """

    name: str
    draw: PreparedFirst[..., ConvexRelease]
    ridge: Literal["sum", "mean", "output", "none"] = "none"
    settings: Mapping[str, object] = field(default_factory=dict)

    def prepare(
        self, rows: Rows, public: ConvexPublic, ridge: float | None, entropy: EntropySource
    ) -> Prepared[ConvexRelease]:
        """Prepare one release; ``ridge`` is that of the sum, None its default."""
        if public.is_noiseless and self.draw in _UNBOUNDED:
            public = replace(public, domain=None)
        if self.ridge == "none" and ridge is not None:
            raise CalibrationError(f"{self.name} takes no ridge, got ridge={ridge!r}; omit it.")
        if self.ridge == "output" and ridge is None:
            ridge = _output_ridge(public)
        if self.ridge == "mean" and ridge is not None:
            ridge = check_ridge(ridge) / public.step_rows
        given: dict[str, object] = {} if ridge is None else {"ridge": ridge}
        for name, value in self.settings.items():
            given[name] = value(public, **given) if callable(value) else value
        return self.draw.prepare(rows, public, **given, entropy=entropy)


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


_DESCENT = {"steps": plan_descent_steps}
_ACCELERATED = {"steps": plan_accelerated_steps}
_WALK = {
    "spacing": lambda public: public.require_domain("the grid walk").diameter_linf / 32,
    "steps": lambda public, spacing: 2000 * public.dimension,
}

_RUNNERS = (
    Runner("auto", objective_perturbation, "sum"),
    Runner("objective_perturbation", objective_perturbation, "sum"),
    Runner("approximate_minima", approximate_minima, "sum"),
    Runner("output_perturbation", output_perturbation, "output"),
    Runner("noisy_sgd", noisy_sgd, "mean", {"batches": plan_batches}),
    Runner("gradient_descent", gradient_descent, "mean", _DESCENT),
    Runner("gradient_descent_random", gradient_descent, "mean", {"iterate": "random", **_DESCENT}),
    Runner("accelerated_mirror_descent", accelerated_mirror_descent, settings=_ACCELERATED),
    Runner("mirror_descent", mirror_descent),
    Runner("svrg", svrg, "mean", {"epochs": plan_epochs}),
    Runner("svrg++", svrg, "mean", {"epochs": lambda public, **_: plan_epochs(public)}),
    Runner("exponential_sampling", exponential_sampling),
    Runner("grid_walk", grid_walk_sampling, settings=_WALK),
    Runner("localization", localization, "output"),
    Runner("frank_wolfe", frank_wolfe),
    Runner("objective_perturbation_c11", objective_perturbation, "sum", {"noise": "c11"}),
    Runner("objective_perturbation_k12", objective_perturbation, "sum", {"noise": "k12"}),
    Runner("objective_perturbation_j14", objective_perturbation, "sum", {"noise": "j14"}),
    Runner("output_perturbation_j14", output_perturbation, "output", {"noise": "j14"}),
)

RUNNERS = {runner.name: runner for runner in _RUNNERS}
"""Mechanisms by name, as estimators run them."""
