"""Oracles for real parameters: each other, brute force and exact fractions are the referees."""

import dataclasses
import math
import subprocess
import sys
from fractions import Fraction

import highspy
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles.arithmetic import module_environment
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.box_search import GlobalOracle
from oracles.convex.classification_losses import HuberisedHingeLoss, RampLoss
from oracles.convex.duality import Basis, RealClaim, certify, lower_bound
from oracles.convex.loss_names import CERTIFIABLE_LOSSES, loss_by_name
from oracles.convex.polytopes import Box, Simplex
from oracles.convex.problem import TiltedProblem
from oracles.convex.solve import (
    RealOptions,
    available_real_oracles,
    get_real_oracle,
    minimise,
    minimise_tilts,
    real_oracle_versions,
)
from oracles.errors import (
    InconsistentSolution,
    InvalidOption,
    InvalidProblem,
    OracleUnavailable,
    UnsupportedProblem,
)

CONVEX = tuple(name for name in CERTIFIABLE_LOSSES if loss_by_name(name).is_convex)
PIECEWISE = ("hinge", "absolute")
DOMAINS = ("box", "l1", "l2", "simplex")


def loss_of(name, width=1.0):
    """The loss of that name, bent over ``width`` where it has one."""
    bent = {"huberised hinge": HuberisedHingeLoss, "ramp": RampLoss}
    return bent[name](width) if name in bent else loss_by_name(name)


def domain_of(name, d):
    if name == "box":
        return Box(np.linspace(-1.0, -0.5, d), np.linspace(0.5, 2.0, d))
    if name == "l1":
        return L1Ball(dimension=d, radius=1.5)
    if name == "l2":
        return L2Ball(dimension=d, radius=1.25)
    return Simplex(dimension=d)


def random_problem(seed, loss, domain, *, n=30, d=3, width=1.0):
    rng = np.random.default_rng(seed)
    features = rng.integers(-2, 3, (n, d)).astype(float)
    targets = rng.choice([-1.0, 1.0], n)
    if not loss_of(loss).is_classification:
        targets = rng.integers(-6, 7, n) / 2
    return TiltedProblem(
        features=features,
        targets=targets,
        weights=rng.integers(0, 6, n).astype(float),
        loss=loss_of(loss, width),
        domain=domain_of(domain, d),
        tilt=rng.exponential(10.0, d),
    )


def grid_of(problem, steps=401):
    """Points of the domain on a fine grid, two dimensions."""
    low, high = problem.domain.lower, problem.domain.upper
    if isinstance(problem.domain, Simplex):
        t = np.linspace(0.0, 1.0, steps * steps)
        return np.column_stack([t, 1.0 - t])
    axes = [np.linspace(a, b, steps) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    if isinstance(problem.domain, L1Ball):
        return points[np.abs(points).sum(axis=1) <= problem.domain.radius]
    if isinstance(problem.domain, L2Ball):
        return points[np.linalg.norm(points, axis=1) <= problem.domain.radius]
    return points


def grid_objectives(problem, points):
    values = problem.loss.of_scores(points @ problem.features.T, problem.targets)
    return values @ problem.weights - points @ problem.tilt


# --- certificates --------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    loss=st.sampled_from(CONVEX),
    domain=st.sampled_from(DOMAINS),
    spread=st.floats(0, 3),
)
def test_no_multipliers_whatever_prove_too_much(seed, loss, domain, spread):
    problem = random_problem(seed, loss, domain, n=8, d=2)
    multipliers = np.random.default_rng(seed).normal(0, spread, 8)
    least = grid_objectives(problem, grid_of(problem, 61)).min()
    assert lower_bound(problem, multipliers) <= least


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**31), loss=st.sampled_from(PIECEWISE))
def test_rounding_is_on_the_safe_side_of_exact_fractions(seed, loss):
    """Both bounds recomputed in rationals; a certificate without its error terms fails this."""
    problem = random_problem(seed, loss, "box", n=12, d=3)
    problem = problem.with_tilt(problem.tilt / 3.0)
    rng = np.random.default_rng(seed)
    parameters = problem.domain.nearest_inside(rng.normal(size=3))
    multipliers = np.clip(rng.normal(size=12), *problem.loss.slope_range(problem.targets))
    exact_value, exact_bound = _exactly(problem, parameters, multipliers)
    claim = RealClaim(point=parameters, multipliers=multipliers, lower_bound=-math.inf)
    certificate = certify(problem, claim, proves_partitions=False)
    assert Fraction(certificate.primal_bound) >= exact_value
    assert Fraction(lower_bound(problem, multipliers)) <= exact_bound


def _exactly(problem, parameters, multipliers):
    """Objective and duality bound of hinge or absolute loss on a box, in rationals."""
    x = [[Fraction(v) for v in row] for row in problem.features.tolist()]
    y, c, t, a, sigma = (
        [Fraction(v) for v in array.tolist()]
        for array in (problem.targets, problem.weights, parameters, multipliers, problem.tilt)
    )
    scores = [sum(v * w for v, w in zip(row, t, strict=True)) for row in x]
    losses = (
        [max(Fraction(0), 1 - yi * s) for yi, s in zip(y, scores, strict=True)]
        if problem.loss.name == "hinge"
        else [abs(s - yi) for yi, s in zip(y, scores, strict=True)]
    )
    value = sum(ci * li for ci, li in zip(c, losses, strict=True))
    value -= sum(s * w for s, w in zip(sigma, t, strict=True))
    low, high = problem.domain.lower, problem.domain.upper
    bound = -sum(ci * ai * yi for ci, ai, yi in zip(c, a, y, strict=True))
    for j in range(3):
        v = sum(c[i] * a[i] * x[i][j] for i in range(len(x))) - sigma[j]
        bound += min(v * Fraction(low[j]), v * Fraction(high[j]))
    return value, bound


def test_answers_outside_the_domain_are_refused():
    problem = random_problem(0, "hinge", "l1")
    claim = RealClaim(point=np.array([1.0, 1.0, 1.0]), multipliers=None, lower_bound=-math.inf)
    with pytest.raises(InconsistentSolution, match="outside the domain"):
        certify(problem, claim, proves_partitions=False)


def test_a_lower_bound_counts_only_from_an_oracle_that_proves_it():
    problem = random_problem(0, "ramp", "box")
    point = problem.domain.nearest_inside(np.zeros(3))
    claim = RealClaim(point=point, multipliers=None, lower_bound=problem.objective(point))
    assert certify(problem, claim, proves_partitions=False).gap == math.inf
    assert certify(problem, claim, proves_partitions=True).basis is Basis.PARTITION
    lie = RealClaim(point=point, multipliers=None, lower_bound=problem.objective(point) + 1.0)
    with pytest.raises(InconsistentSolution, match="must not exceed"):
        certify(problem, lie, proves_partitions=True)


# --- oracles -------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("loss", CONVEX)
def test_oracles_agree_and_none_contradicts_another(loss, domain):
    for seed in range(3):
        problem = random_problem(seed, loss, domain, width=0.5)
        solutions = [
            minimise(problem, name, RealOptions(absolute_gap=1e-4))
            for name in ("lp-highs", "scipy", "cvxpy")
            if name in available_real_oracles() and get_real_oracle(name).supports(problem)
        ]
        assert solutions
        for one in solutions:
            assert one.certificate.gap <= 1e-4
            assert one.certificate.basis is Basis.DUALITY
            for other in solutions:
                assert one.certificate.dual_bound <= other.certificate.primal_bound


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("loss", CERTIFIABLE_LOSSES)
def test_the_global_search_brackets_the_best_point_of_a_fine_grid(loss, domain):
    for seed in range(2):
        problem = random_problem(seed, loss, domain, n=12, d=2, width=0.8)
        solution = minimise(problem, "global", RealOptions(absolute_gap=0.05))
        least = grid_objectives(problem, grid_of(problem)).min()
        assert solution.certificate.gap <= 0.05
        assert solution.certificate.dual_bound <= least
        assert solution.certificate.primal_bound <= least + 0.05


def test_a_search_cut_short_is_honest_about_its_gap():
    problem = random_problem(5, "ramp", "box", n=60, d=4)
    hurried = minimise(problem, GlobalOracle(most_boxes=50), RealOptions(absolute_gap=0.01))
    patient = minimise(problem, "global", RealOptions(absolute_gap=0.01))
    assert hurried.certificate.gap > 0.01
    assert patient.certificate.gap <= 0.01
    assert hurried.certificate.dual_bound <= patient.certificate.primal_bound


@pytest.mark.parametrize(("oracle", "loss"), [("lp-highs", "hinge"), ("scipy", "logistic")])
@pytest.mark.parametrize("domain", DOMAINS)
def test_warm_starts_change_no_optimum(oracle, loss, domain):
    problem = random_problem(1, loss, domain)
    tilts = np.random.default_rng(2).exponential(8.0, (6, 3))
    options = RealOptions(absolute_gap=1e-5)
    together = list(minimise_tilts(problem, tilts, oracle, options))
    for tilt, warm in zip(tilts, together, strict=True):
        cold = minimise(problem.with_tilt(tilt), oracle, options)
        assert max(warm.certificate.gap, cold.certificate.gap) <= 1e-5
        assert abs(warm.certificate.primal_bound - cold.certificate.primal_bound) <= 2e-5


@pytest.fixture
def pool_of_three():
    """Let HiGHS have three threads in this process, as after a solve of the user's own."""
    highspy.Highs.resetGlobalScheduler(True)
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 3)
    model.addVariable(0, 1, -1.0)
    assert model.run() == highspy.HighsStatus.kOk
    yield
    highspy.Highs.resetGlobalScheduler(True)


def test_threads_that_the_process_has_already_are_no_obstacle(pool_of_three):
    problem = random_problem(1, "hinge", "l1")
    found, other = minimise(problem, "lp-highs"), minimise(problem, "global")
    assert found.certificate.gap < 1e-6
    assert abs(found.certificate.primal_bound - other.certificate.primal_bound) < 1e-2


def test_a_tilt_that_dominates_drives_to_the_corner():
    problem = random_problem(3, "hinge", "box").with_tilt([1e6, 1e6, 1e6])
    np.testing.assert_allclose(minimise(problem).point, problem.domain.upper)


# --- refusals ------------------------------------------------------------------------------------


def test_refusals_say_what_to_do():
    ramp = random_problem(0, "ramp", "box")
    with pytest.raises(UnsupportedProblem, match="hinge and absolute"):
        minimise(ramp, "lp-highs")
    with pytest.raises(OracleUnavailable, match="one of the installed ones"):
        minimise(ramp, "simplex")
    with pytest.raises(UnsupportedProblem, match="at most 6 dimensions"):
        minimise(random_problem(0, "hinge", "box", d=7), "global")
    with pytest.raises(InvalidProblem, match="loss must be one of logistic, .*, got 'sigmoid'"):
        dataclasses.replace(ramp, loss=loss_by_name("sigmoid"))
    with pytest.raises(InvalidProblem, match="one coordinate per feature"):
        dataclasses.replace(ramp, domain=Box([0.0], [1.0]))
    with pytest.raises(InvalidProblem, match="targets -1 and \\+1"):
        dataclasses.replace(random_problem(0, "absolute", "box"), loss=loss_of("hinge"))
    with pytest.raises(InvalidOption, match="absolute_gap"):
        RealOptions(absolute_gap=-1.0)


def test_versions_identify_an_oracle():
    assert set(real_oracle_versions("lp-highs")) == {"highspy"}
    assert real_oracle_versions("unknown") == {}


SILENT = """
from oracles import WeightGrid, ZeroOneProblem, solve
from oracles.convex import AbsoluteLoss, Box, TiltedProblem, minimise

median = TiltedProblem(
    features=[[1.0]] * 3, targets=[0.0, 2.0, 7.0], weights=[1.0] * 3,
    loss=AbsoluteLoss(), domain=Box([0.0], [10.0]), tilt=[0.0],
)
assert minimise(median, "lp-highs").certificate.gap < 1e-9
problem = ZeroOneProblem(
    points=[[1, 0], [1, 1]], positives=[0, 3], negatives=[2, 1], grid=WeightGrid.box(2, 1)
)
for name in ("highs", "pulp:HiGHS"):
    assert solve(problem, name).certificate.primal_bound == 1
"""


def test_highs_prints_nothing_from_its_first_solver_on():
    # highspy 1.16 has a banner, which a flag that is set later does not stop.
    run = subprocess.run(
        [sys.executable, "-c", SILENT], capture_output=True, check=True, env=module_environment()
    )
    assert run.stdout == b"" and run.stderr == b""
