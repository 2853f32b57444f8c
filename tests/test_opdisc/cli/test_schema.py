"""``opdisc schema``: from a header to a schema file, and what the two do not share."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.opdisc.command_lines import assert_one_plain_sentence, told
from helpers.opdisc.terminals import open_terminal

from opdisc.cli import schema_command as command
from opdisc.cli.schema_findings import header_findings
from opdisc.cli.schema_questions import ask_everything
from opdisc.data import (
    Schema,
    draft_schema,
    line_numbers,
    load_schema,
    read_header,
    read_table,
    row_findings,
)

CANARY = "xq7canary"
HEADER = "age,housing,phone,default\n"
ROWS = f"41,own,yes,no\n{CANARY},rent,no,yes\n33,ownn,no,no\n,?,,\n18,own,yes,maybe\n"
SCHEMA = """
name = "loans"
target = { column = "default", positive = "yes", negative = "no" }
missing_values = ["?"]
[[feature]]
column = "age"
thresholds = [30, 50]
[[feature]]
column = "housing"
categories = ["own", "rent"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("loans.csv").write_text(HEADER + ROWS)
    Path("loans.toml").write_text(SCHEMA)


def edited(**changes):
    text = SCHEMA
    for before, after in changes.items():
        text = text.replace(before, after)
    Path("loans.toml").write_text(text)


# --- new -----------------------------------------------------------------------------------------


def test_new_writes_a_draft_that_loads_once_it_is_filled_in():
    status, out, err = told("schema", "new", "loans.csv", "-o", "new.toml", "--label", "default")
    assert (status, err) == (0, "") and "fill in its blanks" in out
    text = Path("new.toml").read_text()
    assert CANARY not in text and 'name = "loans"' in text
    status, out, err = told("schema", "check", "loans.csv", "--schema", "new.toml")
    assert_one_plain_sentence(status, out, err)
    assert "must be filled in, but its positive label, its negative label, column 'age'" in err
    text = text.replace('negative = "<fill in>"', 'negative = "no"')
    text = text.replace('thresholds = "<fill in>"', "binary = true").replace("<fill in>", "yes")
    Path("new.toml").write_text(text)
    assert load_schema("new.toml").columns == ("age", "housing", "phone")
    assert told("schema", "check", "loans.csv", "--schema", "new.toml")[0] == 0


def test_new_reads_the_header_only(monkeypatch):
    with open("loans.csv", "a") as file:
        file.write('"never closed\n' * 3)
    assert told("schema", "new", "loans.csv", "-o", "new.toml")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv"], "must be a readable file"),
        (["loans.csv", "--label", "defualt"], "did you mean 'default'?"),
        (["loans.csv", "-o", "loans.csv"], "must not replace an input"),
        (["loans.csv", "-o", "loans.toml"], "must not be overwritten"),
        (["loans.csv", "-o", "no/such/place.toml"], "must go to a writable place"),
        (["empty.csv"], "must start with a line of column names"),
        (["bytes.csv"], "must be UTF-8 text"),
    ],
)
def test_new_refuses_in_one_sentence(arguments, words):
    Path("empty.csv").write_text("\n")
    Path("bytes.csv").write_bytes(b"\xff\xfe\xff")
    status, out, err = told("schema", "new", *arguments)
    assert_one_plain_sentence(status, out, err, hidden=[CANARY])
    assert words in err
    assert not Path("schema.toml").exists() and Path("loans.toml").read_text() == SCHEMA


def test_new_may_replace_a_file_with_force():
    assert told("schema", "new", "loans.csv", "-o", "loans.toml", "--force")[0] == 0
    assert "<fill in>" in Path("loans.toml").read_text()


# --- questions -----------------------------------------------------------------------------------


class Answers:
    """Answers in order; an empty one takes the default."""

    def __init__(self, *answers):
        self.left = list(answers)
        self.said = []

    def __call__(self, question, default):
        return self.left.pop(0) or default


def test_questions_lead_to_a_schema():
    ask = Answers(
        *("default", "yes", "no"),
        *("n", "0, 120", "30 50.5"),
        *("c", "own, rent ,"),
        *("y",),
        *("n", "", "7"),
        *("n", "0, 9", "private 3"),
        *("",),
    )
    columns = ["age", "housing", "phone", "default", "grade", "points", "note", "bad\x1bname"]
    target, features = ask_everything(columns, None, ask, ask.said.append)
    assert ask.left == [] and features["note"] is None
    text = draft_schema(columns, data="t.csv", name="t", target=target, features=features)
    Path("asked.toml").write_text(text)
    assert "\x1b" not in text + "".join(ask.said)
    raw = Schema.from_toml("asked.toml").to_dict()
    assert raw["target"] == {"column": "default", "positive": "yes", "negative": "no"}
    assert raw["feature"] == [
        {"column": "age", "thresholds": [30, 50.5], "range": [0, 120]},
        {"column": "housing", "categories": ["own", "rent"]},
        {"column": "phone", "binary": True},
        {"column": "grade", "thresholds": [7]},
        {"column": "points", "thresholds": {"quantiles": 3, "range": [0, 9], "step": 0.1}},
    ]


def test_an_impossible_answer_is_asked_again_with_a_reason():
    ask = Answers(
        *("defualt", "default"),
        *("yes", "yes", "yes", "no"),
        *("maybe", "n", "120, 0", "30", "n", "low", "n", "", "private 3", "c", "", "y"),
    )
    _, features = ask_everything(["age", "default"], None, ask, ask.said.append)
    assert ask.left == [] and features == {"age": {"binary": True}}
    said = "\n".join(ask.said)
    for words in (
        "did you mean 'default'?",
        "must be different labels",
        "a column is one of ignore, number, category, yes-no, got 'm'",
        "range of 'age' must be two increasing numbers",
        "numbers are written like 30, 50.5, got 'low'",
        "private thresholds need their number and both bounds",
        "needs at least one category",
    ):
        assert words in said


def test_questions_are_asked_in_a_terminal():
    """The whole command behind a pseudo-terminal."""
    controller, terminal = open_terminal()
    process = subprocess.Popen(
        [sys.executable, "-m", "opdisc.cli.app", "schema", "new", "loans.csv", "-o", "asked.toml"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=terminal,
        env=dict(os.environ, PYTHONPATH=str(Path(command.__file__).parents[2])),
    )
    os.close(terminal)
    # No "n" or "y" is taken for granted: a number, a category, an ignored column.
    os.write(controller, b"default\nyes\nno\nn\n0 120\n30\nc\nown,rent\n\n")
    out, _ = process.communicate(timeout=120)
    os.close(controller)
    assert process.returncode == 0 and b"check it with" in out
    assert load_schema("asked.toml").column_names == (
        "age >= 30",
        "housing = own",
        "housing = rent",
    )


# --- check ---------------------------------------------------------------------------------------


def test_check_names_missing_and_extra_columns_from_the_header_alone():
    with open("loans.csv", "a") as file:
        file.write('"never closed\n')
    assert told("schema", "check", "loans.csv", "--schema", "loans.toml") == (
        0,
        "every declared column is in the header\n"
        "not declared, so not read: 1 other name; --owner-only shows them\n",
        "",
    )
    edited(housing="hosing")
    status, out, err = told("schema", "check", "loans.csv", "--schema", "loans.toml")
    assert (status, err) == (1, "")
    assert "missing: 'hosing'\n" in out and CANARY not in out and "housing" not in out
    header = read_header("loans.csv")
    lines = header_findings(header, load_schema("loans.toml")).lines(owner_only=True)
    assert "missing: 'hosing' (did you mean 'housing'?)" in lines
    assert "not declared, so not read: 'housing', 'phone'" in lines
    status, out, _ = told("schema", "check", "loans.csv", "--schema", "loans.toml", "--json")
    assert status == 1
    assert json.loads(out) == {
        "missing": ["hosing"],
        "repeated": [],
        "undeclared": 2,
    }


def test_check_says_nothing_of_a_first_line_that_may_be_a_row():
    Path("loans.csv").write_text(ROWS)
    status, out, err = told("schema", "check", "loans.csv", "--schema", "loans.toml")
    assert status == 1 and "missing: 'age'" in out
    assert not {"41", "own"}.intersection(re.findall(r"\w+", out + err))


def test_check_finds_a_declared_column_that_is_there_twice():
    Path("loans.csv").write_text("age," + HEADER)
    status, out, _ = told("schema", "check", "loans.csv", "--schema", "loans.toml")
    assert status == 1 and "there twice: 'age'" in out


def test_what_only_the_owner_may_see_goes_to_a_terminal_alone(monkeypatch):
    arguments = ("schema", "check", "loans.csv", "--schema", "loans.toml", "--owner-only")
    status, out, err = told(*arguments)
    assert_one_plain_sentence(status, out, err, hidden=[CANARY, "ownn", "maybe"])
    assert "must print to a terminal" in err
    status, out, err = told(*arguments, "--json")
    assert_one_plain_sentence(status, out, err, hidden=[CANARY])

    class Terminal:
        def __getattr__(self, name):
            return getattr(sys.__stdout__, name)

        def isatty(self):
            return True

    printed = []
    monkeypatch.setattr(command.sys, "stdout", Terminal())
    monkeypatch.setattr(command, "print_text", printed.append)
    assert command.check.callback(Path("loans.csv"), "loans.toml", True, False) == 0
    assert printed[0].splitlines()[1] == "not declared, so not read: 'phone'"
    assert printed[0].splitlines()[2:] == [
        "",
        "NOT PRIVATE, for the owner of the table only: what follows comes from single rows.",
        "1 of 5 rows have no label, and teach nothing: line 5",
        "default: 'maybe' is not declared, line 6",
        "age: no number on line 3",
        "housing: 'ownn' is not declared (did you mean 'own'?), line 4",
    ]


def findings(rows, **changes):
    edited(**changes)
    Path("loans.csv").write_text(HEADER + rows)
    table = read_table("loans.csv")
    return row_findings(table, load_schema("loans.toml"), places=line_numbers(table, None))


def test_lines_are_those_of_the_file_where_cells_go_over_several():
    rows = '41,own,"two\nlines\r\nof text",no\nold,own,yes,no\n41,own,"a\rb",yes\nold,own,yes,no\n'
    assert findings(rows) == ["age: no number on lines 5, 8"]


def test_findings_are_short_and_shown_as_they_are():
    rows = "".join(f"x,\x1b[31m{i},yes,no\n" for i in range(50))
    found = findings(rows)
    assert found[0].startswith("age: no number on lines 2, 3,") and found[0].endswith(
        "and 30 more"
    )
    assert found[-1] == "housing: 30 more values" and len(found) == 22
    assert "\x1b" not in "".join(found)


def test_a_table_that_fits_says_so():
    assert findings("41,own,yes,no\n,own,,yes\n?,rent,?,yes\n") == [
        "every cell of a declared column is declared"
    ]
    assert findings("41,own,yes,no\n,,,\n?,rent,?,?\n") == [
        "2 of 3 rows have no label, and teach nothing: lines 3, 4"
    ]


def test_the_owner_sees_every_label_that_counts_as_negative():
    any_other = {'negative = "no"': 'negative = "*"'}
    rows = "41,own,no,yes\n41,own,no,yes.\n41,own,no,no\n41,own,no,no\n41,own,no,NA\n41,own,no,\n"
    assert findings(rows, **any_other) == [
        "1 of 6 rows have no label, and teach nothing: line 7",
        "default: 'no' counts as negative, 2 rows: lines 4, 5",
        "default: 'yes.' counts as negative (did you mean 'yes'?), 1 row: line 3",
        "default: 'NA' marks a missing value, so a fit refuses it, 1 row: line 6",
    ]
    assert findings("41,own,no,yes\n", **any_other) == [
        "every cell of a declared column is declared"
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", "--schema", "loans.toml"], "must be a readable file"),
        (["loans.csv", "--schema", "nowhere.toml"], "a schema file must be readable"),
        (["loans.csv", "--schema", "german-credit"], "(did you mean 'german'?)"),
        (["loans.csv"], "Missing option '--schema'"),
    ],
)
def test_check_refuses_in_one_sentence(arguments, words):
    status, out, err = told("schema", "check", *arguments)
    assert_one_plain_sentence(status, out, err, hidden=[CANARY])
    assert words in err


def test_other_delimiters_and_encodings_are_read_as_by_fit():
    Path("credits.csv").write_bytes("Höhe;Grund;Ausfall\n1;Auto neu;ja\n".encode("latin-1"))
    status, *_ = told("schema", "new", "credits.csv", "-o", "new.toml", "--encoding", "latin-1")
    text = Path("new.toml").read_text(encoding="utf-8")
    assert status == 0 and all(f'"{name}"' in text for name in ("Höhe", "Grund", "Ausfall"))
