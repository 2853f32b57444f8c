"""The sentences of a page: prose without code, tables, headings, pictures, directives."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_LEFT_OUT = re.compile(
    r"^(`{3,}|:{3,}).*?^\1[^\n]*$"  # code and directives
    r"|^(?: *\n)(?: {4}[^\n]*\n)+(?= *\n)"  # indented code
    r"|^ *\|[^\n]*$"  # rows of tables
    r"|^#[^\n]*$"  # headings
    r"|^\([\w-]+\)=$"  # anchors
    r"|!\[[^\]]*\]\([^)\s]+\)",  # pictures: their texts list what is to be seen
    re.MULTILINE | re.DOTALL,
)
_ONE_WORD = (
    (re.compile(r"\$\$.*?\$\$", re.DOTALL), "F"),
    (re.compile(r"(?<![\\$])\$(?:(?!\n\n)[^$])+\$"), "F"),
    (re.compile(r"`(?:(?!\n\n)[^`])+`"), "C"),
)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\([^)\s]+\)")
_ITEM = re.compile(r"\n *\n|\n(?= *(?:[-*+]|\d+\.) )")
_END = re.compile(r"(?<=[.?!])[\"')*_]*\s+(?=[\[*_\"'(]*(?:[A-Z0-9$`]|opdisc|pandas|[a-z]\) ))")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|cf|vs|et al|Eq|Thm|Sec|No|p|pp)\.)$")


@dataclass(frozen=True)
class Sentence:
    """One sentence and the line on which it begins."""

    line: int
    text: str

    @property
    def words(self) -> int:
        """A formula or a name in code counts as one word."""
        return len(re.findall(r"\w[\w'’,.^/-]*", self.text))


def sentences(page: str) -> Iterator[Sentence]:
    """Yield the sentences of a page in Markdown, in order."""
    text = _LEFT_OUT.sub(lambda match: re.sub(r"[^\n]", "", match[0]), page)
    for pattern, word in _ONE_WORD:
        text = pattern.sub(lambda m, word=word: word + "\n" * m[0].count("\n"), text)
    text = _LINK.sub(lambda m: m[1] + "\n" * (m[0].count("\n") - m[1].count("\n")), text)
    start = 0
    for stop in [*(m.start() for m in _ITEM.finditer(text)), len(text)]:
        yield from _of_paragraph(text, start, stop)
        start = stop


def _of_paragraph(text: str, start: int, stop: int) -> Iterator[Sentence]:
    ends = [m for m in _END.finditer(text, start, stop)]
    for end in [*(m.end() for m in ends if not _ABBREVIATED.search(text, start, m.start())), stop]:
        part = text[start:end]
        if words := " ".join(part.split()):
            begin = start + len(part) - len(part.lstrip())
            yield Sentence(line=text.count("\n", 0, begin) + 1, text=words)
        start = end
