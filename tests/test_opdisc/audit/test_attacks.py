"""Attacks on what surrounds a release: the careless variant is caught, every time."""

import pytest

from opdisc.audit.attacks import AttackCase, attack_cases
from opdisc.audit.suite import run_audit
from opdisc.errors import CalibrationError


@pytest.mark.parametrize("name", attack_cases())
def test_an_attack_catches_the_careless_variant(name):
    """Three of the four are certain; order_of_rows errs with probability below 1e-6."""
    case = attack_cases()[name]
    spared = AttackCase(
        name=name, tables="", seen=lambda table, epsilon: None, careless=case.careless, share=1
    )
    audited = spared.run(1.0, 400, 1e-6)
    assert audited.less_noise.refuted
    assert not audited.calibrated.refuted and audited.calibrated.lower_bound == 0.0


def test_a_refusal_on_one_table_is_not_a_release():
    views = {0: "released", 1: None}
    case = AttackCase(
        name="n",
        tables="t",
        seen=lambda table, epsilon: views[table],
        careless=lambda table, epsilon: table,
    )
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
