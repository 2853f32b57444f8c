"""Print the tables of docs/paper.md from the results of ``opdisc compare --paper``.

opdisc compare --paper --out compare-paper
python benchmarks/paper_table.py compare-paper --save benchmarks/results/paper
"""

import argparse
import json
from pathlib import Path

import pandas as pd
from result_files import save

from opdisc.comparison.methods.paper import PAPER_METHODS

SHOWN = {
    ("adult-small-training", "train_accuracy"): "small-training",
    ("adult-small-held-out", "test_accuracy"): "small-held-out",
    ("adult-n19-training", "train_accuracy"): "columns-training",
    ("adult-n19-held-out", "test_accuracy"): "columns-held-out",
}
"""What the page shows of each part, and its result file."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="what opdisc compare --paper wrote")
    parser.add_argument("--save", type=Path, help="folder of result files to write")
    arguments = parser.parse_args()
    for part in sorted(path for path in arguments.results.iterdir() if path.is_dir()):
        lines = (part / "runs.jsonl").read_text(encoding="ascii").splitlines()
        runs = pd.DataFrame([json.loads(line) for line in lines])
        failed = (runs["status"] != "ok").sum()
        print(f"\n{part.name}: {runs['repeat'].nunique()} repeats, {failed} runs without a model")
        for column in ("train_accuracy", "test_accuracy"):
            if runs[column].notna().any():
                print(f"\n{column}, mean and standard deviation\n")
                shown = SHOWN.get((part.name, column))
                file = arguments.save / f"{shown}.toml" if arguments.save and shown else None
                print_table(runs, column, file)


def print_table(runs: pd.DataFrame, column: str, file: Path | None) -> None:
    epsilons = sorted(runs["epsilon"].dropna().unique())
    print("| method | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |")
    print("|---|" + "---|" * len(epsilons))
    rows = []
    for method in PAPER_METHODS:
        own = runs[runs["method"] == method]
        groups = [own[own["epsilon"] == e][column] for e in epsilons if len(own)]
        if own["epsilon"].isna().all():
            groups = [own[column]] * len(epsilons)  # not private: the same at every epsilon
        cells = [f"{g.mean():.3f} ± {g.std():.3f}".replace("0.", ".") for g in groups]
        print(f"| `{method}` | " + " | ".join(cells) + " |")
        rows.append([f"`{method}`", *cells])
    columns = ["method", *(f"{epsilon:g}" for epsilon in epsilons)]
    save(file, columns, rows, align="l" * len(columns))


if __name__ == "__main__":
    main()
