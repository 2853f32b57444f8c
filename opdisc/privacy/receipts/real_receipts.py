"""Receipts of real parameters, in place of a grid of weights: convex mechanisms and OPSamp."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import msgspec

from opdisc.privacy import (
    Amount,
    CertifiedReceipt,
    Count,
    Lines,
    PrivacyReceipt,
    RowGuess,
    StatedCosts,
    UnitRows,
    planned_with,
    power_of_two,
)

HULL = "hull"
FRANK_WOLFE = "frank_wolfe"
"""The mechanisms whose law is that of real arithmetic, for the logistic loss."""

FLOATING_POINT = (
    "floating point: noise and arithmetic are double precision, the release is rounded, and the "
    "proof is for real numbers"
)


class ConvexReceipt(PrivacyReceipt, frozen=True, kw_only=True, omit_defaults=True):
    """The receipt of a convex mechanism; without privacy its epsilon is infinite.

    Parameters
    ----------
    rows_per_unit : int
        As on every receipt; here it is always stated.
    loss : str
        Loss of one row.
    row_norm, row_maximum, label_bound : float
        Public bounds on a row, the constant column included, and on a label.
    lipschitz, smoothness : float
        Constants of one row's loss that follow from them (Euclidean norm), the larger error cost
        counted.
    domain : str
        The parameter set in words.
    settings : mapping of str to float
        Public settings of the mechanism.
    release_grid : float
        Released coordinates are multiples of this.
    error_costs : StatedCosts or None
        What a mistake costs; None, and left out where it is written, if both cost the same.
    public_row_guess : int or None
        The public guess that plans took for the number of rows, where that is not public. Not
        written if None.
    start : str
        Where the public weights come from that the ridge pulls towards; not written if empty, for
        0.
    choice, choice_detail : str
        Why this mechanism, when it was chosen automatically: in plain words, and for a reviewer.
        Not written if empty.
    """

    numerical_covers: ClassVar[str] = "for cut tails; rounding of doubles not covered"
    may_be_infinite: ClassVar[tuple[str, ...]] = ("epsilon", "smoothness")

    rows_per_unit: UnitRows  # never left out, every version stated it
    loss: str
    row_norm: Amount
    row_maximum: Amount
    label_bound: Amount
    lipschitz: Amount
    smoothness: Annotated[float, msgspec.Meta(ge=0)]
    domain: str
    settings: Mapping[str, Amount]
    release_grid: Amount
    error_costs: StatedCosts | None = None
    public_row_guess: RowGuess | None = None
    start: str = ""
    choice: str = ""
    choice_detail: str = ""

    def delta_text(self) -> str:
        """Return delta, alone where nothing was cut short or rounded."""
        exact = self.mechanism in (HULL, FRANK_WOLFE) and FLOATING_POINT not in self.conditions
        is_exact = exact and self.delta_numerical == 0
        return f"{self.delta:g}" if is_exact else super().delta_text()

    def terms(self) -> Lines:
        """Return what mistakes cost, where that differs, and how many rows were guessed."""
        return planned_with(self.error_costs, self.public_row_guess)

    def section(self) -> Lines:
        """Return loss, bounds, domain and settings."""
        reasons = [("chosen because", self.choice), ("  in detail", self.choice_detail)]
        return [
            *self.terms(),
            ("loss", f"{self.loss}, Lipschitz {self.lipschitz:.6g}"),
            ("row bounds", f"|x|_2 <= {self.row_norm:.6g}, |x|_inf <= {self.row_maximum:.6g}"),
            ("domain", self.domain),
            *([("start", self.start)] if self.start else []),
            ("settings", ", ".join(f"{name} {x:.6g}" for name, x in self.settings.items())),
            *((name, text) for name, text in reasons if text),
        ]

    def _why_chosen(self) -> str:
        return self.choice


class OPSampReceipt(CertifiedReceipt, frozen=True, kw_only=True, omit_defaults=True):
    """A receipt of OPSamp.

    Parameters
    ----------
    loss, domain : str
        What was minimised and where, in words.
    draws : int
        Number of minimisers averaged.
    stability : float
        Bound on the mean l1 distance between neighbours' minimisers, parameter units.
    error_costs : StatedCosts or None
        What a mistake costs; None, and left out where it is written, if both cost the same. The
        loss is then in units of cost, and so are sensitivity and allowance.
    """

    loss: str
    domain: str
    draws: Count
    stability: Amount
    error_costs: StatedCosts | None = None

    @property
    def largest_cost(self) -> int:
        """By how much one changed row moves the sensitivity."""
        return 1 if self.error_costs is None else self.error_costs.costs.largest

    def terms(self) -> Lines:
        """Return what mistakes cost, where that differs."""
        return [] if self.error_costs is None else [self.error_costs.line()]

    def section(self) -> Lines:
        """Return loss, minimisers, stability, lattice and oracle."""
        step = power_of_two(self.spacing)
        return [
            *self.terms(),
            ("loss", f"{self.loss}, on {self.domain}"),
            ("minimisers", f"{self.draws:,}, certified gap allowed: {self.allowance:g}"),
            ("stability", f"{self.stability:.6g} in l1"),
            ("lattice", f"released coordinates are multiples of {step}"),
            ("oracle", self.oracle),
        ]
