"""Private thresholds of a schema, then a release that uses them, for one budget.

A stated share of epsilon is kept back from the card and buys the thresholds before a row is
encoded. How many there are is public, so all that follows can be planned and tried before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np

from opdisc.arguments import check_within
from opdisc.data import QuantileFeature, RowCounts, Schema
from opdisc.errors import CalibrationError, TableError, rehearse
from opdisc.mechanisms.base import Release
from opdisc.mechanisms.composition.quantiles import (
    Cut,
    draw_cuts,
    levels,
    plan_cuts,
    rank_errors,
)
from opdisc.privacy import (
    BELOW,
    EntropySource,
    GridReceipt,
    Prepared,
    PublicInputs,
    SeededEntropy,
    Stage,
)
from oracles.arithmetic import IntArray, RandomBits

_CHANCE = 0.05

_REMEDY = "declare them, ask for fewer or spend more"

_THEOREM = "McSherry, Talwar 2007, Theorem 6, in parts (docs/theory.md, private-thresholds)"


def _rows_between(feature: QuantileFeature, n_rows: int | None) -> float:
    """Return how many rows are from one threshold to the next, if their number is public."""
    return math.inf if n_rows is None else n_rows / (feature.quantiles + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdPlan:
    """What will be drawn for how much; a function of public inputs only.

    Parameters
    ----------
    features : tuple of QuantileFeature
        What is declared.
    cuts : tuple of tuple of Cut
        The draws of each.
    whole, card_epsilon : float
        What everything costs, and what is left for what follows.
    schema_digest : str
        Of the declared schema.
    """

    features: tuple[QuantileFeature, ...]
    cuts: tuple[tuple[Cut, ...], ...]
    whole: float
    card_epsilon: float
    schema_digest: str

    @property
    def epsilon(self) -> Fraction:
        """What the thresholds cost, exactly."""
        return Fraction(self.whole) - Fraction(self.card_epsilon)

    def describe(self, n_rows: int | None = None) -> str:
        """Return the split and the expected precision, in words; rows where they are public."""
        parts = []
        for feature, cuts in zip(self.features, self.cuts, strict=True):
            scales = sorted(float(cut.rows_per_nat) for cut in cuts)
            most = rank_errors(cuts, feature.n_candidates, _CHANCE)
            least, largest = (f"{scale:,.3g}" for scale in (scales[0], scales[-1]))
            scale = largest if least == largest else f"{least} to {largest}"
            told = (
                f"{feature.column}, {feature.quantiles} thresholds, scale of their ranks "
                f"{scale} rows, on any table at most {most:,.0f} "
                f"rows off with probability {1 - _CHANCE:.0%}, ties aside"
            )
            between = _rows_between(feature, n_rows)
            if scales[-1] > between:
                told += f" (a scale above the {between:,.3g} rows from one to the next: {_REMEDY})"
            parts.append(told)
        return (
            f"private thresholds take epsilon {float(self.epsilon):.6g} of {self.whole:g}, which "
            f"leaves {self.card_epsilon:.6g} for the rest: {'; '.join(parts)}"
        )

    def brief(self, n_rows: int | None = None) -> str:
        """Return the split in a few words, and whose thresholds would be drawn nearly blindly."""
        split = f"private thresholds take {float(self.epsilon):.6g} of epsilon {self.whole:g}"
        drowned = [
            feature.column
            for feature, cuts in zip(self.features, self.cuts, strict=True)
            if max(float(cut.rows_per_nat) for cut in cuts) > _rows_between(feature, n_rows)
        ]
        if not drowned:
            return split
        return f"{split}, too little for {', '.join(map(repr, drowned))} ({_REMEDY})"

    def stage(self) -> Stage:
        """Return the section of a receipt."""
        told = [
            f"{f.column} {f.quantiles} of {f.n_candidates} points ({f.range[0]:g}..{f.range[1]:g} "
            f"by {f.step:g})"
            for f in self.features
        ]
        return Stage(
            name="thresholds",
            epsilon=str(self.epsilon),
            guarantee=_THEOREM,
            law=f"exact draws by rank, the middle first, then in each part: {', '.join(told)}; "
            "scale: rows per nat of the draws",
            scales=tuple(float(cut.rows_per_nat) for cuts in self.cuts for cut in cuts),
            schema_digest=self.schema_digest,
        )


def plan_thresholds(schema: Schema, public: PublicInputs, share: object) -> ThresholdPlan | None:
    """Split a budget between private thresholds and what follows; None if none are declared.

    Parameters
    ----------
    schema : Schema
        What is declared.
    public : PublicInputs
        The whole budget, and what is public about the table.
    share : real number
        Of epsilon, in (0, 1), that the thresholds take. Each level of each feature's draws takes
        the same part of it.

    Raises
    ------
    CalibrationError
        If the share is out of range, or leaves one of the two nothing.
    """
    check_within("threshold_budget", share, 0, 1, of="a share of epsilon")
    features = schema.private_thresholds
    if not features:
        return None
    whole = public.params.epsilon
    card = float(Fraction(whole) * (1 - Fraction(float(share))))  # type: ignore[arg-type]
    spent = Fraction(whole) - Fraction(card)
    if spent <= 0 or card <= 0:
        raise CalibrationError(
            "threshold_budget must leave something for both; use another share."
        )
    depths = [levels(feature.quantiles) for feature in features]
    return ThresholdPlan(
        features=features,
        cuts=tuple(
            plan_cuts(
                feature.quantiles,
                spent * depth / sum(depths),
                public.relation,
                public.rows_per_unit,
            )
            for feature, depth in zip(features, depths, strict=True)
        ),
        whole=whole,
        card_epsilon=card,
        schema_digest=schema.digest(),
    )


def draw_thresholds(
    plan: ThresholdPlan, ranks: Sequence[IntArray], entropy: EntropySource
) -> tuple[tuple[float, ...], ...]:
    """Draw the thresholds of every feature, increasing and distinct.

    Parameters
    ----------
    plan : ThresholdPlan
        From :func:`plan_thresholds`; its budget must be recorded before.
    ranks : sequence of int64 array
        Of each feature: rows below each of its candidates, then all rows.
    entropy : EntropySource
        Random bits.

    Notes
    -----
    **Guarantee.** Pure ``plan.epsilon``-DP (docs/theory.md, private-thresholds).
    """
    bits = RandomBits(entropy)
    found = []
    for feature, cuts, below in zip(plan.features, plan.cuts, ranks, strict=True):
        candidates = feature.candidates
        found.append(tuple(candidates[place] for place in draw_cuts(cuts, below, bits)))
    return tuple(found)


def rehearse_thresholds(plan: ThresholdPlan) -> None:
    """Draw from a table without rows, so that what fails without them fails before the spend."""
    nothing = [np.zeros(f.n_candidates + 1, dtype=np.int64) for f in plan.features]
    rehearse("the draw of thresholds", lambda: draw_thresholds(plan, nothing, SeededEntropy(0)))


def receipt_with_thresholds(receipt: GridReceipt, plan: ThresholdPlan) -> GridReceipt:
    """Return the privacy statement of thresholds and of what follows them, in two stages.

    Parameters
    ----------
    receipt : GridReceipt
        Of what follows, for ``plan.card_epsilon``.
    plan : ThresholdPlan
        What comes before it.
    """
    if receipt.epsilon != plan.card_epsilon:
        raise CalibrationError("what follows private thresholds must leave them their share.")
    rest = Stage(
        name="the card" if receipt.risks is None else "the rest",
        epsilon=str(Fraction(receipt.epsilon)),
        guarantee=receipt.theorem,
        law=BELOW,
        scales=(),
        schema_digest="",
    )
    return msgspec.structs.replace(
        receipt,
        theorem=f"{receipt.theorem}; after thresholds by adaptive composition (docs/theory.md, "
        "private-thresholds)",
        epsilon=plan.whole,
        stages=(plan.stage(), rest),
    )


@dataclass(frozen=True, slots=True)
class DrawnCard:
    """A card and the schema that it is about, with the thresholds that were found.

    Parameters
    ----------
    schema : Schema
        Without private thresholds.
    release : Release
        Points, receipt, and the counts of risks where they were bought.
    """

    schema: Schema
    release: Any


def charge_with_thresholds(
    card: Prepared[Release],
    plan: ThresholdPlan,
    counts: RowCounts,
    card_of: Callable[[RowCounts], Prepared[Release]],
    entropy: EntropySource,
) -> Prepared[DrawnCard]:
    """Return thresholds and the card that follows them as one charge.

    Parameters
    ----------
    card : Prepared
        The card by stand-ins for the thresholds: all that can fail without the rows was tried.
    plan : ThresholdPlan
        What is drawn first.
    counts : RowCounts
        The private rows by the stand-ins, with their ranks.
    card_of : callable
        From the rows by the thresholds that were drawn to the card that is drawn then.
    entropy : EntropySource
        Random bits.

    Raises
    ------
    CalibrationError, OracleUnavailable, TableError
        If rows cannot be read again, or thresholds not be drawn; nothing is spent.
    """
    recount, own = counts.recount, card.receipt
    assert recount is not None and isinstance(own, GridReceipt)
    recount.check()
    rehearse_thresholds(plan)
    receipt = receipt_with_thresholds(own, plan)

    def draw() -> DrawnCard | None:
        found = counts.schema.with_thresholds(draw_thresholds(plan, counts.ranks, entropy))
        again = recount(found)
        if again.n_rows != counts.n_rows:
            raise TableError("the rows must stay as they were counted first.")
        release = card_of(again).draw()
        if release is None:
            return None
        stated = msgspec.structs.replace(receipt, schema_digest=found.digest())
        return DrawnCard(found, replace(release, receipt=stated))

    return Prepared(receipt=receipt, draw=draw, refusal=_NO_CARD)


_NO_CARD = (
    "a release with private thresholds failed after they were drawn; the budget is spent "
    "and nothing is released: use a smaller grid or declare the thresholds."
)
