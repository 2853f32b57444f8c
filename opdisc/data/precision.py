"""Numbers of another precision than double's, as the doubles that their own texts spell.

Somebody recorded 38.3. A column of 4 bytes a number holds 38.29999923706055, and the shortest text
that gives those bytes again is 38.3. That text is what such a cell says, in a file and in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt
    import pandas as pd

_POWERS = 4
"""Decimal places that are tried before a number is printed."""


def shortest_doubles(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the double nearest to the shortest text of each number at its own precision.

    Parameters
    ----------
    values : array of float16, float32, float64 or longdouble, any shape
        NaN and infinities stay.

    Returns
    -------
    float64 array of the same shape
    """
    wide = values.astype(np.float64)
    if values.dtype.itemsize >= wide.dtype.itemsize:
        return wide
    narrow, wide = values.ravel(), wide.ravel()
    limits = np.finfo(values.dtype)
    # A whole number that the type holds with its neighbours is its own shortest text.
    whole = (wide == np.rint(wide)) & (np.abs(wide) < 2.0 ** (limits.nmant + 1))
    left = np.flatnonzero(np.isfinite(wide) & ~whole)
    for power in range(1, _POWERS + 1):
        # Of decimals with so few digits at most one has this value, so it is the shortest.
        digits = np.rint(wide[left] * 10.0**power)
        decimals = digits / 10.0**power
        found = (np.abs(digits) < 10.0**limits.precision) & (digits != 0)
        found &= decimals.astype(values.dtype) == narrow[left]
        wide[left[found]] = decimals[found]
        left = left[~found]
    distinct, codes = np.unique(narrow[left], return_inverse=True)
    # Elements of the array keep their type, and so their short text.
    wide[left] = np.array([float(str(value)) for value in distinct], dtype=np.float64)[codes]
    return wide.reshape(values.shape)


def plain_cells(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column in which every number is a double and every NaN is missing.

    Parameters
    ----------
    cells : Series
        Of any type of numpy, pandas or Arrow.

    Returns
    -------
    Series
        With the same index: float64 where the type is one of real numbers, by
        :func:`shortest_doubles`; the column itself where it is another.
    """
    import pandas as pd

    dtype = cells.dtype
    if dtype == np.float64:
        return cells
    if isinstance(dtype, pd.CategoricalDtype):
        if dtype.categories.dtype.kind != "f":
            return cells
        named = plain_cells(pd.Series(dtype.categories))
        numbers = np.append(named.to_numpy(), np.nan)[cells.cat.codes]
        return pd.Series(numbers, index=cells.index, name=cells.name)
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind == "O":
        cells = _without_dictionary(cells)
        dtype = cells.dtype
    if dtype.kind != "f":
        return cells
    is_sparse = isinstance(dtype, pd.SparseDtype)
    kind: Any = getattr(dtype, "subtype" if is_sparse else "numpy_dtype", dtype)
    numbers = shortest_doubles(cells.to_numpy(dtype=kind, na_value=np.nan))
    return pd.Series(numbers, index=cells.index, name=cells.name)


def _without_dictionary(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Return an Arrow column of codes for real numbers as the numbers."""
    import pandas as pd

    arrow_type: Any = cells.dtype.pyarrow_dtype  # type: ignore[union-attr]
    value_type = getattr(arrow_type, "value_type", None)
    if not str(arrow_type).startswith("dictionary") or str(value_type) not in _REAL:
        return cells
    numbers: Any = cells.array
    return pd.Series(
        pd.arrays.ArrowExtensionArray(numbers.__arrow_array__().cast(value_type)),
        index=cells.index,
        name=cells.name,
    )


_REAL = ("halffloat", "float", "double")
"""Arrow's names of its types of real numbers."""
