"""Hypothesis strategies for problems small enough for brute force."""

import numpy as np
from hypothesis import strategies as st

from oracles import Perturbation, WeightGrid, ZeroOneProblem

small_integers = st.integers(-3, 3)


@st.composite
def grids(draw, max_features=3):
    """Boxes of irregular values, with or without a norm budget that leaves something."""
    allowed = st.lists(small_integers, min_size=1, max_size=4, unique=True).map(
        lambda values: tuple(sorted(values))
    )
    values = tuple(draw(st.lists(allowed, min_size=1, max_size=max_features)))
    smallest = sum(min(v * v for v in one) for one in values)
    budget = draw(st.none() | st.integers(smallest, smallest + 9))
    return WeightGrid(values=values, norm_budget=budget)


@st.composite
def partitions(draw, n_features):
    """Disjoint non-empty blocks of some of the coordinates."""
    labels = draw(st.lists(st.integers(-1, 1), min_size=n_features, max_size=n_features))
    blocks = (tuple(j for j in range(n_features) if labels[j] == k) for k in (0, 1))
    return tuple(block for block in blocks if block)


@st.composite
def perturbations(draw, grid):
    """Tables over arbitrary blocks, perhaps a norm table, on a lattice or not."""
    unit = draw(st.sampled_from([None, 1.0, 0.5, 2.0**-10]))
    blocks = draw(partitions(grid.n_features))

    def table(shape):
        size = int(np.prod(shape))
        if unit is None:
            entries = st.floats(-20, 20, allow_nan=False, width=32)
        else:
            entries = st.integers(-20_000, 20_000)
        values = draw(st.lists(entries, min_size=size, max_size=size))
        dtype = np.float64 if unit is None else np.int64
        return np.array(values, dtype=dtype).reshape(shape)

    return Perturbation(
        blocks=blocks,
        tables=tuple(table(tuple(grid.shape[j] for j in block)) for block in blocks),
        norm_table=table((grid.largest_norm + 1,)) if draw(st.booleans()) else None,
        unit=unit,
    )


@st.composite
def problems(draw, max_points=8, min_count=-5):
    """Whole problems: any grid, any points, any perturbation."""
    grid = draw(grids())
    n_points = draw(st.integers(0, max_points))
    row = st.lists(small_integers, min_size=grid.n_features, max_size=grid.n_features)
    counts = st.lists(st.integers(min_count, 9), min_size=n_points, max_size=n_points)
    points = draw(st.lists(row, min_size=n_points, max_size=n_points))
    return ZeroOneProblem(
        points=np.array(points, dtype=np.int64).reshape(n_points, grid.n_features),
        positives=np.array(draw(counts), dtype=np.int64),
        negatives=np.array(draw(counts), dtype=np.int64),
        grid=grid,
        perturbation=draw(st.none() | perturbations(grid)),
    )
