"""A sparse mixed-integer program, and the builder that makes one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oracles.arithmetic import FloatArray, IntArray
from oracles.problem import Hypothesis


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixedIntegerProgram:
    """Minimise ``objective @ x + offset`` over ``row_lower <= A x <= row_upper`` and the bounds.

    Parameters
    ----------
    objective : ndarray of float64, shape (n,)
        Cost of each variable, in rows; exact multiples of the problem's unit.
    offset : float
        Constant of the objective, in rows.
    lower, upper : ndarray of float64, shape (n,)
        Bounds of the variables.
    integrality : ndarray of bool, shape (n,)
        Which variables must be integer.
    starts : ndarray of int64, shape (k + 1,)
        Where each row of ``A`` begins in ``columns`` and ``coefficients`` (compressed rows).
    columns : ndarray of int64
        Variable of each non-zero.
    coefficients : ndarray of float64
        Value of each non-zero.
    row_lower, row_upper : ndarray of float64, shape (k,)
        Bounds of the rows; infinite where there is none.
    choices : tuple of tuple of int
        ``choices[j][a]`` is the binary variable that says ``w_j`` has its ``a``-th value.
    values : tuple of tuple of int
        ``values[j][a]`` is that value.
    """

    objective: FloatArray
    offset: float
    lower: FloatArray
    upper: FloatArray
    integrality: NDArray[np.bool_]
    starts: IntArray
    columns: IntArray
    coefficients: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    choices: tuple[tuple[int, ...], ...]
    values: tuple[tuple[int, ...], ...]

    @property
    def n_variables(self) -> int:
        """Number of variables, n."""
        return len(self.objective)

    @property
    def n_rows(self) -> int:
        """Number of rows, k."""
        return len(self.row_lower)

    @property
    def senses(self) -> tuple[str, ...]:
        """For each row, "E" where it is an equation, else "L" (at most) or "G" (at least)."""
        equal, below = self.row_lower == self.row_upper, np.isinf(self.row_lower)
        assert (equal | below | np.isinf(self.row_upper)).all()
        return tuple(np.where(equal, "E", np.where(below, "L", "G")).tolist())

    @property
    def sides(self) -> FloatArray:
        """For each row, the number that its sense compares with."""
        return np.where(np.isinf(self.row_lower), self.row_upper, self.row_lower)

    def hypothesis(self, assignment: ArrayLike) -> Hypothesis | None:
        """Return the weights that an assignment of the variables stands for.

        Parameters
        ----------
        assignment : array-like of float, shape (n,)
            Values of the variables, integer up to the solver's tolerance.

        Returns
        -------
        tuple of int or None
            None if some coordinate has no clearly chosen value: there is no solution here.
        """
        x = np.asarray(assignment, dtype=np.float64)
        weights = []
        for columns, allowed in zip(self.choices, self.values, strict=True):
            chosen = np.flatnonzero(x[list(columns)] > 0.5)
            if len(chosen) != 1:
                return None
            weights.append(allowed[int(chosen[0])])
        return tuple(weights)

    def value(self, assignment: ArrayLike) -> float:
        """Return the objective of an assignment, in rows, integer variables rounded first."""
        x = np.asarray(assignment, dtype=np.float64)
        x = np.where(self.integrality, np.rint(x), x)
        return math.fsum(self.objective * x) + self.offset


class ProgramBuilder:
    """A mixed-integer program under construction."""

    def __init__(self) -> None:
        self.objective: list[float] = []
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.integrality: list[bool] = []
        self.columns: list[IntArray] = []
        self.coefficients: list[FloatArray] = []
        self.row_lower: list[float] = []
        self.row_upper: list[float] = []
        self.offset = 0.0

    def variable(
        self, cost: float, *, lower: float = 0.0, upper: float = 1.0, integer: bool = True
    ) -> int:
        """Add a variable and return its position."""
        self.objective.append(float(cost))
        self.lower.append(float(lower))
        self.upper.append(float(upper))
        self.integrality.append(integer)
        return len(self.objective) - 1

    def variables(self, costs: Sequence[float], *, integer: bool = True) -> tuple[int, ...]:
        """Add one variable in [0, 1] per cost."""
        return tuple(self.variable(cost, integer=integer) for cost in costs)

    def row(
        self, lower: float, upper: float, columns: Sequence[int], coefficients: ArrayLike
    ) -> None:
        """Add ``lower <= coefficients @ x[columns] <= upper``."""
        values = np.asarray(coefficients, dtype=np.float64)
        kept = values != 0
        self.columns.append(np.asarray(columns, dtype=np.int64)[kept])
        self.coefficients.append(values[kept])
        self.row_lower.append(float(lower))
        self.row_upper.append(float(upper))

    def finish(
        self, choices: tuple[tuple[int, ...], ...], values: tuple[tuple[int, ...], ...]
    ) -> MixedIntegerProgram:
        """Return the program; ``choices`` and ``values`` say how to read the weights back."""
        lengths = [0, *(len(columns) for columns in self.columns)]
        return MixedIntegerProgram(
            objective=_frozen(self.objective, np.float64),
            offset=self.offset,
            lower=_frozen(self.lower, np.float64),
            upper=_frozen(self.upper, np.float64),
            integrality=_frozen(self.integrality, np.bool_),
            starts=_frozen(np.cumsum(lengths), np.int64),
            columns=_frozen(np.concatenate(self.columns), np.int64),
            coefficients=_frozen(np.concatenate(self.coefficients), np.float64),
            row_lower=_frozen(self.row_lower, np.float64),
            row_upper=_frozen(self.row_upper, np.float64),
            choices=choices,
            values=values,
        )


def _frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array
