"""Draws in double precision from words that are written down."""

import math

import numpy as np
import pytest

from opdisc.noise.real import (
    NormalStream,
    categorical,
    fixed_sample,
    integers,
    l2_laplace,
    normals,
    poisson_sample,
    uniforms,
)
from opdisc.privacy.entropy import SeededEntropy


class Words:
    """Words as written down, and how many were asked for."""

    def __init__(self, *words):
        self.left, self.asked = [int(word) for word in words], []

    def words(self, count):
        self.asked.append(count)
        return np.array([self.left.pop(0) for _ in range(count)], dtype=np.uint64)


def test_uniforms_are_the_middle_of_their_word_and_never_0_or_1():
    values = uniforms(4, Words(0, 1 << 63, 3 << 62, 2**64 - 1))
    assert values[0] == 2.0**-65 and values[1:3].tolist() == [0.5, 0.75]
    assert values[3] == 1 - 2.0**-53 < 1


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_normals_are_box_and_mullers_of_the_fewest_words(size):
    pairs = (size + 1) // 2
    words = Words(*[1 << 62] * pairs, *[1 << 61] * pairs)
    radius = math.sqrt(-2 * math.log(0.25))
    angle = 2 * math.pi / 8
    expected = [radius * math.cos(angle)] * pairs + [radius * math.sin(angle)] * pairs
    assert normals(size, words) == pytest.approx(expected[:size])
    assert words.asked == [pairs, pairs]


def test_a_stream_gives_each_normal_once_in_blocks_of_64_to_4096():
    counted = []

    class Counting(SeededEntropy):
        def words(self, count):
            counted.append(count)
            return super().words(count)

    stream = NormalStream(Counting(1))
    drawn = np.concatenate([stream.take(size) for size in (1, 63, 0, 1, 255, 500, 5000)])
    assert len(drawn) == len(set(drawn.tolist())) == 5820
    assert [2 * count for count in counted[::2]] == [64, 256, 1024, 5000]
    stream.take(5000)
    assert 2 * counted[-1] == 5000


def test_an_l2_laplace_vector_of_one_coordinate_has_its_scale():
    one, three = (l2_laplace(4, scale, SeededEntropy(5)) for scale in (1.0, 3.0))
    assert three == pytest.approx(3 * one) and len(one) == 4


@pytest.mark.parametrize("below", [1, 2, 3, 7, 2**24])
def test_integers_reject_the_words_that_would_favour_small_values(below):
    last = 2**32 // below * below - 1
    halves = np.array([0, 5, last, min(last + 1, 2**32 - 1)], dtype=np.uint32)
    rejected = int(last + 1 < 2**32)
    words = Words(*halves.view(np.uint64), *[0] * rejected)
    expected = [0, 5 % below, last % below, 0 if rejected else (2**32 - 1) % below]
    found = integers(below, 4, words)
    assert found.tolist() == expected and words.asked == [2] + [1] * rejected


def test_integers_of_large_ranges_take_a_word_each():
    below = 2**24 + 1
    last = 2**64 // below * below - 1
    words = Words(last, last + 1, 12)
    assert integers(below, 2, words).tolist() == [below - 1, 12]
    assert words.asked == [2, 1]


@pytest.mark.parametrize(("n_rows", "size"), [(10, 1), (10, 4), (10, 5), (10, 6), (10, 9), (9, 4)])
def test_a_fixed_sample_is_of_distinct_rows_and_takes_every_row_as_often(n_rows, size):
    """3,000 seeded samples; a fair one is off by six deviations with probability below 1e-7."""
    entropy, counts = SeededEntropy(3), np.zeros(n_rows)
    for _ in range(3000):
        rows = fixed_sample(n_rows, size, entropy)
        assert len(set(rows.tolist())) == size and rows.min() >= 0
        counts[rows] += 1
    share = size / n_rows
    assert np.all(np.abs(counts - 3000 * share) < 6 * math.sqrt(3000 * share * (1 - share)))


def test_the_first_distinct_values_count_in_the_order_of_their_appearance():
    words = Words(*np.array([7, 3, 7, 3, 1, 9, 1, 0] + [2] * 8, dtype=np.uint32).view(np.uint64))
    assert fixed_sample(10, 3, words).tolist() == [7, 3, 1]
    assert fixed_sample(4, 4, Words()).tolist() == fixed_sample(4, 9, Words()).tolist()


def test_chunks_of_rows_are_disjoint(monkeypatch):
    from opdisc.noise import real

    monkeypatch.setattr(real, "_CHUNK", 64)
    whole = np.sort(poisson_sample(1000, 0.5, SeededEntropy(2)))
    assert len(whole) == len(set(whole.tolist())) and 380 < len(whole) < 620
    assert whole[0] >= 0 and 936 < whole[-1] < 1000


def test_categories_follow_their_edges():
    words = Words(0, (1 << 62) - (1 << 20), 1 << 62, (1 << 63) + 1, 3 << 62, 2**64 - 1)
    found = categorical(np.array([0.25, 0.5, 0.25]), 6, words)
    assert found.tolist() == [0, 0, 1, 1, 2, 2]
    assert categorical(np.array([2.0, 2.0]), 2, Words(1 << 62, 3 << 62)).tolist() == [0, 1]
