"""How to sum over the weights of one block: variables, factors and an elimination order.

A block's law is a product of factors, one per *context* (a distinct combination of the block's
columns): each depends on the context's partial score alone. Variables are eliminated one by one;
each elimination is a *clique*, a table over one variable and the later ones it is coupled with.
The order affects speed only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.problem import IntArray

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


@dataclass(slots=True)
class _Clique:
    own: int | None
    axes: list[int]
    terms: list[int]
    fixed: list[int]
    incoming: list[int]


def elimination_order(
    sizes: Sequence[int], scopes: Sequence[Sequence[int]]
) -> tuple[list[tuple[int, frozenset[int]]], frozenset[int]]:
    """Eliminate the cheapest variable until the rest fits into one table.

    Returns
    -------
    (list of (variable, neighbours), remaining variables)
    """
    neighbours: dict[int, set[int]] = {v: set() for v in range(len(sizes))}
    for scope in scopes:
        for v in scope:
            neighbours[v] |= set(scope) - {v}
    steps: list[tuple[int, frozenset[int]]] = []
    while neighbours:
        remaining = frozenset(neighbours)
        costs = {
            v: sizes[v] * math.prod(sizes[u] for u in around) for v, around in neighbours.items()
        }
        best = min(costs, key=lambda v: (costs[v], v))
        if math.prod(sizes[v] for v in remaining) <= costs[best]:
            # One table is enough; but a variable that few messages share would make them repeat.
            pending = [around for _, around in steps if around and around <= remaining]
            shared = {v: sum(v in around for around in pending) for v in remaining}
            best = min(shared, key=lambda v: (shared[v], -sizes[v], v))
            if 2 * shared[best] >= len(pending):
                break
        around = neighbours.pop(best)
        for u in around:
            neighbours[u] |= around - {u}
            neighbours[u].discard(best)
        steps.append((best, frozenset(around)))
    return steps, frozenset(neighbours)


def elimination_entries(sizes: Sequence[int], scopes: Sequence[Sequence[int]]) -> int:
    """Return the number of table entries of the elimination."""
    steps, root = elimination_order(sizes, scopes)
    entries = sum(sizes[v] * math.prod(sizes[u] for u in around) for v, around in steps)
    return entries + math.prod(sizes[v] for v in root)


def _cliques(sizes: Sequence[int], terms: Sequence[Term], fixed: Sequence[Fixed]) -> list[_Clique]:
    scopes = [t.variables for t in terms] + [f.variables for f in fixed]
    steps, root = elimination_order(sizes, scopes)
    uses = np.zeros(len(sizes), dtype=np.int64)
    for term in terms:
        uses[list(term.variables)] += 1
    # The variables that most factors share go first: their factors then repeat in long runs.
    rank = {int(v): r for r, v in enumerate(np.lexsort((np.arange(len(sizes)), -uses)))}
    cliques = [_Clique(v, sorted(around, key=rank.__getitem__), [], [], []) for v, around in steps]
    cliques.append(_Clique(None, sorted(root, key=rank.__getitem__), [], [], []))
    when = {v: i for i, (v, _) in enumerate(steps)}
    home = len(cliques) - 1
    for i, term in enumerate(terms):
        cliques[min((when.get(v, home) for v in term.variables), default=home)].terms.append(i)
    for i, factor in enumerate(fixed):
        cliques[min((when.get(v, home) for v in factor.variables), default=home)].fixed.append(i)
    for i, clique in enumerate(cliques[:-1]):
        cliques[min((when.get(v, home) for v in clique.axes), default=home)].incoming.append(i)
    return cliques


class PlanBuilder:
    """Flattens the cliques of a block into a :class:`Plan`.

    Parameters
    ----------
    sizes : sequence of int
        States of each variable.
    terms : sequence of Term
        One per context.
    fixed : sequence of Fixed
        Factors that are constants.
    lowest : int
        Score of index 0 of a context's table.
    n_scores : int
        Scores of a context; those beyond either end are clipped.
    width : int
        Entries of a context's table, at least ``n_scores``.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        terms: Sequence[Term],
        fixed: Sequence[Fixed],
        *,
        lowest: int,
        n_scores: int,
        width: int,
    ) -> None:
        self._sizes, self._terms, self._fixed = sizes, terms, fixed
        self._lowest, self._n_scores, self._width = lowest, n_scores, width
        self._lists: dict[str, list[Any]] = {name: [] for name in Plan._fields}
        self._pools: dict[str, int] = {"table": 0, "message": 0, "factor": 0, "term": 0, "in": 0}
        self._cliques = _cliques(sizes, terms, fixed)

    def build(self) -> Plan:
        """Return the flat plan."""
        for clique in self._cliques:
            self._add_clique(clique)
        for name, end in (("extensions", "dim"), ("incoming", "incoming_clique")):
            self._lists[name].append(len(self._lists[end]))
        self._lists["terms"].append(len(self._lists["term_map_at"]))
        self._lists["axes"].append(len(self._lists["axis_variable"]))
        pooled = {"term_maps": np.int32, "incoming_maps": np.int32, "fixed": np.float64}
        arrays = {}
        for name, parts in self._lists.items():
            if name in pooled:
                joined = np.concatenate(parts) if parts else np.zeros(0)
                arrays[name] = joined.astype(pooled[name])
            else:
                arrays[name] = np.asarray(parts, dtype=np.int64)
        plan = Plan(**arrays)
        return with_halves(plan)

    def _own(self, clique: _Clique) -> int:
        return 1 if clique.own is None else self._sizes[clique.own]

    def _add_clique(self, clique: _Clique) -> None:
        lists, pools = self._lists, self._pools
        rest = math.prod(self._sizes[v] for v in clique.axes)
        lists["own"].append(self._own(clique))
        lists["rest"].append(rest)
        lists["table_at"].append(pools["table"])
        lists["message_at"].append(pools["message"])
        pools["table"] += self._own(clique) * rest
        pools["message"] += rest
        lists["variable"].append(-1 if clique.own is None else clique.own)
        lists["extensions"].append(len(lists["dim"]))
        lists["incoming"].append(len(lists["incoming_clique"]))
        lists["axes"].append(len(lists["axis_variable"]))
        stride = 1
        for v in clique.axes:
            lists["axis_variable"].append(v)
            lists["axis_stride"].append(stride)
            stride *= self._sizes[v]
        for axis in range(len(clique.axes) + 1):
            self._add_extension(clique, axis)
        for child in clique.incoming:
            self._add_incoming(clique, child)

    def _last_axis(self, clique: _Clique, variables: Sequence[int]) -> int:
        """Return 1 + the slowest axis that a factor depends on; 0 for none."""
        return max((clique.axes.index(v) + 1 for v in variables if v != clique.own), default=0)

    def _states(self, clique: _Clique, axis: int, prefix_axes: int) -> dict[int, IntArray]:
        """Return the state of every variable along a factor table (own, axis, prefix)."""
        names = clique.axes[:prefix_axes] + ([clique.axes[axis - 1]] if axis else [])
        shape = [self._own(clique), *reversed([self._sizes[v] for v in names])]
        grids = np.indices(shape).reshape(len(shape), -1)
        states = {v: grids[len(names) - i] for i, v in enumerate(names)}
        if clique.own is not None:
            states[clique.own] = grids[0]
        return states

    def _add_extension(self, clique: _Clique, axis: int) -> None:
        lists, pools = self._lists, self._pools
        terms = [
            i for i in clique.terms if self._last_axis(clique, self._terms[i].variables) == axis
        ]
        fixed = [
            i for i in clique.fixed if self._last_axis(clique, self._fixed[i].variables) == axis
        ]
        scopes = [self._terms[i].variables for i in terms]
        scopes += [self._fixed[i].variables for i in fixed]
        here = clique.axes[axis - 1] if axis else None
        prefix_axes = max(
            (self._last_axis(clique, [v for v in scope if v != here]) for scope in scopes),
            default=0,
        )
        states = self._states(clique, axis, prefix_axes)
        prefix = math.prod(self._sizes[v] for v in clique.axes[:prefix_axes])
        dim = 1 if here is None else self._sizes[here]
        entries = self._own(clique) * dim * prefix
        lists["dim"].append(dim)
        lists["length"].append(math.prod(self._sizes[v] for v in clique.axes[: max(0, axis - 1)]))
        lists["prefix"].append(prefix)
        lists["prefix_axes"].append(prefix_axes)
        lists["factor_at"].append(pools["factor"])
        pools["factor"] += entries
        constant = np.ones(entries)
        for i in fixed:
            factor = self._fixed[i]
            constant *= factor.table[tuple(states[v] for v in factor.variables)]
        lists["fixed"].append(constant)
        lists["terms"].append(len(lists["term_map_at"]))
        for i in terms:
            self._add_term(i, states, entries)

    def _add_term(self, i: int, states: dict[int, IntArray], entries: int) -> None:
        term = self._terms[i]
        total = np.zeros(entries, dtype=np.int64)
        for v, scores in zip(term.variables, term.scores, strict=True):
            total += scores[states[v]]
        index = np.clip(total - self._lowest, 0, self._n_scores - 1) + i * self._width
        self._lists["term_map_at"].append(self._pools["term"])
        self._lists["term_maps"].append(index)
        self._pools["term"] += entries

    def _add_incoming(self, clique: _Clique, child: int) -> None:
        lists, pools = self._lists, self._pools
        axes = self._cliques[child].axes
        lists["incoming_clique"].append(child)
        if axes == clique.axes:
            lists["incoming_map_at"].append(-1)
            return
        states = self._states(clique, 0, len(clique.axes))
        index = np.zeros(self._own(clique) * lists["rest"][-1], dtype=np.int64)
        stride = 1
        for v in axes:
            index += stride * states[v]
            stride *= self._sizes[v]
        lists["incoming_map_at"].append(pools["in"])
        lists["incoming_maps"].append(index)
        pools["in"] += len(index)
