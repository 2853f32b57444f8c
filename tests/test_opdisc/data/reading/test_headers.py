"""Headers: delimiter and names come from the first line, no row is looked at."""

import gzip

import pytest

from opdisc.data.reading import read_header
from opdisc.errors import FileMistake, TableError


def write(tmp_path, data):
    path = tmp_path / "table.csv"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ("a,b\n1;2;3;4\n", ("a", "b")),
        ("a;b, c;d\n", ("a", "b, c", "d")),
        ('"a;x;y;z",b\n', ("a;x;y;z", "b")),
        ('"a""q\n;;;;x",b\n', ('a"q\n;;;;x', "b")),
        ('a"b;c\n1,2\n', ('a"b', "c")),
        ("a\tb", ("a", "b")),
        ("a|b\r\n", ("a", "b")),
        ("\ufeffa,a\n", ("a", "a")),
        ("only\n", ("only",)),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), ("a", "b")),
        (b"a,b\n\xff\xff", ("a", "b")),
    ],
)
def test_names_come_from_the_header_line_alone(tmp_path, data, names):
    if data == b"a,b\n\xff\xff":  # a damaged row further down is not reached
        data = b"a,b\n" + b"1,2\n" * 100_000 + b"\xff"
    assert read_header(write(tmp_path, data)) == names


def test_what_is_declared_counts(tmp_path):
    path = write(tmp_path, "Alter;Größe, cm;x\n".encode("latin-1"))
    assert read_header(path, encoding="latin-1") == ("Alter", "Größe, cm", "x")
    assert read_header(path, encoding="latin-1", delimiter=",") == ("Alter;Größe", "cm;x")
    assert read_header(write(tmp_path, "a\tb,c\n"), delimiter="tab") == ("a", "b,c")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "start with a line of column names"),
        ("\n", "start with a line of column names"),
        (b"\xff\xfea\n", "must be UTF-8 text"),
        ('"open', "malformed line"),
        (gzip.compress(b"a,b\n" * 999, mtime=0)[:20], "cut off or damaged"),
        (b"\x1f\x8b" + b"no gzip at all", "cut off or damaged"),
    ],
)
def test_no_header_no_names(tmp_path, data, message):
    with pytest.raises(TableError, match=message):
        read_header(write(tmp_path, data))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delimiter": ";;"}, "a delimiter must be one character"),
        ({"delimiter": '"'}, "a delimiter must be one character"),
        ({"delimiter": "a"}, "a delimiter must be one character"),
        ({"encoding": "no-such"}, "an encoding must be one that Python knows"),
        ({"encoding": "hex"}, "an encoding must be one that Python knows"),
        ({"encoding": ""}, "an encoding must be one that Python knows"),
    ],
)
def test_impossible_declarations_are_mistakes_of_what_was_typed(tmp_path, settings, message):
    with pytest.raises(FileMistake, match=message):
        read_header(write(tmp_path, "a,b\n"), **settings)
