"""Sums over private rows: errors within their bounds, and rows mapped one by one."""

import numpy as np
import pytest
from flint import arb, ctx
from helpers.opdisc.hull import groups
from hypothesis import given, settings, strategies as st

from opdisc.convex.hull.logistic_function import SIGMOID_ERROR, sigmoid
from opdisc.convex.hull.shape import HullShape
from opdisc.convex.hull.table import HullTable, mapped_into
from opdisc.data import EncodedTable
from oracles.problem import ErrorCosts

SHAPE = HullShape.of_groups(groups(("free", 2), ("exclusive", 3), ("nested", 2)))


EQUAL = ErrorCosts()


def table(n_points, seed, costs=EQUAL, most=1000):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 2, (n_points, SHAPE.n_columns + 1)).astype(np.int8)
    positives, negatives = rng.integers(0, most, (2, n_points))
    rows = EncodedTable(
        points=points,
        positives=positives,
        negatives=negatives,
        n_rows=int(positives.sum() + negatives.sum()),
    )
    return HullTable.of(rows, SHAPE, costs)


def box(n_points, seed, costs=EQUAL, unit=256):
    """Return a table of numbers in whole steps of their ranges."""
    rng = np.random.default_rng(seed)
    points = rng.integers(-3, unit + 4, (n_points, 8)).astype(np.int16)
    positives, negatives = rng.integers(0, 1000, (2, n_points))
    n_rows = int(positives.sum() + negatives.sum())
    rows = EncodedTable(points=points, positives=positives, negatives=negatives, n_rows=n_rows)
    return HullTable.of(rows, HullShape.of_groups(groups(("free", 7))), costs, unit)


def true_sigmoid(score):
    return arb(1) / (1 + (-arb(score)).exp())


def test_the_sigmoid_is_within_its_error():
    rng = np.random.default_rng(0)
    scores = np.concatenate(
        [
            rng.normal(size=2000) * 5,
            rng.uniform(-60, 60, 2000),
            np.arange(-45, 45, 1 / 64),
            np.nextafter(np.arange(-45, 45, 1 / 128), 100),
            [0.0, -0.0, 5e-324, 1e-300, 40.0, -40.0, 745.0, -745.0, 1e6, -1e6],
        ]
    )
    with ctx.workprec(160):
        errors = [
            (true_sigmoid(score) - arb(value)).abs_upper()
            for score, value in zip(scores.tolist(), sigmoid(scores).tolist(), strict=True)
        ]
        assert all(error <= arb(SIGMOID_ERROR) for error in errors)
        assert max(errors) > arb(SIGMOID_ERROR) / 32  # the bound is not idle


@pytest.mark.parametrize(("n_points", "costs"), [(1, (1, 1)), (300, (1, 1)), (300, (7, 2))])
@pytest.mark.parametrize("digits", [20, 40, 48])
@pytest.mark.parametrize("make", [table, box])
def test_both_slopes_hold_the_truth(make, n_points, costs, digits):
    rows = make(n_points, 1, ErrorCosts(false_negative=costs[0], false_positive=costs[1]))
    rng = np.random.default_rng(digits)
    most = 2 ** min(digits - 1, 49 - rows.unit.bit_length())
    whole = [int(v) for v in rng.integers(-most, most, 8)]
    quick, deep = rows.slope_balls(whole, digits), rows.deep_slope_balls(whole, digits)
    with ctx.workprec(200):
        scores = rows.points.astype(object) @ np.array(whole, dtype=object)
        truth = [arb(0)] * len(whole)
        for point, score, weight, positive in zip(
            rows.points, scores, rows.weights, rows.positives, strict=True
        ):
            chance = true_sigmoid(arb(int(score)) / rows.unit * arb(2) ** -digits)
            residual = int(weight) * chance - int(positive)
            parts = [arb(int(x)) / rows.unit for x in point]
            truth = [t + x * residual for t, x in zip(truth, parts, strict=True)]
        for found, bound in ((quick, 2.0**-47), (deep, 2.0 ** (2 - digits))):
            for ball, exact in zip(found, truth, strict=True):
                assert ball.contains(exact.mid()) or ball.overlaps(exact)
                assert float(ball.rad()) <= rows.total * bound


def test_numbers_are_clipped_to_their_range_and_doubles_agree():
    rows = box(200, 3)
    assert rows.points.min() == 0 and rows.points.max() == 256 and (rows.points[:, 0] == 256).all()
    theta = np.random.default_rng(0).normal(size=8)
    chances = sigmoid(rows.scores(theta))
    np.testing.assert_allclose(rows.scores(theta), rows.points / 256 @ theta)
    residuals = rows.weights * chances - rows.positives
    np.testing.assert_allclose(rows.slope(chances), residuals @ (rows.points / 256), rtol=1e-9)
    weights = rows.weights * chances * (1 - chances)
    expected = (rows.points / 256).T @ (weights[:, None] * (rows.points / 256))
    np.testing.assert_allclose(rows.curvature(chances), expected, rtol=1e-4)


def test_a_slope_that_is_off_would_be_found():
    rows = table(300, 1)
    whole = [2**38, -(2**39), 2**37, 0, 1, 2**38, -7, 2**36]
    quick = rows.slope_balls(whole, 40)
    rows.positives[0] += 1e-8
    assert not rows.slope_balls(whole, 40)[0].overlaps(quick[0])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_every_row_is_mapped_into_the_hull_by_itself(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(-2, 4, (20, SHAPE.n_columns + 1)).astype(np.int8)
    found = mapped_into(points, SHAPE)
    assert set(np.unique(found)) <= {0, 1} and (found[:, 0] == 1).all()
    for group in SHAPE.groups:
        part = found[:, list(group.columns)]
        if group.kind == "exclusive":
            assert part.sum(axis=1).max() <= 1
        elif group.kind == "nested":
            assert (part[:, 1:] <= part[:, :-1]).all()
    assert (mapped_into(found, SHAPE) == found).all()
    alone = np.vstack([mapped_into(row[None], SHAPE) for row in points])
    assert (alone == found).all()


def test_an_empty_table_has_sums():
    rows = table(0, 0)
    assert rows.total == 0 and rows.scores(np.ones(8)).shape == (0,)
    assert all(ball.overlaps(arb(0)) for ball in rows.slope_balls([1] * 8, 30))
    assert all(ball.overlaps(arb(0)) for ball in rows.deep_slope_balls([1] * 8, 30))


def test_large_and_small_tables_are_summed_alike(monkeypatch):
    import opdisc.convex.hull.table as module

    small = table(500, 3)
    theta = np.random.default_rng(1).normal(size=8)
    chances = sigmoid(small.scores(theta))
    kept = small.scores(theta), small.slope(chances), small.curvature(chances)
    monkeypatch.setattr(module, "_SMALL", 0)
    monkeypatch.setattr(module, "_CHUNK", 70)
    large = table(500, 3)
    found = large.scores(theta), large.slope(chances), large.curvature(chances)
    for a, b in zip(kept, found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-3)
    whole = [2**30, -3, 2**29, 5, 0, 1, 2**28, -(2**30)]
    for a, b in zip(small.slope_balls(whole, 31), large.slope_balls(whole, 31), strict=True):
        assert a.overlaps(b)
