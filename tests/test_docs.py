"""Documentation that can fail: references, code blocks, parameter names, doctests."""

import dataclasses
import doctest
import importlib.util
import inspect
import pkgutil
import re
from collections import Counter
from pathlib import Path

import pytest
from helpers.glossary import WORDS, anchor, entries, first_uses, links
from helpers.prose import sentences

import opdisc
import oracles
from opdisc.privacy.receipts.grid_receipt import GridReceipt
from oracles.interface import registry

ROOT = Path(__file__).resolve().parents[1]
THEORY = ROOT / "docs" / "theory.md"
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
SOURCES = sorted([*(ROOT / "opdisc").rglob("*.py"), *(ROOT / "oracles").rglob("*.py")])
PACKAGES = (opdisc, oracles)


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch, tmp_path):
    """Examples may register oracles and write files; neither may outlive them."""
    monkeypatch.setattr(registry.ORACLES, "_entries", dict(registry.ORACLES._entries))
    monkeypatch.chdir(tmp_path)


def _headings(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.findall(r"^#+ +(.*?)\s*$", text, flags=re.MULTILINE)


# --- references to the theory --------------------------------------------------------------------

REFERENCE = re.compile(
    r"docs/theory\.md, entry \"(?P<entry>[^\"]+)\""
    r"|\(docs/theory\.md, \"?(?P<aside>[^\")]+)\"?\)"
    r"|(?P<theorem>Theorem [A-Z]) of docs/theory\.md"
)


def _references(path):
    """Names that a module cites from the theory; docstrings and messages may break lines."""
    text = re.sub(r"\"\s*\n\s*f?\"", "", path.read_text(encoding="utf-8"))
    text = re.sub(r"\s+", " ", text)
    return {match[match.lastgroup] for match in REFERENCE.finditer(text)}


def test_every_reference_to_the_theory_has_a_heading():
    headings = set(_headings(THEORY))
    cited = {name for path in SOURCES for name in _references(path)}
    assert {"Theorem A", "block-one-hot", "sphere", "selection", "separator"} <= cited
    assert cited - headings == set()


def test_a_reference_without_a_heading_is_found(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('"""docs/theory.md, entry\n    "nowhere"; Theorem Z of docs/theory.md."""\n')
    assert _references(module) == {"nowhere", "Theorem Z"}


def test_the_theorem_of_every_receipt_names_an_entry():
    """Receipts cite in a parenthesis at the end of ``theorem``."""
    headings = set(_headings(THEORY))
    theorems = [
        name
        for path in SOURCES
        for name in re.findall(r"\(docs/theory\.md, ([a-z-]+)\)", path.read_text(encoding="utf-8"))
    ]
    assert len(theorems) >= 5
    assert set(theorems) <= headings


def test_links_lead_to_headings_and_files():
    for page in PAGES:
        anchors = {anchor(heading) for heading in _headings(page)}
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if "://" in target or target.startswith("mailto:"):
                continue
            file, _, place = target.partition("#")
            if file:
                linked = page.parent / file
                assert linked.exists(), f"{page.name} links to {file}"
                if linked.suffix == ".md" and place:
                    assert place in {anchor(heading) for heading in _headings(linked)}
            else:
                assert place in anchors, f"{page.name} links to #{place}"


NAMED_FILE = re.compile(r"`((?:opdisc|oracles|tests|benchmarks|docs|findings)/[\w/.-]+\.\w+)`")
TO_BE_WRITTEN = {"opdisc/mechanisms/majority.py"}  # by the reader of "write a mechanism"


def _absent(text):
    """Files that a page names as ours, and that are not there."""
    return {name for name in NAMED_FILE.findall(text) if not (ROOT / name).exists()}


def test_files_that_pages_name_exist():
    pages = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "benchmarks").glob("*.md"))]
    absent = {
        page.name: _absent(page.read_text(encoding="utf-8")) - TO_BE_WRITTEN for page in pages
    }
    assert {name: files for name, files in absent.items() if files} == {}
    assert _absent("see `opdisc/gone.py` and `opdisc/errors.py`") == {"opdisc/gone.py"}


def test_every_receipt_field_is_explained():
    text = THEORY.read_text(encoding="utf-8").split("## How to check a receipt")[1]
    table = "\n".join(line for line in text.splitlines() if line.startswith("| `"))
    explained = set(re.findall(r"`(\w+)`", "\n".join(r.split("|")[1] for r in table.splitlines())))
    assert explained == set(GridReceipt.__struct_fields__)


# --- the glossary --------------------------------------------------------------------------------

GLOSSARY = ROOT / "docs" / "glossary.md"
LINKING = [page for page in PAGES if page != GLOSSARY]


def test_every_entry_of_the_glossary_has_a_pattern_and_a_link():
    assert set(WORDS) == set(entries(GLOSSARY))
    linked = {place for page in LINKING for place in links(page.read_text(encoding="utf-8"))}
    assert {anchor(entry) for entry in WORDS} - linked == set()


def test_a_page_links_each_word_of_the_glossary_once_where_it_first_uses_it():
    faults = []
    for page in LINKING:
        text = page.read_text(encoding="utf-8")
        twice = {place for place, times in Counter(links(text)).items() if times > 1}
        faults += [f"{page.name}: more than one link to {place}" for place in sorted(twice)]
        faults += [
            f"{page.name}, line {text.count(chr(10), 0, use.start) + 1}: {use.text} -> "
            f"glossary.md#{anchor(use.entry)}"
            for use in first_uses(text)
            if not use.linked
        ]
    assert faults == []


def test_first_uses_are_those_in_prose():
    page = (
        "# A receipt\n\n`receipt` and [a receipt](elsewhere.md)\n\n    receipt\n\n"
        "| receipt |\n|---|\n| none |\n\nThe [duality gap](glossary.md#duality-gap), "
        "the gap, the\nneighbouring tables; receipts.\n"
    )
    uses = {use.entry: (use.text, use.linked) for use in first_uses(page)}
    assert uses == {
        "Duality gap": ("duality gap", True),
        "Gap": ("gap", False),
        "Neighbouring tables": ("neighbouring tables", False),
        "Receipt": ("receipts", False),
    }
    gap = next(use for use in first_uses(page) if use.entry == "Gap")
    assert page[gap.start :].startswith("gap, the")
    assert links(page) == ["duality-gap"]


def test_formulas_keep_to_what_both_sites_render():
    """GitHub takes a backslash before a sign, such as a brace or a comma, for an escape."""
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert text.count("$") % 2 == 0, page.name
        for formula in re.findall(r"\$\$.*?\$\$|\$[^$]*\$", text, flags=re.DOTALL):
            inline = not formula.startswith("$$")
            assert not re.search(r"\\[^A-Za-z]|[<>][A-Za-z]", formula), f"{page.name}: {formula}"
            assert not (inline and re.search(r"\n|^\$\s|\s\$$", formula)), (
                f"{page.name}: {formula}"
            )


# --- sentences -----------------------------------------------------------------------------------

LONGEST = 40
"""Words of a sentence on a page, a formula counted as one; shorter is better."""


def test_no_sentence_of_a_page_is_too_long():
    long = [
        f"{page.name}, line {sentence.line}, {sentence.words} words: {sentence.text}"
        for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
        for sentence in sentences(page.read_text(encoding="utf-8"))
        if sentence.words > LONGEST
    ]
    assert long == []


def test_sentences_are_those_of_the_prose():
    page = (
        "# Not this one. Nor this\n\nThe sum $a + b$ of `x + y` is, see [the\nproof](p.md), 3.5. "
        "**Bold.** (b) Next, e.g. here.\n\n```text\nNo. Never.\n```\n\n    Code. Code.\n\n"
        "| a. B | c |\n|---|---|\n\n![A. B](c.svg)\n- One\n- Two words\n"
    )
    assert [(sentence.line, sentence.text, sentence.words) for sentence in sentences(page)] == [
        (3, "The sum F of C is, see the proof, 3.5.", 10),
        (4, "**Bold.**", 1),
        (4, "(b) Next, e.g. here.", 4),
        (16, "- One", 1),
        (17, "- Two words", 2),
    ]


# --- code blocks ---------------------------------------------------------------------------------


def _python_blocks(page):
    """Blocks fenced as ```python; anything after the word (```python not-run) marks a skip."""
    return re.findall(
        r"^```python[ \t]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


@pytest.mark.parametrize("page", list(filter(_python_blocks, PAGES)), ids=lambda page: page.name)
def test_python_blocks_run_in_order(page, capsys):
    namespace = {"__name__": "__documentation__"}
    for number, block in enumerate(_python_blocks(page)):
        name = f"{page.name}, block {number + 1}"
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, name, str(page), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
            runner.run(test, clear_globs=False)
            namespace.update(test.globs)
            assert runner.failures == 0, f"{name}: {capsys.readouterr().out}"
        else:
            exec(compile(block, name, "exec"), namespace)


def test_the_authors_page_ends_with_the_conformance_kit():
    last = _python_blocks(ROOT / "docs" / "oracle-authors.md")[-1]
    assert last.rstrip().endswith("check_oracle(MyOracle())")


# --- modules: doctests and parameter names -------------------------------------------------------


def _module_names():
    return sorted(
        {package.__name__ for package in PACKAGES}
        | {
            info.name
            for package in PACKAGES
            for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
            if not info.name.endswith("__main__")
        }
    )


def _module(name):
    """Import a module; None if an optional third-party package is missing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in {"opdisc", "oracles"}:
            raise
        return None


def _with_examples(name):
    return ">>> " in Path(importlib.util.find_spec(name).origin).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(filter(_with_examples, _module_names())))
def test_doctests(name, capsys):
    module = _module(name)
    if module is None:
        pytest.skip("an optional package is missing")
    result = doctest.testmod(module)
    assert result.attempted and result.failed == 0, capsys.readouterr().out


SECTION = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)


def _documented(docstring):
    """Names in the Parameters section, or None if there is none."""
    text = inspect.cleandoc(docstring or "")
    starts = list(SECTION.finditer(text))
    for i, section in enumerate(starts):
        if section["title"] == "Parameters":
            end = starts[i + 1].start() if i + 1 < len(starts) else len(text)
            lines = text[section.end() : end].splitlines()
            heads = [line.split(" : ")[0] for line in lines if line and not line[0].isspace()]
            return [name.strip().lstrip("*") for head in heads for name in head.split(",")]
    return None


def _has_fields(kind):
    return dataclasses.is_dataclass(kind) or hasattr(kind, "__struct_fields__")


def _expected(thing):
    """Names of the signature; a class of fields that extends another may document its own."""
    names = [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]
    if inspect.isclass(thing) and any(map(_has_fields, thing.__bases__)):
        return [name for name in names if name in vars(thing)["__annotations__"]]
    return names


def _public_things(module):
    """(qualified name, object) of public functions, classes and their public methods."""
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            yield name, thing
            for method_name, member in vars(thing).items():
                method = getattr(member, "__func__", member)
                if not method_name.startswith("_") and inspect.isfunction(method):
                    yield f"{name}.{method_name}", method


def _complaints(module):
    found = []
    for name, thing in _public_things(module):
        documented = _documented(thing.__doc__)
        if documented is not None and sorted(documented) != sorted(_expected(thing)):
            found.append(f"{module.__name__}.{name}: {documented} != {_expected(thing)}")
        if not (thing.__doc__ or "").strip():
            found.append(f"{module.__name__}.{name}: no docstring")
    return found


def test_documented_parameters_are_those_of_the_signature():
    found = []
    for module in filter(None, map(_module, _module_names())):
        found += _complaints(module)
    assert found == []


def test_a_wrong_parameter_name_is_found(monkeypatch):
    def wrong(alpha, *rest, beta=1):
        """Do it.

        Parameters
        ----------
        alpha, gamma : int
            Two of them.
        *rest
            More.

        Returns
        -------
        int
        """

    assert _documented(wrong.__doc__) == ["alpha", "gamma", "rest"]
    monkeypatch.setattr(wrong, "__module__", registry.__name__)
    monkeypatch.setattr(registry, "wrong", wrong, raising=False)
    assert any("wrong" in complaint for complaint in _complaints(registry))
