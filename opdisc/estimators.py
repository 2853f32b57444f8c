"""scikit-learn classifiers that learn a private scorecard."""

from opdisc.named_estimators import OPDiscClassifier, PermuteAndFlipClassifier
from opdisc.scorecard_estimator import PrivateScorecardClassifier

__all__ = ["OPDiscClassifier", "PermuteAndFlipClassifier", "PrivateScorecardClassifier"]
