"""How refinement and draws take turns."""

from __future__ import annotations

import math
from typing import cast

import pytest

from oracles.sampling.rejection.annealing import AnnealedSum
from oracles.sampling.rejection.schedule import DrawSchedule

DRAW = 5e3
EARLY = 1e9
LATE = 1e10


class Estimate:
    """Stands in for the annealed estimate: a number that never changes."""

    def __init__(self, log_sum: float) -> None:
        self.log_sum, self.work, self.times = log_sum, 0.0, 0

    def improve(self) -> float:
        self.times += 1
        self.work += 2.0**self.times * 1e8
        return self.log_sum


def schedule(log_sum: float) -> tuple[DrawSchedule, list[Estimate]]:
    made: list[Estimate] = []

    def new() -> AnnealedSum:
        made.append(Estimate(log_sum))
        return cast(AnnealedSum, made[-1])

    return DrawSchedule(DRAW, new), made


def test_short_refinement_needs_no_estimate() -> None:
    steered, made = schedule(0.0)
    assert steered.limit(EARLY, 1e8, 30.0, 0.0) == 2.5e8
    assert steered.limit(EARLY, 1e8, 30.0, 0.5) == 1.5e8
    assert not made and steered.gap(30.0) is None
    assert steered.room(EARLY, 1e8, 30.0) == pytest.approx((2 * EARLY / 1.5 - 1e8) / DRAW)


def test_hopeless_draws_wait() -> None:
    """At a gap of 30 nats a success takes 1e13 draws: one part in 25 is drawn."""
    steered, made = schedule(0.0)
    assert steered.limit(LATE, 1e9, 30.0, 0.0) == 1.15 * LATE
    assert steered.limit(LATE, 3e8, 30.0, 0.0) == 25 * 3e8
    assert len(made) == 1 and steered.gap(30.0) == 30.0


def test_draws_that_pay_catch_up_in_batches_of_one_expected_success() -> None:
    steered, _ = schedule(0.0)
    assert steered.limit(LATE, 1e9, 5.0, 0.0) == 1e9  # less than was refined: draw
    assert steered.room(LATE, 1e6, 5.0) == pytest.approx(math.exp(5.0))
    assert steered.room(LATE, 1e9, 5.0) == pytest.approx(0.25 * 1e9 / DRAW)  # it was too small
    assert steered.limit(LATE, 2 * LATE, 5.0, 0.0) == 1.15 * LATE


def test_draws_wait_while_refinement_still_gains_much() -> None:
    """A gap of 13 nats is worth 2.2e9 of draws: few, but refinement has just gained 27 nats."""
    fast, _ = schedule(0.0)
    fast.limit(LATE / 2, 1e8, 40.0, 0.0)
    assert fast.limit(LATE, 1e9, 13.0, 0.0) > LATE
    slow, _ = schedule(0.0)
    slow.limit(LATE / 2, 1e8, 14.0, 0.0)
    assert slow.limit(LATE, 1e9, 13.0, 0.0) == 1e9


@pytest.mark.parametrize("log_sum", [-500.0, 500.0])
def test_a_wrong_estimate_starves_neither(log_sum: float) -> None:
    steered, _ = schedule(log_sum)
    refined, drawn = EARLY, 1e8
    for _ in range(400):
        limit = steered.limit(refined, drawn, 20.0, 0.0)
        if refined < limit:
            refined = limit
        else:
            drawn += max(1.0, steered.room(refined, drawn, 20.0)) * DRAW
    assert refined > 1e11
    assert 0.03 < drawn / (refined + drawn) < 0.7


def test_estimates_cost_little() -> None:
    steered, made = schedule(0.0)
    for refined in (3e9, 1e10, 1e11, 1e12):
        steered.limit(refined, refined, 30.0, 0.0)
        assert 0.03 * refined <= made[0].work <= max(0.06 * refined + 2e8, 4e8)
