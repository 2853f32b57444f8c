"""A naive referee that shares no code with the oracles."""

from __future__ import annotations

import itertools
import math

from oracles.arithmetic import Objective
from oracles.problem import Hypothesis, ZeroOneProblem


def brute_force(problem: ZeroOneProblem) -> dict[Hypothesis, Objective]:
    """Return the objective of every hypothesis, by loops that follow the definition word by word.

    Examples
    --------
    >>> from oracles.problem import WeightGrid
    >>> problem = ZeroOneProblem(points=[[1]], positives=[2], negatives=[5],
    ...                          grid=WeightGrid.box(1, 1))
    >>> brute_force(problem)
    {(-1,): 2, (0,): 2, (1,): 5}
    """
    rows = list(
        zip(
            problem.points.tolist(),
            problem.positives.tolist(),
            problem.negatives.tolist(),
            strict=True,
        )
    )
    budget = math.inf if problem.grid.norm_budget is None else problem.grid.norm_budget
    found: dict[Hypothesis, Objective] = {}
    for w in itertools.product(*problem.grid.values):
        if sum(a * a for a in w) > budget:
            continue
        groups = problem.grid.alternatives
        if any(sum(any(w[j] for j in one) for one in group) > 1 for group in groups):
            continue
        loss = 0
        for x, positive, negative in rows:
            score = sum(a * b for a, b in zip(w, x, strict=True))
            loss += negative if score >= 1 else positive
        found[w] = _minus_perturbation(problem, w, loss)
    return found


def _minus_perturbation(problem: ZeroOneProblem, w: Hypothesis, loss: int) -> Objective:
    perturbation = problem.perturbation
    if perturbation is None:
        return loss
    parts: list[Objective] = [
        table[tuple(problem.grid.values[j].index(w[j]) for j in block)].item()
        for block, table in zip(perturbation.blocks, perturbation.tables, strict=True)
    ]
    if perturbation.norm_table is not None:
        parts.append(perturbation.norm_table[sum(a * a for a in w)].item())
    if perturbation.unit is None:
        return loss - math.fsum(parts)
    return loss * round(1 / perturbation.unit) - sum(parts)
