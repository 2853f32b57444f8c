"""The process in which runs happen one after another, until it is told otherwise or killed.

It is started by :mod:`opdisc.comparison.supervision`, reads pickled requests from its standard
input and writes pickled answers to what was its standard output; everything that a solver prints
goes to the standard error stream instead, which is discarded.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO, NoReturn

IDLE_LIMIT = 120.0
"""Seconds without a request after which the process ends itself."""
_GRACE = 10.0
"""Seconds after a time limit at which a process that nobody ended ends itself."""


def serve() -> None:
    """Answer requests until the standard input closes."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    # Imported before the first clock starts: they take longer than most runs.
    from opdisc.comparison import runs, source
    from opdisc.comparison.methods import registry

    registry()
    _preload()
    _answer(answers, "ready")
    table: source.Source | None = None
    while True:
        try:
            kind, *content = requests.get(timeout=IDLE_LIMIT)
        except queue.Empty:
            _end()
        if kind == "table":
            table = source.unpack_source(content[0])
            _answer(answers, "ready")
            continue
        run, setting = content
        assert table is not None
        if kind == "warm up":
            runs.warm_up(run, setting, table)
            _answer(answers, "ready")
            continue
        limit = setting.plan.time_limit
        if limit is not None:
            # In C and on a thread of its own: it works inside compiled code that holds the lock.
            faulthandler.dump_traceback_later(limit + _GRACE, exit=True, file=2)
        row = runs.execute(run, setting, table)
        faulthandler.cancel_dump_traceback_later()
        _answer(answers, row)


def _preload() -> None:
    import opdisc

    for name in ("PrivateScorecardClassifier", "RSPMClassifier", "PrivateLogisticRegression"):
        getattr(opdisc, name)


def _listen(source: BinaryIO, requests: queue.SimpleQueue[Any]) -> None:
    """Queue requests; where there can be no more, end this process and what it started."""
    try:
        while True:
            requests.put(pickle.load(source))
    finally:
        _end()


def _end() -> NoReturn:
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _answer(answers: BinaryIO, content: object) -> None:
    pickle.dump(content, answers)
    answers.flush()


if __name__ == "__main__":
    serve()
