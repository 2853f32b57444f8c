"""Rows from the block bound: what blocks of columns prove of the errors that they cannot avoid.

A big-M relaxation does not see that points of opposite label cannot all be right. The block bound
does, block by block, and what it has proved of the root are linear rows: a dense one for each
block, and a sparse one for each of its columns. They may cut off hypotheses that are worse than
the incumbent, never one that is as good.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from oracles.arithmetic import IntArray
from oracles.milp.program import ProgramBuilder
from oracles.problem import Hypothesis, ZeroOneProblem

if TYPE_CHECKING:
    from oracles.branch_and_bound import BlockInequality

_SLACK = 1e-6


def takes_block_rows(problem: ZeroOneProblem) -> bool:
    """Return whether the block bound has rows for such a problem."""
    perturbation = problem.perturbation
    if find_spec("numba") is None or min(problem.grid.shape) < 2:
        return False
    if perturbation is not None and any(len(block) > 1 for block in perturbation.blocks):
        return False
    from oracles.branch_and_bound import BranchAndBoundOracle

    return BranchAndBoundOracle().supports(problem)


def load_block_rows() -> None:
    """Load what :func:`find_block_rows` runs; on a machine's first call it is compiled."""
    from oracles.branch_and_bound import compile_search

    compile_search()


def find_block_rows(
    problem: ZeroOneProblem, incumbent: Hypothesis, deadline: float | None = None
) -> tuple[int, tuple[BlockInequality, ...]] | None:
    """Return a bound in objective steps, and what proves it, or None where time is short.

    Parameters
    ----------
    problem : ZeroOneProblem
        One of which :func:`takes_block_rows` is true.
    incumbent : tuple of int
        A hypothesis; those that are worse may be cut off.
    deadline : float or None
        When to stop, on the clock of :func:`time.perf_counter`.

    Notes
    -----
    **Guarantee.** The bound and the inequalities, in units of a ``scale``-th step, are proved in
    integers.
    """
    from oracles.branch_and_bound import prove_root, reduce_problem

    reduction = reduce_problem(problem)

    def late() -> bool:
        return deadline is not None and time.perf_counter() >= deadline

    scale = reduction.model.scale
    proof = prove_root(reduction, int(problem.objective(incumbent)) * scale, late)
    if proof is None:
        return None
    # The optimum is a whole number of steps.
    return -(-proof.bound // scale), proof.inequalities


def add_block_rows(
    program: ProgramBuilder,
    choices: tuple[tuple[int, ...], ...],
    points: IntArray,
    predictions: IntArray,
    inequalities: Sequence[BlockInequality],
    rows_per_step: float,
    tolerance: float,
) -> None:
    """Add the rows; each is relaxed by more than the solver's tolerance may take from it.

    Parameters
    ----------
    program : ProgramBuilder
        Gets the rows.
    choices : tuple of tuple of int
        ``choices[j][a]`` is the binary that says that ``w_j`` has its ``a``-th value.
    points, predictions : ndarray of int64, shapes (m, d) and (m,)
        Points that have a prediction binary, and those binaries.
    inequalities : sequence of BlockInequality
        What was proved.
    rows_per_step : float
        Rows of the table that one of their units is worth.
    tolerance : float
        How far the solver may leave an integer variable from an integer.
    """
    place = {p.tobytes(): int(column) for p, column in zip(points, predictions, strict=True)}
    for found in inequalities:
        terms = [
            (column, amount)
            for columns, amounts in zip(choices, found.tables.tolist(), strict=True)
            for column, amount in zip(columns, amounts, strict=False)
            if amount
        ]
        columns = [*(place[p.tobytes()] for p in found.points), *(column for column, _ in terms)]
        amounts = np.array([*found.shares.tolist(), *(amount for _, amount in terms)])
        amounts = amounts * rows_per_step
        least = np.where(found.excluded, math.inf, found.least * rows_per_step)
        lowest = float(least.min())
        slack = _SLACK + 2 * tolerance * float(np.abs(amounts).sum())
        total = program.variable(0.0, lower=lowest - slack, upper=math.inf, integer=False)
        program.row(0, 0, (*columns, total), (*amounts, -1))
        for j, amounts in zip(found.columns, least - lowest, strict=True):
            rises = dict(zip(choices[j], amounts.tolist(), strict=False))
            for column in [column for column, rise in rises.items() if math.isinf(rise)]:
                program.upper[column] = 0.0
                del rises[column]
            if any(rises.values()):
                falls = [-rise for rise in rises.values()]
                program.row(lowest - slack, math.inf, (total, *rises), (1, *falls))
