"""The statements that receipts cite, found by name.

They are read from the documentation pages: a checkout's own, or the copies in an installed wheel.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from opdisc.errors import PublicMistake, quoted
from opdisc.privacy.formulas import readable

PAGES = (
    "theory",
    "convex",
    "opsamp",
    "robust",
    "tuning",
    "general-losses",
    "utility",
    "paper",
    "glossary",
)
"""Pages that the package brings along; ``pyproject.toml`` puts them into the wheel."""

_PACKAGE = Path(__file__).resolve().parents[1]

_CITATION = re.compile(
    r"docs/(?P<page>[\w-]+)\.md(?:(?:,\s+(?:entry\s+)?\"?|#)(?P<entry>[^\"),;]+))?"
)

_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)

_HEADING = re.compile(r"^(#+) +(.*?) *$", re.MULTILINE)

_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")

_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One entry of a documentation page.

    Parameters
    ----------
    page : str
        The page's name, without ending.
    name : str
        The entry's heading; for the page as a whole, the page's name.
    text : str
        What stands there, as Markdown whose links are reduced to their words and whose formulas
        are in signs that a terminal has.
    """

    page: str
    name: str
    text: str

    @property
    def citation(self) -> str:
        """How receipts cite it."""
        return f"docs/{self.page}.md" + ("" if self.name == self.page else f", {self.name}")


def all_statements() -> tuple[Statement, ...]:
    """Return every page and every entry, in the order in which they stand.

    A page comes before its entries. An entry ends where the next heading of its own level or of a
    higher one begins.
    """
    return tuple(statement for page in PAGES for statement in _statements(page))


def find_statements(name: str) -> tuple[Statement, ...]:
    """Return the statements of a name.

    Parameters
    ----------
    name : str
        An entry ("sphere"), a page ("opsamp"), an entry of a page ("theory#sphere"), or any text
        with a citation in it, such as a receipt's theorem ("... (docs/theory.md, sphere)").

    Returns
    -------
    tuple of Statement
        At least one; more where several pages have an entry of that name.

    Raises
    ------
    PublicMistake
        If there is none; the message has the nearest names.
    """
    cited = _CITATION.search(name)
    if cited is not None:
        page, entry = cited["page"], cited["entry"] or ""
    else:
        page, _, entry = name.rpartition("#")
        page = page.removeprefix("docs/").removesuffix(".md")
    statements = all_statements()
    wanted = _key(entry or page)
    found = tuple(
        statement
        for statement in statements
        if _key(statement.name) == wanted and page in ("", statement.page)
    )
    if found:
        return found
    names = dict.fromkeys(_key(statement.name) for statement in statements)
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
    guess = f"; did you mean {' or '.join(near)}?" if near else "."
    raise PublicMistake(
        "a statement must be one of those that 'opdisc explain' lists, but "
        f"{quoted(name)} is none{guess}"
    )


def _statements(page: str) -> Iterator[Statement]:
    text = _text(page)
    # Comments in code look like headings.
    headings = list(_HEADING.finditer(_BLOCK.sub(lambda block: " " * len(block[0]), text)))
    yield Statement(page=page, name=page, text=_plain(text))
    for position, heading in enumerate(headings):
        if heading[1] == "#":
            continue
        later = (h for h in headings[position + 1 :] if len(h[1]) <= len(heading[1]))
        end = next((h.start() for h in later), len(text))
        yield Statement(page=page, name=heading[2], text=_plain(text[heading.end() : end]))


def _text(page: str) -> str:
    # A checkout's page comes first: it is the source of the copy that a wheel holds.
    checkout = _PACKAGE.parent
    local: tuple[Path, ...] = (
        (checkout / "docs",) if (checkout / "pyproject.toml").is_file() else ()
    )
    for folder in (*local, _PACKAGE / "privacy" / "pages"):
        path = folder / f"{page}.md"
        if path.is_file():
            return str(path.read_text(encoding="utf-8"))
    raise PublicMistake(
        f"the page {page}.md must come with opdisc, but is not there; install opdisc again."
    )


def _plain(text: str) -> str:
    return readable(_LINK.sub(r"\1", _COMMENT.sub("", text))).strip("\n")


def _key(name: str) -> str:
    return re.sub(r"[^\w]+", "-", name.casefold()).strip("-")
