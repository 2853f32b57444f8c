"""A scorecard and the observed rate per total, for one budget.

A stated share of epsilon is kept back from the card. Once the card is drawn, it buys the counts of
rows by total and label, with exact discrete Laplace noise (docs/theory.md, risk-table).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import msgspec
import numpy as np

from opdisc.arguments import check_within
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import Release
from opdisc.mechanisms.receipts import PreparedRelease
from opdisc.models import (
    Bins,
    bin_totals,
    count_by_bin,
    possible_totals,
)
from opdisc.noise import (
    check_noise_fits,
    discrete_laplace,
    geometric_total_variation,
    largest_geometric,
)
from opdisc.privacy import (
    EntropySource,
    GridReceipt,
    Prepared,
    PrivacyParams,
    PublicInputs,
    RiskReceipt,
)
from opdisc.tuned import FEW_BINS, MOST_BINS, ROWS_PER_NOISE
from oracles.arithmetic import IntArray
from oracles.problem import ColumnGroup, Hypothesis, ZeroOneProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskSpec:
    """Calibrated noise of the counts. A function of public inputs only.

    Parameters
    ----------
    whole : PrivacyParams
        What card and counts cost together.
    epsilon, card_epsilon : float
        What the counts and the card cost; they add up exactly.
    sensitivity : int
        How far neighbouring tables are apart in the sum of all counts' differences, rows.
    rate : Fraction
        The noise k has probability proportional to ``exp(-rate |k|)``.
    most_bins : int
        Most groups of totals.
    """

    whole: PrivacyParams
    epsilon: float
    card_epsilon: float
    sensitivity: int
    rate: Fraction
    most_bins: int

    @property
    def scale(self) -> float:
        """Scale of the noise, rows."""
        return float(1 / self.rate)

    @property
    def total_variation(self) -> float:
        """Bound on the distance between the noise on all counts and its law."""
        return geometric_total_variation(self.rate, 2 * 2 * self.most_bins)


def split_epsilon(epsilon: float, share: object) -> tuple[float, float]:
    """Return what is left for the card and what a share buys; exactly epsilon in all.

    Parameters
    ----------
    epsilon : float
        Budget of both.
    share : real number
        In (0, 1), public.

    Raises
    ------
    CalibrationError
        If the share is out of range, or leaves one of the two nothing.
    """
    remedy = "leave it out to release no risks"
    check_within("risk_budget", share, 0, 1, of="a share of epsilon", remedy=remedy)
    exact = Fraction(float(share))  # type: ignore[arg-type]
    # The larger part is rounded; the rest of a double and one at least half as large is exact.
    if exact <= Fraction(1, 2):
        card = float(Fraction(epsilon) * (1 - exact))
        parts = card, epsilon - card
    else:
        risks = float(Fraction(epsilon) * exact)
        parts = epsilon - risks, risks
    if sum(map(Fraction, parts)) != Fraction(epsilon) or min(parts) <= 0:
        raise CalibrationError("risk_budget must leave something for both; use another share.")
    return parts


def calibrate_risks(public: PublicInputs, share: object) -> RiskSpec:
    """Return the noise of the counts for a share of ``public.params``, and what the card may cost.

    Parameters
    ----------
    public : PublicInputs
        Budget of card and counts. Groups are planned for its number of rows, known or guessed.
    share : real number
        In (0, 1).

    Raises
    ------
    CalibrationError
        If the share is out of range, or so small that the noise has no room.
    """
    card, risks = split_epsilon(public.params.epsilon, share)
    rate = Fraction(risks) / public.changed_rows
    check_noise_fits(4.0 * MOST_BINS * largest_geometric(rate))
    return RiskSpec(
        whole=public.params,
        epsilon=risks,
        card_epsilon=card,
        sensitivity=public.changed_rows,
        rate=rate,
        most_bins=planned_bins(rate, public.typical_rows),
    )


def planned_bins(rate: Fraction, rows: int | None) -> int:
    """Return the most groups of totals, for a noise and a number of rows to plan for."""
    if rows is None:
        return FEW_BINS
    # So many that a group of the mean size has a few times more rows than noise.
    return min(MOST_BINS, max(2, int(rows * rate / ROWS_PER_NOISE)))


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskRelease(Release):
    """A card, the noisy counts of its totals, and one receipt.

    Parameters
    ----------
    bins : tuple of (lowest, highest)
        Groups of totals.
    counts : ndarray of shape (2, n_bins), int64
        Rows of each group with noise, negatives first; may be below 0.
    """

    bins: Bins
    counts: IntArray


def count_totals(
    card: Hypothesis,
    problem: ZeroOneProblem,
    spec: RiskSpec,
    structure: Iterable[ColumnGroup],
    entropy: EntropySource,
) -> tuple[Bins, IntArray]:
    """Return the groups of a released card's totals, and their rows with noise."""
    bins = bin_totals(possible_totals(card, structure), spec.most_bins)
    totals = problem.points @ np.array(card, dtype=np.int64)
    counts = count_by_bin(totals, problem.positives, problem.negatives, bins)
    return bins, noisy_counts(counts, spec.rate, entropy)


def charge_with_risks(
    prepared: PreparedRelease,
    problem: ZeroOneProblem,
    spec: RiskSpec,
    structure: Iterable[ColumnGroup],
) -> Prepared[RiskRelease]:
    """Return a card and then the counts of its totals as one charge.

    Parameters
    ----------
    prepared : PreparedRelease
        The card's release, calibrated for ``spec.card_epsilon``.
    problem : ZeroOneProblem
        The private points, whose counts are numbers of rows.
    spec : RiskSpec
        From :func:`calibrate_risks`, with the same public facts.
    structure : iterable of ColumnGroup
        What the schema says of the columns.

    Notes
    -----
    **Guarantee.** As stated on the receipt; docs/theory.md, entry "risk-table".
    """
    if prepared.public.params.epsilon != spec.card_epsilon:
        raise CalibrationError("a card that is released with risks must leave them their share.")
    receipt = receipt_with_risks(prepared, spec)

    def draw() -> RiskRelease | None:
        card = prepared.draw()
        if card is None:
            return None
        bins, counts = count_totals(card, problem, spec, structure, prepared.entropy)
        return RiskRelease(hypothesis=card, receipt=receipt, bins=bins, counts=counts)

    return Prepared(receipt=receipt, draw=draw, refusal=prepared.refusal)


def noisy_counts(counts: IntArray, rate: Fraction, entropy: EntropySource) -> IntArray:
    """Return counts with independent discrete Laplace noise of a decay per row."""
    return counts + discrete_laplace(rate, counts.size, entropy).reshape(counts.shape)


def receipt_with_risks(prepared: PreparedRelease, spec: RiskSpec) -> GridReceipt:
    """Return the privacy statement of a card with its risks, in two sections."""
    both = replace(
        prepared,
        public=replace(
            prepared.public, params=replace(prepared.public.params, epsilon=spec.whole.epsilon)
        ),
        spec=replace(
            prepared.spec,
            theorem=f"{prepared.spec.theorem}; risks by basic composition (docs/theory.md, "
            "risk-table)",
            total_variation=prepared.spec.total_variation + spec.total_variation,
        ),
    )
    return msgspec.structs.replace(
        both.receipt(),
        risks=RiskReceipt(
            card_epsilon=spec.card_epsilon,
            epsilon=spec.epsilon,
            sensitivity=spec.sensitivity,
            noise_scale=spec.scale,
            counts=2 * spec.most_bins,
        ),
    )
