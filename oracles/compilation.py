"""Numba's compiler behind a typed decorator."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_IMPORT = re.compile(r"^from oracles(?:\.(\w+))? import ([^\n(]*|\([^)]*\))", re.MULTILINE)
_MARK = "kernels.sha256"

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compile a function that only compiled functions call.

    Integer overflow wraps and indices are not checked: callers bound both. It allocates nothing,
    so numba need not count references.
    """
    # Without wrappers for Python callers it compiles in a fraction of the time.
    options: dict[str, Any] = {
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "_nrt": False,
    }
    return cast(_Function, numba.njit(**options)(function))


def compiled_apart(function: _Function) -> _Function:
    """Compile a function that only compiled functions call, and keep the machine code on disk.

    Another process can compile it for this one.
    """
    options: dict[str, Any] = {
        "cache": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "_nrt": False,
    }
    return cast(_Function, _kept(numba.njit(**options)(function)))


def compiled_entry(function: _Function) -> _Function:
    """Compile a function that Python calls, and keep the machine code on disk.

    Other threads of Python run beside it, here and in ``compiled_in_place``.
    """
    options: dict[str, Any] = {
        "cache": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "nogil": True,
    }
    return cast(_Function, _kept(numba.njit(**options)(function)))


def compiled_in_place(function: _Function) -> _Function:
    """Compile a function that Python calls and that allocates nothing; keep it on disk."""
    options: dict[str, Any] = {
        "cache": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "nogil": True,
        "_nrt": False,
    }
    return cast(_Function, _kept(numba.njit(**options)(function)))


def njit(**options: Any) -> Callable[[_Function], _Function]:
    """Return numba's decorator of that name, for functions that are kept on disk."""

    def decorate(function: _Function) -> _Function:
        return cast(_Function, _kept(numba.njit(**options)(function)))

    return decorate


def _kept(dispatcher: Any) -> Any:
    """Return the compiled function, after what is on disk of older sources was removed."""
    drop_stale_code(Path(dispatcher.stats.cache_path))
    return dispatcher


@functools.cache
def drop_stale_code(folder: Path) -> None:
    """Remove machine code of other versions of the sources.

    Machine code contains every function that it calls, wherever it is defined, but numba compares
    the file of the outermost one only.

    Parameters
    ----------
    folder : Path
        Where numba keeps the machine code of this package.
    """
    mark, digest = folder / _MARK, source_digest(Path(__file__).parent)
    with suppress(OSError):
        if mark.exists() and mark.read_text() == digest:
            return
        for pattern in ("*.nbi", "*.nbc"):
            for path in folder.glob(pattern):
                path.unlink(missing_ok=True)
        mark.write_text(digest)


@functools.cache
def source_digest(folder: Path) -> str:
    """Return a digest of the modules that define compiled functions, and of all they import."""
    texts = {path.stem: path.read_text() for path in folder.glob("*.py")}
    wanted = [
        name for name, text in texts.items() if re.search(r"^@(compiled|njit)", text, re.MULTILINE)
    ]
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in texts and name not in seen:
            seen.add(name)
            for module, names in _IMPORT.findall(texts[name]):
                wanted += [module] if module else re.findall(r"\w+", names)
    text = "".join(texts[name] for name in sorted(seen))
    return hashlib.sha256(text.encode()).hexdigest()


@compiled
def copy_into(target: Any, source: Any) -> None:
    """Copy a one-dimensional array of the same length and dtype.

    Compiled code assigns no array to a slice: numba would compile numpy's messages as well.
    """
    for i in range(len(target)):
        target[i] = source[i]
