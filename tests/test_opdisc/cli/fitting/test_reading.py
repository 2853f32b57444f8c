"""Files of any kind on the command line: one set of options, nothing lost, no cell shown."""

import csv
import gzip
import json
import os
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from helpers.processes import PATIENCE

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data.reading import text_file
from opdisc.models import load_model

CANARY = "xq7canary"
SCHEMA = """
name = "clinic"
missing_values = ["NA"]
target = { column = "ill", positive = "ja", negative = "nein" }
[[feature]]
column = "Größe"
thresholds = [160, 180]
[[feature]]
column = "raucht"
categories = ["täglich", "nie"]
"""
HEADER = ["Größe", "raucht", "note", "ill"]
ROWS = [
    [["150", "170,5", "190", "NA"][i % 4].replace(",", "."), ["täglich", "nie"][i % 2],
     f"note; {i}", ["ja", "nein"][i % 2]]
    for i in range(60)
]  # fmt: skip


def text(delimiter=",", rows=ROWS):
    with open("scratch", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows([HEADER, *rows])
    return Path("scratch").read_text(encoding="utf-8")


def make_sqlite(path):
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE people ("Größe", raucht, note, ill)')
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", ROWS)
    connection.close()


def make_excel(path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["about"])
    sheet = book.create_sheet("people")
    for row in (HEADER, *ROWS):
        sheet.append(row)
    book.save(path)


KINDS = {
    "plain": (lambda: Path("data").write_text(text(), encoding="utf-8"), []),
    "latin": (
        lambda: Path("data").write_bytes(text(";").encode("latin-1")),
        ["--encoding", "latin-1"],
    ),
    "packed": (
        lambda: Path("data").write_bytes(gzip.compress(text("|").encode())),
        ["--delimiter", "|"],
    ),
    "tab": (lambda: Path("data").write_text(text("\t")), ["--delimiter", "tab"]),
    "database": (lambda: make_sqlite("data"), ["--query", "SELECT * FROM people"]),
    "excel": (lambda: make_excel("data"), ["--sheet", "people"]),
}
TYPED = ("database", "excel")
excel = pytest.mark.extras("openpyxl")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(capfd):
    def run(*arguments):
        status = run_command_line(cli, [str(a) for a in arguments])
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return run


def fit(*options, out="card.json"):
    return ["fit", "data", "--schema", "./schema.toml", "--epsilon", "50", "--out", out, *options]


@pytest.mark.parametrize("kind", [*list(KINDS)[:-1], pytest.param("excel", marks=excel)])
def test_every_command_reads_every_kind(kind, run):
    make, options = KINDS[kind]
    make()
    status, _, err = run(*fit(*options))
    assert status == 0, err
    receipt = load_model("card.json").receipt
    assert receipt.n_rows == 60
    assert receipt.guarantee == ("CONDITIONAL" if kind in TYPED else "HOLDS")
    status, out, _ = run("predict", "card.json", "data", *options, "--json")
    assert status == 0
    predicted = json.loads(out)
    assert predicted["rows"] == 60 and set(predicted["predictions"]) == {"ja", "nein"}
    status, out, _ = run("predict", "card.json", "data", *options)
    lines = list(csv.reader(out.splitlines()))
    assert lines[0] == [*HEADER, "prediction", "total"]
    assert [line[:4] for line in lines[1:]] == ROWS
    assert [line[4] for line in lines[1:]] == predicted["predictions"]
    status, out, _ = run(
        "plan", "data", "--schema", "./schema.toml", "--epsilon", "1", *options, "--json"
    )
    assert status == 0 and json.loads(out)


def test_compare_reads_and_resumes_other_kinds(run):
    Path("data").write_bytes(text(";").encode("latin-1"))
    settings = ["--epsilons", "1", "--repeats", "1", "--methods", "majority", "--jobs", "1"]
    command = ["compare", "data", "--schema", "./schema.toml", "--encoding", "latin-1"]
    status, _, err = run(*command, *settings, "--out", "found")
    assert status == 0, err
    assert run("compare", "--resume", "--out", "found")[0] == 0
    recorded = json.loads(Path("found/settings.json").read_text())["arguments"]
    assert recorded["reading"]["encoding"] == "latin-1"


def test_predictions_of_many_parts_are_those_of_one(run, monkeypatch):
    Path("data").write_text(text(), encoding="utf-8")
    run(*fit())
    whole = run("predict", "card.json", "data")
    monkeypatch.setattr(text_file.TextFile.chunks, "__defaults__", (3,))
    assert run("predict", "card.json", "data") == whole


def test_labels_are_spelled_as_the_whole_table_spells_them_first(run, monkeypatch):
    schema = SCHEMA.replace('"ja"', "1").replace('"nein"', "0")
    Path("schema.toml").write_text(schema, encoding="utf-8")
    spelled = [{"ja": "1", "nein": "0"}[row[3]] for row in ROWS]
    labels = ["" if i < 30 else f"{bit}.0" if i < 40 else bit for i, bit in enumerate(spelled)]
    rows = [[*row[:3], label] for row, label in zip(ROWS, labels, strict=True)]
    Path("data").write_text(text(rows=rows), encoding="utf-8")
    assert run(*fit())[0] == 0
    monkeypatch.setattr(text_file.TextFile.chunks, "__defaults__", (3,))
    status, out, _ = run("predict", "card.json", "data", "--json")
    assert status == 0 and set(json.loads(out)["predictions"]) == {"1.0", "0.0"}


def test_a_late_mistake_writes_and_prints_nothing(run, monkeypatch):
    # The size tells who is ill: a card that does without it has a probability below e^-100.
    ill = [[*row[:3], "ja" if row[0] == "190" else "nein"] for row in ROWS]
    Path("data").write_text(text(rows=ill), encoding="utf-8")
    run(*fit())
    Path("scored.csv").write_text("old")
    monkeypatch.setattr(text_file.TextFile.chunks, "__defaults__", (8,))
    for last in (f"{CANARY},nie,n,ja\n", f"{CANARY}\n", f'"{CANARY}'):
        Path("data").write_text(text() + last, encoding="utf-8")
        before = sorted(os.listdir())
        for options in (["--out", "scored.csv"], [], ["--json"]):
            status, out, err = run("predict", "card.json", "data", *options)
            assert (status, out) == (1, "") and err.count("\n") == 1 and CANARY not in err
        assert Path("scored.csv").read_text() == "old" and sorted(os.listdir()) == before
        status, out, err = run(*fit(out="new.json"))
        assert status == 1 and out == "" and CANARY not in err
        assert not Path("new.json").exists()


def test_predictions_of_private_rows_are_nobody_elses(run):
    Path("data").write_text(text(), encoding="utf-8")
    run(*fit())
    assert run("predict", "card.json", "data", "--out", "scored.csv")[0] == 0
    assert stat.S_IMODE(os.stat("scored.csv").st_mode) == 0o600


def test_a_pipe_is_read_where_one_look_is_not_enough(run):
    Path("data").write_text(text(), encoding="utf-8")
    run(*fit())
    expected = run("predict", "card.json", "data")
    os.mkfifo("pipe")
    # Nobody but a reader lets it end: it must not keep a failed test from ending.
    writer = threading.Thread(
        target=lambda: Path("pipe").write_text(text(), encoding="utf-8"), daemon=True
    )
    writer.start()
    assert run("predict", "card.json", "pipe") == expected
    writer.join(PATIENCE)
    assert not writer.is_alive()


def test_a_schema_from_a_pipe_is_read_once(run):
    Path("data").write_text(text(), encoding="utf-8")
    arguments = fit()
    os.mkfifo("piped")
    writer = threading.Thread(
        target=lambda: Path("piped").write_text(SCHEMA, encoding="utf-8"), daemon=True
    )
    writer.start()
    arguments[arguments.index("--schema") + 1] = "./piped"
    assert run(*arguments)[0] == 0
    assert load_model("card.json").schema.name == "clinic"
    writer.join(PATIENCE)
    assert not writer.is_alive()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--delimiter", "ab"], "a delimiter must be one character"),
        (["--encoding", "klingon"], "an encoding must be one that Python knows"),
        (["--query", "SELECT 1"], "a query is for a DuckDB or SQLite file"),
        (["--sheet", "people"], "a sheet is for an Excel file"),
    ],
)
def test_impossible_options_are_wrong_usage_of_every_command(options, words, run):
    Path("data").write_text(text(), encoding="utf-8")
    run(*fit())
    schema = ["--schema", "./schema.toml"]
    for command in (
        fit(out="new.json"),
        ["plan", "data", *schema, "--epsilon", "1"],
        ["predict", "card.json", "data"],
        ["compare", "data", *schema, "--out", "found"],
    ):
        status, out, err = run(*command, *options)
        assert status == 2 and out == "" and words in err and err.count("\n") == 1
    assert not Path("new.json").exists() and not Path("found").exists()


@excel
def test_a_header_is_checked_on_the_sheet_that_is_named(run):
    make_excel("data")
    check = ["schema", "check", "data", "--schema", "./schema.toml"]
    status, out, _ = run(*check, "--sheet", "people")
    assert status == 0 and "1 other name" in out and "note" not in out
    status, _, _ = run(*check)
    assert status == 1  # the first sheet has other columns
    status, out, err = run(*check, "--sheet", "persons")
    assert status == 2 and out == "" and err.count("\n") == 1
    assert "has none called 'persons'" in err and "people" not in err
    status, out, _ = run("schema", "new", "data", "--sheet", "people", "--out", "new.toml")
    assert status == 0 and "raucht" in Path("new.toml").read_text(encoding="utf-8")


def test_a_missing_encoding_is_named_as_the_remedy(run):
    Path("data").write_bytes(text(";").encode("latin-1"))
    status, out, err = run(*fit())
    assert status == 1 and out == "" and "name its encoding" in err
