"""A schema's statements of a table's columns, as expressions that an engine evaluates."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    features : tuple of expression
        One for each of ``schema.column_names``.
    positive, negative : expression
        The label's class; neither where it is missing.
    unsure : expression
        Rows that the reader of rows must read, or refuse: what is said of them counts for nothing.
    """

    features: tuple[Any, ...]
    positive: Any
    negative: Any
    unsure: Any


@dataclass(frozen=True, slots=True)
class _Said:
    true: tuple[Any, ...]
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
        features=tuple(each for one in said for each in one.true),
        positive=label.true[0],
        negative=label.true[1],
        unsure=any_true([*(one.unsure for one in said), label.unsure]),
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
    is_there = ~(cells.missing() | cells.is_code(missing))
    cuts = tuple(cells.at_least(cut) & is_there for cut in number_cuts(feature))
    return _Said(cuts, cells.odd_number(missing))


def _category(cells: Cells, feature: CategoryFeature, missing: tuple[str, ...]) -> _Said:
    is_gone = cells.missing() | cells.is_any(missing)
    true = []
    for category in feature.categories:
        is_one = cells.is_any([value for value in category.values if value not in missing])
        true.append(is_one | is_gone if category.name == feature.missing else is_one)
    return _Said(tuple(true), cells.odd_text((*feature.values, *missing)))


def _yes_or_no(cells: Cells, feature: BinaryFeature, missing: tuple[str, ...]) -> _Said:
    is_yes = cells.is_any([value for value in feature.one if value not in missing])
    is_no = cells.missing() | cells.is_any((*feature.zero, *missing))
    return _Said((is_yes,), cells.odd() | ~(is_yes | is_no))


def _label(cells: Cells, schema: Schema) -> _Said:
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
        return _Said((is_positive, is_negative), cells.odd() | ~known)
    is_negative = ~(is_gone | is_positive)
    unsure = cells.odd_text((positive, *missing))
    if isinstance(cells, Texts):
        unsure = unsure | (is_negative & cells.spells(_any_case(sorted(MARKS_OF_MISSING))))
    return _Said((is_positive, is_negative), unsure)


def _any_case(texts: Sequence[str]) -> str:
    """Return a regular expression for some texts in capital letters or small ones."""
    pattern = exact_pattern(texts)
    return "".join(f"[{c}{c.upper()}]" if c.islower() else c for c in pattern)
