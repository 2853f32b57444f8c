"""The page of ten plain tables: one table and one figure from runs of the oracles' benchmark.

    opdisc oracles --benchmark --tasks plain --epsilons none,0.1,1 --time-limit 20 \
--oracles branch-and-bound,highs --out plain
    python benchmarks/plain_tables.py plain.json --save benchmarks/results/oracles/plain.toml

Several runs may be given. Gaps are to the best hypothesis that any solver found. The figure,
``docs/_static/plain-tables.svg``, has the instances that some solver did not prove.

Other solvers' table: runs of ``--oracles cp-sat,pulp:SCIP,pulp:CBC,pulp:GUROBI`` with limits of
5 and 20 s, since PuLP tells no progress. Their figure is ``plain-tables-others.svg``.

    python benchmarks/plain_tables.py plain.json others-5.json others-20.json --others \
--save benchmarks/results/oracles/plain-others.toml
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Container, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from result_files import ROOT, save

from opdisc.comparison import Row, Sweep
from opdisc.comparison.oracles.curves import curves_svg
from oracles.benchmarking import Measurement

TIMES = (5.0, 20.0, 60.0)
NAMES = {"branch-and-bound": "branch and bound", "highs": "HiGHS"}
OTHERS = {"cp-sat": "CP-SAT", "pulp:SCIP": "SCIP", "pulp:CBC": "CBC", "pulp:GUROBI": "Gurobi"}
OTHER_TIMES = (5.0, 20.0)
FIGURE = ROOT / "docs" / "_static" / "plain-tables.svg"
OTHER_FIGURE = FIGURE.with_name("plain-tables-others.svg")
MOST_PANELS = 6

Instance = tuple[str, int, float | None]
Known = tuple[float | None, float | None]


def cells(
    paths: list[Path], oracles: Container[str]
) -> Iterator[tuple[Instance, str, float, Measurement]]:
    """Yield instance, oracle, time limit and measurement of each cell of these oracles."""
    for path in paths:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            if cell["oracle"] in oracles:
                instance = (cell["task"], cell["bound"], cell["epsilon"])
                measured = Measurement(**cell["measurement"])
                yield instance, cell["oracle"], cell["time_limit"], measured


def read(paths: list[Path]) -> dict[Instance, dict[str, tuple[float, Measurement]]]:
    """Return the time limit and the measurement of each oracle on each instance."""
    found: dict[Instance, dict[str, tuple[float, Measurement]]] = {}
    for instance, oracle, limit, measured in cells(paths, NAMES):
        found.setdefault(instance, {})[oracle] = (limit, measured)
    return found


def gap_at(measured: Measurement, limit: float, seconds: float, best: float) -> str:
    """Return what was left to prove at a time, as a cell."""
    if measured.proved and measured.seconds <= seconds:
        earlier = any(measured.seconds <= time < seconds for time in TIMES)
        return "proved" if earlier else f"proved, {measured.seconds:.2g} s"
    if seconds > limit:
        return ""
    bound = measured.at(seconds)[1]
    return "-" if bound is None else f"{best - bound:,.0f}"


def behind(run: dict[str, tuple[float, Measurement]]) -> str:
    """Return the times at which branch and bound had proved less than HiGHS, or found less."""
    (limit, ours), (_, theirs) = run["branch-and-bound"], run["highs"]
    late = [
        f"{what} at {seconds:g} s"
        for seconds in TIMES
        if seconds <= limit
        for what in better(theirs.at(seconds), ours.at(seconds))
    ]
    return ", ".join(late)


def better(theirs: Known, ours: Known) -> list[str]:
    """Return in what their incumbent and bound are ahead of ours."""
    (upper, bound), (their_upper, their_bound) = ours, theirs
    ahead = []
    if their_bound is not None and (bound is None or bound < their_bound - 1e-6):
        ahead.append("bound")
    if their_upper is not None and (upper is None or upper > their_upper + 1e-6):
        ahead.append("incumbent")
    return ahead


def labels(instance: Instance) -> list[str]:
    """Return the first cells of an instance's row."""
    task, bound, epsilon = instance
    return [task, f"-{bound}..{bound}", "none" if epsilon is None else f"{epsilon:g}"]


def other_runs(paths: list[Path]) -> dict[Instance, dict[tuple[str, float], Measurement]]:
    """Return the measurement of each other solver with each limit, on each instance."""
    found: dict[Instance, dict[tuple[str, float], Measurement]] = {}
    for instance, oracle, limit, measured in cells(paths, OTHERS):
        found.setdefault(instance, {})[oracle, limit] = measured
    return found


def other_rows(
    found: dict[Instance, dict[str, tuple[float, Measurement]]],
    others: dict[Instance, dict[tuple[str, float], Measurement]],
) -> list[list[str]]:
    """Return what other solvers left to prove when their limit ended, and where they lead."""
    rows = []
    for instance, runs in others.items():
        main = found[instance]
        known = [m.objective for _, m in main.values()] + [m.objective for m in runs.values()]
        best = min(objective for objective in known if objective is not None)
        ours = main["branch-and-bound"][1]
        texts, late = [], []
        for name, seconds in itertools.product(OTHERS, OTHER_TIMES):
            measured = runs.get((name, seconds))
            if measured is None or not (measured.proved or measured.out_of_time):
                texts.append("")
                continue
            if measured.proved:
                texts.append(f"proved, {measured.seconds:.2g} s")
            else:
                texts.append("-" if measured.bound is None else f"{best - measured.bound:,.0f}")
            ahead = better((measured.objective, measured.bound), ours.at(seconds))
            late += [f"{OTHERS[name]}'s {what} at {seconds:g} s" for what in ahead]
        rows.append([*labels(instance), f"{best:,.1f}", *texts, ", ".join(late)])
    return rows


def rows_of(found: dict[Instance, dict[str, tuple[float, Measurement]]]) -> list[list[str]]:
    """Return the rows of the page's table."""
    rows = []
    for instance, run in found.items():
        best = min(m.objective for _, m in run.values() if m.objective is not None)
        gaps = [
            gap_at(run[name][1], run[name][0], seconds, best)
            for name, seconds in itertools.product(NAMES, TIMES)
        ]
        rows.append([*labels(instance), f"{best:,.1f}", *gaps, behind(run)])
    return rows


def figure(found: dict[Instance, dict[str, tuple[float, Measurement]]]) -> str:
    """Return the curves of instances that were not proved: by both solvers first."""
    left: dict[Instance, dict[str, Any]] = {
        instance: {name: measured for name, (_, measured) in run.items()}
        for instance, run in found.items()
        if not all(measured.proved for _, measured in run.values())
    }

    def unproved(instance: Instance) -> float:
        return -sum(not measured.proved for measured in left[instance].values())

    chosen = sorted(left, key=unproved)[:MOST_PANELS]
    longest = max(limit for i in chosen for limit, _ in found[i].values())
    sweep = Sweep(
        tasks=(), bounds=(), epsilons=(), seeds=1, oracles=tuple(NAMES), time_limit=longest
    )
    rows = [Row(task=i[0], bound=i[1], epsilon=i[2], runs=(left[i],)) for i in chosen]
    return curves_svg(sweep, rows)


def until(measured: Measurement, seconds: float) -> Measurement:
    """Return what was measured until a time."""
    curve = tuple(place for place in measured.curve if place[0] <= seconds)
    return replace(measured, seconds=min(measured.seconds, seconds), curve=curve)


def joined(runs: dict[tuple[str, float], Measurement], name: str) -> Measurement:
    """Return a solver's runs with ever longer limits as one curve; later ones go on."""
    found = [runs[name, seconds] for seconds in OTHER_TIMES if (name, seconds) in runs]
    if not found:
        return Measurement(seconds=0.0, proved=False)
    if len(found[-1].curve) > 2:  # it told its progress
        return found[-1]
    places = [place for measured in found for place in measured.curve]
    return replace(found[-1], curve=tuple(sorted(places, key=lambda place: place[0])))


def other_figure(
    found: dict[Instance, dict[str, tuple[float, Measurement]]],
    others: dict[Instance, dict[tuple[str, float], Measurement]],
) -> str:
    """Return the curves of all solvers on instances that branch and bound did not prove."""
    longest = OTHER_TIMES[-1]
    left = [
        i
        for i in others
        if (ours := found[i]["branch-and-bound"][1]).seconds > longest or not ours.proved
    ]
    rows = []
    for instance in left[:MOST_PANELS]:
        runs = {name: until(measured, longest) for name, (_, measured) in found[instance].items()}
        runs |= {name: joined(others[instance], name) for name in OTHERS}
        task, bound, epsilon = instance
        rows.append(Row(task=task, bound=bound, epsilon=epsilon, runs=(runs,)))
    names = (*NAMES, *OTHERS)
    sweep = Sweep(tasks=(), bounds=(), epsilons=(), seeds=1, oracles=names, time_limit=longest)
    return curves_svg(sweep, rows)


def main() -> None:
    """Write the result file and the figure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="OUT.json of opdisc oracles")
    parser.add_argument("--save", type=Path, help="result file to write")
    parser.add_argument("--command", default="", help="what made the runs")
    parser.add_argument("--machine", default="", help="kind of machine, and what else ran on it")
    parser.add_argument("--version", default="", help="version or commit that ran")
    parser.add_argument("--others", action="store_true", help="the other solvers' table")
    chosen = parser.parse_args()
    found = read(chosen.runs)
    names, times = (OTHERS, OTHER_TIMES) if chosen.others else (NAMES, TIMES)
    columns = ["table", "weights", "epsilon", "best known"]
    columns += [f"{names[n]}, {t:g} s" for n, t in itertools.product(names, times)]
    columns += ["where branch and bound is behind"]
    others = other_runs(chosen.runs)
    rows = other_rows(found, others) if chosen.others else rows_of(found)
    print("\n".join(" | ".join(row) for row in [columns, *rows]))
    everybody = [m for run in found.values() for _, m in run.values() if m.seconds >= 1]
    shares = [(m.processor_seconds or 0) / m.seconds for m in everybody]
    if shares:
        print(f"processor seconds per second, at least {min(shares):.2f}")
    made = {name: getattr(chosen, name) for name in ("command", "machine", "version")}
    save(
        chosen.save,
        columns,
        rows,
        align="l" * len(columns),
        made={k: v for k, v in made.items() if v},
    )
    if chosen.save is not None:
        path, drawn = (
            (OTHER_FIGURE, other_figure(found, others))
            if chosen.others
            else (FIGURE, figure(found))
        )
        path.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
