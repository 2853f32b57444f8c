"""The noise in the shape of a hull: its law, and digits that only ever narrow it."""

import numpy as np
import pytest
from helpers.opdisc.hull import gauge, groups
from scipy import stats

from opdisc.convex.hull import noise as noise_module
from opdisc.convex.hull.noise import HullNoise
from opdisc.convex.hull.shape import HullShape
from opdisc.privacy import SeededEntropy, SystemEntropy

FALSE_ALARM = 1e-6
MIXED = HullShape.of_groups(groups(("free", 2), ("exclusive", 3), ("nested", 2)))
SHAPES = {
    "one": HullShape.of_groups(groups(("free", 1))),
    "free": HullShape.of_groups(groups(("free", 2))),
    "exclusive": HullShape.of_groups(groups(("exclusive", 2))),
    "nested": HullShape.of_groups(groups(("nested", 2))),
    "mixed": MIXED,
}


def draws(shape, count, seed=0):
    entropy = SeededEntropy(seed)
    found = [HullNoise(shape, entropy).enclosure() for _ in range(count)]
    return np.array([[float(ball.mid()) for ball in balls] for balls in found])


def rejected(shape, count, seed=0):
    """Draw from the same density by rejection from a box, with the radius that a gauge has."""
    rng, dimension = np.random.default_rng(seed), shape.n_columns + 1
    points = np.zeros((0, dimension))
    while len(points) < count:
        tried = rng.uniform(-1, 1, size=(20_000, dimension))
        points = np.vstack([points, tried[gauge(shape, tried) <= 1]])
    # Uniform in the hull, times a Gamma variable of one more than the dimension.
    return points[:count] * rng.gamma(dimension + 1, size=(count, 1))


@pytest.mark.parametrize("name", SHAPES)
def test_the_gauge_of_the_noise_is_a_gamma_variable(name):
    shape = SHAPES[name]
    found = gauge(shape, draws(shape, 2000))
    assert stats.kstest(found, stats.gamma(shape.n_columns + 1).cdf).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", SHAPES)
def test_coordinates_and_sums_are_those_of_rejection(name):
    shape = SHAPES[name]
    found, expected = draws(shape, 2000, seed=1), rejected(shape, 4000)
    weights = np.random.default_rng(5).normal(size=(shape.n_columns + 1, 4))
    for columns in (np.eye(shape.n_columns + 1), weights):
        for direction in columns.T:
            compared = stats.ks_2samp(found @ direction, expected @ direction)
            assert compared.pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda shape: draws(shape, 2000) * 0.85, id="less noise"),
        pytest.param(
            lambda shape: draws(HullShape.of_groups(groups(("free", 7))), 2000),
            id="groups forgotten",
        ),
    ],
)
def test_other_laws_would_be_found(other):
    found = gauge(MIXED, other(MIXED))
    assert stats.kstest(found, stats.gamma(MIXED.n_columns + 1).cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("name", SHAPES)
def test_more_digits_only_narrow_the_balls(name):
    noise = HullNoise(SHAPES[name], SystemEntropy(), digits=5)
    while (wide := noise.enclosure()) is None:
        noise.refine()
    for _ in range(6):
        noise.refine()
        narrow = noise.enclosure()
        for outer, inner in zip(wide, narrow, strict=True):
            assert outer.overlaps(inner) and inner.rad() < outer.rad()
        wide = narrow
    assert max(float(ball.rad()) for ball in wide) < 1e-3


def test_where_digits_end_does_not_move_the_noise():
    """The same digits, asked for at once or in parts, give one number."""

    class Kept:
        is_secure = False

        def __init__(self):
            self.words_given = SeededEntropy(9)

        def words(self, count):
            return self.words_given.words(count)

    at_once = HullNoise(MIXED, Kept(), digits=64)
    assert at_once.digits == 64
    shown = [float(ball.mid()) for ball in at_once.enclosure()]
    at_once.refine()
    refined = at_once.enclosure()
    assert at_once.digits == 128
    assert [float(ball.mid()) for ball in refined] == pytest.approx(shown, rel=1e-12)


def test_a_cell_that_touches_0_has_no_enclosure_yet(monkeypatch):
    noise = HullNoise(SHAPES["one"], SeededEntropy(0))
    monkeypatch.setattr(noise, "_uniforms", [0, *noise._uniforms[1:]])
    assert noise.enclosure() is None


def test_subsets_and_indices_are_uniform():
    bits = noise_module.RandomBits(SeededEntropy(2))
    pairs = [noise_module._subset(4, 2, bits) for _ in range(6000)]
    counts = [pairs.count(pair) for pair in set(pairs)]
    assert len(counts) == 6 and stats.chisquare(counts).pvalue > FALSE_ALARM
    found = np.bincount([noise_module._index([1, 0, 3], bits) for _ in range(4000)], minlength=3)
    assert found[1] == 0 and stats.chisquare(found[[0, 2]], [1000, 3000]).pvalue > FALSE_ALARM
