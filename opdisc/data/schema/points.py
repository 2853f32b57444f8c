"""Points of a published score that a schema file gives beside its statements."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from opdisc.data.schema.features import features_from_dict
from opdisc.data.schema.schema import Schema
from opdisc.data.schema.schema_file import read_toml
from opdisc.errors import SchemaError, quoted

_CONSTANT = "start with"


def schema_points(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the points by statement of a schema file whose features have ``points``.

    Parameters
    ----------
    path : str or path
        A schema in TOML. A feature may have ``points``: a number for its one statement, or a list
        with one for each; a table has limits. ``"start with"``, outside of the features, has those
        of everyone.

    Raises
    ------
    SchemaError
        If the rest is no schema, no feature has points, or a feature has too few or too many.
    """
    raw = read_toml(path)
    tables = raw.get("feature", [])
    plain = [_without_start(table) for table in tables] if isinstance(tables, list) else tables
    Schema.from_dict({**_without(raw, _CONSTANT), "feature": plain})
    found = {_CONSTANT: raw[_CONSTANT]} if _CONSTANT in raw else {}
    for table, rest in zip(tables, plain, strict=True):
        if "points" in table and "points" not in rest:
            names = [name for feature in features_from_dict(rest) for name in feature.column_names]
            points = table["points"] if isinstance(table["points"], list) else [table["points"]]
            if len(points) != len(names):
                raise SchemaError(
                    f"points of {quoted(table['column'])} must be one number for each of its "
                    f"{len(names)} statements, but there are {len(points)}"
                )
            found |= zip(names, points, strict=True)
    if not found.keys() - {_CONSTANT}:
        raise SchemaError(f"a schema must have points to start from, but {path} has none")
    return found


def _without_start(table: Any) -> Any:
    """Return a feature without points to start from; limits of its points stay."""
    is_limited = isinstance(table, Mapping) and isinstance(table.get("points"), Mapping)
    return table if is_limited else _without(table, "points")


def _without(table: Any, key: str) -> Any:
    if not isinstance(table, Mapping):
        return table
    return {name: value for name, value in table.items() if name != key}
