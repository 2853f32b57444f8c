"""The door of the report: whether there is a place for it is asked before anything is computed."""

from __future__ import annotations

from pathlib import Path

from opdisc.report.places import check_places


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
