"""Hull noise beside other private logistic regressions: held-out accuracy, and ranks at epsilon 1.

opdisc compare --dataset german --repeats 15 --peers peers/bin/python \
    --methods logistic-hull logistic-objective diffprivlib-logistic logistic majority --out german
python benchmarks/hull.py german mammo --save benchmarks/results/convex/hull.toml

One row for each comparison and method; the best private accuracy of a cell is in bold.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd
from compare_table import circumstances, table
from result_files import save

METHODS = {
    "logistic-hull": "hull",
    "logistic-objective": "objective perturbation",
    "diffprivlib-logistic": "`diffprivlib-logistic`",
}


def rows_of(runs: pd.DataFrame, name: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of one comparison."""
    private = runs[runs["method"].isin(METHODS)]
    columns, rows = table(private)
    whole = private[private["epsilon"] == 1.0].groupby("method", sort=False)["test_auc"].mean()
    plain = runs[runs["method"] == "logistic"]["test_accuracy"].mean()
    ranks = [f"{value:.3f}".lstrip("0") for value in whole]
    ends = [f"{name} ({plain:.3f})".replace("(0", "("), *[""] * (len(rows) - 1)]
    return (
        ["table", *columns, "AUC at 1"],
        [
            [end, METHODS[method], *row[1:], rank]
            for end, method, row, rank in zip(ends, whole.index, rows, ranks, strict=True)
        ],
    )


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+", help="what opdisc compare wrote")
    parser.add_argument("--save", type=Path, help="result file to write")
    arguments = parser.parse_args()
    found: list[list[str]] = []
    columns: list[str] = []
    for folder in arguments.results:
        lines = (folder / "runs.jsonl").read_text(encoding="ascii").splitlines()
        columns, rows = rows_of(pd.DataFrame(map(json.loads, lines)), folder.name)
        found += rows
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for row in found:
        print(f"| {' | '.join(row)} |")
    settings = json.loads((arguments.results[-1] / "settings.json").read_text(encoding="ascii"))
    made = circumstances(settings) | {"compared": "One comparison of 15 splits for each table."}
    made["command"] = made["command"].replace(settings["dataset"], "NAME")
    compared = made.pop("compared")
    save(
        arguments.save,
        columns,
        found,
        align="l" * len(columns),
        compared=compared,
        made=made,
    )


if __name__ == "__main__":
    main()
