"""Alternatives of a grid: counts, members, draws and oracles against a list of them all."""

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from oracles import (
    InconsistentSolution,
    UnsupportedProblem,
    WeightGrid,
    ZeroOneProblem,
    available_oracles,
    get_oracle,
    solve,
)
from oracles.arithmetic.random_bits import SeededEntropy
from oracles.errors import InvalidProblem
from oracles.interface import HandoverOracle
from oracles.problem import LevelWeights, TabularProblem, hypothesis_at, members
from oracles.sampling import (
    check_a_star_table,
    is_sparse,
    sample_by_enumeration,
    sample_by_levels,
)
from oracles.testing.brute_force import brute_force

THREE = (-1, 0, 1)


def listed(grid):
    """Return every hypothesis, by the definition."""

    def obeys(w):
        used = (sum(any(w[j] for j in one) for one in group) for group in grid.alternatives)
        norm = sum(v * v for v in w)
        return all(n <= 1 for n in used) and (grid.norm_budget is None or norm <= grid.norm_budget)

    return [w for w in itertools.product(*grid.values) if obeys(w)]


@st.composite
def grids(draw):
    """Grids of up to six coordinates, some of which are alternatives."""
    options = [THREE, (0, 1), (-2, 0), (0,), (-1, 0, 3)]
    values = draw(st.lists(st.sampled_from(options), min_size=3, max_size=6))
    places = draw(st.permutations(range(1, len(values))))
    groups = []
    while len(places) >= 2 and draw(st.booleans()):
        sets = []
        for _ in range(draw(st.integers(2, 3))):
            size = draw(st.integers(1, 2))
            if len(places) >= size:
                sets.append(tuple(places[:size]))
                places = places[size:]
        if len(sets) >= 2:
            groups.append(tuple(sets))
    budget = draw(st.none() | st.integers(0, 12))
    return WeightGrid(values=tuple(values), alternatives=tuple(groups), norm_budget=budget)


@given(grids())
def test_counts_norms_and_members_are_those_of_the_list(grid):
    expected = listed(grid)
    norms = Counter(sum(v * v for v in w) for w in expected)
    assert grid.n_hypotheses == len(expected)
    assert grid.norm_counts() == dict(norms)
    assert grid.largest_norm == max(norms)
    inside = members(grid)
    places = range(grid.n_assignments) if inside is None else np.flatnonzero(inside).tolist()
    assert [hypothesis_at(grid, place) for place in places] == expected
    for w in itertools.product(*grid.values):
        assert grid.contains(w) == (w in set(expected))


def test_a_group_of_sets_is_counted_by_hand():
    # 3 starts; none, one of two weights in the first set (8 ways), or one in the second (2 ways).
    grid = WeightGrid(values=(THREE,) * 4, alternatives=(((1, 2), (3,)),))
    assert grid.n_hypotheses == 3 * (1 + 8 + 2) and not grid.is_box
    assert grid.contains((1, 1, -1, 0)) and not grid.contains((0, 0, 1, 1))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ((((1,),),), "groups of two sets"),
        ((((1,), ()),), "groups of two sets"),
        ((((1,), (1,)),), "each at most once"),
        ((((1,), (2,)), ((2,), (3,))), "each at most once"),
        ((((1,), (9,)),), "coordinates of the grid"),
        ((((-1,), (1,)),), "coordinates of the grid"),
        ((((0,), (1,)),), "0 among its values"),
    ],
)
def test_impossible_alternatives_are_refused_in_a_sentence(groups, words):
    with pytest.raises(InvalidProblem, match=words):
        WeightGrid(values=((1, 2), THREE, THREE, THREE), alternatives=groups)


def problem(seed=0, alternatives=(((1, 2), (3,)),), **more):
    rng = np.random.default_rng(seed)
    return ZeroOneProblem(
        points=np.column_stack([np.ones(10, dtype=int), rng.integers(0, 2, (10, 3))]),
        positives=rng.integers(0, 6, 10),
        negatives=rng.integers(0, 6, 10),
        grid=WeightGrid(values=((0, 1),) + (THREE,) * 3, alternatives=alternatives, **more),
    )


@pytest.mark.parametrize("seed", range(5))
def test_enumeration_finds_the_best_hypothesis_that_obeys(seed):
    made = problem(seed)
    objectives = brute_force(made)
    assert set(objectives) == set(listed(made.grid))
    for oracle in ("auto", "enumeration"):
        solution = solve(made, oracle)
        assert solution.certificate.primal_bound == min(objectives.values())
        assert made.grid.contains(solution.hypothesis)


@pytest.mark.parametrize("name", available_oracles())
def test_no_other_oracle_is_asked(name):
    if name != "enumeration":
        with pytest.raises(UnsupportedProblem, match="takes no alternatives .* use 'enumeration'"):
            solve(problem(), name)


def test_a_chain_of_oracles_is_not_asked_either():
    chain = HandoverOracle(get_oracle("branch-and-bound"), get_oracle("enumeration"))
    with pytest.raises(UnsupportedProblem, match="takes no alternatives"):
        solve(problem(), chain)


def test_an_oracle_that_says_it_heeds_them_and_does_not_is_caught():
    made = ZeroOneProblem(
        points=[[1, 0, 1], [1, 1, 0], [1, 1, 1], [1, 0, 0]],
        positives=[0, 0, 9, 0],
        negatives=[9, 9, 0, 9],
        grid=WeightGrid(values=(THREE,) * 3, alternatives=(((1,), (2,)),)),
    )
    honest = get_oracle("enumeration")

    class Liar:
        name, integer_arithmetic, requirement = "liar", True, "takes everything"
        takes_alternatives, supports = True, honest.supports

        def solve(self, asked, options):
            return honest.solve(replace(asked, grid=WeightGrid(values=asked.grid.values)), options)

    with pytest.raises(InconsistentSolution, match="outside the grid"):
        solve(made, Liar())


def test_samplers_that_count_otherwise_refuse_them():
    made = problem()
    with pytest.raises(UnsupportedProblem, match=r"A\* sampling takes no alternatives"):
        check_a_star_table(made, 1)
    with pytest.raises(UnsupportedProblem, match="by levels takes no alternatives"):
        sample_by_levels(made, 1.0, SeededEntropy(0), LevelWeights(shares=(1,), whole=1))
    assert is_sparse(problem(norm_budget=2, alternatives=()).grid)
    assert not is_sparse(problem(norm_budget=2).grid)


def test_a_table_of_losses_heeds_them():
    grid = problem().grid
    losses = np.arange(grid.n_assignments)[::-1].copy()
    place = TabularProblem(losses=losses, grid=grid).members()
    assert [hypothesis_at(grid, k) for k in place] == listed(grid)
    best, _ = TabularProblem(losses=losses, grid=grid).minimiser()
    assert best == listed(grid)[-1]


@pytest.mark.statistical
@pytest.mark.parametrize("budget", [None, 2])
def test_draws_from_a_list_have_the_law_of_what_is_left(budget):
    # Chi-square, 3,000 draws, false alarm 1e-6. The law of the whole box is noticed.
    made = problem(3, norm_budget=budget)
    cards = list(itertools.product(*made.grid.values))
    left = np.array([made.grid.contains(card) for card in cards])
    free = ZeroOneProblem(
        points=made.points,
        positives=made.positives,
        negatives=made.negatives,
        grid=WeightGrid(values=made.grid.values),
    )
    loss, entropy = np.array([free.loss(card) for card in cards]), SeededEntropy(5)
    drawn = [sample_by_enumeration(made, Fraction(1, 5), entropy) for _ in range(3000)]
    assert {bound for _, bound in drawn} == {0.0}
    counts = Counter(card for card, _ in drawn)
    seen = np.array([counts[card] for card in cards])
    assert seen[~left].sum() == 0

    def agrees(among):
        weights = np.exp(-(loss - loss.min()) / 5) * among
        kept = weights > 0
        law = weights[kept] / weights.sum()
        total = seen[kept].sum()
        return stats.chisquare(seen[kept], total * law).pvalue > 1e-6

    assert agrees(left)
    assert not agrees(np.ones(len(cards), dtype=bool))
