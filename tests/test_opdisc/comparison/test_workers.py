"""Comparisons for real: time limits, crashes, kills, resumption, and every backend."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from helpers.opdisc.comparison_methods import hold_at
from helpers.processes import (
    children,
    descendants,
    fields_of,
    group_members,
    is_running_code,
    process_of,
    wait_until,
    wait_until_gone,
)

from opdisc.comparison.comparing import compare
from opdisc.comparison.plan import Plan, runs_of
from opdisc.comparison.runs import setting_of
from opdisc.comparison.source import load_source
from opdisc.comparison.store import read_rows
from opdisc.comparison.supervision import run_supervised

TESTS = str(Path(__file__).resolve().parents[2])
QUICK = ("auto", "optimum", "majority")


@pytest.fixture(scope="module")
def source():
    return load_source(dataset="breast-cancer")


def nothing(directory):
    return directory


def row_of(source, name, time_limit=None):
    plan = Plan(
        methods=(f"helpers.opdisc.comparison_methods:{name}",), repeats=1, time_limit=time_limit
    )
    (run,) = (run for run in runs_of(plan) if run.epsilon in (None, 1.0))
    return run_supervised(run, setting_of(plan, source), source.packed(), source.digest())


# --- one worker -------------------------------------------------------------------------------


class OnceForked(threading.Timer):
    """A time limit that begins when the run has started a process: that takes how long it takes.

    Without such a process it begins a minute later.
    """

    group = 0
    forked = False

    def run(self):
        deadline = time.monotonic() + 60
        while not self.finished.wait(0.01) and time.monotonic() < deadline:
            if len(group_members(OnceForked.group)) > 1:
                OnceForked.forked = True
                break
        super().run()


@pytest.mark.timing
def test_a_time_limit_stops_compiled_code_and_what_it_started(source, monkeypatch):
    # These runs never end by themselves: however slow the machine, the limit comes first.
    first = process_of(row_of(source, "reporting")["parameters"]["pid"])
    row = row_of(source, "endless", time_limit=0.5)
    assert row["status"] == "time limit"
    assert row["error"] == "the run was ended at the time limit of 0.5 seconds."
    assert row["seconds"] == 0.5
    wait_until_gone(first)
    refused = row_of(source, "unproved", time_limit=0.5)
    assert (refused["status"], refused["receipt"]) == ("time limit", None)
    assert refused["error"] == (
        "no certificate came within the time limit of 0.5 seconds, so nothing was released."
    )
    again = row_of(source, "reporting")
    second = process_of(again["parameters"]["pid"])
    assert again["status"] == "ok" and second != first
    monkeypatch.setattr(OnceForked, "group", second.pid)
    monkeypatch.setattr(OnceForked, "forked", False)
    with monkeypatch.context() as patch:
        patch.setattr(threading, "Timer", OnceForked)
        forked = row_of(source, "forking", time_limit=0.5)
    assert OnceForked.forked and forked["status"] == "time limit"
    wait_until(lambda: group_members(second.pid) == [], "the end of all that a run started")


@pytest.mark.slow
def test_a_crash_is_a_row_and_the_next_run_is_fine(source):
    row = row_of(source, "crashing")
    assert row["status"] == "failed"
    assert row["error"] == "the process of the run ended by itself (exit status -11)."
    printed = row_of(source, "printing")
    assert printed["status"] == "ok"  # what it wrote to its output did not get in the way
    reported = row_of(source, "reporting")["parameters"]
    assert reported["threads"] == "1"
    assert row_of(source, "raising")["error"].startswith("an unexpected ValueError")
    assert row_of(source, "reporting")["parameters"]["pid"] == reported["pid"]


# --- whole comparisons ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timing
def test_a_comparison_runs_every_run_and_records_every_failure(source, tmp_path):
    odd = ("raising", "crashing", "endless")
    names = (*QUICK, *(f"helpers.opdisc.comparison_methods:{name}" for name in odd))
    # The limit is the length of this test, and for the quick ones a hundred times what they take.
    plan = Plan(methods=names, epsilons=(1.0,), repeats=1, time_limit=8.0)
    outcome = compare(source, plan, tmp_path / "out", jobs=2, report=nothing)
    assert (outcome.planned, outcome.finished, outcome.failed) == (6, 6, 3)
    rows = read_rows(tmp_path / "out")
    assert sorted(row["run_id"] for row in rows) == sorted(run.run_id for run in runs_of(plan))
    status = {(row["method"].rpartition(":")[2], row["status"]) for row in rows}
    assert status == {
        *((name, "ok") for name in QUICK),
        ("raising", "failed"),
        ("crashing", "failed"),
        ("endless", "time limit"),
    }
    assert (tmp_path / "out" / "runs.csv").read_text().count("\nmajority/") == 1


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timing
@pytest.mark.parametrize("kills", [1, 2, 3])
def test_killed_and_resumed_it_has_the_rows_of_an_undisturbed_run(
    source, tmp_path, command, kills
):
    waiting = "helpers.opdisc.comparison_methods:waiting"
    plan = Plan(methods=(*QUICK, waiting, "private-majority"), epsilons=(0.1, 0.5, 1.0), repeats=3)
    planned = sorted(run.run_id for run in runs_of(plan))
    undisturbed = compare(source, plan, tmp_path / "calm", jobs=2, report=nothing)
    assert undisturbed.finished == len(planned)
    chance = random.Random(os.urandom(8))
    out = tmp_path / "killed"
    before, workers = 0, []
    for _ in range(kills):
        process = command(plan, out, hold_after=before + 1)
        wait_for_rows(out, before + 1, process)
        time.sleep(chance.uniform(0.0, 1.5))  # not a wait: any moment is one to be killed at
        assert process.poll() is None, "it finished though it was held"
        workers += descendants(process.pid)
        process.kill()
        process.wait()
        before = rows_in(out)
        assert before < len(planned)
    wait_until_gone(*workers)
    last = command(plan, out)
    _, told = last.communicate(timeout=300)
    assert last.returncode == 0, told.decode()
    rows, calm = read_rows(out), read_rows(tmp_path / "calm")
    assert sorted(row["run_id"] for row in rows) == planned
    assert sorted(row["run_id"] for row in calm) == planned
    for row in rows:
        assert row["status"] == "ok" and row["train_accuracy"] is not None
        assert set(row) == set(calm[0])
    # What is not random is the same; what is random has other noise.
    fixed = {row["run_id"]: row["train_accuracy"] for row in rows if row["epsilon"] is None}
    assert fixed == {r["run_id"]: r["train_accuracy"] for r in calm if r["epsilon"] is None}


@pytest.fixture
def command():
    """Start the command line in a process group of its own, which does not outlive the test."""
    started = []

    def start(plan, out, hold_after=None):
        lists = {"--methods": plan.methods, "--epsilons": plan.epsilons}
        arguments = [text for name, values in lists.items() for text in (name, *map(str, values))]
        held = {} if hold_after is None else hold_at(hold_after, out / "runs.jsonl")
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "opdisc.cli.app", "compare", "--dataset", "breast-cancer"),
                *(*arguments, "--repeats", str(plan.repeats), "--jobs", "2"),
                *("--resume", "--out", str(out)),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *sys.path]), **held},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:  # else its number may be another's, and its workers end by it
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stderr.close()


def rows_in(out):
    path = out / "runs.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_for_rows(out, count, process):
    def there():
        if process.poll() is not None:
            raise AssertionError(f"it ended early: {process.stderr.read().decode()}")
        return rows_in(out) >= count

    wait_until(there, f"{count} rows in {out}", seconds=120)


def wait_for_workers(process):
    """Return both workers, once each has a child at work and leaves Ctrl-C to its parent.

    Rows may all be of one worker, while the other is still being loaded.
    """

    def found():
        workers = [p for p in children(process.pid) if is_running_code(p, "popen_loky")]
        return [
            worker
            for worker in workers
            if any(
                is_running_code(child, "opdisc.comparison.worker_child")
                for child in children(worker.pid)
            )
        ]

    wait_until(lambda: len(found()) == 2, "two workers with a child each", seconds=120)
    return found()


@pytest.mark.slow
@pytest.mark.timing
def test_ctrl_c_leaves_a_directory_to_resume_and_one_sentence(tmp_path, command):
    plan = Plan(
        methods=("helpers.opdisc.comparison_methods:waiting", "majority"),
        epsilons=(0.1, 1.0),
        repeats=4,
    )
    process = command(plan, tmp_path / "out", hold_after=6)
    wait_for_rows(tmp_path / "out", 3, process)
    wait_for_workers(process)
    started = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130, told.decode()
    errors = [line for line in told.decode().splitlines() if not line.startswith("warning")]
    assert len(errors) == 1, told.decode()
    assert errors[0].startswith("error: interrupted after ")
    assert errors[0].endswith("'.") and "--resume --out" in errors[0]
    assert (tmp_path / "out" / "runs.csv").exists()
    wait_until_gone(*started)
    arguments = ["--resume", "--out", str(tmp_path / "out"), "--json"]
    resumed = subprocess.run(
        [sys.executable, "-m", "opdisc.cli.app", "compare", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *sys.path])},
        capture_output=True,
        timeout=300,
    )
    assert resumed.returncode == 0, resumed.stderr.decode()
    outcome = json.loads(resumed.stdout)
    assert outcome["finished"] == outcome["runs"] == 20  # the private majority ran as well
    assert len({row["run_id"] for row in read_rows(tmp_path / "out")}) == 20


@pytest.mark.slow
@pytest.mark.timing
def test_ctrl_c_while_workers_load_is_one_sentence_too(tmp_path, command):
    plan = Plan(methods=("helpers.opdisc.comparison_methods:waiting",), repeats=40)
    process = command(plan, tmp_path / "out", hold_after=0)

    def loading():
        return any(is_running_code(p, "popen_loky") for p in children(process.pid))

    wait_until(lambda: loading() or process.poll() is not None, "a worker that loads")
    assert process.poll() is None, process.stderr.read().decode()
    started = descendants(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130, told.decode()
    errors = [line for line in told.decode().splitlines() if not line.startswith("warning")]
    assert len(errors) == 1 and errors[0].startswith("error: interrupted after "), told.decode()
    wait_until_gone(*started)


@pytest.mark.slow
@pytest.mark.timing
def test_a_lost_worker_is_one_sentence_and_its_runs_are_resumed(tmp_path, command):
    plan = Plan(
        methods=("helpers.opdisc.comparison_methods:waiting",), epsilons=(0.1, 1.0), repeats=4
    )
    process = command(plan, tmp_path / "out", hold_after=6)
    wait_for_rows(tmp_path / "out", 3, process)
    os.kill(wait_for_workers(process)[0].pid, signal.SIGKILL)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 1, told.decode()
    lines = [line for line in told.decode().splitlines() if line.startswith("error")]
    assert len(lines) == 1 and "continue with --resume" in lines[0], told.decode()
    resumed = command(plan, tmp_path / "out")
    _, told = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, told.decode()
    assert len(read_rows(tmp_path / "out")) == 20  # both majorities ran as well


# --- clusters ---------------------------------------------------------------------------------


def is_there(pid):
    fields = fields_of(pid)
    return fields is not None and fields[0] not in "ZX"


@pytest.mark.slow
@pytest.mark.extras("distributed")
@pytest.mark.timing
def test_a_dask_cluster_runs_it(source, tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        pids = check_backend_runs(source, tmp_path, "dask", cluster.scheduler_address)
    wait_until(lambda: not any(map(is_there, pids)), "the end of the workers")


@pytest.mark.slow
@pytest.mark.extras("distributed")
@pytest.mark.timing
def test_a_dask_cluster_is_started_where_there_is_none(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    pids = check_backend_runs(source, tmp_path, "dask", None)
    wait_until(lambda: not any(map(is_there, pids)), "the end of the workers")


@pytest.mark.slow
@pytest.mark.extras("ray")
@pytest.mark.timing
def test_a_ray_cluster_runs_it(source, tmp_path, monkeypatch):
    import ray

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        pids = check_backend_runs(source, tmp_path, "ray", None)
    finally:
        ray.shutdown()
    wait_until(lambda: not any(map(is_there, pids)), "the end of the workers")


@pytest.mark.slow
@pytest.mark.extras("ray")
@pytest.mark.timing
def test_a_ray_cluster_is_started_where_there_is_none(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    pids = check_backend_runs(source, tmp_path, "ray", None)
    wait_until(lambda: not any(map(is_there, pids)), "the end of the workers")


def check_backend_runs(source, tmp_path, backend, cluster):
    odd = tuple(
        f"helpers.opdisc.comparison_methods:{name}" for name in ("raising", "endless", "reporting")
    )
    plan = Plan(methods=(*QUICK, *odd), epsilons=(0.5, 1.0), repeats=2, time_limit=20.0)
    outcome = compare(
        source, plan, tmp_path / "out", backend=backend, jobs=2, cluster=cluster, report=nothing
    )
    rows = read_rows(tmp_path / "out")
    assert sorted(row["run_id"] for row in rows) == sorted(run.run_id for run in runs_of(plan))
    assert (outcome.finished, outcome.failed) == (len(rows), 4)
    assert {row["status"] for row in rows if "endless" in row["method"]} == {"time limit"}
    pids = [row["parameters"]["pid"] for row in rows if "reporting" in row["method"]]
    assert os.getpid() not in pids
    return pids
