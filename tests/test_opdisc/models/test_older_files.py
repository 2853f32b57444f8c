"""Files written by version 0.1.dev still load, predict the same and promise the same.

``tests/data/version_0_1_dev`` was written by that version: one model for each mechanism of every
kind of model, a ledger, and in ``expected.json`` what it predicted and printed. The files must
never be written again by later code.
"""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from opdisc import Ledger, load_model, save_model

SAMPLES = Path(__file__).parents[2] / "data" / "version_0_1_dev"
EXPECTED = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))
MODELS = sorted(name for name in EXPECTED if name != "ledger")


def rows(model, name):
    """Return the rows that the sample predicted: text by a schema, numbers without."""
    text = pd.read_csv(SAMPLES / "table.csv", dtype=str, keep_default_na=False)
    if model.schema is not None and model.schema.name in ("illness", "ward"):
        return text
    numbers = text[["dose", "stay"]].astype(float)
    return (numbers + 1) / 2 if name.startswith("scorecard") else numbers


NO_SCHEMA = f"{'schema:':<20}none"  # which OPSamp's receipts did not say


def as_printed_now(lines):
    """Return an older receipt's lines in today's words: every kind has the same ones."""
    words = [
        (" (public)", " (public under replace-one)"),
        (", unit: ", ", privacy unit: "),
        ("; scales ", "; scale "),
    ]
    if any(line.startswith("settings:") for line in lines):  # a convex mechanism's
        words.append((" numerical)", " for cut tails; rounding of doubles not covered)"))
    found = []
    for line in lines:
        for before, after in words:
            line = line.replace(before, after)
        if line.startswith("oracle:"):
            line, _, versions = line.rstrip(")").rpartition(" (")
            found.append(f"{'versions:':<20}{versions}")
        found.append(line)
    return found


def scales_sorted(line):
    """Return a line with the noise scales in order of size; older receipts mixed them up."""
    law, found, scales = line.partition("; scale ")
    return law + found + ", ".join(sorted(scales.split(", "), key=float)) if found else line


def test_every_sample_is_tested():
    assert len(MODELS) == 45
    assert {path.stem for path in SAMPLES.glob("*.json")} == {"expected", *MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_an_older_model_means_the_same(name, tmp_path):
    expected, model = EXPECTED[name], load_model(SAMPLES / f"{name}.json")
    found = model.predict(rows(model, name))[:20]
    if isinstance(expected["predictions"][0], float) and not name.startswith("scorecard"):
        np.testing.assert_allclose(found.astype(float), expected["predictions"], atol=1e-9)
    else:
        assert found.tolist() == expected["predictions"]
    assert model.summary == expected["summary"]
    written = as_printed_now(expected["receipt"])
    found_lines = [scales_sorted(line) for line in str(model.receipt).split("\n")]
    assert set(found_lines) ^ {scales_sorted(line) for line in written} <= {NO_SCHEMA}
    save_model(model, tmp_path / "again.json")
    assert load_model(tmp_path / "again.json") == model


def test_an_older_ledger_is_read_and_continued(tmp_path):
    shutil.copy(SAMPLES / "ledger.jsonl", tmp_path)
    ledger, expected = Ledger(tmp_path / "ledger.jsonl"), EXPECTED["ledger"]
    # One fit of the sample is VOID, at epsilon 1: the others add up, the total has no epsilon.
    assert ledger.total()[0] == math.inf
    finite, delta = ledger.ends()[1].amounts
    assert [finite + 1.0, delta] == expected["total"]
    assert list(ledger.limits()) == expected["limits"]
    assert [one.mechanism for one in ledger.spendings()] == expected["mechanisms"]
    ledger.spend(load_model(SAMPLES / "scorecard_permute_and_flip.json").receipt)
    assert ledger.ends()[1].amounts[0] == pytest.approx(finite + 0.5)
    text = (tmp_path / "ledger.jsonl").read_text()
    assert text.startswith((SAMPLES / "ledger.jsonl").read_text())
