"""Fixed public defaults for each mechanism by name: what the estimators run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from opdisc.convex.gradient import (
    accelerated_mirror_descent,
    gradient_descent,
    mirror_descent,
    noisy_sgd,
    plan_accelerated_steps,
    plan_batches,
    plan_descent_steps,
    plan_epochs,
    svrg,
)
from opdisc.convex.noise_plan import ConvexRelease
from opdisc.convex.perturbation import (
    ObjectiveNoise,
    approximate_minima,
    objective_perturbation,
    output_perturbation,
)
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling import exponential_sampling, grid_walk_sampling, localization
from opdisc.errors import CalibrationError
from opdisc.privacy import EntropySource, Ledger

Runner = Callable[[Rows, ConvexPublic, float | None, EntropySource, Ledger | None], ConvexRelease]


def _objective(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    return objective_perturbation(
        rows, _unbounded(public), ridge=ridge, entropy=entropy, ledger=ledger
    )


def _minima(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    return approximate_minima(
        rows, _unbounded(public), ridge=ridge, entropy=entropy, ledger=ledger
    )


def _output(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    chosen = _output_ridge(public) if ridge is None else ridge
    return output_perturbation(
        rows, _unbounded(public), ridge=chosen, entropy=entropy, ledger=ledger
    )


def _unbounded(public: ConvexPublic) -> ConvexPublic:
    """Return the facts without a domain where nothing is private: the plain fit has none."""
    return replace(public, domain=None) if public.is_noiseless else public


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


def _sgd(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    mean_ridge = 0.0 if ridge is None else ridge / public.step_rows
    batches = plan_batches(public, ridge=mean_ridge)
    return noisy_sgd(rows, public, batches, ridge=mean_ridge, entropy=entropy, ledger=ledger)


def _descent(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    mean_ridge = 0.0 if ridge is None else ridge / public.step_rows
    steps = plan_descent_steps(public, ridge=mean_ridge)
    return gradient_descent(
        rows, public, steps=steps, ridge=mean_ridge, entropy=entropy, ledger=ledger
    )


def _random_iterate(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    mean_ridge = 0.0 if ridge is None else ridge / public.step_rows
    steps = plan_descent_steps(public, ridge=mean_ridge, iterate="random")
    return gradient_descent(
        rows,
        public,
        steps=steps,
        ridge=mean_ridge,
        iterate="random",
        entropy=entropy,
        ledger=ledger,
    )


def _accelerated(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    _refuse_ridge("accelerated_mirror_descent", ridge)
    steps = plan_accelerated_steps(public)
    return accelerated_mirror_descent(rows, public, steps=steps, entropy=entropy, ledger=ledger)


def _mirror(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    _refuse_ridge("mirror_descent", ridge)
    return mirror_descent(rows, public, entropy=entropy, ledger=ledger)


def _svrg(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    mean_ridge = 0.0 if ridge is None else ridge / public.step_rows
    epochs = plan_epochs(public, ridge=mean_ridge)
    return svrg(rows, public, epochs, ridge=mean_ridge, entropy=entropy, ledger=ledger)


def _svrg_doubling(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    epochs = plan_epochs(public)  # without a ridge the plan doubles
    mean_ridge = 0.0 if ridge is None else ridge / public.step_rows
    return svrg(rows, public, epochs, ridge=mean_ridge, entropy=entropy, ledger=ledger)


def _exponential(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    _refuse_ridge("exponential_sampling", ridge)
    return exponential_sampling(rows, public, entropy=entropy, ledger=ledger)


def _grid_walk(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    _refuse_ridge("grid_walk", ridge)
    spacing = public.require_domain("the grid walk").diameter_linf / 32
    steps = 2000 * public.dimension
    return grid_walk_sampling(
        rows, public, steps=steps, spacing=spacing, entropy=entropy, ledger=ledger
    )


def _localization(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    chosen = _output_ridge(public) if ridge is None else ridge
    return localization(rows, public, ridge=chosen, entropy=entropy, ledger=ledger)


def _refuse_ridge(mechanism: str, ridge: float | None) -> None:
    if ridge is not None:
        raise CalibrationError(f"{mechanism} takes no ridge, got ridge={ridge!r}; omit it.")


def _published(noise: ObjectiveNoise) -> Runner:
    """Return objective perturbation with a published constant; its receipt is VOID."""

    def run(
        rows: Rows,
        public: ConvexPublic,
        ridge: float | None,
        entropy: EntropySource,
        ledger: Ledger | None,
    ) -> ConvexRelease:
        return objective_perturbation(
            rows, _unbounded(public), ridge=ridge, noise=noise, entropy=entropy, ledger=ledger
        )

    return run


def _published_output(
    rows: Rows,
    public: ConvexPublic,
    ridge: float | None,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    chosen = _output_ridge(public) if ridge is None else ridge
    return output_perturbation(
        rows, _unbounded(public), ridge=chosen, noise="j14", entropy=entropy, ledger=ledger
    )


RUNNERS: dict[str, Runner] = {
    "auto": _objective,
    "objective_perturbation": _objective,
    "approximate_minima": _minima,
    "output_perturbation": _output,
    "noisy_sgd": _sgd,
    "gradient_descent": _descent,
    "gradient_descent_random": _random_iterate,
    "accelerated_mirror_descent": _accelerated,
    "mirror_descent": _mirror,
    "svrg": _svrg,
    "svrg++": _svrg_doubling,
    "exponential_sampling": _exponential,
    "grid_walk": _grid_walk,
    "localization": _localization,
    "objective_perturbation_c11": _published("c11"),
    "objective_perturbation_k12": _published("k12"),
    "objective_perturbation_j14": _published("j14"),
    "output_perturbation_j14": _published_output,
}
"""Mechanisms by name, over (rows, public, ridge in the sum scale, entropy, ledger)."""
