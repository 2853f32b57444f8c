"""Fit random tables by defaults, and compare what was predicted with what it took.

``--schemas N`` draws N schemas of 1 to 200 columns of every kind, 10 to 100,000 rows and epsilon
from 1e-3 to 1e3, and fits each by defaults in a process of its own. A line of JSON per schema says
what was predicted and what was measured: processor seconds of all threads, seconds on the clock,
and peak memory above an idle process. ``--real`` fits the tables of docs/peers.md instead, and
``--wide`` one of 1,000 columns and 100,000 rows. The constants of
``opdisc/planning/work.py`` are upper ends of these lines. A schema takes 1 to 20 s.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

from opdisc import PrivateScorecardClassifier
from opdisc.data import Schema, column_structure, load_dataset, load_schema
from opdisc.errors import TableError
from opdisc.mechanisms import Work
from opdisc.planning import (
    CardRequest,
    MechanismSettings,
    compile_kernels,
    decide_card,
    predict_work,
)
from opdisc.privacy import NeighboringRelation, PrivacyParams, PublicInputs

REAL = (
    ("adult-balanced", "adult-small"),
    ("adult-balanced", "adult-wide"),
    ("adult-binary", "adult_binary"),
    ("german", "german"),
    ("mammo", "mammo"),
    ("breastcancer", "breastcancer"),
)

EPSILONS = (0.01, 0.1, 1.0)

FLOOR_SECONDS = 2.0
"""Shorter predictions are not held against a fit: a busy machine takes that much for nothing."""

MOST_ROWS, MOST_EPSILON = 100_000, 1e3


def random_schema(rng: np.random.Generator, n_columns: int) -> Schema:
    """Return a schema of about so many encoded columns of mixed kinds."""
    features: list[dict[str, Any]] = []
    left, kinds = n_columns, rng.dirichlet(np.ones(3))
    while left:
        column = f"c{len(features)}"
        kind = rng.choice(["yes or no", "thresholds", "categories"], p=kinds)
        size = int(min(left, 1 + rng.geometric(0.3)))
        if kind == "yes or no" or left == 1:
            size = 1
            features.append({"column": column, "binary": True})
        elif kind == "thresholds":
            cuts = sorted(rng.choice(99, size, replace=False) + 1)
            features.append({"column": column, "thresholds": [int(cut) for cut in cuts]})
        else:
            features.append({"column": column, "categories": [f"v{k}" for k in range(size)]})
        if rng.random() < 0.1:
            features[-1]["sign"] = str(rng.choice(["positive", "negative"]))
        left -= size
    target = {"column": "label", "positive": 1, "negative": 0}
    return Schema.from_dict({"name": "random", "target": target, "feature": features})


def random_table(rng: np.random.Generator, schema: Schema, n_rows: int) -> pd.DataFrame:
    """Return a table of a schema, its labels between a linear rule and fair coins."""
    columns: dict[str, Any] = {}
    score = np.zeros(n_rows)
    for feature in schema.to_dict()["feature"]:
        if "categories" in feature:
            size = len(feature["categories"])
            codes = rng.choice(size, n_rows, p=rng.dirichlet(np.ones(size)))
            cells = np.array([f"v{k}" for k in range(size)])[codes]
            score += rng.normal(size=size)[codes]
        elif "thresholds" in feature:
            cells = rng.integers(0, 101, n_rows)
            score += rng.normal() * (cells > rng.integers(0, 101))
        else:
            cells = (rng.random(n_rows) < rng.uniform(0.02, 0.98)).astype(np.int64)
            score += rng.normal() * cells
        columns[feature["column"]] = cells
    noise = rng.choice([0.1, 1.0, 30.0]) * np.sqrt(len(columns))
    label = (score + rng.normal(size=n_rows) * noise > np.median(score)).astype(np.int64)
    label[:2] = 0, 1
    columns["label"] = label
    return pd.DataFrame(columns)


def random_case(seed: int, most_columns: int = 200) -> tuple[Schema, int, float]:
    """Return a schema, a number of rows and an epsilon."""
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 31 if rng.random() < 0.5 else most_columns + 1))
    schema = random_schema(rng, n_columns)
    n_rows = int(10 ** rng.uniform(1, np.log10(MOST_ROWS)))
    return schema, n_rows, float(10 ** rng.uniform(-3, np.log10(MOST_EPSILON)))


def predicted(schema: Schema, n_rows: int, epsilon: float) -> tuple[str, Work | None]:
    """Return what a fit by defaults would draw by, and what it is expected to take."""
    structure = column_structure(schema)
    request = CardRequest(schema=schema, settings=MechanismSettings(structure=structure))
    public = PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        n_rows=n_rows,
    )
    found = decide_card(request, public).settled
    return type(found.mechanism).__name__, predict_work(found.mechanism, found.public, structure)


def measured(schema: Schema, table: pd.DataFrame, epsilon: float) -> dict[str, Any]:
    """Fit in a process of its own; say what it took, or which error it ended with."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        began, clock = time.process_time(), time.perf_counter()
        record: dict[str, Any] = {}
        try:
            held = _peak_bytes(reset=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = PrivateScorecardClassifier(epsilon=epsilon, schema=schema)
                model.fit(table, table[schema.target.column])
            record["mechanism"] = model.receipt_.mechanism
            record["memory"] = _peak_bytes() - held
        except Exception as error:
            record["error"] = f"{type(error).__name__}: {error}"[:300]
        record["seconds"] = round(time.process_time() - began, 3)
        record["clock"] = round(time.perf_counter() - clock, 3)
        os.write(theirs, json.dumps(record).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"error": "the process ended without a word"}


def _peak_bytes(*, reset: bool = False) -> int:
    """Return the largest memory of this process so far, from now on if it is reset."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        peak = next(line for line in file if line.startswith("VmHWM"))
    return int(peak.split()[1]) * 1024


def wide_table(n_columns: int, n_rows: int) -> tuple[Schema, pd.DataFrame]:
    """Return yes-or-no columns of one byte each, five of which say something of the label."""
    rng = np.random.default_rng(0)
    cells = np.empty((n_rows, n_columns), dtype=np.int8)
    for column in range(n_columns):
        cells[:, column] = rng.random(n_rows) < rng.uniform(0.05, 0.95)
    score = cells[:, :5] @ np.array([1, -1, 1, 1, -1]) + rng.normal(size=n_rows)
    features = [{"column": f"c{k}", "binary": True} for k in range(n_columns)]
    target = {"column": "label", "positive": 1, "negative": 0}
    schema = Schema.from_dict({"name": "wide", "target": target, "feature": features})
    table = pd.DataFrame(cells, columns=list(schema.columns), copy=False)
    return schema, table.assign(label=(score > 0.5).astype(np.int8))


def compared(schema: Schema, table: pd.DataFrame, epsilon: float) -> dict[str, Any]:
    """Return what was predicted beside what was measured."""
    began = time.process_time()
    name, work = predicted(schema, len(table), epsilon)
    record: dict[str, Any] = {
        "columns": schema.n_columns,
        "rows": len(table),
        "epsilon": float(f"{epsilon:.3g}"),
        "class": name.removesuffix("Mechanism"),
        "planning": round(time.process_time() - began, 3),
    }
    if work is not None:
        record |= {"predicted": round(work.seconds, 3), "predicted_memory": round(work.memory)}
    record |= measured(schema, table, epsilon)
    if work is not None and "seconds" in record:
        record["ratio"] = round(record["seconds"] / max(work.seconds, FLOOR_SECONDS), 3)
    return record


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemas", type=int, default=0)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--most-columns", type=int, default=200)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--wide", action="store_true")
    arguments = parser.parse_args()
    compile_kernels()
    worst: dict[str, Any] = {}
    errors = fits = 0

    def said(record: dict[str, Any]) -> None:
        nonlocal worst, errors, fits
        print(json.dumps(record), flush=True)
        fits += 1
        errors += "error" in record
        worst = max(worst, record, key=lambda item: item.get("ratio", 0.0))

    for seed in range(arguments.first_seed, arguments.first_seed + arguments.schemas):
        schema, n_rows, epsilon = random_case(seed, arguments.most_columns)
        table = random_table(np.random.default_rng((seed, 1)), schema, n_rows)
        said({"seed": seed} | compared(schema, table, epsilon))
    if arguments.wide:
        said(compared(*wide_table(1000, 100_000), 1.0))
    for dataset, name in REAL if arguments.real else ():
        try:
            table = load_dataset(dataset)
        except TableError as error:
            print(error)
            continue
        for epsilon in EPSILONS:
            said({"schema": name} | compared(load_schema(name), table, epsilon))
    print(json.dumps({"fits": fits, "errors": errors, "worst": worst}))


if __name__ == "__main__":
    main()
