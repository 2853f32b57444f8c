"""Numba's compiler behind a typed decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

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
    return cast(_Function, numba.njit(**options)(function))


def compiled_in_place(function: _Function) -> _Function:
    """Compile a function that Python calls and that allocates nothing; keep it on disk."""
    options: dict[str, Any] = {
        "cache": True,
        "no_cfunc_wrapper": True,
        "error_model": "numpy",
        "nogil": True,
        "_nrt": False,
    }
    return cast(_Function, numba.njit(**options)(function))


@compiled
def copy_into(target: Any, source: Any) -> None:
    """Copy a one-dimensional array of the same length.

    Compiled code assigns no array to a slice: numba would compile numpy's messages as well.
    """
    for i in range(len(target)):
        target[i] = source[i]
