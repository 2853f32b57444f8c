"""Steps, batches, epochs and noise levels that follow from public numbers."""

import math
import sys

import numpy as np
import pytest
from helpers.opdisc.convex_tables import BALL, REPLACE, best, facts, mean_objective, rows

from opdisc.calibration.gaussian import SampledSteps, sampled_delta
from opdisc.convex.full_gradient import (
    accelerated_mirror_descent,
    accelerated_step,
    plan_accelerated_steps,
    plan_descent_steps,
)
from opdisc.convex.mirror_maps import mirror_map
from opdisc.convex.stochastic import gradient_error, noisy_sgd, plan_batches
from opdisc.convex.variance_reduced import SVRGPlan, plan_epochs, plan_svrg, svrg
from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SeededEntropy
from oracles.convex.classification_losses import HingeLoss


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
    module = sys.modules[
        f"opdisc.convex.{'stochastic' if method == 'noisy_sgd' else 'variance_reduced'}"
    ]
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
        assert mean_objective(data, public.loss, ridge, found.parameters) - value < cost / 2


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
    with pytest.raises(CalibrationError, match="needs a smooth loss, but the hinge loss is not"):
        plan_epochs(facts(loss=HingeLoss()))


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

    monkeypatch.setattr(sys.modules["opdisc.convex.variance_reduced"], "NormalStream", Ones)
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
        return np.mean(
            [mean_objective(data, public.loss, 0.0, r.parameters) - value for r in found]
        )

    planned = plan_accelerated_steps(public)
    assert 10 < planned < 60
    many = excess(300)
    assert many < 2 * excess(planned) < 0.1
    mirror, longest = mirror_map(BALL, None), 1 / (4 * public.constants.smoothness_l2)
    assert accelerated_step(public, mirror, 300, 0.0) == longest
    assert accelerated_step(public, mirror, 300, 0.1) < longest / 10
    monkeypatch.setattr(
        sys.modules["opdisc.convex.full_gradient"], "accelerated_step", lambda *_: longest
    )
    assert excess(300) > 2 * many
