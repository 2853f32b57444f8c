"""Risks of several classes: a share of each card's budget, multiplied along the tree."""

import json
from fractions import Fraction

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from opdisc import (
    Ledger,
    PrivateMulticlassClassifier,
    PrivateSearchCV,
    Schema,
    load_model,
    save_model,
)
from opdisc.data import aggregate, column_structure, counted_problem, encode_features
from opdisc.errors import CalibrationError, ModelFileError
from opdisc.mechanisms.composition import risks as composition
from opdisc.models import card_markdown, card_page
from opdisc.models.document import model_digest
from opdisc.privacy import NeighboringRelation, PrivacyParams, PublicInputs, ask
from opdisc.privacy.entropy import SystemEntropy
from oracles import WeightGrid

GRADES = ("low", "middle", "high", "severe")


def schema(**facts):
    return Schema.from_dict(
        {
            "name": "risk",
            "target": {"column": "grade", "classes": list(GRADES)},
            "feature": [
                {"column": "age", "thresholds": [30, 50, 70], "range": [0, 100]},
                {"column": "smoker", "categories": ["daily", "never"]},
            ],
            **facts,
        }
    )


def patients(n_rows=1200):
    rng = np.random.default_rng(4)
    age = rng.integers(0, 100, n_rows)
    smoker = rng.choice(["daily", "never"], n_rows)
    sick = age / 100 + 0.2 * (smoker == "daily") + rng.normal(0, 0.2, n_rows)
    labels = np.array(GRADES, dtype=object)[np.searchsorted([0.3, 0.5, 0.8], sick)]
    return pd.DataFrame({"age": age, "smoker": smoker}), pd.Series(labels)


def fitted(**settings):
    settings = {
        "epsilon": 40.0,
        "schema": schema(),
        "risk_budget": 0.25,
        "mechanism": "exponential",
        "weight_bound": 1,
        **settings,
    }
    return PrivateMulticlassClassifier(**settings).fit(*patients())


@pytest.fixture(scope="module")
def exact():
    """A model whose noise is 0 in every count, except with probability below e^-100."""
    return fitted(epsilon=20_000.0)


def test_rates_are_those_of_the_rows_that_a_card_is_about(exact):
    X, y = patients()
    encoded = encode_features(X, exact.schema_)
    positions = np.array([GRADES.index(label) for label in y])
    for card, table, question in zip(
        exact.scorecards_, exact.risk_tables_, ask("tree", 4), strict=True
    ):
        named = np.isin(positions, question.no + question.yes)
        rates = table.rates(card.scores(encoded))
        assert len(np.unique(rates)) > 1
        for row in table.rows:
            group = named & (rates == row.rate)
            if group.any():
                # One row of the overall rate is mixed into each total's group, pooled or not.
                mixed = row.highest - row.lowest + 1
                share = np.isin(positions[group], question.yes).mean()
                assert abs(row.rate - share) <= mixed / group.sum()


def test_probabilities_are_products_along_the_tree_and_add_up_to_1(exact):
    X, _ = patients()
    encoded = encode_features(X, exact.schema_)
    top, low, high = (
        table.rates(card.scores(encoded))
        for card, table in zip(exact.scorecards_, exact.risk_tables_, strict=True)
    )
    by_hand = {
        "low": (1 - top) * (1 - low),
        "middle": (1 - top) * low,
        "high": top * (1 - high),
        "severe": top * high,
    }
    found = exact.predict_proba(X)
    assert found == pytest.approx(np.column_stack([by_hand[k] for k in exact.classes_]))
    assert found.sum(axis=1) == pytest.approx(np.ones(len(X)), abs=1e-12)
    assert np.mean(exact.classes_[found.argmax(axis=1)] == exact.predict(X)) > 0.8
    assert exact.predict_log_proba(X) == pytest.approx(np.log(found))


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize(("rows_per_unit", "share"), [(1, 0.25), (3, 1 / 3), (1, 0.9)])
def test_shares_are_stated_exact_and_paid_once(relation, rows_per_unit, share, tmp_path):
    model = fitted(
        epsilon=3.7,
        schema=schema(rows_per_unit=rows_per_unit, unit="one patient"),
        relation=relation,
        risk_budget=share,
        ledger=tmp_path / "ledger",
    )
    receipt, (charge,) = model.receipt_, Ledger(tmp_path / "ledger").spendings()
    assert (charge.epsilon, receipt.epsilon) == (3.7, 3.7)
    changed = rows_per_unit * {"replace_one": 2, "add_or_remove_one": 1}[relation]
    for card, table in zip(receipt.cards, model.risk_tables_, strict=True):
        parts = Fraction(card.risks.card_epsilon) + Fraction(card.risks.epsilon)
        assert parts == Fraction(card.epsilon)
        assert card.risks.epsilon == pytest.approx(3.7 / 2 / changed * share)
        assert card.risks.sensitivity == 1
        assert (
            card.risks.noise_scale == table.noise_scale == float(1 / Fraction(card.risks.epsilon))
        )
        # The card's own noise is that of what the risks left it.
        assert card.noise_scales == pytest.approx([card.risks.card_epsilon])
    for k in range(4):
        questions = zip(ask("tree", 4), receipt.cards, strict=True)
        spent = sum(Fraction(c.epsilon) for q, c in questions if k in q.no + q.yes)
        assert spent * changed <= Fraction(3.7)
    assert str(receipt).count("for the risks") == receipt.brief().count("for its risks") == 3


def test_one_row_moves_one_count_of_the_cards_that_name_its_class(monkeypatch):
    monkeypatch.setattr(composition, "noisy_counts", lambda counts, *_: counts)
    X, y = patients(60)
    declared = schema()
    rows = encode_features(X, declared)
    positions = np.array([GRADES.index(label) for label in y])
    grid = WeightGrid(values=((-1, 0, 1),) * rows.shape[1])
    card = (0, 1, 1, 0, 1, -1)
    public = PublicInputs(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
    )
    spec = composition.calibrate_risks(public, 0.5)
    for question in ask("tree", 4):

        def counts(kept, question=question):
            problem = counted_problem(aggregate(rows[kept], question.signs(positions[kept])), grid)
            structure = column_structure(declared)
            return composition.count_totals(card, problem, spec, structure, SystemEntropy())[1]

        everyone = np.ones(len(rows), dtype=bool)
        whole = counts(everyone)
        for row in range(12):
            kept = everyone.copy()
            kept[row] = False
            moved = np.abs(whole - counts(kept)).sum()
            assert moved == (positions[row] in question.no + question.yes)


def test_the_whole_budget_is_on_disk_before_the_first_random_bit(tmp_path, monkeypatch):
    ledger, charged = Ledger(tmp_path / "ledger"), []
    words = SystemEntropy.words

    def watched(self, count):
        charged.append([spending.epsilon for spending in ledger.spendings()])
        return words(self, count)

    monkeypatch.setattr(SystemEntropy, "words", watched)
    fitted(ledger=ledger, epsilon=1.0)
    assert charged and all(seen == [1.0] for seen in charged)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "one_versus_rest"}, 'use strategy="tree", or leave out risk_budget'),
        ({"risk_budget": 0.0}, "risk_budget must"),
        ({"risk_budget": 1.5}, "risk_budget must"),
        ({"risk_budget": 1e-300}, "risk_budget must"),
    ],
)
def test_what_cannot_be_sold_is_refused_before_anything_is_spent(settings, message, tmp_path):
    with pytest.raises(CalibrationError, match=message):
        fitted(**settings, ledger=tmp_path / "ledger")
    assert not (tmp_path / "ledger").exists()


def test_without_a_risk_budget_there_are_no_probabilities():
    model = fitted(risk_budget=None)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "risk_tables_")
    assert model.to_model().risk_tables == () and "risk_tables" not in model.to_model().to_dict()


def test_a_private_search_hands_on_the_risks_of_its_best():
    one = PrivateMulticlassClassifier(epsilon=60.0, schema=schema(), risk_budget=0.25)
    X, y = patients()
    search = PrivateSearchCV(one, {"weight_bound": [1, 2]}, expected_trials=2.0).fit(X, y)
    assert np.array_equal(search.predict_proba(X), search.best_estimator_.predict_proba(X))
    assert search.to_model().risk_tables == search.best_estimator_.risk_tables_


@pytest.mark.slow
@parametrize_with_checks(
    [PrivateMulticlassClassifier(epsilon=1e4, random_state=0, risk_budget=0.5)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_files_and_cards_show_what_was_paid_for(exact, tmp_path):
    saved = exact.to_model()
    save_model(saved, tmp_path / "cards.json")
    assert load_model(tmp_path / "cards.json") == saved
    page, text = card_page(saved), card_markdown(saved)
    for shown in (page, text):
        assert shown.count("What the noise leaves open") == 3
        assert "Share of rows that are “middle”, of those that are low or middle" in shown
    assert saved.summary.count("Share of rows that are") == 3


@pytest.mark.parametrize(
    "forge",
    [
        lambda tables: tables[:-1],
        lambda tables: [],
        lambda tables: [{**tables[0], "noise_scale": 9.0}, *tables[1:]],
        lambda tables: [*tables, tables[0]],
    ],
    ids=["one less", "none", "other noise", "one more"],
)
def test_a_file_with_other_tables_than_were_paid_for_is_refused(exact, forge, tmp_path):
    record = exact.to_model().to_dict()
    record.pop("sha256")
    body = {**record, "risk_tables": forge(record["risk_tables"])}
    (tmp_path / "cards.json").write_text(json.dumps({**body, "sha256": model_digest(body)}))
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "cards.json")


def test_a_receipt_sells_risks_of_all_cards_or_of_none(exact):
    receipt = exact.receipt_
    cards = (msgspec.structs.replace(receipt.cards[0], risks=None), *receipt.cards[1:])
    with pytest.raises(ValueError, match="all cards must have bought risks, or none"):
        msgspec.structs.replace(receipt, cards=cards)
