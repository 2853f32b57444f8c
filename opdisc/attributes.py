"""Which encoded columns come from one feature."""

from dataclasses import dataclass

from opdisc.features import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """The encoded columns that come from one feature.

    Parameters
    ----------
    column : str
        Raw column.
    kind : {"thresholds", "categories", "binary"}
        Columns of "thresholds" are nested (a later 1 implies every earlier 1); of "categories"
        exclusive (at most one 1); "binary" is a single column.
    indices : tuple of int
        Positions in an encoded row, where 0 is the intercept: position i is shown as
        ``schema.column_names[i - 1]``.
    """

    column: str
    kind: Kind
    indices: tuple[int, ...]
