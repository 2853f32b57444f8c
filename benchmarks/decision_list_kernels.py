"""Compiled loops of ``decision_lists.py``."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

LOG_2 = math.log(2)


@njit(cache=True)
def _answers(packed, beta):
    """Return log of the sum over both answers to a cell, and the mean number right held out."""
    mask = (1 << 16) - 1
    plus, minus = packed & mask, packed >> 16 & mask
    held_plus, held_minus = packed >> 32 & mask, packed >> 48
    worse = math.exp(-beta * abs(plus - minus))
    total = -beta * min(plus, minus) + math.log1p(worse)
    better, other = held_plus, held_minus
    if minus > plus:
        better, other = held_minus, held_plus
    return total, (better + worse * other) / (1 + worse)


@njit(cache=True)
def _add(logs, means, e, term, gain):
    """Add one more term to a log of a sum, and its gain to the mean by these terms."""
    old = logs[e]
    ratio = math.exp(-abs(term - old))
    logs[e] = max(term, old) + math.log1p(ratio)
    means[e] += (1 if term > old else ratio) / (1 + ratio) * (gain - means[e])


@njit(cache=True)
def every_set(size, most, columns, ones, ends, packed, betas, binomial, below, below_right):
    """Return logs and means, (sets, bits, rules to come, betas), of all sets of statements.

    A set is a rising tuple of ``size`` columns and the bits that the rows that are left have
    there. ``below`` and ``below_right`` are the same of one statement more.
    """
    n_columns, n_bits, n_more = len(columns), 1 << size, most - size
    n_sets = binomial[n_columns, size]
    shape = (n_sets, n_bits, n_more + 1, len(betas))
    logs, right = np.full(shape, -np.inf), np.zeros(shape)
    chosen, grown = np.arange(size), np.zeros(size + 1, np.int64)
    cells = np.zeros((n_bits, n_columns + 1), np.int64)
    for place in range(n_sets):
        cells[:] = 0
        for p in range(len(packed)):
            bits = 0
            for i in range(size):
                bits |= columns[chosen[i], p] << i
            cells[bits, n_columns] += packed[p]
            for t in range(ends[p], ends[p + 1]):
                cells[bits, ones[t]] += packed[p]
        for bits in range(n_bits):
            for e in range(len(betas)):
                got = _answers(cells[bits, n_columns], betas[e])
                logs[place, bits, 0, e], right[place, bits, 0, e] = got
        for j in range(n_columns):
            at = 0
            while at < size and chosen[at] < j:
                at += 1
            if at < size and chosen[at] == j:
                continue
            grown[:at], grown[at], grown[at + 1 :] = chosen[:at], j, chosen[at:]
            next_place = 0
            for i in range(size + 1):
                next_place += binomial[grown[i], i + 1]
            for bits in range(n_bits):
                one = cells[bits, j]
                zero = cells[bits, n_columns] - one
                # Bits of the rows that are left, which have a 0 there, or a 1.
                left = bits & ((1 << at) - 1) | (bits >> at) << (at + 1)
                for e in range(len(betas)):
                    sides = _answers(zero, betas[e]), _answers(one, betas[e])
                    # Which of its two sides the last rule takes makes no difference.
                    term, gain = sides[0][0] + sides[1][0] + LOG_2, sides[0][1] + sides[1][1]
                    _add(logs[place, bits, 1], right[place, bits, 1], e, term, gain)
                    for more in range(1, n_more):
                        for value in range(2):
                            next_bits = left | value << at
                            log, mean = sides[1 - value]
                            term = log + below[next_place, next_bits, more, e]
                            gain = mean + below_right[next_place, next_bits, more, e]
                            into = logs[place, bits, more + 1], right[place, bits, more + 1]
                            _add(*into, e, term, gain)
        i = 0  # the next tuple, the first column fastest
        while i < size - 1 and chosen[i] + 1 == chosen[i + 1]:
            chosen[i] = i
            i += 1
        if size:
            chosen[i] += 1
    return logs, right
