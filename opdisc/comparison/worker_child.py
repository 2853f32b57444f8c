"""The process in which runs happen one after another, until it is told otherwise or killed.

It is started by :mod:`opdisc.comparison.supervision`.
"""

from __future__ import annotations

import faulthandler

from oracles.arithmetic import ParentConnection

IDLE_LIMIT = 120.0
"""Seconds without a request after which the process ends itself."""

_GRACE = 10.0
"""Seconds after a time limit at which a process that nobody ended ends itself."""


def serve() -> None:
    """Answer requests until the parent is gone."""
    parent = ParentConnection()
    # Imported before the first clock starts: they take longer than most runs.
    from opdisc.comparison import runs, source
    from opdisc.comparison.methods import registry

    registry()
    _preload()
    parent.send("ready")
    table: source.Source | None = None
    while True:
        kind, *content = parent.receive(IDLE_LIMIT)
        if kind == "table":
            table = source.unpack_source(content[0])
            parent.send("ready")
            continue
        run, setting = content
        assert table is not None
        if kind == "warm up":
            runs.warm_up(run, setting)
            parent.send("ready")
            continue
        limit = setting.plan.time_limit
        if limit is not None:
            # In C and on a thread of its own: it works inside compiled code that holds the lock.
            faulthandler.dump_traceback_later(limit + _GRACE, exit=True, file=2)
        row = runs.execute(run, setting, table)
        faulthandler.cancel_dump_traceback_later()
        parent.send(row)


def _preload() -> None:
    import opdisc

    for name in ("PrivateScorecardClassifier", "RSPMClassifier", "PrivateLogisticRegression"):
        getattr(opdisc, name)


if __name__ == "__main__":
    serve()
