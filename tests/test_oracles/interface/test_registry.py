"""Oracles by name: what is listed, what is refused, and in which words."""

import subprocess
import sys

import pytest
from helpers.oracles import instances

import oracles
from oracles import OracleUnavailable, WeightGrid, ZeroOneProblem, get_oracle
from oracles.enumeration.listing import EnumerationOracle
from oracles.interface import registry, solving
from oracles.interface.registry import ORACLES, OracleEntry, Registry

LISTED = ", ".join(oracles.available_oracles())


def test_listed_oracles_can_be_made():
    for name in oracles.available_oracles():
        assert get_oracle(name).name == name


def test_unknown_name_lists_the_installed_ones():
    with pytest.raises(OracleUnavailable) as caught:
        get_oracle("oracle of Delphi")
    assert str(caught.value) == (
        f"oracle must be one of the installed ones ({LISTED}), got 'oracle of Delphi'."
    )
    assert isinstance(caught.value, ImportError)


def test_missing_solver_says_how_to_install_it():
    oracles.register_oracle(
        "missing", "no.such:thing", modules=("no_such_module",), install="pip install nothing"
    )
    try:
        assert "missing" not in oracles.available_oracles()
        with pytest.raises(OracleUnavailable) as caught:
            get_oracle("missing")
        assert str(caught.value) == (
            "oracle 'missing' needs a solver that is not installed; run `pip install nothing` or "
            f"choose one of the installed ones ({LISTED})."
        )
    finally:
        del registry.ORACLES._entries["missing"]


def test_third_parties_register_in_one_line():
    oracles.register_oracle("mine", EnumerationOracle)
    try:
        assert "mine" in oracles.available_oracles()
        problem = ZeroOneProblem(
            points=[[1]], positives=[1], negatives=[0], grid=WeightGrid.box(1, 1)
        )
        assert oracles.solve(problem, "mine").certificate.proves_optimal
    finally:
        del registry.ORACLES._entries["mine"]


def test_listing_imports_no_solver():
    code = (
        "import sys, oracles; oracles.available_oracles(); "
        "print(sorted({'pulp', 'highspy', 'ortools', 'numba'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_versions_identify_an_oracle():
    versions = oracles.oracle_versions("highs")
    assert set(versions) <= {"highspy"}
    assert oracles.oracle_versions("enumeration")["numpy"]


def test_auto_depends_on_the_grid_only():
    def chosen(d, points):
        grid = WeightGrid.box(d, 1)
        m = len(points)
        problem = ZeroOneProblem(points=points, positives=[1] * m, negatives=[0] * m, grid=grid)
        return solving.choose_oracle(problem)

    assert chosen(3, [[1, 1, 1]]) == chosen(3, [[0, 0, 0]] * 50) == "enumeration"
    assert chosen(30, [[1] * 30]) != "enumeration"


def test_auto_needs_a_lattice_for_integer_oracles(monkeypatch):
    def chosen(n_features, bound, unit):
        grid = WeightGrid.box(n_features, bound)
        table = [[0] * (2 * bound + 1)] * n_features
        problem = ZeroOneProblem(
            points=[[1] * n_features],
            positives=[1],
            negatives=[0],
            grid=grid,
            perturbation=oracles.Perturbation.separable(table, unit=unit),
        )
        return solving.choose_oracle(problem)

    def installed(*names):
        some = {name: OracleEntry(target="nowhere:Nothing") for name in names}
        monkeypatch.setattr(ORACLES, "_entries", some)

    installed("enumeration", "branch-and-bound", "highs", "cp-sat")
    assert chosen(8, 2, 0.5) == chosen(8, 2, None) == "enumeration"
    assert chosen(8, 3, 0.5) == "branch-and-bound"  # 7**8 = 5,764,801
    assert chosen(8, 3, None) == "enumeration"
    assert chosen(30, 1, 0.5) == "branch-and-bound" and chosen(30, 1, None) == "highs"
    installed("enumeration", "highs", "cp-sat")
    assert chosen(30, 1, 0.5) == "cp-sat"
    installed("enumeration", "highs")
    assert chosen(30, 1, 0.5) == "highs"


def test_what_auto_chooses_can_solve_it():
    grid = WeightGrid.box(16, 1)
    problem = ZeroOneProblem(points=[[1] * 16], positives=[1], negatives=[0], grid=grid)
    assert oracles.solve(problem).certificate.proves_optimal
    table = oracles.Perturbation.separable([[0.25, 0.0, 0.5]] * 16, unit=None)
    solution = oracles.solve(problem.with_perturbation(table))
    assert solution.hypothesis == (1,) * 16 and solution.certificate.proves_optimal


# --- installed packages that offer oracles ----------------------------------------------

PACKAGE = '''
"""Counts how often it is imported."""
import sys
from oracles.enumeration import EnumerationOracle

sys.foreign_imports = getattr(sys, "foreign_imports", 0) + 1

class Foreign(EnumerationOracle):
    name = "foreign"
'''


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """A distribution with oracles, one of them broken and one under a name that is taken."""
    (tmp_path / "foreign_oracles.py").write_text(PACKAGE)
    described = tmp_path / "foreign_oracles-1.2.3.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: foreign-oracles\nVersion: 1.2.3\n"
    )
    (described / "entry_points.txt").write_text(
        "[opdisc.oracles]\n"
        "foreign = foreign_oracles:Foreign\n"
        "enumeration = foreign_oracles:Foreign\n"
        "broken = foreign_oracles:Absent\n"
        "[other.group]\n"
        "elsewhere = foreign_oracles:Foreign\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "foreign_imports", 0, raising=False)
    registry._entry_points.cache_clear()
    yield
    registry._entry_points.cache_clear()
    sys.modules.pop("foreign_oracles", None)


def test_an_installed_package_offers_an_oracle(foreign):
    assert "foreign" in oracles.available_oracles()
    assert oracles.oracle_versions("foreign") == {"foreign-oracles": "1.2.3"}
    assert ORACLES.entries()["foreign"].summary == "from the package foreign-oracles"
    assert sys.foreign_imports == 0, "listing must not import"
    problem, optimum = instances.exclusive_or()
    solution = oracles.solve(problem, "foreign")
    assert solution.certificate.primal_bound == optimum
    assert oracles.get_oracle("foreign").name == "foreign"
    assert sys.foreign_imports == 1
    assert "elsewhere" not in ORACLES.entries()


def test_an_installed_package_never_replaces_an_oracle(foreign, monkeypatch):
    assert type(oracles.get_oracle("enumeration")) is EnumerationOracle
    monkeypatch.setattr(ORACLES, "_entries", dict(ORACLES._entries))
    oracles.register_oracle("foreign", "oracles.enumeration.listing:EnumerationOracle")
    assert type(oracles.get_oracle("foreign")) is EnumerationOracle


def test_a_broken_package_is_one_sentence(foreign):
    with pytest.raises(oracles.OracleUnavailable, match="'broken' must be importable") as caught:
        oracles.get_oracle("broken")
    assert "AttributeError" in str(caught.value) and "\n" not in str(caught.value)


def test_packages_are_looked_up_only_for_names_that_are_not_there(monkeypatch):
    def looked_up(group):
        raise AssertionError(group)

    monkeypatch.setattr(registry, "_entry_points", looked_up)
    problem, optimum = instances.exclusive_or()
    assert oracles.solve(problem, "auto").certificate.primal_bound == optimum
    with pytest.raises(AssertionError, match="opdisc.oracles"):
        oracles.get_oracle("delphi")


def test_a_registry_of_any_protocol():
    words = Registry({"upper": OracleEntry(target=lambda **made: made)})
    words.register("list", OracleEntry(target="builtins:list", distributions=("numpy", "none")))
    words.register("far", OracleEntry(target="far:Away", modules=("far",), install="pip far"))
    assert words.available() == ("upper", "list")
    assert set(words.entries()) == {"upper", "list", "far"}
    assert words.get("upper", a=1) == {"a": 1} and words.get("list") == []
    assert set(words.entry("list").versions()) == {"numpy"}
    with pytest.raises(oracles.OracleUnavailable, match="run `pip far`"):
        words.get("far")
    with pytest.raises(oracles.OracleUnavailable, match="upper, list.*got 'lower'"):
        words.get("lower")
