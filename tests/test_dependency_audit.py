"""The dependency audit says what it was answered for, and nothing else."""

import dependency_audit as audit


def package(name, *vulnerabilities):
    return {"name": name, "version": "1", "vulns": [{"id": v} for v in vulnerabilities]}


SKIPPED = {"name": "opdisc", "skip_reason": "not found on PyPI"}


def test_where_nobody_answered_nothing_is_claimed():
    for found in (None, {}, {"dependencies": []}, {"dependencies": [SKIPPED]}):
        status, said = audit.verdict(found)
        assert status == audit.NOT_ASKED and "NOT CHECKED" in said
        assert "known" not in said


def test_what_was_not_answered_for_is_named():
    status, said = audit.verdict({"dependencies": [package("numpy"), SKIPPED]})
    assert (status, said) == (
        0,
        "1 of 2 packages were answered for (not: opdisc), no known vulnerability.",
    )


def test_a_vulnerability_is_a_failure():
    found = {"dependencies": [package("numpy"), package("pip", "PYSEC-1", "PYSEC-2")]}
    status, said = audit.verdict(found)
    assert status == 1 and "pip 1: PYSEC-1, PYSEC-2" in said
    assert said.endswith("2 of 2 packages were answered for, 1 with known vulnerabilities.")


def test_an_audit_that_does_not_end_is_no_finding():
    assert audit.report(seconds=1e-3) is None
