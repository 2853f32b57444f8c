"""Equal steps: all thresholds of an attribute get the same point, so a card can use them all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opdisc.tuned import LEAST_THRESHOLDS, MOST_ATTRIBUTES, MOST_THRESHOLDS
from oracles.problem import ColumnGroup
from oracles.sampling import LARGEST_TABLES, Direction, JointSteps, joint_work


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualSteps:
    """Candidates: -1..1 times all columns of each attribute, and a start.

    Parameters
    ----------
    n_columns : int
        Number of columns without the constant one.
    directions : tuple of Direction
        The columns of each attribute, counted without the constant one.
    steps : tuple of (int, int)
        Least and largest point of each attribute.
    start : (int, int)
        Least and largest weight of the constant column.
    wanted : int
        The largest start, if the grid has it.
    """

    n_columns: int
    directions: tuple[Direction, ...]
    steps: tuple[tuple[int, int], ...]
    start: tuple[int, int]
    wanted: int

    @property
    def candidates(self) -> JointSteps:
        """The cards."""
        return JointSteps(
            centre=(0,) * (1 + self.n_columns),
            directions=self.directions,
            steps=self.steps,
            shifts=self.start,
        )

    @property
    def log_inverse(self) -> float:
        """Log of the number of cards."""
        return math.log(self.candidates.count)

    def work(self, rows: int) -> tuple[float, float]:
        """Return seconds and table entries that the draw takes at most, on so many rows."""
        most = max(len(direction) for direction in self.directions)
        shifts = self.start[1] - self.start[0] + 1
        return joint_work(len(self.directions), most, shifts, rows)

    def describe(self) -> str:
        """Return the candidates in words."""
        return (
            f"1. -1..1 times all thresholds of an attribute at once, {len(self.directions)} "
            f"attributes, start {self.start[0]}..{self.start[1]}"
        )


def plan_equal_steps(
    signs: Sequence[Sequence[int]],
    starts: tuple[int, int],
    structure: Sequence[ColumnGroup],
    rows: int,
    patience: float,
) -> EqualSteps | None:
    """Return equal steps; None where the columns are others, or the draw could take too long.

    Parameters
    ----------
    signs : sequence of sequences of int
        For each column that is not constant, which of 1 and -1 its weight may be.
    starts : (int, int)
        Least and largest weight of the constant column in the grid.
    structure : sequence of ColumnGroup
        All columns; nested ones are the thresholds of one attribute.
    rows : int
        Number of rows, known, guessed or assumed.
    patience : float
        Seconds that the draw may be expected to take at most.
    """
    attributes = []
    for group in structure:
        used = tuple(j - 1 for j in group.columns if j and signs[j - 1])
        if used and group.kind != "nested":
            return None
        attributes += [used] if used else []
    sizes = sorted({len(used) for used in attributes})
    if not sizes or len(attributes) > MOST_ATTRIBUTES or sizes[-1] - sizes[0] > 1:
        return None
    if sizes[0] < LEAST_THRESHOLDS or sizes[-1] > MOST_THRESHOLDS:
        return None
    steps = []
    for used in attributes:
        shared = set(signs[used[0]]).intersection(*(signs[j] for j in used))
        steps.append((min(0, *shared, 0), max(0, *shared, 0)))
    wanted = 1 + 2 * sizes[-1]
    largest = min(wanted, starts[1], 1 - starts[0])
    found = EqualSteps(
        n_columns=len(signs),
        directions=tuple(tuple((j, 1) for j in used) for used in attributes),
        steps=tuple(steps),
        start=(1 - largest, largest),
        wanted=wanted,
    )
    seconds, entries = found.work(rows)
    return found if largest >= 1 and seconds <= patience and entries <= LARGEST_TABLES else None
