from .classification import HingeLoss as HingeLoss
from .classification import HuberisedHingeLoss as HuberisedHingeLoss
from .classification import LogisticLoss as LogisticLoss
from .linear import LinearLoss as LinearLoss
from .names import CERTIFIABLE_LOSSES as CERTIFIABLE_LOSSES
from .regression import AbsoluteLoss as AbsoluteLoss
from .regression import SquaredLoss as SquaredLoss
