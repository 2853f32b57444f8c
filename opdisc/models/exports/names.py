"""Names of the columns that a card adds to a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opdisc.models.card import CardSource, CardsSource


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNames:
    """Names that are no column of the schema.

    Parameters
    ----------
    prediction : str
        The label.
    totals : tuple of str
        The total of each card.
    probability : str or None
        The chance of the label from the threshold on; None where nothing tells it.
    """

    prediction: str
    totals: tuple[str, ...]
    probability: str | None


def own_names(model: CardSource | CardsSource) -> OwnNames:
    """Return the names of what a model adds: a name that is taken gets underscores at its end."""
    wanted = ["prediction"]
    if isinstance(model, CardsSource):
        wanted += [f"total_{number}" for number in range(1, len(model.scorecards) + 1)]
    else:
        wanted += ["total", "probability"]
    prediction, *others = _free(wanted, [*model.schema.columns, model.schema.target.column])
    if isinstance(model, CardsSource):
        return OwnNames(prediction=prediction, totals=tuple(others), probability=None)
    total, probability = others
    return OwnNames(
        prediction=prediction,
        totals=(total,),
        probability=probability if has_chances(model) else None,
    )


def has_chances(model: CardSource) -> bool:
    """Return whether a card has odds, or rates that were bought."""
    return any(getattr(model, name, None) is not None for name in ("odds", "risk_table"))


def _free(wanted: list[str], columns: list[str]) -> Iterator[str]:
    taken = {name.casefold() for name in columns}  # to an engine, A and a are one name
    for name in wanted:
        while name.casefold() in taken:
            name += "_"
        taken.add(name.casefold())
        yield name
