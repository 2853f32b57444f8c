"""Compiling what later fits need, on toys of public facts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from opdisc.mechanisms import (
    AStarPermuteAndFlipMechanism,
    ExponentialMechanism,
    StagedMechanism,
    toy_problem,
)
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams, SeededEntropy
from opdisc.tuned import ASSUMED_ROWS
from oracles.problem import WeightGrid

# Each grid is one that the mechanism of its line is chosen for, so that the same code runs.
_DRAWS = (
    (AStarPermuteAndFlipMechanism(), WeightGrid.box(8, 3)),
    (ExponentialMechanism(), WeightGrid.box(40, 1, norm_budget=2)),
    (StagedMechanism(patience=0.5), WeightGrid.box(6, 12)),
)

COMPILATIONS = len(_DRAWS)
"""How many steps :func:`compile_kernels` takes."""


def compile_kernels(step: Callable[[], object] | None = None) -> None:
    """Run every default draw once, each on a toy of three rows.

    Where machine code is kept on disk this takes some seconds in the first process that does it,
    and none in any other. What fails, and what no default fit runs, is compiled when it is needed.

    Parameters
    ----------
    step : callable or None
        Called before each of the :data:`COMPILATIONS`.
    """
    step = step or (lambda: None)
    for mechanism, grid in _DRAWS:
        step()
        public = GridPublic(
            params=PrivacyParams(epsilon=1.0, delta=0.0),
            relation=NeighboringRelation.REPLACE_ONE,
            grid=grid,
            n_rows=ASSUMED_ROWS,
        )
        toy, spec = toy_problem(grid), mechanism.calibrate(public)
        with suppress(Exception):
            mechanism.prepare(toy, spec)
            mechanism.draw(toy, spec, SeededEntropy(0))
