"""How much is a public start worth, and how wrong may it be: logistic scorecards from 60 rows.

For each table and kind of start, means over 70/30 splits of the held-out rows' accuracy: the start
alone, and the card drawn around it at each epsilon. Starts are plain logistic regression on 60
rows that are taken out of the learned ones: as they are, as whole points without odds, with a
share of their labels flipped, with labels from coins, or from another population (people of 22 to
29, the rows then being the others). Five minutes with 8 splits.

    OPDISC_DATA=... python benchmarks/starts.py --splits 8
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from result_files import save
from splits import split_rows

from opdisc import PrivateScorecardClassifier, Schema
from opdisc.convex import CONSTANT, start_from
from opdisc.data import encode_features, load_comparison_dataset

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)

PILOT = 60

POINTS = "60 rows, as points of -5 to 5"

TABLES = ("german", "mammo", "breastcancer", "adult-binary")

_YOUNG = "Age_22_to_29"

Pilot = Callable[[pd.DataFrame, np.random.Generator], tuple[pd.DataFrame | None, pd.DataFrame]]
"""From learned rows to public ones, if there are any, and the rest."""


def flipped(share: float, schema: Schema) -> Pilot:
    """Return what takes out 60 rows and flips a share of their labels."""
    target, (negative, positive) = schema.target.column, schema.classes

    def take(rows: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        pilot, rest = rows.iloc[:PILOT].copy(), rows.iloc[PILOT:]
        turned = rng.random(PILOT) < share
        other = pilot[target].astype(str).map({str(negative): positive, str(positive): negative})
        pilot[target] = pilot[target].where(~turned, other)
        return pilot, rest

    return take


def young(rows: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take out 60 rows of people of 22 to 29; the rest are those of all others."""
    is_young = rows[_YOUNG].astype(int) == 1
    return rows[is_young].iloc[:PILOT], rows[~is_young]


def as_points(pilot: pd.DataFrame, schema: Schema) -> dict[str, int]:
    """Return a published score: weights of the rows as points of -5 to 5, whatever they stand for.

    A total of 1 or more is the positive label.
    """
    start = start_from(None, pilot, schema)
    assert start is not None
    weights = np.array(list(map(float, start.weights)))
    unit = np.abs(weights[1:]).max() / 5
    points = np.rint(weights / unit).astype(int).tolist()
    return {CONSTANT: points[0] + 1, **dict(zip(schema.column_names, points[1:], strict=True))}


def others(rows: pd.DataFrame, rng: np.random.Generator) -> tuple[None, pd.DataFrame]:
    """Take out no row, and leave those of all others."""
    return None, rows[rows[_YOUNG].astype(int) == 0]


def starts(name: str, schema: Schema) -> Iterator[tuple[str, Pilot | None]]:
    """Yield each kind of start of a table; None for no start."""
    yield "none", None
    yield POINTS, flipped(0.0, schema)
    for share in (0.0, 0.1, 0.2, 0.3, 0.5):
        words = {0.0: "60 rows", 0.5: "labels from coins"}
        yield words.get(share, f"{share:.0%} of labels flipped"), flipped(share, schema)
    if name == "adult-binary":
        yield "none, but for people of 22 to 29", others
        yield "60 people of 22 to 29", young


def accuracies(
    name: str, splits: int, draws: int, mechanism: str
) -> Iterator[tuple[str, list[float]]]:
    """Yield each start, and the accuracy of it alone (NaN for none) and at every epsilon."""
    table, schema = load_comparison_dataset(name)
    target, positive = schema.target.column, str(schema.classes[1])
    for kind, take in starts(name, schema):
        found = []
        for split in range(splits):
            learned, held = (table.iloc[part] for part in split_rows(len(table), split))
            rng = np.random.default_rng(split)
            pilot, rest = (None, learned) if take is None else take(learned, rng)
            if take in (others, young):
                held = held[held[_YOUNG].astype(int) == 0]
            truth = (held[target].astype(str) == positive).to_numpy()
            row = [np.nan]
            given: dict[str, object] = {"pilot": pilot}
            if kind == POINTS:
                given = {"prior": as_points(pilot, schema)}
            start = start_from(given.get("prior"), given.get("pilot"), schema)
            if start is not None:
                weights = np.array(list(map(float, start.weights)))
                row = [((encode_features(held, schema) @ weights > 0) == truth).mean()]
            for epsilon in EPSILONS:
                model = PrivateScorecardClassifier(
                    epsilon=epsilon, schema=schema, mechanism=mechanism, **given
                )
                answers = [model.fit(rest, rest[target]).predict(held) for _ in range(draws)]
                row.append(((np.array(answers).astype(str) == positive) == truth).mean())
            found.append(row)
        yield kind, np.mean(found, axis=0).tolist()


def main() -> None:
    """Print the table as Markdown, and save it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--draws", type=int, default=4, help="of each split and epsilon")
    parser.add_argument("--mechanism", default="logistic", help="what draws, such as staged")
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--save", type=Path, help="result file to write")
    asked = parser.parse_args()
    columns = ["table", "start", "alone", *map("{:g}".format, EPSILONS)]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    rows = []
    for name in asked.tables:
        for kind, means in accuracies(name, asked.splits, asked.draws, asked.mechanism):
            cells = ["" if np.isnan(mean) else f"{mean:.3f}".lstrip("0") for mean in means]
            rows.append([name if not any(row[0] == name for row in rows) else "", kind, *cells])
            print(f"| {' | '.join(rows[-1])} |", flush=True)
    save(
        asked.save,
        columns,
        rows,
        align="ll" + "r" * (len(columns) - 2),
        compared=f"Means of {asked.splits} splits, the same for every row of a table, and "
        f"{asked.draws} draws.",
    )


if __name__ == "__main__":
    main()
