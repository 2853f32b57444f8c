"""Oracles by name: what is listed, what is refused, and in which words."""

import subprocess
import sys

import pytest

import oracles
from oracles import OracleUnavailable, WeightGrid, ZeroOneProblem, get_oracle, registry
from oracles.enumeration import EnumerationOracle

LISTED = ", ".join(oracles.available_oracles())


def test_listed_oracles_can_be_made():
    for name in oracles.available_oracles():
        assert get_oracle(name).name == name


def test_unknown_name_lists_the_installed_ones():
    with pytest.raises(OracleUnavailable) as caught:
        get_oracle("cplex")
    assert str(caught.value) == (
        f"oracle must be one of the installed ones ({LISTED}), got 'cplex'."
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
        del registry._ENTRIES["missing"]


def test_third_parties_register_in_one_line():
    oracles.register_oracle("mine", EnumerationOracle)
    try:
        assert "mine" in oracles.available_oracles()
        problem = ZeroOneProblem(
            points=[[1]], positives=[1], negatives=[0], grid=WeightGrid.box(1, 1)
        )
        assert oracles.solve(problem, "mine").certificate.proves_optimal
    finally:
        del registry._ENTRIES["mine"]


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
        return registry.choose_oracle(problem)

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
        return registry.choose_oracle(problem)

    everything = ("enumeration", "branch-and-bound", "highs", "cp-sat")
    monkeypatch.setattr(registry, "available_oracles", lambda: everything)
    assert chosen(8, 2, 0.5) == chosen(8, 2, None) == "enumeration"
    assert chosen(8, 3, 0.5) == "branch-and-bound"  # 7**8 = 5,764,801
    assert chosen(8, 3, None) == "enumeration"
    assert chosen(30, 1, 0.5) == "branch-and-bound" and chosen(30, 1, None) == "highs"
    monkeypatch.setattr(registry, "available_oracles", lambda: ("enumeration", "highs", "cp-sat"))
    assert chosen(30, 1, 0.5) == "cp-sat"
    monkeypatch.setattr(registry, "available_oracles", lambda: ("enumeration", "highs"))
    assert chosen(30, 1, 0.5) == "highs"


def test_what_auto_chooses_can_solve_it():
    grid = WeightGrid.box(16, 1)
    problem = ZeroOneProblem(points=[[1] * 16], positives=[1], negatives=[0], grid=grid)
    assert oracles.solve(problem).certificate.proves_optimal
    table = oracles.Perturbation.separable([[0.25, 0.0, 0.5]] * 16, unit=None)
    solution = oracles.solve(problem.with_perturbation(table))
    assert solution.hypothesis == (1,) * 16 and solution.certificate.proves_optimal
