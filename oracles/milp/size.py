"""How large a program can become, from what is known without the points."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from oracles.errors import FormulationError, check_choice
from oracles.interface import SizeLimit as SizeLimit
from oracles.milp.formulation import FORMULATIONS, LARGEST_EXPANSION
from oracles.milp.ordering_rows import ROWS_PER_POINT
from oracles.problem import Perturbation, WeightGrid, ZeroOneProblem


class ProgramSize(NamedTuple):
    """Rows and columns of a program."""

    rows: int
    columns: int


def largest_program(
    grid: WeightGrid,
    perturbation: Perturbation | None,
    formulation: str = "aggregated",
    *,
    points: int,
    weight: int | None = None,
) -> ProgramSize:
    """Return a size that no program of such a problem passes.

    Parameters
    ----------
    grid : WeightGrid
        The hypotheses.
    perturbation : Perturbation or None
        Of its tables, only the shapes are looked at.
    formulation : {"aggregated", "ordered", "per-row"}
        The encoding, see :func:`oracles.milp.formulation.formulate`.
    points : int
        Most distinct points that there can be.
    weight : int or None
        The most that all counts together can come to, for the encoding that has one variable for
        each; None: as many as it takes.

    Notes
    -----
    **Guarantee.** ``formulate`` makes no larger program, whatever the points and the tables hold.

    Examples
    --------
    >>> from oracles.problem import WeightGrid
    >>> largest_program(WeightGrid.box(2, 1), None, points=4)
    ProgramSize(rows=8, columns=12)
    """
    check_choice("formulation", formulation, FORMULATIONS, FormulationError)
    rows, columns = _without_points(grid, perturbation)
    if formulation == "per-row":
        points = LARGEST_EXPANSION if weight is None else min(weight, LARGEST_EXPANSION)
    more = _of_orders(grid, points) if formulation == "ordered" else ProgramSize(0, 0)
    return ProgramSize(rows + points + more.rows, columns + points + more.columns)


def _without_points(grid: WeightGrid, perturbation: Perturbation | None) -> ProgramSize:
    """Return what the weights and the tables take."""
    columns = sum(grid.shape) + grid.n_features
    rows = 2 * grid.n_features + (grid.norm_budget is not None)
    if perturbation is None:
        return ProgramSize(rows, columns)
    for block in perturbation.blocks:
        if len(block) > 1:
            shape = [grid.shape[j] for j in block]
            columns += math.prod(shape)
            rows += sum(shape)
    if perturbation.norm_table is not None:
        columns += len(grid.norm_counts())
        rows += 2
    return ProgramSize(rows, columns)


def _of_orders(grid: WeightGrid, points: int) -> ProgramSize:
    """Return what the rows between neighbours take, and the indicators that they share."""
    # Neighbours are of opposite label.
    pairs = min(ROWS_PER_POINT * points, points // 2 * (points - points // 2))
    steps = sorted(
        (
            sum(value <= other[-1] for value in own)
            for j, own in enumerate(grid.values)
            for k, other in enumerate(grid.values)
            if j != k
        ),
        reverse=True,
    )[:pairs]
    return ProgramSize(pairs + sum(steps), len(steps))


def problem_beyond(limit: SizeLimit) -> ZeroOneProblem:
    """Return a problem of public numbers alone whose every program is larger than a limit.

    It has two hypotheses, one of which makes no mistake: a solver whose licence takes the program
    is done at once.
    """
    most = max(n for n in (limit.rows, limit.columns, limit.total, 0) if n is not None)
    points = np.arange(1, most + 2, dtype=np.int64)[:, None]
    ones = np.ones(len(points), dtype=np.int64)
    return ZeroOneProblem(
        points=points, positives=ones, negatives=0 * ones, grid=WeightGrid(values=((-1, 1),))
    )
