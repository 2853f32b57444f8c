"""Private choice of a few columns before a fit: by best subsets, by peeling, by Frank-Wolfe.

Top-R and mistakes are the two methods of Prastakos, Behdin, Mazumder (2025), with the certificate
that theirs have not: a search that proves its list (``support_search.py``). Peeling draws one
column after another by its covariance with the answers. Draws are exact; half of epsilon chooses,
the other half fits by hull noise. A replaced row, 10,000 rows, epsilon 1 (delta 1e-8 where it says
so). ``accuracy`` takes some ten minutes, ``recovery`` two.

    python benchmarks/support_selection.py accuracy
    python benchmarks/support_selection.py recovery
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import frank_wolfe
import numpy as np
import pandas as pd
from result_files import save
from splits import encoded, halves
from support_search import NotFinished, Supports

from opdisc import PrivateLogisticRegression
from opdisc.privacy import SystemEntropy
from oracles.arithmetic import RandomBits
from oracles.sampling import draw_level

EPSILON, DELTA, ROWS, SIZE = 1.0, 1e-8, 10_000, 5
RADIUS, CENSUS_RADIUS = 1.1, 2.0
"""Bounds on the length of coefficients; the first is that of the paper's experiments."""
STEPS = 1000
"""Steps of a score in the largest squared error of a row."""
Lines = list[list[str]]


# ---- draws -------------------------------------------------------------------------------------


def draw(scores: Sequence[int], rate: Fraction, bits: RandomBits) -> int:
    """Return an index with probability proportional to ``exp(-rate * score)``, exactly."""
    levels, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    level = draw_level(levels, counts, rate, bits)
    members = np.flatnonzero(place == level)
    return int(members[bits.below(len(members))])


def peel(strengths, count: int, epsilon: float, moved: int, bits: RandomBits) -> list[int]:
    """Return ``count`` columns, each drawn among those left; a strength moves by ``moved``."""
    rate = Fraction(epsilon) / (count * 2 * moved)
    left, chosen = list(range(len(strengths))), []
    for _ in range(count):
        chosen.append(left.pop(draw([-int(strengths[j]) for j in left], rate, bits)))
    return chosen


def square_bound(size: int, radius: float, largest: float = 1.0) -> float:
    """Return the largest squared error of a row: cells, answers and coefficients are bounded."""
    return (largest + largest * radius * math.sqrt(size)) ** 2


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best sets with the least squares of each in whole units, and the score of all others."""

    sets: np.ndarray
    errors: np.ndarray
    total: int

    def weights(self, rate: float) -> np.ndarray:
        """Return the chances of the listed sets and, last, of all others together."""
        others = math.log(self.total - len(self.sets)) - rate * (self.errors[-1] - self.errors[0])
        logs = np.append(-rate * (self.errors - self.errors[0]), others)
        chances = np.exp(logs - logs.max())
        return chances / chances.sum()

    def draw(self, rate: Fraction, bits: RandomBits) -> list[int]:
        """Return a set of top-R's law: listed ones by their errors, others as the last of them."""
        levels, counts = np.unique(self.errors, return_counts=True)
        counts = [*map(int, counts)]
        counts[-1] += self.total - len(self.sets)
        level = draw_level(levels, counts, rate, bits)
        members = self.sets[self.errors == levels[level]]
        place = bits.below(counts[level])
        if place < len(members):
            return [int(j) for j in members[place]]
        listed = {tuple(sorted(map(int, row))) for row in self.sets}
        random = np.random.default_rng(bits.integer(128))
        columns = _columns_of(self.total, self.sets.shape[1])
        while True:
            found = tuple(sorted(map(int, random.choice(columns, self.sets.shape[1], False))))
            if found not in listed:
                return list(found)


def _columns_of(total: int, size: int) -> int:
    return next(p for p in itertools.count(size) if math.comb(p, size) == total)


def ranked(supports: Supports, squares: float, unit: float) -> Ranked:
    """Return the best ``2 + (p - s) s`` sets, proved to be the best; errors in units."""
    sets, gains = supports.first(supports.best()[1])
    errors = np.floor((squares - gains) / unit).astype(np.int64)
    return Ranked(sets, errors, math.comb(supports.columns, supports.size))


def score_rate(epsilon: float) -> Fraction:
    """Return the rate of a score in steps, two of them for what rounding moves."""
    return Fraction(epsilon) / (2 * (STEPS + 2))


def groups(supports: Supports) -> tuple[list[int], np.ndarray]:
    """Return the best set, and the best gain of each number of mistakes against it."""
    gain, star = supports.best()
    swapped = float(supports.gains(supports.swaps(star)).max())
    more = [supports.best(star, supports.size - t)[0] for t in range(2, supports.size + 1)]
    return star, np.array([gain, swapped, *more])


def group_weights(gains: np.ndarray, columns: int, rate: float) -> np.ndarray:
    """Return the chance of each number of mistakes."""
    size = len(gains) - 1
    many = [math.comb(size, t) * math.comb(columns - size, t) for t in range(size + 1)]
    weights = np.array(many, dtype=float) * np.exp(rate * (gains - gains[0]))
    return weights / weights.sum()


# ---- tables of answers yes and no --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Task:
    """Cells of 0 and 1 to learn from and held out; ``likely`` is what the law would answer."""

    learned: np.ndarray
    answers: np.ndarray
    held: np.ndarray
    held_answers: np.ndarray
    likely: np.ndarray | None = None
    relevant: tuple[int, ...] | None = None
    radius: float = RADIUS


def coins(columns: int, seed: int) -> Task:
    """Return the tables of ``frank_wolfe.py``."""
    parts = [frank_wolfe.table(columns, 2 * seed + part) for part in (0, 1)]
    cells = [frame.iloc[:, :columns].to_numpy() for frame, _, _ in parts]
    return Task(cells[0], parts[0][1], cells[1], parts[1][1], parts[1][2], tuple(range(SIZE)))


def chain(columns: int, seed: int, *, alike: float, signs: Sequence[int], shift: float) -> Task:
    """Return fair coins, each alike its neighbour (correlation); every second one may matter."""
    relevant = tuple(range(1, 2 * SIZE, 2))
    parts = []
    for part in (0, 1):
        random = np.random.default_rng([seed, part])
        cells = random.integers(0, 2, size=(ROWS, columns), dtype=np.int8)
        fresh = random.random((ROWS, columns)) < 1 - alike
        for j in range(1, columns):
            cells[:, j] = np.where(fresh[:, j], cells[:, j], cells[:, j - 1])
        odds = shift * ((2.0 * cells[:, relevant] - 1) @ np.array(signs))
        parts.append((cells, random.random(ROWS) < 1 / (1 + np.exp(-odds)), odds > 0))
    (cells, answers, _), (held, held_answers, likely) = parts
    return Task(cells, answers, held, held_answers, likely, relevant)


def census(columns: int, seed: int) -> Task:
    """Return a split of the census table with all its columns."""
    (cells, answers), (held, held_answers) = halves(*encoded("adult", "adult-wide"), seed)
    return Task(cells, answers > 0, held, held_answers > 0, radius=CENSUS_RADIUS)


ALTERNATE, SAME = (1, -1, 1, -1, 1), (1, 1, 1, 1, 1)
REGIMES: dict[str, tuple[Callable[[int, int], Task], int, int]] = {
    "coins, 50": (coins, 50, 10),
    "coins, 100": (coins, 100, 10),
    "coins, 500": (coins, 500, 3),
    "coins, 2,000": (coins, 2000, 3),
    "weak, 100": (lambda p, i: chain(p, i, alike=0.0, signs=ALTERNATE, shift=0.5), 100, 10),
    "alike, 100": (lambda p, i: chain(p, i, alike=0.7, signs=SAME, shift=1.0), 100, 10),
    "opposed, 100": (lambda p, i: chain(p, i, alike=0.7, signs=ALTERNATE, shift=2.0), 100, 10),
    "opposed, 500": (lambda p, i: chain(p, i, alike=0.7, signs=ALTERNATE, shift=2.0), 500, 3),
    "census": (census, 0, 10),
}


class Chooser:
    """Products of a table's columns, and the ways to choose among columns.

    Columns and answers are -1 or 1. Where the law of the answers is not known, all sets have a
    constant column too, so products are taken about the means.
    """

    def __init__(self, task: Task):
        signs, answers = 2.0 * task.learned - 1, 2.0 * task.answers - 1
        rows, self.bits, self.radius = len(answers), RandomBits(SystemEntropy()), task.radius
        constant = task.likely is None
        sums, total = constant * signs.sum(axis=0), constant * answers.sum()
        self.middle = sums / rows, total / rows
        self.strengths = np.abs(rows * (signs.T @ answers) - sums * total)
        self.moved = (4 if constant else 2) * rows
        gram = signs.T @ signs - np.outer(sums, sums) / rows + np.eye(len(sums))
        self.supports = Supports(gram, signs.T @ answers - sums * total / rows, SIZE)
        self.squares = rows - total**2 / rows
        self.unit = square_bound(SIZE + constant, task.radius) / STEPS

    def peeled(self, count: int, epsilon: float) -> list[int]:
        """Return columns by their covariance with the answers."""
        return peel(self.strengths, count, epsilon, self.moved, self.bits)

    def top_r(self, epsilon: float) -> list[int]:
        """Return a set by top-R, from a proved list."""
        found = ranked(self.supports, self.squares, self.unit)
        if self._longest(found.sets) > self.radius:
            raise NotFinished
        return found.draw(score_rate(epsilon), self.bits)

    def _longest(self, sets: np.ndarray) -> float:
        """Return the greatest length of the coefficients of some sets, with their constant."""
        weights = self.supports.weights(sets)
        constant = self.middle[1] - np.einsum("ij,ij->i", weights, self.middle[0][sets])
        return float(np.sqrt((weights**2).sum(axis=1) + constant**2).max())

    def mistakes(self, epsilon: float) -> list[int]:
        """Return a set by its number of mistakes, equally likely among those with as many."""
        star, gains = groups(self.supports)
        chances = group_weights(
            gains / self.unit, self.supports.columns, float(score_rate(epsilon))
        )
        random = np.random.default_rng(self.bits.integer(128))
        wrong = int(random.choice(SIZE + 1, p=chances))
        others = np.setdiff1d(np.arange(self.supports.columns), star)
        kept = random.choice(star, SIZE - wrong, replace=False)
        return [int(j) for j in [*kept, *random.choice(others, wrong, replace=False)]]

    def listed(self, epsilon: float, first: int = 20) -> list[int]:
        """Return the best set among peeled columns: the exponential mechanism, all sets listed."""
        sets = np.array([*itertools.combinations(self.peeled(first, epsilon / 2), SIZE)])
        if self._longest(sets) > self.radius:
            raise NotFinished
        errors = np.floor((self.squares - self.supports.gains(sets)) / self.unit).astype(np.int64)
        return [int(j) for j in sets[draw(errors, score_rate(epsilon / 2), self.bits)]]


def fitted(task: Task, columns: Sequence[int], epsilon: float, mechanism: str, delta: float = 0.0):
    """Return a private logistic regression on some columns, and its held-out accuracy."""
    names = [f"c{j}" for j in columns]
    public = frank_wolfe.schema(1) | {"feature": [{"column": c, "binary": True} for c in names]}
    frame = pd.DataFrame(task.learned[:, list(columns)], columns=names)
    held = pd.DataFrame(task.held[:, list(columns)], columns=names)
    model = PrivateLogisticRegression(
        epsilon=epsilon, delta=delta, mechanism=mechanism, schema=public
    ).fit(frame, np.where(task.answers, "yes", "no"))
    return model, float(np.mean((model.predict(held) == "yes") == task.held_answers))


CHOICES: dict[str, Callable[[Chooser, float], list[int]]] = {
    "5 columns by top-R": lambda chooser, epsilon: chooser.top_r(epsilon),
    "5 columns by mistakes (conditional)": lambda chooser, epsilon: chooser.mistakes(epsilon),
    "5 columns by peeling": lambda chooser, epsilon: chooser.peeled(5, epsilon),
    "10 columns by peeling": lambda chooser, epsilon: chooser.peeled(10, epsilon),
    "20 by peeling, the best 5 of them": lambda chooser, epsilon: chooser.listed(epsilon),
}
WHOLE = {
    "Frank-Wolfe": ("frank_wolfe", 0.0),
    "Frank-Wolfe, delta 1e-8": ("frank_wolfe", DELTA),
    "hull noise": ("hull", 0.0),
}
REFITTED = "Frank-Wolfe's columns, refitted"
LAW = "who knows the law"


def measured(task: Task, most_hull: int, epsilon: float) -> dict[str, tuple[float, float, float]]:
    """Return accuracy, share of the relevant columns found and seconds of choosing, by method."""
    found, chooser = {}, Chooser(task)
    width = task.learned.shape[1]
    for name, choose in CHOICES.items():
        started = time.perf_counter()
        try:
            columns = choose(chooser, epsilon / 2)
        except NotFinished:
            found[name] = (math.nan, math.nan, time.perf_counter() - started)
            continue
        seconds = time.perf_counter() - started
        accuracy = fitted(task, columns, epsilon / 2, "hull")[1]
        found[name] = (accuracy, _share(columns, task.relevant), seconds)
    started = time.perf_counter()
    steps, _ = fitted(task, range(width), epsilon / 2, "frank_wolfe")
    columns = [j for j, weight in enumerate(steps.coef_[0]) if weight != 0] or [0]
    accuracy = fitted(task, columns, epsilon / 2, "hull")[1]
    found[REFITTED] = (
        accuracy,
        _share(columns, task.relevant),
        time.perf_counter() - started,
    )
    for name, (mechanism, delta) in WHOLE.items():
        if mechanism == "hull" and width > most_hull:
            continue
        started = time.perf_counter()
        accuracy = fitted(task, range(width), epsilon, mechanism, delta)[1]
        found[name] = (accuracy, math.nan, time.perf_counter() - started)
    if task.likely is not None:
        found[LAW] = (float(np.mean(task.likely == task.held_answers)), 1.0, 0.0)
    return found


def _share(columns: Sequence[int], relevant: Sequence[int] | None) -> float:
    return math.nan if relevant is None else len({*columns} & {*relevant}) / len(relevant)


def one(job: tuple[str, int, int, float]) -> tuple[str, dict[str, tuple[float, float, float]]]:
    """Return the figures of one table of a regime."""
    regime, seed, most_hull, epsilon = job
    make, columns, _ = REGIMES[regime]
    return regime, measured(make(columns, seed), most_hull, epsilon)


def accuracy(options: argparse.Namespace) -> Lines:
    """Return held-out accuracies; print what the choices found, and seconds."""
    jobs = [
        (regime, seed, options.hull, options.epsilon)
        for regime in options.regimes
        for seed in range(min(REGIMES[regime][2], options.seeds))
    ]
    found: dict[str, list[dict[str, tuple[float, float, float]]]] = {}
    with ProcessPoolExecutor(options.workers) as pool:
        for regime, figures in pool.map(one, jobs):
            found.setdefault(regime, []).append(figures)
            print(regime, {name: _rounded(cells) for name, cells in figures.items()}, flush=True)
    names = [*CHOICES, REFITTED, *WHOLE, LAW]
    rows = [[name, *(_mean(found[regime], name, 0) for regime in found)] for name in names]
    chosen = [regime for regime in found if regime != "census"]
    shares = [
        [name, *(_mean(found[regime], name, 1) for regime in chosen)]
        for name in [*CHOICES, REFITTED]
    ]
    seconds = [[name, *(_seconds(found[regime], name) for regime in found)] for name in names]
    for row in [["found", *chosen], *shares, ["seconds", *found], *seconds]:
        print(" | ".join(row))
    return [["method", *found], *rows]


def _rounded(cells: Sequence[float]) -> list[float]:
    return [round(cell, 4) for cell in cells]


def _mean(found: list[dict[str, tuple[float, float, float]]], name: str, place: int) -> str:
    values = [figures[name][place] for figures in found if name in figures]
    known = [value for value in values if not math.isnan(value)]
    if not known or len(known) < len(found):
        return "-"
    return f"{np.mean(known):.3f}".removeprefix("0")


def _seconds(found: list[dict[str, tuple[float, float, float]]], name: str) -> str:
    values = [figures[name][2] for figures in found if name in figures]
    return f"{np.median(values):.1f}" if values else "-"


# ---- the paper's setting: linear regression, normal columns -----------------------------------

CLIP, PENALTY, SIGNAL, REPEATS = 0.5, 120.0, 5.0, 10


def regression(rows: int, columns: int, alike: float, seed: int):
    """Return clipped columns and answers: every second of ten columns matters, alike."""
    random = np.random.default_rng([seed, rows, columns])
    cells = random.standard_normal((columns, rows))
    for j in range(1, columns):
        cells[j] = alike * cells[j - 1] + math.sqrt(1 - alike**2) * cells[j]
    means = cells[1 : 2 * SIZE : 2].sum(axis=0) / math.sqrt(SIZE)
    noise = random.standard_normal(rows)
    noise *= np.linalg.norm(means) / (math.sqrt(SIGNAL) * np.linalg.norm(noise))
    return np.clip(cells, -CLIP, CLIP).T, np.clip(means + noise, -CLIP, CLIP)


def chances(cells, answers, draws: int = 20) -> tuple[float, float, float, int]:
    """Return the true set's chances by top-R, mistakes and peeling, and the nodes searched."""
    columns, true = cells.shape[1], list(range(1, 2 * SIZE, 2))
    gram = cells.T @ cells + PENALTY * np.eye(columns)
    supports = Supports(gram, cells.T @ answers, SIZE)
    unit = square_bound(SIZE, RADIUS, CLIP) / STEPS
    rate = float(score_rate(EPSILON))
    found = ranked(supports, float(answers @ answers), unit)
    places = np.flatnonzero((np.sort(found.sets, axis=1) == true).all(axis=1))
    weights = found.weights(rate)
    listed = float(weights[places].sum())
    others = float(weights[-1]) / (found.total - len(found.sets))
    star, gains = groups(supports)
    by_mistakes = group_weights(gains / unit, columns, rate)
    wrong = len({*true} - {*star})
    each = math.comb(SIZE, wrong) * math.comb(columns - SIZE, wrong)
    bits, step = RandomBits(SystemEntropy()), 2.0**-20
    products = np.rint(cells / step).T @ np.rint(answers / step)
    strengths = np.abs(products).astype(np.int64)
    moved = round(2 * (CLIP / step) ** 2)
    hits = sum(set(peel(strengths, SIZE, EPSILON, moved, bits)) == set(true) for _ in range(draws))
    return listed or others, float(by_mistakes[wrong] / each), hits / draws, supports.nodes


def recovery(options: argparse.Namespace) -> Lines:
    """Return the chance of the true set in the setting of the paper's regressions."""
    rows = []
    for columns, alike in ((100, 0.1), (100, 0.5), (100, 0.7), (1000, 0.1)):
        for name in ("top-R", "mistakes (conditional)", "peeling"):
            rows.append([name, f"{columns:,}", f"{alike}".removeprefix("0")])
        for n in options.rows:
            figures = []
            for seed in range(min(REPEATS, options.seeds)):
                figures.append(chances(*regression(n, columns, alike, seed)))
                print(columns, alike, n, _rounded(figures[-1]), flush=True)
            for place in range(3):
                mean = float(np.mean([each[place] for each in figures]))
                rows[place - 3].append(f"{mean:.2f}".removeprefix("0") if mean < 1 else "1.00")
    return [["way", "columns", "correlation", *(f"{n:,} rows" for n in options.rows)], *rows]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("accuracy", "recovery"))
    parser.add_argument("--regimes", nargs="+", default=[*REGIMES], choices=[*REGIMES])
    parser.add_argument("--rows", type=int, nargs="+", default=[3000, 5000, 8000, 30_000])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--hull", type=int, default=150, help="most columns for hull noise")
    parser.add_argument("--epsilon", type=float, default=EPSILON, help="for accuracy")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    header, *rows = {"accuracy": accuracy, "recovery": recovery}[options.what](options)
    save(options.save, header, rows)
    for row in [header, *rows]:
        print(" | ".join(row))


if __name__ == "__main__":
    main()
