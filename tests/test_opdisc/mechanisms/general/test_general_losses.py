"""Classes that are not halfspaces, losses that are not 0/1: tables and own minimisers."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.general.argmin import perturbation_steps, run_with_argmin
from opdisc.mechanisms.general.loss_table import run_on_table
from opdisc.mechanisms.objective_perturbation import (
    BlockOneHotMechanism,
    SphereMechanism,
    one_hot_mechanism,
)
from opdisc.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import Perturbation, WeightGrid
from oracles.problem.table import TabularProblem

MEDIANS = WeightGrid(values=(tuple(range(11)),) * 2)


def public(grid, epsilon=1.0, **changes) -> GridPublic:
    settings = {
        "params": PrivacyParams(epsilon=epsilon, delta=0.0),
        "relation": NeighboringRelation.REPLACE_ONE,
        "grid": grid,
    }
    return GridPublic(**(settings | changes))


def distance_to_nearest(x, w):
    return min(abs(x - w[0]), abs(x - w[1]))


def two_clusters(seed=0, n=400):
    rng = np.random.default_rng(seed)
    return np.clip(np.concatenate([rng.normal(2, 0.7, n), rng.normal(8, 0.7, n)]), 0, 10)


def k_medians(seed=0):
    return TabularProblem.from_function(
        two_clusters(seed), distance_to_nearest, MEDIANS, bound=10.0
    )


EVERY = [
    PermuteAndFlipMechanism(),
    BlockOneHotMechanism(blocks=((0, 1),)),
    one_hot_mechanism(2),
    SphereMechanism(),
    SeparatorMechanism(),
    ExponentialMechanism(),
]


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda m: m.name)
def test_every_mechanism_finds_two_medians_at_a_huge_epsilon(mechanism):
    problem = k_medians()
    best = min(problem.loss(w) for w in itertools.product(*MEDIANS.values))
    release = run_on_table(mechanism, problem, public(MEDIANS, 1e6))
    assert problem.loss(release.hypothesis) == best
    assert sorted(release.hypothesis) == [2, 8]
    # The numerical delta of noise grows with e^epsilon and is 1 here; an exact draw has none.
    exact = isinstance(mechanism, ExponentialMechanism)
    assert release.receipt.delta_numerical == (0.0 if exact else 1.0)
    assert release.receipt.guarantee == ("HOLDS" if exact else "VOID")


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda m: m.name)
def test_every_mechanism_on_a_table_of_rows_holds(mechanism):
    receipt = run_on_table(mechanism, k_medians(), public(MEDIANS, 20.0)).receipt
    assert (receipt.guarantee, receipt.conditions) == ("HOLDS", ())


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda m: m.name)
def test_receipts_do_not_depend_on_the_table(mechanism):
    receipts = [run_on_table(mechanism, k_medians(s), public(MEDIANS)).receipt for s in (1, 2)]
    assert receipts[0] == receipts[1]


def test_the_exponential_mechanism_has_its_law_on_fractional_losses():
    # Chi-square, 1,500 seeded draws (deterministic); losses in quarters of a row.
    grid = WeightGrid(values=((0, 1, 2, 3),))
    problem = TabularProblem(losses=[0, 3, 5, 12], grid=grid, unit=0.25)
    entropy = SeededEntropy(5)
    draws = [
        run_on_table(ExponentialMechanism(), problem, public(grid), entropy=entropy).hypothesis[0]
        for _ in range(1500)
    ]
    weights = np.exp(-0.5 * np.array([0, 0.75, 1.25, 3.0]))
    observed = np.bincount(draws, minlength=4)
    assert stats.chisquare(observed, 1500 * weights / weights.sum()).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_two_hypotheses_keep_the_claim_exactly_and_half_the_noise_does_not(epsilon):
    # Pairwise sensitivity 2 attained: losses (k, 0) against (k - 1, 1), k far in the tail.
    grid = WeightGrid(values=((0, 1),))
    rate = float(PermuteAndFlipMechanism().calibrate(public(grid, epsilon)).rates[0])

    def log_ratio(rate):
        return rate * 2 * 1024  # P[Z0 - Z1 > k] is proportional to exp(-rate k)

    assert 0.999 * epsilon < log_ratio(rate) <= epsilon < log_ratio(2 * rate)


# --- a decision list -----------------------------------------------------------------------------

# (first column, its answer, second column, its answer, default): "if x_a: p, elif x_b: q, else r".
LISTS = WeightGrid(values=(tuple(range(4)), (0, 1), tuple(range(4)), (0, 1), (0, 1)))


def answer(x, w):
    a, p, b, q, r = w
    return p if x[a] else q if x[b] else r


def test_a_private_decision_list_is_learned():
    rng = np.random.default_rng(3)
    columns = rng.integers(0, 2, (3000, 4))
    truth = (3, 0, 1, 1, 0)
    labels = [answer(x, truth) for x in columns]
    problem = TabularProblem.from_function(
        zip(columns, labels, strict=True),
        lambda row, w: float(answer(row[0], w) != row[1]),
        LISTS,
        unit=1.0,
    )
    assert problem.loss(truth) == 0
    release = run_on_table(PermuteAndFlipMechanism(), problem, public(LISTS, spacing=1.0))
    assert problem.loss(release.hypothesis) <= 60  # 5 (2 + 1) ln 128 = 73; the bound's quantile


# --- a private feature subset, by an argmin of one's own -----------------------------------------


def subset_problem():
    """Choose columns: each chosen one costs the rows it contradicts, each other one a half."""
    rng = np.random.default_rng(4)
    agree = rng.random((500, 30)) < np.where(np.arange(30) < 5, 0.9, 0.4)
    grid = WeightGrid(values=((0, 1),) * 30)
    # Per row and column a loss in [0, 1/30]: a row contributes at most one row in all.
    costs = ((~agree).sum(axis=0) * 1024 // 30, np.full(30, 500 * 512 // 30))
    return grid, np.array([costs[1], costs[0]]).T  # steps of (absent, present)


def test_an_argmin_of_ones_own_over_two_to_the_thirty_subsets():
    grid, costs = subset_problem()

    def argmin(perturbation: Perturbation):
        totals = np.array(costs)
        for (j,), table in zip(perturbation.blocks, perturbation.tables, strict=True):
            totals[j] = totals[j] - table
        return totals.argmin(axis=1).tolist()

    def loss_steps(w):
        return int(costs[np.arange(30), list(w)].sum())

    def released(epsilon):
        return run_with_argmin(
            one_hot_mechanism(30), argmin, loss_steps, public(grid, epsilon), name="subset argmin"
        )

    assert released(1e6).hypothesis == (1,) * 5 + (0,) * 25
    receipt = released(1.0).receipt
    assert receipt.guarantee == "CONDITIONAL"
    assert any("subset argmin" in condition for condition in receipt.conditions)


@pytest.mark.parametrize("answer", [(7,) * 30, (0, 1), None, "raise"])
def test_an_argmin_that_answers_nonsense_releases_nothing(answer, tmp_path):
    grid, _ = subset_problem()

    def argmin(perturbation):
        if answer == "raise":
            raise ValueError("secret")
        return answer

    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(UncertifiedRelease) as caught:
        run_with_argmin(one_hot_mechanism(30), argmin, lambda w: 0, public(grid), ledger=ledger)
    assert "secret" not in str(caught.value) and caught.value.__context__ is None
    assert len(ledger.spendings()) == 1


def test_perturbation_steps_add_every_block_and_the_norm():
    grid = WeightGrid(values=((-1, 0, 1),) * 3)
    tables = (np.arange(9).reshape(3, 3), np.array([10, 20, 30]))
    perturbation = Perturbation(
        blocks=((2, 0), (1,)), tables=tables, norm_table=np.array([0, 100, 200, 300]), unit=0.5
    )
    assert perturbation_steps(perturbation, grid, (1, 0, -1)) == 2 + 20 + 200
    assert perturbation_steps(None, grid, (1, 0, -1)) == 0


def test_tables_refuse_what_they_cannot_do():
    problem = k_medians()
    with pytest.raises(CalibrationError, match="public spacing"):
        run_on_table(PermuteAndFlipMechanism(), problem, public(MEDIANS, spacing=0.5))
    with pytest.raises(CalibrationError, match="perturb by tables"):
        run_on_table(SeparatorMechanism(route="rows"), problem, public(MEDIANS))
    with pytest.raises(CalibrationError, match="public grid"):
        run_on_table(PermuteAndFlipMechanism(), problem, public(WeightGrid.box(2, 1)))

    class Sampler:
        name, sampler = "mine", "me"

        def calibrate(self, public):
            raise AssertionError

        def draw(self, problem, spec, entropy):
            raise AssertionError

    with pytest.raises(CalibrationError, match="does not take tables"):
        run_on_table(Sampler(), problem, public(MEDIANS))
    assert math.isfinite(problem.loss((0, 0)))
