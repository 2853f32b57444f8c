"""Oracles side by side: the same instances, each oracle in a process of its own.

A process of its own makes the peak memory the solve's, and lets a solver's crash cost one cell.
Processes are kept from one instance to the next, so that imports and compilation are paid once
and never timed.
"""

from __future__ import annotations

import math
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from oracles.arithmetic import ChildEnded, ChildProcess, module_command, module_environment
from oracles.interface import SolveOptions
from oracles.problem import ZeroOneProblem

SECONDS_OF_GRACE = 20.0
"""How long after its time limit a silent process is given before it is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What one oracle did on one instance.

    Parameters
    ----------
    seconds : float
        Wall seconds of the solve, model building included; of a failure, those until it.
    proved : bool
        Whether it ended with a proof of optimality.
    nodes : int or None
        Search nodes, where the oracle counts them.
    objective, bound : float or None
        In rows; None if there is none.
    peak_mib : float or None
        Peak resident memory of the process and its children, interpreter included.
    processor_seconds : float or None
        Of the solve, its threads and child processes: on a busy machine fewer than the seconds.
    error : str or None
        Why there is no answer: the name of the error, ``"crashed"``, ``"overran"`` (killed after
        its limit) or ``"skipped"``.
    curve : tuple of (float, float or None, float or None)
        Seconds, objective and bound in rows, whenever the oracle said that one of them had
        changed; the end last.
    """

    seconds: float
    proved: bool = False
    nodes: int | None = None
    objective: float | None = None
    bound: float | None = None
    peak_mib: float | None = None
    processor_seconds: float | None = None
    error: str | None = None
    curve: tuple[tuple[float, float | None, float | None], ...] = ()

    def __post_init__(self) -> None:
        """Take the curve from JSON too, which knows lists only."""
        object.__setattr__(self, "curve", tuple(tuple(place) for place in self.curve))

    def at(self, seconds: float) -> tuple[float | None, float | None]:
        """Return the objective and the bound that were known after so many seconds, in rows."""
        known = [place for place in self.curve if place[0] <= seconds]
        return known[-1][1:] if known else (None, None)

    @property
    def out_of_time(self) -> bool:
        """Whether a limit came before the proof, as opposed to not taking the problem."""
        unproved = self.error is None and not self.proved
        return unproved or self.error in ("NoHypothesis", "overran")


class OracleProcess:
    """One oracle in a process that is started when needed and replaced when it dies.

    Parameters
    ----------
    name : str
        A registered name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._process: ChildProcess | None = None

    def __enter__(self) -> Self:
        """Use it as a context, so that no process is left behind."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self.close()

    def measure(self, problem: ZeroOneProblem, options: SolveOptions) -> Measurement:
        """Solve one instance there.

        Parameters
        ----------
        problem : ZeroOneProblem
            The instance.
        options : SolveOptions
            Without a progress callback.
        """
        limit = options.time_limit
        try:
            if self._process is None:
                self._process = self._started()
                self._process.receive()
            patience = None if limit is None else limit + SECONDS_OF_GRACE
            return Measurement(**self._process.ask((problem, options), patience))
        except ChildEnded as ended:
            self.close()
            if ended.overran:
                return Measurement(seconds=limit or 0.0, error="overran")
            return Measurement(seconds=0.0, error="crashed")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process and whatever it started; harmless if there is none."""
        process, self._process = self._process, None
        if process is not None:
            process.close()

    def _started(self) -> ChildProcess:
        return ChildProcess(
            module_command("oracles.benchmarking.worker", self.name),
            environment=module_environment(),
            show_errors=True,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times longer one oracle takes than a reference, over many instances.

    Parameters
    ----------
    oracle, reference : str
        Their names.
    both : float or None
        Geometric mean over the instances that both proved; None if there are none.
    n_both : int
        Number of those instances.
    smallest : float or None
        The least ratio among them.
    n_slower : int
        Those on which the reference was the slower one.
    at_least : float or None
        Lower bound of the geometric mean over all instances that the reference proved and the
        oracle proved or ran out of time on, the time it was given counted as its time.
    n_at_least : int
        Number of those instances.
    n_only_oracle : int
        Instances that only the oracle proved.
    """

    oracle: str
    reference: str
    both: float | None
    n_both: int
    smallest: float | None
    n_slower: int
    at_least: float | None
    n_at_least: int
    n_only_oracle: int


def compare_times(runs: Iterable[Mapping[str, Measurement]], oracle: str, reference: str) -> Ratio:
    """Compare an oracle's times with a reference's.

    Parameters
    ----------
    runs : iterable of mapping of str to Measurement
        One mapping per instance, by oracle.
    oracle, reference : str
        Whom to compare.
    """
    pairs = [(run[oracle], run[reference]) for run in runs if oracle in run and reference in run]
    both = [a.seconds / b.seconds for a, b in pairs if a.proved and b.proved]
    gave_up = [a.seconds / b.seconds for a, b in pairs if a.out_of_time and b.proved]
    return Ratio(
        oracle=oracle,
        reference=reference,
        both=_geometric_mean(both),
        n_both=len(both),
        smallest=min(both, default=None),
        n_slower=sum(ratio < 1 for ratio in both),
        at_least=_geometric_mean(both + gave_up),
        n_at_least=len(both) + len(gave_up),
        n_only_oracle=sum(a.proved and b.out_of_time for a, b in pairs),
    )


def _geometric_mean(ratios: Sequence[float]) -> float | None:
    if not ratios:
        return None
    return math.exp(statistics.fmean(math.log(max(ratio, 1e-9)) for ratio in ratios))


def machine_facts() -> dict[str, Any]:
    """Return the public facts about the machine that times depend on."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_mib": _memory_mib(),
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _memory_mib() -> int | None:
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return None
