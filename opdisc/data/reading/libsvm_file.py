"""Files of LIBSVM and SVMlight: a label and ``index:value`` pairs on each line, zeros left out.

scikit-learn reads the lines. It would take the number of columns and the first index from the
rows, so that one row could move or add the columns of all; here both are declared.
"""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

import numpy as np
import pandas as pd

from opdisc.arguments import check_integer
from opdisc.data.files import open_input
from opdisc.data.reading.provenance import with_declared_dtypes
from opdisc.data.reading.text_file import GZIP, refusals
from opdisc.errors import TableError

if TYPE_CHECKING:
    from opdisc.data.files import FilePath

MOST_CELLS = 2**28
"""Cells of a table in memory at most, rows times columns: 2 GiB."""


def read_libsvm(
    path: FilePath, *, n_features: int, first_index: Literal[0, 1] = 1
) -> pd.DataFrame:
    r"""Read a file of LIBSVM or SVMlight as a table of numbers, zeros filled in.

    Parameters
    ----------
    path : path
        A text file, plain or compressed by gzip. A line is a label and pairs ``index:value`` with
        rising indices; what follows ``#`` is ignored, and so is a ``qid``.
    n_features : int
        Columns that there are, whether or not a row has them: a public number.
    first_index : int
        Index of the first column, 1 as LIBSVM has it, or 0.

    Returns
    -------
    DataFrame of shape (n, n_features + 1)
        Float64 columns ``x1``, ``x2``, ... by index, and ``label`` last.

    Raises
    ------
    TableError
        If the file is not readable, has other indices or cells that are no finite numbers, has no
        row, or would fill more than 2 GiB.

    Notes
    -----
    **Assumes.** Columns and first index are declared, not taken from the rows; the types are those
    of the format. So a receipt needs no condition on them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rna.txt"
    ...     _ = path.write_text("+1 1:-766 3:0.25\n-1 2:4 # a comment\n")
    ...     read_libsvm(path, n_features=3)
          x1   x2    x3  label
    0 -766.0  0.0  0.25    1.0
    1    0.0  4.0  0.00   -1.0
    """
    check_integer("n_features", n_features, most=MOST_CELLS, error=TableError)
    check_integer("first_index", first_index, least=0, most=1, error=TableError)
    with ExitStack() as stack:
        stack.enter_context(refusals(path, "utf-8"))
        file = stack.enter_context(open_input(path))
        if file.peek(2)[:2] == GZIP:  # type: ignore[attr-defined]
            file = cast(BinaryIO, stack.enter_context(gzip.open(file)))
        if sum(1 for _ in file) * n_features > MOST_CELLS:
            raise TableError(
                f"a table in memory must have at most {MOST_CELLS:,} cells, but the rows of "
                f"{path} times {n_features:,} columns are more; keep fewer rows, or columns that "
                "are chosen without a look at them"
            )
        file.seek(0)
        cells, labels = _loaded(file, path, n_features, first_index)
    names = [f"x{first_index + at}" for at in range(n_features)]
    table = pd.DataFrame(cells, columns=names)
    return with_declared_dtypes(pd.concat([table, pd.Series(labels, name="label")], axis=1))


def _loaded(file: BinaryIO, path: FilePath, n_features: int, first_index: int) -> Any:
    """Return cells and labels; nothing of a cell is said where they cannot be read."""
    from sklearn.datasets import load_svmlight_file

    try:
        rows, labels = load_svmlight_file(
            file, n_features=n_features, zero_based=first_index == 0, dtype=np.float64
        )
    except (ValueError, OverflowError):
        pass
    else:
        if not len(labels):
            raise TableError(f"a table must have at least one row, but {path} has none")
        if np.isfinite(rows.data).all() and np.isfinite(labels).all():
            return rows.toarray(), labels
    last = first_index + n_features - 1
    raise TableError(
        "a line of a LIBSVM file must be a number and pairs index:value of finite numbers, the "
        f"indices rising from {first_index} to {last:,}, but one of {path} is not; correct the "
        "file, n_features or first_index"
    )
