"""The law of permute-and-flip by quadrature."""

import numpy as np
from scipy import integrate


def first_head_law(losses, beta, copies=None):
    """Return P[w]: a coin of w is at a uniform place, shows heads, and no coin before it does.

    Candidate w has ``copies[w]`` coins, each with chance ``exp(-beta * (loss - least loss))``.
    """
    losses = np.asarray(losses)
    copies = np.ones(len(losses)) if copies is None else np.asarray(copies, dtype=float)
    levels, where = np.unique(losses, return_inverse=True)
    q = np.exp(-beta * (levels - levels[0]))
    n = np.bincount(where, weights=copies)

    def density(t, k):
        # Place 1 - e^-t; in logarithms, so that many coins do not underflow.
        x = -np.expm1(-t)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = (n - (np.arange(len(n)) == k)) * np.log1p(-q * x)
        return q[k] * np.exp(np.nansum(logs) - t)

    ends = np.array([0, 1e-3, 1e-2, 0.1, 1, 3, 10]) * 5 / (n * q).sum()
    ends = np.append(ends[ends < 700], 700.0)
    each = np.array(
        [
            sum(
                integrate.quad(density, a, b, args=(k,), limit=200)[0]
                for a, b in zip(ends, ends[1:], strict=False)
            )
            for k in range(len(q))
        ]
    )
    return each[where] * copies
