"""What is chosen, planned and promised for fixed public facts stays as it is stored."""

import difflib

from helpers.opdisc.frozen_plans import COMMAND, CONFIGURATIONS, FILE, document, frozen_text

from opdisc.planning import weight_rule


def test_choice_plan_and_receipt_of_every_configuration_are_those_that_are_stored():
    stored, found = FILE.read_text(encoding="utf-8"), document()
    changed = "\n".join(
        difflib.unified_diff(stored.splitlines(), found.splitlines(), "stored", "now", n=0)
    )
    assert not changed, f"{changed}\nIf this is on purpose: {COMMAND}"
    assert stored.encode() == found.encode()


def test_a_changed_choice_would_be_seen(monkeypatch):
    name = "listed, small epsilon"
    assert frozen_text(name) in FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(weight_rule, "AFFORDABLE_GROWTH", 1e-6)
    assert frozen_text(name) not in FILE.read_text(encoding="utf-8")


def test_every_configuration_has_a_mechanism_and_most_have_a_plan():
    assert len(CONFIGURATIONS) >= 40
    text = FILE.read_text(encoding="utf-8")
    assert text.count('"receipt mechanism"') == len(CONFIGURATIONS) < 2 * text.count('"plan 1"')
