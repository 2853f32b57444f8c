"""A scorecard as an Excel workbook: the printed card with cells to fill in and formulas."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from opdisc.data.reading.typed_file import optional_module
from opdisc.errors import ModelFileError, quoted
from opdisc.models.card.content import Card, card_content
from opdisc.models.card.parts import CardPart
from opdisc.models.card.source import CardSource, CardsSource, plain
from opdisc.models.exports.characteristics import (
    NO_XML,
    AtLeast,
    Characteristic,
    Column,
    OneOf,
    card_characteristics,
    card_columns,
    is_number_text,
    single_card,
    spelled,
)
from opdisc.models.odds import LARGEST_LOG_ODDS, OddsScale
from opdisc.models.scorecard import Scorecard

_DIGITS = 15
"""Digits of a number that every program of sheets keeps."""

_LONGEST, _LONGEST_LITERAL, _MOST_PARTS, _LONGEST_CELL = 8000, 255, 250, 32000
"""Characters of a formula and of a text in one, parts of OR, characters of a cell."""

_ESCAPE = re.compile("_x[0-9A-Fa-f]{4}_")
"""What a program of sheets reads as another character."""

_UNREAD = "cannot be read"

_NOTES = (
    "Numbers must be numbers, not texts; 15 digits of them count.",
    "Texts are compared with their capital letters; spaces around them do not matter.",
)

_WIDTHS = {"A": 46, "B": 18, "C": 10, "D": 10, "E": 16}


def card_workbook(model: CardSource | CardsSource) -> bytes:
    """Return an Excel file that adds up the points of the row that is typed in.

    Parameters
    ----------
    model : SavedModel
        A scorecard with its schema and receipt.

    Returns
    -------
    bytes
        One sheet: cells to fill in, points, total, answer, of a logistic card the chance, and the
        receipt in five lines. The same model gives the same bytes.

    Raises
    ------
    FileMistake
        If openpyxl is not installed.
    ModelFileError
        If there are several cards, or formulas cannot say a threshold or a value exactly.
    """
    openpyxl = optional_module("openpyxl", "tables", "an Excel file")
    model = single_card(model, "a sheet")
    content = card_content(model)
    found = card_characteristics(model.scorecard, model.schema)
    book = openpyxl.Workbook()
    sheet = _Sheet(sheet=book.active)
    book.active.title = "Card"
    _head(sheet, content)
    lines = _points(sheet, model.scorecard, found, card_columns(found, model.schema))
    _answers(sheet, model.scorecard, content.parts[0], lines, getattr(model, "odds", None))
    _foot(sheet, content)
    for name, width in _WIDTHS.items():
        book.active.column_dimensions[name].width = width
    book.active.protection.sheet = True  # against slips: there is no password
    return _bytes(book)


@dataclass(slots=True, kw_only=True)
class _Sheet:
    """A sheet that is written from the top down.

    Parameters
    ----------
    sheet : openpyxl worksheet
        Where it goes.
    row : int
        The row that was written last.
    """

    sheet: Any
    row: int = field(default=0)

    def next(self, *cells: str | int | None, bold: bool = False) -> int:
        """Write texts and numbers into the next row, and return its number."""
        self.row += 1
        for place, value in enumerate(cells, start=1):
            if isinstance(value, str):
                self.text(self.sheet.cell(self.row, place), value)
            elif value is not None:
                self.sheet.cell(self.row, place).value = value
            if bold:
                self._make_bold(self.sheet.cell(self.row, place))
        return self.row

    def text(self, cell: Any, text: str) -> None:
        """Write a text that stays one: what begins with = is no formula."""
        shown = plain(text)
        if _ESCAPE.search(shown) or len(shown) > _LONGEST_CELL:
            raise ModelFileError(
                "a cell of a sheet must be a text of 32000 characters at most without such as "
                f"_x0041_, but {quoted(shown)} is not; write --html instead."
            )
        cell.value = shown
        cell.data_type = "s"
        cell.quotePrefix = shown[:1] in ("=", "+", "-", "@")

    def formula(self, place: str, formula: str) -> None:
        """Write a formula into a column of the last row."""
        if len(formula) > _LONGEST or NO_XML.search(formula) or _ESCAPE.search(formula):
            raise ModelFileError(
                "a formula of a sheet must be of 8000 characters at most, without control "
                "characters and such as _x0041_, but one of this card is not; write --python "
                "instead."
            )
        self.sheet[f"{place}{self.row}"] = f"={formula}"

    def open(self, place: str, *, is_text: bool) -> None:
        """Let a cell of the last row be filled in."""
        from openpyxl.styles import Border, PatternFill, Protection, Side

        cell, line = self.sheet[f"{place}{self.row}"], Side(style="thin", color="8A94A0")
        cell.protection = Protection(locked=False)
        cell.fill = PatternFill("solid", fgColor="FFF8DC")
        cell.border = Border(left=line, right=line, top=line, bottom=line)
        cell.number_format = "@" if is_text else "General"

    def _make_bold(self, cell: Any) -> None:
        from openpyxl.styles import Font

        cell.font = Font(bold=True)


def _head(sheet: _Sheet, content: Card) -> None:
    sheet.next(content.title, bold=True)
    sheet.next(content.subtitle)
    for sentence in (*content.verdict, content.parts[0].rule):
        sheet.next(sentence)
    sheet.next()


def _points(
    sheet: _Sheet, card: Scorecard, found: tuple[Characteristic, ...], columns: tuple[Column, ...]
) -> tuple[int, int]:
    """Write the cells to fill in and the statements; return the first and the last row."""
    sheet.next("Statement", "Your value", "Points", "True", "Counts", bold=True)
    first = sheet.next("start with", None, card.start)
    sheet.formula("E", f"C{first}")
    for column in columns:
        row = sheet.next(column.name, bold=True)
        sheet.open("B", is_text=not column.is_number)
        sheet.formula("E", f'IF({_is_read(f"B{row}", column)},"","{_UNREAD}")')
        for one in found:
            _statements(sheet, one, column, f"B{row}", true)
    return first, sheet.row


def _answers(
    sheet: _Sheet, card: Scorecard, part: CardPart, lines: tuple[int, int], odds: OddsScale | None
) -> None:
    """Write total, answer and chance, and what a total means."""
    span = f"E{lines[0]}:E{lines[1]}"
    total = f"E{sheet.next('Total', bold=True)}"
    sheet.formula("E", f'IF(COUNTIF({span},"{_UNREAD}")=0,SUM({span}),"{_UNREAD}")')
    row = sheet.next("Answer", bold=True)
    labels = row + 2 + (odds is not None)
    sheet.formula("E", f'IF(ISNUMBER({total}),IF({total}>={card.threshold},B{labels},B{labels + 1}),"")')
    if odds is not None:
        sheet.next(f"Chance of “{card.classes[1]}”", bold=True)
        sheet.formula("E", f'IF(ISNUMBER({total}),{_chance(odds, total)},"")')
        sheet.sheet[f"E{sheet.row}"].number_format = "0.0%"
    sheet.next()
    for words, label in part.outcomes:
        sheet.next(words, label)
    if part.risks:
        sheet.next()
        sheet.next(part.risk_title, part.risk_word, bold=True)
        for line in part.risks:
            sheet.next(f"Total {line.totals}", line.rate, line.between or None)


def _foot(sheet: _Sheet, content: Card) -> None:
    sheet.next()
    for note in (*content.notes, *_NOTES):
        sheet.next(note)
    sheet.next()
    sheet.next("Receipt", bold=True)
    for name, line in content.receipt:
        sheet.next(name, line)


def _chance(odds: OddsScale, total: str) -> str:
    """Return the formula of the chance; only numbers that were chosen are in it."""
    most = int(LARGEST_LOG_ODDS)
    log_odds = (
        f"LN({_number(odds.odds0)})+({total}-({_number(odds.points0)}))*LN(2)/{_number(odds.pdo)}"
    )
    return f"1/(1+EXP(-MAX(-{most},MIN({most},{log_odds}))))"
