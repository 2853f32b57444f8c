"""Comparisons for real: time limits, crashes, kills, resumption, and every backend."""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opdisc.comparison.comparing import compare
from opdisc.comparison.plan import Plan, runs_of
from opdisc.comparison.runs import setting_of
from opdisc.comparison.source import load_source
from opdisc.comparison.store import read_rows
from opdisc.comparison.workers.supervision import run_supervised

TESTS = str(Path(__file__).resolve().parents[3])
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


def test_a_time_limit_stops_compiled_code_and_what_it_started(source):
    started = time.monotonic()
    pid = row_of(source, "reporting")["parameters"]["pid"]
    row = row_of(source, "endless", time_limit=0.5)
    assert row["status"] == "time limit"
    assert row["error"] == "the run was ended at the time limit of 0.5 seconds."
    assert row["seconds"] == 0.5
    assert not is_alive(pid)
    refused = row_of(source, "unproved", time_limit=0.5)
    assert (refused["status"], refused["receipt"]) == ("time limit", None)
    assert refused["error"] == (
        "no certificate came within the time limit of 0.5 seconds, so nothing was released."
    )
    again = row_of(source, "reporting")
    assert again["status"] == "ok" and again["parameters"]["pid"] != pid
    forked = row_of(source, "forking", time_limit=0.5)
    assert forked["status"] == "time limit"
    deadline = time.monotonic() + 30  # a killed process takes a moment to go
    while group_members(again["parameters"]["pid"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert group_members(again["parameters"]["pid"]) == []
    assert time.monotonic() - started < 300


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


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def group_members(group):
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry.name))
    return found


# --- whole comparisons ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_comparison_runs_every_run_and_records_every_failure(source, tmp_path):
    odd = ("raising", "crashing", "endless")
    names = (*QUICK, *(f"helpers.opdisc.comparison_methods:{name}" for name in odd))
    plan = Plan(methods=names, epsilons=(1.0,), repeats=2, time_limit=20.0)
    outcome = compare(source, plan, tmp_path / "out", jobs=2, report=nothing)
    assert (outcome.planned, outcome.finished, outcome.failed) == (12, 12, 6)
    rows = read_rows(tmp_path / "out")
    assert sorted(row["run_id"] for row in rows) == sorted(run.run_id for run in runs_of(plan))
    status = {(row["method"].rpartition(":")[2], row["status"]) for row in rows}
    assert status == {
        *((name, "ok") for name in QUICK),
        ("raising", "failed"),
        ("crashing", "failed"),
        ("endless", "time limit"),
    }
    assert (tmp_path / "out" / "runs.csv").read_text().count("\nmajority/") == 2


@pytest.mark.slow
def test_killed_three_times_and_resumed_it_has_the_rows_of_an_undisturbed_run(source, tmp_path):
    waiting = "helpers.opdisc.comparison_methods:waiting"
    epsilons = tuple(0.1 * (k + 1) for k in range(8))
    plan = Plan(methods=(*QUICK, waiting, "private-majority"), epsilons=epsilons, repeats=6)
    planned = sorted(run.run_id for run in runs_of(plan))
    undisturbed = compare(source, plan, tmp_path / "calm", jobs=2, report=nothing)
    assert undisturbed.finished == len(planned)
    chance = random.Random(os.urandom(8))
    out = tmp_path / "killed"
    seen, workers = 0, []
    for _ in range(3):
        process = command(plan, out)
        wait_until(lambda: rows_in(out) > seen, process)  # noqa: B023
        time.sleep(chance.uniform(0.0, 1.5))
        assert process.poll() is None, "it finished before it could be killed"
        workers += descendants(process.pid)
        process.kill()
        process.wait()
        assert rows_in(out) < len(planned)
        seen = rows_in(out)
    last = command(plan, out)
    assert last.wait(300) == 0
    rows, calm = read_rows(out), read_rows(tmp_path / "calm")
    assert sorted(row["run_id"] for row in rows) == planned
    assert sorted(row["run_id"] for row in calm) == planned
    for row in rows:
        assert row["status"] == "ok" and row["train_accuracy"] is not None
        assert set(row) == set(calm[0])
    # What is not random is the same; what is random has other noise.
    fixed = {row["run_id"]: row["train_accuracy"] for row in rows if row["epsilon"] is None}
    assert fixed == {r["run_id"]: r["train_accuracy"] for r in calm if r["epsilon"] is None}
    wait_until(lambda: not any(map(is_alive, workers)))


def command(plan, out):
    """Start the command line in a process group of its own."""
    lists = {"--methods": plan.methods, "--epsilons": plan.epsilons}
    arguments = [text for name, values in lists.items() for text in (name, *map(repr, values))]
    arguments = [text.strip("'") for text in arguments]
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "opdisc.cli.app", "compare", "--dataset", "breast-cancer"),
            *(*arguments, "--repeats", str(plan.repeats), "--jobs", "2"),
            *("--resume", "--out", str(out)),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *sys.path])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def rows_in(out):
    path = out / "runs.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def descendants(pid):
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    found = [pid]
    for known in found:
        found += [child for child, parent in parents.items() if parent == known]
    return found[1:]


def wait_until(condition, process=None, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        if process is not None and process.poll() is not None:
            raise AssertionError(process.stderr.read().decode())
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_ctrl_c_leaves_a_directory_to_resume_and_one_sentence(source, tmp_path):
    plan = Plan(
        methods=("helpers.opdisc.comparison_methods:waiting", "majority"),
        epsilons=(0.1, 1),
        repeats=40,
    )
    process = command(plan, tmp_path / "out")
    wait_until(lambda: rows_in(tmp_path / "out") > 2, process)
    workers = descendants(process.pid)
    assert len(workers) >= 4  # two workers, each with a child
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130
    errors = [line for line in told.decode().splitlines() if not line.startswith("warning")]
    assert len(errors) == 1, told.decode()
    assert errors[0].startswith("error: interrupted after ")
    assert errors[0].endswith("'.") and "--resume --out" in errors[0]
    assert (tmp_path / "out" / "runs.csv").exists()
    wait_until(lambda: not any(map(is_alive, workers)))
    arguments = ["--resume", "--out", str(tmp_path / "out"), "--json"]
    resumed = subprocess.run(
        [sys.executable, "-m", "opdisc.cli.app", "compare", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *sys.path])},
        capture_output=True,
        timeout=300,
    )
    assert resumed.returncode == 0, resumed.stderr.decode()
    outcome = json.loads(resumed.stdout)
    assert outcome["finished"] == outcome["runs"] == 200  # the private majority ran as well
    assert len({row["run_id"] for row in read_rows(tmp_path / "out")}) == 200


@pytest.mark.slow
def test_a_lost_worker_is_one_sentence_and_its_runs_are_resumed(source, tmp_path):
    plan = Plan(
        methods=("helpers.opdisc.comparison_methods:waiting",), epsilons=(0.1, 1.0), repeats=15
    )
    process = command(plan, tmp_path / "out")
    wait_until(lambda: rows_in(tmp_path / "out") > 2, process)
    for pid in descendants(process.pid):
        if b"popen_loky" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
            break
    else:
        raise AssertionError("no worker found")
    _, told = process.communicate(timeout=120)
    assert process.returncode == 1, told.decode()
    lines = [line for line in told.decode().splitlines() if line.startswith("error")]
    assert len(lines) == 1 and "continue with --resume" in lines[0], told.decode()
    assert command(plan, tmp_path / "out").wait(300) == 0
    assert len(read_rows(tmp_path / "out")) == 75  # both majorities ran as well


# --- clusters ---------------------------------------------------------------------------------


def needs(package):
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed")


@pytest.mark.slow
@needs("distributed")
def test_a_dask_cluster_runs_it(source, tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        pids = check_backend_runs(source, tmp_path, "dask", cluster.scheduler_address)
    wait_until(lambda: not any(map(is_alive, pids)))


@pytest.mark.slow
@needs("distributed")
def test_a_dask_cluster_is_started_where_there_is_none(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    pids = check_backend_runs(source, tmp_path, "dask", None)
    wait_until(lambda: not any(map(is_alive, pids)))


@pytest.mark.slow
@needs("ray")
def test_a_ray_cluster_runs_it(source, tmp_path, monkeypatch):
    import ray

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        pids = check_backend_runs(source, tmp_path, "ray", None)
    finally:
        ray.shutdown()
    wait_until(lambda: not any(map(is_alive, pids)))


@pytest.mark.slow
@needs("ray")
def test_a_ray_cluster_is_started_where_there_is_none(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([TESTS, *sys.path]))
    pids = check_backend_runs(source, tmp_path, "ray", None)
    wait_until(lambda: not any(map(is_alive, pids)))


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
