"""The thing that is published: whole points for yes/no statements, added up, compared with 1."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from opdisc.data import Label, exclusive_positions
from opdisc.errors import escaped
from opdisc.privacy import Record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opdisc.data import Schema

_WIDEST = 80
"""Characters to which names are filled up; a longer one moves its own points only."""


class Scorecard(Record, frozen=True, kw_only=True, omit_defaults=True):
    """An integer linear classifier over encoded columns.

    Parameters
    ----------
    target : str
        Name of what is predicted.
    classes : (label, label)
        Label predicted below the threshold, label predicted from it on.
    columns : tuple of str
        Names of the yes/no statements, the intercept excluded.
    points : tuple of int
        Points for each statement that is true.
    start : int
        Points that everyone starts with (the intercept).
    threshold : int, default 1
        The smallest total of the second label; only a logistic card has another than 1.

    Examples
    --------
    >>> card = Scorecard(target="ill", classes=("no", "yes"), columns=("fever", "cough"),
    ...                  points=(2, 0), start=-1)
    >>> print(card)
    Predict ill
      start with          -1
      fever               +2
    Total of 1 or more: yes. Total of 0 or less: no.
    Not used (0 points): cough
    """

    target: str
    classes: tuple[Label, Label]
    columns: tuple[str, ...]
    points: tuple[int, ...]
    start: int
    threshold: int = 1

    def __post_init__(self) -> None:
        """Refuse lengths that disagree."""
        if len(self.columns) != len(self.points):
            raise ValueError("a scorecard needs one number of points per column.")

    @property
    def hypothesis(self) -> tuple[int, ...]:
        """All weights, the intercept first."""
        return (self.start, *self.points)

    def scores(self, encoded: NDArray[Any]) -> NDArray[np.int64]:
        """Return total points.

        Parameters
        ----------
        encoded : ndarray of shape (n, 1 + n_columns), int
            Encoded rows, column 0 being the constant 1.

        Returns
        -------
        ndarray of shape (n,), int64
        """
        return np.asarray(encoded.astype(np.int64) @ np.array(self.hypothesis, dtype=np.int64))

    def used(self) -> list[tuple[str, int]]:
        """Return the points of the start, and of every statement that has any."""
        pairs = zip(self.columns, self.points, strict=True)
        return [("start with", self.start), *((name, p) for name, p in pairs if p)]

    def rule(self) -> str:
        """Return the sentence that says what a total means."""
        below, above = self.classes
        least = self.threshold
        return f"Total of {least} or more: {above}. Total of {least - 1} or less: {below}."

    def __str__(self) -> str:
        """Return the scorecard as it would be printed on paper."""
        used = self.used()
        unused = [n for n, p in zip(self.columns, self.points, strict=True) if not p]
        width = min(_WIDEST, max(18, *(len(name) for name, _ in used)))
        lines = [f"Predict {self.target}"]
        lines += [f"  {name:<{width}}  {points:+d}" for name, points in used]
        lines.append(self.rule())
        if unused:
            lines.append(f"Not used (0 points): {', '.join(unused)}")
        return "\n".join(map(escaped, lines))

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td style='text-align:right'>{points:+d}</td></tr>"
            for name, points in self.used()
        )
        return (
            f"<table><caption>Predict {escape(self.target)}</caption>{rows}"
            f"<tr><td colspan='2'>{escape(self.rule())}</td></tr></table>"
        )


def used_columns(schema: Schema, cards: Sequence[Scorecard]) -> tuple[str, ...]:
    """Return the raw columns that decide a total: with points, or in a group with one that has."""
    groups = exclusive_positions(schema.exclusive, schema.features)
    pointed = {k + 1 for card in cards for k, points in enumerate(card.points) if points}
    needed = pointed.union(*(group for group in groups if pointed.intersection(group)))
    return tuple(
        dict.fromkeys(
            attribute.column
            for attribute in schema.attributes
            if needed.intersection(attribute.indices)
        )
    )
