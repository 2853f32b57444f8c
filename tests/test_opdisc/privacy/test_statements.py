"""Whatever a receipt cites can be read where opdisc is installed."""

import ast
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from opdisc.errors import PublicMistake
from opdisc.privacy import all_statements, find_statements, statements

ROOT = Path(__file__).resolve().parents[3]
SOURCES = sorted([*(ROOT / "opdisc").rglob("*.py"), *(ROOT / "oracles").rglob("*.py")])


def texts(tree):
    """Yield every string of a module; an f-string with {} for what is filled in."""
    parts = {id(v) for n in ast.walk(tree) if isinstance(n, ast.JoinedStr) for v in n.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(v.value if isinstance(v, ast.Constant) else "{}" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in parts:
                yield re.sub(r"\s+", " ", node.value)


def citations(text):
    return [match[0] for match in statements._CITATION.finditer(text)]


CITED = sorted(
    {
        citation
        for path in SOURCES
        if "docs/" in (source := path.read_text(encoding="utf-8"))  # most files cite nothing
        for text in texts(ast.parse(source))
        # A docstring may go on after the page's name; a receipt's text ends its citation.
        if re.search(r"docs/[\w-]+\.md(?:, [\w-]+)?\)$", text) or text.startswith("docs/")
        for citation in citations(text)
    }
)

OLDER = sorted(
    {
        citation
        for path in (ROOT / "tests" / "data").rglob("*.json*")
        for citation in citations(path.read_text(encoding="utf-8"))
    }
)


def test_citations_are_found():
    assert {"docs/theory.md, sphere", "docs/opsamp.md", "docs/robust.md"} <= set(CITED)
    assert "docs/convex.md, objective-perturbation" in CITED
    assert len(CITED) >= 25 and len(OLDER) >= 10


@pytest.mark.parametrize("citation", sorted({*CITED, *OLDER}))
def test_every_citation_of_a_receipt_leads_to_one_statement(citation):
    (statement,) = find_statements(f"some theorem ({citation})")
    assert statement.citation == citation and len(statement.text) > 80


def test_every_page_that_the_code_mentions_comes_along():
    mentioned = {
        page
        for path in SOURCES
        for page in re.findall(r"docs/([\w-]+)\.md", path.read_text(encoding="utf-8"))
    }
    assert mentioned <= set(statements.PAGES)


def test_the_wheel_gets_exactly_those_pages():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    pages = {source: target for source, target in included.items() if source != "data"}
    assert pages == {
        f"docs/{page}.md": f"opdisc/privacy/pages/{page}.md" for page in statements.PAGES
    }


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package in a place where no checkout is around it."""
    pages = tmp_path / "opdisc" / "privacy" / "pages"
    pages.mkdir(parents=True)
    monkeypatch.setattr(statements, "_PACKAGE", tmp_path / "opdisc")
    return pages


def test_an_installed_package_has_the_pages_of_the_checkout(installed, monkeypatch):
    for page in statements.PAGES:
        shutil.copy(ROOT / "docs" / f"{page}.md", installed)
    found = all_statements()
    monkeypatch.undo()
    assert found == all_statements()


def test_a_missing_page_is_refused_in_a_sentence(installed):
    with pytest.raises(PublicMistake, match=r"theory\.md must come with opdisc"):
        find_statements("sphere")


def test_an_entry_ends_where_the_next_of_its_level_begins(installed, monkeypatch):
    monkeypatch.setattr(statements, "PAGES", ("theory",))
    (installed / "theory.md").write_text(
        "# Title\n\nopening\n\n## first\n\nsee [a word](glossary.md#word)\n\n### inner\n\ndeep\n\n"
        "```python\n# no heading\n```\n\n## Second one\n\nend\n",
        encoding="utf-8",
    )
    texts = {statement.name: statement.text for statement in all_statements()}
    assert list(texts) == ["theory", "first", "inner", "Second one"]
    assert texts["first"].startswith("see a word\n") and texts["first"].endswith("```")
    assert texts["inner"] == "deep\n\n```python\n# no heading\n```"
    assert texts["Second one"] == "end" and "opening" in texts["theory"]


@pytest.mark.parametrize(
    "name", ["Theorem A", "theorem-a", "THEOREM A", "theory#Theorem A", "docs/theory.md#theorem-a"]
)
def test_a_name_may_be_spelled_in_several_ways(name):
    (statement,) = find_statements(name)
    assert (statement.page, statement.name) == ("theory", "Theorem A")


def test_a_name_on_several_pages_gives_all_of_them():
    assert [found.page for found in find_statements("separator")] == ["theory", "glossary"]


@pytest.mark.parametrize("name", ["seperator", "theory#seperator", "(docs/theory.md, seperator)"])
def test_an_unknown_name_gets_the_nearest_ones(name):
    with pytest.raises(PublicMistake, match=r"did you mean separator"):
        find_statements(name)


@pytest.mark.parametrize("name", ["", "#", "x" * 5000, "\x1b[2J", "convex#sphere"])
def test_nonsense_is_refused(name):
    with pytest.raises(PublicMistake, match="must be one of those that 'opdisc explain' lists"):
        find_statements(name)
