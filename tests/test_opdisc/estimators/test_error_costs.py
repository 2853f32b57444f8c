"""Error costs in the estimators: what is learned, promised, saved and refused."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import opdisc
from opdisc import (
    Ledger,
    OPDiscClassifier,
    OPSampClassifier,
    PermuteAndFlipClassifier,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    PrivateSearchCV,
    RobustVoteClassifier,
    RSPMClassifier,
    Schema,
    load_model,
    save_model,
)
from opdisc.errors import CalibrationError, LedgerError, ModelFileError, SchemaError
from opdisc.models import SavedModel
from oracles.problem import ErrorCosts

COSTS = {"false_negative": 9, "false_positive": 1}
RAW = {
    "name": "illness",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [{"column": c, "binary": True} for c in ("fever", "cough", "rash")],
}


def table(n=2000, seed=0):
    """Return rows of which a fifth of those with a fever are ill, and few others."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 2, (n, 3)), columns=["fever", "cough", "rash"])
    chance = np.where(X["fever"] == 1, 0.25, 0.02)
    return X, pd.Series(np.where(rng.random(n) < chance, "yes", "no"), name="ill")


X, Y = table()
SCHEMA = Schema.from_dict({**RAW, "error_costs": COSTS})
PLAIN = Schema.from_dict(RAW)

SCORECARDS = [
    PrivateScorecardClassifier,
    OPDiscClassifier,
    RSPMClassifier,
    PermuteAndFlipClassifier,
    RobustVoteClassifier,
]


@pytest.mark.parametrize("kind", SCORECARDS)
def test_a_rare_class_that_costs_more_is_found(kind):
    # At a fifth of the rows nobody is called ill; where missing them costs nine times, those with
    # a fever are. The budget leaves no chance to speak of.
    settings = {"epsilon": 400.0}
    settings |= {"isolation": "none", "n_parts": 20} if kind is RobustVoteClassifier else {}
    plain = kind(schema=PLAIN, **settings).fit(X, Y)
    assert set(plain.predict(X)) == {"no"}
    for costly in (
        kind(schema=SCHEMA, **settings),
        kind(schema=PLAIN, error_costs=COSTS, **settings),
        kind(schema=PLAIN, error_costs=ErrorCosts(**COSTS), **settings),
    ):
        costly.fit(X, Y)
        assert (costly.predict(X) == np.where(X["fever"] == 1, "yes", "no")).all()
        assert costly.schema_ == SCHEMA
        assert "error costs:        a false negative costs 9, a false positive 1" in str(
            costly.receipt_
        )
        assert costly.expected_cost(X, Y) < plain.expected_cost(X, Y) * 9
        assert costly.score(X, Y) < plain.score(X, Y)  # which stays the accuracy


def test_the_expected_cost_counts_both_mistakes():
    model = PrivateScorecardClassifier(epsilon=400.0, schema=SCHEMA).fit(X, Y)
    wrong = model.predict(X) != Y
    by_hand = np.where(Y == "yes", 9, 1)[wrong].sum() / len(Y)
    assert model.expected_cost(X, Y) == pytest.approx(by_hand, abs=1e-12)
    plain = PrivateScorecardClassifier(epsilon=400.0, schema=PLAIN).fit(X, Y)
    assert plain.expected_cost(X, Y) == pytest.approx(1 - plain.score(X, Y), abs=1e-12)
    # Labels without a schema, the positive one sorted first.
    numbers = PrivateScorecardClassifier(epsilon=400.0, classes=(1, 0), error_costs=COSTS).fit(
        X.to_numpy(), np.where(Y == "yes", 0, 1)
    )
    assert numbers.expected_cost(X.to_numpy(), np.where(Y == "yes", 0, 1)) == by_hand


@pytest.mark.parametrize("kind", SCORECARDS[:4])
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_equal_costs_are_the_same_fit_bit_for_bit(kind, relation):
    settings = {"epsilon": 0.5, "schema": PLAIN, "random_state": 7, "relation": relation}
    plain = kind(**settings).fit(X, Y).to_model()
    for equal in ({"false_negative": 3, "false_positive": 3}, {"positive_share": 0.5}):
        stated = kind(**settings, error_costs=equal).fit(X, Y).to_model()
        assert plain == stated
        assert json.dumps(plain.to_dict()) == json.dumps(stated.to_dict())


@pytest.mark.parametrize(
    ("rows", "relation", "expected"),
    [(1, "replace_one", 18), (1, "add_or_remove_one", 9), (4, "replace_one", 72)],
)
def test_the_receipt_states_the_sensitivity(rows, relation, expected):
    schema = Schema.from_dict({**SCHEMA.to_dict(), "rows_per_unit": rows})
    model = PrivateScorecardClassifier(epsilon=1.0, schema=schema, relation=relation).fit(X, Y)
    assert model.receipt_.sensitivity == expected
    assert f"{expected} units of cost" in str(model.receipt_)


def test_balanced_takes_a_public_share_only():
    settings = {"epsilon": 1.0, "random_state": 0}
    with_share = Schema.from_dict({**RAW, "positive_share": 0.1})
    model = PrivateScorecardClassifier(schema=with_share, error_costs="balanced", **settings)
    assert model.fit(X, Y).schema_.error_costs == ErrorCosts(**COSTS)
    for refused in (PLAIN, None):
        model = PrivateScorecardClassifier(schema=refused, error_costs="balanced", **settings)
        rows, labels = (X, Y) if refused else (X.to_numpy(), (Y == "yes").to_numpy())
        with pytest.raises(SchemaError, match="is private; state positive_share"):
            model.fit(rows, labels)
    numbers = PrivateScorecardClassifier(
        error_costs={"positive_share": 0.1}, classes=(0, 1), **settings
    ).fit(X.to_numpy(), (Y == "yes").astype(int).to_numpy())
    assert numbers.schema_.error_costs == ErrorCosts(**COSTS)


@pytest.mark.parametrize("kind", SCORECARDS)
@pytest.mark.parametrize("wrong", [5, {"false_negative": 0.5, "false_positive": 1}, "equal"])
def test_what_is_no_cost_is_refused_before_anything_is_spent(kind, wrong, tmp_path):
    Ledger.create(tmp_path / "book")
    model = kind(schema=PLAIN, error_costs=wrong, ledger=tmp_path / "book")
    with pytest.raises(SchemaError) as caught:
        model.fit(X, Y)
    assert "\n" not in str(caught.value)
    assert not Ledger(tmp_path / "book").spendings()
    assert clone(model).error_costs == wrong


def test_the_model_file_keeps_the_costs_and_refuses_others(tmp_path):
    model = PrivateScorecardClassifier(epsilon=1.0, schema=SCHEMA).fit(X, Y).to_model()
    save_model(model, tmp_path / "card.json")
    again = load_model(tmp_path / "card.json")
    assert again == model and again.schema.error_costs == ErrorCosts(**COSTS)
    with pytest.raises(ModelFileError):
        SavedModel(scorecard=model.scorecard, schema=PLAIN, receipt=model.receipt)
    plain = PrivateScorecardClassifier(epsilon=1.0, schema=PLAIN).fit(X, Y).to_model()
    fields = {**plain.receipt.to_dict(), "error_costs": COSTS}
    with pytest.raises(ModelFileError, match="error costs of its schema"):
        SavedModel(
            scorecard=plain.scorecard,
            schema=PLAIN,
            receipt=type(plain.receipt).from_dict(fields),
        )


def test_a_ledger_reads_the_rows_of_a_unit_off_either_receipt(tmp_path):
    book = tmp_path / "book"
    Ledger.create(book)
    for schema in (PLAIN, SCHEMA):
        PrivateScorecardClassifier(epsilon=0.5, schema=schema, ledger=book).fit(X, Y)
    PrivateSearchCV(
        PrivateScorecardClassifier(epsilon=0.5, schema=SCHEMA, ledger=book),
        {"weight_bound": [1]},
    ).fit(X, Y)
    assert {spending.rows_per_unit for spending in Ledger(book).spendings()} == {1}
    several = Schema.from_dict({**SCHEMA.to_dict(), "rows_per_unit": 2})
    with pytest.raises(LedgerError, match="2 rows"):
        PrivateScorecardClassifier(epsilon=0.5, schema=several, ledger=book).fit(X, Y)


def test_a_search_scores_what_right_answers_avoid():
    estimator = PrivateScorecardClassifier(epsilon=60.0, schema=SCHEMA, weight_bound=1)
    search = PrivateSearchCV(estimator, {"mechanism": ["exponential", "permute_and_flip"]})
    search.fit(X, Y)
    assert search.receipt_.score_sensitivity == 9
    assert "sensitivity 9 units of cost" in str(search.receipt_)
    assert type(search.receipt_).from_dict(search.receipt_.to_dict()) == search.receipt_
    avoided = np.where(Y == "yes", 9, 1)[search.predict(X) == Y].sum()
    assert abs(search.noisy_correct_ - avoided) <= 120  # noise of scale 9 / 6: false alarm e^-80
    for grid, message in (
        ({"error_costs": [COSTS]}, "leave error_costs alone"),
        ({"schema": [SCHEMA, PLAIN]}, "the same error costs"),
    ):
        with pytest.raises(CalibrationError, match=message):
            PrivateSearchCV(estimator, grid).fit(X, Y)


BY_CLASS = {"yes": 9, "no": 1}
NUMBERS, SIGNS = X.to_numpy(), np.where(Y == "yes", 1, 0)
LINEAR = [PrivateLogisticRegression, PrivateLinearSVC]


@pytest.mark.parametrize("kind", LINEAR)
def test_linear_classifiers_weigh_their_losses_by_the_cost(kind):
    settings = {"epsilon": 400.0, "random_state": 3}
    plain = kind(schema=PLAIN, **settings).fit(X, Y)
    assert set(plain.predict(X)) == {"no"}
    by_schema = kind(schema=SCHEMA, **settings).fit(X, Y)
    for same in (COSTS, BY_CLASS, ErrorCosts(**COSTS)):
        costly = kind(schema=PLAIN, error_costs=same, **settings).fit(X, Y)
        assert costly.to_model() == by_schema.to_model()
    assert (costly.predict(X) == np.where(X["fever"] == 1, "yes", "no")).all()
    assert costly.schema_ == SCHEMA
    assert "a false negative costs 9, a false positive 1" in str(costly.receipt_)
    assert costly.receipt_.lipschitz == pytest.approx(9 * plain.receipt_.lipschitz)


@pytest.mark.parametrize("kind", LINEAR)
def test_equal_costs_are_the_same_linear_fit_bit_for_bit(kind):
    settings = {"epsilon": 1.0, "random_state": 3, "schema": PLAIN}
    plain, equal = (
        kind(**settings, error_costs=costs).fit(X, Y) for costs in (None, {"no": 4, "yes": 4})
    )
    assert json.dumps(plain.to_model().to_dict()) == json.dumps(equal.to_model().to_dict())


def test_a_linear_model_file_keeps_the_costs(tmp_path):
    model = PrivateLogisticRegression(epsilon=1.0, schema=PLAIN, error_costs=BY_CLASS).fit(X, Y)
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again == model.to_model() and again.schema.error_costs == ErrorCosts(**COSTS)
    search = PrivateSearchCV(
        PrivateLogisticRegression(epsilon=20.0, data_norm=2.0, error_costs={0: 1, 1: 9}),
        {"mechanism": ["objective_perturbation", "output_perturbation"]},
    ).fit(NUMBERS, SIGNS)
    assert search.receipt_.score_sensitivity == 9


def test_opsamp_takes_costs_by_class():
    settings = {
        "feature_range": (0, 1),
        "epsilon": 50.0,
        "delta": 1e-3,
        "most_draws": 300,
        "random_state": 3,
    }
    plain, equal, costly = (
        OPSampClassifier(**settings, error_costs=costs).fit(NUMBERS, SIGNS)
        for costs in (None, {0: 2, 1: 2}, {0: 1, 1: 9})
    )
    assert plain.parameters_.tobytes() == equal.parameters_.tobytes()
    assert plain.receipt_.to_dict() == equal.receipt_.to_dict()
    assert costly.receipt_.sensitivity == 2 * 9
    assert "a false negative costs 9, a false positive 1" in str(costly.receipt_)
    assert costly.predict(NUMBERS).mean() > plain.predict(NUMBERS).mean()


def test_a_cost_is_named_by_its_class_as_the_rows_spell_it_or_not():
    def fitted(classes, costs):
        settings = {"epsilon": 1.0, "random_state": 5, "classes": classes, "error_costs": costs}
        return PrivateScorecardClassifier(**settings).fit(NUMBERS, SIGNS)

    stated = {classes: fitted(classes, COSTS).to_model() for classes in (None, (0, 1))}
    spellings = ({0: 1, 1: 9}, {"1": 9, "0": 1}, {False: 1, True: 9}, {np.int64(1): 9, 0.0: 1})
    for costs in spellings:
        for classes, model in stated.items():
            assert fitted(classes, costs).to_model() == model, costs
        turned = fitted((1, 0), costs)
        assert turned.schema_.error_costs == ErrorCosts(false_positive=9), costs


@pytest.mark.parametrize("kind", [PrivateScorecardClassifier, PrivateLogisticRegression])
@pytest.mark.parametrize(
    "wrong",
    [
        {"yes": 5},
        {"yes": 5, "maybe": 1},
        {"yes": 5, "no": 1, "maybe": 1},
        {"yes": 5, "yes ": 1},
        {None: 1, "yes": 5},
    ],
)
def test_costs_that_do_not_name_both_classes_are_refused_without_naming_a_label(kind, wrong):
    with pytest.raises(SchemaError, match="must name both classes") as caught:
        kind(schema=PLAIN, error_costs=wrong).fit(X, Y)
    assert "'no'" not in str(caught.value).replace("'no': 1", "")


def test_several_classes_refuse_a_schema_with_costs():
    raw = {**RAW, "target": {"column": "ill", "classes": ["no", "yes", "dead"]}}
    schema = Schema.from_dict({**raw, "error_costs": COSTS})
    with pytest.raises(SchemaError, match="leave them out"):
        PrivateMulticlassClassifier(schema=schema).fit(X, Y)


def test_a_learner_of_ones_own_is_refused_costs():
    from sklearn.linear_model import LogisticRegression

    for learner in (LogisticRegression(), lambda part, grid: grid.values):
        model = RobustVoteClassifier(schema=SCHEMA, learner=learner, isolation="none")
        with pytest.raises(CalibrationError, match="weighs mistakes by itself"):
            model.fit(X, Y)


def test_every_classifier_of_two_labels_takes_costs():
    takers = {
        name
        for name in dir(opdisc)
        if hasattr(getattr(opdisc, name), "get_params")
        and "error_costs" in getattr(opdisc, name)._get_param_names()
    }
    assert takers == {kind.__name__ for kind in (*SCORECARDS, *LINEAR, OPSampClassifier)}


def test_the_least_costly_card_is_released_on_every_grid():
    counted = X.assign(ill=Y).value_counts().to_dict()

    def cost(card):
        total = 0
        for (a, b, c, ill), count in counted.items():
            plus = card[0] + card[1] * a + card[2] * b + card[3] * c >= 1
            total += count * (9 if ill == "yes" and not plus else 1 if ill == "no" and plus else 0)
        return total

    least = min(cost(card) for card in product((-1, 0, 1), repeat=4))
    for mechanism in ("permute_and_flip", "exponential", "block_one_hot", "one_hot", "rspm"):
        model = PrivateScorecardClassifier(
            epsilon=2000.0, schema=SCHEMA, mechanism=mechanism, weight_bound=1
        ).fit(X, Y)
        assert cost(model.scorecard_.hypothesis) == least
