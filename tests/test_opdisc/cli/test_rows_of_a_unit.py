"""Whatever a command prints or writes of a receipt says the unit with its rows."""

import json
from pathlib import Path

import pytest
from helpers.opdisc.command_lines import told

from opdisc import load_model

UNIT = "one patient (at most 3 rows)"
SCHEMA = """
name = "relapse"
target = {{ column = "relapse", {target} }}
unit = "one patient"
rows_per_unit = 3
[[feature]]
column = "age"
thresholds = {thresholds}
[[feature]]
column = "alone"
binary = true
"""
TWO = "positive = 1, negative = 0"
QUANTILES = "{ quantiles = 2, range = [0, 100] }"
FITS = {
    "a card": (TWO, "[40, 65]", ()),
    "any relation": (TWO, "[40, 65]", ("--relation", "add_or_remove_one")),
    "a card with risks": (TWO, "[40, 65]", ("--risk-budget", 0.2)),
    "private thresholds": (TWO, QUANTILES, ()),
    "several classes": ("classes = [0, 1, 2]", "[40, 65]", ()),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("kind", FITS)
def test_every_form_says_the_unit_with_its_rows(kind, folder):
    target, thresholds, options = FITS[kind]
    Path("s.toml").write_text(SCHEMA.format(target=target, thresholds=thresholds))
    classes = 3 if "classes" in target else 2
    rows = "".join(f"{20 + i % 60},{i % 2},{i % classes}\n" for i in range(120))
    Path("t.csv").write_text("age,alone,relapse\n" + rows)
    told("budget", "--create", "book", "--epsilon-limit", 9, "--table", "t")
    fit = ("fit", "t.csv", "--schema", "s.toml", "--epsilon", 4, "--ledger", "book")
    status, out, err = told(*fit, "--out", "m.json", *options)
    assert status == 0, err
    assert UNIT in out
    assert UNIT in told("show", "m.json")[1] and UNIT in told("show", "m.json", "--explain")[1]
    for form in ("markdown", "html"):
        assert told("show", "m.json", f"--{form}", form)[0] == 0
        assert Path(form).read_text(encoding="utf-8").count(UNIT) == 2  # in short, and whole
    receipt = json.loads(told("show", "m.json", "--json")[1])["receipt"]
    assert (receipt["privacy_unit"], receipt["rows_per_unit"]) == ("one patient", 3)
    assert load_model("m.json").receipt.rows_per_unit == 3
    assert f"Privacy unit: {UNIT}\n" in told("budget", "book")[1]
    plan = ("plan", "t.csv", "--schema", "s.toml", *options)
    assert f" for {UNIT}" in told(*plan)[1]
    assert f" for {UNIT}" in told(*plan, "--epsilon", 4)[1]
    planned = json.loads(told(*plan, "--epsilon", 4, "--json")[1])
    assert planned[0]["promise"]["protects"] == UNIT
    book = json.loads(told("budget", "book", "--json")[1])
    assert (book["unit"], book["rows_per_unit"]) == ("one patient", 3)
    # Another number of rows is another promise.
    Path("s.toml").write_text(Path("s.toml").read_text().replace("unit = 3", "unit = 6"))
    status, out, err = told(*fit, *options)
    assert (status, out) == (1, "") and f"is for {UNIT}, but the release is for" in err
