"""The results of a comparison as a directory holds them, checked and made a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from opdisc.errors import OPDiscError

SETTINGS = "settings.json"

RUNS = "runs.jsonl"

_TEXTS = (
    "run_id", "dataset", "schema", "schema_digest", "method", "title", "family", "tuning",
    "relation", "weight_bound", "oracle", "evaluation", "status", "error", "guarantee", "label",
    "theorem", "receipt_digest", "scorecard", "unit",
)  # fmt: skip

_NUMBERS = (
    "n_rows", "n_train", "n_test", "n_classes", "epsilon", "delta", "repeat", "split_seed",
    "train_accuracy", "test_accuracy", "train_balanced_accuracy", "test_balanced_accuracy",
    "train_auc", "test_auc", "train_brier", "test_brier", "train_cost", "test_cost",
    "train_errors", "optimum_errors", "seconds", "solve_seconds",
)  # fmt: skip

_OBJECTS = (
    "private", "parameters", "conditions", "receipt", "scorecard_data", "versions", "roc",
    "calibration",
)  # fmt: skip

_REQUIRED = ("run_id", "method", "family", "private", "repeat", "status")


class ReportError(OPDiscError, ValueError):
    """The results of a comparison cannot be read, or there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that is known of a comparison.

    Parameters
    ----------
    settings : mapping
        The plan, as ``settings.json`` has it.
    runs : DataFrame
        One line per finished run, failures included; numbers are float64 with NaN for null.
    torn : bool
        Whether the last line of ``runs.jsonl`` was incomplete and is left out.
    repeated : int
        Lines left out because a later line has the same ``run_id``.
    """

    settings: Mapping[str, Any]
    runs: pd.DataFrame
    torn: bool = False
    repeated: int = 0

    @property
    def ok(self) -> pd.DataFrame:
        """Runs that gave a classifier."""
        return self.runs[self.runs["status"] == "ok"]

    @property
    def failures(self) -> pd.DataFrame:
        """Runs that failed or hit a limit."""
        return self.runs[self.runs["status"] != "ok"]

    @property
    def planned(self) -> int | None:
        """Number of runs in the plan, where the settings tell."""
        value = self.settings.get("n_runs")
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_results(directory: Path) -> Results:
    """Read the plan and the finished runs.

    Parameters
    ----------
    directory : Path
        Holds ``settings.json`` and ``runs.jsonl``. An incomplete last line is left out, as is all
        but the last line of a run.

    Raises
    ------
    ReportError
        If a file is missing or malformed, or no run has finished.
    """
    settings = _settings(directory / SETTINGS)
    records, torn = _records(directory / RUNS)
    last = {str(record["run_id"]): record for record in records}
    if not last:
        raise ReportError(
            f"a report needs at least one finished run, but '{directory / RUNS}' has none; "
            "run the comparison first."
        )
    return Results(
        settings=settings,
        runs=_frame(list(last.values())),
        torn=torn,
        repeated=len(records) - len(last),
    )


def _settings(path: Path) -> Mapping[str, Any]:
    text = _text(path)
    try:
        record = json.loads(text)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise ReportError(f"the plan of a comparison must be a JSON object, but '{path}' is not.")
    return record


def _records(path: Path) -> tuple[list[dict[str, Any]], bool]:
    lines = _text(path).split("\n")
    records = []
    torn = False
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if isinstance(record, dict) and all(name in record for name in _REQUIRED):
            records.append(record)
        elif number == len(lines):
            torn = True
        else:
            raise ReportError(
                f"every line of the results must be one run, but line {number} of '{path}' is "
                "not; move that line away."
            )
    return records, torn


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ReportError(
            f"a report needs the results of a comparison, but '{path}' cannot be read: {reason}."
        ) from None


def _frame(records: list[dict[str, Any]]) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for name in _TEXTS:
        columns[name] = pd.Series(
            [None if (value := record.get(name)) is None else str(value) for record in records],
            dtype=object,
        )
    for name in _NUMBERS:
        numbers = [_number(record.get(name)) for record in records]
        columns[name] = pd.Series(numbers, dtype="float64")
    for name in _OBJECTS:
        columns[name] = pd.Series([record.get(name) for record in records], dtype=object)
    frame = pd.DataFrame(columns)
    frame["private"] = frame["private"].map(bool).astype(bool)
    frame["title"] = frame["title"].where(frame["title"].notna(), frame["method"])
    frame["tuning"] = frame["tuning"].fillna("fixed")
    frame["evaluation"] = frame["evaluation"].fillna("held-out")
    return frame


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return float("nan")
    return float(value)
