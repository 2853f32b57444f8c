"""Declared private thresholds: their public places, what is refused, the round trip."""

import copy
import json
import math

import pytest
from hypothesis import given, strategies as st

from opdisc.data.schema import QuantileFeature, Schema, ThresholdFeature, column_structure
from opdisc.errors import SchemaError

AGE = {"column": "age", "thresholds": {"quantiles": 3, "range": [0, 120]}}


def schema(*features):
    return Schema.from_dict(
        {
            "name": "t",
            "target": {"column": "y", "positive": 1, "negative": 0},
            "feature": list(features),
        }
    )


@pytest.mark.parametrize(
    ("bounds", "step"),
    [
        ((0, 120), 1),
        ((18, 75), 1),
        ((0, 50), 1),
        ((0, 49), 0.1),
        ((0, 1), 0.01),
        ((-5, 5), 0.1),
        ((0, 20_000), 100),
        ((0, 1e300), 1e298),
        ((0, 5e-300), 1e-301),
    ],
)
def test_a_default_step_is_a_power_of_ten(bounds, step):
    feature = QuantileFeature(column="a", quantiles=1, range=bounds)
    assert feature.step == step
    assert 50 <= feature.n_candidates == len(feature.candidates) < 510


def test_candidates_are_the_nearest_doubles_of_decimals():
    feature = QuantileFeature(column="a", quantiles=1, range=(0.1, 0.7), step=0.1)
    assert feature.candidates == (0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
    uneven = QuantileFeature(column="a", quantiles=2, range=(0, 10), step=4)
    assert uneven.candidates == (4, 8)
    assert uneven.stand_ins == (4, 8)


@given(
    st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6),
    st.floats(1e-3, 1e6),
    st.integers(1, 20),
)
def test_stand_ins_are_thresholds_of_the_same_number(low, width, quantiles):
    feature = QuantileFeature(column="a", quantiles=quantiles, range=(low, low + width))
    found = feature.candidates
    assert low < found[0] and found[-1] <= low + width
    assert set(feature.stand_ins) <= set(found)
    declared = schema(feature.to_dict())
    concrete = declared.with_thresholds([feature.stand_ins])
    assert isinstance(concrete.features[0], ThresholdFeature)
    assert concrete.n_columns == declared.n_columns == quantiles
    assert column_structure(concrete) == column_structure(declared)


def test_the_file_form_goes_there_and_back():
    named = copy.deepcopy(AGE) | {"names": ["a", "b", "c"], "sign": "positive"}
    declared = schema(named)
    again = Schema.from_dict(json.loads(json.dumps(declared.to_dict())))
    assert again == declared and again.digest() == declared.digest()
    assert declared.to_dict()["feature"][0]["thresholds"] == {
        "quantiles": 3,
        "range": [0, 120],
        "step": 1,
    }
    assert declared.private_thresholds == declared.features
    concrete = declared.with_thresholds([(30, 45, 60)])
    assert concrete.private_thresholds == ()
    assert concrete.to_dict()["feature"] == [
        {
            "column": "age",
            "thresholds": [30, 45, 60],
            "range": [0, 120],
            "names": ["a", "b", "c"],
            "sign": "positive",
        }
    ]
    assert schema(AGE).with_thresholds([(30, 45, 60)]).column_names == (
        "age >= 30",
        "age >= 45",
        "age >= 60",
    )


def with_inner(**changes):
    raw = copy.deepcopy(AGE)
    raw["thresholds"] |= changes
    return raw


@pytest.mark.parametrize(
    ("feature", "words"),
    [
        (with_inner(quantile=3), "(did you mean 'quantiles'?)"),
        (with_inner(quantiles=0), "must be an integer from 1 to 64, got 0"),
        (with_inner(quantiles=True), "must be an integer from 1 to 64"),
        (with_inner(quantiles=65), "must be an integer from 1 to 64"),
        (with_inner(range=[1]), "two increasing numbers"),
        (with_inner(range=[2, 1]), "two increasing numbers"),
        (with_inner(range=[0, math.inf]), "must be finite numbers"),
        (with_inner(range="0..1"), "range must be a list"),
        (with_inner(step=0), "must be > 0"),
        (with_inner(step=-1), "must be > 0"),
        (with_inner(step="1"), "must be finite numbers"),
        (with_inner(step=50), "to 100,000 steps, got 2; choose another step"),
        (with_inner(step=1e-3), "steps, got 120,000; choose"),
        (with_inner(step=1e-300), "steps, got more than a billion; choose"),
        (with_inner(range=[1e17, 1e17 + 100], step=1), "large enough to tell numbers"),
        ({**AGE, "thresholds": {"range": [0, 1]}}, "must have quantiles, but it is missing"),
        ({**AGE, "thresholds": {"quantiles": 3}}, "must have range, but it is missing"),
        ({**AGE, "range": [0, 120]}, "must stand inside its thresholds"),
        ({**AGE, "names": ["one"]}, "one display name per encoded column (3), got 1"),
        ({**AGE, "missing": "x"}, "missing of 'age' must be a list, got 'x'"),
    ],
)
def test_an_impossible_declaration_is_refused_in_one_sentence(feature, words):
    with pytest.raises(SchemaError) as caught:
        schema(feature)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "other",
    [
        {"column": "age", "thresholds": [40]},
        {"column": "age", "thresholds": {"quantiles": 2, "range": [0, 50]}},
        {"column": "sex", "categories": ["f"], "names": ["age >= 30"]},
    ],
)
def test_names_that_may_turn_out_equal_are_refused_before_anything_is_spent(other):
    with pytest.raises(SchemaError, match="must have names of their own"):
        schema(AGE, other)
    named = AGE | {"names": ["low", "middle", "high"]}
    if "quantiles" not in str(other):
        assert schema(named, other).n_columns == 4
