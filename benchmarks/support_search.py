"""Exact search over sets of columns by what least squares gains (for ``support_selection.py``).

``gain(S) = max over b of 2 c'b - b'Gb``, with ``b`` zero outside ``S``, ``G`` the columns'
products and ``c`` their products with the answers. A depth-first search adds columns in a fixed
order and projects out each. What ``k`` more columns can still gain is at most the sum of the ``k``
largest squared residual products, divided by a lower bound on the smallest eigenvalue that any set
can have. So a finished search is a proof, up to the rounding of doubles.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

MOST_NODES, MOST_LISTED, TINY = 3_000_000, 400_000, 1e-9


@njit(cache=True)
def _search(gram, cross, size, least, star, cap, floor, listing, sets, gains, most_nodes):
    """Return best gain and set, how many were listed, nodes, and whether the search ended."""
    columns = len(cross)
    rest, variance = np.zeros((size, columns)), np.ones((size, columns))
    factor, bound = np.zeros((size, columns)), np.zeros((size, columns + 1))
    rest[0] = cross
    chosen, place = np.zeros(size, np.int64), np.zeros(size, np.int64)
    gain, inside = np.zeros(size + 1), np.zeros(size + 1, np.int64)
    best, best_set, top = floor, np.full(size, -1), np.zeros(size)
    found, nodes, level, fresh = 0, 0, 0, True
    while level >= 0:
        left = size - level
        full = inside[level] >= cap
        if fresh:
            nodes += 1
            start = chosen[level - 1] + 1 if level > 0 else 0
            if nodes > most_nodes or found > len(gains):
                return best, best_set, found, nodes, False
            if left == 1:
                for k in range(start, columns):
                    if (star[k] and full) or variance[level, k] <= TINY:
                        continue
                    reached = gain[level] + rest[level, k] ** 2 / variance[level, k]
                    if listing and reached >= floor:
                        if found < len(gains):
                            sets[found, :level] = chosen[:level]
                            sets[found, level], gains[found] = k, reached
                        found += 1
                    if not listing and reached > best:
                        best = reached
                        best_set[:level] = chosen[:level]
                        best_set[level] = k
                level, fresh = level - 1, False
                continue
            top[:left] = 0.0
            total = 0.0
            for k in range(columns - 1, start - 1, -1):
                if not (star[k] and full):
                    value = rest[level, k] ** 2 / least
                    if value > top[left - 1]:
                        total += value - top[left - 1]
                        m = left - 1
                        while m > 0 and top[m - 1] < value:
                            top[m] = top[m - 1]
                            m -= 1
                        top[m] = value
                bound[level, k] = total
            place[level] = start
        j = place[level]
        if j > columns - left or gain[level] + bound[level, j] < best:
            level, fresh = level - 1, False
            continue
        place[level] = j + 1
        fresh = False
        if (star[j] and full) or variance[level, j] <= TINY:
            continue
        root = math.sqrt(variance[level, j])
        step = rest[level, j] / root
        for k in range(j + 1, columns):
            slope = gram[j, k]
            for m in range(level):
                slope -= factor[m, j] * factor[m, k]
            slope /= root
            factor[level, k] = slope
            rest[level + 1, k] = rest[level, k] - slope * step
            variance[level + 1, k] = variance[level, k] - slope * slope
        chosen[level] = j
        gain[level + 1] = gain[level] + step * step
        inside[level + 1] = inside[level] + (1 if star[j] else 0)
        level, fresh = level + 1, True
    return best, best_set, found, nodes, True


class NotFinished(Exception):
    """The search was cut: there is no certificate."""


class Supports:
    """All sets of ``size`` columns and what least squares gains on each.

    Parameters
    ----------
    gram : ndarray of shape (p, p), float64
        Products of columns, a ridge added to its diagonal if there is one.
    cross : ndarray of shape (p,), float64
        Products of columns with answers.
    size : int
        Columns in a set.
    """

    def __init__(self, gram, cross, size):
        self.gram, self.cross, self.size, self.columns = gram, cross, size, len(cross)
        scale = np.sqrt(np.maximum(np.diag(gram), TINY))
        unit, slopes = gram / np.outer(scale, scale), cross / scale
        np.fill_diagonal(unit, 1.0)
        self.order = np.argsort(-(slopes**2), kind="stable")
        self._slopes = slopes[self.order]
        self._unit = np.ascontiguousarray(unit[np.ix_(self.order, self.order)])
        around = np.sort(np.abs(self._unit), axis=1)[:, ::-1][:, 1:size].sum(axis=1).max()
        self.least = 1 - around
        if self.least < 0.5:
            self.least = max(self.least, float(np.linalg.eigvalsh(self._unit)[0]), 1e-6)
        self.nodes = 0

    def best(self, star=(), cap=None):
        """Return the best gain and its set, with at most ``cap`` columns of ``star``."""
        _, gain, members = self._run(star, cap, 0.0, None, None)
        return gain, sorted(int(j) for j in self.order[members])

    def above(self, floor):
        """Return all sets that gain at least ``floor``, or None where they are too many."""
        sets = np.zeros((MOST_LISTED, self.size), np.int64)
        gains = np.zeros(MOST_LISTED)
        found, _, _ = self._run((), None, floor, sets, gains)
        return None if found > MOST_LISTED else (self.order[sets[:found]], gains[:found])

    def _run(self, star, cap, floor, sets, gains):
        listing = sets is not None
        if not listing:
            sets, gains = np.zeros((1, self.size), np.int64), np.zeros(1)
        mask = np.isin(self.order, list(star))
        cap = self.size if cap is None else cap
        gain, members, found, nodes, ended = _search(
            *(self._unit, self._slopes, self.size, self.least, mask, cap, floor),
            *(listing, sets, gains, MOST_NODES),
        )
        self.nodes += nodes
        if not ended and found <= MOST_LISTED:
            raise NotFinished
        return found, gain, members

    def weights(self, sets):
        """Return the coefficients of listed sets, shape (k, s) float64."""
        products = self.gram[sets[:, :, None], sets[:, None, :]]
        return np.linalg.solve(products, self.cross[sets][:, :, None])[:, :, 0]

    def gains(self, sets):
        """Return the gains of listed sets, shape (k,) float64."""
        return np.einsum("ij,ij->i", self.cross[sets], self.weights(sets))

    def swaps(self, star):
        """Return the sets that differ from ``star`` in one column, shape ((p - s) s, s)."""
        others = np.setdiff1d(np.arange(self.columns), star)
        kept = [[k for k in star if k != dropped] for dropped in star]
        return np.array([[*columns, int(j)] for columns in kept for j in others])

    def first(self, star):
        """Return the ``2 + (p - s) s`` best sets and their gains, best first, given the best.

        That is as many as there are swaps, the best set, and one more.
        """
        swaps = self.swaps(star)
        count = 2 + len(swaps)
        known = np.sort(np.append(self.gains(swaps), self.best()[0]))[::-1]
        other_gain, other = self.best(star, self.size - 2)
        if other_gain <= known[-1]:
            sets = np.vstack([star, swaps, other])
            gains = self.gains(sets)
        else:
            sets, gains = self._narrowed(known, count)
        order = np.argsort(-gains, kind="stable")[:count]
        return sets[order], gains[order]

    def _narrowed(self, known, count):
        low, high = 0, len(known) - 1
        answer = None
        while low <= high:
            middle = (low + high) // 2
            answer = self.above(known[middle] * (1 - 1e-12))
            if answer is None:
                high = middle - 1
            elif len(answer[1]) < count:
                low = middle + 1
            else:
                return answer
        raise NotFinished
