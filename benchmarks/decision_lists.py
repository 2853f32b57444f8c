"""Decision lists beside the default scorecard: held-out accuracy on the same splits.

A list has one to five rules "if column j is v then answer a, else ...", no column twice, and an
answer for the rows that no rule takes. All lists of so many rules weigh the same. The law is the
exponential mechanism's, exp(-epsilon * errors / 2), the promise that of the scorecard (a row is
replaced). What a law gives on a split is computed, not drawn, also for lists by the thousand
million: given the statements, the answers of the rules are independent, so their sum is a product.
And which rows are left depends on which statements came before, not on their order. So each set of
statements is looked at once. Lists of three rules are also counted by loss, for permute-and-flip,
which errs less.

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
from levels import level, tallied
from masses import WEIGHTS, in_thousandths, tables
from numba import njit
from result_files import FOLDER, load, save

from opdisc.comparison.plan import Plan, runs_of
from opdisc.comparison.source import load_source, split_rows
from opdisc.data import encode_features, encode_labels
from opdisc.tuned import EQUAL_MASSES_WEIGHT, NARROW_COLUMNS, STUMP_WEIGHT

MOST, LISTED, DRAWS = 5, 3, 4000
EPSILONS, SPLITS = (0.05, 0.1, 0.25, 0.5, 1.0), 15
METHODS = {
    "auto@auto": "scorecard, defaults",
    "private-majority": "private majority",
    "logistic-objective": "logistic, objective perturbation",
}
LOG_2 = math.log(2)
FIELD = 16
"""Bits of each of a point's four counts, which are added as one number."""


@njit(cache=True)
def _answers(packed, beta):
    """Return log of the sum over both answers to a cell, and the mean number right held out."""
    mask = (1 << 16) - 1
    plus, minus = packed & mask, packed >> 16 & mask
    held_plus, held_minus = packed >> 32 & mask, packed >> 48
    worse = math.exp(-beta * abs(plus - minus))
    total = -beta * min(plus, minus) + math.log1p(worse)
    better, other = held_plus, held_minus
    if minus > plus:
        better, other = held_minus, held_plus
    return total, (better + worse * other) / (1 + worse)


@njit(cache=True)
def _add(logs, means, e, term, gain):
    """Add one more term to a log of a sum, and its gain to the mean by these terms."""
    old = logs[e]
    ratio = math.exp(-abs(term - old))
    logs[e] = max(term, old) + math.log1p(ratio)
    means[e] += (1 if term > old else ratio) / (1 + ratio) * (gain - means[e])


@njit(cache=True)
def _level(size, most, columns, ones, ends, packed, betas, binomial, below, below_right):
    """Return logs and means, (sets, bits, rules to come, betas), of all sets of statements.

    A set is a rising tuple of ``size`` columns and the bits that the rows that are left have
    there. ``below`` and ``below_right`` are the same of one statement more.
    """
    n_columns, n_bits, n_more = len(columns), 1 << size, most - size
    n_sets = binomial[n_columns, size]
    shape = (n_sets, n_bits, n_more + 1, len(betas))
    logs, right = np.full(shape, -np.inf), np.zeros(shape)
    chosen, grown = np.arange(size), np.zeros(size + 1, np.int64)
    cells = np.zeros((n_bits, n_columns + 1), np.int64)
    for place in range(n_sets):
        cells[:] = 0
        for p in range(len(packed)):
            bits = 0
            for i in range(size):
                bits |= columns[chosen[i], p] << i
            cells[bits, n_columns] += packed[p]
            for t in range(ends[p], ends[p + 1]):
                cells[bits, ones[t]] += packed[p]
        for bits in range(n_bits):
            for e in range(len(betas)):
                got = _answers(cells[bits, n_columns], betas[e])
                logs[place, bits, 0, e], right[place, bits, 0, e] = got
        for j in range(n_columns):
            at = 0
            while at < size and chosen[at] < j:
                at += 1
            if at < size and chosen[at] == j:
                continue
            grown[:at], grown[at], grown[at + 1 :] = chosen[:at], j, chosen[at:]
            next_place = 0
            for i in range(size + 1):
                next_place += binomial[grown[i], i + 1]
            for bits in range(n_bits):
                one = cells[bits, j]
                zero = cells[bits, n_columns] - one
                # Bits of the rows that are left, which have a 0 there, or a 1.
                left = bits & ((1 << at) - 1) | (bits >> at) << (at + 1)
                for e in range(len(betas)):
                    sides = _answers(zero, betas[e]), _answers(one, betas[e])
                    # Which of its two sides the last rule takes makes no difference.
                    term, gain = sides[0][0] + sides[1][0] + LOG_2, sides[0][1] + sides[1][1]
                    _add(logs[place, bits, 1], right[place, bits, 1], e, term, gain)
                    for more in range(1, n_more):
                        for value in range(2):
                            next_bits = left | value << at
                            log, mean = sides[1 - value]
                            term = log + below[next_place, next_bits, more, e]
                            gain = mean + below_right[next_place, next_bits, more, e]
                            into = logs[place, bits, more + 1], right[place, bits, more + 1]
                            _add(*into, e, term, gain)
        i = 0  # the next tuple, the first column fastest
        while i < size - 1 and chosen[i] + 1 == chosen[i + 1]:
            chosen[i] = i
            i += 1
        if size:
            chosen[i] += 1
    return logs, right


@njit(cache=True)
def _tally(columns, packed, n_train, n_held):
    """Return of every loss the number of lists of three rules, and their sum of accuracies."""
    n_columns, mask = len(columns), (1 << 16) - 1
    counts, right = np.zeros(n_train + 1), np.zeros(n_train + 1)
    cells, parts = np.zeros(8, np.int64), np.zeros(4, np.int64)
    for a in range(n_columns):
        for b in range(n_columns):
            for c in range(n_columns):
                if a == b or a == c or b == c:
                    continue
                cells[:] = 0
                for p in range(len(packed)):
                    cells[columns[a, p] | columns[b, p] << 1 | columns[c, p] << 2] += packed[p]
                for values in range(8):
                    parts[:] = 0
                    for bits in range(8):
                        equal = ~(bits ^ values)
                        first = 0 if equal & 1 else 1 if equal & 2 else 2 if equal & 4 else 3
                        parts[first] += cells[bits]
                    for answers in range(16):
                        loss, good = 0, 0
                        for i in range(4):
                            if answers >> i & 1:
                                loss += parts[i] >> 16 & mask
                                good += parts[i] >> 32 & mask
                            else:
                                loss += parts[i] & mask
                                good += parts[i] >> 48
                        counts[loss] += 1
                        right[loss] += good / n_held
    return counts, right


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
        found = _level(
            size,
            most,
            rows.columns,
            rows.ones,
            rows.ends,
            rows.packed,
            betas,
            binomial,
            *found,
        )
    return np.asarray(found[1][0, 0] / rows.n_held)


def by_permute_and_flip(
    rows: Rows, epsilons: Sequence[float], rng: np.random.Generator
) -> np.ndarray:
    """Return mean accuracies, (epsilons,), of lists of three rules by permute-and-flip.

    Lists of one loss have the same chance. So only the largest noise of every loss is drawn,
    ``DRAWS`` times.
    """
    counts, right = _tally(rows.columns, rows.packed, rows.n_train, rows.n_held)
    losses = np.flatnonzero(counts)
    accuracy = right[losses] / counts[losses]
    found = np.zeros(len(epsilons))
    for e, epsilon in enumerate(epsilons):
        for _ in range(DRAWS):
            most = -np.log(-np.expm1(np.log(rng.random(len(losses))) / counts[losses]))
            found[e] += accuracy[np.argmax(2 / epsilon * most - losses)] / DRAWS
    return found


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
    most = MOST if columns.shape[1] <= NARROW_COLUMNS else LISTED
    found: list[list[np.ndarray]] = []
    for seed in seeds:
        learns = np.zeros(len(positive), dtype=bool)
        learns[split_rows(source, plan.test_fraction, seed)[0]] = True
        rows = Rows(columns, positive, learns)
        rules = laws(rows, EPSILONS, most)
        flipped = by_permute_and_flip(rows, EPSILONS, np.random.default_rng(seed))
        found.append([*rules[1:4], *rules[MOST:], flipped])
    titles = ["one rule", "two rules", "three rules", "five rules", "three, permute-and-flip"]
    if most < MOST:
        titles.remove("five rules")
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
    law says of predictions. Permute-and-flip is compared with literal draws by a z-test of its
    mean, and the exponential mechanism's law with twice the temperature must fail.
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
        said = np.array([predicted(one, table) for one in listed(4, 3)])
        learns = np.arange(24) < 16
        rows = Rows(table, positive, learns)
        losses = (said != positive)[:, learns].sum(axis=1)
        right = (said == positive)[:, ~learns].mean(axis=1)
        drawn = []
        for _ in range(DRAWS):
            order = rng.permutation(len(said))
            chances = np.exp(-epsilon / 2 * (losses[order] - losses.min()))
            drawn.append(right[order[np.argmax(rng.random(len(said)) < chances)]])
        got = by_permute_and_flip(rows, [epsilon], rng)[0]
        error = math.sqrt(2 * np.var(drawn) / DRAWS)
        assert abs(got - np.mean(drawn)) < 5.3 * error  # false alarm 1.2e-7
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
