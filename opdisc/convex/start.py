"""Public weights that a fit starts from, instead of 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from opdisc.errors import CalibrationError

START_UNIT = 2**20
"""The weights of a start are whole multiples of ``1 / START_UNIT``."""

_LARGEST = 2**10
"""Largest absolute weight, log-odds: no chance differs from 0 or 1 beyond it."""

MADE_WITHOUT_ROWS = "the start was made without the private rows"
"""What a receipt takes for granted of a start that it cannot trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicStart:
    """Weights that the ridge pulls towards.

    Parameters
    ----------
    weights : tuple of Fraction
        Of constant and columns, not centred, towards the positive label, in units of log-odds;
        whole multiples of ``1 / START_UNIT``.
    source : str
        Where they come from, for plan and receipt.
    conditions : tuple of str
        What a guarantee rests on for it.
    points : tuple of int or None
        Of a card in whole points, these: those that everyone has first; a total of 1 or more is
        the positive label.
    """

    weights: tuple[Fraction, ...]
    source: str
    conditions: tuple[str, ...] = (MADE_WITHOUT_ROWS,)
    points: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse weights that leave no room, or have more digits than are kept."""
        if any(abs(weight) > _LARGEST for weight in self.weights):
            raise CalibrationError(
                f"the weights of a start must be between -{_LARGEST} and {_LARGEST} log-odds; "
                "divide its points."
            )
        if any((weight * START_UNIT).denominator != 1 for weight in self.weights):
            raise CalibrationError("the weights of a start must be multiples of its unit.")


def rounded_weights(weights: Iterable[float]) -> tuple[Fraction, ...]:
    """Return weights as multiples of the unit, cut at the largest."""
    kept = (min(max(weight, -_LARGEST), _LARGEST) for weight in weights)
    return tuple(Fraction(round(weight * START_UNIT), START_UNIT) for weight in kept)
