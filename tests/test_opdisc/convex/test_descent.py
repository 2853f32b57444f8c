"""Gradient methods: the optimum without noise, rows used once, rates of the theorems."""

import math
from typing import ClassVar

import numpy as np
import pytest
from helpers.opdisc.convex_tables import BALL, LARGE, best, facts, mean_objective, rows

from opdisc.convex.full_gradient import (
    accelerated_mirror_descent,
    gradient_descent,
    plan_accelerated_steps,
    plan_descent_steps,
)
from opdisc.convex.objective import objective_perturbation
from opdisc.convex.one_pass import mirror_descent, plan_mirror_descent, single_use_batch
from opdisc.convex.output import output_perturbation
from opdisc.convex.rows import Rows
from opdisc.convex.stochastic import BatchPlan, noisy_sgd
from opdisc.convex.variance_reduced import SVRGPlan, svrg
from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import (
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
    SigmoidLoss,
)
from oracles.convex.regression_losses import ScoreLoss


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_full_gradient_methods_without_noise_reach_the_optimum(ridge):
    public = facts(**LARGE)
    data = rows(public)
    value, parameters = best(data, public.loss, ridge)
    found = gradient_descent(data, public, steps=300, ridge=ridge, entropy=SeededEntropy(0))
    np.testing.assert_allclose(found.parameters, parameters, atol=2e-3)
    if ridge == 0:
        fast = accelerated_mirror_descent(data, public, steps=100, entropy=SeededEntropy(0))
        assert mean_objective(data, public.loss, 0.0, fast.parameters) <= value + 1e-4


@pytest.mark.parametrize("sampling", ["poisson", "fixed"])
@pytest.mark.parametrize("loss", [LogisticLoss(), HingeLoss()])
def test_sgd_without_noise_approaches_the_optimum(sampling, loss):
    public = facts(loss=loss, epsilon=math.inf)
    data = rows(public)
    for ridge, slack in ((0.0, 0.03), (0.1, 0.03)):
        value, _ = best(data, loss, ridge)
        plan = BatchPlan(batch=100, steps=600, sampling=sampling)
        found = noisy_sgd(data, public, plan, ridge=ridge, entropy=SeededEntropy(1))
        assert mean_objective(data, loss, ridge, found.parameters) <= value + slack


@pytest.mark.parametrize("doubling", [False, True])
def test_svrg_without_noise_approaches_the_optimum(doubling):
    public = facts(epsilon=math.inf)
    data = rows(public)
    value, _ = best(data, public.loss, 0.05)
    plan = SVRGPlan(epochs=5, inner=40, batch=100, doubling=doubling)
    found = svrg(data, public, plan, ridge=0.05, entropy=SeededEntropy(1))
    assert mean_objective(data, public.loss, 0.05, found.parameters) <= value + 0.02
    assert plan.inner_steps == ((40, 80, 160, 320, 640) if doubling else (40,) * 5)


def test_single_use_mirror_descent_learns():
    public = facts(epsilon=1e6, n=4000)
    data = rows(public, n=4000)
    found = mirror_descent(data, public, entropy=SeededEntropy(2))
    value, _ = best(data, public.loss, 0.0)
    assert mean_objective(data, public.loss, 0.0, found.parameters) <= value + 0.03


class Recorder(LogisticLoss):
    """Remembers the rows whose gradients were taken."""

    seen: ClassVar[list[np.ndarray]] = []

    def sum_gradient(self, X, y, parameters, counts=None):
        self.seen.append(X[:, 0].copy())
        return super().sum_gradient(X, y, parameters, counts)


@pytest.mark.parametrize("batch", [None, 1, 7, 400])
def test_single_use_takes_every_row_at_most_once(batch):
    public = facts(loss=Recorder())
    X = np.zeros((400, 3))
    X[:, 0] = np.arange(400) / 400
    data = Rows(X=X, y=np.ones(400))
    Recorder.seen.clear()
    mirror_descent(data, public, batch=batch, entropy=SeededEntropy(4))
    used = np.concatenate(Recorder.seen)[2:]  # a rehearsal's two public rows come first
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
            mirror_descent(data, public, batch=batch, entropy=SeededEntropy(seed)).parameters
            for seed in range(8)
        ]
        return np.mean(
            [mean_objective(data, public.loss, 0.0, parameters) for parameters in draws]
        )

    value, _ = best(data, public.loss, 0.0)
    assert loss(None) - value < 0.25 * (loss(1) - value)
    for bad in (0, 4001, True, 2.0):
        with pytest.raises(
            CalibrationError, match="batch must be an integer from 1 to 4,000, got"
        ):
            mirror_descent(data, public, batch=bad, entropy=SeededEntropy(0))
    with pytest.raises(CalibrationError, match="A20's noise is stated for single rows"):
        plan_mirror_descent(facts(epsilon=0.1, n=4000), noise="published", batch=2)


def test_a_smooth_loss_that_is_not_convex_reaches_a_stationary_point():
    public = facts(loss=SigmoidLoss(), **LARGE)
    data = rows(public)
    found = gradient_descent(data, public, steps=2000, entropy=SeededEntropy(0))
    slope = data.sum_gradient(public.loss, found.parameters) / 400
    moved = BALL.project(found.parameters - slope)
    np.testing.assert_allclose(moved, found.parameters, atol=2e-3)
    with pytest.raises(CalibrationError, match="needs a convex loss, but the sigmoid loss is not"):
        accelerated_mirror_descent(data, public, steps=3, entropy=SeededEntropy(0))


def test_the_random_iterate_allows_a_loss_that_is_not_convex_only_if_smooth():
    public = facts(loss=RampLoss())
    with pytest.raises(CalibrationError, match="needs a smooth loss, but the ramp loss is not"):
        gradient_descent(rows(public), public, steps=3, entropy=SeededEntropy(0))
    good = facts()
    found = gradient_descent(rows(good), good, steps=9, iterate="random", entropy=SystemEntropy())
    assert found.receipt.guarantee == "CONDITIONAL"


def test_noisy_sgd_takes_a_loss_without_curvature():
    public, y = facts(loss=ScoreLoss()), np.array([1.0, -1.0] * 200)
    rows = Rows(X=y[:, None] * np.array([[0.5, -0.5, 0.0]]), y=y)
    release = noisy_sgd(rows, public, BatchPlan(batch=40, steps=50), entropy=SeededEntropy(7))
    assert np.linalg.norm(release.parameters) <= BALL.radius + 1e-6


@pytest.mark.slow
def test_excess_falls_at_the_rates_of_the_theorems():
    """Strongly convex: (n eps)^-2. Slopes over a factor 16; 30 seeded runs a point."""

    def excess(mechanism, n, epsilon, entropy):
        public = facts(epsilon=epsilon, n=n)
        data = rows(public, n=n)
        value, _ = best(data, public.loss, 0.1)
        found = [
            mean_objective(data, public.loss, 0.1, mechanism(data, public, entropy).parameters)
            - value
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


class Trace(L2Ball):
    """Remembers every point that was projected on the ball."""

    points: ClassVar[list[np.ndarray]] = []

    def project(self, parameters):
        self.points.append(super().project(parameters))
        return self.points[-1]


@pytest.mark.slow
def test_the_random_iterate_falls_at_its_rate_with_planned_steps():
    """Squared gradient maps, averaged over all iterates: (n eps)^-1 over a factor 16."""

    def size(n):
        public = facts(n=n, loss=SigmoidLoss(), domain=Trace(dimension=3, radius=2.0))
        data, steps = rows(public, n=n), plan_descent_steps(public, iterate="random")
        found = []
        for seed in range(4):
            Trace.points.clear()
            gradient_descent(data, public, steps=steps, entropy=SeededEntropy(seed))
            for parameters in Trace.points[-steps:]:
                moved = parameters - BALL.project(
                    parameters - data.sum_gradient(public.loss, parameters) / n
                )
                found.append(moved @ moved)
        return np.mean(found)

    assert -1.2 <= math.log(size(16_000) / size(1000)) / math.log(16) <= -0.8


@pytest.mark.slow
def test_accelerated_descent_falls_at_its_rate_with_planned_steps():
    """Linear losses of slopes 1/4, 1/8, ...; the worst excess: (n eps)^-1 over a factor 64."""
    corners = np.array([[-1.0, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])

    def excess(n):
        worst = []
        ball = L2Ball(dimension=3, radius=0.49)  # the Huberised hinge is straight there
        public = facts(n=n, loss=HuberisedHingeLoss(), domain=ball)
        steps = plan_accelerated_steps(public)
        for tilt in 2.0 ** -np.arange(2, 14):
            counts = n * np.array([tilt, *[(1 - tilt) / 4] * 4])
            data = Rows(X=corners, y=np.ones(5), counts=counts)
            found = [
                accelerated_mirror_descent(
                    data, public, steps=steps, entropy=SeededEntropy(seed)
                ).parameters[0]
                for seed in range(30)
            ]
            worst.append(tilt * (0.49 + np.mean(found)))
        return max(np.convolve(worst, np.full(3, 1 / 3), mode="valid"))

    assert -1.2 <= math.log(excess(256_000) / excess(4000)) / math.log(64) <= -0.8
