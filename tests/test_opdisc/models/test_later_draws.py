"""Cards that earlier versions drew with later draws or counted signs load, and mean the same.

``tests/data/later_draws`` was written before one draw took their place: cards with later draws,
with counted signs, with both, of one draw (``few``), and for several classes; the ledger that they
were charged to; and what they predicted and printed. The files must never be written again.
"""

import json
import math
import shutil
from pathlib import Path

import pandas as pd
import pytest
from helpers.opdisc.command_lines import told

from opdisc import Ledger, load_model, save_model
from opdisc.models.card import card_page

SAMPLES = Path(__file__).parents[2] / "data" / "later_draws"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
GONE = ("later", "signs", "signs_then_later")
NOT_STORED = (
    "What the noise may have cost is not said, because the version that saved this card did not "
    "store it."
)


@pytest.fixture(scope="module")
def rows():
    return pd.read_csv(SAMPLES / "table.csv", dtype=str)


@pytest.mark.parametrize("name", [*GONE, "few", "classes"])
def test_an_older_card_predicts_explains_and_promises_the_same(name, rows, tmp_path):
    expected, model = EXPECTED[name], load_model(SAMPLES / f"{name}.json")
    assert model.predict(rows).tolist() == expected["predictions"]
    assert model.summary == expected["summary"]
    assert str(model.explain(rows.iloc[[0]])) == expected["explained"]
    assert str(model.receipt).split("\n") == expected["receipt"]
    save_model(model, tmp_path / "again.json")
    assert load_model(tmp_path / "again.json") == model


@pytest.mark.parametrize("name", GONE)
def test_a_law_that_is_gone_is_shown_as_it_was_and_not_judged(name):
    model = load_model(SAMPLES / f"{name}.json")
    assert model.verdict_.noise is None and not model.verdict_.is_constant
    assert str(model.verdict_) == NOT_STORED and not model.verdict_.good_news
    assert NOT_STORED in card_page(model)
    status, said, _ = told("show", SAMPLES / f"{name}.json", "--explain")
    assert status == 0 and NOT_STORED in said
    assert all(line in said for line in EXPECTED[name]["receipt"])


def test_a_card_of_one_draw_says_what_it_can():
    assert str(load_model(SAMPLES / "few.json").verdict_) == NOT_STORED
    classes = load_model(SAMPLES / "classes.json")
    assert str(classes.verdict_) == EXPECTED["classes"]["verdict"]


def test_a_ledger_with_such_charges_is_read_and_continued(tmp_path):
    shutil.copy(SAMPLES / "ledger.jsonl", tmp_path)
    ledger = Ledger(tmp_path / "ledger.jsonl")
    assert len(ledger.spendings()) == EXPECTED["ledger"]["charges"]
    assert ledger.total()[0] == EXPECTED["ledger"]["epsilon"]
    ledger.spend(load_model(SAMPLES / "later.json").receipt)
    assert math.isclose(ledger.total()[0], EXPECTED["ledger"]["epsilon"] + 4.0)
