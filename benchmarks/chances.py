"""How good are chances: those of a logistic scorecard, bought rates, and logistic regression.

For each table and way, means over 70/30 splits of held-out rows, at epsilon 1: Brier score, how
far chances are off (rows in ten groups of equal size by chance, mean distance between a group's
mean chance and its share of positives), area under the ROC curve, accuracy. The last way is
scikit-learn without privacy. About five minutes.

    OPDISC_DATA=... python benchmarks/chances.py --splits 15
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from result_files import save
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from splits import split_rows

from opdisc import PrivateLogisticRegression, PrivateScorecardClassifier, Schema
from opdisc.data import encode_features, encode_label_values, load_comparison_dataset

TABLES = ("german", "mammo", "breastcancer", "adult-binary")

EPSILON = 1.0

_GROUPS = 10


def ways(
    learned: pd.DataFrame, held: pd.DataFrame, schema: Schema
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each way and its chances of the positive label, shape (n,)."""
    labels = learned[schema.target.column]
    common = {"epsilon": EPSILON, "schema": schema}
    for name, model in (
        ("logistic scorecard", PrivateScorecardClassifier(mechanism="logistic", **common)),
        (
            "default card, rates bought by a fifth",
            PrivateScorecardClassifier(risk_budget=0.2, **common),
        ),
        ("logistic regression, hull noise", PrivateLogisticRegression(**common)),
    ):
        model.fit(learned, labels)
        last = list(model.classes_).index(schema.classes[1])
        yield name, model.predict_proba(held)[:, last]
    plain = LogisticRegression(max_iter=10_000)
    plain.fit(encode_features(learned, schema)[:, 1:], encode_label_values(labels, schema))
    yield "no privacy", plain.predict_proba(encode_features(held, schema)[:, 1:])[:, 1]


def off_by(chances: np.ndarray, positive: np.ndarray) -> float:
    """Return the mean distance between chances and shares in groups of equal size."""
    groups = np.array_split(np.argsort(chances, kind="stable"), _GROUPS)
    distances = [abs(chances[rows].mean() - positive[rows].mean()) for rows in groups]
    return float(np.average(distances, weights=[len(rows) for rows in groups]))


def figures(chances: np.ndarray, positive: np.ndarray) -> tuple[float, ...]:
    """Return Brier score, distance, area and accuracy."""
    return (
        float(brier_score_loss(positive, chances)),
        off_by(chances, positive),
        float(roc_auc_score(positive, chances)),
        float(((chances >= 0.5) == positive).mean()),
    )


def main() -> None:
    """Print, and save, a line for each table and way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name in TABLES:
        table, schema = load_comparison_dataset(name)
        found: dict[str, list[tuple[float, ...]]] = {}
        for split in range(arguments.splits):
            learned, held = (table.iloc[part] for part in split_rows(len(table), split))
            positive = encode_label_values(held[schema.target.column], schema) > 0
            for way, chances in ways(learned, held, schema):
                found.setdefault(way, []).append(figures(chances, positive))
        for way, measured in found.items():
            means = [f"{mean:.3f}".removeprefix("0") for mean in np.mean(measured, axis=0)]
            rows.append((name, way, *means))
            print("  ".join(rows[-1]), flush=True)
    save(
        arguments.save,
        ("table", "chances of", "Brier", "off by", "AUC", "accuracy"),
        rows,
        align="llrrrr",
        compared=f"{arguments.splits} splits, the same for every way; epsilon 1.",
    )


if __name__ == "__main__":
    main()
