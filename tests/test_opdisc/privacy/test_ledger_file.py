"""The file of a ledger, and two objects that charge it in turns."""

import fcntl
import importlib.util
import os
import shutil
import sys

import pytest
from helpers.opdisc.ledger_receipts import receipt

from opdisc.errors import LedgerError, LedgerMistake
from opdisc.privacy import ledger_file
from opdisc.privacy.ledger import Ledger

pytestmark = pytest.mark.filterwarnings("ignore:ledger .* did not exist")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger"


def test_readers_share_their_lock_and_a_charge_excludes_them(path, monkeypatch):
    Ledger.create(path)
    kinds, real = [], fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lambda file, kind: (kinds.append(kind), real(file, kind)))
    assert Ledger(path).total() == (0, 0) and Ledger(path).spendings() == ()
    assert kinds == [fcntl.LOCK_SH] * 2
    Ledger(path).spend(receipt())
    assert kinds == [fcntl.LOCK_SH] * 2 + [fcntl.LOCK_EX]


def test_a_system_without_file_locks_imports_the_module_and_refuses_ledgers(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec = importlib.util.spec_from_file_location("lockless", ledger_file.__file__)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "lockless", module)
    spec.loader.exec_module(module)
    with pytest.raises(LedgerError, match="POSIX"), module.LedgerFile(path).locked():
        pass


def test_a_charge_that_was_cut_off_is_dropped_by_the_next(path):
    ledger = Ledger.create(path)
    ledger.spend(receipt(0.25))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"line": 2, "charge"')
    assert Ledger(path).total() == (0.25, 0)
    Ledger(path).spend(receipt(0.5))
    assert [s.epsilon for s in Ledger(path).spendings()] == [0.25, 0.5]
    # The header counts confirmed charges, so that cutting whole lines is noticed.
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    for action in (Ledger(path).total, Ledger(path).spendings):
        with pytest.raises(LedgerError, match="it was cut"):
            action()


def test_no_scratch_file_is_left(path):
    Ledger.create(path)
    with pytest.raises(LedgerError, match="must not replace"):
        Ledger.create(path)
    assert os.listdir(path.parent) == [path.name]


def test_a_ledger_is_made_where_links_are_not_possible(path, monkeypatch):
    def no_links(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    Ledger.create(path)
    with pytest.raises(LedgerError, match="must not replace"):
        Ledger.create(path)
    assert os.listdir(path.parent) == [path.name] and Ledger(path).total() == (0, 0)


def test_two_objects_charge_in_turns_and_name_their_own_models(path):
    one, other = Ledger.create(path), Ledger(path)
    one.spend(receipt(0.25))
    other.spend(receipt(0.5))
    one.name_model("a" * 64)
    other.name_model("b" * 64)
    one.spend(receipt(0.75))
    found = Ledger(path).spendings()
    assert [s.epsilon for s in found] == [0.25, 0.5, 0.75]
    assert [s.model for s in found] == ["a" * 64, "b" * 64, ""]


def test_a_file_with_as_many_but_other_charges_was_replaced(path):
    ledger = Ledger.create(path)
    shutil.copy(path, f"{path}.other")
    ledger.spend(receipt(0.25))
    other = Ledger(f"{path}.other")
    for charges in (1, 2):
        other.spend(receipt(0.5))
        shutil.copy(f"{path}.other", path)
        with pytest.raises(LedgerError, match="was replaced and lacks one"):
            ledger.name_model("a" * 64)
        assert len(Ledger(path).spendings()) == charges
        if charges == 1:
            with pytest.raises(LedgerError, match="was replaced and lacks one"):
                ledger.spend(receipt(0.25))


def test_a_ledger_that_was_charged_and_removed_is_not_read_as_empty(path):
    ledger = Ledger(path)
    ledger.spend(receipt())
    path.unlink()
    for action in (ledger.spendings, ledger.total, ledger.limits):
        with pytest.raises(LedgerError, match="does not exist; restore it"):
            action()
    wanted = Ledger(path, must_exist=True)
    for action in (wanted.spendings, wanted.total, lambda: wanted.spend(receipt())):
        with pytest.raises(LedgerError, match="does not exist; restore it"):
            action()
    assert not path.exists()


@pytest.mark.parametrize("text", ["x" * 201, "two\nlines", 5, None, b"bytes"])
def test_names_are_short_printable_text(path, text):
    for name in ("table", "purpose"):
        with pytest.raises(LedgerMistake, match=f"a {name} must be printable text"):
            Ledger(path, **{name: text})
        assert getattr(Ledger(path, **{name: "x" * 200}), name) == "x" * 200


def test_a_ledger_removed_during_a_charge_is_said_to_be_missing(path, monkeypatch):
    Ledger.create(path)
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (real(file), path.unlink(missing_ok=True)))
    with pytest.raises(LedgerError, match="does not exist; restore it"):
        Ledger(path).spend(receipt())


def test_an_older_ledger_is_charged_and_its_unfinished_end_refused(path):
    older = (
        '{"format": "opdisc-ledger", "epsilon_limit": 1.0, "delta_limit": null}\n'
        '{"epsilon": 0.25, "delta": 0.0, "mechanism": "m", "relation": "replace_one",'
        ' "schema_digest": "d", "guarantee": "HOLDS"}\n'
    )
    # What was written before lines were chained may be a charge that was cut: it is not dropped.
    path.write_text(older + "{")
    for action in (Ledger(path).total, lambda: Ledger(path).spend(receipt(0.5))):
        with pytest.raises(LedgerError, match="damaged"):
            action()
    path.write_text(older)
    assert Ledger(path).total() == (0.25, 0) and Ledger(path).limits() == (1.0, None)
    Ledger(path).spend(receipt(0.5))
    path.write_text(path.read_text() + "{")
    assert Ledger(path).total() == (0.75, 0)
    Ledger(path).spend(receipt(0.25))
    assert [s.epsilon for s in Ledger(path).spendings()] == [0.25, 0.5, 0.25]
