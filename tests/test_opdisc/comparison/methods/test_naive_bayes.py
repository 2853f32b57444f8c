"""Naive Bayes from noisy tables: its receipt, the law of its noise, what it learns, its audit."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from opdisc.audit.suite import audit_cases, run_audit
from opdisc.comparison.methods.method import FitTask, find_method
from opdisc.comparison.methods.naive_bayes import NAME, attribute_values, fit_naive_bayes
from opdisc.data import column_structure, encode_features
from opdisc.data.schema import Schema
from opdisc.errors import CalibrationError
from opdisc.mechanisms.composition.attribute_tables import calibrate_tables, noisy_tables
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import PublicInputs

SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "y", "positive": "yes", "negative": "no"},
        "feature": [
            {"column": "a", "binary": True},
            {"column": "age", "thresholds": [30, 50]},
            {"column": "c", "categories": ["p", "q"]},
        ],
        "rows_per_unit": 2,
    }
)


def task(table, epsilon, relation="replace_one", seed=None):
    return FitTask(
        table=table,
        test=table[:0],
        schema=SCHEMA,
        epsilon=epsilon,
        delta=0.0,
        relation=NeighboringRelation(relation),
        weight_bound=1,
        oracle="auto",
        time_limit=None,
        seed=0,
        noise_seed=seed,
    )


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n)
    return pd.DataFrame(
        {
            "a": rng.integers(0, 2, n),
            "age": age,
            "c": rng.choice(["p", "q"], n),
            "y": np.where(age >= 50, "yes", "no"),
        }
    )


def public(epsilon, relation=NeighboringRelation.REPLACE_ONE):
    return PublicInputs(params=PrivacyParams(epsilon=epsilon, delta=0.0), relation=relation)


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_its_receipt_holds_and_its_noise_pays_for_every_table_and_row(relation):
    receipt = fit_naive_bayes(task(people(), 0.5, relation)).receipt
    assert (receipt.guarantee, receipt.conditions, receipt.mechanism) == ("HOLDS", (), NAME)
    assert (receipt.epsilon, receipt.delta) == (0.5, 0.0)
    rows = 4 if relation == "replace_one" else 2
    assert receipt.noise_scales == (rows * 4 / 0.5,)  # the label counts and three attributes
    assert receipt.n_rows == (400 if relation == "replace_one" else None)
    assert type(receipt).from_dict(receipt.to_dict()) == receipt


def test_a_seed_voids_it():
    assert fit_naive_bayes(task(people(), 0.5, seed=1)).receipt.guarantee == "VOID"


def test_an_attribute_is_a_feature_and_its_values_are_its_patterns():
    table = people(200)
    groups = column_structure(SCHEMA)
    values = attribute_values(encode_features(table, SCHEMA), groups)
    assert (values[:, 0] == table["a"]).all()
    assert (values[:, 1] == (table["age"] >= 30).astype(int) + (table["age"] >= 50)).all()
    assert len(set(zip(values[:, 2], table["c"], strict=True))) == 2


def test_one_replaced_row_moves_all_tables_together_by_no_more_than_is_paid_for(monkeypatch):
    seen = []

    def keep(name, tables, public, entropy):
        seen.append(tables)
        raise CalibrationError("enough.")

    monkeypatch.setattr("opdisc.mechanisms.release_tables", keep)
    table = people(30)
    changed = table.copy()
    changed.loc[0] = [1 - table["a"][0], 25 if table["age"][0] >= 50 else 60, "q", "no"]
    changed.loc[0, "c"] = "p" if table["c"][0] == "q" else "q"
    changed.loc[0, "y"] = "no" if table["y"][0] == "yes" else "yes"
    for rows in (table, changed):
        with pytest.raises(CalibrationError, match="enough"):
            fit_naive_bayes(task(rows, 1.0))
    moved = [np.abs(one - other).sum() for one, other in zip(*seen, strict=True)]
    assert moved == [2, 2, 2, 2]


def test_with_hardly_any_noise_it_learns_what_there_is():
    table = people(2000)
    fitted = fit_naive_bayes(task(table, 1e4))
    assert (fitted.predict(table) == (table["y"] == "yes")).mean() > 0.99


@pytest.mark.statistical
def test_the_noise_of_each_cell_has_the_stated_law():
    """Chi-square on 40,000 cells, seeded; false alarm 1e-6."""
    spec = calibrate_tables(public(2.0), ((2, 10_000), (2, 10_000)))
    assert spec.rate == Fraction(2) / (2 * 2)
    zeros = [np.zeros(shape, dtype=np.int64) for shape in spec.shapes]
    drawn = np.concatenate([t.ravel() for t in noisy_tables(zeros, spec, SeededEntropy(5))])
    q = np.exp(-float(spec.rate))
    law = np.array([(1 - q) / (1 + q) * q ** abs(k) for k in range(-7, 8)])
    counts = np.array([(drawn == k).sum() for k in range(-7, 8)])
    expected = np.append(law, 1 - law.sum()) * len(drawn)
    found = stats.chisquare(np.append(counts, len(drawn) - counts.sum()), expected)
    assert found.pvalue > 1e-6


def test_half_the_noise_is_caught():
    """False alarm 1e-6; the seed is fixed."""
    audited = run_audit(audit_cases()["attribute_tables"], 1.0, 4_000, 1e-6, SeededEntropy(2))
    assert not audited.calibrated.refuted
    assert audited.less_noise.refuted
    assert audited.calibrated.lower_bound > 0.5


def test_a_comparison_knows_it():
    method = find_method(NAME)
    assert method.private and not method.has_grid
