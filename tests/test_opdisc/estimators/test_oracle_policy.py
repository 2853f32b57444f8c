"""One policy of two oracles: the receipt names it, and not which of the two answered."""

import math
import re

import numpy as np
import pytest
from helpers.extras import oracle_params

from opdisc.errors import UncertifiedRelease
from opdisc.estimators import PrivateScorecardClassifier
from opdisc.mechanisms.objective_perturbation import one_hot_mechanism
from opdisc.mechanisms.run import run_mechanism
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import Claim, Limit, SolveOptions, Termination, WeightGrid, ZeroOneProblem, get_oracle
from oracles.interface.handover import HandoverOracle

GRID = WeightGrid.box(3, 1)


class Sometimes:
    """Proves the optimum, or runs out of time: on which tables is its own affair."""

    name, integer_arithmetic, requirement = "sometimes", True, "takes everything"

    def __init__(self, gives_up):
        self.gives_up = gives_up
        self.asked = 0

    def supports(self, problem):
        return True

    def solve(self, problem, options):
        self.asked += 1
        if not self.gives_up:
            return get_oracle("enumeration").solve(problem, options)
        return Claim(
            hypothesis=None,
            objective=None,
            dual_bound=-math.inf,
            termination=Termination.NO_HYPOTHESIS,
            limit=Limit.TIME,
            nodes=None,
        )


def released(first):
    rng = np.random.default_rng(0)
    problem = ZeroOneProblem(
        points=[[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]],
        positives=rng.integers(0, 40, 4),
        negatives=rng.integers(0, 40, 4),
        grid=GRID,
    )
    public = GridPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=GRID,
    )
    return run_mechanism(
        one_hot_mechanism(3),
        problem,
        public,
        entropy=SeededEntropy(4),
        oracle=HandoverOracle(first, get_oracle("enumeration")),
        options=SolveOptions(time_limit=60),
    )


def test_the_receipt_names_the_policy_and_not_who_answered():
    quick, slow = Sometimes(gives_up=False), Sometimes(gives_up=True)
    first, second = released(quick), released(slow)
    assert quick.asked == slow.asked == 2  # once on a public toy, before anything is spent
    assert first.receipt == second.receipt
    assert first.receipt.oracle == "sometimes then enumeration"
    assert first.hypothesis == second.hypothesis, "the same noise, whoever answers"


@pytest.mark.parametrize("name", oracle_params(["highs", "cp-sat", "pulp:CBC"]))
def test_a_solver_that_reaches_its_limit_hands_over(name):
    policy = HandoverOracle(get_oracle(name), get_oracle("enumeration"))
    rng = np.random.default_rng(1)
    points = np.unique(rng.integers(0, 2, (400, 9)), axis=0)
    problem = ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 9, len(points)),
        negatives=rng.integers(0, 9, len(points)),
        grid=WeightGrid.box(9, 1),
    )
    claim = policy.solve(problem, SolveOptions(time_limit=1e-3))
    assert claim.termination is Termination.OPTIMAL
    assert claim.nodes == 3**9, "the enumeration answered"


def test_the_private_line_says_afterwards_what_bound_an_oracle_reached():
    """Also where that was not enough: then nothing else leaves."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (400, 24)), rng.integers(0, 2, 400)
    lines = []
    settings = {"epsilon": 1.0, "mechanism": "one_hot", "oracle": "auto", "weight_bound": 1}
    settings |= {"progress": lines.append, "classes": (0, 1)}
    model = PrivateScorecardClassifier(**settings).fit(X[:, :4], y)
    assert model.receipt_.guarantee != "VOID"
    found = re.fullmatch(
        r"not private, do not publish: gap 0\.0 rows \(bound -?[\d,.]+\), \d+ s", lines[-1]
    )
    assert found, lines[-1]
    lines.clear()
    with pytest.raises(UncertifiedRelease) as refused:
        # Little noise: labels of coins cannot be proved in the moment that the limit leaves.
        PrivateScorecardClassifier(**settings | {"epsilon": 1e3}, time_limit=1e-6).fit(X, y)
    found = re.search(r"gap ([\d,.]+) rows \(bound (-?[\d,.]+)\)", lines[-1])
    assert found and float(found[1].replace(",", "")) > 0
    assert found[2] not in str(refused.value)
