"""Compiling the exact search: once per machine, by two processes where there are two cores."""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
from numba import typeof, types

from oracles.arithmetic import (
    ChildProcess,
    ParentConnection,
    code_on_disk,
    compiling,
    is_watched,
    module_command,
    module_environment,
)
from oracles.branch_and_bound import local_search as walking
from oracles.branch_and_bound.block_bound import compile_kernels
from oracles.branch_and_bound.kernels import (
    branching as branching_kernels,
    children as frame_kernels,
    completion as completion_kernels,
    search as search_kernels,
)
from oracles.branch_and_bound.local_search import columns_of, new_walk
from oracles.branch_and_bound.reduction import Reduction, reduce_problem
from oracles.branch_and_bound.search import ExactSearch, new_search
from oracles.branch_and_bound.weighted_search import new_weighted_walk, weigh_on
from oracles.problem import WeightGrid, ZeroOneProblem

_SILENT_SECONDS = 1.5

_PATIENCE, _GLANCE = 300.0, 0.05


@functools.lru_cache(maxsize=1)
def compile_search() -> None:
    """Compile the kernels, or load them from disk; say so if it takes long.

    Where nothing is on disk yet a child process compiles the bounds, the walk and the completion
    meanwhile. Should it fail, everything is compiled here.
    """
    timer = threading.Timer(_SILENT_SECONDS, _explain)
    timer.daemon = True
    timer.start()
    try:
        known = code_on_disk(search_kernels.search)
        with nullcontext() if known else compiling():
            _compile_search(known)
    finally:
        timer.cancel()


def _compile_search(known: bool | None) -> None:
    """Compile what is not on disk; another process helps where there are two cores."""
    example = _Example()
    if known is False and (os.cpu_count() or 1) > 1:
        with _Helper() as helper:
            example.compile_steps()
            helper.wait_for(search_kernels.bound_node)
            example.compile_search()
            helper.wait_for(completion_kernels.open_completion)
    example.compile_search()
    if not known:  # else loaded when needed, which saves most processes a tenth of a second
        example.compile_rest()


def _explain() -> None:
    if is_watched():
        return
    often = "once per machine"
    if code_on_disk(search_kernels.search) is None:
        often = "in every process, as no folder can be written: set NUMBA_CACHE_DIR to one"
    print(
        f"branch-and-bound: compiling the search, {often}; it takes up to a minute",
        file=sys.stderr,
    )


class _Example:
    """Types of what the kernels work on, and the kernels compiled for them."""

    def __init__(self) -> None:
        problem = ZeroOneProblem(
            points=np.array([[1, 0], [1, 1]]),
            positives=np.array([0, 3]),
            negatives=np.array([2, 1]),
            grid=WeightGrid.box(2, 1),
        )
        self.reduction: Reduction = reduce_problem(problem)
        self.columns = columns_of(self.reduction)
        self.walk = new_walk(self.reduction, 0)
        self.search: ExactSearch = new_search(self.reduction, self.walk, 0)

    def compile_bounds(self) -> None:
        """Compile what takes longest."""
        model, frames, arena, scratch, state = self._types()
        _compile(search_kernels.bound_node, model, frames, types.int64, arena, scratch, state)

    def compile_steps(self) -> None:
        """Compile the parts of a node's visit other than its bound."""
        model, frames, arena, scratch, state = self._types()
        i = types.int64
        _compile(frame_kernels.make_child, model, frames, i, arena, scratch, i, i, i)
        _compile(branching_kernels.weigh_coordinates, model, frames, i, arena, scratch)
        _compile(branching_kernels.worth_completing, model, frames, i, arena, scratch, state)
        _compile(branching_kernels.branch, model, frames, i, scratch, i, state)
        _compile(search_kernels.try_candidate, model, frames, i, arena, scratch, state)

    def compile_search(self) -> None:
        """Compile the search itself."""
        model, frames, arena, scratch, state = self._types()
        _compile(search_kernels.search, model, frames, arena, scratch, state, types.int64)

    def compile_rest(self) -> None:
        """Compile the block bound, the walk and the completion of nodes."""
        model, frames, arena, _, _ = self._types()
        i, vector = types.int64, types.int64[::1]
        columns, walk, completion = _types_of(self.columns, self.walk, self.search.completion)
        _compile(walking.walk_on, model, columns, walk, i)
        (weigher,) = _types_of(new_weighted_walk(self.reduction, self.columns, self.walk))
        _compile(weigh_on, model, weigher, i)
        compile_kernels(self.search)
        _compile(completion_kernels.complete, completion, vector, i, i, i, i)
        _compile(completion_kernels.open_completion, model, frames, i, arena, completion, i, i, i)

    def _types(self) -> tuple[Any, ...]:
        search = self.search
        return _types_of(
            self.reduction.model, search.frames, search.arena, search.scratch, search.state
        )


def _types_of(*values: object) -> tuple[Any, ...]:
    kind: Any = typeof
    return tuple(kind(value) for value in values)


def _compile(function: Any, *signature: Any) -> None:
    function.compile(signature)


class _Helper:
    """A child process that runs this module; None if none could be started."""

    def __init__(self) -> None:
        self.child: ChildProcess | None = None
        with suppress(OSError):
            self.child = ChildProcess(module_command(__name__), environment=module_environment())

    def __enter__(self) -> _Helper:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child is not None:
            self.child.close()

    def wait_for(self, function: Any) -> None:
        """Wait until the function is on disk or the child has ended, for whatever reason."""
        last = time.monotonic() + _PATIENCE
        while self.child is not None and self.child.is_alive and time.monotonic() < last:
            if code_on_disk(function):
                return
            time.sleep(_GLANCE)


if __name__ == "__main__":
    _parent = ParentConnection()
    _part = _Example()
    _part.compile_bounds()
    _part.compile_rest()
