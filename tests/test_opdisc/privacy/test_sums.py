"""What may be added in one ledger, and what a refusal says."""

import pytest
from helpers.opdisc.ledger_receipts import receipt
from msgspec.structs import replace

from opdisc.errors import LedgerError
from opdisc.privacy.ledger import Ledger


def test_a_refusal_names_the_ledgers_unit_and_then_the_releases(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    ledger.spend(replace(receipt(), sensitivity=10))
    with pytest.raises(LedgerError) as caught:
        ledger.spend(receipt())
    assert "is for one row (at most 5 rows), but the release is for one row;" in str(caught.value)
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
