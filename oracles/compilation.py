"""Numba's compiler behind a typed decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compile a function on its first call and keep the machine code on disk.

    Integer overflow wraps and indices are not checked: callers bound both.
    """
    return cast(_Function, numba.njit(cache=True, error_model="numpy")(function))
