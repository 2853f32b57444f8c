"""Losses against naive formulas, and their constants against the worst row within the bounds."""

import math

import numpy as np
import pytest

from oracles.convex_constants import RowBounds
from oracles.convex_losses import (
    AbsoluteLoss,
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
    ScoreLoss,
    SigmoidLoss,
    SquaredLoss,
    loss_by_name,
)
from oracles.errors import InvalidProblem

LOSSES = [
    LogisticLoss(),
    HingeLoss(),
    HuberisedHingeLoss(0.3),
    RampLoss(0.7),
    SigmoidLoss(),
    SquaredLoss(),
    AbsoluteLoss(),
    ScoreLoss(),
]
NAIVE = {
    "logistic": lambda s, y: math.log(1 + math.exp(-y * s)),
    "hinge": lambda s, y: max(0.0, 1 - y * s),
    "huberised hinge": lambda s, y: (
        0.0 if y * s > 1.3 else 1 - y * s if y * s < 0.7 else (1.3 - y * s) ** 2 / 1.2
    ),
    "ramp": lambda s, y: 1.0 if y * s <= -0.7 else 0.0 if y * s >= 0.7 else (0.7 - y * s) / 1.4,
    "sigmoid": lambda s, y: 1 / (1 + math.exp(y * s)),
    "squared": lambda s, y: (s - y) ** 2 / 2,
    "absolute": lambda s, y: abs(s - y),
    "score": lambda s, y: s,
}


def _rows(loss, n=400, p=3, radius=1.5):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, p))
    X *= radius / np.linalg.norm(X, axis=1, keepdims=True)
    y = np.sign(rng.normal(size=n)) if loss.is_classification else rng.uniform(-1, 1, size=n)
    return X, y, rng.normal(size=p)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_values_and_gradients_against_one_row_at_a_time(loss):
    X, y, theta = _rows(loss)
    expected = [NAIVE[loss.name](float(x @ theta), label) for x, label in zip(X, y, strict=True)]
    np.testing.assert_allclose(loss.value(X, y, theta), expected, rtol=1e-12, atol=1e-14)
    weights = np.arange(len(y), dtype=float)
    assert loss.sum_value(X, y, theta, weights) == pytest.approx(np.dot(expected, weights))
    gradients, step = loss.gradient(X, y, theta), 1e-6
    for j in range(X.shape[1]):
        moved = step * np.eye(X.shape[1])[j]
        slopes = (loss.value(X, y, theta + moved) - loss.value(X, y, theta - moved)) / (2 * step)
        # A random score is within 1e-6 of a kink with probability below 1e-3 here.
        np.testing.assert_allclose(gradients[:, j], slopes, atol=1e-5)
    np.testing.assert_allclose(
        loss.sum_gradient(X, y, theta, weights), weights @ gradients, atol=1e-9
    )


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_constants_cover_every_row_and_are_attained(loss):
    bounds = RowBounds(l2=1.5, linf=1.5)
    score = 4.0
    constants = loss.constants(bounds, score_bound=score)
    scores = np.linspace(-score, score, 4001)
    labels = (-1.0, 1.0)
    slope = max(np.abs(loss.slopes(scores, np.full_like(scores, y))).max() for y in labels)
    assert 0.98 * constants.lipschitz_l2 <= slope * 1.5 <= constants.lipschitz_l2 * (1 + 1e-12)
    curvature = max(loss.curvatures(scores, np.full_like(scores, y)).max() for y in labels)
    assert curvature * 1.5**2 <= constants.smoothness_l2
    if math.isfinite(constants.smoothness_l2):
        assert curvature * 1.5**2 >= 0.98 * constants.smoothness_l2
        jumps = np.diff(loss.slopes(scores, np.ones_like(scores))) / np.diff(scores)
        assert np.abs(jumps).max() <= loss.curvature_bound() * (1 + 1e-9)
    narrow = loss.constants(RowBounds(l2=1.5, linf=0.5), score_bound=score)
    assert narrow.lipschitz_l1 == pytest.approx(constants.lipschitz_l2 / 3)
    assert narrow.lipschitz_l2 == constants.lipschitz_l2


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_convexity_is_as_declared(loss):
    scores = np.linspace(-3, 3, 601)
    values = loss.of_scores(scores, np.ones_like(scores))
    bends = values[:-2] + values[2:] - 2 * values[1:-1]
    assert (bends.min() >= -1e-12) == loss.is_convex


def test_large_scores_do_not_overflow():
    scores = np.array([-1e4, 1e4])
    loss = LogisticLoss()
    np.testing.assert_allclose(loss.of_scores(scores, np.ones(2)), [1e4, 0.0])
    assert np.all(np.isfinite(loss.slopes(scores, np.ones(2))))


def test_squared_loss_needs_a_domain():
    with pytest.raises(InvalidProblem, match="squared loss needs a bounded domain"):
        SquaredLoss().constants(RowBounds(l2=1.0))
    assert SquaredLoss().constants(RowBounds(l2=2.0), score_bound=3.0).lipschitz_l2 == 8.0


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan, None])
def test_absent_bounds_are_refused(bad):
    with pytest.raises(InvalidProblem, match="public bounds must be finite and > 0, got l2="):
        RowBounds(l2=bad)


def test_bad_names_and_widths_are_refused():
    with pytest.raises(InvalidProblem, match="loss must be one of logistic"):
        loss_by_name("cubic")
    with pytest.raises(InvalidProblem, match="width of a loss"):
        HuberisedHingeLoss(0.0)
    assert loss_by_name("huberised hinge") == HuberisedHingeLoss()
