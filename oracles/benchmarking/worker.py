"""The child process of :mod:`oracles.benchmarking`: one oracle, problems in, measurements out.

Run with the oracle's name.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from oracles.arithmetic import ParentConnection, die_with_parent
from oracles.errors import OracleError
from oracles.interface import SolveOptions, get_oracle, solve
from oracles.problem import WeightGrid, ZeroOneProblem

SECONDS_BETWEEN_SAMPLES = 0.02

LARGEST_AMOUNT = 1e15
"""Objectives and bounds beyond are a solver's word for "none yet"."""


class PeakMemory:
    """Highest resident memory of this process and its children during a ``with`` block.

    Attributes
    ----------
    mib : float
        The peak, in MiB: this process's own high-water mark plus the largest seen of the children
        together. On systems without ``/proc`` the high-water mark since the process began.
    """

    def __init__(self) -> None:
        self.mib = 0.0
        self._children = 0.0
        self._done = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> PeakMemory:
        """Forget earlier peaks and begin."""
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, and add up."""
        self._done.set()
        self._sampler.join()
        own = _status_mib("self", "VmHWM")
        if own == 0.0:
            own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.mib = own + self._children

    def _sample(self) -> None:
        while not self._done.wait(SECONDS_BETWEEN_SAMPLES):
            together = sum(_status_mib(pid, "VmRSS") for pid in _child_processes())
            self._children = max(self._children, together)


def _child_processes() -> list[str]:
    found: list[str] = []
    for listing in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found += listing.read_text().split()
    return found


def _status_mib(pid: str, field: str) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


def processor_seconds() -> float:
    """Return the processor time of this process and its children so far, ended ones included."""
    together = sum(os.times()[:4])
    for pid in _child_processes():
        with suppress(OSError, ValueError):
            # After the name: state is field 3; user and system time, own and children's, 14 to 17.
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            together += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return together


class Curve:
    """What an oracle says of its progress: the changes, and no more of them than a figure needs.

    Attributes
    ----------
    places : list of (float, float or None, float or None)
        Seconds, objective and bound, rows; None where there is none.
    """

    def __init__(self) -> None:
        self.places: list[tuple[float, float | None, float | None]] = []

    def __call__(self, incumbent: float | None, bound: float, seconds: float) -> None:
        """Note a report; where reports come quickly it replaces the last one."""
        place = (seconds, _known(incumbent), _known(bound))
        if self.places and self.places[-1][1:] == place[1:]:
            return
        if len(self.places) > 1 and seconds < self.places[-2][0] + max(0.1, seconds / 100):
            self.places.pop()
        self.places.append(place)


def _known(amount: float | None) -> float | None:
    return None if amount is None or not abs(amount) < LARGEST_AMOUNT else float(amount)


def measurement(problem: ZeroOneProblem, oracle: Any, options: SolveOptions) -> dict[str, Any]:
    """Solve once; return what came out and what it took."""
    started, worked = time.perf_counter(), processor_seconds()
    curve = Curve()
    try:
        with PeakMemory() as peak:
            solution = solve(problem, oracle, replace(options, progress=curve))
    except OracleError as error:
        return {"error": type(error).__name__, "seconds": time.perf_counter() - started}
    certificate = solution.certificate
    return {
        "seconds": solution.stats.seconds,
        "nodes": solution.stats.nodes,
        "proved": certificate.proves_optimal,
        "objective": float(certificate.primal_bound) * problem.unit,
        "bound": float(certificate.dual_bound) * problem.unit if certificate.gap < 1e300 else None,
        "peak_mib": peak.mib,
        "processor_seconds": processor_seconds() - worked,
        "curve": curve.places,
    }


def main() -> None:
    """Warm the oracle up, then answer until the parent is gone."""
    if sys.argv[1] == "pulp:SCIP":
        die_with_parent()
    parent = ParentConnection()
    oracle = get_oracle(sys.argv[1])
    one = np.ones((1, 1), dtype=np.int64)
    tiny = ZeroOneProblem(
        points=one, positives=one[0], negatives=0 * one[0], grid=WeightGrid.box(1, 1)
    )
    with suppress(OracleError):
        solve(tiny, oracle)
    message: dict[str, Any] = {"ready": True}
    while True:
        parent.send(message)
        problem, options = parent.receive()
        if oracle.supports(problem):
            message = measurement(problem, oracle, options)
        else:
            message = {"error": "UnsupportedProblem", "seconds": 0.0}


if __name__ == "__main__":
    main()
