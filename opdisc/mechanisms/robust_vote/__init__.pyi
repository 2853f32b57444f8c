from .learners import (
    ErmLearner as ErmLearner,
    EstimatorLearner as EstimatorLearner,
    PartLearner as PartLearner,
)
from .rules import RobustVoteMechanism as RobustVoteMechanism
from .run import run_robust_vote as run_robust_vote
