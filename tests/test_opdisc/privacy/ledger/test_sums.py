"""What may be added in one ledger, and what a refusal says."""

from dataclasses import dataclass

import pytest
from helpers.opdisc.ledger_receipts import receipt
from msgspec.structs import replace

from opdisc.errors import LedgerError
from opdisc.privacy.ledger.ledger import Ledger, _rows_per_unit


@dataclass(frozen=True)
class Counted:
    """A receipt that tells how many rows a unit has."""

    relation: str = "add_or_remove_one"
    rows_per_unit: int = 3


@dataclass(frozen=True)
class Scored:
    relation: str = "add_or_remove_one"
    score_sensitivity: int = 4


def test_the_rows_of_a_unit_are_read_from_whatever_tells_them():
    assert _rows_per_unit(Counted()) == 3 and _rows_per_unit(Scored()) == 4
    assert _rows_per_unit(receipt()) == 1
    assert _rows_per_unit(replace(receipt(), sensitivity=10)) == 5
    private = replace(receipt(), relation="add_or_remove_one", n_rows=None)
    assert _rows_per_unit(private) is None


def test_a_refusal_names_the_ledgers_unit_and_then_the_releases(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.spend(replace(receipt(), sensitivity=10))
    with pytest.raises(LedgerError) as caught:
        ledger.spend(receipt())
    assert "is for one row of up to 5 rows, but the release is for one row;" in str(caught.value)
    assert len(ledger.spendings()) == 1


def test_a_cap_may_be_met_exactly_and_a_cap_of_0_admits_pure_releases(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", epsilon_limit=0.5, delta_limit=0.0)
    ledger.spend(receipt(0.25))
    ledger.spend(receipt(0.25))
    with pytest.raises(LedgerError, match="caps epsilon"):
        ledger.spend(receipt(1e-6))
    with pytest.raises(LedgerError, match="caps"):
        Ledger.create(tmp_path / "pure", delta_limit=0.0).spend(receipt(0.1, 1e-9))


def test_limits_are_given_by_name(tmp_path):
    with pytest.raises(TypeError):
        Ledger(tmp_path / "ledger", 1.0)
    with pytest.raises(TypeError):
        Ledger.create(tmp_path / "ledger", 1.0)
