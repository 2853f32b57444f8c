"""Names given for a file that has none: its first line is a row."""

import gzip
import sqlite3

import pandas as pd
import pytest

from opdisc import Schema, count_rows, read_table
from opdisc.data import count_lines, public_header, read_header, read_names
from opdisc.data.reading import text_file
from opdisc.errors import FileMistake, TableError

NAMES = ["age", "ward", "ill"]
ROWS = [["68", "a", "1"], ["38", "b", "0"], ["20", "", "0"]]
SCHEMA = Schema.from_dict(
    {
        "name": "visits",
        "target": {"column": "ill", "positive": 1, "negative": 0},
        "feature": [
            {"column": "age", "thresholds": [40]},
            {"column": "ward", "categories": ["a", "b"]},
        ],
    }
)


def text(between=",", end="\n"):
    return "".join(between.join(row) + end for row in ROWS)


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        (text().encode(), {}),
        (text(end="\r\n").rstrip().encode("utf-8-sig"), {}),
        (gzip.compress(text().encode(), mtime=0), {}),
        (text(";").encode(), {"delimiter": ";"}),
        (text("\t").encode("utf-16"), {"delimiter": "tab", "encoding": "utf-16"}),
        (text().replace("a", '"a"').encode(), {}),
    ],
)
@pytest.mark.parametrize("characters", [1, 8])
def test_every_reader_takes_the_first_line_for_a_row(
    tmp_path, monkeypatch, data, settings, characters
):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    monkeypatch.setattr(text_file, "_CHARACTERS", characters)
    settings = {**settings, "names": NAMES}
    table = read_table(path, **settings)
    assert list(table) == NAMES and table.to_numpy().tolist() == ROWS
    assert read_table(path, columns=["ill", "age"], **settings)["age"].tolist() == [
        "68",
        "38",
        "20",
    ]
    assert count_lines(path, **settings) == 3
    assert read_header(path, **settings) == public_header(path, **settings) == tuple(NAMES)
    found, expected = (
        count_rows(path, SCHEMA, chunk_cells=1, **settings),
        count_rows(table, SCHEMA),
    )
    for name in ("points", "negatives", "positives"):
        assert (getattr(found, name) == getattr(expected, name)).all()
    assert found.assumptions == ()


def test_a_first_row_may_go_over_several_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('68,"a\nb,c",1\n38,b,0\n')
    assert read_table(path, names=NAMES).to_numpy().tolist() == [
        ["68", "a\nb,c", "1"],
        ["38", "b", "0"],
    ]


def test_lines_are_counted_from_the_first_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("68,a,1\n38,b\n20,a,0\n")
    with pytest.raises(TableError, match="but line 2 of"):
        read_table(path, names=NAMES)


def test_one_column_may_have_a_name(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("68\n38\n")
    assert read_table(path, names=["age"])["age"].tolist() == ["68", "38"]
    with pytest.raises(TableError, match="has only one name"):
        public_header(path, names=["age"])


def test_the_delimiter_is_not_taken_from_a_row(tmp_path):
    """One row must not change how the others are read: it is a comma, or declared."""
    path = tmp_path / "t.csv"
    path.write_text("a;b;c,1\n2,3\n")
    assert read_table(path, names=["x", "y"]).to_numpy().tolist() == [["a;b;c", "1"], ["2", "3"]]


@pytest.mark.parametrize("data", ["68,a\n", "68,a,1,2\n", "", "\n", "68;a;1\n"])
def test_names_are_as_many_as_the_columns(tmp_path, data):
    path = tmp_path / "t.csv"
    path.write_text(data)
    for read in (read_header, read_table, count_lines):
        with pytest.raises(TableError, match="names must be as many as the columns") as refused:
            read(path, names=NAMES)
        assert "68" not in str(refused.value).replace(str(path), "")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("age", "must be a list of texts"),
        (7, "must be a list of texts"),
        ([], "must be printable texts"),
        (["xq7", ""], "must be printable texts"),
        (["xq7", None], "must be printable texts"),
        (["xq7", "b\n"], None),
        (["xq7", "b\x1b"], "must be printable texts"),
        (["xq7", "b" * 501], "must be printable texts"),
        (["xq7", " xq7 "], "must be distinct"),
    ],
)
def test_names_that_are_none_are_refused_and_not_told(tmp_path, names, words):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n")
    if words is None:
        assert read_header(path, names=names) == ("xq7", "b")
        return
    with pytest.raises(FileMistake, match=words) as refused:
        read_header(path, names=names)
    assert "xq7" not in str(refused.value)


def test_any_iterable_of_names_will_do(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n")
    for names in (("2019", "2020"), pd.Index(["2019", "2020"]), iter(["2019", "2020"])):
        assert public_header(path, names=names) == ("2019", "2020")


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ("age\nward\nill\n", NAMES),
        ("age\r\nward, if any\r\nill\r\n\r\n", ["age", "ward, if any", "ill"]),
        ("age,ward,ill", NAMES),
        ('age, "ward, if any", ill\n', ["age", "ward, if any", "ill"]),
        ("\ufeffage;ward, if any;ill\n", ["age", "ward, if any", "ill"]),
        ("age\tward\till\n", NAMES),
    ],
)
def test_names_may_stand_in_a_file(tmp_path, data, names):
    path = tmp_path / "names.txt"
    path.write_bytes(data.encode())
    assert read_names(path) == names


def test_a_file_without_names_is_none(tmp_path):
    path = tmp_path / "names.txt"
    for data in (b"\xff\xfe\xff", b'"a,b'):
        path.write_bytes(data)
        with pytest.raises(FileMistake, match="names must be in a file of UTF-8 text"):
            read_names(path)
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(FileMistake, match="names must be in a readable file"):
            read_names(place)


def test_a_database_has_names_of_its_own(tmp_path):
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute('CREATE TABLE visits (age, "2019", ill)')
    connection.close()
    assert public_header(path, query="SELECT * FROM visits") == ("age", "2019", "ill")
    with pytest.raises(FileMistake, match="has names of its own"):
        read_header(path, query="SELECT * FROM visits", names=NAMES)
    with pytest.raises(TableError, match="has only one name"):
        public_header(path, query="SELECT age FROM visits")


@pytest.mark.extras("pyarrow")
@pytest.mark.parametrize("write", ["to_parquet", "to_feather"])
def test_typed_files_have_names_of_their_own(tmp_path, write):
    path = tmp_path / "t"
    getattr(pd.DataFrame({"age": [1], "2019": [2]}), write)(path)
    assert public_header(path) == ("age", "2019")
    with pytest.raises(FileMistake, match="has names of its own"):
        read_header(path, names=["a", "b"])


def workbook(path, rows):
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)


@pytest.mark.extras("openpyxl")
def test_a_sheet_may_start_with_a_row(tmp_path):
    path = tmp_path / "t.xlsx"
    workbook(path, [[68, "a", 1], [38, "b", 0], [20, None, 0]])
    with pytest.raises(TableError, match="has a name that is a number") as refused:
        public_header(path)
    assert "68" not in str(refused.value).replace(str(path), "")
    assert read_table(path, names=NAMES).to_numpy().tolist() == ROWS
    assert count_lines(path, names=NAMES) == 3
    for names in (NAMES[:2], [*NAMES, "more"]):
        with pytest.raises(TableError, match="names must be as many as the columns"):
            read_header(path, names=names)


@pytest.mark.extras("openpyxl")
@pytest.mark.parametrize("first", [["age", 2019], ["age", None, "ill"], ["age", "age"], ["title"]])
def test_the_first_row_of_a_sheet_is_judged_as_a_line_of_text(tmp_path, first):
    path = tmp_path / "t.xlsx"
    workbook(path, [first, [1, 2, 3]])
    with pytest.raises(TableError, match="--names"):
        public_header(path)


@pytest.mark.parametrize("line", ["age,ward,ill", "age, ward ,ill"])
def test_a_header_is_not_counted_as_a_row(tmp_path, line):
    (tmp_path / "t.csv").write_text(f"{line}\n{text()}")
    with pytest.raises(TableError, match="holds just these names; leave them out"):
        count_lines(tmp_path / "t.csv", names=NAMES)
    assert count_lines(tmp_path / "t.csv") == 3


@pytest.mark.extras("openpyxl")
def test_a_header_of_a_sheet_is_not_counted_as_a_row(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    for row in (NAMES, *ROWS):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    with pytest.raises(TableError, match="holds just these names; leave them out"):
        count_lines(tmp_path / "t.xlsx", names=NAMES)
