"""The variables that a block's sum runs over, and the factors that couple them.

What couples is enumerated jointly; levels of a nested attribute may form a chain of cumulated
weights. Which way is cheapest depends on the contexts and affects speed only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray
from oracles.problem import ColumnGroup, grid_assignments
from oracles.sampling.elimination.plan import Fixed, Term
from oracles.sampling.elimination.plan_builder import elimination_entries

_LARGEST_JOINT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class JointVariable:
    """Some columns' weights, taken together; assignments no context can tell apart share a state.

    Parameters
    ----------
    columns : tuple of int
        Columns of the block.
    assignments : ndarray of shape (a, c), int64
        All assignments, a weight per column, those of one state next to each other.
    starts : ndarray of shape (states + 1,), int64
        Where each state's assignments begin.
    weights : ndarray of shape (a,), float64
        Weight of each assignment in the sum, in (0, 1], no unit.
    """

    columns: tuple[int, ...]
    assignments: IntArray
    starts: IntArray
    weights: NDArray[np.float64]

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.starts) - 1

    @property
    def masses(self) -> NDArray[np.float64]:
        """Summed weight of each state's assignments; their number where all weigh 1."""
        return np.add.reduceat(self.weights, self.starts[:-1])

    def scores(self, context: IntArray) -> IntArray:
        """Return what each state adds to a context's score, shape (states,) int64."""
        return np.asarray(
            self.assignments[self.starts[:-1]] @ context[list(self.columns)], dtype=np.int64
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelVariable:
    """The cumulated weight of the first levels of nested columns.

    Parameters
    ----------
    column : int
        The block's column that this level adds.
    steps : tuple of int
        Allowed weights of that column.
    penalties : tuple of float
        Minus the log of the weight of each of them, nats.
    totals : ndarray of shape (states,), int64
        Reachable cumulated weights.
    previous : int or None
        Position of the variable one level below.
    """

    column: int
    steps: tuple[int, ...]
    penalties: tuple[float, ...]
    totals: IntArray
    previous: int | None

    def step_penalties(self, before: IntArray) -> NDArray[np.float64]:
        """Return minus the log-weight of the step from each total before, ``inf`` if not allowed.

        Shape (totals before, states).
        """
        steps = self.totals[None, :] - before[:, None]
        table = np.full(steps.shape, np.inf)
        for step, penalty in zip(self.steps, self.penalties, strict=True):
            table[steps == step] = penalty
        return table

    @property
    def size(self) -> int:
        """Number of states."""
        return len(self.totals)


Variable = JointVariable | LevelVariable


def joint_variable(
    columns: Sequence[int],
    values: Sequence[Sequence[int]],
    contexts: IntArray,
    penalties: Sequence[Sequence[float]],
) -> JointVariable:
    """Group the assignments of some columns by the scores they give to the contexts.

    Parameters
    ----------
    columns : sequence of int
        Columns of the block.
    values : sequence of sequence of int
        Allowed weights of these columns.
    contexts : ndarray of shape (K, block columns), int64
        The contexts that occur.
    penalties : sequence of sequence of float
        Minus the log-weight of each allowed weight.
    """
    assignments = grid_assignments(tuple(tuple(v) for v in values))
    patterns = np.unique(contexts[:, list(columns)], axis=0)
    scores = assignments @ patterns.T
    _, states = np.unique(scores, axis=0, return_inverse=True)
    states = states.ravel()
    order = np.argsort(states, kind="stable")
    starts = np.searchsorted(states[order], np.arange(states.max() + 2))
    total = np.zeros(1)
    for part in penalties:
        total = np.add.outer(total, np.asarray(part)).ravel()
    return JointVariable(
        columns=tuple(int(c) for c in columns),
        assignments=assignments[order],
        starts=starts,
        weights=np.exp(-total[order]),
    )


def cheapest_variables(
    values: Sequence[Sequence[int]],
    groups: Sequence[ColumnGroup],
    contexts: IntArray,
    penalties: Sequence[Sequence[float]] | None = None,
) -> tuple[list[Variable], list[Term], list[Fixed]]:
    """Try the ways to form variables and keep the one with the smallest tables.

    Parameters
    ----------
    values : sequence of sequence of int
        Allowed weights of each column of the block.
    groups : sequence of ColumnGroup
        How these columns relate; indices are positions within the block.
    contexts : ndarray of shape (K, columns), int64
        The distinct combinations that occur.
    penalties : sequence of sequence of float, or None
        Minus the log of the weight of each allowed weight, >= 0; None: all of them weigh 1.

    Returns
    -------
    (variables, terms, fixed)
        The variables, one term per context, and the factors between variables.
    """
    penalties = penalties or [[0.0] * len(allowed) for allowed in values]
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
            variables = _variables(values, groups, contexts, chained, merged, penalties)
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
    penalties: Sequence[Sequence[float]],
) -> list[Variable] | None:
    """Return one way to form variables, or None if a joint one would be too large."""

    def joint(columns: Sequence[int]) -> JointVariable:
        chosen, weighed = [values[c] for c in columns], [penalties[c] for c in columns]
        return joint_variable(columns, chosen, contexts, weighed)

    variables: list[Variable] = [joint(merged)] if merged else []
    for g, group in enumerate(groups):
        columns = [c for c in group.columns if c not in merged]
        if group.kind == "nested" and g in chained:
            variables.extend(_levels(columns, values, penalties, first=len(variables)))
        elif group.kind == "nested":
            if np.prod([float(len(values[c])) for c in columns]) > _LARGEST_JOINT:
                return None
            variables.append(joint(columns))
        else:
            variables += [joint([c]) for c in columns]
    return variables


def _levels(
    columns: Sequence[int],
    values: Sequence[Sequence[int]],
    penalties: Sequence[Sequence[float]],
    *,
    first: int,
) -> list[LevelVariable]:
    levels: list[LevelVariable] = []
    totals = np.zeros(1, dtype=np.int64)
    for i, column in enumerate(columns):
        totals = np.unique(totals[:, None] + np.asarray(values[column], dtype=np.int64)[None, :])
        previous = first + i - 1 if i else None
        levels.append(
            LevelVariable(
                column=column,
                steps=tuple(values[column]),
                penalties=tuple(penalties[column]),
                totals=totals,
                previous=previous,
            )
        )
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
    nothing = np.zeros(1, dtype=np.int64)
    for i, variable in enumerate(variables):
        if isinstance(variable, JointVariable):
            masses = variable.masses
            if (masses != 1).any():
                factors.append(Fixed(variables=(i,), table=masses))
        elif variable.previous is not None:
            below = variables[variable.previous]
            assert isinstance(below, LevelVariable)
            steps = np.exp(-variable.step_penalties(below.totals))
            factors.append(Fixed(variables=(variable.previous, i), table=steps))
        elif any(variable.penalties):
            steps = np.exp(-variable.step_penalties(nothing)[0])
            factors.append(Fixed(variables=(i,), table=steps))
    return factors
