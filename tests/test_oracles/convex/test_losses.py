"""Losses against naive formulas, and their constants against the worst row within the bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from oracles.convex.classification_losses import (
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
    SigmoidLoss,
)
from oracles.convex.constants import RowBounds
from oracles.convex.loss_names import CERTIFIABLE_LOSSES, loss_by_name
from oracles.convex.regression_losses import AbsoluteLoss, ScoreLoss, SquaredLoss
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
BENT = ("huberised hinge", "ramp")
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
    X, y, parameters = _rows(loss)
    expected = [
        NAIVE[loss.name](float(x @ parameters), label) for x, label in zip(X, y, strict=True)
    ]
    np.testing.assert_allclose(loss.value(X, y, parameters), expected, rtol=1e-12, atol=1e-14)
    weights = np.arange(len(y), dtype=float)
    assert loss.sum_value(X, y, parameters, weights) == pytest.approx(np.dot(expected, weights))
    gradients, step = loss.gradient(X, y, parameters), 1e-6
    for j in range(X.shape[1]):
        moved = step * np.eye(X.shape[1])[j]
        slopes = (loss.value(X, y, parameters + moved) - loss.value(X, y, parameters - moved)) / (
            2 * step
        )
        # A random score is within 1e-6 of a kink with probability below 1e-3 here.
        np.testing.assert_allclose(gradients[:, j], slopes, atol=1e-5)
    np.testing.assert_allclose(
        loss.sum_gradient(X, y, parameters, weights), weights @ gradients, atol=1e-9
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


@pytest.mark.parametrize(
    "loss",
    [loss for loss in LOSSES if loss.is_convex and loss.is_certifiable],
    ids=lambda loss: loss.name,
)
def test_conjugates_obey_fenchel_young_with_equality_at_the_slope(loss):
    y = np.repeat([-1.0, 1.0], 200)
    s = np.tile(np.linspace(-4, 4, 200), 2)
    slopes = loss.slopes(s, y)
    touching = loss.of_scores(s, y) + loss.conjugates(slopes, y) - slopes * s
    np.testing.assert_allclose(touching, 0.0, atol=1e-12)
    low, high = loss.slope_range(y)
    for share in np.linspace(0, 1, 7):
        a = np.clip(low, -5, 5) * (1 - share) + np.clip(high, -5, 5) * share
        assert (loss.of_scores(s, y) + loss.conjugates(a, y) >= a * s - 1e-12).all()


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(CERTIFIABLE_LOSSES),
    ends=st.tuples(st.floats(-5, 5), st.floats(-5, 5)),
    y=st.sampled_from([-1.0, 1.0]),
    width=st.floats(0.1, 3.0),
)
def test_a_minorant_is_below_the_loss_on_its_interval(name, ends, y, width):
    loss = type(loss_by_name(name))(width) if name in BENT else loss_by_name(name)
    low, high = np.array([min(ends)]), np.array([max(ends)])
    slope, height = loss.minorant(low, high, np.array([y]))
    s = np.linspace(low[0], high[0], 101)
    assert (slope * s + height <= loss.of_scores(s, np.full(101, y)) + 1e-9).all()


@pytest.mark.parametrize("loss", [RampLoss(), SigmoidLoss()], ids=lambda loss: loss.name)
def test_a_loss_that_is_not_convex_has_no_conjugate(loss):
    for ask in (loss.slope_range, lambda y: loss.conjugates(y, y)):
        with pytest.raises(InvalidProblem, match="weak duality needs a convex loss"):
            ask(np.ones(1))


def test_large_scores_do_not_overflow():
    scores = np.array([-1e4, 1e4])
    loss = LogisticLoss()
    np.testing.assert_allclose(loss.of_scores(scores, np.ones(2)), [1e4, 0.0])
    assert np.all(np.isfinite(loss.slopes(scores, np.ones(2))))


def test_squared_loss_needs_a_domain():
    with pytest.raises(InvalidProblem, match="squared loss needs a bounded domain"):
        SquaredLoss().constants(RowBounds(l2=1.0))
    assert SquaredLoss().constants(RowBounds(l2=2.0), score_bound=3.0).lipschitz_l2 == 8.0


@pytest.mark.parametrize("bad", [0.0, -1.0, 1e-160, 1e160, math.inf, math.nan, None])
def test_absent_bounds_are_refused(bad):
    with pytest.raises(InvalidProblem, match="public bounds must be numbers from 1e-150 to 1e150"):
        RowBounds(l2=bad)


@given(
    arrays(np.float64, (3, 40), elements=st.floats(-1e3, 1e3)),
    st.floats(1e-149, 1e150),
    st.sampled_from([0.1, 1.0]),
)
def test_rows_shortened_to_a_bound_are_within_it_and_longer_ones_are_not(rows, l2, share):
    bounds = RowBounds(l2=l2, linf=share * l2)
    rows = np.clip(rows * l2, -bounds.largest_coordinate, bounds.largest_coordinate)
    lengths = np.linalg.norm(rows, axis=1)
    rows *= np.minimum(1.0, l2 / np.maximum(lengths, l2))[:, None]
    assert bounds.hold(rows)
    longest = max(sum(Fraction(x) ** 2 for x in row) for row in rows) / Fraction(l2) ** 2
    assert longest <= Fraction(1 + 48 * 2.0**-52) ** 2
    if longest > 1e-6:
        assert not bounds.hold(rows / math.sqrt(longest) * (1 + 1e-12))


def test_coordinates_and_what_is_no_number_get_no_allowance():
    bounds = RowBounds(l2=2.0, linf=1.0)
    assert bounds.hold(np.array([[1.0, -1.0]])) and bounds.hold(np.empty((0, 3)))
    for bad in (np.nextafter(1.0, 2.0), math.nan, math.inf, -math.inf):
        assert not bounds.hold(np.array([[0.0, 1.0], [bad, 0.0]]))


def test_bad_names_and_widths_are_refused():
    with pytest.raises(InvalidProblem, match="loss must be one of logistic"):
        loss_by_name("cubic")
    with pytest.raises(InvalidProblem, match="width of a loss"):
        HuberisedHingeLoss(0.0)
    assert loss_by_name("huberised hinge") == HuberisedHingeLoss()
