"""Noise beside the rows: what dominates, and the bound inverted at both ends."""

import math

import pytest

from opdisc.data import Schema
from opdisc.models import NoBound
from opdisc.planning import MechanismSettings, build_mechanism, noise_of_card, scorecard_grid
from opdisc.planning.plan import plan_fit
from opdisc.planning.verdict import judge_noise, least_epsilon, least_rows
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams
from opdisc.tuned import PLANNED_EPSILONS


def predicted(epsilon, rows, schema, relation="replace_one"):
    (item,) = plan_fit(
        schema, epsilon=epsilon, n_rows=rows, relation=relation, compare_others=False
    )
    return item.prediction.quantile


def unit_below(epsilon):
    """The next smaller number of three digits."""
    return epsilon - 10.0 ** (math.floor(math.log10(epsilon)) - 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "rows", "epsilon"),
    [
        ("adult-small", 900, 0.01),  # permute-and-flip
        ("mammo", 830, 0.05),  # the exponential mechanism
        ("german", 1000, 0.05),  # staged draws
    ],
)
def test_at_what_is_needed_the_bound_is_met_and_below_it_is_not(schema, rows, epsilon):
    (item,) = plan_fit(schema, epsilon=epsilon, n_rows=rows, compare_others=False)
    verdict = item.verdict
    assert verdict.dominates and verdict.word == "noise dominates"
    needed, enough = verdict.rows_needed, verdict.epsilon_needed
    assert predicted(epsilon, needed, schema) <= needed / 2
    assert predicted(epsilon, needed - 1, schema) > (needed - 1) / 2
    assert predicted(enough, rows, schema) <= rows / 2
    assert predicted(unit_below(enough), rows, schema) > rows / 2
    assert f"at least {needed:,} rows, or epsilon at least {enough:g}" in str(verdict)


def test_the_planned_verdict_agrees_with_the_inverse_on_both_sides():
    # Permute-and-flip over 4 * 3^7 cards at epsilon 0.1 has a 95% quantile of 230 rows.
    for rows, dominates in ((459, True), (460, False)):
        (item,) = plan_fit("adult-small", epsilon=0.1, n_rows=rows, compare_others=False)
        assert item.verdict.dominates is dominates
        assert (item.verdict.rows_needed is None) is not dominates


def test_words_follow_the_share_of_the_rows():
    for extra, word in (
        (51.0, "noise dominates"),
        (50.0, "noise is large"),
        (10, "noise is small"),
    ):
        verdict = judge_noise(lambda *_, extra=extra: extra, 1.0, 100, level=0.95)
        assert verdict.word == word and str(verdict).lower().startswith(word)


def test_rows_that_are_not_public_are_never_compared():
    verdict = judge_noise(lambda *_: 40.5, 1.0, None, level=0.95)
    assert verdict.rows_needed == 81 and not verdict.dominates and math.isnan(verdict.share)
    assert "fewer than 81 rows" in str(verdict)


def test_costs_are_compared_with_what_the_cheaper_answer_can_cost():
    # Errors cost 5 and 1: the better constant answer costs at most 5/6 a row, twice that is 5/3.
    drowned = judge_noise(lambda *_: 84.0, 1.0, 100, level=0.95, typical=5 / 3)
    assert drowned.dominates and drowned.rows_needed == 101
    assert "cost more than 83 on 100 rows" in str(drowned) and "cheaper answer" in str(drowned)
    kept = judge_noise(lambda *_: 83.0, 1.0, 100, level=0.95, typical=5 / 3)
    assert not kept.dominates and "extra cost on 100 rows (49.8%)" in str(kept)


def test_a_card_that_may_be_worse_than_a_constant_answer_says_by_how_much():
    settings = {"epsilon": 1.0, "rows": 100, "level": 0.95}
    said = str(judge_noise(lambda *_: 40.0, over_constants=12.3, **settings))
    assert said.endswith(
        "the more frequent answer, by at most 13 errors with the same probability."
    )
    costly = judge_noise(lambda *_: 40.0, over_constants=12.3, typical=1.5, **settings)
    assert str(costly).endswith(
        "the cheaper answer, by at most 13 in cost with the same probability."
    )
    # No bound, or none that says more than the one beside the best scorecard.
    for bound in (None, 40.0):
        said = str(judge_noise(lambda *_: 40.0, over_constants=bound, **settings))
        assert said.endswith("The card may do worse than always giving the more frequent answer.")
    (item,) = plan_fit("german", epsilon=0.1, n_rows=1000, compare_others=False)
    # 12 times as much mass as one constant answer has, at half of epsilon a row.
    expected = (math.log(11) + math.log(19)) / 0.05
    assert item.verdict.over_constants == pytest.approx(expected)
    assert f"by at most {math.ceil(expected)} errors" in str(item.verdict)


def test_what_no_number_satisfies_is_said_so():
    verdict = judge_noise(lambda *_: math.inf, 1.0, 100, level=0.95)
    assert verdict.rows_needed is verdict.epsilon_needed is None
    assert "no number of rows would do" in str(verdict)


@pytest.mark.parametrize("truth", [5, 6, 7, 100, 12_345])
def test_the_search_for_rows_is_exact(truth):
    assert least_rows(lambda n: n >= truth, 5) == truth


@pytest.mark.parametrize("truth", [0.0101, 0.123, 0.1234, 0.9999, 1.0, 9.996, 437.2])
def test_the_search_for_an_epsilon_ends_at_three_digits(truth):
    found = least_epsilon(lambda e: e >= truth, 0.01)
    assert found >= truth > unit_below(found) and f"{found:.3g}" == f"{found:g}"


def test_several_epsilons_are_planned_one_by_one():
    planned = [
        plan_fit("adult-small", epsilon=e, n_rows=900, compare_others=False)[0]
        for e in PLANNED_EPSILONS
    ]
    assert [item.epsilon for item in planned] == list(PLANNED_EPSILONS)
    shares = [item.verdict.share for item in planned]
    assert shares == sorted(shares, reverse=True)


def noise_of(rows):
    schema = Schema.equal_width(3)
    public = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=scorecard_grid(schema, 1),
        n_rows=rows,
    )
    mechanism, _ = build_mechanism(
        "permute_and_flip", public.grid, public=public, settings=MechanismSettings()
    )
    return noise_of_card(mechanism, public, schema, whole=1.0)


def test_numbers_beyond_a_double_leave_the_noise_of_a_card_without_a_bound():
    assert noise_of(1000).rows == 1000
    assert noise_of(10**400) == NoBound()
