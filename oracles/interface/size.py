"""How large a program a solver's licence admits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """The largest program a licence admits; None where it sets no limit."""

    rows: int | None = None
    columns: int | None = None
    total: int | None = None

    def admits(self, rows: int, columns: int) -> bool:
        """Return whether a program of that many rows and columns is within the limit."""
        pairs = ((rows, self.rows), (columns, self.columns), (rows + columns, self.total))
        return all(limit is None or size <= limit for size, limit in pairs)

    def __str__(self) -> str:
        """Return the limit in words."""
        named = ((self.rows, "rows"), (self.columns, "columns"))
        said = [f"{limit:,} {name}" for limit, name in named if limit is not None]
        if self.total is not None:
            said.append(f"{self.total:,} rows and columns in sum")
        return " and ".join(said)


FREE_SIZES: Mapping[str, SizeLimit] = MappingProxyType(
    {
        "gurobi": SizeLimit(rows=2_000, columns=2_000),
        "cplex": SizeLimit(rows=1_000, columns=1_000),
        "xpress": SizeLimit(total=5_000),
        "copt": SizeLimit(rows=2_000, columns=2_000),
        "mosek": SizeLimit(rows=0, columns=0),
    }
)
"""What commercial solvers take without a licence of one's own, by maker; MOSEK takes nothing."""
