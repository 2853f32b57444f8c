"""Names of columns for a file that has none: where they are written, and what a name may be."""

from __future__ import annotations

import csv
from collections.abc import Iterable

from opdisc.data.files import FilePath, read_bounded, unusable
from opdisc.errors import LONGEST_NAME, FileMistake

_DELIMITERS = ",;\t|"

_LARGEST_FILE = 2**22


def read_names(path: FilePath) -> list[str]:
    """Return the names in a text file: one on each line, or all on one line.

    Raises
    ------
    FileMistake
        If it is no such file.
    """
    try:
        data = read_bounded(path, _LARGEST_FILE)
    except OSError as error:
        raise unusable(f"names must be in a readable file, but {path} is not one", error) from None
    try:
        if len(data) > _LARGEST_FILE:
            raise UnicodeError
        lines = data.decode("utf-8-sig").splitlines()
        while lines and not lines[-1].strip():
            lines.pop()
        if len(lines) != 1:
            return lines
        between = max(_DELIMITERS, key=lines[0].count)
        return next(csv.reader(lines, strict=True, delimiter=between, skipinitialspace=True))
    except (UnicodeError, csv.Error):
        raise FileMistake(
            f"names must be in a file of UTF-8 text, one on each line or all on one, but {path} "
            "is none; write it again"
        ) from None


def checked_names(names: object) -> tuple[str, ...]:
    """Return names without white space around them.

    Raises
    ------
    FileMistake
        If one is none, or there twice. It is not quoted: names may come from the wrong file.
    """
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise FileMistake(f"names must be a list of texts, got a {type(names).__name__}")
    checked = tuple(name.strip() if isinstance(name, str) else "" for name in names)
    if not checked or not all(
        name and name.isprintable() and len(name) <= LONGEST_NAME for name in checked
    ):
        raise FileMistake(
            f"names must be printable texts of at most {LONGEST_NAME} characters, but one of "
            "those given is not; correct it"
        )
    if len(set(checked)) < len(checked):
        raise FileMistake("names must be distinct, but one of those given is there twice")
    return checked
