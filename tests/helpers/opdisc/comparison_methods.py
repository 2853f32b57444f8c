"""Methods that misbehave, for the tests of comparisons: each fails in a way of its own."""

import itertools
import os
import signal
import time
from pathlib import Path

import numpy as np

from opdisc.comparison.methods.method import Fitted, Method


def _method(name, fit, **settings):
    defaults = {"title": name, "family": "reference", "private": False, "tuning": "fixed"}
    return Method(name=name, fit=fit, **(defaults | settings))


def _raise(task):
    # A foreign message may quote a cell, and must not reach the results.
    raise ValueError(f"cell {task.table.iloc[0, 0]} is odd, xq7canary")


def _hold_the_lock(task):
    # One call in C that never lets another thread run.
    sum(itertools.repeat(1, 10**13))


def _leave_a_grandchild(task):
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
    time.sleep(600)


def _crash(task):
    os.kill(os.getpid(), signal.SIGSEGV)


def _print_a_lot(task):
    os.write(1, b"x" * 100_000)
    print("y" * 1000)
    return _constant(task)


def _constant(task):
    return Fitted(predict=lambda table: np.ones(len(table), dtype=bool))


def _report_process(task):
    return Fitted(
        predict=lambda table: np.ones(len(table), dtype=bool),
        parameters={"pid": os.getpid(), "threads": os.environ.get("OMP_NUM_THREADS")},
    )


def hold_at(rows, results):
    """Return an environment in which waiting runs do not end once there are so many rows."""
    return {"OPDISC_TEST_HOLD_AT": f"{rows} {results}"}


def _wait(task):
    time.sleep(0.2)
    rows, _, results = os.environ.get("OPDISC_TEST_HOLD_AT", "").partition(" ")
    # A comparison that is to be ended must not be over before: that depends on who is faster.
    while rows and Path(results).read_bytes().count(b"\n") >= int(rows):
        time.sleep(0.05)
    return _constant(task)


raising = _method("raising", _raise)
endless = _method("endless", _hold_the_lock)
unproved = _method("unproved", _hold_the_lock, private=True, family="opdisc", uses_oracle=True)
forking = _method("forking", _leave_a_grandchild)
crashing = _method("crashing", _crash)
printing = _method("printing", _print_a_lot)
reporting = _method("reporting", _report_process)
waiting = _method("waiting", _wait, private=True, family="peer")
needy = _method("needy", _constant, requires="no_such_package_xq7")
gridded = _method("gridded", _constant, private=True, has_grid=True)
