"""A partition of the hypotheses into cells with integer masses.

A cell's mass bounds its share of the sum from above, in units fixed once for all; masses are
integers, so drawing a cell is exact.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray, RandomBits
from oracles.errors import InconsistentSolution
from oracles.sampling.rejection.lower_bound import Bound, Mixtures, Region

_WORD = 64

_LARGEST = 2**64 - 1

_FEW = 128

MASS_BITS = 8192
"""A mass of ``2**MASS_BITS`` stands for ``exp(reference)``; the least mass is 1."""

LEAST_LOG_MASS = -MASS_BITS * math.log(2.0)
"""Log of the least mass, relative to the reference."""


@dataclass(slots=True)
class PartitionCell:
    """One cell: how it differs from its parent, its mass, and what is known about it.

    Parameters
    ----------
    parent : PartitionCell or None
        The cell it was split from; None for the root.
    condition : tuple of int
        (row, least index, largest index) of one row's score; empty for the root.
    depth : int
        Splits between the root and this cell.
    mass : int
        Integer bound on the cell's sum, in units of ``exp(reference) * 2**-MASS_BITS``.
    log_mass : float
        Log of the bound relative to the reference, nats; ``mass`` is at least its exponential.
    bound : Bound
        The parent's until the cell is tightened.
    mixtures : ndarray of shape (points, blocks * w + 1), float16, or None
        Where tightening starts, or arrived: logs of mixtures, nats; None once the cell was
        split.
    step : float
        Step length that tightening starts with.
    slot : int
        Place among the masses; -1 before it has one.
    tightened : bool
        Whether its own bound was looked for.
    trials : int
        Draws from it so far.
    accepted : float
        Sum of their acceptance probabilities.
    """

    parent: PartitionCell | None
    condition: tuple[int, int, int] | tuple[()]
    depth: int
    mass: int
    log_mass: float
    bound: Bound
    mixtures: Mixtures | None
    step: float
    slot: int = -1
    tightened: bool = False
    trials: int = 0
    accepted: float = 0.0

    def region(self, whole: Region) -> Region:
        """Return the cell's region: every condition from the root down."""
        low, high = whole.low.copy(), whole.high.copy()
        cell: PartitionCell | None = self
        while cell is not None:
            if cell.condition:
                row, first, last = cell.condition
                low[row] = max(low[row], first)
                high[row] = min(high[row], last)
            cell = cell.parent
        return Region(low=low, high=high)


class CellMasses:
    """Draws cells with probability proportional to their integer masses, exactly.

    For ``c`` cells it keeps the cumulated masses (``c`` integers of any size, in mass units) and,
    for many draws at once, where these end among 64-bit words: ``c - 1`` uint64.
    """

    def __init__(self) -> None:
        self._cells: list[PartitionCell] = []
        self._total = 0
        self._ends: list[int] = []
        self._floors: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)

    def __len__(self) -> int:
        """Return the number of cells, empty ones included."""
        return len(self._cells)

    def __getitem__(self, slot: int) -> PartitionCell:
        """Return the cell in a slot."""
        return self._cells[slot]

    @property
    def total(self) -> int:
        """The sum of all masses."""
        return self._total

    def add(self, cell: PartitionCell) -> None:
        """Add a cell."""
        cell.slot = len(self._cells)
        self._cells.append(cell)
        self._total += cell.mass
        self._ends = []

    def replace(self, cell: PartitionCell, children: Sequence[PartitionCell]) -> None:
        """Put children in the place of their parent."""
        first, *others = children
        self._cells[cell.slot] = first
        first.slot = cell.slot
        self._total += first.mass - cell.mass
        self._ends = []
        for child in others:
            self.add(child)

    def shrink(self, cell: PartitionCell, mass: int) -> None:
        """Take over a smaller mass; a larger one is ignored."""
        if mass < cell.mass:
            self._total -= cell.mass - mass
            cell.mass = mass
            self._ends = []

    def draw(self, count: int, bits: RandomBits) -> IntArray:
        """Draw the slots of independent cells, shape (count,) int64."""
        if not self._ends:
            self._ends = list(itertools.accumulate(cell.mass for cell in self._cells))
            self._floors = self._floors[:0]
            if self._ends[-1] != self._total:
                raise InconsistentSolution("the masses of the cells must add up.")
        if count < _FEW:
            thresholds = [bits.below(self._total) for _ in range(count)]
            return np.array(
                [bisect.bisect_right(self._ends, t) for t in thresholds], dtype=np.int64
            )
        if not len(self._floors):
            places = [(end << _WORD) // self._total for end in self._ends[:-1]]
            self._floors = np.array([min(p, _LARGEST) for p in places], dtype=np.uint64)
        # A uniform number in [u, u + 1) / 2**64 lies right of every end whose floor is below u.
        # Only one whose floor is u itself leaves the cell open: then more bits are drawn.
        ends, floors = self._ends, self._floors
        words = bits.words(count)
        slots = np.searchsorted(floors, words, side="right").astype(np.int64)
        if len(floors):
            below = floors[np.maximum(slots - 1, 0)]
            for i in np.flatnonzero((slots > 0) & (below == words)):
                slots[i] = self._settle(int(words[i]), ends, bits)
        return slots

    def _settle(self, drawn: int, ends: Sequence[int], bits: RandomBits) -> int:
        """Find the slot of ``(drawn + V) / 2**64``, V uniform, by drawing bits of V as needed."""
        n_bits = _WORD
        while True:
            # The first end above the lower, and above the upper, limit of the number.
            low = bisect.bisect_right(ends, (drawn * self._total) >> n_bits)
            high = bisect.bisect_left(ends, -((-(drawn + 1) * self._total) >> n_bits))
            if low == high:
                return low
            drawn = (drawn << _WORD) | bits.integer(_WORD)
            n_bits += _WORD

    def masses_add_up(self) -> bool:
        """Return whether the total is the sum of the cells' masses."""
        return self._total == sum(cell.mass for cell in self._cells)


def integer_mass(log_mass: float) -> int:
    """Return ``exp(log_mass)`` in mass units, rounded up, and never below 1."""
    # Integer powers of two are split off: the factor left is a double in [1, 2].
    binary = log_mass / math.log(2.0)
    whole = math.floor(binary)
    mantissa = math.ceil(math.exp((binary - whole) * math.log(2.0)) * 2.0**52) + 1
    shift = whole - 52 + MASS_BITS
    return max(1, mantissa << shift if shift >= 0 else (mantissa >> -shift) + 1)


def best_split(lost: NDArray[np.float64], region: Region) -> int | None:
    """Return the row that the bound loses most on and that is not fixed yet."""
    open_rows = np.where(region.low < region.high, lost, -1.0)
    row = int(np.argmax(open_rows))
    return row if open_rows[row] > 0 else None


def split_cell(
    cell: PartitionCell, row: int, region: Region, law: NDArray[np.float64], slack: float
) -> list[PartitionCell]:
    """Return two children, the values of a row up to where half of the mass lies and the rest.

    Parameters
    ----------
    cell : PartitionCell
        The parent, whose bound the children inherit.
    row : int
        The row to split on, not fixed yet.
    region : Region
        The parent's region.
    law : ndarray of shape (w,), float64
        Full marginal of the row under the parent's bound.
    slack : float
        Added to the log of every child's mass, to outweigh rounding.
    """
    first, last = int(region.low[row]), int(region.high[row])
    reached = np.cumsum(law[first : last + 1])
    cut = first + int(np.argmin(np.abs(reached[:-1] - reached[-1] / 2)))
    children = []
    for low, high in ((first, cut), (cut + 1, last)):
        share = float(law[low : high + 1].sum()) / float(law.sum())
        log_mass = cell.log_mass + math.log(share) + slack if share > 0 else -math.inf
        log_mass = max(log_mass, LEAST_LOG_MASS)
        child = PartitionCell(
            parent=cell,
            condition=(row, low, high),
            depth=cell.depth + 1,
            mass=integer_mass(log_mass),
            log_mass=log_mass,
            bound=cell.bound,
            mixtures=cell.mixtures,
            step=cell.step,
        )
        children.append(child)
    return children
