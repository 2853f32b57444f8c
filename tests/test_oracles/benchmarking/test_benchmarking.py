"""Oracles measured in processes of their own: what comes back, and what is left behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.extras import oracle_params
from helpers.oracles import instances
from helpers.processes import (
    descendants,
    group_members,
    needs_proc,
    process_of,
    processor_ticks,
    wait_until,
    wait_until_gone,
)

from oracles import SolveOptions
from oracles.benchmarking import measurement as bench, worker as worker_process
from oracles.benchmarking.measurement import Measurement, OracleProcess, compare_times


def alive(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_process_serves_several_instances_and_ends_with_the_context():
    problem, optimum = instances.exclusive_or()
    tilted, tilted_optimum = instances.pulled_by_table()
    with OracleProcess("enumeration") as worker:
        first = worker.measure(problem, SolveOptions(time_limit=60.0))
        group = worker._process.pid
        second = worker.measure(tilted, SolveOptions(time_limit=60.0))
        assert worker._process.pid == group and alive(group)
    assert not alive(group)
    assert first.proved and first.objective == first.bound == optimum and first.seconds > 0
    assert second.proved and second.objective == tilted_optimum * tilted.unit
    assert first.error is None and first.nodes == 27
    assert first.curve[-1][1:] == (optimum, optimum) and first.curve[-1][0] <= first.seconds
    assert first.at(0.0) == (None, None) and first.at(60.0) == (optimum, optimum)
    assert 5 < first.peak_mib < 2000
    assert 0 <= first.processor_seconds


def test_processor_time_counts_children_that_run_and_children_that_ended():
    # By its own clock: how much of the processor it gets, and how fast that is, does not matter.
    code = "import time\nwhile time.process_time() < 0.2: pass\nprint('done', flush=True)\ninput()"
    before = worker_process.processor_seconds()
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"done\n"
        running = worker_process.processor_seconds() - before
        child.communicate(b"\n")
    ended = worker_process.processor_seconds() - before
    # User and system time are each counted in ticks of a hundredth of a second.
    assert ended >= 0.15
    if Path("/proc/self/stat").exists():
        assert 0.15 <= running <= ended + 0.02


def test_what_an_oracle_does_not_take_is_said():
    with OracleProcess("enumeration") as worker:
        measured = worker.measure(instances.too_hard(), SolveOptions(time_limit=60.0))
    assert measured.error == "UnsupportedProblem" and not measured.proved
    assert not measured.out_of_time


def test_a_process_that_cannot_start_is_a_crash():
    problem, _ = instances.exclusive_or()
    with OracleProcess("nobody") as worker:
        assert worker.measure(problem, SolveOptions()).error == "crashed"


@pytest.mark.timing
def test_a_process_that_dies_is_replaced():
    problem, optimum = instances.exclusive_or()
    with OracleProcess("enumeration") as worker:
        worker.measure(problem, SolveOptions())
        os.killpg(worker._process.pid, 9)
        wait_until(lambda: not worker._process.is_alive, "the end of a killed process")
        assert worker.measure(problem, SolveOptions()).error == "crashed"
        assert worker.measure(problem, SolveOptions()).objective == optimum


@pytest.mark.timing
def test_a_process_that_overruns_is_killed(monkeypatch):
    monkeypatch.setattr(bench, "SECONDS_OF_GRACE", -59.5)
    with OracleProcess("highs") as worker:
        measured = worker.measure(instances.too_hard(), SolveOptions(time_limit=60.0))
        assert worker._process is None
    assert measured.error == "overran" and measured.out_of_time and measured.seconds == 60.0


def test_limits_count_as_times():
    def run(seconds, proved=True, error=None, reference=1.0):
        mine = Measurement(seconds=seconds, proved=proved, error=error)
        return {"mine": mine, "theirs": Measurement(seconds=reference, proved=True)}

    runs = [run(2.0), run(8.0), run(0.25), run(1000.0, proved=False)]
    runs += [run(0.0, proved=False, error="UnsupportedProblem"), {"theirs": runs[0]["theirs"]}]
    ratio = compare_times(runs, "mine", "theirs")
    assert ratio.both == pytest.approx(4 ** (1 / 3)) and ratio.n_both == 3
    assert ratio.smallest == 0.25 and ratio.n_slower == 1
    assert ratio.at_least == pytest.approx(4000**0.25) and ratio.n_at_least == 4
    assert ratio.n_only_oracle == 0
    assert compare_times([], "mine", "theirs").both is None


def test_what_only_the_oracle_proved_is_counted():
    runs = [
        {
            "mine": Measurement(seconds=1.0, proved=True),
            "theirs": Measurement(seconds=5.0, proved=False),
        }
    ]
    ratio = compare_times(runs, "mine", "theirs")
    assert ratio.n_only_oracle == 1 and ratio.both is None and ratio.at_least is None


@pytest.mark.timing
@needs_proc
@pytest.mark.parametrize("name", oracle_params(["highs", "pulp:CBC", "cp-sat"]))
def test_no_process_outlives_a_killed_parent(name):
    code = (
        f"import sys; sys.path[:0] = [{str(Path(instances.__file__).parent)!r}]\n"
        "import instances\n"
        "from oracles import SolveOptions\n"
        "from oracles.benchmarking.measurement import OracleProcess\n"
        f"worker = OracleProcess({name!r})\n"
        "problem, _ = instances.exclusive_or()\n"
        "worker.measure(problem, SolveOptions())\n"
        "print(worker._process.pid, flush=True)\n"
        "worker.measure(instances.too_hard(), SolveOptions(time_limit=300.0))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        worker = process_of(int(parent.stdout.readline()))

        def tree():
            return [worker, *descendants(worker.pid)]

        begun = processor_ticks(tree())

        def solving():
            # CBC is a process of one solve; the others are at work where they were before.
            if name == "pulp:CBC":
                return len(tree()) > 1
            return processor_ticks(tree()) > begun + os.sysconf("SC_CLK_TCK") // 2

        wait_until(solving, f"the solve by {name}")
        started = tree()  # a solver's process need not be of the worker's group
        assert name == "highs" or len(started) > 1
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    wait_until_gone(*started)
    wait_until(lambda: group_members(worker.pid) == [], "the end of the whole group")
