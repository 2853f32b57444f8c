"""What goes on while HiGHS runs: progress, and interruptions that get out safely."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from oracles.interface import SolveOptions

_SECONDS_BETWEEN_REPORTS = 0.1


class Watch:
    """Forwards progress, and carries exceptions safely past the solver's own frames.

    Parameters
    ----------
    options : SolveOptions
        Whose progress callback is called.
    started : float
        When the solve began, on the clock of :func:`time.perf_counter`.
    """

    def __init__(self, options: SolveOptions, started: float) -> None:
        self._progress = options.progress
        self._started = started
        self._last = -math.inf
        self._error: BaseException | None = None

    def __call__(self, event: Any) -> None:
        """Report, or stop the solver if something was raised; never raise through it."""
        try:
            self._report(event.data_out.mip_primal_bound, event.data_out.mip_dual_bound)
        except BaseException as error:  # raised again in run
            self._error = self._error or error
        if self._error is not None:
            event.interrupt()

    def _report(self, incumbent: float, bound: float) -> None:
        now = time.perf_counter()
        due = now - self._last >= _SECONDS_BETWEEN_REPORTS
        if self._progress is None or self._error is not None or not due:
            return
        self._last = now
        known = incumbent if math.isfinite(incumbent) else None
        self._progress(known, bound, now - self._started)

    def run(self, model: Any, run: Callable[[Any], object]) -> None:
        """Call ``run(model)`` on a HiGHS instance; raise what stopped it afterwards."""
        with self._deferring_interrupts():
            model.cbMipInterrupt += self
            try:
                run(model)
            finally:
                model.cbMipInterrupt -= self

    @contextmanager
    def _deferring_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C stop the solver at its next callback, and raise it afterwards.

        A handler of the application's own is left in place.
        """
        ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if ours:
            signal.signal(signal.SIGINT, self._remember_interrupt)
        try:
            yield
        finally:
            if ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._error is not None:
            raise self._error

    def _remember_interrupt(self, *_: Any) -> None:
        self._error = KeyboardInterrupt()
