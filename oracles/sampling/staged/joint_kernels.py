"""Compiled walk over joint steps along several directions and over shifts of the score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray, compiled_entry

SmallArray = NDArray[np.int32]


@compiled_entry
def walk_steps(
    first: SmallArray,
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
    bounded: IntArray,
    base: int,
    cut: int,
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
    i + 1; ``reach`` is how far it can still move in all. Direction i takes the steps
    ``low_steps[i] .. high_steps[i]``; ``sizes[i]`` is how many joint steps are left at depth i.

    Where ``bounded[i]``, every shift gets a lower bound for all that is left at depth i. Once it
    is at least ``cut``, all members count in ``subtrees`` at that bound and are left alone.
    Others count in ``leaves`` at their loss.

    With ``level`` -1 everything is counted, and 0 returned. Else it returns the depth of the item
    at which ``rank`` ran out, or -1. The steps are in ``found``; its last two places hold the
    position of the shift and what is left of ``rank`` within a subtree.
    """
    n = len(low_steps)
    offset = np.zeros(n + 2, dtype=np.int64)
    for i in range(n + 1):
        offset[i + 1] = offset[i] + n_groups[i] * width[i]
    tables = np.zeros(offset[n + 1], dtype=np.int32)
    for k in range(len(first)):
        tables[k] = first[k]
    bounds = np.zeros(n_shifts, dtype=np.int64)
    alive = np.ones((n + 1, n_shifts), dtype=np.bool_)
    step = np.zeros(n + 1, dtype=np.int64)
    depth = 0
    entering = True
    while True:
        if entering:  # look at the table of this depth
            here = offset[depth]
            if depth == n:
                for t in range(n_shifts):
                    if not alive[n, t]:
                        continue
                    loss = base + tables[here + t]
                    if level == -1:
                        leaves[loss] += 1
                    elif loss == level and not wants_subtree:
                        if rank == 0:
                            for i in range(n):
                                found[i] = step[i]
                            found[n] = t
                            return n
                        rank -= 1
                entering = False
                depth -= 1
                if depth < 0:
                    return -1
                step[depth] += 1
                continue
            some = True
            if bounded[depth]:
                for t in range(n_shifts):
                    bounds[t] = base
                most = (width[depth] - n_shifts) // 2
                start = group_start[depth]
                for g in range(n_groups[depth]):
                    far = reach[start + g]
                    place = np.uint64(here + g * width[depth] + most - far)
                    span = np.uint64(2 * far)
                    for t in range(n_shifts):
                        begin = place + np.uint64(t)
                        least = tables[begin]
                        for k in range(span):
                            least = min(least, tables[begin + k + np.uint64(1)])
                        bounds[t] += least
                some = False
                for t in range(n_shifts):
                    if not alive[depth, t]:
                        continue
                    if bounds[t] < cut:
                        some = True
                        continue
                    alive[depth, t] = False
                    if level == -1:
                        subtrees[bounds[t]] += sizes[depth]
                    elif bounds[t] == level and wants_subtree:
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
                    return -1
                step[depth] += 1
                continue
            step[depth] = low_steps[depth]
        if step[depth] > high_steps[depth]:
            depth -= 1
            if depth < 0:
                return -1
            step[depth] += 1
            continue
        below = depth + 1
        here, there = offset[depth], offset[below]
        w_here, w_there = width[depth], width[below]
        start = group_start[depth]
        most = (width[depth] - width[below]) // 2
        for k in range(there, offset[below + 1]):
            tables[k] = 0
        c = step[depth]
        # Unsigned positions: numba would check signed ones for wrapping, one by one.
        for g in range(n_groups[depth]):
            source = np.uint64(here + g * w_here + most - c * moved[start + g])
            target = np.uint64(there + child[start + g] * w_there)
            for k in range(np.uint64(w_there)):
                tables[target + k] += tables[source + k]
        for t in range(n_shifts):
            alive[below, t] = alive[depth, t]
        depth = below
        entering = True
