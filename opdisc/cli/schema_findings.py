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
        Its columns that are not declared; they are not read. For the owner only: of a file without
        a header they are cells.
    doubt : str
        Why its names may be the cells of a row.
    remedy : str
        What is tried first, such as another sheet.
    limits : tuple of str
        Which points features may have, in words.
    """

    missing: tuple[str, ...]
    repeated: tuple[str, ...]
    extra: tuple[str, ...]
    doubt: str = ""
    remedy: str = ""
    limits: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether a fit finds its columns."""
        return not self.missing and not self.repeated

    def lines(self, *, owner_only: bool = False) -> list[str]:
        """Return the findings in words; for the owner with names that nobody declared."""
        known = self.extra if owner_only else ()
        found = [f"missing: {quoted(name)}{did_you_mean(name, known)}" for name in self.missing]
        found += [f"there twice: {quoted(name)}" for name in self.repeated]
        if known:
            named = ", ".join(quoted(name) for name in known)
            found.append(f"not declared, so not read: {shortened(named, 2_000)}")
        elif self.extra:
            found.append(
                f"not declared, so not read: {_names(len(self.extra))}; --owner-only shows them"
            )
        if self.remedy and not self.fits:
            found.append(self.remedy)
        elif self.doubt and not self.fits:
            found.append(
                f"the line of names {self.doubt}, so it may be a row; if it is one, give the "
                "names with --names"
            )
        if self.fits:
            found.insert(0, "every declared column is in the header")
        return [*found, *self.limits]


def _names(count: int) -> str:
    return "1 other name" if count == 1 else f"{count} other names"


def _limits(schema: Schema) -> tuple[str, ...]:
    """Return which points features may have, a line for each limit and group of alternatives."""
    found: dict[str, list[str]] = {}
    for feature in schema.features:
        if not feature.limits.is_free:
            found.setdefault(str(feature.limits), []).append(quoted(feature.column))
    alternatives = (
        f"at most one has points: {shortened(', '.join(map(quoted, group)), 2_000)}"
        for group in schema.alternatives
    )
    return (
        *(
            f"points {limits}: {shortened(', '.join(dict.fromkeys(names)), 2_000)}"
            for limits, names in found.items()
        ),
        *alternatives,
    )


def header_findings(
    header: Sequence[str], schema: Schema, doubt: str = "", remedy: str = ""
) -> HeaderFindings:
    """Compare a header with a schema."""
    declared = (schema.target.column, *schema.columns)
    missing = tuple(name for name in declared if name not in header)
    extra = tuple(dict.fromkeys(name for name in header if name not in declared))
    return HeaderFindings(
        missing=missing,
        repeated=tuple(name for name in declared if list(header).count(name) > 1),
        extra=extra,
        doubt=doubt,
        remedy=remedy,
        limits=_limits(schema),
    )
