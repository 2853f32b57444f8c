"""Compiling what fits will need, so that the first of them does not wait for it."""

from __future__ import annotations

from contextlib import suppress

from opdisc.cli.console import progress_steps

_ROWS = 100_000


def compile_kernels() -> None:
    """Run every default draw and the exact search once, on toys of public facts.

    Where machine code is kept on disk this takes a minute or two in the first process that does
    it, and seconds in any other. What fails is compiled when it is needed.
    """
    from opdisc.mechanisms import (
        AStarPermuteAndFlipMechanism,
        ExponentialMechanism,
        StagedMechanism,
        toy_problem,
    )
    from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams, SeededEntropy
    from oracles.interface import solve
    from oracles.problem import ColumnGroup, WeightGrid

    halves = (
        ColumnGroup(columns=tuple(range(1, 9)), kind="exclusive"),
        ColumnGroup(columns=tuple(range(9, 17)), kind="nested"),
    )
    # Each grid is one that the mechanism of its line is chosen for, so that the same code runs.
    draws = (
        (AStarPermuteAndFlipMechanism(), WeightGrid.box(8, 3)),
        (ExponentialMechanism(structure=halves), WeightGrid.box(17, 1)),
        (ExponentialMechanism(), WeightGrid.box(40, 1, norm_budget=2)),
        (StagedMechanism(patience=0.5), WeightGrid.box(6, 12)),
    )
    with progress_steps(len(draws) + 1) as step:
        for mechanism, grid in draws:
            step("preparing for later fits")
            public = GridPublic(
                params=PrivacyParams(epsilon=1.0, delta=0.0),
                relation=NeighboringRelation.REPLACE_ONE,
                grid=grid,
                n_rows=_ROWS,
            )
            toy, spec = toy_problem(grid), mechanism.calibrate(public)
            with suppress(Exception):
                mechanism.prepare(toy, spec)
                mechanism.draw(toy, spec, SeededEntropy(0))
        step("preparing for later fits")
        with suppress(Exception):
            solve(toy_problem(WeightGrid.box(6, 1)), "branch-and-bound")
