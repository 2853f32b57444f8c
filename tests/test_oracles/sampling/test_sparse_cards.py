"""Sparse cards: counts, members and draws against a list of them all."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from helpers.oracles.first_head import first_head_law
from scipy import stats

from oracles import UnsupportedProblem, WeightGrid, ZeroOneProblem
from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.problem.perturbation import Perturbation
from oracles.sampling import staged_points as points_module
from oracles.sampling.sparse_cards import (
    CardWalk,
    SparseCards,
    draw_sparse_card,
    draw_weighed_card,
)
from oracles.sampling.staged_points import BinaryPoints

BOTH = (1, -1)


def points(seed, n_columns, n_points=14, largest=5, times=1):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, (n_points, n_columns))
    return BinaryPoints.of(
        ZeroOneProblem(
            points=np.column_stack([np.ones(n_points, dtype=int), columns]),
            positives=times * rng.integers(0, largest, n_points),
            negatives=times * rng.integers(0, largest, n_points),
            grid=WeightGrid.box(1 + n_columns, 9),
        )
    )


def listed(cards):
    """Every card with its size, in no particular order."""
    centre = cards.centre or (0,) * (1 + len(cards.signs))
    for weights in itertools.product(*((0, *signs) for signs in cards.signs)):
        size = sum(1 for weight in weights if weight)
        used = [[any(weights[j] for j in one) for one in group] for group in cards.alternatives]
        if size <= cards.most and all(sum(group) <= 1 for group in used):
            low, high = cards.starts[size]
            for start in range(low, high + 1):
                yield size, tuple(map(sum, zip(centre, (start, *weights), strict=True)))


CARDS = [
    SparseCards(signs=(BOTH,) * 4, starts=((-2, 2),) * 5),
    SparseCards(
        signs=(BOTH, (1,), (), (-1,), BOTH, BOTH), starts=((-3, 3), (-2, 3), (0, 1), (0, 0))
    ),
    SparseCards(signs=(BOTH,) * 6, starts=((-1, 2),) * 6, shares=(1, 2, 0, 1, 3, 1)),
    SparseCards(signs=(), starts=((-1, 1),), shares=(1,)),
    SparseCards(signs=(BOTH,) * 3, starts=((-1, 0), (-1, 1))),
    SparseCards(
        signs=(BOTH,) * 5,
        starts=((0, 0), (-1, 1), (-1, 2), (-1, 1), (0, 1)),
        shares=(1, 2, 4, 2, 4),
        centre=(-2, 3, 0, -1, 5, 2),
    ),
    SparseCards(
        signs=(BOTH, (1,), (), (-1,), BOTH, BOTH),
        starts=((-3, 3), (-2, 3), (0, 1)),
        centre=(1, 0, 2, -4, 1, 1, -1),
    ),
    SparseCards(signs=(), starts=((-1, 1),), shares=(1,), centre=(2,)),
    SparseCards(
        signs=(BOTH, (1,), BOTH, (-1,), BOTH, BOTH),
        starts=((-1, 2),) * 5,
        shares=(1, 2, 4, 8, 16),
        alternatives=(((0, 3), (1,), (5,)),),
    ),
    SparseCards(
        signs=(BOTH, (), BOTH, BOTH, BOTH, (1,), BOTH),
        starts=((0, 1),) * 8,
        alternatives=(((6,), (0, 1)), ((2, 3), (4, 5))),
    ),
    # All columns are alternatives: no card has two points, and sizes beyond are empty.
    SparseCards(
        signs=(BOTH,) * 4,
        starts=((-1, 1),) * 4,
        shares=(1, 2, 4, 8),
        alternatives=(((0,), (1,), (2,), (3,)),),
    ),
]


@pytest.mark.parametrize("cards", CARDS)
@pytest.mark.parametrize(
    "seed",
    [0, *(pytest.param(seed, marks=[pytest.mark.long, pytest.mark.slow]) for seed in (1, 2))],
)
def test_every_card_is_counted_at_its_loss_and_found_once(cards, seed):
    made = points(seed, len(cards.signs))
    everything = list(listed(cards))
    walk = CardWalk(made, cards)
    for size in range(cards.most + 1):
        members = [card for s, card in everything if s == size]
        assert cards.counts[size] == len(members)
        losses = np.array([made.loss(card) for card in members], dtype=int)
        counts = walk.count(size)
        assert (counts == np.bincount(losses, minlength=made.total + 1)).all()
        for level in np.flatnonzero(counts):
            found = {walk.find(size, int(level), rank) for rank in range(counts[level])}
            assert found == {c for c, loss in zip(members, losses, strict=True) if loss == level}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("cards", CARDS)
@pytest.mark.parametrize(("most", "times"), [(3, 1), (0, 1), (10**4, 10**3), (10**4, 10**13)])
def test_losses_beyond_the_last_level_count_at_it(cards, most, times, monkeypatch):
    monkeypatch.setattr(points_module, "MOST_LEVELS", most)
    monkeypatch.setattr(points_module, "LEVELS_BEYOND", most)
    made = points(1, len(cards.signs), times=times)
    # A size of weight 0 is never drawn, and not counted then.
    weighs = [cards.shares is None or cards.shares[k] > 0 for k in range(cards.most + 1)]
    everything = [(size, card) for size, card in listed(cards) if weighs[size]]
    losses = np.array([made.loss(card) for _, card in everything])
    walk = CardWalk(made, cards)
    assert walk.least == losses.min() and made.total > most
    counts = walk.all_counts()
    for size in range(cards.most + 1):
        expected = [
            min(int(loss) - walk.least, most)
            for loss, (s, _) in zip(losses, everything, strict=True)
            if s == size
        ]
        assert (counts[size] == np.bincount(expected, minlength=most + 1)).all()
        found = {
            walk.find(size, int(level), rank)
            for level in np.flatnonzero(counts[size])
            for rank in range(counts[size][level])
        }
        assert found == {card for s, card in everything if s == size}


def test_a_centre_and_alternatives_exclude_each_other():
    with pytest.raises(UnsupportedProblem, match="a centre or alternatives, not both"):
        SparseCards(
            signs=(BOTH,) * 2, starts=((0, 0),), centre=(0, 0, 0), alternatives=(((0,), (1,)),)
        )


def test_counts_beyond_single_precision_stay_exact():
    rng = np.random.default_rng(4)
    columns = rng.integers(0, 2, (12, 4))
    made = BinaryPoints.of(
        ZeroOneProblem(
            points=np.column_stack([np.ones(12, dtype=int), columns]),
            positives=rng.integers(2**20, 2**21, 12),
            negatives=rng.integers(2**20, 2**21, 12),
            grid=WeightGrid.box(5, 1),
        )
    )
    cards = SparseCards(signs=(BOTH,) * 4, starts=((-1, 1),) * 4)
    assert made.total > 2**24
    expected = sorted(made.loss(card) for size, card in listed(cards) if size == 3)
    counts = CardWalk(made, cards).count(3)
    assert np.repeat(np.flatnonzero(counts), counts[counts > 0]).tolist() == expected


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("which", [0, 1, 2, 5, 6, 8])
@pytest.mark.parametrize(("most", "times"), [(10**6, 1), (2, 1), (10**4, 10**10)])
def test_draws_follow_the_target_law(which, most, times, monkeypatch):
    # Chi-square against enumeration, 1,500 draws, false alarm 1e-6 each; and it would notice a
    # temperature that is off by half, or another weight of the sizes (positive controls).
    monkeypatch.setattr(points_module, "MOST_LEVELS", most)
    monkeypatch.setattr(points_module, "LEVELS_BEYOND", most)
    cards, beta = CARDS[which], Fraction(1, 4 * times)
    made = points(7, len(cards.signs), times=times)
    everything = list(listed(cards))
    sizes = np.array([size for size, _ in everything])
    names = {card: k for k, (_, card) in enumerate(everything)}
    losses = np.array([made.loss(card) for _, card in everything]) // times
    bits = RandomBits(SeededEntropy(which))
    drawn = [names[draw_sparse_card(made, cards, beta, bits)] for _ in range(1500)]
    factors = np.array(cards.factors, dtype=float)[sizes]

    def agrees(weights):
        # Cells of at least five expected draws: loss and size.
        cells = np.unique(np.column_stack([losses, sizes]), axis=0, return_inverse=True)[1].ravel()
        law = np.bincount(cells, weights=weights / weights.sum()) * 1500
        seen = np.bincount(cells[drawn], minlength=len(law)).astype(float)
        few = law < 5
        law = np.append(law[~few], law[few].sum())
        seen = np.append(seen[~few], seen[few].sum())
        kept = law > 0
        assert not seen[~kept].any()
        return bool(stats.chisquare(seen[kept], law[kept]).pvalue > 1e-6)

    assert agrees(first_head_law(losses, 0.25, factors))
    assert not agrees(first_head_law(losses, 0.375, factors))
    if cards.shares is not None:
        assert not agrees(first_head_law(losses, 0.25))


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("most", [10**6, 2])
def test_weighed_draws_follow_the_law_of_gibbs(most, monkeypatch):
    # Chi-square over cards by loss and size, 1,500 draws, false alarm 1e-6.
    monkeypatch.setattr(points_module, "MOST_LEVELS", most)
    monkeypatch.setattr(points_module, "LEVELS_BEYOND", most)
    cards, made = CARDS[5], points(7, 5)
    everything = list(listed(cards))
    names = {card: k for k, (_, card) in enumerate(everything)}
    sizes = np.array([size for size, _ in everything])
    losses = np.array([made.loss(card) for _, card in everything])
    bits = RandomBits(SeededEntropy(1))
    drawn = [names[draw_weighed_card(made, cards, Fraction(1, 4), bits)] for _ in range(1500)]
    cells = np.unique(np.column_stack([losses, sizes]), axis=0, return_inverse=True)[1].ravel()

    def agrees(beta):
        law = np.array(cards.factors, dtype=float)[sizes] * np.exp(-beta * losses)
        expected = np.bincount(cells, weights=law / law.sum()) * 1500
        seen, few = np.bincount(cells[drawn], minlength=len(expected)), expected < 5
        expected = np.append(expected[~few], expected[few].sum())
        return stats.chisquare(np.append(seen[~few], seen[few].sum()), expected).pvalue > 1e-6

    assert agrees(0.25) and not agrees(0.125)


@pytest.mark.statistical
def test_cards_of_one_loss_are_equally_likely():
    # Chi-square over all 51 cards, 2,000 draws at beta 0, false alarm 1e-6.
    cards = SparseCards(signs=(BOTH,) * 4, starts=((0, 0), (0, 0), (-1, 0)))
    made = points(3, 4)
    names = {card: k for k, (_, card) in enumerate(listed(cards))}
    bits = RandomBits(SeededEntropy(2))
    seen = [names[draw_sparse_card(made, cards, Fraction(0), bits)] for _ in range(2000)]
    assert stats.chisquare(np.bincount(seen, minlength=len(names))).pvalue > 1e-6


def test_points_are_merged_and_what_does_not_fit_is_refused():
    grid = WeightGrid.box(2, 1)
    good = {"points": [[1, 0], [1, 1], [1, 1], [1, 0]], "positives": [1, 2, 0, 1]}
    merged = BinaryPoints.of(ZeroOneProblem(**good, negatives=[2, 0, 1, 0], grid=grid))
    assert merged.columns.tolist() == [[1]] and merged.costs.tolist() == [-1]
    assert merged.base == 4 and merged.total == 7 and merged.loss((0, 1)) == 3
    bad = [
        {"points": [[1, 2]], "positives": [1], "negatives": [0]},
        {"points": [[0, 1]], "positives": [1], "negatives": [0]},
        {"points": [[1, 1]], "positives": [-1], "negatives": [0]},
        {"points": [[1, 1]], "positives": [2**53], "negatives": [1]},
        {
            "points": [[1, 1]],
            "positives": [1],
            "negatives": [0],
            "perturbation": Perturbation(
                blocks=((0,),), tables=(np.zeros(3, dtype=np.int64),), unit=1.0
            ),
        },
    ]
    for wrong in bad:
        with pytest.raises(UnsupportedProblem, match="staged draws take 0/1 points"):
            BinaryPoints.of(ZeroOneProblem(**wrong, grid=grid))
