"""Print mean held-out accuracies of comparisons, the best private one at each epsilon in bold.

opdisc compare --dataset german --repeats 15 --out compare-german
python benchmarks/compare_table.py compare-german --save benchmarks/results/peers/german.toml

Several comparisons of the same splits make one table; the first one that has a method counts.
``--beside METHOD`` also prints how far that method is ahead of the best of the others, with the
standard error of the paired differences.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
from result_files import day_text, save

from opdisc.comparison.plan import DEFAULT_EPSILONS, DEFAULT_TIME_LIMIT

NAMES = {
    "auto@auto": "scorecard, defaults",
    "logistic-objective": "logistic, objective perturbation",
    "logistic-noisy-sgd": "logistic, noisy SGD",
}
"""What the pages call a method; others have their own name there."""


def table(runs: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the header and a row for each private method, in the order of the runs.

    A cell with refusals says of how many runs it is the mean, and is never in bold.
    """
    private = runs[runs["private"] & runs["epsilon"].notna()]
    grouped = private.groupby(["method", "epsilon"], sort=False)["test_accuracy"]
    means, released, asked = (
        figures.unstack().sort_index(axis="columns")
        for figures in (grouped.mean(), grouped.count(), grouped.size())
    )
    best = means.where(released == asked).max()
    rows = []
    for method, cells in means.iterrows():
        texts = [
            _cell(mean, released.loc[method, epsilon], asked.loc[method, epsilon])
            for epsilon, mean in cells.items()
        ]
        whole = released.loc[method] == asked.loc[method]
        leads = (whole & (cells == best)).tolist()
        figures = [
            f"**{text}**" if lead else text for text, lead in zip(texts, leads, strict=True)
        ]
        rows.append([NAMES.get(str(method), f"`{method}`"), *figures])
    return ["method", *(f"{epsilon:g}".removeprefix("0") for epsilon in means)], rows


def leads(runs: pd.DataFrame, method: str) -> list[tuple[float, str, float, float]]:
    """Return (epsilon, best other method, mean lead, its standard error), runs paired by split."""
    private = runs[runs["private"] & runs["epsilon"].notna()]
    found = []
    for epsilon, cell in private.groupby("epsilon"):
        accuracies = cell.pivot(index="split_seed", columns="method", values="test_accuracy")
        other = str(accuracies.drop(columns=method).mean(skipna=False).idxmax())
        lead = accuracies[method] - accuracies[other]
        found.append((float(str(epsilon)), other, float(lead.mean()), float(lead.sem())))
    return found


def _cell(mean: float, released: int, asked: int) -> str:
    if not released:
        return f"refused {asked} of {asked}"
    text = f"{mean:.3f}".lstrip("0")
    return text if released == asked else f"{text} ({released} of {asked})"


def circumstances(
    settings: dict[str, Any], methods: Iterable[str] | None = None
) -> dict[str, str]:
    """Return when and how a comparison was made, from its settings."""
    plan, name = settings["plan"], settings["dataset"]
    words = ["opdisc compare --dataset", name, "--repeats", str(plan["repeats"])]
    if tuple(plan["epsilons"]) != DEFAULT_EPSILONS:
        words += ["--epsilons", *(f"{epsilon:g}" for epsilon in plan["epsilons"])]
    if plan["time_limit"] != DEFAULT_TIME_LIMIT:
        words += ["--time-limit", f"{plan['time_limit'] or 0:g}"]
    words += ["--peers peers/bin/python"] if plan["peers"] else []
    return {
        "measured": day_text(date.fromisoformat(settings["started"][:10])),
        "command": " ".join([*words, "--methods", *(methods or plan["methods"])]),
        "version": f"version {settings['versions']['opdisc']}",
        "machine": f"{settings['machine']['cores']} cores",
    }


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+", help="what opdisc compare wrote")
    parser.add_argument("--methods", nargs="+", help="of those compared, in this order")
    parser.add_argument("--beside", metavar="METHOD", help="whose leads to print")
    parser.add_argument("--save", type=Path, help="result file to write")
    arguments = parser.parse_args()
    texts = [(folder / "runs.jsonl").read_text(encoding="ascii") for folder in arguments.results]
    runs = pd.DataFrame([json.loads(line) for text in texts for line in text.splitlines()])
    runs = runs.drop_duplicates(["method", "epsilon", "repeat"])
    if arguments.methods:
        named = [runs[runs["method"] == method] for method in arguments.methods]
        runs = pd.concat(named, ignore_index=True)
    columns, rows = table(runs)
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    if arguments.beside:
        for epsilon, other, lead, error in leads(runs, arguments.beside):
            print(f"epsilon {epsilon:g}: {lead:+.4f} to {other}, standard error {error:.4f}")
    settings = json.loads((arguments.results[-1] / "settings.json").read_text(encoding="ascii"))
    made = circumstances(settings, arguments.methods)
    save(arguments.save, columns, rows, align="l" * len(columns), made=made)


if __name__ == "__main__":
    main()
