"""Compiled loops over many draws from one cell: states, scores and the test's first look.

States are drawn in the opposite order of variable elimination: the last clique's at once, then
each clique's own variable ``v`` given the states ``i`` of its axes. Among ``n`` choices of shares
``p_1 .. p_n`` of the tables, choice ``a`` has the probability

    (floor(2**52 * p_a) + 1) / sum over b of (floor(2**52 * p_b) + 1)

a known rational, and never 0. A draw ``w`` made with probability ``q(w)``, the product of these
over its choices, is accepted with probability

    exp(log_height - beta * L(w)) / q(w)

``beta`` the inverse temperature and ``L`` the loss in rows. Proof: docs/theory.md, entry
"exact-sampler". Doubles here only sort out draws that are far from being accepted; the rest is
decided in integers. With a base measure ``q`` is divided by it first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import FloatArray, IntArray, njit
from oracles.sampling.elimination.plan import Plan
from oracles.sampling.elimination.sum_kernels import half_sizes

WORDS_TO_SPARE = 1024
"""On top of 65 words for 64 choices: they run out with probability below 2**-400."""

REJECTED, CANDIDATE, BROKEN = 0, 1, 2

DOUBT = 1e-6

FAINT = 1e-3
"""Chances below this need not be computed to the end unless the draw is accepted."""

_UNIT = 2.0**-64

_DRAW_SCALE = 2.0**52

_STRIDE = 32


@njit(cache=True, nogil=True, error_model="numpy")
def _threshold(whole, words, used):  # type: ignore[no-untyped-def]
    """Return a uniform integer below ``whole``, and the words used so far (-1: ran out).

    ``words`` is a one-dimensional uint64 array; ``used`` of them are used up already.
    """
    while used < len(words):
        word = words[used]
        used += 1
        # Words below 2^64 mod whole are left out; all others are multiples and a remainder.
        if word >= whole or word >= (np.uint64(0) - whole) % whole:
            return word % whole, used
    return np.uint64(0), -1


@njit(cache=True, nogil=True, error_model="numpy")
def fill_ladder(plan: Plan, messages: FloatArray, ladder: NDArray[np.uint64]) -> None:
    """Cumulate the last clique's integer weights, ``floor(share * 2**52) + 1`` each.

    ``messages`` is as the sum left it; ``ladder`` has an entry for each of the last clique's.
    """
    c = len(plan.own) - 1
    at, n = plan.message_at[c], plan.rest[c]
    total = 0.0
    for i in range(n):
        total += messages[at + i]
    scale = _DRAW_SCALE / total if total > 0.0 else 0.0
    whole = np.uint64(0)
    for i in range(n):
        whole += np.uint64(min(messages[at + i] * scale, _DRAW_SCALE)) + np.uint64(1)
        ladder[i] = whole


@njit(cache=True, nogil=True, error_model="numpy")
def draw_states(
    plan: Plan,
    tables: FloatArray,
    ladder: NDArray[np.uint64],
    words: NDArray[np.uint64],
    used: int,
    states: IntArray,
    weights: NDArray[np.uint64],
    log_chances: FloatArray,
) -> int:
    """Draw the state of every variable, once per row of ``states``, from one block's law.

    ``states`` is (draws, variables) int64, ``weights`` (draws, 2 * cliques) uint64:
    ``weights[r, 2 * c]`` out of ``weights[r, 2 * c + 1]`` is the exact probability of the choice
    made at clique ``c``. Their logs, nats, are added to ``log_chances``, shape (draws,). Returns
    the words used so far, or -1 if they ran out.
    """
    n_cliques = len(plan.own)
    root = n_cliques - 1
    for r in range(len(states)):
        product = 1.0
        for c in range(root, -1, -1):
            first, last = plan.axes[c], plan.axes[c + 1]
            if c == root:
                n = plan.rest[c]
                whole = ladder[n - 1]
                threshold, used = _threshold(whole, words, used)
                if used < 0:
                    return -1
                low, high = 0, n - 1
                while low < high:
                    middle = (low + high) // 2
                    if threshold < ladder[middle]:
                        high = middle
                    else:
                        low = middle + 1
                w = ladder[low] - (ladder[low - 1] if low > 0 else np.uint64(0))
                place = low
                for a in range(last - 1, first - 1, -1):
                    states[r, plan.axis_variable[a]] = place // plan.axis_stride[a]
                    place %= plan.axis_stride[a]
            else:
                place = 0
                for a in range(first, last):
                    place += plan.axis_stride[a] * states[r, plan.axis_variable[a]]
                own = plan.own[c]
                at, hop = plan.table_at[c] + place, plan.rest[c]
                other, skip = 0, 0
                halved = plan.half[c] >= 0
                if halved:  # entries are products of one of either table
                    low, high, shared = half_sizes(plan, c)
                    i = place % low
                    at, hop = plan.table_at[c] + i, low
                    other = plan.table_at[c] + own * low + place // low * shared + i % shared
                    skip = high * shared
                total = 0.0
                for v in range(own):
                    z = tables[at + v * hop]
                    total += z * tables[other + v * skip] if halved else z
                scale = _DRAW_SCALE / total if total > 0.0 else 0.0
                whole = np.uint64(0)
                for v in range(own):
                    z = tables[at + v * hop]
                    z = z * tables[other + v * skip] if halved else z
                    whole += np.uint64(min(z * scale, _DRAW_SCALE))
                    whole += np.uint64(1)
                threshold, used = _threshold(whole, words, used)
                if used < 0:
                    return -1
                w = np.uint64(0)
                for v in range(own):
                    z = tables[at + v * hop]
                    z = z * tables[other + v * skip] if halved else z
                    w = np.uint64(min(z * scale, _DRAW_SCALE))
                    w += np.uint64(1)
                    if threshold < w:
                        states[r, plan.variable[c]] = v
                        break
                    threshold -= w
            weights[r, 2 * c] = w
            weights[r, 2 * c + 1] = whole
            product *= np.float64(w) / np.float64(whole)
            if product < 1e-200:
                log_chances[r] += np.log(product)
                product = 1.0
        log_chances[r] += np.log(product)
    return used


@njit(cache=True, nogil=True, error_model="numpy")
def add_scores(
    states: IntArray,
    offsets: IntArray,
    scores: NDArray[np.int32],
    gains: FloatArray,
    lowest: int,
    n_scores: int,
    start: int,
    indices: NDArray[np.int32],
    log_chances: FloatArray,
) -> None:
    """Fill a block's score indices, ``indices[r, start:]``, and take gains off the log chances.

    ``states`` is (draws, variables) int64. ``scores[offsets[i] + s]``, shape (rows of the block,)
    int32, is what state ``s`` of variable ``i`` adds to every context's score, and ``gains``,
    shape (states of all variables,) nats, is the log of the weight of the assignments that the
    state stands for: of their number where all weigh 1. ``indices`` is (draws, rows of all
    blocks).
    """
    n_rows = scores.shape[1]
    top = np.int32(n_scores - 1)
    for r in range(len(states)):
        out = indices[r, start : start + n_rows]
        out[:] = np.int32(-lowest)
        for i in range(states.shape[1]):
            at = offsets[i] + states[r, i]
            log_chances[r] -= gains[at]
            part = scores[at]
            for k in range(n_rows):
                out[k] += part[k]
        for k in range(n_rows):
            out[k] = min(max(out[k], np.int32(0)), top)


@njit(cache=True, nogil=True, error_model="numpy")
def first_look(
    indices: NDArray[np.int32],
    log_chances: FloatArray,
    thresholds: NDArray[np.uint64],
    rows: NDArray[np.int32],
    counts: IntArray,
    base: int,
    target: int,
    low: IntArray,
    high: IntArray,
    costs: FloatArray,
    constant: float,
    beta: float,
    log_height: float,
    chances: FloatArray,
    status: NDArray[np.int8],
) -> None:
    """Compare every draw's ticket with its acceptance probability, in doubles.

    The probability is ``exp(log_height - beta * loss - log_chance)``. Draws that it may accept are
    candidates, to be decided exactly; one below its certified bound, or with a probability above
    1, is broken. Shapes, for ``n`` draws, ``m`` points, ``k`` blocks and tables of ``w`` entries:
    ``indices`` (n, rows), ``log_chances`` (n,) in nats, ``tickets`` (n,) in units of ``2**-64``,
    ``rows`` (m, k), ``counts`` (m,) in rows of loss, ``low`` and ``high`` (rows,) score indices,
    ``costs`` (rows, w) in rows of loss; ``chances`` and ``status`` (n,) are filled. No choice has
    probability 0, so a draw may, very rarely, be outside of the cell's region ``low .. high``: it
    belongs to another cell and is rejected. Points are in descending order of ``abs(counts)``:
    sums that are beyond the ticket already are not finished.
    """
    n_points, k = rows.shape
    for r in range(len(indices)):
        place = indices[r]
        chances[r] = 0.0
        status[r] = REJECTED
        certified = constant
        inside = True
        for row in range(len(costs)):
            inside = inside and low[row] <= place[row] <= high[row]
            certified += costs[row, place[row]]
        if not inside:
            continue
        room = log_height - log_chances[r]
        threshold = np.float64(thresholds[r]) * _UNIT
        limit = np.inf
        if beta > 0.0 and thresholds[r] > 0:
            limit = (room - np.log(min(threshold, FAINT))) / beta
            limit = max(limit + 1.0 + 1e-6 * abs(limit), certified)
        loss = base
        done = True
        for first in range(0, n_points, _STRIDE):
            for p in range(first, min(first + _STRIDE, n_points)):
                score = place[rows[p, 0]] + place[rows[p, 1]]
                for i in range(2, k):
                    score += place[rows[p, i]]
                if (score >= target) == (counts[p] > 0):
                    loss += abs(counts[p])
            if loss > limit:
                done = False
                break
        if not done:
            continue
        log_chance = room - beta * loss
        if loss < certified - 1e-6 * max(1.0, abs(np.float64(loss))) or log_chance > 0.0:
            status[r] = BROKEN
            continue
        chances[r] = np.exp(log_chance)
        if thresholds[r] == 0 or threshold < chances[r] * (1.0 + DOUBT):
            status[r] = CANDIDATE
