"""Validation reports in files: JSON, strictly read."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

from opdisc.data import atomic_write_text
from opdisc.errors import ModelFileError
from opdisc.models.document import model_digest
from opdisc.models.loading import read_object
from opdisc.models.validation.groups import CountedGroup
from opdisc.models.validation.receipt import ValidationReceipt
from opdisc.models.validation.report import FORMAT, VERSION, ValidationReport

_WHAT = "a validation report"


def save_report(report: ValidationReport, path: str | PathLike[str]) -> None:
    """Write a report, whole or not at all.

    Raises
    ------
    TableError
        If the file cannot be written; an older file is then untouched.
    """
    atomic_write_text(path, json.dumps(report.to_dict(), indent=1, allow_nan=False) + "\n")


def load_report(path: str | PathLike[str]) -> ValidationReport:
    """Read and check a report.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is no report of this version, was altered, or contradicts
        itself. A table of rows is none: it would have to pay.
    """
    record = read_object(Path(path), _WHAT)
    if record.pop("format", None) != FORMAT:
        raise ModelFileError(
            f"{_WHAT} must be a file that opdisc validate saved, but '{path}' is not one; only "
            "what was released is compared with, rows would have to pay."
        )
    version = record.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise ModelFileError(
            f"{_WHAT} must have format version {VERSION}, but '{path}' has another; validate "
            "again."
        )
    digest = record.pop("sha256", None)
    if digest != _digest(record):
        raise ModelFileError(f"{_WHAT} must be unaltered, but '{path}' is not what was written.")
    try:
        return _parsed(record)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError):
        raise ModelFileError(f"{_WHAT} must hold valid parts, but '{path}' does not.") from None


def _digest(record: dict[str, Any]) -> str:
    return model_digest({"format": FORMAT, "version": VERSION, **record})


def _parsed(record: dict[str, Any]) -> ValidationReport:
    """Return the report; every record in it checks its own texts and fields."""
    for group in record["groups"]:
        CountedGroup.from_dict(group)
    ValidationReceipt.from_dict(record["receipt"])
    return ValidationReport.from_dict(record)
