"""Separator sets: public rows on which any two hypotheses of a class are predicted differently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opdisc.errors import CalibrationError
from oracles.arithmetic import IntArray
from oracles.problem import WeightGrid, ZeroOneProblem, grid_assignments

_LARGEST_CHECK = 1_000_000


@runtime_checkable
class SeparatorSet(Protocol):
    """Labelled rows that separate a class of hypotheses. Public: never read from a table.

    ``psi_i(w)`` is 1 if hypothesis w predicts row i's own label, else 0.

    Attributes
    ----------
    points : ndarray of shape (m, d), int64
        Feature vectors.
    labels : ndarray of shape (m,), int64
        +1 or -1.
    """

    @property
    def points(self) -> IntArray:
        """Feature vectors, shape (m, d)."""
        ...

    @property
    def labels(self) -> IntArray:
        """Labels +1 or -1, shape (m,)."""
        ...

    def separates(self, grid: WeightGrid) -> bool:
        """Return whether any two hypotheses of the grid differ on at least one row, proven."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SeparatorRows:
    """An explicit separator set that checks itself.

    Parameters
    ----------
    points : array-like of int, shape (m, d)
        Feature vectors.
    labels : array-like of int, shape (m,)
        +1 or -1.

    Raises
    ------
    CalibrationError
        If shapes or labels are wrong.

    Examples
    --------
    >>> rows = conjunction_rows(2)
    >>> rows.separates(conjunction_grid(2)), rows.separates(WeightGrid.box(3, 1))
    (True, False)
    """

    points: IntArray
    labels: IntArray

    def __post_init__(self) -> None:
        """Validate, and store read-only copies."""
        points = np.array(self.points, dtype=np.int64, ndmin=2)
        labels = np.array(self.labels, dtype=np.int64)
        if labels.shape != (len(points),) or not np.isin(labels, (-1, 1)).all():
            raise CalibrationError("separator rows need one label per row, each +1 or -1.")
        for name, array in (("points", points), ("labels", labels)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def separates(self, grid: WeightGrid) -> bool:
        """Return whether any two hypotheses of the grid differ on at least one row.

        Raises
        ------
        CalibrationError
            If the grid is too large to try every hypothesis and the rows do not determine each
            coordinate by themselves.
        """
        if self.points.shape[1] != grid.n_features:
            return False
        if _determines_each_coordinate(self.points, grid):
            return True
        if grid.n_assignments > _LARGEST_CHECK:
            raise CalibrationError(
                f"separators are checked on grids of at most {_LARGEST_CHECK:,} weight "
                "combinations, unless every coordinate has rows of its own; give a SeparatorSet "
                "that proves its separation."
            )
        assignments = grid_assignments(grid.values)
        if grid.norm_budget is not None:
            assignments = assignments[(assignments**2).sum(axis=1) <= grid.norm_budget]
        codes = np.packbits(assignments @ self.points.T >= 1, axis=1)
        return len(np.unique(codes, axis=0)) == len(assignments)


def _determines_each_coordinate(points: IntArray, grid: WeightGrid) -> bool:
    """Return whether, for every coordinate, the rows that involve only it tell its values apart.

    A row involves only coordinate j if it is zero at all others that have a choice.
    """
    free = np.array([len(allowed) > 1 for allowed in grid.values])
    fixed = np.array([0 if len(v) > 1 else v[0] for v in grid.values], dtype=np.int64)
    for j, allowed in enumerate(grid.values):
        if len(allowed) == 1:
            continue
        others = free.copy()
        others[j] = False
        own = points[(points[:, others] == 0).all(axis=1)]
        scores = np.outer(allowed, own[:, j]) + own @ fixed
        if len(np.unique(scores >= 1, axis=0)) < len(allowed):
            return False
    return True


def coordinate_rows(grid: WeightGrid) -> SeparatorRows:
    """Return the thermometer separators of a grid as data rows, in thermometer order.

    Parameters
    ----------
    grid : WeightGrid
        Every coordinate has at most one value >= 1, at most one <= -1, and possibly 0.

    Returns
    -------
    SeparatorRows
        For the threshold ``w_j >= a > 0`` the row ``e_j`` with label +1; for ``a <= 0`` the row
        ``-e_j`` with label -1, whose score is at least 1 exactly when ``w_j <= -1``.

    Raises
    ------
    CalibrationError
        If some coordinate has two values of the same sign: a row scores them both at least 1 or
        both below, because scores are compared with 1 and can only be multiplied by integers.

    Examples
    --------
    >>> coordinate_rows(WeightGrid.box(1, 1)).points.tolist()
    [[-1], [1]]
    """
    points, labels = [], []
    for j, allowed in enumerate(grid.values):
        if len({int(np.sign(a)) for a in allowed}) < len(allowed):
            raise CalibrationError(
                "separators exist as data rows only where a coordinate has at most one positive "
                "and one negative weight; use route='tables'."
            )
        for threshold in allowed[1:]:
            row = np.zeros(grid.n_features, dtype=np.int64)
            row[j] = 1 if threshold > 0 else -1
            points.append(row)
            labels.append(row[j])
    shape = (len(points), grid.n_features)
    return SeparatorRows(
        points=np.array(points, dtype=np.int64).reshape(shape),
        labels=np.array(labels, dtype=np.int64),
    )


def conjunction_grid(n_columns: int) -> WeightGrid:
    """Return the conjunctions of columns as a grid: "all chosen columns are 1".

    Parameters
    ----------
    n_columns : int
        Number of binary columns z.

    Returns
    -------
    WeightGrid
        Coordinate 0 is fixed to 1, coordinate j is -1 if column j is in the conjunction, else 0.
        Points are ``(1, 1 - z)``, see :func:`conjunction_points`: the score is 1 minus the
        number of violated columns, hence at least 1 only if none is.
    """
    return WeightGrid(values=((1,),) + ((-1, 0),) * n_columns)


def conjunction_points(columns: ArrayLike) -> IntArray:
    """Return binary columns as points for :func:`conjunction_grid`, shape (m, 1 + d) int64."""
    z = np.array(columns, dtype=np.int64, ndmin=2)
    return np.column_stack([np.ones(len(z), dtype=np.int64), 1 - z])


def conjunction_rows(n_columns: int) -> SeparatorRows:
    """Return the separators of conjunctions: all columns 1 but one (Neel, Roth, Wu 2018).

    A conjunction is true on row j exactly when it does not contain column j.
    """
    ones = np.ones((n_columns, n_columns), dtype=np.int64) - np.eye(n_columns, dtype=np.int64)
    return SeparatorRows(
        points=conjunction_points(ones), labels=np.ones(n_columns, dtype=np.int64)
    )


Rows = TypeVar("Rows", bound=ZeroOneProblem)


def append_weighted_rows(
    problem: Rows, rows: SeparatorSet, steps: NDArray[np.int64], steps_per_row: int
) -> Rows:
    """Return the data set with weighted separator rows: RSPM as Neel, Roth, Wu 2018 state it.

    Parameters
    ----------
    problem : ZeroOneProblem
        Without a perturbation.
    rows : SeparatorSet
        m rows.
    steps : ndarray of shape (m,), int64
        What predicting each row's label earns, lattice steps; may be negative.
    steps_per_row : int
        Lattice steps per misclassified row.

    Returns
    -------
    ZeroOneProblem
        Its objective is the perturbed one in lattice steps: row i costs ``-steps[i]`` if its own
        label is predicted and nothing otherwise.
    """
    positive = np.asarray(rows.labels) == 1
    return replace(
        problem,
        points=np.concatenate([problem.points, rows.points]),
        # A row's "-" weight is paid when "+" is predicted, and conversely.
        positives=np.concatenate(
            [problem.positives * steps_per_row, np.where(positive, 0, -steps)]
        ),
        negatives=np.concatenate(
            [problem.negatives * steps_per_row, np.where(positive, -steps, 0)]
        ),
    )
