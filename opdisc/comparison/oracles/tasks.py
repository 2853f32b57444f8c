"""The tasks on which oracles are compared: census tables, breast_cancer, tables of plain columns.

All tables are public. The perturbation has the law of the one-hot mechanism's noise, rounded to
multiples of 2**-10 rows, from a seeded generator: these are instances, not releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from opdisc.arguments import check_choice
from opdisc.data import encode, find_dataset, load_dataset, load_schema
from opdisc.errors import TableError
from oracles.arithmetic import IntArray
from oracles.problem import Perturbation, WeightGrid, ZeroOneProblem

UNIT = 2.0**-10
"""Spacing of the perturbation, rows."""

TASKS = ("small", "16", "wide", "breast-cancer")
"""Seven columns, 15 columns, 30 one-hot columns of the census table; 30 of breast_cancer."""

PLAIN_TASKS = (
    "adult-binary",
    "german",
    "mammo",
    "breastcancer",
    "breast-cancer",
    "breast-cancer-2",
    "breast-cancer-3",
    "small",
    "16",
    "wide",
)
"""Real tables of many plain columns, and the census tasks for comparison; breast_cancer at its
medians, and at two and three thresholds a feature."""

_SCHEMAS = {"small": "adult-small", "wide": "adult-wide31"}

_TABLES = {
    "adult-binary": "adult_binary",
    "german": "german",
    "mammo": "mammo",
    "breastcancer": "breastcancer",
}
"""Each table's schema."""

_THRESHOLDS = {"breast-cancer": 1, "breast-cancer-2": 2, "breast-cancer-3": 3}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OracleTask:
    """Distinct points, an intercept among their columns, and the counts of their labels.

    Parameters
    ----------
    name : str
        One of :data:`TASKS` or :data:`PLAIN_TASKS`.
    points : ndarray of int64, shape (m, d)
        Distinct encoded rows.
    positives, negatives : ndarray of int64, shape (m,)
        How many rows of each label each stands for.
    """

    name: str
    points: IntArray
    positives: IntArray
    negatives: IntArray


def available_tasks() -> tuple[str, ...]:
    """Return the tasks whose tables are here: without adult.csv only "breast-cancer"."""
    return tuple(name for name in TASKS if _is_here(name))


def available_plain_tasks() -> tuple[str, ...]:
    """Return the plain tasks whose tables are here."""
    return tuple(name for name in PLAIN_TASKS if _is_here(name))


def _is_here(name: str) -> bool:
    if name in _THRESHOLDS:
        return True
    try:
        find_dataset(name if name in _TABLES else "adult")
    except TableError:
        return False
    return True


def load_task(name: str) -> OracleTask:
    """Return a task.

    Parameters
    ----------
    name : str
        One of :data:`TASKS` or :data:`PLAIN_TASKS`.

    Raises
    ------
    TableError
        If its table is missing or the name is unknown.
    """
    check_choice("task", name, dict.fromkeys((*TASKS, *PLAIN_TASKS)), error=TableError)
    if name in _THRESHOLDS:
        from sklearn.datasets import load_breast_cancer

        features, labels = load_breast_cancer(return_X_y=True)
        n = _THRESHOLDS[name]
        cuts = np.quantile(features, np.arange(1, n + 1) / (n + 1), axis=0)
        above = np.concatenate([features > cut for cut in cuts], axis=1)
        return _aggregated(name, above, labels == 0)
    if name in _TABLES:
        return _encoded(name, load_dataset(name), _TABLES[name])
    table = load_dataset("adult-balanced")
    if name in _SCHEMAS:
        return _encoded(name, table, _SCHEMAS[name])
    return _aggregated(
        name, _fifteen_columns(table), table["income-per-year"].str.strip().str.startswith(">")
    )


def task_problem(task: OracleTask, bound: int, epsilon: float | None, seed: int) -> ZeroOneProblem:
    """Return an instance: a task, a grid and one draw of the noise.

    Parameters
    ----------
    task : OracleTask
        The points.
    bound : int
        Weights run from ``-bound`` to ``bound``.
    epsilon : float or None
        Privacy loss that the noise would buy, replace-one; None: no noise.
    seed : int
        Seed of the noise.
    """
    d = task.points.shape[1]
    perturbation = None
    if epsilon is not None:
        generator = np.random.default_rng([seed, 17])
        drawn = generator.exponential(2 * d / epsilon, (d, 2 * bound + 1))
        tables = np.rint(drawn / UNIT).astype(np.int64)
        perturbation = Perturbation.separable(list(tables), unit=UNIT)
    return ZeroOneProblem(
        points=task.points,
        positives=task.positives,
        negatives=task.negatives,
        grid=WeightGrid.box(d, bound),
        perturbation=perturbation,
    )


def _encoded(name: str, table: pd.DataFrame, schema: str) -> OracleTask:
    data = encode(table, load_schema(schema))
    points = data.points.astype(np.int64)
    return OracleTask(name=name, points=points, positives=data.positives, negatives=data.negatives)


def _aggregated(name: str, columns: ArrayLike, positive: Any) -> OracleTask:
    """Put the intercept first and merge equal rows."""
    rows = np.asarray(columns, dtype=np.int64)
    rows = np.column_stack([np.ones(len(rows), dtype=np.int64), rows])
    points, inverse = np.unique(rows, axis=0, return_inverse=True)
    counts = np.zeros((2, len(points)), dtype=np.int64)
    np.add.at(counts, (np.asarray(positive, dtype=np.int64), inverse.ravel()), 1)
    return OracleTask(name=name, points=points, positives=counts[1], negatives=counts[0])


def _fifteen_columns(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Return yes/no columns that overlap: no attribute's columns exclude each other."""
    text = table.apply(lambda column: column.astype(str).str.strip())
    job, family, work = text["occupation"], text["marital-status"], text["workclass"]
    education, age = pd.to_numeric(text["education-num"]), pd.to_numeric(text["age"])
    columns = [
        family == "Married-civ-spouse",
        text["sex"] == "Male",
        education >= 13,
        age >= 37,
        pd.to_numeric(text["hours-per-week"]) > 40,
        pd.to_numeric(text["capital-gain"]) > 0,
        job.isin(["Exec-managerial", "Prof-specialty"]),
        education >= 10,
        education >= 14,
        family == "Never-married",
        job == "Exec-managerial",
        job.isin(["Other-service", "Handlers-cleaners", "Farming-fishing", "Priv-house-serv"]),
        pd.to_numeric(text["capital-loss"]) > 0,
        work.isin(["Self-emp-inc", "Self-emp-not-inc"]),
        age >= 50,
    ]
    return np.column_stack(columns)
