"""``opdisc compare``."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.compare_jobs import make_job, paper_jobs, recorded_job
from opdisc.cli.compare_progress import progress_watcher
from opdisc.cli.console import (
    INTERRUPTED,
    STANDARD_OUTPUT,
    GroupedCommand,
    from_input,
    print_json,
    print_text,
)
from opdisc.cli.fitting import error_cost_options, reading_options, start_options
from opdisc.errors import OPDiscError
from opdisc.privacy import NeighboringRelation

if TYPE_CHECKING:
    from opdisc.comparison import Outcome

_NUMBER = re.compile(r"[-+]?(\d|\.\d)[\d.,eE+-]*")

_NAME = re.compile(r"[\w@:.,* -]+(?<!\.csv)")

_LISTS = {"--epsilons": _NUMBER, "--methods": _NAME, "--oracles": _NAME}

_RELATIONS = [member.value for member in NeighboringRelation]


class ListCommand(GroupedCommand):
    """A command whose list options take every value that follows: ``--epsilons 0.1 0.5 1``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat a list option before each of its values, as click wants it."""
        return super().parse_args(ctx, _repeated(args))


def _repeated(args: list[str]) -> list[str]:
    out: list[str] = []
    current = None
    given = 0
    for position, token in enumerate(args):
        if token == "--":  # nosec B105 # no password
            return out + args[position:]
        if token in _LISTS:
            current, given = token, 0
            # Without a value it stays as it is, and click says what is missing.
            if position + 1 == len(args) or not _is_value(token, args[position + 1]):
                out.append(token)
                current = None
        elif current is not None and _is_value(current, token):
            out += [current, token]
            given += 1
        else:
            current = None
            out.append(token)
    return out


def _is_value(option: str, token: str) -> bool:
    return not token.startswith("--") and _LISTS[option].fullmatch(token) is not None


@click.command(
    cls=ListCommand,
    epilog="""\b
Examples
  opdisc compare --dataset adult-small --epsilons 0.01 0.05 0.1 0.25 0.5 1 --repeats 15
  opdisc compare loans.csv --schema loans.toml --methods auto opdisc logistic-noisy-sgd
  opdisc compare --dataset breast-cancer --oracles branch-and-bound highs cp-sat
  opdisc compare --resume --out compare-adult-small
""",
)
@click.argument("data", type=click.Path(path_type=Path), required=False, callback=from_input)
@reading_options
@click.option(
    "--schema", callback=from_input, help="Schema file (TOML) or the name of a shipped one."
)
@click.option("--dataset", help="A known table, or a shipped schema for the table that it fits.")
@click.option(
    "--epsilons", multiple=True, help="One or more.  [default: 0.01 0.05 0.1 0.25 0.5 1]"
)
@click.option("--repeats", type=int, help="Splits, each with a fit.  [default: 15]")
@click.option("--methods", multiple=True, help="Names, 'default' or 'all'; see --list-methods.")
@click.option("--oracles", multiple=True, help="Two or more are compared on the same noise.")
@click.option("--weight-bound", type=int, help="Points of methods without '@B'.  [default: 1]")
@click.option("--delta", type=float, help="For methods that need it.  [default: 1/n^2]")
@click.option("--relation", help=" or ".join(_RELATIONS) + ".  [default: replace_one]")
@click.option("--test-fraction", type=float, help="Share held out.  [default: 0.3]")
@click.option("--time-limit", type=float, help="Seconds per run, 0 for none.  [default: 120]")
@click.option("--patience", type=float, help="Expected seconds per fit of auto.  [default: 60]")
@error_cost_options
@start_options
@click.option("--seed", type=int, help="Of splits and references only.  [default: 0]")
@click.option(
    "--peers",
    envvar="OPDISC_PEERS",
    help="Python interpreter of an environment with external peers.",
)
@click.option("--paper", is_flag=True, help="The experiment of Neel, Roth, Vietri, Wu (2019).")
@click.option("--backend", default="loky", show_default=True, help="loky, dask or ray.")
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at a time.  [default: all cores]")
@click.option("--cluster", help="Address of a running Dask scheduler or Ray cluster.")
@click.option("--out", type=click.Path(path_type=Path), help="Directory.  [default: compare-NAME]")
@click.option("--resume", is_flag=True, help="Continue what was interrupted.")
@click.option("--list-methods", is_flag=True, help="List the methods and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def compare(
    data: Path | None,
    schema: str | None,
    dataset: str | None,
    out: Path | None,
    resume: bool,
    list_methods: bool,
    as_json: bool,
    backend: str,
    jobs: int | None,
    cluster: str | None,
    paper: bool,
    **settings: Any,
) -> int:
    """Compare methods on the table in the file DATA, or on a known table, over several epsilons.

    Every method gets the same splits. Writes settings.json, runs.jsonl, runs.csv and a report into
    a directory. It PROTECTS NOBODY: it shows what the methods would do, on rows that may be
    looked at.
    """
    from opdisc.comparison import check_backend, compare as run_comparison

    if list_methods:
        _list_methods(as_json)
        return 0
    if out == STANDARD_OUTPUT:
        raise click.UsageError("a comparison writes several files: give --out a directory.")
    check_backend(backend, cluster)
    if resume and not paper and data is None and dataset is None:
        if out is None:
            raise click.UsageError("--resume needs --out DIR, or the arguments it began with.")
        jobs_to_do = [recorded_job(out)]
    elif paper:
        jobs_to_do = paper_jobs(data, schema, dataset, out, settings)
    else:
        jobs_to_do = [make_job(data, schema, dataset, out, settings)]
    outcomes = []
    for job in jobs_to_do:
        with _interruptible(), progress_watcher() as watcher:
            outcome = run_comparison(
                job.source,
                job.plan,
                job.directory,
                resume=resume,
                backend=backend,  # type: ignore[arg-type]
                jobs=jobs,
                cluster=cluster,
                arguments=job.arguments,
                watcher=watcher,
            )
        outcomes.append(outcome)
        if outcome.interrupted:
            break
    _print_outcomes(outcomes, "--paper" if paper else "", out, as_json)
    if outcomes[-1].interrupted:
        return INTERRUPTED
    return 1 if any(outcome.failed == outcome.planned for outcome in outcomes) else 0


def _list_methods(as_json: bool) -> None:
    from opdisc.comparison import DEFAULT_METHODS, registry

    records = [
        {
            "name": method.name,
            "title": method.title,
            "family": method.family,
            "private": method.private,
            "tuning": method.tuning,
            "requires": method.requires,
            "classes": method.classes,
            "default": method.name in DEFAULT_METHODS,
            "summary": method.summary,
        }
        for method in registry().values()
    ]
    if as_json:
        print_json(records)
        return
    lines = []
    for record in records:
        mark = "*" if record["default"] else " "
        lines.append(f"{mark} {record['name']:<36}{record['summary']}\n")
    lines.append("* by default; 'NAME@2' lets the points of a scorecard go from -2 to 2,\n")
    lines.append("  'NAME@auto' leaves the range to the method, where it can decide it\n")
    print_text("".join(lines))


@contextmanager
def _interruptible() -> Iterator[None]:
    """Take Ctrl-C as a request to stop and write what there is, however long that takes.

    The main thread only waits for workers here, so it needs no watcher to end it.
    """
    previous = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(previous)


def _print_outcomes(outcomes: list[Outcome], flag: str, out: Path | None, as_json: bool) -> None:
    last = outcomes[-1]
    if last.interrupted:
        target = f"--out {last.directory}"
        if flag:
            target = flag if out is None else f"{flag} --out {out}"
        click.echo(
            f"error: interrupted after {last.finished:,} of {last.planned:,} runs; continue with "
            f"'opdisc compare --resume {target}'.",
            err=True,
        )
    for outcome in outcomes:
        if outcome.complaint:
            click.echo(f"warning: {outcome.complaint}", err=True)
    if as_json:
        records = [_record(outcome) for outcome in outcomes]
        print_json(records if flag else records[0])
    elif not last.interrupted:
        for outcome in outcomes:
            if sentences := _headline(outcome):
                print_text("\n".join(sentences) + "\n")
            failures = f", {outcome.failed:,} of them without a model" if outcome.failed else ""
            print_text(f"{outcome.finished:,} runs{failures}; results in {outcome.directory}\n")
            if outcome.limited:
                print_text(f"{_limit_sentence(outcome)}\n")
            if outcome.report is not None:
                print_text(f"Report: {outcome.report}\n")
        print_text("None of it is private: do not publish it for a table that is not public.\n")


def _limit_sentence(outcome: Outcome) -> str:
    """Return which methods' runs ended at the time limit, in one sentence."""
    methods = ", ".join(f"{method} {n:,}" for method, n in outcome.limited.items())
    return (
        f"Runs that ended at the time limit without a model: {methods}; raise --time-limit, or "
        "leave these methods or epsilons out."
    )


def _headline(outcome: Outcome) -> tuple[str, ...]:
    """Return whether anything private beats the majority class, then the best at each epsilon."""
    from opdisc.report import headline

    with suppress(OPDiscError):  # why there is no report was said already
        return headline(outcome.directory)
    return ()


def _record(outcome: Outcome) -> dict[str, Any]:
    return {
        "out": str(outcome.directory),
        "runs": outcome.planned,
        "finished": outcome.finished,
        "failed": outcome.failed,
        "limited": outcome.limited,
        "verdict": next(iter(_headline(outcome)), None),
        "report": None if outcome.report is None else str(outcome.report),
        "interrupted": outcome.interrupted,
    }
