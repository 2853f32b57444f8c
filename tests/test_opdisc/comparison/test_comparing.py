"""A comparison's plan, rows and directory; nothing here starts a process."""

import json
import shutil
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from opdisc.cli.compare import _limit_sentence
from opdisc.comparison import comparing
from opdisc.comparison.comparing import compare
from opdisc.comparison.methods.method import ComparisonError, Fitted, find_method, registry
from opdisc.comparison.plan import DEFAULT_METHODS, Plan, method_names, parse_method, runs_of
from opdisc.comparison.runs import blank_row, execute, failed_row, receipt_digest, setting_of
from opdisc.comparison.source import (
    check_split,
    load_source,
    make_source,
    split_rows,
    unpack_source,
)
from opdisc.comparison.store import open_store, read_rows
from opdisc.data.label_encoding import encode_labels
from opdisc.data.schema import Schema
from opdisc.errors import OPDiscError
from opdisc.models.scorecard import Scorecard
from opdisc.report import write_report
from opdisc.report.results import read_results

FIELDS = """run_id dataset schema schema_digest n_rows n_train n_test method title family private
tuning parameters epsilon delta relation weight_bound oracle repeat split_seed evaluation status
error train_accuracy test_accuracy train_balanced_accuracy test_balanced_accuracy train_auc
test_auc train_brier test_brier roc calibration train_errors optimum_errors seconds solve_seconds
guarantee
conditions label theorem receipt_digest receipt scorecard scorecard_data versions""".split()


@pytest.fixture(scope="module")
def source():
    return load_source(dataset="breast-cancer")


def plan_of(*methods, **settings):
    defaults = {"epsilons": (0.5, 1.0), "repeats": 2}
    return Plan(methods=methods, **(defaults | settings))


def rows_of(source, plan):
    setting = setting_of(plan, source)
    return [execute(run, setting, source) for run in runs_of(plan)]


# --- what older versions wrote ----------------------------------------------------------------

STORED = Path(__file__).resolve().parents[2] / "stored" / "comparison-0.1"
"""Written before rows had their scorecards as data."""


def test_a_comparison_of_an_older_version_is_resumed_and_reported(source, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(STORED, out)
    before = (out / "runs.jsonl").read_bytes()
    plan = plan_of("permute-and-flip", "optimum", "majority", repeats=1)
    outcome = compare(source, plan, out, resume=True)
    assert (outcome.finished, outcome.failed) == (4, 0)
    assert (out / "runs.jsonl").read_bytes() == before
    page = (out / "report.html").read_text()
    cards = [row["scorecard"] for row in read_rows(out) if row["scorecard"]]
    assert len(cards) == 3
    assert all(escape(card, quote=False) in page for card in cards)


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("figures", Path.touch, "figures is a file; move it away"),
        ("report.html", Path.mkdir, "report.html is a directory; move it away"),
        ("summary.csv", Path.mkdir, "summary.csv is a directory; move it away"),
        ("runs.csv", Path.mkdir, "runs.csv is a directory; move it away"),
    ],
)
def test_what_would_keep_the_results_from_being_written_is_found_before_the_first_run(
    name, make, said, source, tmp_path
):
    make(tmp_path / name)
    with pytest.raises(ComparisonError, match=said):
        compare(source, plan_of("majority", repeats=1), tmp_path, resume=True)
    runs = tmp_path / "runs.jsonl"
    assert not runs.exists() or runs.read_bytes() == b""


def test_a_row_of_this_version_beside_older_ones_is_reported(source, tmp_path):
    shutil.copytree(STORED, tmp_path / "out")
    lines = (STORED / "runs.jsonl").read_text().splitlines()
    plan = plan_of("permute-and-flip", "optimum", "majority", repeats=1)
    fresh = next(row for row in rows_of(source, plan) if row["method"] == "optimum")
    assert Scorecard.from_dict(fresh["scorecard_data"]).hypothesis
    mixed = [line for line in lines if json.loads(line)["method"] != "optimum"]
    mixed.append(json.dumps(fresh))
    (tmp_path / "out" / "runs.jsonl").write_text("\n".join(mixed) + "\n")
    results = read_results(tmp_path / "out")
    assert results.runs["scorecard_data"].notna().tolist() == [False, False, False, True]
    write_report(tmp_path / "out")


# --- the plan ---------------------------------------------------------------------------------


def test_runs_are_deterministic_distinct_and_cross_everything():
    plan = plan_of("auto", "auto@2", "one-hot", "logistic", oracles=("enumeration", "highs"))
    runs = list(runs_of(plan))
    assert runs == list(runs_of(plan))
    assert len({run.run_id for run in runs}) == len(runs) == 2 * (2 + 2 + 2 * 2 + 1)
    assert {run.epsilon for run in runs if run.method == "logistic"} == {None}
    assert {run.weight_bound for run in runs if run.method == "auto@2"} == {2}


def test_the_range_of_points_may_be_left_to_the_method():
    runs = list(runs_of(plan_of("auto@auto", "auto")))
    assert {run.weight_bound for run in runs if run.method == "auto@auto"} == {"auto"}
    assert {run.weight_bound for run in runs if run.method == "auto"} == {1}


def test_every_method_of_a_repeat_gets_the_same_split():
    runs = list(runs_of(plan_of("auto", "logistic", repeats=5)))
    seeds = {repeat: {r.split_seed for r in runs if r.repeat == repeat} for repeat in range(5)}
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 5


def test_only_a_sweep_of_oracles_seeds_the_noise_and_gives_all_of_them_the_same():
    alone = list(runs_of(plan_of("one-hot", oracles=("highs",))))
    assert {run.noise_seed for run in alone} == {None}
    swept = list(runs_of(plan_of("one-hot", "optimum", oracles=("highs", "enumeration"))))
    for run in swept:
        same = {r.noise_seed for r in swept if (r.method, r.epsilon, r.repeat) == key(run)}
        assert len(same) == 1
    assert {run.noise_seed for run in swept if run.method == "optimum"} == {None}
    assert len({run.noise_seed for run in swept if run.method == "one-hot"}) == 4


def key(run):
    return run.method, run.epsilon, run.repeat


def test_default_methods_are_known_and_lists_have_no_repeats():
    assert method_names((), swept=False, peers=False) == DEFAULT_METHODS
    assert set(method_names(("default", "auto"), swept=False, peers=False)) == set(DEFAULT_METHODS)
    wide = method_names((), swept=False, peers=False, listed=False)
    assert set(DEFAULT_METHODS) - set(wide) == {"exponential"}
    named = method_names(("exponential",), swept=False, peers=False, listed=False)
    assert named[0] == "exponential"
    everything = method_names(("all",), swept=False, peers=False)
    assert {"auto", "opsamp", "svm-svrg", "optimum"} <= set(everything)
    assert all(parse_method(name)[0].requires != "peers" for name in everything)
    assert all(name == method.name for name, method in registry().items())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"methods": ("nosuch",)}, "a method must be one of auto, "),
        ({"methods": ("logistic@2",)}, "learns no points; leave out '@2'"),
        ({"methods": ("auto@0",)}, "an integer from 1 to 1,000, got 'auto@0'"),
        ({"methods": ("rspm@auto",)}, "does not choose its points; write 'rspm@2'"),
        (
            {"methods": ("helpers.opdisc.comparison_methods:nosuch",)},
            "write it as module:attribute",
        ),
        (
            {"methods": ("helpers.opdisc.comparison_methods:needy",)},
            "needs the package no_such_package_xq7",
        ),
        ({"methods": ()}, "methods must name at least one"),
        ({"methods": ("auto", "auto")}, "methods must be distinct"),
        ({"epsilons": (0.0,)}, "epsilon must be finite and > 0"),
        ({"delta": 1.0}, "delta must be in [0, 1)"),
        ({"repeats": 0}, "repeats must be an integer of at least 1"),
        ({"test_fraction": 1.0}, "test-fraction must be in [0, 1)"),
        ({"time_limit": 0.0}, "time-limit must be finite and > 0 seconds"),
        ({"patience": 0.0}, "patience must be finite and > 0 seconds, got 0"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"relation": "swap"}, "relation must be one of"),
        ({"weight_bound": 0}, "weight_bound must be an integer from 1"),
        ({"oracles": ("highs", "enumeration"), "methods": ("logistic",)}, "such as one-hot"),
        ({"peers": "/no/such/python"}, "/no/such/python is no file"),
    ],
)
def test_a_plan_refuses_what_no_run_could_use(settings, words):
    with pytest.raises(OPDiscError) as refused:
        Plan(**settings)
    assert words in str(refused.value)
    assert str(refused.value).count("\n") == 0


def test_a_plan_survives_its_json_form():
    plan = plan_of("auto", "one-hot@3", delta=1e-6, oracles=("highs", "enumeration"))
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


# --- the table --------------------------------------------------------------------------------


def test_splits_are_stratified_disjoint_and_whole(source):
    signs = encode_labels(source.table, source.schema)
    train, test = split_rows(source, 0.3, 7)
    assert sorted([*train, *test]) == list(range(len(source.table)))
    assert abs((signs[train] == 1).mean() - (signs[test] == 1).mean()) < 0.01
    assert len(train) == setting_of(Plan(), source).n_train
    again = split_rows(source, 0.3, 7)
    assert np.array_equal(train, again[0])
    assert not np.array_equal(train, split_rows(source, 0.3, 8)[0])


def test_rows_without_a_label_are_left_out():
    schema = Schema.equal_width(1)
    table = pd.DataFrame({"x0": [0, 1, 0, 1], "target": [0, 1, None, 1], "other": list("abcd")})
    kept = make_source("mine", table, schema)
    assert len(kept.table) == 3
    assert list(kept.table.columns) == ["x0", "target"]


def test_a_source_survives_packing_and_its_digest_tells_tables_apart(source):
    again = unpack_source(source.packed())
    assert again.digest() == source.digest()
    assert again.schema == source.schema
    pd.testing.assert_frame_equal(again.table, source.table)
    changed = source.table.copy()
    changed.iloc[0, 0] = 99.0
    assert replace(source, table=changed).digest() != source.digest()


def test_tiny_tables_cannot_be_split():
    table = pd.DataFrame({"x0": [0, 1, 1], "target": [0, 1, 1]})
    tiny = make_source("tiny", table, Schema.equal_width(1))
    check_split(tiny, 0.0)
    with pytest.raises(ComparisonError, match="use --test-fraction 0 or more rows"):
        check_split(tiny, 0.3)


# --- the rows ---------------------------------------------------------------------------------


def test_rows_have_every_field_and_are_json(source):
    rows = rows_of(source, plan_of("auto", "logistic-objective", "optimum", "majority"))
    assert len(rows) == 2 * (2 + 2 + 1 + 1)
    for row in rows:
        assert sorted(row) == sorted(FIELDS)
        assert row["status"] == "ok", row["error"]
        assert json.loads(json.dumps(row, allow_nan=False)) == row
        assert row["n_train"] + row["n_test"] == row["n_rows"] == 569
        assert row["train_errors"] == round((1 - row["train_accuracy"]) * row["n_train"])
        assert (row["receipt"] is not None) == row["private"] == (row["epsilon"] is not None)
    scorecards = [row for row in rows if row["method"] == "auto"]
    assert {row["guarantee"] for row in scorecards} == {"HOLDS"}
    assert {row["delta"] for row in scorecards} == {0.0}
    assert all(row["receipt_digest"] == receipt_digest(row["receipt"]) for row in scorecards)
    assert all(row["scorecard"].startswith("Predict diagnosis") for row in scorecards)


def test_the_optimum_errs_least_on_its_grid(source):
    rows = rows_of(source, plan_of("auto", "opdisc", "optimum", epsilons=(0.1, 100.0), repeats=1))
    best = next(row["train_errors"] for row in rows if row["method"] == "optimum")
    assert all(row["train_errors"] >= best for row in rows)


def test_measures_agree_with_scikit_learn(source):
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    plan = plan_of("logistic", repeats=1)
    (row,) = rows_of(source, plan)
    run = next(runs_of(plan))
    train, test = split_rows(source, plan.test_fraction, run.split_seed)
    fitted = find_method("logistic").fit(task_of(source, plan, train, test))
    truth = encode_labels(source.table.iloc[test], source.schema) == 1
    predicted = fitted.predict(source.table.iloc[test])
    assert row["test_accuracy"] == (predicted == truth).mean()
    assert row["test_balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(truth, predicted), abs=1e-12
    )
    scores = fitted.scores(source.table.iloc[test])
    assert row["test_auc"] == pytest.approx(roc_auc_score(truth, scores), abs=1e-12)


def task_of(source, plan, train, test):
    from opdisc.comparison.methods.method import FitTask
    from opdisc.privacy.params import NeighboringRelation

    return FitTask(
        table=source.table.iloc[train],
        test=source.table.iloc[test],
        schema=source.schema,
        epsilon=None,
        delta=1e-6,
        relation=NeighboringRelation.REPLACE_ONE,
        weight_bound=plan.weight_bound,
        oracle="auto",
        time_limit=None,
        seed=0,
    )


def test_without_held_out_rows_there_are_training_figures_only(source):
    (row,) = rows_of(source, plan_of("majority", repeats=1, test_fraction=0.0))
    assert row["evaluation"] == "training"
    assert row["n_train"] == 569 and row["n_test"] == 0
    assert row["test_accuracy"] is None and row["train_accuracy"] is not None


def test_a_failure_becomes_a_row_that_quotes_no_cell(source):
    (row,) = rows_of(source, plan_of("helpers.opdisc.comparison_methods:raising", repeats=1))
    assert row["status"] == "failed"
    assert row["error"].startswith("an unexpected ValueError in _raise (")
    assert "xq7canary" not in json.dumps(row)
    assert row["train_accuracy"] is None and row["seconds"] >= 0
    assert sorted(row) == sorted(FIELDS)


def test_patience_decides_what_auto_runs(source):
    runs = {"repeats": 1, "epsilons": (1.0,)}
    (usual,) = rows_of(source, plan_of("auto", **runs))
    (hurried,) = rows_of(source, plan_of("auto", **runs, patience=1e-9))
    mechanisms = [row["receipt"]["mechanism"] for row in (usual, hurried)]
    assert mechanisms[0] != "staged" and mechanisms[1] == "staged"


def test_a_refusal_of_this_package_is_told_in_its_own_words(source):
    (row,) = rows_of(source, plan_of("exponential@1000", repeats=1, epsilons=(1.0,)))
    assert row["status"] == "failed"
    assert row["error"].startswith("exponential takes grids of at most")


def test_a_sweep_of_oracles_gives_every_oracle_the_same_answer_and_no_promise(source):
    oracles = ("branch-and-bound", "enumeration")
    rows = rows_of(
        source, plan_of("one-hot", "optimum", oracles=oracles, epsilons=(5.0,), repeats=1)
    )
    assert {row["status"] for row in rows} == {"ok"}
    for row in rows:
        same = [r for r in rows if key_of(r) == key_of(row)]
        assert sorted(r["oracle"] for r in same) == sorted(oracles)
        assert len({r["train_accuracy"] for r in same}) == 1
        if row["private"]:
            assert row["guarantee"] == "VOID"
            assert len({r["scorecard"] for r in same}) == 1


def key_of(row):
    return row["method"], row["epsilon"], row["repeat"]


def test_add_or_remove_one_and_delta_reach_the_receipts(source):
    plan = plan_of(
        "auto", "logistic-gradient-descent", repeats=1, relation="add_or_remove_one", delta=1e-7
    )
    rows = rows_of(source, plan)
    assert len(rows) == 4
    assert {row["receipt"]["relation"] for row in rows} == {"add_or_remove_one"}
    assert {row["delta"] for row in rows} == {0.0, 1e-7}


# --- the directory ----------------------------------------------------------------------------

IDENTITY = {"plan": {"repeats": 1}, "dataset": "d", "schema_digest": "s", "table_digest": "t"}


def a_row(source, name="majority", repeats=1):
    plan = plan_of(name, repeats=repeats)
    setting = setting_of(plan, source)
    return [blank_row(run, setting) for run in runs_of(plan)]


def test_rows_are_written_once_and_a_torn_line_is_dropped(source, tmp_path):
    first, second, third = a_row(source, repeats=3)
    with open_store(tmp_path / "out", IDENTITY, resume=False) as store:
        store.append(first)
        store.append(first)
        store.append(second)
    path = tmp_path / "out" / "runs.jsonl"
    whole = path.read_bytes()
    start = whole.index(b"\n") + 2
    for kept in (start, start + 17, (start + len(whole)) // 2, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with open_store(tmp_path / "out", IDENTITY, resume=True) as store:
            assert store.done == {first["run_id"]}
            store.append(third)
        assert [row["run_id"] for row in read_rows(tmp_path / "out")] == [
            first["run_id"],
            third["run_id"],
        ]


def test_methods_that_the_time_limit_ended_are_named_in_one_sentence(
    source, tmp_path, monkeypatch
):
    def ended(runs, setting, *_, **__):
        for run in runs:
            limited = run.method != "majority" and run.epsilon != 0.5
            status = "time limit" if limited else "failed"
            yield failed_row(run, setting, "over.", status=status, seconds=1.0)

    monkeypatch.setattr(comparing, "run_all", ended)
    plan = plan_of("rspm", "opdisc", "majority")
    outcome = compare(source, plan, tmp_path / "out", report=lambda directory: directory)
    assert (outcome.failed, outcome.limited) == (10, {"rspm": 2, "opdisc": 2})
    assert _limit_sentence(outcome) == (
        "Runs that ended at the time limit without a model: rspm 2, opdisc 2; raise --time-limit, "
        "or leave these methods or epsilons out."
    )


def test_the_csv_has_the_same_rows(source, tmp_path):
    rows = a_row(source, repeats=2)
    with open_store(tmp_path / "out", IDENTITY, resume=False) as store:
        for row in rows:
            store.append(row | {"parameters": {"a": [1, 2]}})
        assert store.write_csv() == (2, 2)
    table = pd.read_csv(tmp_path / "out" / "runs.csv")
    assert list(table.columns) == list(rows[0])
    assert list(table["run_id"]) == [row["run_id"] for row in rows]
    assert json.loads(table["parameters"][0]) == {"a": [1, 2]}


def refusal(tmp_path, settings, *, resume, name="out"):
    with pytest.raises(ComparisonError) as refused:
        with open_store(tmp_path / name, settings, resume=resume):
            pass
    return str(refused.value)


def test_a_directory_is_never_overwritten_and_resumed_under_its_own_settings_only(
    source, tmp_path
):
    with open_store(tmp_path / "out", IDENTITY, resume=False) as store:
        store.append(a_row(source)[0])
        assert "in use by another comparison" in refusal(tmp_path, IDENTITY, resume=True)
    before = {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()}
    assert "continue it with --resume" in refusal(tmp_path, IDENTITY, resume=False)
    other = IDENTITY | {"plan": {"repeats": 2}}
    assert "other settings (repeats)" in refusal(tmp_path, other, resume=True)
    other = IDENTITY | {"table_digest": "u"}
    assert "other settings (table)" in refusal(tmp_path, other, resume=True)
    assert {p.name: p.read_bytes() for p in (tmp_path / "out").iterdir()} == before


def test_a_place_that_holds_no_comparison_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    assert "is a file" in refusal(tmp_path, IDENTITY, resume=False, name="file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    assert "is not overwritten" in refusal(tmp_path, IDENTITY, resume=False, name="full")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "runs.jsonl").write_text("1\n")
    assert "has runs but no settings.json" in refusal(tmp_path, IDENTITY, resume=True, name="odd")


def test_a_broken_line_is_named(source, tmp_path):
    with open_store(tmp_path / "out", IDENTITY, resume=False) as store:
        store.append(a_row(source)[0])
    with (tmp_path / "out" / "runs.jsonl").open("a") as file:
        file.write("nonsense\n")
    assert "line 2 is not; remove that line" in refusal(tmp_path, IDENTITY, resume=True)


def test_fitted_models_need_no_scores(source):
    fitted = Fitted(predict=lambda table: np.ones(len(table), dtype=bool))
    assert fitted.scores is None and dict(fitted.parameters) == {}
