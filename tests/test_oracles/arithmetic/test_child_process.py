"""Child processes: answers, limits, crashes, interruption, and what is left behind: nothing."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from helpers.processes import needs_proc, process_of, wait_until_gone

from oracles.arithmetic.child_process import (
    ChildEnded,
    ChildProcess,
    module_command,
    module_environment,
    read_pickle,
)

WORKER = """
import os, signal, subprocess, sys, time
from oracles.arithmetic import ParentConnection
parent = ParentConnection()
print("chatter among the answers", flush=True)
while True:
    match parent.receive(idle_limit=600.0):
        case "fork":
            sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            parent.send(sleeper.pid)
        case "exit":
            os._exit(7)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case ("sleep", note):
            open(note, "x").close()
            time.sleep(600)
        case "sleep":
            time.sleep(600)
        case "half":
            os.write(parent._answers.fileno(), b"\\x80\\x05\\x95\\xff")
            os._exit(0)
        case ("twice", x):
            parent.send(x)
            parent.send(x)
        case x:
            parent.send((os.getpid(), x))
"""

PARENT = """
import sys, time
from oracles.arithmetic import ChildProcess, module_environment
child = ChildProcess([sys.executable, "-c", sys.argv[1]], environment=module_environment())
print(child.pid, child.ask("fork"), flush=True)
child.ask("sleep")
"""


def worker(**settings):
    command = [sys.executable, "-c", WORKER]
    return ChildProcess(command, environment=module_environment(), **settings)


@needs_proc
def test_one_child_answers_until_it_is_closed_with_all_that_it_started():
    child = worker()
    pid, echoed = child.ask({"any": [1, 2.5]})
    assert pid == child.pid and echoed == {"any": [1, 2.5]}
    both = process_of(pid), process_of(child.ask("fork"))
    child.send(("twice", "x"))
    assert [child.receive(), child.receive(60.0)] == ["x", "x"]
    assert child.is_alive and not child.is_closed
    assert child.close() == -signal.SIGKILL == child.close()
    assert not child.is_alive and child.is_closed
    wait_until_gone(*both)


@needs_proc
def test_a_child_ends_with_its_object():
    child = worker()
    process = process_of(child.ask(0)[0])
    del child
    wait_until_gone(process)


@pytest.mark.parametrize(
    ("request_", "status"), [("exit", 7), ("crash", -signal.SIGSEGV), ("half", 0)]
)
def test_a_crash_says_the_exit_status_now_and_later(request_, status):
    child = worker()
    with pytest.raises(ChildEnded) as caught:
        child.ask(request_)
    assert (caught.value.status, caught.value.overran) == (status, False)
    assert child.is_closed
    with pytest.raises(ChildEnded) as again:
        child.ask("anything")
    assert again.value.status == status


@needs_proc
@pytest.mark.timing
def test_a_time_limit_ends_the_whole_group():
    child = worker()
    both = process_of(child.pid), process_of(child.ask("fork"))
    with pytest.raises(ChildEnded) as caught:
        child.ask("sleep", 0.2)
    assert caught.value.overran
    wait_until_gone(*both)


class FiredAtTheEnd(threading.Timer):
    """A limit that fires in the very moment in which it is cancelled."""

    def start(self):
        pass

    def cancel(self):
        self.function()


def test_a_limit_that_fires_as_the_answer_arrives_ends_this_request_and_not_the_next(monkeypatch):
    class FiredAtTheAnswer(FiredAtTheEnd):
        def start(self):
            limits.append(self.function)

    def read(stream):
        answer = read_pickle(stream)
        for fire in limits:
            fire()
        return answer

    limits = []
    monkeypatch.setattr(threading, "Timer", FiredAtTheAnswer)
    child = worker(read=read)
    assert child.ask(0) == (child.pid, 0)
    with pytest.raises(ChildEnded) as caught:
        child.ask(1, 60.0)
    assert (caught.value.status, caught.value.overran) == (-signal.SIGKILL, True)
    assert child.is_closed  # so whoever has the next request starts another child


def test_a_limit_that_fires_after_the_answer_kills_nothing(monkeypatch):
    child = worker()
    monkeypatch.setattr(threading, "Timer", FiredAtTheEnd)
    assert [child.ask(n, 60.0) for n in range(3)] == [(child.pid, n) for n in range(3)]
    with pytest.raises(ChildEnded) as caught:
        child.ask("exit", 60.0)
    assert (caught.value.status, caught.value.overran) == (7, False)


@needs_proc
@pytest.mark.timing
def test_an_interrupted_wait_ends_the_child(tmp_path):
    child = worker()
    process = process_of(child.ask(0)[0])
    asked = tmp_path / "asked"
    main, heard, over = threading.main_thread().ident, threading.Event(), threading.Event()

    def hear(number, frame):
        if not heard.is_set():  # a second signal must not interrupt what follows
            heard.set()
            raise KeyboardInterrupt

    def interrupt():
        # Once the child has the request, this process waits for the answer or is about to. A
        # signal just before the wait begins does not end it; then there is another one.
        while not asked.exists() and not over.wait(0.01):
            pass
        while not heard.is_set() and not over.is_set():
            signal.pthread_kill(main, signal.SIGINT)
            heard.wait(1.0)

    before = signal.signal(signal.SIGINT, hear)
    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            child.ask(("sleep", str(asked)))
    finally:
        over.set()
        thread.join()  # it sends nothing afterwards
        signal.signal(signal.SIGINT, before)
    assert child.is_closed
    wait_until_gone(process)


@needs_proc
def test_ctrl_c_in_a_terminal_is_for_the_parent_alone():
    child = worker()
    assert os.getpgid(child.pid) == child.pid != os.getpgid(0)
    shared = worker(own_group=False)
    assert os.getpgid(shared.pid) == os.getpgid(0)
    assert shared.close() == -signal.SIGKILL


@needs_proc
@pytest.mark.timing
def test_a_child_and_what_it_started_end_with_a_killed_parent():
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, WORKER],
        env=module_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    both = [process_of(int(pid)) for pid in parent.stdout.readline().split()]
    assert len(both) == 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until_gone(*both)


def test_an_idle_child_ends_itself():
    code = WORKER.replace("idle_limit=600.0", "idle_limit=0.2")
    child = ChildProcess([sys.executable, "-c", code], environment=module_environment())
    with pytest.raises(ChildEnded) as caught:
        child.receive()
    assert not caught.value.overran


def test_a_command_that_cannot_run_is_an_error_at_once():
    with pytest.raises(OSError):
        ChildProcess(["/nowhere/program"])


def test_modules_are_found_where_this_process_finds_them_and_not_in_the_folder(tmp_path):
    (tmp_path / "textwrap.py").write_text("raise RuntimeError('shadowed')")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own_module.py").write_text(
        "import textwrap\n"
        "from oracles.arithmetic.child_process import ParentConnection\n"
        "ParentConnection().send(textwrap.dedent(' found'))\n"
        "import time; time.sleep(60)\n"
    )
    code = (
        f"import sys; sys.path.append({str(tmp_path / 'own')!r})\n"
        "from oracles.arithmetic.child_process import *\n"
        "child = ChildProcess(module_command('own_module'), environment=module_environment())\n"
        "print(child.receive(300.0))\n"
    )
    run = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env=module_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "found\n"
    assert module_command("m", "a")[1:] == ["-P", "-m", "m", "a"]


def test_a_child_that_is_done_ends_in_peace():
    code = (
        "from oracles.arithmetic.child_process import ParentConnection; ParentConnection().send(1)"
    )
    child = ChildProcess([sys.executable, "-c", code], environment=module_environment())
    assert child.receive() == 1
    with pytest.raises(ChildEnded) as caught:
        child.receive()
    assert caught.value.status == 0
