"""Row counts: all that a fit of a scorecard needs of a table, and a sum that forgets the order."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from opdisc.data.counting.ranks import RankCounter
from opdisc.data.encoded_table import EncodedTable, aggregate
from opdisc.data.encoding import keep_first_of_exclusive
from opdisc.data.packing import (
    WORD_BITS,
    CellArray,
    WordArray,
    group_rows,
    pack_rows,
    sum_groups,
    unpack_rows,
)
from opdisc.data.reading import MADE_BY_HAND, NO_ROW_TWICE, all_assumptions
from opdisc.data.schema import Schema
from opdisc.errors import TableError, memory_refusals
from oracles.arithmetic import IntArray
from oracles.problem import WeightGrid, ZeroOneProblem

Counts: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.bool_]

Grouped: TypeAlias = tuple[WordArray, IntArray, IntArray]

_PENDING = 2**18
"""Points of single chunks that wait before they are merged into the sum."""


class Recount(Protocol):
    """What reads the same rows once more."""

    def __call__(self, schema: Schema) -> RowCounts:
        """Return them by the schema with the thresholds that were drawn."""
        ...

    def check(self) -> None:
        """Refuse where it is known that the rows cannot be read as they were."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RowCounts:
    """A table as distinct points with their counts. All of it but the schema is private.

    ``first + second`` are the counts of both tables' rows together: exact, in any order. That
    no row is in both becomes a condition. Counts that were not made by counting may hold any
    numbers, so that they count rows becomes one too.

    Parameters
    ----------
    schema : Schema
        By which the rows were encoded.
    points : int8 array, shape (m, 1 + n_columns)
        Distinct encoded rows in lexicographic order, column 0 the constant 1.
    positives, negatives : int64 array, shape (m,)
        Number of positive and of negative rows at each point, at least one together.
    n_rows : int
        Rows, those with a missing label included.
    assumptions : tuple of str
        What must be true of the table besides the schema; each becomes a condition.
    ranks : tuple of int64 array, each of shape (n_candidates + 1,)
        For each private threshold of the schema: rows with a number below each candidate, then all
        rows that count. The points are then those of stand-ins.
    recount : Recount or None
        From the schema with the thresholds that were drawn to the same rows, read once more; None
        where no threshold is private.

    Raises
    ------
    TableError
        If the numbers cannot be counts of so many rows.
    """

    schema: Schema
    points: CellArray
    positives: IntArray
    negatives: IntArray
    n_rows: int
    assumptions: tuple[str, ...] = ()
    ranks: tuple[IntArray, ...] = ()
    recount: Recount | None = None
    _parts: frozenset[str] = field(init=False, default=frozenset())
    _is_counted: bool = field(init=False, default=False)
    _is_sum: bool = field(init=False, default=False)

    @classmethod
    def from_rows(
        cls,
        rows: CellArray,
        signs: npt.NDArray[np.int8],
        schema: Schema,
        assumptions: tuple[str, ...],
    ) -> RowCounts:
        """Return the counts of encoded rows with labels +1, -1 and 0, none."""
        encoded = aggregate(rows, signs)
        counts = cls(
            schema=schema,
            points=encoded.points,
            positives=encoded.positives,
            negatives=encoded.negatives,
            n_rows=encoded.n_rows,
            assumptions=assumptions,
        )
        return counts._noted(frozenset({new_part()}), is_counted=True, is_sum=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be counts; make the arrays read-only."""
        self.check()
        self._freeze()
        object.__setattr__(self, "_parts", frozenset({new_part()}))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let pickles and deep copies be as read-only as these counts."""
        return _restored, (type(self), *(getattr(self, each.name) for each in fields(self)))

    def _freeze(self) -> None:
        self.points.setflags(write=False)
        for counts in (self.positives, self.negatives, *self.ranks):
            counts.setflags(write=False)

    def check(self) -> None:
        """Refuse numbers that cannot be counts of so many rows: none that were counted are."""
        shape = (len(self.positives), 1 + self.schema.n_columns)
        if self.points.shape != shape or self.negatives.shape != shape[:1]:
            raise TableError(
                "counts must be two whole numbers for each point, and points must have the "
                "schema's columns; count the rows with opdisc.count_rows."
            )
        rising = (np.diff(below, prepend=0) for below in self.ranks)
        several = (self.positives, self.negatives, *rising)
        if any(counts.dtype.kind not in "iu" or counts.min(initial=0) < 0 for counts in several):
            raise TableError(
                "counts must be whole numbers of at least 0, but one is not; count the rows with "
                "opdisc.count_rows."
            )
        rows = exact_sum(self.positives) + exact_sum(self.negatives)
        if max([rows, *(int(below[-1]) for below in self.ranks if len(below))]) > self.n_rows:
            raise TableError(
                "counts must add up to at most n_rows, but they are more; count the rows with "
                "opdisc.count_rows."
            )

    @property
    def table(self) -> EncodedTable:
        """The points and their counts alone."""
        return EncodedTable(
            points=self.points,
            positives=self.positives,
            negatives=self.negatives,
            n_rows=self.n_rows,
        )

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must be true of the rows besides the schema, for a receipt."""
        by_hand = () if self._is_counted else (MADE_BY_HAND,)
        added_up = (NO_ROW_TWICE,) if self._is_sum else ()
        return tuple(dict.fromkeys((*self.assumptions, *added_up, *by_hand)))

    def described(
        self,
        *,
        schema: Schema | None = None,
        ranks: tuple[IntArray, ...] | None = None,
        recount: Recount | None = None,
    ) -> RowCounts:
        """Return the same rows with another schema, ranks or recount; None keeps what there is."""
        return self._as_these(
            replace(
                self,
                schema=schema or self.schema,
                ranks=self.ranks if ranks is None else ranks,
                recount=recount or self.recount,
            )
        )

    def swapped(self) -> RowCounts:
        """Return the same rows with the negative label in the place of the positive one."""
        return self._as_these(replace(self, positives=self.negatives, negatives=self.positives))

    def _as_these(self, changed: RowCounts) -> RowCounts:
        return changed._noted(self._parts, self._is_counted, self._is_sum)

    def _noted(self, parts: frozenset[str], is_counted: bool, is_sum: bool) -> RowCounts:
        """Note which rows these are, whether they were counted, and whether they were added up."""
        object.__setattr__(self, "_parts", parts)
        object.__setattr__(self, "_is_counted", is_counted)
        object.__setattr__(self, "_is_sum", is_sum)
        return self

    def __repr__(self) -> str:
        """Say what was counted and how, and nothing that the rows decide."""
        return f"RowCounts(schema={self.schema.name!r})"

    def __eq__(self, other: object) -> bool:
        """Return whether both count the same rows by the same schema."""
        if not isinstance(other, RowCounts):
            return NotImplemented
        return (
            (self.schema, self.n_rows, set(self.assumptions))
            == (other.schema, other.n_rows, set(other.assumptions))
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.positives, other.positives)
            and np.array_equal(self.negatives, other.negatives)
            and all(map(np.array_equal, self.ranks, other.ranks))
        )

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: RowCounts) -> RowCounts:
        """Return the counts of both tables' rows together.

        Raises
        ------
        TableError
            If they were not counted by the same schema, or are known to count the same rows.
        """
        if not isinstance(other, RowCounts):
            return NotImplemented
        counter = PointCounter(self.schema)
        for counts in (self, other):
            counter.add_counts(counts)
        counter.is_sum = True
        if self.recount is None or other.recount is None:
            return counter.result()
        return counter.result(_BothAgain(self.recount, other.recount))


def _restored(kind: type[RowCounts], *values: Any) -> RowCounts:
    """Return counts with the values of a pickle or a deep copy."""
    counts = object.__new__(kind)
    for each, value in zip(fields(kind), values, strict=True):
        object.__setattr__(counts, each.name, value)
    counts._freeze()
    return counts


def counted_problem(counts: RowCounts | EncodedTable, grid: WeightGrid) -> ZeroOneProblem:
    """Return the problem of counted rows; where there is none, of one point without weight."""
    points: npt.NDArray[Any] = counts.points
    positives, negatives = counts.positives, counts.negatives
    if not len(points):
        points = np.eye(1, grid.n_features, dtype=np.int64)
        positives = negatives = np.zeros(1, dtype=np.int64)
    with memory_refusals():
        return ZeroOneProblem(points=points, positives=positives, negatives=negatives, grid=grid)


class PointCounter:
    """A running sum of encoded rows, in memory for its distinct points.

    Parameters
    ----------
    schema : Schema
        Public facts.

    Attributes
    ----------
    encoded_by : Schema
        The same with stand-ins for private thresholds.
    ranks : RankCounter
        Where private thresholds may be drawn.
    is_sum : bool
        Whether tables are added up that may share rows.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.encoded_by = schema.with_stand_ins() if schema.private_thresholds else schema
        self.ranks = RankCounter(schema)
        self._n_rows = 0
        self._parts: set[str] = set()
        self._is_counted, self.is_sum = True, False
        self._assumptions: tuple[str, ...] = ()
        width = -(-(1 + schema.n_columns) // WORD_BITS)
        empty = np.zeros(0, dtype=np.int64)
        self._total: Grouped = (np.zeros((0, width), dtype=np.uint64), empty, empty)
        self._pending: list[Grouped] = []
        self._waiting = 0

    def add_rows(self, words: WordArray, labels: CellArray) -> None:
        """Add rows as :func:`opdisc.data.packing.pack_rows` packs them, with labels +1, -1, 0."""
        self._n_rows += len(labels)
        kept = labels != 0
        signs = labels[kept]
        self._add(words[kept], signs == 1, signs == -1)

    def add_groups(
        self, words: WordArray, positives: IntArray, negatives: IntArray, n_rows: int
    ) -> None:
        """Add packed points with the rows of each class, at least one together, of all rows."""
        self._n_rows += n_rows
        self._add(words, positives, negatives)

    def add_counts(self, counts: EncodedTable | RowCounts) -> None:
        """Add what was counted already."""
        if isinstance(counts, RowCounts):
            if counts.schema != self.schema:
                raise TableError(
                    "counts can be added if one schema encoded them, but these have two; count "
                    "both tables by the same"
                )
            self.assume(counts.assumptions)
            self.note_parts(counts._parts)
            self._is_counted &= counts._is_counted
            self.is_sum |= counts._is_sum
            self.ranks.add_below(counts.ranks)
        self._n_rows += counts.n_rows
        self._add(pack_rows(counts.points), counts.positives, counts.negatives)

    def assume(self, assumptions: tuple[str, ...]) -> None:
        """Note what must be true of rows that were added."""
        self._assumptions = all_assumptions(self._assumptions, assumptions)

    def note_parts(self, parts: Iterable[str]) -> None:
        """Note which tables are added, by names that the program gave them in memory.

        Raises
        ------
        TableError
            If one of them was added before.
        """
        new = set(parts)
        if self._parts & new:
            raise TableError(
                "rows must be added once, but the same table or counts were given twice; count "
                "each table once."
            )
        self._parts |= new

    def result(self, recount: Recount | None = None) -> RowCounts:
        """Return the sum so far, and how to read its rows once more."""
        self._merge()
        words, positives, negatives = self._total
        points = unpack_rows(words, 1 + self.schema.n_columns)
        if self.schema.exclusive:
            keep_first_of_exclusive(points, self.schema)
            words, positives, negatives = _merged(pack_rows(points), positives, negatives)
            points = unpack_rows(words, 1 + self.schema.n_columns)
        counts = RowCounts(
            schema=self.schema,
            points=points,
            positives=positives.copy(),
            negatives=negatives.copy(),
            n_rows=self._n_rows,
            assumptions=self._assumptions,
            ranks=self.ranks.below(),
            recount=recount,
        )
        parts = frozenset(self._parts or {new_part()})
        return counts._noted(parts, is_counted=self._is_counted, is_sum=self.is_sum)

    def _add(self, words: WordArray, positives: Counts, negatives: Counts) -> None:
        self._pending.append(_merged(words, positives, negatives))
        self._waiting += len(self._pending[-1][0])
        if self._waiting > max(_PENDING, len(self._total[0])):
            self._merge()

    def _merge(self) -> None:
        words, positives, negatives = zip(self._total, *self._pending, strict=True)
        plus: IntArray = np.concatenate(positives)
        minus: IntArray = np.concatenate(negatives)
        self._total = _merged(np.concatenate(words), plus, minus)
        self._pending, self._waiting = [], 0


def count_no_rows(schema: Schema, assumptions: tuple[str, ...]) -> RowCounts:
    """Return the counts of a table without rows."""
    counter = PointCounter(schema)
    counter.assume(assumptions)
    return counter.result()


def exact_sum(counts: IntArray) -> int:
    """Return a sum that no number of counts can overflow."""
    return (int((counts >> 31).sum()) << 31) + int((counts & (2**31 - 1)).sum())


def new_part() -> str:
    """Return a name for rows that are counted, which says nothing of them."""
    return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class _BothAgain:
    """Reads the rows of two tables once more."""

    first: Recount
    second: Recount

    def __call__(self, schema: Schema) -> RowCounts:
        return self.first(schema) + self.second(schema)

    def check(self) -> None:
        self.first.check()
        self.second.check()


def _merged(words: WordArray, positives: Counts, negatives: Counts) -> Grouped:
    """Merge equal rows and add up their counts."""
    order, starts = group_rows(words)
    return (
        words[order[starts]],
        sum_groups(positives, order, starts),
        sum_groups(negatives, order, starts),
    )
