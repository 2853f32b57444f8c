"""How to sum over the weights of one block: variables, factors and an elimination order.

The order affects speed only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oracles.arithmetic import IntArray
from oracles.sampling.elimination.plan import Fixed, Plan, Term, with_halves


@dataclass(slots=True)
class _Clique:
    """One elimination.

    Parameters
    ----------
    own : int or None
        The variable that is summed out; None for the last clique.
    axes : list of int
        The other variables of its table, the fastest first.
    terms, fixed : list of int
        Factors that it multiplies, by number.
    incoming : list of int
        Earlier cliques whose messages it gets.
    """

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
