"""Constants of losses that follow from bounds on one row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.errors import InvalidProblem

_SMALLEST, _LARGEST = 1e-150, 1e150
"""Bounds whose squares are neither 0 nor infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBounds:
    """Bounds on one row (x, y), the constant column included.

    Parameters
    ----------
    l2 : float
        Largest Euclidean norm of x.
    linf : float or None
        Largest absolute coordinate of x; None takes ``l2``.
    label : float
        Largest absolute label; classification losses take labels -1 and +1.

    Raises
    ------
    InvalidProblem
        If a bound is missing, or not between 1e-150 and 1e150: lengths are roots of squares.
    """

    l2: float
    linf: float | None = None
    label: float = 1.0

    def __post_init__(self) -> None:
        """Refuse absent bounds: they are declared, never taken from a table."""
        for name in ("l2", "linf", "label"):
            value = getattr(self, name)
            if value is None and name == "linf":
                continue
            if not isinstance(value, int | float) or not _SMALLEST <= value <= _LARGEST:
                raise InvalidProblem(
                    f"public bounds must be numbers from 1e-150 to 1e150, but {name} is none; "
                    "declare one."
                )

    @property
    def largest_coordinate(self) -> float:
        """Largest absolute coordinate of x."""
        return self.l2 if self.linf is None else min(self.linf, self.l2)

    def hold(self, X: FloatArray) -> bool:
        """Return whether all rows are within the bounds of x.

        Coordinates get no allowance. A length gets what its own rounding, and that of a row
        shortened to it, may add: a share of ``(p + 8) 2**-52``.

        Parameters
        ----------
        X : float64 array, shape (m, p)
            Rows. One that is not finite is outside.
        """
        X = np.asarray(X, dtype=np.float64)  # short whole numbers overflow in a square
        largest = float(np.abs(X).max(initial=0.0))
        squares = float(np.einsum("ij,ij->i", X, X).max(initial=0.0))
        allowed = self.l2 * (1 + (X.shape[1] + 8) * 2.0**-52)
        return largest <= self.largest_coordinate and squares <= allowed**2


@dataclass(frozen=True, slots=True, kw_only=True)
class LossConstants:
    """How fast one row's loss, and its gradient, can change with theta.

    Parameters
    ----------
    lipschitz_l2 : float
        Bound on the Euclidean norm of the gradient: ``|l(a) - l(b)| <= lipschitz_l2 |a - b|_2``.
    lipschitz_l1 : float
        Bound on its largest coordinate: ``|l(a) - l(b)| <= lipschitz_l1 |a - b|_1``.
    smoothness_l2, smoothness_l1 : float
        Lipschitz constants of the gradient for the same two norms; infinite where the gradient
        jumps.
    strong_convexity : float
        nu with ``l - (nu/2)|theta|_2^2`` convex, on every row; 0 for a loss of one score.
    """

    lipschitz_l2: float
    lipschitz_l1: float
    smoothness_l2: float
    smoothness_l1: float
    strong_convexity: float
