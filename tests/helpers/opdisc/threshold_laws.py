"""The law of private thresholds by listing all outcomes, in a few lines of doubles."""

import math

import numpy as np


def below(column, n_candidates):
    """Rows below each candidate, then all: row b lies between the candidates b - 1 and b."""
    counts = np.bincount(np.array(column, dtype=int), minlength=n_candidates + 1)
    return np.cumsum(counts).astype(np.int64)


def law(cuts, ranks):
    """Return the log-probability of every tuple of positions."""
    ranks = [int(rank) for rank in ranks]
    found = {}

    def draw(step, ends, logarithm):
        if step == len(cuts):
            places = tuple(ends[k] for k in range(1, len(cuts) + 1))
            found[places] = logarithm
            return
        cut = cuts[step]
        low, high = ends[cut.first - 1], ends[cut.last + 1]
        base, top = (0 if low < 0 else ranks[low]), ranks[high]
        parts_below, parts_above = cut.middle - cut.first + 1, cut.last - cut.middle + 1
        places = range(low + parts_below, high - parts_above + 1)
        weights = [
            -float(cut.rate)
            * abs(parts_above * (ranks[p] - base) - parts_below * (top - ranks[p]))
            for p in places
        ]
        largest = max(weights)
        total = largest + math.log(math.fsum(math.exp(w - largest) for w in weights))
        for place, weight in zip(places, weights, strict=True):
            draw(step + 1, {**ends, cut.middle: place}, logarithm + weight - total)

    draw(0, {0: -1, len(cuts) + 1: len(ranks) - 1}, 0.0)
    return found
