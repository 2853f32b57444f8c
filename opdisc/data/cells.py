"""How table cells are read: the canonical text of a value, and the number it spells.

The reading of a cell depends on that cell (and its column's dtype), never on other cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from opdisc.data.precision import plain_cells
from opdisc.data.spelling import plain_text, require_readable, without_sas_zeros
from opdisc.data.value_labels import CODES_INSTEAD, refuse_labels
from opdisc.errors import TableError

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt
    import pandas as pd

_MARK = "opdisc: numbers"

BOOLEAN_TEXTS = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}

PLAIN_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?")
"""A text that is a number. A leading zero ("007") or an exponent ("5E1") marks a code."""

_LARGEST_EXACT = 2**53
"""Integers below it are doubles, and no other integer is read as one of them."""

MARKS_OF_MISSING = frozenset(
    {"na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none", "nil", r"\n", "?", ".", "-", "--"}
)
"""What programs write where a value is missing, in lower case."""

ANY_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def canonical_text(value: object) -> str:
    """Text under which two cells are compared.

    It is the :func:`opdisc.data.plain_text` of the value; equal numbers agree however they are
    typed or plainly spelled (``1``, ``1.0``, ``"1"``, ``"+1.0"``), and true and false are 1 and 0,
    as in Python.
    Text is a number if it has a sign or none, digits without a leading zero, and decimals or none:
    ``"5E1"``, ``"05"`` and ``"1_000"`` are codes.

    Parameters
    ----------
    value : object
        A string, number, boolean or anything with a text form; not a missing value.

    Returns
    -------
    str
        The canonical text. The function is idempotent.
    """
    text = plain_text(value)
    text = BOOLEAN_TEXTS.get(text, text)
    if not PLAIN_NUMBER.fullmatch(text):
        return text
    digits = format(Decimal(text), "f").removeprefix("+")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def marks_missing(text: str) -> bool:
    """Return whether a text is one that programs write where a value is missing."""
    return text.casefold() in MARKS_OF_MISSING


def parse_number(value: object) -> float | None:
    """Return the finite number that a cell spells.

    Parameters
    ----------
    value : object
        A number, a boolean (1 or 0) or text in plain or scientific decimal notation.

    Returns
    -------
    float or None
        The nearest double, or None where the value is not a finite number: other text, ``"nan"``,
        infinities, and numbers beyond the range of a double.
    """
    text = plain_text(value)
    text = BOOLEAN_TEXTS.get(text, text)
    if not ANY_NUMBER.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def format_number(number: float) -> str:
    """Shortest text of a finite number, without a trailing ``.0``."""
    return canonical_text(float(number))


def plain_number(number: float) -> int | float:
    """Return the number as an int where that is exact, so that 13 and 13.0 share one JSON form."""
    return int(number) if number.is_integer() else number


def refuse_lost_codes(cells: pd.Series[Any], codes: Iterable[str], column: str) -> None:
    """Refuse a column of numbers where declared values are codes that numbers do not keep.

    A reader that infers types turns "02139" into 2139, and an integer from 2^53 on into another
    one, as long as no cell of the column is text or missing. So which cells count as a declared
    value would depend on other rows.

    Parameters
    ----------
    cells : Series
        Raw cells.
    codes : iterable of str
        Canonical texts of the declared values.
    column : str
        Declared name of the column, for messages.

    Raises
    ------
    TableError
        Names the declared value; no cell.
    """
    codes = tuple(codes)
    refuse_labels(cells, filter(None, codes), column, canonical_text)
    if not all(map(is_kept_by_a_number, codes)) and holds_numbers(cells):
        refuse_codes_among_numbers(codes, column)


def refuse_codes_among_numbers(codes: Iterable[str], column: str) -> None:
    """Refuse, for a column that holds numbers, declared values which numbers do not keep."""
    lost = next((code for code in codes if not is_kept_by_a_number(code)), None)
    if lost is not None:
        raise TableError(
            f"column {column!r} must hold text, since a number does not keep the declared value "
            f"{lost!r}, but it holds numbers; {_STORE_TEXT}"
        )


def refuse_numbers_as_text(column: str) -> None:
    """Refuse a column of numbers that is declared text."""
    raise TableError(
        f"column {column!r} must hold text, as its schema declares, but it holds numbers; "
        f"{_STORE_TEXT}"
    )


_STORE_TEXT = "read a text file with opdisc.read_table, or store the column as text"


def is_kept_by_a_number(code: str) -> bool:
    """Return whether a text is itself after it was read as a double; or is never read as one."""
    if not ANY_NUMBER.fullmatch(code):
        return True
    number = float(code)
    return canonical_text(number) == code and (
        not number.is_integer() or abs(number) < _LARGEST_EXACT
    )


def note_numbers(table: pd.DataFrame, columns: Iterable[str]) -> None:
    """Note on a table of texts which columns held numbers where they were stored."""
    if found := sorted(columns):
        table.attrs[_MARK] = found


def holds_numbers(cells: pd.Series[Any]) -> bool:
    """Return whether a column holds numbers, or did so before it was read as text."""
    import pandas as pd

    if cells.name in cells.attrs.get(_MARK, ()):
        return True
    dtype = cells.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    if pd.api.types.is_object_dtype(dtype):
        return pd.api.types.infer_dtype(cells, skipna=True) not in ("string", "empty")
    return bool(pd.api.types.is_numeric_dtype(dtype))


def read_texts(
    cells: pd.Series[Any], column: str, spell: Callable[[object], str] = canonical_text
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Read a column as text.

    Parameters
    ----------
    cells : Series, length n
        Raw cells.
    column : str
        Declared name of the column, for messages.
    spell : callable
        From a value to the text under which it is compared.

    Returns
    -------
    codes : int64 array, shape (n,)
        Index of each cell's text, -1 where the cell is None or NaN, of whatever type.
    texts : tuple of str
        Those texts; the same text may have several codes.

    Raises
    ------
    TableError
        If a cell has no text form.
    """
    codes, distinct = _distinct_values(cells, column)
    return codes, tuple(spell(value) for value in distinct)


def read_numbers(
    cells: pd.Series[Any], column: str, missing_values: tuple[str, ...]
) -> npt.NDArray[np.float64]:
    """Read a column as finite numbers.

    Parameters
    ----------
    cells : Series, length n
        Raw cells: numbers, booleans or text.
    column : str
        Declared name of the column, for messages.
    missing_values : tuple of str
        Canonical texts that count as missing.

    Returns
    -------
    float64 array, shape (n,)
        NaN where the cell is missing: None, NaN (the float, not the text) or a declared text. A
        number of less than double precision is read by its shortest text.

    Raises
    ------
    TableError
        If a cell is neither missing nor a finite number; its content is not named.
    """
    import pandas as pd

    is_labelled = isinstance(cells.dtype, pd.CategoricalDtype)
    cells = plain_cells(cells)
    if pd.api.types.is_numeric_dtype(cells.dtype) and cells.dtype.kind != "c":
        numbers = without_sas_zeros(cells.to_numpy(dtype=np.float64, na_value=np.nan).copy())
        unreadable = bool(np.isinf(numbers).any())
    else:
        try:
            codes, distinct = _distinct_values(cells, column)
        except TableError:
            codes, distinct, unreadable = np.empty(0, np.int64), [], True
        else:
            unreadable = False
        parsed = [_number_or_missing(value, missing_values) for value in distinct]
        unreadable = unreadable or None in parsed
        numbers = np.array([*parsed, np.nan], dtype=np.float64)[codes]
    if unreadable:
        refuse_no_number(column, is_labelled=is_labelled)
    declared = (parse_number(text) for text in missing_values)
    numbers[np.isin(numbers, [number for number in declared if number is not None])] = np.nan
    return numbers


def refuse_no_number(column: str, *, is_labelled: bool = False) -> NoReturn:
    """Refuse a column of numbers for a cell that is none; it is not named."""
    remedy = (
        CODES_INSTEAD
        if is_labelled
        else "correct it, leave it empty, or declare what it says by codes or missing in the "
        "feature"
    )
    raise TableError(
        f"column {column!r} must hold finite numbers, but has a cell that is not one; {remedy}"
    )


def _number_or_missing(value: object, missing_values: tuple[str, ...]) -> float | None:
    number = parse_number(value)
    if number is None and canonical_text(value) in missing_values:
        return np.nan
    return number


def _distinct_values(
    cells: pd.Series[Any], column: str
) -> tuple[npt.NDArray[np.int64], list[object]]:
    """Code of each cell (-1 for None and NaN) and the value of each code."""
    import pandas as pd

    try:
        cells = plain_cells(cells)
        if cells.dtype == object:
            # As text first: equal objects of different types (1/2 and 0.5) are different cells.
            cells = cells.map(plain_text, na_action="ignore")
        codes, distinct = pd.factorize(cells)
        values = list(distinct)
        for kind in set(map(type, values)):
            require_readable(kind)
    except (TypeError, ValueError, NotImplementedError):  # the last: Arrow's, of lists
        raise TableError(
            f"column {column!r} must hold text, numbers or dates, but has a cell of another type; "
            "decode it, leave that column out or store it as text"
        ) from None
    return codes.astype(np.int64), values
