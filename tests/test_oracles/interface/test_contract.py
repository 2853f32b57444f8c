"""Every oracle against the conformance kit, and the conformance kit against liars."""

import pytest
from helpers.extras import DIRECT, oracle_params
from helpers.oracles import broken, instances

import oracles
from oracles.enumeration.listing import EnumerationOracle
from oracles.testing.conformance import check_oracle

# Oracles that cannot finish some problem of the kit, with the reason. Empty: none is excused.
UNPROVEN = {}

N_RANDOM = {
    "highs": 96,
    "pulp:HiGHS": 48,
    "pulp:CBC": 6,
    "pulp:SCIP": 24,
    "pulp:GUROBI": 24,
    "cp-sat": 72,
    **dict.fromkeys(DIRECT, 317),  # with the named ones 328
}
"""Fewer random problems by default where each costs a model in pure Python or a process."""


def formulated(name):
    return oracles.get_oracle(name, formulation="per-row")


def test_contract(oracle):
    report = check_oracle(oracle, n_random=N_RANDOM.get(oracle.name, 240), seed=1)
    assert report.n_proved == report.n_checked - UNPROVEN.get(oracle.name, 0)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 14))  # a solver in Python or a process takes minutes
def test_contract_at_length(oracle, seed):
    report = check_oracle(oracle, n_random=84, seed=seed)
    assert report.n_proved == report.n_checked - UNPROVEN.get(oracle.name, 0)


@pytest.mark.parametrize(
    "name", ["highs", "pulp:HiGHS", pytest.param("pulp:CBC", marks=pytest.mark.slow)]
)
def test_contract_of_the_per_row_formulation(name):
    report = check_oracle(formulated(name), n_random=24, seed=3)
    assert report.n_proved == report.n_checked > 20
    assert report.n_skipped > 6, "negative counts have no rows"


@pytest.mark.parametrize("name", oracle_params(["highs", "cp-sat"]))
@pytest.mark.parametrize("formulation", ["aggregated", "ordered"])
def test_contract_of_the_aggregated_formulations(name, formulation):
    oracle = oracles.get_oracle(name, formulation=formulation)
    report = check_oracle(oracle, n_random=30, seed=5)
    assert report.n_proved == report.n_checked > 20


@pytest.mark.parametrize("instance", instances.ALL)
def test_known_optimum(oracle, instance):
    problem, optimum = instance()
    if not oracle.supports(problem):
        pytest.skip("not supported")
    solution = oracles.solve(problem, oracle)
    assert solution.certificate.primal_bound == optimum
    assert solution.certificate.proves_optimal
    assert problem.objective(solution.hypothesis) == optimum


@pytest.mark.parametrize("liar", broken.LIARS)
def test_liars_are_caught(liar):
    with pytest.raises(AssertionError, match=f"oracle '{liar.name}' must"):
        check_oracle(liar(), n_random=60)


def test_message_names_rule_and_problem():
    with pytest.raises(AssertionError) as caught:
        check_oracle(broken.LyingBound(), n_random=0)
    assert str(caught.value) == (
        "oracle 'lying-bound' must not claim a bound above the optimum (problem: two classes)."
    )


def test_an_oracle_that_supports_nothing_fails():
    class Idle(EnumerationOracle):
        name = "idle"

        def supports(self, problem):
            return False

    with pytest.raises(AssertionError, match="at least one problem"):
        check_oracle(Idle(), n_random=5)


def test_unsupported_problems_are_skipped():
    class Plain(EnumerationOracle):
        def supports(self, problem):
            return problem.perturbation is None

    report = check_oracle(Plain(), n_random=12)
    assert report.n_skipped > 0 and report.n_checked == report.n_proved > 0


@pytest.mark.parametrize("liar", [broken.LyingBound, broken.Outsider])
def test_solve_refuses_what_it_can_detect(liar):
    problem, _ = instances.pulled_by_table()
    with pytest.raises(oracles.InconsistentSolution):
        oracles.solve(problem, liar())


def test_solve_does_not_certify_an_unproved_optimum():
    problem, _ = instances.exclusive_or()
    options = oracles.SolveOptions(time_limit=100)
    certificate = oracles.solve(problem, broken.Unproved(), options).certificate
    assert certificate.termination is oracles.Termination.IMPRECISE
    assert not certificate.proves_optimal
