"""Encoding: a map of one row and public facts, and the lossless aggregation of equal rows.

Nothing here is learned from the table: a row's encoding is the same in every table that holds it.
A missing cell encodes to zeros (or to the category declared for it), and a missing label makes the
row contribute nothing. A refusal (text where a number belongs, a third label, a single class) does
depend on the rows. It is meant for whoever keeps the table, never holds a value, and happens
before any release.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np

from opdisc.data.cells import (
    canonical_text,
    holds_numbers,
    parse_number,
    read_numbers,
    read_texts,
    refuse_codes_among_numbers,
    refuse_no_number,
    refuse_numbers_as_text,
)
from opdisc.data.schema import (
    BinaryFeature,
    CategoryFeature,
    ThresholdFeature,
    exclusive_positions,
)
from opdisc.data.value_labels import Categories, refuse_labels, refuse_labels_of_numbers
from opdisc.errors import SchemaError, TableError

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from opdisc.data.packing import CellArray
    from opdisc.data.schema import Feature, NumberFeature, Schema

Table: TypeAlias = "pd.DataFrame"

_MISSING_REMEDY = (
    "add it to the header line, give the names of a file that has no such line, or correct the "
    "schema"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """Rows of a file whose cells are texts, such as :class:`opdisc.data.reading.Chunk` holds.

    Parameters
    ----------
    n_rows : int
        Number of rows, at least 1.
    cells : mapping of str to sequence of str
        The cells of each column by its name; an empty text where one is missing.
    """

    n_rows: int
    cells: Mapping[str, Sequence[str]]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.cells)

    def frame(self) -> pd.DataFrame:
        """Return it as a frame of texts."""
        import pandas as pd

        return pd.DataFrame(dict(self.cells), index=range(self.n_rows), dtype="str")


def encode_features(
    table: Table | TextTable, schema: Schema, used: tuple[str, ...] | None = None
) -> CellArray:
    """Encode the feature columns of each row.

    Parameters
    ----------
    table : DataFrame or TextTable
        Raw rows.
    schema : Schema
        Public facts.
    used : tuple of str or None
        Raw columns that are read; the others are not asked for and encode to zeros. None reads
        all of the schema's.

    Returns
    -------
    int8 array, shape (n, 1 + n_columns)
        Column 0 is the constant 1, then ``schema.column_names`` in order, each 0 or 1.

    Raises
    ------
    TableError
        If columns are missing or repeated, the table is empty, or a cell cannot be read.
    SchemaError
        If thresholds are private and no fit has found them yet.
    """
    if isinstance(table, TextTable):
        return _encode_texts(table, schema, schema.columns if used is None else used)
    require_found_thresholds(schema)
    columns = schema.columns if used is None else used
    table = plain_table(table, columns)
    out = np.zeros((len(table), 1 + schema.n_columns), dtype=np.int8)
    out[:, 0] = 1
    for feature, attribute in zip(schema.features, schema.attributes, strict=True):
        if feature.column not in columns:
            continue
        cells = table[feature.column]
        block = slice(attribute.indices[0], attribute.indices[-1] + 1)
        missing = schema.missing_texts(feature)
        refuse_value_labels(cells, feature, missing)
        if isinstance(feature, CategoryFeature):
            out[:, block] = encode_categories(cells, feature, missing)
        elif isinstance(feature, BinaryFeature):
            out[:, block] = encode_binary(cells, feature, missing)
        else:
            out[:, block] = _encode_numbers(cells, feature, missing)
    keep_first_of_exclusive(out, schema)
    return out


def _encode_texts(table: TextTable, schema: Schema, columns: Sequence[str]) -> CellArray:
    """Encode rows of texts, each text of a column once."""
    require_found_thresholds(schema)
    check_names(table.columns, columns)
    out = np.zeros((table.n_rows, 1 + schema.n_columns), dtype=np.int8)
    out[:, 0] = 1
    for feature, attribute in zip(schema.features, schema.attributes, strict=True):
        if feature.column not in columns:
            continue
        cells, missing = table.cells[feature.column], schema.missing_texts(feature)
        known = {text: encode_cell(text, feature, missing) for text in dict.fromkeys(cells)}
        block = slice(attribute.indices[0], attribute.indices[-1] + 1)
        out[:, block] = list(map(known.__getitem__, cells))
    keep_first_of_exclusive(out, schema)
    return out


def keep_first_of_exclusive(rows: CellArray, schema: Schema) -> None:
    """Of columns that exclude each other, set all but the first 1 of each row to 0, in place."""
    for positions in exclusive_positions(schema.exclusive, schema.features):
        columns = list(positions)
        earlier = np.cumsum(rows[:, columns], axis=1) - rows[:, columns]
        rows[:, columns] *= earlier == 0


def require_found_thresholds(schema: Schema) -> None:
    """Refuse private thresholds that nobody has found yet.

    Raises
    ------
    SchemaError
        If the schema declares any.
    """
    if schema.private_thresholds:
        raise SchemaError(
            f"a row is encoded by numbers, but thresholds of "
            f"{schema.private_thresholds[0].column!r} are private and not found yet; fit a "
            "scorecard with PrivateScorecardClassifier, or declare them as a list"
        )


def check_columns(table: Table, columns: Sequence[str]) -> None:
    """Refuse what :func:`plain_table` refuses."""
    plain_table(table, columns)


def plain_table(table: Table, columns: Sequence[str]) -> Table:
    """Return a table with plain names; refuse one that is empty or lacks or repeats a column.

    Parameters
    ----------
    table : DataFrame
        Raw table.
    columns : sequence of str
        Declared columns which it must have.

    Raises
    ------
    TableError
        As :func:`check_names`.
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise TableError(f"a table must be a pandas DataFrame, got {type(table).__name__}")
    table = with_plain_names(table)
    check_names(list(table.columns), columns)
    if len(table) == 0:
        raise TableError("a table must have at least one row, but this one is empty")
    return table


def check_names(names: Sequence[Hashable], columns: Sequence[str], remedy: str = "") -> None:
    """Refuse names of columns among which a declared one is missing or repeated.

    Columns that nobody declared are not read, whatever they are called and however often.

    Parameters
    ----------
    names : sequence
        Of a table's columns.
    columns : sequence of str
        Declared ones.
    remedy : str
        What to do if one is missing, where more is known than that it is.

    Raises
    ------
    TableError
        Names the declared column. A header that is not declared is never named: in a file without
        a header line it would be a private value.
    """
    present = set(names)
    for column in columns:
        if column not in present:
            raise TableError(
                f"a table must have every column that its schema declares, but {column!r} is "
                f"missing; {remedy or _MISSING_REMEDY}"
            )
    if len(present) < len(names):
        repeated = sorted({repr(name) for name in columns if names.count(name) > 1})
        if repeated:
            raise TableError(
                f"column names must be distinct, but {', '.join(repeated)} occurs twice; rename "
                "one"
            )


def with_plain_names(table: Table) -> Table:
    """Return a table without white space around its column names, as files are read."""
    names = [name.strip() if isinstance(name, str) else name for name in table.columns]
    if all(name == before for name, before in zip(names, table.columns, strict=True)):
        return table
    return table.set_axis(names, axis=1)


def refuse_value_labels(column: Any, feature: Feature, missing: tuple[str, ...]) -> None:
    """Refuse a feature's column whose type lists categories of which none is declared.

    Parameters
    ----------
    column : Series
        Of pandas, of Arrow, or of another library by the interface of narwhals.
    feature : Feature
        What is declared of it.
    missing : tuple of str
        Texts that count as missing in it.
    """
    if isinstance(feature, CategoryFeature):
        refuse_labels(column, feature.values, feature.column, feature.spell, missing)
    elif isinstance(feature, BinaryFeature):
        refuse_labels(column, feature.values, feature.column, canonical_text, missing)
    else:
        refuse_labels_of_numbers(
            column,
            feature.column,
            lambda value: parse_number(value) is not None or canonical_text(value) in missing,
        )


def refuse_listed(listed: Mapping[str, Collection[object]], schema: Schema) -> None:
    """Refuse a stored table by what the types of its columns listed, if any did.

    Parameters
    ----------
    listed : mapping of str to collection
        Names of columns, and the categories that their types listed.
    schema : Schema
        Public facts.
    """
    for feature in schema.features:
        if values := listed.get(feature.column):
            refuse_value_labels(Categories(values), feature, schema.missing_texts(feature))


def encode_categories(
    cells: pd.Series[Any], feature: CategoryFeature, missing_values: tuple[str, ...]
) -> CellArray:
    """Encode a column of categories, shape (n, number of categories)."""
    if holds_numbers(cells):
        refuse_numbers(feature, missing_values)
    position = {v: i for i, category in enumerate(feature.categories) for v in category.values}
    size = len(feature.categories)
    names = [category.name for category in feature.categories]
    absent = size if feature.missing is None else names.index(feature.missing)
    codes, texts = read_texts(cells, feature.column, feature.spell)
    found = [absent if t in missing_values else position.get(t, size) for t in texts]
    # Code -1 (None, NaN) reads the last entry; row `size` of the table of one-hots is all zeros.
    lookup = np.array([*found, absent], dtype=np.int64)
    one_hot = np.eye(size + 1, size, dtype=np.int8)
    out: CellArray = one_hot[lookup[codes]]
    return out


def encode_binary(
    cells: pd.Series[Any], feature: BinaryFeature, missing_values: tuple[str, ...]
) -> CellArray:
    """Encode a yes/no column, shape (n, 1).

    Raises
    ------
    TableError
        If a cell says neither; it is not named.
    """
    if holds_numbers(cells):
        refuse_numbers(feature, missing_values)
    codes, texts = read_texts(cells, feature.column)
    answers = np.zeros(len(texts) + 1, dtype=np.int8)  # the last entry serves code -1: missing
    no = {*feature.zero, *missing_values}
    for i, text in enumerate(texts):
        if text not in no:
            answers[i] = 1 if text in feature.one else -1
    out: CellArray = answers[codes][:, None]
    if np.any(out < 0):
        _refuse_answer(feature)
    return out


def _refuse_answer(feature: BinaryFeature) -> NoReturn:
    raise TableError(
        f"column {feature.column!r} must hold only the values that its schema declares to say "
        "yes or no, which are 1 and 0 for binary = true, but has another one; declare its "
        'values, such as binary = { one = "Yes", zero = "No" }, and codes of missing values '
        "by missing"
    )


def refuse_numbers(
    feature: CategoryFeature | BinaryFeature, missing_values: tuple[str, ...]
) -> None:
    """Refuse a column of numbers if numbers do not keep what is declared of it."""
    if isinstance(feature, CategoryFeature) and feature.text:
        refuse_numbers_as_text(feature.column)
    refuse_codes_among_numbers((*feature.values, *missing_values), feature.column)


def _encode_numbers(
    cells: pd.Series[Any], feature: NumberFeature, missing_values: tuple[str, ...]
) -> CellArray:
    numbers = read_numbers(cells, feature.column, missing_values)
    if isinstance(feature, ThresholdFeature) and feature.range is not None:
        numbers = np.clip(numbers, *feature.range)
    # NaN marks a missing number, and every comparison with it is false.
    return (numbers[:, None] >= np.array(number_cuts(feature))).astype(np.int8)


def encode_cell(text: str, feature: Feature, missing_values: tuple[str, ...]) -> tuple[int, ...]:
    """Encode one cell of text, as :func:`encode_features` encodes a column that holds it.

    Parameters
    ----------
    text : str
        The cell.
    feature : CategoryFeature, BinaryFeature or ThresholdFeature
        What is declared of it.
    missing_values : tuple of str
        Texts that count as missing.

    Returns
    -------
    tuple of int
        0 or 1 for each column of the feature.

    Raises
    ------
    TableError
        As for a column.
    """
    if isinstance(feature, CategoryFeature):
        spelled = feature.spell(text)
        if spelled in missing_values:
            return tuple(int(each.name == feature.missing) for each in feature.categories)
        return tuple(int(spelled in each.values) for each in feature.categories)
    if isinstance(feature, BinaryFeature):
        return (_answer(canonical_text(text), feature, missing_values),)
    number, cuts = parse_number(text), number_cuts(feature)
    if number is None and canonical_text(text) not in missing_values:
        refuse_no_number(feature.column)
    if number is None or number in map(parse_number, missing_values):
        return (0,) * len(cuts)
    if isinstance(feature, ThresholdFeature) and feature.range is not None:
        number = min(max(number, feature.range[0]), feature.range[1])
    return tuple(int(number >= cut) for cut in cuts)


def _answer(spelled: str, feature: BinaryFeature, missing_values: tuple[str, ...]) -> int:
    if spelled in missing_values or spelled in feature.zero:
        return 0
    if spelled not in feature.one:
        _refuse_answer(feature)
    return 1


def number_cuts(feature: NumberFeature) -> tuple[float, ...]:
    """Return where a column of numbers is cut: x >= cut."""
    assert isinstance(feature, ThresholdFeature)
    return feature.thresholds
