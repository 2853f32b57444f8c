"""Plans for more than two classes: the cards' shares, their errors added up, the verdict."""

import math

import numpy as np
import pandas as pd
import pytest

from opdisc.data.schema import Schema
from opdisc.errors import CalibrationError, SchemaError
from opdisc.estimators import PrivateMulticlassClassifier
from opdisc.planning.classes import plan_cards

LABELS = ("a", "b", "c", "d", "e")


def schema_of(n_classes, **other):
    return Schema.from_dict(
        {
            "name": "kinds",
            "target": {"column": "kind", "classes": list(LABELS[:n_classes])},
            "feature": [{"column": name, "binary": True} for name in ("x", "y", "z")],
            **other,
        }
    )


def table_of(n_classes, rows=240):
    rng = np.random.default_rng(n_classes)
    cells = rng.integers(0, 2, (rows, 3))
    kinds = (cells @ [1, 2, 1] + (rng.random(rows) < 0.2)) % n_classes
    return pd.DataFrame(cells, columns=["x", "y", "z"]), np.array(LABELS)[kinds]


@pytest.mark.parametrize("strategy", ["tree", "one_versus_rest"])
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_a_plan_names_what_the_fit_then_does(strategy, relation, n_classes):
    schema = schema_of(n_classes, rows_per_unit=2)
    rows, kinds = table_of(n_classes)
    fitted = PrivateMulticlassClassifier(
        epsilon=4.0, schema=schema, strategy=strategy, relation=relation
    ).fit(rows, kinds)
    _, *cards = plan_cards(
        schema, epsilon=4.0, n_rows=len(rows), strategy=strategy, relation=relation
    )
    receipts = fitted.receipt_.cards
    assert [card.epsilon for card in cards] == [receipt.epsilon for receipt in receipts]
    assert [card.mechanism for card in cards] == [receipt.mechanism for receipt in receipts]
    assert [card.weight_bound for card in cards] == [r.weights[1][-1] for r in receipts]


def test_a_plan_leaves_the_risks_their_share():
    rows, kinds = table_of(3)
    settings = {"epsilon": 4.0, "risk_budget": 0.25}
    fitted = PrivateMulticlassClassifier(schema=schema_of(3), **settings).fit(rows, kinds)
    _, *cards = plan_cards(schema_of(3), n_rows=len(rows), **settings)
    receipts = fitted.receipt_.cards
    assert [card.epsilon for card in cards] == [receipt.card_epsilon for receipt in receipts]
    assert all(receipt.card_epsilon < receipt.epsilon for receipt in receipts)
    assert [card.mechanism for card in cards] == [receipt.mechanism for receipt in receipts]
    for changes, words in (
        ({"risk_budget": 1.5}, "share of epsilon"),
        ({"strategy": "one_versus_rest"}, "along a tree"),
    ):
        with pytest.raises(CalibrationError, match=words):
            plan_cards(schema_of(3), n_rows=len(rows), **{**settings, **changes})


@pytest.mark.parametrize("strategy", ["tree", "one_versus_rest"])
def test_the_extra_errors_of_all_cards_add_up(strategy):
    total, *cards = plan_cards(schema_of(5), epsilon=5.0, n_rows=10_000, strategy=strategy)
    assert total.prediction.quantile == pytest.approx(sum(c.prediction.quantile for c in cards))
    level = cards[0].prediction.level
    assert (1 - level) * len(cards) == pytest.approx(1 - total.prediction.level)
    assert total.verdict.extra == pytest.approx(total.prediction.quantile)
    assert {card.verdict.rows for card in cards} == {None}
    assert all(c.verdict.rows_needed == math.ceil(2 * c.prediction.quantile) for c in cards)


def test_deeper_cards_of_a_tree_have_what_is_left_of_the_budget():
    _, *cards = plan_cards(schema_of(5), epsilon=6.0, n_rows=1000)
    assert [card.card for card in cards] == [
        "card 1, tells c or d or e from a or b", "card 2, tells b from a",
        "card 3, tells d or e from c", "card 4, tells e from d",
    ]  # fmt: skip
    assert [card.epsilon for card in cards] == [1.0, 2.0, 1.0, 1.0]


def test_the_bound_holds_for_the_fits_of_a_table():
    """True with probability 95% a fit; more than 12 of 40 beyond it have probability 5e-8."""
    schema, (rows, kinds) = schema_of(3), table_of(3)
    total = plan_cards(schema, epsilon=2.0, n_rows=len(rows), weight_bound=1, each_card=False)[0]
    least = fewest_errors(rows, kinds, [("a",), ("b", "c")]) + fewest_errors(
        rows, kinds, [("b",), ("c",)]
    )
    extra = []
    for seed in range(40):
        fitted = PrivateMulticlassClassifier(
            epsilon=2.0, schema=schema, weight_bound=1, random_state=seed
        ).fit(rows, kinds)
        extra.append(int((fitted.predict(rows) != kinds).sum()) - least)
    assert sum(found > total.prediction.quantile for found in extra) <= 12
    assert max(extra) > 0  # noise does cost something here


def fewest_errors(rows, kinds, groups):
    """Return the errors of the best card of points -1..1 that tells two groups apart."""
    no, yes = (np.isin(kinds, group) for group in groups)
    kept = no | yes
    cells, truth = rows.to_numpy()[kept], yes[kept]
    grid = np.stack(np.meshgrid(*[[-1, 0, 1]] * 4), axis=-1).reshape(-1, 4)
    totals = cells @ grid[:, 1:].T + grid[:, 0]
    return int(((totals >= 1) != truth[:, None]).sum(axis=0).min())


def test_the_verdict_of_all_cards_is_inverted_from_their_bound():
    facts = {"schema": schema_of(3), "weight_bound": 1, "each_card": False}
    (drowned,) = plan_cards(n_rows=200, epsilon=0.05, **facts)
    assert drowned.verdict.dominates and drowned.prediction.quantile == 200
    assert "more than 2/3 of the 200 rows" in str(drowned.verdict)
    assert "the most frequent answer" in str(drowned.verdict)
    needed = drowned.verdict.rows_needed
    assert not plan_cards(n_rows=needed, epsilon=0.05, **facts)[0].verdict.dominates
    assert plan_cards(n_rows=needed - 1, epsilon=0.05, **facts)[0].verdict.dominates
    epsilon = drowned.verdict.epsilon_needed
    assert not plan_cards(n_rows=200, epsilon=epsilon, **facts)[0].verdict.dominates
    assert plan_cards(n_rows=200, epsilon=0.99 * epsilon, **facts)[0].verdict.dominates


def test_staged_cards_are_counted_from_what_their_stages_are():
    schema = Schema.from_dict(
        {
            "name": "wide",
            "target": {"column": "kind", "classes": ["a", "b", "c"]},
            "feature": [{"column": f"x{i}", "binary": True} for i in range(60)],
        }
    )
    total, *cards = plan_cards(schema, epsilon=1.0, n_rows=3000)
    assert {card.mechanism for card in cards} == {"staged"}
    assert total.verdict.beside == f"{cards[0].prediction.beside} for each card, added up"
    assert "the best scorecard of at most" in str(total.verdict)


@pytest.mark.parametrize(("strategy", "n_cards"), [("tree", 3), ("one_versus_rest", 4)])
def test_all_cards_together_keep_to_the_patience(strategy, n_cards):
    features = [{"column": f"x{i}", "binary": True} for i in range(30)]
    target = {"column": "kind", "classes": list("abcd")}
    schema = Schema.from_dict({"name": "wide", "target": target, "feature": features})
    settings = {"schema": schema, "epsilon": 1.0, "strategy": strategy, "patience": n_cards * 0.5}
    _, *cards = plan_cards(n_rows=60, **settings)
    assert len(cards) == n_cards
    assert all("planned for at most 0.5 s" in card.reason.detail for card in cards)
    table = pd.DataFrame({f"x{i}": np.arange(60) >> (i % 6) & 1 for i in range(30)})
    fit = PrivateMulticlassClassifier(**settings).fit(table, list("abcd") * 15)
    choices = [card.choice_detail for card in fit.receipt_.cards]
    assert len(choices) == n_cards
    assert all("planned for at most 0.5 s" in choice for choice in choices)


def test_private_numbers_of_rows_are_not_used():
    found = {
        plan_cards(
            schema_of(3), epsilon=1.0, n_rows=n, relation="add_or_remove_one", each_card=False
        )
        for n in (5, 500_000)
    }
    ((total,),) = found
    assert total.verdict.rows is None and total.verdict.rows_needed > 0


def test_what_cannot_be_planned_is_refused_or_told():
    costs = {"false_negative": 5, "false_positive": 1}
    with pytest.raises(SchemaError, match="weigh the mistakes between two classes"):
        plan_cards(schema_of(3, error_costs=costs), epsilon=1.0, n_rows=10)
    with pytest.raises(SchemaError, match="use plan_fit"):
        plan_cards("adult-small", epsilon=1.0, n_rows=10)
    with pytest.raises(CalibrationError, match="strategy must be one of"):
        plan_cards(schema_of(3), epsilon=1.0, n_rows=10, strategy="all_pairs")
    with pytest.raises(CalibrationError, match="epsilon must be"):
        plan_cards(schema_of(3), epsilon=math.nan, n_rows=10)


def test_a_fit_of_several_classes_refuses_error_costs():
    rows, kinds = table_of(3)
    schema = schema_of(3, error_costs={"false_negative": 5, "false_positive": 1})
    with pytest.raises(SchemaError, match="weigh the mistakes between two classes"):
        PrivateMulticlassClassifier(schema=schema).fit(rows, kinds)


def test_a_plan_of_cards_follows_the_rows_or_the_guess_of_them():
    names = [f"x{j}" for j in range(20)]
    schema = schema_of(3, feature=[{"column": name, "binary": True} for name in names])
    facts = {"n_rows": 6000, "patience": 4.0}

    def draws(epsilon=4.0, **arguments):
        cards = plan_cards(schema, epsilon=epsilon, **facts, **arguments)[1:]
        return [card.prediction.beside for card in cards]

    guessed = draws(relation="add_or_remove_one", public_row_guess=6000)
    # A replaced row is one removed and one added; a public number of rows needs no guess.
    assert draws(epsilon=8.0) == draws(epsilon=8.0, public_row_guess=9) == guessed
    # More rows than a guess may have are planned for as the largest guess.
    most = plan_cards(schema, epsilon=1.0, n_rows=10**13)
    assert [card.prediction.beside for card in most] == [
        card.prediction.beside for card in plan_cards(schema, epsilon=1.0, n_rows=10**12)
    ]


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_a_guess_below_one_is_refused_by_plans_of_cards(relation):
    arguments = {"epsilon": 1.0, "n_rows": 5, "relation": relation, "public_row_guess": 0}
    with pytest.raises(CalibrationError, match="public_row_guess must be an integer of"):
        plan_cards(schema_of(3), **arguments)
