"""A whole comparison: settings, runs, results on disk, report."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from opdisc.comparison.backends import Backend, run_all
from opdisc.comparison.methods import ComparisonError, ComparisonMistake
from opdisc.comparison.plan import Plan, check_classes, runs_of
from opdisc.comparison.runs import Row, package_versions, setting_of
from opdisc.comparison.source import Source, check_split
from opdisc.comparison.store import open_store, read_rows
from opdisc.errors import OPDiscError
from opdisc.planning import check_costs_of_classes

Reporter: TypeAlias = Callable[[Path], Path]

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a comparison left behind.

    Parameters
    ----------
    directory : Path
        Results.
    planned, finished, failed : int
        Runs of the plan, those with a row, and those of them that gave no model.
    limited : dict of str to int
        How many runs of each method ended at the time limit, where any did.
    report : Path or None
        The report, if one was written.
    complaint : str
        Why there is no report, as one sentence; empty if there is one.
    interrupted : bool
        Whether Ctrl-C ended it before the last run.
    """

    directory: Path
    planned: int
    finished: int
    failed: int
    report: Path | None
    complaint: str
    interrupted: bool
    limited: dict[str, int] = field(default_factory=dict)


class Watcher:
    """What a comparison tells of its progress; this one is silent."""

    def begin(self, planned: int, finished: int) -> None:
        """Learn how many runs there are, and how many were finished before."""

    def advance(self, row: Row) -> None:
        """Learn of a finished run."""

    def say(self, text: str) -> None:
        """Learn what is happening."""


def compare(
    source: Source,
    plan: Plan,
    directory: Path,
    *,
    resume: bool = False,
    backend: Backend = "loky",
    jobs: int | None = None,
    cluster: str | None = None,
    arguments: dict[str, Any] | None = None,
    watcher: Watcher | None = None,
    report: Reporter | None = None,
) -> Outcome:
    """Run every run of a plan that has no row yet, and write the results.

    Parameters
    ----------
    source : Source
        The table.
    plan : Plan
        What to run.
    directory : Path
        Where results go; created unless ``resume`` continues it.
    resume : bool
        Whether to continue an earlier comparison with the same plan and table.
    backend, jobs, cluster
        As in :func:`opdisc.comparison.backends.run_all`.
    arguments : dict or None
        What the user asked for, recorded as it is.
    watcher : Watcher or None
        Told of progress.
    report : callable or None
        Writes the report of a directory; None takes :func:`opdisc.report.write_report`.

    Returns
    -------
    Outcome

    Raises
    ------
    ComparisonError
        If nothing could be started, or the results and the report would have no place.
    """
    watcher = Watcher() if watcher is None else watcher
    check_classes(plan, len(source.schema.labels))
    check_costs_of_classes(source.schema)
    check_split(source, plan.test_fraction)
    settings = settings_of(source, plan, arguments or {})
    interrupted = False
    with open_store(directory, settings, resume=resume) as store:
        reporter = _reporter(directory) if report is None else report
        runs = list(runs_of(plan))
        if not store.done <= {run.run_id for run in runs}:
            raise ComparisonMistake(
                f"{directory} must hold runs of this plan only, but has others; remove those "
                "lines and resume."
            )
        left = [run for run in runs if run.run_id not in store.done]
        watcher.begin(len(runs), len(runs) - len(left))
        rows = run_all(
            left, setting_of(plan, source), source, backend=backend, jobs=jobs, cluster=cluster
        )
        try:
            for row in _received(rows):
                store.append(row)
                watcher.advance(row)
        except KeyboardInterrupt:
            interrupted = True
            watcher.say("ending the workers")
        finally:
            rows.close()  # type: ignore[attr-defined]
        watcher.say("writing the results")
        finished, failed = store.write_csv()
        written, complaint = _reported(directory, reporter) if finished else (None, "")
        return Outcome(
            directory=directory,
            planned=len(runs),
            finished=finished,
            failed=failed,
            report=written,
            complaint=complaint,
            interrupted=interrupted,
            limited=_limited(directory),
        )


def _limited(directory: Path) -> dict[str, int]:
    """Return how many runs of each method ended at the time limit."""
    rows = read_rows(directory)
    return dict(Counter(row["method"] for row in rows if row["status"] == "time limit"))


def _received(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows; a backend that breaks down gets one sentence instead of its own many."""
    try:
        yield from rows
    except OPDiscError:
        raise
    except Exception as error:
        raise ComparisonError(
            f"the workers were lost ({type(error).__name__}); every finished run is kept, so "
            "continue with --resume, with fewer --jobs if memory was short."
        ) from error


def settings_of(source: Source, plan: Plan, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what ``settings.json`` records, JSON types."""
    setting = setting_of(plan, source)
    return {
        "format": FORMAT,
        "arguments": arguments,
        "plan": plan.to_dict(),
        "dataset": source.dataset,
        "schema": source.schema.to_dict(),
        "schema_name": source.schema.name,
        "schema_digest": setting.schema_digest,
        "table_digest": source.digest(),
        "n_rows": setting.n_rows,
        "n_train": setting.n_train,
        "n_test": setting.n_rows - setting.n_train,
        "delta": setting.delta,
        "n_runs": sum(1 for _ in runs_of(plan)),
        "versions": package_versions(),
        "machine": {
            "system": platform.platform(),
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "python": sys.version.split()[0],
        },
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _reporter(directory: Path) -> Reporter:
    """Return what writes the report, once it is known that there is a place for it."""
    room = importlib.import_module("opdisc.report")
    try:
        room.check_places(directory)
    except OPDiscError as error:
        raise ComparisonMistake(str(error)) from None
    writer: Reporter = room.write_report
    return writer


def _reported(directory: Path, report: Reporter) -> tuple[Path | None, str]:
    """Write the report; what goes wrong must not look as if the runs were lost."""
    try:
        return report(directory), ""
    except KeyboardInterrupt:
        return None, "the runs are safe, but the report was interrupted."
    except OPDiscError as error:
        return None, f"the runs are safe, but no report was written: {error}"
    except Exception as error:
        return (
            None,
            f"the runs are safe, but an unexpected {type(error).__name__} stopped the report.",
        )
