"""Totals that rows can get at least and at most: compared with every row there is."""

import itertools
import random

import pandas as pd
import pytest

from opdisc.data import encode_features
from opdisc.data.schema import CategoryFeature, Schema
from opdisc.models.attainable import attainable_totals
from opdisc.models.scorecard import Scorecard

TARGET = {"column": "y", "positive": "yes", "negative": "no"}
NUMBERS = ["", "-9", *(repr(k / 2) for k in range(-2, 9))]
TEXTS = ["", "a", "b", "c", "elsewhere"]


def schema_of(features, **more):
    return Schema.from_stored({"name": "s", "target": TARGET, "feature": features, **more})


def card_of(schema, points, start=0):
    return Scorecard(
        target="y",
        classes=schema.classes,
        columns=schema.column_names,
        points=tuple(points),
        start=start,
    )


def totals_of_every_row(card, schema, cells):
    """Every combination of cells, encoded as a table is."""
    rows = itertools.product(*(cells[name] for name in schema.columns))
    table = pd.DataFrame(list(rows), columns=list(schema.columns), dtype=object)
    return card.scores(encode_features(table, schema))


AGE = {"column": "age", "thresholds": [1, 2, 3]}
BANDS = {"column": "age", "thresholds": [1.5, 2.5], "names": ["old", "very old"]}
CODES = {"column": "age", "categories": ["0", "2", "4"], "missing": "4"}
TOWN = {"column": "town", "categories": ["a", "b"]}
TOWN_AGAIN = {"column": "town", "categories": ["b", "c"], "names": ["B", "C"], "missing": "c"}
BINARY = [{"column": name, "binary": True} for name in ("p", "q", "r")]
P_NUMBER = {"column": "p", "thresholds": [0.5, 2]}

YES_NO = {"one": ["a", "b"], "zero": ["c", "elsewhere"]}
BITS = ["", "0", "1"]

SCHEMAS = {
    "nested": schema_of([AGE]),
    "clipped": schema_of([{**AGE, "range": [0, 3]}]),
    "exclusive categories": schema_of([TOWN]),
    "independent columns": schema_of([AGE, TOWN]),
    "two features of one number": schema_of([AGE, BANDS]),
    "a number that is a code too": schema_of([AGE, CODES], missing_values=["-9"]),
    "two features of one text": schema_of([TOWN, TOWN_AGAIN]),
    "declared exclusive": schema_of(BINARY, exclusive=[["p", "q", "r"]]),
    "declared exclusive, one more": schema_of([*BINARY, TOWN], exclusive=[["r", "p"]]),
    "an exclusive column seen twice": schema_of([*BINARY, P_NUMBER], exclusive=[["q", "p"]]),
    "a cut that is missing": schema_of([AGE, BINARY[0]], missing_values=["2", "-9"]),
    "codes of a number": schema_of([AGE | {"codes": {"-0.5": "no", "4": "yes", "-9": "missing"}}]),
    "codes of a yes or no": schema_of([BINARY[1] | {"codes": {"7": "refused"}}]),
    "yes and no by name": schema_of([{"column": "town", "binary": YES_NO, "name": "early"}, TOWN]),
}
CELLS = {"age": NUMBERS, "town": TEXTS, "p": BITS, "q": [*BITS, "7"], "r": BITS}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_range_is_that_of_every_row(name):
    schema, rng = SCHEMAS[name], random.Random(7)
    constant = set()
    codes = schema.features[-1].column == "q" and isinstance(schema.features[-1], CategoryFeature)
    cells = CELLS if codes else CELLS | {"q": BITS}
    for _ in range(60):
        points = [rng.randint(-3, 3) for _ in schema.column_names]
        card = card_of(schema, points, start=rng.randint(-3, 3))
        totals = totals_of_every_row(card, schema, cells)
        assert attainable_totals(card, schema) == (totals.min(), totals.max())
        constant.add(totals.max() < 1 or totals.min() >= 1)
    assert constant == {True, False}


def test_points_that_exclude_each_other_are_not_added():
    schema = SCHEMAS["exclusive categories"]
    assert attainable_totals(card_of(schema, [1, 1], start=-1), schema) == (-1, 0)
    free = schema_of(BINARY[:2])
    assert attainable_totals(card_of(free, [1, 1], start=-1), free) == (-1, 1)


def test_huge_thresholds_stay_numbers():
    schema = schema_of([{"column": "age", "thresholds": [-1.7e308, 1.7e308]}])
    assert attainable_totals(card_of(schema, [1, 1]), schema) == (0, 2)
