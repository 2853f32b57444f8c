"""A scorecard as an Excel workbook: the printed card with cells to fill in and formulas.

Numbers are compared by 15 digits, and texts as they stand.
"""

from __future__ import annotations

import importlib
import io
import math
import re
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from opdisc.errors import ModelFileError, OPDiscError, quoted
from opdisc.models.card import (
    NO_XML,
    AtLeast,
    Card,
    CardSource,
    CardsSource,
    Characteristic,
    Column,
    OneOf,
    Statement,
    card_characteristics,
    card_columns,
    card_content,
    is_number_text,
    plain,
    single_card,
    spelled,
)
from opdisc.models.odds import LARGEST_LOG_ODDS, OddsScale
from opdisc.models.scorecard import Scorecard

_LARGEST = 10**15
"""Whole numbers below it have digits that a sheet keeps."""

_LONGEST, _LONGEST_TEXT, _LONGEST_CELL = 8000, 255, 32000
"""Characters of a formula, of a text in one, and of a cell."""

_MOST_PARTS = 200
"""Parts of one OR."""

_ESCAPE = re.compile("_x[0-9A-Fa-f]{4}_")
"""What a program of sheets reads as another character."""

_UNREAD = "cannot be read"

_NOTES = (
    "Numbers are numbers and no texts: 15 digits of them count.",
    "Texts are compared as they stand: capital letters and spaces matter.",
)

_FONT = "Calibri"

_WIDTHS = {"A": 46, "B": 18, "C": 10, "D": 10, "E": 16}

_CHARACTERS, _LINE_HEIGHT = 38, 15
"""What fits into a line of the first column, and how high a line is, in points."""

_WRITTEN = datetime(1980, 1, 1)  # noqa: DTZ001 # a file has no time, so equal cards are equal files


def card_workbook(model: CardSource | CardsSource) -> bytes:
    """Return an Excel file that adds up the points of one row that is typed in.

    Parameters
    ----------
    model : SavedModel
        A scorecard with its schema and receipt.

    Returns
    -------
    bytes
        A sheet with cells to fill in, points, total, answer, and the receipt in five lines; of a
        logistic card the chance too. Equal models give equal bytes.

    Raises
    ------
    OPDiscError
        If openpyxl is not installed.
    ModelFileError
        If there are several cards, or formulas cannot say a number or a text of the card exactly.
    """
    try:
        openpyxl: Any = importlib.import_module("openpyxl")
    except ModuleNotFoundError:
        raise OPDiscError(
            "an Excel file needs openpyxl, which is not installed; install opdisc[tables], or "
            "write the page instead."
        ) from None
    model = single_card(model, "an Excel file")
    card, content = model.scorecard, card_content(model)
    if sum(map(abs, card.hypothesis)) + abs(card.threshold) >= _LARGEST:
        raise ModelFileError(
            "totals of an Excel file must stay below 10^15, where sheets keep all digits, but "
            "this card's may not; write --python instead."
        )
    found = card_characteristics(card, model.schema)
    book = openpyxl.Workbook()
    sheet = _Sheet(book.active)
    _head(sheet, content)
    lines = _points(sheet, card, found, card_columns(found, model.schema))
    _answers(sheet, card, lines, getattr(model, "odds", None))
    _foot(sheet, content)
    return _bytes(book)


class _Sheet:
    """A sheet that is written from the top down.

    Parameters
    ----------
    sheet : openpyxl.worksheet.worksheet.Worksheet
        Where it goes.
    """

    def __init__(self, sheet: Any) -> None:
        self._sheet = sheet
        self.row = 0
        sheet.title = "Card"
        sheet.protection.sheet = True  # against slips: there is no password
        sheet.page_setup.fitToHeight = False
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
        for name, width in _WIDTHS.items():
            sheet.column_dimensions[name].width = width

    def line(self, *cells: str | int | None, bold: bool = False) -> int:
        """Write texts and numbers into the next row, and return its number."""
        styles: Any = importlib.import_module("openpyxl.styles")
        self.row += 1
        for place, value in enumerate(cells, start=1):
            cell = self._sheet.cell(self.row, place)
            if isinstance(value, str):
                self._text(cell, value)
            elif value is not None:
                cell.value = value
            cell.font = styles.Font(name=_FONT, size=11, bold=bold)
        return self.row

    def align_right(self, places: str, row: int) -> None:
        """Put cells of a row over and under numbers."""
        styles: Any = importlib.import_module("openpyxl.styles")
        for place in places:
            self._sheet[f"{place}{row}"].alignment = styles.Alignment(horizontal="right")

    def wrap(self) -> int:
        """Break the first text of the last row into lines, and return the row's number."""
        styles: Any = importlib.import_module("openpyxl.styles")
        cell = self._sheet[f"A{self.row}"]
        cell.alignment = styles.Alignment(wrap_text=True)
        if (lines := math.ceil(len(cell.value) / _CHARACTERS)) > 1:  # few programs find out
            self._sheet.row_dimensions[self.row].height = lines * _LINE_HEIGHT
        return self.row

    def _text(self, cell: Any, text: str) -> None:
        """Write a text that stays one: what begins with = is no formula."""
        shown = plain(text)
        if _ESCAPE.search(shown) or NO_XML.search(shown) or len(shown) > _LONGEST_CELL:
            raise ModelFileError(
                "a cell of an Excel file must be a text of 32000 printable characters at most "
                f"without such as _x0041_, but {quoted(shown)} is not; write --html instead."
            )
        cell.value = shown
        cell.data_type = "s"
        cell.quotePrefix = True

    def formula(self, place: str, formula: str, row: int | None = None) -> None:
        """Write a formula into a column of a row, the last one unless it is named."""
        if len(formula) > _LONGEST:
            raise ModelFileError(
                "a formula of an Excel file must have 8000 characters at most, but this card has "
                "a longer list of values; write --python instead."
            )
        cell = self._sheet[f"{place}{row or self.row}"]
        cell.value = f"={formula}"
        styles: Any = importlib.import_module("openpyxl.styles")
        is_bold = self._sheet[f"A{cell.row}"].font.bold
        cell.font = styles.Font(name=_FONT, size=11, bold=is_bold)
        self.align_right(place, cell.row)

    def show_percent(self, place: str) -> None:
        """Show a share in percent."""
        self._sheet[f"{place}{self.row}"].number_format = "0.0%"

    def open(self, place: str, *, is_text: bool) -> None:
        """Let a cell of the last row be filled in."""
        styles: Any = importlib.import_module("openpyxl.styles")
        cell, side = self._sheet[f"{place}{self.row}"], styles.Side(style="thin", color="8A94A0")
        cell.protection = styles.Protection(locked=False)
        cell.fill = styles.PatternFill("solid", fgColor="FFF8DC")
        cell.border = styles.Border(left=side, right=side, top=side, bottom=side)
        cell.number_format = "@" if is_text else "General"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A statement and where it stands."""

    one: Characteristic
    statement: Statement
    row: int


def _head(sheet: _Sheet, content: Card) -> None:
    sheet.line(content.title, bold=True)
    for sentence in (content.subtitle, *content.verdict, content.parts[0].rule):
        sheet.line(sentence)
    sheet.line()


def _points(
    sheet: _Sheet, card: Scorecard, found: tuple[Characteristic, ...], columns: tuple[Column, ...]
) -> tuple[int, int]:
    """Write the cells to fill in and the statements; return the first and the last row."""
    sheet.line("Statement", "Your value", "Points", "True", "Counts", bold=True)
    sheet.align_right("CDE", sheet.row)
    first = sheet.line("start with", None, card.start)
    sheet.formula("E", f"C{first}")
    lines = []
    for column in columns:
        sheet.line(column.name, bold=True)
        row = sheet.wrap()
        sheet.open("B", is_text=_holds_texts(column, found))
        sheet.formula("E", f'IF({_is_read(f"B{row}", column)},"","{_UNREAD}")')
        for one in found:
            for statement in one.statements:
                if statement.test.column == column.name and _says(one, statement):
                    sheet.line(statement.name, None, statement.points)
                    sheet.wrap()
                    sheet.formula("D", _is_true(f"B{row}", statement, column))
                    lines.append(_Line(one=one, statement=statement, row=sheet.row))
    for line in lines:
        sheet.formula("E", _counts(line, lines), line.row)
    return first, sheet.row


def _says(one: Characteristic, statement: Statement) -> bool:
    """Return whether a statement matters: of exclusive columns each one does."""
    return bool(statement.points) or len(one.columns) > 1


def _holds_texts(column: Column, found: tuple[Characteristic, ...]) -> bool:
    """Return whether what is typed must stay as it is: 1-2 would become a date."""
    if column.is_number:
        return False
    tests = [s.test for one in found for s in one.statements if s.test.column == column.name]
    values = [value for test in tests if isinstance(test, OneOf) for value in test.values]
    texts = (*values, *(column.allowed or ()))
    return column.needs_text or not all(map(is_number_text, texts))


def _is_read(place: str, column: Column) -> str:
    """Return the condition that the card reads a cell."""
    blank = f"LEN({place})=0"
    if column.is_number:
        return _any([f"ISNUMBER({place})", blank, *_exactly(place, column.missing)])
    if column.allowed is not None:
        return _any([blank, *_equal(place, (*column.allowed, *column.missing), is_text=False)])
    return f"OR({blank},ISTEXT({place}))" if column.needs_text else "TRUE"


def _is_true(place: str, statement: Statement, column: Column) -> str:
    test = statement.test
    if isinstance(test, AtLeast):
        others = [f"{place}<>{_number(number)}" for number in test.absent]
        return _all([f"ISNUMBER({place})", f"{place}>={_number(test.cut)}", *others])
    blank = [f"LEN({place})=0"] if test.blank else []
    if not column.is_number:
        return _any([*blank, *_equal(place, test.values, is_text=test.is_text)])
    numbers = [text for text in test.values if is_number_text(text)]
    others = [text for text in test.values if text not in numbers]
    if not set(others).issubset(column.missing):
        raise ModelFileError(
            f"an Excel file reads a column as numbers or as texts, but {quoted(column.name)} has "
            "thresholds and a value that is no number; write --python or --sql-text instead."
        )
    return _any([*blank, *_exactly(place, others), *(_same(place, text) for text in numbers)])


def _counts(line: _Line, lines: list[_Line]) -> str:
    """Return the points that count: of statements that exclude each other the first true one's."""
    order = line.one.statements
    first = order[: order.index(line.statement)]
    before = [each.row for each in lines if each.one is line.one and each.statement in first]
    true = [f"D{line.row}"]
    if not line.one.adds_up and before:
        true += [f"NOT({_any(f'D{row}' for row in before)})"]
    return f"IF({_all(true)},C{line.row},0)"


def _answers(
    sheet: _Sheet, card: Scorecard, lines: tuple[int, int], odds: OddsScale | None
) -> None:
    span = f"E{lines[0]}:E{lines[1]}"
    total = f"E{sheet.line('Total', bold=True)}"
    sheet.formula("E", f'IF(COUNTIF({span},"{_UNREAD}")=0,SUM({span}),"{_UNREAD}")')
    negative, positive = (_literal(plain(str(label))) for label in card.classes)
    sheet.line("Answer", bold=True)
    said = f"IF({total}>={card.threshold},{positive},{negative})"
    sheet.formula("E", f'IF(ISNUMBER({total}),{said},"")')
    if odds is not None:
        sheet.line(f"Chance of “{card.classes[1]}”", bold=True)
        sheet.formula("E", f'IF(ISNUMBER({total}),{_chance(odds, total)},"")')
        sheet.show_percent("E")


def _chance(odds: OddsScale, total: str) -> str:
    """Return the chance of a total; 15 digits of its constants count."""
    log_odds = (
        f"LN({odds.odds0:.15g})+({total}-({odds.points0:.15g}))*LN(2)/{odds.pdo:.15g}".upper()
    )
    most = int(LARGEST_LOG_ODDS)
    return f"1/(1+EXP(-MAX(-{most},MIN({most},{log_odds}))))"


def _foot(sheet: _Sheet, content: Card) -> None:
    (part,) = content.parts
    sheet.line()
    for words, label in part.outcomes:
        sheet.line(words, label)
    if part.risks:
        sheet.line()
        sheet.line(part.risk_title, part.risk_word, bold=True)
        for risk in part.risks:
            sheet.line(f"Total {risk.totals}", risk.rate, risk.between or None)
    sheet.line()
    for note in (*content.notes, *_NOTES):
        sheet.line(note)
    sheet.line()
    sheet.line("Receipt", bold=True)
    for name, line in content.receipt:
        sheet.line(name, line)


def _equal(place: str, values: tuple[str, ...], *, is_text: bool) -> Iterable[str]:
    """Yield conditions that a cell is one of some texts, or a number that is written so."""
    yield from _exactly(place, spelled(values, is_text=is_text))
    if not is_text:
        yield from (_same(place, text) for text in values if is_number_text(text))


def _exactly(place: str, texts: tuple[str, ...] | list[str]) -> Iterable[str]:
    return (f"EXACT({place},{_literal(text)})" for text in texts)  # = takes Yes for yes


def _same(place: str, text: str) -> str:
    return f"AND(ISNUMBER({place}),{place}={_number(float(text))})"  # an empty cell equals 0


def _any(conditions: Iterable[str]) -> str:
    listed = list(conditions)
    while len(listed) > _MOST_PARTS:
        listed = [_any(listed[:_MOST_PARTS]), *listed[_MOST_PARTS:]]
    return f"OR({','.join(listed)})" if listed else "FALSE"


def _all(conditions: Iterable[str]) -> str:
    return f"AND({','.join(conditions)})"


def _number(number: float) -> str:
    text = f"{number:.15g}"
    if float(text) != number:
        raise ModelFileError(
            "an Excel file must compare numbers of 15 digits at most, but a threshold or value of "
            "this card has more; write --python or --sql instead."
        )
    return text.upper()


def _literal(text: str) -> str:
    if NO_XML.search(text) or "\r" in text or _ESCAPE.search(text) or len(text) > _LONGEST_TEXT:
        raise ModelFileError(
            "a formula of an Excel file must hold texts of 255 printable characters at most "
            "without such as _x0041_, but a value or label of this card is not; write --python or "
            "--sql instead."
        )
    return '"' + text.replace('"', '""') + '"'


def _bytes(book: Any) -> bytes:
    """Return a workbook without the time at which it was written."""
    book.calculation.fullCalcOnLoad = True
    book.properties.created = _WRITTEN
    written, timeless = io.BytesIO(), io.BytesIO()
    book.save(written)
    with zipfile.ZipFile(written) as before, zipfile.ZipFile(timeless, "w") as after:
        for name in before.namelist():
            content = before.read(name)
            if name == "docProps/core.xml":
                content = re.sub(
                    rb"(<dcterms:modified[^>]*>)[^<]*", rb"\g<1>1980-01-01T00:00:00Z", content
                )
            entry = zipfile.ZipInfo(name, _WRITTEN.timetuple()[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            after.writestr(entry, content)
    return timeless.getvalue()
