"""Private quantiles: the exact law, what one row changes at most, and that nothing else does."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from helpers.opdisc.threshold_laws import below, law
from hypothesis import given, settings, strategies as st
from scipy import stats

from opdisc.mechanisms.composition.quantiles import draw_cuts, levels, plan_cuts, rank_errors
from opdisc.privacy import NeighboringRelation, SeededEntropy
from oracles.arithmetic import RandomBits

REPLACE, ADD = NeighboringRelation
FALSE_ALARM = 1e-6
RELATIONS = pytest.mark.parametrize("relation", NeighboringRelation)


def neighbours(column, n_candidates, relation):
    """Columns with one row replaced, or one row less; the order of rows does not matter."""
    for index in range(len(column)):
        rest = column[:index] + column[index + 1 :]
        if relation is ADD:
            yield rest
        else:
            yield from (rest + (place,) for place in range(n_candidates + 1))
            yield rest  # the other row has no number


def largest_loss(cuts, n_candidates, n_rows, relation):
    """Return the largest log-ratio of an outcome's chances over all neighbouring columns."""
    laws = {}

    def law_of(column):
        key = tuple(sorted(column))
        if key not in laws:
            laws[key] = law(cuts, below(key, n_candidates))
        return laws[key]

    worst = 0.0
    for column in itertools.combinations_with_replacement(range(n_candidates + 1), n_rows):
        here = law_of(column)
        for other in neighbours(column, n_candidates, relation):
            there = law_of(other)
            worst = max(worst, max(abs(here[k] - there[k]) for k in here))
    return worst


@RELATIONS
@pytest.mark.parametrize(
    ("quantiles", "n_candidates", "n_rows"),
    [(1, 3, 4), (1, 2, 7), (2, 3, 4), (3, 4, 4), (4, 5, 3), (5, 5, 3), (7, 7, 2)],
)
def test_no_neighbour_changes_a_chance_by_more_than_epsilon(
    relation, quantiles, n_candidates, n_rows
):
    for epsilon in (Fraction(1, 3), Fraction(4)):
        cuts = plan_cuts(quantiles, epsilon, relation, 1)
        assert largest_loss(cuts, n_candidates, n_rows, relation) <= float(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(("relation", "least"), [(REPLACE, 0.93), (ADD, 0.99)])
def test_the_median_spends_nearly_all_of_epsilon(relation, least):
    cuts = plan_cuts(1, Fraction(4), relation, 1)
    assert largest_loss(cuts, 2, 8, relation) > 4 * least


# Four heaps of rows: the row that moves counts on both levels.
SPLIT = [1] * 6 + [3] * 6 + [4] * 6 + [6] * 6


@RELATIONS
def test_half_the_noise_would_break_the_promise_of_several_thresholds(relation):
    moved = [1] * 5 + [3] * 6 + [4] * 6 + [6] * 7 if relation is REPLACE else SPLIT[1:]

    def loss(epsilon):
        cuts = plan_cuts(3, epsilon, relation, 1)
        first, second = (law(cuts, below(column, 6)) for column in (SPLIT, moved))
        return max(abs(first[k] - second[k]) for k in first)

    assert 0.6 * 4 < loss(Fraction(4)) <= 4
    assert loss(Fraction(8)) > 4


@RELATIONS
@given(quantiles=st.integers(1, 64), rows=st.integers(1, 5))
def test_the_shares_on_every_path_add_up_to_epsilon(relation, quantiles, rows):
    epsilon = Fraction(0.3)
    cuts = plan_cuts(quantiles, epsilon, relation, rows)
    assert sorted(cut.middle for cut in cuts) == list(range(1, quantiles + 1))
    for target in range(1, quantiles + 1):
        own = next(c for c in cuts if c.middle == target)
        path = [c for c in cuts if c.first <= own.first and own.last <= c.last]
        assert len(path) <= levels(quantiles) == math.ceil(math.log2(quantiles + 1))
        costs = []
        for cut in path:
            one_row = cut.rate * rows * 2 * max(cut.below, cut.above)
            if relation is ADD:
                costs.append(one_row)
            elif cut is cuts[0]:  # both rows are in the first part
                costs.append(cut.rate * rows * 2 * (cut.below + cut.above))
            else:  # they may be in two parts of the same level
                costs.append(2 * one_row)
        leaf = path[-1]
        if leaf.first == leaf.last:
            assert sum(costs) == epsilon
        assert sum(costs) <= epsilon


@pytest.mark.statistical
@pytest.mark.parametrize("quantiles", [1, 2, 3])
def test_draws_follow_the_exact_law(quantiles):
    """Chi-square against the listed law; false alarm 1e-6 each."""
    column = [0, 0, 1, 1, 1, 2, 4, 4, 4, 4, 4, 5]
    cuts = plan_cuts(quantiles, Fraction(3), REPLACE, 1)
    expected = {k: math.exp(v) for k, v in law(cuts, below(column, 5)).items()}
    assert math.isclose(sum(expected.values()), 1.0)
    bits, draws = RandomBits(SeededEntropy(5)), 6_000
    found = Counter(draw_cuts(cuts, below(column, 5), bits) for _ in range(draws))
    assert set(found) <= set(expected)
    kinds = sorted(expected, key=expected.get)
    observed = np.array([found[k] for k in kinds])
    chances = np.array([expected[k] for k in kinds]) * draws
    while chances[0] < 10:  # merge the rarest
        observed, chances = (np.r_[a[0] + a[1], a[2:]] for a in (observed, chances))
    assert stats.chisquare(observed, chances).pvalue > FALSE_ALARM


def test_a_wrong_rate_would_be_noticed():
    column = [0, 0, 1, 1, 1, 2, 4, 4, 4, 4, 4, 5]
    right, wrong = (plan_cuts(1, Fraction(e), REPLACE, 1) for e in (3, 4))
    chances = {k: math.exp(v) for k, v in law(right, below(column, 5)).items()}
    bits = RandomBits(SeededEntropy(5))
    found = Counter(draw_cuts(wrong, below(column, 5), bits) for _ in range(6_000))
    kinds = [k for k in chances if chances[k] * 6_000 > 10]
    observed = np.array([found[k] for k in kinds])
    expected = np.array([chances[k] for k in kinds])
    expected *= observed.sum() / expected.sum()
    assert stats.chisquare(observed, expected).pvalue < FALSE_ALARM


@settings(max_examples=60, deadline=None)
@given(
    quantiles=st.integers(1, 9),
    spare=st.integers(0, 6),
    column=st.lists(st.integers(0, 15), max_size=30),
    epsilon=st.sampled_from([1e-100, 0.01, 1.0, 1e300]),
    seed=st.integers(0, 1000),
)
def test_thresholds_are_increasing_and_distinct_on_every_column(
    quantiles, spare, column, epsilon, seed
):
    n = quantiles + spare
    cuts = plan_cuts(quantiles, Fraction(epsilon), REPLACE, 2)
    ranks = below([min(place, n) for place in column], n)
    drawn = draw_cuts(cuts, ranks, RandomBits(SeededEntropy(seed)))
    assert len(drawn) == quantiles and drawn[0] >= 0 and drawn[-1] < n
    assert all(a < b for a, b in itertools.pairwise(drawn))


def test_much_budget_finds_the_quantiles():
    column = np.repeat(np.arange(100), 7)  # seven rows below each candidate of 1..100
    cuts = plan_cuts(4, Fraction(1000), REPLACE, 1)
    drawn = draw_cuts(cuts, below(column, 100), RandomBits(SeededEntropy(0)))
    assert drawn == (19, 39, 59, 79)  # candidates 20, 40, 60, 80


def test_the_law_looks_at_ranks_alone():
    """Values between the same two candidates are one value; so no value can show."""
    assert below([0, 0, 3], 4).tolist() == [2, 2, 2, 3, 3]


@RELATIONS
def test_ranks_are_rarely_further_off_than_is_said(relation):
    """On a column where candidates are evenly filled; at most 5% and 20 draws of 1,000 more."""
    column = np.repeat(np.arange(50), 40)
    ranks = below(column, 50)
    cuts = plan_cuts(3, Fraction(1), relation, 1)
    most = rank_errors(cuts, 50, 0.05)
    bits, off = RandomBits(SeededEntropy(1)), 0
    for _ in range(1000):
        drawn = draw_cuts(cuts, ranks, bits)
        wanted = [len(column) * k / 4 for k in (1, 2, 3)]
        off += any(abs(ranks[p] - w) > most + 40 for p, w in zip(drawn, wanted, strict=True))
    assert off <= 70


@RELATIONS
def test_parts_never_leave_a_draw_less_than_all_rows_would(relation):
    """Against m draws from all rows at epsilon / m, pairwise sensitivity 2 or 2 max(q, 1 - q)."""
    for quantiles in range(1, 65):
        for cut in plan_cuts(quantiles, Fraction(1), relation, 1):
            share = Fraction(cut.middle, quantiles + 1)
            moves = 2 if relation is REPLACE else 2 * max(share, 1 - share)
            assert cut.rate * (cut.below + cut.above) >= Fraction(1, quantiles) / moves
