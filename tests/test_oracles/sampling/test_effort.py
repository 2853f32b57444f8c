"""The expectation of how long an exact draw takes: public arguments only."""

from __future__ import annotations

from oracles.problem.grid import WeightGrid
from oracles.problem.structure import ColumnGroup
from oracles.sampling.effort import sampling_reach


def one_hot(*sizes: int) -> list[ColumnGroup]:
    groups, start = [], 1
    for size in sizes:
        groups.append(ColumnGroup(columns=tuple(range(start, start + size)), kind="exclusive"))
        start += size
    return groups


def test_one_hot_attributes_at_small_weights_are_fast() -> None:
    structure = one_hot(7, 15, 6, 7, 2)
    assert sampling_reach(WeightGrid.box(38, 1), structure, 0.5).verdict == "fast"
    assert sampling_reach(WeightGrid.box(38, 2), structure, 0.5).verdict == "slow"
    assert sampling_reach(WeightGrid.box(38, 5), structure, 0.5).verdict == "beyond"


def test_many_free_columns_are_beyond_unless_the_loss_weighs_little() -> None:
    grid = WeightGrid.box(34, 1)
    assert sampling_reach(grid, (), 0.5).verdict == "beyond"
    assert sampling_reach(grid, (), 0.5, n_rows=30).verdict == "fast"
    flat = sampling_reach(grid, (), 0.005, n_rows=1000)
    assert flat.verdict == "fast"
    assert flat.flatness == 2.5


def test_small_grids_are_fast_where_columns_relate_or_the_loss_weighs_little() -> None:
    assert sampling_reach(WeightGrid.box(16, 1), (), 0.5, n_rows=900).verdict == "fast"
    assert sampling_reach(WeightGrid.box(19, 1), (), 0.5, n_rows=7214).verdict == "slow"
    related = one_hot(6, 6)
    assert sampling_reach(WeightGrid.box(16, 1), related, 0.5, n_rows=7214).verdict == "fast"


def test_free_columns_need_more_than_small_blocks() -> None:
    assert sampling_reach(WeightGrid.box(20, 1), (), 0.5, n_rows=5000).verdict == "slow"
