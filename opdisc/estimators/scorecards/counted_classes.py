"""The rows of several classes as the cards see them: counted anew for each question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opdisc.data import CellArray, EncodedTable, RowCounts, aggregate
from opdisc.privacy import Question
from oracles.arithmetic import IntArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CountedClasses:
    """A private table of several classes.

    Parameters
    ----------
    n_rows : int
        Rows, those with a missing label included.
    assumptions : tuple of str
        What must be true of the table besides the schema; each becomes a condition.
    of : callable
        From a question to the points of its card with their counts.
    """

    n_rows: int
    assumptions: tuple[str, ...]
    of: Callable[[Question], EncodedTable | RowCounts]


def classes_of_rows(
    rows: CellArray, positions: IntArray, assumptions: tuple[str, ...]
) -> CountedClasses:
    """Return encoded rows by the positions of their classes, -1 for a row without a label."""

    def of(question: Question) -> EncodedTable:
        return aggregate(rows, question.signs(positions))

    return CountedClasses(n_rows=len(rows), assumptions=assumptions, of=of)


def classes_of_counts(counts: RowCounts) -> CountedClasses:
    """Return counted rows of two classes; a question may ask for the negative one."""
    swapped = counts.swapped()

    def of(question: Question) -> RowCounts:
        return counts if question.yes == (1,) else swapped

    return CountedClasses(n_rows=counts.n_rows, assumptions=counts.conditions, of=of)
