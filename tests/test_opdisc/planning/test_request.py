"""Public constraints on the points: signs, norm budgets and sparsity, from schema to receipt."""

import numpy as np
import pandas as pd
import pytest

from opdisc import OPDiscClassifier, PrivateScorecardClassifier, Schema, load_model, save_model
from opdisc.data import COLUMNS_UNSEEN, DTYPES_DECLARED
from opdisc.errors import CalibrationError, SchemaError
from opdisc.planning.choice import MECHANISMS
from opdisc.planning.request import scorecard_grid
from oracles.problem.structure import ColumnGroup


def schema(signs=("positive", "negative", None), **changes) -> Schema:
    kinds = [
        {"column": "age", "thresholds": [30, 60]},
        {"column": "ward", "categories": ["a", "b"]},
        {"column": "smokes", "binary": True},
    ]
    features = [
        kind | ({} if sign is None else {"sign": sign})
        for kind, sign in zip(kinds, signs, strict=True)
    ]
    target = {"column": "ill", "positive": 1, "negative": 0}
    return Schema.from_dict({"name": "t", "target": target, "feature": features} | changes)


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "age": rng.integers(10, 90, n),
            "ward": rng.choice(list("abc"), n),
            "smokes": rng.integers(0, 2, n),
        }
    )
    return rows, (rows["age"] >= 60).astype(int)


def test_a_sign_restricts_every_column_of_its_feature_and_nothing_else():
    grid = scorecard_grid(schema(), 2)
    full, positive, negative = (-2, -1, 0, 1, 2), (0, 1, 2), (-2, -1, 0)
    assert grid.values == (full, positive, positive, negative, negative, full)


def test_a_schema_without_signs_keeps_its_digest_and_one_with_them_survives_a_round_trip():
    plain, signed = schema(signs=(None, None, None)), schema()
    assert "sign" not in str(plain.to_dict()) and plain.digest() != signed.digest()
    assert Schema.from_dict(signed.to_dict()) == signed


@pytest.mark.parametrize("sign", ["up", 1, ["positive"], ""])
def test_other_signs_are_refused(sign):
    with pytest.raises(SchemaError, match="'positive' or 'negative'"):
        schema(signs=(sign, None, None))


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("limit", [{}, {"max_nonzero": 2}, {"norm_budget": 3}])
def test_every_mechanism_stays_within_the_constraints(mechanism, limit):
    rows, labels = table()
    model = PrivateScorecardClassifier(
        epsilon=3.0, schema=schema(), weight_bound=1, mechanism=mechanism, **limit
    ).fit(rows, labels)
    weights = model.scorecard_.hypothesis
    assert all(w in allowed for w, allowed in zip(weights, model.receipt_.weights, strict=True))
    assert model.receipt_.weights[1] == (0, 1) and model.receipt_.weights[3] == (-1, 0)
    assert model.receipt_.conditions == (DTYPES_DECLARED, COLUMNS_UNSEEN)  # the mechanism has none
    if limit:
        (most,) = limit.values()
        assert model.receipt_.norm_budget == most >= sum(w * w for w in weights)


def test_a_budget_is_in_the_saved_model_and_a_card_beyond_it_is_refused(tmp_path):
    rows, labels = table()
    model = PrivateScorecardClassifier(epsilon=1.0, schema=schema(), max_nonzero=2)
    saved = model.fit(rows, labels).to_model()
    save_model(saved, tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded == saved
    text = "6 weights in -1..1, 2 of them never negative, 2 of them never positive, |w|^2 <= 2"
    assert text in str(loaded.receipt)


def test_impossible_budgets_are_refused_in_a_sentence():
    for arguments, words in (
        ({"max_nonzero": 0}, "max_nonzero must be an integer of at least 1"),
        ({"norm_budget": 1.5}, "norm_budget must be an integer"),
        ({"norm_budget": 2, "max_nonzero": 2}, "exclude each other"),
    ):
        with pytest.raises(CalibrationError, match=words):
            scorecard_grid(schema(), 1, **arguments)
    with pytest.raises(CalibrationError, match="max_nonzero needs weight_bound=1"):
        scorecard_grid(schema(), 2, max_nonzero=2)
    with pytest.raises(CalibrationError, match="max_nonzero needs"):
        OPDiscClassifier(schema=schema(), weight_bound=3, max_nonzero=2).fit(*table())


# --- exclusive columns ---------------------------------------------------------------------------


def exclusive_schema(groups):
    return Schema.from_dict(
        {
            "name": "t",
            "target": {"column": "y", "positive": 1, "negative": 0},
            "exclusive": groups,
            "feature": [{"column": c, "binary": True} for c in "abcd"],
        }
    )


def test_exclusive_columns_become_one_group_and_rows_obey_it():
    from opdisc.data.encoding import encode_features
    from opdisc.data.schema import column_structure

    declared = exclusive_schema([["c", "a"], ["b", "d"]])
    assert column_structure(declared) == (
        ColumnGroup(columns=(2, 4), kind="exclusive"),
        ColumnGroup(columns=(3, 1), kind="exclusive"),
    )
    rows = pd.DataFrame([[1, 1, 1, 1], [1, 0, 0, 1], [0, 1, 1, 0]], columns=list("abcd"))
    # Where both are 1 the first one named counts: c before a, b before d.
    encoded = encode_features(rows, declared)[:, 1:].tolist()
    assert encoded == [[0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]]
    assert Schema.from_dict(declared.to_dict()) == declared


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ([["a"]], "two columns or more"),
        ([["a", "x"]], "binary feature"),
        ([["a", "b"], ["b", "c"]], "'b' occurs twice"),
        ("ab", "must be a list"),
        ([["a", 3]], "binary feature"),
    ],
)
def test_impossible_groups_are_refused(groups, words):
    with pytest.raises(SchemaError, match=words):
        exclusive_schema(groups)
