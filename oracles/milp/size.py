"""How large a program is, and how large a solver's licence lets it be."""

from __future__ import annotations

from dataclasses import dataclass


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
        if self.total is not None:
            return f"{self.total:,} rows and columns in sum"
        return f"{self.rows:,} rows and {self.columns:,} columns"
