"""Fits that find their own thresholds: one charge, exact shares, nothing but the card leaves."""

from fractions import Fraction

import msgspec
import numpy as np
import pandas as pd
import pytest

import opdisc
from opdisc import Ledger, PrivateScorecardClassifier, PrivateSearchCV, load_model, save_model
from opdisc.data import Schema
from opdisc.data.reading import with_declared_dtypes
from opdisc.errors import CalibrationError, SchemaError, TableError, UncertifiedRelease
from opdisc.estimators.scorecards import private
from opdisc.mechanisms.composition import thresholds
from opdisc.privacy.entropy import SystemEntropy

SCHEMA = {
    "name": "loans",
    "target": {"column": "risk", "positive": "bad", "negative": "good"},
    "missing_values": ["?"],
    "feature": [
        {"column": "age", "thresholds": {"quantiles": 3, "range": [0, 120]}},
        {"column": "months", "thresholds": {"quantiles": 1, "range": [0, 72]}},
        {"column": "home", "categories": ["own", "rent"]},
    ],
}
KINDS = (
    "PrivateScorecardClassifier",
    "OPDiscClassifier",
    "RSPMClassifier",
    "PermuteAndFlipClassifier",
)


def loans(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    table = pd.DataFrame(
        {
            "age": age.astype(str),
            "months": rng.choice(["6", "12", "24", "36", "?"], n),
            "home": rng.choice(["own", "rent", "free"], n),
            "risk": np.where(age < 35, "bad", "good"),
        },
        dtype="str",
    )
    return with_declared_dtypes(table)


def fitted(kind="PrivateScorecardClassifier", table=None, **changes):
    table = loans() if table is None else table
    settings = {"epsilon": 50.0, "schema": SCHEMA, **changes}
    return getattr(opdisc, kind)(**settings).fit(table, table["risk"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_scorecard_classifier_finds_thresholds(kind, tmp_path):
    model = fitted(kind)
    age, months, _ = model.schema_.features
    assert len(age.thresholds) == 3 and len(months.thresholds) == 1
    assert model.schema_.private_thresholds == ()
    assert model.receipt_.schema_digest == model.schema_.digest()
    assert model.receipt_.epsilon == 50.0 and len(model.receipt_.stages) == 2
    table = loans(seed=1)
    assert np.mean(model.predict(table) == table["risk"]) > 0.8
    save_model(model.to_model(), tmp_path / "card.json")
    saved = load_model(tmp_path / "card.json")
    assert saved == model.to_model()
    assert (saved.predict(table) == model.predict(table)).all()


def test_much_budget_finds_the_quartiles():
    model = fitted(epsilon=2000.0)
    ages = loans()["age"].astype(int)
    found = model.schema_.features[0].thresholds
    for k, threshold in enumerate(found, 1):
        assert abs((ages < threshold).mean() - k / 4) < 0.03


def test_the_shares_add_up_exactly_and_stand_on_the_receipt():
    for epsilon, share in ((1.0, 0.1), (0.7, 0.3), (3.0, 1 / 3)):
        model = fitted(epsilon=epsilon, threshold_budget=share)
        first, second = model.receipt_.stages
        assert Fraction(first.epsilon) + Fraction(second.epsilon) == Fraction(epsilon)
        assert abs(float(Fraction(first.epsilon)) - share * epsilon) < 1e-12
        assert Fraction(model.receipt_.card_epsilon) == second.cost
        assert first.schema_digest == Schema.from_dict(SCHEMA).digest()
        printed = str(model.receipt_)
        assert "  for thresholds:" in printed and "exact draws by rank" in printed
        assert "private-thresholds" in first.guarantee


def test_the_guarantee_holds_with_a_table_read_as_text():
    assert fitted().receipt_.guarantee == "HOLDS"
    assert fitted(random_state=0).receipt_.guarantee == "VOID"


def test_risks_share_what_is_left():
    receipt = fitted(epsilon=1.0, threshold_budget=0.2, risk_budget=0.25).receipt_
    first, rest = receipt.stages
    assert receipt.epsilon == 1.0 and receipt.card_epsilon == receipt.risks.card_epsilon
    assert Fraction(receipt.risks.card_epsilon) + Fraction(receipt.risks.epsilon) == rest.cost
    assert first.cost + rest.cost == 1


def test_the_one_charge_is_recorded_before_the_first_draw(tmp_path, monkeypatch):
    order = []
    spend = Ledger.spend

    def spent(self, receipt):
        order.append(("spend", receipt.epsilon, receipt.schema_digest))
        spend(self, receipt)

    def words(self, count):
        order.append("draw")
        return np.random.default_rng(0).integers(0, 2**64, count, dtype=np.uint64)

    monkeypatch.setattr(Ledger, "spend", spent)
    monkeypatch.setattr(SystemEntropy, "words", words)
    model = fitted(epsilon=1.0, ledger=tmp_path / "book")
    declared = Schema.from_dict(SCHEMA).digest()
    assert order[0] == ("spend", 1.0, declared) and set(order[1:]) == {"draw"}
    assert Ledger(tmp_path / "book").total()[0] == 1.0
    assert model.receipt_.schema_digest != declared


def test_the_receipt_before_the_draw_does_not_depend_on_the_rows(tmp_path, monkeypatch):
    receipts = []
    monkeypatch.setattr(Ledger, "spend", lambda self, receipt: receipts.append(receipt))
    for seed in (0, 1):
        fitted(table=loans(seed=seed), epsilon=1.0, ledger=tmp_path / "book")
    assert len(receipts) == 2
    assert receipts[0] == receipts[1]


@pytest.mark.parametrize(
    ("module", "place"), [(thresholds, "draw_thresholds"), (private, "encode_features")]
)
def test_a_failure_after_the_charge_releases_nothing_and_says_nothing(
    tmp_path, monkeypatch, module, place
):
    book, whole = tmp_path / "book", getattr(module, place)
    model = PrivateScorecardClassifier(epsilon=1.0, schema=SCHEMA, ledger=book)

    def fail(*given):
        if book.exists():
            raise ValueError("xq7canary")
        return whole(*given)

    table = loans()
    monkeypatch.setattr(module, place, fail)
    with pytest.raises(UncertifiedRelease) as caught:
        model.fit(table, table["risk"])
    assert "the budget is spent and nothing is released" in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert Ledger(tmp_path / "book").total()[0] == 1.0
    assert not [name for name in vars(model) if name.endswith("_")]


def test_what_can_fail_without_rows_costs_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError

    monkeypatch.setattr(thresholds, "draw_cuts", fail)
    with pytest.raises(ImportError, match="draw of thresholds"):
        fitted(ledger=tmp_path / "book")
    assert not (tmp_path / "book").exists()


def test_unreadable_cells_are_refused_before_the_charge(tmp_path):
    table = loans()
    table.loc[3, "age"] = "xq7canary"
    with pytest.raises(TableError) as caught:
        fitted(table=table, ledger=tmp_path / "book")
    assert "xq7" not in str(caught.value) and not (tmp_path / "book").exists()


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan"), "0.1", True, None, 1e-300])
def test_an_impossible_share_is_refused(share, tmp_path):
    with pytest.raises(CalibrationError, match="threshold_budget"):
        fitted(threshold_budget=share, ledger=tmp_path / "book")
    assert not (tmp_path / "book").exists()


@pytest.mark.parametrize(
    "model",
    [
        opdisc.PrivateLogisticRegression(schema=SCHEMA),
        opdisc.PrivateLinearSVC(schema=SCHEMA),
        opdisc.RobustVoteClassifier(schema=SCHEMA, isolation="none"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_estimators_refuse_private_thresholds(model):
    table = loans()
    with pytest.raises(SchemaError, match="private and not found yet"):
        model.fit(table, table["risk"])


def test_a_declared_list_costs_nothing_for_thresholds():
    listed = {**SCHEMA, "feature": [{"column": "age", "thresholds": [35]}]}
    receipt = fitted(schema=listed).receipt_
    assert receipt.stages == () and "stages" not in receipt.to_dict()
    assert receipt.card_epsilon == receipt.epsilon


def test_a_unit_of_several_rows_and_hidden_row_counts_are_paid_for():
    plain = fitted(epsilon=1.0).receipt_.stages[0].scales
    three = fitted(epsilon=1.0, schema={**SCHEMA, "rows_per_unit": 3}).receipt_.stages[0].scales
    hidden = fitted(epsilon=1.0, relation="add_or_remove_one").receipt_.stages[0].scales
    np.testing.assert_allclose(three, 3 * np.array(plain))
    np.testing.assert_allclose(hidden, np.array(plain) / 2)


def test_a_private_search_may_try_shares():
    table = loans(400)
    search = PrivateSearchCV(
        PrivateScorecardClassifier(epsilon=20.0, schema=SCHEMA, mechanism="permute_and_flip"),
        {"threshold_budget": [0.1, 0.3]},
        expected_trials=2.0,
    ).fit(table, table["risk"])
    assert search.receipt_.epsilon == 20.0
    assert search.best_estimator_.schema_.private_thresholds == ()
    assert len(search.to_model().receipt.stages) == 2


def test_nothing_but_the_release_is_kept():
    assert {name for name in vars(fitted()) if name.endswith("_")} == {
        *("schema_", "scorecard_", "receipt_", "coef_", "intercept_", "classes_"),
        *("n_features_in_", "feature_names_in_", "_noise_"),
    }


def test_stages_must_not_cost_more_than_is_promised():
    receipt = fitted(epsilon=1.0).receipt_
    with pytest.raises(ValueError, match="must not cost more"):
        msgspec.structs.replace(receipt, epsilon=0.5)
    with pytest.raises(ValueError, match="more than nothing"):
        msgspec.structs.replace(receipt.stages[0], epsilon="0")
