"""The released weights: their law against quadrature, and that no precision changes them."""

import collections
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from helpers.opdisc.hull import groups, log_density, released_law
from scipy import stats

from opdisc.convex.hull import release as release_module
from opdisc.convex.hull.newton import Found
from opdisc.convex.hull.noise import HullNoise
from opdisc.convex.hull.release import LARGEST_WEIGHT, HullObjective, released_weights
from opdisc.convex.hull.shape import HullShape
from opdisc.convex.hull.table import MOST_WEIGHT, HullTable
from opdisc.data import EncodedTable, aggregate
from opdisc.privacy import SeededEntropy, SystemEntropy
from oracles.problem import ErrorCosts

FALSE_ALARM = 1e-6
CASES = {
    "one column": (("free", 1), [[0], [1], [1], [0]], [-1, 1, 1, 1]),
    "two free": (("free", 2), [[1, 1], [0, 1], [1, 0]], [1, -1, 1]),
    "two exclusive": (("exclusive", 2), [[1, 0], [0, 1], [0, 0]], [1, -1, 1]),
    "two nested": (("nested", 2), [[1, 0], [1, 1], [0, 0]], [1, -1, 1]),
}


STARTED = {
    "one column": (Fraction(3, 2), Fraction(-5, 4)),
    "two exclusive": (Fraction(-1), Fraction(1, 2), Fraction(2)),
}


def case(name, ridge=2, scale="3/2", resolution=1, start=()):
    kind, rows, labels = CASES[name]
    shape = HullShape.of_groups(groups(kind))
    objective = HullObjective(
        shape=shape,
        ridge=Fraction(ridge),
        scale=Fraction(scale),
        resolution=resolution,
        start=start,
    )
    rows = np.hstack([np.ones((len(rows), 1)), rows]).astype(np.int8)
    return objective, rows, np.array(labels, dtype=np.int8)


def private(objective, rows, labels):
    return HullTable.of(aggregate(rows, labels), objective.shape, ErrorCosts())


def p_value(law, weights):
    """Return the p-value of a chi-square test, rare outcomes put together."""
    counts, n = collections.Counter(weights), len(weights)
    common = [key for key, chance in law.items() if key is not None and chance * n >= 8]
    seen = [counts[key] for key in common]
    expected = [law[key] * n for key in common]
    return stats.chisquare([*seen, n - sum(seen)], [*expected, n - sum(expected)]).pvalue


def drawn(objective, table, count, seed=0, digits=64):
    entropy = SeededEntropy(seed)
    return [
        tuple(released_weights(table, objective, HullNoise(objective.shape, entropy, digits)))
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def laws():
    found = {}
    for name in CASES:
        limit, per_unit, beyond = (6, 16, 12) if name == "one column" else (2, 6, 5)
        objective, rows, labels = case(name)
        found[name] = released_law(rows, labels, objective, limit, per_unit, beyond)
    return found


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("digits", [64, 4])
def test_the_law_is_that_of_quadrature(name, digits, laws):
    """With 4 digits at a time nearly every draw is refined."""
    objective, rows, labels = case(name)
    found = drawn(objective, private(objective, rows, labels), 1500, digits=digits)
    assert p_value(laws[name], found) > FALSE_ALARM


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("name", STARTED)
@pytest.mark.parametrize("digits", [64, 4])
def test_the_law_from_a_start_is_that_of_quadrature(name, digits, laws):
    objective, rows, labels = case(name, start=STARTED[name])
    limit, per_unit, beyond = (6, 16, 12) if name == "one column" else (2, 6, 5)
    law = released_law(rows, labels, objective, limit, per_unit, beyond)
    found = drawn(objective, private(objective, rows, labels), 1500, digits=digits)
    assert p_value(law, found) > FALSE_ALARM
    assert p_value(laws[name], found) < FALSE_ALARM  # it is another law than from 0


def boxed(unit=8, resolution=1):
    """Return a column of numbers on a range: the objective, the rows and the table."""
    shape = HullShape.of_groups(groups(("free", 1)))
    objective = HullObjective(
        shape=shape, ridge=Fraction(2), scale=Fraction(3, 2), resolution=resolution
    )
    steps, labels = np.array([1, 3, 6, 8, 7]), np.array([-1, -1, 1, 1, -1], dtype=np.int8)
    points = np.column_stack([np.full(5, unit), steps]).astype(np.int16)
    rows = EncodedTable(
        points=points,
        positives=(labels > 0).astype(np.int64),
        negatives=(labels < 0).astype(np.int64),
        n_rows=5,
    )
    return objective, points / unit, labels, HullTable.of(rows, shape, ErrorCosts(), unit)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("digits", [64, 4])
def test_the_law_of_numbers_in_a_box_is_that_of_quadrature(digits):
    objective, rows, labels, table = boxed()
    law = released_law(rows, labels, objective, 6, 16, 12)
    assert p_value(law, drawn(objective, table, 1500, digits=digits)) > FALSE_ALARM
    rounded = released_law(np.rint(rows), labels, objective, 6, 16, 12)
    assert p_value(rounded, drawn(objective, table, 1500, digits=digits)) < FALSE_ALARM


def test_numbers_have_one_value_whatever_the_precision(monkeypatch):
    objective, _, _, table = boxed(resolution=64)
    plain = drawn(objective, table, 20)
    monkeypatch.setattr(
        release_module, "search", lambda *_: Found(np.array([1e12, 0.0]), np.eye(2))
    )
    assert drawn(objective, table, 20) == plain  # all sums are taken deeply


@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_rows_anywhere_in_the_box_keep_the_promise(epsilon):
    objective, limit = one_column(epsilon), float(Fraction(epsilon))
    axis = np.linspace(-9, 9, 121)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    kept = np.array([[1, 0.25]]), np.array([1])
    logs = [
        log_density(points, np.vstack([kept[0], [1, x]]), np.append(kept[1], label), objective)
        for x in (0, 0.3, 0.8, 1)
        for label in (-1, 1)
    ]
    assert max(np.abs(one - other).max() for one in logs for other in logs) <= limit * (1 + 1e-9)


def test_a_start_that_is_0_is_none():
    objective, rows, labels = case("two nested", resolution=16)
    started, *_ = case("two nested", resolution=16, start=(Fraction(0),) * 3)
    table = private(objective, rows, labels)
    assert drawn(objective, table, 20) == drawn(started, table, 20)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(lambda o: HullObjective(
            shape=o.shape, ridge=o.ridge, scale=o.scale / 2, resolution=o.resolution
        ), id="half the noise"),
        pytest.param(lambda o: HullObjective(
            shape=HullShape.of_groups(groups(("exclusive", 2))),
            ridge=o.ridge, scale=o.scale, resolution=o.resolution,
        ), id="a hull that is too small"),
    ],
)  # fmt: skip
def test_other_laws_would_be_found(twin, laws):
    objective, rows, labels = case("two free")
    found = drawn(twin(objective), private(objective, rows, labels), 1500)
    assert p_value(laws["two free"], found) < FALSE_ALARM


def neighbours(rows, labels, shape_rows, *, replaced):
    """Yield the tables that differ in one row."""
    for i in range(len(labels)):
        fewer = np.delete(rows, i, axis=0), np.delete(labels, i)
        if not replaced:
            yield fewer
            continue
        for row in shape_rows:
            for label in (-1, 1):
                yield np.vstack([fewer[0], row]), np.append(fewer[1], label)


def worst_ratio(objective, replaced=True, costs=(1, 1)):
    """Return the largest log ratio of densities over neighbours of some tables, and points."""
    all_rows = np.array([[1, 0], [1, 1]])
    axis = np.linspace(-9, 9, 121)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    worst = 0.0
    for labels in ([1, -1], [-1, -1], [1]):
        rows = all_rows[[0, 1][: len(labels)]]
        here = log_density(points, rows, labels, objective, costs)
        for other in neighbours(rows, np.array(labels), all_rows, replaced=replaced):
            there = log_density(points, *other, objective, costs)
            worst = max(worst, np.abs(here - there).max())
    return worst


def one_column(epsilon, *, changed=2, cost=1, ridge_factor=Fraction(1), start=()):
    shape = HullShape.of_groups(groups(("free", 1)))
    scale = Fraction(changed * cost) / Fraction(epsilon)
    ridge = scale * shape.squared_radius * ridge_factor
    return HullObjective(shape=shape, ridge=ridge, scale=scale, resolution=1, start=start)


@pytest.mark.parametrize("epsilon", ["1/10", "1/2", "2"])
def test_neighbours_differ_by_epsilon_and_hardly_less(epsilon):
    limit = float(Fraction(epsilon))
    assert 0.9 * limit < worst_ratio(one_column(epsilon)) <= limit * (1 + 1e-9)
    alone = worst_ratio(one_column(epsilon, changed=1), replaced=False)
    assert 0.8 * limit < alone <= limit * (1 + 1e-9)
    started = worst_ratio(one_column(epsilon, start=(Fraction(2), Fraction(-3))))
    assert 0.8 * limit < started <= limit * (1 + 1e-9)
    costly = worst_ratio(one_column(epsilon, cost=5), costs=(5, 1))
    assert 0.8 * limit < costly <= limit * (1 + 1e-9)


def test_too_little_noise_or_ridge_would_be_found():
    assert worst_ratio(one_column("2", changed=1)) > 3.5
    assert worst_ratio(one_column("2", cost=1), costs=(5, 1)) > 4
    assert worst_ratio(one_column("2", ridge_factor=Fraction(1, 100))) > 2.5


def test_one_draw_has_one_value_whatever_the_precision(monkeypatch):
    """Rounds that are not needed change no weight, and a search that failed only costs time."""
    objective, rows, labels = case("two nested", resolution=64)
    table = private(objective, rows, labels)
    plain = drawn(objective, table, 40)
    decided, calls = release_module._decided, collections.Counter()

    def late(*arguments):
        calls["rounds"] += 1
        found = decided(*arguments)
        return found if calls["rounds"] % 3 == 0 else None

    monkeypatch.setattr(release_module, "_decided", late)
    entropy = [SeededEntropy(0)]

    def fresh(digits):
        return HullNoise(objective.shape, entropy[0], digits)

    first = tuple(released_weights(table, objective, fresh(64)))
    assert first == plain[0] and calls["rounds"] == 3
    monkeypatch.setattr(release_module, "_decided", decided)
    for failed in (
        Found(np.zeros(3), np.eye(3) * 1e-9),
        Found(np.array([50.0, -80.0, 3.0]), -np.eye(3)),
        Found(np.array([1e12, 0.0, 0.0]), np.eye(3)),
        Found(np.array([1e20, -1e17, 0.0]), np.eye(3)),
        Found(np.array([1e300, 0.0, 1.0]), np.eye(3)),
    ):
        monkeypatch.setattr(release_module, "search", lambda *_, failed=failed: failed)
        assert drawn(objective, table, 3) == plain[:3]


def test_a_hessian_without_an_inverse_ends_nothing():
    """Collinear private columns, and a ridge below the last digit of their curvature."""
    shape = HullShape.of_groups(groups(("free", 2)))
    objective = HullObjective(
        shape=shape, ridge=Fraction(1, 10**9), scale=Fraction(1, 10**9), resolution=256
    )
    points = np.array([[1, 0, 0], [1, 1, 1]], dtype=np.int8)
    weights = np.array([4e7, 2e7])
    table = HullTable(points, weights, weights / 4)
    assert len(released_weights(table, objective, HullNoise(shape, SeededEntropy(0)))) == 3


def test_sums_beyond_two_digits_are_taken_deeply():
    objective, rows, _ = case("two nested", resolution=64)
    few = private(objective, rows, np.array([1, -1, 1], dtype=np.int8))
    weights = np.array([1.0, 2.0, 3.0]) * 2**45
    table = HullTable(few.points, weights, weights / 2)
    assert table.total > MOST_WEIGHT
    found = drawn(objective, table, 2)
    # Half of every row's weight is positive: so much of it leaves no doubt.
    assert set(found) == {(0, 0, 0)}


def test_another_thread_that_lowers_the_precision_changes_nothing():
    objective, rows, labels = case("two free", resolution=64)
    table = private(objective, rows, labels)
    plain = drawn(objective, table, 10, digits=4)
    ended = threading.Event()

    def disturb():
        while not ended.is_set():
            with ctx.workprec(20):
                pass

    disturber = threading.Thread(target=disturb)
    disturber.start()
    try:
        assert drawn(objective, table, 10, digits=4) == plain
    finally:
        ended.set()
        disturber.join()
        ctx.prec = 53


def test_threads_do_not_disturb_each_other():
    """They share the precision of balls; each has the value that it has alone."""
    objective, rows, labels = case("two nested", resolution=64)
    table = private(objective, rows, labels)
    alone = [drawn(objective, table, 5, seed=seed, digits=4) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda seed: drawn(objective, table, 5, seed, 4), range(6)))
    assert found == alone


def test_a_weight_is_cut_off_where_it_ends(monkeypatch):
    monkeypatch.setattr(release_module, "LARGEST_WEIGHT", 3)
    objective, rows, labels = case("one column", resolution=1000)
    found = drawn(objective, private(objective, rows, labels), 20)
    assert LARGEST_WEIGHT == 2**52 and {abs(weight) for q in found for weight in q} == {3}


@pytest.mark.parametrize(
    "fill",
    [lambda shape: (0, 0), lambda shape: (1, 0), lambda shape: (0, 1), lambda shape: (10**9, 1)],
    ids=["empty", "one", "negative", "many"],
)
def test_every_table_has_weights(fill):
    shape = HullShape.of_groups(groups(("free", 2), ("nested", 2)))
    objective = HullObjective(shape=shape, ridge=Fraction(20), scale=Fraction(8), resolution=32)
    positives, negatives = fill(shape)
    points = np.array([[1, 0, 1, 1, 0]], dtype=np.int8)
    table = HullTable(points, np.array([positives + negatives + 0.0]), np.array([positives + 0.0]))
    noise = HullNoise(shape, SystemEntropy())
    assert len(released_weights(table, objective, noise)) == 5
