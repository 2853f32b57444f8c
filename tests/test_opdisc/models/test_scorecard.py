"""The scorecard: what is printed is what is computed."""

import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opdisc.models.scorecard import Scorecard

NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


@st.composite
def scorecards(draw):
    columns = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    points = draw(st.lists(st.integers(-9, 9), min_size=len(columns), max_size=len(columns)))
    classes = draw(st.lists(NAMES, min_size=2, max_size=2, unique=True))
    return Scorecard(
        target=draw(NAMES),
        classes=(classes[0], classes[1]),
        columns=tuple(columns),
        points=tuple(points),
        start=draw(st.integers(-9, 9)),
    )


CARD = Scorecard(
    target="ill",
    classes=("no", "yes"),
    columns=("age >= 30", "a <b>", "cough"),
    points=(2, -1, 0),
    start=-1,
)


def test_it_can_be_used_with_pencil_and_paper():
    lines = str(CARD).splitlines()
    assert lines[0] == "Predict ill"
    assert [line.split()[-1] for line in lines[1:4]] == ["-1", "+2", "-1"]
    assert lines[4] == "Total of 1 or more: yes. Total of 0 or less: no."
    assert lines[5] == "Not used (0 points): cough"


@given(scorecards(), st.integers(0, 63))
def test_the_printed_points_add_up_to_the_score(card, bits):
    row = [bits >> j & 1 for j in range(len(card.columns))]
    printed = re.findall(r"^  (.*?) +([+-]\d+)$", str(card), re.M)
    truths = {"start with": 1, **dict(zip(card.columns, row, strict=True))}
    total = sum(truths[name] * int(points) for name, points in printed)
    assert card.scores(np.array([[1, *row]], dtype=np.int8)).tolist() == [total]


def test_scores_do_not_overflow_the_encoding():
    # Encoded rows are int8: sums beyond 127 must not wrap.
    card = Scorecard(target="t", classes=(0, 1), columns=("a", "b"), points=(100, 100), start=100)
    assert card.scores(np.ones((1, 3), dtype=np.int8)).tolist() == [300]


@given(scorecards())
def test_it_survives_its_dictionary(card):
    assert Scorecard.from_dict(card.to_dict()) == card


@pytest.mark.parametrize(
    "change",
    [
        {"points": [1, 2]},
        {"points": [1, 2, 0.5]},
        {"points": [1, 2, True]},
        {"points": "abc"},
        {"start": "1"},
        {"classes": ["no"]},
        {"classes": "no"},
        {"columns": [1, 2, 3]},
        {"target": 5},
        {"epsilon": 1},
    ],
)
def test_other_dictionaries_are_refused(change):
    with pytest.raises(ValueError):
        Scorecard.from_dict(CARD.to_dict() | change)


def test_the_notebook_form_escapes_names():
    html = CARD._repr_html_()
    assert "a &lt;b&gt;" in html and "<b>" not in html and "cough" not in html
