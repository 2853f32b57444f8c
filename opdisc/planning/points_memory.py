"""What distinct points may take in memory, before any row is read: from public numbers alone."""

from __future__ import annotations

from opdisc.data import Schema, count_combinations
from opdisc.tuned import ASSUMED_ROWS, BYTES_PER_KEPT_CELL, LARGEST_MEMORY


def points_note(schema: Schema, n_rows: int | None) -> str:
    """Return what a table of many distinct points may take; "" if it should find room.

    Parameters
    ----------
    schema : Schema
        Public facts.
    n_rows : int or None
        Number of rows, or a guess of it, as far as it is public; None takes ``ASSUMED_ROWS``.

    Returns
    -------
    str
        One sentence.

    Notes
    -----
    **Guarantee.** A function of public facts.
    """
    points = min(count_combinations(schema), n_rows or ASSUMED_ROWS)
    memory = BYTES_PER_KEPT_CELL * points * (1 + schema.n_columns)
    if memory <= LARGEST_MEMORY:
        return ""
    assumed = "" if n_rows is not None else f" in {ASSUMED_ROWS:,} rows, as assumed"
    return (
        f"the table may have up to {points:,} distinct points{assumed}, which take up to "
        f"{memory / 1e9:.1f} GB of memory; a fit that does not find it ends before it spends"
    )
