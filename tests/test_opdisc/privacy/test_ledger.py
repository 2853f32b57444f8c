"""The ledger: durable before a release, never above its caps, closed when in doubt."""

import json
import math
import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from helpers.opdisc.ledger_receipts import receipt
from hypothesis import given, strategies as st

from opdisc.errors import LedgerError
from opdisc.privacy.ledger import Ledger

TESTS = Path(__file__).resolve().parents[2]
"""Where the helpers are found."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget"


def test_spendings_add_up_across_objects_and_include_the_numerical_part(path):
    Ledger(path).spend(receipt(0.1, 1e-6, 1e-30))
    Ledger(path).spend(receipt(0.2, 0.0, 1e-6))
    assert Ledger(path).total() == pytest.approx((0.3, 2e-6))
    assert [s.epsilon for s in Ledger(path).spendings()] == [0.1, 0.2]
    assert Ledger(path).spendings()[0].mechanism == "m"


def test_reading_creates_no_file(path):
    assert Ledger(path).spendings() == () and Ledger(path).total() == (0, 0)
    assert not path.exists()


@given(st.lists(st.floats(1e-6, 5), min_size=1, max_size=8), st.floats(0.1, 10))
def test_the_total_never_exceeds_the_cap(tmp_path_factory, epsilons, cap):
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "budget", epsilon_limit=cap)
    for epsilon in epsilons:
        before = ledger.spendings()
        expected = math.fsum([*(s.epsilon for s in before), epsilon])
        try:
            ledger.spend(receipt(epsilon))
        except LedgerError:
            assert expected > cap and ledger.spendings() == before
    assert ledger.total()[0] <= cap * (1 + 1e-9)


def test_a_cap_takes_sums_that_are_exact_on_paper(path):
    ledger = Ledger(path, epsilon_limit=0.3)
    for _ in range(3):
        ledger.spend(receipt(0.1))
    with pytest.raises(LedgerError, match="caps epsilon at 0.3"):
        ledger.spend(receipt(1e-6))


def test_delta_is_capped_too(path):
    ledger = Ledger(path, delta_limit=1e-6)
    with pytest.raises(LedgerError, match="caps delta"):
        ledger.spend(receipt(0.1, 1e-5))
    assert not path.exists()


def test_stored_caps_apply_and_cannot_be_contradicted(path):
    Ledger(path, epsilon_limit=0.5).spend(receipt(0.1))
    with pytest.raises(LedgerError, match="caps epsilon"):
        Ledger(path).spend(receipt(1.0))
    with pytest.raises(LedgerError, match="was fixed"):
        Ledger(path, epsilon_limit=9.0).spend(receipt(0.1))
    Ledger(path, epsilon_limit=0.5).spend(receipt(0.1))


@pytest.mark.parametrize("limit", [math.nan, math.inf, -1.0, True, "1"])
def test_impossible_caps_are_refused(path, limit):
    with pytest.raises(LedgerError, match="epsilon_limit must be finite"):
        Ledger(path, epsilon_limit=limit)


def line(**changes):
    entry = {
        "epsilon": 0.1,
        "delta": 0.0,
        "mechanism": "m",
        "relation": "r",
        "schema_digest": "d",
        "guarantee": "HOLDS",
    }
    return json.dumps(entry | changes) + "\n"


HEADER = '{"format": "opdisc-ledger", "epsilon_limit": 1.0, "delta_limit": null}\n'


@pytest.mark.parametrize(
    "text",
    [
        HEADER[:-1],
        HEADER + line()[:-1],
        HEADER + line()[: len(line()) // 2],
        HEADER + line() + "\n",
        HEADER + line(epsilon=math.nan),
        HEADER + line(epsilon=math.inf),
        HEADER + line(epsilon=-5.0),
        HEADER + line(epsilon=True),
        HEADER + line(epsilon=10**400),
        HEADER + line(delta="0"),
        HEADER + line(mechanism=None),
        HEADER + line(extra=1),
        HEADER + '{"epsilon": 0.1}\n',
        HEADER + "[]\n",
        HEADER.replace("1.0", "NaN") + line(),
        HEADER.replace("1.0", '"1"') + line(),
        HEADER.replace("opdisc-ledger", "other"),
        line(),
        "[" * 100_000 + "\n",
        "not json\n",
        "\ufeff" + HEADER,
    ],
)
def test_a_damaged_ledger_refuses_all_spending_and_is_left_alone(path, text):
    # A torn last line may hide a spending, and a NaN would switch every cap off.
    path.write_text(text)
    for action in (lambda: Ledger(path).spend(receipt()), Ledger(path).spendings):
        with pytest.raises(LedgerError, match="damaged"):
            action()
    assert path.read_text() == text


def test_a_ledger_that_is_not_text_is_refused(path):
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path).spend(receipt())


@pytest.mark.parametrize("special", ["/dev/null", "/dev/full", "/dev/zero"])
def test_devices_are_refused(special):
    with pytest.raises(LedgerError, match="regular file"):
        Ledger(special).spend(receipt())


def test_places_that_cannot_be_opened_are_refused(path, tmp_path):
    for bad in (tmp_path, path / "below"):
        with pytest.raises(LedgerError, match="writable file"):
            Ledger(bad).spend(receipt())


@pytest.mark.parametrize("broken", ["fsync", "write"])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_ledger_as_it_was(path, monkeypatch, broken, error):
    Ledger(path).spend(receipt())
    before = path.read_bytes()

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, broken, fail)
        expected = LedgerError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(expected):
            Ledger(path).spend(receipt())
    assert path.read_bytes() == before
    Ledger(path).spend(receipt())
    assert len(Ledger(path).spendings()) == 2


def test_a_line_is_written_whole_though_the_system_writes_parts(path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:5]))
    Ledger(path).spend(receipt())
    monkeypatch.undo()
    assert len(Ledger(path).spendings()) == 1


def test_the_disk_is_reached_before_the_spending_returns(path, monkeypatch):
    synced, real = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda file: (synced.append(os.fstat(file).st_ino), real(file))
    )
    Ledger(path).spend(receipt())
    # The new file, the directory that holds its name, the charge.
    assert synced == [path.stat().st_ino, path.parent.stat().st_ino, path.stat().st_ino]


def test_a_ledger_can_be_pickled(path):
    ledger = pickle.loads(pickle.dumps(Ledger(path, epsilon_limit=1.0)))
    ledger.spend(receipt())
    assert ledger.path == path and len(ledger.spendings()) == 1


def test_two_processes_never_exceed_the_cap_together(path):
    program = f"""
        import sys
        sys.path[:0] = {sys.path!r}
        import time
        from opdisc.errors import LedgerError
        from opdisc.privacy.ledger import Ledger
        from opdisc.privacy.ledger_file import LedgerFile
        from helpers.opdisc.ledger_receipts import receipt
        append = LedgerFile._write_synced
        def slowly(*arguments):  # between the comparison with the cap and the record
            time.sleep(0.01)
            append(*arguments)
        LedgerFile._write_synced = slowly
        print("ready", flush=True)
        sys.stdin.readline()
        done = 0
        for _ in range(30):
            try:
                Ledger({str(path)!r}, epsilon_limit=2.0).spend(receipt(0.1))
                done += 1
            except LedgerError as error:
                assert "caps epsilon" in str(error), error
        print(done)
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            cwd=TESTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:  # both start together
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [int(process.communicate(timeout=300)[0]) for process in processes]
    assert sum(counts) == 20 == len(Ledger(path).spendings())
