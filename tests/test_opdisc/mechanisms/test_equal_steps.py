"""Equal steps: which tables get them, what is drawn from, and the law of the draw."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.oracles.first_head import first_head_law
from scipy import stats

from opdisc.data import Schema
from opdisc.mechanisms.equal_steps import EqualSteps
from opdisc.mechanisms.staged import StagedMechanism
from opdisc.mechanisms.stages import plan_stages
from opdisc.planning.choice import MechanismSettings
from opdisc.planning.request import CardRequest
from opdisc.planning.weight_rule import settle_fit
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem
from oracles.problem import ColumnGroup
from oracles.sampling import SparseCards


def thresholds(*sizes):
    """Attributes of so many thresholds each, from the first column that is not constant on."""
    ends = np.cumsum([1, *sizes]).tolist()
    return tuple(
        ColumnGroup(columns=tuple(range(low, high)), kind="nested")
        for low, high in itertools.pairwise(ends)
    )


def public(grid, epsilon=1.0, n_rows=500):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=n_rows,
    )


def planned(structure, n_columns, bound=9, weight=400.0):
    return plan_stages(
        WeightGrid.box(1 + n_columns, bound), weight, 500, structure=structure
    ).first


def test_thresholds_of_one_attribute_share_a_point():
    first = planned(thresholds(3, 3, 2, 3, 3, 3, 3), 20)
    assert isinstance(first, EqualSteps) and first.start == (-6, 7)
    assert [len(direction) for direction in first.directions] == [3, 3, 2, 3, 3, 3, 3]
    assert first.candidates.count == 3**7 * 14
    assert first.candidates.at([1, 0, -1, 0, 0, 0, 0], -2) == (
        -2,
        1,
        1,
        1,
        0,
        0,
        0,
        -1,
        -1,
        *[0] * 12,
    )
    assert first.log_inverse == pytest.approx(math.log(3**7 * 14))
    # The card with the other answers is a candidate too, also where the grid is narrow.
    for bound, start in ((1, (0, 1)), (4, (-3, 4)), (7, (-6, 7))):
        assert planned(thresholds(*[3] * 7), 21, bound).start == start


@pytest.mark.parametrize(
    ("structure", "n_columns"),
    [
        ((ColumnGroup(columns=tuple(range(1, 22))),), 21),  # no thresholds
        ((*thresholds(2, 2, 2), ColumnGroup(columns=(7,))), 7),  # another column
        (thresholds(2, 4, 4, 4), 14),  # not about as many
        (thresholds(1, 1, 1), 3),
        (thresholds(*[5] * 6), 30),  # too many thresholds
        (thresholds(*[2] * 19), 38),  # too many attributes
    ],
)
def test_other_columns_get_cards_of_few_points(structure, n_columns):
    assert isinstance(planned(structure, n_columns), SparseCards)


def test_norm_budgets_keep_cards_of_few_points():
    structure = thresholds(*[3] * 7)
    grid = WeightGrid.box(22, 1, norm_budget=4)
    assert isinstance(plan_stages(grid, 400.0, 500, structure=structure).first, SparseCards)


def test_declared_signs_are_kept():
    values = [tuple(range(-5, 6))] + [(-1, 0, 1)] * 15
    values[1:4], values[4:7], values[7] = [(0, 1)] * 3, [(-1, 0)] * 3, (0,)
    grid = WeightGrid(values=tuple(values))
    first = plan_stages(grid, 400.0, 500, structure=thresholds(*[3] * 5)).first
    assert first.steps == ((0, 1), (-1, 0), (-1, 1), (-1, 1), (-1, 1))
    assert [len(direction) for direction in first.directions] == [3, 3, 2, 3, 3]


def test_the_automatic_bound_leaves_room_for_the_start():
    settings = MechanismSettings(structure=thresholds(*[3] * 9))
    request = CardRequest(schema=Schema.equal_width(27), settings=settings)
    fit = settle_fit(request, public(WeightGrid.box(28, 1)))
    spec = fit.mechanism.calibrate(fit.public)
    assert fit.mechanism.name == "staged" and fit.bound == 7
    assert "all thresholds of an attribute at once, 9 attributes, start -6..7" in spec.law
    assert "for all thresholds of an attribute" in spec.stages.yardstick
    assert spec.expected_excess(fit.public.grid) == pytest.approx(2 * spec.log_inverse)
    assert spec.beta == Fraction(1, 2) and spec.total_variation == 0.0


@pytest.mark.statistical
def test_draws_follow_permute_and_flip_over_equal_steps():
    # Chi-square against enumeration, 3,000 draws, false alarm 1e-6. A temperature that is off by
    # half would be noticed (positive control).
    rng = np.random.default_rng(4)
    numbers = rng.integers(0, 4, (2, 14))
    columns = np.column_stack([n >= cut for n in numbers for cut in (1, 2, 3)]).astype(int)
    problem = ZeroOneProblem(
        points=np.column_stack([np.ones(14, dtype=int), columns]),
        positives=rng.integers(0, 4, 14),
        negatives=rng.integers(0, 4, 14),
        grid=WeightGrid.box(7, 2),
    )
    mechanism = StagedMechanism(structure=thresholds(3, 3))
    spec = mechanism.calibrate(public(problem.grid, 0.8, 50))
    first = spec.stages.first
    assert isinstance(first, EqualSteps) and first.start == (-1, 2)
    cards = [
        first.candidates.at(steps, start)
        for steps in itertools.product((-1, 0, 1), repeat=2)
        for start in range(-1, 3)
    ]
    drawn = [mechanism.draw(problem, spec, SeededEntropy(seed)) for seed in range(3000)]
    seen = np.array([drawn.count(card) for card in cards])
    assert seen.sum() == len(drawn)

    def agrees(beta):
        law = first_head_law([problem.loss(np.array(card)) for card in cards], beta)
        expected = np.asarray(law) * len(drawn)
        rare = expected < 5
        kept = np.append(expected[~rare], max(expected[rare].sum(), 1e-9))
        counts = np.append(seen[~rare], seen[rare].sum())
        return bool(stats.chisquare(counts, kept * counts.sum() / kept.sum()).pvalue > 1e-6)

    assert agrees(0.4)
    assert not agrees(0.6)
