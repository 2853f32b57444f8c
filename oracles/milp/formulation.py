"""From a problem to a sparse mixed-integer program that any MILP solver can take.

Three encodings. ``aggregated`` has one binary per distinct point whose label matters, only the
implication that the sign of its cost needs, and a big-M from the exact reachable scores of that
point. ``ordered`` adds rows between neighbouring points (:mod:`oracles.milp.ordering_rows`): a
larger
program with a much tighter relaxation. ``per-row`` is the encoding of Neel, Roth, Vietri and Wu
(2019): one error indicator per row and a single big-M; it is here as the baseline.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import FloatArray, IntArray
from oracles.errors import FormulationError, check_choice
from oracles.milp.block_rows import add_block_rows
from oracles.milp.ordering_rows import add_order_rows
from oracles.milp.program import MixedIntegerProgram, ProgramBuilder
from oracles.problem import ZeroOneProblem

if TYPE_CHECKING:
    from oracles.branch_and_bound import BlockInequality

FORMULATIONS = ("aggregated", "ordered", "per-row")
"""Names of the encodings."""

LARGEST_BLOCK = 20_000
"""Most assignments of a block of several coordinates, each of which needs a selector."""

LARGEST_EXPANSION = 1_000_000
"""Most rows of the per-row encoding."""

FINEST_RESOLUTION = 1e10
"""Most objective steps that a floating-point solver may have to tell apart."""

LARGEST_INTEGER = 2.0**53
"""Most objective steps for an integer solver: the program's own numbers are floats."""


def formulation_limits(
    problem: ZeroOneProblem, formulation: str, *, tolerance: float = 0.0
) -> str | None:
    """Return why a problem cannot be encoded, completing "this oracle ...", or None if it can.

    Parameters
    ----------
    problem : ZeroOneProblem
        What to encode.
    formulation : str
        The encoding.
    tolerance : float
        The solver's, as in :func:`formulate`.
    """
    # Half a score step separates "+" from "-"; the indicator, the weights and the row itself may
    # each use up their tolerance.
    if 4 * (_score_bound(problem) + 1) * tolerance >= 0.5:
        return (
            f"needs scores below {0.125 / tolerance:,.0f}, because of its tolerance of "
            f"{tolerance:g}; use smaller features or weights, or an oracle with integer arithmetic"
        )
    perturbation = problem.perturbation
    if perturbation is not None:
        sizes = [table.size for table in perturbation.tables if table.ndim > 1]
        if max(sizes, default=0) > LARGEST_BLOCK:
            return f"takes blocks of at most {LARGEST_BLOCK:,} weight combinations"
    if formulation == "per-row":
        if (problem.positives < 0).any() or (problem.negatives < 0).any():
            return "takes non-negative counts, because it has one variable per row"
        if int(problem.positives.sum() + problem.negatives.sum()) > LARGEST_EXPANSION:
            return f"takes at most {LARGEST_EXPANSION:,} rows, one variable each"
    return None


def formulation_steps(tolerance: float) -> float:
    """Return how many steps of the unit an objective may have for a solver with a tolerance."""
    return FINEST_RESOLUTION if tolerance > 0 else LARGEST_INTEGER


def formulate(
    problem: ZeroOneProblem,
    formulation: str = "aggregated",
    *,
    tolerance: float = 1e-6,
    inequalities: Sequence[BlockInequality] = (),
) -> MixedIntegerProgram:
    """Return the mixed-integer program whose minimum is the problem's.

    Parameters
    ----------
    problem : ZeroOneProblem
        What to minimise.
    formulation : {"aggregated", "ordered", "per-row"}
        The encoding.
    tolerance : float
        How far the solver may leave an integer variable from an integer, or a row from its bound;
        0 for a solver with integer arithmetic.
    inequalities : sequence of BlockInequality
        What the block bound has proved, for the encodings with one binary per point: rows that may
        cut off hypotheses worse than an incumbent (:mod:`oracles.milp.block_rows`).

    Returns
    -------
    MixedIntegerProgram
        The program; its objective is in rows.

    Raises
    ------
    FormulationError
        If the problem does not fit the encoding, if a big-M is so large that the tolerance could
        change a prediction, or if the objective needs more digits than a float has.

    Notes
    -----
    **Guarantee.** For every hypothesis of the grid, the smallest objective over the assignments
    that stand for it is ``problem.objective(hypothesis) * problem.unit``.

    References
    ----------
    .. [1] Neel, Roth, Vietri, Wu (2019), arXiv:1909.01783, section 5 and appendix D (the per-row
       encoding; D.2 is named for the sphere's last coordinate).

    Examples
    --------
    >>> from oracles import WeightGrid, ZeroOneProblem
    >>> problem = ZeroOneProblem(points=[[1, 0], [1, 1]], positives=[0, 3], negatives=[2, 1],
    ...                          grid=WeightGrid.box(2, 1))
    >>> formulate(problem).n_variables, formulate(problem, "per-row").n_variables
    (10, 14)
    """
    check_choice("formulation", formulation, FORMULATIONS, FormulationError)
    reason = formulation_limits(problem, formulation, tolerance=tolerance)
    if reason is not None:
        raise FormulationError(f"the {formulation} formulation {reason}.")
    _check_resolution(problem, formulation_steps(tolerance))
    program = ProgramBuilder()
    choices, weights = _add_weights(program, problem)
    _add_perturbation(program, problem, choices)
    if formulation == "per-row":
        _add_rows(program, problem, weights)
    else:
        kept = _add_points(program, problem, weights)
        points, costs, predictions = kept
        if formulation == "ordered":
            add_order_rows(program, choices, problem.grid.values, points, costs, predictions)
        if inequalities:
            unit = problem.unit / inequalities[0].scale
            add_block_rows(program, choices, points, predictions, inequalities, unit, tolerance)
    return program.finish(choices, problem.grid.values)


def _check_resolution(problem: ZeroOneProblem, most: float) -> None:
    """Refuse lattices too fine for the solver's objective."""
    if not problem.is_exact:
        return
    total = float(np.abs(problem.negatives.astype(float) - problem.positives).sum())
    total += float(np.abs(np.minimum(problem.negatives, problem.positives).astype(float)).sum())
    steps = total * problem.steps_per_row
    if problem.perturbation is not None:
        tables = (*problem.perturbation.tables, problem.perturbation.norm_table)
        steps += sum(0.0 if t is None else float(np.abs(t.astype(float)).max()) for t in tables)
    if steps > most:
        raise FormulationError(
            f"the objective must need at most {most:.0e} steps of the unit for this solver, but "
            "this problem's needs more; use a coarser unit or an oracle with integer arithmetic."
        )


def _score_bound(problem: ZeroOneProblem) -> int:
    """Return a bound on every score: largest feature times the sum of the largest weights."""
    largest = int(np.abs(problem.points).max(initial=0))
    return largest * sum(max(abs(v[0]), abs(v[-1])) for v in problem.grid.values)


def _add_weights(
    program: ProgramBuilder, problem: ZeroOneProblem
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
    """Add the choice binaries and the ``w_j`` they make, which keep the score rows sparse.

    The ``w_j`` need not be declared integer: the choices leave them no freedom.
    """
    grid = problem.grid
    choices = tuple(program.variables([0.0] * len(allowed)) for allowed in grid.values)
    weights = []
    for columns, allowed in zip(choices, grid.values, strict=True):
        program.row(1, 1, columns, np.ones(len(columns)))
        weight = program.variable(0.0, lower=allowed[0], upper=allowed[-1], integer=False)
        program.row(0, 0, (*columns, weight), (*allowed, -1))
        weights.append(weight)
    if grid.norm_budget is not None:
        flat, squares = _squares(choices, grid.values)
        program.row(-math.inf, grid.norm_budget, flat, squares)
    return choices, tuple(weights)


def _squares(
    choices: tuple[tuple[int, ...], ...], values: tuple[tuple[int, ...], ...]
) -> tuple[list[int], list[int]]:
    """Return the linear form that ``|w|^2`` is in the choice binaries."""
    flat = [column for columns in choices for column in columns]
    return flat, [value * value for allowed in values for value in allowed]


def _add_perturbation(
    program: ProgramBuilder, problem: ZeroOneProblem, choices: tuple[tuple[int, ...], ...]
) -> None:
    perturbation = problem.perturbation
    if perturbation is None:
        return
    for block, table in zip(perturbation.blocks, perturbation.tables, strict=True):
        costs = -table.astype(np.float64) * problem.unit
        if len(block) == 1:
            for column, cost in zip(choices[block[0]], costs, strict=True):
                program.objective[column] += float(cost)
        else:
            _add_block(program, [choices[j] for j in block], costs)
    if perturbation.norm_table is not None:
        _add_norm_table(program, problem, choices, perturbation.norm_table)


def _add_block(program: ProgramBuilder, choices: list[tuple[int, ...]], costs: FloatArray) -> None:
    """Add one selector per assignment of a block, tied to the choices of its coordinates.

    The selectors may be continuous: integral choices leave them no freedom.
    """
    selectors = np.array(program.variables(costs.ravel().tolist(), integer=False))
    selectors = selectors.reshape(costs.shape)
    for axis, columns in enumerate(choices):
        for index, column in enumerate(columns):
            group = np.take(selectors, index, axis=axis).ravel().tolist()
            program.row(0, 0, (*group, column), (*[1] * len(group), -1))


def _add_norm_table(
    program: ProgramBuilder,
    problem: ZeroOneProblem,
    choices: tuple[tuple[int, ...], ...],
    table: NDArray[Any],
) -> None:
    """Add one selector per reachable squared norm (appendix D.2 of [1])."""
    norms = list(problem.grid.norm_counts())
    selectors = program.variables((-table[norms].astype(np.float64) * problem.unit).tolist())
    program.row(1, 1, selectors, np.ones(len(norms)))
    flat, squares = _squares(choices, problem.grid.values)
    program.row(0, 0, (*selectors, *flat), (*norms, *(-s for s in squares)))


def _merged(problem: ZeroOneProblem) -> tuple[IntArray, IntArray]:
    """Return the distinct points and, for each, what predicting "+" costs more than "-"."""
    if not problem.n_points:
        return problem.points, problem.negatives
    points, inverse = np.unique(problem.points, axis=0, return_inverse=True)
    costs = np.zeros(len(points), dtype=np.int64)
    np.add.at(costs, inverse.ravel(), problem.negatives - problem.positives)
    return points, costs


def reachable_scores(points: IntArray, values: tuple[tuple[int, ...], ...]) -> IntArray:
    """Return the smallest and largest score of each point in the box, shape (m, 2) int64."""
    smallest = np.array([allowed[0] for allowed in values], dtype=np.int64)
    largest = np.array([allowed[-1] for allowed in values], dtype=np.int64)
    at_smallest, at_largest = points * smallest, points * largest
    low = np.minimum(at_smallest, at_largest).sum(axis=1)
    high = np.maximum(at_smallest, at_largest).sum(axis=1)
    return np.stack([low, high], axis=1)


def _add_points(
    program: ProgramBuilder, problem: ZeroOneProblem, weights: tuple[int, ...]
) -> tuple[IntArray, IntArray, IntArray]:
    """Add one prediction binary per point, with the one implication that its cost leaves open.

    Returns the points that have one, their costs and their binaries.
    """
    points, costs = _merged(problem)
    program.offset = float(problem.positives.sum())
    scores = reachable_scores(points, problem.grid.values)
    low, high = scores[:, 0], scores[:, 1]
    program.offset += float(costs[(low >= 1)].sum())
    kept = np.flatnonzero((costs != 0) & (low < 1) & (high >= 1))
    predictions = program.variables(costs[kept].tolist())
    for i, predicted in zip(kept.tolist(), predictions, strict=True):
        columns = (*weights, predicted)
        if costs[i] < 0:  # "+" pays: it must be earned, predicted = 1 => score >= 1
            program.row(int(low[i]), math.inf, columns, (*points[i], int(low[i]) - 1))
        else:  # "-" pays: predicted = 0 => score <= 0
            program.row(-math.inf, 0, columns, (*points[i], -int(high[i])))
    return points[kept], costs[kept], np.array(predictions, dtype=np.int64)


def _add_rows(program: ProgramBuilder, problem: ZeroOneProblem, weights: tuple[int, ...]) -> None:
    """Add one error indicator per row with a single big-M for all (appendix D.2 of [1])."""
    big = _score_bound(problem) + 1
    for point, positives, negatives in zip(
        problem.points, problem.positives, problem.negatives, strict=True
    ):
        for _ in range(int(positives)):
            error = program.variable(1.0)
            program.row(1, math.inf, (*weights, error), (*point, big))
        for _ in range(int(negatives)):
            error = program.variable(1.0)
            program.row(-math.inf, 0, (*weights, error), (*point, -big))
