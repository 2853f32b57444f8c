"""Compiled count of the cards whose last two columns vary and whose others are given."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray, compiled, compiled_entry


@compiled
def excluded(group: IntArray, place: IntArray, prefix: IntArray, c: int) -> bool:
    """Return whether a column and one of the prefix share a group, but no place."""
    if group[c] >= 0:
        for column in prefix:
            if group[column] == group[c] and place[column] != place[c]:
                return True
    return False


@compiled_entry
def walk_pairs(
    overlaps: NDArray[np.float64],
    totals: IntArray,
    prefix: IntArray,
    allowed: IntArray,
    group: IntArray,
    place: IntArray,
    least_score: int,
    least_start: int,
    n_starts: int,
    base: int,
    last: int,
    level: int,
    rank: int,
    counts: IntArray,
    found: IntArray,
) -> int:
    """Count cards by loss, or stop at the ``rank``-th one of loss ``level``.

    A card has the columns ``prefix``, in rising order, and two later ones, each with a weight of
    1 or -1; ``allowed[column]`` is 1 if the column may have 1, 2 if it may have -1, 3 for both.
    Columns of one ``group``, -1 being none, have the same ``place`` in it.
    ``overlaps[subset, k, c, e]`` is the sum of the costs over the points that the centre scores
    ``least_score + k`` and where all columns of a subset of the prefix (bit k: its k-th) and c
    and e are active, ``totals[subset, k]`` that over the points where the subset is.

    Losses above ``last`` count at it. With ``level`` -1 everything is counted; with -2 the least
    loss is put into ``counts[0]``, where it is less. It returns what is left of ``rank``, or -1
    where it stopped: then ``found`` holds the last two columns, the signs as bits (bit k set: the
    k-th column's weight is -1), and the start.
    """
    q = len(prefix)
    size = q + 2
    n_patterns = 1 << size
    n_scores, n_columns = overlaps.shape[1], overlaps.shape[2]
    first = prefix[q - 1] + 1 if q else 0
    exact = np.zeros((n_scores, n_patterns), dtype=np.int64)
    active = np.zeros(n_patterns, dtype=np.int64)  # number of bits set
    for pattern in range(1, n_patterns):
        active[pattern] = active[pattern >> 1] + (pattern & 1)
    moved = np.zeros((n_patterns, n_patterns), dtype=np.int64)  # by signs, of points of a pattern
    for signs in range(n_patterns):
        for pattern in range(n_patterns):
            moved[signs, pattern] = size + active[pattern & ~signs] - active[pattern & signs]
    by_score = np.zeros(2 * size + n_scores, dtype=np.int64)
    lowest = least_score - size  # the score of its first entry
    fixed_plus, fixed_minus = 0, 0
    for k in range(q):
        if allowed[prefix[k]] == 1:
            fixed_plus |= 1 << k
        elif allowed[prefix[k]] == 2:
            fixed_minus |= 1 << k
    for c in range(first, n_columns):
        if excluded(group, place, prefix, c):
            continue
        for e in range(c + 1, n_columns):
            if group[e] >= 0 and (
                (group[e] == group[c] and place[e] != place[c])
                or excluded(group, place, prefix, e)
            ):
                continue
            plus, minus = fixed_plus, fixed_minus
            for k, column in ((q, c), (q + 1, e)):
                if allowed[column] == 1:
                    plus |= 1 << k
                elif allowed[column] == 2:
                    minus |= 1 << k
            # Sums over supersets of a pattern, then over the pattern itself.
            for k in range(n_scores):
                for subset in range(1 << q):
                    exact[k, subset] = totals[subset, k]
                    exact[k, subset | (1 << q)] = int(overlaps[subset, k, c, c])
                    exact[k, subset | (2 << q)] = int(overlaps[subset, k, e, e])
                    exact[k, subset | (3 << q)] = int(overlaps[subset, k, c, e])
                for bit in range(size):
                    for pattern in range(n_patterns):
                        if not pattern >> bit & 1:
                            exact[k, pattern] -= exact[k, pattern | (1 << bit)]
            for signs in range(n_patterns):
                if signs & plus or ~signs & minus:
                    continue
                for v in range(2 * size + n_scores):
                    by_score[v] = 0
                for k in range(n_scores):
                    for pattern in range(n_patterns):
                        by_score[moved[signs, pattern] + k] += exact[k, pattern]
                # From the smallest start up, more and more scores are at least 1.
                above = 0
                at = 2 * size + n_scores - 1
                for t in range(n_starts):
                    start = least_start + t
                    while at >= 0 and lowest + at + start >= 1:
                        above += by_score[at]
                        at -= 1
                    loss = base + above
                    if level == -2:
                        counts[0] = min(counts[0], loss)
                        continue
                    loss = min(loss, last)
                    if level == -1:
                        counts[loss] += 1
                    elif loss == level:
                        if rank == 0:
                            found[0], found[1], found[2], found[3] = c, e, signs, start
                            return -1
                        rank -= 1
    return rank
