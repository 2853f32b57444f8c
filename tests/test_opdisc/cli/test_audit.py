"""``opdisc audit``: what can be audited is listed, and one command tries every attack."""

import json
from dataclasses import replace

import pytest

from opdisc.audit.attacks import attack_cases
from opdisc.audit.case import AuditedCase, AuditResult
from opdisc.audit.suite import audit_cases
from opdisc.cli.app import main


def told(capsys, monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["opdisc", "audit", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    captured = capsys.readouterr()
    return ended.value.code or 0, captured.out, captured.err


def test_every_mechanism_and_every_attack_is_listed(capsys, monkeypatch):
    status, out, _ = told(capsys, monkeypatch, "--list")
    before, after = out.split("Attacks")
    assert status == 0
    assert all(f"  {name}\n" in before for name in audit_cases())
    assert all(
        f"  {name} " in after and case.tables in after for name, case in attack_cases().items()
    )
    status, out, _ = told(capsys, monkeypatch, "--list", "--json")
    assert json.loads(out) == {"mechanisms": list(audit_cases()), "attacks": list(attack_cases())}


def test_help_names_the_attacks(capsys, monkeypatch):
    status, out, _ = told(capsys, monkeypatch, "--help")
    assert status == 0 and "--attacks" in out and "--list" in out


@pytest.mark.parametrize("named", [(), ("--mechanism", "order_of_rows")])
def test_one_command_tries_every_attack(named, capsys, monkeypatch):
    """Which are tried; that receipts survive them is a slow test of the attacks themselves."""

    def stands(case, epsilon, draws, false_alarm):
        found = [
            AuditResult(
                mechanism=case.name,
                pair=case.tables,
                epsilon=epsilon,
                delta=0.0,
                lower_bound=bound,
                draws=draws,
                false_alarm=false_alarm,
            )
            for bound in (0.0, 9.0)
        ]
        return AuditedCase(calibrated=found[0], less_noise=found[1], divisor=1.0)

    monkeypatch.setattr("opdisc.audit.run_audit", stands)
    status, out, _ = told(capsys, monkeypatch, "--attacks", *named, "--json")
    audited = json.loads(out)
    assert sorted(one["mechanism"] for one in audited) == sorted(attack_cases())
    assert status == 0


def test_an_attack_that_succeeds_is_a_failure(capsys, monkeypatch):
    from opdisc.audit import suite  # noqa: F401  (loaded before it is replaced)

    case = attack_cases()["labels_from_rows"]
    broken = {"labels_from_rows": replace(case, draw=case.control)}
    monkeypatch.setattr("opdisc.audit.attack_cases", lambda: broken)
    status, out, err = told(capsys, monkeypatch, "--attacks", "--draws", "10")
    assert status == 1 and "REFUTED" in out and "labels_from_rows" in err
