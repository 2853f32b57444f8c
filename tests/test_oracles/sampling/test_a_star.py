"""Gains drawn along the search: the law against quadrature, bounds, limits and broken variants."""

from __future__ import annotations

import inspect
from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from oracles.arithmetic.random_bits import SeededEntropy
from oracles.enumeration.listing import all_losses
from oracles.errors import NoHypothesis, UnsupportedProblem
from oracles.problem.grid import WeightGrid, squared_norms
from oracles.problem.perturbation import Perturbation
from oracles.problem.zero_one import ZeroOneProblem
from oracles.sampling import a_star_kernels as lazy_kernels
from oracles.sampling.a_star import check_a_star, minimise_by_a_star

FALSE_ALARM = 1e-6
RATE = Fraction(1, 4096)
STEPS = 1024
GRIDS = {
    "box": WeightGrid.box(4, 1),
    "uneven": WeightGrid(values=((-2, -1, 0, 1, 3), (0, 1), (1,), (-1, 0, 2), (-3, 4))),
    "wide": WeightGrid(values=(tuple(range(-7, 8)), (-1, 0, 1))),
    "budget": WeightGrid.box(4, 2, norm_budget=4),
}


def small_problem(grid: WeightGrid, seed: int, n_points: int = 9) -> ZeroOneProblem:
    rng = np.random.default_rng(seed)
    return ZeroOneProblem(
        points=rng.integers(-1, 3, (n_points, grid.n_features)),
        positives=rng.integers(0, 6, n_points),
        negatives=rng.integers(0, 6, n_points),
        grid=grid,
    )


def law_of(problem: ZeroOneProblem, beta: float) -> np.ndarray:
    """P[w minimises beta L - E], E independent exponentials, by quadrature; box order."""
    heights = beta * all_losses(problem).astype(float)
    if problem.grid.norm_budget is not None:
        heights[squared_norms(problem.grid) > problem.grid.norm_budget] = np.inf
    x = (np.arange(6000) + 0.5) * (30 / 6000)
    law = np.zeros(len(heights))
    for i in np.flatnonzero(np.isfinite(heights)):
        logs = -x
        for other in heights[(np.arange(len(heights)) != i) & np.isfinite(heights)]:
            reach = x + other - heights[i]
            with np.errstate(divide="ignore"):
                logs = logs + np.log(-np.expm1(-np.maximum(reach, 0.0)))
        law[i] = np.exp(logs).sum() * (30 / 6000)
    return law / law.sum()


def p_value(problem: ZeroOneProblem, n_draws: int, seed: int = 0, **shape: object) -> float:
    """Chi-square p-value of the search's answers, rare ones pooled."""
    law = law_of(problem, float(RATE * STEPS))
    entropy, counts = SeededEntropy(seed), np.zeros(len(law))
    for _ in range(n_draws):
        found = minimise_by_a_star(problem, RATE, STEPS, entropy=entropy, **shape)  # type: ignore[arg-type]
        counts[np.ravel_multi_index(problem.grid.indices(found), problem.grid.shape)] += 1
    order = np.argsort(-law, kind="stable")
    groups = np.floor(np.cumsum(n_draws * law[order]) / 10).astype(int)
    expected = np.bincount(groups, n_draws * law[order])
    observed = np.bincount(groups, counts[order])
    kept = expected >= 5
    observed = np.append(observed[kept], observed[~kept].sum())
    expected = np.append(expected[kept], expected[~kept].sum())
    if expected[-1] < 5:
        observed, expected = observed[:-1], expected[:-1]
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(stats.chi2.sf(statistic, len(expected) - 1))


# --- laws ----------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("ways", [2, 3, None])
@pytest.mark.parametrize("name", GRIDS)
def test_the_law_is_that_of_independent_gains_for_every_shape_of_tree(
    name: str, ways: int | None
) -> None:
    """Chi-square against quadrature, two orders of coordinates; false alarm 1e-6 per case."""
    grid = GRIDS[name]
    for seed in range(2):
        problem = small_problem(grid, seed)
        order = np.random.default_rng(seed).permutation(grid.n_features).tolist()
        for shape in (None, order):
            assert p_value(problem, 800, seed, ways=ways, order=shape) > FALSE_ALARM


@pytest.mark.statistical
def test_the_law_holds_where_many_hypotheses_tie() -> None:
    """Chi-square where all labels cancel but one row; false alarm at most 1e-6."""
    problem = ZeroOneProblem(
        points=[[1, 1, 0], [0, 1, 1]],
        positives=[3, 0],
        negatives=[3, 5],
        grid=WeightGrid.box(3, 1),
    )
    assert p_value(problem, 3000, ways=2) > FALSE_ALARM


MISTAKES = {
    "untruncated siblings": ("own = clock + exponential", "own = exponential"),
    "a child chosen regardless of its size": (
        "heir = a + below(b - a, words, state)",
        "heir = a + (b - a) * below(parts, words, state) // parts",
    ),
}


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("mistake", MISTAKES)
def test_broken_trees_are_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positive controls: the chi-square that the search passes rejects each of these."""
    problem = small_problem(WeightGrid.box(3, 1), 2, 4)
    assert p_value(problem, 8000, ways=2) > FALSE_ALARM
    source = inspect.getsource(lazy_kernels.expand.py_func)  # type: ignore[attr-defined]
    right, wrong = MISTAKES[mistake]
    assert right in source
    body = source[source.index("def expand") :].replace(right, wrong)
    scope = dict(vars(lazy_kernels))
    exec(compile(body, "broken", "exec"), scope)
    monkeypatch.setattr(lazy_kernels, "expand", numba.njit(scope["expand"], error_model="numpy"))
    assert p_value(problem, 8000, ways=2) <= FALSE_ALARM


# --- bounds and limits ---------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_without_gains_the_answer_is_a_minimiser(data: st.DataObject) -> None:
    # At a decay of 2**10 per unit every gain is 0: what is left is the search and its bounds.
    grid = GRIDS[data.draw(st.sampled_from(sorted(GRIDS)))]
    problem = small_problem(grid, data.draw(st.integers(0, 10**6)), data.draw(st.integers(0, 9)))
    found = minimise_by_a_star(
        problem,
        Fraction(1024),
        1,
        entropy=SeededEntropy(1),
        ways=data.draw(st.sampled_from([2, 3, 4, None])),
        order=data.draw(st.permutations(range(grid.n_features))),
    )
    losses = all_losses(problem)
    if grid.norm_budget is not None:
        losses = losses[squared_norms(grid) <= grid.norm_budget]
    assert problem.loss(found) == losses.min()


def test_a_cap_or_a_watch_ends_the_search_with_nothing() -> None:
    problem = small_problem(WeightGrid.box(6, 3), 0)
    with pytest.raises(NoHypothesis, match="within 3 nodes"):
        minimise_by_a_star(problem, RATE, STEPS, entropy=SeededEntropy(0), max_nodes=3)

    def watch(nodes: int, open_nodes: int) -> None:
        raise NoHypothesis(f"stopped after {nodes} with {open_nodes} open")

    with pytest.raises(NoHypothesis, match="stopped after"):
        minimise_by_a_star(
            small_problem(WeightGrid.box(9, 5), 0, 60),
            RATE,
            STEPS,
            entropy=SeededEntropy(0),
            watch=watch,
        )


def test_what_rounding_is_not_covered_for_is_refused() -> None:
    for bits, most, rate in ((63.0, 3, RATE), (9.0, 3000, RATE), (9.0, 3, Fraction(1, 2**40))):
        with pytest.raises(UnsupportedProblem, match=r"A\* sampling"):
            check_a_star(bits, most, rate)
    problem = small_problem(GRIDS["box"], 0)
    perturbed = problem.with_perturbation(
        Perturbation(blocks=((0,),), tables=(np.zeros(3, dtype=np.int64),), unit=0.5)
    )
    with pytest.raises(UnsupportedProblem, match="without a perturbation"):
        minimise_by_a_star(perturbed, RATE, STEPS, entropy=SeededEntropy(0))
