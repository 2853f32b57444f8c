"""Compiled dual ascent: factors share out their unavoidable cost among the coordinates' tables.

A factor with members ``1 .. k`` adds to a hypothesis' cost ``phi(s)``, where ``s`` is the sum of
what the members' values contribute. With ``lam_i`` member ``i``'s table without the factor's
message, the *min-marginal* of value ``x`` of member ``i`` is

    M_i(x) = min over assignments with x_i = x of  phi(s) + sum_j lam_j(x_j)

Member ``i`` gets a share ``m_i(x)`` of it as its new table, the message being ``m_i - lam_i``.
What is left to the factor, ``phi(s) + sum_j lam_j(x_j) - sum_j m_j(x_j)``, stays non-negative, so
``base + sum_j min_a theta[j, a]`` is a lower bound after every step
(:mod:`oracles.branch_and_bound.arrays` says why). A group of points has

    phi(s) = constant + sum over cells of max(cost, 0) if score + s >= 1, else max(-cost, 0)

and all ``M_i`` come from one pass over the members forwards and one backwards, in time
proportional to members times values times width of the sum.

Blocks of the perturbation and the squared norm are two more factors::

    phi(w) = block_cost[place of w's assignment of the block]
    phi(w) = norm_cost[|w|^2],  INFINITE for norms that are not allowed

A block's min-marginals come from all assignments that its domains leave; each of ``k`` members
gets a ``k``-th. The norm is a sum of the coordinates' squares, so it is shared out like a group of
points. Messages of fixed members are constants, ``constant`` below.
"""

from __future__ import annotations

from typing import Any

from oracles.arithmetic import compiled, copy_into
from oracles.branch_and_bound.arrays import INFINITE, WIDEST_SUM, Arena, Frames, Model, Scratch


@compiled
def take_coordinate(
    model: Model, frames: Frames, t: int, j: int, message: Any, coef: int, i: int, scratch: Scratch
) -> None:
    """List coordinate ``j`` as member ``i`` of a factor; tables without the factor's messages.

    ``message``, shape (k,) int64, is what the factor sent to ``j``; each weight counts ``coef``
    times in the factor's sum.
    """
    n = 0
    least = INFINITE
    for a in range(model.n_values[j]):
        if frames.domain[t, j, a]:
            contribution = coef * model.values[j, a]
            scratch.allowed[i, n] = a
            scratch.offset[i, n] = contribution
            scratch.lam[i, n] = frames.theta[t, j, a] - message[a]
            least = min(least, contribution)
            n += 1
    scratch.n_allowed[i] = n
    scratch.shift[i] = least


@compiled
def sum_range(k: int, scratch: Scratch) -> tuple[int, int]:
    """Return the least sum and the number of sums up to the largest; make offsets relative."""
    low = 0
    width = 1
    scratch.width[0] = 1
    for i in range(k):
        most = 0
        for x in range(scratch.n_allowed[i]):
            scratch.offset[i, x] -= scratch.shift[i]
            most = max(most, scratch.offset[i, x])
        low += scratch.shift[i]
        width += most
        scratch.width[i + 1] = width
    return low, width


@compiled
def share_sum(k: int, scratch: Scratch) -> None:
    """Share out ``terminal[sum]`` plus the members' tables: fill ``marginal``.

    The sum over members of ``marginal`` never exceeds what is shared out. Members take turns: the
    first of ``k`` gets a ``k``-th of its min-marginals, the next a ``k - 1``-th of what is left,
    the last one all that is left.
    """
    ahead, behind = scratch.forward, scratch.backward
    n = scratch.width[k]
    copy_into(ahead[k, :n], scratch.terminal[:n])
    for i in range(k - 1, 0, -1):
        n = scratch.width[i]
        new = ahead[i, :n]
        new[:] = INFINITE
        for x in range(scratch.n_allowed[i]):
            lam = scratch.lam[i, x]
            old = ahead[i + 1, scratch.offset[i, x] : scratch.offset[i, x] + n]
            for v in range(n):
                new[v] = min(new[v], old[v] + lam)
    behind[0, 0] = 0
    for i in range(k):
        n = scratch.width[i]
        old = behind[i & 1, :n]
        new = behind[1 - (i & 1), : scratch.width[i + 1]]
        new[:] = INFINITE
        for x in range(scratch.n_allowed[i]):
            first = scratch.offset[i, x]
            rest = ahead[i + 1, first : first + n]
            least = INFINITE
            for v in range(n):
                least = min(least, old[v] + rest[v])
            least += scratch.lam[i, x]
            if least >= INFINITE // 2:
                scratch.marginal[i, x] = INFINITE
                continue
            share = least // (k - i)
            scratch.marginal[i, x] = share
            rho = scratch.lam[i, x] - share
            part = new[first : first + n]
            for v in range(n):
                part[v] = min(part[v], old[v] + rho)


@compiled
def share_out(frames: Frames, t: int, j: int, i: int, message: Any, scratch: Scratch) -> int:
    """Give member ``i`` its share; return how the least entry of its table moved.

    ``message``, shape (k,) int64, of the factor to coordinate ``j`` is overwritten. Values that no
    assignment of finite cost has leave the domain.
    """
    least = INFINITE
    for x in range(scratch.n_allowed[i]):
        a = scratch.allowed[i, x]
        marginal = scratch.marginal[i, x]
        if marginal >= INFINITE // 2:
            frames.domain[t, j, a] = False
            continue
        message[a] = marginal - scratch.lam[i, x]
        frames.theta[t, j, a] = marginal
        least = min(least, marginal)
    change = least - scratch.least[j]
    scratch.least[j] = least
    return change


@compiled
def settle_cells(arena: Arena, g: int, low: int, width: int) -> None:
    """Move cells whose prediction is decided into the group's constant."""
    at = arena.cell_at[g]
    kept = 0
    for q in range(at, at + arena.n_cells[g]):
        score, cost = arena.cell_score[q], arena.cell_cost[q]
        if score + low >= 1:
            arena.constant[g] += max(cost, 0)
        elif score + low + width - 1 <= 0:
            arena.constant[g] += max(-cost, 0)
        else:
            arena.cell_score[at + kept] = score
            arena.cell_cost[at + kept] = cost
            kept += 1
    arena.n_cells[g] = kept


@compiled
def dissolve(frames: Frames, t: int, arena: Arena, g: int, scratch: Scratch, model: Model) -> int:
    """Take a decided group's messages back and its constant into the base; return the change."""
    change = arena.constant[g]
    frames.base[t] += change
    at = arena.entry_at[g]
    for e in range(at, at + arena.n_entries[g]):
        j = arena.entry_coord[e]
        least = INFINITE
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a]:
                frames.theta[t, j, a] -= arena.message[e, a]
                least = min(least, frames.theta[t, j, a])
        change += least - scratch.least[j]
        scratch.least[j] = least
    arena.n_entries[g] = 0
    arena.constant[g] = 0
    return change


@compiled
def tabulate(arena: Arena, g: int, low: int, width: int, scratch: Scratch) -> None:
    """Fill ``terminal`` with the group's cost for every open sum."""
    terminal = scratch.terminal
    for v in range(width):
        terminal[v] = 0
    total = arena.constant[g]
    at = arena.cell_at[g]
    for q in range(at, at + arena.n_cells[g]):
        cost = arena.cell_cost[q]
        total += max(-cost, 0)
        terminal[1 - arena.cell_score[q] - low] += cost
    for v in range(width):
        total += terminal[v]
        terminal[v] = total


@compiled
def share_wide_sum(arena: Arena, g: int, low: int, k: int, scratch: Scratch) -> None:
    """Weaker marginals for sums too wide to tabulate: the others anywhere in their range.

    Each cell takes its cheaper label if both are within reach, and tables their least entries.
    Every member gets a ``k``-th, so that the shares add up to no more than the factor's cost.
    """
    spread = scratch.width[k] - 1
    others = 0
    for i in range(k):
        least = INFINITE
        for x in range(scratch.n_allowed[i]):
            least = min(least, scratch.lam[i, x])
        others += least
        scratch.least_lam[i] = least
    at = arena.cell_at[g]
    for i in range(k):
        room = spread - (scratch.width[i + 1] - scratch.width[i])
        for x in range(scratch.n_allowed[i]):
            first = low + scratch.offset[i, x]
            cost = arena.constant[g]
            for q in range(at, at + arena.n_cells[g]):
                score = arena.cell_score[q]
                if score + first >= 1:
                    cost += max(arena.cell_cost[q], 0)
                elif score + first + room <= 0:
                    cost += max(-arena.cell_cost[q], 0)
            total = cost + others - scratch.least_lam[i] + scratch.lam[i, x]
            scratch.marginal[i, x] = total // k


@compiled
def update_group(
    model: Model, frames: Frames, t: int, arena: Arena, g: int, scratch: Scratch, flip: int
) -> int:
    """Let one group of points share out; return the change of the bound."""
    k = arena.n_entries[g]
    at = arena.entry_at[g]
    if k == 0:
        return 0
    for i in range(k):
        e = at + i if flip == 0 else at + k - 1 - i
        j = arena.entry_coord[e]
        take_coordinate(model, frames, t, j, arena.message[e], arena.entry_coef[e], i, scratch)
    low, width = sum_range(k, scratch)
    settle_cells(arena, g, low, width)
    if arena.n_cells[g] == 0:
        return dissolve(frames, t, arena, g, scratch, model)
    if width <= WIDEST_SUM:
        tabulate(arena, g, low, width, scratch)
        share_sum(k, scratch)
    else:
        share_wide_sum(arena, g, low, k, scratch)
    change = 0
    for i in range(k):
        e = at + i if flip == 0 else at + k - 1 - i
        change += share_out(frames, t, arena.entry_coord[e], i, arena.message[e], scratch)
    return change


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
