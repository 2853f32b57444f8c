"""Cells of a column in an engine: what is true of them, as expressions, and where that is unsure.

Each kind of column says exactly what :mod:`opdisc.data.cells` says of its cells, or that it is
unsure. A row with an unsure cell is read by the reader of rows. So no rule is here twice: these
are the cells on which all spellings of the rule agree.
"""

from __future__ import annotations

import datetime
import importlib
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opdisc.data.cells import BOOLEAN_TEXTS, canonical_text, parse_number
from opdisc.data.precision import shortest_doubles
from opdisc.data.spelling import MOMENT, SAS_ZERO
from opdisc.errors import TableError

_LARGEST_EXACT = 2**53

MOST_DIGITS = 15
"""Decimals with so few are integers and powers of ten that doubles hold: one division is exact."""

_PLAIN_DECIMAL = "^[+-]?([0-9]{1,40}[.]?[0-9]{0,40}|[.][0-9]{1,40})$"
"""Texts that every engine casts to the nearest double."""

_NOT_PLAIN = "[^ -~]|^ | $|  "
"""Texts that are other ones without white space or with composed accents, or might be."""

_SHORTEST = "^(0|-?[1-9][0-9]*|-?(0|[1-9][0-9]*)[.][0-9]*[1-9])$"
"""Numbers that are spelled as they are compared."""

_RESPELLED = (
    "^([+-]?(0|[1-9][0-9]*)([.][0-9]+)?|"
    + "|".join(BOOLEAN_TEXTS)
    + "|[0-9]{4}-[0-9]{2}-[0-9]{2}[ T].*|-?5[.]397605346934.*)$"
)
"""Texts that are compared by another spelling, or might be: numbers, truth values, moments."""

_SPECIAL = frozenset("\\.+*?()[]{}^$|")


class InexactColumn(TableError):
    """A column that an engine does not compare as the reader of rows does; its type says so."""


def nw() -> Any:
    """Return narwhals, which writes an expression for each engine."""
    return importlib.import_module("narwhals")


def any_true(expressions: Iterable[Any]) -> Any:
    """Return whether one of some expressions is true; of none, a literal."""
    found = list(expressions)
    if len(found) < 2:
        return found[0] if found else nw().lit(False)
    half = len(found) // 2  # engines limit how deep an expression may be
    return any_true(found[:half]) | any_true(found[half:])


class Cells:
    """A column of one type.

    An expression may be null where a cell is missing by its type, or is no number where numbers
    are compared: not true. To rule that out in each would cost an engine more than to compare.

    Parameters
    ----------
    column : narwhals.Expr
        Its cells.
    name : str
        Declared name, for messages.
    """

    holds_numbers = True

    def __init__(self, column: Any, name: str) -> None:
        self.column, self.name = column, name

    def missing(self) -> Any:
        """Return where a cell is missing by its type."""
        return self.column.is_null()

    def odd(self) -> Any:
        """Return where the type holds a value that the reader of rows must see."""
        return nw().lit(False)

    def odd_number(self, codes: Sequence[str]) -> Any:
        """Return where it is unsure which number a cell is; codes are of missing values."""
        return self.odd()

    def odd_text(self, known: Sequence[str]) -> Any:
        """Return where it is unsure whether a cell is one of some canonical texts."""
        return self.odd()

    def at_least(self, cut: float) -> Any:
        """Return where a cell is a number of at least this much."""
        raise self._unsayable()

    def is_number(self, number: float) -> Any:
        """Return where a cell is this number."""
        raise self._unsayable()

    def is_text(self, text: str) -> Any:
        """Return where a cell has this canonical text."""
        raise NotImplementedError

    def is_any(self, texts: Sequence[str]) -> Any:
        """Return where a cell has one of some canonical texts."""
        return any_true(map(self.is_text, texts))

    def is_code(self, codes: Sequence[str]) -> Any:
        """Return where a number, or a text in its place, is a code of a missing value."""
        declared = [number for code in codes if (number := parse_number(code)) is not None]
        return any_true(map(self.is_number, declared))

    def _unsayable(self) -> InexactColumn:
        return unsayable(self.name)


class Wholes(Cells):
    """Integers of 64 bits or fewer."""

    def __init__(self, column: Any, name: str, low: int, high: int) -> None:
        super().__init__(column, name)
        self._low, self._high = low, high

    def at_least(self, cut: float) -> Any:
        """Return where the double nearest to an integer is at least this much."""
        least = _least_whole(cut) if abs(cut) >= _LARGEST_EXACT else math.ceil(cut)
        if least <= self._low:
            return ~self.missing()
        if least > self._high:
            return nw().lit(False)
        return self.column >= least

    def is_number(self, number: float) -> Any:
        """Return where the double nearest to an integer is this one."""
        if abs(number) >= _LARGEST_EXACT:
            raise self._unsayable()
        return self._is_whole(int(number)) if number.is_integer() else nw().lit(False)

    def is_text(self, text: str) -> Any:
        """Return where an integer is spelled like this."""
        is_whole = re.fullmatch("0|-?[1-9][0-9]*", text)
        return self._is_whole(int(text)) if is_whole else nw().lit(False)

    def _is_whole(self, number: int) -> Any:
        if not self._low <= number <= self._high:
            return nw().lit(False)
        return self.column == number


class Reals(Cells):
    """Doubles; numbers of 4 bytes by their shortest text; decimals of few digits.

    Parameters
    ----------
    column, name
        As for the others.
    kind : {"float64", "float32", "decimal"}
        What the engine holds. The column is cast to doubles first.
    is_exact : bool
        Whether the engine looks at each cell itself: Polars, Spark, and DuckDB at a file that we
        opened.

    Notes
    -----
    DuckDB 2.0.1 takes a Parquet file's word for the range of a column, where NaN does not count:
    ``isnan`` is then false everywhere, and a comparison may be true of NaN. In tables of others
    the text of a cell decides what is missing, and nothing that is missing is a number.
    """

    def __init__(self, column: Any, name: str, kind: str, is_exact: bool) -> None:
        super().__init__(column if kind == "float64" else column.cast(nw().Float64), name)
        self._is_narrow = kind == "float32"
        size = self.column.abs()
        self._is_infinite = size == math.inf
        if is_exact:
            self._is_nan = ~self.column.is_finite() & ~self._is_infinite
        else:
            self._is_nan = self.column.cast(nw().String).str.to_lowercase() == "nan"
        self._is_sas_zero = size == SAS_ZERO

    def missing(self) -> Any:
        """Return where there is no number."""
        return self.column.is_null() | self._is_nan

    def odd(self) -> Any:
        """Return where a number is infinite, or one of the zeros that SAS files come with."""
        return (self._is_infinite | self._is_sas_zero) & ~self.missing()

    def at_least(self, cut: float) -> Any:
        """Return where a number is at least this much; NaN is the greatest of all to engines."""
        cut = _least_narrow(cut) if self._is_narrow else cut
        if cut == math.inf:
            return nw().lit(False)
        return (self.column >= cut) & ~self.missing()

    def is_number(self, number: float) -> Any:
        """Return where a number is this one."""
        if self._is_narrow:
            if _shortest(number) != number:
                return nw().lit(False)
            number = float(np.float32(number))
        return (self.column == number) & ~self.missing()

    def is_text(self, text: str) -> Any:
        """Return where a number is spelled like this."""
        number = parse_number(text)
        if number is None or canonical_text(number) != text:
            return nw().lit(False)
        return self.is_number(number)


class Truths(Cells):
    """True and false: 1 and 0."""

    def at_least(self, cut: float) -> Any:
        """Return where 1 or 0 is at least this much."""
        if cut <= 0:
            return ~self.missing()
        return self.column if cut <= 1 else nw().lit(False)

    def is_number(self, number: float) -> Any:
        """Return where a cell is 1, or 0."""
        return self.is_text(canonical_text(number))

    def is_text(self, text: str) -> Any:
        """Return where a cell is spelled 1, or 0."""
        if text not in ("0", "1"):
            return nw().lit(False)
        return self.column if text == "1" else ~self.column


class Moments(Cells):
    """Dates, and moments without a time zone to the millionth of a second."""

    holds_numbers = False

    def __init__(self, column: Any, name: str, kind: type[datetime.date], unit: str) -> None:
        super().__init__(column, name)
        self._kind, self._unit = kind, unit

    def odd(self) -> Any:
        """Return where a date is none that Python has."""
        return (self.column < self._kind.min) | (self.column > self._kind.max)

    def is_text(self, text: str) -> Any:
        """Return where a date or a moment is spelled like this."""
        if not (MOMENT.fullmatch(text) or re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text)):
            return nw().lit(False)
        try:
            value = self._kind.fromisoformat(text)
        except ValueError:
            return nw().lit(False)
        # Polars would cut the text down to the column's milliseconds, and call it equal.
        if self._unit == "ms" and getattr(value, "microsecond", 0) % 1000:
            return nw().lit(False)
        is_spelled_so = canonical_text(value) == text
        return self.column == value if is_spelled_so else nw().lit(False)


class Texts(Cells):
    r"""Texts.

    Parameters
    ----------
    column, name
        As for the others.
    is_exact : bool
        Whether the engine compares texts letter by letter, and knows the end of a text as ``\z``.
        Where a column may have a collation of its own, a regular expression compares, which
        follows none; PostgreSQL has no ``\z``, and there ``$`` is the end.
    """

    holds_numbers = False

    def __init__(self, column: Any, name: str, is_exact: bool) -> None:
        super().__init__(column, name)
        self._is_exact = is_exact
        self._is_decimal = self.spells(_PLAIN_DECIMAL)
        # Cells that are none become null before the cast, or it would fail at them.
        self._number = nw().when(self._is_decimal).then(column).cast(nw().Float64)

    def missing(self) -> Any:
        """Return where there is no text."""
        return self.column.is_null() | self.is_any([""])

    def odd_number(self, codes: Sequence[str]) -> Any:
        """Return where a text is no plain decimal, and is not missing."""
        return ~(self._is_decimal | self.missing() | self.is_any(codes))

    def odd_text(self, known: Sequence[str]) -> Any:
        """Return where a text is not one of some, and may be compared by another spelling."""
        is_known = self.is_any(known) | self.missing()
        # By cases: an engine may look for what is odd among the unknown texts only.
        is_odd = nw().when(self.spells(f"{_NOT_PLAIN}|{_RESPELLED}")).then(~self.spells(_SHORTEST))
        never = nw().lit(False)
        return nw().when(is_known).then(never).otherwise(is_odd.otherwise(never))

    def at_least(self, cut: float) -> Any:
        """Return where a text spells a number of at least this much."""
        return self._number >= cut

    def is_number(self, number: float) -> Any:
        """Return where a text spells this number."""
        return self._number == number

    def is_text(self, text: str) -> Any:
        """Return where a text is this one."""
        return self.is_any([text])

    def is_any(self, texts: Sequence[str]) -> Any:
        """Return where a text is one of some, letter by letter."""
        if not texts:
            return nw().lit(False)
        if self._is_exact:
            # DuckDB looks into a list with one text for longer than it compares with the text.
            return self.column.is_in(list(texts)) if len(texts) > 1 else self.column == texts[0]
        return self.spells(exact_pattern(texts))

    def spells(self, pattern: str) -> Any:
        """Return where a regular expression is found in a text."""
        if self._is_exact and pattern.endswith("$"):  # which Spark finds before a line's end, too
            pattern = f"{pattern[:-1]}\\z"
        return self.column.str.contains(pattern)

    def is_code(self, codes: Sequence[str]) -> Any:
        """Return where a text is a code of a missing value, or spells the number that one is."""
        return super().is_code(codes) | self.is_any(codes)


def as_texts(column: Any) -> Any:
    """Return categories as the texts that they are."""
    return column.cast(nw().String)


def exact_pattern(texts: Iterable[str]) -> str:
    """Return a regular expression, of every engine's dialect, for some texts and no other."""
    escaped = ("".join(f"\\{c}" if c in _SPECIAL else c for c in text) for text in texts)
    return f"^({'|'.join(escaped)})$"


def unsayable(name: str) -> InexactColumn:
    """Return what to raise of a column whose cells an engine cannot compare as files are."""
    return InexactColumn(
        f"a column that an engine compares must hold text, numbers, dates or moments that it "
        f"holds exactly, but {name!r} is of another type for what its schema declares; cast it, "
        "or collect the table first"
    )


def _least_whole(cut: float) -> int:
    """Return the smallest integer whose nearest double is at least this one, far from 0."""
    low, high = int(cut) - 2**12 - abs(int(cut)) // 2**50, int(cut) + 1
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if float(middle) >= cut else (middle, high)
    return high


def _least_narrow(cut: float) -> float:
    """Return the smallest number of 4 bytes whose shortest text is at least this much."""
    with np.errstate(over="ignore"):
        held = np.float32(cut)
        near = (
            np.nextafter(held, np.float32(-np.inf)),
            held,
            np.nextafter(held, np.float32(np.inf)),
        )
    return next((float(value) for value in near if _shortest(value) >= cut), math.inf)


def _shortest(number: Any) -> float:
    with np.errstate(over="ignore"):
        return float(shortest_doubles(np.array([number], dtype=np.float32))[0])
