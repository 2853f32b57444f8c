"""A card as a FHIR questionnaire: an evaluator that we did not write gives totals and answers."""

import json
import random

import pytest
from helpers.opdisc.cards import HIDDEN, any_cards, released
from helpers.opdisc.exported import held_row, read_columns, shown_model, told
from helpers.opdisc.questionnaires import Questionnaire, filled_in

from opdisc.errors import ModelFileError
from opdisc.models import card_fhir

TARGET = {"column": "ill", "positive": "yes", "negative": "no"}


def questionnaire(*features, points):
    return card_fhir(released({"name": "w", "target": TARGET, "feature": [*features]}, points))


@pytest.mark.slow
@pytest.mark.extras("fhirpathpy")
def test_the_questionnaire_scores_as_the_model_does():
    rng = random.Random(2)
    for _ in range(50):
        model = shown_model(rng, digits=6)
        form, read = Questionnaire(card_fhir(model)), read_columns(model)
        for _ in range(20):
            row = held_row(rng, model.schema)
            row = {name: cell if name in read else None for name, cell in row.items()}
            row = filled_in(row, model.schema)
            assert form(row) == told(model, row)


@pytest.mark.extras("fhirpathpy")
def test_a_broken_questionnaire_would_be_noticed():
    text = questionnaire({"column": "x", "thresholds": [3, 5]}, points=[1, 2])
    cells = (None, 2.0, 3.0, 5.0)
    assert [Questionnaire(text)({"x": x})[0] for x in cells] == [0, 0, 1, 3]
    broken = Questionnaire(text.replace(">= (3.0)", "> (3.0)"))
    assert [broken({"x": x})[0] for x in cells] != [0, 0, 1, 3]


@pytest.mark.extras("fhirpathpy")
@pytest.mark.parametrize("label", ("it's", "''", '"', "`x`", "%total", "{x} // y", "é ☃ 𝒳", "1"))
def test_a_label_comes_out_as_it_stands(label):
    target = TARGET | {"positive": label}
    one = {"name": "w", "target": target, "feature": [{"column": "x", "thresholds": [3]}]}
    assert Questionnaire(card_fhir(released(one, [1])))({"x": 3.0}) == (1, label)


@pytest.mark.parametrize("label", ("\\", "a\\n", "\\u0041", "it\\'s"))
def test_a_label_that_evaluators_read_differently_is_refused(label):
    target = TARGET | {"negative": label}
    one = {"name": "w", "target": target, "feature": [{"column": "x", "thresholds": [3]}]}
    with pytest.raises(ModelFileError, match="no backslash"):
        card_fhir(released(one, [1]))


@pytest.mark.extras("fhir")
def test_another_library_takes_the_document_as_r4b():
    from fhir.resources.R4B.questionnaire import Questionnaire as R4B

    rng = random.Random(3)
    for _ in range(3):
        R4B.model_validate_json(card_fhir(shown_model(rng, digits=6)))
    broken = json.loads(questionnaire({"column": "x", "thresholds": [3]}, points=[1]))
    broken["item"][0]["type"] = 5
    with pytest.raises(ValueError):
        R4B.model_validate(broken)


def test_each_value_has_its_weight():
    text = questionnaire({"column": "ward", "categories": ["a", "b"]}, points=[3, 0])
    options = json.loads(text)["item"][0]["answerOption"]
    weights = [(o["valueCoding"]["display"], o["extension"][0]["valueDecimal"]) for o in options]
    assert weights == [("a", 3), ("b", 0), ("anything else", 0)]


def test_what_a_questionnaire_cannot_say_is_refused():
    with pytest.raises(ModelFileError, match="holds one scorecard"):
        card_fhir(any_cards(random.Random(1), "tree"))
    with pytest.raises(ModelFileError, match=r"below 2\^31"):
        questionnaire({"column": "x", "binary": True}, points=[2**31])
    with pytest.raises(ModelFileError, match="8 decimals"):
        questionnaire({"column": "x", "thresholds": [0.123456789]}, points=[1])
    hidden = {"name": "b", "values": [HIDDEN[0]]}
    with pytest.raises(ModelFileError, match="printable values"):
        questionnaire({"column": "x", "categories": ["a", hidden]}, points=[1, 2])
    both = [{"column": "x", "thresholds": [3]}, {"column": "x", "categories": ["never"]}]
    with pytest.raises(ModelFileError, match="a value that is no number"):
        questionnaire(*both, points=[1, 2])
