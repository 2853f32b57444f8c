"""Counted signs: their sensitivity by brute force, their law, and what they lead to."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from helpers.oracles.first_head import first_head_law
from hypothesis import given, settings, strategies as st
from scipy import stats

from opdisc import PrivateScorecardClassifier
from opdisc.audit.event import audit_mechanism, flipped_label
from opdisc.data.reading.provenance import COLUMNS_UNSEEN, DTYPES_DECLARED
from opdisc.errors import CalibrationError
from opdisc.mechanisms.staged.mechanism import StagedMechanism
from opdisc.mechanisms.staged.signs import CountNoise, SignedColumns, associations, most_active
from opdisc.mechanisms.staged.stages import plan_stages
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem
from oracles.errors import InvalidProblem
from oracles.problem import ColumnGroup, complete_structure
from oracles.sampling.staged.work import LARGEST_TABLES, joint_work


def attributes(*sizes, kind="exclusive"):
    """Return groups of so many columns each, after the constant column."""
    groups, first = [], 1
    for size in sizes:
        groups.append(ColumnGroup(columns=tuple(range(first, first + size)), kind=kind))
        first += size
    return tuple(groups)


def one_row(point, label, n_columns):
    return ZeroOneProblem(
        points=[[1, *point]],
        positives=[int(label)],
        negatives=[int(not label)],
        grid=WeightGrid.box(1 + n_columns, 1),
    )


def public(grid, epsilon=1.0, n_rows: int | None = 1000):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=n_rows,
    )


@pytest.mark.parametrize("share", [4, 20, 32, 60])
def test_no_replaced_row_moves_the_counts_further_than_the_noise_assumes(share):
    # Every pair of rows of an exclusive and a nested attribute and a free column, every label.
    structure = (
        ColumnGroup(columns=(1, 2), kind="exclusive"),
        ColumnGroup(columns=(3, 4), kind="nested"),
    )
    groups = complete_structure(structure, 6)
    rows = [
        (*one, *many, free)
        for one in [(0, 0), (1, 0), (0, 1)]
        for many in [(0, 0), (1, 0), (1, 1)]
        for free in (0, 1)
    ]
    found = [
        associations(one_row(row, label, 5), share)
        for row, label in itertools.product(rows, (True, False))
    ]
    largest = max(int(np.abs(a - b).sum()) for a in found for b in found)
    active = most_active(groups)
    assert active == 1 + 2 + 1
    # Two changed rows, as the calibration counts them; reached where the share is a half.
    bound = 2 * active * max(share, 64 - share)
    assert largest <= bound and (largest == bound) == (share == 32)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.integers(4, 60))
def test_counts_are_sums_over_rows(seed, share):
    rng = np.random.default_rng(seed)
    points = np.column_stack([np.ones(9, dtype=int), rng.integers(0, 2, (9, 4))])
    positives, negatives = rng.integers(0, 5, 9), rng.integers(0, 5, 9)
    made = ZeroOneProblem(
        points=points, positives=positives, negatives=negatives, grid=WeightGrid.box(5, 1)
    )
    expected = [0] * 4
    for point, p, n in zip(points, positives, negatives, strict=True):
        for y in [1] * p + [0] * n:
            for j in range(4):
                expected[j] += int(point[1 + j]) * (64 * y - share)
    assert associations(made, share).tolist() == expected


def signed(columns, n_columns, active=1, share=Fraction(1, 2)):
    return SignedColumns(
        columns=columns,
        signs=((1, -1),) * n_columns,
        start=(-1, 1),
        share=share,
        active=active,
        attributes=(1,) * n_columns,
    )


def test_the_noise_is_that_of_the_share_and_the_active_columns():
    # Two changed rows, epsilon 1, half of it: of that a tenth for the positive rows.
    grid = WeightGrid.box(5, 1)
    noise = CountNoise.of(signed(2, 4, active=3), public(grid))
    assert noise.positives == Fraction(1, 2) / 2 / 10
    assert noise.columns == Fraction(1, 2) / 2 * Fraction(9, 10) / 3
    hidden = CountNoise.of(signed(2, 4, active=3), public(grid, n_rows=None))
    assert hidden.positives == 0 and hidden.columns == Fraction(1, 4) / 3
    assert 0 < hidden.total_variation < noise.total_variation < 1e-30


@pytest.mark.statistical
def test_counts_have_discrete_laplace_noise():
    # 4,000 draws of three columns; chi-square of the noise in cells of equal mass, false alarm
    # 1e-6; noise of half the scale is noticed.
    made = ZeroOneProblem(
        points=[[1, 1, 0, 1]], positives=[3], negatives=[1], grid=WeightGrid.box(4, 1)
    )
    noise = CountNoise.of(signed(2, 3, active=3), public(made.grid, n_rows=None))
    exact = associations(made, 32)
    entropy = SeededEntropy(3)
    drawn = np.array([noise.draw(made, entropy) - exact for _ in range(4000)]).ravel()
    rate = float(noise.columns) / 32

    def agrees(decay):
        far = -math.log(0.5) / decay  # half of the mass is nearer to 0
        edges = [-math.inf, -far, 0.5, far, math.inf]
        steps = np.arange(-int(60 / decay), int(60 / decay) + 1)
        mass = np.exp(-decay * np.abs(steps))
        expected = np.histogram(steps, edges, weights=mass / mass.sum())[0]
        seen = np.histogram(drawn, edges)[0]
        return bool(stats.chisquare(seen, len(drawn) * expected).pvalue > 1e-6)

    assert agrees(rate) and not agrees(2 * rate)


def test_the_largest_counts_are_taken_with_their_signs():
    one = replace(signed(2, 4), signs=((1, -1), (1, -1), (1,), ()))
    steps = one.candidates(np.array([-5, 1, -9, 100]))
    assert steps.directions == (((2, 1),), ((0, -1),)) and steps.steps == ((0, 1), (0, 1))


@pytest.mark.statistical
def test_counts_and_the_draw_after_them_have_the_composed_law():
    # One column, starts -1..1: the card's law is the sum over the counted sign, by hand.
    # Chi-square, 2,000 draws, false alarm 1e-6; half the noise of either is noticed.
    made = ZeroOneProblem(
        points=[[1, 0], [1, 1]], positives=[2, 9], negatives=[8, 1], grid=WeightGrid.box(2, 1)
    )
    mechanism = StagedMechanism(counted=Fraction(1, 5))
    spec = mechanism.calibrate(public(made.grid, epsilon=0.5, n_rows=None))
    assert isinstance(spec.stages.first, SignedColumns) and spec.stages.later == 0
    cards = list(itertools.product((-1, 0, 1), repeat=2))
    loss = np.array([made.loss(card) for card in cards])

    def law(decay, beta):
        count, rate = int(associations(made, 32)[0]), decay / 32
        steps = np.arange(-int(60 / rate), int(60 / rate) + 1)
        mass = np.exp(-rate * np.abs(steps))
        plus = float(mass[count + steps > 0].sum() / mass.sum())
        total = np.zeros(9)
        for sign, share in ((1, plus), (-1, 1 - plus)):
            tried = np.array([card[1] in (0, sign) for card in cards])
            total[tried] += share * first_head_law(loss[tried], beta)
        return total

    entropy = SeededEntropy(4)
    seen = [cards.index(mechanism.draw(made, spec, entropy)) for _ in range(2000)]
    counts = np.bincount(seen, minlength=9)

    def agrees(expected):
        return bool(stats.chisquare(counts, 2000 * expected).pvalue > 1e-6)

    decay, beta = 0.5 / 5 / 2, 0.5 * 4 / 5 / 2
    assert math.isclose(decay, spec.counts.columns) and math.isclose(beta, spec.betas[0])
    assert agrees(law(decay, beta))
    assert not agrees(law(4 * decay, beta))
    assert not agrees(law(decay, 2 * beta))


@pytest.mark.statistical
def test_counts_at_half_their_noise_are_caught():
    # False alarm 1e-6 of the calibrated counts, which have 49 parts in 50.
    pair = flipped_label()

    class Halved(StagedMechanism):
        def calibrate(self, inputs):
            spec = super().calibrate(inputs)
            return replace(spec, counts=replace(spec.counts, columns=2 * spec.counts.columns))

    for kind, caught in ((StagedMechanism, False), (Halved, True)):
        result = audit_mechanism(
            kind(counted=Fraction(49, 50)),
            pair,
            public(pair.first.grid, n_rows=None),
            draws=6_000,
            entropy=SeededEntropy(6),
        )
        assert result.refuted is caught


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=12),
    bound=st.integers(1, 40),
    n_rows=st.integers(1, 10**6),
    epsilon=st.floats(1e-3, 1e3),
    patience=st.floats(1.0, 60.0),
)
def test_stages_with_counts_keep_to_work_and_budget(sizes, bound, n_rows, epsilon, patience):
    grid = WeightGrid.box(1 + sum(sizes), bound)
    structure = complete_structure(attributes(*sizes), grid.n_features)
    stages = plan_stages(grid, n_rows * epsilon, n_rows, patience=patience, structure=structure)
    first = stages.first
    if not isinstance(first, SignedColumns):
        # Too few rows or columns, or too many columns for the time.
        assert stages == plan_stages(grid, n_rows * epsilon, n_rows, patience=patience)
        return
    assert first.active == len(sizes) and n_rows * epsilon >= 450 * len(sizes)
    assert first.share + stages.first_share + stages.later * stages.later_share == 1
    assert 3 * first.columns >= 2 * sum(sizes) and sum(sizes) > 18
    shifts = first.start[1] - first.start[0] + 1
    seconds, entries = joint_work(first.columns, 1, shifts, n_rows, 2, sizes)
    more = joint_work(stages.directions, stages.together, 3, n_rows)[0] if stages.later else 0.0
    assert seconds + stages.later * more <= patience and entries <= LARGEST_TABLES


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
def test_no_choice_of_columns_shows_more_patterns_than_the_work_assumes(sizes, data):
    chosen = [data.draw(st.integers(0, size)) for size in sizes]
    directions = sum(chosen)
    patterns = math.prod(1 + k for k in chosen)
    # The tables before the first step hold that many groups.
    _, entries = joint_work(directions, 1, 3, 10**9, 2, sizes)
    _, fewer = joint_work(directions, 1, 3, patterns - 1, 2, sizes) if patterns > 1 else (0, -1)
    assert entries > fewer
    assert entries <= joint_work(directions, 1, 3, 10**9, 2)[1]


def one_hot(seed, n_rows, sizes=(8, 9, 7)):
    """Return rows of some attributes and labels that depend on most of their columns."""
    rng = np.random.default_rng(seed)
    picked = np.column_stack([rng.integers(0, size + 1, n_rows) for size in sizes])
    X = np.column_stack(
        [picked[:, [a]] == np.arange(1, size + 1) for a, size in enumerate(sizes)]
    ).astype(int)
    weights = rng.choice([-1, 1], X.shape[1])
    return X, (X @ weights >= 1).astype(int)


def test_a_release_with_counts_holds_and_lists_them():
    X, y = one_hot(0, 3000)
    made = ZeroOneProblem(
        points=np.column_stack([np.ones(len(X), dtype=int), X]),
        positives=y,
        negatives=1 - y,
        grid=WeightGrid.box(25, 3),
    )
    mechanism = StagedMechanism(structure=attributes(8, 9, 7))
    spec = mechanism.calibrate(public(made.grid, epsilon=1.0, n_rows=3000))
    assert (
        "counts of positive rows and of every column's association" in spec.law
        and "24 columns" in spec.law
    )
    assert "gives 24 columns 0 or the sign of their count" in spec.stages.yardstick
    assert (
        len(spec.scales) == 3
        and "Dwork" in spec.theorem
        and spec.log_inverse == pytest.approx(math.log(2**24 * 6))
    )
    mechanism.prepare(made, spec)
    card = mechanism.draw(made, spec, SeededEntropy(1))
    assert made.grid.contains(card) and made.loss(card) < 0.1 * 3000


def test_later_draws_take_the_columns_left_out_first():
    X, y = one_hot(1, 12_000, (7, 15, 6, 7, 2))
    made = ZeroOneProblem(
        points=np.column_stack([np.ones(len(X), dtype=int), X]),
        positives=y,
        negatives=1 - y,
        grid=WeightGrid.box(38, 18),
    )
    mechanism = StagedMechanism(structure=attributes(7, 15, 6, 7, 2))
    spec = mechanism.calibrate(public(made.grid, epsilon=2.0, n_rows=12_000))
    assert isinstance(spec.stages.first, SignedColumns) and spec.stages.later == 3
    assert spec.stages.together == 1
    assert spec.stages.directions >= 37 - spec.stages.first.columns
    assert "2. to 4. each joint steps of -1..1 from the one before (times 2)" in spec.law
    card = mechanism.draw(made, spec, SeededEntropy(2))
    assert made.loss(card) < 0.1 * 12_000


def test_points_that_break_the_declared_structure_are_refused_before_anything_is_spent():
    made = ZeroOneProblem(
        points=[[1, 1, 1]], positives=[1], negatives=[0], grid=WeightGrid.box(3, 1)
    )
    mechanism = StagedMechanism(structure=attributes(2), counted=Fraction(1, 2))
    spec = mechanism.calibrate(public(made.grid))
    with pytest.raises(InvalidProblem, match="declared exclusive"):
        mechanism.prepare(made, spec)
    with pytest.raises(CalibrationError, match=r"counted must be in \(0, 1\)"):
        StagedMechanism(counted=Fraction(1))
    half, most = Fraction(1, 2), Fraction(9, 10)
    with pytest.raises(CalibrationError, match="must be >= 0 and add up"):
        StagedMechanism(counted=half, first_share=most, later=1).calibrate(public(made.grid))


def test_without_a_structure_or_with_other_measures_nothing_is_counted():
    grid = WeightGrid.box(38, 6)
    spec = StagedMechanism().calibrate(public(grid, n_rows=11_000))
    assert spec.counts is None and spec.total_variation == 0
    structure = attributes(7, 15, 6, 7, 2)
    assert StagedMechanism(structure=structure).calibrate(public(grid, n_rows=11_000)).counts
    uniform = StagedMechanism(structure=structure, by_levels=False)
    assert uniform.calibrate(public(grid, n_rows=11_000)).counts is None


def test_the_classifier_counts_signs_of_one_hot_columns(tmp_path):
    import pandas as pd

    X, y = one_hot(2, 2500)
    columns, first = {}, 0
    for name, size in (("a", 8), ("b", 9), ("c", 7)):
        block = X[:, first : first + size]
        columns[name] = np.where(block.any(axis=1), block.argmax(axis=1) + 1, 0).astype(str)
        first += size
    schema = tmp_path / "s.toml"
    lines = ['name = "t"', 'target = { column = "y", positive = "1", negative = "0" }']
    for name, size in (("a", 8), ("b", 9), ("c", 7)):
        values = ", ".join(f'"{v}"' for v in range(1, size + 1))
        lines += ["[[feature]]", f'column = "{name}"', f"categories = [{values}]"]
    schema.write_text("\n".join(lines) + "\n", encoding="utf-8")
    model = PrivateScorecardClassifier(epsilon=1.0, schema=schema, mechanism="staged")
    model.fit(pd.DataFrame(columns), y.astype(str))
    receipt = model.receipt_
    assert receipt.mechanism == "staged" and receipt.guarantee == "CONDITIONAL"
    assert receipt.conditions == (DTYPES_DECLARED, COLUMNS_UNSEEN)
    assert "counted sign" in receipt.noise_law and 0 < receipt.delta_numerical < 1e-30
    assert model.score(pd.DataFrame(columns), y.astype(str)) > 0.85


@settings(max_examples=40, deadline=None)
@given(
    n_rows=st.integers(1, 10**6),
    epsilon=st.floats(1e-2, 10),
    sizes=st.lists(st.integers(1, 15), min_size=1, max_size=8),
)
def test_a_guess_plans_the_stages_of_the_public_number_and_counts_no_positive_rows(
    n_rows, epsilon, sizes
):
    mechanism = StagedMechanism(structure=attributes(*sizes))
    known = public(WeightGrid.box(1 + sum(sizes), 12), 2 * epsilon, n_rows)
    guessed = replace(
        known,
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        n_rows=None,
        public_row_guess=n_rows,
    )
    planned, hidden = mechanism.calibrate(known), mechanism.calibrate(guessed)
    assert hidden.stages == planned.stages and hidden.betas == planned.betas
    spent = sum(hidden.betas)
    assert (hidden.counts is None) == (planned.counts is None)
    if hidden.counts is not None:
        # The share of positive rows needs the exact number: the guess is not it.
        assert hidden.counts.n_rows is None and hidden.counts.positives == 0
        assert planned.counts.positives > 0
        spent += hidden.counts.columns * hidden.stages.first.active
    assert spent == Fraction(epsilon)


def test_a_guess_centres_no_count():
    made = one_row((1, 0, 1), True, 3)
    grid = WeightGrid.box(4, 1)
    noise = [
        CountNoise.of(
            signed(2, 3),
            GridPublic(
                params=PrivacyParams(epsilon=1e6, delta=0.0),
                relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
                grid=grid,
                public_row_guess=guess,
            ),
        )
        for guess in (None, 1, 10**6)
    ]
    assert noise[0] == noise[1] == noise[2]
    assert noise[2].draw(made, SeededEntropy(0)).tolist() == [32, 0, 32]


def test_a_guess_counts_signs_where_the_public_number_does():
    grid, structure = WeightGrid.box(38, 6), attributes(7, 15, 6, 7, 2)
    hidden = replace(
        public(grid, 0.5, n_rows=None), relation=NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    mechanism = StagedMechanism(structure=structure)
    counted = [
        mechanism.calibrate(replace(hidden, public_row_guess=guess)).counts is not None
        for guess in (None, 1000, 11_000)
    ]
    assert counted == [False, False, True]
