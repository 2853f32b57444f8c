"""The block bound forced on: the contract, limits, interrupts, and a bound that lies."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from oracles import Limit, Perturbation, SolveOptions, Termination, WeightGrid, ZeroOneProblem
from oracles.branch_and_bound.block_bound import (
    kernels,
    link_kernels,
    links,
    pricing,
    product_kernels,
    race,
    tree_root as root,
    tree_search as tree,
)
from oracles.branch_and_bound.block_bound.tree_root import RootBlocks
from oracles.branch_and_bound.kernels import branching
from oracles.branch_and_bound.local_search import new_walk
from oracles.branch_and_bound.oracle import BranchAndBoundOracle
from oracles.branch_and_bound.reduction import reduce_problem, whole_domain
from oracles.branch_and_bound.search import new_search
from oracles.branch_and_bound.warm_up import _Example
from oracles.testing.brute_force import brute_force
from oracles.testing.conformance import check_oracle
from oracles.testing.sample_problems import random_problem


def plain(seed, n_features=12, n_points=200, epsilon=None):
    """Random sparse plain columns whose labels hardly depend on them."""
    rng = np.random.default_rng(seed)
    points = (rng.random((n_points, n_features)) < 0.4).astype(int)
    points[:, 0] = 1
    perturbation = None
    if epsilon is not None:
        tables = np.floor(rng.exponential(2 * n_features / epsilon, (n_features, 3)) * 1024)
        perturbation = Perturbation.separable(tables.astype(np.int64), unit=2.0**-10)
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 5, n_points),
        negatives=rng.integers(0, 5, n_points),
        grid=WeightGrid.box(n_features, 1),
        perturbation=perturbation,
    )


def forced():
    return BranchAndBoundOracle(block_bound="always")


def keep_whole_tree(monkeypatch):
    """Hand no part to the depth-first search but single hypotheses."""
    monkeypatch.setattr(tree, "_FIRST_REACH", 0.0)
    monkeypatch.setattr(tree, "_REACH_STEP", 0.0)


def test_contract():
    report = check_oracle(forced(), n_random=120)
    assert report.n_proved == report.n_checked


@pytest.mark.slow
@pytest.mark.long(3)
@pytest.mark.parametrize("seed", range(1, 19))
@pytest.mark.parametrize("whole_tree", [True, False])
def test_contract_at_length(monkeypatch, seed, whole_tree):
    if whole_tree:
        keep_whole_tree(monkeypatch)
    report = check_oracle(forced(), n_random=440, seed=seed)  # two thirds are on a lattice
    assert report.n_proved == report.n_checked


@pytest.mark.parametrize("kind", ["plain", "separable", "blocks", "sphere"])
def test_the_tree_alone_proves_optima(monkeypatch, kind):
    keep_whole_tree(monkeypatch)
    for seed in range(25):
        problem = random_problem(np.random.default_rng([seed, 21]), kind)
        claim = forced().solve(problem, SolveOptions())
        assert claim.objective == claim.dual_bound == min(brute_force(problem).values())


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_both_bounds_prove_the_same_optimum(epsilon):
    problem = plain(0, n_features=9, n_points=120, epsilon=epsilon)
    ours = forced().solve(problem, SolveOptions())
    theirs = BranchAndBoundOracle(block_bound="never").solve(problem, SolveOptions())
    assert ours.termination is theirs.termination is Termination.OPTIMAL
    assert ours.objective == theirs.objective == ours.dual_bound


def test_irregular_weights_and_negative_entries_agree_with_the_other_bound():
    rng = np.random.default_rng(5)
    values = ((-7, -1, 0, 4), (-2, 3), (0, 1, 5), (-3, 0, 3), (1,), (-1, 2))
    problem = ZeroOneProblem(
        points=rng.integers(-2, 3, (60, 6)),
        positives=rng.integers(0, 9, 60),
        negatives=rng.integers(0, 9, 60),
        grid=WeightGrid(values=values),
    )
    claim = forced().solve(problem, SolveOptions())
    assert claim.objective == claim.dual_bound == min(brute_force(problem).values())


def test_a_lying_block_bound_is_caught_by_the_kit(monkeypatch):
    """Dear shares count twice in their block, although the remainder gave them once."""
    honest = pricing.price_states

    def lying(arrays, share, *rest):
        twice = np.where(share > 0, 2 * share, share).astype(np.int32)
        return honest(arrays, twice, *rest)

    # With good hypotheses known from the start a false bound would have nothing to cut off.
    monkeypatch.setattr("oracles.branch_and_bound.oracle._KICK_WORK", 0)
    check_oracle(forced(), n_random=120)
    monkeypatch.setattr(pricing, "price_states", lying)
    with pytest.raises(AssertionError, match="must"):
        check_oracle(forced(), n_random=120)


def test_links_whose_credit_is_lost_are_caught_by_the_kit(monkeypatch):
    """What contexts charge for a column's values is not given back where the column is at home."""

    def lying(links, arrays, work):
        told = honest(links, arrays, work)
        for priced in told:
            np.maximum(priced.cost, 0, out=priced.cost)
            priced.table[:] = np.maximum(priced.table, 0) + np.abs(priced.table)
        return told

    honest = links.Links.priced
    monkeypatch.setattr("oracles.branch_and_bound.oracle._KICK_WORK", 0)
    monkeypatch.setattr(links.Links, "priced", lying)
    with pytest.raises(AssertionError, match="must"):
        check_oracle(forced(), n_random=120)


@pytest.mark.timing
def test_a_time_limit_leaves_an_honest_bound():
    problem = plain(1, n_features=30, n_points=1500)
    seen = []
    options = SolveOptions(time_limit=1.0, progress=lambda u, b, s: seen.append((u, b, s)))
    claim = forced().solve(problem, options)
    assert claim.limit is Limit.TIME
    assert claim.termination is Termination.FEASIBLE
    assert claim.dual_bound < claim.objective == problem.objective(claim.hypothesis)
    assert all(bound <= claim.objective for _, bound, _ in seen)
    bounds = [bound for _, bound, _ in seen]
    assert bounds == sorted(bounds)


def test_a_gap_is_kept():
    problem = plain(2, n_features=9, n_points=120, epsilon=1.0)
    optimum = forced().solve(problem, SolveOptions()).objective
    loose = forced().solve(problem, SolveOptions(absolute_gap=9.0))
    assert loose.termination is Termination.OPTIMAL
    assert loose.objective - loose.dual_bound <= 9 * 1024
    assert loose.dual_bound <= optimum <= loose.objective


def test_an_interrupt_in_the_callback_comes_out():
    def stop(upper, lower, seconds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        forced().solve(plain(3, n_features=25, n_points=800), SolveOptions(progress=stop))


def test_the_course_repeats():
    problem = plain(4, n_features=11, n_points=150)
    first, second = (forced().solve(problem, SolveOptions()) for _ in range(2))
    assert (first.hypothesis, first.nodes) == (second.hypothesis, second.nodes)


def test_all_kernels_are_compiled_before_the_search():
    """Compiling takes long, cannot be interrupted, and must not count as time of the search."""
    tree.compile_kernels(_Example().search)
    names = "price add_gradient step_shares least_by_value add_excess".split()
    linked = "charge_levels pull_messages step_messages add_up add_tables".split()
    found = [getattr(kernels, n) for n in names] + [getattr(link_kernels, n) for n in linked]
    found += [product_kernels.fill_parts, product_kernels.join_parts]
    known = {f: len(f.signatures) for f in found}
    assert all(known.values())
    for epsilon in (None, 1.0):
        forced().solve(plain(7, n_features=9, n_points=90, epsilon=epsilon), SolveOptions())
    assert {f: len(f.signatures) for f in found} == known


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_threads_change_no_figure(monkeypatch, epsilon):
    monkeypatch.setattr(pricing, "_WORTH_SHARING", 0)
    problem = plain(6, n_features=9, n_points=120, epsilon=epsilon)
    one, two = (forced().solve(problem, SolveOptions(threads=n)) for n in (1, 2))
    assert (one.hypothesis, one.dual_bound) == (two.hypothesis, two.dual_bound)


def test_an_interrupt_ends_the_threads(monkeypatch):
    monkeypatch.setattr(pricing, "_WORTH_SHARING", 0)
    before = set(threading.enumerate())

    def stop(upper, lower, seconds):
        raise KeyboardInterrupt

    problem = plain(3, n_features=25, n_points=800)
    with pytest.raises(KeyboardInterrupt):
        forced().solve(problem, SolveOptions(threads=2, progress=stop))
    # Threads of earlier tests may end meanwhile.
    assert set(threading.enumerate()) <= before


def test_a_stalled_search_is_taken_over(monkeypatch):
    """Without patience the depth-first search hands over at its first nodes."""

    class TakenOver(Exception):
        pass

    monkeypatch.setattr("oracles.branch_and_bound.block_bound.race._PATIENCE_WORK", 0)
    monkeypatch.setattr("oracles.branch_and_bound.block_bound.race._HOPEFUL", 1e9)
    old = tree.BlockTree.run

    def watched(self, n_nodes, stop):
        old(self, n_nodes, lambda: True)
        raise TakenOver

    monkeypatch.setattr(tree.BlockTree, "run", watched)
    with pytest.raises(TakenOver):
        BranchAndBoundOracle().solve(plain(5, n_features=20, n_points=600), SolveOptions())


@pytest.mark.parametrize(("parts", "stalls"), [((0.06, 0.068), True), ((0.06, 0.07), False)])
def test_a_search_that_slows_down_counts_as_stalled(monkeypatch, parts, stalls):
    """Twice the nodes must do 1.15 times the part, though the part itself is hopeful."""
    told = iter(parts)
    monkeypatch.setattr(race, "_PATIENCE_WORK", 0)
    monkeypatch.setattr(race, "explored", lambda search: next(told))
    search = _Example().search
    judged = race.Race(search, lambda: search, race.BlockBoundUse.AUTO, lambda: False)
    found = []
    for n_nodes in (50, 100):
        search.state[branching.NODES] = n_nodes
        found.append(judged._stalls())
    assert found == [False, stalls]


def one_hot(seed, n_groups=4, n_points=120):
    """Random points that use one column of each group of three."""
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, 3, (n_points, n_groups))
    points = (chosen[:, :, None] == np.arange(3)).astype(int).reshape(n_points, -1)
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 5, n_points),
        negatives=rng.integers(0, 5, n_points),
        grid=WeightGrid.box(3 * n_groups, 1),
    )


def race_on(problem):
    """Return a race at the root of a problem, and its depth-first search."""
    reduction = reduce_problem(problem)
    search = new_search(reduction, new_walk(reduction, 0), 0)
    return race.Race(search, lambda: search, race.BlockBoundUse.AUTO, lambda: False), search


@pytest.mark.parametrize(
    ("problem", "part", "stalls"),
    [
        (plain(0), 0.04, True),
        (plain(0), 0.06, False),
        (one_hot(0), 0.04, False),
        (one_hot(0), 0.001, True),
    ],
    ids=["plain-slow", "plain-fast", "one-hot-fast", "one-hot-slow"],
)
def test_more_is_asked_of_the_first_search_where_columns_overlap(
    monkeypatch, problem, part, stalls
):
    monkeypatch.setattr(race, "_PATIENCE_WORK", 0)
    monkeypatch.setattr(race, "explored", lambda search: part)
    judged, search = race_on(problem)
    search.state[branching.NODES] = 50
    assert judged._stalls() is stalls


@pytest.mark.parametrize(
    ("part", "gained", "taken"),
    [(0.1, 0.1, False), (0.1, 0.3, True), (1e-4, 0.1, True), (1e-4, 0.0, False)],
)
def test_a_hopeless_search_gives_way_to_any_better_bound(monkeypatch, part, gained, taken):
    """Else the tree must close a fifth of the gap more than the depth-first search has."""
    monkeypatch.setattr(race, "explored", lambda search: part)
    judged, search = race_on(plain(0))
    search.run(1)
    search.state[branching.UPPER] = search.lower_bound() + 1000
    upper, bound = search.upper, search.lower_bound() + int(1000 * gained)
    tree_so_far = SimpleNamespace(upper=upper, best=search.best, lower_bound=lambda: bound)
    judged._tree = tree_so_far
    judged._judge()
    assert judged._on_tree is taken


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("worth", "few", "polished"), [(1.0, 0.0, 1), (0.0, 0.0, root._N_STAGES), (0.0, 1e3, 1)]
)
def test_first_blocks_that_cannot_grow_are_polished(monkeypatch, worth, few, polished):
    """Every ascent starts where the one before ended, again where that paid; the bound holds.

    Once only where few hypotheses are left.
    """
    monkeypatch.setattr(root, "_WORTH", worth)
    monkeypatch.setattr(root, "_FEW_LEFT", few)
    monkeypatch.setattr(tree, "_FIRST_REACH", 0.0)
    courses = []
    honest = tree.raise_bound

    def watched(node, target, course, *rest):
        before = node.bound
        stopped = honest(node, target, course, *rest)
        assert node.bound >= before
        courses.append(course)
        return stopped

    monkeypatch.setattr(tree, "raise_bound", watched)
    monkeypatch.setattr(root, "widened", lambda *_: None)
    for seed in range(12):
        problem = plain(seed, n_features=7, n_points=60)
        courses.clear()
        search = race_on(problem)[1]
        search.state[branching.UPPER] = 2**40
        grown = tree.BlockTree(search)
        box = grown._bounded_root(whole_domain(search.reduction), 2**40, lambda: False)
        assert courses == [root._FIRST_STAGE, *[root._POLISH] * polished]
        assert box.bound <= min(brute_force(problem).values()) * search.reduction.model.scale


@pytest.mark.parametrize(("columns", "asked"), [(4, (3**11, 7)), (60, (3**9, 10))])
def test_more_and_smaller_first_blocks_where_few_hold_the_columns_too_seldom(
    monkeypatch, columns, asked
):
    seen = []

    def watched(blocks, *how):
        seen.append(how)
        return blocks.without()

    monkeypatch.setattr(RootBlocks, "overlapping", watched)
    monkeypatch.setattr(root, "_N_STAGES", 0)
    search = race_on(plain(0, n_features=columns, n_points=80))[1]
    search.state[branching.UPPER] = 2**40
    tree.BlockTree(search)._bounded_root(whole_domain(search.reduction), 2**40, lambda: False)
    assert seen == [asked]


@pytest.mark.parametrize(
    ("problem", "proved", "looks"),
    [(plain(0), 0.4, 3), (plain(0), 0.6, 0), (plain(0, epsilon=1.0), 0.4, 0)],
    ids=["little", "most", "perturbed"],
)
def test_the_local_search_goes_on_while_little_is_proved(problem, proved, looks):
    """It is asked when the tree has 1, 2 and 4 nodes, then 7; what it finds is passed on."""
    judged, search = race_on(problem)
    search.run(1)
    base = search.reduction.base
    search.state[branching.UPPER] = base + 10**6
    asked, told = [], []

    def improve(look):
        asked.append(look)
        return search.upper - 1, search.best

    judged._improve = improve
    judged._search = SimpleNamespace(
        upper=search.upper,
        best=search.best,
        reduction=search.reduction,
        state=search.state,
        lower_bound=lambda: base + int(proved * 10**6),
    )
    tree_so_far = SimpleNamespace(
        upper=search.upper, lower_bound=lambda: base, tell=lambda *found: told.append(found)
    )
    judged._tree = tree_so_far
    for n in range(1, 6):
        judged._look_again(tree_so_far, n)
    assert asked == [2, 3, 4][:looks]
    assert len(told) == looks


@pytest.mark.parametrize("better", [False, True])
def test_the_roots_later_stages_aim_below_what_is_found_after_the_first(monkeypatch, better):
    monkeypatch.setattr(tree, "_FIRST_REACH", 0.0)
    monkeypatch.setattr(root, "_WORTH", 1.0)
    targets, bounds = [], []
    honest = tree.raise_bound

    def watched(node, target, *rest):
        targets.append(target)
        return honest(node, target, *rest)

    monkeypatch.setattr(tree, "raise_bound", watched)
    search = race_on(plain(0, n_features=7, n_points=60))[1]
    search.state[branching.UPPER] = 2**40

    def improve(grown, bound):
        bounds.append(bound)
        if better:
            grown.tell(2**39, search.best)

    grown = tree.BlockTree(search, improve=improve)
    box = grown._bounded_root(whole_domain(search.reduction), grown.target, lambda: False)
    assert len(bounds) == 1
    assert bounds[0] <= box.bound
    assert targets[0] - targets[-1] == (2**39 if better else 0)


@pytest.mark.parametrize(("epsilon", "thins"), [(0.1, True), (2.0, False)])
def test_much_noise_thins_the_first_blocks_out(monkeypatch, epsilon, thins):
    """One pricing then leaves few states; the tree goes on from there, to the same optimum."""
    keep_whole_tree(monkeypatch)
    monkeypatch.setattr(root, "_ROOT_STATES", 3**4)
    monkeypatch.setattr(root, "_FEWEST_STATES", 3**4)
    problem = plain(2, n_features=12, n_points=400, epsilon=epsilon)
    best = BranchAndBoundOracle(block_bound="never").solve(problem, SolveOptions())
    part = race_on(problem)[1]
    optimum = best.objective * part.reduction.model.scale
    part.state[branching.UPPER] = optimum + part.reduction.model.scale
    grown = tree.BlockTree(part)
    assert grown.thins_out(lambda: False) is thins
    while not grown.run(1000, lambda: False):
        pass
    assert grown.upper == optimum


@pytest.mark.parametrize(
    ("epsilon", "thins", "stalls"),
    [(1.0, True, True), (1.0, False, False), (None, True, False)],
)
def test_a_search_with_noise_gives_way_where_blocks_thin_out(monkeypatch, epsilon, thins, stalls):
    """Only at the first judgement, while little is done, and never without noise."""
    monkeypatch.setattr(race, "_PATIENCE_WORK", 0)
    monkeypatch.setattr(race, "explored", lambda search: 0.1)
    asked = []

    def thins_out(self, stop):
        asked.append(self)
        return thins

    monkeypatch.setattr(tree.BlockTree, "thins_out", thins_out)
    judged, search = race_on(plain(0, epsilon=epsilon))
    search.state[branching.NODES] = 50
    assert judged._stalls() is stalls
    assert len(asked) == (epsilon is not None)
    if stalls:
        judged._start_tree()
        assert judged._tree is asked[0]


def test_a_tree_learns_better_hypotheses_only():
    problem = plain(3)
    part = race_on(problem)[1]
    part.state[branching.UPPER] = part.lower_bound() + 1000
    grown = tree.BlockTree(part)
    known, better = grown.upper, np.ones_like(part.best)
    grown.tell(known + 1, 0 * better)
    assert grown.upper == known
    grown.tell(known - 1, better)
    assert grown.upper == known - 1
    assert (grown.best == better).all()
