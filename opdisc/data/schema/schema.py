"""A schema: every public fact that turns a raw table into integer rows.

Classes, categories, thresholds and ranges are written by someone, never read from private rows.
Two tables with the same schema are encoded by the same map, one row at a time.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from opdisc.arguments import check_integer
from opdisc.data.cells import canonical_text, parse_number
from opdisc.data.schema.categories import BinaryFeature, CategoryFeature
from opdisc.data.schema.checks import (
    as_tuple,
    check_keys,
    check_name,
    finite_number,
    refuse_blanks,
    refuse_repeats,
)
from opdisc.data.schema.columns import (
    Attribute,
    alternative_groups,
    alternative_positions,
    exclusive_groups,
    exclusive_positions,
)
from opdisc.data.schema.error_costs import checked_share, parse_error_costs
from opdisc.data.schema.features import (
    Feature,
    ThresholdFeature,
    features_from_dict,
)
from opdisc.data.schema.quantiles import QuantileFeature
from opdisc.data.schema.schema_file import read_toml
from opdisc.data.schema.target import (
    MulticlassTarget,
    Target,
    make_target,
    stored_target,
    target_from_dict,
)
from opdisc.errors import SchemaError, escaped, quoted
from oracles.problem import ColumnGroup, ErrorCosts, complete_structure

if TYPE_CHECKING:
    from opdisc.data.schema.error_costs import CostsLike
    from opdisc.data.schema.limits import PointLimits
    from opdisc.data.schema.target import (
        Label,
    )
    from oracles.problem import Alternatives


def column_structure(schema: Schema) -> tuple[ColumnGroup, ...]:
    """Return what a schema says about encoded columns: exclusive, nested, or nothing."""
    kinds: dict[str, Literal["exclusive", "nested", "free"]] = {
        "categories": "exclusive",
        "thresholds": "nested",
        "binary": "free",
    }
    declared = exclusive_positions(schema.exclusive, schema.features)
    named = {position for group in declared for position in group}
    singles = (
        ColumnGroup(columns=attribute.indices, kind=kinds[attribute.kind])
        for attribute in schema.attributes
        if not named.intersection(attribute.indices)
    )
    groups = (ColumnGroup(columns=group, kind="exclusive") for group in declared)
    return tuple(sorted((*singles, *groups), key=lambda group: group.columns))


def count_combinations(schema: Schema) -> int:
    """Return how many distinct encoded rows a schema allows: a public number.

    Examples
    --------
    >>> from opdisc.data import load_schema
    >>> count_combinations(load_schema("mammo"))
    960
    """
    coordinates = schema.n_columns + 1
    groups = complete_structure(column_structure(schema), coordinates)
    # The first coordinate is the constant one.
    return math.prod(len(group.columns) + 1 for group in groups if group.columns != (0,))


def with_error_costs(schema: Schema, costs: CostsLike | None) -> Schema:
    """Return a schema with other error costs; None leaves its own.

    Raises
    ------
    SchemaError
        If they are no such costs, or need a public share that the schema does not state.
    """
    if costs is None:
        return schema
    return replace(schema, error_costs=_costs(schema, costs))


def _costs(schema: Schema, raw: object) -> ErrorCosts:
    classes = schema.target.classes if isinstance(schema.target, Target) else None
    return parse_error_costs(raw, schema.positive_share, classes)


MOST_ROWS_PER_UNIT = 10**9
"""Most rows of one unit: no noise could cover more."""

_TEXT_KEYS = ("description", "source")

_SCHEMA_KEYS = (
    "name",
    "target",
    "unit",
    "rows_per_unit",
    "missing_values",
    "exclusive",
    "alternatives",
    "positive_share",
    "error_costs",
    "feature",
    *_TEXT_KEYS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Public facts about a table: target, features, missing values and unit of privacy.

    Parameters
    ----------
    name : str
        Name of the task.
    target : Target or MulticlassTarget
        Label column and classes.
    features : tuple of Feature
        At least one; their columns are not the target's. A raw column may appear in several.
    privacy_unit : str
        What one neighbour changes, in words.
    rows_per_unit : int
        Public maximum of rows that one unit contributes, >= 1.
    missing_values : tuple of str
        Cell texts that are no value in any column; the empty cell always is none.
    exclusive : tuple of tuple of str
        Raw columns of binary features of which at most one is 1 in a row; where several are, the
        first one named counts. Exact draws from large grids need such facts.
    alternatives : tuple of tuple of str
        Groups of raw columns of which at most one has points on a card; all of its statements may
        have some. Every feature of a column counts, and no column is named twice.
    positive_share : float or None
        Public share of positive rows, where one is known from elsewhere.
    error_costs : ErrorCosts, mapping, "balanced" or None
        What a mistake costs; see :func:`opdisc.data.parse_error_costs`. Kept as
        :class:`~oracles.problem.ErrorCosts`.
    description, source : str
        Free text.

    Raises
    ------
    SchemaError
        If any declaration contradicts these rules.
    """

    name: str
    target: Target | MulticlassTarget
    features: tuple[Feature, ...]
    privacy_unit: str = "one row"
    rows_per_unit: int = 1
    missing_values: tuple[str, ...] = ("",)
    exclusive: tuple[tuple[str, ...], ...] = ()
    alternatives: tuple[tuple[str, ...], ...] = ()
    positive_share: float | None = None
    error_costs: ErrorCosts = ErrorCosts()
    description: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Canonicalise and validate."""
        check_name(self.name, "the schema's name")
        check_name(self.privacy_unit, "the schema's unit")
        rows = check_integer("rows_per_unit", self.rows_per_unit, error=SchemaError)
        object.__setattr__(self, "rows_per_unit", rows)
        if rows > MOST_ROWS_PER_UNIT:
            raise SchemaError(
                f"rows_per_unit must be at most {MOST_ROWS_PER_UNIT:,}, but it is larger; declare "
                "how many rows one unit can really have"
            )
        for key in _TEXT_KEYS:
            if not isinstance(getattr(self, key), str):
                raise SchemaError(f"{key} must be text, got {quoted(getattr(self, key))}")
        if self.positive_share is not None:
            object.__setattr__(self, "positive_share", checked_share(self.positive_share))
        object.__setattr__(self, "missing_values", _missing_values(self.missing_values))
        self._check_target()
        object.__setattr__(self, "error_costs", _costs(self, self.error_costs))
        self._check_features()
        object.__setattr__(self, "exclusive", exclusive_groups(self.exclusive, self.features))
        groups = alternative_groups(self.alternatives, self.features)
        object.__setattr__(self, "alternatives", groups)

    def _check_target(self) -> None:
        if not isinstance(self.target, Target | MulticlassTarget):
            raise SchemaError("target must be a Target with a column and a positive label")
        for label in self._declared_labels():
            if canonical_text(label) in self.missing_values:
                raise SchemaError(
                    f"a class label cannot be a missing value, but {quoted(label)} is both"
                )

    def _check_features(self) -> None:
        features = as_tuple(self.features, "features")
        if not features:
            raise SchemaError("a schema needs at least one feature, but has none")
        for feature in features:
            if not isinstance(feature, Feature):
                raise SchemaError(f"a feature must be of a declared kind, got {quoted(feature)}")
            if feature.column == self.target.column:
                raise SchemaError(
                    f"the target column {quoted(feature.column)} cannot be a feature"
                )
            if isinstance(feature, CategoryFeature):
                self._check_categories(feature)
        object.__setattr__(self, "features", features)
        refuse_repeats(self.column_names, "display names of encoded columns")
        self._check_private_thresholds()

    def _check_private_thresholds(self) -> None:
        """Refuse names that two statements may turn out to share once thresholds are drawn."""
        for feature in self.private_thresholds:
            if feature.names:
                continue
            others = [name for f in self.features if f is not feature for name in f.column_names]
            if any(name.startswith(f"{feature.column} >= ") for name in others):
                raise SchemaError(
                    f"private thresholds of {quoted(feature.column)} must have names of their "
                    f"own, because another display name starts with '{escaped(feature.column)} "
                    ">= ' too; give names, or merge the features"
                )

    def _check_categories(self, feature: CategoryFeature) -> None:
        for value in (v for category in feature.categories for v in category.values):
            if value in self.missing_values:
                raise SchemaError(
                    f"a category cannot be a missing value, but {quoted(value)} of "
                    f"{quoted(feature.column)} is both; name the category which missing cells "
                    "count as by missing"
                )

    def missing_texts(self, feature: Feature) -> tuple[str, ...]:
        """Return the texts that count as missing in a feature: everywhere, or there only."""
        return tuple(dict.fromkeys((*self.missing_values, *feature.missing_codes)))

    def refuse_values_as_missing(self) -> None:
        """Refuse what counts as missing in every column, but is a declared value of one."""
        for feature in self.features:
            for text in self.missing_values:
                if _is_value(text, feature):
                    raise SchemaError(
                        f"missing_values must be no value of any column, but {quoted(text)} is a "
                        f"declared value of {quoted(feature.column)}; declare missing = "
                        f"[{quoted(text)}] in the features where it is a code"
                    )

    @property
    def private_thresholds(self) -> tuple[QuantileFeature, ...]:
        """Features whose thresholds a fit must find before a row can be encoded."""
        return tuple(f for f in self.features if isinstance(f, QuantileFeature))

    def with_thresholds(self, found: Sequence[Sequence[float]]) -> Schema:
        """Return the schema with numbers in the place of private thresholds.

        Parameters
        ----------
        found : sequence of sequence of float
            For each of :attr:`private_thresholds`, as many increasing numbers as it declares.
        """
        numbers = iter(found)
        features = tuple(
            ThresholdFeature(
                column=feature.column,
                thresholds=tuple(next(numbers)),
                range=feature.range,
                missing_codes=feature.missing_codes,
                names=feature.names,
                sign=feature.sign,
                points=feature.points,
            )
            if isinstance(feature, QuantileFeature)
            else feature
            for feature in self.features
        )
        return replace(self, features=features)

    def at_equal_costs(self) -> Schema:
        """Return the schema with mistakes that cost the same: rows are encoded without them."""
        return replace(self, error_costs=ErrorCosts())

    def with_stand_ins(self) -> Schema:
        """Return the schema with public numbers in the place of private thresholds.

        So a table can be read, and a fit be tried, before a budget is spent.
        """
        return self.with_thresholds([feature.stand_ins for feature in self.private_thresholds])

    @property
    def column_names(self) -> tuple[str, ...]:
        """Display names of the encoded columns, without the intercept."""
        return tuple(name for feature in self.features for name in feature.column_names)

    @property
    def point_limits(self) -> tuple[PointLimits, ...]:
        """Which points each encoded column may have, without the intercept."""
        return tuple(feature.limits for feature in self.features for _ in feature.column_names)

    def without_limits(self) -> Schema:
        """Return the schema with no sign and no limit of points: to say what they are worth."""
        free = tuple(replace(feature, sign=None, points=None) for feature in self.features)
        return replace(self, features=free)

    @property
    def alternative_positions(self) -> Alternatives:
        """For each column of each group of alternatives, its positions in an encoded row."""
        return alternative_positions(self.alternatives, self.attributes)

    @property
    def n_columns(self) -> int:
        """Number of encoded columns, without the intercept."""
        return len(self.column_names)

    @property
    def columns(self) -> tuple[str, ...]:
        """Raw feature columns that a table must have, in order of first use."""
        return tuple(dict.fromkeys(feature.column for feature in self.features))

    @property
    def binary_target(self) -> Target:
        """The target of two classes; refuses a target of more."""
        if isinstance(self.target, MulticlassTarget):
            raise SchemaError(
                f"this needs a target of two classes, but the schema declares "
                f"{len(self.target.labels)}; learn those with PrivateMulticlassClassifier or "
                "opdisc fit"
            )
        return self.target

    @property
    def classes(self) -> tuple[Label, Label]:
        """(negative, positive) labels as declared; refuses a target of more classes."""
        return self.binary_target.classes

    @property
    def labels(self) -> tuple[Label, ...]:
        """Labels of all classes as declared; of two, the negative one first."""
        many = isinstance(self.target, MulticlassTarget)
        return self._declared_labels() if many else self.classes

    @property
    def is_multiclass(self) -> bool:
        """Whether there are more than two classes."""
        return isinstance(self.target, MulticlassTarget)

    def _declared_labels(self) -> tuple[Label, ...]:
        if isinstance(self.target, MulticlassTarget):
            return self.target.labels
        # Any other value is no label of its own, though it is shown as one.
        return (self.target.positive,) if self.target.takes_any_other else self.classes

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Which positions of an encoded row belong to which feature, in order of declaration."""
        out = []
        start = 1
        for feature in self.features:
            stop = start + len(feature.column_names)
            indices = tuple(range(start, stop))
            out.append(Attribute(column=feature.column, kind=feature.kind, indices=indices))
            start = stop
        return tuple(out)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON-able form, with the keys of a schema file."""
        target: dict[str, object] = {"column": self.target.column}
        if isinstance(self.target, MulticlassTarget):
            target["classes"] = list(self.target.labels)
        else:
            target |= {"positive": self.target.positive, "negative": self.target.negative}
        out: dict[str, Any] = {
            "name": self.name,
            "target": target,
            "unit": self.privacy_unit,
            "rows_per_unit": self.rows_per_unit,
            "missing_values": list(self.missing_values),
        }
        out |= {k: v for k in _TEXT_KEYS if (v := getattr(self, k))}
        if self.exclusive:
            out["exclusive"] = [list(group) for group in self.exclusive]
        if self.alternatives:
            out["alternatives"] = [list(group) for group in self.alternatives]
        if self.positive_share is not None:
            out["positive_share"] = self.positive_share
        if not self.error_costs.are_equal:
            out["error_costs"] = asdict(self.error_costs)
        return out | {"feature": [feature.to_dict() for feature in self.features]}

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the canonical JSON of :meth:`to_dict`.

        ``negative = "*"`` is left out of it: models made before it was written have none there.
        """
        record = self.to_dict()
        if isinstance(self.target, Target) and self.target.takes_any_other:
            del record["target"]["negative"]
        text = json.dumps(record, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    @classmethod
    def from_dict(cls, raw: object) -> Schema:
        """Read the form that :meth:`to_dict` writes.

        Raises
        ------
        SchemaError
            For an unknown key, a missing key or a declaration that breaks a rule.
        """
        schema = cls._read(raw)
        schema.refuse_values_as_missing()
        return schema

    @classmethod
    def from_stored(cls, raw: object) -> Schema:
        """Read the schema of a saved model, also of one made before some rules were.

        Before both labels had to be declared, and missing values to be no value of any column.

        Raises
        ------
        SchemaError
            As for :meth:`from_dict`.
        """
        if isinstance(raw, Mapping) and "target" in raw:
            raw = {**raw, "target": stored_target(raw["target"])}
        return cls._read(raw)

    @classmethod
    def _read(cls, raw: object) -> Schema:
        if not isinstance(raw, Mapping):
            raise SchemaError("a schema must be a table of keys")
        check_keys(raw, _SCHEMA_KEYS, "the schema")
        refuse_blanks(raw)
        for key in ("name", "target", "feature"):
            if key not in raw:
                raise SchemaError(f"a schema must have {key}, but it is missing")
        return cls(
            name=raw["name"],
            target=target_from_dict(raw["target"]),
            features=tuple(
                feature
                for table in as_tuple(raw["feature"], "feature")
                for feature in features_from_dict(table)
            ),
            privacy_unit=raw.get("unit", "one row"),
            rows_per_unit=raw.get("rows_per_unit", 1),
            missing_values=raw.get("missing_values", ("",)),
            exclusive=raw.get("exclusive", ()),
            alternatives=raw.get("alternatives", ()),
            positive_share=raw.get("positive_share"),
            error_costs=raw.get("error_costs", ErrorCosts()),
            description=raw.get("description", ""),
            source=raw.get("source", ""),
        )

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Schema:
        """Read a schema file.

        Raises
        ------
        SchemaError
            If the file cannot be read, is not TOML, or is not a schema.
        """
        raw = read_toml(path)
        try:
            return cls.from_dict(raw)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from None

    @classmethod
    def equal_width(
        cls,
        n_columns: int,
        n_thresholds: int = 1,
        low: float = 0.0,
        high: float = 1.0,
        names: Sequence[str] | None = None,
        classes: tuple[Label, ...] = (0, 1),
    ) -> Schema:
        """Declare numeric columns on one public range, with equally spaced thresholds.

        Parameters
        ----------
        n_columns : int
            Number of raw columns, >= 1.
        n_thresholds : int
            Thresholds per column, >= 1: ``low + (high - low) * k / (n_thresholds + 1)``.
        low, high : float
            Public range of every column.
        names : sequence of str, optional
            Raw column names; ``x0``, ``x1``, ... by default.
        classes : (negative, positive), or more
            Labels.
        """
        for what, size in (("n_columns", n_columns), ("n_thresholds", n_thresholds)):
            check_integer(what, size, error=SchemaError)
        columns = tuple(f"x{i}" for i in range(n_columns)) if names is None else tuple(names)
        if len(columns) != n_columns:
            raise SchemaError(f"names must have one name per column ({n_columns})")
        refuse_repeats(columns, "names of columns")
        low, high = finite_number(low, "low and high"), finite_number(high, "low and high")
        step = (high - low) / (n_thresholds + 1)
        cuts = tuple(low + step * k for k in range(1, n_thresholds + 1))
        target = "target"
        while target in columns:
            target += "_"
        return cls(
            name="equal-width",
            target=make_target(target, tuple(classes)),
            features=tuple(
                ThresholdFeature(column=column, thresholds=cuts, range=(low, high))
                for column in columns
            ),
        )


def _is_value(text: str, feature: Feature) -> bool:
    """Return whether a text is a declared value of a feature, or a number in its range."""
    if isinstance(feature, CategoryFeature | BinaryFeature):
        return bool(text) and text in feature.values
    number = parse_number(text)
    if isinstance(feature, ThresholdFeature) and feature.range is None:
        low, high = feature.thresholds[0], feature.thresholds[-1]
    else:
        low, high = feature.range or (0.0, 0.0)
    return number is not None and low <= number <= high


def _missing_values(raw: object) -> tuple[str, ...]:
    texts = as_tuple(raw, "missing_values")
    if not all(isinstance(text, str) for text in texts):
        raise SchemaError("missing_values must be a list of text, such as ['?']")
    return tuple(dict.fromkeys(("", *(canonical_text(text) for text in texts))))
