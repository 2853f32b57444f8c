"""Counts made by hand, rows counted twice: refused where it can be seen, else a condition."""

import copy
import dataclasses
import os
import pickle

import numpy as np
import pandas as pd
import pytest

from opdisc import Ledger, PrivateScorecardClassifier, read_table
from opdisc.data.counting import RowCounts, count_rows
from opdisc.data.reading import MADE_BY_HAND, NO_ROW_TWICE
from opdisc.data.schema import Schema
from opdisc.errors import TableError

SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "y", "positive": 1, "negative": 0},
        "feature": [{"column": "a", "binary": True}, {"column": "b", "binary": True}],
    }
)
DRAWN = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "y", "positive": 1, "negative": 0},
        "feature": [{"column": "n", "thresholds": {"quantiles": 2, "range": [0, 10], "step": 1}}],
    }
)
ROWS = pd.DataFrame({"a": [0, 1, 1, 0], "b": [1, 1, 0, 0], "y": [1, 0, 1, 0]})


@pytest.fixture
def path(tmp_path):
    ROWS.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def learned(counts, **settings):
    settings = {"schema": SCHEMA, "classes": None, **settings}
    return PrivateScorecardClassifier(**settings).fit_counts(counts)


def conditions(counts, **settings):
    receipt = learned(counts, **settings).receipt_
    assert receipt.guarantee == ("CONDITIONAL" if receipt.conditions else "HOLDS")
    return receipt.conditions


BY_HAND = {
    "scaled": lambda c: {
        "positives": c.positives * 1000,
        "negatives": c.negatives * 1000,
        "n_rows": c.n_rows * 1000,
    },
    "one row moved": lambda c: {"positives": c.negatives, "negatives": c.positives},
    "more rows": lambda c: {"n_rows": c.n_rows + 7},
    "points": lambda c: {"points": c.points[::-1].copy()},
    "nothing": lambda c: {},
}


@pytest.mark.parametrize("changes", BY_HAND.values(), ids=BY_HAND)
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_numbers_made_by_hand_are_a_condition(path, changes, relation):
    counts = count_rows(path, SCHEMA)
    assert conditions(counts, relation=relation) == ()
    made = dataclasses.replace(counts, **changes(counts))
    kept = [made, pickle.loads(pickle.dumps(made)), made + count_rows(path, SCHEMA)]
    for hand in [*kept, count_rows([made], SCHEMA)]:
        assert MADE_BY_HAND in conditions(hand, relation=relation)
    fields = {f.name: getattr(counts, f.name) for f in dataclasses.fields(counts) if f.init}
    assert conditions(RowCounts(**fields), relation=relation) == (MADE_BY_HAND,)


def test_counted_rows_stay_counted(path):
    counts = count_rows(path, SCHEMA)
    assert conditions(pickle.loads(pickle.dumps(counts))) == ()
    as_text = read_table(path)
    fitted = PrivateScorecardClassifier(schema=SCHEMA).fit(as_text, as_text["y"])
    assert fitted.receipt_.conditions == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"positives": np.array([-1, 1, 1, 1])},
        {"negatives": np.array([0, 0, 0, -(2**40)])},
        {"positives": np.array([1.0, 0, 0, 0])},
        {"positives": np.array([2, 0, 1, 0])},
        {"positives": np.array([2**62] * 4), "negatives": np.array([2**62] * 4)},
        {"n_rows": 3},
        {"n_rows": 0},
        {"positives": np.array([1, 0, 1])},
        {"points": np.ones((4, 2), dtype=np.int8)},
    ],
)
def test_numbers_that_cannot_be_counts_are_refused(wrong):
    counts = count_rows(ROWS, SCHEMA)
    with pytest.raises(TableError, match=r"^counts must .*count_rows\.$"):
        dataclasses.replace(counts, **wrong)


def test_numbers_changed_in_place_are_refused_before_the_charge(tmp_path):
    ledger = tmp_path / "l"
    counts = count_rows(ROWS, SCHEMA)
    counts.positives.setflags(write=True)
    counts.positives[:] = counts.positives * 1000
    with pytest.raises(TableError, match="add up to at most n_rows"):
        learned(counts, ledger=ledger)
    assert not ledger.exists()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies_cannot_be_written_to_either(copied):
    rows = pd.DataFrame({"n": [1, 2, 3, 8], "y": [0, 1, 0, 1]})
    counts = copied(count_rows(rows, DRAWN))
    for array in (counts.points, counts.positives, counts.negatives, *counts.ranks):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    assert counts == count_rows(rows, DRAWN)


def test_ranks_that_cannot_be_counts_are_refused():
    counts = count_rows(pd.DataFrame({"n": [1, 2, 3, 8], "y": [0, 1, 0, 1]}), DRAWN)
    (below,) = counts.ranks
    for wrong in (below[::-1].copy(), below * 1000, below - 1, below.astype(float)):
        with pytest.raises(TableError, match="^counts must"):
            dataclasses.replace(counts, ranks=(wrong,))


def test_the_same_rows_twice_are_refused_where_that_can_be_seen(path, tmp_path):
    one, frame = count_rows(path, SCHEMA), ROWS.copy()
    other = count_rows(ROWS.copy(), SCHEMA)
    link = tmp_path / "link.csv"
    os.symlink(path, link)
    twice = [
        lambda: one + one,
        lambda: one + pickle.loads(pickle.dumps(one)),
        lambda: (one + other) + other,
        lambda: one + (other + one),
        lambda: one + count_rows(path, SCHEMA),
        lambda: one + count_rows(link, SCHEMA),
        lambda: count_rows([path, str(path)], SCHEMA),
        lambda: count_rows([one, one], SCHEMA),
        lambda: count_rows([one, path], SCHEMA),
        lambda: count_rows([frame, frame], SCHEMA),
        lambda: count_rows((part for part in [frame, frame]), SCHEMA),
        lambda: count_rows(frame, SCHEMA) + count_rows(frame, SCHEMA),
    ]
    for add in twice:
        with pytest.raises(TableError, match="^rows must be added once, but the same table"):
            add()
    made = dataclasses.replace(one)
    with pytest.raises(TableError, match="^rows must be added once"):
        made + made


def test_a_frame_that_was_filled_anew_is_another_table():
    frame = ROWS.copy()
    one = count_rows(frame, SCHEMA)
    frame.loc[:, :] = ROWS.iloc[::-1].to_numpy()
    two = count_rows(frame, SCHEMA)
    assert (one + two).n_rows == 2 * len(ROWS)
    with pytest.raises(TableError, match="^rows must be added once"):
        two + count_rows(frame, SCHEMA)


def test_tables_added_up_are_a_condition(path, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(path.read_bytes())
    one, two = count_rows(path, SCHEMA), count_rows(copy, SCHEMA)
    assert conditions(one) == conditions(two) == ()
    for together in (one + two, count_rows([path, copy], SCHEMA), count_rows([one], SCHEMA)):
        assert conditions(together) == (NO_ROW_TWICE,)


def test_a_file_that_changes_is_another_table(path):
    one = count_rows(path, SCHEMA)
    path.write_text("a,b,y\n1,1,1\n")
    assert (one + count_rows(path, SCHEMA)).n_rows == 5


def _remove(path):
    path.unlink()


def _append(path):
    path.write_text(path.read_text() + "4,1\n")


def _replace(path):
    text = path.read_text()
    path.unlink()
    path.write_text(text)


@pytest.mark.parametrize("change", [_remove, _append, _replace])
def test_a_file_gone_before_it_is_read_again_is_noticed_before_the_charge(tmp_path, change):
    path, ledger = tmp_path / "t.csv", tmp_path / "l.ledger"
    book = Ledger.create(ledger, epsilon_limit=9, table="t")
    path.write_text("n,y\n" + "".join(f"{k % 10},{k % 2}\n" for k in range(40)))
    other = tmp_path / "o.csv"
    other.write_text(path.read_text())
    for counts in (
        count_rows(path, DRAWN),
        count_rows([path, other], DRAWN),
        count_rows(path, DRAWN) + count_rows(other, DRAWN),
        count_rows([count_rows(path, DRAWN)], DRAWN),
    ):
        before = path.read_text()
        change(path)
        with pytest.raises(TableError, match="a file is gone or has changed"):
            learned(counts, schema=DRAWN, ledger=ledger)
        path.write_text(before)
    assert not book.book().spendings
    learned(count_rows(path, DRAWN), schema=DRAWN, ledger=ledger)
    assert len(book.book().spendings) == 1


NOTHING = pd.DataFrame({"a": [], "b": [], "y": []}, dtype="int64")


@pytest.mark.parametrize(
    "mechanism", ["auto", "exponential", "permute_and_flip", "opdisc", "staged"]
)
def test_hidden_rows_may_be_none_or_of_one_class(mechanism, tmp_path):
    """Under add-or-remove-one a refusal would tell neighbours apart: with a row and without."""
    hidden = {"relation": "add_or_remove_one", "mechanism": mechanism, "risk_budget": 0.2}
    header = tmp_path / "t.csv"
    header.write_text("a,b,y\n")
    for rows in (NOTHING, ROWS[:1], ROWS[1:2], ROWS[ROWS["y"] == 1], header):
        assert learned(count_rows(rows, SCHEMA), **hidden).receipt_.epsilon == 1.0
    for rows in (NOTHING, ROWS[:1], ROWS[1:2]):
        model = PrivateScorecardClassifier(schema=SCHEMA, **hidden).fit(rows, rows["y"])
        assert set(model.predict(ROWS)) <= {0, 1}
    public = PrivateScorecardClassifier(schema=SCHEMA, mechanism=mechanism)
    with pytest.raises(TableError, match="at least one row"):
        public.fit_counts(count_rows(NOTHING, SCHEMA))
    with pytest.raises(TableError, match="both classes"):
        public.fit(ROWS[:1], ROWS["y"][:1])


def test_no_hidden_rows_have_private_thresholds():
    empty = pd.DataFrame({"n": [], "y": []}, dtype="int64")
    model = PrivateScorecardClassifier(schema=DRAWN, relation="add_or_remove_one")
    assert not model.fit(empty, empty["y"]).schema_.private_thresholds
    assert not model.fit_counts(count_rows(empty, DRAWN)).schema_.private_thresholds


@pytest.mark.parametrize("times", [10**9, 10**12])
@pytest.mark.parametrize("costs", [None, {"false_negative": 999, "false_positive": 1}])
def test_any_number_of_hidden_rows_is_learned_from(times, costs):
    schema = Schema.equal_width(30)
    names = [*schema.columns, "target"]
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (9, 31)), columns=names)
    counts = count_rows(rows, schema)
    scaled = times if costs is None else times // 1000
    made = dataclasses.replace(
        counts,
        positives=counts.positives * scaled,
        negatives=counts.negatives * scaled,
        n_rows=counts.n_rows * scaled,
    )
    settings = {"schema": schema, "relation": "add_or_remove_one", "error_costs": costs}
    model = learned(made, mechanism="staged", public_row_guess=1000, **settings)
    assert model.receipt_.conditions[-1:] == (MADE_BY_HAND,)
