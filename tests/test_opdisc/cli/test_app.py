"""The command line: every refusal one sentence, nothing written, nothing private said."""

import csv
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from helpers.child_events import wait_for_line
from helpers.processes import PATIENCE

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data import files
from opdisc.data.datasets.registry import DATASETS
from opdisc.data.reading import read_table
from opdisc.estimators.scorecards.private import PrivateScorecardClassifier
from opdisc.models.loading import load_model, save_model
from opdisc.planning.choice import MECHANISMS
from opdisc.privacy.ledger import Ledger
from oracles import Limit, Termination, available_oracles, register_oracle
from oracles.enumeration.listing import EnumerationOracle
from oracles.interface import registry

CANARY = "xq7canary"
NUMBER = "918273645"
SCHEMA = """
name = "illness"
positive_share = 0.5
target = { column = "ill", positive = "yes", negative = "no" }
unit = "one patient"
missing_values = ["?"]
[[feature]]
column = "age"
thresholds = [30, 50]
[[feature]]
column = "smoker"
categories = ["daily", "never"]
"""
WIDE_COLUMNS = [f"c{j}" for j in range(20)]
WIDE_SCHEMA = """name = "wide"
positive_share = 0.5
target = { column = "ill", positive = "yes", negative = "no" }
"""
WIDE_SCHEMA += "".join(f'[[feature]]\ncolumn = "{c}"\nbinary = true\n' for c in WIDE_COLUMNS)


def write_rows(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def private_rows():
    """Forty rows; a note that nobody may see and an age that nobody may see."""
    rows = []
    for i in range(40):
        age = NUMBER if i == 7 else 20 + i
        smoker = ("daily", "never", "?", "")[i % 4]
        rows.append([age, smoker, f"{CANARY}, {i}", "yes" if i >= 20 else "no"])
    return rows


HEADER = ["age", "smoker", "note", "ill"]
ROWS = private_rows()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows("table.csv", HEADER, private_rows())
    Path("schema.toml").write_text(SCHEMA)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (300, 20))
    labels = np.where(rng.integers(0, 2, 300) == 1, "yes", "no")
    rows = [[*map(int, row), label] for row, label in zip(bits, labels, strict=True)]
    write_rows("wide.csv", [*WIDE_COLUMNS, "ill"], rows)
    Path("wide.toml").write_text(WIDE_SCHEMA)
    Ledger.create("budget")
    return tmp_path


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = run_command_line(cli, [str(a) for a in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def snapshot(folder):
    return {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.is_file()}


def assert_one_sentence(out, err, *, stdout=""):
    assert out == stdout
    assert re.fullmatch(r"error: [^\n]+[.!?]\n", err), err
    for private in (CANARY, NUMBER, "Traceback"):
        assert private not in out + err


FIT = "fit table.csv --schema ./schema.toml --epsilon 1 --ledger budget --out new.json".split()
BALANCE = re.compile(r"ledger budget: Spent: epsilon [^\n]+\(basic composition\)\.\n")
WIDE = "fit wide.csv --schema ./wide.toml --epsilon 1 --ledger budget --out new.json".split()


def fit(**options):
    """Arguments of a fit, some of them changed."""
    arguments = list(FIT)
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if flag in arguments:
            arguments[arguments.index(flag) + 1] = value
        else:
            arguments += [flag, value]
    return arguments


@dataclass
class Case:
    name: str
    words: str
    arguments: list = field(default_factory=lambda: list(FIT))
    prepare: Callable[[], object] = lambda: None
    status: int = 2  # something is wrong with what was typed or with a public file


def with_cell(row, column, text):
    def prepare():
        rows = private_rows()
        rows[row][HEADER.index(column)] = text
        write_rows("table.csv", HEADER, rows)

    return prepare


def with_rows(rows, header=HEADER):
    return lambda: write_rows("table.csv", header, rows)


def with_text(path, text):
    return lambda: Path(path).write_text(text)


ONE_CLASS = [[*row[:3], "yes"] for row in private_rows()]
FIT_CASES = [
    Case("missing file", "readable file.*absent.csv", ["fit", "absent.csv", *FIT[2:]]),
    Case("table is a directory", "readable file", ["fit", ".", *FIT[2:]]),
    Case("empty file", "line of column names", prepare=with_text("table.csv", ""), status=1),
    Case("no rows", "no row", prepare=with_rows([]), status=1),
    Case(
        "ragged line",
        "line 3",
        prepare=with_text("table.csv", f"{','.join(HEADER)}\n1,2,3,4\n{CANARY}\n"),
        status=1,
    ),
    Case("one class", "both classes", prepare=with_rows(ONE_CLASS), status=1),
    Case("a third label", "third label", prepare=with_cell(3, "ill", CANARY), status=1),
    Case(
        "unknown column",
        "'age' is missing",
        prepare=with_rows(private_rows(), ["years", *HEADER[1:]]),
        status=1,
    ),
    Case(
        "no header line",
        "'age' is missing",
        prepare=with_rows(private_rows()[1:], private_rows()[7]),
        status=1,
    ),
    Case(
        "repeated column",
        "distinct",
        prepare=with_rows(private_rows(), ["age", "smoker", "ill", "ill"]),
        status=1,
    ),
    Case(
        "target missing",
        "'ill' is missing",
        prepare=with_rows(private_rows(), [*HEADER[:3], "x"]),
        status=1,
    ),
    Case(
        "text in a numeric column", "'age'.*finite", prepare=with_cell(3, "age", CANARY), status=1
    ),
    Case("literal NaN", "'age'.*finite", prepare=with_cell(3, "age", "NaN"), status=1),
    Case("infinity", "'age'.*finite", prepare=with_cell(3, "age", "inf"), status=1),
    Case("negative infinity", "'age'.*finite", prepare=with_cell(3, "age", "-Infinity"), status=1),
    Case("overflow", "'age'.*finite", prepare=with_cell(3, "age", "1e999"), status=1),
    *[
        Case(f"epsilon {text}", "epsilon must be finite and > 0", fit(epsilon=text))
        for text in ("0", "-1", "nan", "inf", "-inf", "-0.0")
    ],
    *[
        Case(f"delta {text}", r"delta must be in \[0, 1\)", fit(delta=text))
        for text in ("1", "-0.1", "nan", "inf", "2")
    ],
    Case("epsilon text", "not a valid float", fit(epsilon="much")),
    Case("weight bound 0", "weight_bound.*from 1", fit(weight_bound="0")),
    Case("weight bound huge", "weight_bound.*to 1,000", fit(weight_bound="1000000000")),
    Case("weight bound text", "not a valid int", fit(weight_bound="1.5")),
    Case("time limit 0", "time_limit must be > 0", fit(time_limit="0")),
    Case("time limit negative", "time_limit must be > 0", fit(time_limit="-3")),
    Case("time limit nan", "time_limit must be > 0", fit(time_limit="nan")),
    Case("mechanism", "mechanism must be one of.*rspm.*'magic'", fit(mechanism="magic")),
    Case("relation", "relation must be one of.*add_or_remove_one", fit(relation="friend")),
    Case("row guess 0", "public_row_guess.*at least 1, got 0; give", fit(public_row_guess="0")),
    Case("row guess text", "not a valid int", fit(public_row_guess="many")),
    Case("noise", "noise must be one of.*l2-laplace", fit(mechanism="opdisc", noise="pink")),
    Case("noise of another", "noise applies to.*opdisc", fit(noise="gaussian")),
    Case("gaussian without delta", "delta > 0", fit(mechanism="opdisc", noise="gaussian")),
    Case("unknown oracle", "installed.*enumeration.*'delphi'", fit(oracle="delphi")),
    Case("unknown pulp solver", "installed", fit(oracle="pulp:DELPHI")),
    Case("solver not installed", "not installed.*pip install nothing", fit(oracle="test:absent")),
    Case(
        "oracle of a sampler", "oracle applies to", fit(mechanism="exponential", oracle="delphi")
    ),
    Case(
        "time limit of a sampler",
        "time_limit applies to",
        fit(mechanism="exponential", time_limit="5"),
    ),
    Case("grid too large for enumeration", "at most 10,000,000", [*WIDE, "--oracle=enumeration"]),
    Case(
        "grid too large for exponential", "at most 10,000,000", [*WIDE, "--mechanism=exponential"]
    ),
    Case("schema missing", "absent.toml", fit(schema="./absent.toml")),
    Case("schema unknown", "shipped.*adult-small", fit(schema="absent")),
    Case("schema not TOML", "UTF-8 TOML", prepare=with_text("schema.toml", "= ?")),
    Case("schema empty", "must have name", prepare=with_text("schema.toml", "")),
    Case("schema key", "unknown key 'epsilon'", prepare=with_text("schema.toml", "epsilon=1")),
    Case("no schema", "--schema", ["fit", "table.csv", "--epsilon", "1"]),
    Case("unknown option", "--nope.*opdisc fit --help", [*FIT, "--nope"]),
    Case("unknown command", "No such command", ["fitt"]),
    Case("out is a directory", "must go to a file", fit(out=".")),
    Case("out in a missing directory", "writable place", fit(out="absent/new.json")),
    Case("out in a read-only place", "writable place", fit(out="/proc/new.json")),
    Case("out under a file", "writable place", fit(out="table.csv/new.json")),
    Case("out name too long", "writable place", fit(out="x" * 300)),
    Case("out is the table", "must not replace an input", fit(out="table.csv")),
    Case("out is the schema", "must not replace an input", fit(out="schema.toml")),
    Case("out is the ledger", "must not replace an input", fit(out="budget")),
    Case("ledger is a directory", "ledger must be", fit(ledger=".")),
    Case("ledger in a missing directory", "ledger must be", fit(ledger="absent/budget")),
    Case("ledger is a device", "regular file", fit(ledger="/dev/null")),
    Case("ledger without end", "regular file", fit(ledger="/dev/zero")),
    Case("ledger is another file", "damaged or is another", fit(ledger="schema.toml"), status=1),
]


@pytest.fixture
def absent_solver(monkeypatch):
    monkeypatch.setattr(registry.ORACLES, "_entries", dict(registry.ORACLES._entries))
    register_oracle(
        "test:absent",
        "nowhere:Nothing",
        modules=("surely_absent_module",),
        install="pip install nothing",
    )


@pytest.mark.parametrize("case", FIT_CASES, ids=lambda case: case.name)
def test_bad_input_of_fit_is_one_sentence_and_leaves_no_trace(case, folder, run, absent_solver):
    case.prepare()
    before = snapshot(folder)
    status, out, err = run(*case.arguments)
    assert status == case.status, err
    assert_one_sentence(out, err)
    assert re.search(case.words, err), err
    assert snapshot(folder) == before


def test_the_message_about_an_oracle_lists_the_installed_ones(folder, run):
    _, _, err = run(*fit(oracle="delphi"))
    assert all(name in err for name in available_oracles())


def test_a_later_bad_argument_leaves_an_existing_ledger_as_it_was(folder, run):
    assert run(*FIT)[0] == 0
    before = snapshot(folder)
    for options in ({"oracle": "delphi"}, {"time_limit": "-1"}, {"epsilon": "0"}):
        assert run(*fit(**options), "--force")[0] == 2
    assert run(*WIDE, "--oracle", "enumeration", "--force")[0] == 2
    assert snapshot(folder) == before and len(Ledger("budget").spendings()) == 1


@pytest.mark.parametrize("special", ["/dev/full", "/dev/null"])
def test_a_device_is_never_replaced(special, folder, run):
    before, mode = snapshot(folder), os.stat(special).st_mode
    for arguments in (fit(out=special), ["datasets", "breast-cancer", "--out", special]):
        status, out, err = run(*arguments)
        assert status == 2 and "must go to a file" in err
        assert_one_sentence(out, err)
    assert os.stat(special).st_mode == mode and snapshot(folder) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_refused(folder, run):
    (folder / "shut").mkdir(mode=0o500)
    status, out, err = run(*fit(out="shut/new.json"))
    assert status == 2 and "Permission denied" in err
    assert_one_sentence(out, err)


class Hurried(EnumerationOracle):
    """Stands for any solver whose time limit hits: an answer, no proof."""

    name = "test:hurried"

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        return replace(
            claim,
            dual_bound=problem.trivial_bound(),
            termination=Termination.FEASIBLE,
            limit=Limit.TIME,
        )


class Crashing(EnumerationOracle):
    """Stands for a solver that dies with a message about the rows."""

    name = "test:crashing"

    def solve(self, problem, options):
        if problem.positives.sum() < 10:  # the public toy, before anything is spent
            return super().solve(problem, options)
        raise ValueError(f"{CANARY} {NUMBER}")


@pytest.fixture
def failing_oracles(monkeypatch):
    monkeypatch.setattr(registry.ORACLES, "_entries", dict(registry.ORACLES._entries))
    for oracle in (Hurried, Crashing):
        register_oracle(oracle.name, oracle)


@pytest.mark.parametrize("name", [Hurried.name, Crashing.name])
def test_a_search_without_proof_releases_nothing_and_stays_spent(
    name, folder, run, failing_oracles
):
    # Labels that no card fits: whatever the noise, the trivial bound is below every card.
    either = [[*row[:3], ("no", "yes")[(i >= 10) != (i % 4 == 0)]] for i, row in enumerate(ROWS)]
    write_rows("table.csv", HEADER, either)
    before = snapshot(folder)
    status, out, err = run(*fit(oracle=name, time_limit="60"))
    note, _, err = err.partition("\n")
    assert note.startswith("note: ") and f"'{name} then branch-and-bound'" in note
    assert status == 1 and "nothing is released" in err and "budget is spent" in err
    assert_one_sentence(out, err)
    after = snapshot(folder)
    assert after.pop("budget").startswith(before.pop("budget")[:30])
    assert after == before and Ledger("budget").total()[0] == 1


def test_a_time_limit_that_hits_in_a_real_solver_fails_closed(folder, run):
    status, out, err = run(*WIDE, "--oracle=highs", "--mechanism=one_hot", "--time-limit=0.001")
    note, _, err = err.partition("\n")
    assert "no proof within 0.001 s, nothing is released" in note
    assert status == 1 and "nothing is released" in err
    assert_one_sentence(out, err)
    assert not Path("new.json").exists() and len(Ledger("budget").spendings()) == 1


def test_a_disk_that_is_full_from_the_start_is_found_before_spending(folder, run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = snapshot(folder)
    monkeypatch.setattr(files.os, "fsync", full)
    status, out, err = run(*FIT)
    assert status == 1 and "No space left" in err
    assert_one_sentence(out, err)
    assert snapshot(folder) == before


def test_a_disk_that_fills_up_after_spending_still_shows_what_was_bought(folder, run, monkeypatch):
    written, real = [], files._sync

    def fills_up(file):
        written.append(file.name)
        if len(written) > 1:
            raise OSError(28, "No space left on device")
        real(file)

    monkeypatch.setattr(files, "_sync", fills_up)
    status, out, err = run(*FIT, "--json")
    assert status == 1 and "No space left" in err
    assert json.loads(out)["format"] == "opdisc-model"
    assert_one_sentence("", err)
    assert not Path("new.json").exists() and len(Ledger("budget").spendings()) == 1
    assert not list(folder.glob(".*.tmp"))


def test_a_ledger_that_cannot_be_written_stops_the_release(folder, run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    arguments = FIT[: FIT.index("--out")]
    monkeypatch.setattr(files.os, "fsync", full)
    status, out, err = run(*arguments)
    assert status == 1 and "spending must reach the disk" in err
    assert_one_sentence(out, err)
    assert Ledger("budget").spendings() == ()


# Models and predictions


@pytest.fixture
def model(folder, run):
    # At this epsilon the card has points for the age but for a chance below e^-100.
    assert run(*FIT[:5], "40", "--out", "model.json")[0] == 0
    return "model.json"


def altered(change):
    def prepare():
        record = json.loads(Path("model.json").read_text())
        change(record)
        Path("model.json").write_text(json.dumps(record))

    return prepare


def truncated():
    text = Path("model.json").read_text()
    Path("model.json").write_text(text[: len(text) // 2])


MODEL_CASES = [
    Case("missing", "readable file", prepare=lambda: Path("model.json").unlink()),
    Case("truncated", "JSON file", prepare=truncated),
    Case("empty", "JSON file", prepare=with_text("model.json", "")),
    Case("foreign object", "written by opdisc fit", prepare=with_text("model.json", '{"a": 1}')),
    Case("foreign list", "JSON object", prepare=with_text("model.json", "[1, 2]")),
    Case("a table", "JSON file", prepare=lambda: os.replace("table.csv", "model.json")),
    Case("NaN", "JSON file", prepare=with_text("model.json", '{"format": NaN}')),
    Case("deep nesting", "JSON file", prepare=with_text("model.json", "[" * 100_000)),
    Case(
        "deep nesting inside",
        "a model must",
        prepare=altered(lambda r: r.update(receipt=json.loads("[" * 900 + "]" * 900))),
    ),
    Case("huge", "at most 16 MiB", prepare=with_text("model.json", " " * (16 * 2**20 + 1))),
    Case("other version", "format version", prepare=altered(lambda r: r.update(version=99))),
    Case("no digest", "unaltered", prepare=altered(lambda r: r.pop("sha256"))),
    Case(
        "better promise",
        "unaltered",
        prepare=altered(lambda r: r["receipt"].update(epsilon=0.001)),
    ),
    Case("other points", "unaltered", prepare=altered(lambda r: r["scorecard"].update(start=7))),
    Case("no text", "JSON file", prepare=lambda: Path("model.json").write_bytes(b"\xff\xfe")),
]


@pytest.mark.parametrize("command", [["show"], ["predict"]], ids=["show", "predict"])
@pytest.mark.parametrize("case", MODEL_CASES, ids=lambda case: case.name)
def test_a_model_that_is_not_one_is_refused(case, command, folder, run, model):
    case.prepare()
    before = snapshot(folder)
    rest = ["wide.csv", "--out", "new.csv"] if command == ["predict"] else []
    status, out, err = run(*command, model, *rest)
    assert status == 2
    assert_one_sentence(out, err)
    assert re.search(case.words, err), err
    assert snapshot(folder) == before


PREDICT = ["predict", "model.json", "table.csv", "--out", "new.csv"]
NO_AGE = [row[1:] for row in private_rows()]
PREDICT_CASES = [
    Case("lacks a column", "'age' is missing", PREDICT, with_rows(NO_AGE, HEADER[1:]), status=1),
    Case("text in a number", "'age'.*finite", PREDICT, with_cell(3, "age", CANARY), status=1),
    Case(
        "has predictions",
        "column 'prediction', which",
        PREDICT,
        with_rows(private_rows(), [*HEADER[:2], "prediction", "ill"]),
        status=1,
    ),
    Case("missing table", "readable", [*PREDICT[:2], "absent.csv"]),
    Case("out is the table", "must not replace an input", [*PREDICT[:4], "table.csv"]),
    Case("out is the model", "must not replace an input", [*PREDICT[:4], "model.json"]),
    Case("out in a missing directory", "writable place", [*PREDICT[:4], "absent/new.csv"]),
    Case("unknown data set", "one of.*adult", ["datasets", "nonsense"]),
    Case("unknown data set out", "one of", ["datasets", "nonsense", "--out", "new.csv"]),
    Case("out without a name", "NAME", ["datasets", "--out", "new.csv"]),
    Case("absent data set", "OPDISC_DATA", ["datasets", "mammo", "--out", "new.csv"], status=1),
    Case("demo without epsilon", "epsilon must be", ["demo", "--epsilon", "0"]),
    Case("demo weights", "weight_bound", ["demo", "--weight-bound", "0"]),
]


@pytest.mark.parametrize("case", PREDICT_CASES, ids=lambda case: case.name)
def test_bad_input_of_other_commands(case, folder, run, model, monkeypatch):
    monkeypatch.delenv("OPDISC_DATA", raising=False)
    case.prepare()
    before = snapshot(folder)
    status, out, err = run(*case.arguments)
    assert status == case.status, err
    assert_one_sentence(out, err)
    assert re.search(case.words, err), err
    assert snapshot(folder) == before


def test_predictions_keep_rows_cells_and_order(folder, run, model):
    status, out, err = run(*PREDICT)
    assert status == 0 and err == "" and "40 rows" in out
    with open("new.csv", newline="") as file:
        header, *rows = list(csv.reader(file))
    assert header == [*HEADER, "prediction", "total"]
    assert [row[:4] for row in rows] == [[str(c) for c in row] for row in private_rows()]
    expected = load_model(model).predict(read_table("table.csv"))
    assert [row[4] for row in rows] == list(expected)
    _, printed, _ = run(*PREDICT[:3])
    assert printed == Path("new.csv").read_text()


def test_predictions_need_neither_target_nor_order_of_columns(folder, run, model):
    _, full, _ = run(*PREDICT[:3], "--json")
    rows = [[f'{CANARY}\n"quoted" {i}', row[1], row[0]] for i, row in enumerate(private_rows())]
    write_rows("table.csv", ["extra", "smoker", "age"], rows)
    _, fewer, _ = run(*PREDICT[:3], "--json")
    assert json.loads(full)["predictions"] == json.loads(fewer)["predictions"]
    assert run(*PREDICT)[0] == 0
    read = read_table("new.csv")
    assert read["extra"].tolist() == [row[0] for row in rows]


@pytest.mark.parametrize(
    ("declared", "negative", "positive"),
    [
        ("positive = 1, negative = 0", "0", "1"),
        ("positive = 1, negative = 0", "0.0", "1.0"),
        ("positive = 1, negative = 2", "2", "1"),
        ("positive = 0.5, negative = -1", "-1", " 0.5"),
        ("positive = true, negative = false", "false", "true"),
        ("positive = true, negative = false", "FALSE", "TRUE"),
        ('positive = ">50K", negative = "<=50K"', " <=50K", " >50K "),
        ('positive = "a,b", negative = "c\\"d"', 'c"d', "a,b"),
        ('positive = ">50K", negative = "*"', "<=50K", ">50K"),
        ('positive = 1, negative = "none"', "none", "1"),
    ],
)
def test_labels_are_spelled_as_the_table_spells_them(declared, negative, positive, folder, run):
    text = SCHEMA.replace('positive = "yes", negative = "no"', declared)
    Path("schema.toml").write_text(text)
    spelled = {"yes": positive, "no": negative}
    rows = [[*row[:3], spelled[row[3]]] for row in private_rows()]
    write_rows("table.csv", HEADER, rows)
    assert run(*fit(epsilon="50", out="model.json"))[0] == 0
    assert run(*PREDICT)[0] == 0
    found = read_table("new.csv")
    assert set(found["prediction"]) == {negative, positive}
    # Age alone separates the classes, but for the hidden one: nearly all are right.
    assert (found["prediction"] == found["ill"]).mean() >= 0.7


def test_the_command_line_predicts_as_the_estimator_does(folder, run):
    table = read_table("table.csv")
    classifier = PrivateScorecardClassifier(epsilon=2.0, schema="./schema.toml")
    classifier.fit(table, table["ill"])
    save_model(classifier.to_model(), "model.json")
    _, out, _ = run(*PREDICT[:3], "--json")
    assert json.loads(out)["predictions"] == classifier.predict(table).tolist()


def test_fit_records_every_release_in_the_ledger(folder, run):
    for epsilon in ("0.25", "0.5"):
        assert run(*fit(epsilon=epsilon), "--force")[0] == 0
    assert [s.epsilon for s in Ledger("budget").spendings()] == [0.25, 0.5]
    assert load_model("new.json").receipt.epsilon == 0.5


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_fits(mechanism, folder, run):
    status, out, err = run(*fit(mechanism=mechanism, oracle="auto"), "--json")
    assert status == 0 and BALANCE.fullmatch(err)
    record = json.loads(out)
    assert record == json.loads(Path("new.json").read_text())
    assert record["receipt"]["guarantee"] == "HOLDS"
    assert CANARY not in out and NUMBER not in out and str(folder) not in out


def test_a_fit_prints_what_show_prints(folder, run):
    _, fitted, err = run(*FIT)
    _, shown, _ = run("show", "new.json")
    assert fitted == shown and BALANCE.fullmatch(err)
    assert (
        "Predict ill" in shown or "to everyone" in shown
    ) and "guarantee:          HOLDS" in shown


@pytest.mark.parametrize(
    "arguments",
    [
        [*FIT, "--json"],
        ["show", "model.json", "--json"],
        [*PREDICT[:3], "--json"],
        [*PREDICT, "--json"],
        ["oracles", "--json"],
        ["datasets", "--json"],
        ["datasets", "mammo", "--json"],
        ["datasets", "breast-cancer", "--out", "new.csv", "--json"],
    ],
    ids=" ".join,
)
def test_json_is_one_document(arguments, folder, run, model, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    status, out, err = run(*arguments)
    assert status == 0 and (BALANCE.fullmatch(err) if arguments[0] == "fit" else err == "")
    json.loads(out, parse_constant=lambda name: pytest.fail(name))


def test_listings_name_everything(run):
    assert all(name in run("oracles")[1] for name in available_oracles())
    assert all(name in run("datasets")[1] for name in DATASETS)


def test_oracles_are_listed_with_their_licences_on_two_lines_each(run):
    lines = run("oracles")[1].splitlines()
    records = json.loads(run("oracles", "--json")[1])
    assert len(lines) == 2 * len(records)
    gurobi = next(r for r in records if r["name"] == "pulp:GUROBI")
    assert gurobi["size_limit"] == {"rows": 2000, "columns": 2000, "total": None}
    second = lines[2 * records.index(gurobi) + 1]
    assert second.endswith("; licence: commercial, free up to 2,000 rows and 2,000 columns")
    own = next(r for r in records if r["name"] == "branch-and-bound")
    assert own["licence"] == "Apache 2.0, part of this package" and own["size_limit"] is None
    assert all(r["licence"] for r in records if r["name"].partition(":")[0] != "mine")


@pytest.mark.parametrize("command", [None, *cli.list_commands(None)])
def test_help_says_what_it_does_and_gives_an_example(command, run):
    status, out, _ = run(*([] if command is None else [command]), "--help")
    assert status == 0 and "Example" in out
    example = out[out.index("Example") :]
    assert f"opdisc {command or 'fit'}" in example
    assert all(len(line) <= 100 for line in out.splitlines())


GROUPS = ["What everyone needs", "The file", "Costs and risks", "Advanced"]


@pytest.mark.parametrize("command", ["fit", "plan", "compare", "predict"])
def test_help_lists_options_in_groups(command, run):
    _, out, _ = run(command, "--help")
    found = [line[:-1] for line in out.splitlines() if line[:-1] in GROUPS]
    assert found == [name for name in GROUPS if name in found] and len(found) >= 2
    options = [name for param in cli.get_command(None, command).params for name in param.opts[:1]]
    options = ["--help", *(name for name in options if name.startswith("--"))]
    listed = re.findall(r"^  (?:-h, )?(--[\w-]+)", out, re.M)
    assert sorted(listed) == sorted(options)  # each of them once, in one group
    first = out[out.index(found[0]) : out.index(found[1])]
    assert "--json" in first and "--help" in first and "--mechanism" not in first


def test_no_command_shows_the_help(run):
    _, out, err = run()
    assert "Usage: opdisc" in out + err


# Real processes


def start(*arguments, **settings):
    return subprocess.Popen(
        [sys.executable, "-m", "opdisc.cli.app", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=settings.pop("prepare", None),
        **settings,
    )


def test_a_missing_file_in_a_real_process(folder):
    process = start("fit", "absent.csv", *FIT[2:])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2 and "absent.csv" in err
    assert_one_sentence(out, err)


def test_a_file_size_limit_in_a_real_process(folder):
    # The kernel refuses every write beyond 1,000 bytes, as a full disk or a quota does.
    before = snapshot(folder)
    process = start(*FIT, prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "File too large" in err
    assert_one_sentence(out, err)
    assert snapshot(folder) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_standard_output_that_is_full(folder):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "opdisc.cli.app", "oracles"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.returncode == 1 and "No space left" in result.stderr
    assert_one_sentence("", result.stderr)


def test_a_reader_that_leaves_early(folder, run, model):
    write_rows("table.csv", HEADER, private_rows() * 500)
    process = start("predict", "model.json", "table.csv")
    assert process.stdout.readline() == "age,smoker,note,ill,prediction,total\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 1


ENDLESS = """
import sys, time
from oracles import register_oracle
from oracles.enumeration import EnumerationOracle
from opdisc.cli import main
class Endless(EnumerationOracle):
    name = "test:endless"
    def solve(self, problem, options):
        if problem.positives.sum() < 10:  # the public toy, before anything is spent
            return EnumerationOracle.solve(self, problem, options)
        print("searching", flush=True)
        while True:  # a signal just before a long sleep would wait for its end
            time.sleep(0.05)
register_oracle(Endless.name, Endless)
main(sys.argv[1:])
"""


@pytest.mark.timing
def test_control_c_in_mid_search(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, *FIT, "--oracle", "test:endless"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        wait_for_line(process, "searching")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    note, _, err = err.partition("\n")
    assert "may take very long" in note
    assert process.returncode == 130 and "interrupted" in err
    assert_one_sentence(out, err)
    assert sorted(os.listdir(folder)) == [
        "budget",
        "schema.toml",
        "table.csv",
        "wide.csv",
        "wide.toml",
    ]
    assert len(Ledger("budget").spendings()) == 1


@pytest.mark.parametrize("header", ["Age,ill", "68,yes", "export,2024"])
def test_a_plan_asks_for_the_columns_that_a_fit_needs(tmp_path, capsys, header):
    (tmp_path / "t.csv").write_text(f"{header}\n70,yes\n30,no\n")
    (tmp_path / "s.toml").write_text(
        'name = "s"\ntarget = { column = "ill", positive = "yes", negative = "no" }\n'
        '[[feature]]\ncolumn = "age"\nthresholds = [40]\n'
    )
    for command in ("plan", "fit"):
        arguments = [command, str(tmp_path / "t.csv"), "--schema", str(tmp_path / "s.toml")]
        status = run_command_line(cli, [*arguments, "--epsilon", "1"])
        told = capsys.readouterr()
        assert status != 0 and told.out == ""
        assert "'age' is missing" in told.err and header.split(",")[0] not in told.err
