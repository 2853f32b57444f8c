"""Numbers that decide choices: each says what it decides and where that was measured."""

import ast
import re
from pathlib import Path

from helpers.glossary import anchor

from opdisc import tuned

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tuned.md"


def described(source):
    """Yield (name, value as it is written, what it decides, evidence) of each number."""
    body = ast.parse(source).body
    for node, doc in zip(body, body[1:], strict=False):
        if isinstance(node, ast.Assign):
            text = ast.literal_eval(doc.value)
            said, _, evidence = text.strip().rpartition("Evidence: ")
            summary = said.strip().splitlines()[0]
            yield node.targets[0].id, ast.unparse(node.value), summary, evidence.removesuffix(".")


def is_there(evidence):
    """Return whether evidence is a file with that heading, or is said to be none."""
    file, _, place = evidence.partition("#")
    if evidence == "none":
        return True
    if not (ROOT / file).is_file():
        return False
    headings = re.findall(r"(?m)^#+ +(.*?)\s*$", (ROOT / file).read_text(encoding="utf-8"))
    return not place or place in map(anchor, headings)


def row(name, value, summary, evidence):
    """Return the line of the page's table."""
    file, _, place = evidence.partition("#")
    linked = file.removeprefix("docs/") if file.startswith("docs/") else f"../{file}"
    link = (
        "none"
        if evidence == "none"
        else f"[{Path(file).name}]({linked}{'#' * bool(place)}{place})"
    )
    return f"| `{name}` | {value} | {summary.removesuffix('.').replace('``', '`')} | {link} |"


def numbers():
    return list(described(Path(tuned.__file__).read_text(encoding="utf-8")))


def test_each_number_says_what_it_decides_and_where_that_was_measured():
    named = {name for name in vars(tuned) if name.isupper()}
    assert {name for name, *_ in numbers()} == named
    assert all(summary.endswith(".") for _, _, summary, _ in numbers())
    assert [name for name, *_, evidence in numbers() if not is_there(evidence)] == []


def test_evidence_that_is_gone_is_found():
    assert not is_there("docs/gone.md")
    assert not is_there("docs/utility.md#gone")
    assert is_there("docs/utility.md#choosing-automatically")


def test_the_page_is_the_table():
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in page if line.startswith("| `")] == [row(*each) for each in numbers()]


def test_each_number_is_used_and_none_has_a_twin():
    """A second definition of a name would decide what this one no longer does."""
    sources = [
        path.read_text(encoding="utf-8")
        for path in (ROOT / "opdisc").rglob("*.py")
        if path.name != "tuned.py"
    ]
    for name, *_ in numbers():
        assert any(re.search(rf"\b{name}\b", source) for source in sources), name
        assert not any(re.search(rf"(?m)^{name}\b.* = ", source) for source in sources), name
