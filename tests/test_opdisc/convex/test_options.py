"""Mirror maps, published constants by name, and several rows per privacy unit."""

import math

import numpy as np
import pytest
from scipy import optimize

from opdisc.convex.full_gradient import accelerated_mirror_descent, gradient_descent
from opdisc.convex.mirror_maps import EntropyMap, EuclideanMap, PNormMap, mirror_map
from opdisc.convex.objective import approximate_minima, objective_perturbation
from opdisc.convex.objective_plan import plan_objective_perturbation
from opdisc.convex.one_pass import (
    mirror_descent,
    plan_mirror_descent,
    published_a20,
    published_a20_step,
)
from opdisc.convex.output import output_perturbation, plan_output_perturbation
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.exponential import exponential_sampling
from opdisc.convex.sampling.ftrl import plan_ftrl, private_ftrl
from opdisc.convex.sampling.localized import localization, plan_localization
from opdisc.convex.sampling.simplex import (
    plan_simplex_sampling,
    published_sample_count,
    simplex_sampling,
)
from opdisc.convex.stochastic import BatchPlan, noisy_sgd, plan_noisy_sgd, published_b14_stddev
from opdisc.convex.variance_reduced import SVRGPlan, svrg
from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import LogisticLoss
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Box, Simplex
from oracles.convex.regression_losses import ScoreLoss, SquaredLoss

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def facts(domain, *, epsilon=1.0, delta=1e-6, relation=REPLACE, loss=None, n=400, units=1):
    p = domain.dimension
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=relation,
        loss=loss or LogisticLoss(),
        bounds=RowBounds(l2=math.sqrt(p), linf=1.0),
        dimension=p,
        domain=domain,
        n_rows=n if relation is REPLACE else None,
        public_row_guess=n if relation is ADD else None,
        rows_per_unit=units,
    )


def rows(public, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, public.dimension))
    y = np.sign(X[:, 0] - 0.5 * X[:, 1] + 0.3 * rng.normal(size=n))
    return Rows(X=X, y=y)


def mean_loss(data, public, parameters):
    return data.sum_value(public.loss, parameters) / len(data.y)


# --- mirror maps ---------------------------------------------------------------------------------


def bregman(mirror, x, z):
    """The divergence that a map's step minimises, from its definition."""
    if isinstance(mirror, EntropyMap):
        return float((x * np.log(np.maximum(x, 1e-300) / z)).sum())
    a = 2.0 if isinstance(mirror, EuclideanMap) else 1 + 1 / math.log(len(z))

    def psi(v):
        return np.linalg.norm(v, a) ** 2 / (2 * (a - 1))

    slope = optimize.approx_fprime(z, psi, 1e-7)
    return float(psi(x) - psi(z) - slope @ (x - z))


@pytest.mark.parametrize(
    "domain", [Simplex(dimension=5), L1Ball(dimension=5, radius=2.0), Box.cube(5, 1.0)]
)
def test_a_mirror_step_minimises_its_objective(domain):
    rng = np.random.default_rng(3)
    mirror = mirror_map(domain, None)
    for size in (0.1, 1.0, 10.0):
        z = mirror.step(mirror.start(), rng.normal(size=5))
        direction = size * rng.normal(size=5)
        found = mirror.step(z, direction)
        assert domain.contains(found, tolerance=1e-9)
        best = direction @ found + bregman(mirror, found, z)
        for _ in range(300):
            other = domain.project(found + rng.normal(size=5) * 10.0 ** rng.uniform(-4, 0))
            assert direction @ other + bregman(mirror, other, z) >= best - 1e-5 * (1 + size)


@pytest.mark.parametrize(
    "domain",
    [Simplex(dimension=40), L1Ball(dimension=40, radius=2.0), L2Ball(dimension=40, radius=2)],
)
def test_a_map_is_as_wide_as_it_says(domain):
    rng = np.random.default_rng(4)
    mirror = mirror_map(domain, None)
    start = mirror.start()
    vertices = [domain.minimise_linear(rng.normal(size=40)) for _ in range(20)]
    for point in vertices:
        assert bregman(mirror, point, start) <= mirror.width**2 / 2 * (1 + 1e-4)


@pytest.mark.parametrize(
    ("domain", "geometries"),
    [
        (Simplex(dimension=6), ("euclidean", "entropy", None)),
        (L1Ball(dimension=6, radius=2.0), ("euclidean", "p-norm", None)),
        (L2Ball(dimension=6, radius=2.0), ("euclidean", None)),
    ],
)
def test_accelerated_mirror_descent_without_noise_reaches_the_optimum(domain, geometries):
    public = facts(domain, epsilon=1e7)
    data = rows(public)
    reference = domain.centre
    for _ in range(5000):
        slope = data.sum_gradient(public.loss, reference) / len(data.y)
        reference = domain.project(reference - slope)
    best = mean_loss(data, public, reference)
    for geometry in geometries:
        found = accelerated_mirror_descent(
            data, public, steps=400, geometry=geometry, entropy=SeededEntropy(0)
        )
        assert domain.contains(found.parameters, tolerance=1e-6)
        assert best - 1e-6 <= mean_loss(data, public, found.parameters) <= best + 2e-3


def test_the_entropy_map_needs_fewer_steps_in_many_dimensions():
    domain = Simplex(dimension=300)
    public = facts(domain, epsilon=1e7, loss=SquaredLoss())
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(400, 300))
    data = Rows(X=X, y=X[:, 7].copy())
    losses = {}
    for geometry in ("euclidean", "entropy"):
        parameters = accelerated_mirror_descent(
            data, public, steps=25, geometry=geometry, entropy=SeededEntropy(0)
        ).parameters
        losses[geometry] = mean_loss(data, public, parameters)
    assert losses["entropy"] < 0.5 * losses["euclidean"]


@pytest.mark.parametrize("domain", [Simplex(dimension=3), L1Ball(dimension=3, radius=2.0)])
def test_single_use_mirror_descent_learns_in_every_geometry(domain):
    public = facts(domain, epsilon=1e6, n=4000)
    data = rows(public, n=4000)
    found = mirror_descent(data, public, entropy=SeededEntropy(1))
    start = mirror_map(domain, None).start()
    assert mean_loss(data, public, found.parameters) < mean_loss(data, public, start)
    assert domain.contains(found.parameters, tolerance=1e-6)


def test_a_geometry_that_does_not_fit_is_refused():
    data = rows(facts(Box.cube(3, 1.0)))
    for geometry, text in (
        ("entropy", "the entropy map needs the simplex"),
        ("p-norm", "the p-norm map needs an l1 ball"),
        ("cone", "geometry must be euclidean, entropy or p-norm, got 'cone'"),
    ):
        with pytest.raises(CalibrationError, match=text):
            mirror_descent(
                data, facts(Box.cube(3, 1.0)), geometry=geometry, entropy=SeededEntropy(0)
            )
    assert isinstance(mirror_map(L1Ball(dimension=3, radius=1.0), None), PNormMap)


# --- published constants by name -----------------------------------------------------------------


BALL = L2Ball(dimension=2, radius=1.0)


def test_b14_noise_runs_as_printed_and_promises_nothing():
    public = facts(BALL, n=40)
    single = BatchPlan(batch=1, steps=1600, sampling="fixed")
    plan = plan_noisy_sgd(public, single, noise="published")
    # Ours is in the scale of one row's gradient, theirs of the sum over n rows.
    assert plan.scales[0] == pytest.approx(published_b14_stddev(public) / 40)
    release = noisy_sgd(
        rows(public, n=40), public, single, noise="published", entropy=SystemEntropy()
    )
    assert release.receipt.guarantee == "VOID"
    assert release.receipt.conditions == ("the noise calibration is published, not proven",)
    for bad in (
        BatchPlan(batch=2, steps=10, sampling="fixed"),
        BatchPlan(batch=1, steps=10),
        BatchPlan(batch=1, steps=1601, sampling="fixed"),
    ):
        with pytest.raises(CalibrationError, match="single rows .* at most n\\^2 steps"):
            plan_noisy_sgd(public, bad, noise="published")
    with pytest.raises(CalibrationError, match="noise must be accountant or published"):
        plan_noisy_sgd(public, single, noise="b14")


def test_a20_constants_are_solved_for_the_target_and_promise_nothing():
    public = facts(BALL, epsilon=0.4, n=600)
    step = published_a20_step(public.params, 600)
    sigma, promised = published_a20(step.epsilon, step.delta, 600)
    assert promised == pytest.approx(0.4)
    assert 3 * step.delta + 2 * math.exp(-600 / 16) == pytest.approx(1e-6)
    plan = plan_mirror_descent(public, noise="published")
    assert plan.scales[0] == pytest.approx(sigma * public.constants.lipschitz_l2)
    assert plan.scales[0] > 3 * plan_mirror_descent(public).scales[0]
    release = mirror_descent(
        rows(public, n=600), public, noise="published", entropy=SystemEntropy()
    )
    assert release.receipt.guarantee == "VOID"
    with pytest.raises(CalibrationError, match="A20 promises epsilon of at most"):
        plan_mirror_descent(facts(BALL, epsilon=9.0, n=600), noise="published")
    with pytest.raises(CalibrationError, match="A20 needs more than"):
        plan_mirror_descent(facts(BALL, n=50), noise="published")
    with pytest.raises(CalibrationError, match="noise must be analytic or published"):
        plan_mirror_descent(public, noise="a20")


def test_amp_and_simplex_constants_by_name_are_smaller_and_void():
    public = facts(BALL)
    kinds = {
        released: plan_objective_perturbation(
            public, noise="gaussian", ridge=50.0, released=released
        )
        for released in ("corrected", "published")
    }
    assert kinds["corrected"].scales[1] == pytest.approx(2 * kinds["published"].scales[1])
    release = approximate_minima(
        rows(public), public, released="published", entropy=SystemEntropy()
    )
    assert release.receipt.guarantee == "VOID"
    assert release.receipt.calibration == "refuted"
    with pytest.raises(CalibrationError, match="released must be corrected or published"):
        approximate_minima(rows(public), public, released="amp", entropy=SystemEntropy())
    corner = facts(Simplex(dimension=3), epsilon=4.0, n=2000, loss=SquaredLoss())
    ours = plan_simplex_sampling(corner, entropy_weight=100.0)
    theirs = plan_simplex_sampling(corner, entropy_weight=100.0, noise="published")
    # J14's Theorem 3: the first term of ours and half of the second.
    linear = (
        4
        * corner.loss.slope_bound(corner.bounds, corner.domain.score_bound(corner.bounds))
        * corner.bounds.largest_coordinate
        / 100
    )
    both = ours.setting("epsilon of one") + linear
    assert theirs.setting("epsilon of one") == pytest.approx(both / 2)
    assert published_sample_count(PrivacyParams(epsilon=4.0, delta=0.0), 0.3) == 13
    assert published_sample_count(PrivacyParams(epsilon=8.0, delta=math.exp(-1)), 0.01) == 10_000
    released = simplex_sampling(
        rows(corner, n=2000), corner, noise="published", entropy=SystemEntropy()
    )
    assert released.receipt.guarantee == "VOID"
    assert released.receipt.calibration == "published"


def test_localization_takes_the_published_radius_with_the_same_guarantee():
    public = facts(BALL, epsilon=2.0, delta=0.0)
    plan = plan_localization(public, ridge=40.0, radius_rule="published")
    radius = 3 * math.log(400) * 4 * public.constants.lipschitz_l2 * 2 / (40.0 * 2.0)
    assert plan.setting("radius") == pytest.approx(radius)
    assert plan.status.value == "proven"
    release = localization(
        rows(public), public, ridge=40.0, radius_rule="published", entropy=SystemEntropy()
    )
    assert release.receipt.guarantee == "CONDITIONAL"
    with pytest.raises(CalibrationError, match="radius_rule must be quantile or published"):
        plan_localization(public, ridge=40.0, radius_rule="b14")


# --- several rows per privacy unit ---------------------------------------------------------------


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_sensitivities_grow_with_the_rows_of_a_unit(relation):
    one, five = facts(BALL, relation=relation), facts(BALL, relation=relation, units=5)
    assert five.gradient_sensitivity == 5 * one.gradient_sensitivity
    plans = [
        plan_output_perturbation(public, ridge=30.0, noise="pure", stopping=1e-9).scales[0]
        for public in (one, five)
    ]
    assert plans[1] == pytest.approx(5 * plans[0], rel=1e-6)
    # Pure objective perturbation of five rows costs what five releases of one row do.
    fifth = facts(BALL, relation=relation, epsilon=0.2)
    assert plan_objective_perturbation(five, noise="pure", ridge=90.0).scales[0] == pytest.approx(
        plan_objective_perturbation(fifth, noise="pure", ridge=90.0).scales[0]
    )
    chosen = plan_objective_perturbation(five)
    assert chosen.setting("pure") == 1.0
    assert chosen.setting("ridge") == pytest.approx(
        plan_objective_perturbation(fifth, noise="pure").setting("ridge")
    )


def test_pure_tilts_hide_several_rows_exactly():
    # One parameter, linear losses of slope 1: the tilt moves by 2 for each replaced row.
    public = ConvexPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=REPLACE,
        loss=ScoreLoss(),
        bounds=RowBounds(l2=1.0),
        dimension=1,
        rows_per_unit=3,
    )
    plan = plan_objective_perturbation(public, noise="pure", ridge=10.0, output_share=1e-6)
    assert 3 * 2 / plan.scales[0] == pytest.approx(1.0, rel=1e-5)


def test_steps_and_vertices_pay_for_every_row_of_a_unit():
    one, four = facts(BALL), facts(BALL, units=4)
    ratio = plan_mirror_descent(four).scales[0] / plan_mirror_descent(one).scales[0]
    assert ratio == pytest.approx(2.0, rel=1e-6)  # four steps: twice the noise
    batches = [plan_mirror_descent(public, batch=5).scales[0] for public in (one, four)]
    assert batches[1] == pytest.approx(4 * batches[0])  # all four may enter one batch
    corner = [
        facts(Simplex(dimension=3), epsilon=4.0, n=2000, loss=SquaredLoss(), units=units)
        for units in (1, 2)
    ]
    costs = [
        plan_simplex_sampling(c, entropy_weight=400.0).setting("epsilon of one") for c in corner
    ]
    assert costs[1] == pytest.approx(2 * costs[0])
    online = [facts(Simplex(dimension=3), loss=ScoreLoss(), units=units) for units in (1, 3)]
    weights = [plan_ftrl(public).setting("entropy weight") for public in online]
    assert weights[1] == pytest.approx(3 * weights[0])


def test_units_of_several_rows_run_or_are_refused_in_one_sentence():
    public = facts(BALL, epsilon=3.0, units=3)
    data, entropy = rows(public), SystemEntropy()
    for release in (
        objective_perturbation(data, public, entropy=entropy),
        output_perturbation(data, public, ridge=60.0, entropy=entropy),
        gradient_descent(data, public, steps=3, entropy=entropy),
        accelerated_mirror_descent(data, public, steps=3, entropy=entropy),
        mirror_descent(data, public, entropy=entropy),
        exponential_sampling(data, public, entropy=entropy),
        localization(data, public, ridge=60.0, entropy=entropy),
    ):
        assert release.receipt.rows_per_unit == 3
        assert "at most 3 rows" in str(release.receipt)
    online = facts(Simplex(dimension=2), loss=ScoreLoss(), units=3)
    assert private_ftrl(data, online, entropy=entropy).receipt.rows_per_unit == 3
    plan = BatchPlan(batch=40, steps=3)
    for refused in (
        lambda: noisy_sgd(data, public, plan, entropy=entropy),
        lambda: svrg(data, public, SVRGPlan(epochs=1, inner=2), entropy=entropy),
        lambda: objective_perturbation(data, public, noise="gaussian", entropy=entropy),
        lambda: approximate_minima(data, public, entropy=entropy),
        lambda: output_perturbation(data, public, ridge=1.0, noise="j14", entropy=entropy),
        lambda: mirror_descent(data, public, noise="published", entropy=entropy),
    ):
        with pytest.raises(CalibrationError, match="at most one row per privacy unit, got") as e:
            refused()
        assert str(e.value).count(".") == 1
    with pytest.raises(CalibrationError, match="rows_per_unit must be an integer of"):
        facts(BALL, units=0)
