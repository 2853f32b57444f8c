"""Loss levels, draw by draw: boundaries to the last bit, and what a listed exponent may be off."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.errors import InconsistentSolution, InvalidOption, UnsupportedProblem
from oracles.problem.grid import WeightGrid
from oracles.problem.product_weights import LogWeights
from oracles.problem.zero_one import ZeroOneProblem
from oracles.sampling import listed
from oracles.sampling.listed import draw_level, draw_listed, sample_by_enumeration


class Scripted:
    """Bits as written down; asking for more of them than that is an error."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.asked: list[int] = []

    def integer(self, bits: int) -> int:
        self.asked.append(bits)
        return self.answers.pop(0)


LEVELS, COUNTS, BETA = (3, 4, 6, 9, 11, 12, 30), (3, 1, 7, 20, 5, 9, 10**6), Fraction(1, 3)


def weights() -> list[mpmath.mpf]:
    """The levels' weights relative to one hypothesis of the lowest."""
    return [
        count * mpmath.exp(-mpmath.mpf(BETA.numerator) * (level - LEVELS[0]) / BETA.denominator)
        for level, count in zip(LEVELS, COUNTS, strict=True)
    ]


def boundary(level: int, bits: int) -> int:
    """The binary digits of the chance of a level up to this one."""
    with mpmath.workprec(3000):
        shares = weights()
        return int(sum(shares[: level + 1]) / sum(shares) * mpmath.mpf(2) ** bits)


@pytest.mark.parametrize("level", range(len(LEVELS) - 1))
def test_boundaries_between_levels_are_exact(level: int) -> None:
    digits = boundary(level, 512)
    first, second, third = digits >> 384, (digits >> 256) % 2**128, digits % 2**256
    near = 2**40  # units: enough for the enclosures' own width, far below any level's share
    assert draw_level(LEVELS, COUNTS, BETA, Scripted(first - near)) == level
    assert draw_level(LEVELS, COUNTS, BETA, Scripted(first + near)) == level + 1
    for step, expected in ((-near, level), (near, level + 1)):
        bits = Scripted(first, second + step)
        assert draw_level(LEVELS, COUNTS, BETA, bits) == expected
        assert bits.asked == [128, 128]
        bits = Scripted(first, second, third + step)
        assert draw_level(LEVELS, COUNTS, BETA, bits) == expected
        assert bits.asked == [128, 128, 256]


def test_the_first_and_the_last_draw_belong_to_the_first_and_the_last_level() -> None:
    assert draw_level(LEVELS, COUNTS, BETA, Scripted(0)) == 0
    assert draw_level(LEVELS, COUNTS, BETA, Scripted(2**128 - 2**40)) == len(LEVELS) - 1


def test_rational_boundaries_need_no_further_bit() -> None:
    def drawn(counts: tuple[int, int], *answers: int) -> tuple[int, list[int]]:
        bits = Scripted(*answers)
        return draw_level((0, 1), counts, Fraction(0), bits), bits.asked

    assert drawn((1, 1), 2**127 - 1) == (0, [128])
    assert drawn((1, 1), 2**127) == (1, [128])
    # One third is no binary fraction: the draw that holds it is undecided.
    third = 2**128 // 3
    assert drawn((1, 2), third - 1) == (0, [128])
    assert drawn((1, 2), third + 1) == (1, [128])
    assert drawn((1, 2), third, 0) == (0, [128, 128])
    assert drawn((1, 2), third, 2**128 - 1) == (1, [128, 128])


@pytest.mark.parametrize("precision", [128, 256])
def test_cumulated_weights_enclose_the_truth_tightly(precision: int) -> None:
    table = listed._cumulated(LEVELS, COUNTS, BETA, precision)
    assert table.low[0] == table.high[0] == COUNTS[0] << precision
    assert (table.total_low, table.total_high) == (table.low[-1], table.high[-1])
    with mpmath.workprec(3000):
        shares = weights()
        for place, (low, high) in enumerate(zip(table.low, table.high, strict=True)):
            assert low <= sum(shares[: place + 1]) * mpmath.mpf(2) ** precision <= high
            assert high - low <= 20 * sum(COUNTS[: place + 1])


def test_levels_too_light_for_the_precision_are_one_tail() -> None:
    table = listed._cumulated((0, 1, 400, 500), (2, 3, 5, 7), Fraction(1), 128)
    assert len(table.low) == len(table.high) == 2
    assert table.total_low == table.low[-1]
    assert table.total_high == table.high[-1] + 5 + 7
    # Between one and two units a level is still told apart: 2**8 e**-5 is 1.7.
    assert len(listed._cumulated((0, 5), (1, 1), Fraction(1), 8).low) == 2
    assert len(listed._cumulated((0, 6), (1, 1), Fraction(1), 8).low) == 1


class Answers:
    """Bits whose trials end as written down."""

    def __init__(self, *trials: bool) -> None:
        self.trials, self.excesses = list(trials), []

    def integer(self, bits: int) -> int:
        return 0

    def below(self, bound: int) -> int:
        return 0

    def exponential_trial(self, excess: Fraction) -> bool:
        self.excesses.append(excess)
        return self.trials.pop(0)


MARGIN = 2.0**-20


def listed_draw(given: float, exact: Fraction, other: float, bits: object = None) -> object:
    """Draw from two exponents, the second one far too large ever to be drawn."""
    exponents = np.array([given, other])
    values = [exact, Fraction(other)]
    return draw_listed(
        exponents, lambda k: (("first", "other")[k], values[k]), bits or Answers(True)
    )


@pytest.mark.parametrize("base", [0.0, -(2.0**30)])
@pytest.mark.parametrize("small", [True, False])
def test_exponents_may_be_off_by_what_is_promised_and_no_more(base: float, small: bool) -> None:
    """Within 2**-20 plus 2**-46 of the largest magnitude, either way, at the edge of a level."""
    other = base + 100.0 if small else 2.0**30
    largest = max(other, -base)
    margin = MARGIN + 2.0**-46 * largest
    edge = base + 1.0
    unit = Fraction(margin)

    def released(given: float, exact: Fraction) -> bool:
        try:
            return listed_draw(given, exact, other) == "first"
        except InconsistentSolution:
            return False

    # Given above the truth: the level may not lie above it.
    assert released(edge + 0.6 * margin, Fraction(edge) - unit * Fraction(35, 100))
    assert not released(edge + 1.2 * margin, Fraction(edge) - unit * Fraction(3, 10))
    assert released(edge + margin, Fraction(edge))
    # Given below the truth: four margins are let pass, for the floats' own rounding.
    top = edge + 0.125 - margin / 8 + margin
    above = Fraction(edge) + Fraction(1, 8)
    assert released(top, above + 4 * unit) or (base and small)  # the largest is then not base
    assert released(top, above + unit * Fraction(399, 100))
    assert released(top, above + unit * Fraction(7, 2))
    assert not released(top, above + unit * Fraction(9, 2))
    assert not released(edge, Fraction(edge) - Fraction(1, 5))
    assert not released(edge, Fraction(edge) + Fraction(1, 5))


def test_a_member_is_kept_by_a_trial_of_what_it_exceeds_its_level_by() -> None:
    bits = Answers(False, True)
    assert listed_draw(1.0625, Fraction(17, 16), 60.0, bits) == "first"
    assert bits.excesses == [Fraction(1, 16), Fraction(1, 16)]


def test_levels_are_drawn_with_the_weight_of_their_distance(monkeypatch) -> None:
    seen = []

    def record(levels, counts, beta, bits):
        seen.append((np.array(levels) * float(beta), list(counts)))
        return 0

    monkeypatch.setattr(listed, "draw_level", record)
    exact = [Fraction(1, 16), Fraction(1, 16), Fraction(33, 16)]
    exponents = np.array([float(e) for e in exact])
    draw_listed(exponents, lambda k: ("w", exact[k]), Answers(True))
    ((nats, counts),) = seen
    assert nats[1] - nats[0] == 2.0 and counts == [2, 1]


def table(grid: WeightGrid) -> ZeroOneProblem:
    """Two points whose best hypothesis still loses rows."""
    points = np.eye(grid.n_features, dtype=np.int64)
    points[:, 0] = 1
    size = grid.n_features
    return ZeroOneProblem(
        points=points, positives=np.full(size, 2), negatives=np.full(size, 3), grid=grid
    )


@pytest.mark.parametrize("budget", [None, 2])
def test_listed_weights_are_those_of_their_hypotheses(budget: int | None) -> None:
    """A penalty or a loss of another hypothesis would be an exponent that is not as promised."""
    grid = WeightGrid.box(3, 1, norm_budget=budget)
    tables = tuple((Fraction(-k), Fraction(-1, 3), Fraction(-7 * k, 2)) for k in (1, 2, 0))
    bits = SeededEntropy(4)
    for _ in range(60):
        drawn, distance = sample_by_enumeration(
            table(grid), Fraction(2, 5), bits, LogWeights(tables=tables)
        )
        assert grid.contains(drawn) and distance == 0.0


def test_every_hypothesis_on_the_edge_of_the_budget_is_drawn() -> None:
    """200 uniform draws of five miss one with probability at most 2e-19."""
    grid, source = WeightGrid.box(2, 1, norm_budget=1), SeededEntropy(9)
    seen = {sample_by_enumeration(table(grid), 0, source)[0] for _ in range(200)}
    assert len(seen) == 5


def test_the_limit_itself_is_allowed(monkeypatch) -> None:
    grid = WeightGrid.box(3, 1)
    monkeypatch.setattr(listed, "ENUMERATION_LIMIT", 27)
    assert grid.contains(sample_by_enumeration(table(grid), 1, SeededEntropy(0))[0])
    monkeypatch.setattr(listed, "ENUMERATION_LIMIT", 26)
    with pytest.raises(UnsupportedProblem, match="at most 26"):
        sample_by_enumeration(table(grid), 1, SeededEntropy(0))


@pytest.mark.parametrize("beta", [None, "x", Fraction(-1, 2), -1e-300])
def test_betas_that_are_no_weight_are_refused(beta: object) -> None:
    with pytest.raises(InvalidOption, match="beta must be"):
        sample_by_enumeration(table(WeightGrid.box(2, 1)), beta, SeededEntropy(0))


def test_real_bits_serve_as_well() -> None:
    bits = RandomBits(SeededEntropy(1))
    assert listed_draw(0.5, Fraction(1, 2), 80.0, bits) == "first"
