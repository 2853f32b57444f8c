"""Exponential sampling, localization, simplex sampling and private FTRL."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.exponential import (
    ConvexSum,
    exponential_sampling,
    inverse_temperature,
    plan_exponential_sampling,
    sample_density,
)
from opdisc.convex.sampling.ftrl import plan_ftrl, private_ftrl
from opdisc.convex.sampling.grid_walk import grid_walk_sampling
from opdisc.convex.sampling.localized import localization, plan_localization
from opdisc.convex.sampling.simplex import (
    entropic_minimiser,
    plan_simplex_sampling,
    published_vertex_epsilon,
    sample_count,
    simplex_sampling,
    vertex_epsilon,
    zcdp_budget,
)
from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import LogisticLoss, RampLoss
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Box, Simplex
from oracles.convex.regression_losses import AbsoluteLoss, ScoreLoss, SquaredLoss

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def facts(loss, domain, *, epsilon=1.0, delta=0.0, relation=REPLACE, n=None, linf=1.0, l2=None):
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=relation,
        loss=loss,
        bounds=RowBounds(l2=l2 or linf * math.sqrt(domain.dimension), linf=linf),
        dimension=domain.dimension,
        domain=domain,
        n_rows=n,
    )


def rows(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, p))
    return Rows(X=X, y=np.clip(X @ np.linspace(1, 0, p) + 0.1 * rng.normal(size=n), -1, 1))


# --- exponential sampling ------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.3, 4.0, 60.0])
def test_one_dimensional_samples_have_the_target_law(rate):
    """Kolmogorov-Smirnov against quadrature; false alarm 1e-6, fixed seed."""
    domain = Box([-1.0], [1.5])
    data = rows(20, 1)
    total = ConvexSum.of(data, facts(AbsoluteLoss(), domain))
    entropy = SeededEntropy(1)
    draws = [sample_density(total, domain, rate / 10, entropy)[0] for _ in range(800)]
    grid = np.linspace(-1, 1.5, 4001)
    density = np.exp(-rate / 10 * np.array([total.value(np.array([t])) for t in grid]))
    law = np.cumsum(density) / density.sum()
    assert stats.kstest(draws, lambda t: np.interp(t, grid, law)).pvalue > 1e-6
    wrong = np.cumsum(density**0.5) / (density**0.5).sum()
    if rate > 1:
        assert stats.kstest(draws, lambda t: np.interp(t, grid, wrong)).pvalue < 1e-3


@pytest.mark.statistical
def test_planar_samples_have_the_target_law_on_a_ball():
    """Chi-square over 16 cells against quadrature; false alarm 1e-6, fixed seed."""
    domain = L2Ball(dimension=2, radius=1.0)
    total = ConvexSum.of(rows(30, 2), facts(LogisticLoss(), domain), 5.0)
    entropy, rate = SeededEntropy(2), 0.4
    draws = np.array([sample_density(total, domain, rate, entropy) for _ in range(1500)])
    assert np.linalg.norm(draws, axis=1).max() <= 1 + 1e-9
    axis = (np.arange(160) + 0.5) / 80 - 1
    grid = np.array([(a, b) for a in axis for b in axis if a * a + b * b <= 1])
    density = np.exp(-rate * np.array([total.value(point) for point in grid]))
    cells = [np.linspace(-1, 1, 5)] * 2
    expected = np.histogramdd(grid, cells, weights=density)[0].ravel()
    found = np.histogramdd(draws, cells)[0].ravel()
    kept = expected > 1e-3 * expected.sum()
    expected = expected[kept] / expected[kept].sum() * found[kept].sum()
    assert stats.chisquare(found[kept], expected).pvalue > 1e-6


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_the_rate_is_exactly_what_two_tables_allow(relation):
    """One dimension, one row of slope +-1: the worst log ratio of densities, by quadrature."""
    domain = Box([-1.0], [1.0])
    public = facts(ScoreLoss(), domain, relation=relation, epsilon=0.7)
    rate = inverse_temperature(public, 0.7, domain.diameter_l2)
    grid = np.linspace(-1, 1, 20_001)
    step = grid[1] - grid[0]

    def log_density(slope):
        values = -rate * slope * grid
        return values - math.log(np.exp(values).sum() * step)

    pair = (1.0, -1.0) if relation is REPLACE else (1.0, 0.0)
    worst = np.abs(log_density(pair[0]) - log_density(pair[1])).max()
    assert worst <= 0.7
    # The bound is approached by many rows: the density piles up at one end.
    pair = (30 / rate, 30 / rate + pair[0] - pair[1])
    assert 0.6 <= np.abs(log_density(pair[0]) - log_density(pair[1])).max() <= 0.7
    halved = 2 * np.abs(log_density(pair[0]) - log_density(pair[1])).max()
    assert halved > 0.7


def test_large_budgets_find_the_optimum_and_receipts_are_pure():
    domain = L2Ball(dimension=2, radius=2.0)
    public = facts(LogisticLoss(), domain, epsilon=1e5, delta=1e-6)
    data = rows(60, 2)
    data = Rows(X=data.X, y=np.where(data.y > 0.2, 1.0, -1.0))
    total = ConvexSum.of(data, public)
    best = optimize.minimize(
        total.value,
        np.zeros(2),
        constraints={"type": "ineq", "fun": lambda t: 4 - t @ t},
        options={"ftol": 1e-12},
    ).x
    found = exponential_sampling(data, public, entropy=SystemEntropy())
    np.testing.assert_allclose(found.parameters, best, atol=0.05)
    assert (found.receipt.delta, found.receipt.guarantee) == (0.0, "CONDITIONAL")
    less = facts(LogisticLoss(), domain, epsilon=3e3)
    local = localization(data, less, ridge=1.0, entropy=SystemEntropy())
    ridged = optimize.minimize(
        ConvexSum.of(data, public, 1.0).value,
        np.zeros(2),
        constraints={"type": "ineq", "fun": lambda t: 4 - t @ t},
        options={"ftol": 1e-12},
    ).x
    np.testing.assert_allclose(local.parameters, ridged, atol=0.05)


@pytest.mark.statistical
def test_the_excess_is_within_the_theorem():
    """B14 Theorem 3.2: mean excess at most p k L D / epsilon; 60 draws, 5 standard errors."""
    domain = Box.cube(2, 1.0)
    for epsilon in (0.5, 2.0):
        public = facts(AbsoluteLoss(), domain, epsilon=epsilon)
        data, entropy = rows(40, 2), SeededEntropy(3)
        total = ConvexSum.of(data, public)
        best = min(
            total.value(np.array([a, b]))
            for a in np.linspace(-1, 1, 81)
            for b in np.linspace(-1, 1, 81)
        )
        rate = plan_exponential_sampling(public).scales[0]
        excess = [
            total.value(sample_density(total, domain, rate, entropy)) - best for _ in range(60)
        ]
        assert np.mean(excess) - 5 * np.std(excess) / math.sqrt(60) <= 2 / rate


def test_localization_samples_with_a_finer_rate_when_the_ball_is_small():
    domain = L2Ball(dimension=2, radius=2.0)
    public = facts(LogisticLoss(), domain, epsilon=1.0)
    whole = plan_exponential_sampling(public).scales[0]
    near = plan_localization(public, ridge=500.0)
    assert near.scales[1] > 5 * whole
    assert near.setting("radius") < 0.2


def test_sampling_refusals():
    ball = L2Ball(dimension=2, radius=1.0)
    for public, message in (
        (facts(RampLoss(), ball), "needs a convex loss, but the ramp loss is not"),
        (facts(LogisticLoss(), Simplex(dimension=2)), "needs a domain with an interior"),
        (facts(LogisticLoss(), L2Ball(dimension=9, radius=1.0)), "at most 5 parameters, got 9"),
    ):
        with pytest.raises(CalibrationError, match=message):
            plan_exponential_sampling(public)


@pytest.mark.statistical
def test_the_grid_walk_reaches_the_exponential_mechanism_on_its_grid():
    """Chi-square over the 9 grid points of an interval; false alarm 1e-6, fixed seed."""
    domain = Box([-1.0], [1.0])
    public = facts(AbsoluteLoss(), domain, epsilon=3.0)
    data, entropy = rows(20, 1), SeededEntropy(8)
    found = [
        grid_walk_sampling(data, public, steps=200, spacing=0.25, entropy=entropy).parameters[0]
        for _ in range(400)
    ]
    cells = np.clip(np.round(np.array(found) / 0.25), -4, 4).astype(int) + 4
    rate = inverse_temperature(public, 3.0, domain.diameter_l2)
    total = ConvexSum.of(data, public)
    law = np.exp([-rate * total.value(np.array([0.25 * k])) for k in range(-4, 5)])
    expected = law / law.sum() * 400
    assert stats.chisquare(np.bincount(cells, minlength=9), expected).pvalue > 1e-6
    assert stats.chisquare(np.bincount(cells, minlength=9), expected[::-1]).pvalue < 1e-6


def test_the_grid_walk_says_what_it_rests_on_and_refuses_bad_grids():
    domain = L2Ball(dimension=7, radius=1.0)
    public = facts(AbsoluteLoss(), domain)
    data = rows(20, 7)
    release = grid_walk_sampling(data, public, steps=50, spacing=0.1, entropy=SystemEntropy())
    assert release.receipt.guarantee == "CONDITIONAL"
    assert any("stationary law on every table" in text for text in release.receipt.conditions)
    assert np.linalg.norm(release.parameters) <= 1 + 1e-6
    for arguments, message in (
        ({"steps": 0, "spacing": 0.1}, "steps must be an integer of at least 1"),
        ({"steps": 5, "spacing": 9.0}, "spacing must be > 0 and at most half"),
    ):
        with pytest.raises(CalibrationError, match=message):
            grid_walk_sampling(data, public, entropy=SystemEntropy(), **arguments)
    with pytest.raises(CalibrationError, match="needs a domain with the origin inside"):
        grid_walk_sampling(
            rows(9, 2),
            facts(AbsoluteLoss(), Simplex(dimension=2)),
            steps=5,
            spacing=0.1,
            entropy=SystemEntropy(),
        )


# --- simplex sampling ----------------------------------------------------------------------------


def test_the_entropic_minimiser_agrees_with_a_general_solver():
    data = rows(50, 4)
    loss, weight = SquaredLoss(), 3.0
    found = entropic_minimiser(data, loss, weight)

    def objective(logits):
        parameters = special.softmax(logits)
        return (
            data.sum_value(loss, parameters) + weight * special.xlogy(parameters, parameters).sum()
        )

    expected = special.softmax(
        optimize.minimize(objective, np.zeros(4), options={"gtol": 1e-10}).x
    )
    np.testing.assert_allclose(found, expected, atol=1e-5)
    slope = data.sum_gradient(loss, found)
    np.testing.assert_allclose(found, special.softmax(-slope / weight), rtol=1e-7)


def test_more_columns_than_rows_give_what_many_rows_give():
    """A minimiser does not depend on whether equal rows are merged, nor on how it was solved."""
    few = rows(5, 12)
    many = Rows(X=np.tile(few.X, (4, 1)), y=np.tile(few.y, 4))
    merged = Rows(X=few.X.copy(), y=few.y.copy(), counts=np.full(5, 4.0))
    assert len(many.X) > 12 > len(merged.X)
    np.testing.assert_allclose(
        entropic_minimiser(merged, SquaredLoss(), 2.0),
        entropic_minimiser(many, SquaredLoss(), 2.0),
        rtol=1e-7,
    )


def test_one_linear_row_attains_the_first_term():
    """One row of linear loss, many vertices: theta_1 moves by almost 4 R / lambda."""
    p, weight = 10**6, 2.0
    domain = Simplex(dimension=p)
    public = facts(ScoreLoss(), domain, n=1, l2=math.sqrt(p))
    one = np.full(p, -1.0)
    one[0] = 1.0
    moved = abs(special.log_softmax(-one / weight)[0] - special.log_softmax(one / weight)[0])
    proven = vertex_epsilon(public, weight)
    assert proven == pytest.approx(4 / weight)
    # Without the normaliser it would be half of that; J14's Theorem 3 has the same first term.
    assert proven / 2 < 0.99 * proven <= moved <= proven
    assert published_vertex_epsilon(public, weight) == pytest.approx(4 / weight)


def test_vertex_loss_bounds_random_neighbours():
    rng = np.random.default_rng(4)
    public = facts(SquaredLoss(), Simplex(dimension=3), n=12)
    for weight in (3.0, 30.0):
        data = rows(12, 3)
        base = np.log(entropic_minimiser(data, public.loss, weight))
        for _ in range(20):
            X, y = data.X.copy(), data.y.copy()
            X[0], y[0] = rng.choice([-1.0, 1.0], size=3), rng.choice([-1.0, 1.0])
            other = np.log(entropic_minimiser(Rows(X=X, y=y), public.loss, weight))
            assert np.abs(base - other).max() <= vertex_epsilon(public, weight)


def test_simplex_budgets_and_refusals():
    public = facts(SquaredLoss(), Simplex(dimension=5), n=2000, epsilon=2.0, delta=1e-6)
    plan = plan_simplex_sampling(public)
    one, count = plan.setting("epsilon of one"), int(plan.setting("vertices"))
    assert count * one <= 2.0 or count * one**2 / 8 <= zcdp_budget(public.params)
    assert sample_count(PrivacyParams(epsilon=1.0, delta=0.0), 0.3) == 3
    release = simplex_sampling(rows(2000, 5), public, entropy=SystemEntropy())
    assert (
        release.parameters.sum() == pytest.approx(1.0, abs=1e-6) and release.parameters.min() >= 0
    )
    assert any("entropic minimiser is exact" in text for text in release.receipt.conditions)
    with pytest.raises(CalibrationError, match="budget must pay for one vertex"):
        plan_simplex_sampling(public, entropy_weight=1e-3)
    with pytest.raises(CalibrationError, match="private under replace_one only"):
        plan_simplex_sampling(facts(SquaredLoss(), Simplex(dimension=5), relation=ADD))
    with pytest.raises(CalibrationError, match="needs the simplex as its domain"):
        plan_simplex_sampling(facts(SquaredLoss(), Box.cube(5, 1.0), n=9))


# --- private FTRL --------------------------------------------------------------------------------


def _online(rounds=400, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(0.2, 0.5, size=(rounds, p)), -1, 1)
    X[:, 2] -= 0.2
    return Rows(X=np.clip(X, -1, 1), y=np.zeros(rounds))


@pytest.mark.statistical
def test_ftrl_regret_is_within_its_bound_and_beats_guessing():
    """Mean of 20 runs; regret is bounded by 2T, the bound is 5 standard errors away."""
    data = _online()
    public = facts(
        ScoreLoss(), Simplex(dimension=5), epsilon=8.0, delta=1e-4, n=400, l2=math.sqrt(5)
    )
    plan, entropy = plan_ftrl(public), SeededEntropy(5)
    regrets = []
    for _ in range(20):
        actions = private_ftrl(data, public, entropy=entropy).actions
        regrets.append(data.X[np.arange(400), actions].sum() - data.X.sum(axis=0).min())
    # lambda ln p + T R^2 / lambda, with R = 1
    weight = plan.setting("entropy weight")
    bound = weight * math.log(5) + 400 * public.bounds.largest_coordinate**2 / weight
    assert np.mean(regrets) + 5 * np.std(regrets) / math.sqrt(20) <= bound
    assert np.mean(regrets) < data.X.mean(axis=1).sum() - data.X.sum(axis=0).min()


def test_ftrl_keeps_its_zcdp_budget_exactly():
    public = facts(ScoreLoss(), Simplex(dimension=3), delta=1e-6, n=100, l2=2.0)
    weight = plan_ftrl(public).setting("entropy weight")
    # A replaced vector moves log weights within a range of 4R/lambda: range^2/8 a round.
    assert 100 * (4 / weight) ** 2 / 8 <= zcdp_budget(public.params)
    rho = zcdp_budget(public.params)
    assert rho + 2 * math.sqrt(rho * math.log(1e6)) <= 1.0


def exact_ftrl_delta(weight, rounds, epsilon):
    """Delta of two tables: the first of T vectors is (1, -1) or (-1, 1), the others are zero.

    Later rounds play the first of two vertices with log odds -2/lambda or 2/lambda, independently:
    T - 1 randomised responses, whose privacy loss is a binomial count.
    """
    count = np.arange(rounds)
    loss = (2 * count - (rounds - 1)) * 2 / weight
    chances = stats.binom.pmf(count, rounds - 1, special.expit(2 / weight))
    over = loss > epsilon
    return float(chances[over] @ -np.expm1(epsilon - loss[over]))


def test_the_published_ftrl_weight_fails_at_large_epsilon():
    """J14's lambda: 2.0 times the claimed delta at (8, 0.01), 2.3 times at (10, 1e-6)."""

    def share(epsilon, delta, rounds, noise):
        two = Simplex(dimension=2)
        public = facts(ScoreLoss(), two, epsilon=epsilon, delta=delta, n=rounds, l2=2.0)
        plan = plan_ftrl(public, noise=noise)
        # The weight is in units of the largest coordinate.
        weight = plan.setting("entropy weight") / public.bounds.largest_coordinate
        return plan.status.value, exact_ftrl_delta(weight, rounds, epsilon) / delta

    assert share(8.0, 1e-2, 100, "published") == ("refuted", pytest.approx(2.02, abs=0.01))
    assert share(10.0, 1e-6, 2000, "published") == ("refuted", pytest.approx(2.31, abs=0.01))
    for epsilon in (0.5, 1.0, 4.0, 8.0, 10.0, 16.0):
        for delta in (1e-6, 1e-2):
            for rounds in (10, 100, 2000):
                assert share(epsilon, delta, rounds, "zcdp")[1] <= 1
                if epsilon <= 4:
                    assert share(epsilon, delta, rounds, "published")[1] <= 1


def test_ftrl_refusals():
    simplex = Simplex(dimension=3)
    for public, message in (
        (facts(ScoreLoss(), simplex, n=9, l2=2.0), "needs delta > 0"),
        (facts(SquaredLoss(), simplex, n=9, delta=1e-6), "takes linear losses"),
        (facts(ScoreLoss(), simplex, relation=ADD, delta=1e-6), "under replace_one only"),
    ):
        with pytest.raises(CalibrationError, match=message):
            plan_ftrl(public)
