"""Mechanisms: exact on the limits, fail closed, honest receipts."""

import itertools
import math

import numpy as np
import pytest

from opdisc.calibration.separators import thermometer_size
from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.mechanisms.base_measure import BaseMeasure
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.objective_perturbation import (
    BlockOneHotMechanism,
    SphereMechanism,
    one_hot_mechanism,
)
from opdisc.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from opdisc.mechanisms.run import run_mechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.planning.blocks import even_blocks
from opdisc.planning.choice import MECHANISMS, build_mechanism, choose_mechanism
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from opdisc.privacy.reasons import Reason
from oracles import (
    Claim,
    Limit,
    SolveOptions,
    Termination,
    WeightGrid,
    ZeroOneProblem,
    get_oracle,
    solve,
)
from oracles.enumeration.listing import all_losses
from oracles.problem.structure import ColumnGroup

GRID = WeightGrid.box(4, 1)
BLOCKS = ((0, 1), (2, 3))


def table(seed: int = 0, grid: WeightGrid = GRID) -> ZeroOneProblem:
    rng = np.random.default_rng(seed)
    points = np.array([(1, *x) for x in itertools.product((0, 1), repeat=grid.n_features - 1)])
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 40, len(points)),
        negatives=rng.integers(0, 40, len(points)),
        grid=grid,
    )


def public(epsilon: float = 1.0, delta: float = 0.0, **changes) -> GridPublic:
    settings = {
        "params": PrivacyParams(epsilon=epsilon, delta=delta),
        "relation": NeighboringRelation.REPLACE_ONE,
        "grid": GRID,
    }
    if "relation" not in changes:
        settings["n_rows"] = 4000  # no table of these tests has more
    return GridPublic(**(settings | changes))


def all_mechanisms(allowance: float = 0.0):
    return [
        PermuteAndFlipMechanism(allowance=allowance),
        BlockOneHotMechanism(blocks=BLOCKS, allowance=allowance),
        one_hot_mechanism(4, allowance=allowance),
        SphereMechanism(allowance=allowance),
        SphereMechanism(noise="gaussian", allowance=allowance),
        SeparatorMechanism(allowance=allowance),
    ]


EVERY = [*all_mechanisms(), ExponentialMechanism()]


def _id(mechanism) -> str:
    return f"{mechanism.name}-{getattr(mechanism, 'noise', '')}"


class SilentOracle:
    """Answers with its best hypothesis but proves nothing."""

    name, integer_arithmetic, requirement = "silent", True, "takes everything"
    gap_in_steps = math.inf

    def supports(self, problem):
        return True

    def solve(self, problem, options):
        claim = get_oracle("enumeration").solve(problem, options)
        return Claim(
            hypothesis=claim.hypothesis,
            objective=claim.objective,
            dual_bound=claim.objective - self.gap_in_steps,
            termination=Termination.FEASIBLE,
            limit=Limit.TIME,
            nodes=None,
        )


class GapOracle(SilentOracle):
    """Proves its answer to within half a row."""

    name = "half-a-row"
    gap_in_steps = 512


class EmptyHandedOracle(SilentOracle):
    name = "empty-handed"

    def solve(self, problem, options):
        return Claim(
            hypothesis=None,
            objective=None,
            dual_bound=-math.inf,
            termination=Termination.NO_HYPOTHESIS,
            limit=Limit.TIME,
            nodes=None,
        )


@pytest.mark.parametrize("mechanism", EVERY, ids=_id)
def test_a_huge_epsilon_gives_the_non_private_optimum(mechanism):
    problem = table()
    best = solve(problem).certificate.primal_bound
    delta = 1e-6 if getattr(mechanism, "noise", "") == "gaussian" else 0.0
    release = run_mechanism(
        mechanism, problem, public(1e6, delta), entropy=SystemEntropy(), oracle="enumeration"
    )
    assert problem.loss(release.hypothesis) == best


@pytest.mark.parametrize("mechanism", all_mechanisms(), ids=_id)
def test_scales_fall_with_epsilon_and_grow_with_the_allowance_and_the_rows_per_unit(mechanism):
    def scales(epsilon, allowance=0.0, **changes):
        chosen = {type(m): m for m in all_mechanisms(allowance) if _id(m) == _id(mechanism)}
        delta = 1e-6 if getattr(mechanism, "noise", "") == "gaussian" else 0.0
        return chosen[type(mechanism)].calibrate(public(epsilon, delta, **changes)).scales

    base = scales(0.5)
    assert all(a > b for a, b in zip(scales(0.1), base, strict=True))
    assert all(a > b for a, b in zip(scales(0.5, allowance=1.0), base, strict=True))
    assert all(a > b for a, b in zip(scales(0.5, rows_per_unit=3), base, strict=True))
    fewer = scales(0.5, relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert all(a < b for a, b in zip(fewer, base, strict=True))


def test_lattice_scales_are_the_formulas_of_the_theory():
    # mu = 2 + g, K blocks: mean K mu / epsilon; separators: m mu / epsilon with m = 8.
    mu = 2 + 2**-10
    assert one_hot_mechanism(4).calibrate(public(0.1)).scales == pytest.approx([4 * mu / 0.1] * 4)
    assert PermuteAndFlipMechanism().calibrate(public(0.1)).scales == pytest.approx([mu / 0.1])
    assert SeparatorMechanism().calibrate(public(0.1)).scales == pytest.approx([8 * mu / 0.1])
    assert ExponentialMechanism().calibrate(public(0.1)).scales == pytest.approx([0.05])


def test_an_allowance_costs_exactly_its_share_of_the_margin():
    paid = PermuteAndFlipMechanism(allowance=0.5).calibrate(public(0.1)).scales[0]
    free = PermuteAndFlipMechanism().calibrate(public(0.1)).scales[0]
    assert paid / free == pytest.approx((2 + 2 * 0.5 + 2**-10) / (2 + 2**-10))


def test_single_valued_coordinates_cost_nothing():
    grid = WeightGrid(values=((1,), (-1, 0, 1), (-1, 0, 1)))
    spec = one_hot_mechanism(3).calibrate(public(1.0, grid=grid))
    assert spec.rates[0] == 0 and spec.scales == pytest.approx([2 * (2 + 2**-10)] * 2)


@pytest.mark.parametrize("mechanism", all_mechanisms(), ids=_id)
@pytest.mark.parametrize("oracle", [SilentOracle(), EmptyHandedOracle(), GapOracle()])
def test_no_certificate_no_release_and_the_budget_stays_spent(mechanism, oracle, tmp_path):
    problem, ledger = table(), Ledger(tmp_path / "ledger")
    delta = 1e-6 if getattr(mechanism, "noise", "") == "gaussian" else 0.0
    with pytest.raises(UncertifiedRelease) as caught:
        run_mechanism(
            mechanism,
            problem,
            public(1.0, delta),
            entropy=SystemEntropy(),
            oracle=oracle,
            ledger=ledger,
        )
    assert len(ledger.spendings()) == 1
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert vars(caught.value) == {} and "nothing is released" in str(caught.value)


def test_a_gap_within_the_allowance_is_released():
    release = run_mechanism(
        one_hot_mechanism(4, allowance=0.5),
        table(),
        public(1.0),
        entropy=SystemEntropy(),
        oracle=GapOracle(),
    )
    assert GRID.contains(release.hypothesis) and release.receipt.allowance == 0.5


def test_noise_is_drawn_once_even_when_the_oracle_fails():
    class CountingEntropy(SystemEntropy):
        words_drawn = 0

        def words(self, count):
            CountingEntropy.words_drawn += count
            return super().words(count)

    def drawn(oracle):
        CountingEntropy.words_drawn = 0
        try:
            run_mechanism(
                one_hot_mechanism(4), table(), public(), entropy=CountingEntropy(), oracle=oracle
            )
        except UncertifiedRelease:
            pass
        return CountingEntropy.words_drawn

    # Refinement draws a few more words now and then; a second draw would double the count.
    assert drawn(SilentOracle()) < 1.5 * drawn("enumeration")


def receipt(mechanism=None, entropy=None, oracle="enumeration", options=None, **changes):
    return run_mechanism(
        mechanism or one_hot_mechanism(4),
        table(),
        public(**changes),
        entropy=entropy or SystemEntropy(),
        oracle=oracle,
        options=options,
        counts_rows=True,
    ).receipt


def test_receipts_say_holds_conditional_or_void_and_why():
    assert (receipt().guarantee, receipt().conditions) == ("HOLDS", ())
    assert receipt(ExponentialMechanism()).guarantee == "HOLDS"
    seeded = receipt(entropy=SeededEntropy(1))
    assert seeded.guarantee == "VOID" and "seed" in seeded.conditions[0]
    refuted = receipt(SphereMechanism(noise="gaussian-published-7"), delta=1e-6)
    assert refuted.guarantee == "VOID" and refuted.calibration == "refuted"
    limited = receipt(options=SolveOptions(time_limit=60))
    assert limited.guarantee == "CONDITIONAL" and "60 s" in limited.conditions[0]
    impostor = type("Impostor", (type(get_oracle("enumeration")),), {})()
    assert impostor.name == "enumeration"
    assert receipt(oracle=impostor).guarantee == "CONDITIONAL"
    assumed = receipt(assumptions=("the labels are public",))
    assert assumed.conditions == ("the labels are public",)
    assert assumed.guarantee == "CONDITIONAL"


def test_a_floating_point_oracle_makes_the_guarantee_conditional():
    found = receipt(oracle="highs")
    assert found.guarantee == "CONDITIONAL"
    assert any("floating-point" in condition for condition in found.conditions)


@pytest.mark.parametrize("mechanism", EVERY, ids=_id)
def test_the_receipt_does_not_depend_on_the_table(mechanism):
    delta = 1e-6 if getattr(mechanism, "noise", "") == "gaussian" else 0.0
    receipts = [
        run_mechanism(mechanism, table(seed), public(1.0, delta), entropy=SystemEntropy()).receipt
        for seed in range(3)
    ]
    assert receipts[0] == receipts[1] == receipts[2]


@pytest.mark.parametrize("mechanism", all_mechanisms(), ids=_id)
def test_perturbing_leaves_the_problem_alone_and_stays_on_the_lattice(mechanism):
    problem = table()
    delta = 1e-6 if getattr(mechanism, "noise", "") == "gaussian" else 0.0
    perturbed = mechanism.perturb(
        problem, mechanism.calibrate(public(1.0, delta)), SeededEntropy(3)
    )
    assert problem.perturbation is None
    assert perturbed.is_exact and perturbed.unit == 2**-10
    assert np.array_equal(perturbed.points, problem.points)


def test_sphere_tables_are_the_inner_product_up_to_half_a_spacing_each():
    # Recompute <eta, psi(w)> from the same random words and compare with the rounded tables.
    from opdisc.noise.lattice import l2_laplace_vector

    grid = WeightGrid.box(3, 1, norm_budget=3)
    mechanism = SphereMechanism()
    spec = mechanism.calibrate(public(1.0, grid=grid))
    problem = table(grid=grid)
    perturbed = mechanism.perturb(problem, spec, SeededEntropy(5))
    eta = [float(z) for z in l2_laplace_vector(4, spec.scale, SeededEntropy(5))]
    for w in itertools.product((-1, 0, 1), repeat=3):
        lifted = [*w, math.sqrt(3 - sum(a * a for a in w))]
        exact = sum(e * a for e, a in zip(eta, lifted, strict=True)) / math.sqrt(3)
        rounded = perturbed.perturbation_value(w) * perturbed.unit
        assert abs(exact - rounded) <= 4 * 0.5 * 2**-10 + 1e-9


def test_separator_tables_count_the_thresholds_passed():
    problem = table(grid=WeightGrid.box(2, 2))
    mechanism = SeparatorMechanism()
    grid = problem.grid
    perturbed = mechanism.perturb(
        problem, mechanism.calibrate(public(1.0, grid=grid)), SeededEntropy(1)
    )
    assert thermometer_size(grid) == 8
    assert all(t[0] == 0 and len(t) == 5 for t in perturbed.perturbation.tables)


def test_the_exponential_mechanism_has_its_law():
    # Chi-square over 27 hypotheses, 2,000 draws from a seeded source (deterministic).
    from scipy import stats

    grid = WeightGrid.box(3, 1)
    problem, inputs = table(grid=grid), public(0.2, grid=grid)
    entropy = SeededEntropy(11)
    mechanism = ExponentialMechanism()
    spec = mechanism.calibrate(inputs)
    draws = [mechanism.draw(problem, spec, entropy) for _ in range(2000)]
    losses = all_losses(problem)
    weights = np.exp(-0.1 * (losses - losses.min()))
    expected = 2000 * weights / weights.sum()
    order = {w: i for i, w in enumerate(itertools.product((-1, 0, 1), repeat=3))}
    observed = np.bincount([order[w] for w in draws], minlength=27)
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-6


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (SphereMechanism(noise="gaussian"), "delta > 0"),
        (SphereMechanism(noise="laplace"), "noise must be one of"),
        (SphereMechanism(radius_squared=3), "squared radius"),
        (BlockOneHotMechanism(blocks=((0, 1), (1, 2, 3))), "exactly once"),
        (BlockOneHotMechanism(blocks=((0, 1, 2),)), "exactly once"),
    ],
)
def test_impossible_calibrations_are_refused(mechanism, words):
    with pytest.raises(CalibrationError, match=words):
        mechanism.calibrate(public())


def test_a_grid_other_than_the_public_one_is_refused_before_anything_is_spent(tmp_path):
    # Noise for two of the coordinates only would leave the third one bare.
    other = WeightGrid(values=((0,), *GRID.values[1:]))
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(CalibrationError, match="public grid"):
        run_mechanism(
            one_hot_mechanism(4),
            table(),
            public(grid=other),
            entropy=SystemEntropy(),
            ledger=ledger,
        )
    assert not ledger.path.exists()


@pytest.mark.parametrize("spacing", [0.3, 4.0, -0.5, 0.0, 2.0**-45, math.nan])
def test_lattices_that_are_no_power_of_two_are_refused(spacing):
    with pytest.raises(CalibrationError, match="spacing must be"):
        public(spacing=spacing)


@pytest.mark.parametrize("allowance", [-1.0, math.nan, math.inf])
@pytest.mark.parametrize("build", [PermuteAndFlipMechanism, SphereMechanism, SeparatorMechanism])
def test_an_allowance_that_would_shrink_the_noise_is_refused(build, allowance):
    with pytest.raises(CalibrationError, match="allowance must be"):
        build(allowance=allowance).calibrate(public())


def test_grids_too_large_to_list_are_refused_before_anything_is_spent(tmp_path):
    mechanism = PermuteAndFlipMechanism()
    large = public(grid=WeightGrid.box(20, 1))
    ledger = Ledger(tmp_path / "ledger")
    problem = ZeroOneProblem(
        points=[[1] * 20], positives=[1], negatives=[1], grid=WeightGrid.box(20, 1)
    )
    with pytest.raises(CalibrationError, match="10,000,000"):
        run_mechanism(mechanism, problem, large, entropy=SystemEntropy(), ledger=ledger)
    assert not ledger.path.exists()


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_name_builds_a_mechanism_that_runs(name):
    mechanism, reason = build_mechanism(name, GRID)
    release = run_mechanism(mechanism, table(), public(), entropy=SystemEntropy(), choice=reason)
    assert GRID.contains(release.hypothesis)
    said = Reason(release.receipt.choice, release.receipt.choice_detail)
    assert said == reason and bool(reason) == (name == "auto")


def test_the_automatic_choice_depends_on_the_size_of_the_grid():
    assert choose_mechanism(WeightGrid.box(8, 1))[0] == "permute_and_flip"
    assert choose_mechanism(WeightGrid.box(38, 1))[0] == "block_one_hot"


def test_blocks_partition_the_coordinates_evenly():
    blocks = even_blocks(WeightGrid.box(38, 1))
    assert [j for block in blocks for j in block] == list(range(38))
    assert {len(block) for block in blocks} <= {4, 5} and len(blocks) == 8
    mixed = WeightGrid(values=((0, 1),) * 3 + ((-2, -1, 0, 1, 2),) * 4)
    assert all(math.prod(mixed.shape[j] for j in b) <= 243 for b in even_blocks(mixed))


def wide_problem(seed: int = 0) -> tuple[ZeroOneProblem, tuple[ColumnGroup, ...]]:
    """Sixteen coordinates (3^16 hypotheses): three one-hot attributes of five, and intercept."""
    rng = np.random.default_rng(seed)
    points = np.zeros((60, 16), dtype=np.int64)
    points[:, 0] = 1
    groups = tuple(
        ColumnGroup(columns=tuple(range(1 + 5 * k, 6 + 5 * k)), kind="exclusive") for k in range(3)
    )
    for group in groups:
        points[np.arange(60), rng.choice(group.columns, 60)] = 1
    problem = ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 30, 60),
        negatives=rng.integers(0, 30, 60),
        grid=WeightGrid.box(16, 1),
    )
    return problem, groups


def test_a_hand_over_to_a_complete_oracle_is_not_conditional_on_the_limit():
    limit = SolveOptions(time_limit=60)
    exact = receipt(oracle="enumeration then enumeration", options=limit)
    assert (exact.guarantee, exact.oracle) == ("HOLDS", "enumeration then enumeration")
    floating = receipt(oracle="highs then enumeration", options=limit)
    assert floating.guarantee == "CONDITIONAL"
    assert all("within" not in condition for condition in floating.conditions)
    limited = receipt(oracle=get_oracle("branch-and-bound", node_limit=10**9))
    assert limited.guarantee == "CONDITIONAL" and "certifies" in limited.conditions[0]
    incomplete = receipt(oracle="enumeration then highs", options=limit)
    assert any("certifies" in condition for condition in incomplete.conditions)


def test_a_ledger_refuses_a_second_relation_before_anything_is_drawn(tmp_path):
    ledger = Ledger(tmp_path / "ledger")

    def spend(relation):
        inputs = public(relation=relation)
        run_mechanism(
            one_hot_mechanism(4), table(), inputs, entropy=SystemEntropy(), ledger=ledger
        )

    spend(NeighboringRelation.REPLACE_ONE)
    with pytest.raises(ValueError, match="this ledger uses .*: pass --relation"):
        spend(NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert len(ledger.spendings()) == 1


def test_the_exponential_mechanism_refuses_grids_that_cannot_be_listed(tmp_path):
    large, ledger = WeightGrid.box(16, 1), Ledger(tmp_path / "ledger")
    assert choose_mechanism(large)[0] == "block_one_hot"
    problem = ZeroOneProblem(
        points=np.ones((1, 16), dtype=int), positives=[3], negatives=[1], grid=large
    )
    for measure in (BaseMeasure(), BaseMeasure(penalty=1.0), BaseMeasure(by_levels=True)):
        with pytest.raises(CalibrationError, match="at most 10,000,000 .* mechanism='staged'"):
            run_mechanism(
                ExponentialMechanism(base_measure=measure),
                problem,
                public(grid=large),
                entropy=SystemEntropy(),
                ledger=ledger,
            )
    assert not ledger.path.exists()
