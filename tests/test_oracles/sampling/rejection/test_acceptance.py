"""The accept test, draw by draw: every decision against arithmetic at 2,000 bits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest

from oracles.errors import InconsistentSolution
from oracles.sampling.rejection import acceptance
from oracles.sampling.rejection.acceptance import accept, decide
from oracles.sampling.rejection.partition import MASS_BITS

UNIT = 1 << MASS_BITS


class Scripted:
    """Further bits as written down; asking for more of them than that is an error."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.asked: list[int] = []

    def integer(self, bits: int) -> int:
        self.asked.append(bits)
        return self.answers.pop(0)


CASES = [
    (Fraction(1, 2), UNIT, []),
    (Fraction(5, 2), UNIT, [(1, 1)]),
    (Fraction(1, 3), 3 * UNIT, [(1, 3)]),
    (Fraction(2, 3), 7 * UNIT, [(2, 5), (3, 4)]),
    (Fraction(-1, 2), 7 * UNIT, [(2, 5), (3, 4)]),
    (Fraction(-7, 3), 27 * UNIT, [(5, 11)]),
    (Fraction(80), UNIT >> 112, [(1, 2)]),
]
IDS = [f"exp(-{exponent})" for exponent, *_ in CASES]


def chance(exponent: Fraction, mass: int, chances: list[tuple[int, int]]) -> mpmath.mpf:
    """The stated probability, at the working precision."""
    value = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
    value *= mpmath.mpf(2) ** MASS_BITS / mass
    for p, q in chances:
        value = value * q / p
    return value


@pytest.mark.parametrize(("exponent", "mass", "chances"), CASES, ids=IDS)
def test_far_from_the_boundary_no_further_bit_is_drawn(monkeypatch, exponent, mass, chances):
    monkeypatch.setattr(acceptance, "decide", lambda *_: pytest.fail("floats decide this one"))
    boundary = int(chance(exponent, mass, chances) * 2**64)
    for near in (1 - 2e-6, 0.7, 0.5, 1e-4, 0.0):
        assert accept(exponent, mass, chances, int(boundary * near), Scripted()) is True
    for near in (1 + 2e-6, 1.3, 1.9):
        drawn = int(boundary * near)
        if drawn < 2**64:
            assert accept(exponent, mass, chances, drawn, Scripted()) is False


@pytest.mark.parametrize(("exponent", "mass", "chances"), CASES, ids=IDS)
@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("nearness", [-5e-7, -1e-9, 1e-9, 5e-7])
def test_near_the_boundary_integers_decide(monkeypatch, exponent, mass, chances, answer, nearness):
    seen = []
    monkeypatch.setattr(acceptance, "decide", lambda *given: seen.append(given) or answer)
    drawn, bits = int(chance(exponent, mass, chances) * 2**64 * (1 + nearness)), Scripted()
    assert accept(exponent, mass, chances, drawn, bits) is answer
    assert seen == [(drawn, exponent, mass, chances, bits)]


def test_probability_one_is_allowed_and_more_is_not():
    assert accept(Fraction(0), UNIT, [], 2**64 - 1, Scripted()) is True
    for exponent, mass, chances in [
        (Fraction(-1, 2), UNIT, []),
        (Fraction(0), UNIT - (UNIT >> 20), []),
        (Fraction(0), UNIT, [(2, 3)]),
    ]:
        with pytest.raises(InconsistentSolution, match="must not exceed 1"):
            accept(exponent, mass, chances, 0, Scripted())


@pytest.mark.parametrize(("exponent", "mass", "chances"), CASES, ids=IDS)
def test_decisions_are_exact_to_the_last_bit(exponent, mass, chances):
    """Draws that agree with the probability in 64, then 320, then 832 binary digits."""
    with mpmath.workprec(12_000):
        digits = int(chance(exponent, mass, chances) * mpmath.mpf(2) ** 832)

    def answer(drawn: int, bits: Scripted) -> bool:
        return decide(drawn, exponent, mass, chances, bits)

    first, second = digits >> 768, (digits >> 512) % 2**256
    # One draw lower or higher is decided at once: nothing further is asked for.
    assert answer(first - 1, Scripted()) is True
    assert answer(first + 1, Scripted()) is False
    for step, expected in ((-1, True), (1, False)):
        bits = Scripted(second + step)
        assert answer(first, bits) is expected
        assert bits.asked == [256]
        bits = Scripted(second, digits % 2**512 + step)
        assert answer(first, bits) is expected
        assert bits.asked == [256, 512]


def test_a_draw_on_a_rational_boundary_needs_no_further_bit():
    # The probability is one half: U below it is accepted, U at it or above is not.
    assert decide(2**63 - 1, Fraction(0), 2 * UNIT, [], Scripted()) is True
    assert decide(2**63, Fraction(0), 2 * UNIT, [], Scripted()) is False
