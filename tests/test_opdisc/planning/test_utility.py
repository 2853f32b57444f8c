"""Predicted errors: realised excess losses never exceed them more often than stated."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from helpers.oracles.first_head import first_head_law
from published_bounds import (
    opdisc_error_bound,
    opdisc_mean_error_bound,
    opsamp_best_rate,
    opsamp_error_bound,
    opsamp_published_scale,
)
from scipy import stats

from opdisc.errors import CalibrationError
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.objective_perturbation import (
    BlockOneHotMechanism,
    SphereMechanism,
    one_hot_mechanism,
)
from opdisc.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from opdisc.mechanisms.robust_vote.rules import RobustVoteMechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.mechanisms.staged import StagedMechanism
from opdisc.noise.excess import quantile_limit
from opdisc.planning.utility import epsilon_for, plan_errors, predict_error
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid
from oracles.problem.table import TabularProblem

GRID = WeightGrid.box(3, 1)


def public(epsilon=1.0, delta=1e-6, grid=GRID, **changes) -> GridPublic:
    settings = {
        "params": PrivacyParams(epsilon=epsilon, delta=delta),
        "relation": NeighboringRelation.REPLACE_ONE,
        "grid": grid,
    }
    return GridPublic(**(settings | changes))


PERTURBING = [
    PermuteAndFlipMechanism(),
    BlockOneHotMechanism(blocks=((0, 2), (1,))),
    one_hot_mechanism(3),
    SphereMechanism(),
    SphereMechanism(noise="gaussian"),
    SeparatorMechanism(),
    SeparatorMechanism(noise="gaussian"),
]


def _id(mechanism):
    return f"{mechanism.name}-{getattr(mechanism, 'noise', '')}"


def realised(mechanism, losses, draws, seed):
    """Excess losses of the mechanism on a table whose best hypothesis loses nothing, rows."""
    problem = TabularProblem(losses=np.rint(losses * 1024).astype(int), grid=GRID, unit=2.0**-10)
    spec, entropy = mechanism.calibrate(public()), SeededEntropy(seed)
    found = []
    for _ in range(draws):
        perturbed = mechanism.perturb(problem, spec, entropy)
        found.append(problem.loss(perturbed.minimiser()[0]))
    return np.array(found)


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("mechanism", PERTURBING, ids=_id)
@pytest.mark.parametrize("fraction", [0.0, 0.5, 1.0])
def test_realised_excess_exceeds_the_bound_no_more_often_than_stated(mechanism, fraction):
    # 600 draws per table; exact binomial test against 20%, false alarm 1e-6 per test. Tables: all
    # other losses equal to the bound times a fraction plus a spread; a little above it counts.
    bound = predict_error(mechanism, public(), 0.8)
    rng = np.random.default_rng(1)
    losses = bound.quantile * (fraction + rng.random(27) * (1.1 - fraction))
    losses[rng.integers(27)] = 0.0
    over = int((realised(mechanism, losses, 600, 2) > bound.quantile).sum())
    assert stats.binomtest(over, 600, 0.2, alternative="greater").pvalue > 1e-6
    assert losses.max() > bound.quantile  # exceeding it is possible


@pytest.mark.statistical
def test_the_bound_of_the_whole_grid_is_nearly_attained_and_half_of_it_is_not_enough():
    # One best hypothesis, 26 others just above half the bound: far more than 20% are over it.
    mechanism = PermuteAndFlipMechanism()
    bound = predict_error(mechanism, public(), 0.8).quantile
    losses = np.full(27, 0.5 * bound + 0.01)
    losses[7] = 0.0
    over = int((realised(mechanism, losses, 600, 3) > 0.5 * bound).sum())
    assert stats.binomtest(over, 600, 0.2, alternative="greater").pvalue < 1e-6


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("mechanism", PERTURBING, ids=_id)
def test_the_simulated_law_bounds_the_gain_of_the_librarys_own_noise(mechanism):
    # The gain over a fixed hypothesis, from the exact samplers, against the simulated quantiles;
    # 1,000 draws, exact binomial tests, false alarm 1e-6 each. For one block it is the same law.
    spec, entropy = mechanism.calibrate(public()), SeededEntropy(4)
    nothing = TabularProblem(losses=np.zeros(27, dtype=int), grid=GRID, unit=2.0**-10)
    simulated = spec.simulated_excess(GRID, np.random.default_rng(5), 20_000)
    gains = []
    for _ in range(1000):
        values = mechanism.perturb(nothing, spec, entropy).all_perturbations() * 2.0**-10
        gains.append(values.max() - values[13])
    for level in (0.3, 0.5, 0.8, 0.95):
        over = int((np.array(gains) > np.quantile(simulated, level)).sum())
        sides = "two-sided" if mechanism.name == "permute_and_flip" else "greater"
        assert stats.binomtest(over, 1000, 1 - level, alternative=sides).pvalue > 1e-6


def test_the_law_of_a_block_is_the_maximum_of_a_random_number_of_exponentials():
    # max minus own: J of the other n - 1 exceed the own one, J uniform, and by memorylessness the
    # excess is the maximum of J exponentials. Seeded Kolmogorov-Smirnov test (deterministic).
    rng = np.random.default_rng(6)
    spec = PermuteAndFlipMechanism().calibrate(public())
    simulated = spec.simulated_excess(GRID, rng, 20_000)
    others = rng.integers(0, 27, 20_000)
    uniform = rng.random(20_000) ** (1 / np.maximum(others, 1))
    formula = np.where(others == 0, 0.0, -spec.scales[0] * np.log1p(-uniform))
    assert stats.ks_2samp(simulated, formula).pvalue > 1e-6
    assert stats.ks_2samp(simulated, 1.1 * formula).pvalue < 1e-6


def test_the_mean_of_a_block_is_a_harmonic_number():
    scale = PermuteAndFlipMechanism().calibrate(public()).scales[0]
    harmonic = math.fsum(1 / k for k in range(1, 28))
    found = predict_error(PermuteAndFlipMechanism(), public(), simulations=100_000).mean
    # Standard error below 0.5%; seeded.
    assert found == pytest.approx(scale * (harmonic - 1), rel=0.02)


def test_a_block_of_three_to_the_38_assignments_is_simulated_stably():
    grid = WeightGrid.box(38, 1)
    mechanism = BlockOneHotMechanism(blocks=(tuple(range(38)),))
    scale = mechanism.calibrate(public(grid=grid)).scales[0]
    found = predict_error(mechanism, public(grid=grid))
    # Mean lambda (ln n + gamma - 1); 95% quantile within a few lambda of it.
    expected = scale * (38 * math.log(3) + np.euler_gamma - 1)
    assert found.mean == pytest.approx(expected, rel=0.01)
    assert expected < found.quantile < expected + 5 * scale


# --- closed forms --------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_exponential_mechanisms_quantile_is_exact_on_the_worst_table(epsilon, level):
    inputs = public(epsilon)
    beta = float(ExponentialMechanism().calibrate(inputs).beta)
    found = predict_error(ExponentialMechanism(), inputs, level)
    assert found.confidence == 1.0

    def chance_over(t):  # one best, 26 others at t
        return 26 * math.exp(-beta * t) / (1 + 26 * math.exp(-beta * t))

    assert chance_over(found.quantile * (1 + 1e-9)) <= 1 - level
    if found.quantile:
        assert chance_over(found.quantile * 0.98) > 1 - level
    worst_mean = max(t * chance_over(t) for t in np.linspace(0, 20 / beta, 2000))
    assert worst_mean <= found.mean == pytest.approx(math.log(27) / beta)


def test_the_mean_of_the_exponential_mechanism_is_bounded_on_random_tables():
    rng = np.random.default_rng(7)
    beta = float(ExponentialMechanism().calibrate(public()).beta)
    bound = predict_error(ExponentialMechanism(), public()).mean
    for _ in range(500):
        losses = rng.exponential(rng.uniform(0, 10), 27)
        losses -= losses.min()
        weights = np.exp(-beta * losses)
        assert float(losses @ weights / weights.sum()) <= bound


@pytest.mark.slow
@pytest.mark.parametrize("columns", [4, 19])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_staged_draws_exceed_a_constant_answer_no_more_than_stated(columns, epsilon):
    # Every candidate of the first draw, as often as it weighs, by the law itself.
    rng = np.random.default_rng(columns)
    inputs = public(epsilon, grid=WeightGrid.box(1 + columns, 3), n_rows=60)
    spec = StagedMechanism(stump=False).calibrate(inputs)
    whole, level = spec.stages.first, 0.8
    cards = replace(whole, starts=whole.starts[:3], shares=whole.shares[:3])
    spec = replace(spec, stages=replace(spec.stages, first=cards))
    bound = spec.excess_over_constants(level)
    listed = []
    for size in range(cards.most + 1):
        for chosen in itertools.combinations(range(columns), size):
            for signs in itertools.product((1, -1), repeat=size):
                points = np.zeros(columns, dtype=int)
                points[list(chosen)] = signs
                low, high = cards.starts[size]
                listed += [(start, *points, cards.factors[size]) for start in range(low, high + 1)]
    listed = np.array(listed, dtype=float)
    assert len(listed) == sum(cards.counts)
    worst = 0.0
    for share in (0.0, 0.1, 0.5):
        X, y = rng.integers(0, 2, (60, columns)), rng.random(60) < share
        wrong = (listed[:, :1].T + X @ listed[:, 1:-1].T >= 1) != y[:, None]
        losses = wrong.sum(axis=0)
        law = first_head_law(losses, float(spec.beta), listed[:, -1])
        constant = min(y.sum(), (~y).sum())
        worst = max(worst, float(law[losses > constant + bound].sum()))
    assert worst <= 1 - level


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_bound_beside_a_constant_answer_is_exact_on_the_worst_table(level):
    # Each answer has half of the starts of one level's mass: all else loses t more.
    inputs = public(1.0, grid=WeightGrid.box(20, 3), n_rows=60)
    spec = StagedMechanism(stump=False).calibrate(inputs)
    others = 2 * (spec.stages.first.most + 1) - 1
    bound = spec.excess_over_constants(level)

    def chance_over(t):
        mass = others * math.exp(-float(spec.beta) * t)
        return mass / (1 + mass)

    assert chance_over(bound * (1 + 1e-9)) <= 1 - level < chance_over(bound * 0.98)


def test_where_no_base_measure_is_by_levels_nothing_is_said_beside_constants():
    inputs = public(1.0, grid=WeightGrid.box(20, 36), n_rows=10_000)
    for spec in (
        StagedMechanism(by_levels=False).calibrate(inputs),
        StagedMechanism(stump=True).calibrate(inputs),
        ExponentialMechanism().calibrate(public()),
        PermuteAndFlipMechanism().calibrate(public()),
    ):
        assert spec.excess_over_constants(0.95) is None


def test_the_sphere_is_tighter_than_twice_the_length_of_its_noise():
    mechanism = SphereMechanism()
    scale = mechanism.calibrate(public()).scales[0]
    twice = 2 * scale * stats.gamma.isf(0.05, 4)
    found = predict_error(mechanism, public(), simulations=100_000)
    assert 0.4 * twice < found.quantile < 0.95 * twice
    # The fixed direction gains nothing on average: mean |eta| = scale (d + 1).
    assert found.mean == pytest.approx(4 * scale, rel=0.02)


def test_separators_are_tighter_than_the_l1_norm_of_their_noise():
    scale = SeparatorMechanism().calibrate(public()).scales[0]
    found = predict_error(SeparatorMechanism(), public(), simulations=100_000)
    assert found.mean == pytest.approx(6 * scale / 2, rel=0.02)
    assert found.quantile < stats.gamma.isf(0.05, 6) * scale


# --- confidence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "level", "confidence"), [(200, 0.9, 0.95), (60, 0.5, 0.8)])
def test_the_quantile_limit_covers_as_often_as_stated(count, level, confidence):
    rng = np.random.default_rng(8)
    true = stats.expon.ppf(level)
    misses = sum(
        quantile_limit(rng.exponential(size=count), level, confidence) < true for _ in range(3000)
    )
    # Exact binomial test, seeded; and it is not wasteful: misses do happen.
    assert stats.binomtest(misses, 3000, 1 - confidence, alternative="greater").pvalue > 1e-6
    assert misses > 3000 * (1 - confidence) / 3


def test_too_few_simulations_are_refused():
    with pytest.raises(CalibrationError, match="raise simulations"):
        predict_error(one_hot_mechanism(3), public(), 0.999, simulations=1000)
    for settings in ({"quantile": 1.0}, {"confidence": 0.0}):
        with pytest.raises(CalibrationError, match="in \\(0, 1\\)"):
            predict_error(one_hot_mechanism(3), public(), **settings)
    with pytest.raises(CalibrationError, match="no bound"):
        predict_error(RobustVoteMechanism(n_parts=3), public())


# --- planning ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [*PERTURBING, ExponentialMechanism()], ids=_id)
def test_predictions_fall_with_epsilon_grow_with_the_level_and_never_exceed_the_rows(mechanism):
    base = predict_error(mechanism, public())
    assert predict_error(mechanism, public(2.0)).quantile < base.quantile
    assert predict_error(mechanism, public(), 0.99).quantile > base.quantile
    assert base.mean < base.quantile
    few = predict_error(mechanism, public(0.01, n_rows=10))
    assert few.quantile == 10.0 and few.rows == 10


def test_a_prediction_reads_as_a_sentence():
    found = predict_error(ExponentialMechanism(), public(n_rows=1500))
    # 2 (ln 26 + ln 19) = 12.4
    assert str(found) == "with probability 95% at most 13 extra errors of 1,500"
    hidden = public(relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert str(predict_error(ExponentialMechanism(), hidden)).endswith("7 extra errors")


def test_plans_list_what_can_run():
    large = public(grid=WeightGrid.box(20, 1))
    names = ("nothing", "permute_and_flip", "block_one_hot", "rspm")
    found = plan_errors(large, [0.1, 1.0], names)
    assert [(name, epsilon) for name, epsilon, _ in found] == [
        ("permute_and_flip", 0.1),
        ("permute_and_flip", 1.0),
        ("block_one_hot", 0.1),
        ("block_one_hot", 1.0),
        ("rspm", 0.1),
        ("rspm", 1.0),
    ]


@pytest.mark.parametrize("errors", [5.0, 100.0])
def test_the_epsilon_for_a_number_of_errors_is_the_smallest(errors):
    mechanism = PermuteAndFlipMechanism()
    epsilon = epsilon_for(mechanism, public(), errors)
    assert predict_error(mechanism, public(epsilon)).quantile <= errors
    assert predict_error(mechanism, public(0.98 * epsilon)).quantile > errors
    with pytest.raises(CalibrationError, match="no epsilon"):
        epsilon_for(mechanism, public(), 1e-6)


# --- published algorithms ------------------------------------------------------------------------


def test_opdisc_bounds_are_the_formulas_and_cover_the_simulated_noise():
    # sigma = 7 * 8 * sqrt(ln 1e6) / 0.5 by hand; d = 3.
    sigma = 112 * math.sqrt(6 * math.log(10))
    assert opdisc_mean_error_bound(3, 8, 0.5, 1e-6) == pytest.approx(2 * sigma)
    bound = opdisc_error_bound(3, 8, 0.5, 1e-6, 0.05)
    assert bound == pytest.approx(2 * sigma * (2 + math.sqrt(2 * math.log(20))))
    noise = np.random.default_rng(9).normal(0, sigma, (50_000, 4))
    excess = np.linalg.norm(noise, axis=1) - noise[:, 0]
    assert (excess > bound).mean() <= 0.05
    assert excess.mean() == pytest.approx(2 * sigma, rel=0.1)
    assert opdisc_error_bound(3, 8, 0.5, 1e-6, 0.05, constant=3.5) == pytest.approx(bound / 2)
    with pytest.raises(CalibrationError, match="beta"):
        opdisc_error_bound(3, 8, 0.5, 1e-6, 0.0)


def test_opsamp_bounds_are_minimal_at_the_stated_rate():
    assert opsamp_published_scale(2, 1.0, 0.5, 1e-4, 0.1) == pytest.approx(
        2 * 250 * 1e-4 * 0.5 * 4 / 0.1
    )
    best = opsamp_error_bound(3, 2.0, 0.7, 0.4, 1000)
    assert best == pytest.approx(2 * math.sqrt(500) * 0.7 * 9 * 2.0 * math.sqrt(1000 / 0.4))
    rate = opsamp_best_rate(3, 0.7, 0.4, 1000)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert opsamp_error_bound(3, 2.0, 0.7, 0.4, 1000, rate=factor * rate) > best


def test_a_tiny_opsamp_stays_below_its_mean_bound():
    # A median on [0, 1]: 41 points, tilts of rate eta, published Laplace scale; seeded.
    rng = np.random.default_rng(10)
    rows = np.sort(rng.random(41))
    candidates = np.concatenate([[0.0, 1.0], rows])
    losses = np.abs(rows[:, None] - candidates).sum(axis=0)
    rate, epsilon = 0.02, 1.0
    scale = opsamp_published_scale(1, 1.0, 1.0, rate, epsilon)
    excess = []
    for _ in range(300):
        tilts = rng.exponential(1 / rate, 20)
        places = np.argmin(losses - tilts[:, None] * candidates, axis=1)
        released = candidates[places].mean() + rng.laplace(0, scale)
        clipped = min(max(released, 0.0), 1.0)
        excess.append(np.abs(rows - clipped).sum() - losses.min())
    assert np.mean(excess) <= opsamp_error_bound(1, 1.0, 1.0, epsilon, 41, rate=rate)
