from .multiclass import PrivateMulticlassClassifier as PrivateMulticlassClassifier
from .named import (
    OPDiscClassifier as OPDiscClassifier,
    PermuteAndFlipClassifier as PermuteAndFlipClassifier,
    RSPMClassifier as RSPMClassifier,
)
from .private import PrivateScorecardClassifier as PrivateScorecardClassifier
from .progress import WARNING as WARNING, draw_progress as draw_progress
from .robust_vote import RobustVoteClassifier as RobustVoteClassifier
