"""How the header of a table and its schema differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opdisc.data import Schema, did_you_mean
from opdisc.errors import quoted, shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderFindings:
    """How a header differs from a schema.

    Parameters
    ----------
    missing : tuple of str
        Declared columns that the header lacks.
    repeated : tuple of str
        Declared columns that it has twice.
    extra : tuple of str
        Its columns that are not declared; they are not read.
    doubt : str
        Why its names may be the cells of a row, so that ``extra`` holds none.
    """

    missing: tuple[str, ...]
    repeated: tuple[str, ...]
    extra: tuple[str, ...]
    doubt: str = ""

    @property
    def fits(self) -> bool:
        """Whether a fit finds its columns."""
        return not self.missing and not self.repeated

    def lines(self) -> list[str]:
        """Return the findings in words."""
        found = [
            f"missing: {quoted(name)}{did_you_mean(name, self.extra)}" for name in self.missing
        ]
        found += [f"there twice: {quoted(name)}" for name in self.repeated]
        if self.extra:
            named = ", ".join(quoted(name) for name in self.extra)
            found.append(f"not declared, so not read: {shortened(named, 2_000)}")
        if self.doubt:
            remedy = "" if self.fits else "; if it is one, give the names with --names"
            found.append(
                f"columns that are not declared are not named: the line of names {self.doubt}, so "
                f"it may be a row{remedy}"
            )
        if self.fits:
            found.insert(0, "every declared column is in the header")
        return found


def header_findings(header: Sequence[str], schema: Schema, doubt: str = "") -> HeaderFindings:
    """Compare a header with a schema.

    Columns that are not declared are left unnamed where no declared one is found, or the header
    may be a row by itself (``doubt``): its cells are private.
    """
    declared = (schema.target.column, *schema.columns)
    missing = tuple(name for name in declared if name not in header)
    extra = tuple(dict.fromkeys(name for name in header if name not in declared))
    return HeaderFindings(
        missing=missing,
        repeated=tuple(name for name in declared if list(header).count(name) > 1),
        extra=() if doubt or len(missing) == len(declared) else extra,
        doubt=doubt,
    )
