"""An infinite epsilon: every mechanism gives the non-private fit, and promises nothing."""

import json
import math

import numpy as np
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression

from opdisc import PrivateLinearSVC, PrivateLogisticRegression, PrivateScorecardClassifier
from opdisc.convex import noiseless
from opdisc.convex.defaults import RUNNERS
from opdisc.convex.full_gradient import accelerated_mirror_descent, gradient_descent
from opdisc.convex.minimisation import NotReached
from opdisc.convex.objective import approximate_minima, objective_perturbation
from opdisc.convex.one_pass import mirror_descent
from opdisc.convex.output import output_perturbation
from opdisc.convex.public import ConvexPublic, NoPrivacy, convex_params
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.exponential import exponential_sampling
from opdisc.convex.sampling.ftrl import private_ftrl
from opdisc.convex.sampling.grid_walk import grid_walk_sampling
from opdisc.convex.sampling.localized import localization
from opdisc.convex.sampling.simplex import simplex_sampling
from opdisc.convex.stochastic import BatchPlan, noisy_sgd
from opdisc.convex.variance_reduced import SVRGPlan, svrg
from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.estimators.simplex import PrivateSimplexRegressor
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.receipts.real_receipts import ConvexReceipt
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import (
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
)
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Simplex
from oracles.convex.regression_losses import ScoreLoss, SquaredLoss

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
INFINITE = float("inf")
BALL = L2Ball(dimension=3, radius=9.0)


def facts(loss=None, domain=BALL, *, relation=REPLACE, n=400, p=3, delta=0.0, epsilon=INFINITE):
    return ConvexPublic(
        params=convex_params(epsilon, delta),
        relation=relation,
        loss=loss or LogisticLoss(),
        bounds=RowBounds(l2=math.sqrt(p), linf=1.0),
        dimension=p,
        domain=domain,
        n_rows=n if relation is REPLACE else None,
        public_row_guess=n if relation is ADD else None,
    )


def rows(public, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, public.dimension))
    score = X[:, 0] - 0.5 * X[:, 1] + 0.3
    if public.loss.is_classification:
        return Rows(X=X, y=np.sign(score + 0.7 * rng.normal(size=n)))
    return Rows(X=X, y=np.clip(score + 0.3 * rng.normal(size=n), -1, 1))


with_cvxpy = pytest.mark.extras("cvxpy", "clarabel")


def cvxpy_optimum(loss, data, domain, ridge):
    from oracles.convex.conic import cvxpy

    parameters = cvxpy.Variable(data.X.shape[1])
    scores = data.X @ parameters
    if isinstance(loss, LogisticLoss):
        total = cvxpy.sum(cvxpy.logistic(-cvxpy.multiply(data.y, scores)))
    elif isinstance(loss, SquaredLoss):
        total = cvxpy.sum_squares(scores - data.y) / 2
    else:
        short = 1 + loss.width - cvxpy.multiply(data.y, scores)
        huber = cvxpy.huber(cvxpy.pos(short), 2 * loss.width)
        total = cvxpy.sum(huber) / (4 * loss.width)
    if isinstance(domain, Simplex):
        inside = [parameters >= 0, cvxpy.sum(parameters) == 1]
    else:
        order = 1 if isinstance(domain, L1Ball) else 2
        inside = [cvxpy.norm(parameters, order) <= domain.radius]
    objective = cvxpy.Minimize(total + ridge / 2 * cvxpy.sum_squares(parameters))
    cvxpy.Problem(objective, inside).solve(solver="CLARABEL")
    return parameters.value


def exact_mechanisms(ridge):
    """Those that give a minimiser, with their ridge in the sum scale."""
    given = {} if ridge is None else {"ridge": ridge}
    found = [
        lambda *a: objective_perturbation(*a, **given, entropy=SystemEntropy()),
        lambda *a: approximate_minima(*a, **given, entropy=SystemEntropy()),
        lambda *a: output_perturbation(*a, ridge=ridge or 0.0, entropy=SystemEntropy()),
        lambda *a: localization(*a, ridge=ridge or 0.0, entropy=SystemEntropy()),
    ]
    if ridge is None:
        found.append(lambda *a: exponential_sampling(*a, entropy=SystemEntropy()))
    return found


@pytest.mark.parametrize("ridge", [None, 5.0])
@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_minimisers_are_those_of_scikit_learn(ridge, relation):
    public = facts(relation=relation)
    data = rows(public)
    strength = np.inf if ridge is None else 1 / ridge
    reference = LogisticRegression(C=strength, fit_intercept=False, tol=1e-12, max_iter=1000)
    expected = reference.fit(data.X, data.y).coef_[0]
    for mechanism in exact_mechanisms(ridge):
        release = mechanism(data, public)
        np.testing.assert_allclose(release.parameters, expected, atol=2e-5)
        assert release.receipt.guarantee == "VOID"
        assert release.receipt.conditions == (
            "epsilon is infinite: no noise was added, and nothing is promised",
        )


@with_cvxpy
@pytest.mark.parametrize("ridge", [None, 5.0])
@pytest.mark.parametrize(
    ("loss", "domain"),
    [
        (LogisticLoss(), L2Ball(dimension=3, radius=0.8)),
        (LogisticLoss(), L1Ball(dimension=3, radius=0.8)),
        (HuberisedHingeLoss(0.5), L2Ball(dimension=3, radius=0.8)),
        (HuberisedHingeLoss(0.5), BALL),
        (SquaredLoss(), L1Ball(dimension=3, radius=0.8)),
    ],
)
def test_constrained_minimisers_are_those_of_cvxpy(loss, domain, ridge):
    public = facts(loss, domain)
    data = rows(public)
    expected = cvxpy_optimum(loss, data, domain, ridge or 0.0)
    mechanisms = exact_mechanisms(ridge)
    for mechanism in (mechanisms[0], mechanisms[-1]):
        np.testing.assert_allclose(mechanism(data, public).parameters, expected, atol=2e-4)


@with_cvxpy
def test_the_mixture_is_that_of_cvxpy_and_the_entropic_one_satisfies_its_condition():
    domain = Simplex(dimension=4)
    public = facts(SquaredLoss(), domain, p=4)
    data = rows(public)
    found = simplex_sampling(data, public, entropy=SystemEntropy())
    expected = cvxpy_optimum(SquaredLoss(), data, domain, 0.0)
    np.testing.assert_allclose(found.parameters, expected, atol=1e-4)
    soft = simplex_sampling(data, public, entropy_weight=20.0, entropy=SystemEntropy()).parameters
    slope = data.sum_gradient(public.loss, soft)
    np.testing.assert_allclose(soft, special.softmax(-slope / 20.0), atol=1e-6)
    scaled = PrivateSimplexRegressor(epsilon=INFINITE, value_bound=1.0).fit(data.X, data.y)
    np.testing.assert_allclose(scaled.coef_, expected, atol=1e-4)
    assert scaled.receipt_.guarantee == "VOID"


@pytest.mark.parametrize("relation", [REPLACE, ADD])
@pytest.mark.parametrize(
    ("excess", "mechanism"),
    [
        (1e-6, lambda d, p: gradient_descent(d, p, steps=400, entropy=SystemEntropy())),
        (1e-3, lambda d, p: accelerated_mirror_descent(d, p, steps=300, entropy=SystemEntropy())),
        (
            5e-3,
            lambda d, p: svrg(
                d, p, SVRGPlan(epochs=20, inner=60, batch=40), entropy=SystemEntropy()
            ),
        ),
        (
            5e-3,
            lambda d, p: svrg(
                d,
                p,
                SVRGPlan(epochs=6, inner=40, batch=40, doubling=True),
                entropy=SystemEntropy(),
            ),
        ),
        (
            2e-2,
            lambda d, p: noisy_sgd(
                d, p, BatchPlan(batch=100, steps=2000), entropy=SystemEntropy()
            ),
        ),
    ],
    ids=["gradient_descent", "accelerated", "svrg", "svrg++", "noisy_sgd"],
)
def test_steps_without_noise_come_within_the_stated_excess(mechanism, excess, relation):
    """Excess of the mean loss over the constrained optimum; the batches remain random."""
    domain = L2Ball(dimension=3, radius=2.0)
    public = facts(domain=domain, relation=relation)
    data = rows(public)
    best = objective_perturbation(data, public, entropy=SystemEntropy()).parameters
    release = mechanism(data, public)
    found, least = (data.sum_value(public.loss, t) / 400 for t in (release.parameters, best))
    assert least - 1e-7 <= found <= least + excess
    assert set(release.receipt.noise_scales) == {0.0}
    assert release.receipt.guarantee == "VOID"


def test_single_use_and_random_iterates_run_without_noise():
    public = facts(domain=L2Ball(dimension=3, radius=2.0), n=4000)
    data = rows(public, n=4000)
    best = objective_perturbation(data, public, entropy=SystemEntropy()).parameters
    least = data.sum_value(public.loss, best) / 4000
    # Half of the rows, once each: 1/sqrt(n) times the diameter and the Lipschitz constant.
    single = mirror_descent(data, public, entropy=SystemEntropy()).parameters
    assert data.sum_value(public.loss, single) / 4000 <= least + 4 * math.sqrt(3) / math.sqrt(4000)
    random = gradient_descent(data, public, steps=9, iterate="random", entropy=SystemEntropy())
    assert data.sum_value(public.loss, random.parameters) / 4000 < math.log(2)


def test_without_noise_the_online_learner_follows_the_leader():
    public = facts(ScoreLoss(), Simplex(dimension=3), n=50)
    X = np.random.default_rng(1).uniform(-1, 1, size=(50, 3))
    played = private_ftrl(Rows(X=X, y=np.zeros(50)), public, entropy=SystemEntropy())
    past = np.vstack([np.zeros(3), np.cumsum(X, axis=0)[:-1]])
    np.testing.assert_array_equal(played.actions, past.argmin(axis=1))
    assert played.receipt.guarantee == "VOID"


@pytest.mark.parametrize("mechanism", [name for name in RUNNERS if name != "grid_walk"])
@pytest.mark.parametrize("cls", [PrivateLogisticRegression, PrivateLinearSVC])
def test_every_estimator_mechanism_takes_an_infinite_epsilon(cls, mechanism):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 3))
    y = X @ [2.0, -1.0, 0.0] + 1.5 * rng.normal(size=600) > 0.2
    model = cls(epsilon=INFINITE, data_norm=1.8, mechanism=mechanism).fit(X, y)
    assert model.receipt_.guarantee == "VOID" and math.isinf(model.receipt_.epsilon)
    # A random iterate may be the first, and steps of 1/(12 beta) are many to the optimum.
    if "svrg" not in mechanism and "random" not in mechanism:
        assert model.score(X, y) >= 0.68
    assert np.all(np.isfinite(model.coef_)) and np.any(model.coef_ != 0)
    steps = ("noisy_sgd", "descent", "svrg")
    if cls is PrivateLogisticRegression and not any(word in mechanism for word in steps):
        reference = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(X, y)
        np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-4)
        np.testing.assert_allclose(model.intercept_, reference.intercept_, atol=1e-4)


def test_receipts_without_privacy_survive_json():
    release = objective_perturbation(rows(facts()), facts(), entropy=SystemEntropy())
    record = json.loads(json.dumps(release.receipt.to_dict(), allow_nan=False))
    assert record["epsilon"] is None
    assert ConvexReceipt.from_dict(record) == release.receipt
    model = PrivateLogisticRegression(epsilon=INFINITE, data_norm=1.8).fit([[0.0], [1.0]], [0, 1])
    saved = model.to_model()
    written = json.loads(json.dumps(saved.to_dict(), allow_nan=False))
    del written["sha256"]  # which the reader of a file checks first
    assert type(saved).from_dict(written) == saved
    with pytest.raises(ValueError, match="epsilon must be finite"):
        ConvexReceipt.from_dict({**record, "guarantee": "CONDITIONAL"})


def test_infinite_epsilon_is_refused_where_it_makes_no_sense(tmp_path):
    data, public = rows(facts()), facts()
    arguments = {"entropy": SystemEntropy()}
    with pytest.raises(CalibrationError, match="infinite epsilon cannot be put in a ledger"):
        objective_perturbation(data, public, ledger=Ledger(tmp_path / "l"), **arguments)
    assert not (tmp_path / "l").exists()
    with pytest.raises(CalibrationError, match="grid walk needs a finite epsilon, got inf"):
        grid_walk_sampling(data, public, steps=5, spacing=0.1, **arguments)
    with pytest.raises(CalibrationError, match="B14's noise is stated for epsilon <="):
        noisy_sgd(
            data,
            facts(delta=1e-6),
            BatchPlan(batch=1, steps=2, sampling="fixed"),
            noise="published",
            **arguments,
        )
    with pytest.raises(CalibrationError, match="A20 promises epsilon of at most"):
        mirror_descent(data, facts(delta=1e-3), noise="published", **arguments)
    with pytest.raises(CalibrationError, match="needs a convex loss, but the ramp loss is not"):
        objective_perturbation(data, facts(RampLoss()), **arguments)
    with pytest.raises(CalibrationError, match="needs a smooth loss, but the hinge loss is not"):
        exponential_sampling(data, facts(HingeLoss()), **arguments)
    with pytest.raises(CalibrationError, match="ridge must be finite and >= 0, got -1.0"):
        output_perturbation(data, public, ridge=-1.0, **arguments)
    for refused in (
        lambda: PrivacyParams(epsilon=INFINITE, delta=0.0),
        lambda: convex_params(float("nan"), 0.0),
        lambda: convex_params(-INFINITE, 0.0),
        lambda: PrivateScorecardClassifier(epsilon=INFINITE).fit([[0.0], [1.0]], [0, 1]),
    ):
        with pytest.raises(
            CalibrationError, match=r"epsilon must be finite and > 0, got [^.]*\.$"
        ):
            refused()
    with pytest.raises(CalibrationError, match="delta must be in"):
        convex_params(INFINITE, 1.0)
    with pytest.raises(CalibrationError, match="has an infinite epsilon; give that"):
        NoPrivacy(epsilon=1.0, delta=0.0)


def test_separable_rows_give_weights_that_separate_them():
    X = np.array([[1.0], [0.9], [-1.0], [-0.8]])
    for mechanism in ("auto", "exponential_sampling"):
        model = PrivateLogisticRegression(epsilon=INFINITE, data_norm=1.0, mechanism=mechanism)
        assert model.fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) == 1.0


def test_a_minimiser_that_is_not_reached_releases_nothing(monkeypatch):
    def unreached(*arguments, **settings):
        raise NotReached

    monkeypatch.setattr(noiseless, "minimum", unreached)
    with pytest.raises(UncertifiedRelease, match="nothing is released"):
        objective_perturbation(rows(facts()), facts(), entropy=SystemEntropy())
