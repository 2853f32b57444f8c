"""The private majority vote: a pure release of one bit, exact on the lattice."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from opdisc.comparison.methods.majority import fit_private_majority
from opdisc.comparison.methods.method import FitTask, find_method
from opdisc.comparison.plan import YARDSTICKS, method_names
from opdisc.data.schema import Schema
from opdisc.privacy.params import NeighboringRelation

SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "y", "positive": "yes", "negative": "no"},
        "feature": [{"column": "a", "binary": True}],
        "rows_per_unit": 2,
    }
)


def task(positives, negatives, epsilon, *, relation="replace_one", seed=None):
    labels = ["yes"] * positives + ["no"] * negatives
    table = pd.DataFrame({"a": [0] * len(labels), "y": labels})
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


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_its_receipt_holds_and_counts_all_rows_of_a_unit(relation):
    receipt = fit_private_majority(task(30, 10, 0.5, relation=relation)).receipt
    assert (receipt.guarantee, receipt.conditions) == ("HOLDS", ())
    assert (receipt.epsilon, receipt.delta) == (0.5, 0.0)
    assert receipt.sensitivity == (4 if relation == "replace_one" else 2)
    assert receipt.n_rows == (40 if relation == "replace_one" else None)
    assert receipt.weights == ((0, 1),)


def test_with_hardly_any_noise_it_is_the_majority():
    for positives, negatives in ((30, 10), (10, 30)):
        fitted = fit_private_majority(task(positives, negatives, 1000.0))
        assert set(fitted.predict(pd.DataFrame({"a": [0, 1]}))) == {positives > negatives}


@pytest.mark.statistical
def test_it_draws_by_the_law_of_permute_and_flip():
    # Two candidates 8 rows apart, sensitivity 4, epsilon 1: the worse one is accepted first with
    # probability exp(-2) when it comes first, so it wins with exp(-2) / 2. Exact binomial test,
    # false alarm 1e-6; the lattice of 2^-10 rows and its margin move the law by less than 1e-3.
    draws = 1500
    won = sum(
        bool(
            fit_private_majority(task(4, 12, 1.0, seed=seed)).predict(pd.DataFrame({"a": [0]}))[0]
        )
        for seed in range(draws)
    )
    low = stats.binom.ppf(5e-7, draws, math.exp(-2) / 2 - 1e-3)
    high = stats.binom.isf(5e-7, draws, math.exp(-2) / 2 + 1e-3)
    assert low <= won <= high


def test_every_comparison_of_methods_runs_the_majority():
    assert method_names(("auto",), swept=False, peers=False) == ("auto", *YARDSTICKS)
    assert method_names(("majority", "auto"), swept=False, peers=False) == (
        "majority",
        "auto",
        "private-majority",
    )
    assert not set(YARDSTICKS) & set(method_names(("one-hot",), swept=True, peers=False))
    methods = [find_method(name) for name in YARDSTICKS]
    assert [method.private for method in methods] == [False, True]
    assert np.all([method.family == "reference" for method in methods])
