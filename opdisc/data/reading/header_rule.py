"""Whether a first line is surely one of column names, and whether a file is a table at all.

Names are public: they go into schemas and onto the screen. A row's cells must not go there for
names. Both rules look at the first line alone, and what they say holds nothing of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdisc.errors import LONGEST_NAME, TableError

if TYPE_CHECKING:
    from opdisc.data.files import FilePath

_LETTERLESS = re.compile(r"[#%№]|\.\.\.\d+")
"""Names that tables have, though there is no letter in them; R heads a blank column "...1"."""

_VALUES = frozenset({"true", "false", "yes", "no", "null", "none", "n/a", "#n/a", "<na>", r"\n"})
"""Texts that are cells. "NO" and "Na" are elements, "No" in front heads the rows' numbers."""

_MONTHS = frozenset(
    "jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july "
    "august september october november december".split()
)

_OF_DATES = _MONTHS | frozenset(
    "mon tue tues wed thu thur thurs fri sat sun monday tuesday wednesday thursday friday "
    "saturday sunday am pm t z utc gmt st nd rd th".split()
)

_WORD = re.compile(r"[^\W\d_]+")

_VALUE = re.compile(
    r"0x[0-9a-f]+"
    r"|\d{1,2}[\s./-]+[^\W\d_]{3,}\.?[\s./-]+\d{2,4}"  # 12. Oktober 2019
    r"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|[^\s@]+@[^\s@]+\.[^\s@]+"
    r"|https?://.*"
    r"|([^\W\d]+,\s*)?\d{1,2}(er|st|nd|rd|th|\.)?\s*[^\W\d]{3,10}\.?\s*(19|20)\d\d"  # 1er mai 1960
    r"|\d{4}-?w\d{1,2}|\d{4}\s*[年년].*"
    r"|(\d+[.,:/-])*\d+\s*"
    r"(kg|g|mg|µg|lbs?|cm|mm|m|km|ml|l|mmhg|bpm|years?|yrs?|yo|jahre|ans)"
    r"|[0-9a-f]{16,}|([0-9a-f]{2}:){5}[0-9a-f]{2}",
    re.IGNORECASE | re.DOTALL,
)

_LABELLED_CELL = re.compile(r"[^=:]{1,60}[=:]\s*\S.*", re.DOTALL)

_PAIRS = (("(", ")"), ("[", "]"))

_PAGE = "an HTML or XML page", "open it in a spreadsheet and save it as .xlsx or CSV"
_JSON = "JSON or other text in brackets", "write its rows as CSV"
_ARFF = "ARFF or KEEL text", "write its rows as CSV below a line of names"
_SVM = "LIBSVM text", "load it with sklearn.datasets.load_svmlight_file and write it as CSV"
_SEPARATOR = "a table below a line with its separator", "delete that line"
_PDF = "a PDF", "get the table as CSV or .xlsx"

_OTHER = (
    (re.compile(r"<(!doctype|html|\?xml|table)\b|mime-version:", re.IGNORECASE), _PAGE),
    (re.compile(r"@relation\b", re.IGNORECASE), _ARFF),
    (re.compile(r'\[?\s*\{\s*"'), _JSON),
    (re.compile(r"%PDF-"), _PDF),
)
"""How files start that are no table, and as no row starts."""

_OTHER_THAN_A_HEADER = (
    (re.compile(r"sep=.?\s*$", re.IGNORECASE), _SEPARATOR),
    (re.compile(r"<[a-z!?/][^>]*(>(?![,;\t|])|$)", re.IGNORECASE), _PAGE),
    (re.compile(r"@(attribute|data|inputs?|outputs?)\b", re.IGNORECASE), _ARFF),
    (re.compile(r"""\{|\[\s*($|[\[{"'\d-])"""), _JSON),
)
"""How files start that have no line of names; a row may start so."""

_SVM_CELL = re.compile(r"(qid|\d+):[-+\d.]+(e[-+]?\d+)?", re.IGNORECASE)

ONE_NAME = "has only one name"


def refuse_other_text(line: str, path: FilePath, *, is_row: bool) -> None:
    """Refuse a text file whose first line shows that it is no table.

    Parameters
    ----------
    line : str
        The first one.
    path : path
        The file's name, for the message.
    is_row : bool
        Whether names were given, so that the line may be any row.

    Raises
    ------
    TableError
        Says what the file is, and quotes nothing.
    """
    start = line.strip().lstrip("\ufeff")
    kinds = _OTHER if is_row else (*_OTHER, *_OTHER_THAN_A_HEADER)
    found = [about for pattern, about in kinds if pattern.match(start)]
    if is_row and _is_json_list(start):
        found.append(_JSON)
    if not is_row and _is_svm(start):
        found.append(_SVM)
    for kind, remedy in found:
        raise TableError(
            f"a text file must be a table with one row a line, but {path} is {kind}; {remedy}"
        )


def _is_json_list(line: str) -> bool:
    """Return whether a whole line is a list of JSON."""
    if not (line.startswith("[") and line.endswith("]")):
        return False
    try:
        return isinstance(json.loads(line), list)
    except (ValueError, RecursionError):
        return False


def _is_svm(line: str) -> bool:
    """Return whether a line is index:value again and again, after a label."""
    cells = line.partition("#")[0].split()
    if cells and ":" not in cells[0]:
        cells = cells[1:] if _is_number(cells[0].replace(",", "")) else []
    return bool(cells) and all(map(_SVM_CELL.fullmatch, cells))


def header_doubt(names: Sequence[str]) -> str:
    """Return why names may be the cells of a row, or "" where they surely are names.

    One blank name is allowed in front: so pandas and R head the column of row names.
    """
    if sum(map(bool, names)) < 2:
        return ONE_NAME
    if not all(names[1:]):
        return "has a blank name"
    if len(set(names)) < len(names):
        return "has a name twice"
    if any(map(_is_fragment, names)):
        return "has a name that is too long, or has markup, a quotation mark or unpaired brackets"
    if all(map(_LABELLED_CELL.fullmatch, names)):
        return "has a value with each name"
    if names[0].startswith("# "):
        return "starts as a comment does"
    first_is_number = names[0].casefold() == "no"
    if any(map(_is_value, filter(None, names[first_is_number:]))):
        return "has a name that is a number, a date or another value"
    return ""


def refuse_doubtful(names: Sequence[str], doubt: str, path: FilePath, remedy: str = "") -> None:
    """Refuse names for a public purpose that may be the cells of a row, or are too few.

    Parameters
    ----------
    names, doubt
        Of a reader of the table.
    path : path
        The file's name, for messages.
    remedy : str
        What to do first, where the file holds other tables.

    Raises
    ------
    TableError
        Quotes none of them.
    """
    first = remedy and f"{remedy}; "
    if doubt == ONE_NAME or len(names) < 2:
        raise TableError(
            f"a table must have a column to predict and another one, but {path} {ONE_NAME}; "
            f"{first}give --delimiter if it has another one between its cells, or --names if it "
            "starts with a row"
        )
    if doubt:
        raise TableError(
            f"a table must start with a line that surely holds names only, but that of {path} "
            f"{doubt}; {first}if it is a row, give the names with --names a,b,c or --names FILE, "
            "else correct that line"
        )


def _is_value(name: str) -> bool:
    core = name.strip("'\"` ")
    folded = core.casefold()
    if _LETTERLESS.fullmatch(core):
        return False
    if core == "NO":
        return False
    if not any(map(str.isalpha, core)) or folded in _VALUES or core == "NA":
        return True
    return _is_number(folded) or _is_date(folded) or _VALUE.fullmatch(core) is not None


def _is_number(text: str) -> bool:
    try:
        float("".join(text.split()).replace(",", ".").rstrip("%€$£"))
    except ValueError:
        return False
    return True


def _is_date(text: str) -> bool:
    """Return whether a text is made of digits and words of dates: 5-May-2019, 10:30 pm, Jan 19.

    DEC1 and MAR2 are genes.
    """
    words = set(_WORD.findall(text))
    if not words <= _OF_DATES or not any(map(str.isdigit, text)):
        return False
    return text[0].isdigit() or (
        not words.isdisjoint(_MONTHS) and re.search(r"\W|_|\d{4}", text) is not None
    )


def _is_fragment(name: str) -> bool:
    return (
        name[:1] in ("<", '"')
        or "</" in name
        or '":' in name
        or "{" in name
        or any(name.count(opening) > name.count(closing) for opening, closing in _PAIRS)
        or any(c < " " and c not in "\t\r\n" for c in name)
        or len(name) > LONGEST_NAME
    )
