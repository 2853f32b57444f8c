"""``opdisc schema new --pilot``: from public rows to a schema, a plan and a card."""

import gzip
import os
import random
import shutil
from pathlib import Path

import pytest
from helpers.opdisc.command_lines import assert_one_plain_sentence, told

from opdisc.data import holds_the_same, load_schema

HEADER = "id,age,housing,phone,default"
CANARY = "xq7canary"


def write_rows(name, rows, seed, extra=""):
    draw = random.Random(seed)
    with open(name, "w") as file:
        print(HEADER + extra, file=file)
        for i in range(rows):
            age, home = draw.randrange(18, 90), draw.choice(["own", "rent", "free", "NA"])
            label = "no" if draw.random() < 0.7 else "yes"
            more = ",x" if extra else ""
            print(f"{i},{age},{home},{draw.choice('01')},{label}{more}", file=file)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows("volunteers.csv", 60, seed=1)
    Path("loans.csv").write_text(HEADER + "\n" + f"{CANARY},{CANARY},own,1,no\n")


def new(*more, data="loans.csv", pilot="volunteers.csv"):
    return told("schema", "new", data, "-o", "s.toml", "--pilot", pilot, "--force", *more)


def test_the_whole_way_from_a_pilot_to_a_card():
    write_rows("loans.csv", 400, seed=2)
    status, out, err = new("--label", "default")
    assert (status, err) == (0, "")
    assert "which must be public, decided labels and 3 columns, and left out 1" in out
    text = Path("s.toml").read_text()
    assert "never the private table" in text and '"volunteers.csv"' in text
    assert "no row was read" not in text
    schema = load_schema("s.toml")
    assert schema.columns == ("age", "housing", "phone") and schema.classes == ("no", "yes")
    assert told("schema", "check", "loans.csv", "--schema", "s.toml")[0] == 0
    assert told("plan", "loans.csv", "--schema", "s.toml", "--epsilon", "1")[0] == 0
    made = told("fit", "loans.csv", "--schema", "s.toml", "--epsilon", "1", "--out", "card.json")
    assert made[0] == 0 and Path("card.json").exists()


def test_no_row_of_the_table_is_read():
    Path("loans.csv").write_text(HEADER + "\n")
    assert new("--label", "default")[0] == 0
    first = Path("s.toml").read_bytes()
    with open("loans.csv", "a") as file:
        file.write(f'"{CANARY} never closed,\x00\n' * 3)
    status, out, err = new("--label", "default")
    assert (status, err) == (0, "") and Path("s.toml").read_bytes() == first
    os.truncate("loans.csv", 10**12)  # nobody reads a terabyte of holes
    assert new("--label", "default")[0] == 0
    assert Path("s.toml").read_bytes() == first


def linked(name):
    os.symlink("loans.csv", name)


def hard(name):
    os.link("loans.csv", name)


def copied(name):
    shutil.copy("loans.csv", name)


@pytest.mark.parametrize("make", [linked, hard, copied])
def test_the_table_itself_is_refused_under_any_name(make):
    make("other.csv")
    status, out, err = new(pilot="other.csv")
    assert_one_plain_sentence(status, out, err, hidden=[CANARY])
    assert "the table itself" in err and status == 2 and not Path("s.toml").exists()


def test_the_table_itself_is_refused():
    assert "the table itself" in new(pilot="loans.csv")[2]
    assert "the table itself" in new(pilot="./loans.csv")[2]


def test_other_bytes_of_the_same_length_are_another_table():
    Path("a").write_text("a,b\n1,2\n")
    Path("b").write_text("a,b\n1,3\n")
    assert not holds_the_same("a", "b") and holds_the_same("a", "a")
    assert not holds_the_same("a", "absent") and not holds_the_same("absent", "a")
    assert not holds_the_same("a", "/dev/null") and not holds_the_same("a\0", "b")


def test_a_column_that_the_pilot_lacks_stays_blank_and_others_are_ignored():
    Path("loans.csv").write_text(HEADER + ",branch\n")
    write_rows("volunteers.csv", 60, seed=1, extra=",hobby")
    status, out, _ = new("--label", "default")
    assert status == 0 and "fill in the blanks of 1 column" in out
    text = Path("s.toml").read_text()
    assert "hobby" not in text and text.count('thresholds = "<fill in>"') == 1
    refused = told("schema", "check", "loans.csv", "--schema", "s.toml")
    assert_one_plain_sentence(*refused)
    assert "column 'branch' still has" in refused[2]


def test_one_label_is_left_blank():
    rows = Path("volunteers.csv").read_text()
    Path("volunteers.csv").write_text(rows.replace(",yes\n", ",no\n"))
    status, out, _ = new("--label", "default")
    text = Path("s.toml").read_text()
    assert status == 0 and "fill in the blanks of the labels" in out
    assert 'positive = "<fill in>"' in text and "fewer than two labels" in text


def test_no_label_and_no_column_are_said():
    assert "fill in the blanks of the labels" in new()[1]
    Path("volunteers.csv").write_text("id,default\n1,no\n2,yes\n")
    Path("loans.csv").write_text("id,default\n")
    status, out, _ = new("--label", "default")
    assert status == 0 and "declare at least one column" in out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x,y\n1,2\n", "a pilot must have columns of the table"),
        (HEADER + "\n", "no row"),
        ("age,age\n1,2\n", "twice"),
        ("age,phone\n1\n", "line 2"),
    ],
)
def test_a_pilot_that_is_no_table_of_such_rows_is_refused(text, said):
    Path("volunteers.csv").write_text(text)
    refused = new()
    assert_one_plain_sentence(*refused, hidden=[CANARY])
    assert said in refused[2]


def test_a_pilot_is_read_by_its_own_delimiter_and_packed():
    rows = Path("volunteers.csv").read_text()
    plain = new("--label", "default"), Path("s.toml").read_text()
    Path("p.csv.gz").write_bytes(gzip.compress(rows.replace(",", ";").encode()))
    Path("loans.csv").write_text("1,30,own,1,no\n")
    status, _, err = new("--label", "default", "--names", HEADER, pilot="p.csv.gz")
    assert (status, err) == (0, "")
    assert Path("s.toml").read_text() == plain[1].replace('"volunteers.csv"', '"p.csv.gz"')


def test_a_pilot_is_not_overwritten():
    refused = told(
        "schema",
        "new",
        "loans.csv",
        "-o",
        "volunteers.csv",
        "--force",
        "--pilot",
        "volunteers.csv",
    )
    assert_one_plain_sentence(*refused)
    assert "must not replace an input" in refused[2]


def test_a_pilot_that_is_absent_is_said():
    refused = new(pilot="absent.csv")
    assert_one_plain_sentence(*refused)
    assert "absent.csv" in refused[2]
