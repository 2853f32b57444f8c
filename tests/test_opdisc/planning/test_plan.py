"""Predictions before any budget is spent: functions of public facts."""

import json
import math

import numpy as np
import pytest
from helpers.opdisc.plain_files import plain_files

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.cli.fitting.planning import work_text
from opdisc.errors import CalibrationError
from opdisc.planning import plan
from opdisc.planning.choice import LOGISTIC, MECHANISMS, extra_loss
from opdisc.planning.plan import plan_fit
from oracles.errors import UnsupportedProblem
from oracles.problem import ErrorCosts


def test_the_automatic_choice_comes_first_and_every_mechanism_is_answered():
    planned = plan_fit("adult-small", epsilon=0.1, n_rows=15_682, weight_bound=1)
    assert planned[0].mechanism == "permute_and_flip" and planned[0].automatic
    assert {item.mechanism for item in planned} == set(MECHANISMS) - {"auto"}
    assert all(item.prediction is not None for item in planned)
    # Permute-and-flip over 3^8 hypotheses: the largest of 6,561 exponentials of mean 20.01 is at
    # most 20.01 * (ln 6561 + 2.97) with probability 95%; its own noise makes the excess smaller.
    quantile = planned[0].prediction.quantile
    assert 100 < quantile < 20.01 * (math.log(6561) + 2.97)
    assert planned[0].prediction.quantile == min(i.prediction.quantile for i in planned)


def test_a_mechanism_that_cannot_run_says_why():
    found = plan_fit("adult-small", epsilon=0.1, n_rows=1000, base_measure="sparse")
    planned = {i.mechanism: i for i in found}
    assert planned["exponential"].automatic
    assert planned["permute_and_flip"].prediction is None
    assert "base measure" in str(planned["permute_and_flip"].reason)


def test_a_mechanism_that_may_take_long_says_so():
    found = plan_fit("adult-wide", epsilon=0.1, n_rows=10_000, weight_bound=1)
    planned = {i.mechanism: i for i in found}
    assert planned["staged"].automatic and planned["staged"].seconds < 60
    assert planned["exponential"].prediction is None
    assert "exponential takes grids of at most" in str(planned["exponential"].reason)
    assert planned["permute_and_flip"].prediction is not None
    assert "may take very long" in str(planned["permute_and_flip"].reason)


def test_the_number_of_rows_is_used_only_where_it_is_public():
    hidden = plan_fit("adult-small", epsilon=1.0, n_rows=5, relation="add_or_remove_one")
    assert hidden[-1].mechanism == LOGISTIC and hidden[-1].verdict.rows is None
    assert all(item.prediction.rows is None for item in hidden[:-1])
    public = plan_fit("adult-small", epsilon=1e-3, n_rows=5)
    assert all(item.prediction.quantile <= 5 for item in public[:-1])
    assert public[-1].verdict.share == 1.0 and public[-1].prediction is None


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan])
def test_impossible_budgets_are_refused(epsilon):
    with pytest.raises(CalibrationError, match="epsilon must be"):
        plan_fit("adult-small", epsilon=epsilon, n_rows=5)


def test_risks_that_are_bought_leave_less_for_the_card():
    facts = {"n_rows": 15_682, "weight_bound": 1, "compare_others": False}
    (split,) = plan_fit("adult-small", epsilon=0.125, risk_budget=0.2, **facts)
    (alone,) = plan_fit("adult-small", epsilon=0.1, **facts)
    assert split.prediction == alone.prediction and split.epsilon == 0.125
    with pytest.raises(CalibrationError, match="risk_budget must be a share"):
        plan_fit("adult-small", epsilon=0.1, risk_budget=1.0, **facts)


def test_the_command_prints_one_line_per_mechanism_or_one_document(tmp_path, capsys):
    table = tmp_path / "table.csv"
    table.write_text("x,y\n1,1\n0,0\n", encoding="utf-8")
    schema = tmp_path / "s.toml"
    schema.write_text(
        'name = "t"\ntarget = { column = "y", positive = "1", negative = "0" }\n'
        '[[feature]]\ncolumn = "x"\nbinary = true\n',
        encoding="utf-8",
    )
    call = ["plan", str(table), "--schema", str(schema), "--epsilon", "2"]
    assert run_command_line(cli, call) == 0
    short = capsys.readouterr().out
    assert run_command_line(cli, [*call, "--explain"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(short + "\n")
    verdict, choice, time, receipt, more = short.splitlines()
    assert verdict.startswith("Noise dominates: ") and "epsilon at least" in verdict
    assert choice.endswith("points -1 to 1: all that one statement needs")
    assert receipt == "receipt: HOLDS for one row" and more.startswith("more: noise is small")
    lines = shown.removeprefix(short + "\n").splitlines()
    own = [line for line in lines if not line.startswith(" ")]
    assert len(own) == len(MECHANISMS) and "extra errors of 2" in own[0]
    assert own[-1].startswith("logistic: Noise dominates: ")
    assert own[-1].endswith("No bound on extra errors is known for a logistic card.")
    assert lines[1].startswith("  chosen because: rows and budget are so few")
    assert lines[1].endswith("points -1 to 1: all that one statement needs")
    assert lines[2].startswith("  in detail: ") and "decision stump" in lines[2]
    assert run_command_line(cli, [*call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["automatic"] is True
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.toml", "table.csv"]


def test_a_plan_holds_seconds_and_memory():
    facts = {"epsilon": 0.02, "n_rows": 100_000, "compare_others": False}
    (chosen,) = plan_fit("german", **facts)
    assert chosen.mechanism == "staged" and 2 < chosen.seconds < 60 and 1e8 < chosen.memory < 2e9
    (hurried,) = plan_fit("german", patience=1.0, **facts)
    assert hurried.seconds < 2
    planned = {i.mechanism: i for i in plan_fit("german", epsilon=1.0, n_rows=1000)}
    assert planned["one_hot"].seconds is None and planned["one_hot"].memory is None


@pytest.mark.parametrize(
    ("seconds", "memory", "said"),
    [
        (0.3, 1e8, "takes about a second or less"),
        (4.8, 1e8, "takes about 5 seconds"),
        (33.0, 1.3e9, "takes about 30 seconds and up to 1.3 GB of memory"),
    ],
)
def test_what_a_fit_takes_is_said_in_words(seconds, memory, said):
    assert work_text(seconds, memory) == said


@pytest.mark.parametrize("schema", ["adult-wide", "adult_binary", "adult-small"])
def test_a_guess_plans_what_replace_one_plans_at_twice_epsilon(schema):
    facts = {"n_rows": 11_000, "compare_others": False}
    hidden = {**facts, "relation": "add_or_remove_one"}
    # Too little for a logistic card, whose plan does not depend on the bound.
    (known,) = plan_fit(schema, epsilon=0.25, **facts)
    (guessed,) = plan_fit(schema, epsilon=0.125, public_row_guess=11_000, **hidden)
    (blind,) = plan_fit(schema, epsilon=0.125, **hidden)
    (both,) = plan_fit(schema, epsilon=0.25, public_row_guess=5, **facts)
    assert both == known
    for name in ("mechanism", "weight_bound", "seconds", "memory"):
        assert getattr(guessed, name) == getattr(known, name)
    assert guessed.prediction.quantile == pytest.approx(known.prediction.quantile, rel=0.01)
    assert guessed.weight_bound > blind.weight_bound == 1
    assert guessed.prediction.rows is guessed.verdict.rows is None


def test_no_bound_is_capped_by_a_guess():
    few = {"epsilon": 1e-3, "n_rows": 50_000, "weight_bound": 1, "compare_others": False}
    (hidden,) = plan_fit("adult-small", relation="add_or_remove_one", public_row_guess=7501, **few)
    (blind,) = plan_fit("adult-small", relation="add_or_remove_one", **few)
    assert hidden.prediction == blind.prediction and hidden.prediction.quantile > 5
    assert hidden.verdict == blind.verdict and hidden.verdict.word == "rows not public"


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_a_guess_below_one_is_refused_by_plans(relation):
    with pytest.raises(CalibrationError, match="public_row_guess must be an integer of"):
        plan_fit("adult-small", epsilon=1.0, n_rows=5, relation=relation, public_row_guess=0)


def test_the_command_takes_a_guess_and_refuses_what_is_none(tmp_path, capsys):
    alternating = np.arange(40)[:, None] % 2
    table, schema = plain_files(tmp_path, np.repeat(alternating, 20, axis=1), alternating)
    common = [table, "--schema", schema, "--epsilon", "0.2", "--patience", "4"]
    common += ["--relation", "add_or_remove_one", "--json"]
    guess = ["--public-row-guess", "4900"]
    assert run_command_line(cli, ["plan", *common, *guess]) == 0
    planned = json.loads(capsys.readouterr().out)[0]
    assert run_command_line(cli, ["plan", *common]) == 0
    assert planned["weight_bound"] > json.loads(capsys.readouterr().out)[0]["weight_bound"] == 1
    assert run_command_line(cli, ["fit", *common, *guess]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]
    assert receipt["public_row_guess"] == 4900 and receipt["n_rows"] is None
    assert receipt["mechanism"] == "staged"
    for command in ("plan", "fit"):
        for wrong, said in (
            ("0", "must be an integer of at least 1"),
            ("-3", "of at least 1, got -3"),
            ("x", "valid int"),
        ):
            status = run_command_line(cli, [command, *common, "--public-row-guess", wrong])
            shown = capsys.readouterr()
            assert status == 2 and said in shown.err and shown.out == ""
            assert len(shown.err.strip().splitlines()) == 1


@pytest.mark.parametrize("error", [CalibrationError, UnsupportedProblem])
def test_where_nothing_can_run_no_number_of_rows_is_enough(monkeypatch, error):
    """More rows or another epsilon are looked at too, and there the choice may not run."""
    facts = {"epsilon": 0.1, "n_rows": 15_682, "weight_bound": 1, "compare_others": False}
    (known,) = plan_fit("adult-small", **facts)
    decided = plan.decide_card

    def here_only(request, whole):
        if whole.params.epsilon != 0.1 or whole.n_rows != 15_682:
            raise error("elsewhere it does not run")
        return decided(request, whole)

    monkeypatch.setattr(plan, "decide_card", here_only)
    (found,) = plan_fit("adult-small", **facts)
    assert found.prediction == known.prediction
    assert known.outlook != found.outlook
    assert found.outlook is None or found.outlook.small_rows is None


def test_a_reason_predicts_in_rows_or_in_units_of_cost():
    mixed = ErrorCosts(false_negative=3, false_positive=1)
    assert extra_loss(3.2, ErrorCosts(), None) == "4 extra errors"
    assert extra_loss(3.2, ErrorCosts(), 1000) == "4 extra errors of 1,000"
    assert extra_loss(3.2, mixed, None) == f"4 units of extra cost ({mixed})"
    assert extra_loss(3.2, mixed, 1000) == f"4 units of extra cost on 1,000 rows ({mixed})"
    (found,) = plan_fit("adult-small", epsilon=0.1, n_rows=15_682, compare_others=False)
    assert ": on average at most" in found.reason.detail


def test_only_a_named_search_that_may_take_very_long_says_so():
    small = plan_fit("adult-small", epsilon=0.1, n_rows=15_682, weight_bound=1)
    wide = plan_fit("adult-wide", epsilon=0.1, n_rows=10_000, weight_bound=1)
    long = [one.mechanism for one in (*small, *wide) if "very long" in str(one.reason)]
    assert long == ["permute_and_flip"]  # of the wide grid
    assert [str(one.reason) for one in small[1:]] == [""] * (len(small) - 1)
