"""Saved models: JSON, validated on load, the receipt inside."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from opdisc.cells import canonical_text
from opdisc.encoding import encode_features
from opdisc.errors import ModelFileError, OPDiscError
from opdisc.receipt import GridReceipt
from opdisc.schema import Schema
from opdisc.scorecard import Scorecard
from opdisc.tables import atomic_write_text

if TYPE_CHECKING:
    from opdisc.linear_model_file import SavedLinearModel

_FORMAT = "opdisc-model"
_VERSION = 1
_LARGEST_FILE = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedModel:
    """Everything needed to predict, and the promise that was kept.

    Parameters
    ----------
    scorecard : Scorecard
        The published classifier.
    schema : Schema
        The public facts that encode a row.
    receipt : GridReceipt
        The privacy statement of the release.

    Raises
    ------
    ModelFileError
        If the three do not belong together.
    """

    scorecard: Scorecard
    schema: Schema
    receipt: GridReceipt

    def __post_init__(self) -> None:
        """Refuse parts that contradict each other."""
        if self.scorecard.columns != self.schema.column_names:
            raise ModelFileError("a model's scorecard must use the columns of its schema.")
        if self.scorecard.classes != self.schema.classes:
            raise ModelFileError("a model's scorecard must use the classes of its schema.")
        if self.receipt.schema_digest != self.schema.digest():
            raise ModelFileError("a model's receipt must be that of its schema.")
        weights, allowed = self.scorecard.hypothesis, self.receipt.weights
        if len(weights) != len(allowed) or any(
            w not in values for w, values in zip(weights, allowed, strict=True)
        ):
            raise ModelFileError("a model's points must be among those on its receipt.")

    def predict(self, table: pd.DataFrame) -> NDArray[Any]:
        """Return the predicted label of each row, as the schema spells the labels.

        Parameters
        ----------
        table : DataFrame
            Has the schema's feature columns; the target is not needed.
        """
        labels = np.array(self.schema.classes, dtype=object)
        return np.asarray(labels[self.predicts_positive(table).astype(int)])

    def predicts_positive(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Return whether each row has a total of at least 1, shape (n,) bool."""
        scores = self.scorecard.scores(encode_features(table, self.schema))
        return np.asarray(scores >= 1)

    def written_predictions(self, table: pd.DataFrame) -> NDArray[Any]:
        """Return predicted labels as a file should hold them: as the table spells them."""
        spelled = np.array(spelled_classes(table, self.schema), dtype=object)
        return np.asarray(spelled[self.predicts_positive(table).astype(int)])

    @property
    def summary(self) -> str:
        """The scorecard as a table in words."""
        return str(self.scorecard)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types, with a digest over all of them."""
        body = {
            "format": _FORMAT,
            "version": _VERSION,
            "scorecard": self.scorecard.to_dict(),
            "schema": self.schema.to_dict(),
            "receipt": self.receipt.to_dict(),
        }
        return {**body, "sha256": model_digest(body)}


def spelled_classes(table: pd.DataFrame, schema: Schema) -> tuple[str, str]:
    """Return the two labels as a table spells them.

    Parameters
    ----------
    table : DataFrame
        Text cells; it need not have the target column.
    schema : Schema
        Says which label is which.

    Returns
    -------
    (negative, positive) : tuple of str
        The first spelling of each class in the target column; for a class that is not there, the
        schema's. Where the schema declares no negative label, the table's only other label.
    """
    target = schema.target
    negative, positive = (str(label) for label in schema.classes)
    if target.column not in table.columns:
        return negative, positive
    found: dict[str, str] = {}
    for text in table[target.column].dropna().drop_duplicates():
        if canonical_text(text) not in schema.missing_values:
            found.setdefault(canonical_text(text), str(text))
    positive = found.pop(canonical_text(target.positive), positive)
    if target.negative is not None:
        negative = found.get(canonical_text(target.negative), negative)
    elif len(found) == 1:
        (negative,) = found.values()
    return negative, positive


def model_digest(body: dict[str, Any]) -> str:
    """Return the SHA-256 of a saved model's fields, as written in the file."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def save_model(model: SavedModel | SavedLinearModel, path: str | PathLike[str]) -> None:
    """Write a model, whole or not at all.

    Raises
    ------
    TableError
        If the file cannot be written; an older file is then untouched.
    """
    atomic_write_text(path, json.dumps(model.to_dict(), indent=1, allow_nan=False) + "\n")


def load_model(path: str | PathLike[str]) -> SavedModel | SavedLinearModel:
    """Read and validate a model.

    Returns
    -------
    SavedModel or SavedLinearModel
        A scorecard, or a linear model with real weights.

    Raises
    ------
    ModelFileError
        If the file cannot be read, is not a model of this version, was altered, or contradicts
        itself.
    """
    from opdisc.linear_model_file import FORMAT, VERSIONS, SavedLinearModel

    record = _read(Path(path))
    if record.get("format") not in (_FORMAT, FORMAT):
        raise ModelFileError(f"a model must be a file written by opdisc fit, '{path}' is not one.")
    known = VERSIONS if record["format"] == FORMAT else (_VERSION,)
    if type(record.get("version")) is not int or record["version"] not in known:
        listed = " or ".join(str(one) for one in known)
        raise ModelFileError(
            f"a model must have format version {listed}, '{path}' has another; fit it again."
        )
    digest = record.pop("sha256", None)
    try:
        if digest != model_digest(record):
            raise ModelFileError(f"a model must be unaltered, '{path}' is not what was written.")
        if record["format"] == FORMAT:
            return SavedLinearModel.from_dict(record)
        return SavedModel(
            scorecard=Scorecard.from_dict(record["scorecard"]),
            schema=Schema.from_dict(record["schema"]),
            receipt=GridReceipt.from_dict(record["receipt"]),
        )
    except ModelFileError:
        raise
    except (OPDiscError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise ModelFileError(f"a model must hold valid parts, '{path}' does not.") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise ModelFileError(f"a model must be at most 16 MiB, '{path}' is larger.")
        record = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelFileError(f"a model must be a readable file, '{path}': {reason}.") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"a model must be a JSON file, '{path}' is not.") from None
    if not isinstance(record, dict):
        raise ModelFileError(f"a model must be a JSON object, '{path}' is not.")
    return record


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
