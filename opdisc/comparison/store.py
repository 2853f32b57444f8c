"""The directory of a comparison: settings, one line per finished run, and the table of them.

``settings.json`` and ``runs.csv`` are written whole or not at all. ``runs.jsonl`` is only appended
to, one synced line per run, so that a killed comparison has lost no finished run; a last line that
the kill tore is dropped when the comparison is resumed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import filelock
import pandas as pd

from opdisc.comparison.methods import ComparisonError, ComparisonMistake
from opdisc.comparison.runs import Row
from opdisc.data import atomic_write_text, is_misplaced, write_table

SETTINGS = "settings.json"

ROWS = "runs.jsonl"

TABLE = "runs.csv"

LOCK = "runs.lock"

_TEXT_KEYS = ("run_id", "dataset", "method", "evaluation", "status")
"""What every run says of itself in text."""

IDENTITY = ("plan", "dataset", "schema_digest", "table_digest")
"""What must be the same for a comparison to be continued."""


@dataclass(slots=True, kw_only=True)
class Store:
    """An open results directory; use :func:`open_store`.

    Parameters
    ----------
    directory : Path
        Where it is.
    settings : dict
        As in ``settings.json``.
    done : set of str
        Runs that have a row.
    _file : BinaryIO
        ``runs.jsonl``, open to append.
    """

    directory: Path
    settings: dict[str, Any]
    done: set[str] = field(default_factory=set)
    _file: BinaryIO

    def append(self, row: Row) -> None:
        """Add a row durably; a run that has one already is not added again."""
        if row["run_id"] in self.done:
            return
        line = json.dumps(row, allow_nan=False, separators=(",", ":")) + "\n"
        self._file.write(line.encode("ascii"))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.done.add(row["run_id"])

    def write_csv(self) -> tuple[int, int]:
        """Write every row so far as ``runs.csv``; return how many there are, and without a model.

        Objects and lists become JSON text.
        """
        rows = read_rows(self.directory)
        if rows:
            table = pd.DataFrame([{k: _cell(v) for k, v in row.items()} for row in rows])
            write_table(table.astype(object), self.directory / TABLE)
        return len(rows), sum(row["status"] != "ok" for row in rows)


@contextmanager
def open_store(directory: Path, settings: Mapping[str, Any], *, resume: bool) -> Iterator[Store]:
    """Create a results directory, or open one to continue it.

    Parameters
    ----------
    directory : Path
        Its parent must exist unless it is the working directory's.
    settings : mapping
        For ``settings.json``; has at least the keys in :data:`IDENTITY`.
    resume : bool
        Whether to continue.

    Raises
    ------
    ComparisonError
        If the directory exists and is not to be continued, holds another comparison, is in use, or
        cannot be written.
    """
    lock = filelock.FileLock(directory / LOCK, timeout=0)
    try:
        existed = directory.exists()
        if existed and not directory.is_dir():
            raise ComparisonMistake(
                f"out must be a directory, but {directory} is a file; name another."
            )
        if existed and not resume and any(directory.iterdir()):
            raise ComparisonError(
                f"{directory} exists and is not overwritten; continue it with --resume or name "
                "another directory with --out."
            )
        if (directory / TABLE).is_dir():
            raise ComparisonMistake(
                f"the runs go to a file {TABLE}, but {directory / TABLE} is a directory; move it "
                "away."
            )
        directory.mkdir(parents=True, exist_ok=True)
        lock.acquire()
        file = (directory / ROWS).open("a+b")
    except filelock.Timeout:
        raise ComparisonError(
            f"{directory} is in use by another comparison; wait for it or name another "
            "directory with --out."
        ) from None
    except OSError as error:
        lock.release()
        reason = error.strerror or type(error).__name__
        wrong = ComparisonMistake if is_misplaced(error) else ComparisonError
        raise wrong(
            f"out must be a writable directory, but {directory} is not: {reason}."
        ) from None
    try:
        with file:
            known = _settle(directory, settings)
            _drop_torn_line(file)
            done = {row["run_id"] for row in read_rows(directory)}
            yield Store(directory=directory, settings=known, done=done, _file=file)
    finally:
        lock.release()


def read_rows(directory: Path) -> list[Row]:
    """Return the rows of a comparison in the order in which they were written.

    Raises
    ------
    ComparisonError
        If a line other than a torn last one is no row.
    """
    path = directory / ROWS
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    rows: list[Row] = []
    for number, line in enumerate(lines[:-1], start=1):
        row = _read_row(line)
        if row is None:
            raise ComparisonMistake(
                f"every line of {path} must be a run, but line {number} is not; remove that line "
                "and resume."
            )
        rows.append(row)
    return rows


def read_settings(directory: Path) -> dict[str, Any]:
    """Return the settings of a comparison.

    Raises
    ------
    ComparisonError
        If the directory holds none.
    """
    try:
        settings = json.loads((directory / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise ComparisonMistake(f"{directory} must hold a comparison's {SETTINGS}, but does not.")
    return settings


def _read_row(line: bytes) -> Row | None:
    """Return the run of a line, None for a line that no comparison wrote."""
    try:
        row = json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return None
    known = isinstance(row, dict) and all(isinstance(row.get(key), str) for key in _TEXT_KEYS)
    return row if known else None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _settle(directory: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Write the settings of a new comparison, or check them against those it began with."""
    plain: dict[str, Any] = json.loads(json.dumps(dict(settings)))
    if not (directory / SETTINGS).exists():
        if (directory / ROWS).stat().st_size:
            raise ComparisonMistake(
                f"{directory} has runs but no {SETTINGS}; name another with --out."
            )
        atomic_write_text(directory / SETTINGS, json.dumps(plain, indent=2) + "\n")
        return plain
    known = read_settings(directory)
    differing = [_difference(key, known.get(key), plain[key]) for key in IDENTITY]
    found = [text for text in differing if text]
    if found:
        raise ComparisonMistake(
            f"{directory} was begun with other settings ({', '.join(found)}); resume with the "
            "same ones or name another directory with --out."
        )
    return known


def _difference(key: str, old: Any, new: Any) -> str:
    if old == new:
        return ""
    if isinstance(old, dict) and isinstance(new, dict):
        return ", ".join(k.replace("_", "-") for k in new if old.get(k) != new[k]) or key
    return key.replace("_digest", "")


def _drop_torn_line(file: BinaryIO) -> None:
    file.seek(0)
    content = file.read()
    kept = content.rfind(b"\n") + 1
    if kept < len(content):
        file.truncate(kept)
        os.fsync(file.fileno())
    file.seek(0, os.SEEK_END)


def _cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"))
    return value
