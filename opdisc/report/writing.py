"""The door of the report: what drawing needs is asked for before anything is read."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from opdisc.report.analysis import ReportError


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
        If the results cannot be read or hold no run, or matplotlib is not installed.
    TableError
        If a file cannot be written; the older one is then untouched.

    Notes
    -----
    The report is computed from private rows without any privacy guarantee, and says so at its
    top. It is for the eyes of those who may see the rows.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise ReportError(
            "figures need matplotlib, which is not installed; run: pip install 'opdisc[report]', "
            f"then: opdisc compare --resume --out {directory}."
        )
    from opdisc.report.page import write_report_files

    return write_report_files(Path(directory))
