"""What a validation found: noisy counts of a card's answers, and the figures made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opdisc.data import Label
from opdisc.models.document import model_digest
from opdisc.models.validation.figures import Figure, NoisySum, share
from opdisc.models.validation.groups import CountedGroup
from opdisc.models.validation.receipt import ValidationReceipt
from opdisc.privacy import Record

FORMAT = "opdisc-validation"

VERSION = 1

MOST_GROUPS = 30
"""Most groups of totals that a report has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRate:
    """The share of rows that are positive in one group of totals.

    Parameters
    ----------
    group : CountedGroup
        Which totals, and what the card itself states of them.
    rate : Figure
        In the table that was validated on.
    """

    group: CountedGroup
    rate: Figure


class ValidationReport(Record, frozen=True, kw_only=True):
    """How a released card did on a private table. All of it may be published.

    Parameters
    ----------
    target : str
        Name of what is predicted.
    classes : (negative, positive)
        The two labels.
    groups : tuple of CountedGroup
        From the lowest total to the highest, without overlap.
    receipt : ValidationReceipt
        The privacy statement.

    Notes
    -----
    **Guarantee.** As stated on ``receipt``. Figures are made of the noisy counts alone. Each
    interval holds the number of *this table's* rows with a label, with probability at least 95%
    over the noise; it says nothing of other rows.
    """

    target: str
    classes: tuple[Label, Label]
    groups: tuple[CountedGroup, ...]
    receipt: ValidationReceipt

    def __post_init__(self) -> None:
        """Refuse groups that overlap, change their answer twice, or are not those paid for."""
        if not 1 <= len(self.groups) <= MOST_GROUPS or self.receipt.counts != 2 * len(self.groups):
            raise ValueError("a report must have the counts on its receipt.")
        pairs = list(zip(self.groups, self.groups[1:], strict=False))
        if any(before.highest >= after.lowest for before, after in pairs):
            raise ValueError("a report's totals must grow.")
        if sum(a.answers_positive != b.answers_positive for a, b in pairs) > 1:
            raise ValueError("a card must change its answer once.")

    @property
    def accuracy(self) -> Figure:
        """Share of the rows with a label that the card answers rightly."""
        right = self._sum(lambda g: [g.positives if g.answers_positive else g.negatives])
        wrong = self._sum(lambda g: [g.negatives if g.answers_positive else g.positives])
        return share(right, wrong)

    @property
    def four_counts(self) -> dict[str, Figure]:
        """Rows by answer and label: true and false negatives, false and true positives."""
        wanted = {
            "true_negatives": (False, "negatives"),
            "false_negatives": (False, "positives"),
            "false_positives": (True, "negatives"),
            "true_positives": (True, "positives"),
        }
        return {
            name: self._sum(
                lambda g, answer=answer, label=label: (  # type: ignore[misc]
                    [getattr(g, label)] if g.answers_positive is answer else []
                )
            ).figure()
            for name, (answer, label) in wanted.items()
        }

    @property
    def calibration(self) -> tuple[GroupRate, ...]:
        """The share of positive rows in each group of totals, none pooled."""
        return tuple(
            GroupRate(
                group=group,
                rate=share(self._single(group.positives), self._single(group.negatives)),
            )
            for group in self.groups
        )

    def rows_between(self, first: int, last: int) -> NoisySum:
        """Return the rows of the groups from ``first`` to before ``last``, by position."""
        inside = self.groups[first:last]
        return self._added([n for g in inside for n in (g.negatives, g.positives)])

    def rows_outside(self, first: int, last: int) -> NoisySum:
        """Return the rows of all other groups."""
        outside = (*self.groups[:first], *self.groups[last:])
        return self._added([n for g in outside for n in (g.negatives, g.positives)])

    def _sum(self, chosen: Callable[[CountedGroup], list[int]]) -> NoisySum:
        return self._added([count for group in self.groups for count in chosen(group)])

    def _single(self, count: int) -> NoisySum:
        return self._added([count])

    def _added(self, counts: list[int]) -> NoisySum:
        return NoisySum(
            value=sum(counts),
            cells=len(counts),
            rate=float(self.receipt.rate),
            most=self.receipt.n_rows,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with a digest over all of them."""
        body = {"format": FORMAT, "version": VERSION, **super().to_dict()}
        return {**body, "sha256": model_digest(body)}
