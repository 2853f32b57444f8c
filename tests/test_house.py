"""How much of the code a card needs: by ``benchmarks/house.py``, whose counts are held here."""

from pathlib import Path

import house
import mutation
import pytest


def test_a_card_needs_little_of_what_drew_it():
    reached = house.reach(house.READS_A_CARD)
    assert len(reached) <= 50, sorted(reached)
    rooms = ("calibration", "noise", "mechanisms", "convex", "planning", "estimators")
    assert not {name for name in reached if name.split(".")[1] in rooms}


def test_the_command_predict_needs_little_more():
    reached = house.reach(house.PREDICTS)
    assert len(reached) <= 65, sorted(reached)
    assert house.READS_A_CARD in reached, "the model that it loads is counted"


def test_nobody_learns_what_a_fit_costs_from_a_ledger_that_pretends(twin):
    twin("class Quiet(privacy.Ledger):\n    def spend(self, receipt): ...")
    assert house.pretending_ledgers() == ["opdisc.models.card"]


def test_every_ledger_records():
    assert house.pretending_ledgers() == []


@pytest.fixture
def twin(tmp_path, monkeypatch):
    """Return a house of a few rooms, where a card's module is what the test writes."""
    files = {
        "opdisc/__init__.py": "",
        "opdisc/models/__init__.py": "",
        "opdisc/models/__init__.pyi": "from .card import Card as Card",
        "opdisc/plans/__init__.py": "",
        "opdisc/plans/__init__.pyi": "from .search import plan as plan, quick as quick",
        "opdisc/plans/search.py": "from opdisc.plans import draws",
        "opdisc/plans/draws.py": "import numpy",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(house, "ROOT", tmp_path)
    caches = (house.modules, house.exported, house.imported)

    def count(text):
        Path(tmp_path, "opdisc/models/card.py").write_text(text)
        for each in caches:
            each.cache_clear()
        return house.reach("opdisc.models.card")

    yield count
    for each in caches:
        each.cache_clear()


def test_what_a_function_imports_counts_and_what_types_alone_need_does_not(twin):
    card, whole = {"opdisc.models.card"}, {"opdisc.plans.search", "opdisc.plans.draws"}
    assert twin("import math") == card
    assert twin("from opdisc.plans import plan") == card | whole
    assert twin("def verdict():\n    from opdisc.plans import plan") == card | whole
    assert twin("import opdisc.plans.draws") == card | {"opdisc.plans.draws"}
    typed = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from opdisc.plans import plan"
    )
    assert twin(typed) == card
    assert twin(f"{typed}\nelse:\n    from opdisc.plans import draws") == card | {
        "opdisc.plans.draws"
    }


def test_the_page_on_the_house_is_read_in_ten_minutes():
    page = house.ROOT / "docs" / "architecture.md"
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 120


def test_what_mutation_changes_and_runs_exists():
    """A move breaks a run of hours at its end, where nobody looks every day."""
    named = {path for group in mutation.GROUPS.values() for path in (*group.modules, *group.tests)}
    known = mutation.EQUIVALENT.read_text(encoding="utf-8").splitlines()
    named |= {line.split(" | ")[0] for line in known if " | " in line and not line.startswith("#")}
    assert sorted(path for path in named if not (house.ROOT / path).exists()) == []
