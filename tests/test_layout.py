"""Rooms: what a folder exports, who may reach into it, and how full it is."""

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path

import grimp
import pytest
from helpers.campaigns import left_out

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = sorted(
    path.parent for name in ("opdisc", "oracles") for path in (ROOT / name).rglob("__init__.py")
)
FULL = 20
"""Entries of a folder at most: modules and sub-packages."""


def dotted(folder):
    return ".".join(folder.relative_to(ROOT).parts)


def entries(folder):
    return {
        path.stem
        for path in folder.iterdir()
        if (path.suffix == ".py" and path.stem not in ("__init__", "__main__"))
        or (path / "__init__.py").exists()
    }


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("oracles", "opdisc", cache_dir=None)


def outside_imports(graph, packages):
    """Yield imports that reach past the ``__init__`` of a folder from outside of it."""
    for importer in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            folder, _, name = imported.rpartition(".")
            inside = importer == folder or importer.startswith(f"{folder}.")
            if imported in packages or folder.count(".") < 1 or inside:
                continue
            # A folder of kernels exports its modules as such.
            if name not in getattr(importlib.import_module(folder), "__all__", ()):
                yield importer, imported


def test_a_folder_says_what_lives_there_and_exports_names_that_exist():
    for folder in FOLDERS:
        module = importlib.import_module(dotted(folder))
        assert module.__doc__ and len(module.__doc__.split()) > 5, folder
        exported = set(getattr(module, "__all__", ()))
        for name in exported:
            assert getattr(module, name) is not None
        # A module of the same name would hide the exported one as soon as it is imported.
        hidden = exported & entries(folder)
        assert all(inspect.ismodule(getattr(module, name)) for name in hidden), folder


def test_no_folder_is_full():
    full = {dotted(folder): len(entries(folder)) for folder in FOLDERS}
    assert {name: size for name, size in full.items() if size > FULL} == {}


def test_other_folders_are_entered_through_their_package_only(graph):
    assert list(outside_imports(graph, set(map(dotted, FOLDERS)))) == []


def test_reaching_into_a_folder_would_be_found():
    graph = grimp.ImportGraph()
    for name in ("opdisc.cli.app", "oracles.problem", "oracles.problem.grid"):
        graph.add_module(name)
    graph.add_import(importer="opdisc.cli.app", imported="oracles.problem.grid")
    graph.add_import(importer="opdisc.cli.app", imported="oracles.problem")
    found = list(outside_imports(graph, {"opdisc.cli", "oracles.problem"}))
    assert found == [("opdisc.cli.app", "oracles.problem.grid")]


# --- docs/architecture.md ------------------------------------------------------------------------


def contract_floors():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {
        contract["containers"][0]: [
            {name.strip() for name in floor.split("|")} for floor in contract["layers"]
        ]
        for contract in settings["contracts"]
        if contract["type"] == "layers" and "." not in contract["containers"][0]
    }


def drawn_floors():
    """Read the picture: one line a floor, the package's name above the first."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    picture = re.search(r"```text\n(.*?)```", text, re.DOTALL).group(1)
    floors, package = {}, None
    for line in picture.splitlines():
        if title := re.fullmatch(r"(\w+) +\(.*\)", line):
            package = title.group(1)
            floors[package] = []
        elif box := re.fullmatch(r"\s*\|(.*)\|\s*", line):
            floors[package].append(set(box.group(1).split()))
    return floors


def test_the_picture_shows_the_floors_of_the_contracts():
    assert drawn_floors() == contract_floors()


def test_the_page_names_every_folder_and_only_what_exists():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:opdisc|oracles)(?:/\w+)*)/`", text))
    assert named == {"/".join(folder.relative_to(ROOT).parts) for folder in FOLDERS}
    functions = re.findall(r"`((?:opdisc|oracles)(?:\.\w+)+)`", text)
    assert len(functions) > 20
    for name in functions:
        module, _, attribute = name.rpartition(".")
        try:
            assert hasattr(importlib.import_module(module), attribute), name
        except ModuleNotFoundError:
            owner, _, kind = module.rpartition(".")
            assert hasattr(getattr(importlib.import_module(owner), kind), attribute), name


def test_every_test_lies_in_the_room_of_what_it_tests():
    for package in ("opdisc", "oracles"):
        rooms = {dotted(folder) for folder in FOLDERS}
        tests = (ROOT / "tests" / f"test_{package}").rglob("test_*.py")
        for path in tests:
            room = path.parent.relative_to(ROOT / "tests" / f"test_{package}").parts
            assert ".".join([package, *room]) in rooms, path


def test_packages_are_read_without_running_them():
    """The check above sees imports as text, so code at the top of a package must be plain."""
    for folder in FOLDERS:
        tree = ast.parse((folder / "__init__.py").read_text())
        assert all(
            isinstance(node, ast.Expr | ast.Import | ast.ImportFrom | ast.Assign)
            for node in tree.body
        ), folder


def test_the_parts_of_a_campaign_are_all_of_it_and_each_has_one_of_each_kind():
    cases = [("many", 1, i) for i in range(20)] + [("few", 1, "a"), ("few", 1, "b")]
    cases += [("one", 1, "x"), *(("very many", 2, -i) for i in range(1, 21))]
    keys = {key for *_, key in cases}
    kept = [keys - left_out(cases, part, 6) for part in range(12)]
    assert set().union(*kept) == keys
    names = {name for name, *_ in cases}
    assert all({name for name, _, key in cases if key in one} == names for one in kept)
    assert max(map(len, kept)) <= 4 + 1 + 1 + 2
    assert left_out(cases[:23], 0, 1) == set()


def test_a_test_names_the_optional_packages_that_it_needs():
    """What skips by itself is run nowhere: only the marker extras is seen by ``.ci/run``."""
    allowed = {"selenium.webdriver", "axe_core_python.selenium"}  # needed with a browser alone
    for path in (ROOT / "tests").rglob("*.py"):
        asked = re.findall(r"""importorskip\(\s*["']([\w.]+)""", path.read_text(encoding="utf-8"))
        assert set(asked) <= allowed, path
