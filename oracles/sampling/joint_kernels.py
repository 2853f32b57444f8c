"""Compiled walk over joint steps along several directions and over shifts of the score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray, compiled_entry

TableArray = NDArray[np.int32] | NDArray[np.int64]


@compiled_entry
def walk_steps(
    first: TableArray,
    n_shifts: int,
    n_groups: IntArray,
    group_start: IntArray,
    child: IntArray,
    moved: IntArray,
    reach: IntArray,
    width: IntArray,
    low_steps: IntArray,
    high_steps: IntArray,
    sizes: IntArray,
    base: int,
    last: int,
    cut: int,
    slack: int,
    level: int,
    rank: int,
    wants_subtree: bool,
    leaves: IntArray,
    subtrees: IntArray,
    found: IntArray,
) -> int:
    """Count candidates by loss, or stop at the ``rank``-th one that counts at ``level``.

    At depth i the steps of directions before i are fixed. Points that agree on all directions
    from i on form one group, and ``table[group, k]`` is what predicting "+" from the k-th
    threshold on costs them; ``first`` is the table of depth 0, flat. Group g of depth i moves by
    ``moved[group_start[i] + g]`` per step and becomes part of group ``child[...]`` of depth
    i + 1, which never falls with g; ``reach`` is how far it can still move in all. Direction i
    takes the steps ``low_steps[i] .. high_steps[i]``; ``sizes[i]`` is how many joint steps are
    left at depth i.

    Below depth 0 every shift gets a lower bound for all that is left. Once it is at least
    ``cut``, all members count in ``subtrees`` at that bound and are left alone.
    Others count in ``leaves`` at their loss. ``cut`` falls to a leaf's loss plus ``slack``, in
    every walk in the same way.

    Losses and bounds above ``last`` count at it. With ``level`` -1 everything is counted, and -1
    returned; with -2 nothing is counted, and the last ``cut`` returned. Else it returns the depth
    of the item at which ``rank`` ran out, or -1. The steps are in ``found``; its last two places
    hold the position of the shift and what is left of ``rank`` within a subtree.
    """
    n = len(low_steps)
    offset = np.zeros(n + 2, dtype=np.int64)
    for i in range(n + 1):
        offset[i + 1] = offset[i] + n_groups[i] * width[i]
    tables = np.zeros(offset[n + 1], dtype=first.dtype)
    for k in range(len(first)):
        tables[k] = first[k]
    bounds = np.zeros(n_shifts, dtype=np.int64)
    alive = np.ones((n + 1, n_shifts), dtype=np.bool_)
    # Shifts outside these two are given up; entries that only they look at are not computed.
    lowest = np.zeros(n + 1, dtype=np.int64)
    highest = np.full(n + 1, n_shifts - 1, dtype=np.int64)
    step = np.zeros(n + 1, dtype=np.int64)
    depth = 0
    entering = True
    while True:
        if entering:  # look at the table of this depth
            here = offset[depth]
            if depth == n:  # no direction at all
                for t in range(n_shifts):
                    loss = base + tables[here + t]
                    if loss + slack < cut:
                        cut = loss + slack
                    loss = min(loss, last)
                    if level == -2:
                        continue
                    if level == -1:
                        leaves[loss] += 1
                    elif loss == level:
                        if rank == 0:
                            found[n] = t
                            return n
                        rank -= 1
                return cut if level == -2 else -1
            if depth == n - 1:  # the last direction: no table for its steps
                w_here, start = width[depth], group_start[depth]
                most = (w_here - n_shifts) // 2
                for c in range(low_steps[depth], high_steps[depth] + 1):
                    for t in range(lowest[depth], highest[depth] + 1):
                        if not alive[depth, t]:
                            continue
                        loss = base
                        for g in range(n_groups[depth]):
                            loss += tables[here + g * w_here + most - c * moved[start + g] + t]
                        if loss + slack < cut:
                            cut = loss + slack
                        loss = min(loss, last)
                        if level == -2:
                            continue
                        if level == -1:
                            leaves[loss] += 1
                        elif loss == level and not wants_subtree:
                            if rank == 0:
                                for i in range(depth):
                                    found[i] = step[i]
                                found[depth], found[n] = c, t
                                return n
                            rank -= 1
                entering = False
                depth -= 1
                if depth < 0:
                    return cut if level == -2 else -1
                step[depth] += 1
                continue
            some = True
            if depth > 0:
                low, high = lowest[depth], highest[depth]
                for t in range(low, high + 1):
                    bounds[t] = base
                most = (width[depth] - n_shifts) // 2
                start = group_start[depth]
                for g in range(n_groups[depth]):
                    far = reach[start + g]
                    place = np.uint64(here + g * width[depth] + most - far)
                    span = np.uint64(2 * far)
                    for t in range(low, high + 1):
                        begin = place + np.uint64(t)
                        least = tables[begin]
                        for k in range(span):
                            least = min(least, tables[begin + k + np.uint64(1)])
                        bounds[t] += least
                some = False
                for t in range(low, high + 1):
                    if not alive[depth, t]:
                        continue
                    if bounds[t] < cut:
                        if not some:
                            lowest[depth] = t
                        highest[depth] = t
                        some = True
                        continue
                    alive[depth, t] = False
                    bound = min(bounds[t], last)
                    if level == -1:
                        subtrees[bound] += sizes[depth]
                    elif bound == level and wants_subtree:
                        if rank < sizes[depth]:
                            for i in range(depth):
                                found[i] = step[i]
                            found[n] = t
                            found[n + 1] = rank
                            return depth
                        rank -= sizes[depth]
            entering = False
            if not some:
                depth -= 1
                if depth < 0:
                    return cut if level == -2 else -1
                step[depth] += 1
                continue
            step[depth] = low_steps[depth]
        if step[depth] > high_steps[depth]:
            depth -= 1
            if depth < 0:
                return cut if level == -2 else -1
            step[depth] += 1
            continue
        below = depth + 1
        here, there = offset[depth], offset[below]
        w_here, w_there = width[depth], width[below]
        start, start_below = group_start[depth], group_start[below]
        most = (width[depth] - width[below]) // 2
        most_below = (w_there - n_shifts) // 2
        c = step[depth]
        low, high = lowest[depth], highest[depth]
        before = -1
        # Unsigned positions: numba would check signed ones for wrapping, one by one.
        for g in range(n_groups[depth]):
            h = child[start + g]
            far = reach[start_below + h]
            begin = low + most_below - far
            source = np.uint64(here + g * w_here + most - c * moved[start + g] + begin)
            target = np.uint64(there + h * w_there + begin)
            length = np.uint64(high - low + 1 + 2 * far)
            if h == before:
                for k in range(length):
                    tables[target + k] += tables[source + k]
            else:
                for k in range(length):
                    tables[target + k] = tables[source + k]
            before = h
        for t in range(low, high + 1):
            alive[below, t] = alive[depth, t]
        lowest[below], highest[below] = low, high
        depth = below
        entering = True
