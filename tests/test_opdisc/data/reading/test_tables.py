"""CSV in and out: nothing guessed, nothing half-written."""

import os
import stat

import pandas as pd
import pytest
from hypothesis import given, strategies as st

from opdisc.data import files
from opdisc.data.files import atomic_write_text
from opdisc.data.reading import read_table, write_table
from opdisc.errors import TableError


def write(tmp_path, data):
    path = tmp_path / "table.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def test_every_cell_stays_text(tmp_path):
    table = read_table(write(tmp_path, 'a, b ,c\n1,NA,\n"x,y",007, nan\n'))
    assert list(table.columns) == ["a", "b", "c"]
    assert table.to_numpy().tolist() == [["1", "NA", ""], ["x,y", "007", " nan"]]


def test_byte_order_mark_windows_lines_and_trailing_blank_lines(tmp_path):
    table = read_table(write(tmp_path, b"\xef\xbb\xbfa,b\r\n1,2\r\n\r\n\r\n"))
    assert table.to_dict("list") == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "start with a line of column names"),
        (b"\na,b\n", "start with a line of column names"),
        (b"a,b\n", "has no row"),
        (b"a,b\n1,2\n3\n", "line 3 of .* does not"),
        (b"a,b\n1,2,99\n", "line 2 of .* does not"),
        (b"a,b\n1,2\n\n3,4\n", "line 3 of .* does not"),
        (b"a,b\n\xff\xfe,2\n", "must be UTF-8"),
        (b'a,b\n"open,2\n', "malformed line"),
        (b'a,b\n"x"y,2\n', "malformed line"),
    ],
)
def test_malformed_files_are_refused_in_one_sentence(tmp_path, data, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(write(tmp_path, data))
    assert "99" not in str(caught.value).replace(str(tmp_path), "")


def test_missing_file_and_directory_are_refused(tmp_path):
    with pytest.raises(TableError, match="readable file, but .* No such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(TableError, match="readable file, but"):
        read_table(tmp_path)


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6)


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5))
def test_a_written_table_reads_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("round") / "table.csv"
    table = pd.DataFrame(rows, columns=["a", "b"], dtype="str")
    write_table(table, path)
    assert read_table(path).to_numpy().tolist() == table.to_numpy().tolist()


def test_a_single_column_with_an_empty_cell_keeps_its_rows(tmp_path):
    table = pd.DataFrame({"a": ["x", "", None, "y"]})
    write_table(table, tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv")["a"].tolist() == ["x", "", "", "y"]


def test_text_is_written_whole_and_replaces_the_old_one(tmp_path):
    path = tmp_path / "model.json"
    atomic_write_text(path, "old")
    atomic_write_text(path, "né\r\n")
    assert path.read_bytes() == "né\r\n".encode()
    assert os.listdir(tmp_path) == ["model.json"]


def test_a_link_keeps_pointing_to_the_file_that_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    atomic_write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(TableError, match="No space left"):
        atomic_write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.json"]


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        atomic_write_text(tmp_path / "model.json", "new")
    assert os.listdir(tmp_path) == []


def test_unwritable_places_are_refused(tmp_path):
    with pytest.raises(TableError, match="No such file or directory"):
        atomic_write_text(tmp_path / "none" / "model.json", "x")
    with pytest.raises(TableError, match="is not one"):
        atomic_write_text(tmp_path, "x")
    with pytest.raises(TableError, match="is not one"):
        atomic_write_text(os.devnull, "x")
    with pytest.raises(TableError, match="UTF-8"):
        atomic_write_text(tmp_path / "x", "\ud800")
    assert os.listdir(tmp_path) == []


def test_replacing_a_file_keeps_its_mode(tmp_path):
    path = tmp_path / "model.json"
    for mode in (0o640, 0o600, 0o664, 0o444):
        path.write_text("old")
        path.chmod(mode)
        atomic_write_text(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == mode and path.read_text() == "new"
        path.unlink()


def test_a_table_of_private_rows_is_nobody_elses(tmp_path):
    table = pd.DataFrame({"a": ["x"]})
    write_table(table, tmp_path / "t.csv", mode=files.PRIVATE_MODE)
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("place", "is_told"),
    [
        ("postgresql:me:hunter2@host/bank", False),
        ("host=localhost password=hunter2 dbname=bank", False),
        ("bank.csv", True),
    ],
)
def test_a_place_that_may_hold_a_password_is_not_repeated(place, is_told):
    with pytest.raises(TableError, match="must be a readable file") as caught:
        read_table(place)
    assert (place in str(caught.value)) is is_told
