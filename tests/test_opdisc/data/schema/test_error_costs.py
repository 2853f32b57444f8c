"""Error costs as schemas declare them: parsed in lowest terms, refused in one sentence."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opdisc import Schema, load_schema
from opdisc.data import expected_cost, parse_error_costs, with_error_costs
from opdisc.errors import SchemaError
from oracles.problem import ErrorCosts

CARD = {
    "name": "illness",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [{"column": "age", "thresholds": [30]}],
}
COSTS = {"false_negative": 5, "false_positive": 1}


def schema(**changes):
    return Schema.from_dict({**CARD, **changes})


def test_a_schema_file_states_costs(tmp_path):
    path = tmp_path / "illness.toml"
    path.write_text(
        'name = "illness"\ntarget = { column = "ill", positive = "yes", negative = "no" }\n'
        "error_costs = { false_negative = 10, false_positive = 2 }\n"
        '[[feature]]\ncolumn = "age"\nthresholds = [30]\n'
    )
    found = load_schema(path)
    assert found.error_costs == ErrorCosts(false_negative=5, false_positive=1)
    assert found.to_dict()["error_costs"] == COSTS
    assert Schema.from_dict(found.to_dict()) == found


def test_equal_costs_are_no_costs_and_leave_the_digest():
    plain = schema()
    for equal in ({"false_negative": 3, "false_positive": 3}, {"positive_share": 0.5}):
        assert schema(error_costs=equal) == plain
        assert schema(error_costs=equal).digest() == plain.digest()
    assert "error_costs" not in plain.to_dict()
    assert schema(error_costs=COSTS).digest() != plain.digest()


def test_balanced_costs_come_from_a_public_share_only():
    balanced = ErrorCosts(false_negative=7, false_positive=3)
    assert schema(positive_share=0.3, error_costs="balanced").error_costs == balanced
    assert schema(error_costs={"positive_share": 0.3}).error_costs == balanced
    assert with_error_costs(schema(positive_share=0.3), "balanced").error_costs == balanced
    assert with_error_costs(schema(positive_share=0.3), None).error_costs == ErrorCosts()
    stated = schema(positive_share=0.3, error_costs="balanced")
    assert Schema.from_dict(stated.to_dict()) == stated
    for refused in (lambda: schema(error_costs="balanced"), lambda: parse_error_costs("balanced")):
        with pytest.raises(SchemaError, match="counted from the rows is private; state"):
            refused()


REFUSED = [
    (5, "must be a table such as"),
    ([5, 1], "must be a table such as"),
    ("equal", "or 'balanced', got 'equal'"),
    ({}, "false_negative is missing; add it"),
    ({"false_negative": 5}, "false_positive is missing; add it"),
    ({**COSTS, "false_alarm": 2}, "unknown key 'false_alarm'"),
    ({**COSTS, "positive_share": 0.3}, "two costs or a positive_share; drop one"),
    ({**COSTS, "false_negative": 0}, "false_negative of error_costs must be an integer"),
    ({**COSTS, "false_negative": 1.5}, "write 1.5 and 1 as 3 and 2"),
    ({**COSTS, "false_positive": True}, "an integer of at least 1, got True"),
    ({**COSTS, "false_positive": "2"}, "an integer of at least 1, got '2'"),
    ({**COSTS, "false_negative": 1001}, "at most 1,000 in lowest terms"),
    ({"positive_share": 0}, "from 0.001 to 0.999"),
    ({"positive_share": 1.0}, "from 0.001 to 0.999"),
    ({"positive_share": 0.12345}, "three decimals, got 0.12345; round it"),
    ({"positive_share": "half"}, "public number from 0.001"),
    ({"positive_share": float("nan")}, "public number from 0.001"),
]


@pytest.mark.parametrize(("raw", "message"), REFUSED)
def test_what_is_no_cost_is_refused_in_one_sentence(raw, message):
    with pytest.raises(SchemaError) as caught:
        schema(error_costs=raw)
    assert message in str(caught.value) and "\n" not in str(caught.value)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
KEYS = st.sampled_from(["false_negative", "false_positive", "positive_share", "balanced"])


@given(SCALARS | st.dictionaries(KEYS, SCALARS | st.integers(1, 50), max_size=3), SCALARS)
def test_anything_is_a_schema_or_a_schema_error(costs, share):
    try:
        found = schema(error_costs=costs, positive_share=share)
    except SchemaError as error:
        assert "\n" not in str(error)
        return
    assert Schema.from_dict(found.to_dict()) == found
    assert found.error_costs.largest <= 1000


@pytest.mark.parametrize("share", [0, 1, 2, -0.1, "0.3", True, 0.00001])
def test_a_share_is_a_share(share):
    with pytest.raises(SchemaError, match="positive_share must be a public number"):
        schema(positive_share=share)


def test_the_expected_cost_is_a_mean_over_labelled_rows():
    signs = np.array([1, 1, -1, -1, 0, 1])
    predicted = np.array([True, False, True, False, True, False])
    costs = ErrorCosts(false_negative=5, false_positive=2)
    assert expected_cost(signs, predicted, costs) == (5 + 5 + 2) / 5
    assert expected_cost(signs, predicted, ErrorCosts()) == 3 / 5
    assert math.isnan(expected_cost(signs[4:5], predicted[4:5], costs))
