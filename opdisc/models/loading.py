"""Saving and loading models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from opdisc.data import Schema, atomic_write_text, read_bounded
from opdisc.errors import ModelFileError, OPDiscError
from opdisc.models.document import FORMAT, model_digest
from opdisc.models.noise_verdict import read_noise
from opdisc.models.odds import OddsScale
from opdisc.models.risk_table import RiskTable
from opdisc.models.scorecard import Scorecard
from opdisc.models.scorecard_file import (
    _LARGEST_FILE,
    VERSIONS,
    SavedModel,
    _refuse_constant,
    _refuse_repeats,
)
from opdisc.privacy import ConvexReceipt, GridReceipt

if TYPE_CHECKING:
    from opdisc.models.linear_file import SavedLinearModel
    from opdisc.models.multiclass_file import SavedMulticlassModel

    ReleasedModel: TypeAlias = SavedModel | SavedLinearModel | SavedMulticlassModel


_BROKEN = (
    OPDiscError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What invalid parts raise."""


class FittedEstimator(Protocol):
    """An estimator that knows what of it is released."""

    def to_model(self) -> ReleasedModel:
        """Return what a file holds."""


def save_model(model: ReleasedModel | FittedEstimator, path: str | PathLike[str]) -> None:
    """Write a model, whole or not at all.

    Parameters
    ----------
    model : SavedModel, SavedLinearModel, SavedMulticlassModel or fitted estimator
        Of an estimator what its ``to_model()`` returns is written: the release, no row.
    path : str or path
        Where.

    Raises
    ------
    TableError
        If the file cannot be written; an older file is then untouched.
    ModelFileError
        If it is neither a model nor an estimator that has one.
    NotFittedError
        If the estimator is not fitted.
    """
    if hasattr(model, "to_model"):
        model = model.to_model()
    if not hasattr(model, "to_dict"):
        raise ModelFileError(
            f"a model or a fitted estimator of opdisc must be saved, got {type(model).__name__}; "
            "call save_model(estimator, path)."
        )
    atomic_write_text(path, json.dumps(model.to_dict(), indent=1, allow_nan=False) + "\n")


def load_model(path: str | PathLike[str]) -> ReleasedModel:
    """Read and validate a model.

    Returns
    -------
    SavedModel, SavedMulticlassModel or SavedLinearModel
        A scorecard, cards for several classes, or a linear model with real weights.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is not a model of this version, was altered, or contradicts
        itself.
    """
    from opdisc.models.linear_file import (
        FORMAT as LINEAR_FORMAT,
        VERSIONS as LINEAR_VERSIONS,
        SavedLinearModel,
    )
    from opdisc.models.multiclass_file import (
        MULTICLASS_FORMAT,
        MULTICLASS_VERSIONS,
        SavedMulticlassModel,
    )

    record = read_object(Path(path))
    versions = {
        FORMAT: VERSIONS,
        LINEAR_FORMAT: LINEAR_VERSIONS,
        MULTICLASS_FORMAT: MULTICLASS_VERSIONS,
    }
    kind = record.get("format")
    known = versions.get(kind) if isinstance(kind, str) else None
    if known is None:
        raise ModelFileError(
            f"a model must be a file written by opdisc fit, but '{path}' is not one."
        )
    if type(record.get("version")) is not int or record["version"] not in known:
        listed = " or ".join(str(one) for one in known)
        raise ModelFileError(
            f"a model must have format version {listed}, but '{path}' has another; fit it again."
        )
    digest = record.pop("sha256", None)
    try:
        if digest != model_digest(record):
            raise ModelFileError(
                f"a model must be unaltered, but '{path}' is not what was written."
            )
        if record["format"] == LINEAR_FORMAT:
            return SavedLinearModel.from_dict(record)
        if record["format"] == MULTICLASS_FORMAT:
            return SavedMulticlassModel.from_dict(record)
        return _card_of(record)
    except ModelFileError:
        raise
    except _BROKEN:
        raise ModelFileError(f"a model must hold valid parts, but '{path}' does not.") from None


def _card_of(record: Mapping[str, Any]) -> SavedModel:
    """Return the card that a file holds; version 1 has no odds, and only version 3 has noise."""
    risks, odds = record.get("risk_table"), record.get("odds")
    receipt = GridReceipt if odds is None else ConvexReceipt
    states_noise = record["version"] == VERSIONS[-1]
    if (record["version"] == 2 and odds is None) or (record["version"] == 1 and odds is not None):
        raise ValueError("a card of version 2 has odds, and one of version 1 none.")
    if states_noise != ("noise" in record):
        raise ValueError("a card of version 3 says what its noise may cost, and no other does.")
    return SavedModel(
        scorecard=Scorecard.from_dict(record["scorecard"]),
        schema=Schema.from_stored(record["schema"]),
        receipt=receipt.from_dict(record["receipt"]),
        risk_table=None if risks is None else RiskTable.from_dict(risks),
        odds=None if odds is None else OddsScale.from_dict(odds),
        noise=read_noise(record["noise"]) if states_noise else None,
    )


def read_object(path: Path, what: str = "a model") -> dict[str, Any]:
    """Return the JSON object in a file; the refusal of another one says what was expected."""
    try:
        data = read_bounded(path, _LARGEST_FILE)
        if len(data) > _LARGEST_FILE:
            raise ModelFileError(f"{what} must be at most 16 MiB, but '{path}' is larger.")
        record = json.loads(
            data.decode("utf-8"),
            parse_constant=_refuse_constant,
            object_pairs_hook=_refuse_repeats,
        )
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelFileError(
            f"{what} must be a readable file, but '{path}' is not: {reason}."
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"{what} must be a JSON file, but '{path}' is not.") from None
    if not isinstance(record, dict):
        raise ModelFileError(f"{what} must be a JSON object, but '{path}' is not.")
    return record
