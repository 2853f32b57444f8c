"""What a solver's gap and an unchecked condition do to the choice of columns by best subsets.

First part: small tables of normal columns (20 columns, 3 matter, 4,000 rows, clipped at .5, ridge
120). The best set and the best with two mistakes or more are sought by outer approximation, as
Prastakos, Behdin, Mazumder (2025) do, with HiGHS in place of their solver; it stops where bound
and value differ by a share of the value: .001 and .005, as in their published script. All 1,140
sets are listed to compare. Second part: two neighbours with one row changed, on which the mistakes
method's chances of one set differ by far more than epsilon. A minute or two.

    python benchmarks/support_gaps.py
"""

from __future__ import annotations

import argparse
import itertools
import math
from pathlib import Path

import numpy as np
from result_files import save
from scipy.optimize import Bounds, LinearConstraint, milp

COLUMNS, SIZE, ROWS, CLIP, RIDGE, RADIUS = 20, 3, 4000, 0.5, 120.0, 1.1
FIRST_GAP, OTHER_GAP = 1e-3, 5e-3
HEADER = [
    "correlation",
    "best set right",
    "last of the list right",
    "off by at most",
    "the gap allows",
]


def table(seed: int, alike: float) -> tuple[np.ndarray, np.ndarray]:
    """Return clipped columns and answers; every second of six columns matters."""
    random = np.random.default_rng(seed)
    cells = random.standard_normal((COLUMNS, ROWS))
    for j in range(1, COLUMNS):
        cells[j] = alike * cells[j - 1] + math.sqrt(1 - alike**2) * cells[j]
    means = cells[1 : 2 * SIZE : 2].sum(axis=0) / math.sqrt(SIZE)
    noise = random.standard_normal(ROWS)
    noise *= np.linalg.norm(means) / (math.sqrt(5) * np.linalg.norm(noise))
    return np.clip(cells, -CLIP, CLIP).T, np.clip(means + noise, -CLIP, CLIP)


def least_squares(cells, answers, columns) -> tuple[float, np.ndarray]:
    """Return the ridge objective of some columns, and every column's product with the residual."""
    part = cells[:, columns]
    weights = np.linalg.solve(part.T @ part + RIDGE * np.eye(len(columns)), part.T @ answers)
    residual = answers - part @ weights
    return float(residual @ residual + RIDGE * weights @ weights), cells.T @ residual


def outer(cells, answers, gap: float, star=(), cap: int = SIZE) -> tuple[float, tuple[int, ...]]:
    """Return value and set of the first answer whose bound is near enough, by linear cuts.

    ``value + sum of (x_j'residual)^2 (member_j - z_j) / ridge`` bounds every set ``z`` from below.
    """
    columns = cells.shape[1]
    limits = [LinearConstraint([*np.ones(columns), 0], SIZE, SIZE)]
    limits.append(LinearConstraint([*np.isin(range(columns), star).astype(float), 0], 0, cap))
    chosen = tuple(j for j in range(columns) if j not in star)[:SIZE]
    while True:
        value, products = least_squares(cells, answers, chosen)
        slopes = products**2 / RIDGE
        constant = value + slopes[list(chosen)].sum()
        limits.append(LinearConstraint([*slopes, 1], constant, np.inf))
        found = milp(
            [*np.zeros(columns), 1],
            integrality=[*np.ones(columns), 0],
            bounds=Bounds([*np.zeros(columns), 0], [*np.ones(columns), np.inf]),
            constraints=limits,
        )
        chosen = tuple(int(j) for j in np.flatnonzero(found.x[:-1] > 0.5))
        value, _ = least_squares(cells, answers, chosen)
        if abs(found.fun - value) / value <= gap:
            return value, chosen


def compared(seed: int, alike: float) -> tuple[bool, bool, float, float]:
    """Return whether both answers are the best, how far the second is off, and what a gap allows.

    Off: in largest squared errors of a row, the sensitivity of a score.
    """
    cells, answers = table(seed, alike)
    values = {
        chosen: least_squares(cells, answers, chosen)[0]
        for chosen in itertools.combinations(range(COLUMNS), SIZE)
    }
    moved = (CLIP + CLIP * RADIUS * math.sqrt(SIZE)) ** 2
    star = min(values, key=values.get)
    _, first = outer(cells, answers, FIRST_GAP)
    value, _ = outer(cells, answers, OTHER_GAP, first, SIZE - 2)
    far = min(v for chosen, v in values.items() if len({*chosen} & {*first}) <= SIZE - 2)
    off = (value - far) / moved
    return first == star, off < 1e-9, off, OTHER_GAP * far / moved


def neighbours(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return two tables that differ in one row: columns 0 and 1 sum to what 2 and 3 sum to."""
    random = np.random.default_rng(1)
    total, first, second = random.choice([-1, 1], (3, rows))
    cells = np.stack(
        [total + 9 * first, total - 9 * first, total + 9 * second, total - 9 * second]
    )
    cells = np.vstack([cells, random.choice([-10, 10], rows)]).T / 10.0
    answers = total.astype(float)
    cells[0] = [1, 1, 0, 0, 0]
    answers[0] = 1
    other = cells.copy()
    other[0] = [0, 0, 1, 1, 0]
    return cells, answers, other, answers


def mistakes_chances(
    cells, answers, epsilon: float, radius: float
) -> dict[tuple[int, ...], float]:
    """Return the log of each pair's chance under the mistakes method."""
    sets = [*itertools.combinations(range(cells.shape[1]), 2)]
    values = {}
    for chosen in sets:
        part = cells[:, chosen]
        gram, cross = part.T @ part, part.T @ answers
        weights = np.linalg.solve(gram, cross)
        if np.linalg.norm(weights) > radius:
            raise ValueError("the radius must not bind here")
        values[chosen] = float(answers @ answers - cross @ weights)
    star = min(values, key=values.get)
    wrong = {chosen: 2 - len({*chosen} & {*star}) for chosen in sets}
    least = {t: min(values[c] for c in sets if wrong[c] == t) for t in set(wrong.values())}
    rate = epsilon / (2 * (1 + radius * math.sqrt(2)) ** 2)
    logs = {chosen: -rate * least[wrong[chosen]] for chosen in sets}
    total = np.logaddexp.reduce([*logs.values()])
    return {chosen: float(log - total) for chosen, log in logs.items()}


def main() -> None:
    """Print both parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 3000])
    options = parser.parse_args()
    lines = []
    for alike in (0.1, 0.7):
        found = [compared(seed, alike) for seed in range(options.seeds)]
        best, last, off, allowed = (np.array(part, float) for part in zip(*found, strict=True))
        shares = [f"{int(part.sum())} of {len(found)}" for part in (best, last)]
        lines.append([f"{alike}".lstrip("0"), *shares, f"{off.max():.2f}", f"{allowed.max():.2f}"])
        print(" | ".join(lines[-1]), flush=True)
    save(options.save, HEADER, lines, align="rrrrr")
    for rows in options.rows:
        cells, answers, other, others = neighbours(rows)
        before = mistakes_chances(cells, answers, 1.0, 8.0)
        after = mistakes_chances(other, others, 1.0, 8.0)
        most = max(abs(before[chosen] - after[chosen]) for chosen in before)
        print(f"{rows:,} rows: mistakes' log chances at epsilon 1 differ by up to {most:.2f}")


if __name__ == "__main__":
    main()
