"""A delta that is not far below 1 / rows is a condition, on every form of every receipt."""

import json
import warnings

import msgspec
import numpy as np
import pytest
from helpers.opdisc.ledger_receipts import receipt as old_receipt

from opdisc import (
    OPDiscClassifier,
    OPSampClassifier,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateScorecardClassifier,
    PrivateSearchCV,
    RobustVoteClassifier,
    RSPMClassifier,
)
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.comparison.methods.method import Fitted
from opdisc.comparison.runs import _privacy
from opdisc.privacy import GridReceipt, Prepared, WeakPromise, delta_conditions

ROWS = 200
BINARY = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * (ROWS // 4))
LABELS = BINARY[:, 0]


@pytest.mark.parametrize(
    ("delta", "n_rows", "guess", "named"),
    [
        (0.5, 150, None, True),
        (1 / 150, 150, None, True),
        (0.11 / 150, 150, None, True),
        (0.1 / 150, 150, None, False),
        (1 / 150**2, 150, None, False),
        (0.0, 150, None, False),
        (0.9, 0, None, False),
        (1e-5, None, None, False),
        (1.1e-5, None, None, True),
        (1e-4, None, 1000, False),
        (1.1e-4, None, 1000, True),
        (1e-3, None, 1, False),  # a guess may be wrong: below 100 it says nothing
        (1.1e-3, None, 1, True),
        (1e-5, 10**6, None, True),
        (2.0**-30, 10**9, None, True),
    ],
)
def test_one_rule_by_rows_guess_or_neither(delta, n_rows, guess, named):
    found = delta_conditions(delta, n_rows, guess)
    assert len(found) == named
    if found:
        most = float(found[0].rpartition(" ")[2])
        assert not delta_conditions(most, n_rows, guess)


FITS = {
    "sphere": OPDiscClassifier(noise="gaussian", classes=(0, 1)),
    "separators": RSPMClassifier(noise="gaussian", classes=(0, 1)),
    "objective": PrivateLogisticRegression(mechanism="objective_perturbation", data_norm=2.0),
    "output": PrivateLogisticRegression(mechanism="output_perturbation", data_norm=2.0),
    "gradient": PrivateLinearSVC(mechanism="noisy_sgd", data_norm=2.0),
    "opsamp": OPSampClassifier(feature_range=(0, 1), classes=(0, 1), epsilon=4.0),
    "vote": RobustVoteClassifier(rule="stability", isolation="none", classes=(0, 1)),
}


@pytest.mark.parametrize("name", FITS)
def test_every_mechanism_that_spends_delta_names_it(name):
    model = FITS[name].set_params(delta=0.3)
    with pytest.warns(WeakPromise, match="may expose 60 of the 200 rows"):
        receipt = model.fit(BINARY, LABELS).receipt_
    assert receipt.guarantee == "CONDITIONAL" and receipt.delta == 0.3
    assert receipt.conditions[0].startswith("it is accepted that delta 0.3 may expose 60 of")
    for text in (str(receipt), receipt.brief(), json.dumps(receipt.to_dict())):
        assert receipt.conditions[0] in text
    assert type(receipt).from_dict(receipt.to_dict()) == receipt


@pytest.mark.parametrize("name", FITS)
def test_a_small_delta_adds_nothing(name):
    model = FITS[name].set_params(delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WeakPromise)
        receipt = model.fit(BINARY, LABELS).receipt_
    assert not any("delta" in text for text in receipt.conditions)


def test_a_pure_mechanism_spends_no_delta_and_says_nothing():
    models = [
        PrivateScorecardClassifier(delta=0.5, classes=(0, 1)),
        RobustVoteClassifier(delta=0.5, isolation="none", classes=(0, 1)),
    ]
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("error", WeakPromise)
            receipt = model.fit(BINARY, LABELS).receipt_
        assert receipt.delta == 0 and not any("delta" in text for text in receipt.conditions)


def test_without_a_public_number_of_rows_the_guess_decides_and_not_the_rows():
    settings = {"noise": "gaussian", "relation": "add_or_remove_one", "classes": (0, 1)}
    named = {}
    for guess, delta in ((None, 1e-4), (200, 1e-4), (None, 1e-6), (10**6, 1e-6)):
        model = OPDiscClassifier(delta=delta, **settings, public_row_guess=guess)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakPromise)
            told = [
                tuple(c for c in model.fit(X, X[:, 0]).receipt_.conditions if "delta" in c)
                for X in (BINARY, BINARY[:60])
            ]
        assert told[0] == told[1]
        named[guess, delta] = bool(told[0])
    assert named == {
        (None, 1e-4): True, (200, 1e-4): False, (None, 1e-6): False, (10**6, 1e-6): True,
    }  # fmt: skip


def test_a_search_warns_once_for_what_it_promises_and_not_for_each_trial():
    search = PrivateSearchCV(
        OPDiscClassifier(noise="gaussian", classes=(0, 1), random_state=0),
        {"weight_bound": [1, 2]},
        epsilon=4.0,
        delta=0.4,
        random_state=0,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(BINARY, LABELS)
    told = [w for w in caught if issubclass(w.category, WeakPromise)]
    assert len(told) <= 3  # one for each promise, which are public, and none for a trial


def test_receipts_written_before_still_load():
    holds = msgspec.structs.replace(old_receipt(delta=0.5), n_rows=150)
    assert GridReceipt.from_dict(holds.to_dict()).guarantee == "HOLDS"


def test_the_warning_comes_before_the_budget_is_on_disk():
    class Watched:
        def spend(self, receipt):
            raise AssertionError

    marked = msgspec.structs.replace(
        old_receipt(delta=0.5), guarantee="CONDITIONAL", conditions=delta_conditions(0.5, 10)
    )
    with pytest.warns(WeakPromise, match="CONDITIONAL"), pytest.raises(AssertionError):
        Prepared(receipt=marked, draw=list, refusal="").run(Watched())


def test_the_command_says_it_first_and_the_card_keeps_it(tmp_path, capsys):
    table, schema, model = (tmp_path / name for name in ("t.csv", "s.toml", "m.json"))
    table.write_text("x,y\n" + "1,1\n0,0\n" * 75, encoding="utf-8")
    schema.write_text(
        'name = "t"\ntarget = { column = "y", positive = "1", negative = "0" }\n'
        '[[feature]]\ncolumn = "x"\nbinary = true\n',
        encoding="utf-8",
    )
    call = ["fit", str(table), "--schema", str(schema), "--epsilon", "1", "--delta", "0.5"]
    call += ["--mechanism", "opdisc", "--noise", "gaussian", "--out", str(model)]
    assert run_command_line(cli, call) == 0
    printed = capsys.readouterr()
    words = "it is accepted that delta 0.5 may expose 75 of the 150 rows"
    assert printed.err.startswith("warning: the receipt is CONDITIONAL on this: " + words)
    assert printed.err.count(words) == 1 and words in printed.out
    page = tmp_path / "card.html"
    assert run_command_line(cli, ["show", str(model), "--html", str(page)]) == 0
    assert words in page.read_text(encoding="utf-8")
    capsys.readouterr()
    for form in ([], ["--explain"]):
        assert run_command_line(cli, ["show", str(model), *form]) == 0
        assert words in capsys.readouterr().out


@pytest.mark.parametrize("guarantee", ["HOLDS", "CONDITIONAL", "VOID", None])
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_a_comparison_marks_methods_without_a_receipt_too(guarantee, relation):
    row = {"delta": 1e-4, "relation": relation, "n_train": 5000}
    fitted = Fitted(predict=len, delta=1e-4, guarantee=guarantee, conditions=())
    found = _privacy(fitted, row)
    marked = guarantee in ("HOLDS", "CONDITIONAL")
    assert found["guarantee"] == ("CONDITIONAL" if marked else guarantee)
    assert len(found["conditions"]) == marked
    small = _privacy(Fitted(predict=len, delta=1e-8, guarantee=guarantee), row)
    assert small["guarantee"] == guarantee and small["conditions"] == []
