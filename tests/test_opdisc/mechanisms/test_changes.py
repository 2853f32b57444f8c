"""Draws around a public card: their candidates, their law, and what it takes for granted."""

import itertools

import numpy as np
import pytest
from helpers.oracles.first_head import first_head_law
from scipy import stats

from opdisc.errors import CalibrationError
from opdisc.mechanisms import PublicCard, StagedMechanism
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams, SeededEntropy
from oracles import WeightGrid, ZeroOneProblem

CARD = (-1, 2, 0, -3)
ROWS = list(itertools.product((0, 1), repeat=3))


def grid_of(card, low=-9, high=99):
    near = ([p for p in (c - 1, c, c + 1) if low <= p <= high] for c in card[1:])
    return WeightGrid(values=(tuple(range(card[0] - 2, card[0] + 3)), *map(tuple, near)))


def public(card=CARD, epsilon=1.0, n_rows=6):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid_of(card),
        n_rows=n_rows,
    )


def drawing(card=CARD, **settings):
    around = PublicCard(points=card, source="given points")
    return StagedMechanism(around=around, **settings)


def problem(rows, card=CARD):
    """The table of (row, is positive) as a problem."""
    points = np.array([(1, *row) for row in ROWS])
    counts = [[rows.count((row, label)) for row in ROWS] for label in (True, False)]
    return ZeroOneProblem(
        points=points, positives=counts[0], negatives=counts[1], grid=grid_of(card)
    )


def candidates(cards):
    """Every candidate with its size, listed without the walk."""
    for moves in itertools.product(*((0, *signs) for signs in cards.signs)):
        size = sum(map(abs, moves))
        if size <= cards.most:
            low, high = cards.starts[size]
            for shift in range(low, high + 1):
                yield size, tuple(np.add(cards.centre, (shift, *moves)).tolist())


def law(rows, mechanism, card=CARD, public_of=None):
    """The exact law of a release, by listing all candidates."""
    spec = mechanism.calibrate(public_of or public(card))
    cards, made = spec.stages.first, problem(rows, card)
    sizes, listed = zip(*candidates(cards), strict=True)
    weights = np.array([cards.factors[size] for size in sizes], dtype=float)
    losses = np.array([made.loss(one) for one in listed])
    if mechanism.is_exponential:
        found = weights * np.exp(-float(spec.beta) * losses)
        return dict(zip(listed, found / found.sum(), strict=True))
    return dict(zip(listed, first_head_law(losses, float(spec.beta), weights), strict=True))


TABLE = [
    (ROWS[k], label) for k, label in ((0, True), (3, False), (4, True), (4, True), (7, False))
]
FARTHEST = [[(row, label), *TABLE[1:]] for row in (ROWS[0], ROWS[4]) for label in (False, True)]


@pytest.mark.parametrize("is_exponential", [False, True])
def test_no_replaced_row_moves_the_law_by_more_than_epsilon(is_exponential):
    mechanism = drawing(is_exponential=is_exponential)
    before, largest = law(TABLE, mechanism), 0.0
    for other in FARTHEST:
        after = law(other, mechanism)
        ratios = [abs(np.log(before[w] / after[w])) for w in before]
        largest = max(largest, *ratios)
    assert 0.4 < largest <= 1 + 1e-6
    # The control: four times this epsilon would be refuted.
    twice = public(epsilon=4.0)
    one, other = (law(rows, mechanism, public_of=twice) for rows in (TABLE, FARTHEST[0]))
    assert max(abs(np.log(one[w] / other[w])) for w in one) > 1


def test_a_start_that_knows_the_rows_breaks_the_promise():
    # The control: the same draw around a card that follows the rows' majority.
    other = [(TABLE[0][0], False), *TABLE[1:]]

    def around(rows):
        card = (2 if 2 * sum(label for _, label in rows) > len(rows) else -2, 0, 0, 0)
        return law(rows, drawing(card), card)

    one, two = around(TABLE), around(other)
    assert max(one[w] for w in one if w not in two) > 0.01  # a card that tells the two apart


@pytest.mark.statistical
@pytest.mark.parametrize("is_exponential", [False, True])
def test_draws_have_the_listed_law(is_exponential):
    # Chi-square over cells of five expected draws, 1,000 draws, false alarm 1e-6.
    mechanism = drawing(is_exponential=is_exponential)
    spec, made, expected = mechanism.calibrate(public()), problem(TABLE), law(TABLE, mechanism)
    entropy = SeededEntropy(3)
    names = {card: k for k, card in enumerate(expected)}
    seen = np.zeros(len(names))
    for _ in range(1000):
        seen[names[mechanism.draw(made, spec, entropy)]] += 1
    mass = 1000 * np.array(list(expected.values()))
    few = mass < 5
    mass, seen = (np.append(v[~few], v[few].sum()) for v in (mass, seen))
    assert stats.chisquare(seen, mass / mass.sum() * 1000).pvalue > 1e-6


@pytest.mark.parametrize("card", [CARD, (0, 0), (5,), (0, *range(30))])
def test_more_than_half_of_the_mass_is_on_the_card_itself(card):
    cards = drawing(card).calibrate(public(card, n_rows=500)).stages.first
    assert cards.starts[0] == (0, 0) and cards.counts[0] == 1
    masses = [n * factor for n, factor in zip(cards.counts, cards.factors, strict=True)]
    assert 2 * masses[0] > sum(masses)
    assert all(one == 2 * two for one, two in itertools.pairwise(masses))


def test_patience_bounds_the_changes_and_no_bound_is_left():
    card = (0, *range(30))
    most = [drawing(card, patience=s).calibrate(public(card, n_rows=5000)).stages.first.most
            for s in (0.01, 1.0, 30.0)]  # fmt: skip
    assert most == sorted(most) and 1 <= most[0] < most[-1] <= 7
    spec = drawing((0, 2)).calibrate(public((0, 2)))
    assert spec.stages.first.signs == ((1, -1),)
    narrow = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid_of((0, 2), high=2),
        n_rows=9,
    )
    assert drawing((0, 2)).calibrate(narrow).stages.first.signs == ((-1,),)


def test_what_has_no_such_draw_is_refused():
    with pytest.raises(CalibrationError, match="with the start in it"):
        drawing((0, 0, 0, 9)).calibrate(public())
    with pytest.raises(CalibrationError, match="around a start only"):
        StagedMechanism(is_exponential=True)
