"""All installed oracles side by side on the same instances, in one run, saved as it goes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from opdisc.comparison.oracles.curves import curves_svg
from opdisc.comparison.oracles.report import report_text
from opdisc.comparison.oracles.sweep import Row, Sweep
from opdisc.comparison.oracles.tasks import load_task, task_problem
from opdisc.data import atomic_write_text, check_output
from opdisc.errors import FileMistake, TableError
from oracles.benchmarking import Measurement, OracleProcess, machine_facts
from oracles.interface import SolveOptions, oracle_versions
from oracles.problem import ZeroOneProblem


def run_sweep(
    sweep: Sweep,
    *,
    out: Path | None = None,
    resume: bool = False,
    announce: Callable[[str], None] = lambda text: None,
) -> Iterator[Row]:
    """Run, and yield each row as it is done.

    Parameters
    ----------
    sweep : Sweep
        What to run.
    out : path or None
        Where to save, the suffix left out: ``.json`` after every instance, ``.md`` and the curves
        in ``.svg`` with every row.
    resume : bool
        Whether to keep what ``out`` holds of the same oracle versions, limits and threads.
    announce : callable
        Told what is being solved.

    Raises
    ------
    TableError
        If a table is missing, or ``out`` cannot be written or holds a run that is not resumed.
    """
    record = _Record(sweep, out, resume)
    hopeless = _Hopeless(sweep.skip_hopeless)
    rows: list[Row] = []
    with ExitStack() as stack:
        workers = [stack.enter_context(OracleProcess(name)) for name in sweep.oracles]
        for name in sweep.tasks:
            task = load_task(name)
            for bound, epsilon in itertools.product(sweep.bounds, sweep.epsilons):
                runs = []
                for seed in range(sweep.seeds):
                    problem = task_problem(task, bound, epsilon, seed)
                    cell = _Cell(task=name, bound=bound, epsilon=epsilon, seed=seed)
                    run = {}
                    for worker in workers:
                        announce(f"{cell}: {worker.name}")
                        run[worker.name] = _measured(worker, problem, cell, record, hopeless)
                    record.save()
                    runs.append(run)
                rows.append(Row(task=name, bound=bound, epsilon=epsilon, runs=tuple(runs)))
                record.save_report(report_text(sweep, rows), curves_svg(sweep, rows))
                yield rows[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """What is measured: one instance.

    Parameters
    ----------
    task : str
        Name of the task.
    bound : int
        Weights are in ``-bound .. bound``.
    epsilon : float or None
        Privacy loss that the noise is for; None for no noise.
    seed : int
        Seed of the noise.
    """

    task: str
    bound: int
    epsilon: float | None
    seed: int

    def __str__(self) -> str:
        strength = "no noise" if self.epsilon is None else f"epsilon {self.epsilon:g}"
        return f"{self.task}, -{self.bound}..{self.bound}, {strength}, seed {self.seed}"


def _measured(
    worker: OracleProcess,
    problem: ZeroOneProblem,
    cell: _Cell,
    record: _Record,
    hopeless: _Hopeless,
) -> Measurement:
    """Look a measurement up, or skip it, or make it."""
    found = record.get(cell, worker.name)
    if found is None and hopeless.covers(cell, worker.name):
        found = Measurement(seconds=0.0, error="skipped")
    if found is None:
        limit, threads = record.sweep.limit(worker.name), record.sweep.threads
        options = SolveOptions(time_limit=limit, threads=threads, seed=cell.seed)
        found = worker.measure(problem, options)
    if found.out_of_time:
        hopeless.add(cell, worker.name)
    record.put(cell, worker.name, found)
    return found


class _Hopeless:
    """Where oracles ran out of time, and what is not easier."""

    def __init__(self, active: bool) -> None:
        self._active = active
        self._failed: list[tuple[str, _Cell]] = []

    def add(self, cell: _Cell, oracle: str) -> None:
        self._failed.append((oracle, cell))

    def covers(self, cell: _Cell, oracle: str) -> bool:
        return self._active and any(
            name == oracle and _at_least_as_hard(cell, failed) for name, failed in self._failed
        )


def _at_least_as_hard(cell: _Cell, failed: _Cell) -> bool:
    if cell.task != failed.task or cell.bound < failed.bound:
        return False
    if cell.epsilon is None or failed.epsilon is None:
        return cell.epsilon is failed.epsilon
    return cell.epsilon >= failed.epsilon


class _Record:
    """The measurements of a run, in memory and in its file."""

    def __init__(self, sweep: Sweep, out: Path | None, resume: bool) -> None:
        self.sweep, self._out = sweep, out
        self._versions = {name: oracle_versions(name) for name in sweep.oracles}
        self._cells: list[dict[str, Any]] = []
        self._known: dict[tuple[Any, ...], Measurement] = {}
        if out is None:
            return
        if self._path(".json").exists():
            if not resume:
                raise TableError(
                    f"a benchmark must not replace an earlier one, but {self._path('.json')} is "
                    "there; resume it, remove it or name another place"
                )
            self._load()
        check_output(self._path(".json"))

    def _path(self, suffix: str) -> Path:
        assert self._out is not None
        return self._out.with_name(self._out.name + suffix)

    def _load(self) -> None:
        try:
            saved = json.loads(self._path(".json").read_text(encoding="utf-8"))
            for cell in saved["cells"]:
                if saved["versions"].get(cell["oracle"]) == self._versions.get(cell["oracle"]):
                    measured = Measurement(**cell["measurement"])
                    if measured.error != "skipped":
                        self._known[tuple(cell[key] for key in _KEY)] = measured
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise FileMistake(
                f"a benchmark to resume must be one that was saved, but {self._path('.json')} is "
                "not; remove it or name another place"
            ) from None

    def _key(self, cell: _Cell, oracle: str) -> dict[str, Any]:
        sweep = self.sweep
        limits = {"time_limit": sweep.limit(oracle), "threads": sweep.threads}
        return asdict(cell) | {"oracle": oracle} | limits

    def get(self, cell: _Cell, oracle: str) -> Measurement | None:
        key = self._key(cell, oracle)
        return self._known.get(tuple(key[name] for name in _KEY))

    def put(self, cell: _Cell, oracle: str, measured: Measurement) -> None:
        self._cells.append(self._key(cell, oracle) | {"measurement": asdict(measured)})

    def save(self) -> None:
        if self._out is None:
            return
        # What was loaded and has not come up yet must survive an interruption.
        done = {tuple(cell[key] for key in _KEY) for cell in self._cells}
        waiting = [
            dict(zip(_KEY, key, strict=True)) | {"measurement": asdict(measured)}
            for key, measured in self._known.items()
            if key not in done
        ]
        document = {
            "machine": machine_facts(),
            "versions": self._versions,
            "cells": self._cells + waiting,
        }
        atomic_write_text(self._path(".json"), json.dumps(document, indent=1) + "\n")

    def save_report(self, text: str, figure: str) -> None:
        if self._out is not None:
            atomic_write_text(self._path(".md"), text)
            atomic_write_text(self._path(".svg"), figure)


_KEY = ("task", "bound", "epsilon", "seed", "oracle", "time_limit", "threads")
