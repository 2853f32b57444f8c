"""Many problems through many oracles; and the comparison itself, on oracles that lie."""

from itertools import islice

import numpy as np
import pytest
from agreement import (
    Tally,
    compare_with_each_other,
    compare_with_enumeration,
    small_problems,
    wide_problems,
)
from helpers.extras import takes_nothing
from helpers.oracles import broken

import oracles
from oracles import SolveOptions
from oracles.enumeration.listing import EnumerationOracle
from oracles.testing.brute_force import brute_force
from oracles.testing.sample_problems import wide_problem

NATIVE = ("enumeration", "branch-and-bound")


def last(tallies):
    *_, final = tallies
    return final


def assert_flawless(tallies):
    assert {n: t.offences for n, t in tallies.items()} == dict.fromkeys(tallies, ())
    assert all(t.n_disagreements == t.n_invalid_bounds == 0 for t in tallies.values())


def test_installed_oracles_agree_with_the_enumeration():
    found = {name: oracles.get_oracle(name) for name in oracles.available_oracles()}
    everyone = {name: oracle for name, oracle in found.items() if not takes_nothing(oracle)}
    tallies = last(compare_with_enumeration(small_problems(24, seed=4), everyone))
    assert_flawless(tallies)
    assert all(t.n_proved + t.n_unsupported == 24 and t.n_proved >= 16 for t in tallies.values())


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("share", range(10))
def test_native_oracles_agree_on_ten_thousand_problems(share):
    native = {name: oracles.get_oracle(name) for name in NATIVE}
    problems = islice(small_problems(10_000), share, None, 10)
    tallies = last(compare_with_enumeration(problems, native))
    assert_flawless(tallies)
    assert tallies["enumeration"].n_proved == 1_000
    assert tallies["branch-and-bound"].n_proved > 600, "problems off a lattice are not for it"


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("share", range(6))
def test_wide_problems_have_one_optimum(share):
    names = [
        n for n in ("branch-and-bound", "highs", "cp-sat") if n in oracles.available_oracles()
    ]
    everyone = {name: oracles.get_oracle(name) for name in names}
    problems = islice(wide_problems(6, seed=1), share, None, 6)
    runs = compare_with_each_other(problems, everyone, SolveOptions(time_limit=5))
    assert_flawless(last(runs))


def test_wide_problems_are_wide_and_differ():
    problems = list(wide_problems(12))
    assert {p.perturbation is None for p in problems} == {True, False}
    for problem in problems:
        assert 20 <= problem.n_features <= 38 and 100 <= problem.n_points <= 600
        assert problem.is_exact and set(np.unique(problem.points)) == {0, 1}
    again = wide_problem(np.random.default_rng(0))
    assert np.array_equal(again.points, problems[0].points)


@pytest.mark.parametrize("liar", [broken.LyingBound, broken.Outsider])
def test_liars_are_counted(liar):
    tallies = last(compare_with_enumeration(small_problems(30), {"liar": liar()}))
    tally = tallies["liar"]
    assert tally.n_disagreements + tally.n_invalid_bounds > 0 and tally.offences


class Premature(EnumerationOracle):
    """Calls the worst hypothesis optimal, with a bound to match."""

    name = "premature"

    def solve(self, problem, options):
        objectives = brute_force(problem)
        worst = max(objectives, key=objectives.get)
        return oracles.Claim(
            hypothesis=worst,
            objective=objectives[worst],
            dual_bound=objectives[worst],
            termination=oracles.Termination.OPTIMAL,
            limit=None,
            nodes=None,
        )


def test_an_untrue_proof_is_found_with_and_without_the_enumeration():
    problems = list(small_problems(12))
    alone = last(compare_with_enumeration(problems, {"premature": Premature()}))["premature"]
    assert alone.n_disagreements == alone.n_invalid_bounds == len(alone.offences) > 6
    both = {"premature": Premature(), "enumeration": EnumerationOracle()}
    beside = last(compare_with_each_other(problems, both, SolveOptions()))
    assert beside["premature"] == alone
    assert beside["enumeration"] == Tally(n_proved=12)
