"""Public groups of a released card's totals, and how many rows of each label they have."""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from opdisc.data import RowCounts, column_structure
from opdisc.models import Bins, bin_totals, count_by_bin, possible_totals
from opdisc.models.risk_table import Rate
from opdisc.models.scorecard_file import SavedModel
from opdisc.privacy import Record
from oracles.arithmetic import IntArray

NoisyCount = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Rows with noise."""


class CountedGroup(Record, frozen=True, kw_only=True):
    """Rows of some neighbouring totals, counted with noise.

    Parameters
    ----------
    lowest, highest : int
        Totals from ``lowest`` to ``highest``.
    answers_positive : bool
        Whether the card answers the positive label.
    negatives, positives : int
        Rows of each label with noise; may be below 0.
    chance_low, chance_high : float or None
        The least and the largest chance of the positive label that the card itself states there;
        None where it states none.
    """

    lowest: int
    highest: int
    answers_positive: bool
    negatives: NoisyCount
    positives: NoisyCount
    chance_low: Rate | None
    chance_high: Rate | None

    def __post_init__(self) -> None:
        """Refuse ends in the wrong order."""
        if self.lowest > self.highest:
            raise ValueError("a group must have its lowest total first.")
        if (self.chance_low is None) != (self.chance_high is None):
            raise ValueError("a group must have both chances, or none.")

    @property
    def totals(self) -> str:
        """The totals, in words."""
        if self.lowest == self.highest:
            return f"total {self.lowest}"
        return f"total {self.lowest} to {self.highest}"


def card_groups(model: SavedModel, most: int) -> Bins:
    """Return groups of a card's possible totals, at most so many; none mixes both answers."""
    shift = model.scorecard.threshold - 1
    totals = possible_totals(model.scorecard.hypothesis, column_structure(model.schema))
    bins = bin_totals([total - shift for total in totals], most)
    return tuple((low + shift, high + shift) for low, high in bins)


def answers_positive(model: SavedModel, total: int) -> bool:
    """Return whether a card answers its schema's positive label at a total."""
    return (total >= model.scorecard.threshold) == scores_positive(model)


def scores_positive(model: SavedModel) -> bool:
    """Return whether the positive label is the one that scores high."""
    return model.scorecard.classes == model.schema.classes


def count_groups(model: SavedModel, counts: RowCounts, bins: Bins) -> IntArray:
    """Return how many rows of each label each group has, shape (2, n_groups), negatives first."""
    totals = model.scorecard.scores(counts.points)
    return count_by_bin(totals, counts.positives, counts.negatives, bins)


def counted_groups(model: SavedModel, bins: Bins, noisy: IntArray) -> tuple[CountedGroup, ...]:
    """Return the groups with their noisy counts and the chances that the card states."""
    found = []
    for k, (low, high) in enumerate(bins):
        chances = _stated_chances(model, low, high)
        found.append(
            CountedGroup(
                lowest=low,
                highest=high,
                answers_positive=answers_positive(model, high),
                negatives=int(noisy[0, k]),
                positives=int(noisy[1, k]),
                chance_low=None if chances is None else min(chances),
                chance_high=None if chances is None else max(chances),
            )
        )
    return tuple(found)


def _stated_chances(model: SavedModel, low: int, high: int) -> tuple[float, float] | None:
    """Return the chance of the positive label at both ends of a group; between, it only grows."""
    if model.odds is None and model.risk_table is None:
        return None
    ends = np.array([low, high])
    if model.odds is not None:
        chances = model.odds.chances(ends)
    else:
        assert model.risk_table is not None
        chances = model.risk_table.rates(ends)
    first, last = np.clip(chances if scores_positive(model) else 1 - chances, 0.0, 1.0).tolist()
    return first, last
