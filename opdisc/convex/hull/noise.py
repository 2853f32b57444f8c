"""One draw of the noise: integers now, and uniform numbers whose digits are drawn when needed.

Of M columns j get a positive number. With A a Gamma variable of shape j + 1 and B one of shape
M - j + 1, a group's positive columns are A times gaps between sorted uniforms, its negative ones
-B times such gaps, and the constant's coordinate is A - B (docs/convex.md, entry "hull").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flint import arb, ctx, fmpz, fmpz_poly

from opdisc.convex.hull.shape import HullShape, sign_counts
from opdisc.privacy import EntropySource
from oracles.arithmetic import RandomBits
from oracles.problem import ColumnGroup

WORD = 64
"""Digits that every uniform number gets at a time."""

_GUARD = 64


class HullNoise:
    """Noise with density proportional to ``exp(-|b|_K)``, known to as many digits as asked for.

    Parameters
    ----------
    shape : HullShape
        What K is made of.
    entropy : EntropySource
        Where the digits come from. Which of them a uniform number gets depends on nothing else
        than how often :meth:`refine` was called.
    digits : int
        Digits that every uniform number gets at first, and at each refinement.
    """

    def __init__(self, shape: HullShape, entropy: EntropySource, digits: int = WORD) -> None:
        self.shape = shape
        self._bits = RandomBits(entropy)
        self._step = digits
        self._positive, self._n_positive = _signs(shape, self._bits)
        self._uniforms = [0] * (2 * shape.n_columns + 2)
        self.digits = 0
        self.refine()

    def refine(self) -> None:
        """Draw more digits of every uniform number: each stays in the cell that it was in."""
        step = self._step
        self._uniforms = [(cell << step) | self._bits.integer(step) for cell in self._uniforms]
        self.digits += step

    def enclosure(self) -> list[arb] | None:
        """Return balls around the plain coordinates; None while one is unbounded."""
        count = self.shape.n_columns + 2
        heights, rest = self._uniforms[:count], iter(self._uniforms[count:])
        if not all(heights):
            return None  # the logarithm of a cell that touches 0
        with ctx.workprec(self.digits + _GUARD):
            unit = arb(2) ** -self.digits
            cells = [_ball(cell, 1) * unit for cell in heights]
            up, down = (
                _gamma(cells[: self._n_positive + 1]),
                _gamma(cells[self._n_positive + 1 :]),
            )
            found = [up - down, *([arb(0)] * (count - 2))]
            for group, chosen in zip(self.shape.groups, self._positive, strict=True):
                values = _group_values(group, chosen, up * unit, down * unit, rest)
                for column, value in zip(group.columns, values, strict=True):
                    found[column] = value
            return found


def _ball(least: int, width: int) -> arb:
    """Return the ball from ``least`` to ``least + width``, whole numbers."""
    return (arb(2 * least + width) + arb(0, width)) / 2


def _gamma(uniforms: Sequence[arb]) -> arb:
    """Return minus the logarithm of a product: a Gamma variable of that many uniforms' shape."""
    product = arb(1)
    for number in uniforms:
        product *= number
    return -product.log()


def _group_values(
    group: ColumnGroup, chosen: frozenset[int], up: arb, down: arb, uniforms: Iterator[int]
) -> list[arb]:
    """Return a group's coordinates; ``up`` and ``down`` are per unit of the uniforms' digits."""
    size = len(group.columns)
    if group.kind == "free":  # one gap of two is a uniform number
        return [
            (up if place in chosen else -down) * _ball(next(uniforms), 1) for place in range(size)
        ]
    values = [arb(0)] * size
    for factor, places in (
        (up, [place for place in range(size) if place in chosen]),
        (-down, [place for place in range(size) if place not in chosen]),
    ):
        for place, gap in zip(places, _gaps([next(uniforms) for _ in places]), strict=True):
            values[place] = factor * gap
    if group.kind == "nested":
        for place in reversed(range(size - 1)):
            values[place] += values[place + 1]
    return values


def _gaps(cells: Sequence[int]) -> Iterator[arb]:
    """Yield the gaps from 0 between sorted numbers, each known by its cell.

    The i-th smallest number lies in the i-th smallest cell, so equal cells need no decision.
    """
    before: int | None = None
    for cell in sorted(cells):
        yield _ball(cell, 1) if before is None else _ball(cell - before - 1, 2)
        before = cell


def _signs(shape: HullShape, bits: RandomBits) -> tuple[list[frozenset[int]], int]:
    """Draw which places of each group are positive, and return how many are in all."""
    counts = sign_counts(shape)
    whole = left = _index(counts.totals, bits)
    found: list[frozenset[int]] = []
    for group, ways, before in reversed(
        list(zip(shape.groups, counts.ways, counts.before, strict=True))
    ):
        k = _index([int(w) for w in _split(ways, before, left)], bits)
        left -= k
        found.append(_subset(len(group.columns), k, bits))
    return found[::-1], whole


def _split(ways: fmpz_poly, before: fmpz_poly, left: int) -> Iterator[fmpz]:
    """Yield the weight of k positive places here and ``left - k`` in the groups before."""
    for k in range(min(ways.degree(), left) + 1):
        yield ways[k] * before[left - k]


def _index(weights: Sequence[int], bits: RandomBits) -> int:
    """Return an index with probability proportional to its weight, exactly."""
    at = bits.below(sum(weights))
    for index, weight in enumerate(weights):
        at -= weight
        if at < 0:
            return index
    raise AssertionError("the sum of the weights is above every number below it.")


def _subset(size: int, k: int, bits: RandomBits) -> frozenset[int]:
    """Return a uniform subset of ``k`` places of ``size``."""
    places = list(range(size))
    for i in range(k):
        j = i + bits.below(size - i)
        places[i], places[j] = places[j], places[i]
    return frozenset(places[:k])
