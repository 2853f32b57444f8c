"""Public facts about columns, and the blocks that a sum over their weights is split into.

Blocks depend on the structure and the grid alone, never on the points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from oracles.errors import InvalidOption, check_choice


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnGroup:
    """Columns that come from one attribute.

    Parameters
    ----------
    columns : tuple of int
        Positions in a point.
    kind : {"exclusive", "nested", "free"}
        "exclusive": at most one of them is active. "nested": a later one is active only if every
        earlier one is. "free": no relation.
    """

    columns: tuple[int, ...]
    kind: Literal["exclusive", "nested", "free"] = "free"

    def __post_init__(self) -> None:
        """Refuse unknown kinds and repeated columns."""
        object.__setattr__(self, "columns", tuple(int(c) for c in self.columns))
        kinds = ("exclusive", "nested", "free")
        check_choice("the kind of a group", self.kind, kinds, InvalidOption)
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise InvalidOption("a group must name at least one column, and none twice.")


def complete_structure(
    structure: Sequence[ColumnGroup], n_features: int
) -> tuple[ColumnGroup, ...]:
    """Return the groups with free columns singled out, and every other column as a group."""
    groups: list[ColumnGroup] = []
    for group in structure:
        if group.kind == "free" or len(group.columns) == 1:
            groups += [ColumnGroup(columns=(c,)) for c in group.columns]
        else:
            groups.append(group)
    named = [c for group in groups for c in group.columns]
    known = set(named)
    if len(known) != len(named) or any(not 0 <= c < n_features for c in named):
        raise InvalidOption("groups must name columns of the problem, each at most once.")
    rest = [ColumnGroup(columns=(c,)) for c in range(n_features) if c not in known]
    return (*rest, *groups)
