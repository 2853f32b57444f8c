"""Counted signs: which columns go with the label, and which way, before anything is drawn.

A count per column, with noise, gives every column a sign. The first draw then looks at 0 or that
sign only, so it takes far more columns at once than one that tries both signs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.noise import discrete_laplace, geometric_total_variation
from opdisc.privacy import EntropySource, GridPublic
from oracles.arithmetic import IntArray
from oracles.problem import ColumnGroup, ZeroOneProblem
from oracles.sampling import LARGEST_TABLES, Direction, JointSteps, joint_work

LEAST_SHARE_OF_COLUMNS = Fraction(2, 3)
"""Counted signs pay where the draw takes this share of the columns at least."""

MOST_COLUMNS = 48
"""Most columns of a draw, whatever the patience: all their combinations may be looked at."""

LEAST_WEIGHT = 450
"""``n_rows * epsilon`` per active column from which on counted signs pay. Measured: with five
active columns of 37 they gain .002 to .004 on the rows they learn from, from 550 on
(docs/utility.md); at 220 few points were ahead in a simulation."""

FEW_ACTIVE = Fraction(1, 6)
"""Counted signs pay where at most this share of the columns is active in a row. Measured: with 12
of 36 (adult_binary) they lost .003 to the later draws that few points leave room for."""

COUNTED_WEIGHT, MOST_COUNTED = 440, Fraction(1, 4)
"""``n_rows * epsilon`` per active column that the counts take, and their largest share."""

_PARTS = 64
"""The share of positive rows is rounded to a multiple of one in so many."""

_FARTHEST = 4
"""So many parts away from no or all rows, at least."""

_POSITIVES = Fraction(1, 10)
"""Part of the counts' budget that the number of positive rows takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedColumns:
    """Candidates of a first draw: 0 or the counted sign for the columns of the largest counts.

    Parameters
    ----------
    columns : int
        How many columns are drawn at once.
    signs : tuple of tuple of int
        For each column that is not constant, the signs that its weight may have.
    start : (int, int)
        Least and largest weight of the constant column, 0 among them.
    share : Fraction
        Share of epsilon that the counts take.
    active : int
        Most columns that are 1 in one row, by the public structure.
    attributes : tuple of int
        How many columns each attribute has.
    """

    columns: int
    signs: tuple[tuple[int, ...], ...]
    start: tuple[int, int]
    share: Fraction
    active: int
    attributes: tuple[int, ...]

    def work(self, rows: int) -> tuple[float, float]:
        """Return seconds and table entries that the draw takes at most, on so many rows."""
        shifts = self.start[1] - self.start[0] + 1
        return joint_work(self.columns, 1, shifts, rows, 2, self.attributes)

    @property
    def log_count(self) -> float:
        """Log of the number of candidates."""
        return self.columns * math.log(2.0) + math.log(self.start[1] - self.start[0] + 1)

    def describe(self) -> str:
        """Return the counts and the candidates in words."""
        return (
            "counts of positive rows and of every column's association with the label, discrete "
            f"Laplace noise, {float(self.share):.3g} of epsilon; 1. scorecards of 0 or the "
            f"counted sign on the {self.columns} columns with the largest counts, start "
            f"{self.start[0]}..{self.start[1]}"
        )

    def candidates(self, counts: IntArray) -> JointSteps:
        """Return 0 or its sign for each of the columns with the largest noisy counts.

        A column that may not have its counted sign has the other one.
        """
        order = np.argsort(-np.abs(counts), kind="stable").tolist()
        chosen = [j for j in order if self.signs[j]][: self.columns]
        found: list[Direction] = []
        for j in chosen:
            sign = 1 if counts[j] > 0 else -1
            found.append(((j, sign if sign in self.signs[j] else -sign),))
        return JointSteps(
            centre=(0,) * (1 + len(self.signs)),
            directions=tuple(found),
            steps=((0, 1),) * len(found),
            shifts=self.start,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CountNoise:
    """The noise of the counts, from public numbers.

    Parameters
    ----------
    positives : Fraction
        Decay of the noise per positive row.
    columns : Fraction
        Decay of the noise per row that one column counts.
    n_columns : int
        How many columns are counted.
    n_rows : int or None
        Number of rows, where public.
    """

    positives: Fraction
    columns: Fraction
    n_columns: int
    n_rows: int | None

    @classmethod
    def of(cls, signed: SignedColumns, public: GridPublic) -> CountNoise:
        """Return the noise that takes the counts' share of epsilon.

        Every changed row moves the number of positive rows by at most 1. It moves the counts of
        at most ``active`` columns, each by at most 1.
        """
        budget = signed.share * Fraction(public.params.epsilon) / public.changed_rows
        centred = _POSITIVES if public.n_rows is not None else Fraction(0)
        return cls(
            positives=budget * centred,
            columns=budget * (1 - centred) / max(1, signed.active),
            n_columns=len(signed.signs),
            n_rows=public.n_rows,
        )

    @property
    def scales(self) -> tuple[float, ...]:
        """Decays per row, of the positive rows first where they are counted."""
        drawn = (self.columns,) if self.n_rows is None else (self.positives, self.columns)
        return tuple(map(float, drawn))

    @property
    def total_variation(self) -> float:
        """Distance of the noise's law from the exact one, at most."""
        columns = geometric_total_variation(self.columns / _PARTS, 2 * self.n_columns)
        if self.n_rows is None:
            return columns
        return columns + geometric_total_variation(self.positives, 2)

    def draw(self, problem: ZeroOneProblem, entropy: EntropySource) -> IntArray:
        """Return the noisy association of every column that is not constant with the label.

        ``sum over rows of x_j (64 y - r)``, where r is 64 times the noisy share of positive rows,
        rounded; 32 where the number of rows is not public.
        """
        share = _PARTS // 2
        if self.n_rows is not None:
            total = int(problem.positives.sum()) + int(
                discrete_laplace(self.positives, 1, entropy)[0]
            )
            rounded = (2 * _PARTS * total + self.n_rows) // (2 * self.n_rows)
            share = min(max(rounded, _FARTHEST), _PARTS - _FARTHEST)
        counts = associations(problem, share)
        rate = self.columns / max(share, _PARTS - share)
        noisy: IntArray = counts + discrete_laplace(rate, len(counts), entropy)
        return noisy


def associations(problem: ZeroOneProblem, share: int) -> IntArray:
    """Return ``sum over rows of x_j (64 y - share)`` for every column but the constant one.

    Parameters
    ----------
    problem : ZeroOneProblem
        0/1 points, the constant column first.
    share : int
        Share of positive rows to compare with, in parts of 64.
    """
    columns = problem.points[:, 1:].astype(np.int64)
    counts: IntArray = (_PARTS - share) * (problem.positives @ columns)
    return counts - share * (problem.negatives @ columns)


def most_active(structure: Sequence[ColumnGroup]) -> int:
    """Return how many columns besides the constant one can be 1 in one row.

    Parameters
    ----------
    structure : sequence of ColumnGroup
        All columns, as :func:`~oracles.problem.complete_structure` returns them.
    """
    groups = [group for group in structure if group.columns != (0,)]
    return sum(1 if group.kind == "exclusive" else len(group.columns) for group in groups)


def counted_share(weight: float | None, active: int) -> Fraction:
    """Return the share of epsilon that counts take, given ``n_rows * epsilon``."""
    if not weight:
        return MOST_COUNTED
    return min(MOST_COUNTED, Fraction(COUNTED_WEIGHT * active) / Fraction(weight))


def pays(weight: float | None, active: int, used: int) -> bool:
    """Return whether counted signs are expected to pay (measured, docs/utility.md)."""
    return weight is not None and weight >= LEAST_WEIGHT * active and active <= FEW_ACTIVE * used


def plan_signs(
    signs: tuple[tuple[int, ...], ...],
    start: tuple[int, int],
    structure: Sequence[ColumnGroup],
    rows: int,
    patience: float,
    share: Fraction,
) -> SignedColumns | None:
    """Return as many columns as time and memory allow, or None where those are too few.

    Parameters
    ----------
    signs, start, share
        As in :class:`SignedColumns`.
    structure : sequence of ColumnGroup
        All columns, as :func:`~oracles.problem.complete_structure` returns them.
    rows : int
        Rows that the work is planned for.
    patience : float
        Seconds that the draw may take at most.
    """
    used = sum(1 for options in signs if options)
    least = max(1, math.ceil(LEAST_SHARE_OF_COLUMNS * used))
    for columns in range(min(used, MOST_COLUMNS), least - 1, -1):
        signed = SignedColumns(
            columns=columns,
            signs=signs,
            start=start,
            share=share,
            active=most_active(structure),
            attributes=tuple(len(group.columns) for group in structure if group.columns != (0,)),
        )
        seconds, entries = signed.work(rows)
        if seconds <= patience and entries <= LARGEST_TABLES:
            return signed
    return None
