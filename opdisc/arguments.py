"""What a number or a name that is given must be: "RULE, got OFFENCE; REMEDY", in one place.

A bool is no number, NumPy's numbers are, and what is not a number is never in a range. Nothing
here may be given a value of a private table.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from fractions import Fraction
from numbers import Integral, Real
from typing import Literal, TypeGuard

import numpy as np

from opdisc.errors import CalibrationError, OPDiscError, quoted

Ends = Literal["()", "(]", "[)", "[]"]
"""Which ends of an interval belong to it, as it is written."""


def check_integer(
    name: str,
    value: object,
    *,
    least: int = 1,
    most: int | None = None,
    remedy: str = "",
    error: type[OPDiscError] = CalibrationError,
) -> int:
    """Return a value as an integer, or refuse it.

    Parameters
    ----------
    name : str
        What the sentence calls it.
    value : object
        What was given.
    least, most : int
        The smallest and the largest that is taken; None: there is no largest.
    remedy : str
        What to do, without a stop.
    error : type
        What is raised.

    Raises
    ------
    OPDiscError
        ``error``, if the value is no integer or out of range.
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
        if least <= number and (most is None or number <= most):
            return number
    rule = f"an integer of at least {least}"
    if most is not None:
        rule = f"an integer from {least} to {most:,}"
    raise _refusal(name, rule, value, remedy, error)


def check_within(
    name: str,
    value: object,
    low: float,
    high: float,
    *,
    ends: Ends = "()",
    of: str = "",
    remedy: str = "",
    error: type[OPDiscError] = CalibrationError,
) -> float:
    """Return a number in an interval as a double, or refuse it.

    Parameters
    ----------
    name, value, remedy, error
        As in :func:`check_integer`.
    low, high : float
        The ends of the interval.
    ends : str
        Which of them belong to it.
    of : str
        What the number is, such as "a share of epsilon".

    Raises
    ------
    OPDiscError
        ``error``, if the value is no number or outside.
    """
    number = _plain(value)
    if is_number(number):
        after = low <= number if ends[0] == "[" else low < number
        before = number <= high if ends[1] == "]" else number < high
        if after and before:
            return float(number)
    rule = f"{of} in " if of else "in "
    raise _refusal(name, f"{rule}{ends[0]}{low:g}, {high:g}{ends[1]}", value, remedy, error)


def check_finite(
    name: str,
    value: object,
    *,
    zero: bool = False,
    unit: str = "",
    remedy: str = "",
    error: type[OPDiscError] = CalibrationError,
) -> float:
    """Return a finite number above 0 as a double, or refuse it.

    Parameters
    ----------
    name, value, remedy, error
        As in :func:`check_integer`.
    zero : bool
        Whether 0 is taken too.
    unit : str
        What the number counts, such as "seconds".

    Raises
    ------
    OPDiscError
        ``error``, if the value is no number, not finite or too small.
    """
    number = _plain(value)
    if is_number(number):
        is_enough = number >= 0 if zero else number > 0
        if is_enough and number <= sys.float_info.max:
            return float(number)
    rule = "finite and >= 0" if zero else "finite and > 0"
    raise _refusal(name, f"{rule} {unit}".rstrip(), value, remedy, error)


def check_choice(
    name: str,
    value: object,
    choices: Collection[str],
    *,
    error: type[Exception] = CalibrationError,
) -> None:
    """Refuse what is not one of the names that are known; arguments as in :func:`check_integer`.

    Raises
    ------
    Exception
        ``error``, if the value is none of them.
    """
    if not (isinstance(value, str) and value in choices):
        raise _refusal(name, f"one of {', '.join(choices)}", value, "", error)


def check_delta(what: str, delta: float, remedy: str) -> None:
    """Refuse a delta of 0 where no pure guarantee exists.

    Raises
    ------
    CalibrationError
        If delta is not above 0.
    """
    if not delta > 0:
        raise CalibrationError(f"{what} needs delta > 0, got delta={delta}; {remedy}.")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number and no bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _refusal(
    name: str, rule: str, value: object, remedy: str, error: type[Exception]
) -> Exception:
    ending = f"; {remedy}." if remedy else "."
    return error(f"{name} must be {rule}, got {_shown(value)}{ending}")


def _plain(value: object) -> object:
    """Return NumPy's number as Python's: it rounds the end of a range to its own few digits."""
    return value.item() if isinstance(value, np.generic) else value


def _shown(value: object) -> str:
    value = _plain(value)
    if isinstance(value, Fraction) and abs(value) < 10**6:
        value = float(value)
    return quoted(value)
