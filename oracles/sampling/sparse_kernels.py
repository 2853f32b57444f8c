"""Compiled walk over the hypotheses within a norm budget, most coordinates being 0.

It meets every ``w`` with ``sum_j w_j^2 <= budget`` once, with its loss in rows

    L(w) = base + sum over points i of costs_i * 1[sum_j x_ij * w_j >= 1]

Hypotheses are in a tree: a child gives one more, later coordinate a value other than 0. One step
in the tree changes the scores of that coordinate's points only, and the loss by

    costs_i * (1[score after >= 1] - 1[score before >= 1])

Everything but ``exponents`` is in integers, so losses and counts are exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray, compiled_entry


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

    With ``target`` -1 all are counted in ``counts[loss]``; with -2 each one's ``beta * loss`` plus
    its penalties are listed in ``exponents``; with -3 any loss is meant. Returns whether it
    stopped at a hypothesis.

    Parameters
    ----------
    row_start : ndarray of shape (d + 1,), int64
        Entries of coordinate ``j`` are at ``row_start[j] .. row_start[j + 1] - 1``.
    rows, entries : ndarray of shape (non-zeros,), int64
        Point, and value, of each entry; points are 0 elsewhere.
    costs : ndarray of shape (m,), int64
        What predicting "+" adds to the loss at each point, rows.
    choices : ndarray of shape (d, k), int64
        Values of each coordinate other than 0, ascending, padded.
    n_choices : ndarray of shape (d,), int64
        How many these are.
    budget : int
        Largest squared norm.
    base : int
        Loss of predicting "-" everywhere, rows.
    target : int
        Loss to stop at, rows, or what is said above.
    rank : int
        How many hypotheses to pass over before it stops.
    counts : ndarray of shape (largest loss + 1,), int64
        Hypotheses of each loss are added; of any length unless ``target`` is -1.
    found : ndarray of shape (d,), int64
        Filled with the weights of what it stopped at.
    beta : float
        Inverse temperature, nats per row of loss.
    penalties : ndarray of shape (d, k), float64
        Minus the log-weight of each choice, relative to that of 0, nats.
    exponents : ndarray of shape (hypotheses,), float64
        Filled in the walk's order, nats; of any length unless ``target`` is -2.
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
