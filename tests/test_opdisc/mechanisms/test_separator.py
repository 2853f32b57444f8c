"""RSPM: separator sets, both routes, every noise, and exact audits."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from opdisc.calibration.separators import (
    published_separator_stddev,
    separator_gaussian_stddev,
    separator_quantile,
    thermometer_shift_size,
    thermometer_size,
)
from opdisc.data import COLUMNS_UNSEEN, LABELS_PUBLIC
from opdisc.errors import CalibrationError
from opdisc.estimators.scorecards.named import RSPMClassifier
from opdisc.mechanisms.run import run_mechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.mechanisms.separator_sets import (
    SeparatorRows,
    append_weighted_rows,
    conjunction_grid,
    conjunction_points,
    conjunction_rows,
    coordinate_rows,
)
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem, solve
from oracles.testing.brute_force import brute_force

ROW_GRIDS = (
    WeightGrid.box(3, 1),
    WeightGrid.box(4, 1, norm_budget=2),
    WeightGrid(values=((-1, 1), (0, 1), (-1, 0), (-1, 0, 1))),
    WeightGrid(values=((-4, 0, 3), (-2, 5), (1,), (-1, 0, 1))),
)


def public(grid, epsilon=1.0, delta=0.0, **changes) -> GridPublic:
    settings = {
        "params": PrivacyParams(epsilon=epsilon, delta=delta),
        "relation": NeighboringRelation.REPLACE_ONE,
        "grid": grid,
    }
    return GridPublic(**(settings | changes))


def random_table(rng: np.random.Generator, grid: WeightGrid) -> ZeroOneProblem:
    points = rng.integers(0, 2, (int(rng.integers(1, 10)), grid.n_features))
    points[:, 0] = 1
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 30, len(points)),
        negatives=rng.integers(0, 30, len(points)),
        grid=grid,
    )


# --- both routes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "n_problems"),
    [
        ("laplace", 150),
        ("gaussian", 30),
        pytest.param("laplace", 1000, marks=pytest.mark.slow),
        pytest.param("gaussian", 100, marks=pytest.mark.slow),
    ],
)
def test_tables_and_weighted_rows_give_the_same_hypothesis(noise, n_problems):
    rng = np.random.default_rng(0)
    changed = 0
    for seed in range(n_problems):
        grid = ROW_GRIDS[seed % len(ROW_GRIDS)]
        problem = random_table(rng, grid)
        inputs = public(grid, float(rng.choice([0.3, 1.0, 4.0])), 1e-3)
        tables = SeparatorMechanism(noise=noise)
        rows = SeparatorMechanism(noise=noise, route="rows")
        first = tables.perturb(problem, tables.calibrate(inputs), SeededEntropy(seed))
        second = rows.perturb(problem, rows.calibrate(inputs), SeededEntropy(seed))
        found = solve(first, "enumeration").hypothesis
        assert found == solve(second, "enumeration").hypothesis
        changed += found != solve(problem, "enumeration").hypothesis
    assert changed > n_problems / 10  # the noise matters


def test_the_objectives_of_both_routes_are_equal_up_to_a_constant():
    rng = np.random.default_rng(1)
    for grid in ROW_GRIDS:
        problem, inputs = random_table(rng, grid), public(grid)
        spec = SeparatorMechanism().calibrate(inputs)
        first = SeparatorMechanism().perturb(problem, spec, SeededEntropy(3))
        second = SeparatorMechanism(route="rows").perturb(problem, spec, SeededEntropy(3))
        one, other = brute_force(first), brute_force(second)
        assert one == other


def test_every_oracle_takes_the_negative_weights_of_the_rows(oracle):
    rng = np.random.default_rng(2)
    for seed in range(3):
        grid = ROW_GRIDS[0]
        mechanism = SeparatorMechanism(route="rows")
        perturbed = mechanism.perturb(
            random_table(rng, grid), mechanism.calibrate(public(grid)), SeededEntropy(seed)
        )
        best = min(brute_force(perturbed).values())
        assert solve(perturbed, oracle).certificate.primal_bound == best


def test_rows_do_not_exist_for_two_weights_of_one_sign():
    with pytest.raises(CalibrationError, match="route='tables'"):
        SeparatorMechanism(route="rows").calibrate(public(WeightGrid.box(2, 2)))
    # Two hypotheses that no integer row separates, within a box of rows.
    rows = np.array(list(itertools.product(range(-6, 7), repeat=2)))
    assert ((rows @ (1, 0) >= 1) == (rows @ (2, 0) >= 1)).all()


# --- separator sets ------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", ROW_GRIDS)
def test_coordinate_rows_are_the_thermometer(grid):
    rows = coordinate_rows(grid)
    assert rows.separates(grid) and len(rows.labels) == thermometer_size(grid)
    thresholds = [(j, a) for j, allowed in enumerate(grid.values) for a in allowed[1:]]
    for w in itertools.product(*grid.values):
        predicted = np.where(rows.points @ np.array(w) >= 1, 1, -1)
        assert (predicted == rows.labels).tolist() == [w[j] >= a for j, a in thresholds]


def test_conjunctions_and_their_separators():
    rng = np.random.default_rng(4)
    grid, rows = conjunction_grid(4), conjunction_rows(4)
    columns = rng.integers(0, 2, (40, 4))
    points = conjunction_points(columns)
    for w in itertools.product(*grid.values):
        chosen = [j for j in range(4) if w[j + 1] == -1]
        assert ((points @ np.array(w) >= 1) == columns[:, chosen].all(axis=1)).all()
        absent = [w[j + 1] == 0 for j in range(4)]
        assert (rows.points @ np.array(w) >= 1).tolist() == absent
    assert rows.separates(grid) and rows.separates(conjunction_grid(4))
    assert conjunction_rows(200).separates(conjunction_grid(200))  # proven, not tried


def brute_separates(rows: SeparatorRows, grid: WeightGrid) -> bool:
    budget = math.inf if grid.norm_budget is None else grid.norm_budget
    seen = [
        tuple(int(np.dot(x, w)) >= 1 for x in rows.points.tolist())
        for w in itertools.product(*grid.values)
        if sum(a * a for a in w) <= budget
    ]
    return len(set(seen)) == len(seen)


def test_separation_is_found_exactly_where_it_holds():
    rng = np.random.default_rng(5)
    outcomes = set()
    for _ in range(300):
        budget = None if rng.random() < 0.5 else int(rng.integers(0, 4))
        grid = WeightGrid.box(int(rng.integers(1, 4)), 1, norm_budget=budget)
        points = rng.integers(-2, 3, (int(rng.integers(1, 14)), grid.n_features))
        rows = SeparatorRows(points=points, labels=np.ones(len(points), dtype=int))
        outcomes.add(rows.separates(grid))
        assert rows.separates(grid) == brute_separates(rows, grid)
    assert outcomes == {True, False}


def test_separators_that_do_not_separate_are_refused_before_anything_is_drawn():
    rows = SeparatorRows(points=[[1, 1]], labels=[1])
    mechanism = SeparatorMechanism(separators=rows, route="rows")
    with pytest.raises(CalibrationError, match="any two hypotheses"):
        mechanism.calibrate(public(WeightGrid.box(2, 1)))
    with pytest.raises(CalibrationError, match="own separators need route='rows'"):
        SeparatorMechanism(separators=rows).calibrate(public(WeightGrid.box(2, 1)))
    with pytest.raises(CalibrationError, match="proves its separation"):
        SeparatorRows(points=np.ones((1, 20), dtype=int), labels=[1]).separates(
            WeightGrid.box(20, 1)
        )
    with pytest.raises(CalibrationError, match="one label per row"):
        SeparatorRows(points=[[1, 1]], labels=[0])


class ProvenElsewhere:
    """A user's own set for ever larger classes: disjunctions of 30 columns, unit vectors."""

    points = np.eye(30, dtype=np.int64)
    labels = np.ones(30, dtype=np.int64)

    def separates(self, grid):
        return grid.values == ((0, 1),) * 30


def test_a_users_own_separator_set_runs():
    grid = WeightGrid(values=((0, 1),) * 30)
    mechanism = SeparatorMechanism(separators=ProvenElsewhere(), route="rows")
    with pytest.raises(CalibrationError, match="public.assumptions"):
        mechanism.calibrate(public(grid))
    said = public(grid, assumptions=("the separators separate every two hypotheses",))
    spec = mechanism.calibrate(said)
    assert spec.size == 30 and spec.scales[0] == pytest.approx(30 * (2 + 2**-10))
    small = conjunction_grid(5)
    rng = np.random.default_rng(6)
    columns = rng.integers(0, 2, (200, 5))
    labels = columns[:, [1, 3]].all(axis=1)
    points, inverse = np.unique(conjunction_points(columns), axis=0, return_inverse=True)
    problem = ZeroOneProblem(
        points=points,
        positives=np.bincount(inverse.ravel(), labels).astype(int),
        negatives=np.bincount(inverse.ravel(), ~labels).astype(int),
        grid=small,
    )
    release = run_mechanism(
        SeparatorMechanism(separators=conjunction_rows(5), route="rows"),
        problem,
        public(small, 40.0, n_rows=200),
        entropy=SystemEntropy(),
        counts_rows=True,
    )
    assert release.hypothesis == (1, 0, -1, 0, -1, 0) and release.receipt.guarantee == "HOLDS"


def test_appended_rows_cost_minus_their_weight_when_their_label_is_predicted():
    grid = WeightGrid.box(2, 1)
    empty = ZeroOneProblem(
        points=np.zeros((0, 2), int),
        positives=np.zeros(0, int),
        negatives=np.zeros(0, int),
        grid=grid,
    )
    rows = SeparatorRows(points=[[1, 0], [0, 1]], labels=[1, -1])
    weighted = append_weighted_rows(empty, rows, np.array([5, -7]), 4)
    assert {w: weighted.loss(w) for w in ((0, 0), (1, 0), (1, 1), (0, 1))} == {
        (0, 0): 7,
        (1, 0): 2,
        (1, 1): -5,
        (0, 1): 0,
    }


# --- calibration ---------------------------------------------------------------------------------


def sparse_shift(grid, w):
    """+1 at the own threshold of each coordinate, -1 at the next one."""
    shift = []
    for allowed, value in zip(grid.values, w, strict=True):
        entries = [0] * (len(allowed) - 1)
        k = allowed.index(value)
        if k > 0:
            entries[k - 1] = 1
        if k < len(allowed) - 1:
            entries[k] = -1
        shift += entries
    return np.array(shift)


def thermometer(grid, w):
    return np.array(
        [value >= a for allowed, value in zip(grid.values, w, strict=True) for a in allowed[1:]]
    ).astype(int)


@pytest.mark.parametrize(
    "grid",
    [
        WeightGrid.box(2, 2),
        WeightGrid.box(1, 4),
        WeightGrid(values=((0, 1), (-3, -1, 0, 5), (2,))),
        WeightGrid.box(3, 1),
    ],
)
def test_moving_two_thresholds_per_coordinate_is_a_valid_shift_of_the_stated_length(grid):
    hypotheses = list(itertools.product(*grid.values))
    longest = 0
    for w in hypotheses:
        shift = sparse_shift(grid, w)
        longest = max(longest, int(np.abs(shift).sum()))
        for v in hypotheses:
            if v != w:
                assert shift @ (thermometer(grid, w) - thermometer(grid, v)) >= 1
    assert longest == thermometer_shift_size(grid) <= thermometer_size(grid)


def test_scales_are_the_formulas():
    mu = 2 + 2**-10
    three, nine = WeightGrid.box(4, 1), WeightGrid.box(4, 4)
    assert SeparatorMechanism().calibrate(public(three)).scales[0] == pytest.approx(8 * mu)
    # 32 separators, of which a shift moves 8.
    assert SeparatorMechanism().calibrate(public(nine)).scales[0] == pytest.approx(8 * mu)
    assert thermometer_size(nine) == 32
    priced = 2 + 2 * (4 + 1) * 2**-10
    kappa = separator_quantile(8, 81, 1e-6)
    expected = separator_gaussian_stddev(priced * math.sqrt(8), kappa, 1.0)
    found = SeparatorMechanism(noise="gaussian").calibrate(public(three, delta=1e-6))
    assert found.scales[0] == pytest.approx(expected, rel=1e-6)


def exact_epsilon_of_the_middle(rate):
    """Log ratio of P[w = middle] when its neighbours lead by a gap and by two rows more.

    Weights further away are out of reach. The middle wins iff its own threshold earns more than
    the lead and the next one loses more: two independent discrete Laplace tails, whose ratio does
    not depend on the gap.
    """
    return 2 * float(rate) * 2 * 1024


@pytest.mark.parametrize("n_values", [3, 5, 9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_middle_weight_keeps_the_claim_exactly_and_is_not_wasteful(n_values, epsilon):
    grid = WeightGrid(values=(tuple(range(n_values)),))
    spec = SeparatorMechanism().calibrate(public(grid, epsilon))
    true = exact_epsilon_of_the_middle(spec.rate)
    assert 0.999 * epsilon < true <= epsilon
    # Half the noise is caught.
    assert exact_epsilon_of_the_middle(2 * spec.rate) > 1.9 * epsilon


@pytest.mark.statistical
def test_the_tails_of_the_middle_weight_are_those_of_the_closed_form():
    # 3 weights 0..2, the middle one trails by t = 2 rows, epsilon 2: P = (p^k / (1+p))^2.
    grid = WeightGrid(values=((1,), (0, 1, 2)))
    # Row t predicts "+" iff w >= t; losses 0, 2, 0.
    problem = ZeroOneProblem(
        points=[[0, 1], [-1, 1]], positives=[0, 2], negatives=[2, 0], grid=grid
    )
    base = [problem.loss((1, a)) for a in (0, 1, 2)]
    assert base == [2, 4, 2]
    mechanism = SeparatorMechanism()
    spec = mechanism.calibrate(public(grid, 2.0))
    p = math.exp(-float(spec.rate))
    # Ties go to the smaller weight: strict against 0, weak against 2.
    chance = p ** (2 * 1024 + 1) / (1 + p) * p ** (2 * 1024) / (1 + p)
    entropy = SeededEntropy(7)
    wins = sum(
        solve(mechanism.perturb(problem, spec, entropy), "enumeration").hypothesis == (1, 1)
        for _ in range(4000)
    )
    # False alarm 1e-6.
    assert stats.binomtest(wins, 4000, chance).pvalue > 1e-6


def parity_epsilon(stddev, n_separators, delta):
    """True epsilon on the parity instance over {0, 1}^m: the smallest |eta_j| must exceed 1."""
    q = math.erfc(1 / (math.sqrt(2) * stddev)) ** n_separators
    return math.log((1 - q / 2 - delta) / (q / 2))


def test_the_published_gaussian_is_refuted_and_the_proven_one_is_not():
    sizes = (10, 20, 50, 100, 200, 500, 1000)
    published = [parity_epsilon(published_separator_stddev(m, 1.0, 1e-5), m, 1e-5) for m in sizes]
    # Same instance, same numbers as OPDisc's first constant (theory, published-gaussian).
    assert [round(e, 2) for e in published] == [0.39, 0.53, 0.8, 1.07, 1.43, 2.08, 2.76]
    for m in sizes:
        kappa = separator_quantile(m, 2**m, 1e-5)
        stddev = separator_gaussian_stddev(2 * math.sqrt(m), kappa, 1.0)
        assert parity_epsilon(stddev, m, 1e-5) <= 1.0


@pytest.mark.parametrize("delta", [0.3, 1e-3, 1e-9])
@pytest.mark.parametrize(("size", "hypotheses"), [(1, 2), (16, 6561), (76, 3**38), (400, 2**400)])
def test_the_quantile_is_never_above_the_concentration_bound_and_reevaluates(
    delta, size, hypotheses
):
    kappa = separator_quantile(size, hypotheses, delta)
    mean = min(math.sqrt(size), math.sqrt(2 * math.log(hypotheses)))
    assert kappa <= (mean + math.sqrt(2 * math.log(1 / delta))) * (1 + 1e-8)
    stddev = separator_gaussian_stddev(5.0, kappa, 0.3)
    assert (2 * 5.0 * stddev * kappa + 25.0) / (2 * stddev**2) <= 0.3


@pytest.mark.statistical
@pytest.mark.parametrize("grid", [WeightGrid.box(3, 1), WeightGrid.box(2, 3)])
def test_the_supremum_over_all_shifts_stays_below_the_quantile(grid):
    # delta 0.05, 20,000 draws; exact binomial test, false alarm 1e-6; 60% of it is caught.
    hypotheses = list(itertools.product(*grid.values))
    shifts = np.array([sparse_shift(grid, w) for w in hypotheses])
    kappa = separator_quantile(thermometer_size(grid), len(hypotheses), 0.05)
    z = np.random.default_rng(8).normal(size=(20_000, thermometer_size(grid)))
    supremum = (z @ shifts.T).max(axis=1) / math.sqrt(thermometer_shift_size(grid))
    over = int((supremum > kappa).sum())
    assert stats.binomtest(over, 20_000, 0.05, alternative="greater").pvalue > 1e-6
    caught = int((supremum > 0.6 * kappa).sum())
    assert stats.binomtest(caught, 20_000, 0.05, alternative="greater").pvalue < 1e-6


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (SeparatorMechanism(noise="gaussian"), "delta > 0"),
        (SeparatorMechanism(noise="normal"), "noise must be one of"),
        (SeparatorMechanism(route="both"), "route must be"),
    ],
)
def test_impossible_calibrations_are_refused(mechanism, words):
    with pytest.raises(CalibrationError, match=words):
        mechanism.calibrate(public(WeightGrid.box(2, 1)))


def test_noise_that_does_not_fit_is_refused():
    with pytest.raises(CalibrationError, match="epsilon must be larger"):
        SeparatorMechanism(noise="gaussian").calibrate(public(WeightGrid.box(2, 1), 1e-14, 1e-6))
    with pytest.raises(CalibrationError, match="offer a choice"):
        SeparatorMechanism().calibrate(public(WeightGrid(values=((1,),))))


def test_gaussian_tables_are_sums_of_the_normals_rounded_once():
    from opdisc.noise.lattice import gaussian_vector

    grid = WeightGrid.box(2, 2)
    mechanism = SeparatorMechanism(noise="gaussian")
    spec = mechanism.calibrate(public(grid, delta=1e-6))
    problem = random_table(np.random.default_rng(9), grid)
    perturbed = mechanism.perturb(problem, spec, SeededEntropy(4))
    eta = [float(z) for z in gaussian_vector(8, spec.stddev, SeededEntropy(4))]
    for w in itertools.product(*grid.values):
        exact = float(np.dot(eta, thermometer(grid, w)))
        assert abs(exact - perturbed.perturbation_value(w) * 2**-10) <= 2 * 2**-11 + 1e-9


# --- the classifier ------------------------------------------------------------------------------


def test_the_classifier_learns_and_its_receipts_are_honest():
    X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 400)
    for settings, guarantee in (
        ({}, "CONDITIONAL"),
        ({"route": "rows"}, "CONDITIONAL"),
        ({"noise": "gaussian", "delta": 1e-6}, "CONDITIONAL"),
        ({"noise": "gaussian-published-3.5", "delta": 1e-6}, "VOID"),
        ({"random_state": 0}, "VOID"),
    ):
        clf = RSPMClassifier(epsilon=20.0, **settings).fit(X, X[:, 0])
        assert clf.receipt_.guarantee == guarantee and clf.receipt_.mechanism == "rspm"
        if guarantee == "CONDITIONAL":  # on the table, not on the mechanism
            assert clf.receipt_.conditions == (LABELS_PUBLIC, COLUMNS_UNSEEN)
        assert clf.score(X, X[:, 0]) == 1.0
    refuted = RSPMClassifier(delta=1e-6, noise="gaussian-published-3.5").fit(X, X[:, 0]).receipt_
    assert refuted.calibration == "refuted"


def test_the_weighted_rows_are_a_plain_problem():
    rows = SeparatorMechanism(route="rows")
    grid = WeightGrid.box(2, 1)
    problem = random_table(np.random.default_rng(3), grid)
    perturbed = rows.perturb(problem, rows.calibrate(public(grid)), SeededEntropy(1))
    assert perturbed.perturbation is None and perturbed.n_points == problem.n_points + 4
