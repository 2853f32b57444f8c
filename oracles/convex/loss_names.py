"""Losses of linear scores, by name.

The constants of every loss follow from declared bounds on one row, never from a table.
"""

from __future__ import annotations

from oracles.convex.classification_losses import (
    HingeLoss,
    HuberisedHingeLoss,
    LogisticLoss,
    RampLoss,
    SigmoidLoss,
)
from oracles.convex.linear_losses import LinearLoss
from oracles.convex.regression_losses import AbsoluteLoss, ScoreLoss, SquaredLoss
from oracles.errors import check_choice

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

CERTIFIABLE_LOSSES = tuple(name for name, loss in _LOSSES.items() if loss.is_certifiable)
"""Names of the losses whose tilted sums the oracles minimise with a proof."""


def loss_by_name(name: str) -> LinearLoss:
    """Return the loss of that name with its default shape.

    Raises
    ------
    InvalidProblem
        If there is none.
    """
    check_choice("loss", name, _LOSSES)
    return _LOSSES[name]()
