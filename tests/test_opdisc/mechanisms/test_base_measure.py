"""Public base measures of the exponential mechanism: privacy, utility, receipts, command line."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from opdisc import PrivateScorecardClassifier
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data import COLUMNS_UNSEEN, LABELS_PUBLIC
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base_measure import BaseMeasure
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.general.loss_table import run_on_table
from opdisc.mechanisms.run import run_mechanism
from opdisc.planning.choice import MechanismSettings, build_mechanism
from opdisc.planning.plan import plan_fit
from opdisc.planning.utility import predict_error
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem
from oracles.problem.table import TabularProblem

SPARSE = BaseMeasure(penalty=0.75)


def public(grid, epsilon=1.0, n_rows=500):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=n_rows,
    )


def measure_of(weights, grid):
    """Normalised measure by brute force, box order."""
    mu = np.exp(-weights.on(grid).all_penalties())
    return mu / mu.sum()


# --- what it is ----------------------------------------------------------------------------------


def test_names_and_tables_become_measures():
    assert BaseMeasure.parse("uniform").is_uniform
    assert BaseMeasure.parse("sparse") == BaseMeasure(penalty=1.0)
    assert BaseMeasure.parse("sparse:0.75") == SPARSE == BaseMeasure.parse(SPARSE)
    assert BaseMeasure.parse("sparse:0").is_uniform
    grid = WeightGrid.box(2, 1)
    assert measure_of(SPARSE, grid) == pytest.approx(
        [math.exp(-0.75 * k) / (1 + 2 * math.exp(-0.75)) ** 2 for k in (2, 1, 2, 1, 0, 1, 2, 1, 2)]
    )
    given_tables = BaseMeasure(log_weights=((0.0, 1.0, 2.0), (5.0, 5.0, 5.0)))
    assert measure_of(given_tables, grid)[3] / measure_of(given_tables, grid)[0] == pytest.approx(
        math.e
    )


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: BaseMeasure.parse("dense"), "must be 'uniform', 'sparse'"),
        (lambda: BaseMeasure.parse("sparse:much"), "must be 'uniform', 'sparse'"),
        (lambda: BaseMeasure.parse("sparse:nan"), "must be 'uniform', 'sparse'"),
        (lambda: BaseMeasure(penalty=math.nan), "must be numbers"),
        (lambda: BaseMeasure.parse(3), "must be 'uniform', 'sparse'"),
        (lambda: BaseMeasure(log_weights=((0.0, math.inf),)), "must be numbers"),
        (lambda: BaseMeasure(log_weights=(1.0, 2.0)), "one list of numbers per weight"),
        (lambda: BaseMeasure(penalty=1, log_weights=((0.0,),)), "not both"),
        (
            lambda: BaseMeasure(log_weights=((0.0, 1.0),)).on(WeightGrid.box(2, 1)),
            r"got \[2\] for \[3, 3\]",
        ),
    ],
)
def test_what_is_no_measure_is_refused_in_one_sentence(build, words):
    with pytest.raises(CalibrationError, match=words):
        build()


# --- privacy and utility -------------------------------------------------------------------------


@given(data=st.data(), epsilon=st.sampled_from([0.1, 1.0, 4.0]))
def test_any_measure_keeps_pure_differential_privacy(data, epsilon):
    # Exact output probabilities on random neighbouring losses: no ratio above exp(epsilon).
    n = data.draw(st.integers(2, 8))
    number = st.floats(-5, 5)
    table = tuple(data.draw(number) for _ in range(n))
    grid = WeightGrid(values=(tuple(range(n)),))
    mechanism = ExponentialMechanism(base_measure=BaseMeasure(log_weights=(table,)))
    beta = float(mechanism.calibrate(public(grid, epsilon)).beta)
    losses = np.array([data.draw(st.integers(0, 20)) for _ in range(n)])
    moves = np.array([data.draw(st.integers(-1, 1)) for _ in range(n)])
    logs = [np.array(table) - beta * found for found in (losses, losses + moves)]
    first, second = (z - np.logaddexp.reduce(z) for z in logs)
    assert np.abs(first - second).max() <= epsilon * (1 + 1e-9)


@given(data=st.data())
def test_the_predicted_error_holds_for_every_table_and_every_measure(data):
    # Exact: mean and tail of the excess loss under the weighted law, best hypothesis anywhere.
    n = data.draw(st.integers(2, 8))
    table = tuple(data.draw(st.floats(-4, 4)) for _ in range(n))
    losses = np.array([data.draw(st.integers(0, 40)) for _ in range(n)])
    grid = WeightGrid(values=(tuple(range(n)),))
    mechanism = ExponentialMechanism(base_measure=BaseMeasure(log_weights=(table,)))
    inputs = public(grid, n_rows=None)
    found = predict_error(mechanism, inputs, 0.9)
    logs = np.array(table) - float(mechanism.calibrate(inputs).beta) * losses
    law = np.exp(logs - np.logaddexp.reduce(logs))
    excess = losses - losses.min()
    assert float(law @ excess) <= found.mean + 1e-9
    assert law[excess > found.quantile].sum() <= 0.1 + 1e-9


def test_the_uniform_measure_predicts_what_no_measure_predicts():
    inputs = public(WeightGrid.box(30, 1, norm_budget=5))
    plain = predict_error(ExponentialMechanism(), inputs)
    nearly = predict_error(ExponentialMechanism(base_measure=BaseMeasure(penalty=1e-9)), inputs)
    assert nearly.mean == pytest.approx(plain.mean, rel=1e-6)
    assert nearly.quantile == pytest.approx(plain.quantile, rel=1e-6)
    assert predict_error(ExponentialMechanism(base_measure=SPARSE), inputs).mean > plain.mean


# --- running it ----------------------------------------------------------------------------------


def wide_problem(d, bound=1, norm_budget=None):
    rng = np.random.default_rng(1)
    points = np.unique(np.hstack([np.ones((60, 1), int), rng.integers(0, 2, (60, d - 1))]), axis=0)
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 6, len(points)),
        negatives=rng.integers(0, 6, len(points)),
        grid=WeightGrid.box(d, bound, norm_budget=norm_budget),
    )


@pytest.mark.parametrize(
    "problem",
    [wide_problem(5), wide_problem(20, norm_budget=3)],
    ids=["listed", "sparse"],
)
def test_every_path_draws_sparser_scorecards_and_says_so(problem):
    inputs = public(problem.grid, epsilon=0.05)
    sizes = {}
    for penalty in (0.0, 20.0):
        mechanism = ExponentialMechanism(base_measure=BaseMeasure(penalty=penalty))
        releases = [
            run_mechanism(mechanism, problem, inputs, entropy=SystemEntropy(), counts_rows=True)
            for _ in range(3)
        ]
        sizes[penalty] = np.mean([np.count_nonzero(r.hypothesis) for r in releases])
        receipt = releases[0].receipt
        assert receipt.guarantee == "HOLDS"
        assert ("exp(-20)" in receipt.noise_law) == (penalty > 0)
    # At 20 nats a weight, 17 other weights and 0.05 / 2 nats a row the empty one is nearly sure.
    assert sizes[20.0] <= 0.5 < sizes[0.0]


def test_a_uniform_measure_gives_the_same_draws_as_none():
    problem = wide_problem(5)
    flat = BaseMeasure(log_weights=((2.0,) * 3,) * 5)
    releases = [
        run_mechanism(m, problem, public(problem.grid), entropy=SeededEntropy(4))
        for m in (ExponentialMechanism(), ExponentialMechanism(base_measure=flat))
    ]
    assert releases[0] == releases[1]


def test_a_prior_on_an_explicit_table_is_drawn_from():
    grid = WeightGrid(values=((0, 1, 2),))
    problem = TabularProblem(losses=[0, 0, 0], grid=grid)
    sure = BaseMeasure(log_weights=((-60.0, 0.0, -60.0),))
    release = run_on_table(ExponentialMechanism(base_measure=sure), problem, public(grid))
    assert release.hypothesis == (1,)
    assert "SHA-256" in release.receipt.noise_law


# --- choosing, fitting, planning -----------------------------------------------------------------


def test_only_the_exponential_mechanism_takes_a_measure():
    grid = WeightGrid.box(4, 1)
    settings = MechanismSettings(base_measure=SPARSE)
    chosen, reason = build_mechanism("auto", grid, public=public(grid), settings=settings)
    assert chosen == ExponentialMechanism(base_measure=SPARSE) and "base measure" in str(reason)
    for name in ("permute_and_flip", "one_hot", "block_one_hot", "rspm"):
        with pytest.raises(CalibrationError, match="'exponential' only"):
            build_mechanism(name, grid, settings=settings)
    named = MechanismSettings(base_measure=SPARSE, minimise=True)
    with pytest.raises(CalibrationError, match="got a named oracle"):
        build_mechanism("auto", grid, settings=named)


def test_the_classifier_takes_a_measure_and_its_receipt_names_it():
    X = np.random.default_rng(0).integers(0, 2, (300, 4))
    model = PrivateScorecardClassifier(epsilon=1.0, base_measure="sparse:0.5").fit(X, X[:, 0])
    assert model.receipt_.mechanism == "exponential"
    assert "base measure: each weight other than 0 counts exp(-0.5)" in model.receipt_.noise_law
    with pytest.raises(CalibrationError, match="base_measure must be"):
        PrivateScorecardClassifier(base_measure="thin").fit(X, X[:, 0])
    tables = BaseMeasure(log_weights=((0.0, 1.0, 0.0),) * 5)
    automatic = PrivateScorecardClassifier(
        epsilon=5.0, base_measure=tables, weight_bound="auto"
    ).fit(X, X[:, 0])
    assert set(automatic.receipt_.weights) == {(-1, 0, 1)}  # they fit no other bound


SCHEMA = """
name = "t"
target = { column = "y", positive = "1", negative = "0" }
[[feature]]
column = "a"
binary = true
[[feature]]
column = "b"
binary = true
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).integers(0, 2, (400, 2))
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(f"{a},{b},{a}" for a, b in rows) + "\n")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def run(capsys, command, *options):
    call = [command, "t.csv", "--schema", "./s.toml", "--epsilon", "2", *options]
    status = run_command_line(cli, call)
    return status, *capsys.readouterr()


def test_the_command_line_fits_and_plans_with_a_measure(folder, capsys):
    status, out, err = run(capsys, "fit", "--base-measure", "sparse:2", "--json")
    receipt = json.loads(out)["receipt"]
    assert (status, receipt["mechanism"]) == (0, "exponential")
    rare, ledger = err.splitlines()
    assert rare.startswith("note: If fewer") and ledger.startswith("note: without --ledger")
    assert "exp(-2)" in receipt["noise_law"]
    status, out, _ = run(
        capsys, "plan", "--base-measure", "sparse:2", "--weight-bound", "1", "--json"
    )
    plan = json.loads(out)
    # ln(1 / mu) of a scorecard without a 0: 3 coordinates, beta = 1.
    worst = 3 * (2 + math.log(1 + 2 * math.exp(-2)))
    assert plan[0]["mechanism"] == "exponential"
    assert plan[0]["prediction"]["mean"] == pytest.approx(worst)
    assert all(p["prediction"] is None and "base measure" in p["reason"] for p in plan[1:])
    assert plan_fit("./s.toml", epsilon=2, n_rows=400)[0].mechanism == "permute_and_flip"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--base-measure", "thin"), "base_measure must be"),
        (("--base-measure", "sparse", "--mechanism", "one_hot"), "'exponential', 'staged' only"),
        (("--base-measure", "sparse", "--mechanism", "opdisc"), "'exponential', 'staged' only"),
        (("--base-measure", "sparse", "--oracle", "enumeration"), "'exponential' only"),
    ],
)
def test_contradictions_are_one_sentence_and_cost_nothing(folder, capsys, options, words):
    status, out, err = run(capsys, "fit", "--ledger", "budget", *options)
    assert (status, out, err.count("\n")) == (2, "", 1) and words in err
    assert not (folder / "budget").exists()


# --- by levels -----------------------------------------------------------------------------------


def test_levels_are_a_measure_of_listed_grids_and_stand_on_the_receipt():
    measure = BaseMeasure.parse("levels")
    assert measure == BaseMeasure(by_levels=True) and not measure.is_uniform
    with pytest.raises(CalibrationError, match="takes no other weights"):
        BaseMeasure(by_levels=True, penalty=1.0)
    grid = WeightGrid.box(6, 1)
    spec = ExponentialMechanism(base_measure=measure).calibrate(public(grid))
    assert (
        "masses 1, 2, 4, 8, 16 on cards of 0, 1, 2, 3 and 4 points and 32" in spec.law
        and spec.total_variation == 0.0
    )


def test_the_oracle_inequality_is_what_is_predicted():
    # The mean excess over the best card: ln of the total mass over the least one's, by hand.
    grid = WeightGrid.box(3, 1)
    found = predict_error(
        ExponentialMechanism(base_measure=BaseMeasure(by_levels=True)), public(grid)
    )
    # 3 cards without a point, 12 with one, 12 with two, 27 in all; masses 1, 2, 4 and 32 of 39.
    least = min(1 / 3, 2 / 12, 4 / 12) / 39 + 32 / 27 / 39
    assert found.mean == pytest.approx(2 * math.log(1 / least))


def test_a_fit_by_levels_and_its_plan(tmp_path):
    X = np.array([[0, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]] * 40)
    model = PrivateScorecardClassifier(epsilon=5.0, base_measure="levels").fit(X, X[:, 0])
    assert model.receipt_.mechanism == "exponential"
    assert model.receipt_.conditions == (LABELS_PUBLIC, COLUMNS_UNSEEN)
    assert "masses 1, 2" in model.receipt_.noise_law and model.score(X, X[:, 0]) == 1.0
    (first, *_) = plan_fit("adult-small", epsilon=0.1, n_rows=100, base_measure="levels")
    assert first.mechanism == "exponential" and first.prediction is not None
    (wide, *_) = plan_fit("adult_binary", epsilon=0.1, n_rows=1000, base_measure="levels")
    assert wide.mechanism == "staged"
