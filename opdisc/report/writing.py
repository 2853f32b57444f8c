"""Writing the report: every file whole or not at all, the page last."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from opdisc.errors import TableError
from opdisc.report.cells import evaluations, find_cells
from opdisc.report.page import page
from opdisc.report.plates import plates
from opdisc.report.ranking import rank
from opdisc.report.results import read_results
from opdisc.report.series import find_series
from opdisc.report.styles import styles
from opdisc.report.tables import summary_table
from opdisc.tables import atomic_write_text, write_table

PAGE = "report.html"
SUMMARY = "summary.csv"
FIGURES = "figures"


def write_report_files(directory: Path) -> Path:
    """Write the report of a comparison; see :func:`opdisc.report.write_report`."""
    results = read_results(directory)
    series, runs = find_series(results.runs)
    results = replace(results, runs=runs)
    looks = styles(series)
    views = tuple((view, find_cells(view, series)) for view in evaluations(runs))
    drawn = plates(views, runs, series, looks)
    text = page(results, views, rank(*views[0]), series, looks, drawn)
    write_table(summary_table(views), directory / SUMMARY)
    for plate in drawn:
        for name, content in plate.files:
            _write_bytes(directory / FIGURES / name, content)
    atomic_write_text(directory / PAGE, text)
    return directory / PAGE


def _write_bytes(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(exist_ok=True)
        try:
            temporary.write_bytes(content)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(f"figures must go to a writable place, but {path}: {reason}.") from None
