"""Formats of a card, the programs that run them, and how many rows get the card's answer.

    python benchmarks/exports.py --save benchmarks/results/measured/exports.toml
    python benchmarks/pages.py

Random cards with hostile names, and random rows with missing, unknown and refused cells. A row
agrees if total and answer are the card's, or if both refuse it. What is not installed is said and
left out: pypmml and jpmml_evaluator need Java, fhirpathpy an older python-dateutil than the tests,
PostgreSQL a server whose URL is in OPDISC_POSTGRES. Half an hour.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import math
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from result_files import ROOT, save

sys.path.insert(0, str(ROOT / "tests"))
from helpers.opdisc import cards, exported, graphs, questionnaires, sheets, sql_engines

from opdisc.cli.fitting.predict import predict_file
from opdisc.data import csv_text
from opdisc.models import (
    card_fhir,
    card_onnx,
    card_pmml,
    card_python,
    card_sql,
    card_sql_text,
    card_workbook,
)

Answer = tuple[float, str] | None
"""Total and answer; None of a row that is refused."""

Run = Callable[[Any, random.Random, int], tuple[list[Answer], list[Answer]]]
"""Takes a card, randomness and a number of rows; gives what was found and what is right."""

_UNREAD = "cannot be read"
_ALL_SHEETS = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,-1"


def rows_of(model: Any, rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Return rows; columns that no statement reads are empty."""
    read = exported.read_columns(model)
    rows = (exported.held_row(rng, model.schema) for _ in range(count))
    return [{n: cell if n in read else None for n, cell in row.items()} for row in rows]


def text_rows(model: Any, rng: random.Random, count: int) -> list[dict[str, Any]]:
    """Return rows of texts, however a number is spelled."""
    read = exported.read_columns(model)
    rows = (cards.any_row(rng, model.schema) for _ in range(count))
    return [{n: cell if n in read else None for n, cell in row.items()} for row in rows]


def by_row(
    make: Callable[[Any], Callable[[dict[str, Any]], Answer]],
    take: Callable[[Any, random.Random, int], list[dict[str, Any]]] = rows_of,
) -> Run:
    """Return a run that asks row by row."""

    def run(model: Any, rng: random.Random, count: int) -> tuple[list[Answer], list[Answer]]:
        rows, score = take(model, rng, count), make(model)
        return [score(row) for row in rows], [exported.told(model, row) for row in rows]

    return run


def pypmml(model: Any) -> Callable[[dict[str, Any]], Answer]:
    from pypmml import Model

    document = Model.fromString(card_pmml(model))

    def score(row: dict[str, Any]) -> Answer:
        try:
            found = document.predict({n: cell for n, cell in row.items() if cell is not None})
        except Exception:
            return None
        return _answer(found.get("total"), found.get("prediction"))

    return score


def jpmml(model: Any) -> Callable[[dict[str, Any]], Answer]:
    from jpmml_evaluator import make_evaluator

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "card.pmml"
        place.write_text(card_pmml(model), encoding="utf-8")
        evaluator = make_evaluator(str(place))

    def score(row: dict[str, Any]) -> Answer:
        try:
            found = evaluator.evaluate(row)
        except Exception:
            return None
        return _answer(found["total"], found["prediction"])

    return score


def _answer(total: Any, answer: Any) -> Answer:
    refused = total is None or math.isnan(float(total))
    return None if refused else (float(total), str(answer))


def formulas(model: Any) -> Callable[[dict[str, Any]], Answer]:
    with tempfile.TemporaryDirectory() as folder:
        sheet = sheets.Sheet(card_workbook(model), Path(folder))

    def score(row: dict[str, Any]) -> Answer:
        total, answer = sheet(row)[:2]
        return None if total == _UNREAD else (total, answer)

    return score


def libreoffice(model: Any, rng: random.Random, count: int) -> tuple[list[Answer], list[Answer]]:
    """Fill in one sheet a row, numbers of 15 digits, and let LibreOffice calculate them all."""
    rows = [{n: _short(cell) for n, cell in row.items()} for row in rows_of(model, rng, count)]
    with tempfile.TemporaryDirectory() as folder:
        filled = sheets.filled_book(card_workbook(model), rows)
        (Path(folder) / "card.xlsx").write_bytes(filled)
        home = f"-env:UserInstallation=file://{folder}/home"
        command = ["soffice", "--headless", home, "--convert-to", _ALL_SHEETS, "card.xlsx"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        texts = [
            (Path(folder) / f"card-r{at}.csv").read_text(encoding="utf-8") for at in range(count)
        ]
    found: list[Answer] = []
    for text in texts:
        words = {line[0]: line[4] for line in reversed(list(csv.reader(io.StringIO(text))))}
        total = words["Total"]
        found.append(None if total == _UNREAD else (float(total), words["Answer"]))
    return found, [exported.told(model, row) for row in rows]


def _short(cell: Any) -> Any:
    """Return a number as a sheet keeps it: of its neighbours it knows none."""
    return float(f"{cell:.15g}") if isinstance(cell, float) else cell


def fhirpathpy(model: Any) -> Callable[[dict[str, Any]], Answer]:
    form = questionnaires.Questionnaire(card_fhir(model))
    return lambda row: form(questionnaires.filled_in(row, model.schema))


def fhir_resources(model: Any, rng: random.Random, count: int) -> tuple[list[Any], list[Any]]:
    """Read the document, which is all that this library does: one row a card."""
    from fhir.resources.R4B.questionnaire import Questionnaire

    try:
        Questionnaire.model_validate_json(card_fhir(model))
    except ValueError:
        return [False], [True]
    return [True], [True]


def onnx_by(evaluator: Callable[[bytes], Any]) -> Run:
    def run(model: Any, rng: random.Random, count: int) -> tuple[list[Answer], list[Answer]]:
        rows = [graphs.readable(row, model.schema) for row in rows_of(model, rng, count)]
        content = card_onnx(model)
        totals, answers = evaluator(content)(None, graphs.fed(content, rows))
        found = [_answer(*pair) for pair in zip(totals, answers, strict=True)]
        return found, [exported.told(model, row) for row in rows]

    return run


def sql_on(engine: Any) -> Run:
    def run(model: Any, rng: random.Random, count: int) -> tuple[list[Answer], list[Answer]]:
        kinds, rows = sql_engines.typed(rng, model, count)
        lines = sql_engines.scored(engine, card_sql(model), kinds, rows)
        return _lines(lines), [exported.told(model, row) for row in rows]

    return run


def sql_text_on(engine: Any) -> Run:
    def run(model: Any, rng: random.Random, count: int) -> tuple[list[Answer], list[Answer]]:
        rows = text_rows(model, rng, count)
        kinds = dict.fromkeys(rows[0], "TEXT")
        lines = sql_engines.scored(engine, card_sql_text(model), kinds, rows)
        return _lines(lines), [exported.told(model, row) for row in rows]

    return run


def _lines(lines: list[dict[str, Any]]) -> list[Answer]:
    return [_answer(line["total"], line["prediction"]) for line in lines]


def python(model: Any) -> Callable[[dict[str, Any]], Answer]:
    namespace: dict[str, Any] = {}
    exec(card_python(model), namespace)

    def score(row: dict[str, Any]) -> Answer:
        try:
            return namespace["score"](row), str(namespace["predict"](row))
        except ValueError:
            return None

    return score


def predict(model: Any, rng: random.Random, count: int) -> tuple[list[Answer], list[Answer]]:
    """Score a file; it is refused whole, so it holds rows that card and file can have."""
    right: list[Answer] = []
    rows = []
    while len(rows) < count:
        (row,) = text_rows(model, rng, 1)
        quoted = any(str(cell).lstrip().startswith('"') for cell in row.values())
        if not quoted and (answer := exported.told(model, row)) is not None:
            rows.append(row)
            right.append(answer)
    lines = [["number", *rows[0]]]  # a file that begins with a tag would be taken for a page
    lines += [[str(at), *(cell or "" for cell in row.values())] for at, row in enumerate(rows)]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "rows.csv"
        place.write_text(csv_text(lines), encoding="utf-8")
        parts = list(predict_file(model, place, delimiter=","))
    own = {name: np.concatenate([part.own[name] for part in parts]) for name in parts[0].own}
    return [_answer(*pair) for pair in zip(own["total"], own["prediction"], strict=True)], right


def installed(*names: str) -> Callable[[], str | None]:
    """Return what tells the version of packages; of the last one, it is shown."""

    def told() -> str | None:
        try:
            return [version(name) for name in names][-1]
        except PackageNotFoundError:
            return None

    return told


def with_java(name: str) -> Callable[[], str | None]:
    return lambda: installed(name)() if shutil.which("java") else None


def office() -> str | None:
    if shutil.which("soffice") is None:
        return None
    done = subprocess.run(["soffice", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


def server() -> str | None:
    if "OPDISC_POSTGRES" not in os.environ or installed("psycopg")() is None:
        return None
    with sql_engines.on_postgresql() as (cursor, _):
        cursor.execute("SHOW server_version")
        return str(cursor.fetchone()[0]).split()[0]


SQL = (
    ("SQLite", lambda: sqlite3.sqlite_version, sql_engines.on_sqlite),
    ("DuckDB", installed("duckdb"), sql_engines.on_duckdb),
    ("PostgreSQL", server, sql_engines.on_postgresql),
)

RUNS: list[tuple[str, str, Callable[[], str | None], int, Run]] = [
    ("`--pmml`", "pypmml", with_java("pypmml"), 17, by_row(pypmml)),
    ("`--pmml`", "jpmml-evaluator", with_java("jpmml_evaluator"), 17, by_row(jpmml)),
    ("`--xlsx`", "formulas", installed("openpyxl", "formulas"), 15, by_row(formulas)),
    ("`--xlsx`", "LibreOffice", office, 15, libreoffice),
    ("`--fhir`", "fhirpathpy", installed("fhirpathpy"), 6, by_row(fhirpathpy)),
    ("`--fhir`", "fhir.resources", installed("fhir.resources"), 6, fhir_resources),
    ("`--onnx`", "onnxruntime", installed("onnx", "onnxruntime"), 17, onnx_by(graphs.by_runtime)),
    ("`--onnx`", "reference evaluator", installed("onnx"), 17, onnx_by(graphs.by_reference)),
    *(("`--sql`", name, told, 17, sql_on(engine)) for name, told, engine in SQL),
    *(("`--sql-text`", name, told, 0, sql_text_on(engine)) for name, told, engine in SQL),
    (
        "`--python`",
        "Python",
        lambda: sys.version.split()[0],
        0,
        by_row(python, text_rows),
    ),
    ("`opdisc predict`", "a CSV file", lambda: "", 0, predict),
]
"""Format, program, what tells its version, digits of cuts (0: hidden characters too), run."""


def main() -> None:
    """Print, and save, a line for each format and program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cards", type=int, default=25)
    parser.add_argument("--rows", type=int, default=40, help="of each card")
    parser.add_argument("--only", default="", help="programs whose names hold this text")
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    columns = ("form", "program", "cards", "rows", "refused by the card", "rows that agree")
    lines = []
    for form, name, told, digits, run in RUNS:
        if arguments.only not in name:
            continue
        if (found := told()) is None:
            print(f"{form}, {name}: not installed")
            continue
        rng = random.Random(f"{form} {name}")
        counts = measured(run, digits, rng, arguments.cards, arguments.rows)
        lines.append((form, f"{name} {found}".strip(), *(f"{n:,}" for n in counts)))
        print(" | ".join(lines[-1]), flush=True)
    save(
        arguments.save,
        columns,
        lines,
        align="llrrrr",
        compared="Each line has cards and rows of its own.",
    )


def measured(
    run: Run, digits: int, rng: random.Random, n_cards: int, n_rows: int
) -> tuple[int, int, int, int]:
    """Return how many cards and rows there were, were refused by the card, and agree."""
    done = rows = refused = agree = 0
    while done < n_cards:
        model = exported.shown_model(rng, digits=digits) if digits else cards.any_model(rng)
        if not exported.read_columns(model):
            continue
        with contextlib.redirect_stderr(io.StringIO()):
            found, right = run(model, rng, n_rows)
        done += 1
        rows += len(right)
        refused += right.count(None)
        agree += sum(map(bool, map(same, found, right)))
    return done, rows, refused, agree


def same(found: Any, right: Any) -> bool:
    """Return whether total and answer are those of the card, or both refuse."""
    return bool(found == right)


if __name__ == "__main__":
    main()
