"""The accept test, decided exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from oracles.arithmetic import RandomBits, exponential_enclosure
from oracles.errors import InconsistentSolution
from oracles.sampling.rejection.partition import MASS_BITS

_DOUBT = 1e-6


def accept(
    exponent: Fraction,
    mass: int,
    chances: Sequence[tuple[int, int]],
    drawn: int,
    bits: RandomBits,
) -> bool:
    """Return True with probability ``2**MASS_BITS * exp(-exponent) / (mass * prod(p / q))``.

    Parameters
    ----------
    exponent : Fraction
        Weight times loss, relative to the reference.
    mass : int
        Mass of the cell that was drawn.
    chances : sequence of (int, int)
        Pairs ``(p, q)``: the exact probabilities of the choices that led to the hypothesis.
    drawn : int
        64 uniform bits, the first ones of the number that the probability is compared with.
    bits : RandomBits
        Where further ones come from, if these leave the decision open.

    Raises
    ------
    InconsistentSolution
        If the probability exceeds 1.
    """
    log_chance = MASS_BITS * math.log(2.0) - float(exponent) - math.log(mass)
    log_chance -= math.fsum(math.log(p) - math.log(q) for p, q in chances)
    if log_chance > 0:
        raise InconsistentSolution("an acceptance probability must not exceed 1.")
    chance = math.exp(log_chance)
    # The float is good to far more than _DOUBT; only draws that near to it need integers.
    if (drawn + 1) * 2.0**-64 <= chance * (1 - _DOUBT):
        return True
    if drawn * 2.0**-64 >= chance * (1 + _DOUBT):
        return False
    return decide(drawn, exponent, mass, chances, bits)


def decide(
    drawn: int,
    exponent: Fraction,
    mass: int,
    chances: Sequence[tuple[int, int]],
    bits: RandomBits,
) -> bool:
    """Decide ``U < 2**MASS_BITS * exp(-exponent) / (mass * prod(p / q))`` in integers."""
    numerator = math.prod(p for p, _ in chances) * mass
    denominator = math.prod(q for _, q in chances) << MASS_BITS
    drawn_bits, precision = 64, 256
    while True:
        low, high = exponential_enclosure(abs(exponent), precision)
        # U * numerator / denominator against exp(-exponent); one of the two enclosures divides.
        below, above = drawn * numerator, (drawn + 1) * numerator
        scale = denominator << drawn_bits
        if exponent >= 0:
            if above << precision <= low * scale:
                return True
            if below << precision >= high * scale:
                return False
        else:
            if above * high <= scale << precision:
                return True
            if below * low >= scale << precision:
                return False
        drawn = (drawn << precision) | bits.integer(precision)
        drawn_bits += precision
        precision *= 2
