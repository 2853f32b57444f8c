"""A loss with error costs is the loss times the cost of a row's class, in every way it is used."""

import numpy as np
import pytest

from oracles.convex.classification_losses import (
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
)
from oracles.convex.constants import RowBounds
from oracles.convex.costly_losses import CostlyLoss, with_costs
from oracles.convex.polytopes import Box
from oracles.convex.problem import TiltedProblem
from oracles.convex.regression_losses import AbsoluteLoss, ScoreLoss
from oracles.convex.solve import RealOptions, minimise
from oracles.errors import InvalidProblem
from oracles.problem.error_costs import ErrorCosts

COSTS = ErrorCosts(false_negative=5, false_positive=2)
LOSSES = [LogisticLoss(), HingeLoss(), HuberisedHingeLoss(0.5), RampLoss()]
SCORES = np.linspace(-3.0, 3.0, 41)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize(("label", "cost"), [(1.0, 5), (-1.0, 2)])
def test_values_slopes_and_bounds_are_those_of_the_loss_times_the_cost(loss, label, cost):
    costly, y = CostlyLoss(loss, COSTS), np.full(SCORES.shape, label)
    for method in ("of_scores", "slopes", "curvatures"):
        ours, plain = getattr(costly, method)(SCORES, y), getattr(loss, method)(SCORES, y)
        np.testing.assert_array_equal(ours, cost * plain)
    slope, height = costly.minorant(SCORES - 0.3, SCORES + 0.3, y)
    lines = slope * (SCORES + 0.1) + height
    assert (lines <= costly.of_scores(SCORES + 0.1, y) + 1e-12).all()
    bounds = RowBounds(l2=2.0, linf=1.0)
    ours, plain = costly.constants(bounds), loss.constants(bounds)
    assert ours.lipschitz_l2 == 5 * plain.lipschitz_l2
    assert ours.smoothness_l1 == 5 * plain.smoothness_l1
    assert np.abs(costly.slopes(SCORES, y)).max() <= costly.slope_bound(bounds, np.inf)
    if loss.is_convex:  # Fenchel: phi(s) + phi*(a) >= a s, with equality at the slope of s
        a = costly.slopes(SCORES, y)
        gap = costly.of_scores(SCORES, y) + costly.conjugates(a, y) - a * SCORES
        np.testing.assert_allclose(gap, 0.0, atol=1e-12)
        low, high = costly.slope_range(y)
        assert ((low <= a) & (a <= high)).all()


@pytest.mark.parametrize(
    "oracle",
    ["scipy", "lp-highs", "global", pytest.param("cvxpy", marks=pytest.mark.extras("cvxpy"))],
)
def test_oracles_minimise_the_cost(oracle):
    loss = HingeLoss() if oracle == "lp-highs" else HuberisedHingeLoss(0.5)
    rng = np.random.default_rng(1)
    features, targets = rng.normal(size=(12, 2)), np.where(rng.random(12) < 0.5, 1.0, -1.0)
    tilt = np.array([0.3, -0.2])
    parts = {"domain": Box.cube(2, 1.0), "tilt": tilt, "features": features, "targets": targets}
    problem = TiltedProblem(**parts, weights=np.ones(12), loss=with_costs(loss, COSTS))
    by_hand = TiltedProblem(**parts, weights=np.where(targets > 0, 5.0, 2.0), loss=loss)
    assert problem.loss == loss
    np.testing.assert_array_equal(problem.weights, by_hand.weights)
    found = minimise(problem, oracle, RealOptions(absolute_gap=1e-3))
    assert found.certificate.gap <= 1e-3
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 81)] * 2), axis=-1).reshape(-1, 2)
    costs = CostlyLoss(loss, COSTS).of_scores(features @ grid.T, targets[:, None]).sum(axis=0)
    least = float((costs - grid @ tilt).min())
    assert found.certificate.dual_bound <= least
    assert problem.objective(found.point) <= least + 1e-3


def test_equal_costs_are_the_loss_itself_and_what_cannot_cost_is_refused():
    loss = HingeLoss()
    assert with_costs(loss, ErrorCosts(false_negative=3, false_positive=3)) is loss
    assert with_costs(AbsoluteLoss(), ErrorCosts()) == AbsoluteLoss()
    for numbers in (AbsoluteLoss(), ScoreLoss()):
        with pytest.raises(InvalidProblem, match="need a loss of two classes"):
            with_costs(numbers, COSTS)
    with pytest.raises(InvalidProblem, match="once"):
        with_costs(with_costs(loss, COSTS), COSTS)
