"""A bound from infeasible sets: points that no hypothesis predicts all as their labels want.

Every hypothesis pays for at least one point of each such set. So amounts for the sets that
together charge no point more than its cost add up to a lower bound (docs/theory.md,
infeasible-sets). Where few points are lost it soon proves some; bounds by columns take long.

A linear program finds the sets, another one the amounts. Both only propose: a set counts once its
multipliers have shown in integers that no weights within the box satisfy it, and amounts are
integers that are checked against the costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oracles.arithmetic import FloatArray, IntArray
from oracles.branch_and_bound.reduction import Reduction, value_ranges, whole_domain

FIRST_WORK, MOST_WORK = 20_000_000, 400_000_000
"""Simplex iterations times entries of the program: about .1 s, and two seconds."""

_OVERHEAD = 2_000_000
"""What every set costs besides, in the same unit."""

_MOST_FAILURES, _MASTER_STEP = 20, 5

_JITTER, _SPREAD = 1e-4, 0.5

_UNITS = 2**20
"""Multipliers and amounts are rounded to this part of the largest one, or of a row."""

_LARGEST_CAPACITY = 2**40


class InfeasibleSets:
    """Infeasible sets of one problem, and the bound that they prove.

    Parameters
    ----------
    reduction : Reduction
        The reduced problem. What is not a cost of points is bounded by its least value.

    Attributes
    ----------
    sets : list of ndarray of int64
        Indices of the points of each set, ascending.
    bound : int
        What every hypothesis costs at least, internal units.
    """

    def __init__(self, reduction: Reduction) -> None:
        self.sets: list[IntArray] = []
        self._reduction = reduction
        self._low, self._high = value_ranges(reduction.model, whole_domain(reduction))
        self._least = reduction.least
        self.bound = self._least
        wants_plus = reduction.costs < 0
        self._signs = np.where(wants_plus, 1, -1)
        self._needs = wants_plus.astype(np.int64)
        rows = np.abs(reduction.costs) // max(1, reduction.row)
        self._capacities = np.minimum(rows, _LARGEST_CAPACITY)
        self._charged = np.zeros(len(rows))
        self._seen: set[bytes] = set()
        self._failures, self._random = 0, np.random.default_rng(0)
        self._pricing = _Pricing(reduction.points, self._signs, self._needs, self._low, self._high)
        self._is_over = not len(rows)

    def search(self, work: int, known: int, target: int, stop: Callable[[], bool]) -> None:
        """Collect sets while they pay; :attr:`bound` rises meanwhile. Goes on where it stopped.

        Parameters
        ----------
        work : int
            What may have been done by the end, simplex iterations times entries.
        known : int
            A bound proved otherwise, internal units: beyond :data:`FIRST_WORK`, sets that prove
            less are given up.
        target : int
            Bound at which nothing is left to prove, internal units.
        stop : callable
            Called after every linear program; True pauses the search.
        """
        while not self._is_over and self._pricing.work < work and not stop():
            if self._pricing.work > FIRST_WORK and self.bound < known:
                self._is_over = True
                break
            self._step()
            self._is_over = self._is_over or self.bound >= target

    def _step(self) -> None:
        """Find one more set, the one whose points are charged least, or fail."""
        charged, coins = self._charged, self._random.random(len(self._charged))
        if self._failures:
            prices = charged * (1 - _SPREAD + 2 * _SPREAD * coins) + _JITTER * coins
        else:
            prices = charged + (_JITTER if self.sets else 1.0) * coins
        multipliers = self._pricing.run(prices)
        if multipliers is None:
            self._is_over = True
            return
        members = np.flatnonzero(multipliers)
        is_new = members.tobytes() not in self._seen and charged[members].sum() < 1 - 1e-7
        if is_new and self.is_infeasible(members, multipliers[members]):
            self._failures = 0
            self._seen.add(members.tobytes())
            self.sets.append(members)
            if len(self.sets) < 4 * _MASTER_STEP or len(self.sets) % _MASTER_STEP == 0:
                self._raise()
            return
        self._failures += 1
        if self._failures == _MOST_FAILURES:
            self._is_over = True
            self._raise()

    def is_infeasible(self, members: IntArray, multipliers: IntArray) -> bool:
        """Return whether multipliers prove that no weights in the box satisfy all of the points.

        A point that wants "+" asks for a score of at least 1, one that wants "-" for minus the
        score to be at least 0. Added up with multipliers >= 0, the left-hand side is a linear
        function of the weights; the set is infeasible if its maximum over the box is too small.
        """
        factors = multipliers.astype(object) * self._signs[members]
        slopes = factors @ self._reduction.points[members].astype(object)
        ends = zip(slopes, self._low.tolist(), self._high.tolist(), strict=True)
        most = sum(max(slope * low, slope * high) for slope, low, high in ends)
        needed = int(multipliers.astype(object) @ self._needs[members])
        return bool((multipliers >= 0).all() and most < needed)

    def _raise(self) -> None:
        """Raise the bound by the best amounts found, and learn what is charged to each point."""
        amounts, self._charged = _packing(self.sets, self._capacities)
        rows = -(-packed(self.sets, amounts, self._capacities) // _UNITS)
        self.bound = max(self.bound, self._least + rows * self._reduction.row)


def packed(sets: Sequence[IntArray], amounts: FloatArray, capacities: IntArray) -> int:
    """Return the sum of amounts, rounded and cut to what is left of the capacities.

    Parameters
    ----------
    sets : sequence of ndarray of int64
        Indices of the points that each set charges.
    amounts : ndarray of float64
        What each set charges, in rows.
    capacities : ndarray of int64
        What each point may be charged by all of them, in rows.

    Returns
    -------
    int
        In 2**-20 of a row.
    """
    left = capacities * _UNITS
    total = 0
    # Slightly less than proposed: what the tolerance hides must not fill a point too early.
    wanted = np.floor(np.maximum(amounts, 0.0) * (1 - 1e-9) * _UNITS)
    for members, amount in zip(sets, wanted.tolist(), strict=True):
        charged = min(int(amount), int(left[members].min()))
        left[members] -= charged
        total += charged
    return total


class _Pricing:
    """Finds the infeasible set whose points are charged least so far.

    Variables are the points' multipliers and, for each coordinate, what the positive and the
    negative part of the summed slope are; vertices are irreducible infeasible subsystems.
    """

    def __init__(
        self, points: IntArray, signs: IntArray, needs: IntArray, low: IntArray, high: IntArray
    ) -> None:
        from scipy.sparse import csc_array  # slow to import

        self._n, d = points.shape
        eye = np.eye(d)
        slopes = np.hstack([(points * signs[:, None]).T, -eye, eye])
        self._matrix: Any = csc_array(np.vstack([slopes, np.concatenate([needs, -high, low])]))
        self._rights = np.append(np.zeros(d), 1.0)
        self.work = 0

    def run(self, prices: FloatArray) -> IntArray | None:
        """Return the multipliers of all points, integers; None if there is no infeasible set."""
        from scipy.optimize import linprog

        costs = np.zeros(self._matrix.shape[1])
        costs[: self._n] = prices
        found: Any = linprog(
            costs,
            A_eq=self._matrix,
            b_eq=self._rights,
            method="highs",
            options={"presolve": False},
        )
        self.work += _OVERHEAD + found.nit * self._matrix.nnz
        if found.status != 0:
            return None
        multipliers: FloatArray = np.maximum(found.x[: self._n], 0.0)
        largest = multipliers.max(initial=0.0)
        if not 0 < largest < np.inf:
            return None
        rounded: IntArray = np.round(multipliers * (_UNITS / largest)).astype(np.int64)
        return rounded


def _packing(sets: Sequence[IntArray], capacities: IntArray) -> tuple[FloatArray, FloatArray]:
    """Share the points' costs out so that as much as possible is charged.

    Returns the amount of every set, in rows, and the price of each point's cost.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csc_array

    n, sizes = len(capacities), [len(members) for members in sets]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    charges: Any = csc_array((np.ones(starts[-1]), np.concatenate(sets), starts), (n, len(sets)))
    found: Any = linprog(
        -np.ones(len(sets)), A_ub=charges, b_ub=capacities.astype(np.float64), method="highs"
    )
    if found.status != 0:
        return np.zeros(len(sets)), np.zeros(n)
    return found.x, np.maximum(-found.ineqlin.marginals, 0.0)
