"""A schema's statements of a table's columns, as expressions that an engine evaluates."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from opdisc.data.cells import MARKS_OF_MISSING, canonical_text, refuse_codes_among_numbers
from opdisc.data.counting.cell_expressions import (
    MOST_DIGITS,
    Cells,
    Moments,
    Reals,
    Texts,
    Truths,
    Wholes,
    any_true,
    as_texts,
    exact_pattern,
    nw,
    unsayable,
)
from opdisc.data.encoding import number_cuts, refuse_numbers, refuse_value_labels
from opdisc.data.label_encoding import label_texts
from opdisc.data.schema import BinaryFeature, CategoryFeature, Feature, NumberFeature, Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """What a schema says of a row, as expressions of narwhals that are never null.

    Parameters
    ----------
    features : tuple of Coded
        One for each of the schema's features, in its order.
    positive, negative : expression
        The label's class; neither where it is missing.
    unsure : expression
        Rows that the reader of rows must read, or refuse: what is said of them counts for nothing.
    """

    features: tuple[Coded, ...]
    positive: Any
    negative: Any
    unsure: Any


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """What one column says of a row, as one number.

    Parameters
    ----------
    code : expression
        From 0 to ``n_statements``.
    n_statements : int
        Of the column, numbered from 1.
    is_reached : bool
        Whether a statement is true where the code reaches its number; else where it is its number.
    """

    code: Any
    n_statements: int
    is_reached: bool

    def truths(self, codes: npt.ArrayLike) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield of each statement where it is true, for some codes."""
        found = np.asarray(codes)
        for number in range(1, self.n_statements + 1):
            yield found >= number if self.is_reached else found == number


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """What some columns say of a row, as one number of 63 bits: their codes are its digits.

    An engine groups by few numbers faster than by many, and PostgreSQL by 1,664 columns at most.

    Parameters
    ----------
    columns : tuple of Coded
        The first has the last digit, and each a base of one more than its statements.
    """

    columns: tuple[Coded, ...]

    @property
    def number(self) -> Any:
        """The expression."""
        first, *others = self.columns
        number = first.code.cast(nw().Int64)
        base = first.n_statements + 1
        for each in others:
            number = number + each.code.cast(nw().Int64) * base
            base *= each.n_statements + 1
        return number

    def truths(self, numbers: npt.ArrayLike) -> Iterator[npt.NDArray[np.bool_]]:
        """Yield of each statement where it is true, for some numbers."""
        left = np.asarray(numbers, dtype=np.int64)
        for each in self.columns:
            left, codes = np.divmod(left, each.n_statements + 1)
            yield from each.truths(codes)


def joined(columns: Iterable[Coded]) -> list[Joined]:
    """Return numbers of columns, few of them, in the order of the columns."""
    found: list[list[Coded]] = []
    size = 1
    for each in columns:
        size *= each.n_statements + 1
        if not found or size > 2**63:
            found.append([])
            size = each.n_statements + 1
        found[-1].append(each)
    return [Joined(tuple(some)) for some in found]


_MOST_NESTED = 100
"""Cases within each other; DuckDB refuses what is nested a thousand times."""


@dataclass(frozen=True, slots=True)
class _Said:
    coded: Coded
    unsure: Any


@dataclass(frozen=True, slots=True)
class _Label:
    positive: Any
    negative: Any
    unsure: Any


@dataclass(frozen=True, slots=True)
class _Typed:
    """A column as far as its type is asked for."""

    name: str
    dtype: Any


def schema_statements(
    schema: Schema, columns: Mapping[str, Any], types: Mapping[str, Any], *, is_exact: bool
) -> Statements:
    """Return the statements of a schema; no row is looked at.

    Parameters
    ----------
    schema : Schema
        Without private thresholds.
    columns : mapping of str to narwhals.Expr
        Each declared column.
    types : mapping of str to narwhals.DType
        Their types.
    is_exact : bool
        Whether the engine compares texts letter by letter, whatever its columns declare.

    Raises
    ------
    TableError
        If a column is of a type whose cells an engine does not compare as the reader of rows does,
        or that cannot hold what is declared of it. The types alone decide that.
    """
    said = []
    for feature in schema.features:
        dtype = types[feature.column]
        missing = schema.missing_texts(feature)
        refuse_value_labels(_Typed(feature.column, dtype), feature, missing)
        cells = typed_cells(columns[feature.column], dtype, feature.column, is_exact)
        said.append(_feature(cells, feature, missing))
    target = schema.target.column
    label = _label(typed_cells(columns[target], types[target], target, is_exact), schema)
    return Statements(
        features=tuple(one.coded for one in said),
        positive=label.positive.fill_null(False),
        negative=label.negative.fill_null(False),
        unsure=any_true([*(one.unsure for one in said), label.unsure]).fill_null(False),
    )


_WHOLE = {f"{sign}Int{bits}": (sign, bits) for sign in ("", "U") for bits in (8, 16, 32, 64)}


def typed_cells(column: Any, dtype: Any, name: str, is_exact: bool) -> Cells:
    """Return a column's cells by its type of narwhals."""
    kind = type(dtype).__name__
    if kind in _WHOLE:
        sign, bits = _WHOLE[kind]
        low, high = (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return Wholes(column, name, low, high)
    if kind in ("Float32", "Float64"):
        return Reals(column, name, kind.lower(), is_exact)
    if kind == "Decimal" and 0 < (getattr(dtype, "precision", None) or 0) <= MOST_DIGITS:
        return Reals(column, name, "decimal", is_exact)
    if kind == "Boolean":
        return Truths(column, name)
    if kind == "Date":
        return Moments(column, name, datetime.date, "day")
    if kind == "Datetime" and dtype.time_zone is None and dtype.time_unit in ("ms", "us"):
        return Moments(column, name, datetime.datetime, dtype.time_unit)
    if kind == "String":
        return Texts(column, name, is_exact)
    if kind in ("Categorical", "Enum"):
        return Texts(as_texts(column), name, is_exact)
    raise unsayable(name)


def _feature(cells: Cells, feature: Feature, missing: tuple[str, ...]) -> _Said:
    if isinstance(feature, CategoryFeature | BinaryFeature) and cells.holds_numbers:
        refuse_numbers(feature, missing)
    if isinstance(feature, CategoryFeature):
        return _category(cells, feature, missing)
    if isinstance(feature, BinaryFeature):
        return _yes_or_no(cells, feature, missing)
    return _numbers(cells, feature, missing)


def _numbers(cells: Cells, feature: NumberFeature, missing: tuple[str, ...]) -> _Said:
    # A range clips to numbers on the same side of every cut.
    cuts = number_cuts(feature)
    reached = [cells.at_least(cut) for cut in cuts]
    is_gone = cells.missing() | cells.is_code(missing)
    code = _when(is_gone, nw().lit(0), _n_reached(reached, 0))
    return _Said(Coded(code, len(cuts), True), cells.odd_number(missing))


def _n_reached(reached: Sequence[Any], below: int) -> Any:
    """Return how many of some increasing cuts are reached, and so many more, by halves."""
    if not reached:
        return nw().lit(below)
    at = len(reached) // 2
    return _when(
        reached[at], _n_reached(reached[at + 1 :], below + at + 1), _n_reached(reached[:at], below)
    )


def _category(cells: Cells, feature: CategoryFeature, missing: tuple[str, ...]) -> _Said:
    code = nw().lit(0)
    named: list[tuple[int, list[str]]] = []
    for at, category in enumerate(feature.categories, 1):
        named.append((at, [value for value in category.values if value not in missing]))
        if category.name == feature.missing:
            code = _when(cells.missing() | cells.is_any(missing), nw().lit(at), code)
    coded = Coded(_which(cells, named, code), len(named), False)
    return _Said(coded, cells.odd_text((*feature.values, *missing)))


def _which(cells: Cells, named: Sequence[tuple[int, list[str]]], otherwise: Any) -> Any:
    """Return the number beside the texts of which a cell is one; no text is twice."""
    if len(named) > _MOST_NESTED:
        some, others = named[: len(named) // 2], named[len(named) // 2 :]
        is_some = cells.is_any([text for _, texts in some for text in texts])
        return _when(is_some, _which(cells, some, otherwise), _which(cells, others, otherwise))
    code = otherwise
    for at, texts in named:
        code = _when(cells.is_any(texts), nw().lit(at), code)
    return code


def _yes_or_no(cells: Cells, feature: BinaryFeature, missing: tuple[str, ...]) -> _Said:
    is_yes = cells.is_any([value for value in feature.one if value not in missing])
    is_no = cells.missing() | cells.is_any((*feature.zero, *missing))
    code = _when(is_yes, nw().lit(1), nw().lit(0))
    return _Said(Coded(code, 1, False), cells.odd() | ~(is_yes | is_no))


def _when(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return the one or the other; what is null is not true."""
    return nw().when(condition).then(then).otherwise(otherwise)


def _label(cells: Cells, schema: Schema) -> _Label:
    target, missing = schema.binary_target, schema.missing_values
    if cells.holds_numbers:
        refuse_codes_among_numbers(label_texts(target, missing), target.column)
    is_gone = cells.missing() | cells.is_any(missing)
    positive = canonical_text(target.positive)
    is_positive = cells.is_any([] if positive in missing else [positive])
    if not target.takes_any_other:
        negative = canonical_text(target.negative)
        is_negative = cells.is_any([] if negative in missing else [negative])
        known = is_gone | is_positive | is_negative
        return _Label(is_positive, is_negative, cells.odd() | ~known)
    is_negative = ~(is_gone | is_positive)
    unsure = cells.odd_text((positive, *missing))
    if isinstance(cells, Texts):
        unsure = unsure | (is_negative & cells.spells(_any_case(sorted(MARKS_OF_MISSING))))
    return _Label(is_positive, is_negative, unsure)


def _any_case(texts: Sequence[str]) -> str:
    """Return a regular expression for some texts in capital letters or small ones."""
    pattern = exact_pattern(texts)
    return "".join(f"[{c}{c.upper()}]" if c.islower() else c for c in pattern)
