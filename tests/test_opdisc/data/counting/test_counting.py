"""Counts of a stream are those of the whole table, however it is cut, and give the same model."""

import csv
import gzip
import io
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from opdisc import PrivateScorecardClassifier, RSPMClassifier, read_table
from opdisc.data.counting import RowCounts, count_rows
from opdisc.data.encoded_table import aggregate
from opdisc.data.encoding import encode_features
from opdisc.data.label_encoding import encode_labels
from opdisc.data.reading import COLUMNS_UNSEEN, DTYPES_DECLARED, NO_ROW_TWICE, count_lines
from opdisc.data.schema import Schema
from opdisc.errors import SchemaError, TableError

SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "y", "positive": 1, "negative": 0},
        "missing_values": ["?", "-9"],
        "exclusive": [["flag", "other"]],
        "feature": [
            {"column": "age", "thresholds": [40, 65], "range": [18, 110]},
            {"column": "ward", "categories": ["a", 1, "002"], "missing": "a"},
            {"column": "flag", "binary": True},
            {"column": "other", "binary": True},
            {"column": "ward", "categories": [{"name": "g", "values": ["b", "ä;\"\n"]}],
             "names": ["ward in g"]},
        ],
    }
)  # fmt: skip
COLUMNS = ["note", "age", "ward", "flag", "y", "other"]
NUMBERS = ["39", "40", "40.0", " 65.0 ", "4e1", "+64.999", "500", ".5", "7.", "-3", "", "?",
           "-9.0", "9" * 30 + "e-28", "true", "0", "1"]  # fmt: skip
WARDS = ["a", " a", "b", "1", "1.0", "002", "2", "", "?", "nan", 'ä;"\n', "x,y", "\r\n"]
BITS = ["0", "1", "", "True", "0.0", "+1", " 1", "?"]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["", "plain", "with, comma", "\u2028", 'a "quote"']),
        st.sampled_from(NUMBERS),
        st.sampled_from(WARDS),
        st.sampled_from(BITS),
        st.sampled_from(["0", "1", "", " 1", "1.0", "?"]),
        st.sampled_from(BITS),
    ),
    min_size=1,
    max_size=12,
)
PLAIN = st.lists(
    st.tuples(
        st.just("plain"),
        st.sampled_from(NUMBERS),
        st.sampled_from(["a", "b", "1.0", "002", "", "?", "nan"]),
        st.sampled_from(BITS),
        st.sampled_from(["0", "1", ""]),
        st.sampled_from(BITS),
    ),
    min_size=1,
    max_size=12,
)


def text_of(rows, **settings):
    out = io.StringIO(newline="")
    csv.writer(out, **settings).writerows([COLUMNS, *rows])
    return out.getvalue()


def whole(table):
    """Count a table in memory by the functions that fits use."""
    encoded = aggregate(encode_features(table, SCHEMA), encode_labels(table, SCHEMA))
    return (
        encoded.points.tolist(),
        encoded.positives.tolist(),
        encoded.negatives.tolist(),
        encoded.n_rows,
    )


def parts(counts):
    return (
        counts.points.tolist(),
        counts.positives.tolist(),
        counts.negatives.tolist(),
        counts.n_rows,
    )


@pytest.mark.parametrize("rows", [ROWS, PLAIN], ids=["quoted", "plain"])
@settings(deadline=None, max_examples=15)
@given(data=st.data())
def test_a_stream_counts_what_the_whole_table_holds(tmp_path_factory, rows, data):
    drawn = data.draw(rows)
    path = tmp_path_factory.mktemp("stream") / "table.csv"
    written_as = {
        "delimiter": data.draw(st.sampled_from([",", ";", "\t"])),
        "lineterminator": data.draw(st.sampled_from(["\n", "\r\n"])),
    }
    written = text_of(drawn, **written_as).encode()
    path.write_bytes(gzip.compress(written) if data.draw(st.booleans()) else written)
    expected = whole(pd.DataFrame(drawn, columns=COLUMNS, dtype="str"))
    for chunk_cells in (1, 3, 20, 2**18):
        counts = count_rows(path, SCHEMA, chunk_cells=chunk_cells)
        assert parts(counts) == expected
        assert counts.assumptions == ()
    assert whole(read_table(path)) == expected
    assert count_lines(path) == len(drawn)


def test_a_last_line_without_an_end_and_blank_lines_after_it(tmp_path):
    rows = [("n", "50", "a", "1", "1", "0"), ("n", "20", "b", "", "0", "1")]
    expected = whole(pd.DataFrame(rows, columns=COLUMNS, dtype="str"))
    text = text_of(rows, lineterminator="\n")
    for ending in ("", "\n\n", "\n\r\n\n"):
        (tmp_path / "t.csv").write_bytes((text.rstrip("\n") + ending).encode())
        for chunk_cells in (1, 4, 1000):
            found = count_rows(tmp_path / "t.csv", SCHEMA, chunk_cells=chunk_cells)
            assert parts(found) == expected


@settings(deadline=None, max_examples=10)
@given(ROWS, ROWS, ROWS)
def test_counts_add_up_in_any_order(first, second, third):
    frames = [pd.DataFrame(rows, columns=COLUMNS, dtype="str") for rows in (first, second, third)]
    a, b, c = (count_rows(frame, SCHEMA) for frame in frames)
    together = count_rows(pd.concat(frames), SCHEMA)
    assert a + b + c == c + (b + a) == together == count_rows(iter(frames), SCHEMA)
    assert parts(together) == whole(pd.concat(frames))
    assert together != a or b.n_rows + c.n_rows == 0


def test_counts_of_more_points_than_wait_at_a_time(monkeypatch):
    from opdisc.data.counting import row_counts

    monkeypatch.setattr(row_counts, "_PENDING", 3)
    wide = Schema.equal_width(70)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (200, 70)), columns=list(wide.columns))
    frame["target"] = rng.integers(0, 2, 200)
    found = count_rows(frame, wide, chunk_cells=700)
    expected = aggregate(encode_features(frame, wide), encode_labels(frame, wide))
    assert np.array_equal(found.points, expected.points)
    assert np.array_equal(found.positives, expected.positives)


def test_more_texts_than_are_remembered(tmp_path, monkeypatch):
    from opdisc.data.counting import texts

    monkeypatch.setattr(texts, "_REMEMBERED", 4)
    rows = [(f"{i}", f" {i}", f"w{i % 9}", "1", f"{i % 2}", "") for i in range(60)]
    (tmp_path / "t.csv").write_text(text_of(rows))
    found = count_rows(tmp_path / "t.csv", SCHEMA, chunk_cells=30)
    assert parts(found) == whole(pd.DataFrame(rows, columns=COLUMNS, dtype="str"))


# --- models --------------------------------------------------------------------------------------

TABLE = pd.DataFrame(
    {
        "age": ["30", "50", "70", ""] * 30,
        "ward": ["a", "b", "1"] * 40,
        "flag": ["0", "1"] * 60,
        "other": ["1", "0", "0", "0"] * 30,
        "y": ["0", "1", "1", "0", "1", ""] * 20,
    }
)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (PrivateScorecardClassifier, {}),
        (PrivateScorecardClassifier, {"relation": "add_or_remove_one", "weight_bound": 1}),
        (RSPMClassifier, {"epsilon": 5.0}),
    ],
)
def test_a_model_from_counts_is_that_from_rows(tmp_path, kind, settings):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    plain = kind(schema=SCHEMA, random_state=3, **settings).fit(table, table["y"])
    counts = count_rows(tmp_path / "t.csv", SCHEMA, chunk_cells=40)
    counted = kind(schema=SCHEMA, random_state=3, **settings).fit_counts(counts)
    assert counted.scorecard_ == plain.scorecard_
    assert counted.receipt_ == plain.receipt_
    assert vars(counted).keys() == vars(plain).keys()
    assert counted.predict(table).tolist() == plain.predict(table).tolist()


def test_a_receipt_holds_for_text_files_and_names_conditions_for_others(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    model = PrivateScorecardClassifier(schema=SCHEMA)
    assert model.fit_counts(count_rows(tmp_path / "t.csv", SCHEMA)).receipt_.guarantee == "HOLDS"
    as_text = count_rows(read_table(tmp_path / "t.csv"), SCHEMA)
    assert model.fit_counts(as_text).receipt_.guarantee == "HOLDS"
    inferred = count_rows(pd.read_csv(tmp_path / "t.csv").astype({"flag": float}), SCHEMA)
    receipt = model.fit_counts(inferred).receipt_
    assert receipt.conditions == (DTYPES_DECLARED, COLUMNS_UNSEEN)
    assert receipt.conditions == model.fit(TABLE, TABLE["y"]).receipt_.conditions
    mixed = count_rows(tmp_path / "t.csv", SCHEMA) + inferred
    assert model.fit_counts(mixed).receipt_.conditions == (*receipt.conditions, NO_ROW_TWICE)


def test_a_table_in_several_files(tmp_path):
    paths = [tmp_path / f"{i}.csv" for i in range(3)]
    for i, path in enumerate(paths):
        TABLE[i * 40 : (i + 1) * 40].to_csv(path, index=False, sep=";")
    found = count_rows(map(str, paths), SCHEMA, delimiter=";")
    assert parts(found) == whole(TABLE) and found.assumptions == ()


def test_counts_that_do_not_fit_are_refused_before_anything_is_spent(tmp_path):
    counts = count_rows(TABLE, SCHEMA)
    model = PrivateScorecardClassifier(schema=SCHEMA, ledger=tmp_path / "absent")
    other = Schema.equal_width(2)
    with pytest.raises(SchemaError, match="the rows were counted by"):
        PrivateScorecardClassifier(schema=other).fit_counts(counts)
    with pytest.raises(SchemaError, match="the rows were counted by"):
        PrivateScorecardClassifier().fit_counts(counts)
    with pytest.raises(SchemaError, match="leave out classes"):
        PrivateScorecardClassifier(schema=SCHEMA, classes=(0, 1)).fit_counts(counts)
    with pytest.raises(TableError, match="count_rows, got DataFrame"):
        model.fit_counts(TABLE)
    with pytest.raises(TableError, match="at least one row"):
        model.fit_counts(count_rows(TABLE[:0], SCHEMA))
    with pytest.raises(TableError, match="rows of both classes"):
        model.fit_counts(count_rows(TABLE[TABLE["y"] == "1"], SCHEMA))
    assert not hasattr(model, "receipt_")
    with pytest.raises(TableError, match="one schema"):
        counts + count_rows(pd.DataFrame({"x0": [1], "x1": [0], "target": [1]}), other)
    assert not (tmp_path / "absent").exists()


def test_counts_say_nothing_and_cannot_be_changed():
    counts = count_rows(TABLE, SCHEMA)
    assert repr(counts) == str(counts) == "RowCounts(schema='s')"
    assert pickle.loads(pickle.dumps(counts)) == counts
    with pytest.raises(ValueError, match="read-only"):
        counts.positives[0] = 0
    with pytest.raises(AttributeError):
        counts.n_rows = 3
    assert isinstance(counts, RowCounts) and counts != 3


# --- refusals ------------------------------------------------------------------------------------

CANARY = "xq7canary"
HEADER = ",".join(COLUMNS) + "\n"
GOOD = "n,50,a,1,1,0\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "start with a line of column names"),
        (HEADER + GOOD + f"n,{CANARY},a,1,1,0\n", "column 'age' must hold finite numbers"),
        (HEADER + GOOD + "n,9e999,a,1,1,0\n", "column 'age' must hold finite numbers"),
        (HEADER + GOOD + "n,1_0,a,1,1,0\n", "column 'age' must hold finite numbers"),
        (HEADER + GOOD + "n,inf,a,1,1,0\n", "column 'age' must hold finite numbers"),
        (HEADER + GOOD + "n,\u0663,a,1,1,0\n", "column 'age' must hold finite numbers"),
        (HEADER + GOOD + "n,5\0,a,1,1,0\n", "column 'age' must hold finite numbers"),
        (HEADER + GOOD + f"n,50,a,1,{CANARY},0\n", "target column 'y' .* a third label"),
        (HEADER + GOOD + f"{CANARY}\n", "line 3 of .* does not"),
        (HEADER + f'"{CANARY}\n\n",50,a,1,1,0\n' + GOOD + f"1,{CANARY}\n", "line 6 of"),
        (HEADER + GOOD + "\n" + GOOD, "line 3 of"),
        (HEADER + GOOD * 50 + f"n,50,a,1,1,0,{CANARY}\nn,50,a,1,1\n", "line 52 of"),
        (HEADER + f'"{CANARY}', "malformed line"),
        (HEADER + f'n,"50"{CANARY},a,1,1,0\n', "malformed line"),
        (HEADER.replace("age", "Age"), "'age' is missing"),
        (HEADER.replace("note", "age"), "'age' occurs twice"),
    ],
)
def test_what_cannot_be_read_is_refused_without_a_cell(tmp_path, text, message):
    (tmp_path / "t.csv").write_text(text, newline="")
    for chunk_cells in (1, 3, 2**18):
        with pytest.raises(TableError, match=message) as caught:
            count_rows(tmp_path / "t.csv", SCHEMA, chunk_cells=chunk_cells)
        assert CANARY not in str(caught.value)
        assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_other_encodings(tmp_path):
    rows = [("ä", "50", 'ä;"\n', "1", "1", "0"), ("ß", "20", "b", "", "0", "1")]
    expected = whole(pd.DataFrame(rows, columns=COLUMNS, dtype="str"))
    path = tmp_path / "t.csv"
    for encoding in ("latin-1", "utf-16", "cp1252"):
        path.write_bytes(text_of(rows, delimiter=";").encode(encoding))
        for chunk_cells in (1, 2**18):
            found = count_rows(path, SCHEMA, encoding=encoding, chunk_cells=chunk_cells)
            assert parts(found) == expected
        with pytest.raises(TableError, match="must be UTF-8 text, but .* name its encoding"):
            count_rows(path, SCHEMA)


def test_a_compressed_file_that_is_cut_off_is_refused(tmp_path):
    packed = gzip.compress((HEADER + GOOD * 5000).encode())
    for damaged in (packed[:-9], packed[: len(packed) // 2], packed[:-4] + b"\0\0\0\0"):
        (tmp_path / "t.csv.gz").write_bytes(damaged)
        with pytest.raises(TableError, match="cut off or damaged"):
            count_rows(tmp_path / "t.csv.gz", SCHEMA)
        with pytest.raises(TableError, match="cut off or damaged"):
            count_lines(tmp_path / "t.csv.gz")


def test_a_file_without_rows_counts_none_and_plans_nothing(tmp_path):
    (tmp_path / "t.csv").write_text(HEADER)
    assert count_rows(tmp_path / "t.csv", SCHEMA).n_rows == 0
    with pytest.raises(TableError, match="at least one row"):
        count_lines(tmp_path / "t.csv")


@pytest.mark.parametrize("source", [3, None, {"age": [1]}, [3], ["t.csv", 3]])
def test_what_is_no_table_is_refused(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableError, match="must be a path, a DataFrame|must be a readable file"):
        count_rows(source, SCHEMA)
