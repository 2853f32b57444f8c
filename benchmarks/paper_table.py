"""Print the tables of docs/paper.md from the results of ``opdisc compare --paper``.

opdisc compare --paper --out compare-paper
python benchmarks/paper_table.py compare-paper
"""

import json
import sys
from pathlib import Path

import pandas as pd

from opdisc.comparison.methods.paper import PAPER_METHODS


def main(directory: str) -> None:
    for part in sorted(path for path in Path(directory).iterdir() if path.is_dir()):
        lines = (part / "runs.jsonl").read_text(encoding="ascii").splitlines()
        runs = pd.DataFrame([json.loads(line) for line in lines])
        failed = (runs["status"] != "ok").sum()
        print(f"\n{part.name}: {runs['repeat'].nunique()} repeats, {failed} runs without a model")
        for column in ("train_accuracy", "test_accuracy"):
            if runs[column].notna().any():
                print(f"\n{column}, mean and standard deviation\n")
                print_table(runs, column)


def print_table(runs: pd.DataFrame, column: str) -> None:
    epsilons = sorted(runs["epsilon"].dropna().unique())
    print("| method | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |")
    print("|---|" + "---|" * len(epsilons))
    for method in PAPER_METHODS:
        own = runs[runs["method"] == method]
        groups = [own[own["epsilon"] == e][column] for e in epsilons if len(own)]
        if own["epsilon"].isna().all():
            groups = [own[column]] * len(epsilons)  # not private: the same at every epsilon
        cells = [f"{g.mean():.3f} ± {g.std():.3f}".replace("0.", ".") for g in groups]
        print(f"| `{method}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(sys.argv[1])
