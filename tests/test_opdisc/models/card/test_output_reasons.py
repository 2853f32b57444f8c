"""What cost a row most: every row of small cards, by hand and by a slow second way."""

import itertools
import random

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.cards import any_model, any_row, released

from opdisc.errors import TableError
from opdisc.models import card as cards
from opdisc.models.card import outputs as module

TARGET = {"column": "ill", "positive": "yes", "negative": "no"}


def card(*features, points, start=0, **more):
    record = {"name": "w", "target": TARGET, "feature": [*features], **more}
    return released(record, points, start)


def reasons(model, count=3, **cells):
    found = model.scored(
        pd.DataFrame({name: [cell] for name, cell in cells.items()}), reasons=count
    )
    return [found[f"reason_{k}"][0] for k in range(1, count + 1)]


CUTS = {"column": "month", "thresholds": [10, 20]}
WARD = {"column": "ward", "categories": ["a", "b", "c"]}


def test_a_row_below_the_threshold_lost_points():
    model = card({"column": "fever", "binary": True}, {"column": "late", "binary": True},
                 points=[2, -3])  # fmt: skip
    assert reasons(model, fever="0", late="1") == ["late", "not: fever", ""]
    assert reasons(model, fever="1", late="1") == ["late", "", ""]
    assert reasons(model, fever="0", late="0") == ["not: fever", "", ""]
    assert reasons(model, fever="", late="0") == ["not: fever", "", ""]


def test_a_row_from_the_threshold_on_got_points():
    model = card({"column": "fever", "binary": True}, {"column": "late", "binary": True},
                 points=[2, -1])  # fmt: skip
    assert reasons(model, fever="1", late="0") == ["fever", "not: late", ""]
    assert reasons(model, fever="1", late="1") == ["fever", "", ""]


def test_of_cuts_the_one_that_would_have_to_be_otherwise():
    model = card(CUTS, points=[-1, 3], start=-5)
    assert reasons(model, 1, month="5") == ["not: month >= 20"]
    assert reasons(model, 1, month="15") == ["not: month >= 20"]
    assert reasons(model, 1, month="25") == [""]
    falling = card(CUTS, points=[2, -2], start=-5)
    assert reasons(falling, 1, month="25") == ["month >= 20"]
    assert reasons(falling, 1, month="") == ["not: month >= 10"]


def test_of_values_the_one_that_is_there_if_it_costs_points():
    model = card(WARD, points=[3, -2, 0], start=-9)
    assert reasons(model, 1, ward="a") == [""]
    assert reasons(model, 1, ward="b") == ["ward = b"]
    for cell in ("c", "another", ""):
        assert reasons(model, 1, ward=cell) == ["not: ward = a"]


def test_equal_costs_come_in_the_order_of_the_card():
    features = [{"column": name, "binary": True} for name in "cab"]
    model = card(*features, points=[-1, -2, -1])
    assert reasons(model, c="1", a="1", b="1") == ["a", "c", "b"]


def test_columns_that_exclude_each_other_are_one_line():
    features = [{"column": name, "binary": True} for name in "ab"]
    model = card(*features, points=[-1, -4], exclusive=[["a", "b"]])
    assert reasons(model, 2, a="1", b="1") == ["a", ""]
    assert reasons(model, 2, a="0", b="1") == ["b", ""]


def slow_costs(model, row):
    """Return what each raw column of a row costs, from the totals of other rows alone."""
    others = [
        (name, {**row, name: cell})
        for name, kinds in kinds_of(model.schema).items()
        for cell in kinds
    ]
    frame = pd.DataFrame([row, *(other for _, other in others)], dtype=object)
    total, *totals = model.scored(frame)["total"].tolist()
    wanted = max if total < model.scorecard.threshold else min
    return {
        name: abs(wanted(t for t, (n, _) in zip(totals, others, strict=True) if n == name) - total)
        for name in row
    }


def kinds_of(schema):
    """Return a cell of each kind that a column's statements tell apart."""
    found = {}
    for feature in schema.features:
        if feature.kind == "thresholds":
            cells = [None, *(str(cut) for cut in feature.thresholds)]
        else:
            cells = [None, *feature.values]
            cells += ["none of them"] if feature.kind == "categories" else []
        found[feature.column] = cells
    return found


def told_rows(count):
    """Yield models without groups and rows that they read."""
    rng = random.Random(5)
    while count:
        model = any_model(rng)
        row = any_row(rng, model.schema, unreadable=0)
        if model.schema.exclusive or not any(model.scorecard.points):
            continue
        try:
            model.explain(row)
        except TableError:
            continue
        count -= 1
        yield model, row


def check(model, row):
    """Compare order and number of the reasons with what other cells would have brought."""
    names = [f"reason_{k}" for k in range(1, 8)]
    frame = pd.DataFrame({name: [cell] for name, cell in row.items()}, dtype=object)
    found = model.scored(frame, reasons=7)
    told = [found[name][0] for name in names if found[name][0]]
    costs = slow_costs(model, row)
    plain = {cards.plain(name): name for name in model.scorecard.columns}
    column = {
        name: feature.column for feature in model.schema.features for name in feature.column_names
    }
    places = [
        (
            -costs[column[plain[text.removeprefix("not: ")]]],
            model.scorecard.columns.index(plain[text.removeprefix("not: ")]),
        )
        for text in told
    ]
    assert places == sorted(places)
    assert len(told) == sum(cost > 0 for cost in costs.values())


def test_reasons_are_what_other_cells_would_have_brought():
    for model, row in told_rows(40):
        check(model, row)


def test_a_wrong_way_would_be_noticed(monkeypatch):
    right = module._missed
    monkeypatch.setattr(module, "_missed", lambda card, line, sign: right(card, line, -sign))
    with pytest.raises(AssertionError):
        for model, row in told_rows(5):
            check(model, row)


def test_every_row_of_a_small_card_adds_up():
    model = card(CUTS, WARD, {"column": "fever", "binary": True}, points=[1, -2, 3, 0, -1, 2])
    cells = itertools.product(("", "5", "10", "20"), ("a", "b", "c", "d", ""), ("0", "1", ""))
    table = pd.DataFrame(cells, columns=["month", "ward", "fever"])
    found = model.scored(table, points=True)
    points = [column for name, column in found.items() if name.startswith("points: ")]
    assert len(points) == 5  # a statement without points has none
    assert np.array_equal(sum(points), found["total"])
    by_hand = [
        (m != "" and int(m) >= 10) - 2 * (m == "20") + 3 * (w == "a") - (w == "c") + 2 * (f == "1")
        for m, w, f in table.itertuples(index=False)
    ]
    assert found["total"].tolist() == by_hand
    assert found["prediction"].tolist() == ["yes" if t >= 1 else "no" for t in by_hand]
