"""Attacks on what surrounds a release: the careless variant is caught, every time."""

from dataclasses import replace

import pytest

from opdisc.audit.attacks import attack, attack_cases
from opdisc.audit.suite import run_audit
from opdisc.errors import CalibrationError


@pytest.mark.parametrize("name", attack_cases())
def test_an_attack_catches_the_careless_variant(name):
    """Three of the four are certain; order_of_rows errs with probability below 1e-6."""
    case = attack_cases()[name]
    spared = replace(case, draw=lambda table, public, size, entropy: [None] * size, effort=1.0)
    audited = spared.run(1.0, 400, 1e-6)
    assert audited.less_noise.refuted
    assert not audited.calibrated.refuted and audited.calibrated.lower_bound == 0.0


def test_a_refusal_on_one_table_is_not_a_release():
    views = {0: "released", 1: None}
    case = attack("n", "t", lambda table, epsilon: views[table], lambda table, epsilon: table)
    audited = run_audit(case, 1.0, 200, 1e-6)
    assert not audited.calibrated.refuted and audited.less_noise.refuted
    with pytest.raises(CalibrationError, match="at least 1"):
        run_audit(case, 1.0, 0, 1e-6)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", attack_cases())
def test_receipts_survive_the_attack(name):
    """Certain where nothing is drawn; false alarm at most 1e-6 for order_of_rows."""
    assert not run_audit(attack_cases()[name], 1.0, 2_000, 1e-6).calibrated.refuted
