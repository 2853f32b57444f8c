"""The header of a file: its column names, without looking at a row."""

from __future__ import annotations

import csv
from io import TextIOWrapper

from opdisc.data.files import FilePath, open_input, unusable
from opdisc.errors import TableError

_LONGEST_HEADER = 2**20


def read_header(path: FilePath) -> tuple[str, ...]:
    """Return the column names of a CSV file, as :func:`opdisc.read_table` reads them.

    Parameters
    ----------
    path : path
        A comma-separated UTF-8 file whose first line names the columns.

    Returns
    -------
    tuple of str
        Names as they are, white space around them dropped; they may be blank or repeated.

    Raises
    ------
    TableError
        If the file cannot be read, is not UTF-8, or does not start with column names.
    """
    try:
        with TextIOWrapper(open_input(path), encoding="utf-8-sig", newline="") as file:
            first = next(csv.reader(iter(lambda: file.readline(_LONGEST_HEADER), "")), [])
    except OSError as error:
        raise unusable(f"a table must be a readable file, but {path} is not", error) from None
    except UnicodeDecodeError:
        raise TableError(f"a table must be UTF-8 text, but {path} is not; convert it") from None
    except csv.Error:
        raise TableError(
            f"a table must be comma-separated text, but {path} has a malformed line; check its "
            "quotation marks"
        ) from None
    if not any(name.strip() for name in first):
        raise TableError(f"a table must start with a line of column names, but {path} does not")
    return tuple(name.strip() for name in first)
