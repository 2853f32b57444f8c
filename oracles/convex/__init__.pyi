from .balls import L1Ball as L1Ball, L2Ball as L2Ball
from .box_search import GlobalOracle as GlobalOracle
from .classification_losses import (
    HuberisedHingeLoss as HuberisedHingeLoss,
    LogisticLoss as LogisticLoss,
)
from .constants import LossConstants as LossConstants, RowBounds as RowBounds
from .costly_losses import CostlyLoss as CostlyLoss, with_costs as with_costs
from .domain import Domain as Domain
from .duality import RealClaim as RealClaim
from .linear_losses import LinearLoss as LinearLoss
from .linear_program import LinearOracle as LinearOracle
from .loss_names import loss_by_name as loss_by_name
from .polytopes import Box as Box, Simplex as Simplex
from .problem import TiltedProblem as TiltedProblem
from .regression_losses import (
    AbsoluteLoss as AbsoluteLoss,
    ScoreLoss as ScoreLoss,
    SquaredLoss as SquaredLoss,
)
from .smooth import SmoothOracle as SmoothOracle
from .solve import (
    RealOptions as RealOptions,
    RealOracle as RealOracle,
    Session as Session,
    minimise as minimise,
    minimise_tilts as minimise_tilts,
    real_oracle_versions as real_oracle_versions,
    resolve_real_oracle as resolve_real_oracle,
)
