"""Held-out accuracy of the first staged draw alone, and of the default with its later draws.

Nine yes/no questions about UCI's census table: income as in adult_binary, and what its other
columns say of one of them, each of 32 to 46 plain columns. The draws are seeded by the split; such
releases would be VOID. About a quarter of an hour.

    OPDISC_DATA=... python benchmarks/later_draws.py --splits 6
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from result_files import save
from splits import encoded, split_rows
from staged import fit

from opdisc import load_dataset

EPSILONS = (0.25, 1.0)


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


def main() -> None:
    """Print, and save, a line for each question."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    columns = ["question", "columns"]
    for epsilon in EPSILONS:
        columns += [f"first alone, {epsilon:g}", f"default, {epsilon:g}", "gain"]
    rows = []
    for name, (X, y) in questions().items():
        cells = [name, str(X.shape[1])]
        for epsilon in EPSILONS:
            right = np.zeros((2, arguments.splits))
            for split in range(arguments.splits):
                train, test = split_rows(len(y), split)
                for k, later in enumerate((0, None)):
                    weights = fit(X[train], y[train], epsilon, split, later)
                    predicted = weights[0] + X[test] @ weights[1:] >= 1
                    right[k, split] = np.mean(predicted == y[test])
            gains = right[1] - right[0]
            error = gains.std(ddof=1) / arguments.splits**0.5
            cells += [f"{mean:.4f}".removeprefix("0") for mean in right.mean(axis=1)]
            cells += [f"{gains.mean():+.4f} ({error:.4f})".replace("0.", ".")]
        rows.append(cells)
        print("  ".join(cells), flush=True)
    compared = (
        f"{arguments.splits} splits, the same for both, one draw each. In brackets: the standard "
        "error of the paired difference."
    )
    save(arguments.save, columns, rows, compared=compared)


if __name__ == "__main__":
    main()
