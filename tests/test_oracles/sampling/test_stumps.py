"""Decision stumps: cards that say what was drawn, and draws against the exact law."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from oracles import WeightGrid, ZeroOneProblem
from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.sampling.staged_points import BinaryPoints
from oracles.sampling.stumps import Stumps, draw_stump, stump_card

ANSWERS = tuple(itertools.product((False, True), repeat=2))


def made(seed, n_columns=3, n_points=12):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, (n_points, n_columns))
    return BinaryPoints.of(
        ZeroOneProblem(
            points=np.column_stack([np.ones(n_points, dtype=int), columns]),
            positives=rng.integers(0, 4, n_points),
            negatives=rng.integers(0, 4, n_points),
            grid=WeightGrid.box(1 + n_columns, 1),
        )
    )


@pytest.mark.parametrize("answers", ANSWERS)
@pytest.mark.parametrize("column", [0, 2])
def test_the_card_gives_the_answers_of_its_column(answers, column):
    points = made(0)
    says_plus = points.scores(stump_card(3, column, answers)) >= 1
    assert (says_plus == np.where(points.columns[column] == 1, answers[1], answers[0])).all()
    assert max(map(abs, stump_card(3, column, answers))) <= 1


@pytest.mark.statistical
def test_draws_follow_the_law_of_two_independent_choices():
    # Chi-square against enumeration, 4,000 draws, false alarm 1e-6; a temperature that is off by
    # half, and one that looks at no row, would be noticed (positive controls).
    points, beta = made(5), Fraction(1, 4)
    stumps = Stumps(columns=(0, 2))

    def law(temperature):
        found = {}
        for column, answers in itertools.product(stumps.columns, ANSWERS):
            chance = 1 / len(stumps.columns)
            for side in (0, 1):
                # What the answer costs more than the other one, from whole cards' losses.
                other = tuple(a ^ (s == side) for s, a in enumerate(answers))
                gap = points.loss(stump_card(3, column, answers))
                gap -= points.loss(stump_card(3, column, other))
                worse = math.exp(-temperature * abs(gap)) / 2
                chance *= worse if gap > 0 else 1 - worse
            card = stump_card(3, column, answers)
            found[card] = found.get(card, 0.0) + chance
        return found

    bits = RandomBits(SeededEntropy(3))
    drawn = [draw_stump(points, stumps, beta, bits) for _ in range(4000)]
    names = {card: k for k, card in enumerate(law(0.25))}
    seen = np.bincount([names[card] for card in drawn], minlength=len(names))
    assert len(names) == 6  # the two constant cards come from both columns

    def agrees(temperature):
        expected = np.array(list(law(temperature).values())) * 4000
        assert expected.sum() == pytest.approx(4000) and expected.min() >= 5
        return bool(stats.chisquare(seen, expected).pvalue > 1e-6)

    assert agrees(0.25)
    assert not agrees(0.375)
    assert not agrees(0.0)


def test_a_table_without_rows_is_decided_by_coins():
    empty = ZeroOneProblem(
        points=np.ones((1, 2), dtype=int),
        positives=np.array([0]),
        negatives=np.array([0]),
        grid=WeightGrid.box(2, 1),
    )
    bits = RandomBits(SeededEntropy(1))
    drawn = {
        draw_stump(BinaryPoints.of(empty), Stumps(columns=(0,)), Fraction(5), bits)
        for _ in range(100)
    }
    assert drawn == {stump_card(1, 0, answers) for answers in ANSWERS}


def test_stumps_need_a_column():
    with pytest.raises(ValueError, match="needs a column"):
        Stumps(columns=())
