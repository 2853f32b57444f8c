"""The report of a comparison: one HTML page, figures and a table of means.

Importing this package is cheap; drawing libraries load when a report is written.
"""

from pathlib import Path

from opdisc.report.results import ReportError

__all__ = ["ReportError", "write_report"]


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
        (a line for each method and epsilon) and ``figures/`` (PNG and SVG), each file whole or
        not at all.

    Raises
    ------
    ReportError
        If the results cannot be read or hold no run.
    TableError
        If a file cannot be written; the older one is then untouched.

    Notes
    -----
    The report is computed from private rows without any privacy guarantee, and says so at its
    top. It is for the eyes of those who may see the rows.
    """
    from opdisc.report.writing import write_report_files

    return write_report_files(Path(directory))
