"""The ledger and what surrounds a release, under hostile circumstances.

Each test is a demonstration: budget that was spent and lost, or a ledger that restarted at 0. They
use the public interface only, so that they can be run on older code.
"""

import fcntl
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
from helpers.opdisc.ledger_receipts import receipt
from msgspec.structs import replace

from opdisc.cli import console
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.errors import LedgerError
from opdisc.models.loading import load_model
from opdisc.privacy.ledger import Ledger

OLDER = Path(__file__).parents[2] / "data" / "version_0_1_dev" / "ledgers"

pytestmark = pytest.mark.filterwarnings("ignore:ledger .* did not exist")

TESTS = Path(__file__).resolve().parents[2]
"""Where the helpers are found."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget"


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = run_command_line(cli, [str(a) for a in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def epsilons(path):
    return [s.epsilon for s in Ledger(path).spendings()]


def exchange(path):
    """Put a copy in the place of a file, as editors and sync tools do."""
    shutil.copy(path, f"{path}.copy")
    os.replace(f"{path}.copy", path)


# Replaced, removed, emptied


def test_a_ledger_replaced_while_a_charge_waits_for_its_lock_gets_the_charge(path, monkeypatch):
    Ledger(path).spend(receipt(0.1))
    real, waits = fcntl.flock, []

    def replaced_meanwhile(descriptor, kind):
        if not waits:
            waits.append(exchange(path))
        real(descriptor, kind)

    monkeypatch.setattr(fcntl, "flock", replaced_meanwhile)
    Ledger(path).spend(receipt(0.2))
    assert waits and epsilons(path) == [0.1, 0.2]


def test_a_ledger_replaced_while_a_charge_is_synced_gets_the_charge(path, monkeypatch):
    Ledger(path).spend(receipt(0.1))
    shutil.copy(path, f"{path}.copy")
    real, syncs = os.fsync, []

    def replaced_meanwhile(descriptor):
        real(descriptor)
        if not syncs:
            syncs.append(os.replace(f"{path}.copy", path))

    monkeypatch.setattr(os, "fsync", replaced_meanwhile)
    Ledger(path).spend(receipt(0.2))
    assert syncs and epsilons(path) == [0.1, 0.2]


def test_a_ledger_that_is_always_replaced_refuses(path, monkeypatch):
    Ledger(path).spend(receipt(0.1))
    real = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", lambda *how: (exchange(path), real(*how)))
    with pytest.raises(LedgerError, match="again and again; stop the program"):
        Ledger(path).spend(receipt(0.2))
    monkeypatch.undo()
    assert epsilons(path) == [0.1]


def test_a_ledger_removed_while_a_charge_is_synced_refuses(path, monkeypatch):
    Ledger(path).spend(receipt(0.1))
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda d: (real(d), path.unlink(missing_ok=True)))
    with pytest.raises(LedgerError, match="does not exist; restore it"):
        Ledger(path).spend(receipt(0.2))
    assert not path.exists()


def test_a_removed_ledger_does_not_restart_without_a_word(path):
    ledger = Ledger(path)
    ledger.spend(receipt(0.1))
    path.unlink()
    with pytest.raises(LedgerError, match="does not exist; restore it"):
        ledger.spend(receipt(0.2))
    assert not path.exists()
    with pytest.warns(UserWarning, match="its totals start at 0"):
        Ledger(path).spend(receipt(0.2))


def test_a_ledger_made_on_purpose_gives_no_warning(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ledger.create(path, epsilon_limit=1.0).spend(receipt(0.2))
        Ledger(path).spend(receipt(0.2))
    with pytest.raises(LedgerError, match="must not replace a file"):
        Ledger.create(path)
    assert epsilons(path) == [0.2, 0.2]


def test_an_emptied_ledger_does_not_restart(path):
    Ledger(path).spend(receipt(0.1))
    path.write_text("")
    for action in (lambda: Ledger(path).spend(receipt(0.2)), Ledger(path).total):
        with pytest.raises(LedgerError, match="is empty; restore it"):
            action()
    assert path.read_text() == ""


def test_an_older_copy_put_back_is_refused_by_who_charged_since(path):
    ledger = Ledger(path)
    ledger.spend(receipt(0.1))
    older = path.read_bytes()
    ledger.spend(receipt(0.2))
    path.write_bytes(older)
    with pytest.raises(LedgerError, match="was replaced and lacks one"):
        ledger.spend(receipt(0.3))
    with pytest.raises(LedgerError, match="was replaced and lacks one"):
        ledger.name_model("0" * 64)
    assert path.read_bytes() == older


# Edited


@pytest.fixture
def lines(path):
    for epsilon in (0.1, 0.2, 0.3, 0.4):
        Ledger(path, epsilon_limit=5.0).spend(receipt(epsilon))
    return path.read_text().splitlines(keepends=True)


EDITS = {
    "a smaller charge": lambda ls: [*ls[:2], ls[2].replace("0.2", "0.1", 1), *ls[3:]],
    "a smaller charge at the end": lambda ls: [*ls[:4], ls[4].replace("0.4", "0.1", 1)],
    "another order": lambda ls: [ls[0], ls[2], ls[1], *ls[3:]],
    "a line removed": lambda ls: [*ls[:2], *ls[3:]],
    "a line twice": lambda ls: [*ls[:3], ls[2], *ls[3:]],
    "the first removed": lambda ls: [ls[0], *ls[2:]],
    "the last removed": lambda ls: ls[:-1],
    "all removed": lambda ls: ls[:1],
    "the end cut": lambda ls: [*ls[:4], ls[4][:-9]],
    "a larger cap": lambda ls: [ls[0].replace("5.0", "9.0"), *ls[1:]],
    "a key twice": lambda ls: [*ls[:2], ls[2].replace('"epsilon"', '"epsilon": 9, "epsilon"', 1)],
    "spaces": lambda ls: [*ls[:2], ls[2].replace(": ", ":  ", 1), *ls[3:]],
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_ledger_that_was_edited_is_refused_in_one_sentence(edit, path, lines, run):
    changed = "".join(EDITS[edit](lines))
    assert changed != "".join(lines)
    path.write_text(changed)
    with pytest.raises(LedgerError, match="damaged.*restore it before spending more"):
        Ledger(path).spendings()
    status, out, err = run("budget", path)
    assert (status, out) == (1, "") and re.fullmatch(r"error: [^\n]+\.\n", err)


@pytest.mark.parametrize(
    "edit", ["a smaller charge at the end", "the last removed", "the end cut"]
)
def test_a_changed_end_refuses_the_next_charge(edit, path, lines):
    path.write_text("".join(EDITS[edit](lines)))
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path).spend(receipt(0.1))


HEADER_EDITS = {
    "a larger cap": ('"epsilon_limit": 0.5', '"epsilon_limit": 9.0'),
    "no cap": ('"epsilon_limit": 0.5', '"epsilon_limit": null'),
    "another cap of delta": ('"delta_limit": 1e-05', '"delta_limit": 0.5'),
    "another table": ('"table": "loans"', '"table": "cars"'),
    "an older version's header": (
        '"version": 2, "confirmed": "000000000002", "table": "loans", ',
        "",
    ),
    "an older version's header with a larger cap": (
        '"version": 2, "confirmed": "000000000002", "table": "loans", "epsilon_limit": 0.5',
        '"epsilon_limit": 9.0',
    ),
}
READERS = {
    "spend": lambda path: Ledger(path).spend(receipt(0.25)),
    "total": lambda path: Ledger(path).total(),
    "limits": lambda path: Ledger(path).limits(),
    "spendings": lambda path: Ledger(path).spendings(),
}


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("edit", HEADER_EDITS)
def test_an_edited_first_line_is_refused_wherever_a_ledger_is_read(edit, read, path, run):
    Ledger.create(path, epsilon_limit=0.5, delta_limit=1e-5, table="loans")
    ledger = Ledger(path)
    for _ in range(2):
        ledger.spend(receipt(0.125))
    before, after = HEADER_EDITS[edit]
    changed = path.read_text().replace(before, after, 1)
    assert changed != path.read_text()
    path.write_text(changed)
    with pytest.raises(LedgerError) as caught:
        READERS[read](path)
    assert re.fullmatch(
        r"a ledger's caps and table must stay .* damaged: its first line, .*; restore it before "
        r"spending more\.",
        str(caught.value),
    )
    with pytest.raises(LedgerError, match="its first line"):
        ledger.name_model("0" * 64)
    assert path.read_text() == changed
    status, out, err = run("budget", path)
    assert (status, out) == (1, "") and re.fullmatch(r"error: [^\n]+\.\n", err)


def test_a_ledger_without_its_first_line_or_below_anothers_is_refused(path, tmp_path):
    Ledger.create(path, epsilon_limit=0.5, table="loans")
    Ledger.create(tmp_path / "other", epsilon_limit=9.0, table="loans")
    for _ in range(2):
        Ledger(path).spend(receipt(0.125))
    own, *charges = path.read_text().splitlines(keepends=True)
    others = (tmp_path / "other").read_text()
    for start in ("", others, others + own):
        path.write_text("".join([start, *charges]))
        for read in READERS.values():
            with pytest.raises(LedgerError, match="damaged"):
                read(path)


@pytest.mark.parametrize("name", ["capped", "uncapped", "several-mechanisms"])
def test_an_older_ledgers_first_lines_are_bound_by_its_first_new_charge(name, path):
    shutil.copy(OLDER / f"{name}.jsonl", path)
    relation = Ledger(path).spendings()[0].relation
    for _ in range(2):
        Ledger(path).spend(replace(receipt(0.001), relation=relation, n_rows=None))
    whole = path.read_text()
    header = whole.splitlines()[0]
    raised = json.dumps(json.loads(header) | {"epsilon_limit": 99.0})
    cheaper = re.sub(r'^{"epsilon": [^,]+', '{"epsilon": 0.0', whole, count=1, flags=re.M)
    for changed in (whole.replace(header, raised, 1), cheaper):
        assert changed != whole
        path.write_text(changed)
        for read in READERS.values():
            with pytest.raises(LedgerError, match="its first line, or an older charge below it"):
                read(path)


def test_an_older_ledger_is_read_up_to_its_first_new_charge_however_long(path):
    older = (OLDER / "uncapped.jsonl").read_text().splitlines(keepends=True)
    path.write_text(older[0] + older[1] * 500)
    relation = json.loads(older[1])["relation"]
    for _ in range(2):
        Ledger(path).spend(replace(receipt(0.001), relation=relation, n_rows=None))
    assert len(Ledger(path).spendings()) == 502 and path.stat().st_size > 2**16
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"epsilon_limit": null', b'"epsilon_limit": 99.0', 1))
    with pytest.raises(LedgerError, match="its first line"):
        Ledger(path).total()


def test_what_no_charge_binds_cannot_be_noticed(path):
    """docs/ledger.md says so: a ledger without charges, and an older one without new ones."""
    Ledger.create(path, epsilon_limit=0.5, table="loans")
    path.write_text(path.read_text().replace("0.5", "9.0", 1))
    assert Ledger(path).limits() == (9.0, None)


def test_terminal_escapes_in_a_ledger_are_shown_and_not_obeyed(path, run):
    escape = "\x1b[2J"
    Ledger(path).spend(replace(receipt(0.1), mechanism=escape, privacy_unit=escape))
    status, out, _ = run("budget", path)
    assert status == 0 and "\x1b" not in out and "x1b[2J" in out


# What cannot be added


@pytest.mark.parametrize(
    "other",
    [
        {"privacy_unit": "one patient", "sensitivity": 100},
        {"sensitivity": 100},
        {"privacy_unit": "one patient"},
        {"relation": "add_or_remove_one", "sensitivity": 1, "n_rows": None},
    ],
)
def test_one_row_and_one_patient_of_fifty_rows_are_not_added(other, path):
    Ledger(path).spend(receipt(0.1))
    words = "this ledger is for .*, but the release is for|this ledger uses replace_one: pass"
    with pytest.raises(LedgerError, match=words):
        Ledger(path).spend(replace(receipt(0.2), **other))
    assert epsilons(path) == [0.1]


def test_another_table_is_refused(path):
    Ledger.create(path, table="loans.csv")
    Ledger(path).spend(receipt(0.1))
    Ledger(path, table="loans").spend(receipt(0.1))
    with pytest.raises(LedgerError, match="for table 'loans.csv', but the release is for 'cars'"):
        Ledger(path, table="cars").spend(receipt(0.1))
    assert [s.table for s in Ledger(path).spendings()] == ["loans.csv", "loans"]


def test_a_void_fit_is_not_summed_as_if_finite(path, run):
    Ledger(path).spend(receipt(0.25))
    Ledger(path).spend(replace(receipt(0.5), guarantee="VOID", conditions=("a seed was given",)))
    assert Ledger(path).total() == (float("inf"), 0.0)
    _, out, _ = run("budget", path)
    assert "Spent: no finite epsilon, 1 of 2 fits VOID" in out and "up to epsilon 0.25" in out
    total = json.loads(run("budget", path, "--json")[1])["total"]
    assert total == {"epsilon": None, "delta": 0.0, "void": 1, "epsilon_without_void": 0.25}


def test_a_void_fit_keeps_to_no_cap(path):
    Ledger(path, epsilon_limit=9.0).spend(receipt(0.25))
    with pytest.raises(LedgerError, match="a VOID fit keeps to no cap"):
        Ledger(path).spend(
            replace(receipt(0.5), guarantee="VOID", conditions=("a seed was given",))
        )
    assert Ledger(path).total()[0] == 0.25


# Time, permissions, contention, kills


def test_a_charge_reads_no_more_of_a_long_ledger_than_of_a_short_one(path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # only to fill it soon
    for _ in range(1500):
        Ledger(path).spend(receipt(0.001))
    read, real = [], os.read

    def counted(descriptor, size):
        data = real(descriptor, size)
        read.append(len(data))
        return data

    monkeypatch.setattr(os, "read", counted)
    Ledger(path).spend(receipt(0.001))
    assert Ledger(path).total()[0] == pytest.approx(1.501)
    assert sum(read) <= 2 * 3 * 2**14 < path.stat().st_size / 2


def test_reading_needs_no_write_permission(path, monkeypatch, run):
    Ledger(path, epsilon_limit=2.0).spend(receipt(0.25))
    real = os.open

    def may_only_read(name, flags, *rest, **named):
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise PermissionError(13, "Permission denied")
        return real(name, flags, *rest, **named)

    monkeypatch.setattr(os, "open", may_only_read)
    ledger = Ledger(path)
    assert ledger.total() == (0.25, 0.0) and ledger.limits() == (2.0, None)
    assert len(ledger.spendings()) == 1 and "epsilon 0.25" in run("budget", path)[1]
    with pytest.raises(LedgerError, match="writable file"):
        ledger.spend(receipt(0.25))


def python(program, **settings):
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        text=True,
        **settings,
    )


CHARGES = """
    import sys
    sys.path[:0] = {path!r}
    from opdisc.privacy.ledger import Ledger
    from helpers.opdisc.ledger_receipts import receipt
    print("ready", flush=True)
    for number in range({count}):
        Ledger({ledger!r}).spend(receipt(0.001))
        print(number + 1, flush=True)
"""


@pytest.mark.slow
def test_a_thousand_contended_charges_lose_none(path):
    program = CHARGES.format(path=sys.path, count=250, ledger=str(path))
    processes = [python(program) for _ in range(4)]
    reported = [process.communicate(timeout=600)[0].split() for process in processes]
    assert [len(lines) for lines in reported] == [251] * 4
    assert epsilons(path) == [0.001] * 1000 and Ledger(path).total() == (1.0, 0.0)


@pytest.mark.timing
@pytest.mark.parametrize(
    "kills",
    [
        3,
        *(
            pytest.param(10, marks=[pytest.mark.slow, pytest.mark.long], id=f"share {share}")
            for share in range(10)
        ),
    ],
)
def test_killed_charges_lose_none_that_was_reported(path, kills):
    Ledger(path).spend(receipt(0.001))
    expected = 1
    for kill in range(kills):
        process = python(CHARGES.format(path=sys.path, count=10**6, ledger=str(path)))
        reported = 0
        for line in itertools.islice(process.stdout, 2 + 3 * (kill % 5)):
            reported = 0 if line == "ready\n" else int(line)
        process.send_signal(signal.SIGKILL)
        # The last line may be cut; reading on with the same buffer misses none.
        rest = [line for line in process.stdout if line.endswith("\n") and line != "ready\n"]
        process.wait(timeout=60)
        reported = int(rest[-1]) if rest else reported
        found = len(Ledger(path).spendings())
        assert expected + reported <= found <= expected + reported + 1
        Ledger(path).spend(receipt(0.001))
        expected = found + 1


def charge_and_die(path, kept):
    program = f"""
        import os, signal, sys
        sys.path[:0] = {sys.path!r}
        from opdisc.privacy.ledger import Ledger
        from helpers.opdisc.ledger_receipts import receipt
        real = os.write
        def killed(descriptor, data):
            real(descriptor, data[:{kept}])
            os.kill(os.getpid(), signal.SIGKILL)
        os.write = killed
        Ledger({str(path)!r}).spend(receipt(0.4))
    """
    process = python(program)
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("kept", [3, 50])
@pytest.mark.parametrize("continued", [False, True])
def test_a_charge_killed_in_an_older_ledger_breaks_it_no_more(path, kept, continued):
    shutil.copy(OLDER / "capped.jsonl", path)
    if continued:
        Ledger(path).spend(receipt(0.1))
    before = path.read_bytes()
    charge_and_die(path, kept)
    assert len(path.read_bytes()) == len(before) + kept
    Ledger(path).spend(receipt(0.8))
    assert path.read_bytes().startswith(before) and epsilons(path)[-1] == 0.8


@pytest.mark.parametrize("kept", [0, 1, 2, 9, 50, 200, 10**6])
def test_a_charge_killed_in_the_middle_of_its_line_breaks_no_ledger(path, kept):
    for epsilon in (0.1, 0.2):
        Ledger(path).spend(receipt(epsilon))
    charge_and_die(path, kept)
    # A line that is whole is kept, though nobody was told: too much is safe, too little is not.
    whole = [0.4] if kept == 10**6 else []
    assert epsilons(path) == [0.1, 0.2, *whole]
    Ledger(path).spend(receipt(0.8))
    assert epsilons(path) == [0.1, 0.2, *whole, 0.8]


# Ledgers of version 0.1.0.dev0


@pytest.mark.parametrize("name", ["capped", "uncapped", "void", "several-mechanisms"])
def test_a_ledger_of_the_version_before_loads_and_takes_more(name, path):
    shutil.copy(OLDER / f"{name}.jsonl", path)
    older = path.read_bytes()
    records = [json.loads(line) for line in older.splitlines()[1:]]
    before = Ledger(path).spendings()
    assert [s.epsilon for s in before] == [r["epsilon"] for r in records]
    assert [s.guarantee for s in before] == [r["guarantee"] for r in records]
    for _ in range(2):
        Ledger(path).spend(replace(receipt(0.125), relation=records[0]["relation"], n_rows=None))
    assert path.read_bytes().startswith(older)
    after = Ledger(path).spendings()
    assert after[:-2] == before and [s.epsilon for s in after[-2:]] == [0.125, 0.125]
    if name == "void":
        assert Ledger(path).total()[0] == float("inf")
    else:
        spent = sum(r["epsilon"] for r in records) + 0.25
        assert Ledger(path).total()[0] == pytest.approx(spent)
    # From the first new line on, the older ones are bound too.
    path.write_bytes(
        older.replace(b'{"epsilon": ', b'{"epsilon": 0', 1) + path.read_bytes()[len(older) :]
    )
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path).spendings()


def test_the_caps_of_an_older_ledger_with_a_void_fit_bind_the_others(path, run):
    shutil.copy(OLDER / "void-capped.jsonl", path)
    Ledger(path).spend(receipt(0.75))
    with pytest.raises(LedgerError, match="caps epsilon at 1"):
        Ledger(path).spend(receipt(0.5))
    with pytest.raises(LedgerError, match="a VOID fit keeps to no cap"):
        Ledger(path).spend(
            replace(receipt(0.01), guarantee="VOID", conditions=("a seed was given",))
        )
    assert Ledger(path).total()[0] == float("inf") and len(Ledger(path).spendings()) == 2
    out = run("budget", path)[1]
    assert (
        "no finite epsilon" in out and "Left of epsilon 1: 0.25, the VOID fits not counted" in out
    )


# The command line

SCHEMA = """
name = "illness"
target = { column = "ill", positive = "yes", negative = "no" }
unit = "one patient"
[[feature]]
column = "age"
thresholds = [30, 50]
"""
FIT = "fit table.csv --schema ./schema.toml --epsilon 1".split()
CREATE = "budget --create ledger --epsilon-limit 4 --table table".split()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + i},{'yes' if i >= 20 else 'no'}\n" for i in range(40)]
    Path("table.csv").write_text("age,ill\n" + "".join(rows))
    Path("schema.toml").write_text(SCHEMA)
    return tmp_path


def test_a_ledger_is_created_with_caps_and_a_table(folder, run):
    status, out, err = run(*CREATE, "--delta-limit", "1e-5")
    assert (status, err) == (0, "") and out.startswith("Created ledger for table table. Spent: ")
    header = json.loads(Path("ledger").read_text())
    assert (header["epsilon_limit"], header["delta_limit"], header["table"]) == (4, 1e-5, "table")
    status, out, err = run(*CREATE)
    assert (status, out) == (1, "") and "must not replace a file" in err
    for usage in (CREATE[:-2], [*CREATE[:3], *CREATE[-2:]], ["budget", "ledger", *CREATE[-2:]]):
        status, out, err = run(*usage)
        assert (status, out, err.count("\n")) == (2, "", 1)


def test_fit_refuses_a_ledger_that_is_not_there_and_says_how_to_make_it(folder, run):
    status, out, err = run(*FIT, "--ledger", "ledger")
    assert (status, out) == (2, "") and not Path("ledger").exists()
    assert "run 'opdisc budget --create ledger --epsilon-limit E --table NAME'" in err


def test_fit_prints_the_running_total_and_names_its_model(folder, run):
    run(*CREATE)
    run(*FIT, "--ledger", "ledger")
    status, out, err = run(*FIT, "--ledger", "ledger", "--out", "card.json")
    assert status == 0 and "guarantee:" in out
    rare, last = err.splitlines()
    assert rare.startswith("note: If fewer")
    assert last.startswith("ledger ledger: Spent: epsilon 2, delta ")
    assert "Left of epsilon 4: 2." in err
    entries = json.loads(run("budget", "ledger", "--json")[1])["spendings"]
    assert [(e["table"], e["n_rows"], e["unit"]) for e in entries] == [
        ("table", 40, "one patient")
    ] * 2
    assert [e["purpose"] for e in entries] == ["fit", "fit to card.json"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", e["date"]) for e in entries)
    assert entries[1]["model"] == json.loads(Path("card.json").read_text())["sha256"]
    assert entries[1]["schema_digest"] == load_model("card.json").receipt.schema_digest
    assert entries[1]["model"][:12] in run("budget", "ledger")[1]


def test_fit_warns_once_without_a_ledger(folder, run):
    status, _, err = run(*FIT)
    rare, last = err.splitlines()
    assert status == 0 and rare.startswith("note: If fewer")
    assert last.startswith("note: without --ledger")


def test_fit_refuses_the_ledger_of_another_table(folder, run):
    run(*CREATE[:-1], "loans")
    status, out, err = run(*FIT, "--ledger", "ledger")
    assert (status, out) == (1, "") and "say --table 'loans' if it is the same" in err
    assert run(*FIT, "--ledger", "ledger", "--table", "loans")[0] == 0
    assert len(Ledger("ledger").spendings()) == 1


def test_a_released_model_is_not_overwritten_without_force(folder, run):
    run(*CREATE)
    arguments = [*FIT, "--ledger", "ledger", "--out", "card.json"]
    assert run(*arguments)[0] == 0
    before = {name: Path(name).read_bytes() for name in ("card.json", "ledger")}
    status, out, err = run(*arguments)
    assert (status, out) == (
        1,
        "",
    ) and "card.json exists; name another file, or say --force" in err
    assert before == {name: Path(name).read_bytes() for name in before}
    assert run(*arguments, "--force")[0] == 0
    assert epsilons("ledger") == [1.0, 1.0]


def test_a_ledger_that_lost_the_charge_during_a_fit_is_told(folder, run, monkeypatch):
    run(*CREATE)
    older = Path("ledger").read_bytes()
    real = console.print_bought

    def restored_meanwhile(*arguments):
        Path("ledger").write_bytes(older)
        real(*arguments)

    monkeypatch.setattr("opdisc.cli.fitting.commands.print_bought", restored_meanwhile)
    status, out, err = run(*FIT, "--ledger", "ledger")
    assert status == 1 and "guarantee:" in out and "was replaced and lacks one" in err


# Standard output that cannot be written


def opdisc(*arguments, **settings):
    return subprocess.run(
        [sys.executable, "-m", "opdisc.cli.app", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        **settings,
    )


def broken_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "wb")


BROKEN = {
    "full": lambda: {"stdout": open("/dev/full", "wb")},
    "closed": lambda: {"preexec_fn": lambda: os.close(1)},
    "for reading": lambda: {"stdout": open("/dev/null", "rb")},
    "a pipe that nobody reads": lambda: {"stdout": broken_pipe()},
}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("broken", BROKEN)
def test_a_fit_that_could_not_be_printed_spends_nothing(broken, folder, run):
    Ledger.create("ledger", table="table")
    result = opdisc(*FIT, "--ledger", "ledger", **BROKEN[broken]())
    assert result.returncode == 1 and "nothing was spent" in result.stderr
    assert result.stderr.count("\n") == 1 and epsilons("ledger") == []


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_saved_fit_that_cannot_be_printed_goes_to_standard_error(folder):
    Ledger.create("ledger", table="table")
    arguments = [*FIT, "--ledger", "ledger", "--out", "card.json"]
    result = opdisc(*arguments, **BROKEN["full"]())
    assert result.returncode == 1 and "saved in card.json: keep that" in result.stderr
    assert "guarantee:" in result.stderr and load_model("card.json").receipt.epsilon == 1
    assert "Traceback" not in result.stderr and epsilons("ledger") == [1.0]
    closed = opdisc(*arguments, "--force", **BROKEN["closed"]())
    assert closed.returncode == 0 and epsilons("ledger") == [1.0, 1.0]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), BrokenPipeError(32, "x")]
)
def test_output_that_fails_after_the_spending_shows_the_scorecard_elsewhere(
    error, folder, run, monkeypatch
):
    Ledger.create("ledger", table="table")
    run("fit", "--help")  # what it loads takes print_text from console, now and not below

    def fail(_):
        raise error

    monkeypatch.setattr(console, "print_text", fail)
    status, out, err = run(*FIT, "--ledger", "ledger")
    assert (status, out) == (1, "") and epsilons("ledger") == [1.0]
    assert "guarantee:" in err and "guarantee:          HOLDS" in err
    assert "a second fit would spend more." in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_no_listing_ends_well_when_its_output_is_closed(folder):
    Ledger.create("ledger")
    for arguments in (["budget", "ledger"], ["budget", "ledger", "--json"], ["oracles", "--json"]):
        result = opdisc(*arguments, **BROKEN["closed"]())
        assert result.returncode == 1 and result.stderr.startswith("error: ")
