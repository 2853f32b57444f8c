"""``--prior`` and ``--pilot`` of plan, fit and compare."""

import json
from pathlib import Path

import numpy as np
import pytest

from opdisc import Ledger, load_model
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line

SCHEMA = """name = "ward"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "age"
thresholds = [40, 65]
[[feature]]
column = "smoker"
binary = true
"""


def write(name, n, seed):
    rng = np.random.default_rng(seed)
    rows = [
        f"{age},{smoker},{'yes' if (age >= 65) ^ (rng.random() < 0.1) else 'no'}"
        for age, smoker in zip(rng.integers(18, 90, n), rng.integers(0, 2, n), strict=True)
    ]
    Path(name).write_text("\n".join(["age,smoker,ill", *rows, ""]))


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    Path("score.json").write_text('{"start with": -1, "age >= 65": 2}')
    write("t.csv", 300, 1)
    write("v.csv", 60, 2)

    def go(*call):
        status = run_command_line(cli, [*map(str, call)])
        return status, *capsys.readouterr()

    return go


TABLE = ("t.csv", "--schema", "./s.toml", "--epsilon", 0.1)


@pytest.mark.parametrize("start", [("--pilot", "v.csv"), ("--prior", "score.json")])
def test_plan_says_what_fit_does(run, start):
    status, out, _ = run("plan", *TABLE, *start)
    verdict, choice, _, receipt, _ = out.splitlines()
    assert status == 0 and " Start: " in verdict and "log-odds" in verdict
    assert choice == (
        "choice: logistic: a public start is given, and a logistic card is drawn around it"
    )
    assert receipt == (
        "receipt: CONDITIONAL for one row, if the start was made without the private rows"
    )
    status, _, _ = run("fit", *TABLE, *start, "--out", "m.json")
    kept = load_model("m.json").receipt
    assert status == 0 and kept.conditions == ("the start was made without the private rows",)
    (record,) = json.loads(run("plan", *TABLE, *start, "--json")[1])
    assert record["start"] in verdict


def test_a_released_card_is_the_next_start_and_the_ledger_counts_both(run):
    Ledger.create("book", table="t")
    book = ("--ledger", "book")
    assert run("fit", *TABLE, *book, "--mechanism", "logistic", "--out", "a.json")[0] == 0
    assert run("fit", *TABLE, *book, "--prior", "a.json", "--out", "b.json")[0] == 0
    second = load_model("b.json").receipt
    assert second.conditions == () and second.guarantee == "HOLDS"
    assert second.start.endswith("which the ledger has")
    assert [spending.epsilon for spending in Ledger("book").spendings()] == [0.1, 0.1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pilot", "t.csv"), "is the private table"),
        (("--pilot", "v.csv", "--prior", "score.json"), "leave one out"),
        (("--prior", "none.json"), "No such file"),
        (("--pilot", "v.csv", "--mechanism", "opdisc"), "--mechanism logistic, staged"),
        (("--pilot", "v.csv", "--mechanism", "one_hot"), "mechanism='logistic', 'staged'"),
        (("--pilot", "v.csv", "--max-nonzero", 3), "max_nonzero does not apply"),
    ],
)
def test_what_is_no_start_is_one_sentence_and_costs_nothing(run, options, words):
    Ledger.create("book", table="t")
    before = Path("book").read_bytes()
    status, out, err = run("fit", *TABLE, "--ledger", "book", *options)
    assert status != 0 and out == "" and err.count("\n") == 1 and words in err
    assert Path("book").read_bytes() == before
    if "opdisc" not in options and "one_hot" not in options:
        status, out, err = run("plan", *TABLE, *options)
        assert status != 0 and out == "" and err.count("\n") == 1


def test_a_pilot_is_read_as_the_table_is(run):
    for name in ("t.csv", "v.csv"):
        text = Path(name).read_text().replace(",", ";").replace("yes", "jä").replace("no", "nö")
        Path(name).write_bytes(text.encode("latin-1"))
    words = SCHEMA.replace('"yes"', '"jä"').replace('"no"', '"nö"')
    Path("s.toml").write_text(words, encoding="utf-8")
    options = ("--pilot", "v.csv", "--delimiter", ";", "--encoding", "latin-1")
    costs = ("--false-negative-cost", 2)
    assert run("fit", *TABLE, *options, *costs, "--out", "m.json")[0] == 0
    assert load_model("m.json").receipt.start.startswith("logistic regression on 60 public rows")
    assert run("plan", *TABLE, *options)[0] == 0
    assert run("fit", *TABLE, "--pilot", "v.csv")[0] != 0


@pytest.mark.parametrize("mechanism", ["staged", "exponential"])
def test_an_exact_draw_starts_from_the_points_of_a_schema(run, mechanism):
    Path("score.toml").write_text(
        '"start with" = -1\n' + SCHEMA.replace("65]", "65]\npoints=[0, 2]")
    )
    call = ("--prior", "score.toml", "--mechanism", mechanism, "--out", "m.json")
    assert run("fit", *TABLE, *call)[0] == 0
    assert load_model("m.json").receipt.start_points == (-1, 0, 2, 0)


def test_a_model_never_overwrites_its_start(run):
    before = Path("score.json").read_bytes()
    status, _, err = run("fit", *TABLE, "--prior", "score.json", "--out", "score.json", "--force")
    assert status != 0 and "score.json" in err and Path("score.json").read_bytes() == before


def test_a_comparison_has_the_start_alone_beside_those_that_take_it(run):
    methods = ("auto@auto", "logistic-hull", "logistic-scorecard", "public-start", "one-hot")
    call = ("compare", "t.csv", "--schema", "./s.toml", "--epsilons", 0.01, "--repeats", 1)
    options = ("--pilot", "v.csv", "--jobs", 1, "--out", "side")
    assert run(*call, "--methods", *methods, *options)[0] == 0
    rows = [json.loads(line) for line in Path("side/runs.jsonl").read_text().splitlines()]
    found = {row["method"]: row for row in rows}
    for name in ("auto@auto", "logistic-hull", "logistic-scorecard"):
        assert "the start was made without the private rows" in found[name]["conditions"]
        # At so small an epsilon the start is all there is.
        assert found[name]["test_accuracy"] == found["public-start"]["test_accuracy"]
    assert "the start was made without the private rows" not in found["one-hot"]["conditions"]
    status, _, err = run(*call, "--methods", "public-start", "--out", "other")
    assert status != 0 and "name one with --prior or --pilot" in err


def test_who_cannot_listen_loses_no_release(run, monkeypatch):
    from opdisc.cli.fitting import fit as room

    def broken(*_):
        raise ValueError("a closed stream")

    monkeypatch.setattr(room, "rare_outcome_text", broken)
    Ledger.create("book", table="t")
    assert run("fit", *TABLE, "--ledger", "book", "--out", "m.json")[0] == 0
    assert load_model("m.json") and len(Ledger("book").spendings()) == 1
