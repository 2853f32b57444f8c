"""Files that hold typed columns: Parquet, Arrow, Excel, each value read as the text of a cell.

What the values were before somebody gave them types cannot be seen here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np

from opdisc.data.files import FilePath
from opdisc.data.reading.cell_texts import cell_texts, chunk_of_rows
from opdisc.data.reading.chunks import CHUNK_CELLS, Chunk
from opdisc.data.reading.header_rule import header_doubt
from opdisc.data.reading.provenance import DTYPES_DECLARED
from opdisc.data.reading.text_file import names_unlike_columns, refuse_named_header
from opdisc.errors import FileMistake, OPDiscError, TableError, quoted

_NARROW = {"halffloat": np.float16, "float": np.float32}
"""Types of numpy for Arrow's numbers of less than double precision."""


def optional_module(name: str, extra: str, what: str) -> Any:
    """Return a module of an extra, or say what to install."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise FileMistake(
            f"{what} needs {name.partition('.')[0]}, which is not installed; run: pip install "
            f"'opdisc[{extra}]'"
        ) from None


class ArrowBatches:
    """A table in record batches of Arrow: a Parquet or an Arrow file.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    batches : callable
        From names and a number of rows to batches that have these columns.

    Attributes
    ----------
    header, doubt, assumptions
        As in :class:`opdisc.data.reading.chunks.TableReader`.
    """

    assumptions: tuple[str, ...] = (DTYPES_DECLARED,)
    doubt = ""

    def __init__(
        self, header: Sequence[str], batches: Callable[[list[str], int], Iterable[Any]]
    ) -> None:
        self._names = tuple(header)
        self.header = tuple(map(plain_name, self._names))
        self._batches = batches

    def chunks(self, positions: Sequence[int], chunk_cells: int = CHUNK_CELLS) -> Iterator[Chunk]:
        """Yield all rows; see :class:`opdisc.data.reading.chunks.TableReader`."""
        # Of columns with one name all are read, in order; a place is a name and which of them.
        places = [(self._names[at], self._names[:at].count(self._names[at])) for at in positions]
        names = list(dict.fromkeys(name for name, _ in places))
        size = max(1, chunk_cells // max(1, len(names)))
        for whole in self._batches(names, size):
            for start in range(0, whole.num_rows, size):
                batch = whole.slice(start, size)
                cells, numbers = [], set()
                for at, (name, which) in enumerate(places):
                    found = batch.schema.get_all_field_indices(name)[which]
                    texts, holds = _arrow_texts(batch.column(found))
                    cells.append(texts)
                    if holds:
                        numbers.add(at)
                yield Chunk(n_rows=batch.num_rows, cells=tuple(cells), numbers=frozenset(numbers))


def plain_name(name: Any) -> Any:
    """Return the name of a column without white space around it, as text files are read."""
    return name.strip() if isinstance(name, str) else name


def _arrow_texts(column: Any) -> tuple[list[str], bool]:
    """Return texts of an Arrow array, each distinct value read once."""
    arrow: Any = importlib.import_module("pyarrow")
    kind = column.type
    if arrow.types.is_dictionary(kind):
        # Arrow decodes no dictionary of string views, as polars writes: values are taken one by
        # one, those that these rows use.
        encoded, kind = column.indices.dictionary_encode(), kind.value_type
        values = [column.dictionary[at].as_py() for at in encoded.dictionary.to_pylist()]
    elif _is_plain(kind):
        encoded = column.dictionary_encode()
        values = encoded.dictionary.to_pylist()
    else:
        return cell_texts(column.to_pylist())
    narrow = _NARROW.get(str(kind))
    if narrow is not None:
        values = [None if value is None else narrow(value) for value in values]
    texts, holds = cell_texts(values)
    codes = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    out: list[str] = np.array([*texts, ""], dtype=object)[codes].tolist()
    return out, holds


def _is_plain(kind: Any) -> bool:
    """Return whether Arrow finds the distinct values of a type."""
    types: Any = importlib.import_module("pyarrow").types
    return bool(
        types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_date(kind)
        or types.is_time(kind)
        or types.is_timestamp(kind)
    )


@contextmanager
def open_parquet(file: BinaryIO, path: FilePath) -> Iterator[ArrowBatches]:
    """Open a Parquet file."""
    parquet = optional_module("pyarrow.parquet", "tables", "a Parquet file")
    with _refusals(path, "Parquet"), parquet.ParquetFile(file) as opened:
        # One thread: what is read ahead would be held.
        yield ArrowBatches(
            opened.schema_arrow.names,
            lambda names, size: opened.iter_batches(size, columns=names, use_threads=False),
        )


@contextmanager
def open_arrow(file: BinaryIO, path: FilePath) -> Iterator[ArrowBatches]:
    """Open an Arrow file (Feather) or a stream of Arrow batches."""
    ipc = optional_module("pyarrow.ipc", "tables", "an Arrow file")
    with _refusals(path, "Arrow"):
        is_file = file.read(1) == b"A"
        file.seek(0)
        with (ipc.open_file if is_file else ipc.open_stream)(file) as opened:
            batches: Iterable[Any] = opened
            if is_file:
                batches = (opened.get_batch(i) for i in range(opened.num_record_batches))
            yield ArrowBatches(opened.schema.names, lambda _names, _size: batches)


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

    Attributes
    ----------
    header, doubt, assumptions
        As in :class:`opdisc.data.reading.chunks.TableReader`.
    """

    assumptions: tuple[str, ...] = (DTYPES_DECLARED,)

    def __init__(
        self,
        rows: Iterator[tuple[Any, ...]],
        path: FilePath,
        names: Sequence[str] | None = None,
    ) -> None:
        self._rows, self._path = rows, path
        first = list(next(rows, ()))
        if names is not None:
            if len(first) < len(names) or any(v is not None for v in first[len(names) :]):
                raise names_unlike_columns(path)
            refuse_named_header(first[: len(names)], names, path)
            self.header, self.doubt = tuple(names), ""
            self._rows = chain([tuple(first)], rows)
            return
        while first and first[-1] is None:
            first.pop()
        self.header = tuple("" if name is None else str(name).strip() for name in first)
        self.doubt = header_doubt(self.header)
        if not self.header:
            raise TableError(
                f"a table must start with a line of column names, but {path} does not"
            )

    def chunks(self, positions: Sequence[int], chunk_cells: int = CHUNK_CELLS) -> Iterator[Chunk]:
        """Yield all rows; see :class:`opdisc.data.reading.chunks.TableReader`."""
        size = max(1, chunk_cells // len(self.header))
        rows = self._whole_rows()
        while some := list(islice(rows, size)):
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


@contextmanager
def open_excel(
    file: BinaryIO, path: FilePath, name: str | None, columns: Sequence[str] | None = None
) -> Iterator[Sheet]:
    """Open a sheet of an Excel workbook, by default the first one.

    A name that is none is refused without the names that there are: they may say what is inside.
    """
    openpyxl = optional_module("openpyxl", "tables", "an Excel file")
    with _refusals(path, "Excel"):
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        try:
            found = [s for s in book.worksheets if name is None or s.title == name]
            if not found:
                raise FileMistake(
                    f"sheet must name a sheet of the workbook, but {path} has none called "
                    f"{quoted(name)}; spell it as Excel shows it"
                )
            yield Sheet(found[0].iter_rows(values_only=True), path, columns)
        finally:
            book.close()


@contextmanager
def _refusals(path: FilePath, kind: str) -> Iterator[None]:
    """Turn what a library says of a damaged file into one sentence without a cell."""
    try:
        yield
    except (OPDiscError, MemoryError):
        raise
    except Exception as error:
        reason = type(error).__name__
    else:
        return
    raise TableError(
        f"a table must be a readable {kind} file, but {path} is not ({reason}); write it again"
    )
