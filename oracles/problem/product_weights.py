"""Weights of hypotheses that are a product over the coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.errors import InvalidProblem
from oracles.problem.grid import WeightGrid


@dataclass(frozen=True, slots=True, kw_only=True)
class LogWeights:
    """A function of the hypothesis: a sum of one number per coordinate and value, nats.

    Parameters
    ----------
    tables : sequence of sequence of Fraction or float
        For each coordinate the log-weight of each of its values, in grid order. Floats stand for
        the binary fractions they are.

    Raises
    ------
    InvalidProblem
        If a number is not finite or a coordinate has none.

    Examples
    --------
    >>> weights = LogWeights(tables=((-1.0, 0.0), (0.5, 0.5)))
    >>> weights.penalty(WeightGrid(values=((0, 1), (0, 1))), (0, 1))
    Fraction(1, 1)
    """

    tables: tuple[tuple[Fraction, ...], ...]

    def __post_init__(self) -> None:
        """Store exact fractions."""
        try:
            exact = tuple(tuple(Fraction(v) for v in table) for table in self.tables)
        except (ValueError, OverflowError, TypeError):
            raise InvalidProblem("log-weights must be finite numbers.") from None
        if not all(exact):
            raise InvalidProblem("every coordinate needs a log-weight for each of its values.")
        object.__setattr__(self, "tables", exact)

    def check(self, grid: WeightGrid) -> None:
        """Refuse a grid of another shape."""
        shape = tuple(len(table) for table in self.tables)
        if shape != grid.shape:
            raise InvalidProblem(
                "log-weights must give one number per coordinate and value of the grid, got "
                f"{list(shape)} for {list(grid.shape)}."
            )

    @property
    def is_flat(self) -> bool:
        """Whether every hypothesis weighs the same."""
        return all(len(set(table)) == 1 for table in self.tables)

    @property
    def penalties(self) -> tuple[tuple[Fraction, ...], ...]:
        """By how much each value falls short of its coordinate's largest log-weight, >= 0."""
        return tuple(tuple(max(table) - v for v in table) for table in self.tables)

    def penalty(self, grid: WeightGrid, hypothesis: Sequence[int]) -> Fraction:
        """Return by how much a hypothesis falls short of the largest log-weight of the box."""
        indices = grid.indices(hypothesis)
        parts = (table[i] for table, i in zip(self.penalties, indices, strict=True))
        return sum(parts, Fraction(0))

    def all_penalties(self) -> FloatArray:
        """Return the penalty of every assignment of the box, in enumeration order, shape (N,)."""
        total = np.zeros(1)
        for table in self.penalties:
            total = np.add.outer(total, np.array([float(v) for v in table])).ravel()
        return total

    def summary(self, grid: WeightGrid) -> tuple[float, float]:
        """Sum over a grid, norm budget respected.

        Returns
        -------
        (float, float)
            Log of the sum of ``exp(-penalty)`` over the grid, and the largest penalty in it.
        """
        known = {0: (0.0, 0.0)}
        for allowed, table in zip(grid.values, self.penalties, strict=True):
            extended: dict[int, tuple[float, float]] = {}
            for norm, (log_sum, largest) in known.items():
                for value, penalty in zip(allowed, map(float, table), strict=True):
                    total = 0 if grid.norm_budget is None else norm + value * value
                    if grid.norm_budget is not None and total > grid.norm_budget:
                        continue
                    before = extended.get(total, (-math.inf, -math.inf))
                    extended[total] = (
                        float(np.logaddexp(before[0], log_sum - penalty)),
                        max(before[1], largest + penalty),
                    )
            known = extended
        sums, penalties = zip(*known.values(), strict=True)
        return float(np.logaddexp.reduce(sums)), max(penalties)


def checked_weights(log_weights: LogWeights | None, grid: WeightGrid) -> LogWeights | None:
    """Return log-weights that fit a grid, or None where all hypotheses weigh the same."""
    if log_weights is None:
        return None
    log_weights.check(grid)
    return None if log_weights.is_flat else log_weights
