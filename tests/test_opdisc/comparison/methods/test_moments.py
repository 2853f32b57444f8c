"""Least squares from noisy sums: its sensitivity, noise of public inputs, and what it learns."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from opdisc.comparison.methods.method import ComparisonError, FitTask
from opdisc.comparison.methods.moments import fit_moments, moment_sensitivity
from opdisc.data.schema import Schema
from opdisc.privacy.params import NeighboringRelation

SCHEMA = Schema.from_dict(
    {
        "name": "sums",
        "target": {"column": "y", "positive": "1", "negative": "0"},
        "feature": [{"column": "fever", "binary": True}, {"column": "other", "binary": True}],
    }
)


def task(n=4000, **changes):
    rng = np.random.default_rng(0)
    fever, other = rng.integers(0, 2, (2, n))
    labels = np.where(rng.random(n) < 0.9, fever, 1 - fever)
    table = pd.DataFrame({"fever": fever, "other": other, "y": labels}).astype(str)
    given_facts = {
        "table": table, "test": table.iloc[:0], "schema": SCHEMA, "epsilon": 1.0, "delta": 1e-6,
        "relation": NeighboringRelation.REPLACE_ONE, "weight_bound": 1, "oracle": "auto",
        "time_limit": None, "seed": 0,
    }  # fmt: skip
    return FitTask(**{**given_facts, **changes})


def contribution(z, y, norm):
    """What one row adds: its products, as a vector with the matrix's norm, and its label's."""
    return np.concatenate([np.outer(z, z).ravel(), norm * y * z])


rows = st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(np.array)


@given(rows, rows, st.sampled_from([-1, 1]), st.sampled_from([-1, 1]), st.floats(0.5, 3))
def test_no_row_moves_the_sums_further_than_the_sensitivity(z, other, y, label, norm):
    z, other = (norm * v / max(1.0, float(np.linalg.norm(v))) for v in (z, other))
    one, two = contribution(z, y, norm), contribution(other, label, norm)
    slack = 1 + 1e-12
    assert np.linalg.norm(one) <= moment_sensitivity(norm, replaces=False) * slack
    assert np.linalg.norm(one - two) <= moment_sensitivity(norm, replaces=True) * slack


def test_the_sensitivities_are_attained():
    angle = math.acos(0.5)
    z, other = np.array([1.0, 0.0]), np.array([math.cos(angle), math.sin(angle)])
    apart = np.linalg.norm(contribution(z, 1, 1.0) - contribution(other, -1, 1.0))
    assert apart == pytest.approx(moment_sensitivity(1.0, replaces=True))
    alone = np.linalg.norm(contribution(z, 1, 1.0))
    assert alone == pytest.approx(moment_sensitivity(1.0, replaces=False))


def test_it_learns_the_column_that_decides():
    """Noise of standard deviation below 40 against sums of 1,600: wrong with chance below 1e-9."""
    given_rows = task()
    fitted = fit_moments(given_rows)
    assert fitted.parameters["noise_stddev"] < 40
    right = fitted.predict(given_rows.table) == (given_rows.table["fever"] == "1").to_numpy()
    assert right.all()
    assert (fitted.guarantee, fitted.delta, fitted.receipt) == ("CONDITIONAL", 1e-6, None)


def test_the_noise_depends_on_public_inputs_alone():
    scales = {
        name: fit_moments(task(**changes)).parameters["noise_stddev"]
        for name, changes in {
            "rows": {"n": 50},
            "more rows": {"n": 3000},
            "added": {"relation": NeighboringRelation.ADD_OR_REMOVE_ONE},
        }.items()
    }
    assert scales["rows"] == scales["more rows"]
    assert scales["added"] == pytest.approx(scales["rows"] * math.sqrt(2 / 4.5))
    assert fit_moments(task(noise_seed=3)).guarantee == "VOID"
    with pytest.raises(ComparisonError, match="needs delta > 0"):
        fit_moments(task(delta=0.0))
