"""What a schema says about the encoded columns, in the words of the searches."""

from __future__ import annotations

from typing import Literal

from opdisc.exclusive import exclusive_positions
from opdisc.schema import Schema
from oracles.column_groups import ColumnGroup


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
