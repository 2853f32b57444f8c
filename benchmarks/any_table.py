"""Fit random tables by defaults, and compare what was predicted with what it took.

``--schemas N`` draws N schemas of 1 to 200 columns of every kind, 10 to 100,000 rows and epsilon
from 1e-3 to 1e3, fits each in a worker, and prints a line of JSON per schema: what was predicted,
what was measured (processor seconds of all threads, and peak memory above an idle worker). The constants of ``opdisc/planning/effort/work.py`` are calibrated on these
lines and on ``--real``, the tables of docs/peers.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from opdisc.data import Schema

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
