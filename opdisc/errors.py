"""Errors of the privacy layer.

Messages state the rule, the offence and the remedy in one sentence. They never hold a value that
was read from a private table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from oracles.errors import InvalidProblem


class OPDiscError(Exception):
    """Root of every error raised by :mod:`opdisc`."""


class PublicMistake(OPDiscError):
    """What was typed, or a file that holds no private row, breaks a rule: no row took part."""


class SchemaError(PublicMistake, ValueError):
    """A schema is malformed, or a public value contradicts it."""


class TableError(OPDiscError, ValueError):
    """A table cannot be read, or does not have the shape its schema declares."""


class MisplacedFile(TableError, PublicMistake):
    """A file that was named is not there, or cannot be read or written where it is."""


class CalibrationError(PublicMistake, ValueError):
    """No noise scale can be derived from the given public inputs."""


class UncertifiedRelease(OPDiscError, RuntimeError):
    """The oracle gave no certificate within the mechanism's allowance; nothing is released."""


class ModelFileError(PublicMistake, ValueError):
    """A saved model is not one that this version of opdisc can trust."""


class LedgerError(OPDiscError, ValueError):
    """The ledger cannot be read or written, or the budget would be exceeded."""


class MisplacedLedger(LedgerError, PublicMistake):
    """The ledger that was named is not there, or is no file that can be used."""


class AuditFailure(OPDiscError, RuntimeError):
    """An audit refuted a mechanism's claim."""


@contextmanager
def as_calibration_error() -> Iterator[None]:
    """Raise what :mod:`oracles` refuses in a loss, a domain or public bounds as our own error."""
    try:
        yield
    except InvalidProblem as error:
        raise CalibrationError(str(error)) from error
