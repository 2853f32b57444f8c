"""One oracle under a limit, then another: the same problem, and always a proof."""

import math

import numpy as np
import pytest

from oracles import (
    Claim,
    Limit,
    OracleUnavailable,
    SolveOptions,
    Termination,
    get_oracle,
    oracle_versions,
    solve,
)
from oracles.interface.handover import HandoverOracle
from oracles.testing.conformance import check_oracle
from oracles.testing.sample_problems import random_problem


class GivesUp:
    """Finds nothing, as a solver at a time limit of zero would; remembers its limit."""

    name, integer_arithmetic, requirement = "gives-up", True, "takes everything"

    def __init__(self):
        self.limits = []

    def supports(self, problem):
        return True

    def solve(self, problem, options):
        self.limits.append(options.time_limit)
        return Claim(
            hypothesis=None,
            objective=None,
            dual_bound=-math.inf,
            termination=Termination.NO_HYPOTHESIS,
            limit=Limit.TIME,
            nodes=None,
        )


class Recorder(GivesUp):
    """The enumeration, remembering what it was asked."""

    name = "recorder"

    def __init__(self):
        super().__init__()
        self.problems = []

    def solve(self, problem, options):
        self.problems.append(problem)
        self.limits.append(options.time_limit)
        return get_oracle("enumeration").solve(problem, options)


def test_the_second_oracle_gets_the_same_problem_without_a_limit():
    problem = random_problem(np.random.default_rng(0))
    first, second = GivesUp(), Recorder()
    solution = solve(problem, HandoverOracle(first, second), SolveOptions(time_limit=5.0))
    assert second.problems == [problem] or second.problems[0] is problem
    assert first.limits == [5.0] and second.limits == [None]
    assert solution.certificate.proves_optimal


def test_a_first_oracle_that_proves_its_answer_is_not_followed():
    second = Recorder()
    handover = HandoverOracle(get_oracle("enumeration"), second)
    assert solve(random_problem(np.random.default_rng(1)), handover).certificate.proves_optimal
    assert second.problems == []


def test_it_conforms_whether_the_first_gives_up_or_not():
    check_oracle(HandoverOracle(GivesUp(), get_oracle("enumeration")), n_random=60)
    check_oracle(get_oracle("enumeration then enumeration"), n_random=60)


def test_names_compose_and_unknown_parts_are_refused():
    assert get_oracle("highs then enumeration").name == "highs then enumeration"
    assert not get_oracle("highs then enumeration").integer_arithmetic
    assert set(oracle_versions("highs then enumeration")) >= {"highspy", "numpy"}
    with pytest.raises(OracleUnavailable, match="nobody"):
        get_oracle("highs then nobody")
