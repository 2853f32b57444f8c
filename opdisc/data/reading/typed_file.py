"""Files that hold typed columns: Parquet and Arrow, each value read as the text of a cell.

What the values were before somebody gave them types cannot be seen here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from opdisc.data.reading.cell_texts import cell_texts
from opdisc.data.reading.chunks import CHUNK_CELLS, DTYPES_DECLARED, Chunk
from opdisc.data.value_labels import dictionary_values
from opdisc.errors import FileMistake, OPDiscError, TableError, engine_refusals

if TYPE_CHECKING:
    from opdisc.data.files import FilePath

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
    remedy = ""

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
        listed: dict[int, _Listed] = {}
        for whole in self._batches(names, size):
            for start in range(0, whole.num_rows, size):
                batch = whole.slice(start, size)
                cells, numbers = [], set()
                for at, (name, which) in enumerate(places):
                    found = batch.schema.get_all_field_indices(name)[which]
                    column, field = batch.column(found), batch.schema.field(found)
                    if hasattr(column, "dictionary") and not _is_of_rows(field):
                        listed.setdefault(at, _Listed()).add(column.dictionary)
                    with engine_refusals(_NO_VALUE):
                        texts, holds = _arrow_texts(column)
                    cells.append(texts)
                    if holds:
                        numbers.add(at)
                yield Chunk(
                    n_rows=batch.num_rows,
                    cells=tuple(cells),
                    numbers=frozenset(numbers),
                    listed={at: found.values for at, found in listed.items()},
                )


_NO_VALUE = (
    "a table must hold values that Python has, but a column has another ({reason}); correct its "
    "dates and times"
)


class _Listed:
    """The values of all dictionaries of a column; one that comes again is not read again.

    Attributes
    ----------
    values : dict
        Without None, as keys.
    """

    def __init__(self) -> None:
        self.values: dict[object, None] = {}
        self._last: Any = None

    def add(self, dictionary: Any) -> None:
        if self._last is None or not dictionary.equals(self._last):
            self.values |= dict.fromkeys(dictionary_values(dictionary))
        self._last = dictionary


def _is_of_rows(field: Any) -> bool:
    """Return whether a dictionary holds what the rows hold, as a Categorical of polars does.

    An Enum of polars, and a categorical of pandas, list their categories whatever the rows are.
    """
    return any(key.startswith(b"_PL_CATEGORICAL") for key in field.metadata or ())


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
    with library_refusals(path, "Parquet"), parquet.ParquetFile(file) as opened:
        # One thread: what is read ahead would be held.
        yield ArrowBatches(
            opened.schema_arrow.names,
            lambda names, size: opened.iter_batches(size, columns=names, use_threads=False),
        )


@contextmanager
def open_arrow(file: BinaryIO, path: FilePath) -> Iterator[ArrowBatches]:
    """Open an Arrow file (Feather) or a stream of Arrow batches."""
    ipc = optional_module("pyarrow.ipc", "tables", "an Arrow file")
    with library_refusals(path, "Arrow"):
        is_file = file.read(1) == b"A"
        file.seek(0)
        with (ipc.open_file if is_file else ipc.open_stream)(file) as opened:
            batches: Iterable[Any] = opened
            if is_file:
                batches = (opened.get_batch(i) for i in range(opened.num_record_batches))
            yield ArrowBatches(opened.schema.names, lambda _names, _size: batches)


@contextmanager
def library_refusals(path: FilePath, kind: str) -> Iterator[None]:
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
