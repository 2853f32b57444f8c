"""Domains: projections against a solver, widths and gauges against sampled points."""

import math

import numpy as np
import pytest
from scipy import optimize

from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Box, Simplex
from oracles.errors import InvalidProblem

DOMAINS = [
    L2Ball(dimension=3, radius=1.5),
    L1Ball(dimension=3, radius=1.5),
    Simplex(dimension=3),
    Box([-1.0, 0.0, -0.5], [0.5, 2.0, 0.5]),
]


def _points(domain, n=300):
    rng = np.random.default_rng(0)
    return [domain.project(row) for row in 3 * rng.normal(size=(n, domain.dimension))]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
def test_projection_is_the_nearest_point(domain):
    rng = np.random.default_rng(2)
    points = _points(domain)
    for target in 3 * rng.normal(size=(50, 3)):
        nearest = domain.project(target)
        assert domain.contains(nearest)
        inside = domain.nearest_inside(target)
        assert domain.contains_exactly(inside)
        np.testing.assert_allclose(inside, nearest, atol=1e-11)
        np.testing.assert_allclose(domain.project(nearest), nearest, atol=1e-12)
        # Variational inequality: <target - nearest, z - nearest> <= 0 on the whole domain.
        for z in points:
            assert (target - nearest) @ (z - nearest) <= 1e-9


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_points_are_pulled_inside_whatever_their_size(domain, size):
    for target in size * np.random.default_rng(6).normal(size=(100, 3)):
        assert domain.contains_exactly(domain.nearest_inside(target))
        if not domain.contains_exactly(target):
            assert not domain.contains(target, tolerance=0.0)


@pytest.mark.parametrize("size", [1e17, 1e100, 1e300])
def test_a_point_far_away_is_projected(size):
    for domain in (L1Ball(dimension=3, radius=1.0), Simplex(dimension=3)):
        far = domain.nearest_inside(np.array([0.3 * size, size, -size / 4]))
        np.testing.assert_allclose(far, [0.0, 1.0, 0.0], atol=1e-12)


def test_l1_projection_agrees_with_a_quadratic_program():
    target = np.array([1.2, -0.9, 0.1])
    found = optimize.minimize(
        lambda v: np.sum((v[:3] - v[3:] - target) ** 2),
        np.full(6, 0.1),
        bounds=[(0, None)] * 6,
        constraints={"type": "ineq", "fun": lambda v: 1.5 - v.sum()},
    ).x
    expected = found[:3] - found[3:]
    np.testing.assert_allclose(
        L1Ball(dimension=3, radius=1.5).project(target), expected, atol=1e-5
    )


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
def test_widths_bound_all_points_and_are_attained(domain):
    points = _points(domain)
    rng = np.random.default_rng(3)
    points += [domain.minimise_linear(row) for row in rng.normal(size=(200, 3))]
    points += [domain.minimise_linear(row) for row in (np.ones(3), -np.ones(3))]
    points += [domain.minimise_linear(sign * row) for row in np.eye(3) for sign in (1.0, -1.0)]
    stacked = np.array(points)
    differences = stacked[:, None] - stacked[None]
    for bound, found in (
        (domain.diameter_l2, np.linalg.norm(differences, axis=2).max()),
        (domain.diameter_l1, np.abs(differences).sum(axis=2).max()),
        (domain.diameter_linf, np.abs(differences).max()),
        (domain.radius_l2, np.linalg.norm(stacked, axis=1).max()),
        (domain.radius_l1, np.abs(stacked).sum(axis=1).max()),
    ):
        assert 0.93 * bound <= found <= bound * (1 + 1e-12)
    np.testing.assert_allclose(stacked.min(axis=0), domain.lower, atol=1e-9)
    np.testing.assert_allclose(stacked.max(axis=0), domain.upper, atol=1e-9)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
def test_linear_minimisation_beats_every_sampled_point(domain):
    rng = np.random.default_rng(4)
    points = np.array(_points(domain))
    for direction in rng.normal(size=(30, 3)):
        best = domain.minimise_linear(direction)
        assert domain.contains(best)
        assert direction @ best <= (points @ direction).min() + 1e-12
        assert domain.smallest(direction) == pytest.approx(direction @ best, rel=1e-11)


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
def test_gauge_is_one_on_the_boundary_and_scales(domain):
    for point in _points(domain, 60):
        size = domain.gauge(point)
        assert size <= 1 + 1e-9
        assert domain.gauge(2 * point) == pytest.approx(2 * size)
        if size > 1e-3 and math.isfinite(size):
            assert domain.gauge(point / size) == pytest.approx(1.0)
    assert domain.gauge(np.full(3, -9.0)) > 1
    assert domain.contains(domain.centre)


def test_gauges_without_the_origin_are_infinite():
    assert Simplex(dimension=2).gauge(np.array([1.5, -0.5])) == math.inf
    assert Box([1.0], [2.0]).gauge(np.array([1.5])) == math.inf
    assert Box([0.0], [2.0]).gauge(np.array([-0.1])) == math.inf


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
def test_score_bound_holds_for_every_row_within_bounds(domain):
    bounds = RowBounds(l2=1.2, linf=0.9)
    rng = np.random.default_rng(5)
    X = np.clip(rng.normal(size=(300, 3)), -0.9, 0.9)
    X *= np.minimum(1.0, 1.2 / np.linalg.norm(X, axis=1))[:, None]
    scores = np.array(_points(domain)) @ X.T
    assert np.abs(scores).max() <= domain.score_bound(bounds)


def test_bad_domains_are_refused():
    with pytest.raises(InvalidProblem, match="dimension must be an integer >= 1"):
        Simplex(dimension=0)
    with pytest.raises(InvalidProblem, match="radius must be finite and > 0"):
        L2Ball(dimension=2, radius=math.inf)
    with pytest.raises(InvalidProblem, match="lower <= upper"):
        Box([1.0], [0.0])
    with pytest.raises(InvalidProblem, match="one finite lower and upper end"):
        Box([-math.inf], [0.0])
