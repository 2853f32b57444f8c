from .classification import (
    HingeLoss as HingeLoss,
    HuberisedHingeLoss as HuberisedHingeLoss,
    LogisticLoss as LogisticLoss,
)
from .costly import CostlyLoss as CostlyLoss, with_costs as with_costs
from .linear import LinearLoss as LinearLoss
from .names import CERTIFIABLE_LOSSES as CERTIFIABLE_LOSSES
from .regression import AbsoluteLoss as AbsoluteLoss, SquaredLoss as SquaredLoss
