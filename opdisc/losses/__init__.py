"""Losses of linear scores, with constants derived from public bounds on one row.

Every loss here is ``phi(<x, theta>, y)`` for one row (x, y). The derivative of ``phi`` in the
score is bounded by a number that public facts fix, so Lipschitz and smoothness constants follow
from the public bounds on ``|x|`` alone, and never from a table.
"""

from __future__ import annotations

from opdisc.errors import CalibrationError
from opdisc.losses.classification import (
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
    SigmoidLoss,
)
from opdisc.losses.loss import LinearLoss, LossConstants, RowBounds
from opdisc.losses.regression import AbsoluteLoss, ScoreLoss, SquaredLoss
from oracles.arrays import FloatArray

__all__ = [
    "AbsoluteLoss",
    "FloatArray",
    "HingeLoss",
    "HuberisedHingeLoss",
    "LinearLoss",
    "LogisticLoss",
    "LossConstants",
    "RampLoss",
    "RowBounds",
    "ScoreLoss",
    "SigmoidLoss",
    "SquaredLoss",
    "loss_by_name",
]

_LOSSES: dict[str, type[LinearLoss]] = {
    loss.name: loss
    for loss in (
        LogisticLoss,
        HingeLoss,
        HuberisedHingeLoss,
        RampLoss,
        SigmoidLoss,
        SquaredLoss,
        AbsoluteLoss,
        ScoreLoss,
    )
}


def loss_by_name(name: str) -> LinearLoss:
    """Return the loss of that name with its default shape.

    Raises
    ------
    CalibrationError
        If there is none.
    """
    if name not in _LOSSES:
        raise CalibrationError(f"loss must be one of {', '.join(_LOSSES)}, got {name!r}.")
    return _LOSSES[name]()
