"""Samplers against their exact laws; every detector is shown a broken sampler that it catches.

Statistical tests compare with ``ALARM``: a p-value below it fails. With at most 10 p-values per
test the false-alarm probability is at most 1e-6 per test. Seeds are fixed; the quick versions run
the same detectors on fewer draws.
"""

import decimal
import math
import os
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from opdisc.errors import CalibrationError
from opdisc.noise import lattice as noise
from opdisc.noise.lattice import (
    SPHERE_BITS,
    THRESHOLD_BITS,
    discrete_laplace,
    gaussian_vector,
    geometric,
    geometric_total_variation,
    l2_laplace_vector,
    sphere_total_variation,
)
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy

ALARM = 1e-7
RATES = (Fraction(1, 1000), Fraction(3, 100), Fraction(1, 2), Fraction(3), Fraction(7))
sizes = pytest.mark.parametrize(
    "draws", [30_000, pytest.param(2_000_000, marks=pytest.mark.statistical)]
)
vectors = pytest.mark.parametrize(
    "draws", [400, pytest.param(6_000, marks=pytest.mark.statistical)]
)


class Scripted:
    """Delivers given words, then fails."""

    is_secure = False

    def __init__(self, words):
        self._left = [int(word) for word in words]

    def words(self, count):
        assert count <= len(self._left), "more words were asked for than the comparison needs"
        taken, self._left = self._left[:count], self._left[count:]
        return np.array(taken, dtype=np.uint64)

    @property
    def left(self):
        return len(self._left)


def _p_value(values, lower, upper, cdf):
    """Chi-square p-value on bins of about equal mass; ``cdf(k)`` is P[X <= k]."""
    cuts = sorted({_quantile(q, lower, upper, cdf) for q in np.linspace(0.02, 0.98, 33)})
    edges = np.array([-math.inf, *(k + 0.5 for k in cuts), math.inf])
    mass = np.diff([0.0, *(cdf(k) for k in cuts), 1.0])
    kept = mass * len(values) >= 25
    observed = np.histogram(values, edges)[0]
    observed = np.append(observed[kept], observed[~kept].sum())
    expected = np.append(mass[kept], mass[~kept].sum()) * len(values)
    if expected[-1] < 25:  # too light to stand alone
        observed[-2] += observed[-1]
        expected[-2] += expected[-1]
        observed, expected = observed[:-1], expected[:-1]
    if len(expected) == 1:
        return 1.0
    return float(stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue)


def _quantile(q, lower, upper, cdf):
    while upper - lower > 1:
        middle = (lower + upper) // 2
        lower, upper = (lower, middle) if cdf(middle) >= q else (middle, upper)
    return upper


def _geometric_p(values, rate):
    return _p_value(values, -1, 10**6, lambda k: -math.expm1(-float(rate) * (k + 1)))


def _laplace_p(values, rate):
    p = math.exp(-float(rate))

    def cdf(k):
        return 1 - p ** (k + 1) / (1 + p) if k >= 0 else p ** (-k) / (1 + p)

    return _p_value(values, -(10**6), 10**6, cdf)


# --- lattice laws --------------------------------------------------------------------------------


@sizes
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_geometric_has_its_law(rate, draws):
    values = geometric(rate, draws, SeededEntropy(11))
    assert values.dtype == np.int64 and values.min() >= 0
    assert _geometric_p(values, rate) > ALARM


@sizes
@pytest.mark.parametrize("rate", RATES, ids=str)
def test_discrete_laplace_has_its_law(rate, draws):
    assert _laplace_p(discrete_laplace(rate, draws, SeededEntropy(12)), rate) > ALARM


@sizes
@pytest.mark.parametrize("rate", RATES[:4], ids=str)
def test_half_the_scale_is_caught(rate, draws):
    assert _geometric_p(geometric(2 * rate, draws, SeededEntropy(13)), rate) < ALARM
    assert _laplace_p(discrete_laplace(2 * rate, draws, SeededEntropy(14)), rate) < ALARM


@sizes
@pytest.mark.parametrize("digit", [0, 3, 6])
def test_one_wrong_digit_probability_is_caught(digit, draws, monkeypatch):
    rate = Fraction(1, 100)
    exact = list(noise._thresholds(rate))
    exact[digit] = exact[digit] * 9 // 10
    monkeypatch.setattr(noise, "_thresholds", lambda _: exact)
    values = geometric(rate, 4 * draws, SeededEntropy(15))
    odd = int((values >> digit & 1).sum())
    fair = 1 / (1 + math.exp(float(rate) * 2**digit))
    assert stats.binomtest(odd, 4 * draws, fair).pvalue < ALARM
    if digit >= 5:  # lower digits move less mass than a bin holds
        assert _geometric_p(values, rate) < ALARM


@sizes
def test_the_digits_of_a_geometric_are_independent(draws):
    values = geometric(Fraction(1, 100), draws, SeededEntropy(16))
    for low, high in ((0, 1), (0, 6), (4, 6), (5, 7)):
        table = np.zeros((2, 2))
        np.add.at(table, (values >> low & 1, values >> high & 1), 1)
        assert stats.chi2_contingency(table, correction=False).pvalue > ALARM


def test_draws_beyond_a_chunk_are_fresh(monkeypatch):
    monkeypatch.setattr(noise, "_CHUNK", 1000)
    values = geometric(Fraction(1, 50), 30_500, SeededEntropy(17))
    assert len(values) == 30_500
    assert _geometric_p(values, Fraction(1, 50)) > ALARM
    assert not np.array_equal(values[:1000], values[1000:2000])


# --- one digit: a comparison of bits with a threshold --------------------------------------------

TOP, MIDDLE, LOW = 0x4E, 0x0123456789ABCDEF, 0xFEDCBA9876543210
THRESHOLD = (TOP << 128) | (MIDDLE << 64) | LOW


@pytest.mark.parametrize(
    ("script", "below"),
    [
        ((TOP - 1,), True),
        ((TOP + 1,), False),
        ((0,), True),
        ((255,), False),
        ((TOP, MIDDLE - 1), True),
        ((TOP, MIDDLE + 1), False),
        ((TOP, 0), True),
        ((TOP, 2**64 - 1), False),
        ((TOP, MIDDLE, LOW - 1), True),
        ((TOP, MIDDLE, LOW), False),
        ((TOP, MIDDLE, LOW + 1), False),
    ],
)
def test_bits_are_drawn_until_the_comparison_is_decided_and_no_further(script, below):
    source = Scripted(script)
    assert noise._bernoulli(THRESHOLD, 1, source).tolist() == [below]
    assert source.left == 0


def test_undecided_draws_of_a_batch_are_told_apart():
    first = int.from_bytes(bytes([TOP, TOP - 1, TOP, TOP, TOP + 1, TOP, 0, 255]), "little")
    source = Scripted([first, MIDDLE, MIDDLE - 1, MIDDLE, MIDDLE + 1, LOW - 1, LOW])
    found = noise._bernoulli(THRESHOLD, 8, source)
    assert found.tolist() == [True, True, True, False, False, False, True, False]
    assert source.left == 0


near = st.sampled_from([-1, 0, 1])


@given(
    st.integers(min_value=0, max_value=2**135), st.integers(min_value=0, max_value=2**136 - 1),
    near, near, near, st.booleans(),
)  # fmt: skip
def test_a_digit_is_exactly_whether_the_uniform_is_below_the_threshold(
    threshold, uniform, top, middle, low, close
):
    if close:  # make ties at each stage likely
        uniform = (threshold + (top << 128) + (middle << 64) + low) % 2**136
    words = [uniform >> 128, uniform >> 64 & (2**64 - 1), uniform & (2**64 - 1)]
    assert noise._bernoulli(threshold, 1, Scripted(words)).tolist() == [uniform < threshold]


# --- thresholds and the distance they are within -------------------------------------------------

rates = st.one_of(
    st.fractions(min_value=Fraction(1, 10**6), max_value=50),
    st.integers(min_value=1, max_value=50).map(lambda bits: Fraction(1, 2**bits)),
    st.floats(min_value=1e-12, max_value=1e4).map(Fraction),
)


def _digit_probability(rate, digit):
    """By the decimal module, 150 digits: independent of the code's arithmetic."""
    context = decimal.Context(prec=150, Emin=-(10**9), Emax=10**9)
    exponent = context.divide(decimal.Decimal(rate.numerator), decimal.Decimal(rate.denominator))
    exponent = context.multiply(exponent, decimal.Decimal(2**digit))
    return Fraction(
        context.divide(1, context.add(1, context.exp(exponent)))
        if exponent < 10_000
        else decimal.Decimal(0)
    )


@given(rates)
@settings(max_examples=30, deadline=None)
def test_thresholds_are_the_digit_probabilities_rounded_down(rate):
    unit = Fraction(1, 2**THRESHOLD_BITS)
    for digit, threshold in enumerate(noise._thresholds(rate)):
        assert 0 <= threshold <= 2 ** (THRESHOLD_BITS - 1)
        error = _digit_probability(rate, digit) - threshold * unit
        assert -Fraction(1, 2**400) <= error < unit


@given(rates)
@settings(max_examples=30, deadline=None)
def test_distance_bounds_the_thresholds_and_the_truncation(rate):
    found = noise._thresholds(rate)
    unit = Fraction(1, 2**THRESHOLD_BITS)
    rounding = sum(
        abs(_digit_probability(rate, digit) - t * unit) for digit, t in enumerate(found)
    )
    cut = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator * 2 ** len(found))
    assert cut <= 2.0**-THRESHOLD_BITS
    assert float(rounding) + float(cut) <= geometric_total_variation(rate, 1)
    assert geometric_total_variation(rate, 1000) >= 999 * geometric_total_variation(rate, 1)


def test_the_truncated_law_is_as_far_away_as_its_tail():
    """Digits below I give K mod 2^I: for I = 4 the distance to K is exactly P[K >= 16]."""
    rate, digits = 0.2, 4
    p = math.exp(-rate)
    k = np.arange(400)
    law = (1 - p) * p**k
    cut = np.zeros_like(law)
    for value in range(2**digits):
        bits = [value >> i & 1 for i in range(digits)]
        ones = [1 / (1 + math.exp(rate * 2**i)) for i in range(digits)]
        cut[value] = math.prod(q if b else 1 - q for b, q in zip(bits, ones, strict=True))
    assert np.abs(law - cut).sum() / 2 == pytest.approx(p ** (2**digits), rel=1e-9)


def test_a_huge_rate_is_silence():
    for rate in (Fraction(10**9), Fraction(1e300)):
        assert not geometric(rate, 1000, SeededEntropy(1)).any()
        assert geometric_total_variation(rate, 1000) < 1e-35


def test_a_tiny_rate_still_fits_and_has_its_law():
    rate = Fraction(1, 2**50)
    values = geometric(rate, 20_000, SeededEntropy(2))
    assert values.min() >= 0
    assert stats.kstest(values * float(rate), "expon").pvalue > ALARM
    assert geometric_total_variation(rate, 10**6) < 1e-30


@pytest.mark.parametrize("rate", [Fraction(1, 2**54), Fraction(1, 10**30)])
def test_noise_that_does_not_fit_is_refused(rate):
    with pytest.raises(CalibrationError, match="the noise must fit in 60 bits, but it needs"):
        geometric(rate, 1, SeededEntropy(1))
    with pytest.raises(CalibrationError, match="the noise must fit in 60 bits, but it needs"):
        geometric_total_variation(rate, 1)


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1)])
def test_a_rate_must_be_positive(rate):
    with pytest.raises(CalibrationError, match="a decay rate must be > 0"):
        geometric(rate, 1, SeededEntropy(1))


# --- sphere noise --------------------------------------------------------------------------------


def _radius_and_direction(dimension, scale, draws, seed):
    source = SeededEntropy(seed)
    rows = [l2_laplace_vector(dimension, scale, source) for _ in range(draws)]
    values = np.array([[float(x) for x in row] for row in rows])
    radii = np.linalg.norm(values, axis=1)
    return radii, values / radii[:, None]


def _direction_p(directions, axis):
    """A coordinate t of a uniform direction: (1 + t) / 2 is Beta((d - 1)/2, (d - 1)/2)."""
    half = (directions.shape[1] - 1) / 2
    return stats.kstest((1 + directions @ axis) / 2, "beta", args=(half, half)).pvalue


@vectors
def test_l2_laplace_has_its_radius_and_direction(draws):
    dimension, scale = 5, 3.0
    radii, directions = _radius_and_direction(dimension, scale, draws, 21)
    assert stats.kstest(radii, "gamma", args=(dimension, 0, scale)).pvalue > ALARM
    for axis in (*np.eye(dimension)[:3], np.full(dimension, dimension**-0.5)):
        assert _direction_p(directions, axis) > ALARM
    assert stats.spearmanr(radii, directions[:, 0]).pvalue > ALARM
    assert stats.spearmanr(radii, np.abs(directions[:, 0])).pvalue > ALARM


@vectors
def test_wrong_radius_and_direction_are_caught(draws):
    dimension, scale = 5, 3.0
    radii, directions = _radius_and_direction(dimension, scale / 2, draws, 22)
    assert stats.kstest(radii, "gamma", args=(dimension, 0, scale)).pvalue < ALARM
    # Few draws tell five dimensions from three, many from four.
    short, _ = _radius_and_direction(dimension - (1 if draws > 1000 else 2), scale, draws, 23)
    assert stats.kstest(short, "gamma", args=(dimension, 0, scale)).pvalue < ALARM
    stretched = directions * [4, 1, 1, 1, 1]
    stretched /= np.linalg.norm(stretched, axis=1)[:, None]
    assert _direction_p(stretched, np.eye(dimension)[0]) < ALARM


@vectors
def test_gaussian_vectors_have_their_law_and_half_the_scale_is_caught(draws):
    source = SeededEntropy(24)
    rows = [gaussian_vector(4, 2.5, source) for _ in range(draws)]
    values = np.array([[float(x) for x in row] for row in rows])
    assert stats.kstest(values.ravel() / 2.5, "norm").pvalue > ALARM
    assert stats.kstest(values.ravel() / 5.0, "norm").pvalue < ALARM
    assert stats.spearmanr(values[:, 0], values[:, 1]).pvalue > ALARM
    assert stats.spearmanr(np.abs(values[:, 0]), np.abs(values[:, 1])).pvalue > ALARM


def _normal(u, v):
    return mpmath.sqrt(-2 * mpmath.log(u)) * mpmath.cospi(2 * v)


def test_box_muller_by_hand():
    """Uniforms 1/2 and 1/3 (to 320 bits): sqrt(2 ln 2) cos(2 pi / 3)."""
    half = [2**63, 0, 0, 0, 0]
    third = [0x5555555555555555] * 5
    (value,) = gaussian_vector(1, 3.0, Scripted(half + third))
    assert float(value) == pytest.approx(3 * math.sqrt(2 * math.log(2)) * -0.5, rel=1e-15)


@pytest.mark.parametrize("whole", [2**192, 2**319, 3 * 2**318, 2**320 - 2**100, 2**320 - 1])
def test_a_normal_moves_by_at_most_2_to_the_minus_150_within_its_cell(whole):
    """The hardest cells: the smallest uniform that is coupled, the middle, and next to 1."""
    with mpmath.workprec(1200):
        unit = mpmath.mpf(2) ** -320
        middle = (whole + mpmath.mpf("0.5")) * unit
        for angle in (0, 2**318, 2**319 - 1):
            at_middle = _normal(middle, (angle + mpmath.mpf("0.5")) * unit)
            for fraction in ("0.0000001", "0.9999999", "1"):
                moved = (whole + mpmath.mpf(fraction)) * unit
                corner = (angle + mpmath.mpf(fraction)) * unit
                assert abs(_normal(moved, corner) - at_middle) <= mpmath.mpf(2) ** -150
                log_error = abs(mpmath.log(moved) - mpmath.log(middle))
                assert log_error <= mpmath.mpf(2) ** -192


@pytest.mark.parametrize("dimension", [2, 5, 60])
def test_sphere_distance_covers_every_event_of_the_coupling(dimension):
    small_uniforms = 2 * dimension * Fraction(1, 2**SPHERE_BITS)
    short_direction = Fraction(1, 2 ** (SPHERE_BITS + 1))
    long_radius = float(stats.gamma.sf(2 * (dimension + 128), dimension))
    assert float(small_uniforms + short_direction) + long_radius <= sphere_total_variation(
        dimension
    )


# --- entropy -------------------------------------------------------------------------------------


def test_system_entropy_reads_the_operating_system(monkeypatch):
    asked = []

    def urandom(count):
        asked.append(count)
        return bytes(range(count))

    monkeypatch.setattr(os, "urandom", urandom)
    words = SystemEntropy().words(3)
    assert asked == [24]
    assert words.tobytes() == bytes(range(24))
    asked.clear()
    geometric(Fraction(1), 16, SystemEntropy())
    assert asked


def test_only_the_operating_system_is_secure():
    assert SystemEntropy().is_secure and not SeededEntropy(0).is_secure
    assert not np.array_equal(SystemEntropy().words(4), SystemEntropy().words(4))
    assert np.array_equal(SeededEntropy(5).words(4), SeededEntropy(5).words(4))


def test_system_entropy_gives_uniform_bytes():
    """False-alarm probability 1e-7 (this one draws afresh every time)."""
    values = SystemEntropy().words(20_000).view(np.uint8)
    counts = np.bincount(values, minlength=256)
    assert stats.chisquare(counts).pvalue > ALARM
