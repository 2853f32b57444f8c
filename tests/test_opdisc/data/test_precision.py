"""Numbers of 2 and 4 bytes: the double nearest to their shortest text, all at once."""

import numpy as np
import pandas as pd
import pytest

from opdisc.data.precision import plain_cells, shortest_doubles


def printed(values):
    """Return the same one by one, by numpy's own text."""
    return np.array([float(str(value)) for value in values])


def test_every_number_of_two_bytes():
    values = np.arange(2**16, dtype=np.uint16).view(np.float16)
    assert np.array_equal(shortest_doubles(values), printed(values), equal_nan=True)


@pytest.mark.parametrize("digits", range(-3, 8))
def test_recorded_numbers_of_four_bytes_are_the_numbers_that_were_recorded(digits):
    recorded = np.round(np.random.default_rng(digits + 3).normal(size=4000) * 40, digits)
    values = recorded.astype(np.float32)
    assert np.array_equal(shortest_doubles(values), printed(values))
    if digits <= 3:
        assert np.array_equal(shortest_doubles(values), recorded)


def test_any_bits_of_four_bytes():
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint32)
    edges = [0, 1, 2**31, 2**23 - 1, 2**23, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000]
    whole = np.array([2**24 - 1, 2**24, 2**24 + 2, 1e6, 1e9, 123456792], np.float32)
    values = np.concatenate([np.array([*bits, *edges], np.uint32).view(np.float32), whole])
    found = shortest_doubles(values)
    assert np.array_equal(found, printed(values), equal_nan=True)
    with np.errstate(all="ignore"):
        assert np.array_equal(found.astype(np.float32), values, equal_nan=True)
    assert np.array_equal(np.signbit(found[:-6]), np.signbit(values[:-6]))


@pytest.mark.parametrize("order", ["C", "F"])
def test_shape_and_order_stay(order):
    values = np.array([[38.3, 0.1, np.nan], [1 / 3, 7, np.inf]], np.float32, order=order)
    expected = [[38.3, 0.1, np.nan], [0.33333334, 7, np.inf]]
    assert np.array_equal(shortest_doubles(values), expected, equal_nan=True)
    assert np.array_equal(
        shortest_doubles(values[::-1, ::2]), np.array(expected)[::-1, ::2], equal_nan=True
    )
    doubles = np.array([np.float32(38.3)], np.float64)
    assert shortest_doubles(doubles) == doubles  # nobody can tell that it was widened


def test_columns_of_other_things_stay_as_they_are():
    for cells in (
        pd.Series(["38.3", None]),
        pd.Series([1, 2]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([True, False]),
        pd.Series(["a", "b"], dtype="category"),
        pd.Series([1, 2]).astype("category"),
        pd.Series([1j]),
        pd.Series([np.float32(38.3), "a"], dtype=object),
        pd.Series(pd.to_datetime(["2020-01-02"])),
    ):
        assert plain_cells(cells) is cells
