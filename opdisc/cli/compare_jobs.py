"""What ``opdisc compare`` was asked for: which comparisons, of which table, and where to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.fitting import stated_costs, taken_reading
from opdisc.errors import OPDiscError

if TYPE_CHECKING:
    from opdisc.comparison import Plan, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareJob:
    """One comparison to run.

    Parameters
    ----------
    source : Source
        The table.
    plan : Plan
        What to run on it.
    directory : Path
        Where results go.
    arguments : dict
        How to find the table again.
    """

    source: Source
    plan: Plan
    directory: Path
    arguments: dict[str, Any]


def make_job(
    data: Path | None,
    schema: str | None,
    dataset: str | None,
    out: Path | None,
    settings: dict[str, Any],
) -> CompareJob:
    """Return the comparison that options ask for.

    Parameters
    ----------
    data, schema, dataset, out
        Options of that name.
    settings : dict
        The other options; None or () where not given.

    Raises
    ------
    UsageError, OPDiscError
        If it cannot be.
    """
    costs = (settings.pop("false_negative_cost", None), settings.pop("false_positive_cost", None))
    source, arguments = _source(data, schema, dataset, costs, taken_reading(settings))
    directory = Path(f"compare-{source.dataset}") if out is None else out
    return CompareJob(
        source=source, plan=_plan(settings, source), directory=directory, arguments=arguments
    )


def paper_jobs(
    data: Path | None,
    schema: str | None,
    dataset: str | None,
    out: Path | None,
    settings: dict[str, Any],
) -> list[CompareJob]:
    """Return the comparisons of the paper's experiment, or its settings on the user's table."""
    from opdisc.comparison import PARTS, paper_arguments

    directory = Path("compare-paper") if out is None else out
    parts = [part for part in PARTS if dataset in (None, part.dataset)]
    if data is not None or not parts:
        filled = _filled(settings, paper_arguments(PARTS[0]))
        return [make_job(data, schema, dataset, directory, filled)]
    return [
        make_job(
            None,
            schema,
            part.dataset,
            directory / part.name,
            _filled(settings, paper_arguments(part)),
        )
        for part in parts
    ]


def _filled(settings: dict[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with what the user did not give filled in."""
    return {
        name: defaults.get(name) if value in (None, ()) else value
        for name, value in settings.items()
    }


def _source(
    data: Path | None,
    schema: str | None,
    dataset: str | None,
    costs: tuple[int | None, int | None],
    reading: dict[str, Any],
) -> tuple[Source, dict[str, Any]]:
    from opdisc.comparison import load_source

    if (data is None) == (dataset is None):
        raise click.UsageError("give either DATA with --schema, or --dataset.")
    if data is not None and schema is None:
        raise click.UsageError("DATA needs --schema, which says what is public about it.")
    arguments: dict[str, Any] = {
        "data": None if data is None else os.path.abspath(data),
        "schema": schema,
        "dataset": dataset,
        **({} if costs == (None, None) else {"error_costs": list(costs)}),
    }
    usual = {"delimiter": None, "encoding": "utf-8", "query": None, "sheet": None}
    # Names are recorded where they are given: comparisons begun before there were any go on.
    recorded = {key: value for key, value in reading.items() if (key, value) != ("names", None)}
    if recorded != usual:
        arguments["reading"] = recorded
    return _priced(load_source(data, schema, dataset, **reading), costs), arguments


def _priced(source: Source, costs: tuple[int | None, int | None]) -> Source:
    """Return a table with the error costs that options state, (false negative, false positive)."""
    from opdisc.data import with_error_costs

    schema = with_error_costs(source.schema, stated_costs(source.schema, *costs))
    return replace(source, schema=schema)


def _plan(settings: dict[str, Any], source: Source) -> Plan:
    from opdisc.comparison import Plan, method_names
    from opdisc.mechanisms import is_listed
    from opdisc.planning import parse_weight_bound, scorecard_grid

    given = {name: value for name, value in settings.items() if value not in (None, ())}
    for name in ("peers", "prior", "pilot"):
        if name in given:  # not resolved: links make environments
            given[name] = os.path.abspath(given[name])
    for name in ("methods", "oracles"):
        if name in given:
            given[name] = tuple(part.strip() for text in given[name] for part in text.split(","))
    if "epsilons" in given:
        given["epsilons"] = tuple(
            _number(part) for text in given["epsilons"] for part in str(text).split(",")
        )
    if given.get("time_limit") == 0:
        given["time_limit"] = None
    given["methods"] = method_names(
        given.get("methods", ()),
        swept=len(given.get("oracles", ())) > 1,
        peers=given.get("peers") is not None,
        n_classes=len(source.schema.labels),
        listed=is_listed(
            scorecard_grid(source.schema, parse_weight_bound(given.get("weight_bound", 1)))
        ),
    )
    return Plan(**given)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"--epsilons must be numbers, got '{text}'.") from None


def recorded_job(directory: Path) -> CompareJob:
    """Return the comparison in a directory, as it was begun."""
    from opdisc.comparison import ComparisonMistake, Plan, load_source, read_settings

    recorded = read_settings(directory)
    try:
        arguments = dict(recorded["arguments"])
        data = arguments["data"]
        source = load_source(
            None if data is None else Path(data),
            arguments["schema"],
            arguments["dataset"],
            **arguments.get("reading", {}),
        )
        missed, alarm = arguments.get("error_costs", (None, None))
        source = _priced(source, (missed, alarm))
        plan = Plan.from_dict(recorded["plan"])
    except OPDiscError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        raise ComparisonMistake(
            f"{directory} was not begun by this command; give the arguments it was begun with."
        ) from None
    return CompareJob(source=source, plan=plan, directory=directory, arguments=arguments)
