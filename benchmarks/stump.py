"""What a decision stump gains where rows times epsilon are few.

The three small tables, 700 rows of nine yes/no questions about UCI's census table (income as
in adult_binary, and what its other columns say of one of them), each also with
its answers the other way round, and 700 rows of adult-small, whose cards can be listed. The mean
held-out accuracy of each law is computed, not drawn: one draw from many cards (the exponential law
over 20,000 of them by coins, or all that are listed; permute-and-flip errs a little less), a
decision stump by permute-and-flip over all columns, and the private majority. About four minutes.

    OPDISC_DATA=... python benchmarks/stump.py --splits 6
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from result_files import save
from splits import encoded, halves

from opdisc import load_dataset
from opdisc.tuned import NARROW_COLUMNS

WEIGHTS = (2, 4, 7, 10, 14, 20)
TRAINING_ROWS, HELD_OUT_ROWS = 700, 4000
CARDS, LISTED = 20_000, 8
Rows = tuple[np.ndarray, np.ndarray]


def questions() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the 0/1 columns and answers of every question."""
    table = load_dataset("adult")

    def steps(column: str, cuts: tuple[int, ...]) -> np.ndarray:
        numbers = table[column].astype(np.int64)
        return np.column_stack([numbers >= cut for cut in cuts]).astype(np.int64)

    def levels(column: str) -> np.ndarray:
        return pd.get_dummies(table[column].fillna("?")).to_numpy().astype(np.int64)

    groups = {
        "age": steps("age", (22, 26, 30, 35, 45, 55, 65)),
        "hours": steps("hours-per-week", (20, 35, 41, 50)),
        "education": steps("education-num", (9, 10, 12, 13, 14, 15)),
        "sex": levels("sex")[:, 1:],
        "income": levels("income-per-year")[:, 1:],
        "occupation": levels("occupation"),
        "marital": levels("marital-status"),
        "family": levels("relationship"),
    }
    status = table["marital-status"].astype(str)
    professions = table["occupation"].isin(["Prof-specialty", "Exec-managerial"])
    # Each answer, and the groups of columns that would give it away.
    asked = {
        "married": (status.str.startswith("Married"), {"marital", "family"}),
        "never married": (status == "Never-married", {"marital", "family"}),
        "income": (groups["income"][:, 0], {"income"}),
        "sex": (groups["sex"][:, 0], {"sex", "family"}),
        "more than 40 hours": (groups["hours"][:, 2], {"hours"}),
        "some college": (groups["education"][:, 1], {"education"}),
        "below 30": (1 - groups["age"][:, 2], {"age"}),
        "professional": (professions, {"occupation"}),
    }
    columns, label = encoded("adult-binary", "adult_binary")
    found = {"adult_binary": (columns[:, 1:], label.astype(np.int64))}
    for name, (answer, hidden) in asked.items():
        shown = [group for key, group in groups.items() if key not in hidden]
        found[name] = (np.concatenate(shown, axis=1), np.asarray(answer).astype(np.int64))
    return found


def cards_of(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return points, (d, M), and starts: all of -1..1, or by coins as in the staged mechanism."""
    if d < LISTED:
        weights = itertools.product((-1, 0, 1, 2), *((-1, 0, 1),) * d)
        listed = np.array(list(weights), dtype=np.float32)
        return listed[:, 1:].T, listed[:, 0]
    most, start = (7, 2) if d <= NARROW_COLUMNS else (5, 3)
    masses = (2.0 if d <= NARROW_COLUMNS else 1.0) ** np.arange(most + 1)
    sizes = rng.choice(most + 1, size=CARDS, p=masses / masses.sum())
    points = np.zeros((d, CARDS), dtype=np.float32)
    for k, size in enumerate(sizes):
        points[rng.choice(d, size=size, replace=False), k] = rng.choice([-1, 1], size=size)
    return points, rng.integers(1 - start, start + 1, size=CARDS)


def many_cards(train: Rows, test: Rows, seed: int) -> np.ndarray:
    """Return the mean accuracy of one draw from many cards, at every weight."""
    points, starts = cards_of(train[0].shape[1], np.random.default_rng(seed))
    n = len(train[1])

    def right(rows: Rows) -> np.ndarray:
        predicted = rows[0].astype(np.float32) @ points + starts >= 1
        return np.asarray((predicted == rows[1][:, None].astype(bool)).mean(axis=0))

    loss, found = n * (1 - right(train)), right(test)
    laws = [np.exp(-weight / n / 2 * (loss - loss.min())) for weight in WEIGHTS]
    return np.array([law @ found / law.sum() for law in laws])


def stump(train: Rows, test: Rows, weights: Sequence[float] = WEIGHTS) -> np.ndarray:
    """Return that of a stump, each column as often; the private majority's if one is constant."""
    columns = np.concatenate([train[0], test[0]]).T
    sides = np.stack([1 - columns, columns])

    def sums(rows: Rows, part: slice) -> tuple[np.ndarray, np.ndarray]:
        return sides[:, :, part] @ rows[1], sides[:, :, part].sum(axis=2)

    n = len(train[1])
    positive, of = sums(train, slice(0, n))
    held_positive, held_of = sums(test, slice(n, None))
    gap = 2 * positive - of
    found = []
    for weight in weights:
        worse = np.exp(-weight / n / 2 * np.abs(gap)) / 2
        says_plus = np.where(gap > 0, 1 - worse, worse)
        right = says_plus * held_positive + (1 - says_plus) * (held_of - held_positive)
        found.append(right.sum(axis=0).mean() / len(test[1]))
    return np.array(found)


def accuracies(train: Rows, test: Rows, seed: int) -> np.ndarray:
    """Return mean held-out accuracies, (3, WEIGHTS): many cards, a stump, the majority."""
    without = [(np.zeros_like(X[:, :1]), y) for X, y in (train, test)]
    return np.array([many_cards(train, test, seed), stump(train, test), stump(*without)])


def tables(splits: int) -> Iterator[tuple[str, Rows, Rows, int]]:
    """Yield every table's training and held-out rows, split by split."""
    for name in ("german", "mammo", "breastcancer"):
        rows, positive = encoded(name, name)
        for split in range(splits):
            yield name, *halves(rows, positive, split), split
    rows, positive = encoded("adult-balanced", "adult-small")
    asked = {"adult-small, 700 rows": (rows[:, 1:], positive.astype(np.int64))}
    asked |= {f"census, {name}": found for name, found in questions().items()}
    for name, (X, y) in asked.items():
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            train = order[:TRAINING_ROWS]
            test = order[TRAINING_ROWS : TRAINING_ROWS + HELD_OUT_ROWS]
            yield name, (X[train], y[train]), (X[test], y[test]), split
            yield f"{name}, reversed", (X[train], 1 - y[train]), (X[test], 1 - y[test]), split


def main() -> None:
    """Print, and save, three lines for each table or group of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    found: dict[str, list[np.ndarray]] = {}
    for name, train, test, split in tables(arguments.splits):
        found.setdefault(name, []).append(accuracies(train, test, split))
    means = {name: np.mean(got, axis=0) for name, got in found.items()}
    census = {name: got for name, got in means.items() if name.startswith("census")}
    shown = {name: got for name, got in means.items() if name not in census}
    for name, reversed_ in (("census, nine questions", False), ("the same, reversed", True)):
        part = [got for key, got in census.items() if key.endswith("reversed") is reversed_]
        shown[name] = np.mean(part, axis=0)
    rows = []
    for name, lines in shown.items():
        for method, line in zip(("many cards", "a stump", "majority"), lines, strict=True):
            rows.append((name, method, *(f"{mean:.3f}".removeprefix("0") for mean in line)))
            print("  ".join(rows[-1]), flush=True)
    for k, weight in enumerate(WEIGHTS):
        ahead = sum(bool(got[1, k] > got[0, k]) for got in means.values())
        worst = min(float(got[1, k] - got[0, k]) for got in means.values())
        print(f"{weight}: a stump is ahead on {ahead} of {len(means)}, at worst {worst:+.4f}")
    compared = f"The same {arguments.splits} splits for all lines of a table."
    columns = ("table", "law", *(str(weight) for weight in WEIGHTS))
    save(arguments.save, columns, rows, compared=compared)


if __name__ == "__main__":
    main()
