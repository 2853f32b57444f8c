"""A flat description of how to sum over one block: cliques, axes, factors and messages.

A block's law is a product of factors, one per *context* (a distinct combination of the block's
columns): each depends on the context's partial score alone. The sum is found by variable
elimination: variables are summed out one by one; each elimination is a *clique*, a table over one
variable and the later ones it is coupled with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray

_LEAST_CUT = 8192

_CUT_SIZE = 0.25  # below 1: then both tables fit where the whole one would


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A context's factor: a function of its partial score alone.

    Parameters
    ----------
    variables : tuple of int
        Variables that the score depends on.
    scores : tuple of ndarray of shape (states of the variable,), int64
        What each state of each of them adds to the score.
    """

    variables: tuple[int, ...]
    scores: tuple[IntArray, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """A factor that does not depend on the points: multiplicities, steps between levels.

    Parameters
    ----------
    variables : tuple of int
        Variables that it depends on.
    table : ndarray of shape (states of each variable), float64
        Non-negative factor of each combination of their states; no unit.
    """

    variables: tuple[int, ...]
    table: NDArray[np.float64]


class Plan(NamedTuple):
    """A flat description of the cliques, for the compiled loops. All arrays are 1-d.

    There are ``C`` cliques in the order of elimination. The last one has no variable of its own:
    it is the table over what is left. A clique's other variables are its ``A`` *axes* (of all
    cliques together), the first one the fastest. Entry ``(v, i)`` of a clique's table, ``v`` the
    state of its own variable and ``i`` a place among the others' states, is at
    ``table_at[c] + v * rest[c] + i``. A table is built one axis at a time, in ``E = A + C``
    *extensions*: the first of each clique adds no axis. Factor entry ``(v, u, i)`` of an extension
    is at ``factor_at[e] + (v * dim[e] + u) * prefix[e] + i``, ``u`` the state of its axis. There
    are ``T`` terms, one per context, and ``M = C - 1`` messages.

    Parameters
    ----------
    own : ndarray of shape (C,), int64
        States of the eliminated variable; 1 for the last clique.
    rest : ndarray of shape (C,), int64
        Entries of the message: the product of the axes' states.
    table_at, message_at : ndarray of shape (C,), int64
        Place of the clique's first entry among all tables, and among all messages.
    extensions : ndarray of shape (C + 1,), int64
        Extensions of clique ``c`` are ``extensions[c] .. extensions[c + 1] - 1``.
    dim : ndarray of shape (E,), int64
        States of the axis; 1 for a clique's first extension.
    length : ndarray of shape (E,), int64
        Entries per own state before the axis is added.
    prefix, prefix_axes : ndarray of shape (E,), int64
        After how many entries the factor repeats: the product of the states of so many first axes.
    factor_at : ndarray of shape (E,), int64
        Place of the extension's first entry among all factors.
    terms : ndarray of shape (E + 1,), int64
        Terms of extension ``e`` are ``terms[e] .. terms[e + 1] - 1``.
    term_map_at : ndarray of shape (T,), int64
        Place of each term's first entry in ``term_maps``.
    term_maps : ndarray of shape (entries of all terms,), int32
        For each factor entry, which of all contexts' weights the term multiplies it by: the
        context's number times the table width, plus the clipped score index.
    fixed : ndarray of shape (entries of all factors,), float64
        Product of the constant factors for each factor entry; no unit.
    incoming : ndarray of shape (C + 1,), int64
        Messages that clique ``c`` gets are ``incoming[c] .. incoming[c + 1] - 1``.
    incoming_clique : ndarray of shape (M,), int64
        Earlier clique that sends each.
    incoming_map_at : ndarray of shape (M,), int64
        Place of each message's first entry in ``incoming_maps``; -1 where it has the same axes as
        the table, so that places agree.
    incoming_maps : ndarray of shape (entries of these tables,), int32
        For each table entry, the place within the message.
    axes : ndarray of shape (C + 1,), int64
        Axes of clique ``c`` are ``axes[c] .. axes[c + 1] - 1``.
    axis_variable, axis_stride : ndarray of shape (A,), int64
        Variable of each axis, and how many entries apart its states are.
    variable : ndarray of shape (C,), int64
        The eliminated variable; -1 for the last clique.
    half : ndarray of shape (C,), int64
        -1, or the number of axes of the first of two tables whose product, entry by entry, is the
        clique's table, see :func:`halves`.
    bundled : ndarray of shape (C,), int64
        1 where the message of such a clique is never written, see :func:`bundle`; else 0.
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
    """Return 1 for every halved clique of a bundle, see ``bundle_kernels``.

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
