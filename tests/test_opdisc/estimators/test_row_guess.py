"""A public guess of the number of rows: it plans, and it promises nothing."""

import msgspec
import numpy as np
import pandas as pd
import pytest

from opdisc import (
    Ledger,
    OPDiscClassifier,
    PermuteAndFlipClassifier,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    RSPMClassifier,
    load_model,
    save_model,
)
from opdisc.errors import CalibrationError
from opdisc.privacy import GridReceipt

ADD = "add_or_remove_one"
NAMES = [f"x{j}" for j in range(20)]
SCHEMA = {
    "name": "wide",
    "target": {"column": "y", "positive": "1", "negative": "0"},
    "feature": [{"column": name, "binary": True} for name in NAMES],
}
GUESSES = (1, 4000, 10**12)


@pytest.fixture(scope="module")
def table():
    """Twenty columns of which five tell the label."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (4000, 20))
    y = X[:, :5].sum(axis=1) >= 3
    return pd.DataFrame(X, columns=NAMES), np.where(y, "1", "0")


def fitted(table, **arguments):
    return PrivateScorecardClassifier(schema=SCHEMA, mechanism="staged", **arguments).fit(*table)


@pytest.fixture(scope="module")
def guessed(table):
    """Return one fitted model for each guess, to read."""
    return {
        guess: fitted(table, epsilon=2.0, relation=ADD, public_row_guess=guess)
        for guess in GUESSES
    }


@pytest.fixture(scope="module")
def blind(table):
    """Return the receipt of a fit without a guess."""
    return fitted(table, epsilon=2.0, relation=ADD).receipt_


@pytest.fixture(scope="module")
def guessing_record(table):
    """Return a receipt with a guess as a mapping to read."""
    return fitted(table, epsilon=1.0, relation=ADD, public_row_guess=9).receipt_.to_dict()


@pytest.mark.slow
def test_a_guess_plans_what_the_public_number_plans_at_half_of_epsilon(table, guessed, blind):
    known, found = fitted(table, epsilon=4.0).receipt_, guessed[4000].receipt_
    assert (found.noise_law, found.weights) == (known.noise_law, known.weights)
    assert found.noise_scales == known.noise_scales and found.epsilon == 2.0
    assert (found.n_rows, found.public_row_guess) == (None, 4000)
    assert blind.noise_scales == (2.0,)
    assert blind.weights[0] == (-1, 0, 1)
    assert blind.public_row_guess is None


@pytest.mark.parametrize("guess", GUESSES)
def test_however_wrong_a_guess_the_promise_is_the_same(guessed, blind, guess):
    model = guessed[guess]
    receipt = model.receipt_
    assert (receipt.epsilon, receipt.delta, receipt.sensitivity) == (2.0, 0.0, 1)
    assert sum(receipt.noise_scales) == pytest.approx(2.0, rel=1e-12)
    assert (receipt.guarantee, receipt.conditions) == (blind.guarantee, blind.conditions)
    # No bound is capped by the guess, and no verdict compares with it.
    noise = model.verdict_.noise
    assert noise.rows is None and noise.extra > 1 and noise.word == "rows not public"


@pytest.mark.slow
def test_where_the_number_of_rows_is_public_it_wins(table):
    alone = fitted(table, epsilon=0.5).receipt_
    both = fitted(table, epsilon=0.5, public_row_guess=10**9).receipt_
    assert msgspec.structs.replace(both, versions=alone.versions) == alone
    assert "public_row_guess" not in both.to_dict()


@pytest.mark.parametrize("relation", ["replace_one", ADD])
@pytest.mark.parametrize("guess", [0, -5, 2.5, True, "many"])
def test_what_is_no_number_of_rows_is_refused_before_anything_is_spent(
    table, tmp_path, relation, guess
):
    ledger = Ledger.create(tmp_path / "l", epsilon_limit=9.0)
    with pytest.raises(CalibrationError) as refusal:
        fitted(table, relation=relation, public_row_guess=guess, ledger=ledger)
    assert str(refusal.value) == (
        f"public_row_guess must be an integer of at least 1, got {guess!r}; give a public "
        "number near the number of rows, or leave it out."
    )
    assert ledger.spendings() == ()


def test_a_receipt_with_a_guess_is_printed_saved_read_and_charged(table, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", epsilon_limit=9.0)
    model = fitted(table, epsilon=2.0, relation=ADD, public_row_guess=4000, ledger=ledger)
    line = "rows guessed:       4,000; a plan from a public number"
    assert line in str(model.receipt_) and line in model.receipt_.brief()
    assert [spending.epsilon for spending in ledger.spendings()] == [2.0]
    save_model(model.to_model(), tmp_path / "card.json")
    read = load_model(tmp_path / "card.json")
    assert read.receipt == model.receipt_ and read.receipt.public_row_guess == 4000
    # The law is recomputed from the receipt alone, the guess included.
    assert read.verdict_ == model.verdict_ and read.verdict_.noise is not None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"relation": "replace_one", "n_rows": 5}, "must not guess it"),
        ({"public_row_guess": 0}, ">= 1"),
        ({"public_row_guess": 10**12 + 1}, "<= 1000000000000"),
    ],
)
def test_a_receipt_whose_guess_contradicts_it_is_refused(guessing_record, wrong, said):
    assert GridReceipt.from_dict(guessing_record).public_row_guess == 9
    with pytest.raises(ValueError, match=said):
        GridReceipt.from_dict(guessing_record | wrong)


def test_a_guess_beyond_any_table_is_refused(table):
    with pytest.raises(CalibrationError, match="at most 1,000,000,000,000, got more; give"):
        fitted(table, relation=ADD, public_row_guess=10**400)


def test_points_of_a_small_grid_follow_the_guess(table):
    few = (table[0][NAMES[:6]], table[1])
    schema = {**SCHEMA, "feature": SCHEMA["feature"][:6]}
    guesses = (None, 4000, 1)
    bounds = [
        PrivateScorecardClassifier(
            epsilon=1.0, schema=schema, relation=ADD, public_row_guess=guess
        )
        .fit(*few)
        .receipt_.weights[1][-1]
        for guess in guesses
    ]
    known = PrivateScorecardClassifier(epsilon=2.0, schema=schema).fit(*few)
    assert bounds == [1, known.receipt_.weights[1][-1], 1] and bounds[1] > 1


@pytest.mark.slow
def test_bins_of_risks_follow_the_guess(table):
    def bins(**arguments):
        receipt = fitted(table, risk_budget=0.5, **arguments).receipt_
        assert receipt.risks.card_epsilon + receipt.risks.epsilon == receipt.epsilon
        return receipt.risks.counts

    known = bins(epsilon=0.5)
    assert bins(epsilon=0.25, relation=ADD, public_row_guess=4000) == known
    assert bins(epsilon=0.25, relation=ADD, public_row_guess=1) < known


@pytest.mark.slow
def test_cards_of_several_classes_are_planned_as_if_classes_were_alike(table):
    X = pd.concat([table[0], table[0][:2000]], ignore_index=True)
    y = np.array(["a", "b", "c"])[X.iloc[:, :4].sum(axis=1).clip(1, 3) - 1]
    schema = {**SCHEMA, "target": {"column": "y", "classes": ["a", "b", "c"]}}
    common = {"epsilon": 8.0, "schema": schema, "relation": ADD, "patience": 4.0}
    receipt = PrivateMulticlassClassifier(public_row_guess=6000, **common).fit(X, y).receipt_
    # The tree asks for one class of all three first, then for one of the other two.
    assert sorted(card.public_row_guess for card in receipt.cards) == [4000, 6000]
    blind = PrivateMulticlassClassifier(**common).fit(X, y).receipt_
    assert (receipt.epsilon, receipt.conditions) == (8.0, blind.conditions)
    # A replaced row is one removed and one added; where the number of rows is public, it wins.
    public = {**common, "relation": "replace_one", "epsilon": 16.0}
    known = PrivateMulticlassClassifier(public_row_guess=9, **public).fit(X, y).receipt_
    assert known.n_rows == 6000
    for card, guessed in zip(known.cards, receipt.cards, strict=True):
        assert card.noise_law == guessed.noise_law and card.noise_scales == guessed.noise_scales
        assert card.public_row_guess == guessed.public_row_guess


@pytest.mark.parametrize("kind", [OPDiscClassifier, RSPMClassifier, PermuteAndFlipClassifier])
def test_classifiers_of_one_mechanism_take_a_guess_too(table, kind):
    X, y = table[0][NAMES[:4]], table[1]
    schema = {**SCHEMA, "feature": SCHEMA["feature"][:4]}
    receipt = kind(schema=schema, relation=ADD, public_row_guess=70).fit(X, y).receipt_
    assert receipt.public_row_guess == 70
