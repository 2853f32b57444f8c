"""A flat description of how to sum over one block: cliques, axes, factors and messages.

A block's law is a product of factors, one per *context* (a distinct combination of the block's
columns): each depends on the context's partial score alone. Variables are eliminated one by one;
each elimination is a *clique*, a table over one variable and the later ones it is coupled with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.arrays import IntArray

_LEAST_CUT = 8192
_CUT_SIZE = 0.25  # below 1: then both tables fit where the whole one would


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A context's factor: which variables it depends on, and their scores per state."""

    variables: tuple[int, ...]
    scores: tuple[IntArray, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A factor that does not depend on the points: multiplicities, steps between levels."""

    variables: tuple[int, ...]
    table: NDArray[np.float64]


class Plan(NamedTuple):
    """A flat description of the cliques, for the compiled loops. All arrays are 1-d.

    Per clique: ``own`` states of the eliminated variable, ``rest`` size of the table over the
    others, offsets of its table and message. The table is built one axis at a time (*extension*):
    ``dim`` states, ``length`` entries so far, a factor that repeats every ``prefix`` entries: the
    product of the first ``prefix_axes`` axes. ``half`` is -1, or the number of axes of the first
    of two tables whose product, entry by entry, is the clique's table, see :func:`halves`;
    ``bundled`` is 1 where the message of such a clique is never written, see :func:`bundle`.
    """

    own: IntArray
    rest: IntArray
    table_at: IntArray
    message_at: IntArray
    extensions: IntArray
    dim: IntArray
    length: IntArray
    prefix: IntArray
    prefix_axes: IntArray
    factor_at: IntArray
    terms: IntArray
    term_map_at: IntArray
    term_maps: NDArray[np.int32]
    fixed: NDArray[np.float64]
    incoming: IntArray
    incoming_clique: IntArray
    incoming_map_at: IntArray
    incoming_maps: NDArray[np.int32]
    axes: IntArray
    axis_variable: IntArray
    axis_stride: IntArray
    variable: IntArray
    half: IntArray
    bundled: IntArray


def halves(plan: Plan) -> IntArray:
    """Return where to cut each clique's axes in two, -1 where that saves nothing.

    Given the eliminated variable, a clique without messages is a product of factors, each over
    one axis and the first ``prefix_axes`` ones. The factors of the axes before the cut make up
    one small table, those behind it another one, which repeats over the shared axes.
    """
    cuts = np.full(len(plan.own), -1, dtype=np.int64)
    for c in range(len(plan.own)):
        own, rest, first = int(plan.own[c]), int(plan.rest[c]), int(plan.extensions[c])
        n_axes = int(plan.extensions[c + 1]) - first - 1
        if own == 1 or rest < _LEAST_CUT or plan.incoming[c] < plan.incoming[c + 1]:
            continue
        least = rest * _CUT_SIZE
        for cut in range(1, n_axes):
            shared = int(plan.prefix_axes[first + cut + 1 : first + n_axes + 1].max())
            if shared > cut:
                continue
            low = int(plan.length[first + cut + 1])
            size = low + rest // low * _shared_size(plan, c, cut)
            if size < least:
                least, cuts[c] = size, cut
    return cuts


def bundle(plan: Plan) -> IntArray:
    """Return 1 for every halved clique of a bundle, see :mod:`oracles.bundle_kernels`.

    Its second tables do not depend on the first axes, its message goes to the last clique entry
    by entry, and all of the bundle are cut at the same axis.
    """
    found, last, cut = np.zeros(len(plan.own), dtype=np.int64), len(plan.own) - 1, -1
    for k in range(int(plan.incoming[last]), int(plan.incoming[last + 1])):
        c = int(plan.incoming_clique[k])
        half = int(plan.half[c])
        if plan.incoming_map_at[k] >= 0 or half < 0 or _shared_size(plan, c, half) > 1:
            continue
        if cut in (-1, half):
            found[c], cut = 1, half
    return found


def bundle_sizes(plan: Plan) -> tuple[int, int]:
    """Return the length of a bundle's rows, and of all its marginals together; 0 without one."""
    row = marginals = 0
    for c in np.flatnonzero(plan.bundled):
        row = int(plan.length[plan.extensions[c] + plan.half[c] + 1])
        marginals += int(plan.own[c]) * (row + int(plan.rest[c]) // row)
    return row, marginals


def plan_work(plan: Plan) -> float:
    """Estimate a sum over the plan and its marginals, in nanoseconds."""
    entries = plan.own * plan.rest
    return float(entries @ np.where(plan.half >= 0, 1.2, 4.0))


def with_halves(plan: Plan) -> Plan:
    """Return the plan with its cuts and its bundle."""
    plan = plan._replace(half=halves(plan))
    return plan._replace(bundled=bundle(plan))


def without_halves(plan: Plan) -> Plan:
    """Return the plan with whole tables only."""
    return plan._replace(half=np.full_like(plan.half, -1), bundled=np.zeros_like(plan.bundled))


def _shared_size(plan: Plan, c: int, cut: int) -> int:
    first, last = int(plan.extensions[c]) + cut + 1, int(plan.extensions[c + 1])
    return int(plan.prefix[first:last].max())
