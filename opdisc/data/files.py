"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import BinaryIO, TypeAlias

from opdisc.errors import FileMistake, TableError

_CONNECTION = re.compile(r"://|@|password|pwd=|^[a-z+]{2,}:", re.IGNORECASE)

FilePath: TypeAlias = str | PathLike[str]

PRIVATE_MODE = 0o600
"""Of new files with private rows: nobody but their owner reads them."""

_SCRATCH_BYTES = 64 * 1024


_MISPLACED = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENAMETOOLONG,
        errno.ELOOP,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENXIO,
        errno.ENODEV,
    }
)


def is_misplaced(error: OSError) -> bool:
    """Return whether another place would do, rather than the same one later."""
    return error.errno in _MISPLACED


def unusable(rule: str, error: OSError) -> TableError:
    """Return what to raise where a named file cannot be used, the system's reason added."""
    reason = error.strerror or type(error).__name__
    return (FileMistake if is_misplaced(error) else TableError)(f"{rule}: {reason}")


def read_bounded(path: FilePath, largest: int) -> bytes:
    """Return a file's bytes, of a larger one ``largest + 1`` of them.

    A pipe is read to its end. A device has none, or waits for a key.

    Raises
    ------
    OSError
        If it cannot be read, or is a device.
    """
    with open_input(path) as file:
        return file.read(largest + 1)


def open_input(path: FilePath) -> BinaryIO:
    """Open a file or a pipe to read; OSError for a device, and for a name that is none."""
    try:
        if stat.S_ISCHR(mode := os.stat(path).st_mode) or stat.S_ISBLK(mode):
            raise OSError(errno.ENODEV, "it is a device")
        return open(path, "rb")
    except ValueError:  # a name with a null byte
        raise OSError(errno.ENOENT, "it is no file name") from None


def holds_the_same(path: FilePath, other: FilePath) -> bool:
    """Return whether two names are of one file, or of two files with the same bytes.

    Bytes are compared where both are files of one size, up to the first difference. A pipe is not
    read, because what was read from it is gone.
    A name that cannot be read is the same as no other.
    """
    try:
        if os.path.realpath(path) == os.path.realpath(other):
            return True
        first, second = os.stat(path), os.stat(other)
        if os.path.samestat(first, second):
            return True
        if not (stat.S_ISREG(first.st_mode) and stat.S_ISREG(second.st_mode)):
            return False
        return first.st_size == second.st_size and filecmp.cmp(path, other, shallow=False)
    except (OSError, ValueError):  # whoever reads them says why
        return False


def check_output(path: FilePath, *, inputs: Iterable[FilePath] = ()) -> None:
    """Refuse a place that :func:`atomic_write_text` could not write to, before work is spent.

    A scratch file of 64 KiB is written beside the target and removed, so that a missing or
    read-only directory and a full disk are found before any privacy budget is spent.

    Parameters
    ----------
    path : path
        Where the output is to go.
    inputs : iterable of path
        Files that the same command reads or appends to; replacing one would lose it.

    Raises
    ------
    TableError
        If the place is not writable, or is one of the inputs.
    """
    target = Path(os.path.realpath(path))
    if any(target == Path(os.path.realpath(other)) for other in inputs):
        raise FileMistake(
            f"output must not replace an input, but {path} is one; name another path"
        )
    scratch = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        _check_regular(target, path)
        try:
            with _new_file(scratch) as file:
                file.write(bytes(_SCRATCH_BYTES))
                _sync(file)
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        raise unusable(f"output must go to a writable place, but {path}", error) from None
    except UnicodeEncodeError:
        raise TableError(f"output must be UTF-8 text, but that for {path} is not") from None


def atomic_write_text(path: FilePath, text: str, *, mode: int = 0o666) -> None:
    """Write UTF-8 text to a file, whole or not at all: see :func:`atomic_writer`."""
    with atomic_writer(path, mode=mode) as write:
        write(text)


def atomic_write_bytes(path: FilePath, data: bytes, *, mode: int = 0o666) -> None:
    """Write a file, whole or not at all: see :func:`atomic_writer`."""
    with atomic_writer(path, mode=mode) as write:
        write(data)


@contextlib.contextmanager
def atomic_writer(path: FilePath, *, mode: int = 0o666) -> Iterator[Callable[[str | bytes], None]]:
    """Write to a file piece by piece, whole or not at all.

    The pieces go to a temporary file in the same directory. At the end of the block it takes the
    place of the old one. So a reader sees the old file or the new, and an interruption or an error
    leaves the old.

    Parameters
    ----------
    path : path
        File to create or replace; of a symbolic link, the file it points to.
    mode : int
        Permissions of a new file, less the umask; a replaced file keeps its own.

    Yields
    ------
    callable
        Writes bytes, or a text in UTF-8, as it is, line ends included.

    Raises
    ------
    TableError
        If the place is not writable, or a text has no UTF-8 form.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    with _unwritable(path):
        _check_regular(target, path)
        file = _new_file(temporary, _mode_of(target), mode)

    def write(piece: str | bytes) -> None:
        with _unwritable(path):
            file.write(piece.encode("utf-8") if isinstance(piece, str) else piece)

    try:
        yield write
        with _unwritable(path):
            _sync(file)
            file.close()
            os.replace(temporary, target)
    except BaseException:
        for tidy in (file.close, temporary.unlink):
            with contextlib.suppress(OSError):
                tidy()
        raise


@contextlib.contextmanager
def _unwritable(path: FilePath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unusable(f"output must go to a writable place, but {path}", error) from None
    except UnicodeEncodeError:
        raise TableError(f"output must be UTF-8 text, but that for {path} is not") from None


def _check_regular(target: Path, named: FilePath) -> None:
    """Refuse directories and devices; OSError for a name that the file system does not take."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(target.stat().st_mode):
            raise FileMistake(
                f"output must go to a file, but {named} is not one; name another path"
            )


def _mode_of(path: Path) -> int | None:
    """Return the permissions of a file, None where there is none."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    return None


def _new_file(path: Path, kept: int | None = None, mode: int = 0o600) -> BinaryIO:
    """Open a new file; ``kept`` are the permissions of the one that it will replace, if any."""
    # Never wider than in the end, not even for a moment.
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode if kept is None else kept & mode
    )
    if kept is not None:
        os.fchmod(descriptor, kept)
    return os.fdopen(descriptor, "wb")


def _sync(file: BinaryIO) -> None:
    """Bring a file's bytes to the disk."""
    file.flush()
    os.fsync(file.fileno())


def may_hold_password(place: object) -> bool:
    """Return whether a place looks like a URL or a server's settings: it must not be repeated."""
    return bool(_CONNECTION.search(str(place)))
