"""Released weights as whole points: what a total stands for, and who answers what."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opdisc import Schema
from opdisc.errors import CalibrationError
from opdisc.models import ChosenScale, OddsScale, parse_scale, points_of
from opdisc.models.odds import MOST_POINTS, chance_text, odds_text


def schema(signs=(None, None, None), **facts):
    return Schema.from_dict(
        {
            "name": "loans",
            "target": {"column": "paid", "positive": "bad", "negative": "good"},
            "feature": [
                {"column": name, "binary": True, **({"sign": sign} if sign else {})}
                for name, sign in zip("abc", signs, strict=True)
            ],
            **facts,
        }
    )


CREDIT = {"points0": 600, "odds0": 50, "pdo": 20, "high": "good"}
ROWS = np.array([(1, *cells) for cells in product((0, 1), repeat=3)])
weights = st.lists(
    st.integers(-1500, 1500).map(lambda number: number / 256), min_size=4, max_size=4
)
"""As hull noise releases them."""


@given(weights)
def test_small_points_are_as_large_as_they_may_be_and_near_the_weights(given_weights):
    card, odds = points_of(given_weights, schema())
    assert max(map(abs, card.points)) <= 10
    exact = ROWS @ given_weights
    # Each of four roundings is off by half a point at most.
    assert np.all(np.abs(odds.log_odds(card.scores(ROWS)) - exact) <= 4 * 0.5 * odds.per_point)
    largest = max(map(abs, given_weights[1:]))
    if largest:
        assert largest / odds.per_point > 10 / 1.1 - 1e-9  # two digits lose a tenth at most


@given(weights, st.integers(1, 9), st.integers(1, 9), st.sampled_from([None, "good", "bad"]))
def test_the_label_that_costs_less_is_answered(given_weights, missed, alarm, high):
    costs = {"false_negative": missed, "false_positive": alarm}
    declared = schema(error_costs=costs)
    scale = None if high is None else parse_scale({**CREDIT, "high": high}, declared)
    card, odds = points_of(given_weights, declared, scale=scale)
    totals = card.scores(ROWS)
    is_bad_high = card.classes == ("good", "bad")
    assert is_bad_high == (high != "good")
    bad = odds.chances(totals) if is_bad_high else 1 - odds.chances(totals)
    answers_bad = (totals >= card.threshold) == is_bad_high
    gain = bad * missed - (1 - bad) * alarm
    assert np.all(answers_bad[gain > 1e-9]) and not np.any(answers_bad[gain < -1e-9])


def test_a_credit_score_has_the_odds_that_were_asked_for():
    declared = schema()
    scale = parse_scale(CREDIT, declared)
    # 0.7 towards bad for everyone, 1.4 more where a is true, 0.3 less where b is.
    card, odds = points_of((0.7, 1.4, -0.3, 0.0), declared, scale=scale)
    assert card.classes == ("bad", "good")
    per_unit = 20 / math.log(2)
    assert card.start == round(600 - per_unit * (math.log(50) + 0.7))
    assert card.points == (round(-1.4 * per_unit), round(0.3 * per_unit), 0)
    assert card.threshold == math.ceil(600 - per_unit * math.log(50))
    assert odds.chances([600]) == pytest.approx(50 / 51)
    assert odds.chances([620]) == pytest.approx(100 / 101)


def test_a_weight_against_the_declared_sign_gets_no_points():
    declared = schema(("positive", "negative", None))
    card, _ = points_of((0.0, -2.0, 2.0, -1.0), declared)
    assert card.points == (0, 0, -10)
    turned, _ = points_of((0.0, 2.0, 2.0, 0.0), declared, scale=parse_scale(CREDIT, declared))
    assert turned.points[0] < 0 and turned.points[1] == 0


def test_weights_without_a_difference_make_a_card_without_points():
    card, odds = points_of((-1.0, 0.0, 0.0, 0.0), schema())
    assert card.points == (0, 0, 0)
    assert odds.chances([card.start]) == pytest.approx(1 / (1 + math.e), abs=0.02)


def test_huge_weights_stay_whole_numbers_that_can_be_added():
    declared = schema()
    for scale in (None, parse_scale(CREDIT, declared)):
        card, odds = points_of((2.0**44, 2.0**44, -1.0, 0.0), declared, scale=scale)
        assert all(abs(points) <= MOST_POINTS for points in (card.start, *card.points))
        assert np.all(np.isfinite(odds.chances(card.scores(ROWS))))


@pytest.mark.parametrize(
    "raw",
    [
        {"points0": 600, "odds0": 50},
        {**CREDIT, "pdo": 0},
        {**CREDIT, "odds0": -1},
        {**CREDIT, "points0": math.inf},
        {**CREDIT, "points0": math.nan},
        {**CREDIT, "step": 3},
        {**CREDIT, "pdo": "many"},
        [600, 50, 20],
    ],
)
def test_a_scale_that_is_none_is_refused(raw):
    with pytest.raises(CalibrationError, match="odds_scale must be such as"):
        parse_scale(raw, schema())


@pytest.mark.parametrize(
    "ends",
    [{"odds0": 1e-320}, {"odds0": 1e7}, {"pdo": 1e-320}, {"pdo": 1e6}],
    ids=str,
)
def test_a_scale_beyond_use_is_refused(ends):
    with pytest.raises(CalibrationError, match="of odds_scale must be from"):
        parse_scale({**CREDIT, **ends}, schema())


@pytest.mark.parametrize("odds0", [1e-6, 1e6])
@pytest.mark.parametrize("pdo", [0.1, 1e5])
@pytest.mark.parametrize("points0", [-1e6, 1e6])
def test_whatever_the_weights_a_scale_gives_finite_points(points0, odds0, pdo):
    declared = schema(error_costs={"false_negative": 1000, "false_positive": 1})
    scale = parse_scale({"points0": points0, "odds0": odds0, "pdo": pdo}, declared)
    for weight in (0.0, 1 / 256, -(2.0**44), 2.0**44):
        card, odds = points_of((weight, weight, -weight, 0.0), declared, scale=scale)
        assert np.all(np.isfinite(odds.chances(card.scores(ROWS))))
    # Of usual weights nothing is cut off.
    card, odds = points_of((20.0, 5.0, -5.0, 0.0), declared, scale=scale)
    off = np.abs(odds.log_odds(card.scores(ROWS)) - ROWS @ (20.0, 5.0, -5.0, 0.0))
    assert np.all(off <= 1.5 * odds.per_point + 1e-6)


def test_the_label_that_scores_high_is_one_of_the_targets():
    with pytest.raises(CalibrationError, match="'good' or 'bad'"):
        parse_scale({**CREDIT, "high": "excellent"}, schema())
    assert parse_scale(None, schema()) is None
    assert parse_scale(OddsScale(points0=0, odds0=1, pdo=3), schema()) == ChosenScale(
        points0=0, odds0=1, pdo=3
    )


def test_the_listed_chances_are_those_of_their_totals():
    odds = OddsScale(points0=1, odds0=1, pdo=4)
    listed = odds.listed(-9, 12)
    totals = [total for total, _ in listed]
    assert totals == sorted(set(totals)) and (totals[0], totals[-1]) == (-9, 12)
    assert dict(listed)[1] == 0.5
    text = odds_text(odds, "bad", -9, 12)
    assert text.startswith("A total of 1 is even odds for bad; every 4 points more double them.")
    assert "  total 1               50%" in text.splitlines()


@pytest.mark.parametrize(
    ("chance", "text"), [(0, "<0.1%"), (1, ">99.9%"), (0.05, "5.0%"), (0.5, "50%")]
)
def test_no_chance_is_printed_as_certain(chance, text):
    assert chance_text(chance) == text
