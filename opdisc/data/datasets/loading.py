"""Known public tables and shipped schemas: where they are, or how to obtain them.

No table is shipped. Files are looked for in the directory of the environment variable
``OPDISC_DATA``, then in ``./data``. Schemas are shipped, as TOML files.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from opdisc.arguments import check_choice
from opdisc.data.datasets.registry import DATASETS, Dataset
from opdisc.data.datasets.schemas import load_schema, schema_path
from opdisc.data.reading import read_table, with_declared_dtypes
from opdisc.data.schema import Schema
from opdisc.errors import FileMistake, TableError

_BALANCED = "adult-balanced"

Status: TypeAlias = Literal["available", "bundled", "missing", "unreadable", "checksum differs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetListing:
    """A known table and what was found of it here.

    Parameters
    ----------
    dataset : Dataset
        The table.
    status : str
        "available", "bundled" (with scikit-learn), "missing", "unreadable", or "checksum differs"
        (another version of the file, which loads all the same).
    path : Path or None
        The file found.
    """

    dataset: Dataset
    status: Status
    path: Path | None


def list_datasets() -> tuple[DatasetListing, ...]:
    """Return every known table with what is found of it here, checksums compared."""
    return tuple(_listing(dataset) for dataset in DATASETS.values())


def find_dataset(name: str) -> Path:
    """Find the file of a known table.

    Parameters
    ----------
    name : str
        A key of :data:`DATASETS`; "adult-balanced" is derived from the file of "adult".

    Returns
    -------
    Path

    Raises
    ------
    TableError
        If the name is unknown, the table has no file, or the file is not there; then the message
        says how to obtain it.
    """
    dataset = _known(name)
    if dataset.filename is None:
        raise FileMistake(f"table {name!r} has no file, since scikit-learn bundles it; load it")
    path = _search(dataset.filename)
    if path is None:
        raise TableError(
            f"table {name!r} needs the file {dataset.filename}, which is neither in the directory "
            f"of OPDISC_DATA nor in ./data; from {dataset.source}, {dataset.obtain}, and set "
            "OPDISC_DATA to its directory"
        )
    return path


def load_dataset(name: str) -> pd.DataFrame:
    """Load a known table.

    Parameters
    ----------
    name : str
        A key of :data:`DATASETS`.

    Returns
    -------
    DataFrame
        Text cells as in the file; of "breast-cancer", floats and the text label "diagnosis".

    Raises
    ------
    TableError
        If the name is unknown, or the file is not there or not readable.
    """
    if _known(name).filename is None:
        return _bundled_breast_cancer()
    table = read_table(find_dataset(name))
    return balanced_adult(table) if name == _BALANCED else table


def load_comparison_dataset(name: str) -> tuple[pd.DataFrame, Schema]:
    """Load a table together with one shipped schema that fits it.

    Parameters
    ----------
    name : str
        A shipped schema, "-" and "_" being the same. The census schemas take the balanced table,
        as the literature does.

    Returns
    -------
    table : DataFrame
        Raw rows, target included.
    schema : Schema

    Raises
    ------
    SchemaError
        If no shipped schema has that name.
    TableError
        If the table's file is not there; the message says how to obtain it.
    """
    stem = schema_path(name).stem
    fitting = [dataset.name for dataset in DATASETS.values() if stem in dataset.schemas]
    return load_dataset(_BALANCED if _BALANCED in fitting else fitting[0]), load_schema(stem)


def balanced_adult(adult: pd.DataFrame) -> pd.DataFrame:
    """Derive the balanced census table from the full one.

    Every positive row in order, then as many negative rows drawn without replacement by
    ``numpy.random.default_rng(0)``. This is a public preparation of a public table; drawing rows
    from a private table is not a map of one row and has no place in a fit.

    Raises
    ------
    TableError
        If the label column is missing or the positives outnumber the negatives.
    """
    if "income-per-year" not in adult.columns:
        raise TableError("the census table must have the column 'income-per-year'; add its header")
    positive = (adult["income-per-year"].str.strip() == ">50K").to_numpy(dtype=bool)
    positives, negatives = np.flatnonzero(positive), np.flatnonzero(~positive)
    if len(positives) > len(negatives):
        raise TableError("the census table must have no more positive rows than negative ones")
    drawn = np.random.default_rng(0).choice(negatives, len(positives), replace=False)
    return adult.iloc[np.concatenate([positives, drawn])].reset_index(drop=True)


def _known(name: str) -> Dataset:
    check_choice("a table", name, DATASETS, error=FileMistake)
    return DATASETS[name]


def _search(filename: str) -> Path | None:
    configured = os.environ.get("OPDISC_DATA")
    directories = [Path(configured).expanduser()] if configured else []
    for directory in (*directories, Path("data")):
        if (directory / filename).is_file():
            return directory / filename
    return None


def _listing(dataset: Dataset) -> DatasetListing:
    if dataset.filename is None:
        return DatasetListing(dataset=dataset, status="bundled", path=None)
    path = _search(dataset.filename)
    if path is None:
        return DatasetListing(dataset=dataset, status="missing", path=None)
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return DatasetListing(dataset=dataset, status="unreadable", path=path)
    status: Status = "available" if found == dataset.sha256 else "checksum differs"
    return DatasetListing(dataset=dataset, status=status, path=path)


def _bundled_breast_cancer() -> pd.DataFrame:
    # Imported here: it takes longer than everything else in this module together.
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer(as_frame=True)
    names = np.asarray(bunch.target_names)
    diagnosis = pd.Series(names[bunch.target.to_numpy()], name="diagnosis", dtype="str")
    features: pd.DataFrame = bunch.data
    return with_declared_dtypes(pd.concat([features, diagnosis], axis=1))
