"""Schema files made from a header: names only, with blanks for what no header says.

Every value that goes in the blanks is a public fact, so a draft is written without looking at a
single row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from opdisc.data.schema.checks import BLANK, did_you_mean
from opdisc.errors import LONGEST_NAME, SchemaError, is_plain, quoted

_HEADER_ALONE = """\
# Schema of {data}, made from its line of column names alone: no row was read.
"""

_WITH_PILOT = """\
# Schema of {data}, made from its line of column names: none of its rows was read.
# The rows of {pilot} decided each line below the words "From the pilot".
# They must be public, such as those of volunteers or of an open data set: never the private table
# itself or a sample of it. Look at each such line, and change what you know better.
"""

_HOW_TO = """\
# Write what you know without looking at the rows: from a form, a code book or a law.
# Replace every {blank}. Of each column declare one of these, or delete its block:
#   thresholds = [30, 50]                 a number: statements "column >= 30", "column >= 50"
#   range = [0, 120]                        and its public bounds, if it has any
#   thresholds = {{ quantiles = 4, range = [0, 120] }}   a number, cut at 4 places that the fit
#                                           finds, for a stated share of epsilon
#   categories = ["own", "rent"]          a category: one statement for each value
#   text = true                             and its codes stay as written: 05, 5 and 5.0
#   binary = true                         0 or 1, true or false
#   binary = {{ one = "Yes", zero = "No" }}   by other values, one or several
# Of a number or a yes/no, codes that stand for none ("77: refused"):
#   missing = [77, 99]                      missing in this column only
#   codes = {{ "-7" = "never" }}              or a statement of its own
# Where it is known that more of a column makes the outcome more likely, add sign = "positive" to
# its block, and sign = "negative" where less likely: then the card needs fewer rows.
# Where a form has room for few points, add points = {{ at_least = 0, at_most = 3 }}: likewise.
# Where columns measure one thing, alternatives = [["systolic", "diastolic"]], written above all
# blocks, gives points to at most one of them: likewise.
# Then: opdisc schema check {data} --schema THIS-FILE
"""


def toml_text(value: Any) -> str:
    """Return a value in TOML, on one line: text, number, truth, list or table of them.

    Text that does not show as itself is escaped, so that a file can be read as it is printed.
    """
    if isinstance(value, str):
        # Both languages escape alike, but TOML spells a character beyond 16 bits as one.
        quoted_text = json.dumps(value, ensure_ascii=False)
        return "".join(c if c.isascii() and c.isprintable() else _shown(c) for c in quoted_text)
    if isinstance(value, Mapping):
        pairs = (f"{toml_key(key)} = {toml_text(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    return json.dumps(value)


def toml_key(key: str) -> str:
    """Return a key in TOML, quoted where it must be."""
    bare = key.isascii() and key.replace("_", "a").replace("-", "a").isalnum()
    return key if bare else toml_text(key)


def _shown(character: str) -> str:
    if is_plain(character):
        return character
    return f"\\U{ord(character):08x}" if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


def is_usable(name: str) -> bool:
    """Return whether a schema can name a column: printable text of moderate length."""
    return (
        name not in ("", BLANK)
        and name == name.strip()
        and name.isprintable()
        and len(name) <= LONGEST_NAME
    )


def draft_schema(
    columns: Sequence[str],
    *,
    data: str,
    name: str,
    target: Mapping[str, Any] | None = None,
    features: Mapping[str, Mapping[str, Any] | None] | None = None,
    missing: Sequence[str] = (),
    pilot: str | None = None,
    notes: Mapping[str, str] | None = None,
) -> str:
    """Return the text of a schema file for a header, with blanks for what it does not say.

    Parameters
    ----------
    columns : sequence of str
        Column names, in order.
    data : str
        What the table is called, in comments.
    name : str
        Name of the task.
    target : mapping or None
        Keys of the target that are known; others are left blank.
    features : mapping or None
        What is known of columns: the keys of a feature besides its column, or None to leave the
        column out. Columns that are not in it are left blank.
    missing : sequence of str
        Texts that count as missing in every column.
    pilot : str or None
        What the table of public rows is called that decided what has a note.
    notes : mapping or None
        What its rows say of a column, in a comment; also of one that is left out.

    Returns
    -------
    str
        TOML. A column that no schema can name, and a name that occurs twice, is left out and
        counted in a comment.
    """
    label = _target(target or {})
    known, said = features or {}, notes or {}
    names = [one for one in dict.fromkeys(columns) if is_usable(one)]
    lines = [_head(data, pilot)]
    if left := len(columns) - len(names):
        lines.append(
            f"# Left out: {left} of {len(columns)} column names, which are blank, unprintable, "
            "too long\n# or there twice; rename them in the table.\n"
        )
    lines.append(f"name = {toml_text(name)}")
    if label["column"] == BLANK:
        lines.append("# The column to predict; delete its [[feature]] block below.")
    lines.append(
        '# Any other label is refused; negative = "*" counts any other value as negative.'
    )
    lines += _note(said.get(label["column"]))
    lines.append(f"target = {toml_text(label)}")
    lines.append('unit = "one row"  # what one neighbour changes: "one person", "one household"')
    lines.append("rows_per_unit = 1  # most rows that one of them has")
    lines.append(
        f"missing_values = {toml_text(list(missing))}  # what counts as missing besides empty, "
        'such as ["?", "NA"]'
    )
    for column in names:
        if column != label["column"]:
            lines += _block(column, known.get(column, {}), said.get(column))
    return "\n".join(lines) + "\n"


def _target(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of the target, with blanks for those that are not known."""
    labels = {} if "classes" in known else {"positive": BLANK, "negative": BLANK}
    return {"column": BLANK, **labels, **known}


def _head(data: str, pilot: str | None) -> str:
    first = _HEADER_ALONE if pilot is None else _WITH_PILOT
    shown = {"data": toml_text(data), "pilot": toml_text(pilot or ""), "blank": toml_text(BLANK)}
    return (first + _HOW_TO).format(**shown)


def _note(note: str | None) -> list[str]:
    return [] if note is None else [f"# From the pilot: {note}."]


def _block(column: str, facts: Mapping[str, Any] | None, note: str | None) -> list[str]:
    """Return the lines of one column; none where it is left out and nothing is said of it."""
    if facts is None:
        left = f"# The column {toml_text(column)} is left out. From the pilot: {note}."
        return [] if note is None else ["", left]
    lines = ["", "[[feature]]", *_note(note), f"column = {toml_text(column)}"]
    if not facts:
        return [*lines, f"thresholds = {toml_text(BLANK)}  # or categories, or binary"]
    return lines + [f"{toml_key(key)} = {toml_text(value)}" for key, value in facts.items()]


def check_column(name: str, columns: Sequence[str]) -> None:
    """Refuse a column that a header does not have.

    Raises
    ------
    SchemaError
        With the nearest name of the header.
    """
    if name not in columns:
        raise SchemaError(
            f"the label must be a column of the table, but {quoted(name)} is none"
            f"{did_you_mean(name, columns)}"
        )
