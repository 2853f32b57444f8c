"""``--table NAME --database URL``: a table that a database knows by name, planned and fitted."""

import sqlite3
from pathlib import Path

import pytest
from helpers.opdisc.command_lines import assert_one_plain_sentence, told

from opdisc import count_rows, load_schema
from opdisc.errors import OPDiscError
from opdisc.models import load_model

SCHEMA = """
name = "loans"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "age"
thresholds = [40, 60]
[[feature]]
column = "ward"
categories = ["a", "b"]
"""
ROWS = [(20 + at, "ab"[at % 2], ["yes", "no"][at % 2]) for at in range(60)]
CANARY = "xq7canary"
FIT = ["--schema", "./schema.toml", "--epsilon", "50"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    with sqlite3.connect("bank.sqlite") as connection:
        connection.execute("CREATE TABLE loans (age, ward, ill)")
        connection.executemany("INSERT INTO loans VALUES (?, ?, ?)", ROWS)
    connection.close()
    Path("loans.csv").write_text(
        "age,ward,ill\n" + "".join(f"{age},{ward},{ill}\n" for age, ward, ill in ROWS)
    )


@pytest.fixture
def duckdb_file():
    import duckdb

    with duckdb.connect("bank.duckdb") as connection:
        connection.execute("CREATE SCHEMA old; CREATE TABLE loans (age INT, ward TEXT, ill TEXT)")
        connection.executemany("INSERT INTO loans VALUES (?, ?, ?)", ROWS)
        connection.execute("CREATE TABLE old.loans AS FROM loans LIMIT 50")
    return "bank.duckdb"


@pytest.mark.parametrize("url", ["bank.sqlite", "sqlite://bank.sqlite"])
def test_a_table_of_sqlite_is_planned_fitted_and_validated(url):
    check(["--table", "loans", "--database", url], "loans", 60)


@pytest.mark.extras("duckdb")
@pytest.mark.parametrize("name", ["loans", "old.loans"])
@pytest.mark.parametrize("scheme", ["", "duckdb://"])
def test_a_table_of_duckdb_is_planned_fitted_and_validated(duckdb_file, scheme, name):
    check(
        ["--table", name, "--database", scheme + duckdb_file], name, 60 if name == "loans" else 50
    )


def check(place, name, n_rows):
    """Check what each command says and writes, and that the ledger has the table's own name."""
    status, out, err = told("plan", *place, *FIT[:2], "--epsilon", "1", "--json")
    assert status == 0, err
    assert "dtypes were declared" in out and "query" not in out
    assert told("budget", "--create", "l", "--epsilon-limit", "90", "--table", name)[0] == 0
    status, _, err = told("fit", *place, *FIT, "--ledger", "l", "--out", "card.json")
    assert status == 0, err
    receipt = load_model("card.json").receipt
    assert (receipt.n_rows, receipt.guarantee) == (n_rows, "CONDITIONAL")
    assert "dtypes were declared" in str(receipt.conditions)
    assert "query" not in str(receipt.conditions)
    status, _, err = told(
        *("validate", "card.json", *place, "--epsilon", "5", "--ledger", "l", "--out", "v.json")
    )
    assert status == 0, err
    assert Path("l").read_text().count(f'"{name}"') >= 2
    told("budget", "--create", "m", "--epsilon-limit", "90", "--table", "other")
    status, out, err = told("fit", *place, *FIT, "--ledger", "m")
    assert "table" in err
    assert_one_plain_sentence(status, out, err)


def test_a_fit_without_a_ledger_takes_a_table_of_a_database_and_no_other():
    place = ["--table", "loans", "--database", "bank.sqlite"]
    assert told("fit", *place, *FIT)[0] == 0
    status, out, err = told("fit", "loans.csv", "--table", "loans", *FIT)
    assert status == 2 and "give --ledger too" in err
    assert_one_plain_sentence(status, out, err)


@pytest.mark.parametrize("command", ["fit", "plan", "validate"])
@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ([], "Missing argument 'DATA'"),
        (["--database", "bank.sqlite"], "say which by --table"),
        (["loans.csv", "--table", "loans", "--database", "bank.sqlite"], "leave one out"),
        (["--table", "loans", "--database", f"mysql://me:{CANARY}@here/x"], "of another kind"),
        (["--table", "loans", "--database", f"host=h password={CANARY}"], "of another kind"),
        (["--table", "loans", "--database", f"postgresql:me:{CANARY}@h/x"], "of another kind"),
        (["--table", "loans", "--database", f"duckdb://me:{CANARY}@h/x"], "of another kind"),
        (["--table", "loans", "--database", f"password={CANARY * 99}"], "of another kind"),
        (["--table", "loans", "--database", "none.duckdb"], "readable file"),
        (["--table", "loans", "--database", "loans.csv"], "is neither"),
        (["--table", "Loans", "--database", "bank.sqlite"], "must be in the database"),
        (["--table", "loans", "--database", "bank.sqlite", "--query", "SELECT 1"], "and a query"),
    ],
)
def test_a_table_that_is_nowhere_or_twice_is_refused(command, place, sentence):
    told("fit", "loans.csv", *FIT, "--out", "card.json")
    given = {"validate": ["card.json", *place, "--epsilon", "1"]}.get(command, [*place, *FIT])
    status, out, err = told(command, *given)
    assert status in (1, 2) and not out and sentence in err and CANARY not in err
    assert_one_plain_sentence(status, out, err)


@pytest.mark.parametrize("command", ["fit", "validate"])
def test_a_url_in_the_place_of_a_file_is_not_repeated(command):
    told("fit", "loans.csv", *FIT, "--out", "card.json")
    url = f"postgresql://me:{CANARY}@here/x"
    given = {"validate": ["card.json", url, "--epsilon", "1"]}.get(command, [url, *FIT])
    status, out, err = told(command, *given)
    assert status == 2 and not out and "by --database" in err and CANARY not in err


def test_a_plan_takes_a_name_for_a_database_only():
    status, _, err = told("plan", "loans.csv", "--table", "loans", *FIT[:2])
    assert status == 2 and "in --database" in err


def test_the_output_does_not_replace_the_database():
    place = ["--table", "loans", "--database", "bank.sqlite"]
    status, _, err = told("fit", *place, *FIT, "--out", "bank.sqlite", "--force")
    assert status != 0 and "must not replace an input" in err


@pytest.mark.extras("duckdb")
def test_names_are_refused_where_the_table_has_its_own(duckdb_file):
    """An option that says nothing of a named table must not be ignored in silence."""
    for asked in ({"names": ["a", "b", "c"]}, {"sheet": "first"}):
        with pytest.raises(OPDiscError, match="names|sheet"):
            count_rows(duckdb_file, load_schema("./schema.toml"), table_name="loans", **asked)
