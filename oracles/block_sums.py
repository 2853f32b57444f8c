"""Exact sums, marginals and draws over the weights of one block of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.block_kernels import FloatArray, block_marginals, draw_block, sum_block
from oracles.block_plan import (
    Fixed,
    JointVariable,
    LevelVariable,
    PlanBuilder,
    Term,
    Variable,
    elimination_entries,
    joint_variable,
)
from oracles.column_groups import ColumnGroup
from oracles.entropy import RandomBits
from oracles.problem import IntArray

_LARGEST_JOINT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDraw:
    """Weights drawn from a block's law, with their exact probability.

    Parameters
    ----------
    weights : ndarray of shape (columns,), int64
        One weight per column of the block.
    chances : tuple of (int, int)
        The probability of the draw is the product of ``p / q`` over these pairs.
    """

    weights: IntArray
    chances: tuple[tuple[int, int], ...]


class BlockSum:
    """The law of one block's weights: a product of one factor per context.

    Parameters
    ----------
    values : sequence of sequence of int
        Allowed weights of each column of the block.
    groups : sequence of ColumnGroup
        How these columns relate; indices are positions within the block.
    contexts : ndarray of shape (K, columns), int64
        The distinct combinations that occur.
    lowest, width : int
        A factor is a table over scores ``lowest .. lowest + width - 1``, clipped at both ends.
    """

    def __init__(
        self,
        values: Sequence[Sequence[int]],
        groups: Sequence[ColumnGroup],
        contexts: IntArray,
        *,
        lowest: int,
        width: int,
    ) -> None:
        self.contexts = contexts
        self.variables, terms, fixed = _cheapest_variables(values, groups, contexts)
        sizes = [v.size for v in self.variables]
        self.plan = PlanBuilder(sizes, terms, fixed, lowest=lowest, width=width).build()
        self.n_entries = int(self.plan.own @ self.plan.rest)
        self.weights = np.zeros(len(contexts) * width)
        self.law = np.zeros(len(contexts) * width)
        self._factors = np.zeros(len(self.plan.fixed))
        self._tables = np.zeros(self.n_entries)
        self._messages = np.zeros(int(self.plan.rest.sum()))
        self._peaks = np.ones(len(self.plan.own))
        self._downward = np.zeros_like(self._messages)
        self._beliefs = np.zeros(int((self.plan.own * self.plan.rest).max()))
        self._states = np.zeros(len(sizes), dtype=np.int64)
        self._chances = np.zeros(2 * len(self.plan.own), dtype=np.uint64)

    def sum(self) -> float:
        """Return the log of the sum over the block of the product of ``weights``."""
        return float(
            sum_block(
                self.weights,
                self.plan,
                self._factors,
                self._tables,
                self._messages,
                self._peaks,
            )
        )

    def marginals(self) -> FloatArray:
        """Return the law of every context's score after :meth:`sum`, shape (K, width) flat."""
        block_marginals(
            self.law,
            self.plan,
            self._factors,
            self._tables,
            self._messages,
            self._peaks,
            self._downward,
            self._beliefs,
        )
        return self.law

    def draw(
        self, words: NDArray[np.uint64], used: int, bits: RandomBits
    ) -> tuple[BlockDraw, int]:
        """Draw weights after :meth:`sum`; return them and how many words are used up (-1: all)."""
        used = draw_block(
            self.plan, self._tables, self._messages, words, used, self._states, self._chances
        )
        weights = np.zeros(self.contexts.shape[1], dtype=np.int64)
        pairs = self._chances.tolist()
        chances = [(pairs[i], pairs[i + 1]) for i in range(0, len(pairs), 2)]
        if used < 0:
            return BlockDraw(weights=weights, chances=()), used
        states = self._states.tolist()
        for variable, state in zip(self.variables, states, strict=True):
            if isinstance(variable, LevelVariable):
                below = variable.previous
                base = 0 if below is None else self._total(below, states[below])
                weights[variable.column] = int(variable.totals[state]) - base
                continue
            start, stop = int(variable.starts[state]), int(variable.starts[state + 1])
            place = start + bits.below(stop - start)
            weights[list(variable.columns)] = variable.assignments[place]
            if stop - start > 1:
                chances.append((1, stop - start))
        return BlockDraw(weights=weights, chances=tuple(chances)), used

    def _total(self, position: int, state: int) -> int:
        variable = self.variables[position]
        assert isinstance(variable, LevelVariable)
        return int(variable.totals[state])


def _cheapest_variables(
    values: Sequence[Sequence[int]], groups: Sequence[ColumnGroup], contexts: IntArray
) -> tuple[list[Variable], list[Term], list[Fixed]]:
    """Try the ways to form variables and keep the one with the smallest tables."""
    nested = [g for g, group in enumerate(groups) if group.kind == "nested"]
    always = [c for c in range(contexts.shape[1]) if contexts.shape[0] and contexts[:, c].all()]
    merges: list[tuple[int, ...]] = [()]
    for group in groups:
        columns = (*always, *(c for c in group.columns if c not in always))
        joint = np.prod([float(len(values[c])) for c in columns])
        if always and group.kind != "nested" and len(columns) > 1 and joint <= _LARGEST_JOINT:
            merges.append(columns)
    chains: list[tuple[int, ...]] = [(), *((g,) for g in nested), tuple(nested)]
    best: tuple[int, tuple[list[Variable], list[Term], list[Fixed]]] | None = None
    for chained in dict.fromkeys(chains):
        for merged in merges:
            variables = _variables(values, groups, contexts, chained, merged)
            if variables is None:
                continue
            terms, fixed = _terms(variables, contexts), _fixed(variables)
            scopes = [t.variables for t in terms] + [f.variables for f in fixed]
            entries = elimination_entries([v.size for v in variables], scopes)
            if best is None or entries < best[0]:
                best = entries, (variables, terms, fixed)
    assert best is not None
    return best[1]


def _variables(
    values: Sequence[Sequence[int]],
    groups: Sequence[ColumnGroup],
    contexts: IntArray,
    chained: tuple[int, ...],
    merged: tuple[int, ...],
) -> list[Variable] | None:
    """Return one way to form variables, or None if a joint one would be too large."""
    variables: list[Variable] = []
    if merged:
        variables.append(joint_variable(merged, [values[c] for c in merged], contexts))
    for g, group in enumerate(groups):
        columns = [c for c in group.columns if c not in merged]
        if group.kind == "nested" and g in chained:
            variables.extend(_levels(columns, values, first=len(variables)))
        elif group.kind == "nested":
            if np.prod([float(len(values[c])) for c in columns]) > _LARGEST_JOINT:
                return None
            variables.append(joint_variable(columns, [values[c] for c in columns], contexts))
        else:
            variables += [joint_variable([c], [values[c]], contexts) for c in columns]
    return variables


def _levels(
    columns: Sequence[int], values: Sequence[Sequence[int]], *, first: int
) -> list[LevelVariable]:
    levels: list[LevelVariable] = []
    totals = np.zeros(1, dtype=np.int64)
    for i, column in enumerate(columns):
        totals = np.unique(totals[:, None] + np.asarray(values[column], dtype=np.int64)[None, :])
        previous = first + i - 1 if i else None
        steps = tuple(values[column])
        levels.append(LevelVariable(column=column, steps=steps, totals=totals, previous=previous))
    return levels


def _terms(variables: Sequence[Variable], contexts: IntArray) -> list[Term]:
    above = {v.previous: i for i, v in enumerate(variables) if isinstance(v, LevelVariable)}
    terms = []
    for context in contexts:
        scope, scores = [], []
        for i, variable in enumerate(variables):
            if isinstance(variable, LevelVariable):
                higher = variables[above[i]] if i in above else None
                last = not isinstance(higher, LevelVariable) or not context[higher.column]
                if context[variable.column] and last:
                    scope.append(i)
                    scores.append(variable.totals)
            elif context[list(variable.columns)].any():
                scope.append(i)
                scores.append(variable.scores(context))
        terms.append(Term(variables=tuple(scope), scores=tuple(scores)))
    return terms


def _fixed(variables: Sequence[Variable]) -> list[Fixed]:
    factors = []
    for i, variable in enumerate(variables):
        if isinstance(variable, JointVariable):
            counts = np.diff(variable.starts).astype(np.float64)
            if counts.max() > 1:
                factors.append(Fixed(variables=(i,), table=counts))
        elif variable.previous is not None:
            below = variables[variable.previous]
            assert isinstance(below, LevelVariable)
            steps = variable.totals[None, :] - below.totals[:, None]
            allowed = np.isin(steps, variable.steps).astype(np.float64)
            factors.append(Fixed(variables=(variable.previous, i), table=allowed))
    return factors
