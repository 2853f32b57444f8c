"""The file of a ledger: created whole, locked, read from its ends, appended to and synced.

The lock is ``flock`` on the ledger itself. A lock file beside it (filelock) would ask readers for
write permission in the directory, and would not bar two processes that reach one ledger by two
names. ``flock`` needs a POSIX system; it ends with its process, so a killed one blocks nobody.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from opdisc.errors import LedgerError, LedgerMistake
from opdisc.privacy import ledger_lines as ledger_text
from opdisc.privacy.ledger_lines import Book, Head, Header

try:
    import fcntl
except ImportError:  # not a POSIX system: everything but ledgers works
    fcntl = None  # type: ignore[assignment]

LineMaker = Callable[[int, Header, Head], tuple[str, Head]]
"""From the locked file, its header and its head to the next line and the head after it."""

_ATTEMPTS = 100

_NOT_A_LEDGER = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
    ArithmeticError,
)


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """A path and what can be done with the ledger there.

    Parameters
    ----------
    path : Path
        The name; links are followed.

    Notes
    -----
    **Guarantee.** Whatever is read or appended is in the file that the path names after the lock
    is held, and an appended line also after it was synced. Other programs replace files, and a
    lock does not hold them.
    """

    path: Path

    def create(self, header: Header) -> bool:
        """Make a new file whole; False if there is one."""
        directory = self.path.resolve().parent
        scratch = directory / f".{os.urandom(8).hex()}.tmp"
        text = ledger_text.header_line(header)
        try:
            _write_new(scratch, text)
            try:
                os.link(scratch, self.path)  # refuses to replace, unlike a rename
            except FileExistsError:
                return False
            except OSError:  # a file system without links
                _write_new(self.path, text)
            finally:
                os.unlink(scratch)
            _sync_directory(directory)
        except FileExistsError:
            return False
        except OSError as error:
            raise LedgerError(
                f"a ledger must be a writable file, but '{self.path}' is not ({error.strerror})."
            ) from None
        return True

    @contextmanager
    def locked(self, access: int = os.O_RDONLY) -> Iterator[int]:
        """Open and lock the file that the path names once the lock is held."""
        if fcntl is None:
            raise LedgerError("a ledger needs the file locks of a POSIX system; use one.")
        for _ in range(_ATTEMPTS):
            # A bare descriptor: a buffered file would write once more what had failed.
            descriptor = self._open(access)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH if access == os.O_RDONLY else fcntl.LOCK_EX)
                if not self._is_named(descriptor):
                    continue  # replaced while we waited: the lock is on a file without a name
                yield descriptor
                return
            except OSError as error:
                raise LedgerError(
                    f"a ledger must be a file that can be locked and read, but '{self.path}' is "
                    f"not ({error.strerror}); move it to a local disk."
                ) from None
            finally:
                os.close(descriptor)
        raise self._unsteady()

    def read_whole(self, descriptor: int) -> Book:
        """Return the whole ledger, every line checked."""
        with self._understood():
            data = _read(descriptor, 0, os.fstat(descriptor).st_size)
            return ledger_text.read_book(self._not_empty(data))

    def read_ends(self, descriptor: int) -> tuple[Header, Head, int]:
        """Return the header, the head and where the next line goes.

        This reads both ends of the file only. Of an older one it reads up to the first chained
        line, and all without one.
        """
        largest, size = ledger_text.LARGEST_LINE, os.fstat(descriptor).st_size
        with self._understood():
            beginning = self._not_empty(_read(descriptor, 0, largest))
            first = beginning.partition(b"\n")[0]
            header = ledger_text.read_header(first)
            start = max(0, size - 2 * largest)
            tail = _read(descriptor, start, size - start)
            *_, last, rest = tail.split(b"\n")
            end = size - len(rest)
            if end == len(first) + 1 and not header.is_older:
                head: Head | None = ledger_text.first_head(header)
            else:
                head = ledger_text.read_head(last)
            if head is None:
                if not header.is_older:
                    raise ValueError("a line without a digest")
                head = self.read_whole(descriptor).head
            else:
                _check_start(descriptor, header, beginning, size)
            if rest and not ledger_text.drops_end(header, last, rest):
                raise ValueError("torn")
            if head.number < header.confirmed:
                raise ledger_text.Cut
        return header, head, end

    def append(self, make: LineMaker) -> Head:
        """Append one line, durably, and return the head after it.

        Raises
        ------
        LedgerError
            If the file is damaged or cannot be written, or whatever ``make`` raises; then it is
            as it was.
        """
        for _ in range(_ATTEMPTS):
            with self.locked(os.O_RDWR) as descriptor:
                header, head, end = self.read_ends(descriptor)
                line, after = make(descriptor, header, head)
                self._write_synced(descriptor, end, line)
                if not self._is_named(descriptor):
                    # The line is in a file that nobody will read: take it to the one they will.
                    with suppress(OSError):
                        os.ftruncate(descriptor, end)
                    continue
                if not header.is_older:
                    # Only ever too small, so that losing it costs a check and no charge.
                    with suppress(OSError):
                        os.pwrite(descriptor, *ledger_text.count_bytes(after.number))
                return after
        raise self._unsteady()

    def _open(self, access: int) -> int:
        kind = "readable" if access == os.O_RDONLY else "writable"
        try:
            # Not blocking: a pipe without a writer would never open.
            descriptor = os.open(self.path, access | os.O_NONBLOCK)
        except FileNotFoundError:
            raise LedgerMistake(
                f"a ledger must be there before it is used, but '{self.path}' does not exist; "
                f"restore it, or for a new one run 'opdisc budget --create {self.path} "
                "--epsilon-limit E --table NAME'."
            ) from None
        except (OSError, ValueError) as error:
            raise LedgerMistake(
                f"a ledger must be a {kind} file, but '{self.path}' is not "
                f"({getattr(error, 'strerror', 'it is no file name')})."
            ) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise LedgerMistake(
                f"a ledger must be a regular file, but '{self.path}' is not; name another file."
            )
        return descriptor

    def _is_named(self, descriptor: int) -> bool:
        """Return whether the path still leads to the open file."""
        try:
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except OSError:
            return False

    def _write_synced(self, descriptor: int, end: int, text: str) -> None:
        try:
            os.ftruncate(descriptor, end)  # of a charge that was interrupted, nothing is kept
            os.lseek(descriptor, end, os.SEEK_SET)
            _write(descriptor, text)
            os.fsync(descriptor)
        except BaseException as error:
            # Nothing is released after an exception, so nothing may stay recorded.
            with suppress(OSError):
                os.ftruncate(descriptor, end)
            if not isinstance(error, OSError):
                raise
            raise LedgerError(
                f"spending must reach the disk before a release, writing '{self.path}' failed "
                f"({error.strerror}); nothing was recorded."
            ) from None

    def _not_empty(self, data: bytes) -> bytes:
        if not data:
            raise LedgerError(
                f"a ledger must start with its header, but '{self.path}' is empty; restore it, or "
                "remove it and create a new one by 'opdisc budget --create'."
            )
        return data

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Turn what is wrong with the text into a sentence."""
        try:
            yield
        except LedgerError:
            raise
        except ledger_text.Altered as altered:
            raise LedgerError(
                f"a ledger's lines must stay as they were written, but line {altered.line + 1} of "
                f"'{self.path}' was changed, moved or follows a removed one: the file is damaged; "
                "restore it before spending more."
            ) from None
        except ledger_text.Unbound:
            raise LedgerError(
                f"a ledger's caps and table must stay as they were written, but '{self.path}' is "
                "damaged: its first line, or an older charge below it, is not the one that the "
                "charges follow; restore it before spending more."
            ) from None
        except ledger_text.Cut:
            raise LedgerError(
                f"a ledger must keep its last lines, but '{self.path}' is damaged: it was cut; "
                "restore it before spending more."
            ) from None
        except _NOT_A_LEDGER:
            raise LedgerError(
                f"a ledger must hold one spending per line, but '{self.path}' is damaged or is "
                "another kind of file; restore it before spending more."
            ) from None

    def _unsteady(self) -> LedgerError:
        return LedgerError(
            f"a ledger must stay in its place, but '{self.path}' is removed or replaced again and "
            "again; stop the program that does it."
        )


def _read(descriptor: int, start: int, size: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    chunks = []
    while size > 0 and (chunk := os.read(descriptor, size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _check_start(descriptor: int, header: Header, beginning: bytes, size: int) -> None:
    """Compare the first lines with the link that follows them, reading no more than that."""
    while not ledger_text.check_start(header, beginning) and len(beginning) < size:
        beginning = _read(descriptor, 0, 2 * len(beginning))


def _write(descriptor: int, text: str) -> None:
    rest = text.encode("utf-8")
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _write_new(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        _write(descriptor, text)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_directory(directory: Path) -> None:
    """Make a new file's name durable too."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
