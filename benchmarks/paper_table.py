"""Print the tables of docs/paper.md from the results of ``opdisc compare --paper``.

Several directories of results are taken as one: the table is the same, the noise is not.

opdisc compare --paper --out compare-paper
python benchmarks/paper_table.py compare-paper --save benchmarks/results/paper

``--pictures docs/_static`` also draws the paper's two figures at its own size: accuracy against
epsilon, and histograms of the seconds of a solve.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from result_files import save

from opdisc.comparison.methods.paper import PAPER_METHODS, REPEATS, WIDE_PAPER_METHODS
from opdisc.report.cells import evaluations, find_cells
from opdisc.report.figures import plates, styles
from opdisc.report.figures.axes import WIDE as WIDE_SIZE, draw_accuracy
from opdisc.report.figures.curves import curves
from opdisc.report.results import read_results
from opdisc.report.series import find_series

SHOWN = {
    ("adult-small-training", "train_accuracy"): "small-training",
    ("adult-small-held-out", "test_accuracy"): "small-held-out",
    ("adult-n19-training", "train_accuracy"): "columns-training",
    ("adult-n19-held-out", "test_accuracy"): "columns-held-out",
    ("adult-wide31-training", "train_accuracy"): "wide-training",
}
"""What the page shows of each part, and its result file."""

WIDE = "adult-wide31-training"

DRAWN = (
    "opdisc-published@5",
    "opdisc-published@2",
    "rspm-published",
    "rspm",
    "logistic-noisy-sgd",
    "logistic-noisy-sgd-tuned",
)
"""The curves of the paper's figure, and beside them pure RSPM and fixed settings."""

LEADS = (
    ("opdisc-published@5", "rspm-published"),
    ("opdisc-published@5", "rspm"),
    ("opdisc-published@2", "rspm-published"),
    ("opdisc-published@2", "rspm"),
    ("opdisc-gaussian@2", "rspm-gaussian"),
    ("opdisc@2", "rspm"),
    ("opdisc-published@5", "logistic-noisy-sgd"),
    ("opdisc-published@5", "logistic-noisy-sgd-tuned"),
    ("opdisc-published@2", "logistic-noisy-sgd-tuned"),
    ("rspm-published", "logistic-noisy-sgd-tuned"),
)
"""Whose accuracy is compared with whose, at the paper's own size."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="+", help="what opdisc compare --paper wrote")
    parser.add_argument("--save", type=Path, help="folder of result files to write")
    parser.add_argument("--pictures", type=Path, help="folder of pictures to write")
    arguments = parser.parse_args()
    for name in sorted(
        {path.parent.name for r in arguments.results for path in r.glob("*/runs.jsonl")}
    ):
        parts = [result / name for result in arguments.results if (result / name).is_dir()]
        runs = pd.concat([read_results(part).runs for part in parts], ignore_index=True)
        runs = runs[runs["method"].isin((*WIDE_PAPER_METHODS, *PAPER_METHODS))]
        failed = (runs["status"] != "ok").sum()
        seconds = runs["seconds"].sum()
        print(f"\n{name}: {runs['repeat'].nunique()} repeats, {failed} runs without a model")
        print(f"{len(runs)} runs, {seconds / 3600:.1f} hours of fits")
        for column in ("train_accuracy", "test_accuracy"):
            if runs[column].notna().any():
                print(f"\n{column}, mean and standard deviation\n")
                print_table(runs, column, _file(arguments.save, SHOWN.get((name, column))))
        if "solve_seconds" in runs and runs["solve_seconds"].notna().any():
            is_wide = name == WIDE
            print("\nseconds of a solve, or of a fit; how many runs were stopped at the limit\n")
            print_solves(runs, _file(arguments.save, "wide-solves" if is_wide else None))
            if is_wide:
                print("\ndifference of two means, and how many standard errors that is\n")
                print_leads(runs, _file(arguments.save, "wide-leads"))
                if arguments.pictures:
                    draw_pictures(runs, arguments.pictures)


def draw_pictures(runs: pd.DataFrame, folder: Path) -> None:
    """Draw the paper's two figures as the report of the comparison does."""
    series, runs = find_series(runs)
    looks = styles(series)
    (view,) = evaluations(runs)
    cells = [cell for cell in find_cells(view, series) if cell.series.method in DRAWN]
    drawn = curves(cells, looks, view.metric)
    picture = draw_accuracy(drawn, size=WIDE_SIZE, in_page=False, spreads=("sd",))
    (folder / "paper-accuracy.svg").write_text(picture.file(), encoding="utf-8")
    every = plates([(view, find_cells(view, series))], runs, series, looks)
    ((_, text),) = next(plate.files for plate in every if plate.name == "solves")
    (folder / "paper-solves.svg").write_text(text, encoding="utf-8")


def _file(folder: Path | None, name: str | None) -> Path | None:
    return folder / f"{name}.toml" if folder and name else None


def print_table(runs: pd.DataFrame, column: str, file: Path | None) -> None:
    epsilons = sorted(runs["epsilon"].dropna().unique())
    rows = []
    for method in sorted(runs["method"].drop_duplicates(), key=place):
        own = runs[runs["method"] == method]
        groups = [own[own["epsilon"] == e][column] for e in epsilons]
        if own["epsilon"].isna().all():
            groups = [own[column]] * len(epsilons)  # not private: the same at every epsilon
        rows.append([f"`{method}`", *map(cell, groups)])
    columns = ["method", *(f"{epsilon:g}" for epsilon in epsilons)]
    show(columns, rows)
    save(file, columns, rows, align="l" * len(columns))


def place(method: str) -> int:
    """Return where a method stands in the page's tables."""
    order = (*WIDE_PAPER_METHODS, *PAPER_METHODS)
    return order.index(method) if method in order else len(order)


def cell(values: pd.Series) -> str:
    """Return mean and standard deviation, and of how many runs where some gave no model."""
    if not values.notna().any():
        return "stopped"
    return f"{values.mean():.3f} ± {values.std():.3f}".replace("0.", ".") + few(values)


def few(values: pd.Series) -> str:
    """Return of how many runs a mean is, where these are not all runs, or fewer than 15."""
    done = values.notna().sum()
    if done < len(values):
        return f" ({done} of {len(values)})"
    return f" ({done})" if done < REPEATS else ""


def print_solves(runs: pd.DataFrame, file: Path | None) -> None:
    """Print how long the searches of each method took, and beside them whole fits of others."""
    rows = []
    for method, own in sorted(runs.groupby("method"), key=lambda pair: place(pair[0])):
        found, what = own["solve_seconds"].dropna(), "solve"
        if own["family"].iloc[0] == "convex":
            found, what = own["seconds"][own["status"] == "ok"], "fit"
        elif own["weight_bound"].isna().all() or not len(found):
            continue
        figures = [found.median(), found.quantile(0.9), found.max()]
        stopped = (own["status"] == "time limit").sum()
        numbers = [f"{value:.1f}" for value in figures]
        rows.append([f"`{method}`", what, len(own), *numbers, stopped])
    columns = ["method", "seconds of a", "runs", "median", "90th percentile", "longest", "stopped"]
    show(columns, rows)
    save(file, columns, rows, align="ll" + "r" * (len(columns) - 2))


def print_leads(runs: pd.DataFrame, file: Path | None) -> None:
    """Print how far one method's mean accuracy is above another's."""
    epsilons = sorted(runs["epsilon"].dropna().unique())
    known = runs["train_accuracy"].groupby([runs["method"], runs["epsilon"]])
    mean, error = known.mean(), known.sem()
    rows = []
    for first, second in LEADS:
        cells = []
        for epsilon in epsilons:
            lead = mean[first, epsilon] - mean[second, epsilon]
            spread = np.hypot(error[first, epsilon], error[second, epsilon])
            cells.append(f"{lead:+.3f} ({lead / spread:+.1f})".replace("0.", ".", 1))
        rows.append([f"`{first}` - `{second}`", *cells])
    columns = ["first - second", *(f"{epsilon:g}" for epsilon in epsilons)]
    show(columns, rows)
    save(file, columns, rows, align="l" * len(columns))


def show(columns: list[str], rows: list[list[object]]) -> None:
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")


if __name__ == "__main__":
    main()
