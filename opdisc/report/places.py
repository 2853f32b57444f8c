"""Where the files of a report go, and whether they can."""

from __future__ import annotations

import os
from pathlib import Path

from opdisc.report.results import ReportError

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
