"""Draws from huge grids: exact against enumeration, invariants, refusals and broken variants."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import pytest
from helpers.oracles import instances
from scipy import stats

from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.enumeration.listing import all_losses
from oracles.errors import (
    InconsistentSolution,
    InvalidOption,
    InvalidProblem,
    NoHypothesis,
    UnsupportedProblem,
)
from oracles.problem.grid import WeightGrid, grid_assignments
from oracles.problem.structure import ColumnGroup, complete_structure
from oracles.problem.zero_one import ZeroOneProblem
from oracles.sampling.draw import sample_hypotheses
from oracles.sampling.elimination import draw_kernels as draw_kernels
from oracles.sampling.elimination.blocks import choose_blocks
from oracles.sampling.elimination.variables import cheapest_variables
from oracles.sampling.options import SamplingOptions
from oracles.sampling.rejection import (
    refinement as partition_refinement,
    sampler as partition_sampling,
    schedule as draw_schedule,
)
from oracles.sampling.rejection.annealing import AnnealedSum
from oracles.sampling.rejection.cell_draws import Candidate
from oracles.sampling.rejection.lower_bound import LowerBound, Region
from oracles.sampling.rejection.partition import MASS_BITS, PartitionCell, integer_mass, split_cell
from oracles.sampling.rejection.refinement import Refinement, Split
from oracles.sampling.rejection.sampler import PartitionSampler
from oracles.sampling.rejection.tightening import Tightened, Tightener

FALSE_ALARM = 1e-6
CAPPED = SamplingOptions(max_rounds=3000, n_threads=1)


def random_problem(seed: int) -> tuple[ZeroOneProblem, list[ColumnGroup], float]:
    """A small problem over random attributes, its structure, and a weight."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 14))
    parts = [np.ones((m, 1), dtype=int)] if rng.random() < 0.8 else []
    groups: list[ColumnGroup] = []
    d = len(parts)
    while d < 5:
        kind = str(rng.choice(["exclusive", "nested", "free"]))
        c = int(rng.integers(1, min(4, 7 - d)))
        level = rng.integers(0, c + 1, m)[:, None]
        places = np.arange(1, c + 1)
        if kind == "exclusive":
            parts.append((level == places).astype(int))
        elif kind == "nested":
            parts.append((level >= places).astype(int))
        else:
            parts.append(rng.integers(0, 2, (m, c)))
        groups.append(ColumnGroup(columns=tuple(range(d, d + c)), kind=kind))  # type: ignore[arg-type]
        d += c
    bound = int(rng.integers(1, 3)) if d == 5 else 1
    values = [tuple(range(-bound, bound + 1))] * d
    if rng.random() < 0.3:
        values[-1] = (-bound, 0, bound + 1)
    positives, negatives = rng.integers(0, 8, m), rng.integers(0, 8, m)
    if rng.random() < 0.2:
        positives[:] = 0
    if rng.random() < 0.3:
        positives[0] += 60
    problem = ZeroOneProblem(
        points=np.hstack(parts),
        positives=positives,
        negatives=negatives,
        grid=WeightGrid(values=tuple(values)),
    )
    return problem, groups, float(rng.choice([0.02, 0.2, 0.5, 1.5]))


def p_value(
    sampler: PartitionSampler | Fresh,
    problem: ZeroOneProblem,
    beta: float,
    n_draws: int,
    seed: int = 0,
) -> float:
    """Chi-square p-value of draws against the enumerated law, rare hypotheses pooled."""
    losses = all_losses(problem)
    law = np.exp(-beta * (losses - losses.min()))
    norms = (grid_assignments(problem.grid.values) ** 2).sum(axis=1)
    if problem.grid.norm_budget is not None:
        law[norms > problem.grid.norm_budget] = 0
    law /= law.sum()
    entropy = SeededEntropy(seed)
    counts = np.zeros(len(law))
    for _ in range(n_draws):
        place = np.ravel_multi_index(
            problem.grid.indices(sampler.draw(entropy)), problem.grid.shape
        )
        counts[place] += 1
    observed, expected, o, e = [], [], 0.0, 0.0
    for i in np.argsort(-law, kind="stable"):
        o, e = o + counts[i], e + n_draws * law[i]
        if e >= 8:
            observed.append(o)
            expected.append(e)
            o = e = 0.0
    if len(expected) < 2:
        return 1.0
    observed[-1] += o
    expected[-1] += e
    statistic = sum((a - b) ** 2 / b for a, b in zip(observed, expected, strict=True))
    return float(stats.chi2.sf(statistic, len(expected) - 1))


def named_problem(name: str) -> tuple[ZeroOneProblem, list[ColumnGroup], float]:
    """Adversarial problems, each with a structure and a weight."""
    rng = np.random.default_rng(7)
    grid = WeightGrid.box(5, 1)
    every = np.array(grid_assignments(((0, 1),) * 4))
    points = np.hstack([np.ones((16, 1), dtype=int), every])
    ones = np.ones(16, dtype=int)
    scattered = rng.integers(0, 2, 16)
    counts = {
        "one huge context": (np.where(every[:, :2].any(axis=1), 1, 40), rng.integers(0, 4, 16)),
        "all points distinct": (rng.integers(0, 2, 16), rng.integers(0, 2, 16)),
        "ties everywhere": (ones, ones + (every.sum(axis=1) % 2)),
        "labels that cancel": (3 * ones, 3 * ones),
        "single class": (5 * ones, 0 * ones),
        "scattered": (20 * scattered + ones, 20 * (1 - scattered) + rng.integers(0, 2, 16)),
        "parity": (9 * (every.sum(axis=1) % 2), 9 * (1 - every.sum(axis=1) % 2)),
    }
    positives, negatives = counts[name]
    grid, beta = (WeightGrid.box(5, 2), 0.1) if name == "scattered" else (grid, 0.3)
    problem = ZeroOneProblem(points=points, positives=positives, negatives=negatives, grid=grid)
    return problem, [], beta


NAMES = (
    "one huge context",
    "all points distinct",
    "ties everywhere",
    "labels that cancel",
    "single class",
    "parity",
    "scattered",
)


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("n_blocks", [None, 3])
@pytest.mark.parametrize("first", range(0, 100, 20))
def test_the_law_is_exact_on_random_problems(first: int, n_blocks: int | None) -> None:
    """Chi-square against enumeration; false alarm at most 1e-6 per problem."""
    for seed in range(first, first + 20):
        problem, structure, beta = random_problem(seed)
        sampler = PartitionSampler(problem, beta, structure, SamplingOptions(n_blocks=n_blocks))
        assert p_value(sampler, problem, beta, 500, seed) > FALSE_ALARM, seed


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("n_blocks", [2, 3, 5])
@pytest.mark.parametrize("name", NAMES)
def test_the_law_is_exact_on_adversarial_problems(name: str, n_blocks: int) -> None:
    """Chi-square against enumeration; false alarm at most 1e-6 per case."""
    problem, structure, beta = named_problem(name)
    sampler = PartitionSampler(problem, beta, structure, SamplingOptions(n_blocks=n_blocks))
    assert p_value(sampler, problem, beta, 1500) > FALSE_ALARM


@pytest.fixture
def threads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_refinement, "_WORTH_A_THREAD", 0.0)
    monkeypatch.setattr(partition_sampling, "_LONG_BATCH", 0.0)
    monkeypatch.setattr(partition_sampling, "_LONG_CHUNK", 3)


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("threads_at_once")
def test_the_law_is_exact_with_threads(name: str, n_threads: int) -> None:
    """Chi-square against enumeration; false alarm at most 1e-6 per case."""
    problem, structure, beta = named_problem(name)
    options = SamplingOptions(n_threads=n_threads)
    sampler = PartitionSampler(problem, beta, structure, options)
    assert p_value(sampler, problem, beta, 1500) > FALSE_ALARM
    assert sampler._refinement.n_threads > 1 or len(sampler._cells) == 1


@pytest.mark.usefixtures("threads_at_once")
def test_threads_repeat_themselves() -> None:
    """Which thread looks at a cell, and when, changes nothing."""
    problem, structure, beta = named_problem("scattered")
    runs = []
    for _ in range(3):
        sampler = PartitionSampler(problem, beta, structure, SamplingOptions(n_threads=2))
        entropy = SeededEntropy(4)
        runs.append([sampler.draw(entropy) for _ in range(50)])
        assert sampler._refinement.n_threads == 2
    assert runs[0] == runs[1] == runs[2]


class Fresh:
    """Draws from a new sampler every time, so that refinement never settles."""

    def __init__(self, kind: type[PartitionSampler], name: str) -> None:
        self._kind, self._problem = kind, named_problem(name)

    def draw(self, entropy: SeededEntropy) -> tuple[int, ...]:
        problem, structure, beta = self._problem
        return self._kind(problem, beta, structure).draw(entropy)


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("name", ["scattered", "parity"])
def test_the_law_is_exact_where_sums_are_logarithms(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chi-square against enumeration; false alarm at most 1e-6 per case."""
    problem, structure, beta = named_problem(name)
    sampler = PartitionSampler(problem, beta, structure)
    for block in sampler._lower_bound.sums:
        monkeypatch.setattr(block, "_least_log", math.inf)
    assert p_value(sampler, problem, beta, 1500) > FALSE_ALARM


def test_very_large_weights_do_not_underflow() -> None:
    problem, structure, _ = named_problem("scattered")
    least = all_losses(problem).min()
    sampler = PartitionSampler(problem, 50, structure)
    for seed in range(20):
        assert problem.loss(sampler.draw(SeededEntropy(seed))) == least


@pytest.mark.statistical
def test_first_draws_of_fresh_samplers_have_the_law_too() -> None:
    """Chi-square over samplers that are used once; false alarm at most 1e-6."""
    problem, _, beta = named_problem("scattered")
    assert p_value(Fresh(PartitionSampler, "scattered"), problem, beta, 500) > FALSE_ALARM


@pytest.mark.statistical
def test_the_norm_budget_is_respected() -> None:
    """Chi-square under a budget; false alarm at most 1e-6."""
    problem, _, beta = named_problem("parity")
    grid = WeightGrid.box(5, 1, norm_budget=4)
    problem = ZeroOneProblem(
        points=problem.points,
        positives=problem.positives,
        negatives=problem.negatives,
        grid=grid,
    )
    assert p_value(PartitionSampler(problem, beta), problem, beta, 400) > FALSE_ALARM


class PoorTightener(Tightener):
    """Returns bounds that are valid but for some cells worse than those it starts from."""

    def run(self, start, region, *, step, n_steps) -> Tightened:  # type: ignore[no-untyped-def]
        found = super().run(start, region, step=step, n_steps=n_steps)
        poor = start is not None and region.low.sum() % 3 != 0
        return replace(found, log_sum=found.log_sum + 5.0) if poor else found


def poor_sampler(kind: type[PartitionSampler], name: str) -> PartitionSampler:
    problem, structure, beta = named_problem(name)
    sampler = kind(problem, beta, structure, CAPPED)
    sampler._refinement.tightener.__class__ = PoorTightener
    return sampler


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("name", ["single class", "scattered"])
def test_worse_fresh_bounds_do_no_harm(name: str) -> None:
    """Chi-square with a poor tightener; false alarm at most 1e-6."""
    problem, _, beta = named_problem(name)
    assert p_value(poor_sampler(PartitionSampler, name), problem, beta, 1500) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("error", [-50.0, 0.0, 50.0])
def test_estimates_right_or_wrong_change_no_law(
    error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chi-square where an estimate steers from the start; false alarm at most 1e-6 each."""
    original = AnnealedSum.improve
    steered = []

    def improve(self: AnnealedSum) -> float:
        steered.append(error)
        self.log_sum = original(self) + error
        return self.log_sum

    monkeypatch.setattr(AnnealedSum, "improve", improve)
    monkeypatch.setattr(draw_schedule, "_LONG", 0.0)
    problem, structure, beta = named_problem("scattered")
    sampler = PartitionSampler(problem, beta, structure, CAPPED)
    assert p_value(sampler, problem, beta, 2000) > FALSE_ALARM
    assert steered and sampler.diagnostics.gap is not None


class ShallowRefinement(Refinement):
    """Splits little, and remembers whose fresh bound was no better than the parent's."""

    worse: tuple[PartitionCell, ...] = ()
    most_splits = 1

    def _split(self, cell: PartitionCell, found: Split) -> None:
        if cell.depth < self.most_splits:
            super()._split(cell, found)

    def _tighten(self, cell: PartitionCell, found: Tightened) -> None:
        before = cell.log_mass
        super()._tighten(cell, found)
        if cell.log_mass == before:
            self.worse = (*self.worse, cell)


class Shallow(PartitionSampler):
    """Not a mistake: stops refining early, so that cells keep accepting little."""

    most_splits = 1

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._refinement.__class__ = ShallowRefinement
        self._refinement.most_splits = self.most_splits  # type: ignore[attr-defined]


class RefinesOnPendingDraw(Shallow):
    """Mistake: refines on an unlikely draw before its accept test, and draws again."""

    def _accepts(self, cell: PartitionCell, candidate: Candidate, bits: RandomBits) -> bool:
        return candidate.chance > 0.5 and super()._accepts(cell, candidate, bits)


class AbandonsSlowCells(Shallow):
    """Mistake: gives a round up if its cell accepts less than the others."""

    def _accepts(self, cell: PartitionCell, candidate: Candidate, bits: RandomBits) -> bool:
        slow = cell.accepted * self._trials < 0.9 * self._accepted * cell.trials
        return not (slow and cell.trials > 20) and super()._accepts(cell, candidate, bits)


class AbandonsWorseBounds(Shallow):
    """Mistake: gives a round up if its cell's fresh bound was worse than the parent's."""

    most_splits = 3

    def _accepts(self, cell: PartitionCell, candidate: Candidate, bits: RandomBits) -> bool:
        assert isinstance(self._refinement, ShallowRefinement)
        worse = any(cell is other for other in self._refinement.worse)
        return not worse and super()._accepts(cell, candidate, bits)


def drops_tiny_children(cell, row, region, law, slack):  # type: ignore[no-untyped-def]
    """Mistake: leaves out the lighter child."""
    children = split_cell(cell, row, region, law, slack)
    return [max(children, key=lambda child: child.mass)]


def truncated_marginals(cell, row, region, law, slack):  # type: ignore[no-untyped-def]
    """Mistake: child masses from a law whose small entries were pruned."""
    law = np.where(law < 0.2 * law.max(), 1e-3 * law, law)
    return split_cell(cell, row, region, law, slack)


@pytest.mark.statistical
def test_refining_little_does_no_harm() -> None:
    """The foil of the next test: chi-square, false alarm at most 1e-6."""
    problem, structure, beta = named_problem("scattered")
    assert p_value(Shallow(problem, beta, structure, CAPPED), problem, beta, 2000) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.long
@pytest.mark.parametrize("kind", [RefinesOnPendingDraw, AbandonsSlowCells])
def test_broken_rounds_are_caught(kind: type[PartitionSampler]) -> None:
    """The chi-square that a correct sampler passes rejects each of these mistakes."""
    problem, structure, beta = named_problem("scattered")
    assert p_value(kind(problem, beta, structure, CAPPED), problem, beta, 2000) <= FALSE_ALARM


@pytest.mark.statistical
def test_abandoned_rounds_are_caught() -> None:
    """The chi-square that the poor tightener passes rejects abandoning worse bounds."""
    problem, _, beta = named_problem("scattered")
    sampler = poor_sampler(AbandonsWorseBounds, "scattered")
    assert p_value(sampler, problem, beta, 1000) <= FALSE_ALARM


@pytest.mark.statistical
def test_dropped_children_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chi-square rejects a partition that leaves hypotheses out."""
    monkeypatch.setattr(partition_refinement, "split_cell", drops_tiny_children)
    problem, structure, beta = named_problem("scattered")
    sampler = PartitionSampler(problem, beta, structure, CAPPED)
    assert p_value(sampler, problem, beta, 2000) <= FALSE_ALARM


def test_truncated_marginals_break_an_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_refinement, "split_cell", truncated_marginals)
    problem, structure, beta = named_problem("scattered")
    sampler = PartitionSampler(problem, beta, structure)
    entropy = SeededEntropy(0)
    with pytest.raises(InconsistentSolution):
        for _ in range(3000):
            sampler.draw(entropy)


def test_a_bound_above_the_loss_breaks_an_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    original = LowerBound.bound

    def inflated(self, logs, region, shares):  # type: ignore[no-untyped-def]
        bound = original(self, logs, region, shares)
        bound.costs[:] *= 1.5
        return bound

    monkeypatch.setattr(LowerBound, "bound", inflated)
    problem, structure, beta = named_problem("one huge context")
    entropy = SeededEntropy(0)
    with pytest.raises(InconsistentSolution):
        sampler = PartitionSampler(problem, beta, structure)
        for _ in range(500):
            sampler.draw(entropy)


def test_draws_from_outside_a_cell_are_never_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No choice has probability 0; here draws leave their cell half of the time."""
    problem, structure, _ = named_problem("scattered")
    sampler = PartitionSampler(problem, 0.001, structure)
    lower_bound, whole, root = sampler._lower_bound, sampler._refinement.whole, sampler._cells[0]
    original, bits = lower_bound.log_sum, RandomBits(SeededEntropy(1))
    monkeypatch.setattr(lower_bound, "log_sum", lambda bound, _: original(bound, whole))
    low = whole.low.copy()
    row = int(np.argmax(lower_bound.sums[0].contexts.sum(axis=1)))
    low[row] = -lower_bound.spans[0][0]  # a score of at least 0
    counts = []
    for region in (whole, Region(low=low, high=whole.high)):
        inside, outside = 0, 0
        (draws,) = sampler._cell_draws
        draws.forget()
        screened = draws.look(draws.job(root, region, np.arange(400), bits))
        for candidate in draws.candidates(screened, 200, bits):
            assert candidate.place < 200
            weights = np.array(candidate.hypothesis)
            indices = instances.score_indices(
                lower_bound, [weights[c] for c in lower_bound.columns]
            )
            inside += bool(indices[row] >= low[row])
            outside += bool(indices[row] < low[row])
        counts.append((inside, outside))
    assert min(counts[0]) > 0
    assert counts[1][0] > 0
    assert counts[1][1] == 0


def test_masses_that_do_not_add_up_are_refused() -> None:
    problem, structure, beta = named_problem("ties everywhere")
    sampler = PartitionSampler(problem, beta, structure)
    sampler.draw(SeededEntropy(0))
    sampler._cells[0].mass += 1
    with pytest.raises(InconsistentSolution, match="add up"):
        sampler.draw(SeededEntropy(1))


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("n_blocks", [2, 3])
def test_bounds_never_exceed_losses_and_sums_match_enumeration(seed: int, n_blocks: int) -> None:
    problem, structure, beta = random_problem(seed)
    blocks = choose_blocks(
        complete_structure(structure, problem.n_features), problem.grid, n_blocks
    )
    lower_bound = LowerBound(problem, beta, blocks)
    if not lower_bound.n_points:
        return
    rng = np.random.default_rng(seed)
    region = lower_bound.whole()
    shares = np.zeros(lower_bound.shape)
    logs = rng.normal(size=lower_bound.shape)
    if n_blocks == 2:  # the second block's logs are 0 by convention
        logs[:, lower_bound.width : 2 * lower_bound.width] = 0
    bound = lower_bound.bound(logs, region, shares)
    log_sum = lower_bound.log_sum(bound, region)
    certified = []
    for weights in grid_assignments(problem.grid.values):
        parts = [weights[columns] for columns in lower_bound.columns]
        certified.append(lower_bound.certified(bound, instances.score_indices(lower_bound, parts)))
    assert (np.array(certified) <= all_losses(problem) + 1e-9).all()
    expected = np.logaddexp.reduce(-beta * np.array(certified))
    assert log_sum == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("least_log", [-300.0, math.inf])
@pytest.mark.parametrize("seed", range(12))
def test_marginals_match_enumeration(seed: int, least_log: float) -> None:
    """With sums in doubles, and redone in logarithms."""
    problem, structure, beta = random_problem(seed)
    blocks = choose_blocks(complete_structure(structure, problem.n_features), problem.grid, 2)
    lower_bound = LowerBound(problem, beta, blocks, least_log=least_log)
    if not lower_bound.n_points:
        return
    region = lower_bound.whole()
    bound = lower_bound.bound(np.zeros(lower_bound.shape), region, np.zeros(lower_bound.shape))
    log_sum = lower_bound.log_sum(bound, region)
    lower_bound.take_laws()
    expected = np.zeros_like(lower_bound.law)
    rows = np.arange(len(expected))
    for weights in grid_assignments(problem.grid.values):
        indices = instances.score_indices(
            lower_bound, [weights[columns] for columns in lower_bound.columns]
        )
        expected[rows, indices] += math.exp(
            -beta * lower_bound.certified(bound, indices) - log_sum
        )
    np.testing.assert_allclose(lower_bound.law, expected, atol=1e-10)


def test_nested_columns_may_form_a_chain() -> None:
    # Nine levels enumerated jointly are 19,683 states; as a chain they are cheap.
    contexts = np.tri(10, 9, -1, dtype=np.int64)
    groups = [ColumnGroup(columns=tuple(range(9)), kind="nested")]
    variables, _, _ = cheapest_variables([(-1, 0, 1)] * 9, groups, contexts)
    assert [v.size for v in variables] == [3, 5, 7, 9, 11, 13, 15, 17, 19]


def test_threads_follow_what_numba_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, structure, beta = named_problem("parity")
    for allowed, expected in ((1, 1), (2, 2), (64, 2)):
        monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", allowed)
        sampler = PartitionSampler(problem, beta, structure)
        assert sampler._refinement.most_threads == expected


@pytest.mark.parametrize(
    ("whole", "words", "expected"),
    [
        (5, [0, 1], (1, 2)),  # 2^64 is 1 modulo 5: the word 0 is left out
        (5, [7], (2, 1)),
        (3 << 62, [(1 << 62) - 1, 1 << 62], (1 << 62, 2)),
        (3 << 62, [(1 << 64) - 1], ((1 << 62) - 1, 1)),
        (1, [0], (0, 1)),
        (5, [0, 0], (0, -1)),
    ],
)
def test_tickets_are_words_modulo_the_whole(
    whole: int, words: list[int], expected: tuple[int, int]
) -> None:
    """As many words lead to one ticket as to any other."""
    drawn = draw_kernels._threshold(np.uint64(whole), np.array(words, dtype=np.uint64), 0)
    assert drawn == expected


def test_points_whose_labels_cancel_leave_a_uniform_law() -> None:
    problem, structure, beta = named_problem("labels that cancel")
    sampler = PartitionSampler(problem, beta, structure)
    assert len({sampler.draw(SeededEntropy(s)) for s in range(200)}) > 100


def test_an_empty_table_is_sampled_uniformly() -> None:
    problem = ZeroOneProblem(
        points=np.zeros((0, 30), dtype=int), positives=[], negatives=[], grid=WeightGrid.box(30, 1)
    )
    drawn = sample_hypotheses(problem, 1, entropy=SeededEntropy(0))
    assert problem.grid.contains(drawn.hypothesis)
    assert 0 < drawn.total_variation_bound < 1e-29


def test_masses_are_rounded_up() -> None:
    for log_mass in (-177.0, -3.3, -1e-9, 0.0, 0.5):
        mass = integer_mass(log_mass)
        assert math.log(mass) - MASS_BITS * math.log(2) >= log_mass - 1e-11
        assert math.log(mass) - MASS_BITS * math.log(2) <= log_mass + 0.7
    assert integer_mass(-1e9) == 1


def test_blocks_depend_on_public_facts_only() -> None:
    problem, structure, beta = random_problem(3)
    other = ZeroOneProblem(
        points=problem.points[:1],
        positives=problem.positives[:1],
        negatives=problem.negatives[:1],
        grid=problem.grid,
    )
    first, second = (PartitionSampler(p, beta, structure) for p in (problem, other))
    assert first._lower_bound.columns == second._lower_bound.columns


def test_refusals() -> None:
    problem, structure, beta = random_problem(3)
    entropy = SeededEntropy(0)
    with pytest.raises(InvalidOption, match="beta must be >= 0"):
        sample_hypotheses(problem, -1, entropy=entropy)
    with pytest.raises(NoHypothesis, match="max_rounds=0"):
        sample_hypotheses(
            problem,
            beta,
            structure=structure,
            entropy=entropy,
            options=SamplingOptions(max_rounds=0),
        )
    wrong = ZeroOneProblem(
        points=[[1, 1, 1]], positives=[1], negatives=[0], grid=WeightGrid.box(3, 1)
    )
    with pytest.raises(InvalidProblem, match="declared exclusive"):
        sample_hypotheses(
            wrong, 1, entropy=entropy, structure=[ColumnGroup(columns=(1, 2), kind="exclusive")]
        )
    with pytest.raises(InvalidOption, match="each at most once"):
        sample_hypotheses(wrong, 1, entropy=entropy, structure=[ColumnGroup(columns=(1, 7))])
    wide = ZeroOneProblem(
        points=np.tri(25, dtype=int),
        positives=np.ones(25, dtype=int),
        negatives=np.zeros(25, dtype=int),
        grid=WeightGrid.box(25, 500),
    )
    nested = [ColumnGroup(columns=tuple(range(25)), kind="nested")]
    with pytest.raises(UnsupportedProblem, match="table entries"):
        sample_hypotheses(wide, 1, entropy=entropy, structure=nested)


def test_beta_is_exact() -> None:
    problem, structure, _ = random_problem(3)
    sampler = PartitionSampler(problem, Fraction(1, 3), structure)
    assert sampler._beta == Fraction(1, 3)
