"""The hull of a schema's rows: its size, its centre, and the noise's expected length."""

from fractions import Fraction

import numpy as np
import pytest
from helpers.opdisc.hull import all_rows, gauge, gauge_by_program, groups
from hypothesis import given, settings, strategies as st

from opdisc.convex.hull.noise import HullNoise
from opdisc.convex.hull.shape import HullShape, mean_square
from opdisc.data import Schema
from opdisc.errors import CalibrationError
from opdisc.privacy import SeededEntropy
from oracles.problem import ColumnGroup

KINDS = st.lists(
    st.tuples(st.sampled_from(["free", "exclusive", "nested"]), st.integers(1, 3)),
    min_size=1,
    max_size=3,
)


@given(KINDS)
@settings(max_examples=60, deadline=None)
def test_centre_and_radius_are_those_of_all_rows(kinds):
    shape = HullShape.of_groups(groups(*kinds))
    rows = all_rows(shape)
    centre = np.array([0, *map(float, shape.centre)])
    squares = ((rows - centre) ** 2).sum(axis=1)
    assert squares.max() == pytest.approx(float(shape.squared_radius))


@given(KINDS, st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_the_gauge_of_the_helpers_is_that_of_a_linear_program(kinds, seed):
    shape = HullShape.of_groups(groups(*kinds))
    noise = np.random.default_rng(seed).normal(size=shape.n_columns + 1)
    assert gauge(shape, noise) == pytest.approx(gauge_by_program(shape, noise), abs=1e-7)


@pytest.mark.parametrize(
    "kinds",
    [
        [("free", 3)],
        [("exclusive", 3)],
        [("nested", 3)],
        [("free", 2), ("exclusive", 4), ("nested", 2), ("nested", 3), ("exclusive", 2)],
    ],
    ids=str,
)
def test_the_expected_square_is_that_of_draws(kinds):
    shape, entropy = HullShape.of_groups(groups(*kinds)), SeededEntropy(3)
    centre = np.array([0, *map(float, shape.centre)])
    squares = []
    for _ in range(2000):
        balls = HullNoise(shape, entropy).enclosure()
        noise = np.array([float(ball.mid()) for ball in balls])
        squares.append(((noise - centre * noise[0]) ** 2).sum())
    error = np.std(squares) / np.sqrt(len(squares))
    assert abs(np.mean(squares) - mean_square(shape)) < 5 * error < 0.3 * mean_square(shape)


def test_a_schema_gives_its_groups_and_single_columns_are_pooled():
    schema = Schema.from_dict(
        {
            "name": "clinic",
            "target": {"column": "ill", "positive": "yes", "negative": "no"},
            "exclusive": [["smoker", "former"]],
            "feature": [
                {"column": "sex", "binary": True},
                {"column": "age", "thresholds": [40, 65]},
                {"column": "smoker", "binary": True},
                {"column": "ward", "categories": ["a", "b", "c"]},
                {"column": "former", "binary": True},
                {"column": "weight", "thresholds": [80]},
            ],
        }
    )
    shape = HullShape.of_schema(schema)
    found = {(group.kind, group.columns) for group in shape.groups}
    assert found == {
        ("free", (1, 9)),
        ("nested", (2, 3)),
        ("exclusive", (4, 8)),
        ("exclusive", (5, 6, 7)),
    }
    half, third = Fraction(1, 2), Fraction(1, 3)
    assert shape.centre == (half, half, half, half, third, third, third, half, half)
    assert shape.squared_radius == 1 + half + half + half + 1 - third


@pytest.mark.parametrize(
    "wrong",
    [
        (ColumnGroup(columns=(1,), kind="exclusive"),),
        (ColumnGroup(columns=(1, 2), kind="nested"), ColumnGroup(columns=(2, 3), kind="nested")),
        (ColumnGroup(columns=(2, 3), kind="nested"),),
        (ColumnGroup(columns=(1,)), ColumnGroup(columns=(2,))),
    ],
    ids=["one exclusive", "twice", "left out", "not pooled"],
)
def test_groups_that_would_leave_a_column_without_noise_are_refused(wrong):
    with pytest.raises(CalibrationError, match="name each column from 1 on once"):
        HullShape(wrong)


def test_a_shape_without_columns_is_the_constant_alone():
    shape = HullShape.of_groups(())
    assert shape.n_columns == 0 and shape.squared_radius == 1
    assert mean_square(shape) == pytest.approx(2.0)  # a Laplace variable
