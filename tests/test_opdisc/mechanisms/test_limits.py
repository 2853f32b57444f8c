"""What could fail after the budget is spent is refused, or tried, before it is."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.extras import oracle_params

from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.mechanisms.base_measure import BaseMeasure
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.objective_perturbation import SphereMechanism, one_hot_mechanism
from opdisc.mechanisms.permute_and_flip import (
    AStarPermuteAndFlipMechanism,
    PermuteAndFlipMechanism,
)
from opdisc.mechanisms.rehearsal import check_room, small_grid
from opdisc.mechanisms.run import run_mechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.mechanisms.separator_sets import append_weighted_rows, coordinate_rows
from opdisc.noise.lattice import MOST_NOISE
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import Claim, Limit, Perturbation, Termination, WeightGrid, ZeroOneProblem, get_oracle
from oracles.enumeration.listing import EnumerationOracle
from oracles.errors import InvalidProblem, OracleUnavailable, UnsupportedProblem
from oracles.interface import HandoverOracle
from oracles.milp.formulation import formulate, formulation_steps
from oracles.problem import ErrorCosts

SPARSE = WeightGrid.box(40, 1, norm_budget=2)
WIDE = WeightGrid.box(16, 1)
SMALL = WeightGrid.box(4, 1)

SAMPLERS = {
    "sparse": (ExponentialMechanism(), SPARSE),
    "sparse, weighted": (ExponentialMechanism(base_measure=BaseMeasure(penalty=0.5)), SPARSE),
    "lazy": (AStarPermuteAndFlipMechanism(), WIDE),
}


def public(grid, epsilon=1.0, delta=0.0, **changes):
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    if "n_rows" in changes:
        relation = NeighboringRelation.REPLACE_ONE
    params = PrivacyParams(epsilon=epsilon, delta=delta)
    return GridPublic(params=params, relation=relation, grid=grid, **changes)


def rows(count, grid):
    """So many positives at one point, and a few negatives at another."""
    points = np.zeros((2, grid.n_features), dtype=int)
    points[:, 0] = 1
    points[0, 1] = 1
    return ZeroOneProblem(points=points, positives=[count, 0], negatives=[0, 7], grid=grid)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


def released(mechanism, problem, ledger, oracle="auto", **changes):
    return run_mechanism(
        mechanism,
        problem,
        public(problem.grid, **changes),
        entropy=SystemEntropy(),
        oracle=oracle,
        ledger=ledger,
    )


def nothing_spent(ledger):
    return not ledger.path.exists() or not ledger.spendings()


# --- limits on the table -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sparse", "sparse, weighted"])
def test_more_than_fifty_million_rows_are_drawn_from_a_sparse_grid(name, ledger):
    mechanism, grid = SAMPLERS[name]
    problem = rows(60_000_000, grid)
    release = released(mechanism, problem, ledger)
    # Whoever predicts "-" for them loses all of them: its chance is below e^-59,000,000.
    assert problem.grid.contains(release.hypothesis) and problem.loss(release.hypothesis) <= 7


def test_rows_times_steps_beyond_two_to_the_forty_are_searched_lazily(ledger):
    problem = rows(2**31, WIDE)
    release = released(AStarPermuteAndFlipMechanism(), problem, ledger, epsilon=20.0)
    assert problem.loss(release.hypothesis) <= 7


@pytest.mark.parametrize(
    ("mechanism", "grid"),
    [
        (AStarPermuteAndFlipMechanism(), WIDE),
        (ExponentialMechanism(), SPARSE),
        (one_hot_mechanism(16), WIDE),
        (PermuteAndFlipMechanism(), SMALL),
        (SeparatorMechanism(route="rows"), SMALL),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_more_rows_than_can_be_added_up_are_refused_before_the_spend(mechanism, grid, ledger):
    with pytest.raises((UnsupportedProblem, InvalidProblem)):
        released(mechanism, rows(2**60, grid), ledger)
    assert nothing_spent(ledger)


def test_scores_that_vary_too_much_are_refused_before_the_spend(ledger):
    wide = WeightGrid(values=((-1, 0, 1),) * 15 + ((0, 2_000_000),))
    problem = ZeroOneProblem(
        points=np.ones((1, 16), dtype=int), positives=[3], negatives=[1], grid=wide
    )
    with pytest.raises(UnsupportedProblem, match="1,000,000"):
        released(AStarPermuteAndFlipMechanism(), problem, ledger)
    assert nothing_spent(ledger)


# --- noise that could overflow -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "spacing"),
    [
        (one_hot_mechanism(16), 1e-9, 2.0**-10),
        (SeparatorMechanism(), 1e-9, 2.0**-10),
        (SphereMechanism(), 1e-4, 2.0**-28),
        (SphereMechanism(noise="gaussian"), 1e-4, 2.0**-28),
        (SeparatorMechanism(noise="gaussian"), 1e-5, 2.0**-28),
    ],
)
def test_noise_that_may_not_add_up_in_64_bits_is_refused(mechanism, epsilon, spacing):
    delta = 1e-6 if getattr(mechanism, "noise", "") == "gaussian" else 0.0
    with pytest.raises(CalibrationError, match=r"2\*\*54 lattice steps"):
        mechanism.calibrate(public(WIDE, epsilon, delta, spacing=spacing))


@pytest.mark.parametrize("spacing", [1.0, 2.0**-10, 2.0**-28])
@pytest.mark.parametrize("noise", ["one_hot", "rspm", "opdisc"])
def test_the_smallest_epsilon_that_is_taken_gives_noise_that_adds_up(noise, spacing):
    mechanism = {
        "one_hot": one_hot_mechanism(16),
        "rspm": SeparatorMechanism(),
        "opdisc": SphereMechanism(),
    }[noise]
    epsilon = 1.0
    spec = mechanism.calibrate(public(WIDE, epsilon, spacing=spacing))
    while True:
        epsilon /= 2
        try:
            spec = mechanism.calibrate(public(WIDE, epsilon, spacing=spacing))
        except CalibrationError:
            break
    perturbed = mechanism.perturb(rows(5, WIDE), spec, SeededEntropy(1))
    tables = (*perturbed.perturbation.tables, perturbed.perturbation.norm_table)
    largest = sum(float(np.abs(t).max()) for t in tables if t is not None)
    assert MOST_NOISE / 2**14 < largest <= MOST_NOISE


# --- solvers of limited precision ----------------------------------------------------------------

SOLVERS = oracle_params(["highs", "cp-sat", "pulp:CBC"])


@pytest.mark.parametrize(
    "mechanism", [one_hot_mechanism(4), SphereMechanism(), SeparatorMechanism()]
)
@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_is_refused_before_the_spend_if_noise_could_outgrow_it(name, mechanism, ledger):
    solver, epsilon = get_oracle(name), 1.0
    while 2 * mechanism.calibrate(public(SMALL, epsilon)).most_steps <= solver.most_steps:
        epsilon /= 2
    with pytest.raises(UnsupportedProblem, match="rows and the largest noise together"):
        released(mechanism, rows(5, SMALL), ledger, solver, epsilon=epsilon)
    assert nothing_spent(ledger)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_is_refused_before_the_spend_if_rows_outgrow_it(name, ledger):
    guessed = [{"public_row_guess": 10**12}] if get_oracle(name).most_steps < 10**15 else []
    for known in [{"n_rows": 2**43 + 7}, *guessed]:
        with pytest.raises(UnsupportedProblem, match="lattice steps"):
            released(one_hot_mechanism(4), rows(2**43, SMALL), ledger, name, **known)
    assert nothing_spent(ledger)


@pytest.mark.parametrize("name", SOLVERS)
def test_rows_whose_number_is_private_decide_no_refusal(name, ledger):
    """A table that outgrows the solver is charged as any other: that it ends is a condition."""
    few = released(one_hot_mechanism(4), rows(5, SMALL), ledger, name)
    assert f"'{name}' certifies on every table and every noise draw" in few.receipt.conditions
    with pytest.raises(UncertifiedRelease):
        released(one_hot_mechanism(4), rows(2**43, SMALL), ledger, name)
    assert len(ledger.spendings()) == 2


def test_an_encoding_that_is_too_small_for_hidden_rows_decides_no_refusal(ledger):
    oracle = get_oracle("highs", formulation="per-row")
    with pytest.raises(UncertifiedRelease):
        released(one_hot_mechanism(4), rows(10**6, SMALL), ledger, oracle)
    with pytest.raises(UnsupportedProblem, match="at most 1,000,000 rows"):
        released(one_hot_mechanism(4), rows(10**6, SMALL), ledger, oracle, n_rows=10**6 + 7)
    assert len(ledger.spendings()) == 1


@pytest.mark.parametrize("count", [5, 2**30])
def test_a_lattice_without_room_for_hidden_rows_is_refused_whatever_they_are(count, ledger):
    costs = ErrorCosts(false_negative=1000, false_positive=1)
    for fine in ({"spacing": 2.0**-21}, {"spacing": 2.0**-11, "error_costs": costs}):
        with pytest.raises(UnsupportedProblem, match="room for 2\\*\\*34 rows"):
            released(one_hot_mechanism(4), rows(count, SMALL), ledger, **fine)
    assert nothing_spent(ledger)
    released(one_hot_mechanism(4), rows(2**33, SMALL), ledger, error_costs=costs)
    released(one_hot_mechanism(4), rows(5, SMALL), None, spacing=2.0**-21, n_rows=12)


@pytest.mark.parametrize("name", ["highs", "pulp:CBC"])
def test_scores_beyond_a_tolerance_are_refused_before_the_spend(name, ledger):
    problem = ZeroOneProblem(
        points=[[1, 2 * 10**8, 0, 0]], positives=[3], negatives=[1], grid=SMALL
    )
    with pytest.raises(UnsupportedProblem, match="because of its tolerance"):
        released(one_hot_mechanism(4), problem, ledger, name, n_rows=4)
    assert nothing_spent(ledger)


@pytest.mark.parametrize(
    "mechanism",
    [
        one_hot_mechanism(4),
        SphereMechanism(),
        SeparatorMechanism(),
        SeparatorMechanism(route="rows"),
    ],
    ids=["one_hot", "sphere", "separators", "weighted rows"],
)
@pytest.mark.parametrize("tolerance", [0.0, 1e-9])
def test_what_has_room_for_the_largest_noise_can_always_be_formulated(mechanism, tolerance):
    """Tables at the public bound, and as many rows as fit beside them: the worst that can come."""
    spec = mechanism.calibrate(public(SMALL, spacing=2.0**-10))
    room = formulation_steps(tolerance) - 2 * spec.most_steps
    most = int(room * spec.spacing)
    problem = rows(most - 7, SMALL)

    class Solver:
        name, most_steps = "solver", formulation_steps(tolerance)

    check_room(spec, public(SMALL), Solver())
    check_room(spec, public(SMALL, n_rows=most), Solver())
    with pytest.raises(UnsupportedProblem):
        check_room(spec, public(SMALL, n_rows=most + 1), Solver())
    drawn = mechanism.perturb(problem, spec, SeededEntropy(0))
    if drawn.perturbation is None:  # weighted rows
        steps = np.full(spec.size, int(spec.most_steps) // spec.size)
        worst = append_weighted_rows(problem, coordinate_rows(SMALL), steps, 2**10)
    else:
        tables = drawn.perturbation.tables
        worst = problem.with_perturbation(
            Perturbation(
                blocks=drawn.perturbation.blocks,
                tables=tuple(
                    np.full(table.shape, int(spec.most_steps) // len(tables)) for table in tables
                ),
                unit=spec.spacing,
            )
        )
    assert formulate(worst, tolerance=tolerance).n_variables > 0


class Unproving(EnumerationOracle):
    """It answers, and never gives a bound."""

    name = "unproving"
    can_certify = False

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        return replace(claim, dual_bound=-np.inf, termination=Termination.FEASIBLE)


@pytest.mark.parametrize(
    "mechanism", [one_hot_mechanism(4), SphereMechanism(), SeparatorMechanism()]
)
def test_an_oracle_that_never_certifies_is_refused_before_the_spend(mechanism, ledger):
    chain = HandoverOracle(Unproving(), Unproving())
    for oracle, name in ((Unproving(), "unproving"), (chain, "unproving then unproving")):
        with pytest.raises(UnsupportedProblem) as caught:
            released(mechanism, rows(5, SMALL), ledger, oracle)
        assert str(caught.value) == (
            f"a release needs a certificate, but oracle '{name}' never proves a bound; let one "
            f"take over that does: '{name} then branch-and-bound'."
        )
        assert nothing_spent(ledger)


def test_one_that_certifies_may_follow_or_go_before_it(ledger):
    for pair in ((Unproving(), EnumerationOracle()), (EnumerationOracle(), Unproving())):
        released(one_hot_mechanism(4), rows(5, SMALL), ledger, HandoverOracle(*pair))


# --- rehearsals ----------------------------------------------------------------------------------


class Broken:
    """An oracle whose installation is broken: it raises whatever it is asked."""

    name = "broken"
    integer_arithmetic = True
    requirement = "takes everything"

    def supports(self, problem):
        return True

    def solve(self, problem, options):
        raise OSError("libsolver.so is missing")


class Crashed(Broken):
    """Its process died."""

    def solve(self, problem, options):
        return Claim(
            hypothesis=None,
            objective=None,
            dual_bound=-np.inf,
            termination=Termination.NO_HYPOTHESIS,
            limit=Limit.UNKNOWN,
            nodes=None,
        )


@pytest.mark.parametrize("oracle", [Broken(), Crashed()], ids=["broken", "crashed"])
def test_an_oracle_that_fails_on_a_toy_costs_nothing(oracle, ledger):
    with pytest.raises(OracleUnavailable, match="before anything is spent"):
        released(one_hot_mechanism(4), rows(5, SMALL), ledger, oracle)
    assert nothing_spent(ledger)


def test_an_oracle_that_fails_on_the_rows_alone_stays_charged_and_says_nothing(ledger):
    class Picky(Broken):
        def solve(self, problem, options):
            if problem.positives.max() > 4:
                raise ValueError("5 rows")
            return get_oracle("enumeration").solve(problem, options)

    with pytest.raises(UncertifiedRelease) as caught:
        released(one_hot_mechanism(4), rows(5, SMALL), ledger, Picky())
    assert "5 rows" not in str(caught.value) and caught.value.__context__ is None
    assert len(ledger.spendings()) == 1


KERNELS = {
    "sparse": ["oracles.sampling.sparse_kernels.walk_budget"],
    "lazy": [
        "oracles.sampling.a_star_kernels.expand",
        "oracles.sampling.a_star_kernels.root_clock",
    ],
}


@pytest.mark.parametrize(
    ("name", "kernel"), [(name, kernel) for name in ("sparse", "lazy") for kernel in KERNELS[name]]
)
def test_a_kernel_that_cannot_be_loaded_costs_nothing(name, kernel, ledger, monkeypatch):
    def damaged(*arguments):
        raise EOFError("ran out of input")

    monkeypatch.setattr(kernel, damaged)
    mechanism, grid = SAMPLERS[name]
    with pytest.raises(OracleUnavailable, match="EOFError"):
        released(mechanism, rows(5, grid), ledger)
    assert nothing_spent(ledger)


@pytest.mark.parametrize("oracle", ["enumeration", "branch-and-bound"])
def test_a_search_that_cannot_be_compiled_costs_nothing(oracle, ledger, monkeypatch):
    def damaged(*arguments):
        raise EOFError("ran out of input")

    for module in ("enumeration.listing.EnumerationOracle", "branch_and_bound.oracle._Run"):
        monkeypatch.setattr(f"oracles.{module}.solve", damaged)
    with pytest.raises(OracleUnavailable, match="EOFError"):
        released(one_hot_mechanism(4), rows(5, SMALL), ledger, oracle)
    assert nothing_spent(ledger)


def test_a_rehearsal_takes_no_random_word_that_the_release_would_have_drawn():
    def drawn(mechanism, grid):
        return run_mechanism(
            mechanism, rows(50, grid), public(grid), entropy=SeededEntropy(7)
        ).hypothesis

    for mechanism, grid in (SAMPLERS["lazy"], SAMPLERS["sparse"]):
        spec = mechanism.calibrate(public(grid))
        assert drawn(mechanism, grid) == mechanism.draw(rows(50, grid), spec, SeededEntropy(7))


@pytest.mark.parametrize("grid", [SPARSE, WIDE, WeightGrid.box(3, 4, norm_budget=9)])
def test_a_small_grid_is_small_and_part_of_the_grid(grid):
    small = small_grid(grid)
    assert small.n_assignments <= 3**6 and small.shape != grid.shape
    assert all(set(a) <= set(b) for a, b in zip(small.values, grid.values, strict=True))
