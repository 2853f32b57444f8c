"""Result files: the figures of one measured table, with what is known of how they were made.

A file is TOML, so that it can be read and compared as text. Its cells are what the page shows.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).resolve().parent / "results"
UNKNOWN = "not recorded"
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")
_RULES = {"l": "---", "r": "---:"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """A measured table and its circumstances; all of them are sentences' parts, as printed.

    Parameters
    ----------
    page : str
        The page that shows it, below ``docs``.
    measured : str
        The day, or what is known of it.
    command : str
        What measured it; "not recorded" if nobody wrote it down.
    version : str
        Version or commit of the library, or the commit that brought the figures to the page.
    machine : str
        Kind of machine: cores, and what else ran on it. Never a name.
    compared : str
        How the columns or rows were compared: in one run, on which rows, how often.
    old : str
        What has changed since, or nothing.
    align : str
        One letter a column: "l" or "r".
    columns : tuple of str
        The header row, as Markdown.
    rows : tuple of tuple of str
        The cells, as Markdown.
    """

    page: str
    measured: str = UNKNOWN
    command: str = UNKNOWN
    version: str = UNKNOWN
    machine: str = UNKNOWN
    compared: str = ""
    old: str = ""
    align: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        """Refuse rows of another length than the header's, and cells that would end early."""
        if set(self.align) - set(_RULES):
            raise ValueError(f"align must be letters l and r, but is {self.align!r}")
        for row in (self.align, self.columns, *self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"a row must have {len(self.columns)} cells: {row!r}")
        for cell in (*self.columns, *(cell for row in self.rows for cell in row)):
            if "|" in cell or "\n" in cell:
                raise ValueError(f"a cell must have no bar and no line break: {cell!r}")

    def figures(self, name: str) -> tuple[float, ...]:
        """Return the numbers of the row that begins with a name."""
        (row,) = (row for row in self.rows if row[0] == name)
        return tuple(float(cell.strip("*")) for cell in row[1:])


def load(path: Path) -> ResultFile:
    """Read a result file."""
    found = tomllib.loads(path.read_text(encoding="utf-8"))
    found["columns"] = tuple(found["columns"])
    found["rows"] = tuple(map(tuple, found["rows"]))
    return ResultFile(**found)


def write(path: Path, result: ResultFile) -> None:
    """Write a result file, one row of the table a line."""
    lines = [
        f"{name} = {_text(getattr(result, name))}"
        for name in ResultFile.__dataclass_fields__
        if name not in ("columns", "rows") and getattr(result, name)
    ]
    lines += [f"columns = {_list(result.columns)}", "rows = ["]
    lines += [f"    {_list(row)}," for row in result.rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, "]", ""]), encoding="utf-8")


def save(
    path: Path | None,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    align: str = "",
    compared: str = "",
    made: Mapping[str, str] | None = None,
) -> None:
    """Write what a benchmark has just measured, and when, by which command and on what.

    Parameters
    ----------
    path : Path or None
        What ``--save`` named; nothing is written without it. Of a file that is there the page
        stays, links of rows' names, and how things were compared unless that is said anew.
    columns, rows : sequence
        The table.
    align : str
        One letter a column; without it, words to the left and all else to the right.
    compared : str
        As in :class:`ResultFile`.
    made : mapping, optional
        Day, command, version and machine of a run that is over: what is given replaces today's.
    """
    if path is None:
        return
    known = load(path) if path.exists() else None
    names = {_LINK.sub(r"\1", row[0]): row[0] for row in known.rows} if known else {}
    now = {
        "measured": day_text(date.today()),
        "command": _command(),
        "version": _version(),
        "machine": f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} when it ended",
    }
    write(
        path,
        ResultFile(
            **(now | dict(made or {})),
            page=known.page if known else "measured.md",
            compared=compared or (known.compared if known else ""),
            align=align or "l" + "r" * (len(columns) - 1),
            columns=tuple(columns),
            rows=tuple((names.get(str(name), str(name)), *map(str, row)) for name, *row in rows),
        ),
    )


def markdown(result: ResultFile, figures: str) -> str:
    """Return the table and its caption; ``figures`` is the address of the result file."""
    rule = [_RULES[letter] for letter in result.align]
    table = [
        f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in row)}|"
        for row in (result.columns, *result.rows)
    ]
    table.insert(1, f"|{'|'.join(rule)}|")
    return "\n".join(table) + f"\n\n{_caption(result, figures)}\n"


def _caption(result: ResultFile, figures: str) -> str:
    known = result.measured != UNKNOWN
    when = f"Measured on {result.measured}" if known else "Day of the measurement not recorded"
    how = f" with `{result.command}`" if result.command != UNKNOWN else ", command not recorded"
    where = "; ".join(part for part in (result.version, result.machine) if part != UNKNOWN)
    sentences = [f"{when}{how}{f' ({where})' if where else ''}."]
    sentences += [text for text in (result.compared,) if text]
    sentences += [f"**Old:** {result.old}"] if result.old else []
    return f"{' '.join(sentences)} [Figures]({figures})."


def day_text(day: date) -> str:
    """Return a day as the pages write it."""
    return f"{day.day} {day:%B %Y}"


def _command() -> str:
    script = Path(sys.argv[0]).resolve()
    name = script.relative_to(ROOT) if script.is_relative_to(ROOT) else script.name
    words, skip = ["python", str(name)], False
    for word in sys.argv[1:]:
        skip = word == "--save" or (skip and not word.startswith("-"))
        # A folder of this machine is nobody's business, and nowhere else.
        words += [] if skip else [Path(word).name if Path(word).is_absolute() else word]
    return " ".join(words)


def _version() -> str:
    import opdisc

    def git(*words: str) -> str:
        try:
            done = subprocess.run(
                ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False
            )
        except OSError:  # an archive on a machine without git
            return ""
        return done.stdout.strip()

    commit = git("rev-parse", "--short", "HEAD")
    changed = git("status", "--porcelain", "--", "opdisc", "oracles")
    return f"version {opdisc.__version__}" + (
        f", commit {commit}{' with changes' if changed else ''}" if commit else ""
    )


def _text(text: str) -> str:
    # A TOML string has the escapes of a JSON string.
    return json.dumps(text, ensure_ascii=False)


def _list(cells: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, cells))}]"
