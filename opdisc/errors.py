"""Errors of the privacy layer, and how their messages quote texts that others wrote.

Messages state the rule, the offence and the remedy in one sentence. They never hold a value that
was read from a private table.

Schemas, saved models and ledgers are files from anywhere. A line break in a name could forge a
line of a receipt, an escape sequence repaint the terminal, a bidi override swap two words: what is
shown of them is escaped.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from oracles.errors import InvalidProblem, OracleUnavailable, UnsupportedProblem

LONGEST_NAME = 500
"""Characters of a name or a label."""

_LONGEST_QUOTE = 120

_LONGEST_MESSAGE = 2_000


class OPDiscError(Exception):
    """Root of every error raised by :mod:`opdisc`."""


class PublicMistake(OPDiscError):
    """What was typed, or a file that holds no private row, breaks a rule: no row took part."""


class SchemaError(PublicMistake, ValueError):
    """A schema is malformed, or a public value contradicts it."""


class TableError(OPDiscError, ValueError):
    """A table cannot be read, or does not have the shape its schema declares."""


class FileMistake(TableError, PublicMistake):
    """A file that was named is not there, or cannot be read or written where it is."""


class CalibrationError(PublicMistake, ValueError):
    """No noise scale can be derived from the given public inputs."""


class UncertifiedRelease(OPDiscError, RuntimeError):
    """The oracle gave no certificate within the mechanism's allowance; nothing is released."""


class ModelFileError(PublicMistake, ValueError):
    """A saved model is not one that this version of opdisc can trust."""


class LedgerError(OPDiscError, ValueError):
    """The ledger cannot be read or written, or the budget would be exceeded."""


class LedgerMistake(LedgerError, PublicMistake):
    """The ledger that was named cannot be used, or what is said of it breaks a rule."""


class AuditFailure(OPDiscError, RuntimeError):
    """An audit refuted a mechanism's claim."""


@contextmanager
def as_calibration_error() -> Iterator[None]:
    """Raise what :mod:`oracles` refuses in a loss, a domain or public bounds as our own error."""
    try:
        yield
    except InvalidProblem as error:
        raise CalibrationError(str(error)) from error


@contextmanager
def engine_refusals(sentence: str) -> Iterator[None]:
    """Turn what an engine says into one sentence: its own words may hold a cell or a count.

    Parameters
    ----------
    sentence : str
        What is said, with ``{reason}`` where the kind of the error goes.
    """
    try:
        yield
    except (OPDiscError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  # a panic of compiled code is no Exception
        reason = type(error).__name__
    else:
        return
    # From None: a context manager raises while the engine's own words are handled.
    raise TableError(sentence.replace("{reason}", reason)) from None


@contextmanager
def memory_refusals() -> Iterator[None]:
    """Turn a want of memory for distinct points into one sentence: its own words hold a number."""
    try:
        yield
    except MemoryError:
        raise TableError(
            "the distinct points of a table must fit into memory, but those of this one did not; "
            "declare fewer statements, or take a machine with more memory"
        ) from None


def rehearse(what: str, attempt: Callable[[], object]) -> None:
    """Run something on a public toy; whatever it raises is a refusal that costs nothing.

    Raises
    ------
    OracleUnavailable
        If the attempt failed.
    """
    try:
        attempt()
    except UnsupportedProblem as error:  # it says itself what stands in the way
        raise OracleUnavailable(str(error)) from error
    except Exception as error:
        raise OracleUnavailable(
            f"{what} must work on a public toy problem before anything is spent, but it ended "
            f"with {type(error).__name__}; mend the installation or use another one."
        ) from error


def is_plain(text: str) -> bool:
    """Return whether a text holds printable characters and spaces only, each shown as itself."""
    return text.isprintable() or all(map(_is_shown, text))


def escaped(text: str) -> str:
    r"""Return a text on one line, with ``\n``, ``\x1b`` or ``\u202e`` for what is not plain."""
    return text if is_plain(text) else "".join(map(_escaped_character, text))


def quoted(value: object) -> str:
    """Return a value as a message names it: escaped and short, whatever it is."""
    try:
        return shortened(repr(value))
    except (ValueError, RecursionError):  # a number of 5,000 digits, a list in a list in a list
        return f"a long {type(value).__name__}"


def shortened(text: str, longest: int = _LONGEST_QUOTE) -> str:
    """Return a text of at most so many characters, its middle left out."""
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 3]}...{text[-end:]}"


def one_sentence(message: str) -> str:
    """Return a message on one line, escaped, no word of it and not all of it very long."""
    words = (shortened(word, 2 * _LONGEST_QUOTE) for word in message.split())
    folded = shortened(escaped(" ".join(words)), _LONGEST_MESSAGE)
    return folded if folded.endswith((".", "!", "?")) else folded + "."


def large_number(number: int) -> str:
    """Return a count to three digits; beyond a double's range to its power of ten."""
    if number < 10**300:
        return f"{number:.3g}"
    return f"1e+{math.floor(math.log10(number))}"


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _escaped_character(character: str) -> str:
    if _is_shown(character):
        return character
    return character.encode("unicode_escape").decode("ascii")
