"""Audits of unequal error costs: a calibration that forgets the factor is refuted."""

from __future__ import annotations

import numpy as np

from opdisc.audit.event import NeighboringPair
from oracles.problem import ErrorCosts, Hypothesis, WeightGrid, ZeroOneProblem

AUDITED_COSTS = ErrorCosts(false_negative=5, false_positive=1)
"""What a mistake costs in the audits. The pair's rows are of the class that costs more."""


def swapped_rows() -> NeighboringPair:
    """Return two tables of one positive row each, at the points 1 and -1 of one coordinate.

    Replacing one by the other moves two losses by the larger cost: that of the weight that gets
    only the first one right up, and that of the other weight down. That is the whole pairwise
    sensitivity (docs/theory.md, error-costs).
    """
    return _pair(
        "swapped costly rows",
        WeightGrid(values=((-1, 1),)),
        [[1], [-1]],
        (1,),
    )


def swapped_binary_rows() -> NeighboringPair:
    """Return the same for mechanisms that take 0/1 points with a constant first column."""
    return _pair(
        "swapped costly 0/1 rows",
        WeightGrid(values=((0, 1), (-1, 0, 1))),
        [[1, 0], [1, 1]],
        (1, -1),
    )


def _pair(
    name: str, grid: WeightGrid, points: list[list[int]], right: Hypothesis
) -> NeighboringPair:
    """Return one row at either point; the event is getting the first one right only."""

    def table(first: int) -> ZeroOneProblem:
        return ZeroOneProblem(
            points=np.array(points),
            positives=np.array([first, 1 - first]),
            negatives=np.zeros(2, dtype=np.int64),
            grid=grid,
        )

    return NeighboringPair(name=name, first=table(1), second=table(0), event=lambda w: w == right)
