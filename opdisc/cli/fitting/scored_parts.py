"""Rows with what a model says of them, written as CSV or Parquet, or printed."""

from __future__ import annotations

import importlib
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from opdisc.cli.console import print_text
from opdisc.data import PRIVATE_MODE, atomic_writer, csv_text
from opdisc.errors import OPDiscError, TableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PRINTED = 2**20

_PARQUET = ".parquet"

_TERMINATED = 128 + signal.SIGTERM
"""The status by which shells know such an end."""

_GROUP_ROWS = 2**16
"""Rows that Parquet keeps together, at least."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPart:
    """Some rows, one after the other.

    Parameters
    ----------
    names : tuple of str
        Of the table's columns.
    cells : tuple of list of str
        Their cells.
    own : mapping of str to ndarray of shape (n,)
        What the model says: texts, whole numbers or numbers.
    """

    names: tuple[str, ...]
    cells: tuple[list[str], ...]
    own: Mapping[str, NDArray[Any]]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.own.values())))

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns."""
        return (*self.names, *self.own)


@contextmanager
def written_parts(out: Path | None, as_json: bool) -> Iterator[Callable[[ScoredPart], object]]:
    """Take parts, and write or print them at the end: all of them, or none if something fails.

    Raises
    ------
    OPDiscError
        If Parquet is to be written and PyArrow is not installed.
    """
    if out is not None and out.suffix.casefold() == _PARQUET:
        arrow = _arrow()
        with (
            _ended_in_order(),
            atomic_writer(out, mode=PRIVATE_MODE) as write,
            _parquet(arrow, write) as take,
        ):
            yield take
    elif out is not None:
        with _ended_in_order(), atomic_writer(out, mode=PRIVATE_MODE) as write:
            yield _csv(write)
    elif as_json:
        yield lambda part: None
    else:
        with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as held:
            yield _csv(held.write)
            held.seek(0)
            while text := held.read(_PRINTED):
                print_text(text)


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Leave the block by an exception where the process is asked to end: no scored row stays."""
    is_ours = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not is_ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end(*_: object) -> NoReturn:
    raise SystemExit(_TERMINATED)


def _csv(write: Callable[[str], object]) -> Callable[[ScoredPart], object]:
    """Return who writes parts as CSV text: the first one has the header before it."""
    is_first = True

    def take(part: ScoredPart) -> None:
        nonlocal is_first
        if is_first:
            write(csv_text([part.header]))
            is_first = False
        own = [map(str, column.tolist()) for column in part.own.values()]
        write(csv_text(zip(*part.cells, *own, strict=True)))

    return take


def _arrow() -> Any:
    try:
        importlib.import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise OPDiscError(
            "a Parquet file needs pyarrow, which is not installed; install opdisc[tables], or "
            "name a CSV file."
        ) from None
    return importlib.import_module("pyarrow")


class _Pieces:
    """A file that passes on what it is given."""

    closed = False

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write, self._size = write, 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._write(piece)
        self._size += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """Leave it to the file behind."""

    def close(self) -> None:
        self.closed = True


@contextmanager
def _parquet(
    arrow: Any, write: Callable[[bytes], object]
) -> Iterator[Callable[[ScoredPart], object]]:
    """Yield who writes parts as Parquet: cells are texts, an empty one is missing."""
    held: list[Any] = []
    writer: Any = None

    def empty() -> None:
        nonlocal writer
        table = arrow.concat_tables(held)
        if writer is None:
            writer = arrow.parquet.ParquetWriter(_Pieces(write), table.schema)
        writer.write_table(table)
        held.clear()

    def take(part: ScoredPart) -> None:
        held.append(_table(arrow, part))
        if sum(len(table) for table in held) >= _GROUP_ROWS:
            empty()

    try:
        yield take
        if held:
            empty()
    finally:
        if writer is not None:
            writer.close()


def _table(arrow: Any, part: ScoredPart) -> Any:
    """Return a part as a table of Arrow."""
    if len(set(part.header)) < len(part.header):
        raise TableError(
            "a Parquet file must have columns of different names, but two of this table have the "
            "same; write CSV instead, or rename one."
        )
    text = arrow.string()
    columns = [arrow.array([cell or None for cell in cells], text) for cells in part.cells]
    for column in part.own.values():
        is_text = column.dtype == object
        texts = [str(value) or None for value in column.tolist()] if is_text else ()
        columns.append(arrow.array(texts, text) if is_text else arrow.array(column))
    return arrow.table(columns, names=list(part.header))
