"""Compiled walk over the hypotheses within a norm budget, most coordinates being 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracles.arrays import IntArray
from oracles.compilation import compiled_entry


@compiled_entry
def walk_budget(
    row_start: IntArray,
    rows: IntArray,
    entries: IntArray,
    costs: IntArray,
    choices: IntArray,
    n_choices: IntArray,
    budget: int,
    base: int,
    target: int,
    rank: int,
    counts: IntArray,
    found: IntArray,
    beta: float,
    penalties: NDArray[np.float64],
    exponents: NDArray[np.float64],
) -> bool:
    """Count hypotheses by loss, or stop at the ``rank``-th one of loss ``target``.

    Point ``rows[k]`` has ``entries[k]`` in coordinate j for k from ``row_start[j]`` to the next,
    and 0 elsewhere. Coordinate j may be 0 or one of ``choices[j, :n_choices[j]]``, none of them 0.
    ``base`` is the loss of predicting "-" everywhere, ``costs`` what "+" adds to it at each point.
    With ``target`` -1 all are counted in ``counts[loss]``; with -2 each one's ``beta * loss`` plus
    its ``penalties[j, a]`` are listed in ``exponents``; with -3 any loss is meant. What it stopped
    at is in ``found``.
    """
    d = len(n_choices)
    scores = np.zeros(len(costs), dtype=np.int64)
    coordinate = np.empty(d + 1, dtype=np.int64)
    place = np.empty(d + 1, dtype=np.int64)
    penalty = np.zeros(d + 1)
    listed = 0
    found[:] = 0
    loss = base
    left = budget
    depth = 0
    coordinate[0] = -1
    # Each loop enters one hypothesis; the empty one first.
    while True:
        if target == -1:
            counts[loss] += 1
        elif target == -2:
            exponents[listed] = beta * loss + penalty[depth]
            listed += 1
        elif target == -3 or loss == target:
            if rank == 0:
                return True
            rank -= 1
        # Descend to the first extension, else advance the deepest coordinate that can.
        j = coordinate[depth] + 1
        a = 0
        while True:
            while j < d and (a >= n_choices[j] or choices[j, a] * choices[j, a] > left):
                a += 1
                if a >= n_choices[j]:
                    j += 1
                    a = 0
            if j < d:
                break
            if depth == 0:
                return False
            j, a = coordinate[depth], place[depth]
            value = choices[j, a]
            for k in range(row_start[j], row_start[j + 1]):
                i = rows[k]
                before = scores[i]
                after = before - value * entries[k]
                scores[i] = after
                loss += costs[i] * (int(after >= 1) - int(before >= 1))
            left += value * value
            found[j] = 0
            depth -= 1
            a += 1
            if a >= n_choices[j]:
                j += 1
                a = 0
        value = choices[j, a]
        for k in range(row_start[j], row_start[j + 1]):
            i = rows[k]
            before = scores[i]
            after = before + value * entries[k]
            scores[i] = after
            loss += costs[i] * (int(after >= 1) - int(before >= 1))
        left -= value * value
        found[j] = value
        depth += 1
        coordinate[depth], place[depth] = j, a
        penalty[depth] = penalty[depth - 1] + penalties[j, a]
