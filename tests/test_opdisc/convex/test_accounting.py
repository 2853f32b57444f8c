"""Accounting of gradient methods: targets, published constants, relations, an audit."""

import math

import numpy as np
import pytest
from helpers.opdisc.convex_tables import ADD, REPLACE, facts, rows
from scipy import stats

from opdisc.calibration.gaussian import SampledSteps, gaussian_delta, sampled_delta
from opdisc.convex.full_gradient import plan_full_gradients
from opdisc.convex.one_pass import plan_mirror_descent, published_a20
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.stochastic import BatchPlan, noisy_sgd, plan_noisy_sgd, published_b14_stddev
from opdisc.convex.variance_reduced import SVRGPlan, plan_svrg
from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import PrivacyParams
from oracles.convex.balls import L2Ball
from oracles.convex.constants import RowBounds
from oracles.convex.regression_losses import ScoreLoss


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_plans_re_evaluate_to_the_target(relation):
    public = facts(relation=relation, epsilon=0.7)
    # Slopes are smaller on the ball than anywhere: the sensitivity is the domain's.
    k = public.gradient_sensitivity
    assert k < relation.loss_sensitivity
    full = plan_full_gradients(public, 25, "gradient_descent")
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
        plan_full_gradients(facts(), 0, "gradient_descent")


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
                    noisy_sgd(table, public, plan, ridge=0.1, entropy=entropy).parameters[0]
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
