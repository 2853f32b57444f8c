"""Plans of a block restricted to the states that a region leaves to its variables."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray
from oracles.sampling.elimination.plan import Plan, plan_work, with_halves
from oracles.sampling.elimination.restriction_kernels import (
    feasible_states,
    fill_restricted,
    restricted_shape,
)

_CACHED_BYTES = 200_000_000

_CACHED_PLANS = 200

_PER_PLAN = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RestrictedPlan:
    """A plan over some of the states.

    Parameters
    ----------
    plan : Plan
        Over the kept states, numbered from 0 within each variable.
    kept : ndarray of shape (k,), int64
        The kept states, numbered within their variables, variable by variable.
    starts : ndarray of shape (variables + 1,), int64
        Where each variable's kept states begin, and their number.
    work : float
        Estimate of a sum and its marginals, nanoseconds.
    """

    plan: Plan
    kept: IntArray
    starts: IntArray
    work: float


class PlanRestriction:
    """Restricts one plan, and remembers the plans used last.

    Parameters
    ----------
    plan : Plan
        Over all states.
    offsets : ndarray of shape (variables + 1,), int64
        Where each variable's states begin in a list of all states.
    scores : ndarray of shape (states, rows), int32
        What every state adds to every row's score.
    lowest, n_scores : int
        A score's index is the score minus ``lowest``, clipped to ``0 .. n_scores - 1``.
    """

    def __init__(
        self,
        plan: Plan,
        offsets: IntArray,
        scores: NDArray[np.int32],
        *,
        lowest: int,
        n_scores: int,
    ) -> None:
        self._offsets, self._scores = offsets, scores
        self._lowest, self._top = lowest, n_scores - 1
        kept = np.concatenate(
            [np.arange(size) for size in np.diff(offsets)] or [np.zeros(0)]
        ).astype(np.int64)
        self.full = RestrictedPlan(plan=plan, kept=kept, starts=offsets, work=plan_work(plan))
        self._cache: OrderedDict[bytes, RestrictedPlan] = OrderedDict()
        self._bytes = 0

    def find(self, low: IntArray, high: IntArray) -> RestrictedPlan | None:
        """Return the plan over the states that rows' index intervals leave (None: no state)."""
        alive = np.ones(len(self._scores), dtype=np.bool_)
        if not feasible_states(
            self._scores, self._offsets, self._lowest, self._top, low, high, alive
        ):
            return None
        if alive.all():
            return self.full
        key = alive.tobytes()
        found = self._cache.pop(key, None)
        if found is None:
            found = self._restrict(alive)
            self._bytes += _size(found)
        self._cache[key] = found
        while len(self._cache) > 1 and (
            self._bytes > _CACHED_BYTES or len(self._cache) > _CACHED_PLANS
        ):
            self._bytes -= _size(self._cache.popitem(last=False)[1])
        return found

    def _restrict(self, alive: NDArray[np.bool_]) -> RestrictedPlan:
        plan = self.full.plan
        kept = self.full.kept[alive]
        starts = np.concatenate([[0], np.cumsum(alive)])[self._offsets].astype(np.int64)
        n_cliques, n_extensions = len(plan.own), len(plan.dim)
        shape = np.zeros((n_cliques + n_extensions + 1, 5), dtype=np.int64)
        strides = np.zeros_like(plan.axis_stride)
        restricted_shape(plan, starts, shape, strides)
        n_terms, n_factors, n_incoming = shape[-1, :3].tolist()
        term_map_at, incoming_map_at = (
            np.zeros_like(plan.term_map_at),
            np.zeros_like(plan.incoming_map_at),
        )
        term_maps = np.empty(n_terms, dtype=np.int32)
        fixed = np.empty(n_factors)
        incoming_maps = np.empty(n_incoming, dtype=np.int32)
        fill_restricted(
            plan,
            kept,
            starts,
            shape,
            strides,
            term_map_at,
            term_maps,
            fixed,
            incoming_map_at,
            incoming_maps,
        )
        cliques = np.ascontiguousarray(shape[:n_cliques].T)
        extensions = np.ascontiguousarray(shape[n_cliques:-1].T)
        restricted = plan._replace(
            own=cliques[0],
            rest=cliques[1],
            table_at=cliques[2],
            message_at=cliques[3],
            dim=extensions[0],
            length=extensions[1],
            prefix=extensions[2],
            factor_at=extensions[3],
            term_map_at=term_map_at,
            term_maps=term_maps,
            fixed=fixed,
            incoming_map_at=incoming_map_at,
            incoming_maps=incoming_maps,
            axis_stride=strides,
        )
        restricted = with_halves(restricted)
        return RestrictedPlan(
            plan=restricted,
            kept=kept,
            starts=starts,
            work=plan_work(restricted),
        )


def _size(restricted: RestrictedPlan) -> int:
    plan = restricted.plan
    maps = plan.term_maps.nbytes + plan.fixed.nbytes + plan.incoming_maps.nbytes
    return int(maps) + _PER_PLAN
