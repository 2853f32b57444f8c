"""Workbooks of Excel: which sheet is read, and its rows.

Of several sheets the first visible one is read, if no other holds a table: nobody looks for a
table in a sheet that Excel does not show, and a look at the cells would decide what is read.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO

from opdisc.data.reading.cell_texts import chunk_of_rows
from opdisc.data.reading.chunks import CHUNK_CELLS, DTYPES_DECLARED
from opdisc.data.reading.header_rule import header_doubt
from opdisc.data.reading.text_file import names_unlike_columns, refuse_named_header
from opdisc.data.reading.typed_file import library_refusals, optional_module
from opdisc.errors import FileMistake, TableError, quoted

if TYPE_CHECKING:
    from opdisc.data.files import FilePath
    from opdisc.data.reading.chunks import Chunk

OLD_EXCEL = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_FORMULA = re.compile(rb"<(\w+:)?f[\s/>]")

_STALE = re.compile(rb"""\bfullCalcOnLoad\s*=\s*["'](1|true)""")
"""Says that Excel shall compute all formulas: who wrote them did not, and may have stored 0."""

_NOT_COMPUTED = object()

_PIECE = 2**20

_listener: ContextVar[Callable[[str], object] | None] = ContextVar("listener", default=None)


@contextmanager
def told_sheets(say: Callable[[str], object]) -> Iterator[None]:
    """Say once of each workbook which sheet is read. It is private, as the name of a file is."""
    said: set[str] = set()

    def once(text: str) -> None:
        if text not in said:
            said.add(text)
            say(text)

    token = _listener.set(once)
    try:
        yield
    finally:
        _listener.reset(token)


class Sheet:
    """A sheet of a workbook; the first row names the columns.

    Parameters
    ----------
    rows : iterator of tuple
        Values of each row.
    path : path
        Its name, for messages.
    names : sequence of str or None
        Of the columns, where the first row is one of cells.
    width : int
        Columns of the sheet at least.
    title : str
        Name of the sheet.
    remedy : str
        What to do if a column is missing; "" if the workbook shows no other sheet.

    Attributes
    ----------
    header, doubt, assumptions, remedy
        As in :class:`opdisc.data.reading.chunks.TableReader`.
    title
        As above.
    """

    assumptions: tuple[str, ...] = (DTYPES_DECLARED,)

    def __init__(
        self,
        rows: Iterator[tuple[Any, ...]],
        path: FilePath,
        names: Sequence[str] | None,
        *,
        width: int,
        title: str,
        remedy: str,
    ) -> None:
        self._rows, self._path, self.title, self.remedy = rows, path, title, remedy
        first = list(next(rows, ()))
        if names is not None:
            first += [None] * (min(width, len(names)) - len(first))
            if len(first) < len(names) or any(v is not None for v in first[len(names) :]):
                raise names_unlike_columns(path)
            refuse_named_header(first[: len(names)], names, path)
            self.header, self.doubt = tuple(names), ""
            self._rows = chain([tuple(first)], rows)
            return
        while first and first[-1] is None:
            first.pop()
        _refuse_formulas([first], path)
        self.header = tuple("" if name is None else str(name).strip() for name in first)
        self.doubt = header_doubt(self.header)
        if not self.header:
            raise TableError(
                "a table must start with a line of column names, but sheet "
                f"{quoted(title)} of {path} does not; {remedy or 'write one'}"
            )

    def chunks(self, positions: Sequence[int], chunk_cells: int = CHUNK_CELLS) -> Iterator[Chunk]:
        """Yield all rows; see :class:`opdisc.data.reading.chunks.TableReader`."""
        size = max(1, chunk_cells // len(self.header))
        rows = self._whole_rows()
        while some := list(islice(rows, size)):
            _refuse_formulas(([row[at] for at in positions] for row in some), self._path)
            yield chunk_of_rows(some, positions)

    def _whole_rows(self) -> Iterator[tuple[Any, ...]]:
        width = len(self.header)
        blank = False
        for row in self._rows:
            if all(value is None for value in row):
                blank = True
                continue
            if blank or any(value is not None for value in row[width:]):
                raise TableError(
                    "every line of a table must have as many cells as its header and none may be "
                    f"blank, but one of {self._path} does not; correct the sheet"
                )
            yield (*row[:width], *[None] * (width - len(row)))


def _refuse_formulas(rows: Iterable[Iterable[Any]], path: FilePath) -> None:
    """Refuse formulas that nobody has computed: they are no missing cells."""
    if any(value is _NOT_COMPUTED for row in rows for value in row):
        raise TableError(
            f"a formula must have the value that Excel computed for it, but one of {path} has "
            "none; open the file in Excel or LibreOffice and save it again"
        )


@contextmanager
def open_excel(
    file: BinaryIO, path: FilePath, name: str | None, columns: Sequence[str] | None = None
) -> Iterator[Sheet]:
    """Open a sheet of an Excel workbook, by default the first visible one.

    A name that is none is refused without the names that there are: they may say what is inside.

    Raises
    ------
    TableError
        If no sheet is named and several that are visible hold a table.
    """
    openpyxl = optional_module("openpyxl", "tables", "an Excel file")
    with library_refusals(path, "Excel"):
        formulas, stale = _looked_through(file, path)
        with closing(
            _quietly(openpyxl.load_workbook, file, read_only=True, data_only=True)
        ) as book:
            sheet, others = _chosen(book, path, name, columns)
            listener = _listener.get()
            if listener is not None:
                listener(_note(sheet, path, others))
            remedy = (
                ""
                if not others
                else (
                    f"sheet {quoted(sheet.title)} was read: name another with --sheet "
                    f"({_listed(others)}), or correct the header or the schema"
                )
            )
            width = sheet.max_column or 0
            with _rows(openpyxl, file, sheet, formulas, stale) as rows:
                yield Sheet(rows, path, columns, width=width, title=sheet.title, remedy=remedy)


def _note(sheet: Any, path: FilePath, others: Sequence[str]) -> str:
    kind = "sheet" if sheet.sheet_state == "visible" else "hidden sheet"
    more = f"; --sheet reads another: {_listed(others)}" if others else ""
    return f"note: {kind} {quoted(sheet.title)} of {path} is read{more}."


def _listed(titles: Sequence[str]) -> str:
    return ", ".join(map(quoted, titles))


def _chosen(
    book: Any, path: FilePath, name: str | None, columns: Sequence[str] | None
) -> tuple[Any, list[str]]:
    """Return the sheet that is read, and the names of the other visible ones."""
    visible = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    if name is not None:
        found = [sheet for sheet in book.worksheets if sheet.title == name]
        if not found:
            raise FileMistake(
                f"sheet must name a sheet of the workbook, but {path} has none called "
                f"{quoted(name)}; spell it as Excel shows it"
            )
        return found[0], []
    if not visible:
        raise TableError(
            f"a workbook must have a visible sheet, but {path} shows none; name one with --sheet"
        )
    several = 1 if columns is not None else 2
    held = [_first_row_cells(sheet) for sheet in visible] if len(visible) > 1 else [0]
    tables = [sheet for sheet, cells in zip(visible, held, strict=True) if cells >= several]
    if len(tables) > 1:
        raise TableError(
            f"one table is read, but several visible sheets of {path} hold one; name it with "
            f"--sheet: {_listed([sheet.title for sheet in tables])}"
        )
    # Names that are given come with rows anywhere in the sheet, so a blank one is passed over.
    chosen = tables[0] if columns is not None and tables else visible[0]
    return chosen, [sheet.title for sheet in visible if sheet is not chosen]


def _first_row_cells(sheet: Any) -> int:
    rows = sheet.iter_rows(max_row=1, values_only=True)
    first = _quietly(next, rows, ())
    rows.close()
    return sum(value is not None for value in first)


@contextmanager
def _rows(
    openpyxl: Any, file: BinaryIO, sheet: Any, formulas: bool, stale: bool
) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield the rows of a sheet, a mark of its own in place of what nobody has computed."""
    sheet.reset_dimensions()  # what a file says of a sheet's size cuts rows off, where it is wrong
    if not formulas:
        yield _quiet_rows(sheet.iter_rows(values_only=True))
        return
    with closing(_quietly(openpyxl.load_workbook, file, read_only=True)) as written:
        same = written[sheet.title]
        same.reset_dimensions()
        pairs = zip(sheet.iter_rows(), same.iter_rows(), strict=True)
        yield _quiet_rows(
            tuple(_value(cell, spelled, stale) for cell, spelled in zip(*row, strict=True))
            for row in pairs
        )


def _value(cell: Any, written: Any, stale: bool) -> Any:
    """Return a cell's value; that of a formula may be an empty text, which has its own type."""
    value = cell.value
    if written.data_type != "f":
        return value
    is_stored = value is not None or cell.data_type == "str"
    return value if is_stored and not (stale and value == 0) else _NOT_COMPUTED


def _looked_through(file: BinaryIO, path: FilePath) -> tuple[bool, bool]:
    """Return whether a workbook has formulas, and says that their values are not computed."""
    with zipfile.ZipFile(file) as parts:
        names = parts.namelist()
        if not any(name.endswith("workbook.xml") for name in names):
            raise other_spreadsheet(path)
        stale = any(_STALE.search(parts.read(n)) for n in names if n.endswith("workbook.xml"))
        formulas = any(_holds_formula(parts, n) for n in names if "worksheets/" in n)
    file.seek(0)
    return formulas, stale


def _holds_formula(parts: zipfile.ZipFile, name: str) -> bool:
    with parts.open(name) as part:
        end = b""
        while piece := part.read(_PIECE):
            if _FORMULA.search(end + piece):
                return True
            end = piece[-64:]
    return False


def other_spreadsheet(path: FilePath) -> TableError:
    """Return the refusal of a spreadsheet that is no .xlsx file."""
    return TableError(
        f"a workbook must be an .xlsx file without a password, but {path} is none; unpack it if "
        "it is an archive, else open it in Excel or LibreOffice and save it as .xlsx"
    )


def _quiet_rows(rows: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    while some := _quietly(lambda: list(islice(rows, 64))):
        yield from some


def _quietly(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call the library; its warnings may hold a cell, and one says that a cell is not read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".* is marked as a date")
        try:
            return call(*arguments, **options)
        except UserWarning:
            pass
    raise TableError(
        "a cell that Excel shows as a date must hold one, but one has a number that is none; "
        "correct the cell or its format"
    )
