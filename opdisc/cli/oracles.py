"""``opdisc oracles``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.arguments import check_choice
from opdisc.cli.console import print_json, print_text
from opdisc.cli.progress import progress_steps

if TYPE_CHECKING:
    from oracles.interface import Oracle, OracleEntry


@click.command(
    epilog="""\b
Examples
  opdisc oracles --json
  opdisc oracles --benchmark
  opdisc oracles --benchmark --tasks wide --bounds 1,2,3 --epsilons 0.5,5,none --out wide
  opdisc oracles --benchmark --tasks plain --bounds 1,3 --time-limit 300 --out plain
"""
)
@click.option("--benchmark", is_flag=True, help="Time the installed ones side by side.")
@click.option("--tasks", help="Of --benchmark: names, or 'plain': tables of plain columns.")
@click.option("--bounds", default="1", show_default=True, help="Largest weights.")
@click.option("--epsilons", default="1,none", show_default=True, help="Strengths of the noise.")
@click.option("--seeds", type=click.IntRange(1), default=1, show_default=True, help="Draws.")
@click.option("--oracles", "names", help="Names, separated by commas; default: all installed.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds for each solve.",
)
@click.option("--limit", "limits", multiple=True, help="NAME=SECONDS for one oracle; repeatable.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True)
@click.option("--skip-hopeless", is_flag=True, help="Spare an oracle what it failed more easily.")
@click.option("--out", type=click.Path(path_type=Path), help="Save OUT.json, .md and .svg.")
@click.option("--resume", is_flag=True, help="Keep what OUT.json already holds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def oracles(context: click.Context, /, benchmark: bool, as_json: bool, **settings: Any) -> None:
    """List the oracles, installed or not, and their licences; with --benchmark, race them.

    The benchmark runs every oracle on the same instances: the census table (where adult.csv is
    found) and breast_cancer, each process warmed up first. By default it takes under three
    minutes; lists are separated by commas, and "none" among --epsilons means no noise.
    """
    if benchmark:
        _benchmark(as_json=as_json, **settings)
        return
    given = click.core.ParameterSource.COMMANDLINE
    for name in settings:
        if context.get_parameter_source(name) is given:
            raise click.UsageError(f"--{_option(name)} needs --benchmark.")
    _list(as_json)


def _option(name: str) -> str:
    return {"names": "oracles", "limits": "limit"}.get(name, name.replace("_", "-"))


def _list(as_json: bool) -> None:
    from oracles.interface import ORACLES, available_oracles

    installed = set(available_oracles())
    entries = ORACLES.entries()
    if as_json:
        print_json([_record(name, entry, name in installed) for name, entry in entries.items()])
        return
    print_text("".join(_lines(name, entry, name in installed) for name, entry in entries.items()))


def _record(name: str, entry: OracleEntry[Oracle], installed: bool) -> dict[str, object]:
    return {
        "name": name,
        "installed": installed,
        "summary": entry.summary,
        "versions": entry.versions() if installed else {},
        "install": "" if installed else entry.install,
        "licence": entry.licence,
        "size_limit": None if entry.size_limit is None else asdict(entry.size_limit),
    }


def _lines(name: str, entry: OracleEntry[Oracle], installed: bool) -> str:
    versions = ", ".join(f"{package} {number}" for package, number in entry.versions().items())
    state = f"installed ({versions})" if installed else f"run: {entry.install}"
    licence = f"; licence: {entry.licence}" if entry.licence else ""
    if entry.size_limit is not None:
        free = entry.size_limit.admits(1, 1)
        licence += f", free up to {entry.size_limit}" if free else ", nothing is free"
    return f"{name:<18}{state}\n{'':<18}{entry.summary}{licence}\n"


def _benchmark(
    *,
    as_json: bool,
    tasks: str | None,
    bounds: str,
    epsilons: str,
    names: str | None,
    limits: tuple[str, ...],
    out: Path | None,
    resume: bool,
    **settings: Any,
) -> None:
    from opdisc.comparison import (
        TASKS,
        Row,
        Sweep,
        available_plain_tasks,
        available_tasks,
        curve_lines,
        ratio_lines,
        report_record,
        run_sweep,
        table_header,
        table_row,
    )
    from oracles.interface import available_oracles, get_oracle

    if resume and out is None:
        raise click.UsageError("--resume needs --out.")
    if tasks == "plain":
        chosen = available_plain_tasks()
    else:
        chosen = _names("--tasks", tasks, available_tasks(), (*TASKS, *available_plain_tasks()))
    racing = _names("--oracles", names, available_oracles())
    for name in racing:
        get_oracle(name)
    sweep = Sweep(
        tasks=chosen,
        bounds=tuple(_numbers("--bounds", bounds, int)),
        epsilons=tuple(
            None if text == "none" else _numbers("--epsilons", text, float)[0]
            for text in epsilons.split(",")
        ),
        oracles=racing,
        limits=dict(_limit(text, racing) for text in limits),
        **settings,
    )
    rows: list[Row] = []
    with progress_steps(sweep.n_solves) as step:
        for row in run_sweep(sweep, out=out, resume=resume, announce=step):
            if not as_json:
                lines = [] if rows else [table_header(sweep)]
                print_text("\n".join([*lines, table_row(sweep, row), ""]))
            rows.append(row)
    if as_json:
        print_json(report_record(sweep, rows))
        return
    print_text("\n".join(["", *ratio_lines(sweep, rows), ""]))
    print_text("\n".join(["", *curve_lines(sweep, rows), ""]))
    if tasks is None and len(chosen) < len(TASKS):
        print_text(
            "The census tasks were left out: adult.csv was not found ('opdisc datasets').\n"
        )
    if out is not None:
        print_text(f"Saved to {out}.json, {out}.md and {out}.svg\n")


def _names(
    option: str, text: str | None, default: tuple[str, ...], allowed: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    if text is None:
        return default
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        check_choice(option, name, allowed or names, error=click.UsageError)
    return names


def _numbers(option: str, text: str, kind: type[int] | type[float]) -> list[Any]:
    try:
        numbers = [kind(part) for part in text.split(",")]
    except ValueError:
        numbers = [0]
    if not all(0 < number < 1e6 for number in numbers):
        raise click.UsageError(f"{option} must be numbers > 0 separated by commas, got '{text}'.")
    return numbers


def _limit(text: str, racing: tuple[str, ...]) -> tuple[str, float]:
    name, _, seconds = text.rpartition("=")
    if name not in racing:
        raise click.UsageError(
            f"--limit must be NAME=SECONDS of an oracle that runs, got '{text}'."
        )
    return name, float(_numbers("--limit", seconds, float)[0])
