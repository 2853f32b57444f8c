"""Private thresholds of a stream: ranks in one pass, points in a second, no row held."""

import os
import pickle
import threading
import tomllib
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import opdisc.data.reading.tables as held_tables
from opdisc import Ledger, PrivateScorecardClassifier, count_rows, read_table
from opdisc.cli.fitting import learn_model, read_to_learn
from opdisc.data.counting import row_counts
from opdisc.data.counting.ranks import count_below
from opdisc.data.counting.sources import reads_twice
from opdisc.data.reading import DTYPES_DECLARED
from opdisc.data.schema import Schema
from opdisc.errors import TableError, UncertifiedRelease

DECLARED = """
name = "loans"
target = { column = "risk", positive = "bad", negative = "good" }
missing_values = ["?", "-1"]
exclusive = [["own", "rent"]]
[[feature]]
column = "age"
thresholds = { quantiles = 3, range = [0, 120] }
names = ["grown", "settled", "retired"]
[[feature]]
column = "own"
binary = true
[[feature]]
column = "months"
thresholds = { quantiles = 1, range = [0, 72], step = 2 }
[[feature]]
column = "rent"
binary = true
[[feature]]
column = "age"
thresholds = { quantiles = 2, range = [30, 60] }
names = ["not young", "old"]
"""
SCHEMA = Schema.from_dict(tomllib.loads(DECLARED))
SETTINGS = {"epsilon": 5.0, "schema": SCHEMA, "random_state": 11, "weight_bound": 1}


def loans(n=700, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(15, 90, n)
    return pd.DataFrame(
        {
            "age": rng.choice(["", " 44.5 ", "5e1", "1e9", "?"], n),
            "own": rng.choice(["0", "1", ""], n),
            "months": rng.choice(["6", "12", "24.0", "-1", "", "true"], n),
            "rent": rng.choice(["0", "1"], n),
            "risk": np.where(rng.random(n) < 0.05, "", np.where(age < 40, "bad", "good")),
        },
        dtype="str",
    ).assign(age=lambda t: np.where(rng.random(n) < 0.8, age.astype(str), t["age"]))


@pytest.fixture
def path(tmp_path):
    loans().to_csv(tmp_path / "loans.csv", index=False)
    return tmp_path / "loans.csv"


def below(table):
    signs = np.where(table["risk"] == "bad", 1, np.where(table["risk"] == "good", -1, 0))
    return count_below(table, SCHEMA, signs.astype(np.int8))


@pytest.mark.parametrize("chunk_cells", [1, 37, 10**6])
def test_ranks_of_a_stream_are_those_of_the_table(path, chunk_cells):
    counts = count_rows(path, SCHEMA, chunk_cells=chunk_cells)
    table = read_table(path)
    for found, right in zip(counts.ranks, below(table), strict=True):
        np.testing.assert_array_equal(found, right)
    stand_ins = count_rows(path, SCHEMA.with_stand_ins())
    np.testing.assert_array_equal(counts.points, stand_ins.points)
    np.testing.assert_array_equal(counts.positives, stand_ins.positives)
    assert counts.schema == SCHEMA and counts.n_rows == len(table)
    assert pickle.loads(pickle.dumps(counts)) == counts


def test_sums_add_ranks_and_read_all_parts_again(path):
    table = read_table(path)
    whole = count_rows(path, SCHEMA)
    parts = [table.iloc[:100], table.iloc[100:]]
    for counts in (
        count_rows(parts[0], SCHEMA) + count_rows(parts[1], SCHEMA),
        count_rows(parts, SCHEMA),
        count_rows([parts[1], count_rows(parts[0], SCHEMA)], SCHEMA),
    ):
        assert counts == whole
        concrete = SCHEMA.with_thresholds([(20, 40, 60), (24,), (35, 50)])
        assert counts.recount(concrete) == count_rows(path, concrete)
    assert "recount" not in repr(whole) and "ranks" not in repr(whole)


def test_the_same_entropy_gives_the_model_of_the_held_table(path, tmp_path):
    table = read_table(path)
    held = PrivateScorecardClassifier(**SETTINGS, ledger=tmp_path / "a").fit(table, table["risk"])
    streamed = PrivateScorecardClassifier(**SETTINGS, ledger=tmp_path / "b")
    streamed.fit_counts(count_rows(path, SCHEMA))
    assert held.to_model().to_dict() == streamed.to_model().to_dict()
    assert len(held.schema_.features[0].thresholds) == 3
    assert [len(Ledger(tmp_path / book).spendings()) for book in "ab"] == [1, 1]
    assert DTYPES_DECLARED not in streamed.receipt_.conditions


def test_the_command_holds_no_row(path, tmp_path, monkeypatch):
    schema = tmp_path / "loans.toml"
    schema.write_text(DECLARED, encoding="utf-8")
    held = learn_model(read_table(path), schema, epsilon=5.0, random_state=11, weight_bound=1)
    monkeypatch.delattr(held_tables, "read_table")
    said = []
    counts = read_to_learn(path, schema, {}, said.append)
    model = learn_model(counts, schema, epsilon=5.0, random_state=11, weight_bound=1)
    assert model.to_dict() == held.to_dict() and not said


def test_a_pipe_is_held_and_that_is_said(path, tmp_path):
    schema = tmp_path / "loans.toml"
    schema.write_text(DECLARED, encoding="utf-8")
    pipe, text = tmp_path / "pipe", path.read_bytes()
    os.mkfifo(pipe)
    assert not reads_twice(pipe) and reads_twice(path) and reads_twice(tmp_path / "none")
    writer = threading.Thread(target=pipe.write_bytes, args=(text,), daemon=True)
    writer.start()
    said = []
    table = read_to_learn(pipe, schema, {}, said.append)
    writer.join()
    pd.testing.assert_frame_equal(table, read_table(path))
    assert len(said) == 1 and "can be read once" in said[0] and "\n" not in said[0]
    with pytest.raises(TableError, match="a pipe gives them once"):
        count_rows(pipe, SCHEMA)


def test_what_gives_its_rows_once_is_refused(path):
    for once in (iter([read_table(path)]), [iter([read_table(path)])]):
        with pytest.raises(TableError, match="gives them once"):
            count_rows(once, SCHEMA)


@pytest.mark.parametrize("after", ["age,own\n1,1\n", None, "more rows"])
@pytest.mark.parametrize("seen", [True, False])
def test_a_file_that_changed_in_between_releases_nothing(path, tmp_path, after, seen, monkeypatch):
    counts = count_rows(path, SCHEMA)
    if after is None:
        path.unlink()
    elif after == "more rows":
        path.write_text(path.read_text() + "30,1,12,0,bad\n")
    else:
        path.write_text(after)
    model = PrivateScorecardClassifier(**SETTINGS, ledger=tmp_path / "book")
    if not seen:  # as if it changed after the last look
        monkeypatch.setattr(type(counts.recount), "check", lambda self: None)
    with pytest.raises(TableError if seen else UncertifiedRelease) as caught:
        model.fit_counts(counts)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert len(Ledger(tmp_path / "book").spendings()) == (not seen)
    assert not hasattr(model, "scorecard_")


@pytest.mark.slow
def test_memory_does_not_grow_with_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(row_counts, "_PENDING", 1_000)  # points that may wait, whatever the rows
    text = loans(2_000).to_csv(index=False)
    head, _, body = text.partition("\n")
    peaks = []
    for n in (50_000, 150_000):
        file = tmp_path / f"{n}.csv"
        file.write_text(head + "\n" + body * (n // 2_000))
        tracemalloc.start()
        counts = count_rows(file, SCHEMA)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert counts.n_rows == n
    assert peaks[1] < 1.2 * peaks[0]
