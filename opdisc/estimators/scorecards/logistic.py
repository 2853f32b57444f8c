"""A logistic scorecard: the weights that hull perturbation releases, as whole points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opdisc.convex import ConvexRelease, PublicStart, hull_perturbation
from opdisc.data import RowCounts
from opdisc.errors import CalibrationError
from opdisc.models import ChosenScale, OddsScale, Scorecard, points_of
from opdisc.planning import LOGISTIC, logistic_public
from opdisc.privacy import ConvexReceipt, EntropySource, Prepared, PrivacyParams, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticCard:
    """What a logistic fit releases.

    Parameters
    ----------
    card : Scorecard
        Whole points.
    odds : OddsScale
        What a total stands for.
    receipt : ConvexReceipt
        The privacy statement of the weights that the points were rounded from.
    """

    card: Scorecard
    odds: OddsScale
    receipt: ConvexReceipt


def refuse_other_options(
    given: Mapping[str, bool],
    what: str = f"mechanism='{LOGISTIC}'",
    kept: tuple[str, ...] = (),
) -> None:
    """Refuse what other mechanisms take.

    Parameters
    ----------
    given : mapping of str to bool
        Names of options, and whether they were given.
    what : str
        What does not take them.
    kept : tuple of str
        Those that it takes after all.

    Raises
    ------
    CalibrationError
        With the name of the first that was.
    """
    for name, is_given in given.items():
        if is_given and name not in kept:
            raise CalibrationError(
                f"{name} does not apply to {what}; leave it out or name another mechanism."
            )


def prepare_logistic_card(
    counts: RowCounts,
    facts: Mapping[str, Any],
    *,
    params: PrivacyParams,
    scale: ChosenScale | None,
    largest: int,
    entropy: EntropySource,
    choice: Reason | None = None,
    start: PublicStart | None = None,
) -> Prepared[LogisticCard]:
    """Prepare weights by hull perturbation, and the card that they stand for.

    Parameters
    ----------
    counts : RowCounts
        The private rows, by a schema whose error costs decide the card's threshold.
    facts : mapping
        What the public inputs of every mechanism say of a table.
    params : PrivacyParams
        Epsilon; delta is not spent.
    scale : ChosenScale or None
        What a total is to stand for; None: small points.
    largest : int
        Points of a statement at most, where no scale is given.
    entropy : EntropySource
        Random bits.
    choice : Reason or None
        Why, where nobody named the mechanism.
    start : PublicStart or None
        Public weights to start from.

    Notes
    -----
    **Guarantee.** That of :func:`~opdisc.convex.hull_perturbation`: pure. The loss weighs both
    mistakes alike, so error costs multiply no noise; points and threshold are post-processing.
    """
    schema = counts.schema
    shape, public = logistic_public(schema, params, facts)

    def in_points(released: ConvexRelease) -> LogisticCard:
        card, odds = points_of(released.parameters.tolist(), schema, scale=scale, largest=largest)
        return LogisticCard(card=card, odds=odds, receipt=released.receipt)

    charge = hull_perturbation.prepare(
        counts.table, shape, public, entropy=entropy, start=start, choice=choice
    )
    return charge.then(in_points)
