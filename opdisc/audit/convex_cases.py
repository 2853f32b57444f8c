"""Every convex mechanism, in one coordinate, on two tables at which its calibration is tried.

The tables have one row of length 1 that pulls up on the first and down on the second (under
add-or-remove-one: is there, or not), and rows of zeros, which have no gradient. A smoothed hinge
has its full slope near 0, so that the changed row moves a sum of gradients by all of its
sensitivity; scores are linear everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from opdisc.audit.convex import ConvexAuditCase, Release, overspent, understated
from opdisc.audit.costly_rows import AUDITED_COSTS
from opdisc.audit.hull_cases import hull_audit_cases
from opdisc.convex import (
    BatchPlan,
    ConvexPublic,
    ConvexRelease,
    Rows,
    SVRGPlan,
    accelerated_mirror_descent,
    approximate_minima,
    exponential_sampling,
    gradient_descent,
    grid_walk_sampling,
    localization,
    mirror_descent,
    noisy_sgd,
    objective_perturbation,
    output_perturbation,
    private_ftrl,
    simplex_sampling,
    svrg,
    zcdp_budget,
)
from opdisc.privacy import EntropySource, NeighboringRelation, PrivacyParams
from oracles.convex import (
    Domain,
    HuberisedHingeLoss,
    L2Ball,
    LinearLoss,
    RowBounds,
    ScoreLoss,
    Simplex,
    with_costs,
)
from oracles.problem import ErrorCosts

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE

DELTA = 0.05
"""Large, so that few releases tell a broken claim from one that holds."""

_HINGE, _SCORE = HuberisedHingeLoss(0.5), ScoreLoss()

_RIDGE = 40.0
"""Strong convexity of the sum: minimisers stay where the hinge is straight."""


def _facts(
    *,
    n: int,
    delta: float = DELTA,
    relation: NeighboringRelation = REPLACE,
    loss: LinearLoss = _HINGE,
    domain: Domain | None = None,
    dimension: int = 1,
    l2: float = 1.0,
) -> Callable[[float], ConvexPublic]:
    def public(epsilon: float) -> ConvexPublic:
        return ConvexPublic(
            params=PrivacyParams(epsilon=epsilon, delta=delta),
            relation=relation,
            loss=loss,
            bounds=RowBounds(l2=l2, linf=1.0),
            dimension=dimension,
            domain=domain or L2Ball(dimension=dimension, radius=1000.0),
            n_rows=n if relation is REPLACE else None,
            public_row_guess=None if relation is REPLACE else n,
        )

    return public


def _rows(first: float | None, others: tuple[float, ...]) -> Rows:
    """Return rows of one coordinate with label 1; the loss of x > 0 pulls up."""
    values = others if first is None else (first, *others)
    return Rows(X=np.array(values, dtype=np.float64)[:, None], y=np.ones(len(values)))


def _case(
    name: str,
    draw: Callable[[Rows, ConvexPublic, EntropySource], ConvexRelease],
    *,
    zeros: int = 9,
    relation: NeighboringRelation = REPLACE,
    delta: float = DELTA,
    loss: LinearLoss = _HINGE,
    domain: Domain | None = None,
    second: float | None = -1.0,
    others: tuple[float, ...] = (),
    divisor: float = 2.0,
    louder: Callable[[ConvexPublic, float], ConvexPublic] = understated,
) -> ConvexAuditCase:
    """Return a case whose first table has the row 1 and whose second has ``second`` instead."""
    sign = -1.0 if isinstance(loss, ScoreLoss) else 1.0
    rest = (*others, *(0.0,) * zeros)
    second = None if relation is ADD else second

    def release(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
        return sign * float(draw(rows, public, entropy).parameters[0])

    return ConvexAuditCase(
        name=name,
        tables="one row " + ("removed" if relation is ADD else "replaced"),
        public=_facts(
            n=len(rest) + 1,
            delta=delta,
            relation=relation,
            loss=loss,
            domain=domain,
        ),
        first=_rows(1.0, rest),
        second=_rows(second, rest),
        release=release,
        divisor=divisor,
        louder=louder,
    )


def _gradient_cases() -> tuple[ConvexAuditCase, ...]:
    def last(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return gradient_descent(rows, public, steps=4, entropy=entropy)

    def random(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return gradient_descent(rows, public, steps=2, iterate="random", entropy=entropy)

    def accelerated(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return accelerated_mirror_descent(rows, public, steps=2, entropy=entropy)

    def mirror(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return mirror_descent(rows, public, entropy=entropy)

    return (
        _case("gradient_descent", last, zeros=999),
        _case("gradient_descent, add-remove", last, zeros=999, relation=ADD),
        _case("gradient_descent, random", random, zeros=999, divisor=4.0),
        _case("accelerated_mirror_descent", accelerated, zeros=999),
        _case("mirror_descent", mirror, zeros=0),
    )


def _opsamp_cases() -> tuple[ConvexAuditCase, ...]:
    def sgd(ridge: float, sampling: str):  # type: ignore[no-untyped-def]
        batches = BatchPlan(batch=1, steps=2, sampling=sampling)  # type: ignore[arg-type]

        def draw(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
            return noisy_sgd(rows, public, batches, ridge=ridge, entropy=entropy)

        return draw

    def reduced(doubling: bool):  # type: ignore[no-untyped-def]
        plan = SVRGPlan(epochs=2 if doubling else 1, inner=1, batch=1, doubling=doubling)

        def draw(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
            return svrg(rows, public, plan, entropy=entropy)

        return draw

    return (
        _case("noisy_sgd, poisson", sgd(0.0, "poisson"), relation=ADD, zeros=1, divisor=3.0),
        _case("noisy_sgd, poisson, replace", sgd(0.0, "poisson"), zeros=1, divisor=3.0),
        _case("noisy_sgd, fixed", sgd(0.0, "fixed"), zeros=0, others=(-1.0,)),
        _case("noisy_sgd, ridge, poisson", sgd(100.0, "poisson"), relation=ADD, zeros=1),
        _case("noisy_sgd, ridge, fixed", sgd(100.0, "fixed"), zeros=0, others=(-1.0,)),
        _case("svrg", reduced(False), zeros=1, divisor=16.0),
        _case("svrg++", reduced(True), zeros=1, divisor=16.0),
    )


def _perturbation_cases() -> tuple[ConvexAuditCase, ...]:
    def objective(noise: str):  # type: ignore[no-untyped-def]
        def draw(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
            return objective_perturbation(
                rows,
                public,
                ridge=_RIDGE,
                noise=noise,  # type: ignore[arg-type]
                entropy=entropy,
            )

        return draw

    def output(noise: str):  # type: ignore[no-untyped-def]
        def draw(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
            return output_perturbation(
                rows,
                public,
                ridge=_RIDGE,
                noise=noise,  # type: ignore[arg-type]
                entropy=entropy,
            )

        return draw

    def minima(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return approximate_minima(rows, public, ridge=_RIDGE, entropy=entropy)

    def svm(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        smooth = replace(public, loss=HuberisedHingeLoss())
        return objective_perturbation(rows, smooth, ridge=_RIDGE, entropy=entropy)

    return (
        _case("output_perturbation, pure", output("pure"), delta=0.0),
        _case("output_perturbation, gaussian", output("gaussian")),
        _case("output_perturbation, j14", output("j14"), divisor=8.0),
        _case("objective_perturbation, pure", objective("pure"), delta=0.0, divisor=3.0),
        _case("objective_perturbation, c11", objective("c11"), delta=0.0, divisor=3.0),
        _case("objective_perturbation, replace", objective("gaussian"), divisor=4.0),
        _case("objective_perturbation, remove", objective("gaussian"), relation=ADD, divisor=4.0),
        _case("objective_perturbation, k12", objective("k12"), relation=ADD, divisor=16.0),
        _case("approximate_minima", minima, divisor=4.0),
        _case("objective_perturbation, huberised hinge", svm, delta=0.0, louder=overspent),
    )


def _sampling_cases() -> tuple[ConvexAuditCase, ...]:
    interval = L2Ball(dimension=1, radius=1.0)

    def exponential(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return exponential_sampling(rows, public, entropy=entropy)

    def walk(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return grid_walk_sampling(rows, public, steps=30, spacing=1.0, entropy=entropy)

    def local(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return localization(rows, public, ridge=_RIDGE, confidence=0.01, entropy=entropy)

    linear = dict(delta=0.0, loss=_SCORE, domain=interval, zeros=0, divisor=8.0)
    return (
        _case("exponential_sampling", exponential, **linear),  # type: ignore[arg-type]
        _case("grid_walk", walk, **linear),  # type: ignore[arg-type]
        _case("localization", local, delta=0.0, divisor=8.0),
    )


def _costly_cases() -> tuple[ConvexAuditCase, ...]:
    """Return one mechanism of each kind on a changed row of the class that costs more.

    The control forgets the cost of that class.
    """

    def objective(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return objective_perturbation(rows, public, ridge=_RIDGE, entropy=entropy)

    def sgd(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        batches = BatchPlan(batch=1, steps=2, sampling="fixed")
        return noisy_sgd(rows, public, batches, ridge=0.0, entropy=entropy)

    def exponential(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> ConvexRelease:
        return exponential_sampling(rows, public, entropy=entropy)

    # Scores up to 1/2, where the smoothed hinge is straight.
    straight = L2Ball(dimension=1, radius=0.5)
    hinge = with_costs(_HINGE, AUDITED_COSTS)
    steep = with_costs(_HINGE, ErrorCosts(false_negative=20, false_positive=1))
    return (
        _case("objective_perturbation, costs", objective, delta=0.0, loss=hinge, divisor=5.0),
        _case("noisy_sgd, fixed, costs", sgd, zeros=0, others=(-1.0,), loss=hinge, divisor=5.0),
        _case(
            "exponential_sampling, costs",
            exponential,
            delta=0.0,
            zeros=0,
            domain=straight,
            loss=steep,
            divisor=20.0,
        ),
    )


def _simplex_rows(first: float, n: int, p: int) -> Rows:
    """Return n rows, the first of them pulling towards or away from vertex 0, the others zeros."""
    X = np.zeros((n, p))
    X[0], X[0, 0] = first, -first
    return Rows(X=X, y=np.zeros(n))


def _louder_play(public: ConvexPublic, divisor: float) -> ConvexPublic:
    """Return the facts whose regularisation is divided: zCDP grows with the square."""
    rho, delta = divisor**2 * zcdp_budget(public.params), public.params.delta
    epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return replace(public, params=PrivacyParams(epsilon=epsilon, delta=delta))


def _vertex_cases() -> tuple[ConvexAuditCase, ...]:
    def mixture(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
        weight = 4.0001 / public.params.epsilon
        return float(
            simplex_sampling(rows, public, entropy_weight=weight, entropy=entropy).parameters[0]
        )

    def plays(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
        return float((private_ftrl(rows, public, entropy=entropy).actions[1:] == 0).sum())

    def case(
        name: str, release: Release, n: int, p: int, delta: float, **settings: object
    ) -> ConvexAuditCase:
        return ConvexAuditCase(
            name=name,
            tables="one row replaced",
            public=_facts(
                n=n,
                delta=delta,
                loss=_SCORE,
                domain=Simplex(dimension=p),
                dimension=p,
                l2=math.sqrt(p),
            ),
            first=_simplex_rows(1.0, n, p),
            second=_simplex_rows(-1.0, n, p),
            release=release,
            **settings,  # type: ignore[arg-type]
        )

    return (
        case("simplex_sampling", mixture, 1, 3, 0.0, divisor=8.0),
        case("private_ftrl", plays, 12, 2, DELTA, louder=_louder_play, divisor=8.0),
    )


def convex_audit_cases() -> dict[str, ConvexAuditCase]:
    """Return the convex mechanisms' cases by name."""
    cases = (
        *_gradient_cases(),
        *_opsamp_cases(),
        *_perturbation_cases(),
        *_sampling_cases(),
        *_vertex_cases(),
        *_costly_cases(),
        *hull_audit_cases(),
    )
    return {case.name: case for case in cases}
