"""A ledger's text and amounts: what a line must be, and which line a refusal names."""

import dataclasses
import hashlib
import json

import pytest
from helpers.opdisc.ledger_receipts import receipt

from opdisc.errors import LedgerError
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.ledger_lines import (
    Altered,
    Header,
    charge_line,
    first_head,
    header_line,
    model_line,
    read_book,
    read_head,
    read_header,
)
from opdisc.privacy.spending import Spending, Spent

SPENDING = Spending(
    epsilon=0.25,
    delta=0.0,
    mechanism="m",
    relation="replace_one",
    schema_digest="d",
    guarantee="HOLDS",
)
HEADER = Header(epsilon_limit=None, delta_limit=None)
OLDER = (
    b'{"format": "opdisc-ledger", "epsilon_limit": 1.0, "delta_limit": null}\n'
    b'{"epsilon": 0.1, "delta": 0.0, "mechanism": "m", "relation": "replace_one",'
    b' "schema_digest": "d", "guarantee": "HOLDS"}\n'
)


def new_book():
    """Return the bytes of a new ledger and the head after its header."""
    text = header_line(HEADER)
    return text.encode(), first_head(read_header(text.encode().rstrip(b"\n")))


def test_counts_of_a_spending_are_whole_numbers_from_0():
    fields = {"epsilon": 0.1, "delta": 0.0, "mechanism": "m", "relation": "r"}
    fields |= {"schema_digest": "d", "guarantee": "HOLDS"}
    assert Spending(**fields, n_rows=0, rows_per_unit=1).n_rows == 0
    for count in (-1, 1.5, 2.0, True, "3"):
        for name in ("n_rows", "rows_per_unit"):
            with pytest.raises(ValueError, match="counts must be whole"):
                Spending(**fields, **{name: count})


@pytest.mark.parametrize("text", ["-1", "NaN", "Infinity", "x", "", 0.5, None])
def test_a_sum_is_the_text_of_a_number(text):
    for name in ("epsilon", "delta"):
        with pytest.raises(ValueError, match="a sum must be a number"):
            Spent(**{name: text})
    for name in ("charges", "void"):
        with pytest.raises(ValueError, match="must be counted"):
            Spent(**{name: text})


def test_a_charge_adds_to_the_totals_and_keeps_what_was_stated_first():
    first = Spent(table="loans").plus(SPENDING)
    assert (first.charges, first.void, first.epsilon, first.table) == (1, 0, "0.25", "loans")
    assert first.plus(SPENDING) == Spent(
        charges=2, epsilon="0.5", table="loans", relation="replace_one"
    )
    assert Spent(void=1, delta="0.5").total == (float("inf"), 0.5)
    void = first.plus(dataclasses.replace(SPENDING, guarantee="VOID"))
    assert (void.charges, void.void, void.amounts) == (2, 1, (0.25, 0.0))
    assert void.plus(dataclasses.replace(SPENDING, guarantee="VOID")).void == 2


def test_a_count_of_confirmed_lines_has_twelve_digits():
    line = header_line(HEADER).encode().rstrip(b"\n")
    assert read_header(line).confirmed == 0
    for count in (b'"1000000000000"', b'"1"', b"000000000000", b'"-00000000001"', b"null"):
        with pytest.raises((ValueError, AttributeError)) as caught:
            read_header(line.replace(b'"000000000000"', count))
        if count == b'"1000000000000"':
            assert str(caught.value) == "count"


def test_the_first_line_may_be_unfinished_and_is_dropped():
    data, head = new_book()
    line, _ = charge_line(head, SPENDING)
    for rest in (b"{", line.encode()[:50]):
        assert read_book(data + rest).spendings == ()


def test_an_unfinished_line_is_dropped_where_the_line_before_it_is_chained():
    line, _ = charge_line(read_book(OLDER).head, SPENDING)
    chained = OLDER + line.encode()
    assert len(read_book(chained).spendings) == 2
    assert len(read_book(chained + b"{").spendings) == 2
    # After a line of the version before, it may be a charge of that version, which counts.
    with pytest.raises(ValueError, match="torn"):
        read_book(OLDER + b"{")


def test_every_older_line_is_bound_by_the_first_new_one():
    older = OLDER + OLDER.splitlines(keepends=True)[1]
    line, _ = charge_line(read_book(older).head, SPENDING)
    assert len(read_book(older + line.encode()).spendings) == 3
    with pytest.raises(Altered):
        read_book(OLDER + line.encode())


def test_a_model_of_a_charge_that_is_not_there_is_an_altered_line():
    data, head = new_book()
    first, head = charge_line(head, SPENDING)
    named, _ = model_line(head, head.digest, "a" * 64)
    assert read_book(data + (first + named).encode()).spendings[0].model == "a" * 64
    unknown, _ = model_line(head, "0" * 64, "a" * 64)
    with pytest.raises(Altered) as caught:
        read_book(data + (first + unknown).encode())
    assert caught.value.line == 2


def signed(body):
    """Return a line of this text, without its last brace, with the digest that it needs."""
    digest = hashlib.sha256(body.encode() + b"}").hexdigest()
    return f'{body}, "sha256": "{digest}"}}'.encode()


def test_a_line_with_a_right_digest_and_another_spelling_is_refused():
    line, _ = charge_line(new_book()[1], SPENDING)
    body = line[: line.index(', "sha256"')]
    assert signed(body) == line.encode().rstrip(b"\n") and read_head(signed(body)).number == 1
    repeated = body.replace('{"line": 1', '{"line": 1, "line": 1', 1)
    for changed in (repeated, body.replace(": 1", ":  1", 1)):
        with pytest.raises(Altered) as caught:
            read_head(signed(changed))
        assert caught.value.line == 1
    for number in ('"1"', "0", "-1", "1.0", "true"):
        with pytest.raises(Altered) as caught:
            read_head(signed(body.replace('"line": 1', f'"line": {number}', 1)))
        assert caught.value.line == (json.loads(number) if number in ("0", "-1") else 0)


def test_a_digest_of_another_line_is_refused():
    line, _ = charge_line(new_book()[1], SPENDING)
    with pytest.raises(Altered):
        read_head(line.encode().rstrip(b"\n").replace(b"0.25", b"0.75"))


def test_a_refused_charge_names_the_changed_last_line(tmp_path):
    path = tmp_path / "ledger"
    Ledger.create(path)
    for _ in range(3):
        Ledger(path).spend(receipt(0.25))
    *kept, last = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*kept, last.replace("0.25", "0.125", 1)]))
    with pytest.raises(LedgerError, match="line 4 of"):
        Ledger(path).spend(receipt(0.25))
