"""A licence that may not take the program is found out before the budget is spent."""

import math

import numpy as np
import pytest

from opdisc import PrivateScorecardClassifier
from opdisc.data import count_combinations, load_schema, parse_schema
from opdisc.estimators import PrivateMulticlassClassifier, RobustVoteClassifier
from opdisc.mechanisms.base import EVERYWHERE
from opdisc.mechanisms.objective_perturbation import one_hot_mechanism
from opdisc.mechanisms.robust_vote.learners import ErmLearner
from opdisc.mechanisms.robust_vote.rules import RobustVoteMechanism
from opdisc.mechanisms.robust_vote.run import run_robust_vote
from opdisc.mechanisms.run import run_mechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import (
    Claim,
    Limit,
    OracleUnavailable,
    SolveOptions,
    Termination,
    UnsupportedProblem,
    WeightGrid,
    ZeroOneProblem,
)
from oracles.enumeration import EnumerationOracle
from oracles.interface import ORACLES, OracleEntry, SizeLimit, get_oracle
from oracles.milp import formulate

GRID = WeightGrid.box(4, 1)
"""4 coordinates: 16 columns and 8 rows without any point."""


class Licensed:
    """Enumeration that takes small programs only, as a free licence has it."""

    name = "licensed"
    integer_arithmetic = True
    requirement = "takes anything"
    formulation = "aggregated"
    size_limit = SizeLimit(rows=60, columns=60)
    holds_full_licence = False

    def __init__(self):
        self.asked = []

    def supports(self, problem):
        return True

    def solve(self, problem, options):
        program = formulate(problem, self.formulation)
        size = program.n_rows, program.n_variables
        self.asked.append(size)
        if not (self.holds_full_licence or self.size_limit.admits(*size)):
            raise UnsupportedProblem("oracle 'licensed' needs a full licence; install one.")
        return EnumerationOracle().solve(problem, options)


class Full(Licensed):
    holds_full_licence = True


@pytest.fixture
def licensed(monkeypatch):
    """Register both under names of their own; return the limited one's objects."""
    made = []

    def make():
        made.append(Licensed())
        return made[-1]

    entries = {"licensed": OracleEntry(target=make), "full": OracleEntry(target=Full)}
    monkeypatch.setattr(ORACLES, "_entries", ORACLES._entries | entries)
    return made


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


def problem(n_points=8):
    """So many of the 16 points of four columns, two rows each."""
    points = np.array([[i >> j & 1 for j in range(4)] for i in range(n_points)])
    rows = np.arange(n_points) % 2
    return ZeroOneProblem(points=points, positives=2 * rows, negatives=2 * (1 - rows), grid=GRID)


def released(oracle, ledger, mechanism=None, options=None, **facts):
    hides = "n_rows" not in facts
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE if hides else NeighboringRelation.REPLACE_ONE
    public = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0), relation=relation, grid=GRID, **facts
    )
    return run_mechanism(
        mechanism or one_hot_mechanism(4),
        problem(),
        public,
        entropy=SystemEntropy(),
        oracle=oracle,
        options=options,
        ledger=ledger,
    )


def nothing_spent(ledger):
    return not ledger.path.exists() or not ledger.spendings()


# --- who is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("facts", [{"most_points": 45}, {"n_rows": 45}, {}])
def test_a_program_that_public_facts_allow_and_a_licence_does_not_is_refused(
    licensed, ledger, facts
):
    with pytest.raises(UnsupportedProblem) as caught:
        released("licensed", ledger, **facts)
    allowed = "53 rows and 61 columns" if facts else "any number of distinct points"
    assert str(caught.value) == (
        "oracle 'licensed' takes programs of at most 60 rows and 60 columns under its licence "
        f"here, but the public facts allow {allowed}; use a full licence, fewer statements, "
        "another oracle or 'licensed then branch-and-bound'."
    )
    assert nothing_spent(ledger)
    # It was asked about the toy and about the problem beyond its limit: never about the rows.
    assert [size > (60, 60) for size in licensed[0].asked] == [False, True]


@pytest.mark.parametrize(
    "facts", [{"most_points": 44}, {"n_rows": 44}, {"most_points": 10**9, "n_rows": 44}]
)
def test_one_that_is_within_the_limit_whatever_the_rows_is_not(licensed, ledger, facts):
    release = released("licensed", ledger, **facts)
    assert not nothing_spent(ledger)
    # Only the toy and the rows: nobody rehearses a licence that is large enough.
    assert GRID.contains(release.hypothesis) and len(licensed[0].asked) == 2


def test_a_full_licence_goes_on(licensed, ledger):
    assert GRID.contains(released("full", ledger).hypothesis) and not nothing_spent(ledger)


@pytest.mark.parametrize("second", ["branch-and-bound", "full", "highs"])
def test_a_chain_goes_on(licensed, ledger, second):
    assert GRID.contains(released(f"licensed then {second}", ledger).hypothesis)
    assert not nothing_spent(ledger)


@pytest.mark.parametrize("first", ["enumeration", "licensed", "highs then licensed"])
def test_a_chain_that_ends_with_it_is_refused(licensed, ledger, first):
    with pytest.raises(UnsupportedProblem, match="oracle 'licensed' takes programs"):
        released(f"{first} then licensed", ledger)
    assert nothing_spent(ledger)


def test_noise_that_is_weighted_rows_counts(licensed, ledger):
    rows = SeparatorMechanism(route="rows")
    assert released("licensed", ledger, one_hot_mechanism(4), most_points=44).hypothesis
    with pytest.raises(UnsupportedProblem, match="60 rows and 68 columns"):
        released("licensed", ledger, rows, most_points=44)


# --- a vote of parts -----------------------------------------------------------------------------


def voted(oracle, ledger, isolation="none", **facts):
    rows = np.tile(problem().points, (2, 1)), np.tile([1, -1], 8)
    hides = "n_rows" not in facts
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE if hides else NeighboringRelation.REPLACE_ONE
    public = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0), relation=relation, grid=GRID, **facts
    )
    return run_robust_vote(
        RobustVoteMechanism(n_parts=2),
        ErmLearner(slack=-1.0, oracle=oracle),
        rows,
        public,
        entropy=SystemEntropy(),
        isolation=isolation,
        ledger=ledger,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oracle", "facts", "isolation"),
    [
        ("licensed", {"most_points": 45}, "none"),
        ("licensed", {"n_rows": 45}, "none"),
        ("licensed", {}, "none"),
        ("enumeration then licensed", {"n_rows": 45}, "none"),
        ("enumeration then licensed", {}, "process"),
    ],
)
def test_a_vote_is_refused_before_the_spend(licensed, ledger, oracle, facts, isolation):
    if isolation == "process":  # where no other process knows the name
        oracle = Licensed()
    with pytest.raises(UnsupportedProblem, match="oracle 'licensed' takes .* public facts allow"):
        voted(oracle, ledger, isolation, **facts)
    assert nothing_spent(ledger)


@pytest.mark.parametrize("oracle", ["licensed", "full", "licensed then branch-and-bound"])
def test_a_vote_goes_on_where_every_part_is_taken(licensed, ledger, oracle):
    facts = {"n_rows": 44} if oracle == "licensed" else {}
    assert GRID.contains(voted(oracle, ledger, **facts).hypothesis) and not nothing_spent(ledger)


# --- what the solver makes of the problem beyond its limit ---------------------------------------


class Odd(Licensed):
    """What a solver may do with a program: raise anything, be late, or end with nothing."""

    ending = None

    def solve(self, problem, options):
        if problem.n_points < 60:
            return EnumerationOracle().solve(problem, options)
        if isinstance(self.ending, Exception):
            raise self.ending
        return Claim(
            hypothesis=None,
            objective=None,
            dual_bound=-math.inf,
            termination=Termination.NO_HYPOTHESIS,
            limit=self.ending,
            nodes=None,
        )


@pytest.mark.parametrize(
    ("ending", "goes_on"),
    [
        (RuntimeError("1016"), False),
        (MemoryError(), False),
        (Limit.UNKNOWN, False),
        (Limit.NUMERICAL, False),
        (Limit.TIME, True),
    ],
    ids=str,
)
def test_only_a_solver_that_begins_to_search_holds_a_licence(ledger, ending, goes_on):
    oracle = Odd()
    oracle.ending = ending
    if goes_on:
        released(oracle, ledger)
    else:
        with pytest.raises(UnsupportedProblem, match="under its licence here"):
            released(oracle, ledger)
    assert nothing_spent(ledger) is not goes_on


# --- what is known of the number of points -------------------------------------------------------


SCHEMA = {
    "name": "visits",
    "target": {"column": "y", "positive": "1", "negative": "0"},
    "feature": [
        {"column": "age", "thresholds": [30, 40, 50]},
        {"column": "ward", "categories": ["a", "b"]},
        {"column": "fever", "binary": True},
        {"column": "cough", "binary": True},
        {"column": "pain", "binary": True},
    ],
}


def test_statements_bound_the_points():
    # (none, 30, 40, 50) x (neither, a, b) x three yes or no.
    assert count_combinations(parse_schema(SCHEMA)) == 4 * 3 * 2**3
    together = SCHEMA | {"exclusive": [["cough", "pain"]]}
    assert count_combinations(parse_schema(together)) == 4 * 3 * 2 * 3


def table(n=60):
    import pandas as pd

    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 60, n),
            "ward": rng.choice(["a", "b", "c"], n),
            "fever": rng.integers(0, 2, n),
            "cough": rng.integers(0, 2, n),
            "pain": rng.integers(0, 2, n),
            "y": np.arange(n) % 2,
        }
    )


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("kind", [PrivateScorecardClassifier, PrivateMulticlassClassifier])
def test_a_fit_is_refused_before_the_spend(licensed, tmp_path, kind, relation):
    rows = table()
    schema = SCHEMA
    if kind is PrivateMulticlassClassifier:
        schema = SCHEMA | {"target": {"column": "y", "classes": ["0", "1", "2"]}}
        rows["y"] = np.arange(len(rows)) % 3
    ledger = tmp_path / "ledger"
    settings = {"schema": schema, "weight_bound": 1, "ledger": ledger, "epsilon": 1.0}
    for oracle in ("licensed", "enumeration then licensed"):
        model = kind(oracle=oracle, mechanism="one_hot", relation=relation, **settings)
        with pytest.raises(UnsupportedProblem, match="public facts allow"):
            model.fit(rows.drop(columns="y"), rows["y"])
        assert not ledger.exists()
    for oracle in ("full", "licensed then branch-and-bound"):
        model = kind(oracle=oracle, mechanism="one_hot", relation=relation, **settings)
        model.fit(rows.drop(columns="y"), rows["y"])
    before = ledger.read_bytes()
    model = kind(oracle="licensed", mechanism="one_hot", relation=relation, **settings)
    with pytest.raises(UnsupportedProblem, match="public facts allow"):
        model.fit(rows.drop(columns="y"), rows["y"])
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_the_statements_of_a_vote_decide(licensed, tmp_path, relation):
    rows = table()
    settings = {"isolation": "none", "n_parts": 2, "relation": relation, "epsilon": 1.0}
    settings |= {"oracle": "licensed", "ledger": tmp_path / "ledger"}
    few = {**SCHEMA, "feature": SCHEMA["feature"][2:]}
    with pytest.raises(UnsupportedProblem, match="public facts allow"):
        RobustVoteClassifier(schema=SCHEMA, **settings).fit(rows.drop(columns="y"), rows["y"])
    assert not (tmp_path / "ledger").exists()
    RobustVoteClassifier(schema=few, **settings).fit(rows.drop(columns="y"), rows["y"])
    assert len(Ledger(tmp_path / "ledger").spendings()) == 1


def test_what_a_licence_may_end_is_a_condition_where_nobody_takes_over(licensed, ledger):
    alone = released("licensed", ledger, most_points=44).receipt.conditions
    assert f"'licensed' certifies {EVERYWHERE}" in alone
    options = SolveOptions(time_limit=30)
    limited = released("licensed", ledger, most_points=44, options=options).receipt.conditions
    assert f"'licensed' certifies within 30 s {EVERYWHERE}" in limited
    chain = released("licensed then branch-and-bound", ledger, options=options).receipt
    assert not any("certifies" in condition for condition in chain.conditions)


def test_shipped_statements_are_counted():
    assert count_combinations(load_schema("breast-cancer")) > 1


def test_the_limits_of_oracles_that_ship_are_public_numbers():
    assert getattr(get_oracle("highs"), "size_limit", None) is None
    assert ORACLES.entry("pulp:GUROBI").size_limit == SizeLimit(rows=2_000, columns=2_000)


def test_what_a_solver_says_of_a_toy_problem_is_said_before_the_spend(
    monkeypatch, licensed, ledger
):
    """A licence that is missing shows on a public problem: its own sentence, and no charge."""

    class Unlicensed(Licensed):
        def solve(self, problem, options):
            raise UnsupportedProblem("oracle 'licensed' needs a licence; install one.")

    entries = {"unlicensed": OracleEntry(target=Unlicensed)}
    monkeypatch.setattr(ORACLES, "_entries", ORACLES._entries | entries)
    told = r"^oracle 'licensed' needs a licence; install one\.$"
    with pytest.raises(OracleUnavailable, match=told):
        released("unlicensed", ledger, n_rows=44)
    assert nothing_spent(ledger)
    assert GRID.contains(released("unlicensed then full", ledger, n_rows=44).hypothesis)
