"""What solves cost is told to whoever asked, and to nobody else."""

import threading

import pytest

from oracles import WeightGrid, ZeroOneProblem, solve
from oracles.errors import UnsupportedProblem
from oracles.interface.observation import observed_solves

PROBLEM = ZeroOneProblem(
    points=[[1, 0], [1, 1]], positives=[0, 3], negatives=[2, 1], grid=WeightGrid.box(2, 1)
)


class Unable:
    name, requirement = "unable", "takes nothing"

    def supports(self, problem):
        return False


def test_every_answered_solve_is_told_in_order_and_a_refusal_is_not():
    with observed_solves() as costs:
        first = solve(PROBLEM, "enumeration")
        with pytest.raises(UnsupportedProblem):
            solve(PROBLEM, Unable())
        second = solve(PROBLEM, "branch-and-bound")
    solve(PROBLEM)
    assert costs == [first.stats, second.stats]
    assert [cost.oracle for cost in costs] == ["enumeration", "branch-and-bound"]


def test_only_the_innermost_hears_and_other_threads_are_not_heard():
    with observed_solves() as outer:
        with observed_solves() as inner:
            solve(PROBLEM)
        thread = threading.Thread(target=solve, args=(PROBLEM,))
        thread.start()
        thread.join()
    assert (len(outer), len(inner)) == (0, 1)
