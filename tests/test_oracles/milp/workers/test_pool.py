"""Workers: whatever a solver does, the process that asked is as it was, and nothing is left.

The solvers here are modules that take a real one's place in the worker and misbehave.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from helpers.child_events import next_line, wait_for_line
from helpers.oracles import instances
from helpers.processes import (
    PATIENCE,
    descendants,
    needs_proc,
    process_of,
    runs,
    wait_until,
    wait_until_gone,
)

import oracles
from oracles import NoHypothesis, OracleUnavailable, SolveOptions
from oracles.arithmetic import module_environment
from oracles.milp.workers import pool
from oracles.milp.workers.loop import error_code

HOLD = "ctypes.PyDLL(None).sleep(600)"
"""Sleeps with Python's lock held, so that no other thread of its process runs."""

CRASHES = {
    "segmentation fault": "os.kill(os.getpid(), signal.SIGSEGV)",
    "abort": "os.abort()",
    "exit": "os._exit(0)",
    "end of Python": "sys.exit(3)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
}

ERRORS = {
    "ValueError": ("raise ValueError('3 rows say 77')", ""),
    "MemoryError": ("raise MemoryError", ""),
    "CplexSolverError": (
        "raise type('CplexSolverError', (Exception,), {})('CPLEX Error  1016: x.', None, 1016)",
        " 1016",
    ),
    "GurobiError": (
        "e = type('GurobiError', (Exception,), {})('Model too large'); e.errno = 10011; raise e",
        " 10011",
    ),
    "CoptError": (
        "e = type('CoptError', (Exception,), {})('x'); e.retcode = 4; raise e",
        " 4",
    ),
    "Error": ("raise type('Error', (Exception,), {})('rescode.err_missing(1008): x')", " 1008"),
    "SolverError": ("raise type('SolverError', (Exception,), {})('?120 Error: x')", " 120"),
}


def module(act, *, at_import="pass"):
    """Return a module that acts when it is asked for the first thing that a back end wants."""
    return (
        "import ctypes, os, signal, sys, time\n"
        f"{at_import}\n"
        "def HighsLp():\n"
        f"    {act}\n"
        "class LpSolver:\n"
        "    def __init__(self, **settings): pass\n"
        "    def available(self): return True\n"
        "class MINE(LpSolver): pass\n"
        "LpMinimize = 1\n"
        "def LpProblem(*_): HighsLp()\n"
    )


@pytest.fixture
def workers(monkeypatch):
    """No worker from before, and none afterwards."""
    monkeypatch.setattr(pool, "_idle", {})
    yield pool
    for kept in pool._idle.values():
        for worker in kept:
            worker.close()


@pytest.fixture
def misbehaving(workers, tmp_path, monkeypatch):
    """Put a module in the place of highspy and of PuLP in every worker to come."""

    def replace(act, **settings):
        folder = tmp_path / "solvers"
        folder.mkdir(exist_ok=True)
        for name in ("highspy", "pulp"):
            (folder / f"{name}.py").write_text(module(act, **settings))
        monkeypatch.syspath_prepend(str(folder))

    return replace


def seen(monkeypatch):
    """Return a list that will hold every worker's process."""
    found = []
    started = pool.ChildProcess

    def start(*arguments, **settings):
        child = started(*arguments, **settings)
        found.append(process_of(child.pid))
        return child

    monkeypatch.setattr(pool, "ChildProcess", start)
    return found


@pytest.mark.parametrize("kind", CRASHES)
def test_a_crash_is_a_sentence(misbehaving, kind):
    misbehaving(CRASHES[kind])
    problem, _ = instances.exclusive_or()
    with pytest.raises(NoHypothesis) as caught:
        oracles.solve(problem, "highs")
    assert str(caught.value) == (
        "oracle 'highs' needs an answer of its solver, but its process ended; choose another "
        "oracle, or let one take over: 'highs then branch-and-bound'."
    )


@pytest.mark.parametrize("name", ["highs", "pulp:MINE"])
@pytest.mark.parametrize("act", ["os.abort()", "raise RuntimeError"])
def test_a_chain_survives_a_crash(misbehaving, name, act):
    misbehaving(act)
    problem, optimum = instances.exclusive_or()
    certificate = oracles.solve(problem, f"{name} then enumeration").certificate
    assert certificate.proves_optimal and certificate.primal_bound == optimum


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_of_a_solver_is_a_sentence_without_its_text(misbehaving, kind):
    act, code = ERRORS[kind]
    misbehaving(act)
    problem, _ = instances.exclusive_or()
    with pytest.raises(NoHypothesis) as caught:
        oracles.solve(problem, "highs")
    assert str(caught.value) == (
        f"oracle 'highs' needs an answer of its solver, but it failed with {kind}{code}; choose "
        "another oracle, or let one take over: 'highs then branch-and-bound'."
    )
    assert caught.value.__cause__ is None


def test_a_library_that_cannot_be_loaded_is_named(misbehaving):
    misbehaving("pass", at_import="import libraries_of_a_solver")
    problem, _ = instances.exclusive_or()
    with pytest.raises(OracleUnavailable, match="cannot import 'libraries_of_a_solver'"):
        oracles.solve(problem, "highs")
    with pytest.raises(OracleUnavailable, match="cannot import 'libraries_of_a_solver'"):
        oracles.get_oracle("pulp:MINE")


@pytest.mark.parametrize("print_", ["print('noise', flush=True)", "os.write(1, b'noise')"])
def test_what_a_solver_prints_is_swallowed(misbehaving, capfd, print_):
    loud = f"{print_}; ctypes.CDLL(None).printf(b'from a library'); os.write(2, b'and here')"
    misbehaving(f"{loud}; raise ValueError", at_import=loud)
    problem, _ = instances.exclusive_or()
    with pytest.raises(NoHypothesis):
        oracles.solve(problem, "highs")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("read", ["os.read(0, 9)", "sys.stdin.read()"])
def test_a_solver_that_asks_for_input_gets_none(misbehaving, read):
    misbehaving(f"raise (LookupError if {read} else BufferError)")
    with pytest.raises(NoHypothesis, match="failed with BufferError"):
        oracles.solve(instances.exclusive_or()[0], "highs")


@needs_proc
@pytest.mark.timing
@pytest.mark.parametrize("where", ["act", "at_import"])
def test_a_time_limit_is_kept_by_a_solver_that_forgets_it(misbehaving, monkeypatch, where):
    processes = seen(monkeypatch)
    misbehaving(**{"act": "pass", where: HOLD})
    problem, oracle = instances.exclusive_or()[0], oracles.get_oracle("highs")
    if where == "act":
        with pool._worker("highs") as worker:  # one that is late to start is kept
            assert worker.becomes_ready(None)
    before = time.monotonic()
    with pytest.raises(NoHypothesis, match="time limit"):
        oracles.solve(problem, oracle, SolveOptions(time_limit=1.0))
    assert time.monotonic() - before < 3.0
    if where == "act":
        wait_until_gone(*processes)


PARENT = """
import os, sys
sys.path[:0] = [sys.argv[1]]
from helpers.oracles import instances
import oracles
print("solving", flush=True)
oracles.solve(instances.exclusive_or()[0], sys.argv[2])
print("solved", flush=True)
"""


@pytest.fixture
def parent(tmp_path):
    """Start a program whose solver never ends, and wait until that writes a file and hangs."""
    started = []

    def start(name, act):
        folder, scratch = tmp_path / "solvers", tmp_path / "scratch"
        folder.mkdir()
        scratch.mkdir()
        note = tmp_path / "note"
        act = f"open('rows.mps', 'x').close(); open({str(note)!r}, 'x').close(); {act}"
        if name.startswith("highs"):
            act = act.partition(";")[2].strip()
        for solver in ("highspy", "pulp"):
            (folder / f"{solver}.py").write_text(module(act))
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(folder), name],
            env=os.environ
            | {
                "TMPDIR": str(scratch),
                "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        wait_for_line(process, "solving")
        wait_until(lambda: note.exists() or process.poll() is not None, "the solver to hang")
        assert process.poll() is None
        assert bool(list(scratch.rglob("rows.mps"))) == (not name.startswith("highs"))
        return process, descendants(process.pid), scratch

    yield start
    for process in started:
        process.kill()
        process.communicate()


IGNORING = f"signal.signal(signal.SIGINT, signal.SIG_IGN); {HOLD}"


@needs_proc
@pytest.mark.timing
@pytest.mark.parametrize("name", ["highs", "pulp:MINE", "highs then enumeration"])
def test_ctrl_c_ends_a_solver_that_does_not_hear_it_and_no_other_takes_over(parent, name):
    process, all_of_it, scratch = parent(name, IGNORING)
    before = time.monotonic()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert time.monotonic() - before < 2.0
    assert output == "" and errors.rstrip().endswith("KeyboardInterrupt")
    wait_until_gone(*all_of_it)
    assert list(scratch.iterdir()) == []


@needs_proc
@pytest.mark.timing
@pytest.mark.parametrize("name", ["highs", "pulp:MINE"])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_program_that_is_killed(parent, name, ending):
    """With Python's lock held, nobody in the worker itself could notice."""
    process, all_of_it, scratch = parent(name, IGNORING)
    process.send_signal(ending)
    process.communicate(timeout=PATIENCE)
    wait_until_gone(*all_of_it)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("ending", ["raise ValueError", "os.abort()"])
def test_files_go_away_when_the_solver_fails(misbehaving, tmp_path, monkeypatch, ending):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    here = Path.cwd()
    misbehaving(f"open('rows.mps', 'x').close(); os.mkdir('logs'); {ending}")
    problem, _ = instances.exclusive_or()
    with pytest.raises(NoHypothesis):
        oracles.solve(problem, "pulp:MINE")
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not (here / "rows.mps").exists()


def test_a_worker_is_kept_warm_and_the_solver_stays_out_of_this_process(workers):
    code = (
        "import sys, os, oracles\n"
        "from helpers.oracles import instances\n"
        "from oracles.milp.workers import pool\n"
        "problem, optimum = instances.exclusive_or()\n"
        "before = None\n"
        "for name in ('highs', 'pulp:HiGHS', 'highs', 'pulp:HiGHS'):\n"
        "    assert oracles.solve(problem, name).certificate.primal_bound == optimum\n"
        "    print(*sorted(pool.idle_processes()), flush=True)\n"
        "print(*{'pulp', 'highspy'} & set(sys.modules))\n"
    )
    environment = module_environment()
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    first, both, again, at_last, loaded = run.stdout.split("\n")[:5]
    assert len(first.split()) == 1 and len(both.split()) == 2
    assert both == again == at_last and loaded == ""
    assert run.stderr == ""


@pytest.mark.extras("ortools")
@pytest.mark.parametrize("name", ["highs", "pulp:HiGHS", "cp-sat"])
def test_other_solvers_may_be_loaded_here_before(name):
    code = (
        "from ortools.sat.python import cp_model\n"
        "import oracles, sys\n"
        "from helpers.oracles import instances\n"
        "problem, optimum = instances.exclusive_or()\n"
        "assert oracles.solve(problem, sys.argv[1]).certificate.primal_bound == optimum\n"
    )
    environment = module_environment()
    run = subprocess.run([sys.executable, "-c", code, name], check=False, env=environment)
    assert run.returncode == 0


def test_an_idle_worker_that_has_gone_is_replaced(workers):
    problem, optimum = instances.exclusive_or()
    oracles.solve(problem, "highs")
    (first,) = workers.idle_processes()
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)  # with all its threads
    assert oracles.solve(problem, "highs").certificate.primal_bound == optimum
    (second,) = workers.idle_processes()
    assert second != first


@needs_proc
def test_a_worker_killed_in_mid_search_is_a_crash(workers, monkeypatch):
    processes = seen(monkeypatch)

    def kill(*_):
        os.kill(processes[0].pid, signal.SIGKILL)

    with pytest.raises(NoHypothesis, match="its process ended"):
        oracles.solve(instances.too_hard(), "highs", SolveOptions(progress=kill))
    assert workers.idle_processes() == ()


@needs_proc
def test_an_exception_in_the_callback_ends_the_worker(workers, monkeypatch):
    processes = seen(monkeypatch)

    def fail(*_):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        oracles.solve(instances.too_hard(), "highs", SolveOptions(progress=fail))
    wait_until_gone(*processes)
    assert workers.idle_processes() == ()


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="needs limits of processes")
def test_a_crash_leaves_no_memory_on_the_disk(misbehaving, tmp_path):
    note = tmp_path / "limit"
    misbehaving(
        f"import resource; open({str(note)!r}, 'w').write("
        "str(resource.getrlimit(resource.RLIMIT_CORE))); os.abort()"
    )
    with pytest.raises(NoHypothesis):
        oracles.solve(instances.exclusive_or()[0], "highs")
    assert note.read_text() == "(0, 0)"


def test_threads_have_workers_of_their_own(workers):
    problem, optimum = instances.pulled_by_table()
    found = []

    def work():
        for _ in range(5):
            found.append(oracles.solve(problem, "highs").certificate.primal_bound)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [optimum] * 15
    assert 1 <= len(workers.idle_processes()) <= 3


@needs_proc
def test_a_fork_leaves_the_workers_to_its_parent(workers):
    problem, optimum = instances.exclusive_or()
    code = (
        "import os, sys, oracles\n"
        "from helpers.oracles import instances\n"
        "from oracles.milp.workers import pool\n"
        "problem, optimum = instances.exclusive_or()\n"
        "oracles.solve(problem, 'highs')\n"
        "before = pool.idle_processes()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    assert pool.idle_processes() == ()\n"
        "    assert oracles.solve(problem, 'highs').certificate.primal_bound == optimum\n"
        "    assert pool.idle_processes() != before\n"
        "    sys.exit(0)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
        "oracles.solve(problem, 'highs')\n"
        "assert pool.idle_processes() == before\n"
    )
    environment = module_environment()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@needs_proc
def test_a_fork_in_mid_search_does_not_keep_the_worker_of_a_killed_parent():
    code = (
        "import os, signal, time\n"
        "from oracles.milp.workers import pool\n"
        "with pool._worker('highs') as worker:\n"
        "    worker.becomes_ready(None)\n"
        "    if (child := os.fork()) == 0:\n"
        "        time.sleep(600)\n"
        "    print(worker.child.pid, child, flush=True)\n"
        "    os.read(0, 1)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    program = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=module_environment(),
    )
    worker, child = (process_of(int(number)) for number in next_line(program).split())
    try:
        program.stdin.close()
        program.wait()
        wait_until_gone(worker)
        assert runs(child)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        program.stdout.close()


@pytest.mark.parametrize("closed", ["<&-", "<&- >&- 2>&-"])
def test_a_program_without_standard_streams_can_solve(closed):
    code = (
        "import sys, oracles\n"
        "from helpers.oracles import instances\n"
        "problem, optimum = instances.exclusive_or()\n"
        "found = oracles.solve(problem, 'highs').certificate.primal_bound\n"
        "sys.exit(7 if found == optimum else 1)\n"
    )
    command = ["/bin/sh", "-c", f'exec "$0" -c "$1" {closed}', sys.executable, code]
    assert subprocess.run(command, check=False, env=module_environment()).returncode == 7


def test_a_solver_without_files_needs_no_temporary_folder(misbehaving, monkeypatch):
    def none():
        raise FileNotFoundError(2, "No usable temporary directory found")

    misbehaving("raise ArithmeticError")
    monkeypatch.setattr(pool.tempfile, "gettempdir", none)
    with pytest.raises(NoHypothesis, match="failed with ArithmeticError"):
        oracles.solve(instances.exclusive_or()[0], "highs")


def test_after_a_failure_a_solver_sees_the_environment_as_it_is_by_then(misbehaving, monkeypatch):
    misbehaving("sys.exit() if 'LICENCE_OF_MINE' in os.environ else [][0]")
    problem, _ = instances.exclusive_or()
    with pytest.raises(NoHypothesis, match="IndexError"):
        oracles.solve(problem, "highs")
    monkeypatch.setenv("LICENCE_OF_MINE", "here")
    with pytest.raises(NoHypothesis, match="its process ended"):
        oracles.solve(problem, "highs")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("the 7 rows of 12"), None),
        (RuntimeError("?120 Error: no licence"), 120),
        (RuntimeError("CPLEX Error  1016: Community Edition.", None, 1016), 1016),
        (OSError(28, "No space left on device"), 28),
        (KeyError("kNew"), None),
        (ValueError(), None),
    ],
)
def test_the_code_of_an_error_is_found_where_solvers_keep_it(error, code):
    assert error_code(error) == code


def test_a_worker_ends_with_its_program(workers):
    code = (
        "import oracles\n"
        "from helpers.oracles import instances\n"
        "from oracles.milp.workers import pool\n"
        "oracles.solve(instances.exclusive_or()[0], 'highs')\n"
        "print(pool.idle_processes()[0], flush=True)\n"
        "input()\n"
    )
    environment = module_environment()
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    worker = process_of(int(next_line(process)))
    assert runs(worker)
    process.communicate("\n", timeout=PATIENCE)
    wait_until_gone(worker)
