"""Columns whose type lists their categories, as readers of SPSS and Stata files give labels.

What a type lists was declared or inferred before: a receipt has a condition on it. So a column
can be refused by it, before any row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from opdisc.data.precision import plain_cells
from opdisc.errors import TableError

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

CODES_INSTEAD = (
    "read the codes instead of their labels, as pandas does with convert_categoricals=False, or "
    "declare the labels"
)

_LISTED = "opdisc: categories that types listed"


class Categories(tuple[object, ...]):
    """What the type of a stored column lists; copies of a table share it."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> Categories:
        """Return itself."""
        return self


def listed_categories(column: Any) -> tuple[object, ...]:
    """Return the categories that a column's type lists; none where it lists none.

    Parameters
    ----------
    column : Series
        Of pandas, of Arrow, or of another library by the interface of narwhals; or what the type
        of a stored column listed.

    Returns
    -------
    tuple
        Texts and numbers, these at their own precision. A ``Categorical`` of polars lists none:
        what it holds is known from the rows only.
    """
    import pandas as pd

    if isinstance(column, Categories):
        return column
    if not hasattr(column, "dtype"):
        return _dictionaries(column) if str(column.type).startswith("dictionary") else ()
    dtype = column.dtype
    if noted := getattr(column, "attrs", {}).get(_LISTED, {}).get(column.name):
        return tuple(noted)
    if isinstance(dtype, pd.CategoricalDtype):
        return tuple(plain_cells(pd.Series(dtype.categories)).tolist())
    if isinstance(dtype, pd.ArrowDtype):
        if not str(dtype.pyarrow_dtype).startswith("dictionary"):
            return ()
        return _dictionaries(column.array.__arrow_array__())
    if type(dtype).__module__.startswith("narwhals"):
        return tuple(dtype.categories) if type(dtype).__name__ == "Enum" else ()
    return ()


def _dictionaries(column: Any) -> tuple[object, ...]:
    """Return the values in the dictionaries of an Arrow column."""
    found = [value for chunk in column.chunks for value in dictionary_values(chunk.dictionary)]
    return tuple(dict.fromkeys(found))


def dictionary_values(dictionary: Any) -> list[object]:
    """Return the values of an Arrow dictionary, numbers at their own precision; none missing."""
    import pandas as pd

    if str(dictionary.type) in ("halffloat", "float", "double"):
        cells = plain_cells(pd.Series(dictionary.to_numpy(zero_copy_only=False)))
        return list(cells.dropna().tolist())
    return [value for value in dictionary.to_pylist() if value is not None]


def note_listed(table: pd.DataFrame, listed: Mapping[str, Collection[object]]) -> None:
    """Note on a table of texts what the types of its columns listed where they were stored."""
    if listed:
        table.attrs[_LISTED] = {name: Categories(values) for name, values in listed.items()}


def refuse_labels(
    column: Any,
    declared: Iterable[str],
    name: str,
    spell: Callable[[object], str],
    missing: tuple[str, ...] = ("",),
) -> None:
    """Refuse a column whose type lists categories, none of which is a declared value.

    One that lists nothing but marks of missing values is none of them.

    Parameters
    ----------
    column : Series
        As for :func:`listed_categories`.
    declared : iterable of str
        Texts of the declared values.
    name : str
        Declared name of the column, for messages.
    spell : callable
        From a value to the text under which it is compared.
    missing : tuple of str
        Texts that count as missing.

    Raises
    ------
    TableError
        Names a declared value, and nothing that the type lists: it may come from the rows.
    """
    listed = {spell(value) for value in listed_categories(column)}.difference(missing)
    known = tuple(declared)
    if listed and known and not listed.intersection(known):
        raise TableError(
            f"column {name!r} must be able to hold a declared value, such as {known[0]!r}, but "
            f"its type lists other categories only; {CODES_INSTEAD}"
        )


def refuse_labels_of_numbers(column: Any, name: str, is_read: Callable[[object], bool]) -> None:
    """Refuse a column for numbers whose type lists categories, none of which is read as one."""
    listed = listed_categories(column)
    if listed and not any(map(is_read, listed)):
        raise TableError(
            f"column {name!r} must hold numbers, but its type lists categories that are not "
            f"numbers; {CODES_INSTEAD}"
        )
