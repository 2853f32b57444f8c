"""A partition of the hypotheses into cells with integer masses.

A cell's mass bounds its share of the sum from above, in units fixed once for all; masses are
integers, so drawing a cell is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.entropy import RandomBits
from oracles.envelope import Bound, Mixtures, Region

MASS_BITS = 8192
"""A mass of ``2**MASS_BITS`` stands for ``exp(reference)``; the least mass is 1."""

LEAST_LOG_MASS = -MASS_BITS * math.log(2.0)
"""Log of the least mass, relative to the reference."""


@dataclass(slots=True)
class Cell:
    """One cell: how it differs from its parent, its mass, and what is known about it.

    Parameters
    ----------
    parent : Cell or None
        The cell it was split from; None for the root.
    condition : tuple of int
        (row, least index, largest index); empty for the root.
    depth : int
        Splits between the root and this cell.
    mass : int
        Integer bound on the cell's sum.
    log_mass : float
        Log of the bound relative to the reference; ``mass`` is at least its exponential.
    bound : Bound
        The parent's until the cell is tightened.
    mixtures : Mixtures or None
        Where tightening starts, or arrived; None once the cell was split.
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

    parent: Cell | None
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
        cell: Cell | None = self
        while cell is not None:
            if cell.condition:
                row, first, last = cell.condition
                low[row] = max(low[row], first)
                high[row] = min(high[row], last)
            cell = cell.parent
        return Region(low=low, high=high)


class MassTree:
    """Draws a cell with probability proportional to its integer mass, exactly."""

    def __init__(self) -> None:
        self._capacity = 1
        self._sums = [0, 0]
        self._cells: list[Cell] = []

    def __len__(self) -> int:
        """Return the number of cells, empty ones included."""
        return len(self._cells)

    @property
    def total(self) -> int:
        """The sum of all masses."""
        return self._sums[1]

    def add(self, cell: Cell, slot: int | None = None) -> None:
        """Add a cell, in the place of another one if a slot is given."""
        if slot is None:
            slot = len(self._cells)
            self._cells.append(cell)
            if slot >= self._capacity:
                self._grow()
        else:
            self._cells[slot] = cell
        cell.slot = slot
        self.update(cell)

    def update(self, cell: Cell) -> None:
        """Take over a changed mass."""
        i = self._capacity + cell.slot
        self._sums[i] = cell.mass
        i //= 2
        while i:
            self._sums[i] = self._sums[2 * i] + self._sums[2 * i + 1]
            i //= 2

    def draw(self, bits: RandomBits) -> Cell:
        """Draw a cell."""
        ticket = bits.below(self._sums[1])
        i = 1
        while i < self._capacity:
            i *= 2
            if ticket >= self._sums[i]:
                ticket -= self._sums[i]
                i += 1
        return self._cells[i - self._capacity]

    def masses_add_up(self) -> bool:
        """Return whether the total is the sum of the cells' masses."""
        return self.total == sum(cell.mass for cell in self._cells)

    def _grow(self) -> None:
        leaves = self._sums[self._capacity :] + [0] * self._capacity
        self._capacity *= 2
        self._sums = [0] * self._capacity + leaves
        for i in range(self._capacity - 1, 0, -1):
            self._sums[i] = self._sums[2 * i] + self._sums[2 * i + 1]


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
    cell: Cell, row: int, region: Region, law: NDArray[np.float64], slack: float
) -> list[Cell]:
    """Return one child per value of a row, none left out however light.

    Parameters
    ----------
    cell : Cell
        The parent, whose bound the children inherit.
    row : int
        The row to fix.
    region : Region
        The parent's region.
    law : ndarray of shape (w,), float64
        Full marginal of the row under the parent's bound.
    slack : float
        Added to the log of every child's mass, to outweigh rounding.
    """
    total = float(law.sum())
    children = []
    for value in range(int(region.low[row]), int(region.high[row]) + 1):
        share = float(law[value]) / total
        log_mass = cell.log_mass + math.log(share) + slack if share > 0 else -math.inf
        log_mass = max(log_mass, LEAST_LOG_MASS)
        child = Cell(
            parent=cell,
            condition=(row, value, value),
            depth=cell.depth + 1,
            mass=integer_mass(log_mass),
            log_mass=log_mass,
            bound=cell.bound,
            mixtures=cell.mixtures,
            step=cell.step,
        )
        children.append(child)
    return children
