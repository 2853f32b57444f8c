"""The worker's end of ``highs``: a program in, progress on the way, HiGHS's own words out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import highspy
import numpy as np

from oracles.errors import InvalidOption, OracleUnavailable
from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request

SECONDS_BETWEEN_REPORTS = 0.1

WRONG_VERSIONS = ("1.13.", "1.14.")
"""Of highspy: they call wrong answers optimal, with a bound to match."""


def check_version() -> None:
    """Refuse a HiGHS that is known to prove what is false."""
    try:
        found = version("highspy")
    except PackageNotFoundError:  # built by hand
        return
    if f"{found}.".startswith(WRONG_VERSIONS):
        raise OracleUnavailable(
            "highspy must not be 1.13 or 1.14, which call wrong answers optimal, and this is "
            f"{found}; run `pip install -U highspy`."
        )


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program."""
    check_version()
    model = _model(request.program, request.settings)
    if request.start is not None:
        _start_from(model, *request.start)
    limits = [] if request.seconds is None else [request.seconds]
    if request.deadline is not None:
        limits.append(request.deadline - time.monotonic())
    if limits:
        _set(model, "time_limit", max(min(limits), 0.0))
    if request.wants_reports:
        model.cbMipInterrupt += _Watch(send)
    _run(model)
    info = model.getInfo()
    return Answer(
        status=model.getModelStatus().name,
        assignment=np.array(model.getSolution().col_value, dtype=np.float64),
        objective=info.objective_function_value,
        bound=info.mip_dual_bound,
        nodes=info.mip_node_count,
    )


class _Watch:
    """Reports incumbent and bound, not too often."""

    def __init__(self, send: Callable[[Report], None]) -> None:
        self._send = send
        self._last = -math.inf

    def __call__(self, event: Any) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_REPORTS:
            return
        self._last = now
        incumbent = event.data_out.mip_primal_bound
        self._send(
            Report(
                incumbent=incumbent if math.isfinite(incumbent) else None,
                bound=event.data_out.mip_dual_bound,
            )
        )


def _set(model: Any, option: str, value: Any) -> None:
    if model.setOptionValue(option, value) != highspy.HighsStatus.kOk:
        raise InvalidOption(f"HiGHS must accept every option, but it rejected {option}={value}.")


def _model(program: MixedIntegerProgram, options: dict[str, Any]) -> Any:
    """Return a silent HiGHS instance holding the program."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = program.n_variables, program.n_rows
    lp.col_cost_, lp.offset_ = program.objective, program.offset
    lp.col_lower_, lp.col_upper_ = program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = program.starts
    lp.a_matrix_.index_ = program.columns
    lp.a_matrix_.value_ = program.coefficients
    kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
    lp.integrality_ = [kinds[int(integer)] for integer in program.integrality]
    model: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    _set(model, "output_flag", False)
    for option, value in options.items():
        _set(model, option, value)
    if model.passModel(lp) == highspy.HighsStatus.kError:
        raise InvalidOption("HiGHS must accept the formulation, but it rejected the matrix.")
    return model


def _start_from(model: Any, columns: Any, values: Any) -> None:
    """Give HiGHS the choices of a hypothesis; everything else follows from them."""
    status = model.setSolution(len(columns), columns.astype(np.int32), values)
    if status == highspy.HighsStatus.kError:
        raise InvalidOption("HiGHS must accept the hypothesis to start from, but it rejected it.")


def _run(model: Any) -> None:
    """Run, making a new thread pool if an earlier solve left one of another size."""
    status = model.run()
    not_started = model.getModelStatus() == highspy.HighsModelStatus.kNotset
    if status == highspy.HighsStatus.kError and not_started:
        model.resetGlobalScheduler(True)
        model.run()
