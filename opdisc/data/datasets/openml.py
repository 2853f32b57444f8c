"""Known tables from OpenML: fetched only when asked for, converted, and compared with a checksum.

OpenML's copies have other column names, codes and rows than the files that the schemas fit, so a
fetched table is converted into the known file's own form. Its SHA-256 must then be that of the
known file; otherwise nothing is written.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from opdisc.arguments import check_choice
from opdisc.data.datasets.registry import DATASETS, Dataset
from opdisc.data.files import atomic_write_text
from opdisc.data.reading import table_text
from opdisc.errors import FileMistake, TableError

Fetch = Callable[[int], pd.DataFrame]
"""OpenML number of a table to its rows, the label column last."""

_ADULT_COLUMNS = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,"
    "capital-gain,capital-loss,hours-per-week,native-country,income-per-year"
).split(",")

_ADULT_TRAINING, _ADULT_TEST = 32_561, 16_281

_GERMAN_COLUMNS = (
    "status,month,credit_history,purpose,credit_amount,savings,employment,"
    "investment_as_income_percentage,personal_status,other_debtors,residence_since,property,age,"
    "installment_plans,housing,number_of_credits,skill_level,people_liable_for,telephone,"
    "foreign_worker,credit"
).split(",")

# The codes of UCI's german.data by OpenML's words, in the order of UCI's documentation: the first
# word of attribute 1 is A11, the second A12, and so on.
_GERMAN_WORDS: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        1: ("<0", "0<=X<200", ">=200", "no checking"),
        3: (
            "no credits/all paid",
            "all paid",
            "existing paid",
            "delayed previously",
            "critical/other existing credit",
        ),
        4: (
            "new car",
            "used car",
            "furniture/equipment",
            "radio/tv",
            "domestic appliance",
            "repairs",
            "education",
            "vacation",
            "retraining",
            "business",
            "other",
        ),
        6: ("<100", "100<=X<500", "500<=X<1000", ">=1000", "no known savings"),
        7: ("unemployed", "<1", "1<=X<4", "4<=X<7", ">=7"),
        9: (
            "male div/sep",
            "female div/dep/mar",
            "male single",
            "male mar/wid",
            "female single",
        ),
        10: ("none", "co applicant", "guarantor"),
        12: ("real estate", "life insurance", "car", "no known property"),
        14: ("bank", "stores", "none"),
        15: ("rent", "own", "for free"),
        17: (
            "unemp/unskilled non res",
            "unskilled resident",
            "skilled",
            "high qualif/self emp/mgmt",
        ),
        19: ("none", "yes"),
        20: ("yes", "no"),
    }
)

_FROM_ZERO = (3, 4)
"""Attributes whose codes begin at 0: A30 and A40."""

_BREAST_COLUMNS = (
    "ClumpThickness,UniformityOfCellSize,UniformityOfCellShape,MarginalAdhesion,"
    "SingleEpithelialCellSize,BareNuclei,BlandChromatin,NormalNucleoli,Mitoses"
).split(",")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenMLSource:
    """Where OpenML has a known table, and how its copy becomes the known file.

    Parameters
    ----------
    number : int
        OpenML's number of the table.
    convert : callable
        Fetched rows to candidates for the known table; the one whose checksum fits is taken.
    """

    number: int
    convert: Callable[[pd.DataFrame], Iterator[pd.DataFrame]]


def _adult(fetched: pd.DataFrame) -> Iterator[pd.DataFrame]:
    table = _as_text(fetched, len(_ADULT_COLUMNS), missing="?")
    table.columns = pd.Index(_ADULT_COLUMNS)
    # OpenML has UCI's test file first and the training file after it; take the other order too.
    for start in (_ADULT_TEST, 0):
        yield table.iloc[start : start + _ADULT_TRAINING]


def _german(fetched: pd.DataFrame) -> Iterator[pd.DataFrame]:
    table = _as_text(fetched, len(_GERMAN_COLUMNS))
    table.columns = pd.Index(_GERMAN_COLUMNS)
    for attribute, words in _GERMAN_WORDS.items():
        first = 0 if attribute in _FROM_ZERO else 1
        codes = {word: f"A{attribute}{first + i}" for i, word in enumerate(words)}
        column = _GERMAN_COLUMNS[attribute - 1]
        table[column] = _recoded(table[column], codes)
    table["credit"] = _recoded(table["credit"], {"good": "1", "bad": "2"})
    yield table


def _breast_cancer(fetched: pd.DataFrame) -> Iterator[pd.DataFrame]:
    table = _as_text(fetched.dropna(), len(_BREAST_COLUMNS) + 1)
    table.columns = pd.Index([*_BREAST_COLUMNS, "Benign"])
    # The known file calls the malignant class "Benign = 1"; see docs/reference/known-tables.md.
    table["Benign"] = _recoded(table["Benign"], {"benign": "0", "malignant": "1"})
    yield table[["Benign", *_BREAST_COLUMNS]]


SOURCES: Mapping[str, OpenMLSource] = MappingProxyType(
    {
        "adult": OpenMLSource(number=1590, convert=_adult),
        "adult-balanced": OpenMLSource(number=1590, convert=_adult),
        "german": OpenMLSource(number=31, convert=_german),
        "breastcancer": OpenMLSource(number=15, convert=_breast_cancer),
    }
)
"""Known tables that OpenML has. RiskSLIM's binary tables were prepared by hand and are not there
(its mammographic masses have missing values filled in, OpenML's number 45557 has them missing)."""


def fetch_openml_table(number: int) -> pd.DataFrame:
    """Fetch a table from OpenML with scikit-learn, without its cache.

    Parameters
    ----------
    number : int
        OpenML's number of the table.

    Returns
    -------
    DataFrame
        The label column last.

    Raises
    ------
    TableError
        If OpenML cannot be reached or does not answer as expected.
    """
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of every retry
            bunch = fetch_openml(
                data_id=number,
                as_frame=True,
                parser="pandas",
                cache=False,
                target_column=None,
                n_retries=1,
            )
    except Exception as error:  # noqa: BLE001 - the network and the answer can fail in many ways
        raise TableError(
            f"OpenML could not be asked for table {number} ({type(error).__name__}); check the "
            "network, or obtain the file by hand as 'opdisc datasets' says."
        ) from error
    frame: pd.DataFrame = bunch.frame
    return frame


def download_dataset(name: str, *, fetch: Fetch = fetch_openml_table) -> Path:
    """Fetch a known table from OpenML and write it where the loaders look first.

    Parameters
    ----------
    name : str
        A key of :data:`SOURCES`.
    fetch : callable
        Number to rows; :func:`fetch_openml_table` unless a test says otherwise.

    Returns
    -------
    Path
        The new file, in the directory of ``OPDISC_DATA``, or in ``./data``.

    Raises
    ------
    TableError
        If the table is unknown or not on OpenML, its file is there already, OpenML does not
        answer, or what it has is not the known table. Nothing is then written.
    """
    check_choice("a table", name, DATASETS, error=FileMistake)
    dataset = DATASETS[name]
    if name not in SOURCES:
        raise FileMistake(
            f"table {name!r} is not on OpenML as its schema needs it; from {dataset.source}: "
            f"{dataset.obtain}"
        )
    assert dataset.filename is not None and dataset.sha256 is not None
    configured = os.environ.get("OPDISC_DATA")
    directory = Path(configured).expanduser() if configured else Path("data")
    target = directory / dataset.filename
    if target.exists():
        raise TableError(f"a download must not replace a file, but {target} exists; move it away")
    text = _matching(dataset, SOURCES[name], fetch(SOURCES[name].number))
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(f"the table's directory must exist, but {directory}: {reason}") from None
    atomic_write_text(target, text)
    return target


def _matching(dataset: Dataset, source: OpenMLSource, fetched: pd.DataFrame) -> str:
    """Return the text of the candidate with the known checksum."""
    try:
        for candidate in source.convert(fetched):
            text = table_text(candidate)
            if hashlib.sha256(text.encode("utf-8")).hexdigest() == dataset.sha256:
                return text
    except (TableError, ValueError):
        pass  # another shape or another word than documented: not the known table
    raise TableError(
        f"OpenML's table {source.number} must have the rows of {dataset.filename}, but its "
        f"SHA-256 after conversion is another; nothing was written: {dataset.obtain}"
    )


def _as_text(fetched: pd.DataFrame, columns: int, *, missing: str = "") -> pd.DataFrame:
    """Return cells as the known files spell them: whole numbers without a point."""
    if fetched.shape[1] != columns:
        raise TableError(f"the table must have {columns} columns, but it has {fetched.shape[1]}")
    return pd.DataFrame({i: _spelled(fetched.iloc[:, i], missing) for i in range(columns)})


def _spelled(cells: pd.Series[Any], missing: str) -> list[str]:
    absent = cells.isna().to_numpy(dtype=bool)
    pairs = zip(cells.astype(object), absent, strict=True)
    return [missing if gone else _spelled_cell(cell) for cell, gone in pairs]


def _spelled_cell(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell).strip().strip("'")


def _recoded(cells: pd.Series[Any], codes: Mapping[str, str]) -> list[str]:
    if not set(cells) <= set(codes):
        raise TableError("a cell has another word than documented")
    return [codes[cell] for cell in cells]
