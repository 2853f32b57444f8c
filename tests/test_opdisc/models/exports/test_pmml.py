"""A card as PMML: an evaluator of the document alone gives the card's totals and answers."""

import random

import pytest
from helpers.opdisc.cards import HIDDEN, any_cards, released
from helpers.opdisc.exported import held_row, read_columns, shown_model, told
from helpers.opdisc.pmml import Invalid, Scorecard
from hypothesis import given, settings, strategies as st

from opdisc.errors import ModelFileError
from opdisc.models import card_pmml

TARGET = {"column": "ill", "positive": "yes", "negative": "no"}


def by_document(scorecard, row):
    try:
        found = scorecard(row)
    except Invalid:
        return None
    return found["card_total"], found["card_prediction"]


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_the_document_scores_as_the_model_does(seed):
    rng = random.Random(seed)
    model = shown_model(rng)
    scorecard, read = Scorecard(card_pmml(model)), read_columns(model)
    for _ in range(12):
        row = held_row(rng, model.schema)
        row = {name: cell if name in read else None for name, cell in row.items()}
        assert by_document(scorecard, row) == told(model, row)
