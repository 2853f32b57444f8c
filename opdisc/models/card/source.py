"""What a card is made of: a released model, its statements, and how they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from opdisc.errors import escaped

if TYPE_CHECKING:
    from opdisc.data import Feature, Schema
    from opdisc.models.card.explanation import ClassExplanation, Row
    from opdisc.models.scorecard import Scorecard
    from opdisc.privacy import ConvexReceipt, GridReceipt, MulticlassReceipt, Question


class Source(Protocol):
    """What any released model of scorecards has: a saved model."""

    @property
    def schema(self) -> Schema:
        """How a row is encoded."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of its file, the digest ``sha256`` included."""


class CardSource(Source, Protocol):
    """A released scorecard with its schema and receipt."""

    @property
    def scorecard(self) -> Scorecard:
        """The points."""

    @property
    def receipt(self) -> GridReceipt | ConvexReceipt:
        """What was promised."""


@runtime_checkable
class CardsSource(Source, Protocol):
    """Released scorecards that together tell several classes apart."""

    @property
    def scorecards(self) -> tuple[Scorecard, ...]:
        """The points of each card."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """What each card tells apart."""

    @property
    def receipt(self) -> MulticlassReceipt:
        """What was promised."""

    def rule(self) -> str:
        """Return how the cards go together."""

    def explain(self, row: Row) -> ClassExplanation:
        """Return the way of a row to its class."""


def used_features(
    card: Scorecard, schema: Schema
) -> tuple[tuple[Feature, tuple[tuple[str, int], ...]], ...]:
    """Return each feature with its statements, (name, points); features without points too."""
    named = list(zip(card.columns, map(int, card.points), strict=True))
    return tuple(
        (feature, tuple(named[i - 1] for i in attribute.indices))
        for feature, attribute in zip(schema.features, schema.attributes, strict=True)
    )


def signed(points: int) -> str:
    """Return points with their sign, a true minus."""
    return f"{points:+d}".replace("-", "−") if points else "0"


def plain(text: object) -> str:
    """Return a text on one line, with what is not printable escaped."""
    return escaped(str(text))
