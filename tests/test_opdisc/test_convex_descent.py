"""Gradient methods: optimum without noise, accounting, samplers, published constants, audits."""

import math
import sys
from typing import ClassVar

import numpy as np
import pytest
from scipy import optimize, stats

from opdisc.convex import (
    BatchPlan,
    ConvexPublic,
    Rows,
    SVRGPlan,
    accelerated_mirror_descent,
    gradient_descent,
    mirror_descent,
    noisy_sgd,
    objective_perturbation,
    output_perturbation,
    svrg,
)
from opdisc.convex.descent import (
    accelerated_step,
    plan_accelerated_steps,
    plan_descent_steps,
    plan_full_gradients,
)
from opdisc.convex.draws import (
    NormalStream,
    categorical,
    fixed_sample,
    integers,
    l2_laplace,
    normals,
    poisson_sample,
    uniforms,
)
from opdisc.convex.mirror_maps import mirror_map
from opdisc.convex.single_use import plan_mirror_descent, published_a20, single_use_batch
from opdisc.convex.stochastic import (
    gradient_error,
    plan_batches,
    plan_noisy_sgd,
    published_b14_stddev,
)
from opdisc.convex.svrg import plan_epochs, plan_svrg
from opdisc.domains import L2Ball
from opdisc.errors import CalibrationError
from opdisc.gaussian import SampledSteps, gaussian_delta, sampled_delta
from opdisc.losses import HingeLoss, LogisticLoss, RampLoss, RowBounds, ScoreLoss, SigmoidLoss
from opdisc.noise import SeededEntropy, SystemEntropy
from opdisc.privacy import NeighboringRelation, PrivacyParams

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
BALL = L2Ball(dimension=3, radius=2.0)


def facts(epsilon=1.0, delta=1e-6, relation=REPLACE, loss=None, n=400, domain=BALL):
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=relation,
        loss=loss or LogisticLoss(),
        bounds=RowBounds(l2=1.0),
        dimension=3,
        domain=domain,
        n_rows=n if relation is REPLACE else None,
        rows_guess=n if relation is ADD else None,
    )


def rows(public, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return Rows.clipped(X, np.sign(X @ [1.0, -1.0, 0.3] + rng.normal(size=n)), public)


def best(data, loss, ridge):
    """Minimum of the mean objective on the ball, by a general solver."""
    n = len(data.y)
    found = optimize.minimize(
        lambda t: data.sum_value(loss, t) / n + 0.5 * ridge * t @ t,
        np.full(3, 0.1),
        constraints={"type": "ineq", "fun": lambda t: 4 - t @ t},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return found.fun, found.x


def mean_objective(data, loss, ridge, theta):
    return data.sum_value(loss, theta) / len(data.y) + 0.5 * ridge * theta @ theta


LARGE = dict(epsilon=1e7, delta=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_full_gradient_methods_without_noise_reach_the_optimum(ridge):
    public = facts(**LARGE)
    data = rows(public)
    value, theta = best(data, public.loss, ridge)
    found = gradient_descent(data, public, steps=300, ridge=ridge, entropy=SeededEntropy(0))
    np.testing.assert_allclose(found.theta, theta, atol=2e-3)
    if ridge == 0:
        fast = accelerated_mirror_descent(data, public, steps=100, entropy=SeededEntropy(0))
        assert mean_objective(data, public.loss, 0.0, fast.theta) <= value + 1e-4


@pytest.mark.parametrize("sampling", ["poisson", "fixed"])
@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()])
def test_sgd_without_noise_approaches_the_optimum(sampling, loss):
    public = facts(loss=loss, epsilon=200.0, delta=1e-3)
    data = rows(public)
    for ridge, slack in ((0.0, 0.03), (0.1, 0.03)):
        value, _ = best(data, loss, ridge)
        plan = BatchPlan(batch=100, steps=600, sampling=sampling)
        found = noisy_sgd(data, public, plan, ridge=ridge, entropy=SeededEntropy(1))
        assert mean_objective(data, loss, ridge, found.theta) <= value + slack


@pytest.mark.parametrize("doubling", [False, True])
def test_svrg_without_noise_approaches_the_optimum(doubling):
    public = facts(epsilon=300.0, delta=1e-3)
    data = rows(public)
    value, _ = best(data, public.loss, 0.05)
    plan = SVRGPlan(epochs=5, inner=40, batch=100, doubling=doubling)
    found = svrg(data, public, plan, ridge=0.05, entropy=SeededEntropy(1))
    assert mean_objective(data, public.loss, 0.05, found.theta) <= value + 0.02
    assert plan.inner_steps == ((40, 80, 160, 320, 640) if doubling else (40,) * 5)


def test_single_use_mirror_descent_learns():
    public = facts(epsilon=1e6, n=4000)
    data = rows(public, n=4000)
    found = mirror_descent(data, public, entropy=SeededEntropy(2))
    value, _ = best(data, public.loss, 0.0)
    assert mean_objective(data, public.loss, 0.0, found.theta) <= value + 0.03


class NoNoise:
    """A stream of zeros in place of normals: the schedule stays, the privacy noise goes."""

    def __init__(self, entropy):
        pass

    def take(self, size):
        return np.zeros(size)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("method", ["noisy_sgd", "svrg"])
def test_planned_steps_leave_less_error_than_the_noise(method, ridge, monkeypatch):
    """The schedule's own error, without noise, is under half of what the noise costs."""
    module = sys.modules[f"opdisc.convex.{'stochastic' if method == 'noisy_sgd' else 'svrg'}"]
    for n, epsilon in ((1000, 1.0), (4000, 1.0), (4000, 0.25)):
        public = facts(n=n, epsilon=epsilon)
        data, noise = rows(public, n=n), gradient_error(public)
        value, _ = best(data, public.loss, ridge)
        monkeypatch.setattr(module, "NormalStream", NoNoise)
        if method == "svrg":
            plan = plan_epochs(public, ridge=ridge, sampling="fixed")
            found = svrg(data, public, plan, ridge=ridge, entropy=SeededEntropy(2))
        else:
            plan = plan_batches(public, ridge=ridge, sampling="fixed")
            found = noisy_sgd(data, public, plan, ridge=ridge, entropy=SeededEntropy(2))
        cost = noise**2 / (2 * ridge) if ridge > 0 else noise * BALL.diameter_l2
        assert mean_objective(data, public.loss, ridge, found.theta) - value < cost / 2


def test_plans_stay_within_their_limits():
    many = facts(n=10**7, epsilon=50.0)
    batches = plan_batches(many)
    assert batches.steps <= 5000 and batches.batch * batches.steps <= 251 * 10**7
    assert plan_batches(facts(loss=HingeLoss(), n=10**5)).steps == 5000
    assert plan_epochs(many).epochs == 11 and plan_epochs(many).doubling
    cut = plan_epochs(many, ridge=1e-9)
    assert cut.inner == 1000 and cut.decay == 1
    assert plan_accelerated_steps(many) == plan_descent_steps(many, iterate="random") == 1000
    few = facts(n=20, epsilon=0.01)
    assert plan_accelerated_steps(few) == plan_descent_steps(few, iterate="random") == 10
    assert plan_descent_steps(many, ridge=1e-9) == 1000 and plan_descent_steps(many) == 60
    with pytest.raises(CalibrationError, match="needs a smooth loss, the hinge loss is not"):
        plan_epochs(facts(loss=HingeLoss()))


class Recorder(LogisticLoss):
    """Remembers the rows whose gradients were taken."""

    seen: ClassVar[list[np.ndarray]] = []

    def sum_gradient(self, X, y, theta, counts=None):
        self.seen.append(X[:, 0].copy())
        return super().sum_gradient(X, y, theta, counts)


@pytest.mark.parametrize("batch", [None, 1, 7, 400])
def test_single_use_takes_every_row_at_most_once(batch):
    public = facts(loss=Recorder())
    X = np.zeros((400, 3))
    X[:, 0] = np.arange(400) / 400
    data = Rows(X=X, y=np.ones(400))
    Recorder.seen.clear()
    mirror_descent(data, public, batch=batch, entropy=SeededEntropy(4))
    used = np.concatenate(Recorder.seen)
    assert len(np.unique(used)) == len(used) == (200 if batch == 1 else 400)
    assert set(used) <= set(X[:, 0])


def test_single_use_batches_cost_no_more_noise_and_lose_less():
    public = facts(n=4000)
    batch = single_use_batch(public)
    assert batch > 1
    one, many = plan_mirror_descent(public), plan_mirror_descent(public, batch=batch)
    assert one.scales == many.scales
    data = rows(public, n=4000)

    def loss(batch):
        draws = [
            mirror_descent(data, public, batch=batch, entropy=SeededEntropy(seed)).theta
            for seed in range(8)
        ]
        return np.mean([mean_objective(data, public.loss, 0.0, theta) for theta in draws])

    value, _ = best(data, public.loss, 0.0)
    assert loss(None) - value < 0.25 * (loss(1) - value)
    for bad in (0, 4001, True, 2.0):
        with pytest.raises(CalibrationError, match="batch must be an integer from 1 to n, got"):
            mirror_descent(data, public, batch=bad, entropy=SeededEntropy(0))
    with pytest.raises(CalibrationError, match="A20's noise is stated for single rows"):
        plan_mirror_descent(facts(epsilon=0.1, n=4000), noise="published", batch=2)


def test_a_smooth_loss_that_is_not_convex_reaches_a_stationary_point():
    public = facts(loss=SigmoidLoss(), **LARGE)
    data = rows(public)
    found = gradient_descent(data, public, steps=2000, entropy=SeededEntropy(0))
    slope = data.sum_gradient(public.loss, found.theta) / 400
    moved = BALL.project(found.theta - slope)
    np.testing.assert_allclose(moved, found.theta, atol=2e-3)
    with pytest.raises(CalibrationError, match="needs a convex loss, the sigmoid loss is not"):
        accelerated_mirror_descent(data, public, steps=3, entropy=SeededEntropy(0))


def test_the_random_iterate_allows_a_loss_that_is_not_convex_only_if_smooth():
    public = facts(loss=RampLoss())
    with pytest.raises(CalibrationError, match="needs a smooth loss, the ramp loss is not"):
        gradient_descent(rows(public), public, steps=3, entropy=SeededEntropy(0))
    good = facts()
    found = gradient_descent(rows(good), good, steps=9, iterate="random", entropy=SystemEntropy())
    assert found.receipt.guarantee == "CONDITIONAL"


@pytest.mark.slow
def test_excess_falls_at_the_rates_of_the_theorems():
    """Strongly convex: (n eps)^-2. Slopes over a factor 16; 30 seeded runs a point."""

    def excess(mechanism, n, epsilon, entropy):
        public = facts(epsilon=epsilon, n=n)
        data = rows(public, n=n)
        value, _ = best(data, public.loss, 0.1)
        found = [
            mean_objective(data, public.loss, 0.1, mechanism(data, public, entropy).theta) - value
            for _ in range(30)
        ]
        return float(np.mean(found))

    def objective(data, public, entropy):
        ridge = 0.1 * len(data.y)
        return objective_perturbation(data, public, ridge=ridge, noise="pure", entropy=entropy)

    def output(data, public, entropy):
        ridge = 0.1 * len(data.y)
        return output_perturbation(data, public, ridge=ridge, noise="gaussian", entropy=entropy)

    def descent(data, public, entropy):
        return gradient_descent(data, public, steps=60, ridge=0.1, entropy=entropy)

    for mechanism in (objective, output, descent):
        entropy = SeededEntropy(6)
        in_n = np.log(
            excess(mechanism, 16_000, 1.0, entropy) / excess(mechanism, 1000, 1.0, entropy)
        )
        in_epsilon = np.log(
            excess(mechanism, 4000, 2.0, entropy) / excess(mechanism, 4000, 0.25, entropy)
        )
        # A mean of 30 squared lengths is within a factor 3 of its expectation.
        assert -2.6 <= in_n / math.log(16) <= -1.4
        assert -2.8 <= in_epsilon / math.log(8) <= -1.2


# --- accounting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_plans_re_evaluate_to_the_target(relation):
    public = facts(relation=relation, epsilon=0.7)
    # Slopes are smaller on the ball than anywhere: the sensitivity is the domain's.
    k = public.gradient_sensitivity
    assert k < relation.loss_sensitivity
    full = plan_full_gradients(public, 25, "dp-gd")
    assert gaussian_delta(full.scales[0] / (k * math.sqrt(25)), 0.7) <= 1e-6
    sgd = plan_noisy_sgd(public, BatchPlan(batch=20, steps=100))
    steps = (SampledSteps(steps=100, rate=0.05),)
    assert sampled_delta(sgd.scales[0] / k, steps, relation, 0.7) <= 1e-6
    assert sampled_delta(sgd.scales[0] / k / 2, steps, relation, 0.7) > 1e-6
    epochs = SVRGPlan(epochs=4, inner=10, batch=20)
    reduced = plan_svrg(public, epochs)
    assert reduced.scales[1] == 2 * reduced.scales[0]
    parts = (
        SampledSteps(steps=4, rate=1.0),
        SampledSteps(steps=40, rate=0.05),
    )
    assert sampled_delta(reduced.scales[0] / k, parts, relation, 0.7) <= 1e-6


def test_each_anchor_is_paid_for():
    """Anchors of different noise, composed one by one, keep to the target and use it up."""
    public = facts(epsilon=0.7)
    k = public.gradient_sensitivity
    epochs = SVRGPlan(epochs=3, inner=2, batch=20, doubling=True, decay=0.5)
    assert epochs.anchor_noise == (4.0, 2.0, 1.0) and epochs.anchor_cost == 1.3125
    last, inner = plan_svrg(public, epochs).scales
    assert inner == 2 * last

    def delta(scale):
        parts = (
            *(SampledSteps(steps=1, rate=1.0, sensitivity=1 / a) for a in epochs.anchor_noise),
            SampledSteps(steps=2 + 4 + 8, rate=0.05),
        )
        return sampled_delta(scale, parts, REPLACE, 0.7)

    assert delta(last / k) <= 1.001e-6
    assert delta(0.95 * last / k) > 1e-6
    for bad in (0.0, 1.5, math.nan):
        with pytest.raises(CalibrationError, match=r"decay must be in \(0, 1\], got"):
            SVRGPlan(epochs=3, inner=2, decay=bad)


def test_anchors_have_the_noise_that_is_paid_for(monkeypatch):
    """Normals replaced by ones: every draw of an anchor is seen with its own scale."""
    public = facts(n=400)
    epochs = SVRGPlan(epochs=3, inner=1, batch=400, sampling="fixed", decay=0.5)
    plan, seen = plan_svrg(public, epochs), []

    class Ones:
        def __init__(self, entropy):
            pass

        def take(self, size):
            return Seen(np.ones(size))

    class Seen(np.ndarray):
        def __new__(cls, values):
            return np.asarray(values).view(cls)

        def __rmul__(self, scale):
            seen.append(float(scale))
            return np.zeros(self.shape)

    monkeypatch.setattr(sys.modules["opdisc.convex.svrg"], "NormalStream", Ones)
    svrg(rows(public), public, epochs, entropy=SeededEntropy(0))
    last, inner = plan.scales
    assert seen == [4 * last, inner, 2 * last, inner, last, inner]


def test_noise_shortens_accelerated_steps(monkeypatch):
    """More steps than needed lose little; without shortening they lose more."""
    public = facts(n=4000, epsilon=0.5)
    data = rows(public, n=4000)
    value, _ = best(data, public.loss, 0.0)

    def excess(steps):
        found = [
            accelerated_mirror_descent(data, public, steps=steps, entropy=SeededEntropy(seed))
            for seed in range(12)
        ]
        return np.mean([mean_objective(data, public.loss, 0.0, r.theta) - value for r in found])

    planned = plan_accelerated_steps(public)
    assert 10 < planned < 60
    many = excess(300)
    assert many < 2 * excess(planned) < 0.1
    mirror, longest = mirror_map(BALL, None), 1 / (4 * public.constants.smoothness_l2)
    assert accelerated_step(public, mirror, 300, 0.0) == longest
    assert accelerated_step(public, mirror, 300, 0.1) < longest / 10
    monkeypatch.setattr(
        sys.modules["opdisc.convex.descent"], "accelerated_step", lambda *_: longest
    )
    assert excess(300) > 2 * many


def test_single_use_noise_is_one_gaussian_release():
    public = facts(epsilon=0.3)
    multiplier = plan_mirror_descent(public).scales[0] / public.gradient_sensitivity
    assert gaussian_delta(multiplier, 0.3) <= 1e-6
    assert gaussian_delta(multiplier * 0.99, 0.3) > 1e-6


def test_the_published_single_use_noise_rests_on_amplification():
    """A20's noise against one Gaussian release with the draws known, as our proof has it.

    Its noise for one row does not depend on n while its promise falls like 1 / sqrt(n): far
    more noise than needed for few rows, and for many a guarantee that hidden draws alone can give.
    """
    delta = 1e-6

    def known_draws(n):
        sigma, promised = published_a20(1 / (2 * math.sqrt(n)), delta, n)
        return gaussian_delta(sigma / 2, promised) / (3 * delta + 2 * math.exp(-n / 16))

    assert known_draws(1000) < 1e-9
    assert known_draws(10_000) == pytest.approx(1.03, abs=0.01)
    assert known_draws(1_000_000) > 1000


def test_b14_published_noise_is_safe_at_small_scale_and_larger_than_the_accountants():
    n, epsilon, delta = 60, 1.0, 1e-4
    public = facts(n=n, epsilon=epsilon, delta=delta)
    # Its noise is stated for n times one row's gradient; per sampled row it is sigma / n.
    per_row = published_b14_stddev(public) / n
    steps = (SampledSteps(steps=n * n, rate=1 / n),)
    assert sampled_delta(per_row / 2, steps, REPLACE, epsilon) <= delta
    ours = plan_noisy_sgd(public, BatchPlan(batch=1, steps=n * n, sampling="fixed")).scales[0]
    assert ours < per_row
    with pytest.raises(CalibrationError, match="B14's noise is stated for epsilon <="):
        published_b14_stddev(facts(epsilon=9.0, delta=1e-4))


def test_relations_and_bounds_are_checked():
    fixed = BatchPlan(batch=20, steps=10, sampling="fixed")
    with pytest.raises(CalibrationError, match="fixed-size sampling is private under replace_one"):
        plan_noisy_sgd(facts(relation=ADD), fixed)
    with pytest.raises(CalibrationError, match="mirror descent is private under replace_one"):
        plan_mirror_descent(facts(relation=ADD))
    with pytest.raises(CalibrationError, match="needs a bounded domain; declare one"):
        noisy_sgd(rows(facts()), facts(domain=None), fixed, entropy=SeededEntropy(0))
    with pytest.raises(CalibrationError, match="needs delta > 0"):
        plan_noisy_sgd(facts(delta=0.0), fixed)
    with pytest.raises(CalibrationError, match="at most all of them"):
        plan_noisy_sgd(facts(), BatchPlan(batch=401, steps=1))
    with pytest.raises(CalibrationError, match="steps must be an integer"):
        plan_full_gradients(facts(), 0, "dp-gd")


@pytest.mark.statistical
def test_monte_carlo_audit_of_noisy_sgd():
    """One coordinate, two tables that differ in one row; false alarm 1e-6.

    The same test catches the noise of epsilon 8.
    """
    n, draws = 4, 3000
    plan, entropy = BatchPlan(batch=4, steps=2, sampling="fixed"), SeededEntropy(3)
    labels = (np.array([1.0, -1.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0]))

    def samples(epsilon):
        public = ConvexPublic(
            params=PrivacyParams(epsilon=epsilon, delta=1e-3),
            relation=REPLACE,
            loss=ScoreLoss(),
            bounds=RowBounds(l2=1.0),
            dimension=1,
            domain=L2Ball(dimension=1, radius=1e3),
            n_rows=n,
        )
        tables = [Rows(X=np.ones((n, 1)) * y[:, None], y=y) for y in labels]
        return [
            np.array(
                [
                    noisy_sgd(table, public, plan, ridge=0.1, entropy=entropy).theta[0]
                    for _ in range(draws)
                ]
            )
            for table in tables
        ]

    def lower_bound(first, second, threshold):
        high, low = ((part <= threshold).sum() for part in (first, second))
        one = stats.beta.ppf(5e-7, high, draws - high + 1) - 1e-3
        other = stats.beta.ppf(1 - 5e-7, low + 1, draws - low)
        return math.log(max(one, 1e-9) / other)

    def worst(pair):
        # The domain clips: the lowest threshold may be an atom at its boundary.
        return max(lower_bound(*pair, float(np.quantile(pair[0], q))) for q in (0.2, 0.5, 0.8))

    assert worst(samples(1.0)) <= 1.0
    assert worst(samples(8.0)) > 1.0


def test_noisy_sgd_takes_a_loss_without_curvature():
    public, y = facts(loss=ScoreLoss()), np.array([1.0, -1.0] * 200)
    rows = Rows(X=y[:, None] * np.array([[0.5, -0.5, 0.0]]), y=y)
    release = noisy_sgd(rows, public, BatchPlan(batch=40, steps=50), entropy=SeededEntropy(7))
    assert np.linalg.norm(release.theta) <= BALL.radius + 1e-6


# --- draws ---------------------------------------------------------------------------------------


@pytest.mark.statistical
def test_draws_have_their_laws():
    """Kolmogorov-Smirnov and chi-square, 1e-6 each, fixed seed."""
    entropy = SeededEntropy(4)
    assert stats.kstest(uniforms(20_000, entropy), "uniform").pvalue > 1e-6
    assert stats.kstest(normals(20_001, entropy), "norm").pvalue > 1e-6
    stream = NormalStream(entropy)
    taken = np.concatenate([stream.take(k) for k in (1, 5000, 3, 9000)])
    assert stats.kstest(taken, "norm").pvalue > 1e-6
    lengths = [np.linalg.norm(l2_laplace(3, 2.0, entropy)) for _ in range(5000)]
    assert stats.kstest(lengths, stats.gamma(3, scale=2.0).cdf).pvalue > 1e-6
    for drawn in (
        integers(7, 20_000, entropy),
        categorical(np.full(7, 1 / 7), 20_000, entropy),
        integers(7 * 2**40, 20_000, entropy) // 2**40,
        np.concatenate([fixed_sample(7, 2, entropy) for _ in range(5000)]),
        np.concatenate([fixed_sample(7, 5, entropy) for _ in range(5000)]),
    ):
        assert stats.chisquare(np.bincount(drawn, minlength=7)).pvalue > 1e-6
    # The last rate is decided by ties in the first byte alone.
    for rate in (0.03, 0.25, 0.9, 1 / 512):
        drawn = [poisson_sample(1000, rate, entropy) for _ in range(500)]
        assert stats.binomtest(sum(map(len, drawn)), 500_000, rate).pvalue > 1e-6
        places = np.bincount(np.concatenate(drawn) // 100, minlength=10)
        assert stats.chisquare(places).pvalue > 1e-6
    pairs = np.array([fixed_sample(5, 2, entropy) for _ in range(8000)])
    sets = np.bincount(5 * pairs.min(axis=1) + pairs.max(axis=1))
    assert stats.chisquare(sets[sets > 0]).pvalue > 1e-6 and np.count_nonzero(sets) == 10


def test_samples_hold_distinct_rows():
    entropy = SeededEntropy(5)
    for _ in range(50):
        drawn = fixed_sample(9, 4, entropy)
        assert len(set(drawn.tolist())) == 4 and drawn.max() < 9
    np.testing.assert_array_equal(poisson_sample(5, 1.0, entropy), np.arange(5))
    np.testing.assert_array_equal(fixed_sample(5, 5, entropy), np.arange(5))
