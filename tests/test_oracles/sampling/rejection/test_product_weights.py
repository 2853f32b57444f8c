"""Weighted hypotheses: tables against brute force, every sampler's law, broken variants."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.enumeration.listing import all_losses
from oracles.errors import InconsistentSolution, InvalidProblem, UnsupportedProblem
from oracles.problem.grid import Hypothesis, WeightGrid, squared_norms
from oracles.problem.product_weights import LogWeights, check_summable
from oracles.problem.structure import ColumnGroup
from oracles.problem.zero_one import ZeroOneProblem
from oracles.sampling.draw import sample_hypotheses
from oracles.sampling.listed import draw_listed, sample_by_enumeration
from oracles.sampling.options import SamplingOptions
from oracles.sampling.rejection.cell_draws import Candidate
from oracles.sampling.rejection.partition import PartitionCell
from oracles.sampling.rejection.sampler import PartitionSampler
from oracles.sampling.sparse import sample_sparse

FALSE_ALARM = 1e-6

_PATH = Path(__file__).with_name("test_sampler.py")
_SPEC = importlib.util.spec_from_file_location("sampling_problems", _PATH)
assert _SPEC is not None and _SPEC.loader is not None
problems = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(problems)

Draw = Callable[[SeededEntropy], Hypothesis]


def random_weights(grid: WeightGrid, seed: int) -> LogWeights:
    """Random log-weights; some coordinates flat, some with a value that is hardly ever taken."""
    rng = np.random.default_rng(1000 + seed)
    tables = []
    for allowed in grid.values:
        table = rng.normal(0, rng.choice([0.0, 0.5, 2.0]), len(allowed))
        if rng.random() < 0.2:
            table[0] -= 30.0
        tables.append(tuple(map(Fraction, table.tolist())))
    return LogWeights(tables=tuple(tables))


def target(problem: ZeroOneProblem, beta: float, weights: LogWeights) -> np.ndarray:
    """The law over the box by enumeration."""
    exponents = beta * all_losses(problem) + weights.all_penalties()
    law = np.exp(-(exponents - exponents.min()))
    if problem.grid.norm_budget is not None:
        law[squared_norms(problem.grid) > problem.grid.norm_budget] = 0
    return law / law.sum()


def p_value(draw: Draw, grid: WeightGrid, law: np.ndarray, n_draws: int, seed: int = 0) -> float:
    """Chi-square p-value of draws, rare hypotheses pooled."""
    entropy, counts = SeededEntropy(seed), np.zeros(len(law))
    for _ in range(n_draws):
        counts[np.ravel_multi_index(grid.indices(draw(entropy)), grid.shape)] += 1
    order = np.argsort(-law, kind="stable")
    groups = np.floor(np.cumsum(n_draws * law[order]) / 10).astype(int)
    expected = np.bincount(groups, n_draws * law[order])
    observed = np.bincount(groups, counts[order])
    kept = expected >= 5
    observed = np.append(observed[kept], observed[~kept].sum())
    expected = np.append(expected[kept], expected[~kept].sum())
    if expected[-1] < 1e-3:
        assert observed[-1] <= 2
        observed, expected = observed[:-1], expected[:-1]
    if len(expected) < 2:
        return 1.0
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, len(expected) - 1))


# --- tables --------------------------------------------------------------------------------------


@given(data=st.data())
def test_sums_and_extremes_agree_with_brute_force(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    values = tuple(tuple(range(-1, size - 1)) for size in shape)
    smallest = sum(min(v * v for v in allowed) for allowed in values)
    budget = data.draw(st.none() | st.integers(smallest, smallest + 4))
    grid = WeightGrid(values=values, norm_budget=budget)
    number = st.floats(-20, 20)
    weights = LogWeights(
        tables=tuple(
            tuple(Fraction(data.draw(number)) for _ in allowed) for allowed in grid.values
        )
    )
    members = [w for w in itertools.product(*values) if grid.contains(w)]
    best = sum(max(table) for table in weights.tables)
    penalties = []
    for w in members:
        own = sum(t[i] for t, i in zip(weights.tables, grid.indices(w), strict=True))
        assert weights.penalty(grid, w) == best - own >= 0
        penalties.append(float(best - own))
    log_sum, largest = weights.summary(grid)
    assert log_sum == pytest.approx(float(np.logaddexp.reduce(-np.array(penalties))), abs=1e-9)
    assert largest == pytest.approx(max(penalties), abs=1e-9)
    listed = weights.all_penalties()
    inside = np.array([grid.contains(w) for w in itertools.product(*values)])
    assert listed[inside] == pytest.approx(penalties, abs=1e-9)


def test_numbers_that_are_no_log_weights_are_refused() -> None:
    for bad in ((math.nan, 0.0), (math.inf, 0.0), ("a", 0.0), ()):
        with pytest.raises(InvalidProblem, match="log-weight"):
            LogWeights(tables=(bad,))
    weights = LogWeights(tables=((Fraction(0), Fraction(1)),))
    with pytest.raises(InvalidProblem, match=r"per coordinate and value.*\[2\].*\[3, 3\]"):
        weights.check(WeightGrid.box(2, 1))


def test_log_weights_that_could_underflow_are_refused() -> None:
    grid = WeightGrid.box(30, 1)
    steep = LogWeights(tables=((Fraction(-17), Fraction(0), Fraction(-17)),) * 30)
    with pytest.raises(UnsupportedProblem, match="at most 500 nats"):
        check_summable(steep, grid)
    heavy = LogWeights(tables=((Fraction(0), Fraction(-2), Fraction(0)),) * 30)
    with pytest.raises(UnsupportedProblem, match="one part in 1,000"):
        check_summable(heavy, WeightGrid.box(30, 1, norm_budget=20))
    check_summable(heavy, grid)


# --- laws ----------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_every_path_has_the_weighted_law_on_random_problems(first: int) -> None:
    """Chi-square against enumeration, three samplers; false alarm at most 1e-6 per case."""
    for seed in range(first, first + 10):
        problem, structure, beta = problems.random_problem(seed)
        weights = random_weights(problem.grid, seed)
        law = target(problem, beta, weights)
        for n_blocks in (None, 3):
            options = SamplingOptions(n_blocks=n_blocks)
            sampler = PartitionSampler(problem, beta, structure, options, weights)
            assert p_value(sampler.draw, problem.grid, law, 300, seed) > FALSE_ALARM, seed

        def listed(
            entropy: SeededEntropy,
            problem: ZeroOneProblem = problem,
            beta: float = beta,
            weights: LogWeights = weights,
        ) -> Hypothesis:
            return sample_by_enumeration(problem, beta, entropy, weights)[0]

        assert p_value(listed, problem.grid, law, 300, seed) > FALSE_ALARM, seed


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_norm_budgets_and_sparse_walks_have_the_weighted_law(seed: int) -> None:
    """Chi-square against enumeration, three samplers; false alarm at most 1e-6 per case."""
    made, structure, beta = problems.random_problem(seed)
    smallest = max(max(v * v for v in allowed) for allowed in made.grid.values)
    grid = replace(made.grid, norm_budget=smallest + 2)
    problem = ZeroOneProblem(
        points=made.points, positives=made.positives, negatives=made.negatives, grid=grid
    )
    weights = random_weights(grid, seed)
    law = target(problem, beta, weights)
    draws: list[Draw] = [
        lambda e: sample_sparse(problem, beta, e, weights)[0],
        lambda e: sample_by_enumeration(problem, beta, e, weights)[0],
        PartitionSampler(problem, beta, structure, None, weights).draw,
    ]
    for draw in draws:
        assert p_value(draw, grid, law, 800, seed) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("n_blocks", [2, 3])
@pytest.mark.parametrize("name", ["one huge context", "single class", "parity", "scattered"])
def test_the_weighted_law_is_exact_where_sums_are_logarithms(
    name: str, n_blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chi-square against enumeration; false alarm at most 1e-6 per case."""
    problem, structure, beta = problems.named_problem(name)
    weights = random_weights(problem.grid, 3)
    options = SamplingOptions(n_blocks=n_blocks)
    sampler = PartitionSampler(problem, beta, structure, options, weights)
    for block in sampler._lower_bound.sums:
        monkeypatch.setattr(block, "_least_log", math.inf)
    law = target(problem, beta, weights)
    assert p_value(sampler.draw, problem.grid, law, 1500) > FALSE_ALARM


@pytest.mark.statistical
def test_nested_levels_and_untold_assignments_have_the_weighted_law() -> None:
    """Chi-square; a chain of cumulated weights, and columns no point uses. False alarm 1e-6."""
    level = np.arange(6)[:, None]
    points = np.hstack([np.ones((6, 1), int), (level >= np.arange(1, 5)).astype(int)])
    points = np.hstack([points, np.zeros((6, 1), int)])
    problem = ZeroOneProblem(
        points=points,
        positives=[3, 0, 5, 1, 0, 4],
        negatives=[1, 4, 0, 2, 6, 0],
        grid=WeightGrid.box(6, 1),
    )
    structure = [ColumnGroup(columns=(1, 2, 3, 4), kind="nested")]
    weights = random_weights(problem.grid, 4)
    sampler = PartitionSampler(problem, 0.3, structure, None, weights)
    law = target(problem, 0.3, weights)
    assert p_value(sampler.draw, problem.grid, law, 3000) > FALSE_ALARM


def test_equal_log_weights_change_nothing() -> None:
    """The same random words give the same draws as no log-weights at all."""
    problem, structure, beta = problems.named_problem("scattered")
    flat = LogWeights(tables=((Fraction(7, 3),) * 5,) * 5)
    grid = WeightGrid.box(5, 2, norm_budget=6)
    sparse = ZeroOneProblem(
        points=problem.points, positives=problem.positives, negatives=problem.negatives, grid=grid
    )
    for seed in range(5):
        drawn = [
            (
                sample_by_enumeration(problem, beta, SeededEntropy(seed), weights),
                sample_sparse(sparse, beta, SeededEntropy(seed), weights),
                sample_hypotheses(
                    problem,
                    beta,
                    structure=structure,
                    entropy=SeededEntropy(seed),
                    log_weights=weights,
                ),
            )
            for weights in (None, flat)
        ]
        assert drawn[0] == drawn[1]


@pytest.mark.statistical
def test_at_weight_zero_of_the_loss_the_log_weights_alone_are_the_law() -> None:
    """Each coordinate's counts, 2,000 draws of 3^20 hypotheses; false alarm at most 1e-6."""
    rng = np.random.default_rng(2)
    points = rng.integers(0, 2, (12, 20))
    problem = ZeroOneProblem(
        points=points, positives=[1] * 12, negatives=[2] * 12, grid=WeightGrid.box(20, 1)
    )
    weights = random_weights(problem.grid, 5)
    sampler, entropy = PartitionSampler(problem, 0, (), None, weights), SeededEntropy(1)
    drawn = np.array([sampler.draw(entropy) for _ in range(2000)])
    for j, table in enumerate(weights.tables):
        law = np.exp(np.array(table, dtype=float))
        law /= law.sum()
        seen = np.array([(drawn[:, j] == v).sum() for v in (-1, 0, 1)])
        rare = law < 1e-4
        assert seen[rare].sum() <= 5
        if (~rare).sum() > 1:
            expected = seen[~rare].sum() * law[~rare] / law[~rare].sum()
            assert stats.chisquare(seen[~rare], expected).pvalue > FALSE_ALARM / 20


# --- broken variants -----------------------------------------------------------------------------


@pytest.mark.statistical
def test_forgetting_one_block_is_caught() -> None:
    """Positive control: without the log-weights of one block's columns the chi-square rejects."""
    problem, structure, beta = problems.named_problem("scattered")
    weights = LogWeights(tables=(tuple(map(Fraction, (0.0, -0.5, -1.0, -0.5, 0.0))),) * 5)
    sampler = PartitionSampler(problem, beta, structure, None, weights)
    forgotten = sampler._lower_bound.columns[0]
    tables = tuple(
        (Fraction(0),) * 5 if j in forgotten else table for j, table in enumerate(weights.tables)
    )
    broken = PartitionSampler(problem, beta, structure, None, LogWeights(tables=tables))
    law = target(problem, beta, weights)
    assert p_value(sampler.draw, problem.grid, law, 2000) > FALSE_ALARM
    assert p_value(broken.draw, problem.grid, law, 2000) <= FALSE_ALARM


class SumsOnly(PartitionSampler):
    """Mistake: the sums and draws know the log-weights, the accept test does not."""

    def _accepts(self, cell: PartitionCell, candidate: Candidate, bits: RandomBits) -> bool:
        self._cell_draws[0]._log_weights = None
        return super()._accepts(cell, candidate, bits)


def test_an_accept_test_without_log_weights_breaks_an_invariant() -> None:
    problem, structure, beta = problems.named_problem("scattered")
    weights = LogWeights(tables=(tuple(map(Fraction, (0.0, -3.0, -3.0, -3.0, 0.0))),) * 5)
    sampler = SumsOnly(problem, beta, structure, None, weights)
    with pytest.raises(InconsistentSolution, match="must not exceed 1"):
        for seed in range(200):
            sampler.draw(SeededEntropy(seed))


@pytest.mark.statistical
def test_the_accept_test_alone_carries_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The foil: heavier sums cost rounds, not exactness. Chi-square, false alarm 1e-6."""
    problem, structure, beta = problems.named_problem("scattered")
    weights = LogWeights(tables=(tuple(map(Fraction, (0.0, -0.5, -1.0, -0.5, 0.0))),) * 5)
    sampler = PartitionSampler(problem, beta, structure, None)
    sampler._cell_draws[0]._log_weights = weights
    law = target(problem, beta, weights)
    assert p_value(sampler.draw, problem.grid, law, 2000) > FALSE_ALARM


@pytest.mark.statistical
def test_listed_draws_are_exact_and_refuse_imprecise_exponents() -> None:
    """Chi-square of 20,000 draws, false alarm at most 1e-6; a wrong exponent is noticed."""
    exact = [Fraction(k * k, 7) for k in range(8)]
    exponents = np.array([float(e) for e in exact])
    bits = RandomBits(SeededEntropy(3))
    drawn = [draw_listed(exponents, lambda k: ((k,), exact[k]), bits)[0] for _ in range(20_000)]
    law = np.exp(-exponents) / np.exp(-exponents).sum()
    expected = np.append(20_000 * law[:6], 20_000 * law[6:].sum())
    seen = np.bincount(drawn, minlength=8)
    seen = np.append(seen[:6], seen[6:].sum())
    assert stats.chisquare(seen, expected).pvalue > FALSE_ALARM
    with pytest.raises(InconsistentSolution, match="as precise as promised"):
        draw_listed(exponents + 0.2, lambda k: ((k,), exact[k]), bits)
