"""A plan says what the receipt will say: guarantee and conditions, before anything is spent."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from opdisc import (
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    count_rows,
)
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data import parse_schema
from opdisc.data.reading import COLUMNS_UNSEEN, DTYPES_DECLARED, LABELS_PUBLIC
from opdisc.planning import plan_cards, plan_fit
from opdisc.privacy import WeakPromise

READ_FROM_THE_TABLE = {
    DTYPES_DECLARED: "whether a table carries the note of its types is known when it is there",
    COLUMNS_UNSEEN: "the same note decides it",
    LABELS_PUBLIC: "without a schema the labels are those of the table",
}
"""Conditions that only the reading of the rows can add, and why no plan can know them."""

ROWS = 240


def schema_of(columns=3, private=False, **other):
    age = {"quantiles": 3, "range": [0, 60]} if private else [20, 40]
    return parse_schema(
        {
            "name": "s",
            "target": {"column": "y", "positive": "1", "negative": "0"},
            "feature": [
                *({"column": f"x{k}", "binary": True} for k in range(columns)),
                {"column": "age", "thresholds": age, **({} if private else {"range": [0, 60]})},
            ],
            **other,
        }
    )


def table_of(columns):
    rng = np.random.default_rng(7)
    cells = {f"x{k}": rng.integers(0, 2, ROWS) for k in range(columns)}
    return pd.DataFrame({**cells, "age": rng.integers(0, 60, ROWS), "y": rng.integers(0, 2, ROWS)})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for columns in (3, 20):
        table_of(columns).to_csv(folder / f"{columns}.csv", index=False)
    return folder


CONFIGURATIONS = [
    *({"epsilon": epsilon} for epsilon in (0.01, 1.0, 40.0, 55.0, 60.0, 100.0, 1e6)),
    *({"epsilon": epsilon, "weight_bound": 1} for epsilon in (40.0, 55.0, 60.0, 100.0)),
    *({"epsilon": e, "relation": "add_or_remove_one"} for e in (1.0, 70.0)),
    {"epsilon": 2.0, "relation": "add_or_remove_one", "public_row_guess": 200},
    {"epsilon": 1.0, "delta": 0.5},
    {"epsilon": 1.0, "delta": 1e-9},
    {"epsilon": 90.0, "delta": 0.999},
    {"epsilon": 1.0, "risk_budget": 0.3},
    {"epsilon": 70.0, "risk_budget": 0.3},
    {"epsilon": 70.0, "private": True},
    {"epsilon": 2.0, "private": True, "risk_budget": 0.5, "delta": 0.1},
    {"epsilon": 30.0, "error_costs": {"false_negative": 5, "false_positive": 1}},
    {"epsilon": 120.0, "error_costs": {"false_negative": 5, "false_positive": 1}},
    {"epsilon": 1.0, "max_nonzero": 2},
    {"epsilon": 1.0, "columns": 20, "patience": 1.0},
    {"epsilon": 80.0, "columns": 20, "patience": 1.0},
    {"epsilon": 1.0, "base_measure": "sparse"},
    {"epsilon": 90.0, "weight_bound": 1, "unit": 3},
]


@pytest.mark.parametrize("case", CONFIGURATIONS, ids=str)
@pytest.mark.filterwarnings("ignore::opdisc.privacy.WeakPromise")
def test_a_plan_says_what_the_receipt_then_says(case, files):
    settings = dict(case)
    columns, private = settings.pop("columns", 3), settings.pop("private", False)
    unit = settings.pop("unit", 1)
    schema = schema_of(columns, private, **({} if unit == 1 else {"rows_per_unit": unit}))
    (planned,) = plan_fit(schema, n_rows=ROWS, compare_others=False, **settings)
    model = PrivateScorecardClassifier(schema=schema, **settings)
    receipt = model.fit_counts(count_rows(files / f"{columns}.csv", schema)).receipt_
    drawn_by = "hull" if planned.mechanism == "logistic" else planned.mechanism
    assert drawn_by == receipt.mechanism
    assert planned.promise.guarantee == receipt.guarantee
    assert planned.promise.conditions == receipt.conditions


@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("epsilon", [2.0, 80.0])
@pytest.mark.filterwarnings("ignore::opdisc.privacy.WeakPromise")
def test_a_plan_says_what_each_named_mechanism_then_says(epsilon, delta, files):
    schema = schema_of()
    counts = count_rows(files / "3.csv", schema)
    asked = {"epsilon": epsilon, "delta": delta}
    for planned in plan_fit(schema, n_rows=ROWS, weight_bound=1, **asked):
        model = PrivateScorecardClassifier(
            schema=schema, mechanism=planned.mechanism, weight_bound=1, **asked
        )
        receipt = model.fit_counts(counts).receipt_
        said = planned.promise.guarantee, planned.promise.conditions
        assert said == (receipt.guarantee, receipt.conditions), planned.mechanism
        if epsilon == 80 and planned.mechanism == "permute_and_flip":
            assert receipt.guarantee == "VOID"


@pytest.mark.parametrize("strategy", ["tree", "one_versus_rest"])
@pytest.mark.parametrize("epsilon", [2.0, 400.0])
@pytest.mark.parametrize("more", [{}, {"risk_budget": 0.3}, {"relation": "add_or_remove_one"}])
@pytest.mark.filterwarnings("ignore::opdisc.privacy.WeakPromise")
def test_a_plan_of_several_classes_says_what_the_receipt_then_says(strategy, epsilon, more):
    if strategy != "tree" and "risk_budget" in more:
        pytest.skip("risks need a tree")
    schema = schema_of(target={"column": "y", "classes": ["a", "b", "c"]})
    table = table_of(3).assign(y=["a", "b", "c"] * (ROWS // 3))
    settings = {"strategy": strategy, "epsilon": epsilon, "weight_bound": 1, **more}
    together, *cards = plan_cards(schema, n_rows=ROWS, **settings)
    model = PrivateMulticlassClassifier(schema=schema, **settings).fit(table, table["y"])
    receipt = model.receipt_
    added = tuple(text for text in receipt.conditions if text in READ_FROM_THE_TABLE)
    rest = tuple(text for text in receipt.conditions if text not in READ_FROM_THE_TABLE)
    assert together.promise.conditions == rest
    guarantee = "CONDITIONAL" if added and not rest else together.promise.guarantee
    assert guarantee == receipt.guarantee
    for planned, card in zip(cards, receipt.cards, strict=True):
        own = tuple(text for text in card.conditions if text not in READ_FROM_THE_TABLE)
        assert planned.promise.conditions == own


def test_only_the_named_conditions_are_added_by_reading_a_frame():
    schema, table = schema_of(), table_of(3)
    (planned,) = plan_fit(schema, n_rows=ROWS, epsilon=1.0, compare_others=False)
    receipt = PrivateScorecardClassifier(schema=schema).fit(table, table["y"]).receipt_
    assert planned.promise.guarantee == "HOLDS" and receipt.guarantee == "CONDITIONAL"
    assert set(receipt.conditions) <= set(READ_FROM_THE_TABLE)


def test_a_plan_in_python_warns_of_a_void_receipt_and_names_the_limit():
    schema = schema_of()
    with pytest.warns(WeakPromise, match="says VOID and promises nothing"):
        planned = plan_fit(schema, n_rows=ROWS, epsilon=100.0, weight_bound=1)[0]
    limit = planned.promise.epsilon_limit
    assert 40 < limit < 100 and f"up to epsilon {limit:g} it does not" in planned.promise.weakness
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = plan_fit(schema, n_rows=ROWS, epsilon=limit, weight_bound=1)[0]
    assert kept.promise.guarantee == "HOLDS"
    with pytest.warns(WeakPromise):
        lost = plan_fit(schema, n_rows=ROWS, epsilon=limit * 1.01, weight_bound=1)[0]
    assert lost.promise.guarantee == "VOID"


def test_a_plan_of_cards_in_python_warns_too():
    schema = schema_of(target={"column": "y", "classes": ["a", "b", "c"]})
    with pytest.warns(WeakPromise, match="VOID"):
        together, *_ = plan_cards(schema, n_rows=ROWS, epsilon=400.0, weight_bound=1)
    assert 40 < together.promise.epsilon_limit < 400


def test_the_first_line_of_the_command_is_that_the_receipt_is_void(files, tmp_path, capsys):
    schema = tmp_path / "s.toml"
    schema.write_text(
        'name = "s"\ntarget = { column = "y", positive = "1", negative = "0" }\n'
        '[[feature]]\ncolumn = "x0"\nbinary = true\n[[feature]]\ncolumn = "x1"\nbinary = true\n',
        encoding="utf-8",
    )
    call = ["plan", str(files / "3.csv"), "--schema", str(schema)]
    assert run_command_line(cli, [*call, "--epsilon", "200"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("The receipt says VOID and promises nothing: the numerical")
    assert "receipt: VOID" in printed.out and printed.err == ""
    assert run_command_line(cli, [*call, "--epsilon", "200", "--json"]) == 0
    promise = json.loads(capsys.readouterr().out)[0]["promise"]
    assert promise["guarantee"] == "VOID" and "numerical delta" in promise["conditions"][0]
    assert run_command_line(cli, call) == 0
    assert "At epsilon 0.01, 0.05, 0.1, 0.25, 0.5, 1: receipt: HOLDS" in capsys.readouterr().out
    assert run_command_line(cli, [*call, "--epsilon", "1", "--delta", "0.5"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("Note: ") and "120 of the 240 rows" in first


@pytest.mark.extras("pyarrow")
def test_the_kind_of_a_file_is_known_to_its_plan(tmp_path, capsys):
    schema, path = tmp_path / "s.toml", tmp_path / "t.parquet"
    schema.write_text(
        'name = "s"\ntarget = { column = "y", positive = "1", negative = "0" }\n'
        '[[feature]]\ncolumn = "x0"\nbinary = true\n',
        encoding="utf-8",
    )
    table_of(3).to_parquet(path)
    files = [str(path), "--schema", str(schema), "--epsilon", "1", "--json"]
    assert run_command_line(cli, ["plan", *files]) == 0
    promise = json.loads(capsys.readouterr().out)[0]["promise"]
    assert run_command_line(cli, ["fit", *files]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]
    assert promise["guarantee"] == receipt["guarantee"] == "CONDITIONAL"
    assert promise["conditions"] == receipt["conditions"]
