"""When "auto" takes the logistic card, what plan says of it, and that the receipt agrees."""

import math

import numpy as np
import pandas as pd
import pytest

from opdisc import Ledger, PrivateScorecardClassifier, Schema
from opdisc.convex import HullShape, mean_square, start_from
from opdisc.convex.hull.noise import HullNoise
from opdisc.models import TiltVerdict
from opdisc.planning import plan_fit, prefers_logistic, tilt_of
from opdisc.planning.logistic import logistic_receipt
from opdisc.privacy import (
    NeighboringRelation,
    PrivacyParams,
    PublicInputs,
    Reason,
    SeededEntropy,
)

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def schema(columns=20, **facts):
    return Schema.from_dict(
        {
            "name": "wide",
            "target": {"column": "y", "positive": "yes", "negative": "no"},
            "feature": [{"column": f"c{k}", "binary": True} for k in range(columns)],
            **facts,
        }
    )


def public(epsilon=1.0, rows=2_000, relation=REPLACE, guess=None, **facts):
    return PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=relation,
        n_rows=rows if relation is REPLACE else None,
        public_row_guess=guess,
        **facts,
    )


def rows(n=2_000, columns=20, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 2, (n, columns))
    y = np.where(cells[:, 0] + (rng.random(n) < 0.1) > 0.5, "yes", "no")
    return pd.DataFrame(cells, columns=[f"c{k}" for k in range(columns)]).astype(str).assign(y=y)


@pytest.mark.parametrize(
    ("declared", "facts", "taken"),
    [
        (schema(), public(), True),
        (schema(), public(rows=1_999), False),
        (schema(), public(epsilon=0.999), False),
        (schema(18), public(rows=100_000), False),
        (schema(19), public(rows=1_900), True),
        # One row a person under add-or-remove-one moves half as much; two rows twice.
        (schema(), public(relation=ADD, guess=1_000), True),
        (schema(), public(relation=ADD, guess=999), False),
        (schema(), public(relation=ADD), False),
        (schema(), public(rows_per_unit=2), False),
        (schema(), public(rows=4_000, rows_per_unit=2), True),
        # With costs of 5 and 1 a row counts 5/3: costs multiply the noise of other draws only.
        (schema(error_costs={"false_negative": 5, "false_positive": 1}), public(rows=1_200), True),
        (
            schema(error_costs={"false_negative": 5, "false_positive": 1}),
            public(rows=1_199),
            False,
        ),
    ],
)
def test_the_rule_is_rows_times_epsilon_for_each_of_many_statements(declared, facts, taken):
    assert prefers_logistic(declared, facts) is taken


def test_thresholds_that_are_to_be_found_leave_it_out():
    declared = schema().to_dict()
    declared["feature"].append(
        {"column": "age", "thresholds": {"quantiles": 4, "range": [0, 120]}}
    )
    assert not prefers_logistic(Schema.from_dict(declared), public(rows=100_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "option",
    [
        {},
        {"weight_bound": 1},
        {"max_nonzero": 3, "weight_bound": 1},
        {"oracle": "branch-and-bound", "max_nonzero": 2, "weight_bound": 1},
        {"risk_budget": 0.2},
        {"base_measure": "levels"},
        {"mechanism": "staged"},
    ],
)
def test_a_fit_takes_it_unless_an_option_asks_for_something_else(option):
    table = rows()
    card = PrivateScorecardClassifier(schema=schema(), **option).fit(table, table["y"])
    assert hasattr(card, "odds_") == (not option)
    assert (card.receipt_.mechanism == "hull") == (not option)


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_a_plan_says_what_the_receipt_will_say(relation, tmp_path):
    table, hidden = rows(4_000), relation != "replace_one"
    guess = {"public_row_guess": 4_000} if hidden else {}
    (planned,) = plan_fit(
        schema(),
        epsilon=1.0,
        n_rows=None if hidden else 4_000,
        relation=relation,
        compare_others=False,
        **guess,
    )
    book = Ledger.create(tmp_path / "book", epsilon_limit=2, table="wide")
    card = PrivateScorecardClassifier(
        schema=schema(), relation=relation, ledger=book, **guess
    ).fit(table, table["y"])
    receipt = card.receipt_
    assert (planned.mechanism, planned.automatic, planned.prediction) == ("logistic", True, None)
    assert (receipt.choice, receipt.choice_detail) == (planned.reason.brief, planned.reason.detail)
    assert planned.promise.guarantee == "HOLDS" and receipt.guarantee == "CONDITIONAL"  # a frame
    assert card.verdict_.noise == planned.verdict
    assert book.total()[0] == 1.0


def test_the_others_are_compared_with_it_and_it_with_the_others():
    taken = plan_fit(schema(), epsilon=1.0, n_rows=4_000)
    passed = plan_fit(schema(), epsilon=0.1, n_rows=4_000)
    assert [one.mechanism for one in taken].count("logistic") == 1
    assert [one.mechanism for one in passed].count("logistic") == 1
    assert passed[0].mechanism != "logistic" and not passed[-1].automatic
    assert {one.weight_bound for one in taken if one.prediction is None} == {1}
    for plan in (taken, passed):
        assert [one.automatic for one in plan] == [True, *[False] * (len(plan) - 1)]


def test_the_tilt_is_counted_in_rows():
    shape = HullShape.of_schema(schema(6))
    found = tilt_of(schema(6), logistic_receipt(schema(6), public(rows=100), Reason()))
    drawn = []
    for seed in range(400):
        noise = HullNoise(shape, SeededEntropy(seed))
        while (balls := noise.enclosure()) is None:
            noise.refine()
        tilt = np.array([float(ball.mid()) for ball in balls])
        # In centred coordinates the constant's part is taken off each column.
        centred = tilt[1:] - np.array([float(at) for at in shape.centre]) * tilt[0]
        drawn.append(tilt[0] ** 2 + centred @ centred)
    mean, error = np.mean(drawn), np.std(drawn) / math.sqrt(len(drawn))
    assert abs(mean - mean_square(shape)) < 5 * error
    length = 2.0 * math.sqrt(mean_square(shape) / float(shape.squared_radius))
    assert found.moved == pytest.approx(length) and found.share == pytest.approx(length / 100)


@pytest.mark.parametrize(
    ("moved", "n", "begins"),
    [
        (9, 100, "Noise is small: it weighs as much as 9 rows"),
        (20, 100, "Noise is large: it weighs as much as 20 rows"),
        (60, 100, "Noise dominates: it weighs as much as 60 rows"),
        (0.5, 100, "Noise is small: it weighs as much as 1 row that"),
        (9, None, "Noise: it weighs as much as 9 rows"),
    ],
)
def test_the_verdict_on_a_tilt_in_words(moved, n, begins):
    verdict = TiltVerdict(epsilon=1.0, rows=n, moved=moved)
    assert str(verdict).startswith(begins)
    assert verdict.is_small == begins.startswith("Noise is small")
    assert verdict.dominates == begins.startswith("Noise dominates")


def test_what_is_said_of_the_chosen_card_is_said_of_no_other():
    """A card with odds has an outlook and a note on delta where it was chosen, and only there."""
    (chosen, *_) = plan_fit(schema(), epsilon=1.0, n_rows=2_000, delta=0.01)
    *_, beside = plan_fit(schema(), epsilon=1.0, n_rows=200, delta=0.01)
    assert (chosen.mechanism, chosen.automatic) == ("logistic", True)
    assert (beside.mechanism, beside.automatic) == ("logistic", False)
    assert chosen.outlook == "twice the rows, or twice the epsilon, halve that share"
    assert "would rest on this" in chosen.delta_note
    assert (beside.outlook, beside.delta_note) == (None, "")
    (unasked, *_) = plan_fit(schema(), epsilon=1.0, n_rows=2_000, look_ahead=False)
    assert (unasked.outlook, unasked.delta_note) == (None, "")


@pytest.mark.parametrize(("share", "is_said"), [(None, True), (0.5, False)])
def test_one_answer_for_nearly_all_is_said_unless_a_share_is_stated_that_is_not_rare(
    share, is_said
):
    declared = schema() if share is None else schema(positive_share=share)
    (chosen, *_) = plan_fit(declared, epsilon=10.0, n_rows=20_000)
    assert chosen.mechanism == "logistic"
    assert bool(chosen.rare_outcome) is is_said


def test_a_plan_says_what_a_start_is_worth_where_there_is_one():
    start = start_from({"c0": 1}, None, schema())
    (with_start,) = plan_fit(schema(), epsilon=1.0, n_rows=2_000, start=start)
    (without, *_) = plan_fit(schema(), epsilon=1.0, n_rows=2_000)
    assert with_start.start.startswith("Start:") and without.start == ""
