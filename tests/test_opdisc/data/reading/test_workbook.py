"""Which sheet of a workbook is read, and who is told; what a cell of a sheet may hold."""

import io
import re
import zipfile

import pytest

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data import count_lines, count_rows, read_header, read_table
from opdisc.errors import FileMistake, TableError
from opdisc.models import load_model

pytestmark = pytest.mark.extras("openpyxl")

HEADER = ["age", "ward", "ill"]
ROWS = [[30 + 10 * (i % 4), "ab"[i % 2], i % 2] for i in range(80)]
CANARY = "Canary-Smith"
TOML = """\
name = "clinic"
target = { column = "ill", positive = 1, negative = 0 }
[[feature]]
column = "age"
thresholds = [40, 60]
[[feature]]
column = "ward"
categories = ["a", "b"]
"""


def workbook(path, *sheets):
    """Write sheets given as (title, rows, state); rows None makes a sheet of a chart."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows, state in sheets:
        if rows is None:
            book.create_chartsheet(title).add_chart(openpyxl.chart.BarChart())
            continue
        sheet = book.create_sheet(title)
        sheet.sheet_state = state
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


PATIENTS = ("patients", [HEADER, *ROWS], "visible")
NOTES = ("Read me", [["This workbook was made by"], [CANARY]], "visible")
BLANK = ("Sheet2", [], "visible")
OLD = ("old", [HEADER, *ROWS[:20]], "hidden")
VERY_OLD = ("older", [HEADER, *ROWS[:20]], "veryHidden")
CHART = ("chart", None, "visible")
CODES = ("codes", [["variable", "meaning"], ["ill", CANARY]], "visible")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(TOML)
    return tmp_path


@pytest.fixture
def run(capfd):
    def run(*arguments):
        status = run_command_line(cli, list(arguments))
        captured = capfd.readouterr()
        return status, captured.out, captured.err

    return run


FIT = ("fit", "t.xlsx", "--schema", "./s.toml", "--epsilon", "50", "--out", "card.json")
PLAN = ("plan", "t.xlsx", "--schema", "./s.toml", "--epsilon", "5")
CHECK = ("schema", "check", "t.xlsx", "--schema", "./s.toml")
NEW = ("schema", "new", "t.xlsx", "--out", "new.toml")
PREDICT = ("predict", "card.json", "t.xlsx")
COMPARE = ("compare", "t.xlsx", "--schema", "./s.toml", "--out", "runs", "--splits", "1")


@pytest.mark.parametrize(
    "sheets",
    [
        [PATIENTS],
        [OLD, PATIENTS],
        [VERY_OLD, PATIENTS],
        [OLD, VERY_OLD, CHART, PATIENTS, ("old2", OLD[1], "hidden")],
        [CHART, PATIENTS],
        [PATIENTS, NOTES],
        [PATIENTS, BLANK, CHART, NOTES],
    ],
    ids=lambda sheets: ",".join(title for title, _, _ in sheets),
)
def test_the_first_visible_sheet_is_read_and_named(folder, run, sheets):
    workbook("t.xlsx", *sheets)
    assert read_header("t.xlsx") == tuple(HEADER)
    assert count_lines("t.xlsx") == len(ROWS)
    read = read_table("t.xlsx")
    assert len(read) == len(ROWS) and read.attrs["sheet"] == "patients"
    assert count_rows("t.xlsx", "./s.toml").n_rows == len(ROWS)
    for command in (FIT, PLAN, CHECK, NEW, PREDICT):
        status, out, err = run(*command)
        assert status == 0, err
        assert err.count("sheet 'patients' of t.xlsx") == 1
        assert "patients" not in out
    receipt = load_model("card.json").receipt
    assert receipt.n_rows == len(ROWS)
    assert "patients" not in (folder / "card.json").read_text()
    assert "patients" not in (folder / "new.toml").read_text()


@pytest.mark.parametrize("other", [CODES, ("copy", [HEADER, *ROWS[:9]], "visible")])
@pytest.mark.parametrize("first", [True, False])
def test_of_several_tables_one_must_be_named(folder, run, other, first):
    workbook("t.xlsx", *((other, PATIENTS) if first else (PATIENTS, OLD, other)))
    for command in (FIT, PLAN, CHECK, NEW):
        status, out, err = run(*command)
        assert status == 1 and out == ""
        assert "--sheet" in err and "'patients'" in err and repr(other[0]) in err
        assert CANARY not in err and "'old'" not in err and err.count("\n") == 1
    assert not (folder / "card.json").exists()
    for command in (FIT, PLAN, CHECK, NEW, PREDICT):
        status, out, err = run(*command, "--sheet", "patients")
        assert status == 0, err
    assert load_model("card.json").receipt.n_rows == len(ROWS)


def test_a_hidden_sheet_is_read_where_it_is_named(folder, run):
    workbook("t.xlsx", OLD, PATIENTS)
    status, _, err = run(*FIT, "--sheet", "old")
    assert status == 0 and "hidden sheet 'old' of t.xlsx" in err
    assert load_model("card.json").receipt.n_rows == 20


@pytest.mark.parametrize("command", [FIT, PLAN, NEW])
def test_a_sheet_of_notes_in_front_is_blamed_and_not_the_header(folder, run, command):
    workbook("t.xlsx", NOTES, PATIENTS, OLD)
    status, out, err = run(*command)
    assert status == 1 and out == "" and not (folder / "card.json").exists()
    said = err.splitlines()[-1]
    assert "'Read me'" in said and "--sheet" in said and "'patients'" in said
    assert CANARY not in err and "'old'" not in err and "header line" not in said


def test_check_says_which_sheet_lacks_the_columns(folder, run):
    workbook("t.xlsx", NOTES, PATIENTS)
    status, _, err = run(*CHECK)
    assert status == 1 and "'Read me'" in err and "'patients'" in err and "--sheet" in err


def test_a_workbook_without_a_visible_sheet(folder):
    workbook("t.xlsx", PATIENTS, BLANK)
    rewrite("t.xlsx", "xl/workbook.xml", b'state="visible"', b'state="hidden"')
    with pytest.raises(TableError, match=r"visible sheet.*--sheet"):
        read_header("t.xlsx")
    assert read_header("t.xlsx", sheet="patients") == tuple(HEADER)


def test_a_sheet_of_a_chart_is_none_to_read(folder):
    workbook("t.xlsx", CHART, PATIENTS)
    with pytest.raises(FileMistake, match="must name a sheet"):
        read_header("t.xlsx", sheet="chart")


def test_names_that_are_given_go_with_one_sheet_that_holds_cells(folder):
    workbook("t.xlsx", BLANK, ("patients", ROWS, "visible"), OLD)
    assert len(read_table("t.xlsx", names=HEADER)) == len(ROWS)
    workbook("t.xlsx", ("one", [["x"], *ROWS], "visible"), ("patients", ROWS, "visible"))
    with pytest.raises(TableError, match="--sheet"):
        read_table("t.xlsx", names=HEADER)


def rewrite(path, member, old, new):
    """Replace bytes in a part of a workbook."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    assert re.search(old, parts[member])
    parts[member] = re.sub(old, new, parts[member])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as book:
        for name, data in parts.items():
            book.writestr(name, data)
    with open(path, "wb") as file:
        file.write(packed.getvalue())


@pytest.mark.parametrize("said", [b"A1", b"A1:B3", b"A1:C81", b"A1:Z200", b"B2:C5"])
def test_the_size_that_a_sheet_says_is_not_believed(folder, said):
    workbook("t.xlsx", PATIENTS)
    whole = read_table("t.xlsx")
    rewrite(
        "t.xlsx",
        "xl/worksheets/sheet1.xml",
        rb'<dimension ref="[^"]*"',
        b'<dimension ref="%s"' % said,
    )
    assert read_table("t.xlsx").equals(whole)


def test_a_sheet_without_a_size(folder):
    workbook("t.xlsx", PATIENTS)
    whole = read_table("t.xlsx")
    rewrite("t.xlsx", "xl/worksheets/sheet1.xml", rb'<dimension ref="[^"]*" ?/>', b"")
    assert read_table("t.xlsx").equals(whole)


# --- formulas ------------------------------------------------------------------------------------


def with_formulas(stored):
    """Write a workbook whose column 'ward' has formulas, with these stored values or none."""
    rows = [[age, "=A2", ill] for age, _, ill in ROWS]
    workbook("t.xlsx", ("patients", [HEADER, *rows], "visible"))
    if stored is not None:
        rewrite("t.xlsx", "xl/worksheets/sheet1.xml", rb'( t="\w+")?><f>A2</f><v ?/>', stored)


@pytest.mark.parametrize("column", ["age", "ward", "ill"])
def test_a_formula_without_a_stored_value_is_refused(folder, run, column):
    at = HEADER.index(column)
    rows = [list(row) for row in ROWS]
    rows[7][at] = "=1+1"
    workbook("t.xlsx", ("patients", [HEADER, *rows], "visible"))
    for read in (read_table, lambda path: count_rows(path, "./s.toml")):
        with pytest.raises(TableError, match=r"formula.*save it"):
            read("t.xlsx")
    status, _, err = run(*FIT)
    assert status == 1 and "formula" in err and not (folder / "card.json").exists()


def test_a_formula_in_a_column_that_is_not_read_is_ignored(folder):
    rows = [[*row, "=1+1"] for row in ROWS]
    workbook("t.xlsx", ("patients", [[*HEADER, "sum"], *rows], "visible"))
    assert count_rows("t.xlsx", "./s.toml").n_rows == len(ROWS)
    with pytest.raises(TableError, match="formula"):
        read_table("t.xlsx")


@pytest.mark.parametrize(
    ("stored", "text"),
    [
        (rb"><f>A2</f><v>5</v>", "5"),
        (rb' t="str"><f>A2</f><v>a</v>', "a"),
        (rb' t="str"><f>A2</f><v></v>', ""),
        (rb' t="b"><f>A2</f><v>1</v>', "True"),
    ],
)
def test_a_stored_value_of_a_formula_is_read(folder, stored, text):
    with_formulas(stored)
    assert set(read_table("t.xlsx")["ward"]) == {text}


def test_a_header_of_formulas_is_refused(folder):
    workbook("t.xlsx", ("patients", [["age", "=B1", "ill"], *ROWS], "visible"))
    with pytest.raises(TableError, match="formula"):
        read_header("t.xlsx")


# --- other spreadsheets --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["xls", "ods", "xlsb"])
def test_another_spreadsheet_is_refused_with_the_remedy(folder, kind):
    path = folder / f"t.{kind}"
    if kind == "xls":
        path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    else:
        with zipfile.ZipFile(path, "w") as packed:
            if kind == "ods":
                packed.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
                packed.writestr("content.xml", f"<x>{CANARY}</x>")
            else:
                packed.writestr("[Content_Types].xml", "<Types/>")
                packed.writestr("xl/workbook.bin", CANARY)
    for read in (read_header, read_table):
        with pytest.raises(TableError, match=r"save it as \.xlsx") as caught:
            read(path)
        assert CANARY not in str(caught.value)
