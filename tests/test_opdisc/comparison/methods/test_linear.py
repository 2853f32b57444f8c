"""Linear baselines under error costs: margins are learned with them, probabilities cut by them."""

import numpy as np
import pandas as pd
import pytest

from opdisc.comparison.methods.method import FitTask, find_method
from opdisc.data.schema import Schema
from opdisc.privacy.params import NeighboringRelation
from oracles.problem.error_costs import ErrorCosts

COSTS = ErrorCosts(false_negative=9, false_positive=1)
SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "y", "positive": "yes", "negative": "no"},
        "feature": [{"column": "a", "binary": True}],
    }
)


def task(costs):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 2000)
    ill = rng.random(2000) < np.where(a == 1, 0.25, 0.02)
    table = pd.DataFrame({"a": a, "y": np.where(ill, "yes", "no")})
    return FitTask(
        table=table,
        test=table[:0],
        schema=SCHEMA,
        epsilon=400.0,
        delta=0.0,
        relation=NeighboringRelation.REPLACE_ONE,
        weight_bound=1,
        oracle="auto",
        time_limit=None,
        seed=0,
        noise_seed=1,
        error_costs=costs,
    )


@pytest.mark.parametrize("name", ["logistic-objective", "svm-objective"])
def test_a_rare_class_that_costs_more_is_found(name):
    rows = pd.DataFrame({"a": [0, 1]})
    plain, costly = (find_method(name).fit(task(costs)) for costs in (ErrorCosts(), COSTS))
    assert plain.predict(rows).tolist() == [False, False]
    assert costly.predict(rows).tolist() == [False, True]
    # A threshold costs no noise; a weighted loss does, and its receipt says so.
    weighed = costly.receipt.error_costs is not None
    assert weighed == (name == "svm-objective") and plain.receipt.error_costs is None
