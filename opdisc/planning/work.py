"""Seconds and memory of a fit, by order of magnitude: from public numbers alone.

Constants are upper ends of what ``benchmarks/any_table.py`` measured on random tables and on
the six tables of the comparison with peers: processor seconds of one fit in a process that has
compiled before.
"""

from __future__ import annotations

from opdisc.mechanisms import PlannedMechanism, Work
from opdisc.privacy import GridPublic
from opdisc.tuned import (
    ASSUMED_ROWS,
    BYTES_PER_CELL,
    BYTES_PER_KEPT_CELL,
    LARGEST_MEMORY,
    LEAST_BYTES,
    LEAST_SECONDS,
    SECONDS_PER_CELL,
    SECONDS_PER_ROW,
)
from oracles.problem import ColumnGroup, complete_structure


def ends_soon(work: Work | None, patience: float) -> bool:
    """Return whether something is expected to end in time and to find room; not if unknown."""
    return work is not None and work.seconds <= patience and work.memory <= LARGEST_MEMORY


def predict_work(
    mechanism: PlannedMechanism, public: GridPublic, structure: tuple[ColumnGroup, ...] = ()
) -> Work | None:
    """Return what a fit is expected to take, or None where nobody knows.

    Parameters
    ----------
    mechanism : PlannedMechanism
        What would run.
    public : GridPublic
        What it would be calibrated with.
    structure : tuple of ColumnGroup
        Facts about the columns.

    Raises
    ------
    CalibrationError, UnsupportedProblem
        If the mechanism does not take the grid.

    Notes
    -----
    **Guarantee.** A function of public facts. Not known: exact searches for a minimum under
    noise, and exact samples of grids that cannot be listed. Their time depends on the rows.
    """
    draw = predict_draw(mechanism, public, structure)
    if draw is None:
        return None
    rows, columns = public.typical_rows or ASSUMED_ROWS, public.grid.n_features
    cells, kept = float(rows) * columns, largest_points(public, structure) * columns
    return Work(
        seconds=LEAST_SECONDS + SECONDS_PER_CELL * cells + SECONDS_PER_ROW * rows + draw.seconds,
        memory=LEAST_BYTES + BYTES_PER_CELL * cells + BYTES_PER_KEPT_CELL * kept + draw.memory,
    )


def predict_draw(
    mechanism: PlannedMechanism, public: GridPublic, structure: tuple[ColumnGroup, ...] = ()
) -> Work | None:
    """Return what the draw alone is expected to take; as :func:`predict_work`."""
    return mechanism.work(public, largest_points(public, structure))


def largest_points(public: GridPublic, structure: tuple[ColumnGroup, ...]) -> float:
    """Return how many different rows a table can have."""
    rows, patterns = public.typical_rows or ASSUMED_ROWS, 1.0
    for group in complete_structure(structure, public.grid.n_features):
        if group.columns != (0,):  # all but the constant
            patterns *= 2 if group.kind == "free" else 1 + len(group.columns)
        if patterns >= rows:
            return float(rows)
    return patterns
