"""The verdict on the command line: said before the points, and before anything is spent."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line, toned
from opdisc.models.loading import load_model
from opdisc.planning import plan_fit
from opdisc.tuned import PLANNED_EPSILONS

SCHEMA = """
name = "illness"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "smoker"
binary = true
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCHEMA)
    lines = [f"{i % 2},{'yes' if i == 7 else 'no'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("smoker,ill\n" + "\n".join(lines) + "\n")

    def run(command, *options):
        status = run_command_line(cli, [command, *map(str, options)])
        out, err = capsys.readouterr()
        assert status == 0, err
        return out

    return run


def test_a_card_that_answers_no_to_everyone_is_called_that_first(run):
    # 59 of 60 say no. At epsilon 100 the noise is below a row, so a card that errs once is drawn
    # (a worse one has probability below e^-50); of points -1..1 none singles out row 7.
    fitted = run("fit", "t.csv", "--schema", "./s.toml", "--epsilon", 100, "--out", "m.json")
    assert fitted.splitlines()[0] == "This card answers 'no' to everyone."
    assert "--false-negative-cost 9 " in fitted.splitlines()[1]  # the remedy comes next
    assert fitted.index("to everyone") < fitted.index("Receipt")
    assert "Predict ill" not in fitted and "start with" not in fitted  # no list of points
    assert run("show", "m.json") == fitted
    assert "start with" in run("show", "m.json", "--explain")
    for form in ("html", "markdown"):
        run("show", "m.json", f"--{form}", form)
        text = Path(form).read_text(encoding="utf-8")
        assert text.index("to everyone") < text.index("9 it pays") < text.index("Receipt")
        assert not any(word in text for word in ("What is true", "made-up row", "0 points"))
    run("show", "m.json", "--sql", "c.sql", "--python", "c.py")  # code is code all the same
    assert load_model("m.json").verdict_.answer == "no"


def test_a_machine_reads_the_file_as_it_is(run):
    run("fit", "t.csv", "--schema", "./s.toml", "--epsilon", 1, "--out", "m.json")
    assert json.loads(run("show", "m.json", "--json")) == json.loads(open("m.json").read())


def test_a_plan_without_epsilon_is_a_table_over_several(run):
    out = run("plan", "t.csv", "--schema", "./s.toml")
    first, *rows = out.splitlines()
    assert first.startswith("Noise dominates up to epsilon") and "needs at least" in first
    found = [row.split()[0] for row in rows if re.search("noise (is|dominates)", row)]
    assert found == [f"{epsilon:g}" for epsilon in PLANNED_EPSILONS]
    records = json.loads(run("plan", "t.csv", "--schema", "./s.toml", "--json"))
    assert [record["epsilon"] for record in records] == list(PLANNED_EPSILONS)
    assert records[0]["verdict"]["rows_needed"] > 60


def test_a_plan_without_public_rows_names_the_rows_needed(run):
    out = run("plan", "t.csv", "--schema", "./s.toml", "--relation", "add_or_remove_one")
    assert "not public" in out.splitlines()[0] and "rows needed" in out


def test_a_constant_card_with_rates_keeps_its_points(run):
    # Its rates differ by total, so totals must be added up.
    options = ("--epsilon", 200, "--risk-budget", 0.5, "--out", "m.json")
    fitted = run("fit", "t.csv", "--schema", "./s.toml", *options)
    assert fitted.startswith("This card answers 'no' to everyone.") and "start with" in fitted


RARE = "positive_share = 0.03\n" + SCHEMA


@pytest.mark.parametrize(
    ("head", "options", "words"),
    [
        ("", (), "If fewer than 1 in 10 rows are 'yes', expect 'no' for everyone"),
        ("", (), "With --false-negative-cost 9 it pays from 10% on"),
        ("", ("--false-negative-cost", 3), "If fewer than 1 in 28 rows are 'yes'"),
        ("positive_share = 0.03", (), "3% are 'yes': expect 'no' for everyone"),
        ("positive_share = 0.03", (), "With --false-negative-cost 32 it pays from 3.03% on"),
        ("positive_share = 0.22", (), "22% are 'yes': 'no' for everyone is no surprise"),
        ("positive_share = 0.95", (), "5% are 'no': expect 'yes' for everyone"),
        ("positive_share = 0.95", (), "With --false-positive-cost 19 it pays from 5% on"),
        ("positive_share = 0.3", (), None),
        ("positive_share = 0.03", ("--false-negative-cost", 32), None),
    ],
)
def test_a_plan_says_what_the_loss_does_with_a_rare_outcome(run, head, options, words):
    Path("rare.toml").write_text(f"{head}\n{SCHEMA}")
    first, *rest = lines_of(run, "--epsilon", 5, *options, schema="rare.toml")
    assert len(rest) == 4
    assert words in first if words else "for everyone" not in first
    table = run("plan", "t.csv", "--schema", "./rare.toml", *options)
    assert words in table if words else "for everyone" not in table
    item, *_ = json.loads(
        run("plan", "t.csv", "--schema", "./rare.toml", "--epsilon", 5, "--json", *options)
    )
    assert item["rare_outcome"] in first and bool(item["rare_outcome"]) == bool(words)


def test_costs_do_not_help_where_noise_dominates(run):
    first, *_ = lines_of(run, "--epsilon", 0.01)
    assert first.startswith("Noise dominates") and "for everyone" not in first


def test_a_fit_announces_a_stated_rare_outcome_before_it_spends(run, capsys):
    Path("rare.toml").write_text(RARE)
    call = ["fit", "t.csv", "--schema", "./rare.toml", "--epsilon", "5"]
    assert run_command_line(cli, call) == 0
    assert "note: 3% are 'yes': expect 'no' for everyone" in capsys.readouterr().err
    Path("rare.toml").write_text(RARE.replace("0.03", "0.4"))
    assert run_command_line(cli, call) == 0
    assert "everyone" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        ("auto", "note: If fewer than 1 in 10 rows are 'yes', expect 'no' for everyone"),
        ("one_hot", "With --false-negative-cost 9 it pays from 10% on, and noise counts 9 times"),
        ("logistic", "note: If few are positive, expect one answer for nearly everyone"),
    ],
)
def test_a_fit_says_it_as_a_condition_where_no_share_is_stated(run, capsys, mechanism, words):
    call = ["fit", "t.csv", "--schema", "./s.toml", "--epsilon", "5", "--mechanism", mechanism]
    assert run_command_line(cli, call) == 0
    said = capsys.readouterr().err
    assert words in said and said.count("note: If") == 1


def test_a_fit_that_is_refused_says_only_why(run, capsys):
    call = ["fit", "t.csv", "--schema", "./s.toml", "--epsilon", "5", "--relation", "none"]
    assert run_command_line(cli, call) != 0
    assert "note" not in capsys.readouterr().err


def lines_of(run, *options, schema="s.toml"):
    return run("plan", "t.csv", "--schema", f"./{schema}", *options).splitlines()


@pytest.mark.parametrize(
    ("epsilon", "first"),
    [(0.01, "Noise dominates"), (0.4, "Noise is large"), (2, "Noise is small"), (20, "Noise is")],
)
def test_a_plan_is_five_lines(run, epsilon, first):
    verdict, choice, time, receipt, more = lines_of(run, "--epsilon", epsilon)
    assert verdict.startswith(first)
    assert choice.startswith("choice: ") and ": " in choice.removeprefix("choice: ")
    assert time.startswith("time: about ") and "memory" in time
    assert receipt == "receipt: HOLDS for one row"
    assert more.startswith("more: ")


def test_the_five_lines_name_the_unit_with_its_rows(run):
    text = SCHEMA.replace("[[feature]]", 'unit = "one patient"\nrows_per_unit = 3\n[[feature]]')
    Path("unit.toml").write_text(text)
    for epsilon in (0.1, 5):
        *_, receipt, _ = lines_of(run, "--epsilon", epsilon, schema="unit.toml")
        assert receipt == "receipt: HOLDS for one patient (at most 3 rows)"
    assert any(
        "for one patient (at most 3 rows)" in one for one in lines_of(run, schema="unit.toml")
    )


def test_the_rest_is_behind_explain_and_in_json(run):
    short = run("plan", "t.csv", "--schema", "./s.toml", "--epsilon", 2)
    whole = run("plan", "t.csv", "--schema", "./s.toml", "--epsilon", 2, "--explain")
    assert whole.startswith(short) and "(automatic choice)" in whole and "one_hot: " in whole
    assert "one_hot" not in short
    records = json.loads(run("plan", "t.csv", "--schema", "./s.toml", "--epsilon", 2, "--json"))
    assert len(records) > 3 and records[0]["outlook"]["twice_epsilon"] > 0
    assert records[0]["promise"]["protects"] == "one row"
    table = run("plan", "t.csv", "--schema", "./s.toml", "--explain")
    assert table.count("(automatic choice)") == len(PLANNED_EPSILONS)


def test_what_more_would_bring_is_what_such_a_plan_says(run):
    (record,) = json.loads(
        run("plan", "t.csv", "--schema", "./s.toml", "--epsilon", 0.4, "--json")
    )[:1]
    outlook = record["outlook"]
    found = plan_fit("s.toml", epsilon=0.4, n_rows=outlook["small_rows"])[0].verdict
    assert found.is_small
    below = plan_fit("s.toml", epsilon=0.4, n_rows=outlook["small_rows"] - 1)[0].verdict
    assert not below.is_small
    assert plan_fit("s.toml", epsilon=outlook["small_epsilon"], n_rows=60)[0].verdict.is_small


def test_small_noise_has_its_own_look(run, monkeypatch):
    run("fit", "t.csv", "--schema", "./s.toml", "--epsilon", 9, "--out", "m.json")
    run("fit", "t.csv", "--schema", "./s.toml", "--epsilon", 0.01, "--out", "n.json")
    run("show", "m.json", "--html", "m.html")
    run("show", "n.json", "--html", "n.html")
    good, bad = '<p class="verdict good" role="note">Noise is', '<p class="verdict" role="note">'
    assert f"{good} small" in Path("m.html").read_text()
    assert f"{bad}Noise dominates" in Path("n.html").read_text()
    assert "verdict good" not in Path("n.html").read_text().partition("</style>")[2]


def test_a_terminal_shows_good_news_in_another_colour(monkeypatch):
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.delenv("NO_COLOR", raising=False)
    good, bad = toned("Noise is small.", is_good=True), toned("Noise is large.", is_good=False)
    assert "\x1b[32m" in good and "\x1b[32m" not in bad
    monkeypatch.setenv("NO_COLOR", "1")
    assert toned("Noise is small.", is_good=True) == "Noise is small."
