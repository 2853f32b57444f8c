"""Compiled dual ascent, second part: blocks of the perturbation and the squared norm.

Min-marginals and shares as in :mod:`oracles.bound_kernels`, for two more factors::

    phi(w) = block_cost[place of w's assignment of the block]
    phi(w) = norm_cost[|w|^2],  INFINITE for norms that are not allowed

A block's min-marginals come from all assignments that its domains leave; each of ``k`` members
gets a ``k``-th. The norm is a sum of the coordinates' squares, so it is shared out like a group of
points. Messages of fixed members are constants, ``constant`` below.
"""

from __future__ import annotations

from oracles.bound_kernels import share_out, share_sum, take_coordinate
from oracles.compilation import compiled
from oracles.search_layout import INFINITE, WIDEST_SUM, Frames, Model, Scratch


@compiled
def share_wide_norm(
    model: Model, low: int, width: int, constant: int, k: int, scratch: Scratch
) -> None:
    """Weaker marginals for norms too wide to tabulate: the best norm of the whole range.

    Norms are within ``low .. low + width - 1``; each of ``k`` members gets a ``k``-th.
    """
    best = INFINITE
    for norm in range(low, min(low + width, len(model.norm_cost))):
        best = min(best, model.norm_cost[norm])
    total = constant + best
    for i in range(k):
        least = INFINITE
        for x in range(scratch.n_allowed[i]):
            least = min(least, scratch.lam[i, x])
        total += least
        scratch.least_lam[i] = least
    for i in range(k):
        for x in range(scratch.n_allowed[i]):
            scratch.marginal[i, x] = (total - scratch.least_lam[i] + scratch.lam[i, x]) // k
            if best >= INFINITE or low + scratch.offset[i, x] >= len(model.norm_cost):
                scratch.marginal[i, x] = INFINITE


@compiled
def update_norm(model: Model, frames: Frames, t: int, scratch: Scratch) -> int:
    """Let the squared norm share out; return the change of the bound.

    ``INFINITE`` if no hypothesis of the node has a norm that is allowed.
    """
    done = frames.block_done.shape[1] - 1
    if len(model.norm_cost) == 0 or frames.block_done[t, done]:
        return 0
    low = 0
    constant = 0
    k = 0
    width = 1
    scratch.width[0] = 1
    for j in range(len(model.n_values)):
        n = 0
        least = INFINITE
        most = 0
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a]:
                square = model.values[j, a] * model.values[j, a]
                least = min(least, square)
                most = max(most, square)
                scratch.allowed[k, n] = a
                scratch.offset[k, n] = square
                scratch.lam[k, n] = frames.theta[t, j, a] - frames.norm_message[t, j, a]
                n += 1
        low += least
        if frames.fixed[t, j]:
            constant -= frames.norm_message[t, j, scratch.allowed[k, 0]]
        else:
            for x in range(n):
                scratch.offset[k, x] -= least
            scratch.n_allowed[k] = n
            scratch.members[k] = j
            width += most - least
            scratch.width[k + 1] = width
            k += 1
    if low >= len(model.norm_cost):
        return INFINITE
    if k == 0:
        frames.block_done[t, done] = True
        cost = model.norm_cost[low]
        if cost >= INFINITE // 2:
            return INFINITE
        frames.base[t] += cost + constant
        return cost + constant
    if width <= WIDEST_SUM:
        for v in range(width):
            cost = INFINITE
            if low + v < len(model.norm_cost):
                cost = model.norm_cost[low + v]
            scratch.terminal[v] = cost if cost >= INFINITE // 2 else cost + constant
        share_sum(k, scratch)
    else:
        share_wide_norm(model, low, width, constant, k, scratch)
    change = 0
    for i in range(k):
        j = scratch.members[i]
        change += share_out(frames, t, j, i, frames.norm_message[t, j], scratch)
        if scratch.least[j] >= INFINITE:
            return INFINITE
    return change


@compiled
def update_block(model: Model, frames: Frames, t: int, b: int, scratch: Scratch) -> int:
    """Let one block of the perturbation share out; return the change of the bound."""
    if frames.block_done[t, b]:
        return 0
    first, last = model.block_start[b], model.block_start[b + 1]
    place = model.block_at[b]
    constant = 0
    k = 0
    for q in range(first, last):
        j = model.block_coord[q]
        stride = model.block_stride[q]
        take_coordinate(model, frames, t, j, frames.block_message[t, j], 0, k, scratch)
        if frames.fixed[t, j]:
            a = scratch.allowed[k, 0]
            constant -= frames.block_message[t, j, a]
            place += a * stride
            continue
        for x in range(scratch.n_allowed[k]):
            scratch.offset[k, x] = scratch.allowed[k, x] * stride
            scratch.marginal[k, x] = INFINITE
        scratch.members[k] = j
        k += 1
    if k == 0:
        frames.block_done[t, b] = True
        frames.base[t] += model.block_cost[place] + constant
        return model.block_cost[place] + constant
    for i in range(k):
        scratch.shift[i] = 0
    while True:
        at = place
        total = constant
        for i in range(k):
            x = scratch.shift[i]
            at += scratch.offset[i, x]
            total += scratch.lam[i, x]
        total += model.block_cost[at]
        for i in range(k):
            x = scratch.shift[i]
            scratch.marginal[i, x] = min(scratch.marginal[i, x], total)
        i = k - 1
        while i >= 0:
            scratch.shift[i] += 1
            if scratch.shift[i] < scratch.n_allowed[i]:
                break
            scratch.shift[i] = 0
            i -= 1
        if i < 0:
            break
    change = 0
    for i in range(k):
        j = scratch.members[i]
        for x in range(scratch.n_allowed[i]):
            scratch.marginal[i, x] //= k
        change += share_out(frames, t, j, i, frames.block_message[t, j], scratch)
    return change
