"""The text of one cell, whatever held it: a file, a database, a frame, a schema.

Every entrance reads a cell and a declared value through :func:`plain_text`, so that what looks
alike is alike. The text depends on that cell only.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
import unicodedata
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from opdisc.errors import TableError

if TYPE_CHECKING:
    import numpy.typing as npt

NUMBERS = (bool, numbers.Rational, float, decimal.Decimal, np.number, np.bool_)

_READABLE = (
    str,
    *NUMBERS,
    datetime.date,
    datetime.time,
    np.datetime64,
    uuid.UUID,
)

_UNREADABLE = (np.complexfloating, np.timedelta64)

MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?"
)
"""A date with a time of day and no time zone."""

PRINTED_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]{1,2}")
"""How a number prints by an exponent; a longer one would be a page of zeros without it."""

SAS_ZERO = 2.0**-260
"""What ``pandas.read_sas`` makes of 0 in a transport file: 16 ** -65, as nobody measures it."""

SAS_ZERO_TEXTS = tuple(
    f"{sign}5.397605346934{end}e-79" for sign in ("", "-") for end in ("028", "03")
)
"""To 17 digits, and to the 15 that SQLite prints."""


def require_readable(kind: type) -> None:
    """Refuse a type whose values have no text that stands for them, such as bytes.

    Raises
    ------
    TableError
        If it is one.
    """
    if not (issubclass(kind, _READABLE) or _is_of_pandas(kind)) or issubclass(kind, _UNREADABLE):
        raise TableError(
            "a table's columns must hold text, numbers or dates, but one has a cell of another "
            "type; decode it, leave that column out or store it as text"
        )


def _is_of_pandas(kind: type) -> bool:
    """Return whether a type is one of pandas' own that have a text; others load no pandas."""
    if not any(base.__module__.startswith("pandas") for base in kind.__mro__):
        return False
    import pandas as pd

    return issubclass(kind, pd.Interval | pd.Period)


def plain_text(value: object) -> str:
    """Return the text of a cell or of a declared value.

    Accents are composed (Unicode's form NFC), and white space of any kind is one space within the
    text and none around it. A date has the form 2024-01-02, also where it was held as midnight; a
    moment has a space before its time and no zeros at the end of its seconds. A number has no
    exponent.

    Parameters
    ----------
    value : object
        Text, a number, a truth value, a date or a time; not a missing value.

    Returns
    -------
    str
        The function is idempotent.

    Raises
    ------
    TableError
        As :func:`require_readable`.
    """
    require_readable(type(value))
    text = str(value)
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = " ".join(text.split())
    if text[4:5] == "-" and (moment := MOMENT.fullmatch(text)):
        return _moment(*moment.groups())
    if text in SAS_ZERO_TEXTS:
        return "0"
    if not isinstance(value, str) and PRINTED_NUMBER.fullmatch(text):
        return format(decimal.Decimal(text), "f")
    return text


def _moment(date: str, minutes: str, seconds: str | None, parts: str | None) -> str:
    rest = (parts or "").rstrip("0")
    time = f"{minutes}:{seconds or '00'}" + (f".{rest}" if rest else "")
    return date if time == "00:00:00" else f"{date} {time}"


def without_sas_zeros(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Set to 0, in place, the numbers that are 0 in a SAS file; return the array."""
    values[np.abs(values) == SAS_ZERO] = 0.0
    return values


def spellings(text: str) -> tuple[str, ...]:
    """Return texts for an exact comparison that :func:`plain_text` reads as this one.

    Parameters
    ----------
    text : str
        A plain text.

    Returns
    -------
    tuple of str
        Itself first; then its decomposed accents, its moment as databases print it. Not all: white
        space has no end of spellings.
    """
    found = [text, unicodedata.normalize("NFD", text)]
    date = f"{text} 00:00:00" if len(text) == 10 else text
    moment = MOMENT.fullmatch(date)
    if moment is not None:
        day, minutes, seconds, parts = moment.groups()
        ends = [f"{seconds}.{(parts or '0').ljust(places, '0')}" for places in (1, 3, 6, 9)]
        ends += [] if parts else [seconds]
        found += [f"{day}{between}{minutes}:{end}" for between in " T" for end in ends]
        found += [f"{day}{b}{minutes}" for b in " T" if seconds == "00" and not parts]
    if text == "0":
        found += SAS_ZERO_TEXTS
    return tuple(dict.fromkeys(found))
