"""OPSamp: calibration against exact laws and naive formulas, stability on random instances."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from opsamp_utility import simulated_error
from scipy import stats

from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.mechanisms.opsamp.calibration import (
    chernoff_draws,
    proven_stability,
    published_stability,
    tilt_lattice,
)
from opdisc.mechanisms.opsamp.mechanism import OPSampMechanism
from opdisc.mechanisms.opsamp.minimisers import DrawOptions, solve_chunk
from opdisc.mechanisms.opsamp.parameter_space import lifted_space, search_space
from opdisc.mechanisms.opsamp.run import _noisy, _rehearse, draw_tilts, run_opsamp, tilted_problem
from opdisc.noise.lattice import discrete_laplace
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import PublicInputs
from opdisc.privacy.receipts.real_receipts import OPSampReceipt
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import HingeLoss, LogisticLoss, RampLoss
from oracles.convex.constants import RowBounds
from oracles.convex.duality import RealClaim
from oracles.convex.polytopes import Box, Simplex
from oracles.convex.regression_losses import AbsoluteLoss, SquaredLoss
from oracles.convex.solve import RealOptions, get_real_oracle, resolve_real_oracle
from oracles.errors import OracleUnavailable, UnsupportedProblem

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def public_of(epsilon=1.0, delta=1e-5, relation=REPLACE, n=200, **changes):
    return PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=relation,
        public_row_guess=n,
        n_rows=n if relation is REPLACE else None,
        **changes,
    )


def mechanism_of(domain, loss=None, **changes):
    bounds = RowBounds(l2=math.sqrt(domain.dimension), linf=1.0)
    settings = {"most_draws": 400} | changes
    return OPSampMechanism(loss=loss or HingeLoss(), domain=domain, bounds=bounds, **settings)


def table_of(seed, n=200, d=2):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (n, d)).astype(float)
    rows[:, 0] = 1.0
    return rows, np.where(rows[:, -1] + 0.3 * rng.normal(size=n) > 0.5, 1.0, -1.0)


# --- stability -----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize("rate", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("allowance", [0.0, 1e-3])
def test_the_proven_bound_is_at_most_its_closed_form_and_below_the_published(d, rate, allowance):
    domain, lipschitz = Box.cube(d, 1.5), 0.7
    space, total = search_space(domain), 3.0 * d
    replace_one = proven_stability(space, difference=2 * lipschitz, rate=rate, allowance=allowance)
    closed = 2 * total * -math.expm1(-4 * rate * lipschitz * d) + 1.5 * allowance / lipschitz
    assert replace_one <= min(closed, total) * (1 + 1e-5)
    add_one = proven_stability(space, difference=lipschitz, rate=rate, allowance=allowance)
    closed = 2 * total * -math.expm1(-2 * rate * lipschitz * d) + 3 * allowance / lipschitz
    assert add_one <= min(closed, total) * (1 + 1e-5)
    published = published_stability(
        dimension=d, width=3.0, lipschitz=lipschitz, rate=rate, allowance=0.0
    )
    exact = proven_stability(space, difference=2 * lipschitz, rate=rate, allowance=0.0)
    assert published >= 31 * exact * (1 - 1e-5)


@pytest.mark.parametrize("d", [1, 4, 20])
@pytest.mark.parametrize("rate", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("allowance", [0.0, 1e-4, 0.1, 10.0, 1000.0])
def test_the_published_bound_is_implied_at_every_allowance(d, rate, allowance):
    """At the shift c = 60 d G the proven bound has both terms below the published ones."""
    domain = Box.cube(d, 1.0)
    proven = proven_stability(search_space(domain), difference=2.0, rate=rate, allowance=allowance)
    published = published_stability(
        dimension=d, width=2.0, lipschitz=1.0, rate=rate, allowance=allowance
    )
    assert proven <= published
    spec = mechanism_of(
        domain,
        stability="published",
        tilt_rate=rate,
        allowance=allowance or None,
        most_draws=10**9,
    ).calibrate(public_of())
    assert spec.status.value == "proven"


def test_tilts_live_on_a_lattice_that_contains_every_shift():
    from opdisc.mechanisms.opsamp.calibration import _shifts

    for domain in (Box.cube(3, 1.0), L1Ball(dimension=5, radius=2.0)):
        for difference, rate in ((0.3, 1e-3), (2.0, 0.5), (7.1, 10.0)):
            space = search_space(domain)
            exponential, uniform = (
                tilt_lattice(space, difference=difference, rate=rate, tilts=law)
                for law in ("exponential", "uniform")
            )
            step = Fraction(exponential.spacing)
            shifts = _shifts(space.dimension, difference)
            assert all((Fraction(shift) / step).denominator == 1 for shift in shifts)
            assert step <= Fraction(exponential.scale) / 2**16
            assert Fraction(uniform.spacing) * 2**24 == Fraction(uniform.scale)


def _random_case(rng):
    d = int(rng.integers(1, 4))
    domain = [
        Box.cube(d, 1.0),
        L1Ball(dimension=d, radius=1.5),
        Simplex(dimension=d + 1),
        Box(-np.ones(d), 2 * np.ones(d)),
    ][rng.integers(4)]
    d, n = domain.dimension, int(rng.integers(1, 9))
    classify = bool(rng.integers(2))
    rows = rng.choice([-1.0, 0.0, 1.0], (n, d))
    targets = rng.choice([-1.0, 1.0], n) if classify else rng.uniform(-1, 1, n)
    other_rows, other_targets = rows.copy(), targets.copy()
    other_rows[0] = rng.choice([-1.0, 1.0]) * rows[0]
    other_targets[0] = -targets[0]
    if rng.integers(3) == 0:
        other_rows[0] = rng.choice([-1.0, 0.0, 1.0], d)
    return domain, classify, (rows, targets), (other_rows, other_targets)


def _measured_ratio(rng, tilts=64):
    """Mean l1 distance of coupled exact minimisers over the proven bound, one random instance.

    Rates are such that the bound is mostly below the trivial one, the diameter; the tilts are
    stratified in each coordinate, which takes most of the noise out of the mean.
    """
    domain, classify, table, neighbour = _random_case(rng)
    loss = HingeLoss() if classify else AbsoluteLoss()
    rate = float(rng.uniform(0.02, 0.2)) / domain.dimension
    lift = bool(rng.integers(2)) if isinstance(domain, L1Ball) else None
    law = ("exponential", "uniform")[rng.integers(2)]
    mechanism = mechanism_of(domain, loss, tilt_rate=rate, tilts=law, lift=lift, most_draws=10**9)
    spec = mechanism.calibrate(public_of(n=len(table[0]), delta=1e-3))
    ranks = rng.permuted(np.tile(np.arange(tilts), (spec.space.dimension, 1)), axis=1).T
    strata = (ranks + rng.random(ranks.shape)) / tilts
    draws = (2 * strata - 1 if law == "uniform" else stats.expon.ppf(strata) - 1) / rate
    found = [
        solve_chunk(
            tilted_problem(mechanism, *which, lifted=spec.space.lifted),
            draws,
            "lp-highs",
            RealOptions(absolute_gap=max(spec.allowance, 1e-7)),
        )
        for which in (table, neighbour)
    ]
    distance = np.abs(found[0] - found[1]).sum(axis=1).mean() * spec.space.stretch
    capped = spec.stability >= 0.999 * spec.space.stretch * spec.space.diameter
    return float(distance / spec.stability), capped


@pytest.mark.parametrize(
    ("seed", "instances"),
    [
        (5, 50),
        *(
            pytest.param(seed, 100, marks=[pytest.mark.slow, pytest.mark.long])
            for seed in range(3)
        ),
    ],
)
def test_neighbours_minimisers_are_closer_than_proven_on_random_instances(seed, instances, capsys):
    rng = np.random.default_rng(seed)
    found = [_measured_ratio(rng) for _ in range(instances)]
    ratios = np.array([ratio for ratio, _ in found])
    below = np.array([ratio for ratio, capped in found if not capped])
    with capsys.disabled():
        print(
            f"\n[OPSamp] measured / proven stability, {instances} instances: "
            f"largest {ratios.max():.3f}, mean {ratios.mean():.3f}; "
            f"{len(below)} of them with a bound below the diameter: "
            f"largest {below.max():.3f}, mean {below.mean():.3f}"
        )
    assert ratios.max() <= 1.0
    assert len(below) > instances * 2 / 3
    assert below.max() > 0.1  # the instances do move: the test is not vacuous


def test_uniform_tilts_halve_the_stability_of_a_box_for_less_pull():
    space, settings = search_space(Box.cube(4, 1.0)), {"difference": 2.0, "rate": 1e-6}
    exponential = proven_stability(space, allowance=0.0, **settings)
    uniform = proven_stability(space, allowance=0.0, tilts="uniform", **settings)
    assert uniform == pytest.approx(exponential / 2, rel=1e-3)
    assert space.mean_tilts[1] < space.mean_tilts[0]


@pytest.mark.statistical
@pytest.mark.parametrize("law", ["exponential", "uniform"])
def test_tilts_follow_their_law(law):
    """Kolmogorov-Smirnov at false-alarm probability 1e-6; a doubled scale must be caught."""
    mechanism = mechanism_of(Box.cube(2, 1.0), tilts=law, tilt_rate=1e-3, most_draws=10**6)
    spec = mechanism.calibrate(public_of(epsilon=0.1))
    drawn = draw_tilts(spec, SystemEntropy())[:3000].ravel()
    exact = stats.expon(-1000, 1000) if law == "exponential" else stats.uniform(-1000, 2000)
    assert stats.kstest(drawn, exact.cdf).pvalue > 1e-6
    assert stats.kstest(2 * drawn, exact.cdf).pvalue < 1e-6
    bound = spec.space.mean_tilts[law == "uniform"] * 1000
    assert np.abs(drawn).reshape(-1, 2).sum(axis=1).mean() <= 1.1 * bound


def test_one_dimension_attains_a_quarter_of_the_bound():
    """W = [-1, 1], one row, whose loss is G w on one table and -G w on the other."""
    lipschitz, rate = 1.0, 1e-3
    moved = 2.0 * -math.expm1(-2 * lipschitz * rate)  # tilts in an interval of length 2 G decide
    bound = proven_stability(
        search_space(Box.cube(1, 1.0)), difference=2 * lipschitz, rate=rate, allowance=0.0
    )
    assert 0.24 <= moved / bound <= 0.26


def test_the_ball_loses_a_factor_d_to_its_simplex():
    for d in (4, 16, 64):
        ball = L1Ball(dimension=d, radius=1.0)
        plain = proven_stability(search_space(ball), difference=2.0, rate=1e-6, allowance=0.0)
        lifted = proven_stability(lifted_space(ball), difference=2.0, rate=1e-6, allowance=0.0)
        # T = 2 d and A = d + 1 coordinates' worth against 1, over twice as many coordinates.
        assert lifted / plain == pytest.approx(2 / (d + 1), rel=0.05)


# --- draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.5, 0.2, 0.01, 1e-3])
@pytest.mark.parametrize("inflation", [1.25, 2.0])
@pytest.mark.parametrize("delta", [0.05, 1e-5])
def test_enough_draws_for_the_worst_law_exactly(share, inflation, delta):
    """Bernoulli variables have the largest tails; their binomial tail is computed exactly."""
    draws = chernoff_draws(share, inflation, delta)
    failure = stats.binom.sf(math.floor(draws * inflation * share), draws, share)
    assert (failure if inflation * share < 1 else 0.0) <= delta
    if inflation == 2.0 and 2 * share < 1:
        assert draws <= math.ceil(3 / share * math.log(1 / delta))


def test_fewer_draws_are_not_enough_somewhere():
    """A tenth of the draws must fail the exact test above, or the test proves nothing."""
    draws = chernoff_draws(0.01, 2.0, 1e-5) // 10
    assert stats.binom.sf(math.floor(draws * 0.02), draws, 0.01) > 1e-5


def test_a_delta_is_needed():
    with pytest.raises(CalibrationError, match="OPSamp needs delta > 0"):
        mechanism_of(Box.cube(2, 1.0)).calibrate(public_of(delta=0.0, n=10_000))


# --- release noise -------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [Box.cube(3, 1.0), L1Ball(dimension=4, radius=2.0)])
def test_rounded_neighbours_are_covered_exactly(domain):
    """For averages as far apart as the spec covers, the log ratio of any output is <= epsilon."""
    spec = mechanism_of(domain).calibrate(public_of(epsilon=0.7))
    rng = np.random.default_rng(0)
    for _ in range(200):
        average = rng.normal(size=domain.dimension)
        move = rng.laplace(size=domain.dimension)
        other = average + move * (spec.l1_sensitivity / np.abs(move).sum() * (1 - 1e-12))
        steps = [[round(v / spec.spacing) for v in vector.tolist()] for vector in (average, other)]
        distance = sum(abs(a - b) for a, b in zip(*steps, strict=True))
        assert distance * spec.release_decay <= Fraction(0.7)


def test_noise_grows_as_it_must():
    base = mechanism_of(Box.cube(2, 1.0), tilt_rate=1e-2)
    spec = base.calibrate(public_of())
    more = base.calibrate(public_of(rows_per_unit=2))
    assert more.stability > 1.5 * spec.stability
    assert base.calibrate(public_of(relation=ADD)).stability < 0.6 * spec.stability
    assert base.calibrate(public_of(epsilon=0.5)).scales[1] > 1.9 * spec.scales[1]
    allowed = dataclasses.replace(base, allowance=10 * spec.allowance)
    assert allowed.calibrate(public_of()).stability > 1.1 * spec.stability
    wide = dataclasses.replace(base, domain=Box.cube(2, 2.0))
    assert wide.calibrate(public_of()).l1_sensitivity > 1.9 * spec.l1_sensitivity


def test_eta_minimises_the_predicted_error():
    mechanism = mechanism_of(Box.cube(2, 1.0), most_draws=10**6)
    best = mechanism.calibrate(public_of(n=5000))
    for factor in (0.25, 0.5, 2.0, 4.0):
        other = dataclasses.replace(mechanism, tilt_rate=factor / best.scales[0])
        assert other.calibrate(public_of(n=5000)).expected_error >= best.expected_error


# --- runs ----------------------------------------------------------------------------------------

DOMAINS = [
    Box.cube(2, 1.0),
    L1Ball(dimension=2, radius=2.0),
    L2Ball(dimension=2, radius=1.0),
    Simplex(dimension=2),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize("loss", [HingeLoss(), LogisticLoss(), AbsoluteLoss(), SquaredLoss()])
def test_releases_lie_in_the_domain(domain, loss):
    mechanism = mechanism_of(domain, loss, most_draws=60)
    release = run_opsamp(
        mechanism, *table_of(0, 60), public_of(epsilon=5.0, n=60), entropy=SystemEntropy()
    )
    assert domain.contains(release.parameters)
    assert release.receipt.guarantee == "CONDITIONAL"
    assert not release.parameters.flags.writeable


def test_plenty_of_budget_finds_the_minimum():
    domain = Box.cube(2, 1.0)
    rows, labels = table_of(1, 200)
    mechanism = mechanism_of(domain, tilt_rate=5.0, most_draws=10**6, inflation=1000.0)
    release = run_opsamp(mechanism, rows, labels, public_of(epsilon=1e6), entropy=SeededEntropy(0))
    problem = tilted_problem(mechanism, rows, labels)
    least = min(
        problem.loss_at(np.array([a, b]))
        for a in np.linspace(-1, 1, 81)
        for b in np.linspace(-1, 1, 81)
    )
    assert problem.loss_at(release.parameters) <= least + 3.0


def test_the_ramp_loss_runs_with_a_proven_gap():
    mechanism = mechanism_of(
        Box.cube(1, 1.0), RampLoss(), allowance_share=1.0, most_draws=100, tilt_rate=0.05
    )
    rows, labels = table_of(2, 40, 1)
    release = run_opsamp(mechanism, rows, labels, public_of(n=40), entropy=SystemEntropy())
    assert release.receipt.oracle == "global"
    assert "reaches the certified gap" in release.receipt.conditions[0]
    with pytest.raises(CalibrationError, match="convex losses only"):
        simulated_error(mechanism, mechanism.calibrate(public_of(n=40)), 40)


def test_workers_change_nothing_and_progress_is_told():
    mechanism, table = mechanism_of(L1Ball(dimension=2, radius=2.0)), table_of(3)
    told = []
    releases = [
        run_opsamp(
            mechanism, *table, public_of(), entropy=SeededEntropy(7), options=DrawOptions(**how)
        ).parameters
        for how in (
            {},
            {"backend": "loky", "n_jobs": 2, "progress": lambda *seen: told.append(seen)},
            {"backend": "threading", "n_jobs": 2},
        )
    ]
    np.testing.assert_array_equal(releases[0], releases[1])
    np.testing.assert_array_equal(releases[0], releases[2])
    total = mechanism.calibrate(public_of()).draws
    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


@pytest.mark.slow
@pytest.mark.extras("distributed")
def test_dask_workers_change_nothing():
    import distributed

    mechanism, table = mechanism_of(Box.cube(2, 1.0)), table_of(3)
    here = run_opsamp(mechanism, *table, public_of(), entropy=SeededEntropy(7))
    with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None):
        there = run_opsamp(
            mechanism,
            *table,
            public_of(),
            entropy=SeededEntropy(7),
            options=DrawOptions(backend="dask", n_jobs=1),
        )
    np.testing.assert_array_equal(here.parameters, there.parameters)


@pytest.mark.slow
@pytest.mark.extras("ray")
def test_ray_workers_change_nothing():
    import ray

    mechanism, table = mechanism_of(Box.cube(2, 1.0)), table_of(3)
    here = run_opsamp(mechanism, *table, public_of(), entropy=SeededEntropy(7))
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        there = run_opsamp(
            mechanism,
            *table,
            public_of(),
            entropy=SeededEntropy(7),
            options=DrawOptions(backend="ray", n_jobs=1),
        )
    finally:
        ray.shutdown()
    np.testing.assert_array_equal(here.parameters, there.parameters)


# --- failing closed ------------------------------------------------------------------------------


def is_toy(problem):
    """Whether these are the two rows that an oracle is tried on before the spend."""
    return len(problem.targets) == 2


class SloppyOracle:
    """Positive control: answers the centre whatever a table is asked about."""

    name = "sloppy"
    proves_partitions = False
    requirement = "takes anything"
    calls = 0

    def supports(self, problem):
        return True

    def session(self, problem, options):
        if is_toy(problem):
            return get_real_oracle("lp-highs").session(problem, options)
        low, high = problem.domain.lower, problem.domain.upper

        def answer(tilt):
            SloppyOracle.calls += 1
            point = problem.domain.nearest_inside((low + high) / 2)
            return RealClaim(point=point, multipliers=None, lower_bound=math.inf)

        return answer


class RaisingOracle(SloppyOracle):
    """Positive control: tells what it saw."""

    name = "raising"

    def session(self, problem, options):
        if is_toy(problem):
            return get_real_oracle("lp-highs").session(problem, options)

        def answer(tilt):
            raise RuntimeError(f"objective {problem.objective(tilt)}")

        return answer


@pytest.mark.parametrize("oracle", [SloppyOracle(), RaisingOracle()])
def test_without_certificates_nothing_is_released_and_the_budget_is_spent(oracle, tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with pytest.raises(UncertifiedRelease, match="nothing is released") as refusal:
        run_opsamp(
            mechanism_of(Box.cube(2, 1.0)),
            *table_of(4),
            public_of(),
            entropy=SystemEntropy(),
            oracle=oracle,
            ledger=ledger,
        )
    assert refusal.value.__cause__ is None and refusal.value.__context__ is None
    assert "objective" not in str(refusal.value)
    assert ledger.total() == (1.0, pytest.approx(1e-5))


def test_one_bad_minimisation_stops_no_other():
    """Stopping early would tell which tilt failed."""
    mechanism = mechanism_of(Box.cube(2, 1.0))
    problem = tilted_problem(mechanism, *table_of(4))
    SloppyOracle.calls = 0
    assert solve_chunk(problem, np.ones((9, 2)), SloppyOracle(), RealOptions()) is None
    assert SloppyOracle.calls == 9


def test_unsupported_problems_are_refused_before_anything_is_spent(tmp_path):
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with pytest.raises(UnsupportedProblem, match="hinge and absolute"):
        run_opsamp(
            mechanism_of(Box.cube(2, 1.0), LogisticLoss()),
            *table_of(4),
            public_of(),
            entropy=SystemEntropy(),
            oracle="lp-highs",
            ledger=ledger,
        )
    assert ledger.total() == (0.0, 0.0)


def test_rows_outside_the_bounds_are_refused_without_a_value():
    rows, labels = table_of(4)
    rows[7, 1] = 123.25
    with pytest.raises(CalibrationError, match="within the public bounds") as refusal:
        tilted_problem(mechanism_of(Box.cube(2, 1.0)), rows, labels)
    assert "123" not in str(refusal.value)


# --- receipts ------------------------------------------------------------------------------------


def test_receipts_say_what_was_promised_and_survive_json():
    mechanism = mechanism_of(L1Ball(dimension=2, radius=2.0))
    run = {"X": table_of(5)[0], "y": table_of(5)[1], "public": public_of()}
    receipt = run_opsamp(mechanism, **run, entropy=SystemEntropy()).receipt
    assert OPSampReceipt.from_dict(receipt.to_dict()) == receipt
    text = str(receipt)
    for part in (
        "CONDITIONAL",
        "hinge, on L1Ball",
        "l1",
        "lp-highs",
        "[proven]",
        "200 (public under replace-one)",
    ):
        assert part in text
    assert run_opsamp(mechanism, **run, entropy=SeededEntropy(0)).receipt.guarantee == "VOID"


def test_receipts_do_not_depend_on_the_table():
    mechanism = mechanism_of(Box.cube(2, 1.0))
    receipts = [
        run_opsamp(mechanism, *table_of(seed), public_of(), entropy=SystemEntropy()).receipt
        for seed in (1, 2)
    ]
    assert receipts[0] == receipts[1]


def test_a_third_party_search_is_a_condition():
    class Mine(type(get_real_oracle("global"))):
        name = "mine"

    mechanism = mechanism_of(Box.cube(1, 1.0), allowance_share=1.0, tilt_rate=0.1)
    rows, labels = table_of(2, 20, 1)
    receipt = run_opsamp(
        mechanism, rows, labels, public_of(n=20), entropy=SystemEntropy(), oracle=Mine()
    ).receipt
    assert any("third-party oracle 'mine'" in condition for condition in receipt.conditions)


def test_contradictory_settings_are_refused():
    with pytest.raises(CalibrationError, match="a single point"):
        mechanism_of(Box([1.0], [1.0]))
    with pytest.raises(CalibrationError, match="for exponential tilts"):
        mechanism_of(Box.cube(1, 1.0), stability="published", tilts="uniform")
    with pytest.raises(CalibrationError, match="keep project=True"):
        mechanism_of(Box.cube(1, 1.0), SquaredLoss(), project=False)
    with pytest.raises(CalibrationError, match="l1 ball only"):
        mechanism_of(Box.cube(2, 1.0), lift=True)
    with pytest.raises(CalibrationError, match="inflation must be > 1"):
        mechanism_of(Box.cube(2, 1.0), inflation=1.0).calibrate(public_of())
    with pytest.raises(CalibrationError, match="raise most_draws"):
        mechanism_of(Box.cube(2, 1.0), tilt_rate=1e-5, most_draws=10).calibrate(public_of())
    with pytest.raises(CalibrationError, match="public under replace_one only"):
        PublicInputs(
            params=PrivacyParams(epsilon=1.0, delta=1e-5),
            relation=ADD,
            public_row_guess=10,
            n_rows=10,
        )


# --- utility -------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("domain", DOMAINS[:2], ids=lambda d: type(d).__name__)
def test_realised_error_stays_below_the_simulated_quantile(domain):
    """40 runs against a 95% bound: 9 or more excesses have probability 7e-5 at exactly 95%."""
    mechanism = mechanism_of(domain, most_draws=300)
    rows, labels = table_of(6, 300)
    public = public_of(epsilon=2.0, n=300)
    spec = mechanism.calibrate(public)
    bound = simulated_error(mechanism, spec, 300)
    problem = tilted_problem(mechanism, rows, labels)
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 161)] * 2), axis=-1).reshape(-1, 2)
    least = min(problem.loss_at(w) for w in grid if domain.contains(w))
    errors = [
        problem.loss_at(
            run_opsamp(mechanism, rows, labels, public, entropy=SystemEntropy()).parameters
        )
        - least
        for _ in range(40)
    ]
    assert sum(error > bound for error in errors) < 9
    assert np.mean(errors) <= spec.expected_error


# --- audit ---------------------------------------------------------------------------------------


def _releases(mechanism, spec, target, runs, weaker=1):
    """Releases for one row with that target, minimisers in closed form: |w - y| - sigma w."""
    tilts = draw_tilts(dataclasses.replace(spec, draws=spec.draws * runs), SystemEntropy())
    points = np.where(np.abs(tilts) > 1.0, np.sign(tilts), target).reshape(runs, spec.draws, 1)
    noise = discrete_laplace(spec.release_decay * weaker, runs, SystemEntropy())
    pairs = zip(points, noise, strict=True)
    return np.array([_noisy(mechanism, spec, p, np.array([z]))[0] for p, z in pairs])


@pytest.mark.statistical
@pytest.mark.parametrize("law", ["exponential", "uniform"])
def test_an_audit_finds_no_more_than_was_claimed_and_catches_too_little_noise(law):
    """One row at -1 or +1, the worst pair of a median; Clopper-Pearson at 1e-6 for each side."""
    mechanism = mechanism_of(Box.cube(1, 1.0), AbsoluteLoss(), tilts=law, project=False)
    public = public_of(epsilon=1.0, delta=1e-3, n=20)
    spec, runs = mechanism.calibrate(public), 4000

    def lower_bound(weaker):
        low, high = (_releases(mechanism, spec, t, runs, weaker) for t in (-1.0, 1.0))
        found = 0.0
        for threshold in np.linspace(-1.5, 1.5, 31):
            more, less = (high > threshold).sum(), (low > threshold).sum()
            above = stats.beta.ppf(1e-6, more, runs - more + 1) if more else 0.0
            below = stats.beta.isf(1e-6, less + 1, runs - less) if less < runs else 1.0
            found = max(found, math.log(max(above - 1e-3, 1e-300) / below))
        return found

    problem = tilted_problem(mechanism, np.ones((1, 1)), np.array([-1.0]))
    tilts = np.array([[-3.0], [0.3], [2.0]])
    found = solve_chunk(problem, tilts, "lp-highs", RealOptions())
    np.testing.assert_allclose(found.ravel(), [-1.0, -1.0, 1.0], atol=1e-9)
    assert lower_bound(1) <= 1.0
    assert lower_bound(50) > 1.0


# --- rehearsal -----------------------------------------------------------------------------------


class BrokenOracle:
    """An oracle whose installation is broken, or whose answers are never certified."""

    name = "broken"
    proves_partitions = False
    requirement = "takes everything"

    def __init__(self, answer=None):
        self.answer = answer

    def supports(self, problem):
        return True

    def session(self, problem, options):
        if self.answer is None:
            raise OSError("libsolver.so is missing")
        return lambda tilt: RealClaim(point=np.full(problem.dimension, self.answer))


@pytest.mark.parametrize("oracle", [BrokenOracle(), BrokenOracle(0.5)], ids=["raises", "wrong"])
@pytest.mark.parametrize("loss", [HingeLoss(), LogisticLoss()])
def test_an_oracle_that_fails_on_a_toy_costs_nothing(oracle, loss, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(OracleUnavailable, match="oracle 'broken' must work on a public toy"):
        run_opsamp(
            mechanism_of(Box.cube(2, 1.0), loss, most_draws=50),
            *table_of(1),
            public_of(epsilon=20.0),
            entropy=SystemEntropy(),
            oracle=oracle,
            ledger=ledger,
        )
    assert not ledger.path.exists()


def test_workers_that_cannot_start_cost_nothing(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(OracleUnavailable, match="before anything is spent"):
        run_opsamp(
            mechanism_of(Box.cube(2, 1.0), most_draws=50),
            *table_of(1),
            public_of(epsilon=20.0),
            entropy=SystemEntropy(),
            options=DrawOptions(backend="no such backend", n_jobs=2),
            ledger=ledger,
        )
    assert not ledger.path.exists()


@pytest.mark.parametrize("loss", [HingeLoss(), LogisticLoss(), AbsoluteLoss(), RampLoss()])
@pytest.mark.parametrize(
    "domain",
    [Box.cube(3, 1.0), L1Ball(dimension=3, radius=2.0), L2Ball(dimension=3, radius=2.0)],
    ids=lambda domain: type(domain).__name__,
)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
def test_a_sound_oracle_passes_its_rehearsal(loss, domain, epsilon):
    mechanism = mechanism_of(domain, loss, most_draws=10**6)
    spec = mechanism.calibrate(public_of(epsilon=epsilon))
    X, y = table_of(2, d=3)
    problem = tilted_problem(mechanism, X, y, lifted=spec.space.lifted)
    chosen = resolve_real_oracle("auto", problem)
    _rehearse(problem, spec, chosen, "auto", DrawOptions())
