"""The door of the report: whether there is a place for it is asked before anything is computed."""

from __future__ import annotations

import os
from pathlib import Path

from opdisc.report.analysis import ReportError

PAGE = "report.html"

SUMMARY = "summary.csv"

FIGURES = "figures"


def check_places(directory: str | Path) -> None:
    """Refuse a directory in which the report could not be written.

    Parameters
    ----------
    directory : path
        Of a comparison, before its runs.

    Raises
    ------
    ReportError
        If something else is in the way, or a place is not writable.
    """
    folder = Path(directory)
    for name in (PAGE, SUMMARY):
        if (folder / name).is_dir():
            raise ReportError(
                f"the report writes a file {name}, but {folder / name} is a directory; move it "
                "away."
            )
    figures = folder / FIGURES
    if not figures.is_dir() and (figures.exists() or figures.is_symlink()):
        raise ReportError(
            f"the report needs a directory {FIGURES}, but {figures} is a file; move it away."
        )
    for place in (folder, figures):
        if place.is_dir() and not os.access(place, os.W_OK | os.X_OK):
            raise ReportError(
                f"the report must go to a writable directory, but {place} is not; change its "
                "permissions."
            )


def write_report(directory: str | Path) -> Path:
    """Write the report of a comparison beside its results.

    Parameters
    ----------
    directory : path
        Holds ``settings.json`` and ``runs.jsonl``; the comparison need not be finished. Nothing
        else is read.

    Returns
    -------
    Path
        ``report.html``, one file that needs no other and no network. Beside it ``summary.csv``
        (a line for each method and epsilon) and ``figures/`` (SVG), each file whole or not at
        all.

    Raises
    ------
    ReportError
        If the results cannot be read or hold no run, or there is no place for the report.
    TableError
        If a file cannot be written; the older one is then untouched.

    Notes
    -----
    The report is computed from private rows without any privacy guarantee, and says so at its
    top. It is for the eyes of those who may see the rows.
    """
    check_places(directory)
    from opdisc.report.page import write_report_files  # importing the package draws nothing in

    return write_report_files(Path(directory))
