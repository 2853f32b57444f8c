"""Files of LIBSVM: columns and first index are declared, and a refusal shows no cell."""

import gzip

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.datasets import dump_svmlight_file

from opdisc import OPSampClassifier, Schema, read_libsvm
from opdisc.data.reading import COLUMNS_UNSEEN, DTYPES_DECLARED, has_declared_dtypes, libsvm_file
from opdisc.errors import FileMistake, TableError


@pytest.fixture
def written(tmp_path):
    def write(text, name="rows.txt"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@given(
    cells=st.lists(
        st.lists(st.sampled_from([0.0, 1.0, -2.5, 1e-300, 0.1]), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
    first=st.sampled_from([0, 1]),
)
def test_what_is_written_is_read(cells, first, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "written.txt"
    X, y = np.array(cells), np.arange(len(cells)) % 2
    dump_svmlight_file(X, y, str(path), zero_based=first == 0)
    table = read_libsvm(path, n_features=3, first_index=first)
    assert list(table.columns) == [*(f"x{first + at}" for at in range(3)), "label"]
    np.testing.assert_array_equal(table.to_numpy(), np.column_stack([X, y]))
    assert set(map(str, table.dtypes)) == {"float64"} and has_declared_dtypes(table)


def test_no_row_moves_or_adds_a_column(written):
    few, more = "+1 2:5\n", "+1 2:5\n-1 1:7 4:1\n"
    first = [read_libsvm(written(text), n_features=4).iloc[0].tolist() for text in (few, more)]
    assert first[0] == first[1] == [0.0, 5.0, 0.0, 0.0, 1.0]
    # scikit-learn takes an index of 0 for a sign that all are counted from 0.
    assert read_libsvm(written(few), n_features=4, first_index=0).iloc[0, 2] == 5.0


def test_comments_queries_packing_and_labels_of_any_number(written):
    text = "# head\n\n+1 qid:3 1:1 2:2 # first\r\n0 2:1e-400\n2.5\t1:-.5"
    expected = [[1.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-0.5, 0.0, 2.5]]
    for path in (written(text), written(gzip.compress(text.encode()), "packed")):
        assert read_libsvm(path, n_features=2).to_numpy().tolist() == expected


@pytest.mark.parametrize(
    "line",
    [
        "yes 1:87654",
        "1,2 1:87654",
        "+1 1:87654 1:2",
        "+1 2:87654 1:2",
        "+1 0:87654",
        "+1 -1:87654",
        "+1 4:87654",
        "+1 3000000000:87654",
        "+1 99999999999999999999:87654",
        "+1 1:nan 2:87654",
        "+1 1:inf 2:87654",
        "nan 1:87654",
        "+1 1:87654 2",
        "+1 1:",
        "87654,2",
        "\ufeff+1 1:87654",
    ],
)
def test_a_line_of_another_form_is_refused_and_not_quoted(line, written):
    path = written(f"-1 1:1\n{line}\n")
    with pytest.raises(TableError, match="the indices rising from 1 to 3, but one of") as refusal:
        read_libsvm(path, n_features=3)
    assert "87654" not in str(refusal.value)
    assert refusal.value.__cause__ is None and refusal.value.__context__ is None


def test_what_is_no_file_of_rows_is_refused(written, tmp_path):
    with pytest.raises(TableError, match="at least one row"):
        read_libsvm(written("# nothing\n"), n_features=3)
    with pytest.raises(FileMistake, match="readable file"):
        read_libsvm(tmp_path / "absent", n_features=3)
    with pytest.raises(TableError, match="cut off or damaged"):
        read_libsvm(written(gzip.compress(b"+1 1:1\n" * 99)[:-9], "cut"), n_features=3)
    for wrong in ({"n_features": 0}, {"n_features": 2.5}, {"n_features": 3, "first_index": 2}):
        with pytest.raises(TableError, match="must be an integer"):
            read_libsvm(written("+1 1:1\n"), **wrong)


def test_a_table_that_would_not_fit_is_refused_before_it_is_read(written, monkeypatch):
    # URL has 3.2 million columns: 84 rows of it are too many.
    path = written("+1 1:1\n" * 84)
    with pytest.raises(
        TableError, match="times 3,231,961 columns are more; keep fewer"
    ) as refusal:
        read_libsvm(path, n_features=3_231_961)
    assert "84" not in str(refusal.value)
    monkeypatch.setattr(libsvm_file, "MOST_CELLS", 168)
    assert len(read_libsvm(path, n_features=2)) == 84
    with pytest.raises(TableError, match="at most 168 cells"):
        read_libsvm(path, n_features=3)


def test_a_file_like_that_of_rna_is_fitted_with_no_condition_on_its_columns(written):
    rng = np.random.default_rng(0)
    energy, label = rng.integers(-900, 0, 400), rng.choice([-1, 1], 400)
    lines = [f"{y:+d} 1:{e * (2 + y)} 8:0.25" for y, e in zip(label, energy, strict=True)]
    table = read_libsvm(written("\n".join(lines)), n_features=8)
    schema = Schema.from_dict(
        {
            "name": "rna",
            "target": {"column": "label", "positive": 1, "negative": -1},
            "feature": [{"column": "x1", "thresholds": [-900], "range": [-3000, 0]}],
        }
    )
    model = OPSampClassifier(schema=schema, epsilon=5.0, most_draws=30)
    conditions = model.fit(table, table["label"]).receipt_.conditions
    assert not {DTYPES_DECLARED, COLUMNS_UNSEEN} & set(conditions)
