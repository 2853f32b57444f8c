"""Chunks of texts as packed rows: the same map of one row as :func:`opdisc.data.encode`, faster.

A cell that spells a plain number is compared with the thresholds as it is; every other distinct
text is read once by the functions that read tables, and remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from opdisc.data.cells import parse_number, read_numbers, refuse_codes_among_numbers
from opdisc.data.counting.ranks import RankCounter
from opdisc.data.encoding import encode_binary, encode_categories, number_cuts, refuse_numbers
from opdisc.data.label_encoding import encode_label_values, label_texts
from opdisc.data.packing import WORD_BITS, CellArray, WordArray, set_column
from opdisc.data.reading import Chunk
from opdisc.data.schema import BinaryFeature, CategoryFeature, Schema
from opdisc.data.spelling import without_sas_zeros
from oracles.arithmetic import FloatArray, IntArray

_REMEMBERED = 2**16
"""Distinct texts of a column; more are read again."""

_IN_NUMBERS = b"0123456789+-.eE\n"


class ChunkEncoder:
    """Encodes chunks whose columns are the schema's and the target.

    Parameters
    ----------
    schema : Schema
        Public facts.
    ranks : RankCounter or None
        Is given the numbers of private thresholds, which the schema has stand-ins for.

    Attributes
    ----------
    columns : tuple of str
        The columns that a chunk must have, in order; the target is last.
    """

    def __init__(self, schema: Schema, ranks: RankCounter | None = None) -> None:
        self._ranks = ranks
        self.columns = (*schema.columns, schema.target.column)
        self._schema = schema
        self._attributes = schema.attributes  # which spells every category anew when it is asked
        self._known: list[dict[str, int]] = [{} for _ in (*schema.features, schema.target)]
        self._width = -(-(1 + schema.n_columns) // WORD_BITS)
        self._patterns = [self._pattern(attribute.indices) for attribute in self._attributes]

    def _pattern(self, indices: tuple[int, ...]) -> WordArray:
        """Return the words in which one of some columns is 1, and last that of none."""
        out = np.zeros((len(indices) + 1, self._width), dtype=np.uint64)
        for row, position in enumerate(indices):
            set_column(out[row : row + 1], position, np.ones(1, dtype=bool))
        return out

    def packed(self, chunk: Chunk) -> tuple[WordArray, CellArray]:
        """Return the rows of a chunk, packed, and their labels (+1, -1, 0).

        Of columns that exclude each other more than one may be 1 still.

        Raises
        ------
        TableError
            If a cell cannot be read, as for :func:`opdisc.data.encode`.
        """
        schema = self._schema
        labels = self._labels(chunk.cells[-1], -1 + len(self.columns) in chunk.numbers)
        words = np.zeros((chunk.n_rows, self._width), dtype=np.uint64)
        set_column(words, 0, np.ones(chunk.n_rows, dtype=bool))
        for i, (feature, attribute) in enumerate(
            zip(schema.features, self._attributes, strict=True)
        ):
            at = self.columns.index(feature.column)
            cells, first = chunk.cells[at], attribute.indices[0]
            if isinstance(feature, CategoryFeature):
                codes = self._categories(i, cells, feature, at in chunk.numbers)
                words |= self._patterns[i][codes]
            elif isinstance(feature, BinaryFeature):
                set_column(
                    words, first, self._answers(i, cells, feature, at in chunk.numbers) == 1
                )
            else:
                missing = schema.missing_texts(feature)
                numbers = plain_numbers(cells, missing)
                if numbers is None:
                    texts = pd.Series(cells, dtype="str")
                    numbers = read_numbers(texts, feature.column, missing)
                if self._ranks is not None:
                    self._ranks.add(i, numbers, labels)
                for k, cut in enumerate(number_cuts(feature)):
                    set_column(words, first + k, numbers >= cut)
        return words, labels

    def _categories(
        self, number: int, cells: list[str], feature: CategoryFeature, numeric: bool
    ) -> IntArray:
        """Return the position of each cell's category; the number of categories for none."""
        missing = self._schema.missing_texts(feature)
        if numeric:
            refuse_numbers(feature, missing)

        def read(texts: pd.Series[str]) -> Iterable[int]:
            one_hot = encode_categories(texts, feature, missing)
            none = 1 - one_hot.sum(axis=1, keepdims=True)
            return map(int, np.argmax(np.hstack([one_hot, none]), axis=1))

        return _codes(cells, self._known[number], read)

    def _answers(
        self, number: int, cells: list[str], feature: BinaryFeature, numeric: bool
    ) -> IntArray:
        """Return 1 for each cell that says yes, 0 for the others."""
        missing = self._schema.missing_texts(feature)
        if numeric:
            refuse_numbers(feature, missing)

        def read(texts: pd.Series[str]) -> Iterable[int]:
            return map(int, encode_binary(texts, feature, missing)[:, 0])

        return _codes(cells, self._known[number], read)

    def _labels(self, cells: list[str], numeric: bool) -> CellArray:
        schema = self._schema
        if numeric:
            target = schema.target
            refuse_codes_among_numbers(label_texts(target, schema.missing_values), target.column)

        def read(texts: pd.Series[str]) -> Iterable[int]:
            return map(int, encode_label_values(texts, schema))

        return _codes(cells, self._known[-1], read).astype(np.int8)


def plain_numbers(cells: Sequence[str], missing_values: tuple[str, ...]) -> FloatArray | None:
    """Return cells as numbers, NaN where empty, if each is a plain finite number or empty.

    What float() takes and has these characters only is what
    :func:`opdisc.data.cells.parse_number` takes.
    """
    text = "\n".join(cells)
    if not text.isascii() or text.encode("ascii").translate(None, _IN_NUMBERS):
        return None
    numbers = _floats(cells) if "" not in cells else _floats([cell or "nan" for cell in cells])
    if numbers is None or np.isinf(numbers).any():
        return None
    without_sas_zeros(numbers)
    declared = [number for text in missing_values if (number := parse_number(text)) is not None]
    if declared:
        numbers[np.isin(numbers, declared)] = np.nan
    return numbers


def _floats(cells: Sequence[str]) -> FloatArray | None:
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None


def _codes(
    cells: Sequence[str], known: dict[str, int], read: Callable[[pd.Series[str]], Iterable[int]]
) -> IntArray:
    """Return the code of each text; texts that are not known yet are read, each once."""
    try:
        return np.fromiter(map(known.__getitem__, cells), np.int64, len(cells))
    except KeyError:
        distinct = set(cells)
    if len(distinct) + len(known) > _REMEMBERED:
        known.clear()
    new = list(distinct.difference(known))
    known.update(zip(new, read(pd.Series(new, dtype="str")), strict=True))
    return np.fromiter(map(known.__getitem__, cells), np.int64, len(cells))
