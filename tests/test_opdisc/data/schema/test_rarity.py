"""What costs and shares make of a rare outcome, against a count over all groups of rows."""

from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from opdisc.data.schema import Schema, constant_remedy, rare_outcome_text
from opdisc.data.schema.rarity import outcomes

COSTS = st.integers(1, 1000)


def schema(share=None, missed=1, alarm=1, classes=("no", "yes")):
    negative, positive = classes
    raw = {
        "name": "s",
        "target": {"column": "y", "positive": positive, "negative": negative},
        "error_costs": {"false_negative": missed, "false_positive": alarm},
        "feature": [{"column": "a", "binary": True}],
    }
    return Schema.from_dict(raw if share is None else raw | {"positive_share": share})


@given(COSTS, COSTS, st.integers(1, 60), st.integers(1, 60))
def test_a_group_above_the_line_is_cheaper_to_answer_yes(missed, alarm, positives, negatives):
    positive, negative = outcomes(schema(None, missed, alarm))
    cheaper = negatives * alarm < positives * missed
    assert cheaper == (Fraction(positives, positives + negatives) > positive.line)
    assert negative.line == 1 - positive.line


@given(st.integers(1, 999), COSTS, COSTS)
def test_the_better_cost_makes_both_classes_weigh_alike(thousandths, missed, alarm):
    share = thousandths / 1000
    for one in outcomes(schema(share, missed, alarm)):
        if one.better_cost is None:
            # Costs are as large as they need be, to rounding, or the largest there is.
            assert round((1 - one.share) / one.share) <= Fraction(one.cost, one.other_cost)
            continue
        assert one.better_cost > Fraction(one.cost, one.other_cost)
        own = one.share * one.better_cost
        weight = own / (own + 1 - one.share)
        assert Fraction(1, 3) < weight < Fraction(3, 5) or one.share > Fraction(2, 5)


@given(st.integers(1, 999), COSTS, COSTS)
def test_something_is_said_of_a_weight_below_a_quarter_only(thousandths, missed, alarm):
    share = Fraction(thousandths, 1000)
    costs = share * missed, (1 - share) * alarm
    said = rare_outcome_text(schema(float(share), missed, alarm))
    assert bool(said) == (4 * min(costs) < sum(costs))
    if said:
        rare, usual = ("yes", "no") if costs[0] < costs[1] else ("no", "yes")
        assert f"are '{rare}'" in said and f"'{usual}' for everyone" in said
        assert ("expect" in said) == (10 * min(costs) < sum(costs))


@pytest.mark.parametrize(("answer", "option"), [("no", "negative"), ("yes", "positive")])
def test_the_remedy_weighs_what_is_never_answered(answer, option):
    said = constant_remedy(schema(), answer)
    assert f"--false-{option}-cost 9" in said and "error_costs" in said
    assert said.startswith(f"'{'yes' if answer == 'no' else 'no'}' pays only in a group")


@pytest.mark.parametrize("classes", [(0, 1), (1, 0), (False, True), ("0", "1")])
def test_labels_of_any_type_have_a_remedy(classes):
    for answer in schema(classes=classes).classes:
        assert "cost 9" in constant_remedy(schema(classes=classes), answer)


def test_costs_that_are_large_enough_are_no_remedy():
    said = constant_remedy(schema(0.1, missed=9), "no")
    assert "cost" not in said and "other columns" in said
    assert "--false-negative-cost 15 --false-positive-cost 1" in constant_remedy(
        schema(None, missed=5), "no"
    )
