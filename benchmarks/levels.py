"""Held-out accuracy of base measures by levels beside the uniform one, on every known table.

The figures behind ``base_measure="auto"`` (docs/utility.md). What a measure gives on one split is
computed, not drawn: cards are counted by loss and by what they get right of the held-out rows. So
only the splits are left to chance. Grids that cannot be listed have no row of the whole grid.
There the default is a staged draw: of at most 5 points and equal or doubled
masses, or a decision stump where rows times epsilon are few. ``--keep FILE`` keeps the pieces of
every split, so that other shares can be tried.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numba import njit
from result_files import save
from splits import encoded, halves, split_rows
from stump import stump

from opdisc.errors import TableError
from opdisc.mechanisms.base_measure import LEVELS
from opdisc.tuned import EQUAL_MASSES_WEIGHT, STUMP_WEIGHT
from oracles.problem import WeightGrid

TABLES = (
    ("adult-balanced", "adult-small"),
    ("german", "german"),
    ("adult-binary", "adult_binary"),
)
LISTED = "adult-small"
STAGED_POINTS = 5
EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)


@dataclass
class Pieces:
    """What one split says: of every size and every loss, how many cards and how right they are.

    ``right`` and ``squares`` are sums over cards of the held-out accuracy and its square;
    ``stump`` has, by epsilon, the mean accuracy of a decision stump where that is the default.
    """

    schema: str
    split: int
    n_train: int
    log_grid: float
    counts: list[dict[int, int]] = field(default_factory=list)
    right: list[dict[int, float]] = field(default_factory=list)
    squares: list[dict[int, float]] = field(default_factory=list)
    stump: dict[str, float] = field(default_factory=dict)


@njit(cache=True)
def _tally(columns, costs, gains, chosen, low, high, base, held, counts, right, squares):
    """Add every card with the chosen columns, any signs and start, to the tallies."""
    k = len(chosen)
    cost, gain = np.zeros(1 << k, np.int64), np.zeros(1 << k, np.int64)
    for p in range(columns.shape[1]):
        pattern = 0
        for i in range(k):
            pattern |= columns[chosen[i], p] << i
        cost[pattern] += costs[p]
        gain[pattern] += gains[p]
    for signs in range(1 << k):
        for start in range(low, high + 1):
            loss, correct = base, held[0]
            for pattern in range(1 << k):
                score = start
                for i in range(k):
                    if pattern >> i & 1:
                        score += -1 if signs >> i & 1 else 1
                if score >= 1:
                    loss += cost[pattern]
                    correct += gain[pattern]
            accuracy = correct / held[1]
            counts[loss] += 1
            right[loss] += accuracy
            squares[loss] += accuracy * accuracy


def tallied(
    name: str, rows: np.ndarray, positive: np.ndarray, split: int, low: int, high: int, most: int
) -> tuple[Pieces, np.ndarray, np.ndarray]:
    """Return the pieces of one split of 70% without the whole grid's.

    Beside them which rows it learns from, and what each row adds to the held-out rows that are
    right if the answer is "+".
    """
    train, test = split_rows(len(rows), split)
    learns = np.zeros(len(rows), dtype=bool)
    learns[train] = True
    gains = np.where(learns, 0, np.where(positive, 1, -1))
    costs = np.where(learns, np.where(positive, -1, 1), 0)
    points, where = np.unique(rows, axis=0, return_inverse=True)
    n_train, d = int(learns.sum()), points.shape[1]
    summed = [
        np.bincount(where.ravel(), weights=part, minlength=len(points)).astype(np.int64)
        for part in (costs, gains)
    ]
    grid = WeightGrid.box(d, 1)
    found = Pieces(name, split, n_train, math.log(grid.n_assignments))
    columns = np.ascontiguousarray(points[:, 1:].T)
    base = int((learns & positive).sum())
    held = np.array([int((~learns & ~positive).sum()), len(test)])
    for size in range(most + 1):
        counts = np.zeros(n_train + 1, np.int64)
        right, squares = np.zeros(n_train + 1), np.zeros(n_train + 1)
        for columns_of in itertools.combinations(range(d - 1), size):
            chosen = np.array(columns_of, dtype=np.int64)
            _tally(columns, *summed, chosen, low, high, base, held, counts, right, squares)
        seen = np.flatnonzero(counts)
        found.counts.append({int(k): int(counts[k]) for k in seen})
        found.right.append({int(k): float(right[k]) for k in seen})
        found.squares.append({int(k): float(squares[k]) for k in seen})
    return found, learns, gains


def pieces(dataset: str, name: str, split: int, low: int, high: int, most: int) -> Pieces:
    """Return the pieces of one split of 70%: starts ``low`` to ``high``, up to so many points."""
    rows, positive = encoded(dataset, name)
    if name == LISTED:
        most = rows.shape[1] - 1
    found, _, _ = tallied(name, rows, positive, split, low, high, most)
    for epsilon in EPSILONS if name != LISTED else ():
        weight = found.n_train * epsilon
        if weight < STUMP_WEIGHT:
            right = stump(*halves(rows, positive, split), (weight,))
            found.stump[str(epsilon)] = float(right[0])
    return found


def mixed(parts: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Return mean accuracy and mean square of a mixture of (log weight, mean, square)."""
    logs = np.array([part[0] for part in parts])
    shares = np.exp(logs - np.logaddexp.reduce(logs))
    return float(shares @ [part[1] for part in parts]), float(shares @ [part[2] for part in parts])


def level(
    counts: dict[int, int], right: dict[int, float], squares: dict[int, float], epsilon: float
) -> tuple[float, float, float, float]:
    """Return the log of one size's sum, mean accuracy and its square, log of how many cards."""
    number = np.array(list(counts.values()), dtype=float)
    logs = -epsilon / 2 * np.array([int(loss) for loss in counts]) + np.log(number)
    total = float(np.logaddexp.reduce(logs))
    share = np.exp(logs - total) / number
    mean, square = (float(share @ list(sums.values())) for sums in (right, squares))
    return total, mean, square, math.log(number.sum())


def laws(kept: Pieces, epsilon: float) -> dict[str, tuple[float, float]]:
    """Return what each measure gives on one split: mean accuracy and its square's."""
    levels = [
        level(counts, right, squares, epsilon)
        for counts, right, squares in zip(kept.counts, kept.right, kept.squares, strict=True)
    ]
    sparse = levels[:5]

    def by(shares: tuple[int, ...], whole: int = 0) -> tuple[float, float]:
        parts = [
            (math.log(share) + total - size, mean, square)
            for share, (total, mean, square, size) in zip(shares, sparse, strict=True)
        ]
        return mixed(parts + ([(math.log(whole) + grid[0], *grid[1:])] if whole else []))

    found = {
        "majority": mixed([sparse[0][:3]]),
        "sparse": mixed([part[:3] for part in sparse]),
    }
    if kept.schema != LISTED:
        for growth, measure in ((1, "equal masses, no grid"), (2, "doubled masses, no grid")):
            found[measure] = mixed(
                [
                    (points * math.log(growth) + total - size, mean, square)
                    for points, (total, mean, square, size) in enumerate(levels)
                ]
            )
        return found
    log_sum = float(np.logaddexp.reduce([level[0] for level in levels]))
    uniform = mixed([x[:3] for x in levels])
    grid = (log_sum - kept.log_grid, *uniform)
    return found | {
        "whole grid": uniform,
        "equal masses": by((1,) * 5, 1),
        "half on the grid": by((1,) * 5, 5),
        "levels": by(LEVELS.shares, LEVELS.whole),
    }


def default_of(splits: list[Pieces], epsilon: float) -> tuple[str, list[float]]:
    """Return the name of the default measure, and its accuracy on each split."""
    name, n_train = splits[0].schema, splits[0].n_train
    if name == LISTED:
        measure = "whole grid"
    else:
        if str(epsilon) in splits[0].stump:
            return "", [kept.stump[str(epsilon)] for kept in splits]
        few = n_train * epsilon < EQUAL_MASSES_WEIGHT
        measure = f"{'equal' if few else 'doubled'} masses, no grid"
    return measure, [laws(kept, epsilon)[measure][0] for kept in splits]


def rows_of(name: str, splits: list[Pieces]) -> list[list[str]]:
    """Return the lines of one table: every measure, and how far the default is behind the best."""
    every = {e: [laws(kept, e) for kept in splits] for e in EPSILONS}
    defaults = {e: default_of(splits, e) for e in EPSILONS}
    rows, behind = [], []
    for measure in every[0.1][0]:
        cells = []
        for e, default in defaults.items():
            cell = f"{np.mean([law[measure][0] for law in every[e]]):.3f}".removeprefix("0")
            bold = measure == default[0]
            cells.append(f"**{cell}**" if bold else cell)
        rows.append([name, measure, *cells])
    for e, default in defaults.items():
        three = [m for m in ("majority", "sparse", "whole grid") if m in every[e][0]]
        best = max(three, key=lambda m: float(np.mean([law[m][0] for law in every[e]])))
        means = [law[best][0] for law in every[e]]
        within = np.mean([law[best][1] - law[best][0] ** 2 for law in every[e]])
        error = math.sqrt((within + np.var(means, ddof=1)) / 15)
        gap = np.mean(default[1]) - np.mean(means)
        behind.append(f"{1000 * gap:+.1f} ({1000 * error:.1f})")
    return [*rows, [name, "default less the best of three, thousandths", *behind]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--schemas", nargs="+", default=[schema for _, schema in TABLES])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    if arguments.kept is not None:
        kept = [Pieces(**json.loads(line)) for line in arguments.kept.read_text().splitlines()]
        rows: list[list[str]] = []
        for name in arguments.schemas:
            splits = [one for one in kept if one.schema == name and one.split < arguments.splits]
            rows += rows_of(name, splits) if splits else []
        save(
            arguments.save,
            columns=["table", "measure", *(f"{e:g}".removeprefix("0") for e in EPSILONS)],
            rows=rows,
            align="l" * 8,
            compared=f"The same {arguments.splits} splits for every measure.",
        )
        return
    absent = set()
    for split, (dataset, name) in itertools.product(range(arguments.splits), TABLES):
        if name not in arguments.schemas or name in absent:
            continue
        low, high = (-1, 1) if name == LISTED else (-2, 3)
        try:
            found = pieces(dataset, name, split, low, high, STAGED_POINTS)
        except TableError as error:
            absent.add(name)
            print(error)
            continue
        if arguments.keep:
            with arguments.keep.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    main()
