"""Publishable integer scorecards from small sensitive tables, under differential privacy."""

from .accounting import Ledger as Ledger
from .datasets import load_dataset as load_dataset
from .hyperparameters import private_selection as private_selection
from .linear_model_file import SavedLinearModel as SavedLinearModel
from .linear_models import (
    PrivateLinearSVC as PrivateLinearSVC,
)
from .linear_models import (
    PrivateLogisticRegression as PrivateLogisticRegression,
)
from .mechanisms import (
    Release as Release,
)
from .mechanisms import (
    run_mechanism as run_mechanism,
)
from .model_file import (
    SavedModel as SavedModel,
)
from .model_file import (
    load_model as load_model,
)
from .model_file import (
    save_model as save_model,
)
from .named_estimators import (
    OPDiscClassifier as OPDiscClassifier,
)
from .named_estimators import (
    PermuteAndFlipClassifier as PermuteAndFlipClassifier,
)
from .named_estimators import RSPMClassifier as RSPMClassifier
from .privacy import (
    NeighboringRelation as NeighboringRelation,
)
from .privacy import (
    PrivacyParams as PrivacyParams,
)
from .public import (
    GridPublic as GridPublic,
)
from .public import (
    PublicInputs as PublicInputs,
)
from .receipt import (
    PrivacyReceipt as PrivacyReceipt,
)
from .robust_estimators import RobustVoteClassifier as RobustVoteClassifier
from .sampled_classifier import OPSampClassifier as OPSampClassifier
from .sampled_regressor import (
    OPSampRegressor as OPSampRegressor,
)
from .sampled_regressor import (
    private_median as private_median,
)
from .schema import Schema as Schema
from .scorecard import Scorecard as Scorecard
from .scorecard_estimator import (
    PrivateScorecardClassifier as PrivateScorecardClassifier,
)
from .shipped_schemas import load_schema as load_schema
from .simplex_regressor import PrivateSimplexRegressor as PrivateSimplexRegressor
from .utility import (
    ErrorPrediction as ErrorPrediction,
)
from .utility import (
    plan_errors as plan_errors,
)
from .utility import (
    predict_error as predict_error,
)

__version__: str

__all__ = [
    "ErrorPrediction",
    "GridPublic",
    "Ledger",
    "NeighboringRelation",
    "OPDiscClassifier",
    "OPSampClassifier",
    "OPSampRegressor",
    "PermuteAndFlipClassifier",
    "PrivacyParams",
    "PrivacyReceipt",
    "PrivateLinearSVC",
    "PrivateLogisticRegression",
    "PrivateScorecardClassifier",
    "PrivateSimplexRegressor",
    "PublicInputs",
    "RSPMClassifier",
    "Release",
    "RobustVoteClassifier",
    "SavedLinearModel",
    "SavedModel",
    "Schema",
    "Scorecard",
    "__version__",
    "load_dataset",
    "load_model",
    "load_schema",
    "plan_errors",
    "predict_error",
    "private_median",
    "private_selection",
    "run_mechanism",
    "save_model",
]
