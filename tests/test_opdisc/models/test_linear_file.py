"""Saved linear models: same predictions after a round trip, anything altered refused."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from opdisc import (
    OPSampClassifier,
    OPSampRegressor,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateSimplexRegressor,
    load_model,
    save_model,
)
from opdisc.cli.app import cli
from opdisc.errors import ModelFileError, OPDiscError, TableError
from opdisc.models.document import model_digest
from opdisc.models.linear_file import SavedLinearModel

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(300, 3))
FRAME = pd.DataFrame(X, columns=["age", "dose", "stay"])
LABELS = np.where(X[:, 0] - 0.4 * X[:, 1] > 0, "ill", "well")
TARGET = 0.7 * X[:, 0] + 0.3 * X[:, 2]
SCHEMA = {
    "name": "ward",
    "target": {"column": "state", "positive": "ill", "negative": "well"},
    "feature": [
        {"column": "age", "thresholds": [0], "range": [-1, 1]},
        {"column": "dose", "thresholds": [0], "range": [-1, 1]},
    ],
}


def fitted():
    few = dict(most_draws=50, epsilon=20.0, public_row_guess=10_000)
    return {
        "logistic": (PrivateLogisticRegression(epsilon=4.0, data_norm=2.0), LABELS),
        "svm": (PrivateLinearSVC(epsilon=4.0, data_norm=2.0), LABELS == "ill"),
        "simplex": (PrivateSimplexRegressor(epsilon=40.0, value_bound=1.0), TARGET),
        "opsamp": (OPSampClassifier(feature_range=(-1, 1), **few), LABELS),
        "opsamp-regressor": (
            OPSampRegressor(feature_range=(-0.5, 1), target_range=(-1, 1), **few),
            TARGET,
        ),
    }


@pytest.mark.parametrize("kind", list(fitted()))
@pytest.mark.parametrize("rows", [X, FRAME], ids=["array", "frame"])
def test_a_saved_model_predicts_as_the_fitted_one(kind, rows, tmp_path):
    model, target = fitted()[kind]
    model.fit(rows, target)
    saved = model.to_model()
    save_model(saved, tmp_path / "model.json")
    found = load_model(tmp_path / "model.json")
    assert found == saved
    assert found.receipt == model.receipt_
    assert str(found.receipt) == str(model.receipt_)
    assert found.columns == (("x0", "x1", "x2") if rows is X else tuple(FRAME.columns))
    # Beyond the public range as well: rows are clipped there as the estimator clips them.
    wide = 3 * rows
    expected, got = model.predict(wide), found.predict(wide)
    if found.classes is None:
        np.testing.assert_allclose(got.astype(float), expected, atol=1e-9)
    else:
        assert got.tolist() == expected.tolist()
        np.testing.assert_allclose(found.scores(wide), model.decision_function(wide), atol=1e-9)
    assert type(found.predict(rows)[0]) is type(saved.predict(rows)[0])


def test_a_saved_logistic_regression_gives_the_chances_of_the_fitted_one():
    model, target = fitted()["logistic"]
    chances = model.fit(X, target).to_model().predict_proba(3 * X)
    np.testing.assert_allclose(chances, model.predict_proba(3 * X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["svm", "simplex", "opsamp"])
def test_other_saved_models_have_no_chances(kind):
    model, target = fitted()[kind]
    saved = model.fit(X, target).to_model()
    with pytest.raises(OPDiscError, match="probabilities need a logistic regression"):
        saved.predict_proba(X)


def with_schema():
    table = FRAME.assign(state=LABELS)
    model = PrivateLogisticRegression(epsilon=4.0, schema=SCHEMA).fit(table, LABELS)
    return table, model


def test_the_command_line_predicts_with_and_shows_a_linear_model(tmp_path):
    table, model = with_schema()
    save_model(model.to_model(), tmp_path / "model.json")
    table.assign(state=[label.upper() for label in LABELS]).to_csv(tmp_path / "in.csv")
    runner = CliRunner()
    arguments = ["predict", str(tmp_path / "model.json"), str(tmp_path / "in.csv"), "--json"]
    done = runner.invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)["predictions"]) <= {"ill", "well", "ILL", "WELL"}
    found = load_model(tmp_path / "model.json")
    assert found.written_predictions(table).tolist() == model.predict(table).tolist()
    shown = runner.invoke(cli, ["show", str(tmp_path / "model.json")], catch_exceptions=False)
    assert shown.exit_code == 0
    assert "Prediction: ill if the total is above 0, otherwise well." in shown.output
    assert "method:             hull" in shown.output


def test_text_cells_are_read_as_numbers_and_gaps_are_refused(tmp_path):
    model, target = fitted()["simplex"]
    saved = model.fit(FRAME, target).to_model()
    np.testing.assert_allclose(
        saved.predict(FRAME.astype(str).astype(object)), saved.predict(FRAME), atol=1e-12
    )
    assert "Prediction: the total." in saved.summary
    assert all(isinstance(value, float) for value in saved.written_predictions(FRAME))
    with pytest.raises(TableError, match="must have a column 'dose'"):
        saved.predict(FRAME.drop(columns="dose"))
    with pytest.raises(TableError, match="must hold numbers; fill the gaps"):
        saved.predict(FRAME.astype(object).replace(FRAME.iloc[0, 0], "?"))
    with pytest.raises(TableError, match="the rows must have 3 columns"):
        saved.predict(X[:, :2])


BREAKS = [
    (lambda r: r.update(coefficients=[1.0, 2.0]), "one coefficient for each column"),
    (lambda r: r.update(intercept=None), "must hold valid parts"),
    (lambda r: r.update(coefficients=[True, 1.0, 2.0]), "must hold valid parts"),
    (lambda r: r.update(columns=[1, "b", "c"]), "must hold valid parts"),
    (lambda r: r.update(classes=["a"]), "must hold valid parts"),
    (lambda r: r.update(classes=["a", None]), "must hold valid parts"),
    (lambda r: r.update(feature_range=[[0, 1]]), "one range for each column"),
    (lambda r: r.update(target_range=[2, 1]), "low end first"),
    (lambda r: r.update(extra=1), "must hold valid parts"),
    (lambda r: r.update(receipt_kind="none"), "must hold valid parts"),
    (lambda r: r.update(version=3), "format version 1 or 2"),
    (lambda r: r["receipt"].update(epsilon=-1.0), "must hold valid parts"),
    (lambda r: r["receipt"].update(guarantee="SURE"), "must hold valid parts"),
    (lambda r: r["receipt"].update(noise_scales=["a"]), "must hold valid parts"),
    (lambda r: r["receipt"].update(lipschitz=-1), "must hold valid parts"),
    (lambda r: r["receipt"].update(rows_per_unit=1.5), "must hold valid parts"),
    (lambda r: r["receipt"].update(mechanism=3), "must hold valid parts"),
    (lambda r: r["receipt"].pop("loss"), "must hold valid parts"),
    (lambda r: r["receipt"].update(settings=[1]), "must hold valid parts"),
    (lambda r: r["receipt"].update(schema_digest="0" * 64), "that of its schema"),
]


@pytest.mark.parametrize(("change", "text"), BREAKS)
def test_a_broken_part_is_refused_even_with_a_matching_digest(change, text, tmp_path):
    model, target = fitted()["logistic"]
    record = model.fit(X, target).to_model().to_dict()
    change(record)
    record.pop("sha256")
    path = tmp_path / "model.json"
    path.write_text(json.dumps({**record, "sha256": model_digest(record)}))
    with pytest.raises(ModelFileError, match=text) as refusal:
        load_model(path)
    assert str(refusal.value).count(".") <= 3


def test_an_altered_file_is_refused(tmp_path):
    table, model = with_schema()
    record = model.to_model().to_dict()
    record["coefficients"][0] += 1e-12
    (tmp_path / "model.json").write_text(json.dumps(record))
    with pytest.raises(ModelFileError, match="must be unaltered"):
        load_model(tmp_path / "model.json")
    with pytest.raises(ModelFileError, match="columns and classes must be those of its schema"):
        fields = {name: getattr(model.to_model(), name) for name in SavedLinearModel.__slots__}
        SavedLinearModel(**{**fields, "columns": ("a", "b")})
