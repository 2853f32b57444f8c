"""Publishable integer scorecards from small sensitive tables, under differential privacy."""

from typing import Any

__version__ = "0.1.0.dev0"

_PUBLIC = {
    "PrivateScorecardClassifier": "opdisc.estimators",
    "OPDiscClassifier": "opdisc.estimators",
    "PermuteAndFlipClassifier": "opdisc.estimators",
    "RSPMClassifier": "opdisc.rspm",
    "RobustVoteClassifier": "opdisc.robust_estimators",
    "ErrorPrediction": "opdisc.utility",
    "OPSampClassifier": "opdisc.sampled_classifier",
    "OPSampRegressor": "opdisc.sampled_regressor",
    "PrivateLinearSVC": "opdisc.linear_models",
    "PrivateLogisticRegression": "opdisc.linear_models",
    "PrivateSimplexRegressor": "opdisc.simplex_regressor",
    "GridPublic": "opdisc.public",
    "Ledger": "opdisc.accounting",
    "NeighboringRelation": "opdisc.privacy",
    "PrivacyParams": "opdisc.privacy",
    "PrivacyReceipt": "opdisc.receipt",
    "PublicInputs": "opdisc.public",
    "Release": "opdisc.mechanisms",
    "SavedLinearModel": "opdisc.linear_model_file",
    "SavedModel": "opdisc.model_file",
    "Schema": "opdisc.schema",
    "Scorecard": "opdisc.scorecard",
    "load_dataset": "opdisc.datasets",
    "load_model": "opdisc.model_file",
    "load_schema": "opdisc.shipped_schemas",
    "private_median": "opdisc.sampled_regressor",
    "private_selection": "opdisc.hyperparameters",
    "plan_errors": "opdisc.utility",
    "predict_error": "opdisc.utility",
    "run_mechanism": "opdisc.mechanisms",
    "save_model": "opdisc.model_file",
}

__all__ = ["__version__", *_PUBLIC]


def __getattr__(name: str) -> Any:
    """Import public names on first use, so that the command line starts quickly."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'opdisc' has no attribute '{name}'")
    import importlib

    return getattr(importlib.import_module(_PUBLIC[name]), name)
