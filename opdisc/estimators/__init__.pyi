from .linear import (
    PrivateLinearSVC as PrivateLinearSVC,
    PrivateLogisticRegression as PrivateLogisticRegression,
)
from .opsamp import OPSampClassifier as OPSampClassifier
from .repeated_fits import RepeatedFits as RepeatedFits
from .scorecards.multiclass import PrivateMulticlassClassifier as PrivateMulticlassClassifier
from .scorecards.named import (
    OPDiscClassifier as OPDiscClassifier,
    RSPMClassifier as RSPMClassifier,
)
from .scorecards.private import PrivateScorecardClassifier as PrivateScorecardClassifier
from .scorecards.robust_vote import RobustVoteClassifier as RobustVoteClassifier
from .search import PrivateSearchCV as PrivateSearchCV
