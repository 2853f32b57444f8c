"""Positive controls: oracles that lie. Whatever checks oracles must catch every one of them."""

import math
from dataclasses import replace

import numpy as np

from oracles import Limit, Termination
from oracles.enumeration.listing import EnumerationOracle
from oracles.testing.brute_force import brute_force


class LyingBound(EnumerationOracle):
    """Answers well, but claims a bound one row above the optimum."""

    name = "lying-bound"

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        return replace(claim, dual_bound=claim.dual_bound + problem.steps_per_row)


class SecondBest(EnumerationOracle):
    """Calls the second smallest objective optimal, bound included."""

    name = "second-best"

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        worse = [(v, w) for w, v in brute_force(problem).items() if v > claim.objective]
        if not worse:
            return claim
        value, hypothesis = min(worse)
        return replace(claim, hypothesis=hypothesis, objective=value, dual_bound=value)


class Forger(EnumerationOracle):
    """Improves the table instead of the hypothesis."""

    name = "forger"

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        for counts in (problem.positives, problem.negatives):
            counts.setflags(write=True)
            counts[:] = np.minimum(counts, 0)
        return claim


class Hasty(EnumerationOracle):
    """Says OPTIMAL when it ran out of time, with the bound that would prove it."""

    name = "hasty"

    def solve(self, problem, options):
        if options.time_limit is None or options.time_limit > 0.01:
            return super().solve(problem, options)
        hypothesis = tuple(allowed[-1] for allowed in problem.grid.values)
        if not problem.grid.contains(hypothesis):
            hypothesis = min(brute_force(problem))
        objective = problem.objective(hypothesis)
        return replace(
            super().solve(problem, options),
            hypothesis=hypothesis,
            objective=objective,
            dual_bound=objective,
            termination=Termination.OPTIMAL,
        )


class Unproved(EnumerationOracle):
    """Says OPTIMAL when it ran out of time, and gives no bound."""

    name = "unproved"

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        if options.time_limit is None:
            return claim
        return replace(
            claim,
            dual_bound=-math.inf,
            termination=Termination.OPTIMAL,
            limit=Limit.TIME,
        )


class Outsider(EnumerationOracle):
    """Ignores the norm budget and the listed values."""

    name = "outsider"

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        return replace(claim, hypothesis=tuple(w + 100 for w in claim.hypothesis))


class Moody(EnumerationOracle):
    """Claims another bound each time it is asked."""

    name = "moody"

    def __init__(self):
        self.mood = 0

    def solve(self, problem, options):
        self.mood += 1
        claim = super().solve(problem, options)
        return replace(
            claim,
            dual_bound=claim.dual_bound - self.mood,
            termination=Termination.FEASIBLE,
        )


class OrderSensitive(EnumerationOracle):
    """Drops the last of two equal points, as a solver that keys points by value would."""

    name = "order-sensitive"

    def solve(self, problem, options):
        kept = {tuple(x): i for i, x in enumerate(problem.points.tolist())}
        rows = np.array(sorted(kept.values()), dtype=np.int64)
        smaller = type(problem)(
            points=problem.points[rows],
            positives=problem.positives[rows],
            negatives=problem.negatives[rows],
            grid=problem.grid,
            perturbation=problem.perturbation,
        )
        return super().solve(smaller, options)


class Boastful(EnumerationOracle):
    """Reports a bound above the optimum on the way, though not in the end."""

    name = "boastful"

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        if options.progress is not None:
            options.progress(None, (claim.objective + 1) * problem.unit, 0.0)
        return claim


LIARS = (
    LyingBound,
    SecondBest,
    Forger,
    Hasty,
    Unproved,
    Outsider,
    Moody,
    OrderSensitive,
    Boastful,
)
