"""Comparisons on a table of more than two classes."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from opdisc.comparison.comparing import settings_of
from opdisc.comparison.measures import measured
from opdisc.comparison.methods.classes import class_positions, one_versus_rest
from opdisc.comparison.methods.method import ComparisonError, Fitted
from opdisc.comparison.plan import (
    SEVERAL_CLASSES_METHODS,
    Plan,
    check_classes,
    method_names,
    parse_method,
    runs_of,
)
from opdisc.comparison.runs import _task, execute, setting_of
from opdisc.comparison.source import check_split, make_source, split_rows
from opdisc.data.schema import Schema
from opdisc.errors import OPDiscError
from opdisc.report import write_report
from opdisc.report.majority import headline

LABELS = ("low", "mid", "high")


def schema_of(labels=LABELS):
    return Schema.from_dict(
        {
            "name": "grades",
            "target": {"column": "grade", "classes": list(labels)},
            "feature": [{"column": name, "binary": True} for name in ("x", "y")],
        }
    )


def table_of(rows=300, labels=LABELS):
    """In nine rows of ten x says "high", else y says "mid"."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (rows, 2))
    odd = rng.random(rows) < 0.1
    grades = np.where(odd, rng.integers(0, 3, rows), np.where(cells[:, 0] == 1, 2, cells[:, 1]))
    table = pd.DataFrame(cells, columns=["x", "y"])
    return table.assign(grade=np.array(labels)[grades])


def source_of(table=None, schema=None):
    return make_source(
        "grades",
        table_of() if table is None else table,
        schema_of() if schema is None else schema,
    )


@pytest.fixture(scope="module")
def rows():
    """One row of every default method at an epsilon at which noise hardly matters."""
    source = source_of()
    plan = Plan(methods=SEVERAL_CLASSES_METHODS, epsilons=(60.0,), repeats=1)
    setting = setting_of(plan, source)
    return {run.method: execute(run, setting, source) for run in runs_of(plan)}


def test_every_default_method_learns_three_classes(rows):
    assert {name: row["error"] for name, row in rows.items() if row["status"] != "ok"} == {}
    for name, row in rows.items():
        assert json.loads(json.dumps(row, allow_nan=False)) == row
        assert row["n_classes"] == 3 and row["roc"] is None
        assert row["train_errors"] == round((1 - row["train_accuracy"]) * row["n_train"])
        if name != "majority":
            assert row["test_accuracy"] > 0.8 and row["test_auc"] > 0.75, name
    assert rows["majority"]["test_balanced_accuracy"] == pytest.approx(1 / 3)
    assert rows["majority"]["test_auc"] == 0.5
    assert rows["auto"]["scorecard"].startswith("Card 1: Predict grade")
    assert rows["one-versus-rest"]["scorecard"].count("Predict grade") == 3


def test_the_budget_of_a_row_covers_all_of_its_fits(rows):
    for name in ("auto", "one-versus-rest"):
        receipt = rows[name]["receipt"]
        assert receipt["epsilon"] == 60.0 and receipt["n_classes"] == 3
        assert receipt["strategy"] == ("tree" if name == "auto" else "one_versus_rest")
        assert rows[name]["guarantee"] == receipt["guarantee"] != "VOID"
    linear = rows["logistic-gradient-descent"]
    assert linear["theorem"].startswith("3 fits, whose epsilons and deltas add up: ")
    assert 0 < linear["delta"] <= linear["n_train"] ** -2
    assert linear["guarantee"] == "CONDITIONAL" and linear["conditions"]
    assert linear["receipt"] is None and linear["unit"] == "one row"


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 1 / 3])
def test_each_class_gets_an_equal_share_rounded_down(epsilon):

    asked, conditions = [], []

    class Receipt:
        def to_dict(self):
            return {
                "delta": 0.0,
                "guarantee": ("HOLDS", "CONDITIONAL", "HOLDS")[len(conditions)],
                "calibration": "proven",
                "theorem": "t",
                "conditions": conditions.append("c") or list(conditions),
            }

    def fit(task):
        asked.append(task)
        number = len(asked)
        return Fitted(
            predict=lambda table: None,
            scores=lambda table, k=number: np.full(len(table), -abs(k - 2.0)),
            receipt=Receipt(),
        )

    source = source_of()
    plan = Plan(methods=("auto",), epsilons=(epsilon,))
    setting = setting_of(plan, source)
    train, test = split_rows(source, 0.3, 0)
    task = _task(next(runs_of(plan)), setting, source, train, test, "convex")
    found = one_versus_rest(task, fit)
    assert [part.schema.target.positive for part in asked] == list(LABELS)
    spent = sum(Fraction(part.epsilon) for part in asked)
    assert Fraction(epsilon) * (1 - Fraction(1, 10**12)) <= spent <= Fraction(epsilon)
    assert sum(Fraction(part.delta) for part in asked) <= Fraction(task.delta)
    assert found.predict(task.test).tolist() == [1] * len(task.test)
    assert (found.guarantee, found.conditions) == ("CONDITIONAL", ("c",))


def test_measures_agree_with_scikit_learn():
    rng = np.random.default_rng(4)
    table, schema = table_of(200), schema_of()
    chances = rng.dirichlet(np.ones(3), 200)
    fitted = Fitted(predict=lambda _: chances.argmax(axis=1), scores=lambda _: chances)
    truth = class_positions(table, schema)
    found = measured(fitted, table, schema, "test")
    assert found["test_accuracy"] == pytest.approx((chances.argmax(axis=1) == truth).mean())
    assert found["test_balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(truth, chances.argmax(axis=1))
    )
    assert found["test_auc"] == pytest.approx(
        roc_auc_score(truth, chances, multi_class="ovr", average="macro")
    )


def test_a_class_that_does_not_occur_is_left_out_of_the_means():
    table, schema = table_of(100), schema_of()
    two = table[table["grade"] != "mid"].reset_index(drop=True)
    scores = np.column_stack([two["grade"] == "low", np.ones(len(two)), two["grade"] == "high"])
    fitted = Fitted(predict=lambda _: scores.argmax(axis=1), scores=lambda _: scores.astype(float))
    assert measured(fitted, two, schema, "test")["test_auc"] == 1.0
    one = two[two["grade"] == "low"].reset_index(drop=True)
    plain = Fitted(predict=lambda t: np.zeros(len(t), dtype=int), scores=lambda t: np.ones(len(t)))
    assert measured(plain, one, schema, "test") == {
        "test_accuracy": 1.0, "test_balanced_accuracy": 1.0, "test_auc": None,
    }  # fmt: skip


def test_splits_keep_the_share_of_every_class():
    source = source_of()
    classes = class_positions(source.table, source.schema)
    train, test = split_rows(source, 0.3, 1)
    assert sorted([*train, *test]) == list(range(300))
    shares = [np.bincount(classes[part]) / len(part) for part in (train, test)]
    assert np.abs(shares[0] - shares[1]).max() < 0.02


def test_tables_with_too_few_rows_are_refused():
    table = table_of(60)
    lone = pd.concat([table[table["grade"] != "mid"], table[table["grade"] == "mid"][:1]])
    with pytest.raises(ComparisonError, match="rows of every class in both parts"):
        check_split(source_of(lone), 0.3)
    with pytest.raises(ComparisonError, match="rows of two classes or more"):
        source_of(table[table["grade"] == "low"])
    with pytest.raises(OPDiscError, match="must hold only the 3 declared labels"):
        source_of(table.replace("low", "lowest"))


def test_methods_are_those_that_take_so_many_classes():
    assert method_names((), swept=False, peers=False, n_classes=3) == SEVERAL_CLASSES_METHODS
    everything = method_names(("all",), swept=False, peers=False, n_classes=3)
    assert {"exponential", "svm-svrg", "one-versus-rest"} <= set(everything)
    assert all(parse_method(name)[0].takes(3) for name in everything)
    assert "one-versus-rest" not in method_names(("all",), swept=False, peers=False)
    with pytest.raises(ComparisonError, match="'opsamp' needs a target of two classes"):
        check_classes(Plan(methods=("opsamp",)), 3)
    with pytest.raises(ComparisonError, match="needs a target of more than two classes"):
        check_classes(Plan(methods=("one-versus-rest",)), 2)


def test_the_report_of_three_classes(rows, tmp_path):
    source = source_of()
    plan = Plan(methods=SEVERAL_CLASSES_METHODS, epsilons=(60.0,), repeats=1)
    (tmp_path / "settings.json").write_text(json.dumps(settings_of(source, plan, {})))
    lines = "".join(json.dumps(row) + "\n" for row in rows.values())
    (tmp_path / "runs.jsonl").write_text(lines)
    first, second = headline(tmp_path)
    assert "majority class" in first
    assert "(any constant answer: 33%), area under the ROC curve 0." in second
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "Card 2: Predict grade" in page and "Mean ROC curves" not in page
    assert "3 fits, whose epsilons and deltas add up" in page
