"""What is built: clean, the same every time, and complete; what may be left out says so."""

import ast
import importlib
import importlib.metadata
import os
import random
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from hashlib import sha256
from itertools import chain
from pathlib import Path

import pytest
from helpers.opdisc.cards import any_model
from helpers.oracles import instances
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import opdisc
import oracles
from opdisc.comparison.backends import check_backend

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
EXTRAS = PROJECT["optional-dependencies"]
LITTER = re.compile(
    r"__pycache__|\.py[co]$|\.nb[ic]$|\.(?:pytest|mypy|ruff)_cache|\.venv|\.hypothesis"
)
EPOCH = "1700000000"


# --- wheel and sdist -----------------------------------------------------------------------------


def build(source, target):
    """Build both from a source directory, under another mask for the modes of files."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(target)],
        cwd=source,
        env=environment,
        check=True,
        capture_output=True,
    )
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(built[1]) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since 3.11.4
        archive.extractall(folder, **safely)
    (source,) = folder.iterdir()
    return source


def test_a_build_from_the_sdist_is_the_same_to_the_byte(built, unpacked, tmp_path):
    again = build(unpacked, tmp_path)
    digests = [[sha256(p.read_bytes()).hexdigest() for p in pair] for pair in (built, again)]
    assert digests[0] == digests[1]


def test_the_wheel_holds_the_two_packages_and_nothing_else(built):
    names = zipfile.ZipFile(built[0]).namelist()
    assert {name.split("/")[0] for name in names} == {
        "opdisc",
        "oracles",
        f"opdisc-{opdisc.__version__}.dist-info",
    }
    assert not [name for name in names if LITTER.search(name) or "test_" in name]
    kinds = {Path(name).suffix for name in names if "dist-info" not in name}
    assert kinds == {".py", ".pyi", ".typed", ".toml", ".md", ".html", ".css", ".js"}


def test_the_wheel_holds_every_module_and_what_modules_read(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    for package in ("opdisc", "oracles"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and not LITTER.search(str(path.relative_to(ROOT))):
                assert path.relative_to(ROOT).as_posix() in names
    assert "opdisc/data/datasets/shipped/adult-small.toml" in names
    assert "opdisc/privacy/pages/theory.md" in names


def test_the_sdist_holds_what_builds_and_tests_and_no_litter(unpacked):
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")}
    wanted = (
        "pyproject.toml README.md LICENSE CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff "
        "tests/conftest.py docs/theory.md data/adult-small.toml benchmarks/census.py .ci/run"
    )
    assert set(wanted.split()) <= names
    assert not [name for name in names if LITTER.search(name)]


def test_one_version_everywhere():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert PROJECT["version"] == opdisc.__version__ == cited[1].strip('"')


# --- versions ------------------------------------------------------------------------------------


def lower_bounds(requirements):
    found = {}
    for requirement in map(Requirement, requirements):
        (bound,) = (part for part in requirement.specifier if part.operator == ">=")
        found[requirement.name.replace("_", "-")] = bound.version
    return found


def test_the_oldest_versions_that_are_tested_are_the_bounds():
    pins = re.findall(r"^(\S+)==(\S+)$", (ROOT / ".ci" / "oldest.txt").read_text(), re.MULTILINE)
    tested = {name.replace("_", "-"): version for name, version in pins}
    bounds = lower_bounds(PROJECT["dependencies"]) | lower_bounds(EXTRAS["pictures"])

    def numbers(version):
        return [int(part) for part in version.split(".")] + [0] * (3 - version.count(".") - 1)

    assert {k: numbers(v) for k, v in tested.items()} == {k: numbers(v) for k, v in bounds.items()}


def test_the_known_versions_are_of_all_that_the_check_installs():
    pins = re.findall(r"^(\S+)==(\S+)$", (ROOT / ".ci" / "known.txt").read_text(), re.MULTILINE)
    known = {canonicalize_name(name): version for name, version in pins}
    named = re.search(
        r"^everything='\.\[(.+)\]'$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE
    )
    extras = named[1].split(",")
    wanted = [*map(Requirement, PROJECT["dependencies"]), *chain(*map(requirements, extras))]
    assert len(wanted) > 40
    for requirement in wanted:
        version = known.get(canonicalize_name(requirement.name))
        assert version and requirement.specifier.contains(version), requirement


def imported(folder):
    """Top-level names that the modules of a folder import."""
    for path in (ROOT / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield node.module.split(".")[0]


MODULES = {
    "scikit-learn": "sklearn",
    "ortools": "ortools",
    "lazy-loader": "lazy_loader",
    "python-flint": "flint",
}
NOT_OURS = {"diffprivlib", "interpret"}
"""Peers of a comparison: they live in an environment of their own."""


def test_everything_that_is_imported_is_declared():
    declared = [*PROJECT["dependencies"], *(r for extra in EXTRAS.values() for r in extra)]
    names = {Requirement(text).name.replace("_", "-").lower() for text in declared}
    known = {MODULES.get(name, name.replace("-", "_")) for name in names} | {"opdisc", "oracles"}
    # MarkupSafe comes with Jinja, whose markup it is.
    known |= set(sys.stdlib_module_names) | {"markupsafe"} | NOT_OURS
    assert {*imported("opdisc"), *imported("oracles")} - known == set()


# --- extras --------------------------------------------------------------------------------------


def solves(name):
    """Let an oracle minimise a problem whose optimum was worked out by hand."""
    problem, optimum = instances.exclusive_or()
    certificate = oracles.solve(problem, name).certificate
    return certificate.proves_optimal and certificate.primal_bound == optimum


def minimises():
    """Clarabel, by way of CVXPY: the nearest point of [0, 1] to 2."""
    cvxpy = importlib.import_module("oracles.convex.conic").cvxpy
    x = cvxpy.Variable()
    problem = cvxpy.Problem(cvxpy.Minimize((x - 2) ** 2), [x >= 0, x <= 1])
    return abs(problem.solve(solver="CLARABEL") - 1) < 1e-6


def spreads(backend):
    """The back end is accepted; its slow tests run a comparison on it."""
    check_backend(backend, None)
    return importlib.import_module({"dask": "distributed"}.get(backend, backend)) is not None


def draws():
    """A card becomes a picture."""
    from opdisc.models.card import card_picture

    return card_picture(any_model(random.Random(0))).startswith(b"\x89PNG")


def imports(*modules):
    return all(importlib.import_module(module) for module in modules)


def reads():
    """A table of Arrow becomes the table that the reader makes of the same text."""
    pyarrow, narwhals = (importlib.import_module(name) for name in ("pyarrow", "narwhals"))
    table = pyarrow.table({"age": ["40", "50"]})
    return narwhals.from_native(table).columns == ["age"] and imports("openpyxl")


def queries():
    """DuckDB answers."""
    connection = importlib.import_module("duckdb").connect()
    return connection.execute("select 6 * 7").fetchall() == [(42,)]


WORKS = {
    "cp-sat": lambda: solves("cp-sat"),
    "scip": lambda: solves("scip") and solves("pulp:SCIP"),
    "gurobi": lambda: solves("gurobi") and solves("pulp:GUROBI"),
    "cplex": lambda: solves("cplex"),
    "xpress": lambda: solves("xpress"),
    "copt": lambda: solves("copt"),
    "mosek": lambda: imports("mosek"),
    "cvxpy": minimises,
    "dask": lambda: spreads("dask"),
    "ray": lambda: spreads("ray"),
    "pictures": draws,
    "onnx": lambda: imports("onnx"),
    "tables": reads,
    "sql": queries,
    "postgres": lambda: imports("psycopg", "ibis"),
    "spark": lambda: imports("pyspark"),
    "docs": lambda: imports("sphinx", "furo", "myst_parser", "numpydoc", "sphinx_click"),
    "test": lambda: imports("pytest", "xdist", "hypothesis", "importlinter", "hatchling"),
    "dev": lambda: imports("ruff", "mypy", "selenium"),
}


def requirements(extra):
    """What an extra asks for, with the extras that it names taken apart."""
    for requirement in map(Requirement, EXTRAS[extra]):
        if requirement.name == "opdisc":
            for inner in requirement.extras:
                yield from requirements(inner)
        else:
            yield requirement


def unmet(extra):
    for requirement in requirements(extra):
        try:
            found = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            return f"{requirement.name} is not installed (pip extra {extra})"
        if not requirement.specifier.contains(found, prereleases=True):
            return f"{requirement.name} {found} is not {requirement.specifier} (pip extra {extra})"
    return ""


def test_every_extra_has_a_test():
    assert set(WORKS) == set(EXTRAS)


BESIDE_THE_TESTS = {"test", "pictures"}
"""The extras that are there wherever the tests run."""


@pytest.mark.parametrize(
    "extra",
    [
        extra if extra in BESIDE_THE_TESTS else pytest.param(extra, marks=pytest.mark.extras)
        for extra in EXTRAS
    ],
)
def test_an_extra_that_is_installed_works(extra):
    if reason := unmet(extra):
        pytest.skip(reason)
    assert WORKS[extra]()


def test_an_extra_that_is_not_installed_is_noticed(monkeypatch):
    monkeypatch.setitem(EXTRAS, "absent", ["surely-absent>=1"])
    assert unmet("absent") == "surely-absent is not installed (pip extra absent)"
    monkeypatch.setitem(EXTRAS, "absent", ["opdisc[pictures]", "numpy>=9999"])
    assert unmet("absent").startswith(("numpy ", "matplotlib is not"))
