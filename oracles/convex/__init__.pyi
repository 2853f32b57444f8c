from .box_search import GlobalOracle as GlobalOracle
from .constants import LossConstants as LossConstants, RowBounds as RowBounds
from .domains.balls import L1Ball as L1Ball, L2Ball as L2Ball
from .domains.domain import Domain as Domain
from .domains.polytopes import Box as Box, Simplex as Simplex
from .duality import RealClaim as RealClaim
from .linear_program import LinearOracle as LinearOracle
from .losses.classification import (
    HuberisedHingeLoss as HuberisedHingeLoss,
    LogisticLoss as LogisticLoss,
)
from .losses.costly import CostlyLoss as CostlyLoss, with_costs as with_costs
from .losses.linear import LinearLoss as LinearLoss
from .losses.names import loss_by_name as loss_by_name
from .losses.regression import (
    AbsoluteLoss as AbsoluteLoss,
    ScoreLoss as ScoreLoss,
    SquaredLoss as SquaredLoss,
)
from .problem import TiltedProblem as TiltedProblem
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
