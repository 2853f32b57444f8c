from .linear import (
    PrivateLinearSVC as PrivateLinearSVC,
    PrivateLogisticRegression as PrivateLogisticRegression,
)
from .multiclass import PrivateMulticlassClassifier as PrivateMulticlassClassifier
from .named import OPDiscClassifier as OPDiscClassifier, RSPMClassifier as RSPMClassifier
from .opsamp import OPSampClassifier as OPSampClassifier
from .repeated_fits import RepeatedFits as RepeatedFits
from .robust_vote import RobustVoteClassifier as RobustVoteClassifier
from .scorecard_classifier import PrivateScorecardClassifier as PrivateScorecardClassifier
from .search import PrivateSearchCV as PrivateSearchCV
