"""Random subsets, byte by byte."""

import numpy as np
import pytest

from opdisc.noise.real import poisson_sample


class Bytes:
    """First every byte once, in order; then the words of ties as written down."""

    def __init__(self, *ties):
        self.ties = list(ties)

    def words(self, count):
        if count == 32:
            return np.arange(256, dtype=np.uint8).view(np.uint64)
        return np.array([self.ties.pop(0) for _ in range(count)], dtype=np.uint64)


@pytest.mark.parametrize("first", [0, 1, 77, 128, 255])
@pytest.mark.parametrize(("tie", "taken"), [(2**62, True), (2**63 - 1, True), (2**63, False)])
def test_a_row_takes_part_if_its_digits_are_below_the_rates(first, tie, taken):
    rate = (first + 0.5) / 256
    rows = np.sort(poisson_sample(256, rate, Bytes(tie)))
    assert rows.tolist() == list(range(first + taken))


def test_a_rate_of_whole_bytes_takes_no_tie_and_a_rate_of_one_takes_all():
    assert np.sort(poisson_sample(256, 0.5, Bytes(0))).tolist() == list(range(128))
    assert poisson_sample(5, 1.0, Bytes()).tolist() == list(range(5))
