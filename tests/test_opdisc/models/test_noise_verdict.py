"""What a card's file says of its noise: every field is read strictly, and nothing rests on it."""

import json
import math
from dataclasses import replace

import pandas as pd
import pytest
from helpers.opdisc.cards import released

from opdisc import PrivateScorecardClassifier, load_model, save_model
from opdisc.errors import ModelFileError
from opdisc.models import NoBound, NoiseVerdict, TiltVerdict
from opdisc.models.document import model_digest
from opdisc.models.noise_verdict import noise_record, read_noise

SCHEMA = {
    "name": "s",
    "target": {"column": "y", "positive": 1, "negative": 0},
    "feature": [{"column": "a", "binary": True}],
}
ERRORS = NoiseVerdict(epsilon=1.0, rows=400, extra=12.5, level=0.95, rows_needed=7)
WITHOUT_A_BOUND = NoiseVerdict(epsilon=1.0, rows=9, extra=math.inf, level=0.9)
TILT = TiltVerdict(epsilon=1.0, rows=None, moved=3.0)


@pytest.mark.parametrize(
    "noise",
    [ERRORS, TILT, NoBound(), NoiseVerdict(epsilon=1.0, rows=9, extra=math.inf, level=0.9)],
)
def test_what_is_written_is_read(noise):
    written = json.loads(json.dumps(noise_record(noise), allow_nan=False))
    assert read_noise(written) == noise


@pytest.mark.parametrize("noise", [ERRORS, TILT, NoBound()])
def test_no_field_is_left_out_added_or_of_another_kind(noise):
    record = noise_record(noise)
    wrong = [{**record, "other": 1}, {**record, "kind": "promise"}, {**record, "kind": None}]
    optional = set(NoiseVerdict.__struct_fields__[4:])
    for name in record:
        others = ["x\ny", [], -1.0, True] if name != "over_constants" else ["x", [], True]
        wrong += [{**record, name: other} for other in others]
        if name not in optional:
            wrong.append({key: value for key, value in record.items() if key != name})
    for each in wrong:
        with pytest.raises((ValueError, LookupError, TypeError)):
            read_noise(each)


@pytest.mark.parametrize(
    "edit", [{"epsilon": 0.0}, {"level": 1.0}, {"rows": -1}, {"n_classes": 1}, {"typical": 0.0}]
)
def test_numbers_out_of_range_are_refused(edit):
    with pytest.raises(ValueError):
        read_noise({**noise_record(ERRORS), **edit})


@pytest.fixture(scope="module")
def model():
    table = pd.DataFrame({"a": [0, 1] * 100, "b": [0, 0, 1, 1] * 50})
    card = PrivateScorecardClassifier(epsilon=2.0, classes=(0, 1)).fit(table, table["a"])
    return card.to_model()


def test_a_fitted_card_is_of_the_version_that_says_it(model, tmp_path):
    assert model.to_dict()["version"] == 3 and model.noise.epsilon == 2.0
    save_model(model, tmp_path / "card.json")
    assert load_model(tmp_path / "card.json") == model


def test_a_card_of_an_earlier_version_stays_what_it_is(tmp_path):
    older = released(SCHEMA, (1,))
    assert older.noise is None and older.to_dict()["version"] == 1
    save_model(older, tmp_path / "card.json")
    again = load_model(tmp_path / "card.json")
    assert again.to_dict() == older.to_dict(), "reports name a card by its digest"


def edited(model, path, change):
    record = model.to_dict()
    del record["sha256"]
    change(record)
    path.write_text(json.dumps({**record, "sha256": model_digest(record)}))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r["noise"].update(epsilon=1.0),
        lambda r: r["noise"].update(rows=201),
        lambda r: r.update(noise=noise_record(TiltVerdict(epsilon=2.0, rows=200, moved=1.0))),
    ],
)
def test_noise_that_is_not_that_of_the_receipt_is_refused(model, tmp_path, change):
    with pytest.raises(ModelFileError, match="noise must be that of its receipt"):
        load_model(edited(model, tmp_path / "card.json", change))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.update(version=1),
        lambda r: r.update(version=2),
        lambda r: r.pop("noise"),
        lambda r: r.update(noise=None),
        lambda r: r["noise"].update(extra="few"),
        lambda r: r["noise"].update(beside="two\nlines"),
    ],
)
def test_a_file_that_says_it_otherwise_is_refused(model, tmp_path, change):
    with pytest.raises(ModelFileError, match="valid parts"):
        load_model(edited(model, tmp_path / "card.json", change))


def test_the_guarantee_does_not_rest_on_it(model, tmp_path):
    place = edited(model, tmp_path / "card.json", lambda r: r["noise"].update(extra=0.0))
    praised = load_model(place)
    assert praised.verdict_.noise.extra == 0.0 and praised.receipt == model.receipt
    assert replace(praised, noise=model.noise) == model


@pytest.mark.parametrize(
    "edited",
    [{"extra": None, "typical": 1e308}, {"n_classes": 10**400}, {"over_constants": -5.0}],
    ids=["without an end", "classes", "below none"],
)
def test_numbers_that_no_sentence_can_say_are_refused(edited):
    with pytest.raises(ValueError):  # noqa: PT011
        read_noise({**noise_record(ERRORS), **edited})
