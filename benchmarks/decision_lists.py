"""Decision lists beside the default scorecard: held-out accuracy on the same splits.

A list has one to five rules "if column j is v then answer a, else ...", no column twice, and an
answer for the rows that no rule takes. All lists of so many rules weigh the same. The law is the
exponential mechanism's, exp(-epsilon * errors / 2), the promise that of the scorecard (a row is
replaced). What a law gives on a split is computed, not drawn, also for lists by the thousand
million: given the statements, the answers of the rules are independent, so their sum is a product.
And which rows are left depends on which statements came before, not on their order. So each set of
statements is looked at once.

    opdisc compare --dataset german --repeats 15 --out german \
        --methods auto@auto logistic-objective private-majority
    python benchmarks/decision_lists.py german mammo --save decision-lists.toml

``--other FOLDER`` compares lists, and cards of exactly two points of -1 and 1 with starts of
-1..2, with the default draw of few points by rows times epsilon. Tables, splits and what the
default gives are those of ``masses.py``.

    python benchmarks/decision_lists.py --other other

``--check`` compares the law with lists that are enumerated one by one, on small random tables.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from decision_list_kernels import every_set
from levels import level, tallied
from masses import WEIGHTS, in_thousandths, tables
from result_files import FOLDER, load, save

from opdisc.comparison.plan import Plan, runs_of
from opdisc.comparison.source import load_source, split_rows
from opdisc.data import encode_features, encode_labels
from opdisc.tuned import EQUAL_MASSES_WEIGHT, NARROW_COLUMNS, STUMP_WEIGHT

MOST, LISTED, COLUMNS_FOR_MOST = 5, 3, 15
EPSILONS, SPLITS = (0.05, 0.1, 0.25, 0.5, 1.0), 15
METHODS = {
    "auto@auto": "scorecard, defaults",
    "private-majority": "private majority",
    "logistic-objective": "logistic, objective perturbation",
}
FIELD = 16
"""Bits of each of a point's four counts, which are added as one number."""


class Rows:
    """Distinct 0/1 rows, with four counts each: +/- learned from, +/- held out.

    Parameters
    ----------
    rows : ndarray, (n, k)
        Columns of 0 and 1, without the constant one.
    positive : ndarray, (n,)
        Labels.
    learns : ndarray, (n,)
        Which rows are learned from; the others are held out.
    """

    def __init__(self, rows: np.ndarray, positive: np.ndarray, learns: np.ndarray) -> None:
        points, where = np.unique(rows.astype(np.int64), axis=0, return_inverse=True)
        shift = FIELD * (2 * ~learns + ~positive)
        self.packed = np.zeros(len(points), np.int64)
        np.add.at(self.packed, where.ravel(), np.int64(1) << shift)
        self.n_train, self.n_held = int(learns.sum()), int((~learns).sum())
        assert len(rows) < 1 << 16 and self.n_held < 1 << 15
        self.columns = np.ascontiguousarray(points.T)
        where, self.ones = np.nonzero(points)
        self.ends = np.searchsorted(where, np.arange(len(points) + 1))


def laws(rows: Rows, epsilons: Sequence[float], most: int) -> np.ndarray:
    """Return mean held-out accuracies, (most + 1, epsilons), by number of rules."""
    k = len(rows.columns)
    binomial = np.array([[math.comb(n, r) for r in range(most + 2)] for n in range(k + 1)])
    betas = np.array(epsilons) / 2
    found = (np.zeros((0, 0, 0, 0)), np.zeros((0, 0, 0, 0)))
    for size in reversed(range(max(1, most))):
        parts = rows.columns, rows.ones, rows.ends, rows.packed
        found = every_set(size, most, *parts, betas, binomial, *found)
    return np.asarray(found[1][0, 0] / rows.n_held)


def compared(folder: Path) -> Iterator[list[str]]:
    """Yield the lines of one table: private methods, and decision lists on the same splits.

    Without a comparison in the folder the methods are those of docs/peers.md. There are no single
    runs of them, so gains have no standard error.
    """
    source = load_source(dataset=folder.name)
    plan = Plan(methods=("majority",), repeats=SPLITS)
    seeds = [run.split_seed for run in runs_of(plan)]
    if (folder / "runs.jsonl").is_file():
        texts = (folder / "runs.jsonl").read_text(encoding="ascii").splitlines()
        runs = pd.DataFrame(map(json.loads, texts))
        runs = runs[runs["private"] & (runs["status"] == "ok") & runs["epsilon"].isin(EPSILONS)]
        cells = runs.pivot(
            index=["method", "split_seed"], columns="epsilon", values="test_accuracy"
        )
        known = {title: cells.loc[name].loc[seeds].to_numpy() for name, title in METHODS.items()}
    else:
        peers = load(FOLDER / "peers" / f"{folder.name}.toml")
        at = [peers.columns.index(f"{epsilon:g}".removeprefix("0")) for epsilon in EPSILONS]
        known = {
            title: np.array([[float(line[k].strip("*")) for k in at]])
            for line in peers.rows
            if (title := METHODS.get(line[0].strip("`"), line[0])) in METHODS.values()
        }
    columns = encode_features(source.table, source.schema)[:, 1:]
    positive = encode_labels(source.table, source.schema) > 0
    most = MOST if columns.shape[1] <= COLUMNS_FOR_MOST else LISTED
    found: list[list[np.ndarray]] = []
    for seed in seeds:
        learns = np.zeros(len(positive), dtype=bool)
        learns[split_rows(source, plan.test_fraction, seed)[0]] = True
        rows = Rows(columns, positive, learns)
        rules = laws(rows, EPSILONS, most)
        found.append([*rules[1:4], *rules[MOST:]])
    titles = ["one rule", "two rules", "three rules", "five rules"][: len(found[0])]
    for title, means in known.items():
        yield [folder.name, title, *map(_share, means.mean(axis=0))]
    scorecard = known[METHODS["auto@auto"]]
    for title, got in zip(titles, np.swapaxes(found, 0, 1), strict=True):
        yield [folder.name, title, *map(_share, got.mean(axis=0))]
        gains = 1000 * (got - scorecard)
        said = [f"{gain:+.1f}" for gain in gains.mean(axis=0)]
        if len(scorecard) == len(got):
            errors = gains.std(axis=0, ddof=1) / math.sqrt(len(gains))
            said = [f"{gain} ({error:.1f})" for gain, error in zip(said, errors, strict=True)]
        yield [folder.name, f"{title}, gain", *said]


def other(folder: Path, splits: int) -> Iterator[list[str]]:
    """Yield what lists and cards of two points gain on the tables of ``masses.py``."""
    measured = load(FOLDER / "utility" / "masses.toml").rows
    titles = ["two rules, gain", "three rules, gain", "two points, gain"]
    found = []
    for name, columns, positive in tables(folder):
        known = {line[1]: line[2:] for line in measured if line[0].startswith(f"{name},")}
        default = np.array(known["doubled"], dtype=float)
        for k, weight in enumerate(WEIGHTS):
            if weight < STUMP_WEIGHT:
                default[k] += float(known["a stump, gain"][k]) / 1000
            elif weight < EQUAL_MASSES_WEIGHT and columns.shape[1] - 1 > NARROW_COLUMNS:
                default[k] += float(known["equal, gain"][k]) / 1000
        got = []
        for split in range(splits):
            pieces, learns, _ = tallied(name, columns, positive, split, -1, 2, 2)
            epsilons = [weight / pieces.n_train for weight in WEIGHTS]
            rules = laws(Rows(columns[:, 1:], positive, learns), epsilons, 3)
            sums = pieces.counts[2], pieces.right[2], pieces.squares[2]
            points = [level(*sums, epsilon)[1] for epsilon in epsilons]
            got.append([rules[2], rules[3], points])
        gains = np.mean(got, axis=0) - default
        found.append(gains)
        for title, line in zip(titles, gains, strict=True):
            yield [f"{name}, {columns.shape[1] - 1} columns", title, *in_thousandths(line)]
    for said, over in (("mean", np.mean), ("worst", np.min)):
        for title, line in zip(titles, over(found, axis=0), strict=True):
            yield [f"{said} of {len(found)}", title, *in_thousandths(line)]


def listed(n_columns: int, rules: int) -> Iterator[tuple[tuple[int, int, int], ...]]:
    """Yield every list as its rules (column, value, answer) and, last, (0, 0, default)."""
    sides = itertools.product((0, 1), repeat=rules)
    answers = list(itertools.product((0, 1), repeat=rules + 1))
    orders = itertools.permutations(range(n_columns), rules)
    for order, values, said in itertools.product(orders, sides, answers):
        yield tuple(zip((*order, 0), (*values, 0), said, strict=True))


def predicted(rules: tuple[tuple[int, int, int], ...], rows: np.ndarray) -> np.ndarray:
    """Return what a list answers to each row."""
    found = np.full(len(rows), rules[-1][2])
    for column, value, answer in reversed(rules[:-1]):
        found = np.where(rows[:, column] == value, answer, found)
    return found


def check(tables: int = 5, epsilon: float = 0.7) -> None:
    """Compare the laws with lists that are enumerated, on random tables of four columns.

    One row is held out at a time, so what is compared is each row's chance of "+": all that the
    law says of predictions. The law at half of epsilon must fail.
    """
    rng = np.random.default_rng(0)
    for _ in range(tables):
        table, positive = rng.integers(0, 2, (24, 4)), rng.random(24) < 0.4
        for held in range(3):
            learns = np.arange(24) != held
            rows = Rows(table, positive, learns)
            accuracy = laws(rows, [epsilon], 4)
            halved = laws(rows, [epsilon / 2], 4)
            for rules in range(5):
                said = np.array([predicted(one, table) for one in listed(4, rules)])
                weights = np.exp(-epsilon / 2 * (said != positive)[:, learns].sum(axis=1))
                right = weights @ (said == positive)[:, held] / weights.sum()
                assert abs(accuracy[rules, 0] - right) < 1e-9
                assert abs(halved[rules, 0] - right) > 1e-6
    points = np.array(list(itertools.product((0, 1), repeat=4)))
    lists = {tuple(predicted(one, points)) for one in listed(4, 2)}
    cards = {
        tuple(points @ weights + start >= 1)
        for weights in itertools.product((-1, 0, 1), repeat=4)
        for start in range(-1, 3)
        if np.count_nonzero(weights) <= 2
    }
    assert lists == cards  # a list of two rules is a card of two points
    print(f"the laws are those of {tables} enumerated tables")


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def main() -> None:
    """Print, and save, the lines of every comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, nargs="*", help="named like a table")
    parser.add_argument("--other", type=Path, help="where the tables of R packages go")
    parser.add_argument("--splits", type=int, default=5, help="of those tables")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    if arguments.check:
        check()
    parts = [compared(folder) for folder in arguments.results]
    parts += [other(arguments.other, arguments.splits)] if arguments.other else []
    lines: list[list[str]] = []
    for line in itertools.chain.from_iterable(parts):
        print(" | ".join(line), flush=True)
        lines.append(line)
    if arguments.other:
        header = [f"{weight:,}" for weight in WEIGHTS]
    elif lines:
        header = [f"{epsilon:g}".removeprefix("0") for epsilon in EPSILONS]
    if lines:
        columns = ["table", "method", *header]
        save(arguments.save, columns, lines, align="ll" + "r" * len(header))


if __name__ == "__main__":
    main()
