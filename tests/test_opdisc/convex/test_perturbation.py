"""Objective and output perturbation: optimum, calibration, published failures, audits."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats
from sklearn.linear_model import LogisticRegression, Ridge

from opdisc.calibration.gaussian import gaussian_delta, gaussian_multiplier
from opdisc.convex import noise_plan, objective_calibration as calibration
from opdisc.convex.minimisation import NotReached, minimise, minimise_on
from opdisc.convex.objective import approximate_minima, objective_perturbation
from opdisc.convex.objective_plan import output_noise_scale, plan_objective_perturbation
from opdisc.convex.output import output_perturbation, plan_output_perturbation
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows, check_rows
from opdisc.errors import CalibrationError, TableError, UncertifiedRelease
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import (
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
)
from oracles.convex.constants import RowBounds
from oracles.convex.regression_losses import SquaredLoss
from oracles.errors import OracleUnavailable

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
BOTH = [REPLACE, ADD]


def facts(epsilon=1.0, delta=1e-6, relation=REPLACE, loss=None, p=3, domain=None, l2=1.5):
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=relation,
        loss=loss or LogisticLoss(),
        bounds=RowBounds(l2=l2),
        dimension=p,
        domain=domain,
    )


def rows(public, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, public.dimension))
    y = np.sign(X @ np.linspace(1.0, -1.0, public.dimension) + 0.5 * rng.normal(size=n))
    return Rows.clipped(X, y, public)


# --- the noiseless optimum -----------------------------------------------------------------------


def test_the_optimum_without_noise_is_that_of_scikit_learn():
    public = facts(epsilon=1e9, delta=1e-6)
    data = rows(public)
    reference = LogisticRegression(C=1 / 3.0, fit_intercept=False, tol=1e-10).fit(data.X, data.y)
    for mechanism in (objective_perturbation, output_perturbation):
        parameters = mechanism(data, public, ridge=3.0, entropy=SeededEntropy(0)).parameters
        np.testing.assert_allclose(parameters, reference.coef_[0], atol=2e-3)
    exact = minimise(data, public.loss, ridge=3.0, accuracy=1e-9)
    np.testing.assert_allclose(exact, reference.coef_[0], atol=1e-5)


def test_the_constrained_optimum_is_ridge_regression_where_the_ball_is_large():
    public = facts(loss=SquaredLoss(), domain=L2Ball(dimension=3, radius=5.0))
    data = rows(public)
    found = minimise_on(
        data, public.loss, public.domain, ridge=2.0, smoothness=2.0 + 400 * 2.25, accuracy=1e-8
    )
    reference = Ridge(alpha=2.0, fit_intercept=False).fit(data.X, data.y).coef_
    np.testing.assert_allclose(found, reference, atol=1e-7)


def test_the_constrained_optimum_on_the_l1_ball_agrees_with_a_general_solver():
    public = facts(loss=SquaredLoss(), domain=L1Ball(dimension=3, radius=0.5))
    data = rows(public)
    found = minimise_on(
        data, public.loss, public.domain, ridge=2.0, smoothness=2.0 + 400 * 2.25, accuracy=1e-8
    )

    def objective(v):
        parameters = v[:3] - v[3:]
        return data.sum_value(public.loss, parameters) + parameters @ parameters

    expected = optimize.minimize(
        objective,
        np.full(6, 0.05),
        bounds=[(0, None)] * 6,
        constraints={"type": "ineq", "fun": lambda v: 0.5 - v.sum()},
        options={"ftol": 1e-12},
    ).x
    np.testing.assert_allclose(found, expected[:3] - expected[3:], atol=1e-4)


@pytest.mark.extras("cvxpy", "clarabel")
def test_the_huberised_hinge_agrees_with_cvxpy():
    from oracles.convex.conic import cvxpy

    public = facts(loss=HuberisedHingeLoss(0.5))
    data = rows(public, n=60)
    parameters = cvxpy.Variable(3)
    short = 1.5 - cvxpy.multiply(data.y, data.X @ parameters)
    # The smoothed hinge is a Huber function of the positive part.
    loss = cvxpy.sum(cvxpy.huber(cvxpy.pos(short), 1.0)) / 2.0
    objective = cvxpy.Minimize(loss + cvxpy.sum_squares(parameters))
    cvxpy.Problem(objective).solve(solver="CLARABEL")
    found = minimise(data, public.loss, ridge=2.0, accuracy=1e-9)
    np.testing.assert_allclose(found, parameters.value, atol=1e-5)


def test_wide_problems_use_conjugate_gradients_and_reach_the_same_point():
    public = facts(p=450)
    data = rows(public, n=80)
    parameters = minimise(data, public.loss, ridge=1.0, accuracy=1e-7)
    reference = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(parameters, reference.fit(data.X, data.y).coef_[0], atol=1e-4)


# --- calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
@pytest.mark.parametrize("relation", BOTH)
def test_gaussian_tilts_re_evaluate_to_the_target_and_halving_does_not(epsilon, delta, relation):
    arguments = dict(lipschitz=1.5, smoothness=0.5)
    ridge = calibration.ridge_for_share(epsilon, 0.5, 0.1)
    params = PrivacyParams(epsilon=epsilon, delta=delta)
    sigma = calibration.gaussian_stddev(params, relation, ridge=ridge, **arguments)
    routes = [
        calibration.replace_one_delta(sigma, 1.5, 0.5, ridge, epsilon) / delta,
        calibration.add_remove_delta(sigma, 1.5, 0.5, ridge, epsilon / 2)
        * (1 + math.exp(epsilon / 2))
        / delta,
    ]
    if relation is ADD:
        routes = [calibration.add_remove_delta(sigma, 1.5, 0.5, ridge, epsilon) / delta]
    assert 1 - 1e-6 <= min(routes) <= 1
    # Without curvature the tilt alone is a Gaussian release, shifted by one row or by two.
    shift = relation.loss_sensitivity * 1.5
    assert gaussian_delta(sigma / 2 / shift, epsilon) > delta


@pytest.mark.parametrize("size", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("left", [0.01, 0.2, 3.0])
def test_the_two_profiles_are_the_integrals_they_claim_to_be(size, left):
    """E(1 - exp(e - m^2/2 - m R))_+ with R half-normal (doubled tail) or Rayleigh."""
    radii = np.linspace(0, 40, 2_000_001)
    step = radii[1]
    kept = np.maximum(-np.expm1(left - size**2 / 2 - size * radii), 0)
    half_normal = 2 * stats.norm.pdf(radii)
    rayleigh = radii * np.exp(-(radii**2) / 2)
    # No curvature: with a huge ridge, J is zero.
    added = calibration.add_remove_delta(1 / size, 1.0, 1e-300, 1.0, left)
    replaced = calibration.replace_one_delta(2 / size, 1.0, 1e-300, 1.0, left)
    assert added == pytest.approx((kept * half_normal).sum() * step, rel=1e-4, abs=1e-12)
    assert replaced == pytest.approx((kept * rayleigh).sum() * step, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("relation", BOTH)
def test_plans_depend_on_public_facts_only_and_more_budget_means_less_noise(relation):
    for noise in ("pure", "gaussian"):
        lengths = [
            plan_objective_perturbation(
                facts(epsilon=e, relation=relation), noise=noise, ridge=40.0
            ).scales[0]
            for e in (0.1, 0.2, 0.5, 1.0, 2.0)
        ]
        assert lengths == sorted(lengths, reverse=True)


def test_auto_prefers_pure_noise_in_few_dimensions_and_gaussian_in_many():
    few = plan_objective_perturbation(facts(p=3))
    many = plan_objective_perturbation(facts(p=400))
    assert few.setting("pure") and not many.setting("pure")


# --- published constants -------------------------------------------------------------------------


def test_j14_objective_gauss_fails_under_its_own_relation():
    """One row with loss -y<x, theta>, its label flipped: b moves by 2L. True delta 2.3e-5."""
    params = PrivacyParams(epsilon=1.0, delta=1e-5)
    sigma = calibration.published_j14(params, lipschitz=1.0)
    true_delta = gaussian_delta(sigma / 2, 1.0)
    assert true_delta == pytest.approx(2.3e-5, rel=0.02)
    proven = calibration.gaussian_stddev(
        params, REPLACE, lipschitz=1.0, smoothness=1e-12, ridge=1.0
    )
    assert gaussian_delta(proven / 2, 1.0) <= 1e-5
    release = objective_perturbation(
        rows(facts()), facts(), ridge=5.0, noise="j14", entropy=SystemEntropy()
    )
    assert (release.receipt.guarantee, release.receipt.calibration) == ("VOID", "refuted")


def test_k12_is_safe_for_linear_models_and_larger():
    """K12 Theorem 1 against the exact curve of linear models, at its own ridge."""
    for epsilon in (0.05, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0):
        for delta in (1e-8, 1e-6, 1e-3, 0.05):
            params = PrivacyParams(epsilon=epsilon, delta=delta)
            ridge, sigma = calibration.published_k12(params, lipschitz=1.0, smoothness=0.25)
            found = calibration.add_remove_delta(sigma, 1.0, 0.25, ridge, epsilon)
            assert found < delta / 100
            ours = calibration.gaussian_stddev(
                params, ADD, lipschitz=1.0, smoothness=0.25, ridge=ridge
            )
            assert ours < sigma


def test_c11_has_a_cliff_and_the_default_has_none():
    epsilons = np.linspace(0.5, 1.5, 401)
    published = np.array([calibration.published_c11(e, 0.25, 0.6)[1] for e in epsilons])
    assert published.max() > 50 * published[0]
    ours = [
        calibration.predicted_choice(
            e,
            0.25,
            5.0,
            lambda ridge, e=e: (
                10
                * calibration.pure_scale(
                    PrivacyParams(epsilon=e, delta=0.0),
                    REPLACE,
                    lipschitz=1.0,
                    smoothness=0.25,
                    ridge=ridge,
                )
            ),
        )[0]
        for e in epsilons
    ]
    assert np.all(np.diff(ours) < 0)


def test_amp_needs_the_factor_two():
    """Approximate minima on opposite sides of the exact ones are 2 tau / Lambda apart."""
    params = PrivacyParams(epsilon=0.5, delta=1e-6)
    tau, ridge = 0.3, 2.0
    parameters = 1.0
    for side in (-1.0, 1.0):
        # F(t) = (ridge/2)(t - theta)^2 has gradient tau at this distance from its minimiser.
        point = parameters + side * tau / ridge
        assert abs(ridge * (point - parameters)) == pytest.approx(tau)
    published = tau / ridge * gaussian_multiplier(params)
    assert gaussian_delta(published / (2 * tau / ridge), 0.5) > 100e-6
    assert gaussian_delta(output_noise_scale(2 * tau / ridge, params) / 0.3, 0.5) <= 1e-6


def test_j14_output_gauss_is_safe():
    for epsilon in (0.01, 0.1, 1.0, 5.0):
        for delta in (1e-9, 1e-5, 1e-2):
            public = facts(epsilon=epsilon, delta=delta)
            published = plan_output_perturbation(public, ridge=3.0, noise="j14")
            proven = plan_output_perturbation(public, ridge=3.0, noise="gaussian")
            assert published.scales[0] >= proven.scales[0]


def test_published_names_are_void_and_relations_are_checked():
    data = rows(facts(relation=ADD))
    k12 = objective_perturbation(
        data, facts(relation=ADD), noise="k12", ridge=1.0, entropy=SystemEntropy()
    )
    assert k12.receipt.guarantee == "VOID" and "published" in k12.receipt.conditions[0]
    with pytest.raises(CalibrationError, match="K12's calibration is private under add_or_remove"):
        plan_objective_perturbation(facts(), noise="k12", ridge=1.0)
    with pytest.raises(CalibrationError, match="C11's calibration is private under replace_one"):
        plan_objective_perturbation(facts(relation=ADD), noise="c11", ridge=1.0)


# --- receipts and refusals -----------------------------------------------------------------------


def test_receipts_promise_what_the_entropy_allows():
    data = rows(facts())
    secure = objective_perturbation(data, facts(), entropy=SystemEntropy())
    seeded = objective_perturbation(data, facts(), entropy=SeededEntropy(0))
    assert secure.receipt.guarantee == "CONDITIONAL" and seeded.receipt.guarantee == "VOID"
    assert any(text.startswith("floating point") for text in secure.receipt.conditions)
    assert secure.receipt.delta == 0.0  # pure noise was the better choice, and says so
    assert "not proven" not in str(secure.receipt) and "objective_perturbation" in str(
        secure.receipt
    )
    assert not np.array_equal(secure.parameters, seeded.parameters)
    assert not secure.parameters.flags.writeable
    np.testing.assert_array_equal(secure.parameters * 2**24, np.round(secure.parameters * 2**24))


def test_receipts_do_not_depend_on_the_rows():
    one = objective_perturbation(rows(facts(), seed=1), facts(), entropy=SystemEntropy())
    two = objective_perturbation(rows(facts(), n=50, seed=2), facts(), entropy=SystemEntropy())
    assert one.receipt == two.receipt


@pytest.mark.parametrize("mechanism", [objective_perturbation, output_perturbation])
def test_bad_input_is_refused_in_one_sentence(mechanism):
    data, entropy = rows(facts()), SeededEntropy(0)
    with pytest.raises(CalibrationError, match="needs a convex loss, but the ramp loss is not"):
        mechanism(data, facts(loss=RampLoss()), ridge=1.0, entropy=entropy)
    with pytest.raises(CalibrationError, match="needs a smooth loss, but the hinge loss is not"):
        mechanism(data, facts(loss=HingeLoss()), ridge=1.0, entropy=entropy)
    with pytest.raises(CalibrationError, match="needs delta > 0, got delta=0.0"):
        mechanism(data, facts(delta=0.0), ridge=99.0, noise="gaussian", entropy=entropy)
    with pytest.raises(CalibrationError, match="ridge must be finite and > 0, got 0.0"):
        mechanism(data, facts(), ridge=0.0, entropy=entropy)
    with pytest.raises(CalibrationError, match="squared loss needs a bounded domain"):
        mechanism(data, facts(loss=SquaredLoss()), ridge=1.0, entropy=entropy)


def test_a_ridge_too_small_for_the_claim_is_refused():
    with pytest.raises(CalibrationError, match=r"ridge must exceed beta / \(e\^epsilon - 1\)"):
        plan_objective_perturbation(facts(), ridge=1e-3, noise="pure")
    with pytest.raises(CalibrationError, match=r"ridge must exceed beta / \(e\^epsilon - 1\)"):
        plan_objective_perturbation(facts(), ridge=1e-3, noise="gaussian")


def test_an_accuracy_out_of_reach_is_refused_before_the_spend(monkeypatch):
    data = rows(facts())
    settings = {"ridge": 1.0, "stopping": 1e-30, "entropy": SeededEntropy(0)}
    with pytest.raises(OracleUnavailable, match="before anything is spent"):
        output_perturbation(data, facts(), **settings)
    # Where the public toy is solved and the rows are not, nothing is released.
    monkeypatch.setattr(noise_plan, "rehearse", lambda what, attempt: None)
    with pytest.raises(UncertifiedRelease, match="nothing is released"):
        output_perturbation(data, facts(), **settings)
    with pytest.raises(NotReached):
        minimise(data, LogisticLoss(), ridge=1.0, accuracy=1e-30)


def test_early_stopping_pays_with_output_noise():
    public = facts(delta=1e-6)
    early = approximate_minima(rows(public), public, entropy=SystemEntropy())
    exact = objective_perturbation(rows(public), public, noise="gaussian", entropy=SystemEntropy())
    assert early.receipt.noise_scales[1] > 100 * exact.receipt.noise_scales[1]


def test_rows_are_clipped_each_by_itself():
    public = facts(l2=1.0)
    X = np.array([[3.0, 4.0, 0.0], [0.1, 0.0, np.nan], [0.0, 0.0, 0.0]])
    data = Rows.clipped(X, [2, -3, 0], public)
    assert np.linalg.norm(data.X, axis=1).max() <= 1 + 1e-12
    np.testing.assert_allclose(data.X[1], [0.1, 0, 0])
    assert data.y.tolist() == [1.0, -1.0, -1.0]


# --- audits --------------------------------------------------------------------------------------


def _true_delta_of_one_coordinate(sigma, ridge, epsilon, tables):
    """Exact delta of the exact minimiser in one dimension, by quadrature over its density."""
    parameters = np.linspace(-60, 60, 300_001)
    densities = []
    for labels in tables:
        slopes = sum(-y * special.expit(-y * parameters) for y in labels)
        bend = len(labels) * special.expit(parameters) * special.expit(-parameters)
        noise = -(slopes + ridge * parameters)
        densities.append(stats.norm.pdf(noise, scale=sigma) * (bend + ridge))
    p, q = densities
    step = parameters[1] - parameters[0]
    assert p.sum() * step == pytest.approx(1.0, abs=1e-6)
    return max(
        float(np.maximum(a - math.exp(epsilon) * b, 0).sum() * step) for a, b in ((p, q), (q, p))
    )


@pytest.mark.parametrize("relation", BOTH)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_exact_audit_of_gaussian_objective_perturbation(relation, epsilon):
    """The claim holds on adversarial neighbours; with a quarter of the noise it does not."""
    delta, ridge = 1e-3, 4.0
    sigma = calibration.gaussian_stddev(
        PrivacyParams(epsilon=epsilon, delta=delta),
        relation,
        lipschitz=1.0,
        smoothness=0.25,
        ridge=ridge,
    )
    pairs = [
        ([1.0] * k + ([-1.0] if relation is REPLACE else []), [1.0] * (k + 1)) for k in (0, 1, 5)
    ]
    found = [_true_delta_of_one_coordinate(sigma, ridge, epsilon, pair) for pair in pairs]
    assert max(found) <= delta
    broken = [_true_delta_of_one_coordinate(sigma / 4, ridge, epsilon, pair) for pair in pairs]
    assert max(broken) > delta


@pytest.mark.statistical
def test_monte_carlo_audit_of_pure_output_perturbation():
    """Runs the released code on two tables; false alarm 1e-6; a quarter of the noise is caught."""
    public = facts(epsilon=1.0, delta=0.0, p=1, l2=1.0)
    tables = [Rows(X=np.ones((1, 1)), y=np.array([label]), counts=None) for label in (1.0, -1.0)]
    draws, entropy, ridge = 3000, SeededEntropy(7), 50.0
    exact = [minimise(table, public.loss, ridge=ridge, accuracy=1e-10)[0] for table in tables]
    released = [
        np.array(
            [
                output_perturbation(table, public, ridge=ridge, entropy=entropy).parameters[0]
                for _ in range(draws)
            ]
        )
        for table in tables
    ]

    def lower_bound(samples):
        high, low = ((part > exact[0]).sum() for part in samples)
        first = stats.beta.ppf(5e-7, high, draws - high + 1)
        second = stats.beta.ppf(1 - 5e-7, low + 1, draws - low)
        return math.log(first / second)

    assert lower_bound(released) <= 1.0
    broken = [centre + (part - centre) / 4 for centre, part in zip(exact, released, strict=True)]
    assert lower_bound(broken) > 1.0


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.float32])
def test_long_rows_of_small_numbers_are_refused(dtype):
    """The squares of 100 overflow in a byte, and its smallest number has no opposite."""
    for cell in (100, 127 if dtype is np.uint8 else -128):
        X = np.full((2, 3), cell, dtype=dtype)
        with pytest.raises(CalibrationError, match="within the public bounds"):
            check_rows(Rows(X=X, y=np.ones(2)), facts(l2=100.0))
    with pytest.raises(CalibrationError, match="within the public bounds"):
        check_rows(Rows(X=np.zeros((2, 3)), y=np.full(2, -128, dtype=np.int8)), facts())
    with pytest.raises(TableError, match="rows must be an array of real numbers"):
        Rows(X=[["a"]], y=np.ones(1))


def test_rows_that_contradict_the_public_facts_are_refused():
    good = rows(facts())
    long = Rows(X=np.full((2, 3), 2.0), y=np.ones(2))
    with pytest.raises(CalibrationError, match="within the public bounds"):
        objective_perturbation(long, facts(), entropy=SeededEntropy(0))
    with pytest.raises(CalibrationError, match="rows must have 4 coordinates"):
        objective_perturbation(good, facts(p=4), entropy=SeededEntropy(0))
    wrong = ConvexPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=REPLACE,
        loss=LogisticLoss(),
        bounds=RowBounds(l2=1.5),
        dimension=3,
        n_rows=7,
    )
    with pytest.raises(CalibrationError, match="n_rows must be the number of rows"):
        objective_perturbation(good, wrong, entropy=SeededEntropy(0))
