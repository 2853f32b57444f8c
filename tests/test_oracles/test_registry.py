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
