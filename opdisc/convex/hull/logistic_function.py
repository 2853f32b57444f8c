"""The logistic function in doubles, with a proven error: by +, -, *, / alone, no library's exp."""

from __future__ import annotations

import functools
import math

import numpy as np
from flint import arb, ctx

from oracles.arithmetic import FloatArray, frozen

SIGMOID_ERROR = 2.0**-50
"""Largest distance of :func:`sigmoid` from the true value (docs/convex.md, entry "hull")."""

_STEPS = 64
"""Tabulated powers per unit."""

_FAR = 40
"""Beyond it the value is below 2^-57, or as close to 1."""

_COEFFICIENTS = tuple(1 / math.factorial(i) for i in range(6, -1, -1))


def sigmoid(scores: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-score))`` within :data:`SIGMOID_ERROR`, shape as given."""
    far = np.minimum(np.abs(scores), float(_FAR))
    nearest = np.rint(far * _STEPS)
    rest = nearest / _STEPS - far  # exact, and at most 2^-7
    power = np.full_like(rest, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        power = coefficient + rest * power
    power *= _powers()[nearest.astype(np.int64)]
    return np.asarray(np.where(scores < 0, power, 1.0) / (1.0 + power))


@functools.cache
def _powers() -> FloatArray:
    """Return ``exp(-k / 64)``, each within 2^-52 of itself."""
    found = np.empty(_FAR * _STEPS + 1)
    with ctx.workprec(128):
        for k in range(len(found)):
            ball = (-arb(k) / _STEPS).exp()
            found[k] = float(ball.mid())
            if not (ball - arb(float(found[k]))).abs_upper() <= ball * arb(2) ** -52:
                raise ArithmeticError("a power of e must be a double to within its last digit.")
    return frozen(found)
