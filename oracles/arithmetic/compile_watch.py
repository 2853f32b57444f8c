"""Who is told that kernels are being compiled: a wait that happens once per installation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Told = Callable[[bool], None]
"""Called with True when compiling begins, with False when it has ended."""

_watchers: list[Told] = []

_depth = 0


@contextmanager
def watch_compiling(told: Told) -> Iterator[None]:
    """Tell a callback of compiling in this process, or waited for by it, while this is open."""
    _watchers.append(told)
    try:
        yield
    finally:
        _watchers.remove(told)


def is_watched() -> bool:
    """Return whether anybody is told."""
    return bool(_watchers)


@contextmanager
def compiling() -> Iterator[None]:
    """Tell that kernels are being compiled; what is nested in another tells nothing."""
    begin()
    try:
        yield
    finally:
        end()


def begin() -> None:
    """Tell that compiling begins."""
    global _depth
    _depth += 1
    if _depth == 1:
        _tell(True)


def end() -> None:
    """Tell that compiling has ended."""
    global _depth
    _depth -= 1
    if _depth == 0:
        _tell(False)


def _tell(begun: bool) -> None:
    for told in tuple(_watchers):
        told(begun)
