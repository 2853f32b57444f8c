"""Cards that change few points of a public one, the start."""

from __future__ import annotations

from dataclasses import dataclass

from opdisc.errors import CalibrationError
from opdisc.mechanisms.stage_sequence import Stages
from opdisc.mechanisms.stages import allowed_seconds
from opdisc.tuned import ASSUMED_ROWS, LARGEST_SHIFT
from oracles.problem import WeightGrid
from oracles.sampling import LARGEST_TABLES, SparseCards, sparse_memory, sparse_work


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCard:
    """A public card that changes are counted from.

    Parameters
    ----------
    points : tuple of int
        Those that everyone starts with, then those of every column.
    source : str
        Where they come from, for a receipt.
    """

    points: tuple[int, ...]
    source: str


def plan_changes(
    grid: WeightGrid, points: tuple[int, ...], n_rows: int | None, patience: float
) -> Stages:
    """Return the cards of a grid that change as few points of a card as the time allows, by 1.

    Parameters
    ----------
    grid : WeightGrid
        A box with the card in it.
    points : tuple of int
        The card.
    n_rows : int or None
        Number of rows, where public or guessed.
    patience : float
        Seconds that the draw is expected to take at most.

    Raises
    ------
    CalibrationError
        If the card is not in the grid, or the grid is no box.

    Notes
    -----
    **Guarantee.** A function of public facts. Each number of changes weighs half the one before:
    half of all mass is on the card itself, so that noise alone leaves it as it is.
    """
    if not grid.is_box or not grid.contains(points):
        raise CalibrationError(
            "a draw around a start needs a box of weights with the start in it; leave out budgets "
            "and alternatives."
        )
    rows, most = ASSUMED_ROWS if n_rows is None else n_rows, 0
    cards = _changes(grid, points, 0)
    used = sum(1 for signs in cards.signs if signs)
    while most < used and _ends(wider := _changes(grid, points, most + 1), used, rows, patience):
        cards, most = wider, most + 1
    return Stages(cards)


def _changes(grid: WeightGrid, points: tuple[int, ...], most: int) -> SparseCards:
    """Return the cards with at most so many changes; the start changes by no more than those."""
    low, high = (grid.values[0][end] - points[0] for end in (0, -1))
    reach = [min(size, LARGEST_SHIFT) for size in range(most + 1)]
    return SparseCards(
        signs=tuple(
            tuple(sign for sign in (1, -1) if point + sign in allowed)
            for point, allowed in zip(points[1:], grid.values[1:], strict=True)
        ),
        starts=tuple((max(low, -far), min(high, far)) for far in reach),
        shares=tuple(2 ** (most - size) for size in range(most + 1)),
        centre=points,
    )


def _ends(cards: SparseCards, used: int, rows: int, patience: float) -> bool:
    """Return whether a draw is expected to end soon and to find room."""
    n_scores, (low, high) = len(cards.scores), cards.starts[-1]
    seconds = sparse_work(used, cards.most, high - low + 1, rows, n_scores)
    memory = sparse_memory(used, cards.most, n_scores)
    return seconds <= allowed_seconds(cards.most, patience) and memory <= 4 * LARGEST_TABLES
