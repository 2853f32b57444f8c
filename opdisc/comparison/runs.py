"""One run: split, fit, evaluate, and the row that says what happened.

A comparison also records the versions that took part.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from opdisc.comparison.measures import measured
from opdisc.comparison.methods import Family, FitTask, Fitted
from opdisc.comparison.plan import Plan, Run, parse_method
from opdisc.comparison.source import Source, split_rows, training_rows
from opdisc.data import Schema, with_error_costs
from opdisc.errors import OPDiscError
from opdisc.planning import compile_kernels
from opdisc.privacy import NeighboringRelation, delta_conditions
from oracles.arithmetic import IntArray
from oracles.errors import OracleError
from oracles.interface import observed_solves
from oracles.problem import ErrorCosts

Row = dict[str, Any]

_TOY_COLUMNS, _TOY_ROWS = 5, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all runs of a comparison share; small enough to travel with each.

    Parameters
    ----------
    plan : Plan
        The plan.
    dataset, schema_name, schema_digest : str
        Which table and schema.
    n_rows : int
        Labelled rows.
    error_costs : ErrorCosts
        What a mistake costs, by the schema.
    n_classes : int
        Declared classes.
    """

    plan: Plan
    dataset: str
    schema_name: str
    schema_digest: str
    n_rows: int
    error_costs: ErrorCosts = ErrorCosts()
    n_classes: int = 2

    @property
    def n_train(self) -> int:
        """Return the number of training rows of each split."""
        return training_rows(self.n_rows, self.plan.test_fraction)

    @property
    def delta(self) -> float:
        """Return the delta of methods that need one."""
        return float(self.n_train) ** -2 if self.plan.delta is None else self.plan.delta


def setting_of(plan: Plan, source: Source) -> Setting:
    """Return what the runs of a plan on a table share."""
    return Setting(
        plan=plan,
        dataset=source.dataset,
        schema_name=source.schema.name,
        schema_digest=source.schema.digest(),
        n_rows=len(source.table),
        error_costs=source.schema.error_costs,
        n_classes=len(source.schema.labels),
    )


def blank_row(run: Run, setting: Setting) -> Row:
    """Return a row with every field, filled with what is known before the run."""
    method, bound = parse_method(run.method)
    plan = setting.plan
    title = method.title if bound is None else f"{method.title}, points -{bound}..{bound}"
    return {
        "run_id": run.run_id,
        "dataset": setting.dataset,
        "schema": setting.schema_name,
        "schema_digest": setting.schema_digest,
        "n_rows": setting.n_rows,
        "n_train": setting.n_train,
        "n_test": setting.n_rows - setting.n_train,
        **({} if setting.n_classes == 2 else {"n_classes": setting.n_classes}),
        "method": run.method,
        "title": title,
        "family": method.family,
        "private": method.private,
        "tuning": method.tuning,
        "parameters": {},
        "epsilon": run.epsilon,
        "delta": setting.delta if method.private else None,
        "relation": plan.relation if method.private else None,
        "weight_bound": run.weight_bound,
        "oracle": run.oracle,
        "repeat": run.repeat,
        "split_seed": run.split_seed,
        "evaluation": "held-out" if plan.test_fraction > 0 else "training",
        "status": "failed",
        "error": None,
        **dict.fromkeys(
            f"{part}_{measure}"
            for part in ("train", "test")
            for measure in ("accuracy", "balanced_accuracy", "auc", "brier")
        ),
        **({} if setting.error_costs.are_equal else {"train_cost": None, "test_cost": None}),
        "roc": None,
        "calibration": None,
        "train_errors": None,
        "optimum_errors": None,
        "seconds": None,
        "solve_seconds": None,
        "guarantee": None,
        "conditions": [],
        "label": None,
        "theorem": None,
        "receipt_digest": None,
        "receipt": None,
        "scorecard": None,
        "scorecard_data": None,
        "versions": {},
    }


def failed_row(
    run: Run, setting: Setting, error: str, *, status: str = "failed", seconds: float | None
) -> Row:
    """Return the row of a run that ended without a model.

    Parameters
    ----------
    run, setting : Run, Setting
        Which run.
    error : str
        One sentence.
    status : str
        "failed" or "time limit".
    seconds : float or None
        How long it took.
    """
    row = blank_row(run, setting)
    return row | {"status": status, "error": error, "seconds": seconds}


def execute(run: Run, setting: Setting, source: Source) -> Row:
    """Fit and evaluate; whatever goes wrong becomes part of the row.

    Returns
    -------
    dict
        Every field of :func:`blank_row`, as JSON types. ``seconds`` is the fit alone, and of it
        ``solve_seconds`` what oracles took, one after another.
    """
    started = time.perf_counter()
    try:
        return _executed(run, setting, source)
    except MemoryError:
        reason = "the run needed more memory than there is."
    except BaseException as error:
        reason = describe(error)
    return failed_row(run, setting, reason, seconds=time.perf_counter() - started)


def warm_up(run: Run, setting: Setting) -> None:
    """Have a run's compiled code loaded, so that no run's seconds count that.

    Every default draw and the method itself run once on toys: neither the table nor its grid nor
    the budget of the run is involved, so how long this takes depends on the machine only.
    """
    _compile_once()
    method = parse_method(run.method)[0]
    names = [f"c{column}" for column in range(_TOY_COLUMNS)]
    schema = Schema.from_dict(
        {
            "name": "toy",
            "target": {"column": "label", "positive": 1, "negative": 0},
            "feature": [{"column": name, "binary": True} for name in names],
        }
    )
    bits = np.arange(_TOY_ROWS)[:, None] >> np.arange(_TOY_COLUMNS) & 1
    table = pd.DataFrame(bits, columns=names).assign(label=bits[:, 0])
    toy = Source(dataset="toy", table=table, schema=schema)
    small = replace(run, epsilon=None if run.epsilon is None else 1.0, weight_bound=1)
    rows = np.arange(_TOY_ROWS)
    with suppress(Exception):
        method.fit(_task(small, setting, toy, rows, rows[:0], method.family))


@cache
def _compile_once() -> None:
    compile_kernels()


def describe(error: BaseException) -> str:
    """Return an error as one sentence without a cell of the table.

    Messages of this package hold no cell. Of a foreign one only its type and place are told.
    """
    if isinstance(error, OPDiscError | OracleError | ImportError):
        text = " ".join(str(error).split()) or type(error).__name__
        return text if text.endswith(".") else text + "."
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {frames[-1].name} ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"an unexpected {type(error).__name__}{place}."


def _executed(run: Run, setting: Setting, source: Source) -> Row:
    plan = setting.plan
    method, _ = parse_method(run.method)
    train, test = split_rows(source, plan.test_fraction, run.split_seed)
    task = _task(run, setting, source, train, test, method.family)
    started = time.perf_counter()
    with observed_solves() as solves:
        fitted = method.fit(task)
    # A peer times its own fit: starting its interpreter is not its work.
    seconds = fitted.parameters.get("fit_seconds", time.perf_counter() - started)
    versions = {**package_versions(), **fitted.parameters.get("peer_versions", {})}
    row = blank_row(run, setting)
    row |= {"status": "ok", "seconds": float(seconds), "versions": versions}
    if solves:
        row["solve_seconds"] = float(sum(cost.seconds for cost in solves))
    row["parameters"] = dict(fitted.parameters)
    if fitted.scorecard is not None:
        row |= {"scorecard": str(fitted.scorecard), "scorecard_data": fitted.scorecard.to_dict()}
    if fitted.scorecards:
        numbered = enumerate(fitted.scorecards, 1)
        row["scorecard"] = "\n\n".join(f"Card {number}: {card}" for number, card in numbered)
    row |= _privacy(fitted, row)
    row |= measured(fitted, task.table, source.schema, "train")
    if len(task.test):
        row |= {"roc": None, **measured(fitted, task.test, source.schema, "test")}
    plain: Row = json.loads(json.dumps(row, default=_plain, allow_nan=False))
    return plain


def _task(
    run: Run,
    setting: Setting,
    source: Source,
    train: IntArray,
    test: IntArray,
    family: Family,
) -> FitTask:
    plan = setting.plan
    schema = source.schema
    if family in ("convex", "peer"):  # their losses count every mistake alike
        schema = with_error_costs(schema, ErrorCosts())
    return FitTask(
        table=source.table.iloc[train].reset_index(drop=True),
        test=source.table.iloc[test].reset_index(drop=True),
        schema=schema,
        error_costs=source.schema.error_costs,
        epsilon=run.epsilon,
        delta=setting.delta,
        relation=NeighboringRelation(plan.relation),
        weight_bound=run.weight_bound or plan.weight_bound,
        oracle=run.oracle or "auto",
        time_limit=plan.time_limit,
        patience=plan.patience,
        prior=plan.prior,
        pilot=plan.pilot,
        seed=run.seed,
        noise_seed=run.noise_seed,
        peers=plan.peers,
    )


def _privacy(fitted: Fitted, row: Row) -> Row:
    if fitted.receipt is None:
        delta = row["delta"] if fitted.delta is None else fitted.delta
        large: tuple[str, ...] = ()
        if delta is not None and fitted.guarantee in ("HOLDS", "CONDITIONAL"):
            public = row["relation"] == NeighboringRelation.REPLACE_ONE.value
            large = delta_conditions(delta, row["n_train"] if public else None)
        return {
            "delta": delta,
            "guarantee": "CONDITIONAL" if large else fitted.guarantee,
            "conditions": [*large, *fitted.conditions],
            "label": fitted.label,
            "theorem": fitted.theorem,
            **({} if fitted.unit is None else {"unit": fitted.unit}),
        }
    receipt = fitted.receipt.to_dict()
    return {
        "delta": receipt["delta"],
        "guarantee": receipt["guarantee"],
        "conditions": [*receipt["conditions"], *fitted.conditions],
        "label": receipt["calibration"],
        "theorem": receipt["theorem"],
        "receipt": receipt,
        "receipt_digest": receipt_digest(receipt),
    }


def receipt_digest(receipt: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of a receipt's canonical JSON."""
    text = json.dumps(receipt, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> Any:
    """Return a numpy value as a JSON type."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    return str(value)


_PACKAGES = ("opdisc", "numpy", "scipy", "pandas", "scikit-learn", "numba", "highspy")


@cache
def package_versions() -> dict[str, str]:
    """Return the versions that took part in a run."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
