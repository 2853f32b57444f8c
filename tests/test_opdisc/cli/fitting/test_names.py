"""``--names``: a file without a line of names, read by every command; none gives its row away."""

import json
from pathlib import Path

import pytest
from helpers.opdisc.command_lines import assert_one_plain_sentence, told

from opdisc.cli import schema_command as command
from opdisc.models import load_model

SCHEMA = """
name = "visits"
target = { column = "ill", positive = "ja", negative = "nein" }
[[feature]]
column = "age"
thresholds = [40, 60]
[[feature]]
column = "ward"
categories = ["a", "b"]
"""
FIRST = "68.731,b,note 1,ja"
NAMES = "age,ward,note,ill"


def rows():
    others = (f"{20 + i},{'ab'[i % 2]},n,{['ja', 'nein'][i % 2]}\n" for i in range(59))
    return FIRST + "\n" + "".join(others)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    Path("visits.csv").write_text(rows())
    Path("names.txt").write_text(NAMES.replace(",", "\n"))
    Path("line.txt").write_text(NAMES)


@pytest.mark.parametrize("names", [NAMES, "age, ward, note, ill", "names.txt", "line.txt"])
def test_every_command_takes_names(names):
    given = ["visits.csv", "--names", names]
    schema = ["--schema", "./schema.toml"]
    status, out, err = told("schema", "new", *given, "-o", "new.toml", "--label", "ill")
    assert (status, err) == (0, "")
    text = Path("new.toml").read_text()
    assert "68.731" not in text and all(f'"{name}"' in text for name in NAMES.split(","))
    status, out, _ = told("schema", "check", *given, *schema)
    assert status == 0 and "not declared, so not read: 1 other name" in out and "note" not in out
    status, _, err = told("fit", *given, *schema, "--epsilon", "50", "--out", "card.json")
    assert status == 0, err
    receipt = load_model("card.json").receipt
    assert (receipt.n_rows, receipt.guarantee) == (60, "HOLDS")
    assert told("plan", *given, *schema, "--epsilon", "1", "--json")[0] == 0
    status, out, _ = told("predict", "card.json", *given)
    lines = out.splitlines()
    assert status == 0 and len(lines) == 61
    assert lines[0] == NAMES + ",prediction,total" and lines[1].startswith(FIRST)


def test_a_comparison_records_names_and_goes_on():
    settings = ["--epsilons", "1", "--repeats", "1", "--methods", "majority", "--jobs", "1"]
    run = ["compare", "visits.csv", "--schema", "./schema.toml", *settings, "--out", "found"]
    status, _, err = told(*run, "--names", "names.txt")
    assert status == 0, err
    recorded = json.loads(Path("found/settings.json").read_text())["arguments"]
    assert recorded["reading"]["names"] == NAMES.split(",")
    assert told(*run, "--names", NAMES, "--resume")[0] == 0
    Path("names.txt").unlink()
    assert told("compare", "--resume", "--out", "found")[0] == 0


def test_other_reading_options_record_no_names():
    """So comparisons that were begun before there were names go on."""
    Path("semi.csv").write_text((NAMES + "\n" + rows()).replace(",", ";"))
    run = [
        "compare",
        "semi.csv",
        "--schema",
        "./schema.toml",
        "--delimiter",
        ";",
        "--out",
        "found",
    ]
    settings = ["--epsilons", "1", "--repeats", "1", "--methods", "majority", "--jobs", "1"]
    assert told(*run, *settings)[0] == 0
    recorded = json.loads(Path("found/settings.json").read_text())["arguments"]
    assert set(recorded["reading"]) == {"delimiter", "encoding", "query", "sheet"}


@pytest.mark.parametrize(
    ("names", "words", "expected"),
    [
        ("nowhere", "neither", 2),
        ("age,age,note,ill", "must be distinct", 2),
        ('age,"ward', "quotation marks in pairs", 2),
        ("age,,note,ill", "must be printable texts", 2),
        ("age,ward,ill", "names must be as many as the columns", 1),
        (".", "names must be in a readable file", 2),
    ],
)
def test_names_that_are_none_are_refused(names, words, expected):
    status, out, err = told("schema", "new", "visits.csv", "-o", "new.toml", "--names", names)
    assert_one_plain_sentence(status, out, err, hidden=["68.731"])
    assert status == expected and words in err and not Path("new.toml").exists()


def test_new_writes_nothing_of_a_first_row():
    status, out, err = told("schema", "new", "visits.csv", "-o", "new.toml")
    assert_one_plain_sentence(status, out, err, hidden=["68.731", "note 1"])
    assert "--names" in err and not Path("new.toml").exists()


@pytest.mark.parametrize("undeclared", ["", '{"x": 1}', "2019"])
def test_check_names_no_column_that_may_be_a_cell(undeclared):
    """Even where one declared name happens to be among them."""
    Path("visits.csv").write_text(f"ill,{undeclared},68.731,canary\n")
    for options in ([], ["--json"]):
        status, out, err = told(
            "schema", "check", "visits.csv", "--schema", "./schema.toml", *options
        )
        assert status == 1 and "age" in out
        assert not any(text in out + err for text in ("68.731", "canary", '{"x"', "2019"))
    status, out, _ = told("schema", "check", "visits.csv", "--schema", "./schema.toml")
    assert "may be a row" in out and "--names" in out


def test_check_passes_where_undeclared_names_are_blank_or_repeated():
    Path("visits.csv").write_text("age,ward,ill,done,done,,\n68,a,ja,1,1,,\n")
    status, out, _ = told("schema", "check", "visits.csv", "--schema", "./schema.toml")
    assert status == 0 and "every declared column is in the header" in out
    assert "--names" not in out


def test_the_owners_lines_start_with_the_first_row(monkeypatch):
    Path("visits.csv").write_text("old,a,n,ja\n40,a,n,nein\nold,b,n,ja\n")

    class Terminal:
        def isatty(self):
            return True

    printed = []
    monkeypatch.setattr(command.sys, "stdout", Terminal())
    monkeypatch.setattr(command, "print_text", printed.append)
    names = NAMES.split(",")
    assert (
        command.check.callback(Path("visits.csv"), "./schema.toml", True, False, names=names) == 0
    )
    assert "age: no number on lines 1, 3" in printed[0]


OTHERS = {
    "visits.json": '[{"age": 68.731, "ward": "a", "ill": "ja"}]',
    "visits.xls": '<table border="1">\n<tr><td>68.731</td></tr>\n</table>\n',
    "visits.dat": "@relation visits\n@data\n68.731, a, ja\n",
    "visits.svm": "-1 1:68.731 2:1.0\n+1 1:38 2:0\n",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_table_is_refused_by_every_command(name):
    Path("visits.csv").rename("rows.csv")
    Path("head.csv").write_text(NAMES + "\n" + rows())
    schema = ["--schema", "./schema.toml"]
    assert told("fit", "head.csv", *schema, "--epsilon", "9", "--out", "card.json")[0] == 0
    Path(name).write_text(OTHERS[name])
    for arguments in (
        ["schema", "new", name, "-o", "new.toml"],
        ["schema", "check", name, *schema],
        ["plan", name, *schema, "--epsilon", "1"],
        ["fit", name, *schema, "--epsilon", "1", "--out", "new.json"],
        ["predict", "card.json", name],
        ["compare", name, *schema, "--out", "found"],
    ):
        status, out, err = told(*arguments)
        assert_one_plain_sentence(status, out, err, hidden=["68.731"])
        assert "must be a table with one row a line" in err
    assert not any(Path(made).exists() for made in ("new.toml", "new.json", "found"))


@pytest.mark.extras("openpyxl")
def test_check_of_a_note_in_front_points_to_the_other_sheet():
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "Read me"
    book.active.append(["Made for the ward round"])
    sheet = book.create_sheet("patients")
    for row in (["age", "ward", "ill"], [68, "a", "ja"], [35, "b", "nein"]):
        sheet.append(row)
    book.save("visits.xlsx")
    status, out, _ = told("schema", "check", "visits.xlsx", "--schema", "./schema.toml")
    assert status == 1 and "--sheet ('patients')" in out
    assert "--names" not in out and "1 other name;" in out
