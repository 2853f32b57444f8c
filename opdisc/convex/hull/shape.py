"""The rows that a schema allows, and the convex hull that the noise takes its shape from.

A row is ``(1, x)``. Its columns fall into groups: of "exclusive" ones at most one is 1, of
"nested" ones a later 1 implies every earlier one, "free" ones stand alone. K is the convex hull of
all such rows and their negatives. A gradient of one row, in slope at most 1, lies in K.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpz, fmpz_poly

from opdisc.data import Schema, column_structure
from opdisc.errors import CalibrationError
from oracles.problem import ColumnGroup


@dataclass(frozen=True, slots=True)
class HullShape:
    """The groups of columns of a schema's rows.

    Parameters
    ----------
    groups : tuple of ColumnGroup
        Every column from 1 on in exactly one of them; column 0 is the constant. One group at most
        is "free", and holds all columns that stand alone.

    Raises
    ------
    CalibrationError
        If they are not so.
    """

    groups: tuple[ColumnGroup, ...]

    def __post_init__(self) -> None:
        """Refuse groups that leave a column out, name one twice, or are not pooled."""
        named = sorted(column for group in self.groups for column in group.columns)
        kinds = [group.kind for group in self.groups]
        alone = any(len(g.columns) == 1 for g in self.groups if g.kind != "free")
        if named != list(range(1, len(named) + 1)) or kinds.count("free") > 1 or alone:
            raise CalibrationError(
                "the groups of a hull must name each column from 1 on once, single ones in one "
                "free group; build it with HullShape.of_groups."
            )

    @classmethod
    def of_schema(cls, schema: Schema) -> HullShape:
        """Return the shape of a schema's encoded rows."""
        return cls.of_groups(column_structure(schema))

    @classmethod
    def of_groups(cls, groups: tuple[ColumnGroup, ...]) -> HullShape:
        """Return the shape of these groups, those of one column pooled."""
        single = [g for g in groups if g.kind == "free" or len(g.columns) == 1]
        pooled = tuple(sorted(column for group in single for column in group.columns))
        free = (ColumnGroup(columns=pooled),) if pooled else ()
        return cls((*free, *(group for group in groups if group not in single)))

    @property
    def n_columns(self) -> int:
        """Columns besides the constant."""
        return sum(len(group.columns) for group in self.groups)

    @property
    def centre(self) -> tuple[Fraction, ...]:
        """What is subtracted from each column: 1/2, or 1/m in an exclusive group of m."""
        found = [Fraction(0)] * self.n_columns
        for group in self.groups:
            for column in group.columns:
                found[column - 1] = _centre(group)
        return tuple(found)

    @property
    def squared_radius(self) -> Fraction:
        """Largest squared length of a centred row, the constant included."""
        return sum(map(_squared_radius, self.groups), Fraction(1))


def _centre(group: ColumnGroup) -> Fraction:
    return Fraction(1, len(group.columns)) if group.kind == "exclusive" else Fraction(1, 2)


def _squared_radius(group: ColumnGroup) -> Fraction:
    size = len(group.columns)
    return 1 - Fraction(1, size) if group.kind == "exclusive" else Fraction(size, 4)


@dataclass(frozen=True, slots=True)
class SignCounts:
    """In how many ways so many columns of the noise are positive, weighed by volume.

    Parameters
    ----------
    ways : tuple of fmpz_poly
        For each group, the weight of k positive columns at the power k.
    before : tuple of fmpz_poly
        For each group, the product of the ways of those before it.
    totals : tuple of int
        The weight of j positive columns in all.
    """

    ways: tuple[fmpz_poly, ...]
    before: tuple[fmpz_poly, ...]
    totals: tuple[int, ...]


@functools.lru_cache(maxsize=8)
def sign_counts(shape: HullShape) -> SignCounts:
    """Return the weights of a shape (docs/convex.md, entry "hull")."""
    ways = tuple(map(_ways, shape.groups))
    before, product = [], fmpz_poly([1])
    for group in ways:
        before.append(product)
        product = product * group
    orders = _orders(shape.n_columns)
    totals = tuple(int(product[j] * each) for j, each in enumerate(orders))
    return SignCounts(ways, tuple(before), totals)


def _orders(columns: int) -> list[fmpz]:
    """Return ``j! (columns - j)!`` for each j: in how many orders positive columns come first."""
    # Numbers of so many digits are multiplied faster by their library than by Python.
    factorials = list(itertools.accumulate(range(1, columns + 1), operator.mul, initial=fmpz(1)))
    return [up * down for up, down in zip(factorials, reversed(factorials), strict=True)]


def _ways(group: ColumnGroup) -> fmpz_poly:
    size = len(group.columns)
    power = 1 if group.kind == "free" else 2
    # Each from the one before: thousands of binomials would take long one by one.
    steps = ((size - k, k + 1) for k in range(size))
    chosen = itertools.accumulate(steps, lambda ways, at: ways * at[0] // at[1], initial=1)
    return fmpz_poly([ways**power for ways in chosen])


@functools.lru_cache(maxsize=8)
def mean_square(shape: HullShape) -> float:
    """Return the expected squared length of the noise at scale 1, in centred coordinates.

    It only sets the default ridge.
    """
    counts = sign_counts(shape)
    columns, whole = shape.n_columns, math.prod(counts.ways, start=fmpz_poly([1]))
    weights = _orders(columns)
    total = sum(counts.totals)
    mean = sum(
        weight / total * _moments(j, columns).constant for j, weight in enumerate(counts.totals)
    )
    found: dict[tuple[int, str], float] = {}
    for group in shape.groups:
        own = ColumnGroup(columns=group.columns[:1]) if group.kind == "free" else group
        times = len(group.columns) // len(own.columns)
        key = len(own.columns), own.kind
        if key not in found:
            found[key] = _group_square(own, whole // _ways(own), weights, total)
        mean += times * found[key]
    return mean


def _group_square(group: ColumnGroup, rest: fmpz_poly, weights: list[fmpz], total: int) -> float:
    """Return the expected square of a group, whose columns' signs the others' do not tell."""
    ways, columns = _ways(group), len(weights) - 1
    found = 0.0
    for k in range(len(group.columns) + 1):
        for left in range(rest.degree() + 1):
            share = int(ways[k] * rest[left] * weights[k + left]) / total
            found += share * _square_given(group, k, _moments(k + left, columns))
    return found


@dataclass(frozen=True, slots=True)
class _Moments:
    """Second moments of the two Gamma variables, and of their difference, the constant's noise."""

    up: float
    down: float
    mixed: float
    constant: float


def _moments(positive: int, columns: int) -> _Moments:
    first, second = positive + 1.0, columns - positive + 1.0
    up, down, mixed = first * (first + 1), second * (second + 1), first * second
    return _Moments(up, down, mixed, up + down - 2 * mixed)


def _square_given(group: ColumnGroup, k: int, moments: _Moments) -> float:
    """Return the group's expected square, centred, where k of its columns are positive."""
    size, at = len(group.columns), float(_centre(group))
    rest = size - k
    up, down, mixed = moments.up, moments.down, moments.mixed
    squares = 2 * k * up / ((k + 1) * (k + 2)) + 2 * rest * down / ((rest + 1) * (rest + 2))
    share, other = k / (k + 1), rest / (rest + 1)
    cross = share * (up - mixed) + other * (down - mixed)
    if group.kind != "nested":
        return squares - 2 * at * cross + size * at * at * moments.constant
    # Column i is the sum of the last size - i + 1 increments, which are exchangeable.
    whole = k * up / (k + 2) + rest * down / (rest + 2) - 2 * share * other * mixed
    own, pairs = squares / size, (whole - squares) / (size * (size - 1))
    return sum(
        m * own + m * (m - 1) * pairs - 2 * at * cross * m / size + at * at * moments.constant
        for m in range(1, size + 1)
    )
