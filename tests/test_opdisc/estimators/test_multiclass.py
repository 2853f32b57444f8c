"""Several classes: what each row pays, one charge, one receipt, and the way to a label."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.ensemble import VotingClassifier

from opdisc import (
    Ledger,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    PrivateSearchCV,
    Schema,
    load_model,
    save_model,
)
from opdisc.errors import CalibrationError, LedgerError, ModelFileError, SchemaError, TableError
from opdisc.models.document import model_digest
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.receipts.questions import STRATEGIES, ask, preferences

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
GRADES = ("low", "middle", "high")


def schema(classes=GRADES, **facts):
    return Schema.from_dict(
        {
            "name": "risk",
            "target": {"column": "grade", "classes": list(classes)},
            "missing_values": ["?"],
            "feature": [
                {"column": "age", "thresholds": [30, 50, 70], "range": [0, 100]},
                {"column": "smoker", "categories": ["daily", "never"]},
            ],
            **facts,
        }
    )


def patients(classes=GRADES, n_rows=900):
    """Grades by age alone: thirds of 0..100 cut at 30 and 70, or quarters."""
    rng = np.random.default_rng(2)
    age = rng.integers(0, 100, n_rows)
    cuts = {2: [50], 3: [30, 70], 4: [30, 50, 70]}[len(classes)]
    labels = np.array(classes, dtype=object)[np.searchsorted(cuts, age, side="right")]
    smoker = rng.choice(["daily", "never", "formerly"], n_rows)
    return pd.DataFrame({"age": age, "smoker": smoker}), pd.Series(labels)


def fitted(**settings):
    settings = {"epsilon": 60.0, "schema": schema(), **settings}
    return PrivateMulticlassClassifier(**settings).fit(*patients())


@pytest.fixture(scope="module")
def usual():
    """Return a fitted model to read."""
    return fitted()


# --- what each row pays --------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", range(2, 40))
def test_every_class_is_told_from_every_other_and_pays_at_most_everything(n_classes):
    tree, each = ask("tree", n_classes), ask("one_versus_rest", n_classes)
    assert (len(tree), len(each)) == (n_classes - 1, n_classes)
    for questions in (tree, each):
        named = [[q for q in questions if k in q.no + q.yes] for k in range(n_classes)]
        assert all(sum(q.share for q in mine) <= 1 for mine in named)
        assert all(not set(q.no) & set(q.yes) and q.no and q.yes for q in questions)
        for one, other in itertools.combinations(range(n_classes), 2):
            assert any((one in q.no and other in q.yes) or (one in q.yes and other in q.no)
                       for q in questions)  # fmt: skip
    # The tree's share is that of the logarithm.
    assert min(q.share for q in tree) == Fraction(1, (n_classes - 1).bit_length())
    assert max(sum(q.share for q in tree if k in q.no + q.yes) for k in range(n_classes)) == 1


@every_strategy
@given(data=st.data())
def test_totals_choose_one_class(strategy, data):
    n_classes = data.draw(st.integers(2, 9))
    questions = ask(strategy, n_classes)
    row = data.draw(st.lists(st.integers(-3, 3), min_size=len(questions), max_size=len(questions)))
    liked = preferences(strategy, questions, np.array([row], dtype=np.int64))[0]
    best = liked.argmax()
    assert np.sum(liked == liked[best]) == 1
    if strategy == "tree":
        # Walk down by hand.
        classes = list(range(n_classes))
        while len(classes) > 1:
            position = next(
                k for k, q in enumerate(questions) if set(q.no + q.yes) == set(classes)
            )
            classes = list(
                questions[position].yes if row[position] >= 1 else questions[position].no
            )
        assert classes == [best] and np.sum(liked > 0) == 1
    else:
        assert best == row.index(max(row))


def test_an_unknown_strategy_is_refused():
    with pytest.raises(CalibrationError, match="strategy must be one of tree, one_versus_rest"):
        fitted(strategy="forest")


@every_strategy
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("rows_per_unit", [1, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.7])
def test_one_receipt_for_all(strategy, relation, rows_per_unit, epsilon, tmp_path):
    model = fitted(
        epsilon=epsilon,
        strategy=strategy,
        relation=relation,
        schema=schema(rows_per_unit=rows_per_unit, unit="one patient"),
        mechanism="exponential",
        weight_bound=1,
        ledger=tmp_path / "ledger",
    )
    receipt, (charge,) = model.receipt_, Ledger(tmp_path / "ledger").spendings()
    assert (charge.epsilon, charge.delta, charge.relation) == (epsilon, 0.0, relation)
    assert charge.rows_per_unit == rows_per_unit and charge.unit == "one patient"
    changed = rows_per_unit * {"replace_one": 2, "add_or_remove_one": 1}[relation]
    shares = {"tree": (2, 2), "one_versus_rest": (3, 3, 3)}[strategy]
    assert len(receipt.cards) == len(shares) == len(model.scorecards_)
    for card, part in zip(receipt.cards, shares, strict=True):
        assert card.epsilon == pytest.approx(epsilon / part / changed)
        assert (card.relation, card.sensitivity, card.n_rows) == ("add_or_remove_one", 1, None)
        # The inverse temperature of one card under the whole's relation, at its share.
        assert card.noise_scales == pytest.approx([epsilon / part / changed])
    for k in range(3):
        questions = zip(ask(strategy, 3), receipt.cards, strict=True)
        spent = sum(Fraction(c.epsilon) for q, c in questions if k in q.no + q.yes)
        assert spent * changed <= Fraction(epsilon)
    assert f"cards:              {len(shares)}, {strategy.replace('_', ' ')}" in str(receipt)


def test_a_receipt_whose_cards_cost_more_is_refused(usual):
    receipt = usual.receipt_
    with pytest.raises(ValueError, match="must not cost a unit more"):
        msgspec.structs.replace(receipt, epsilon=receipt.epsilon * 0.999)
    with pytest.raises(ValueError, match="one for each question"):
        msgspec.structs.replace(receipt, cards=receipt.cards[:1])
    card = msgspec.structs.replace(receipt.cards[0], relation="replace_one")
    with pytest.raises(ValueError, match="one row more or less"):
        msgspec.structs.replace(receipt, cards=(card, *receipt.cards[1:]))


def test_the_whole_budget_is_on_disk_before_the_first_random_bit(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger", epsilon_limit=1.5)
    charged = []
    words = SystemEntropy.words

    def watched(self, count):
        charged.append([spending.epsilon for spending in ledger.spendings()])
        return words(self, count)

    monkeypatch.setattr(SystemEntropy, "words", watched)
    fitted(ledger=ledger, epsilon=1.0)
    assert charged and all(seen == [1.0] for seen in charged)
    charged.clear()
    with pytest.raises(LedgerError):  # each card alone would fit under the cap
        fitted(ledger=ledger, epsilon=1.0)
    assert not charged


@every_strategy
def test_a_seed_gives_every_card_its_own_noise_and_a_void_receipt(strategy):
    X, y = patients()
    y = pd.Series(np.random.default_rng(0).permutation(y))  # nothing to learn
    cards = [
        PrivateMulticlassClassifier(
            epsilon=0.01, schema=schema(), strategy=strategy, random_state=seed
        ).fit(X, y)
        for seed in (1, 1, 2)
    ]
    one, same, other = ([card.hypothesis for card in model.scorecards_] for model in cards)
    assert one == same != other and len(set(one)) > 1
    assert cards[0].receipt_.guarantee == "VOID"


# --- the way to a label --------------------------------------------------------------------------


@every_strategy
@pytest.mark.parametrize("classes", [GRADES, ("a", "b", "c", "d"), (3, 1, 2), ("no", "yes")])
def test_it_learns_what_a_card_can_say(strategy, classes):
    X, y = patients(classes)
    declared = schema(classes)
    model = PrivateMulticlassClassifier(epsilon=80.0, schema=declared, strategy=strategy).fit(X, y)
    right = np.mean(model.predict(X) == y)
    # Bands in the middle are no card of their own; halves of an order are.
    assert right == 1.0 if strategy == "tree" else right > 0.6
    assert model.classes_.tolist() == sorted(classes)
    decisions = model.decision_function(X)
    assert decisions.dtype == np.float64
    if len(classes) > 2:
        assert decisions.shape == (len(X), len(classes))
        assert np.array_equal(model.classes_[decisions.argmax(axis=1)], model.predict(X))
    else:
        assert np.array_equal(model.classes_[(decisions > 0).astype(int)], model.predict(X))


def test_a_schema_of_two_classes_gives_one_card_as_good_as_the_binary_one():
    X, y = patients(("no", "yes"))
    declared = Schema.from_dict(
        {**schema().to_dict(), "target": {"column": "grade", "positive": "yes", "negative": "no"}}
    )
    several = PrivateMulticlassClassifier(epsilon=40.0, schema=declared).fit(X, y)
    single = PrivateScorecardClassifier(epsilon=40.0, schema=declared).fit(X, y)
    assert len(several.scorecards_) == 1 and several.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(several.predict(X), single.predict(X))


@every_strategy
def test_a_class_without_rows_is_learned_as_never(strategy):
    X, y = patients()
    kept = (y != "high").to_numpy()
    model = PrivateMulticlassClassifier(epsilon=60.0, schema=schema(), strategy=strategy)
    model.fit(X[kept], y[kept])
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert np.mean(model.predict(X[kept]) == y[kept]) > 0.5


def test_rows_without_a_label_teach_nothing_and_others_are_refused():
    X, y = patients()
    model = PrivateMulticlassClassifier(epsilon=60.0, schema=schema())
    model.fit(X, y.where(y.index % 10 > 0, "?"))
    assert np.mean(model.predict(X) == y) > 0.95
    with pytest.raises(TableError, match="3 declared labels, but has another"):
        model.fit(X, y.where(y.index > 0, "unheard of"))
    with pytest.raises(TableError, match="two declared classes"):
        model.fit(X, pd.Series(["low"] * len(X)))


def test_the_expected_cost_is_the_share_of_wrong_predictions():
    X, y = patients()
    model = fitted()
    wrong = pd.Series(model.predict(X[:8])).map({"low": "high", "middle": "low", "high": "middle"})
    assert model.expected_cost(X[:8], wrong) == 1.0
    right = pd.Series(model.predict(X[:8]))
    assert model.expected_cost(X[:8], right) == 0.0
    mixed = pd.concat([wrong[:1], right[1:4], pd.Series(["?"] * 4)], ignore_index=True)
    assert model.expected_cost(X[:8], mixed) == 0.25
    assert np.isnan(model.expected_cost(X[:8], pd.Series(["?"] * 8)))


def test_there_are_no_probabilities(usual):
    assert not hasattr(usual, "predict_proba")
    with pytest.raises(AttributeError, match="risk_budget"):
        _ = usual.predict_proba


def test_estimators_of_two_classes_say_who_takes_more():
    X, y = patients()
    with pytest.raises(SchemaError, match="PrivateMulticlassClassifier"):
        PrivateScorecardClassifier(schema=schema()).fit(X, y)


def test_a_private_search_and_a_vote_take_it():
    X, y = patients()
    one = PrivateMulticlassClassifier(epsilon=60.0, schema=schema())
    search = PrivateSearchCV(one, {"weight_bound": [1, 2]}, expected_trials=2.0).fit(X, y)
    assert np.mean(search.predict(X) == y) > 0.8
    assert search.to_model().receipt == search.best_estimator_.receipt_
    with pytest.raises(TableError, match="declare the labels 0 to 2"):
        VotingClassifier([("a", one), ("b", one)]).fit(X, y)
    numbers = [sorted(GRADES).index(grade) for grade in GRADES]
    one = PrivateMulticlassClassifier(epsilon=60.0, schema=schema(numbers))
    with pytest.warns(UserWarning, match="fits a private estimator several times"):
        vote = VotingClassifier([("a", one), ("b", one)]).fit(X, y)
    assert np.mean(vote.predict(X) == y) > 0.8


# --- schemas and files ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"column": "g", "classes": ["a"]}, "3 to 100"),
        ({"column": "g", "classes": ["a", "b", "a"]}, "must be different"),
        ({"column": "g", "classes": [1, "1", 2]}, "must be different"),
        ({"column": "g", "classes": "abc"}, "must be a list"),
        ({"column": "g", "classes": ["a", "b", ""]}, "non-empty"),
        ({"column": "g", "classes": ["a", "b", "?"]}, "missing value"),
        ({"column": "g", "classes": list(range(101))}, "3 to 100"),
        ({"column": "g", "classes": ["a", "b", "c"], "positive": "a"}, "but not both"),
        ({"classes": ["a", "b", "c"]}, "must have column"),
    ],
)
def test_rules_of_declared_classes(target, message):
    with pytest.raises(SchemaError, match=message):
        Schema.from_dict({**schema().to_dict(), "target": target})


def test_two_declared_classes_are_negative_and_positive():
    two = {**schema().to_dict(), "target": {"column": "g", "classes": ["no", "yes"]}}
    named = {**two, "target": {"column": "g", "positive": "yes", "negative": "no"}}
    assert Schema.from_dict(two).digest() == Schema.from_dict(named).digest()
    many = schema()
    assert Schema.from_dict(many.to_dict()) == many and many.labels == GRADES


@every_strategy
def test_a_saved_model_predicts_as_the_estimator(strategy, tmp_path):
    X, _ = patients()
    model = fitted(strategy=strategy)
    save_model(model.to_model(), tmp_path / "cards.json")
    loaded = load_model(tmp_path / "cards.json")
    assert loaded == model.to_model() and loaded.receipt == model.receipt_
    assert np.array_equal(loaded.predict(X), model.predict(X))
    spelled = X.assign(grade=[" low", "middle", "high"] * 300)
    written = loaded.written_predictions(spelled)
    assert np.array_equal(written == " low", model.predict(X) == "low")
    assert all(f"Card {k}" in loaded.summary for k in range(1, len(model.scorecards_) + 1))


FORGERIES = {
    "a card less": lambda r: {"scorecards": r["scorecards"][:1]},
    "cards in another order": lambda r: {"scorecards": r["scorecards"][::-1]},
    "points beyond the grid": lambda r: {
        "scorecards": [{**r["scorecards"][0], "start": 99}, *r["scorecards"][1:]]
    },
    "another strategy": lambda r: {"receipt": {**r["receipt"], "strategy": "one_versus_rest"}},
    "a smaller promise": lambda r: {"receipt": {**r["receipt"], "epsilon": 1.0}},
    "more classes": lambda r: {"receipt": {**r["receipt"], "n_classes": 4}},
    "another schema": lambda r: {"schema": schema(("a", "b", "c")).to_dict()},
    "no cards": lambda r: {"scorecards": None},
    "another version": lambda r: {"version": 2},
    "something more": lambda r: {"accuracy": 0.9},
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_file_that_contradicts_itself_is_refused(forge, usual, tmp_path):
    record = usual.to_model().to_dict()
    body = {k: v for k, v in record.items() if k != "sha256"} | forge(record)
    (tmp_path / "cards.json").write_text(json.dumps({**body, "sha256": model_digest(body)}))
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "cards.json")


def test_the_parts_of_a_model_belong_together(usual):
    with pytest.raises(ModelFileError):
        replace(usual.to_model(), schema=schema(("low", "middle", "top")))
