"""Private rows within public bounds, equal ones merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from opdisc.convex.public import ConvexPublic
from opdisc.data import as_numbers
from opdisc.errors import CalibrationError
from oracles.arithmetic import FloatArray
from oracles.convex import LinearLoss


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Private rows within the public bounds; arrays are read-only.

    Parameters
    ----------
    X : float64 array, shape (m, p)
        Rows, the constant column included.
    y : float64 array, shape (m,)
        Labels: -1 or +1 for classification, numbers for regression.
    counts : float64 array of shape (m,), or None
        How many raw rows are equal to each; None means one each.
    is_exact : bool
        Whether each row was made of its raw row cell by cell, so that no rounding of it can
        depend on what stands around it. A norm is a sum, and depends.
    """

    X: FloatArray
    y: FloatArray
    counts: FloatArray | None = None
    is_exact: bool = False

    def __post_init__(self) -> None:
        """Make read-only arrays of doubles: short whole numbers overflow in a square."""
        for name, what in (("X", "rows"), ("y", "labels"), ("counts", "counts")):
            if getattr(self, name) is not None:
                array = as_numbers(getattr(self, name), what)
                array.setflags(write=False)
                object.__setattr__(self, name, array)

    @classmethod
    def clipped(cls, X: ArrayLike, y: ArrayLike, public: ConvexPublic) -> Rows:
        """Return rows made to satisfy the bounds, each by itself.

        Coordinates are clipped to ``bounds.linf``, rows are shortened to ``bounds.l2``, labels of
        a regression are clipped to ``bounds.label``; a label of a classification that is not
        positive counts as -1. What is not a number counts as 0.
        """
        rows = np.nan_to_num(as_numbers(X, "rows"), nan=0.0)
        widest = public.bounds.largest_coordinate
        np.clip(rows, -widest, widest, out=rows)
        lengths = np.linalg.norm(rows, axis=1)
        with np.errstate(divide="ignore"):
            rows *= np.minimum(1.0, public.bounds.l2 / lengths)[:, None]
        labels = np.nan_to_num(as_numbers(y, "labels"), nan=0.0)
        if public.loss.is_classification:
            labels = np.where(labels > 0, 1.0, -1.0)
        else:
            labels = np.clip(labels, -public.bounds.label, public.bounds.label)
        return cls(X=rows, y=labels)

    @property
    def n_rows(self) -> int:
        """Raw rows. Private under add-or-remove-one."""
        return len(self.y) if self.counts is None else int(round(self.counts.sum()))

    def expanded(self) -> Rows:
        """Return one row for each raw row."""
        if self.counts is None:
            return self
        times = self.counts.astype(np.int64)
        return Rows(
            X=np.repeat(self.X, times, axis=0), y=np.repeat(self.y, times), is_exact=self.is_exact
        )

    def sum_gradient(self, loss: LinearLoss, parameters: FloatArray) -> FloatArray:
        """Return the gradient of the sum of losses over raw rows, shape (p,)."""
        return loss.sum_gradient(self.X, self.y, parameters, self.counts)

    def sum_value(self, loss: LinearLoss, parameters: FloatArray) -> float:
        """Return the sum of losses over raw rows."""
        return loss.sum_value(self.X, self.y, parameters, self.counts)


def toy_rows(public: ConvexPublic) -> Rows:
    """Return two rows made of public bounds alone."""
    X = np.zeros((2, public.dimension))
    X[0, 0] = min(public.bounds.largest_coordinate, public.bounds.l2)
    if public.loss.is_classification:
        return Rows(X=X, y=np.array([1.0, -1.0]))
    return Rows(X=X, y=np.array([public.bounds.label, 0.0]))


def check_rows(rows: Rows, public: ConvexPublic) -> None:
    """Refuse rows that the public facts do not describe, before anything is spent."""
    if rows.X.ndim != 2 or rows.X.shape != (len(rows.y), public.dimension):
        raise CalibrationError(
            f"rows must have {public.dimension} coordinates and one label each; build them with "
            "Rows.clipped."
        )
    if public.n_rows is not None and public.n_rows != rows.n_rows:
        raise CalibrationError("n_rows must be the number of rows of the table; correct it.")
    largest_label = float(np.abs(rows.y).max(initial=0.0))
    if not (public.bounds.hold(rows.X) and largest_label <= public.bounds.label):
        raise CalibrationError("rows must lie within the public bounds; build with Rows.clipped.")
