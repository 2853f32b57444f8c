"""How often a card says "no" to everyone, by share of positive rows: docs/how-to/rare-outcomes.md.

Rows of one class are left out at random until the share is right. Columns printed: table, share,
rows, cards that say "no" to everyone, fits.
"""

import argparse

import numpy as np
import pandas as pd

from opdisc import PrivateScorecardClassifier, load_dataset, load_schema
from opdisc.data import canonical_text

SHARES = (0.05, 0.1, 0.2, 0.25, 0.3, 0.4)
ROWS = (500, 2500, 10_000)
MADE_UP = {
    "weak": (6, 0.5),
    "medium": (6, 1.0),
    "medium, 10 columns": (10, 1.0),
    "strong": (6, 2.0),
}
"""Columns, and the log odds that each of the first half of them adds."""
PUBLIC = {"census": ("adult", "adult-wide"), "mammography": ("mammo", "mammo")}


def made_up(columns, effect, n_rows, share, rng):
    """Return yes/no columns and labels drawn by a logistic model whose start gives the share."""
    table = rng.integers(0, 2, (n_rows, columns))
    odds = (table[:, : columns // 2] - 0.5).sum(axis=1) * effect
    low, high = -20.0, 20.0
    for _ in range(60):
        start = (low + high) / 2
        is_few = np.mean(1 / (1 + np.exp(-odds - start))) < share
        low, high = (start, high) if is_few else (low, start)
    return table, (rng.random(n_rows) < 1 / (1 + np.exp(-odds - low))).astype(int)


def thinned(table, column, positive, n_rows, share, rng):
    """Return so many rows of a table with that share of positive ones; None if it has too few."""
    is_positive = table[column].map(canonical_text) == canonical_text(positive)
    n_positive = round(n_rows * share)
    wanted = {True: n_positive, False: n_rows - n_positive}
    if any((is_positive == sign).sum() < count for sign, count in wanted.items()):
        return None
    parts = [
        table[is_positive == sign].sample(count, random_state=int(rng.integers(2**31)))
        for sign, count in wanted.items()
    ]
    return pd.concat(parts)


def says_no(model):
    """Return whether a fitted card gives everyone the negative label."""
    return model.verdict_.answer == model.schema_.target.negative


def fitted(name, n_rows, share, epsilon, rng):
    """Return a fitted card; None where the table has too few rows."""
    if name in MADE_UP:
        table, labels = made_up(*MADE_UP[name], n_rows, share, rng)
        return PrivateScorecardClassifier(epsilon=epsilon, classes=(0, 1)).fit(table, labels)
    dataset, schema = PUBLIC[name]
    target = load_schema(schema).target
    part = thinned(load_dataset(dataset), target.column, target.positive, n_rows, share, rng)
    if part is None:
        return None
    model = PrivateScorecardClassifier(epsilon=epsilon, schema=schema)
    return model.fit(part.drop(columns=target.column), part[target.column])


def main():
    """Print a line for each table, share and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=4)
    chosen = parser.parse_args()
    rng = np.random.default_rng(1)
    for name in (*MADE_UP, *PUBLIC):
        for n_rows in ROWS:
            for share in SHARES:
                found = []
                for _ in range(chosen.repeats):
                    model = fitted(name, n_rows, share, chosen.epsilon, rng)
                    found += [] if model is None else [says_no(model)]
                if found:
                    print(f"{name}\t{share:g}\t{n_rows}\t{sum(found)}\t{len(found)}", flush=True)


if __name__ == "__main__":
    main()
