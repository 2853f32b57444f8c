"""Audits of every convex mechanism: the released code, on two neighbouring tables.

A claim stands if the Clopper-Pearson lower bound on epsilon does not exceed it; the same audit
must refute the mechanism with an understated Lipschitz constant (less noise, the same claim).
Sources are seeded: nothing here can flake.
"""

import inspect
import re

import numpy as np
import pytest

import opdisc.convex
from opdisc.audit import convex_cases as audit_cases, hull_cases
from opdisc.audit.controls import UnderstatedLoss
from opdisc.audit.convex_cases import convex_audit_cases
from opdisc.audit.suite import audit_text, run_audit
from opdisc.convex.rows import check_rows
from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SeededEntropy
from oracles.convex.classification_losses import LogisticLoss
from oracles.convex.constants import RowBounds

CASES = convex_audit_cases()


def test_a_quick_audit_stands_and_catches_less_noise():
    """300 draws on each table, false alarm 1e-3; the others are in the campaign below."""
    audited = run_audit(CASES["gradient_descent, random"], 1.0, 300, 1e-3, SeededEntropy(1))
    assert not audited.calibrated.refuted
    assert audited.less_noise.refuted


@pytest.mark.statistical
@pytest.mark.long(2)
@pytest.mark.parametrize("name", list(CASES))
def test_every_convex_claim_stands_and_less_noise_is_caught(name):
    """1,500 draws on each table, 400 where a control is loud; false alarm 1e-6 for the claim."""
    few = name.endswith("costs") or "hull" in name
    draws = 400 if few else 1500
    audited = run_audit(CASES[name], 1.0, draws, 1e-6, SeededEntropy(1))
    assert not audited.calibrated.refuted
    assert audited.less_noise.refuted


def test_every_mechanism_is_audited():
    mechanisms = [
        name
        for name in opdisc.convex.__all__
        if inspect.isfunction(function := getattr(opdisc.convex, name))
        and {"entropy", "ledger"} <= set(inspect.signature(function).parameters)
    ]
    assert len(mechanisms) >= 14
    assert all(hasattr(getattr(opdisc.convex, name), "prepare") for name in mechanisms)
    code = inspect.getsource(audit_cases) + inspect.getsource(hull_cases)
    # Once where it is imported, and once in a case.
    uses = {name: len(re.findall(rf"(?<!_)\b{name}\b(?=[(,)])", code)) for name in mechanisms}
    assert [name for name, times in uses.items() if times < 2] == []


@pytest.mark.parametrize("name", list(CASES))
def test_the_tables_are_neighbours_within_the_public_bounds(name):
    case = CASES[name]
    public = case.public(0.5)
    assert public.params.epsilon == 0.5
    first, second = (np.column_stack([t.X, t.y]).tolist() for t in (case.first, case.second))
    for table in (case.first, case.second):
        check_rows(table, public)
    if public.relation.value == "add_or_remove_one":
        assert public.n_rows is None and first[1:] == second
    else:
        assert public.n_rows == len(first) == len(second)
        assert first[1:] == second[1:] and first[0] != second[0]


def test_the_control_changes_the_claimed_constant_and_nothing_else():
    loss = UnderstatedLoss(LogisticLoss(), 4.0)
    X, y, parameters = np.eye(2), np.array([1.0, -1.0]), np.array([0.3, -0.2])
    for method in ("value", "gradient"):
        np.testing.assert_array_equal(
            getattr(loss, method)(X, y, parameters),
            getattr(LogisticLoss(), method)(X, y, parameters),
        )
    scores = X @ parameters
    np.testing.assert_array_equal(loss.curvatures(scores, y), LogisticLoss().curvatures(scores, y))
    ours, true = (each.constants(RowBounds(l2=1.0)) for each in (loss, LogisticLoss()))
    assert 4 * ours.lipschitz_l2 == true.lipschitz_l2
    assert ours.smoothness_l2 == true.smoothness_l2


def test_findings_name_the_delta_and_the_control():
    audited = run_audit(CASES["output_perturbation, gaussian"], 1.0, 100, 1e-3, SeededEntropy(1))
    text = audit_text([audited], 1.0, 1e-3)
    line = next(line for line in text.splitlines() if line.startswith("output_perturbation"))
    assert " 0.05 " in line and " 1/2: " in line and "one row replaced" in line


def test_bad_requests_are_refused():
    with pytest.raises(CalibrationError, match="draws must be an integer of at least 1, got 0"):
        run_audit(CASES["svrg"], 1.0, 0, 1e-6)
    with pytest.raises(CalibrationError, match=r"false_alarm must be in \(0, 1\), got 0.0"):
        run_audit(CASES["svrg"], 1.0, 10, 0.0)
    with pytest.raises(CalibrationError, match="epsilon must be finite and > 0"):
        run_audit(CASES["svrg"], float("inf"), 10, 1e-3)
