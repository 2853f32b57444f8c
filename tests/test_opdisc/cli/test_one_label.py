"""A schema file with one label: every command refuses it before it reads a row."""

from pathlib import Path

import pytest
from helpers.opdisc.command_lines import assert_one_plain_sentence, told

from opdisc import Ledger

LABEL = ">50K"
BOTH = "".join(f"{20 + i % 60},{LABEL if i % 2 else '>50K.'}\n" for i in range(200))
HALF = "".join(f"{20 + i % 60},{LABEL if i % 3 else '<=50K'}\n" for i in range(200))
SCHEMA = """
name = "income"
target = {{ column = "income", positive = ">50K"{negative} }}
[[feature]]
column = "age"
thresholds = [30, 50]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Ledger.create("book", epsilon_limit=9.0, table="income")


def files(rows, negative=""):
    Path("t.csv").write_text("age,income\n" + rows)
    Path("s.toml").write_text(SCHEMA.format(negative=negative))


@pytest.mark.parametrize(
    "arguments",
    [
        ("schema", "check", "t.csv", "--schema", "s.toml"),
        ("plan", "t.csv", "--schema", "s.toml", "--epsilon", "1"),
        ("fit", "t.csv", "--schema", "s.toml", "--epsilon", "1", "--ledger", "book"),
        ("compare", "t.csv", "--schema", "s.toml", "--epsilons", "1", "--out", "out"),
    ],
)
def test_one_label_is_refused_before_a_row_is_read(arguments):
    files('"never closed\n' * 3)
    status, out, err = told(*arguments)
    assert_one_plain_sentence(status, out, err)
    assert "only positive is declared; add negative, the other label" in err
    assert Ledger("book").total()[0] == 0 and not Path("out").exists()


@pytest.mark.parametrize(
    ("rows", "negative", "words"),
    [
        (BOTH, "<=50K", "has a third label"),
        (HALF + "41,NA\n", "<=50K", "has a third label"),
        (HALF + "41,NA\n", "*", "programs write for a missing one"),
    ],
)
def test_what_is_not_recognised_is_no_answer_and_spends_nothing(rows, negative, words):
    files(rows, f', negative = "{negative}"')
    fit = ("fit", "t.csv", "--schema", "s.toml", "--epsilon", "1", "--ledger", "book")
    status, out, err = told(*fit, "--out", "card.json")
    assert_one_plain_sentence(status, out, err, hidden=[">50K.", "'NA'"])
    assert words in err
    assert Ledger("book").total()[0] == 0 and not Path("card.json").exists()


def test_a_draft_has_a_blank_for_each_label():
    Path("t.csv").write_text("age,income\n")
    assert told("schema", "new", "t.csv", "-o", "new.toml", "--label", "income")[0] == 0
    text = Path("new.toml").read_text()
    assert 'positive = "<fill in>", negative = "<fill in>"' in text
    assert 'negative = "*" counts any other value as negative' in text
    Path("new.toml").write_text(text.replace(', negative = "<fill in>"', ""))
    status, out, err = told("schema", "check", "t.csv", "--schema", "new.toml")
    assert_one_plain_sentence(status, out, err)
    assert "must be filled in" in err
