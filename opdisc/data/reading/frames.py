"""Tables in memory of other libraries than pandas, read by the names of their columns."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opdisc.data.reading.cell_texts import chunk_of_values
from opdisc.data.reading.chunks import CHUNK_CELLS, COLUMNS_UNSEEN, DTYPES_DECLARED
from opdisc.data.reading.typed_file import ArrowBatches, plain_name
from opdisc.errors import TableError

if TYPE_CHECKING:
    from opdisc.data.reading.chunks import Chunk, TableReader

_NARROW = {"Float16": np.float16, "Float32": np.float32}


class FrameReader:
    """A table in memory of any library that narwhals knows.

    Parameters
    ----------
    frame : narwhals.DataFrame
        The table.

    Attributes
    ----------
    header, doubt, assumptions
        As in :class:`opdisc.data.reading.chunks.TableReader`.
    """

    assumptions: tuple[str, ...] = (DTYPES_DECLARED, COLUMNS_UNSEEN)
    doubt = ""
    remedy = ""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._names = tuple(frame.columns)
        self.header = tuple(plain_name(name) for name in self._names)

    def chunks(self, positions: Sequence[int], chunk_cells: int = CHUNK_CELLS) -> Iterator[Chunk]:
        """Yield all rows; see :class:`opdisc.data.reading.chunks.TableReader`."""
        size = max(1, chunk_cells // max(1, len(positions)))
        for start in range(0, len(self._frame), size):
            part = self._frame[start : start + size]
            columns = [_values(part.get_column(self._names[at])) for at in positions]
            yield chunk_of_values(columns, len(part))


def frame_reader(source: Any) -> TableReader | None:
    """Return a reader of a table in memory that has column names, other than one of pandas.

    Parameters
    ----------
    source : object
        Perhaps a table of Arrow, of polars or of whatever narwhals knows.

    Returns
    -------
    TableReader or None
        None for anything else.

    Raises
    ------
    TableError
        If the table is lazy, or narwhals is needed and not installed.
    """
    arrow: Any = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(source, arrow.RecordBatch):
        source = arrow.Table.from_batches([source])
    if arrow is not None and isinstance(source, arrow.Table):
        batches = ArrowBatches(
            source.column_names,
            lambda names, size: source.select(
                [at for at, name in enumerate(source.column_names) if name in names]
            ).to_batches(max_chunksize=size),
        )
        batches.assumptions = FrameReader.assumptions
        return batches
    frame = narwhals_frame(source)
    return None if frame is None else FrameReader(frame)


def narwhals_frame(source: Any) -> Any:
    """Return a table in memory by the interface of narwhals, or None for anything else.

    Raises
    ------
    TableError
        As :func:`frame_reader`.
    """
    if not hasattr(source, "columns"):
        return None
    try:
        narwhals: Any = importlib.import_module("narwhals")
    except ImportError:
        raise TableError(
            "a table other than one of pandas needs narwhals, which is not installed; run: pip "
            "install 'opdisc[tables]'"
        ) from None
    frame = narwhals.from_native(source, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        raise TableError(
            "a table must be in memory, but this one is lazy; collect it first, or count it by a "
            "schema with opdisc.count_rows"
        )
    return frame if isinstance(frame, narwhals.DataFrame) else None


def typed_columns(source: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of a table that :func:`frame_reader` reads, those of its names that it has.

    Parameters
    ----------
    source : object
        Of Arrow, or of what narwhals knows.
    names : sequence of str
        Without white space around them.

    Returns
    -------
    dict
        Columns of Arrow, or by the interface of narwhals; of several with one name the first.
    """
    arrow: Any = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(source, arrow.RecordBatch):
        source = arrow.Table.from_batches([source])
    is_arrow = arrow is not None and isinstance(source, arrow.Table)
    frame = source if is_arrow else narwhals_frame(source)
    if frame is None:
        return {}
    own = list(frame.column_names if is_arrow else frame.columns)
    plain = [plain_name(name) for name in own]
    places = {name: plain.index(name) for name in names if name in plain}
    if is_arrow:
        return {name: frame.column(at) for name, at in places.items()}
    return {name: frame.get_column(own[at]) for name, at in places.items()}


def _values(column: Any) -> list[Any]:
    values: list[Any] = column.to_list()
    kind = _NARROW.get(str(column.dtype))
    if kind is None:
        return values
    return [None if value is None else kind(value) for value in values]
