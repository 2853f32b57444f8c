"""What may be a row is not taken for names: the first line decides, and none of it is told."""

import bz2
import gzip
import lzma

import pytest

from opdisc.data import public_header, read_header, read_table
from opdisc.data.reading.header_rule import header_doubt, refuse_other_text
from opdisc.errors import FileMistake, TableError

HEADERS = [
    "V1,V2,class",
    "X.1,X.2,y",
    "age,Sex (m/f),% change,Größe,収入,الدخل,NA_Sales",
    "RI,Na,Mg,Al,Type",
    "#,Name,Type 1,HP",
    ",age,sex",
    "...1,age,sex",
    "Unnamed: 0,age,sex",
    "PassengerId,2urvived,Age",
    "1stFlrSF,2ndFlrSF,3SsnPorch",
    "S.No,T1,t0,Z1,E1,DEC1,MAR2,SEP15",
    "rs123456789,1007_s_at,q1a,1a,1b",
    "[Age],[Sex],[Ill]",
    "Speed [km/h],BMI <25,Price ($),age >= 50,sex=male",
    "May,Jun,Jul",
    "loan.amount,loan/term,loan term,e-mail,Q1: how old?",
    "PM2.5,SO2,O3",
    "No,NO,X1 transaction date",
    "12 month follow-up,2nd visit,Top 10 Banks 2019,kg/m2",
    "a,b",
    "male,female,None given,yes or no",
    "first\tsecond",
    "eins|zwei",
    '"Income\n(USD)",age',
    'a,"purpose ""use""","TV 32"""',
]


@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_public_files_are_taken(tmp_path, header):
    path = tmp_path / "t.csv"
    path.write_text(header + "\n1,2\n", encoding="utf-8")
    assert public_header(path) == read_header(path)


ROWS = [
    "1,48,no",
    "a,b,",
    "a,,b",
    ",,a",
    "x,x,o,positive",
    "3.5e2,a",
    "1e5,a",
    "-1.5,a",
    "1 234,a",
    "12%,a",
    "$5,a",
    "?,a,b",
    "2019,country",
    "country,2019,2020",
    "2019-05-01,a",
    "01/05/2019,a",
    "5-May-2019,a",
    "12. Oktober 2019;a",
    "May 2019,a",
    "Jan-20,a",
    "Mon 5 May 2019 10:30 pm,a",
    "2019-05-01T10:30:00Z,a",
    "10:30,a",
    "0-2,a",
    "<5,a",
    "NaN,a",
    "inf,a",
    "true,a",
    "NULL,a",
    "yes,a",
    "NA,a",
    "<ticker>,<per>",
    "'40-49','premeno','3'",
    "jane@example.org,a",
    "https://example.org/1,a",
    "123e4567-e89b-12d3-a456-426614174000,a",
    "'p','x','x'",
    "f,mild,?,normal",
    "INSERT INTO t VALUES (x,'a','b')",
    "(x,y)",
    "a,b</td>",
    '"""age"": x",b',
    "a\x07,b",
    "a\x00,b",
    "word " * 200 + ",a",
    "١٢,a",
    "Female,No,Surgery",
    "Meier,82kg,120/80 mmHg",
    "Durand,1er mai 1960,chirurgie",
    "12MAI1960,a",
    "1960-W12,a",
    "1960年5月12日,a",
    "#N/A,a",
    "\\N,a",
    "age=68,ill=yes",
    "age: 68,ill: yes",
    "00:1a:2b:3c:4d:5e,a",
    "# export of ward 7, by a person",
    "single",
    "a b c",
    ",age",
    "Ward survey;;",
    "ASCII SPSS PORT FILE",
    "A11 6 A34 A43",
]


@pytest.mark.parametrize("line", ROWS)
@pytest.mark.parametrize("packed", [False, True])
def test_a_first_line_that_may_be_a_row_is_refused_and_not_told(tmp_path, line, packed):
    data = (line + "\nage,sex\n").encode()
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(TableError) as refused:
        public_header(path)
    told = str(refused.value).replace(str(path), "")
    assert "--names" in told and told.count("\n") == 0
    for cell in line.replace(";", ",").split(","):
        assert len(cell) < 3 or cell not in told


OTHERS = [
    '[{"age": 68, "ward": "a"}, {"age": 38, "ward": "b"}]',
    '[{"age":68,"ward":"a"},{"age":38,"ward":"b"}]',
    '{"age": 68, "ward": "a"}\n{"age": 38, "ward": "b"}',
    "[\n  {\n",
    "{\n",
    '["age", "ward"]\n[68, "a"]',
    "[[68, 1], [38, 0]]",
    "{'age': 68, 'ward': 'a'}",
    "<!DOCTYPE html>\n<html>",
    '<table border="1" class="dataframe">\n<tr><td>68</td></tr>',
    "  <html><body><td>68,1</td>",
    '<?xml version="1.0"?>\n<x/>',
    "<visits><visit age='68'/></visits>",
    "MIME-Version: 1.0\n",
    "%PDF-1.4\n",
    "@relation thyroid\n@attribute age real [0,1]\n",
    "@RELATION 'a, b'\n",
    "@data\n68,1\n",
    "-1 1:27 2:1.0\n",
    "+1 qid:3 1:0.5 # 68\n",
    "1:0.5 2:1e-3\n",
    "1,3 1:0.5\n",
    "3\n".replace("3", "0 5:1"),
]


@pytest.mark.parametrize("text", OTHERS)
@pytest.mark.parametrize("delimiter", [None, ";"])
def test_what_is_no_table_is_refused_by_every_reader(tmp_path, text, delimiter):
    path = tmp_path / "t.xls"
    path.write_text(text)
    with pytest.raises(TableError, match="must be a table with one row a line") as refused:
        read_header(path, delimiter=delimiter)
    assert "68" not in str(refused.value).replace(str(path), "")


def test_the_text_is_looked_at_and_not_its_bytes(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('[{"age": 68, "ward": "a"}]', encoding="utf-16")
    with pytest.raises(TableError, match="is JSON"):
        read_header(path, encoding="utf-16")


@pytest.mark.parametrize(
    "line", ["1:" + "1" * 100_000 + "x", "1:2 " * 50_000 + "x", "<" + "a" * 100_000]
)
def test_a_long_line_is_judged_at_once(line):
    try:
        refuse_other_text(line, "t.csv", is_row=False)
    except TableError:
        pass


def test_long_names_are_judged_at_once():
    assert header_doubt(["a@" + "b." * 60_000 + " c", "d"])


def test_what_is_no_table_stays_refused_where_names_are_given(tmp_path):
    path = tmp_path / "t.csv"
    for text in ("<!doctype html>,\n", '[{"a": 1, "b": 2}]', "@relation a,b\n"):
        path.write_text(text)
        with pytest.raises(TableError, match="must be a table with one row a line"):
            read_header(path, names=["a", "b"])
    path.write_text('["x", 45]\n["y", 46]\n')
    with pytest.raises(TableError, match="is JSON"):
        read_header(path, names=["a", "b"])
    for text in ("<5,1\n", "10:30,2\n", "<NA>,3\n", "@home,4\n", "[a],5\n"):  # cells
        path.write_text(text)
        assert read_header(path, names=["a", "b"]) == ("a", "b")


@pytest.mark.parametrize("line", ["sep=;", "SEP=,", "sep=\t", "sep="])
def test_a_line_with_the_separator_is_told_from_names(tmp_path, line):
    path = tmp_path / "t.csv"
    path.write_text(line + "\nage;ill\n35;no\n")
    with pytest.raises(TableError, match="below a line with its separator; delete that line"):
        read_header(path)


def test_a_first_row_unlike_the_names_may_be_their_fault(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,ill\n1,35,no\n2,36,no\n")  # as R writes the rows' names
    with pytest.raises(TableError, match="line 2 .* correct the line of names .*or that line"):
        read_table(path)
    path.write_text("age,ill\n35,no\n2,36,no\n")
    with pytest.raises(TableError, match="line 3 .* does not; correct that line"):
        read_table(path)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"\x28\xb5\x2f\xfd$\x10", "packed by zstd; unpack it"),
        (bz2.compress(b"a,b\n1,2\n"), "packed by bzip2; unpack it"),
        (lzma.compress(b"a,b\n1,2\n"), "packed by xz; unpack it"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "a 7-Zip archive; unpack it"),
        (b"$FL2@(#) SPSS DATA FILE", "an SPSS file; read it with pandas.read_spss"),
        (b"<stata_dta><header>", "a Stata file; read it with pandas.read_stata"),
        (b"r\x02\x01\x00\x02\x00", "a Stata file; read it with pandas.read_stata"),
        (b"HEADER RECORD*******LIBRARY", "a SAS file; read it with pandas.read_sas"),
        (b"\0" * 12 + b"\xc2\xea\x81\x60", "a SAS file; read it with pandas.read_sas"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_files_that_no_encoding_makes_a_table_are_named(tmp_path, start, kind, encoding):
    path = tmp_path / "t.csv"
    path.write_bytes(start + b"\0" * 40)
    for names in (None, ["a", "b"]):
        with pytest.raises(FileMistake, match=kind):
            read_header(path, encoding=encoding, names=names)
