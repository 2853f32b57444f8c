"""Rows below the places where a private threshold may lie."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from opdisc.data.counting.ranks import count_below
from opdisc.data.schema import Schema
from opdisc.errors import TableError


def schema(**inner):
    return Schema.from_dict(
        {
            "name": "t",
            "target": {"column": "y", "positive": 1, "negative": 0},
            "missing_values": ["?", "-1"],
            "feature": [{"column": "a", "thresholds": {"quantiles": 1, "range": [0, 5], **inner}}],
        }
    )


CELLS = st.one_of(
    st.integers(-3, 8).map(str),
    st.floats(-2, 7).map(lambda x: f"{x:.1f}"),
    st.sampled_from(["", "?", "-1", " 3 ", "1e0"]),
)


@given(st.lists(st.tuples(CELLS, st.sampled_from([-1, 0, 1])), max_size=30))
def test_ranks_are_those_of_a_loop(rows):
    declared = schema(step=0.5)
    cells = [cell for cell, _ in rows]
    labels = np.array([label for _, label in rows], dtype=np.int8)
    if not rows:
        return
    (found,) = count_below(pd.DataFrame({"a": cells}, dtype="str"), declared, labels)
    numbers = [
        min(max(float(cell), 0.0), 5.0)
        for cell, label in rows
        if label and cell.strip() not in ("", "?") and float(cell) != -1
    ]
    places = declared.private_thresholds[0].candidates
    assert found.tolist() == [
        *(sum(number < place for number in numbers) for place in places),
        len(numbers),
    ]


def test_an_unreadable_cell_is_refused_without_its_content():
    table = pd.DataFrame({"a": ["1", "xq7canary"]})
    with pytest.raises(TableError) as caught:
        count_below(table, schema(), np.array([1, 1], dtype=np.int8))
    assert "xq7" not in str(caught.value)
