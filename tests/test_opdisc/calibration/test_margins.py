"""Noise scales: exact inequalities, independent tails, brute force and published numbers."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import special, stats

from opdisc.calibration.margins import (
    block_decay_rates,
    continuous_margin,
    gaussian_failure,
    gaussian_stddev,
    inverse_temperature,
    l2_laplace_scale,
    lattice_margin,
    published_gaussian_stddev,
    separator_decay_rate,
    sphere_separation,
    sphere_shift,
)
from opdisc.errors import CalibrationError
from opdisc.mechanisms.objective_perturbation import SphereMechanism, one_hot_mechanism
from opdisc.mechanisms.run import run_mechanism
from opdisc.planning.choice import MECHANISMS, build_mechanism
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.guarantee import CalibrationStatus
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem

epsilons = st.floats(min_value=1e-6, max_value=1e3)
deltas = st.floats(min_value=1e-15, max_value=0.5)
sensitivities = st.integers(min_value=1, max_value=8)
spacings = st.integers(min_value=0, max_value=20).map(lambda bits: Fraction(1, 2**bits))
allowances = st.fractions(min_value=0, max_value=5, max_denominator=1000)
block_sizes = st.lists(st.integers(min_value=1, max_value=400), min_size=1, max_size=12).filter(
    lambda sizes: max(sizes) > 1
)
coordinate_values = st.sets(st.integers(min_value=-3, max_value=3), min_size=1, max_size=4).map(
    lambda values: tuple(sorted(values))
)
grids = st.builds(
    lambda values: WeightGrid(values=values),
    st.lists(coordinate_values, min_size=1, max_size=3).map(tuple),
)


# --- the margin ---------------------------------------------------------------------------------


@given(sensitivities, allowances, spacings)
def test_margin_is_the_smallest_multiple_strictly_above_what_is_needed(
    sensitivity, allowance, spacing
):
    margin = lattice_margin(sensitivity, allowance, spacing)
    needed = sensitivity + 2 * allowance
    assert (margin / spacing).denominator == 1
    assert margin - spacing <= needed < margin


def test_margin_of_an_exact_oracle_is_one_step_above_the_sensitivity():
    spacing = Fraction(1, 1024)
    assert lattice_margin(2, Fraction(0), spacing) == 2 + spacing
    assert lattice_margin(1, Fraction(1, 3), Fraction(1)) == 2


@given(sensitivities, st.floats(min_value=0, max_value=100))
def test_continuous_margin_is_the_sensitivity_plus_twice_the_allowance(sensitivity, allowance):
    assert continuous_margin(sensitivity, allowance) >= sensitivity + 2 * allowance


@pytest.mark.parametrize("spacing", [Fraction(1), Fraction(1, 4), Fraction(1, 1024)])
def test_ties_break_the_margin_delta_and_not_the_margin_used(spacing):
    """Two hypotheses, losses differing by 4 and then by 2, ties broken against and then for one.

    The difference of the two noises is at least k > 0 steps with probability p^k / (1 + p).
    """
    epsilon, sensitivity = Fraction(1), 2
    steps = int(1 / spacing)

    def true_epsilon(margin):
        rate = block_decay_rates([2], margin, spacing, float(epsilon))[0]
        return rate * ((4 * steps + 1) - 2 * steps)

    assert true_epsilon(Fraction(sensitivity)) == epsilon * (1 + spacing / sensitivity)
    assert true_epsilon(lattice_margin(sensitivity, Fraction(0), spacing)) == epsilon


# --- Theorem A on the lattice, by exact summation ------------------------------------------------


def _outcome_bounds(losses, rate, reach):
    """Return (largest, smallest) probability of each of 4 hypotheses over all tie rules."""
    steps = np.arange(-reach, reach + 1)
    p = math.exp(-rate)
    law = (1 - p) / (1 + p) * p ** np.abs(steps)
    first, second = np.meshgrid(steps, steps, indexing="ij")
    weight = np.outer(law, law)
    objectives = np.stack(
        [loss - a * first - b * second for loss, (a, b) in zip(losses, CORNERS, strict=True)]
    )
    best = objectives.min(axis=0)
    tied = (objectives == best).sum(axis=0)
    may = [(weight * (row == best)).sum() for row in objectives]
    must = [(weight * ((row == best) & (tied == 1))).sum() for row in objectives]
    return np.array(may), np.array(must)


CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))


def _worst_log_ratio(rate):
    """Largest log ratio over replace-one neighbours, two binary coordinates, spacing 1."""
    worst = -math.inf
    generator = np.random.default_rng(7)
    pairs = [
        (np.array([a, b, b, a]), np.array([c, e, e, c]))
        for a, b, c, e in itertools.product((0, 1, 2, 6), (0, 1, 2, 6), (-1, 0, 1), (-1, 0, 1))
    ]
    pairs += [(generator.integers(0, 7, 4), generator.integers(-1, 2, 4)) for _ in range(60)]
    for losses, change in pairs:
        may, _ = _outcome_bounds(losses, rate, 60)
        _, must = _outcome_bounds(losses + change, rate, 60)
        worst = max(worst, float(np.max(np.log(may / must))))
    return worst


def test_two_coordinates_are_private_under_the_worst_tie_rule():
    # The difference of two one-sided noises is the separators' two-sided noise: one test for both.
    epsilon, spacing = 2.0, Fraction(1)
    margin = lattice_margin(2, Fraction(0), spacing)
    rate = block_decay_rates([2, 2], margin, spacing, epsilon)[0]
    assert rate == separator_decay_rate(2, margin, spacing, epsilon)
    truncation = 1e-7  # beyond 60 steps: 2 exp(-20), relative to probabilities above 1e-3
    assert _worst_log_ratio(float(rate)) <= epsilon + truncation
    assert _worst_log_ratio(float(2 * rate)) > epsilon  # positive control: half the noise


# --- lattice scales ------------------------------------------------------------------------------


@given(block_sizes, sensitivities, allowances, spacings, epsilons)
def test_block_shares_sum_to_at_most_epsilon_exactly(
    sizes, sensitivity, allowance, spacing, epsilon
):
    margin = lattice_margin(sensitivity, allowance, spacing)
    rates = block_decay_rates(sizes, margin, spacing, epsilon)
    assert sum(rate * margin / spacing for rate in rates) <= Fraction(epsilon)
    assert [rate > 0 for rate in rates] == [size > 1 for size in sizes]


@given(block_sizes, epsilons, st.floats(min_value=1.001, max_value=10))
def test_block_rates_increase_with_epsilon(sizes, epsilon, factor):
    margin, spacing = lattice_margin(2, Fraction(0), Fraction(1, 1024)), Fraction(1, 1024)
    low = block_decay_rates(sizes, margin, spacing, epsilon)
    high = block_decay_rates(sizes, margin, spacing, epsilon * factor)
    assert all(a < b for a, b in zip(low, high, strict=True) if b)


def test_equal_blocks_share_epsilon_exactly_and_single_assignments_cost_nothing():
    rates = block_decay_rates([3, 1, 3, 3], Fraction(3), Fraction(1), 1.0)
    assert rates == (Fraction(1, 9), Fraction(0), Fraction(1, 9), Fraction(1, 9))


def test_blocks_without_a_choice_are_refused():
    with pytest.raises(CalibrationError, match="the grid must offer a choice"):
        block_decay_rates([1, 1], Fraction(3), Fraction(1), 1.0)
    with pytest.raises(CalibrationError, match="the grid must offer a choice"):
        separator_decay_rate(0, Fraction(3), Fraction(1), 1.0)


@given(block_sizes, st.integers(min_value=0, max_value=2**32 - 1))
@settings(max_examples=30)
def test_block_shares_minimise_the_error_bound(sizes, seed):
    def error_bound(shares):
        return sum(
            (math.fsum(1 / k for k in range(1, size + 1)) - 1) / share
            for size, share in zip(sizes, shares, strict=True)
            if size > 1
        )

    rates = block_decay_rates(sizes, Fraction(1), Fraction(1), 1.0)
    ours = error_bound([float(rate) for rate in rates])
    other = np.random.default_rng(seed).dirichlet(np.ones(len(sizes)), 50)
    other = other[(other > 1e-9).all(axis=1)]
    active = np.array([size > 1 for size in sizes])
    for shares in other:
        assert ours <= error_bound(shares / shares[active].sum()) * (1 + 1e-9)


@given(st.integers(min_value=1, max_value=200), sensitivities, spacings, epsilons)
def test_separator_shift_costs_exactly_epsilon(size, sensitivity, spacing, epsilon):
    margin = lattice_margin(sensitivity, Fraction(0), spacing)
    rate = separator_decay_rate(size, margin, spacing, epsilon)
    assert size * rate * margin / spacing == Fraction(epsilon)


@given(sensitivities, epsilons)
def test_gibbs_weight_times_sensitivity_is_exactly_epsilon(sensitivity, epsilon):
    assert inverse_temperature(sensitivity, epsilon) * sensitivity == Fraction(epsilon)


# --- the sphere ----------------------------------------------------------------------------------


def _smallest_separation(grid, radius_squared):
    members = [w for w in itertools.product(*grid.values) if grid.contains(w)]
    lifted = np.array([[*w, math.sqrt(radius_squared - sum(a * a for a in w))] for w in members])
    gaps = lifted[:, None, :] - lifted[None, :, :]
    squared = (gaps**2).sum(axis=2)
    np.fill_diagonal(squared, math.inf)
    return squared.min() / (2 * radius_squared)


@given(grids, st.integers(min_value=0, max_value=5), st.booleans())
def test_sphere_separation_is_a_lower_bound_and_attained_at_the_origin(grid, extra, budgeted):
    if budgeted:
        smallest = sum(min(a * a for a in allowed) for allowed in grid.values)
        grid = WeightGrid(values=grid.values, norm_budget=smallest + extra)
    radius_squared = max(1, grid.largest_norm + extra)
    bound, found = (
        sphere_separation(grid, radius_squared),
        _smallest_separation(grid, radius_squared),
    )
    assert bound <= found
    zero = (0,) * grid.n_features
    units = [zero[:j] + (sign,) + zero[j + 1 :] for j in range(len(zero)) for sign in (-1, 1)]
    if grid.contains(zero) and any(grid.contains(unit) for unit in units):
        assert found <= bound * (1 + 1e-9)


@given(grids, st.integers(min_value=0, max_value=5), st.floats(min_value=0.5, max_value=20))
def test_sphere_shift_wins_by_strictly_more_than_the_margin(grid, extra, margin):
    radius_squared = max(1, grid.largest_norm + extra)
    shift = sphere_shift(grid, radius_squared, margin)
    assert Fraction(shift) * Fraction(sphere_separation(grid, radius_squared)) > Fraction(margin)


def test_a_sphere_smaller_than_the_grid_is_refused():
    with pytest.raises(CalibrationError, match=r"largest squared norm \(4\), got 3"):
        sphere_shift(WeightGrid.box(4, 1), 3, 2.0)


@given(st.floats(min_value=1e-3, max_value=1e6), epsilons)
def test_l2_laplace_shift_costs_at_most_epsilon(shift, epsilon):
    scale = l2_laplace_scale(shift, epsilon)
    assert Fraction(shift) / Fraction(scale) <= Fraction(epsilon)
    assert l2_laplace_scale(shift, epsilon * 1.01) < scale


def _chi_tail(radius, dimension):
    """P[chi > radius] by 50-digit arithmetic, independent of the code's tail."""
    with mpmath.workdps(50):
        half = mpmath.mpf(dimension) / 2
        return mpmath.gammainc(half, mpmath.mpf(radius) ** 2 / 2, mpmath.inf, regularized=True)


def _exact_failure(stddev, shift, epsilon, dimension):
    with mpmath.workdps(50):
        stddev, shift = mpmath.mpf(stddev), mpmath.mpf(shift)
        radius = mpmath.mpf(epsilon) * stddev / shift - shift / (2 * stddev)
        return mpmath.mpf(1) if radius <= 0 else _chi_tail(radius, dimension)


@given(
    st.floats(min_value=0.1, max_value=1e4),
    st.floats(min_value=1e-3, max_value=50),
    deltas,
    st.integers(min_value=2, max_value=60),
)
@settings(max_examples=40, deadline=None)
def test_gaussian_stddev_fails_with_at_most_delta(shift, epsilon, delta, dimension):
    stddev = gaussian_stddev(shift, epsilon, delta, dimension)
    assert gaussian_failure(stddev, shift, epsilon, dimension) <= delta
    assert _exact_failure(stddev, shift, epsilon, dimension) <= delta
    assert _exact_failure(stddev * (1 - 1e-5), shift, epsilon, dimension) > delta  # no waste


@pytest.mark.parametrize("dimension", [2, 9, 40])
def test_the_chi_tail_is_the_integral_of_its_density(dimension):
    for radius in (0.5, 3.0, 8.0):
        density = lambda x: (  # noqa: E731
            mpmath.mpf(x) ** (dimension - 1)
            * mpmath.exp(-(mpmath.mpf(x) ** 2) / 2)
            / (mpmath.mpf(2) ** (mpmath.mpf(dimension) / 2 - 1) * mpmath.gamma(dimension / 2))
        )
        integral = mpmath.quad(density, [radius, radius + 5, radius + 20, radius + 60])
        shift, epsilon = 1.0, 1.0
        stddev = radius / 2 + math.sqrt(radius**2 / 4 + 0.5)
        assert gaussian_failure(stddev, shift, epsilon, dimension) == pytest.approx(
            float(integral), rel=1e-9
        )


@given(st.floats(min_value=1e-3, max_value=50), deltas, st.integers(min_value=2, max_value=60))
@settings(max_examples=40)
def test_gaussian_stddev_decreases_with_epsilon_and_delta(epsilon, delta, dimension):
    stddev = gaussian_stddev(10.0, epsilon, delta, dimension)
    assert gaussian_stddev(10.0, epsilon * 1.01, delta, dimension) < stddev
    assert gaussian_stddev(10.0, epsilon, delta * 1.01, dimension) < stddev
    assert gaussian_stddev(10.0, epsilon, delta, dimension + 1) > stddev


def test_gaussian_noise_without_delta_is_refused():
    for refuse in (
        lambda: gaussian_stddev(1.0, 1.0, 0.0, 3),
        lambda: published_gaussian_stddev(4, 1.0, 0.0, constant=7.0),
    ):
        with pytest.raises(CalibrationError, match="needs delta > 0, got delta=0"):
            refuse()


def _public(**changes):
    settings = {
        "params": PrivacyParams(epsilon=1.0, delta=1e-5),
        "relation": NeighboringRelation.REPLACE_ONE,
        "grid": WeightGrid.box(3, 1),
    }
    return GridPublic(**(settings | changes))


@pytest.mark.parametrize("noise", ["l2-laplace", "gaussian"])
@pytest.mark.parametrize("allowance", [0.0, 0.75])
def test_the_sphere_pays_for_rounding_its_tables(noise, allowance):
    """d + 1 rounded entries of two hypotheses, and a step for the draw: (d + 2) g in all."""
    public = _public(spacing=0.25)
    spec = SphereMechanism(noise=noise, allowance=allowance).calibrate(public)
    margin = 2 + 2 * (allowance + 5 * 0.25)
    shift = margin / (1 - math.sqrt(1 - 1 / 3))
    if noise == "l2-laplace":
        assert spec.scale >= shift / 1.0
    else:
        assert gaussian_failure(spec.scale, shift, 1.0, 4) <= 1e-5
    assert spec.scale <= 1.001 * (
        shift if noise == "l2-laplace" else gaussian_stddev(shift, 1.0, 1e-5, 4)
    )


# --- the published constant ----------------------------------------------------------------------


def _parity_epsilon(stddev, ratio, dimension, delta, add_or_remove=False):
    """True epsilon at delta of the parity instance; ``ratio`` is R / tau."""
    q = special.erfc(ratio / (math.sqrt(2) * stddev)) ** dimension
    top = 0.5 if add_or_remove else 1 - q / 2
    return math.log((top - delta) / (q / 2))


DIMENSIONS = (10, 20, 50, 100, 200, 500, 1000)


@pytest.mark.parametrize(
    ("constant", "add_or_remove", "expected"),
    [
        (7.0, False, (0.39, 0.53, 0.80, 1.07, 1.43, 2.08, 2.76)),
        (3.5, False, (0.74, 0.99, 1.44, 1.91, 2.53, 3.68, 4.94)),
        (3.5, True, (0.43, 0.61, 0.96, 1.35, 1.91, 3.01, 4.26)),
    ],
)
def test_the_published_constant_is_refuted_by_parity(constant, add_or_remove, expected):
    """Hypotheses {-tau/2, tau/2}^d, so R^2 = d tau^2 / 4, at (1, 1e-5)."""
    for d, number in zip(DIMENSIONS, expected, strict=True):
        stddev = published_gaussian_stddev(1, 1.0, 1e-5, constant=constant) * d / 4
        found = _parity_epsilon(stddev, math.sqrt(d) / 2, d, 1e-5, add_or_remove)
        assert round(found, 2) == number


@pytest.mark.parametrize("d", DIMENSIONS)
def test_parity_finds_no_violation_of_the_proven_gaussian(d):
    """Hypotheses {-1, 1}^d: R^2 = d and tau = 2."""
    grid = WeightGrid(values=((-1, 1),) * d)
    stddev = gaussian_stddev(sphere_shift(grid, d, 2.0), 1.0, 1e-5, d + 1)
    assert _parity_epsilon(stddev, math.sqrt(d) / 2, d, 1e-5) <= 1.0
    assert _parity_epsilon(stddev / 4, math.sqrt(d) / 2, d, 1e-5) > 1.0  # positive control


@pytest.mark.statistical
def test_the_parity_closed_form_is_what_a_simulation_finds():
    """False-alarm probability at most 1e-6, by an exact binomial test."""
    d, stddev, draws = 4, 3.0, 200_000
    signs = np.array(list(itertools.product((-1, 1), repeat=d)))
    odd = (signs == 1).sum(axis=1) % 2
    noise = np.random.default_rng(3).normal(0, stddev, size=(draws, d))
    radius = math.sqrt(d)
    chosen = np.argmin(odd - noise @ signs.T / radius, axis=1)
    q = special.erfc(radius / 2 / (math.sqrt(2) * stddev)) ** d
    survivors = int(odd[chosen].sum())
    assert stats.binomtest(survivors, draws, q / 2).pvalue > 1e-6
    assert stats.binomtest(survivors, draws, q / 2 * 0.95).pvalue < 1e-6  # positive control


# --- what is chosen by default -------------------------------------------------------------------


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_default_is_proven(name):
    public = _public()
    mechanism, _ = build_mechanism(name, public.grid)
    assert mechanism.calibrate(public).status is CalibrationStatus.PROVEN


@pytest.mark.parametrize("noise", ["gaussian-published-7", "gaussian-published-3.5"])
def test_published_noise_is_offered_by_name_only_and_void(noise):
    assert SphereMechanism().noise == "l2-laplace"
    public = _public()
    problem = ZeroOneProblem(points=[[1, 0, 1]], positives=[3], negatives=[1], grid=public.grid)
    mechanism = SphereMechanism(noise=noise)
    assert mechanism.calibrate(public).status is CalibrationStatus.REFUTED
    receipt = run_mechanism(mechanism, problem, public, entropy=SystemEntropy()).receipt
    assert (receipt.guarantee, receipt.calibration) == ("VOID", "refuted")
    proven = run_mechanism(
        one_hot_mechanism(3), problem, public, entropy=SystemEntropy(), counts_rows=True
    ).receipt
    assert (proven.guarantee, proven.calibration) == ("HOLDS", "proven")
