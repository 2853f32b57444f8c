"""When to refine a partition and when to draw from it.

Whatever is decided here is valid, as long as it does not depend on a round that is not over.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from oracles.sampling.rejection.annealing import AnnealedSum

_REFINEMENT = 1.5

_EARLY_REFINEMENT = 2.5

_HOPEFUL_REFINEMENT = 1.0

_HOPELESS_REFINEMENT = 25.0

_HOPE = 0.01

_LONG = 2e9

_ANNEALING_SHARE = 0.03

_SLICE = 1.15

_MEMORY = 1.6

_SLOPES = (1.0, 30.0)


class DrawSchedule:
    """Balances the work of refinement against that of draws.

    Draws follow the refinement at fixed ratios while it is short. A long one is steered by an
    estimate of the target's sum, which tells how many draws a success would take: they begin
    when more refinement would cost more than the draws it saves. Should the estimate be wrong,
    one part in 25 is still draws, and never more than half of the work.

    Parameters
    ----------
    draw_work : float
        Work of a draw, nanoseconds.
    new_estimate : callable
        Returns what estimates the log of the sum over the grid.
    known : float
        Log of what the target's sum has beside the grid's, nats; part of every ``log_total``.
    """

    def __init__(
        self,
        draw_work: float,
        new_estimate: Callable[[], AnnealedSum],
        known: float = -math.inf,
    ) -> None:
        self._draw_work, self._new_estimate, self._known = draw_work, new_estimate, known
        self._annealed: AnnealedSum | None = None
        self._ratio = _EARLY_REFINEMENT
        self._course: list[tuple[float, float]] = []

    def gap(self, log_total: float) -> float | None:
        """Return the log of the masses' sum over the estimate, nats, once there is one."""
        if self._annealed is None or self._annealed.log_sum is None:
            return None
        return log_total - log_of_sum(self._annealed.log_sum, self._known)

    def limit(self, refined: float, drawn: float, log_total: float, accepted: float) -> float:
        """Return the work up to which to refine next, before the next draws if it is done already.

        Parameters
        ----------
        refined, drawn : float
            Work so far.
        log_total : float
            Log of the masses' sum.
        accepted : float
            Sum of the acceptance probabilities of all draws so far.
        """
        if refined > _LONG:
            pay = self._draws_pay(refined, log_total)
            self._ratio = _HOPEFUL_REFINEMENT if pay else _HOPELESS_REFINEMENT
            return min(self._ratio * drawn, _SLICE * refined)
        self._ratio = _REFINEMENT if accepted > _HOPE else _EARLY_REFINEMENT
        return self._ratio * drawn

    def room(self, refined: float, drawn: float, log_total: float) -> float:
        """Return how many draws to make at most before refinement is looked at again."""
        rounds = (2.0 * refined / self._ratio - drawn) / self._draw_work
        gap = self.gap(log_total)
        if gap is not None and self._ratio == _HOPEFUL_REFINEMENT:
            # As many as a success is expected to take; more if that was wrong so far.
            rounds = min(rounds, max(math.exp(min(gap, 50.0)), 0.25 * drawn / self._draw_work))
        return rounds

    def _draws_pay(self, refined: float, log_total: float) -> bool:
        """Whether draws are expected to succeed with less work than refinement would save."""
        if self._annealed is None:
            self._annealed = self._new_estimate()
        while self._annealed.work < _ANNEALING_SHARE * refined:
            self._annealed.improve()
        if not self._course or refined > self._course[-1][0]:
            self._course.append((refined, log_total))
        before = [point for point in self._course if _MEMORY * point[0] <= refined]
        least, slope = _SLOPES
        if before:
            work, total = before[-1]
            slope = min(max((total - log_total) / math.log(refined / work), least), slope)
        # Refining by a share x of the work lowers the gap by slope * x, and saves as large a
        # share of the draws.
        gap = self.gap(log_total)
        assert gap is not None
        return slope * self._draw_work * math.exp(min(gap, 200.0)) < refined


def log_of_sum(first: float, second: float) -> float:
    """Return the log of the sum of two numbers whose logs are given, the first one finite."""
    larger, smaller = max(first, second), min(first, second)
    return larger + math.log1p(math.exp(smaller - larger))
