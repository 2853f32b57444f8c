"""Small problems of every shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oracles.errors import check_choice
from oracles.problem import Perturbation, WeightGrid, ZeroOneProblem

KINDS = ("plain", "separable", "blocks", "sphere", "float-separable", "float-sphere")
"""Shapes of perturbation: none; one table per coordinate; a table per block of coordinates; one
table per coordinate and one for the squared norm; the same two without a lattice."""


def random_problem(
    rng: np.random.Generator, kind: str = "separable", *, negative_counts: bool = False
) -> ZeroOneProblem:
    """Return a problem small enough for :func:`brute_force`.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the choices.
    kind : str
        One of :data:`KINDS`.
    negative_counts : bool
        Whether counts may be negative.

    Returns
    -------
    ZeroOneProblem
        At most 4 coordinates, 12 points and a few hundred hypotheses; sometimes a norm budget,
        repeated points, irregular weight values, zero counts or no points at all.
    """
    check_choice("kind", kind, KINDS)
    grid = _random_grid(rng)
    n_points = int(rng.integers(0, 13))
    reach = int(rng.choice([1, 1, 2]))
    points = rng.integers(
        -reach if rng.random() < 0.4 else 0, reach + 1, (n_points, grid.n_features)
    )
    if n_points and rng.random() < 0.7:
        points[:, -1] = 1
    smallest = -6 if negative_counts else 0
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(smallest, 7, n_points),
        negatives=rng.integers(smallest, 7, n_points),
        grid=grid,
        perturbation=_random_perturbation(rng, kind, grid),
    )


def _random_grid(rng: np.random.Generator) -> WeightGrid:
    d = int(rng.integers(1, 5))
    if rng.random() < 0.5:
        values = WeightGrid.box(d, int(rng.integers(1, 4 if d < 4 else 2))).values
    else:
        sizes = rng.integers(1, 5, d)
        values = tuple(
            tuple(sorted(rng.choice(np.arange(-4, 5), size, replace=False).tolist()))
            for size in sizes
        )
    if rng.random() < 0.6:
        return WeightGrid(values=values)
    smallest = sum(min(v * v for v in allowed) for allowed in values)
    return WeightGrid(values=values, norm_budget=smallest + int(rng.integers(0, 8)))


def _random_perturbation(
    rng: np.random.Generator, kind: str, grid: WeightGrid
) -> Perturbation | None:
    if kind == "plain":
        return None
    unit = None if kind.startswith("float") else float(2.0 ** -int(rng.choice([0, 1, 3, 10])))
    scale = float(rng.choice([0.5, 3.0, 10.0]))

    def table(shape: tuple[int, ...]) -> NDArray[Any]:
        drawn = rng.laplace(0.0, scale, shape)
        return drawn if unit is None else np.rint(drawn / unit).astype(np.int64)

    blocks = _random_blocks(rng, grid.n_features) if kind == "blocks" else None
    if blocks is None:
        blocks = tuple((j,) for j in range(grid.n_features))
    return Perturbation(
        blocks=blocks,
        tables=tuple(table(tuple(grid.shape[j] for j in block)) for block in blocks),
        norm_table=table((grid.largest_norm + 1,)) if kind.endswith("sphere") else None,
        unit=unit,
    )


def _random_blocks(rng: np.random.Generator, n_features: int) -> tuple[tuple[int, ...], ...]:
    """Return a random partition of the coordinates, or of all but the last one."""
    order = rng.permutation(n_features)
    covered = order[:-1] if n_features > 1 and rng.random() < 0.3 else order
    cuts = np.sort(rng.choice(len(covered) + 1, int(rng.integers(0, 3))))
    parts = np.split(covered, cuts)
    return tuple(tuple(int(j) for j in part) for part in parts if len(part))


def named_problems() -> Iterator[tuple[str, ZeroOneProblem]]:
    """Yield the corner cases."""
    box = WeightGrid.box(2, 2)
    points = [[1, 0], [1, 1], [0, 1], [0, 0]]

    def problem(
        positives: list[int],
        negatives: list[int],
        grid: WeightGrid = box,
        perturbation: Perturbation | None = None,
    ) -> ZeroOneProblem:
        return ZeroOneProblem(
            points=np.array(points),
            positives=np.array(positives),
            negatives=np.array(negatives),
            grid=grid,
            perturbation=perturbation,
        )

    tables = Perturbation.separable([[0, 5, 1, 0, 0], [3, 0, 0, 0, 9]], unit=0.25)
    yield "two classes", problem([3, 0, 1, 2], [1, 2, 4, 0])
    yield "positives only", problem([3, 1, 1, 2], [0, 0, 0, 0])
    yield "negatives only", problem([0, 0, 0, 0], [1, 2, 4, 1])
    yield "negative counts", problem([-3, 0, 1, -2], [1, -2, -4, 0])
    yield "counts that cancel", problem([2, 1, 4, 3], [2, 1, 4, 3])
    yield "norm budget 0", problem([3, 0, 1, 2], [1, 2, 4, 0], WeightGrid.box(2, 2, 0))
    yield "norm budget 1", problem([3, 0, 1, 2], [1, 2, 4, 0], WeightGrid.box(2, 2, 1), tables)
    yield "one hypothesis", problem([3, 0, 1, 2], [1, 2, 4, 0], WeightGrid(values=((1,), (-2,))))
    yield (
        "weights far from zero",
        problem([1, 1, 1, 1], [2, 0, 2, 0], WeightGrid(values=((3, 7), (-9, 4)))),
    )
    for name, perturbation in (("plain", None), ("perturbed", tables)):
        yield (
            f"empty table, {name}",
            ZeroOneProblem(
                points=np.zeros((0, 2), dtype=np.int64),
                positives=np.zeros(0, dtype=np.int64),
                negatives=np.zeros(0, dtype=np.int64),
                grid=box,
                perturbation=perturbation,
            ),
        )


def larger_problem(seed: int) -> tuple[str, ZeroOneProblem]:
    """Return a problem on which a hurried search can be caught short."""
    rng = np.random.default_rng(seed)
    points = np.unique(rng.integers(0, 2, (80, 6)), axis=0)
    problem = ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 20, len(points)),
        negatives=rng.integers(0, 20, len(points)),
        grid=WeightGrid.box(6, 1),
    )
    return "larger", problem


def wide_problem(rng: np.random.Generator) -> ZeroOneProblem:
    """Return a problem far too large for :func:`brute_force`, of the shape that tables have.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of the choices.

    Returns
    -------
    ZeroOneProblem
        20 to 38 coordinates in {-1, 0, 1}: a constant and groups of exclusive columns. 200 to 600
        points with labels that a hidden hypothesis explains but for one in ten to one in three.
        With or without tables, from weak to strong beside the loss.
    """
    d, grid_unit = int(rng.integers(20, 39)), 2.0**-10
    columns = np.arange(1, d)
    cuts = np.sort(rng.choice(columns[1:], int(rng.integers(3, 6)), replace=False)) - 1
    groups = np.split(columns, cuts)
    rows = np.zeros((4000, d), dtype=np.int64)
    rows[:, 0] = 1
    for group in groups:
        weights = rng.dirichlet(np.full(len(group) + 1, 0.7))
        chosen = rng.choice(len(group) + 1, len(rows), p=weights)
        active = np.flatnonzero(chosen < len(group))
        rows[active, group[chosen[active]]] = 1
    labels = rows @ rng.integers(-1, 2, d) >= 1
    labels ^= rng.random(len(rows)) < rng.uniform(0.1, 0.33)
    kept = np.unique(rows, axis=0, return_inverse=True)
    points, inverse = kept[0], kept[1].ravel()
    counts = np.zeros((2, len(points)), dtype=np.int64)
    np.add.at(counts, (labels.astype(np.int64), inverse), 1)
    largest = int(rng.integers(200, 601))
    heaviest = np.argsort(-counts.sum(axis=0), kind="stable")[:largest]
    scale = float(rng.choice([0.0, 1.0, 3.0, 10.0, 30.0]))
    tables = np.rint(rng.exponential(scale, (d, 3)) / grid_unit).astype(np.int64)
    return ZeroOneProblem(
        points=points[heaviest],
        positives=counts[1, heaviest],
        negatives=counts[0, heaviest],
        grid=WeightGrid.box(d, 1),
        perturbation=Perturbation.separable(list(tables), unit=grid_unit) if scale else None,
    )


def equivalents(problem: ZeroOneProblem) -> Iterator[tuple[str, ZeroOneProblem]]:
    """Yield restatements of a problem that leave its optimum unchanged."""
    m = problem.n_points
    if not m:
        return
    halves = problem.positives // 2, problem.negatives // 2
    rests = problem.positives - halves[0], problem.negatives - halves[1]
    merged, inverse = np.unique(problem.points, axis=0, return_inverse=True)
    counts = np.zeros((2, len(merged)), dtype=np.int64)
    np.add.at(counts[0], inverse.ravel(), problem.positives)
    np.add.at(counts[1], inverse.ravel(), problem.negatives)
    order = np.random.default_rng(m).permutation(m)
    twice = np.concatenate([problem.points, problem.points])
    zeros = np.zeros(m, dtype=np.int64)
    versions = {
        "duplicates merged": (merged, counts[0], counts[1]),
        "weights split": (
            twice,
            np.concatenate([halves[0], rests[0]]),
            np.concatenate([halves[1], rests[1]]),
        ),
        "points permuted": (
            problem.points[order],
            problem.positives[order],
            problem.negatives[order],
        ),
        "weightless points added": (
            np.concatenate([problem.points, 1 - problem.points]),
            np.concatenate([problem.positives, zeros]),
            np.concatenate([problem.negatives, zeros]),
        ),
    }
    for change, (points, positives, negatives) in versions.items():
        yield (
            change,
            ZeroOneProblem(
                points=points,
                positives=positives,
                negatives=negatives,
                grid=problem.grid,
                perturbation=problem.perturbation,
            ),
        )
