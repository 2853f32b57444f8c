"""Where the pages use the glossary's words, and where they link them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WORDS: dict[str, str | None] = {
    "Privacy unit": r"privacy units?|units? of privacy",
    "Neighbouring tables": r"neighbouring(?: \w+)? tables?|neighbours(?= D\b)",
    "Neighbouring relation": r"neighbouring relations?|replace-one|add-or-remove-one",
    "Public fact": r"public (?:facts?|inputs?)",
    "Schema": r"schemas?",
    "Encoding": None,
    "Clipping": r"clip|clipped|clipping",
    "Point": None,
    "Scorecard": r"scorecards?",
    "Weight": None,
    "Hypothesis": r"hypothes[ei]s",
    "Grid": None,
    "Decision stump": r"decision stumps?",
    "Norm budget": r"norm budgets?",
    "Parameters": None,
    "0/1 loss": r"0/1 loss(?:es)?",
    "Error costs": r"error costs?",
    "ROC curve": r"roc curves?",
    "Lipschitz constant": r"lipschitz(?: constants?)?",
    "Ridge": r"ridge",
    "Epsilon and delta": None,
    "Sensitivity": r"sensitivity",
    "Mechanism": r"mechanisms?",
    "Calibration": r"calibrations?",
    "Exponential mechanism": r"exponential mechanisms?",
    "Inverse temperature": r"inverse temperatures?",
    "Base measure": r"base measures?",
    "Permute-and-flip": r"permute-and-flip",
    "One-hot noise": r"(?:block )?one-hot noise|block one-hot|block noise",
    "Sphere noise": r"sphere(?: noise)?",
    "Separator": r"separators?(?: sets?)?",
    "Perturbation": None,
    "Block": r"blocks?",
    "Margin": None,
    "Lattice": r"lattices?",
    "Tilt": r"tilt(?:s|ed)?",
    "Stability": r"stability(?! test| index)",
    "Total variation": r"total variation",
    "Numerical delta": r"numerical delta",
    "Robust vote": r"robust votes?",
    "Ballot": r"ballots?",
    "zCDP": r"zcdp",
    "Accountant": r"accountants?",
    "Amplification": r"amplification",
    "Ledger": r"ledgers?",
    "Receipt": r"receipts?",
    "Holds, conditional, void": r"(?-i:HOLDS|CONDITIONAL|VOID)",
    "Release": None,
    "Risk table": r"risk tables?",
    "Audit": None,
    "Oracle": r"oracles?(?! efficient)",
    "Claim": None,
    "Certificate": r"certificates?",
    "Gap": r"gaps?(?! (?:[\d.,]+|in) nats)",
    "Allowance": r"allowances?",
    "Complete oracle": r"complete oracles?",
    "Hand-over": r"hand-over",
    "Worker process": None,
    "Branch and bound": r"branch and bound",
    "Mixed-integer program": r"mixed-integer programs?|integer programs?",
    "Duality gap": r"duality gaps?",
    "Declared types": None,
    "Exact draw": r"exact draws?|drawn exactly|draws exactly",
    r"A\* sampling": r"A\\?\* sampling",
}
"""Pattern of each entry's word. None: it is common English as well, so a page need not link it."""

_HIDDEN = re.compile(
    r"^```.*?^```[^\n]*$"  # blocks of code
    r"|^ {4}[^\n]*$"  # indented code
    r"|^\$\$\n.*?^\$\$$|(?<![\\$])\$(?:(?!\n\n)[^$])+\$"  # formulas
    r"|^#[^\n]*$"  # headings
    r"|^\|[^\n]*\|[ ]*\n(?=\|[ ]*:?-{3})"  # header rows of tables
    r"|^<!--[^\n]*-->$"  # comments
    r"|`(?:(?!\n\n)[^`])+`",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Use:
    """The first use of a word on a page; ``linked`` if it is a link to its entry."""

    entry: str
    start: int
    text: str
    linked: bool


def anchor(heading: str) -> str:
    """Return the anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def entries(glossary: Path) -> list[str]:
    """Return the words that the glossary defines."""
    return re.findall(r"^### (.+?)\s*$", glossary.read_text(encoding="utf-8"), re.MULTILINE)


def links(text: str) -> list[str]:
    """Return the glossary anchors that a page links, in order, those in code left out."""
    return [
        target.partition("#")[2]
        for _, target in _LINK.findall(_blank(text, _HIDDEN.finditer(text)))
        if "glossary.md#" in target
    ]


def first_uses(text: str) -> list[Use]:
    """Return the first use in prose of each word that has a pattern."""
    prose, owner = _prose(text)
    found: list[Use] = []
    spans = {
        entry: [m.span() for m in re.finditer(rf"\b(?:{pattern})(?!\w)", prose, re.IGNORECASE)]
        for entry, pattern in ((e, p.replace(" ", r"\s+") if p else p) for e, p in WORDS.items())
        if pattern
    }
    longer = [span for each in spans.values() for span in each]
    for entry, own in spans.items():
        alone = (span for span in own if not any(_within(span, other) for other in longer))
        if (first := next(alone, None)) is not None:
            start, end = first
            found.append(Use(entry, start, text[start:end], owner.get(start) == anchor(entry)))
    return found


def _within(span: tuple[int, int], other: tuple[int, int]) -> bool:
    return span != other and other[0] <= span[0] and span[1] <= other[1]


def _prose(text: str) -> tuple[str, dict[int, str]]:
    """Return the text with all but prose blank, and the anchor of each linked character."""
    prose, owner = _blank(text, _HIDDEN.finditer(text)), {}
    other: list[re.Match[str]] = []
    for link in _LINK.finditer(prose):
        target = link[2]
        if "glossary.md#" not in target:
            other.append(link)
            continue
        for position in range(*link.span(1)):
            owner[position] = target.partition("#")[2]
    prose = _blank(prose, iter(other))
    return re.sub(r"\]\([^)\s]+\)", lambda m: " " * len(m[0]), prose), owner


def _blank(text: str, spans: Iterator[re.Match[str]]) -> str:
    for match in spans:
        hidden = re.sub(r"[^\n]", " ", match[0])
        text = text[: match.start()] + hidden + text[match.end() :]
    return text
