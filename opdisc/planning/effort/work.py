"""Seconds and memory of a fit, by order of magnitude: from public numbers alone.

Constants are upper ends of what ``benchmarks/any_table.py`` measured on random tables and on
the six tables of the comparison with peers: processor seconds of one fit in a process that has
compiled before.
"""

from __future__ import annotations

from dataclasses import dataclass

from opdisc.mechanisms import (
    AStarPermuteAndFlipMechanism,
    ExponentialMechanism,
    Mechanism,
    PermuteAndFlipMechanism,
    StagedMechanism,
    StagedSpec,
)
from opdisc.planning.effort.reach import can_flip_by_a_star
from opdisc.privacy import GridPublic
from oracles.problem import ENUMERATION_LIMIT, ColumnGroup, complete_structure
from oracles.sampling import (
    SparseCards,
    Stumps,
    is_sparse,
    sparse_memory,
    sparse_work,
)

PATIENCE = 60.0
"""Seconds that a fit is expected to take at most where nobody says otherwise."""

LARGEST_MEMORY = 2e9
"""Bytes that a fit is expected to need at most."""

ASSUMED_ROWS = 100_000
"""Rows where their number is neither public nor guessed."""

_LEAST, _PER_CELL, _PER_ROW = 0.1, 4e-8, 2e-6

_LEAST_BYTES, _BYTES_PER_CELL, _BYTES_PER_KEPT_CELL = 1e8, 2.0, 12.0

_PER_LISTED, _BYTES_PER_LISTED = 1e-6, 50.0

_PER_SEARCHED_POINT, _SEARCH_BYTES = 5e-4, 3e8

_PER_CARD, _PER_CARD_AND_POINT = 1e-7, 2e-9

_BYTES_PER_MOVE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a fit is expected to take: orders of magnitude, no promise.

    Parameters
    ----------
    seconds : float
        Processor time, seconds; most of it on one core, compiled code being on disk.
    memory : float
        Bytes at the peak, besides what the process and the raw table held before.
    """

    seconds: float
    memory: float

    def fits(self, patience: float) -> bool:
        """Return whether it is expected to end in time and to find room."""
        return self.seconds <= patience and self.memory <= LARGEST_MEMORY


def predict_work(
    mechanism: Mechanism, public: GridPublic, structure: tuple[ColumnGroup, ...] = ()
) -> Work | None:
    """Return what a fit is expected to take, or None where nobody knows.

    Parameters
    ----------
    mechanism : Mechanism
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
        seconds=_LEAST + _PER_CELL * cells + _PER_ROW * rows + draw.seconds,
        memory=_LEAST_BYTES + _BYTES_PER_CELL * cells + _BYTES_PER_KEPT_CELL * kept + draw.memory,
    )


def predict_draw(
    mechanism: Mechanism, public: GridPublic, structure: tuple[ColumnGroup, ...] = ()
) -> Work | None:
    """Return what the draw alone is expected to take; as :func:`predict_work`."""
    grid = public.grid
    if isinstance(mechanism, StagedMechanism):
        return _staged(mechanism, public)
    points = largest_points(public, structure)
    if isinstance(mechanism, AStarPermuteAndFlipMechanism):
        if not can_flip_by_a_star(grid):
            return None
        seconds = _PER_SEARCHED_POINT * points * (grid.n_features / 14) ** 2
        return Work(seconds=seconds, memory=_SEARCH_BYTES)
    listed = grid.n_assignments <= ENUMERATION_LIMIT
    if isinstance(mechanism, PermuteAndFlipMechanism) or (
        isinstance(mechanism, ExponentialMechanism) and listed
    ):
        if not listed:
            return None
        size = float(grid.n_assignments)
        return Work(seconds=_PER_LISTED * size, memory=_BYTES_PER_LISTED * size)
    if isinstance(mechanism, ExponentialMechanism):
        if is_sparse(grid):
            cards = float(grid.n_hypotheses)
            each = _PER_CARD + _PER_CARD_AND_POINT * points
            return Work(seconds=cards * each, memory=_BYTES_PER_LISTED * cards)
    return None


def largest_points(public: GridPublic, structure: tuple[ColumnGroup, ...]) -> float:
    """Return how many different rows a table can have."""
    rows, patterns = public.typical_rows or ASSUMED_ROWS, 1.0
    for group in complete_structure(structure, public.grid.n_features):
        if group.columns != (0,):  # all but the constant
            patterns *= 2 if group.kind == "free" else 1 + len(group.columns)
        if patterns >= rows:
            return float(rows)
    return patterns


def _staged(mechanism: StagedMechanism, public: GridPublic) -> Work:
    spec = mechanism.calibrate(public)
    assert isinstance(spec, StagedSpec)
    first, rows = spec.stages.first, public.typical_rows or ASSUMED_ROWS
    if isinstance(first, SparseCards):
        return _counted(first, public)
    if isinstance(first, Stumps):
        return Work(seconds=0.0, memory=0.0)  # two sums
    seconds, entries = first.work(rows)
    moves = _BYTES_PER_MOVE * len(first.directions) * rows
    return Work(seconds=seconds, memory=4.0 * entries + moves)


def _counted(cards: SparseCards, public: GridPublic) -> Work:
    """Return what it takes to count scorecards of few points by their loss."""
    used, n_scores = sum(1 for signs in cards.signs if signs), len(cards.scores)
    n_starts = max(high - low + 1 for low, high in cards.starts)
    rows = public.typical_rows or ASSUMED_ROWS
    return Work(
        seconds=sparse_work(used, cards.most, n_starts, rows, n_scores),
        memory=sparse_memory(used, cards.most, n_scores),
    )
