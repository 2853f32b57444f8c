"""Joint steps along directions: counts, members and draws against a list of them all."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from helpers.oracles.first_head import first_head_law
from scipy import stats

from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.sampling import joint, staged_points as points_module
from oracles.sampling.joint import JointSteps, _Walk, draw_joint
from oracles.sampling.staged_points import BinaryPoints


def points(seed, n_columns, n_points=40, largest=5, times=1):
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 2, (n_columns, n_points)).astype(np.int8)
    costs = rng.integers(-largest, largest + 1, n_points)
    costs *= times
    positives = np.maximum(-costs, 0) + times
    return BinaryPoints(
        columns=columns,
        costs=costs,
        base=int(positives.sum()),
        total=int((2 * positives + costs).sum()),
    )


def listed(candidates):
    ranges = [range(low, high + 1) for low, high in candidates.steps]
    for steps in itertools.product(*ranges):
        for shift in range(candidates.shifts[0], candidates.shifts[1] + 1):
            yield candidates.at(steps, shift)


def plan(seed, n_columns, n_directions, most=3, shifts=(-2, 3)):
    bits, left = RandomBits(SeededEntropy(seed)), list(range(n_columns))
    hands = [[] for _ in range(min(n_directions, n_columns))]
    for k in range(min(n_columns, len(hands) * most)):
        column = left.pop(bits.below(len(left)))
        hands[k % len(hands)].append((column, 1 if bits.below(2) else -1))
    directions = tuple(map(tuple, hands))
    rng = np.random.default_rng(seed)
    ends = [(-1, 1), (0, 1), (-1, 0), (0, 0)]
    return JointSteps(
        centre=tuple(rng.integers(-2, 3, 1 + n_columns).tolist()),
        directions=directions,
        steps=tuple(ends[k] for k in rng.choice(4, len(directions), p=[0.7, 0.1, 0.1, 0.1])),
        shifts=shifts,
    )


CASES = [(0, 9, 5), (1, 6, 6), (2, 4, 2), (3, 1, 1), (4, 0, 0)]


@pytest.mark.parametrize(("seed", "n_columns", "n_directions"), CASES)
def test_every_candidate_is_counted_once_and_found(seed, n_columns, n_directions):
    made, candidates = points(seed, n_columns), plan(seed, n_columns, n_directions)
    everything = Counter(listed(candidates))
    losses = np.array([made.loss(w) for w in everything.elements()])
    walk = _Walk(made, candidates)
    assert walk.descended() >= losses.min()
    leaves, subtrees = walk.count(made.total + 1)
    assert not subtrees.any()
    assert (leaves == np.bincount(losses, minlength=made.total + 1)).all()
    middle = int(np.quantile(losses, 0.3))
    for cut, slack in (
        (made.total + 1, made.total + 1),
        (middle, made.total),
        (middle, 2),
        (1, 0),
    ):
        leaves, subtrees = walk.count(cut, slack)
        assert leaves.sum() + subtrees.sum() == candidates.count
        found = Counter()
        for counts, inside in ((leaves, False), (subtrees, True)):
            for level in np.flatnonzero(counts):
                for rank in range(counts[level]):
                    member = walk.find(int(level), rank, inside)
                    assert made.loss(member) >= level if inside else made.loss(member) == level
                    found[member] += 1
        assert found == everything


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("seed", "n_columns", "n_directions"), CASES)
@pytest.mark.parametrize(("most", "times"), [(5, 1), (0, 1), (10**4, 10**3), (10**4, 10**10)])
def test_losses_beyond_the_last_level_count_at_it(
    seed, n_columns, n_directions, most, times, monkeypatch
):
    monkeypatch.setattr(points_module, "MOST_LEVELS", most)
    monkeypatch.setattr(points_module, "LEVELS_BEYOND", most)
    made, candidates = points(seed, n_columns, times=times), plan(seed, n_columns, n_directions)
    everything = Counter(listed(candidates))
    losses = np.array([made.loss(w) for w in everything.elements()])
    walk = _Walk(made, candidates)
    assert walk.least == losses.min() and made.total > most
    leaves, subtrees = walk.count(most + 1)
    if n_directions <= 1:  # no bound is looked at
        expected = np.minimum(losses - walk.least, most)
        assert (leaves == np.bincount(expected, minlength=most + 1)).all()
    found = Counter()
    for counts, inside in ((leaves, False), (subtrees, True)):
        for level in np.flatnonzero(counts):
            for rank in range(counts[level]):
                member = walk.find(int(level), rank, inside)
                exact = not inside and walk.is_exact(int(level))
                loss = made.loss(member) - walk.least
                assert loss == level if exact else loss >= level
                found[member] += 1
    assert found == everything


def test_bounds_do_cut_something_off():
    made, candidates = points(0, 9), plan(0, 9, 9)
    leaves, subtrees = _Walk(made, candidates).count(made.base // 3)
    assert subtrees.sum() > 0 and leaves.sum() < candidates.count


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("few", [-0.7, 4.0])
@pytest.mark.parametrize(("beta", "n_draws"), [(Fraction(1, 4), 500), (Fraction(1), 300)])
@pytest.mark.parametrize(("most", "times"), [(10**6, 1), (4, 1), (10**4, 10**10)])
def test_draws_follow_the_target_law(beta, n_draws, few, most, times, monkeypatch):
    # Chi-square against enumeration, false alarm 1e-6 each, also where so much is cut off that
    # most draws fail; a temperature that is off by half is missed with probability 1e-8 at most
    # (noncentral chi-square).
    monkeypatch.setattr(joint, "_FEW", few)
    monkeypatch.setattr(points_module, "MOST_LEVELS", most)
    monkeypatch.setattr(points_module, "LEVELS_BEYOND", most)
    made, candidates = points(5, 6, times=times), plan(5, 6, 5, shifts=(-1, 1))
    everything = list(listed(candidates))
    losses = np.array([made.loss(w) for w in everything]) // times
    names = {w: k for k, w in enumerate(everything)}
    bits = RandomBits(SeededEntropy(8))
    drawn = [names[draw_joint(made, candidates, beta / times, bits)] for _ in range(n_draws)]

    seen_each = np.bincount(drawn, minlength=len(losses)).astype(float)

    def agrees(factor):  # cells are losses; members of one are tested below
        law = n_draws * first_head_law(losses, factor * float(beta))
        law, seen = (np.bincount(losses, weights=w) for w in (law, seen_each))
        few = law < 5
        law, seen = np.append(law[~few], law[few].sum()), np.append(seen[~few], seen[few].sum())
        return bool(stats.chisquare(seen[law > 0], law[law > 0]).pvalue > 1e-6)

    assert agrees(1.0)
    assert not agrees(1.5)


def test_no_weight_means_equal_chances():
    # Chi-square over all candidates, 1,500 draws, false alarm 1e-6.
    made, candidates = points(1, 3), plan(2, 3, 3, shifts=(0, 1))
    names = {w: k for k, w in enumerate(listed(candidates))}
    bits = RandomBits(SeededEntropy(1))
    seen = [names[draw_joint(made, candidates, Fraction(0), bits)] for _ in range(1500)]
    assert stats.chisquare(np.bincount(seen, minlength=len(names))).pvalue > 1e-6
