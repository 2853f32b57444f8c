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
from functools import partial

import numpy as np

from opdisc.audit.case import AuditCase, one_by_one, with_facts
from opdisc.audit.controls import overspent, understated
from opdisc.audit.grid_cases import AUDITED_COSTS
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
    frank_wolfe,
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
    L1Ball,
    L2Ball,
    LinearLoss,
    LogisticLoss,
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
    mechanism: Callable[..., ConvexRelease],
    *,
    zeros: int = 9,
    relation: NeighboringRelation = REPLACE,
    delta: float = DELTA,
    loss: LinearLoss = _HINGE,
    domain: Domain | None = None,
    others: tuple[float, ...] = (),
    divisor: float = 2.0,
    louder: Callable[..., ConvexPublic] = understated,
) -> AuditCase:
    """Return a case whose first table has the row 1; the second has -1 instead, or nothing."""
    sign = -1.0 if isinstance(loss, ScoreLoss) else 1.0
    rest = (*others, *(0.0,) * zeros)

    def release(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
        return sign * float(mechanism(rows, public, entropy=entropy).parameters[0])

    draw = one_by_one(release)
    facts = _facts(n=len(rest) + 1, delta=delta, relation=relation, loss=loss, domain=domain)
    return AuditCase(
        name=name,
        tables="one row " + ("removed" if relation is ADD else "replaced"),
        first=_rows(1.0, rest),
        second=_rows(None if relation is ADD else -1.0, rest),
        public=facts,
        draw=draw,
        control=with_facts(draw, partial(louder, divisor=divisor)),
        divisor=divisor,
    )


def _gradient_cases() -> tuple[AuditCase, ...]:
    last = partial(gradient_descent, steps=4)
    random = partial(gradient_descent, steps=2, iterate="random")
    accelerated = partial(accelerated_mirror_descent, steps=2)
    return (
        _case("gradient_descent", last, zeros=999),
        _case("gradient_descent, add-remove", last, zeros=999, relation=ADD),
        _case("gradient_descent, random", random, zeros=999, divisor=4.0),
        _case("accelerated_mirror_descent", accelerated, zeros=999),
        _case("mirror_descent", mirror_descent, zeros=0),
    )


def _stochastic_cases() -> tuple[AuditCase, ...]:
    poisson = partial(noisy_sgd, batches=BatchPlan(batch=1, steps=2, sampling="poisson"))
    fixed = partial(noisy_sgd, batches=BatchPlan(batch=1, steps=2, sampling="fixed"))
    poisson_ridge, fixed_ridge = partial(poisson, ridge=100.0), partial(fixed, ridge=100.0)
    once = partial(svrg, epochs=SVRGPlan(epochs=1, inner=1, batch=1, doubling=False))
    doubling = partial(svrg, epochs=SVRGPlan(epochs=2, inner=1, batch=1, doubling=True))
    return (
        _case("noisy_sgd, poisson", poisson, relation=ADD, zeros=1, divisor=3.0),
        _case("noisy_sgd, poisson, replace", poisson, zeros=1, divisor=3.0),
        _case("noisy_sgd, fixed", fixed, zeros=0, others=(-1.0,)),
        _case("noisy_sgd, ridge, poisson", poisson_ridge, relation=ADD, zeros=1),
        _case("noisy_sgd, ridge, fixed", fixed_ridge, zeros=0, others=(-1.0,)),
        _case("svrg", once, zeros=1, divisor=16.0),
        _case("svrg++", doubling, zeros=1, divisor=16.0),
    )


def _perturbation_cases() -> tuple[AuditCase, ...]:
    objective = partial(objective_perturbation, ridge=_RIDGE)
    output = partial(output_perturbation, ridge=_RIDGE)
    minima = partial(approximate_minima, ridge=_RIDGE)
    pure, gaussian = partial(objective, noise="pure"), partial(objective, noise="gaussian")
    c11, k12 = partial(objective, noise="c11"), partial(objective, noise="k12")
    svm = HuberisedHingeLoss()
    return (
        _case("output_perturbation, pure", partial(output, noise="pure"), delta=0.0),
        _case("output_perturbation, gaussian", partial(output, noise="gaussian")),
        _case("output_perturbation, j14", partial(output, noise="j14"), divisor=8.0),
        _case("objective_perturbation, pure", pure, delta=0.0, divisor=3.0),
        _case("objective_perturbation, c11", c11, delta=0.0, divisor=3.0),
        _case("objective_perturbation, replace", gaussian, divisor=4.0),
        _case("objective_perturbation, remove", gaussian, relation=ADD, divisor=4.0),
        _case("objective_perturbation, k12", k12, relation=ADD, divisor=16.0),
        _case("approximate_minima", minima, divisor=4.0),
        _case(
            "objective_perturbation, huberised hinge",
            objective,
            delta=0.0,
            loss=svm,
            louder=overspent,
        ),
    )


def _sampling_cases() -> tuple[AuditCase, ...]:
    interval = L2Ball(dimension=1, radius=1.0)
    linear = partial(_case, delta=0.0, loss=_SCORE, domain=interval, zeros=0, divisor=8.0)
    walk = partial(grid_walk_sampling, steps=30, spacing=1.0)
    local = partial(localization, ridge=_RIDGE, confidence=0.01)
    return (
        linear("exponential_sampling", exponential_sampling),
        linear("grid_walk", walk),
        _case("localization", local, delta=0.0, divisor=8.0),
    )


def _vertex_step_cases() -> tuple[AuditCase, ...]:
    """Return private Frank-Wolfe beside rows that pull down: the vertex above is drawn seldom.

    Slopes are cut at their bound, so an understated one would hide nothing less.
    """
    ball = L1Ball(dimension=1, radius=0.5)
    case = partial(_case, delta=0.0, zeros=0, domain=ball, louder=overspent)
    once = partial(frank_wolfe, steps=1)
    return (
        replace(case("frank_wolfe", once, others=(-1.0,) * 2), effort=2.0),
        case(
            "frank_wolfe, logistic, add-remove",
            once,
            relation=ADD,
            loss=LogisticLoss(),
            others=(-1.0,),
            divisor=4.0,
        ),
    )


def _costly_cases() -> tuple[AuditCase, ...]:
    """Return one mechanism of each kind on a changed row of the class that costs more.

    The control forgets the cost of that class.
    """
    objective = partial(objective_perturbation, ridge=_RIDGE)
    sgd = partial(noisy_sgd, batches=BatchPlan(batch=1, steps=2, sampling="fixed"))
    # Scores up to 1/2, where the smoothed hinge is straight.
    straight = L2Ball(dimension=1, radius=0.5)
    hinge = with_costs(_HINGE, AUDITED_COSTS)
    steep = with_costs(_HINGE, ErrorCosts(false_negative=20, false_positive=1))
    return (
        _case("objective_perturbation, costs", objective, delta=0.0, loss=hinge, divisor=5.0),
        _case("noisy_sgd, fixed, costs", sgd, zeros=0, others=(-1.0,), loss=hinge, divisor=5.0),
        _case(
            "exponential_sampling, costs",
            exponential_sampling,
            delta=0.0,
            zeros=0,
            domain=straight,
            loss=steep,
            divisor=20.0,
        ),
    )


def _simplex_rows(first: float, n: int, p: int) -> Rows:
    """Return n rows, the first a corner that pulls towards or away from vertex 0, then zeros."""
    X = np.zeros((n, p))
    X[0], X[0, 0] = first, -first
    return Rows(X=X, y=np.zeros(n))


def _louder_play(public: ConvexPublic, divisor: float) -> ConvexPublic:
    """Return the facts whose regularisation is divided: zCDP grows with the square."""
    rho, delta = divisor**2 * zcdp_budget(public.params), public.params.delta
    epsilon = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return replace(public, params=PrivacyParams(epsilon=epsilon, delta=delta))


def _vertex_cases() -> tuple[AuditCase, ...]:
    def mixture(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
        weight = 4.0001 / public.params.epsilon
        return float(
            simplex_sampling(rows, public, entropy_weight=weight, entropy=entropy).parameters[0]
        )

    def plays(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
        return float((private_ftrl(rows, public, entropy=entropy).actions[1:] == 0).sum())

    def follows(rows: Rows, public: ConvexPublic, entropy: EntropySource) -> float:
        played = private_ftrl(rows, public, entropy=entropy, noise="tree").actions
        return float((played[1:] == 0).sum())

    def case(
        name: str,
        release: Callable[[Rows, ConvexPublic, EntropySource], float],
        n: int,
        p: int,
        delta: float,
        louder: Callable[..., ConvexPublic] = understated,
    ) -> AuditCase:
        simplex, draw = Simplex(dimension=p), one_by_one(release)
        return AuditCase(
            name=name,
            tables="one row replaced",
            first=_simplex_rows(1.0, n, p),
            second=_simplex_rows(-1.0, n, p),
            public=_facts(
                n=n, delta=delta, loss=_SCORE, domain=simplex, dimension=p, l2=math.sqrt(p)
            ),
            draw=draw,
            control=with_facts(draw, partial(louder, divisor=8.0)),
            divisor=8.0,
        )

    return (
        case("simplex_sampling", mixture, 1, 3, 0.0),
        case("private_ftrl", plays, 12, 2, DELTA, _louder_play),
        case("private_ftrl, tree", follows, 2, 2, DELTA, _louder_play),
    )


def convex_audit_cases() -> dict[str, AuditCase]:
    """Return the convex mechanisms' cases by name."""
    cases = (
        *_gradient_cases(),
        *_stochastic_cases(),
        *_perturbation_cases(),
        *_sampling_cases(),
        *_vertex_step_cases(),
        *_vertex_cases(),
        *_costly_cases(),
        *hull_audit_cases(),
    )
    return {case.name: case for case in cases}
