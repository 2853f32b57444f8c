"""The paper's experiment: its plan, its parts and its reference."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from opdisc.comparison.comparing import compare
from opdisc.comparison.methods import paper
from opdisc.comparison.methods.method import FitTask, registry
from opdisc.comparison.plan import Plan, parse_method, runs_of
from opdisc.comparison.runs import execute, setting_of
from opdisc.comparison.source import Source
from opdisc.data.datasets.loading import load_comparison_dataset
from opdisc.data.datasets.schemas import load_schema
from opdisc.data.schema import Schema
from opdisc.privacy.params import NeighboringRelation
from oracles import WeightGrid, ZeroOneProblem

ROOT = Path(__file__).resolve().parents[4]


def _plan(part, **changes):
    arguments = {k: v for k, v in paper.paper_arguments(part).items() if k != "dataset"}
    return Plan(**(arguments | changes))


def test_every_part_is_the_papers_experiment_with_or_without_rows_held_out():
    parts = {part.name: part for part in paper.PARTS}
    assert set(parts) == {
        "adult-small-training",
        "adult-small-held-out",
        "adult-n19-training",
        "adult-n19-held-out",
        "adult-wide31-training",
    }
    for part in parts.values():
        plan = _plan(part)
        assert plan.repeats == 15 and plan.delta is None and plan.relation == "replace_one"
        assert (plan.test_fraction == 0) == part.name.endswith("training")
        is_wide = "wide" in part.name
        assert load_schema(part.dataset).n_columns == (30 if is_wide else 7)
        runs = list(runs_of(plan))
        assert len(runs) == 15 * (10 * 3 + 1 if is_wide else 7 * len(paper.EPSILONS) + 2)


def test_the_papers_three_methods_are_there_and_labelled():
    methods = {name: parse_method(name) for name in paper.PAPER_METHODS}
    published, bound = methods["opdisc-published@2"]
    assert "VOID" in published.title and bound == 2
    assert methods["rspm"][0].private
    assert methods["logistic-noisy-sgd-tuned"][0].tuning == "non-private"
    assert methods["logistic-private-selection"][0].tuning == "private"
    assert not methods["logistic"][0].private
    assert registry()["optimum-ball"].has_grid


def test_at_the_papers_size_its_three_spend_one_delta_beside_what_is_proven():
    names = {name.partition("@")[0] for name in paper.WIDE_PAPER_METHODS}
    kinds = ("published", "gaussian")
    assert {f"{mechanism}-{kind}" for mechanism in ("opdisc", "rspm") for kind in kinds} <= names
    assert {"opdisc", "rspm", "logistic-noisy-sgd-tuned"} <= names


@pytest.mark.parametrize("mechanism", ["opdisc", "rspm"])
def test_as_published_spends_the_delta_that_it_is_given_and_is_void(mechanism):
    source = Source(dataset="three", table=_small_table(), schema=SCHEMA)
    plan = _plan(paper.PARTS[-1], epsilons=(1.0,), repeats=1, methods=(f"{mechanism}-published",))
    (run,) = runs_of(plan)
    row = execute(run, setting_of(plan, source), source)
    assert (row["status"], row["delta"]) == ("ok", 300.0**-2)
    assert (row["guarantee"], row["label"]) == ("VOID", "refuted")
    assert 0 < row["solve_seconds"] <= row["seconds"]


def _small_table():
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2, (300, 3))
    wrong = rng.random(300) < 0.2
    labels = ((2 * x[:, 0] - x[:, 1] >= 1) ^ wrong).astype(int)
    table = pd.DataFrame({f"c{i}": x[:, i].astype(str) for i in range(3)})
    return table.assign(y=labels.astype(str))


SCHEMA = Schema.from_dict(
    {
        "name": "three",
        "target": {"column": "y", "positive": "1", "negative": "0"},
        "feature": [{"column": f"c{i}", "binary": True} for i in range(3)],
    }
)


def test_the_reference_is_the_best_scorecard_of_the_ball():
    table = _small_table()
    task = FitTask(
        table=table,
        test=table.iloc[:0],
        schema=SCHEMA,
        epsilon=None,
        delta=1e-6,
        relation=NeighboringRelation.REPLACE_ONE,
        weight_bound=2,
        oracle="auto",
        time_limit=None,
        seed=0,
    )
    fitted = registry()["optimum-ball"].fit(task)
    errors = int((fitted.predict(table) != (table["y"] == "1")).sum())
    grid = WeightGrid.box(4, 2, norm_budget=4)
    points = np.column_stack([np.ones(300, int), table[["c0", "c1", "c2"]].astype(int)])
    problem = ZeroOneProblem(
        points=points,
        positives=(table["y"] == "1").to_numpy(np.int64),
        negatives=(table["y"] == "0").to_numpy(np.int64),
        grid=grid,
    )
    ball = [w for w in np.ndindex(5, 5, 5, 5) if sum((v - 2) ** 2 for v in w) <= 4]
    assert errors == min(problem.loss(tuple(v - 2 for v in w)) for w in ball)
    assert fitted.parameters["norm_budget"] == 4
    assert fitted.parameters["certified_gap"] == 0


def test_the_experiment_runs_on_a_small_table(tmp_path):
    source = Source(dataset="three", table=_small_table(), schema=SCHEMA)
    plan = _plan(
        paper.PARTS[0],
        epsilons=(1.0,),
        repeats=1,
        methods=tuple(m for m in paper.PAPER_METHODS if not m.startswith("logistic-")),
    )
    outcome = compare(source, plan, tmp_path / "out", jobs=1, report=lambda directory: directory)
    assert outcome.finished == outcome.planned == 6 and outcome.failed == 0


def test_the_account_names_every_method_and_says_what_is_not_known():
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    for name in (*paper.PAPER_METHODS, *paper.WIDE_PAPER_METHODS):
        assert f"`{name}`" in text, name
    assert "the published figure's numbers are not at hand" in text.lower()
    assert "VOID" in text and "not private" in text


@pytest.mark.slow
@pytest.mark.skipif(
    not (Path(os.environ.get("OPDISC_DATA", "data")) / "adult.csv").is_file(),
    reason="adult.csv is not here; see docs/reference/known-tables.md",
)
@pytest.mark.parametrize("dataset", ["adult-small", "adult-n19", "adult-wide31"])
def test_the_balanced_census_table_has_the_papers_size(dataset):
    table, schema = load_comparison_dataset(dataset)
    assert len(table) == 15_682
    assert (table[schema.target.column] == ">50K").sum() == 7_841
