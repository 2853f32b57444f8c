"""References from the convex mechanisms to docs/convex.md, and from there to the tests."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SUMMARY = (ROOT / "docs" / "theory.md").read_text("utf-8").split("## convex-sources")[1]
PAGE = (ROOT / "docs" / "convex.md").read_text(encoding="utf-8")
SOURCES = [
    *(ROOT / "opdisc" / "convex").rglob("*.py"),
    ROOT / "opdisc" / "calibration" / "gaussian.py",
    ROOT / "opdisc" / "estimators" / "linear.py",
    ROOT / "opdisc" / "estimators" / "simplex.py",
]


def _cited():
    found = set()
    for path in SOURCES:
        text = re.sub(r"\"\s*\n\s*f?\"", "", path.read_text(encoding="utf-8"))
        text = re.sub(r"\s+", " ", text)
        found |= set(re.findall(r'docs/convex\.md, entry "([^"]+)"', text))
        found |= set(re.findall(r"\(docs/convex\.md, ([a-z0-9-]+)\)", text))
    return found


def test_every_citation_has_a_heading_and_every_link_a_target():
    headings = set(re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE))
    cited = _cited()
    assert len(cited) >= 10
    assert cited - headings == set()
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) - headings == set()


def test_every_test_and_function_named_on_the_page_exists():
    rooms = ("convex", "audit", "noise", "calibration", "estimators")
    paths = [p for room in rooms for p in (ROOT / "tests" / "test_opdisc" / room).rglob("*.py")]
    tests = "".join(path.read_text("utf-8") for path in paths)
    named = re.findall(r"`(test_\w+)`", PAGE + SUMMARY)
    assert len(named) >= 30
    assert all(f"def {name}(" in tests for name in named)
    code = "".join(path.read_text("utf-8") for path in SOURCES)
    table = re.findall(r"^\| `(\w+)`", PAGE, flags=re.MULTILINE)
    assert len(table) >= 12
    assert all(f"def {name}(" in code for name in table)


def test_every_mechanism_has_a_statement_a_source_and_a_change():
    headings = set(re.findall(r"^## (.+)$", PAGE, flags=re.MULTILINE))
    lines = [line.split(" | ") for line in SUMMARY.splitlines() if line.startswith("| ")][1:]
    assert len(lines) >= 19
    for line in lines:
        assert len(line) == 5 and all(cell.strip(" |") for cell in line)
        assert line[4].strip(" |") in headings
