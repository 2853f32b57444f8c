"""The annealed estimate of the log of a sum, against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oracles.enumeration.listing import all_losses
from oracles.problem.grid import WeightGrid
from oracles.problem.product_weights import LogWeights
from oracles.problem.zero_one import ZeroOneProblem
from oracles.sampling.rejection.annealing import AnnealedSum


def random_problem(seed: int) -> ZeroOneProblem:
    """Random points and labels; value lists of several lengths, not all symmetric."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(1, 20)), int(rng.integers(1, 7))
    lists = [(-1, 0, 1), (0, 2), (-2, -1, 0, 1, 2), (-3, 1, 4)]
    return ZeroOneProblem(
        points=rng.integers(0, 2, (m, d)),
        positives=rng.integers(0, 9, m),
        negatives=rng.integers(0, 9, m),
        grid=WeightGrid(values=tuple(lists[i] for i in rng.integers(0, len(lists), d))),
    )


@pytest.mark.parametrize("beta", [0.02, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(8))
def test_estimates_meet_enumeration(seed: int, beta: float) -> None:
    """Within .3 nats; seeded, so it cannot fail by chance."""
    problem = random_problem(seed)
    truth = float(np.logaddexp.reduce(-beta * all_losses(problem)))
    assert AnnealedSum(problem, beta).estimate(200, 200) == pytest.approx(truth, abs=0.3)


@pytest.mark.parametrize("seed", range(4))
def test_log_weights_are_relative_to_the_largest(seed: int) -> None:
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    tables = tuple(tuple(rng.normal(0, 2, n).tolist()) for n in problem.grid.shape)
    weights = LogWeights(tables=tables)
    exponents = -0.3 * all_losses(problem) - weights.all_penalties()
    truth = float(np.logaddexp.reduce(exponents))
    found = AnnealedSum(problem, 0.3, weights).estimate(200, 200)
    assert found == pytest.approx(truth, abs=0.3)


def test_without_a_loss_all_is_known() -> None:
    problem = random_problem(3)
    found = AnnealedSum(problem, 0.0).improve()
    assert found == pytest.approx(math.log(problem.grid.n_assignments), abs=1e-9)


def test_each_estimate_takes_twice_the_work_and_repeats() -> None:
    problem = random_problem(5)
    one, two = AnnealedSum(problem, 0.3), AnnealedSum(problem, 0.3)
    work = []
    for _ in range(3):
        before = one.work
        assert one.improve() == two.improve() == one.log_sum
        work.append(one.work - before)
    assert work[1] == pytest.approx(2 * work[0]) and work[2] == pytest.approx(4 * work[0])
