"""Choosing columns by best subsets: the search, and what published methods need for privacy."""

import itertools
import math

import numpy as np
import pytest
from support_gaps import COLUMNS, SIZE, compared, mistakes_chances, neighbours, table
from support_search import Supports

EPSILON, RADIUS = 1.0, 8.0


def top_r_chances(cells, answers, listed):
    """Return the log of each pair's chance under top-R."""
    sets = [*itertools.combinations(range(cells.shape[1]), 2)]
    errors = []
    for chosen in sets:
        part = cells[:, chosen]
        gained = (part.T @ answers) @ np.linalg.solve(part.T @ part, part.T @ answers)
        errors.append(answers @ answers - gained)
    scores = np.minimum(errors, np.sort(errors)[listed - 1])
    logs = -EPSILON * scores / (2 * (1 + RADIUS * math.sqrt(2)) ** 2)
    return dict(zip(sets, logs - np.logaddexp.reduce(logs), strict=True))


def test_mistakes_need_their_condition_and_top_r_needs_none():
    cells, answers, other, others = neighbours(1000)
    assert np.sum((cells != other).any(axis=1) | (answers != others)) == 1
    assert max(np.abs(cells).max(), np.abs(answers).max()) <= 1
    before, after = (
        mistakes_chances(*one, EPSILON, RADIUS) for one in ((cells, answers), (other, others))
    )
    assert abs(sum(map(math.exp, before.values())) - 1) < 1e-9
    assert max(abs(before[chosen] - after[chosen]) for chosen in before) > 2.5 * EPSILON
    for listed in (1, 3, 7):
        before, after = (
            top_r_chances(*one, listed) for one in ((cells, answers), (other, others))
        )
        assert max(abs(before[chosen] - after[chosen]) for chosen in before) <= EPSILON


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.1, 0.7])
def test_the_search_proves_what_listing_finds(alike):
    cells, answers = table(1, alike)
    gram, cross = cells.T @ cells + 5 * np.eye(COLUMNS), cells.T @ answers
    supports = Supports(gram, cross, SIZE)
    sets = np.array([*itertools.combinations(range(COLUMNS), SIZE)])
    gains = supports.gains(sets)
    gain, star = supports.best()
    assert gain == pytest.approx(gains.max()) and star == sets[gains.argmax()].tolist()
    shared = np.isin(sets, star).sum(axis=1)
    for cap in range(SIZE):
        best = gains[shared <= cap].max()
        assert supports.best(star, cap)[0] == pytest.approx(best)
    found, found_gains = supports.first(star)
    count = 2 + (COLUMNS - SIZE) * SIZE
    assert len(found) == count
    assert found_gains == pytest.approx(np.sort(gains)[::-1][:count])


@pytest.mark.slow
def test_an_answer_within_the_gap_need_not_be_the_best():
    found = [compared(seed, 0.1) for seed in range(2)]
    assert not all(last for _, last, _, _ in found)
    assert all(off <= allowed for _, _, off, allowed in found)
