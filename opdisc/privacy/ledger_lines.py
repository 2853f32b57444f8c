"""The text of a ledger: a header, then lines chained by their digests.

Every line states what it adds, the running totals, the digest of the line before and its own. So
the header, the first line below it and the last one are enough for the next charge, whatever the
length of the file, and reading all of it finds every line that was changed, moved or removed. The
caps stand in the header alone, so its link is compared wherever they are read. A header without
such a line is bound by nothing.

A header of version 2 also counts the lines whose charges were confirmed. It is the only text that
is ever written over, and the only one that no digest holds. A file with fewer lines was cut; an
unfinished line after them is a charge that was interrupted before anything was released, and is
dropped.

Files of version 0.1.0.dev0 have a header without version and lines without digests. They stay as
they are; the first line added to them has the digest of all that came before.

The digests are not keyed. They find accidents and careless edits. They do not find a forger who
computes all of them anew, nor the exchange of a whole file for an older copy.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from opdisc.privacy.spending import Spending, Spent, is_amount

FORMAT = "opdisc-ledger"

LARGEST_LINE = 2**14

_COUNT_DIGITS = 12

_VERSION = 2

_COUNT_KEY = '"confirmed": "'

_OLDER = ("epsilon", "delta", "mechanism", "relation", "schema_digest", "guarantee")

_CHARGE = {field.name for field in fields(Spending)} - {"model"}

_LIMITS = ("epsilon_limit", "delta_limit")

_CHAINED = b'{"line": '
"""How a line with a digest starts."""

_NO_LINE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What a text raises that is no chained line."""


class Altered(ValueError):
    """A line is not what was written, or is not where it was."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class Unbound(ValueError):
    """The first lines are not those that the charges follow."""


class Cut(ValueError):
    """Lines that were confirmed are missing at the end."""


class TooLong(ValueError):
    """A new line would be longer than a reader looks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line.

    Parameters
    ----------
    epsilon_limit, delta_limit : float or None
        Caps on the totals.
    table : str
        Name of the private table, empty if none was given.
    confirmed : int
        Number of lines that must be there, 0 in an older file.
    is_older : bool
        Whether version 0.1.0.dev0 wrote it.
    digest : str
        Start of the chain.
    """

    epsilon_limit: float | None
    delta_limit: float | None
    table: str = ""
    confirmed: int = 0
    is_older: bool = False
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a chain: what the next line continues.

    Parameters
    ----------
    number : int
        Lines so far, the header not counted.
    digest : str
        Of the last line.
    spent : Spent
        Running totals.
    """

    number: int
    digest: str
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A whole ledger, every line checked.

    Parameters
    ----------
    header : Header
        Caps and table.
    spendings : tuple of Spending
        All charges in order.
    digests : frozenset of str
        Digests of the lines of charges, of those that have one.
    head : Head
        Where the next line goes.
    """

    header: Header
    spendings: tuple[Spending, ...]
    digests: frozenset[str]
    head: Head


def header_line(header: Header) -> str:
    """Return the first line of a new ledger."""
    body = {
        "format": FORMAT,
        "version": _VERSION,
        "confirmed": f"{header.confirmed:0{_COUNT_DIGITS}d}",
        "table": header.table,
        "epsilon_limit": header.epsilon_limit,
        "delta_limit": header.delta_limit,
    }
    return json.dumps(body) + "\n"


def count_bytes(confirmed: int) -> tuple[bytes, int]:
    """Return the header's count of confirmed lines and where it goes, bytes from the start."""
    blank = header_line(Header(epsilon_limit=None, delta_limit=None))
    return f"{confirmed:0{_COUNT_DIGITS}d}".encode(), blank.index(_COUNT_KEY) + len(_COUNT_KEY)


def charge_line(head: Head, spending: Spending) -> tuple[str, Head]:
    """Return the line of one more charge, and the head after it."""
    charge = asdict(spending)
    del charge["model"]
    return _line(head, {"charge": charge}, head.spent.plus(spending))


def model_line(head: Head, charge: str, model: str) -> tuple[str, Head]:
    """Return the line that binds a charge, by its digest, to the model it paid for."""
    return _line(head, {"model": model, "of": charge}, head.spent)


def read_header(line: bytes) -> Header:
    """Return the header; ValueError or a kin of it for anything else."""
    text = line.decode("utf-8")
    record = _load(text)
    if record.pop("format") != FORMAT:
        raise ValueError("another format")
    limits = {name: record.pop(name) for name in _LIMITS}
    if not all(limit is None or is_amount(limit) for limit in limits.values()):
        raise ValueError("limits")
    if not record:
        return Header(**limits, is_older=True)
    count, table = record.pop("confirmed"), record.pop("table")
    if record != {"version": _VERSION} or not isinstance(table, str):
        raise ValueError("version")
    if not (isinstance(count, str) and count.isdecimal() and len(count) == _COUNT_DIGITS):
        raise ValueError("count")
    header = Header(**limits, table=table)
    blank = header_line(header)
    header = replace(header, confirmed=int(count), digest=_digest(blank.encode()))
    if header_line(header) != text + "\n":
        raise ValueError("spelling")
    return header


def first_head(header: Header) -> Head:
    """Return the end of the chain before any charge."""
    return Head(number=0, digest=header.digest, spent=Spent(table=header.table))


def read_head(line: bytes) -> Head | None:
    """Return the head of a last line, None for a line without a digest."""
    record = _load(line.decode("utf-8"))
    return None if "line" not in record else _read_line(record, line)[0]


def drops_end(header: Header, last: bytes, rest: bytes) -> bool:
    """Return whether an unfinished end is an interrupted charge, not a damaged file."""
    if not header.is_older:
        return True  # the count in the header tells whether complete lines are missing
    # Lines of either version start with two equal characters.
    is_chained = rest.startswith(_CHAINED) or (len(rest) > 2 and _CHAINED.startswith(rest))
    return last.startswith(_CHAINED) or is_chained


def check_start(header: Header, data: bytes) -> bool:
    """Compare the header, and older lines below it, with the link of the first chained line.

    Parameters
    ----------
    header : Header
        As read from the first line.
    data : bytes
        The file from its start on.

    Returns
    -------
    bool
        Whether the data hold a whole chained line, so that there was something to compare.

    Raises
    ------
    Altered
        If that line is not what was written, or not where it was.
    Unbound
        If it does not follow from what stands before it: the caps, the table or the version were
        edited, or an older charge was.
    """
    start = data.find(b"\n" + _CHAINED) + 1
    end = data.find(b"\n", start)
    if not start or end < 0:
        return False
    number = data.count(b"\n", 0, start)
    try:
        line = data[start:end]
        head, previous, _ = _read_line(_load(line.decode("utf-8")), line)
    except _NO_LINE:
        raise Altered(number) from None
    # Below a header of this version no line is without a digest.
    if head.number != number or not (header.is_older or number == 1):
        raise Altered(1 if not header.is_older else number)
    if previous != (_digest(data[:start]) if header.is_older else header.digest):
        raise Unbound
    return True


def read_book(data: bytes) -> Book:
    """Check a whole ledger, line by line.

    Raises
    ------
    Altered
        If a line does not follow from the one before.
    Unbound
        If the first lines were edited.
    Cut
        If confirmed lines are missing.
    ValueError, TypeError, KeyError, AttributeError, RecursionError
        If the text is no ledger.
    """
    end = data.rfind(b"\n") + 1
    lines = data[:end].split(b"\n")[:-1]
    header = read_header(lines[0])
    if end < len(data) and not drops_end(header, lines[-1], data[end:]):
        raise ValueError("torn")
    check_start(header, data)
    reading = _Reading(first_head(header))
    read = len(lines[0]) + 1
    for line in lines[1:]:
        if header.is_older and not reading.is_chained:
            record = _load(line.decode("utf-8"))
            if "line" not in record:
                reading.add_older(record)
                read += len(line) + 1
                continue
            reading.head = replace(reading.head, digest=_digest(data[:read]))
        reading.follow(line)
    if header.is_older and not reading.is_chained:
        reading.head = replace(reading.head, digest=_digest(data[:read]))
    if reading.head.number < header.confirmed:
        raise Cut
    return Book(
        header=header,
        spendings=tuple(reading.spendings),
        digests=frozenset(reading.places),
        head=reading.head,
    )


class _Reading:
    """What was read so far of a whole ledger."""

    def __init__(self, head: Head) -> None:
        self.head = head
        self.spendings: list[Spending] = []
        self.places: dict[str, int] = {}

    @property
    def is_chained(self) -> bool:
        return bool(self.places)

    def add_older(self, record: dict[str, Any]) -> None:
        """Add a line without a digest."""
        spending = Spending(**record)
        if set(record) != set(_OLDER):
            raise ValueError("another version's field")
        spent = self.head.spent.plus(spending)
        self.head = Head(number=self.head.number + 1, digest="", spent=spent)
        self.spendings.append(spending)

    def follow(self, line: bytes) -> None:
        """Add a chained line, if it follows from what was read."""
        before, number = self.head, self.head.number + 1
        try:
            record = _load(line.decode("utf-8"))
            self.head, previous, spending = _read_line(record, line)
            expected = before.spent
            if spending is None:
                place = self.places[record["of"]]
                self.spendings[place] = replace(self.spendings[place], model=record["model"])
            else:
                self.places[self.head.digest] = len(self.spendings)
                self.spendings.append(spending)
                expected = before.spent.plus(spending)
            follows = self.head.number == number and previous == before.digest
            if not follows or self.head.spent != expected:
                raise Altered(number)
        except _NO_LINE:
            raise Altered(number) from None


def _line(head: Head, addition: dict[str, Any], spent: Spent) -> tuple[str, Head]:
    number = head.number + 1
    body = {"line": number, **addition, "spent": asdict(spent), "previous": head.digest}
    digest = _digest(json.dumps(body).encode())
    line = json.dumps({**body, "sha256": digest}) + "\n"
    if len(line) > LARGEST_LINE:
        raise TooLong
    return line, Head(number=number, digest=digest, spent=spent)


def _read_line(record: dict[str, Any], line: bytes) -> tuple[Head, str, Spending | None]:
    """Return the head after a chained line, the digest before it, and its charge if it has one."""
    number = record["line"]
    # Compared with its own text, so that repeated keys and other spellings cannot hide.
    if json.dumps(record).encode() != line or type(number) is not int or number < 1:
        raise Altered(number if type(number) is int else 0)
    digest, previous = record.pop("sha256"), record["previous"]
    end = f', "sha256": "{digest}"}}'.encode()
    if not line.endswith(end) or digest != _digest(line.removesuffix(end) + b"}"):
        raise Altered(number)
    kinds = {"charge"} if "charge" in record else {"model", "of"}
    if set(record) != {"line", "spent", "previous"} | kinds:
        raise Altered(number)
    spent = Spent(**record["spent"])
    spending = None
    if "charge" in record:
        if set(record["charge"]) != _CHARGE:
            raise Altered(number)
        spending = Spending(**record["charge"])
    return Head(number=number, digest=digest, spent=spent), previous, spending


def _load(text: str) -> dict[str, Any]:
    record = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError("a line must be an object")
    return record


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
