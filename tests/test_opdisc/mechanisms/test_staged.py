"""Staged draws in the frame: budget, receipt, law, failing closed."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers.opdisc.plain_files import plain_files
from helpers.oracles.first_head import first_head_law
from scipy import stats

from opdisc import PrivateScorecardClassifier
from opdisc.audit.grid_cases import audit_mechanism, two_hypotheses
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data import COLUMNS_UNSEEN, LABELS_PUBLIC
from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.mechanisms.run import run_mechanism
from opdisc.mechanisms.staged import StagedMechanism
from opdisc.planning import predict_error
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import UnsupportedProblem, WeightGrid, ZeroOneProblem


def problem(seed, d, bound, n_points=30, largest=4):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, (n_points, d))
    return ZeroOneProblem(
        points=np.column_stack([np.ones(n_points, dtype=int), columns]),
        positives=rng.integers(0, largest, n_points),
        negatives=rng.integers(0, largest, n_points),
        grid=WeightGrid.box(1 + d, bound),
    )


def public(grid, epsilon=1.0, n_rows: int | None = 1000):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=n_rows,
    )


@pytest.mark.parametrize(("epsilon", "n_rows"), [(0.1, 50), (1.0, 5000), (1.0, 100_000)])
def test_the_draw_has_all_of_the_budget(epsilon, n_rows):
    spec = StagedMechanism().calibrate(public(WeightGrid.box(30, 36), epsilon, n_rows))
    assert spec.beta == Fraction(epsilon) / 2 and spec.scales == (epsilon / 2,)
    assert spec.total_variation == 0.0


def test_a_release_holds_and_belongs_to_the_grid():
    made = problem(0, 12, 12)
    release = run_mechanism(
        StagedMechanism(),
        made,
        public(made.grid, epsilon=50.0),
        entropy=SystemEntropy(),
        counts_rows=True,
    )
    assert release.receipt.guarantee == "HOLDS" and made.grid.contains(release.hypothesis)
    assert release.receipt.delta_numerical == 0.0 and len(release.receipt.noise_scales) == 1
    assert "staged-draws" in release.receipt.theorem


def test_few_rows_times_epsilon_decide_a_stump_only():
    grid = WeightGrid.box(30, 3)
    for epsilon, n_rows, is_stump in (
        (0.01, 700, True),
        (0.01, 1501, False),
        (1e-3, 14_999, True),
    ):
        spec = StagedMechanism().calibrate(public(grid, epsilon, n_rows))
        assert spec.is_stump is is_stump
        assert ("decision stump" in spec.stages.describe()) is is_stump
        assert spec.beta == Fraction(epsilon) / 2
    hidden = replace(public(grid, 0.01, None), relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    assert not StagedMechanism().calibrate(hidden).is_stump
    # One added row moves half as much, so a guess of half as many rows is few.
    for rows, is_stump in ((749, True), (751, False)):
        guessed = replace(hidden, public_row_guess=rows)
        assert StagedMechanism().calibrate(guessed).is_stump is is_stump
    assert not StagedMechanism(stump=False).calibrate(public(grid, 0.01, 700)).is_stump
    assert not StagedMechanism(by_levels=False).calibrate(public(grid, 0.01, 700)).is_stump


@pytest.mark.parametrize("stump", [None, True])
def test_a_stump_is_released_with_a_receipt_that_says_so(stump):
    made = problem(1, 12, 3)
    facts = public(made.grid, 0.05, int(made.positives.sum() + made.negatives.sum()))
    release = run_mechanism(
        StagedMechanism(stump=stump), made, facts, entropy=SystemEntropy(), counts_rows=True
    )
    assert release.receipt.guarantee == "HOLDS" and made.grid.contains(release.hypothesis)
    assert sum(1 for weight in release.hypothesis[1:] if weight) <= 1
    assert "decision stump: one of 12 columns" in release.receipt.noise_law
    assert "staged-draws" in release.receipt.theorem


def stump_law(table, epsilon):
    """The law of a stump's answers, from the counts of a one-column table, by side and label."""
    found = {}
    for answers in itertools.product((0, 1), repeat=2):
        chance = 1.0
        for (negatives, positives), answer in zip(table, answers, strict=True):
            gap = (positives - negatives) * (1 if answer else -1)
            worse = math.exp(-epsilon / 2 * abs(gap)) / 2
            chance *= 1 - worse if gap >= 0 else worse
        found[answers] = chance
    return found


def test_no_replaced_row_moves_a_stump_by_more_than_epsilon_and_some_row_does():
    # Every table of up to 4 rows and one column, every replaced row: the exact loss is at most
    # epsilon, and equal to it somewhere. With noise for one side only it would be more.
    for epsilon in (0.3, 2.0):
        largest = control = 0.0
        places = list(itertools.product((0, 1), repeat=2))  # side, label
        for others in itertools.combinations_with_replacement(places, 3):
            for one, another in itertools.permutations(places, 2):
                laws = []
                for row in (one, another):
                    table = [[0, 0], [0, 0]]
                    for side, label in (*others, row):
                        table[side][label] += 1
                    laws.append([stump_law(table, claimed) for claimed in (epsilon, 2 * epsilon)])
                for k, (first, second) in enumerate(zip(*laws, strict=True)):
                    loss = max(abs(math.log(first[a] / second[a])) for a in first)
                    largest = max(largest, loss) if k == 0 else largest
                    control = max(control, loss) if k == 1 else control
        assert largest == pytest.approx(epsilon, rel=1e-12)
        assert control > 1.5 * epsilon


def test_the_bound_of_a_stump_holds_for_its_exact_law_and_is_nearly_reached():
    grid = WeightGrid.box(2, 1)
    facts = public(grid, 0.1, 99)
    spec = StagedMechanism().calibrate(facts)
    assert spec.is_stump
    predicted = predict_error(StagedMechanism(), facts, quantile=0.95)
    assert predicted.mean == pytest.approx(spec.expected_excess(grid))
    assert "beside the best card of the drawn column" in str(predicted)
    worst = 0.0
    for here in range(-99, 100, 3):
        for there in range(abs(here) - 99, 100 - abs(here), 3):
            gaps = (abs(here), abs(there))
            wrong = [math.exp(-0.05 * gap) / 2 for gap in gaps]
            worst = max(worst, sum(g * w for g, w in zip(gaps, wrong, strict=True)))
            above = sum(
                math.prod(w if lost else 1 - w for w, lost in zip(wrong, missed, strict=True))
                for missed in itertools.product((0, 1), repeat=2)
                if sum(g for g, lost in zip(gaps, missed, strict=True) if lost)
                > predicted.quantile
            )
            assert above <= 0.05
    assert 0.95 * predicted.mean < worst <= predicted.mean


@pytest.mark.statistical
def test_the_release_has_the_law_of_its_temperature():
    # One column and a start in -1..1. Chi-square, 2,000 draws, false alarm 1e-6; equal weight per
    # scorecard instead of per level, or half the temperature, is noticed.
    made = ZeroOneProblem(
        points=[[1, 0], [1, 1]], positives=[2, 14], negatives=[6, 0], grid=WeightGrid.box(2, 1)
    )
    mechanism = StagedMechanism()
    spec = mechanism.calibrate(public(made.grid, epsilon=0.5))
    cards = list(itertools.product((-1, 0, 1), repeat=2))
    loss = np.array([made.loss(card) for card in cards])
    # Three cards without a point, six with one, each size twice the one before: equal masses.
    copies = [1] * 9
    entropy = SeededEntropy(4)
    seen = [cards.index(mechanism.draw(made, spec, entropy)) for _ in range(2000)]
    counts = np.bincount(seen, minlength=9)

    def agrees(beta, copies):
        return bool(
            stats.chisquare(counts, 2000 * first_head_law(loss, beta, copies)).pvalue > 1e-6
        )

    assert agrees(0.25, copies)
    assert not agrees(0.125, copies)
    assert not agrees(0.25, [3 if card[1] == 0 else 1 for card in cards])


@pytest.mark.statistical
def test_a_draw_at_half_its_noise_is_caught():
    # False alarm 1e-6 of the calibrated draw.
    pair = two_hypotheses()

    class Halved(StagedMechanism):
        def calibrate(self, inputs):
            spec = super().calibrate(inputs)
            return replace(spec, beta=2 * spec.beta)

    for kind, caught in ((StagedMechanism, False), (Halved, True)):
        result = audit_mechanism(
            kind(),
            pair,
            public(pair.first.grid),
            draws=2_000,
            entropy=SeededEntropy(5),
        )
        assert result.refuted is caught


def test_the_budget_is_recorded_before_the_first_draw_and_stays_spent(tmp_path):
    made = problem(2, 4, 3)
    ledger = Ledger(tmp_path / "ledger")
    seen = []

    class Broken(StagedMechanism):
        def draw(self, made, spec, entropy):
            seen.append(ledger.spendings())
            raise RuntimeError(f"the loss is {made.loss((0,) * 5)}")

    with pytest.raises(UncertifiedRelease) as refusal:
        run_mechanism(Broken(), made, public(made.grid), entropy=SystemEntropy(), ledger=ledger)
    assert "loss is" not in str(refusal.value) and refusal.value.__cause__ is None
    assert len(seen) == 1 and len(seen[0]) == len(ledger.spendings()) == 1


@pytest.mark.parametrize("wrong", [{"patience": 0.0}, {"patience": float("nan")}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(CalibrationError, match="patience must be"):
        StagedMechanism(**wrong)


def test_add_or_remove_one_never_looks_at_the_number_of_rows():
    grid = WeightGrid.box(30, 3)
    hidden = replace(public(grid, n_rows=None), relation=NeighboringRelation.ADD_OR_REMOVE_ONE)
    spec = StagedMechanism().calibrate(hidden)
    assert spec.beta == Fraction(1)


@pytest.mark.parametrize("bound", [1, 2, "auto"])
def test_the_classifier_keeps_to_the_stated_bound(bound):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (400, 20))
    y = (X[:, 3] + X[:, 5] + X[:, 8] >= 2).astype(int)
    model = PrivateScorecardClassifier(epsilon=20.0, mechanism="staged", weight_bound=bound)
    model.fit(X, y)
    assert model.receipt_.mechanism == "staged"
    assert model.receipt_.conditions == (LABELS_PUBLIC, COLUMNS_UNSEEN)
    largest = 3 if bound == "auto" else bound
    assert np.abs(model.coef_).max() <= largest
    assert model.receipt_.weights == ((*range(-largest, largest + 1),),) * 21
    assert model.score(X, y) > 0.9


def test_the_command_line_fits_and_plans_few_points(tmp_path, capsys):
    rows = np.random.default_rng(3).integers(0, 2, (60, 24))
    table, schema = plain_files(tmp_path, rows, rows[:, 0])
    common = [table, "--schema", schema, "--epsilon", "2", "--patience", "5"]
    assert run_command_line(cli, ["fit", *common, "--mechanism", "staged", "--json"]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]
    assert receipt["mechanism"] == "staged" and receipt["guarantee"] == "HOLDS"
    assert run_command_line(cli, ["plan", *common, "--explain"]) == 0
    planned = capsys.readouterr().out
    assert "\nstaged (automatic choice): with probability 95%" in planned
    assert "beside the best scorecard of at most" in planned


def test_points_that_are_not_binary_are_refused_before_anything_is_spent(tmp_path):
    made = ZeroOneProblem(
        points=[[1, 2], [1, 0]], positives=[3, 1], negatives=[1, 2], grid=WeightGrid.box(2, 1)
    )
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(UnsupportedProblem):
        run_mechanism(
            StagedMechanism(),
            made,
            public(made.grid),
            entropy=SystemEntropy(),
            ledger=ledger,
        )
    assert not (tmp_path / "ledger").exists()
