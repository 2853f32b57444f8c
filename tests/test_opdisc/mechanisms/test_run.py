"""What a run does and in which order, by an oracle and a ledger that keep a diary."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.mechanisms.base import NoiseSpec
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.objective_perturbation import one_hot_mechanism
from opdisc.mechanisms.permute_and_flip import AStarPermuteAndFlipMechanism
from opdisc.mechanisms.receipts import make_receipt, trusted_name
from opdisc.mechanisms.run import run_mechanism
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles.enumeration.listing import EnumerationOracle
from oracles.errors import UnsupportedProblem
from oracles.interface import HandoverOracle, SolveOptions, get_oracle
from oracles.problem import Perturbation, WeightGrid, ZeroOneProblem

GRID = WeightGrid.box(2, 1)
PROBLEM = ZeroOneProblem(points=[[1, 0], [1, 1]], positives=[5, 1], negatives=[2, 7], grid=GRID)
PUBLIC = GridPublic(
    params=PrivacyParams(epsilon=1.0, delta=0.0),
    relation=NeighboringRelation.REPLACE_ONE,
    grid=GRID,
)


class Diary(EnumerationOracle):
    """Enumeration that writes down what it is asked, and may give away a gap."""

    name = "diary"

    def __init__(self, gap_in_steps: float = 0.0, takes_tables: bool = True) -> None:
        self.pages: list[object] = []
        self.gap_in_steps, self.takes_tables = gap_in_steps, takes_tables

    def supports(self, problem):
        self.pages.append("bare" if problem.perturbation is None else "table")
        return self.takes_tables or problem.perturbation is None

    def solve(self, problem, options):
        self.pages.append(options)
        claim = super().solve(problem, options)
        return replace(claim, dual_bound=claim.objective - self.gap_in_steps)


class Book:
    """A ledger in memory that shares the oracle's diary."""

    def __init__(self, pages: list[object]) -> None:
        self.pages = pages

    def spend(self, receipt):
        self.pages.append("spent")


class Draws(ExponentialMechanism):
    """A sampling mechanism that answers what it is told to."""

    answer: object = (1, -1)

    def draw(self, problem, spec, entropy):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def run(mechanism=None, problem=PROBLEM, public=PUBLIC, **settings):
    return run_mechanism(
        mechanism or one_hot_mechanism(2), problem, public, entropy=SystemEntropy(), **settings
    )


def test_the_budget_is_recorded_after_the_checks_and_before_the_search():
    oracle = Diary()
    run(oracle=oracle, ledger=Book(oracle.pages))
    at = oracle.pages.index("spent")
    before, after = oracle.pages[:at], oracle.pages[at + 1 :]
    assert before[:2] == ["bare", "table"] and len(before) > 2  # looked at, then tried on a toy
    # Only what follows is the search; nothing is recorded twice.
    assert "spent" not in after and isinstance(after[-1], SolveOptions)


def test_limits_reach_the_oracle_with_the_allowance_as_the_gap():
    oracle = Diary()
    run(one_hot_mechanism(2, allowance=0.25), oracle=oracle, options=SolveOptions(time_limit=50))
    *_, options = [page for page in oracle.pages if isinstance(page, SolveOptions)]
    assert (options.time_limit, options.absolute_gap) == (50, 0.25)
    oracle = Diary()
    run(oracle=oracle)
    *_, options = [page for page in oracle.pages if isinstance(page, SolveOptions)]
    assert (options.time_limit, options.absolute_gap) == (None, 0.0)


@pytest.mark.parametrize(("gap_in_rows", "released"), [(0.5, True), (0.75, False)])
def test_a_gap_of_exactly_the_allowance_is_released(gap_in_rows, released):
    steps = gap_in_rows / PUBLIC.spacing
    oracle = Diary(gap_in_steps=steps)
    mechanism = one_hot_mechanism(2, allowance=0.5)
    if released:
        assert GRID.contains(run(mechanism, oracle=oracle).hypothesis)
    else:
        with pytest.raises(
            UncertifiedRelease,
            match="0.5 rows, but oracle 'diary' .* or 'diary then branch-and-bound'",
        ):
            run(mechanism, oracle=oracle)


def test_an_oracle_that_takes_no_tables_is_refused_before_the_spend():
    oracle = Diary(takes_tables=False)
    with pytest.raises(UnsupportedProblem, match="oracle 'diary'"):
        run(oracle=oracle, ledger=Book(oracle.pages))
    assert oracle.pages[:2] == ["bare", "table"] and "spent" not in oracle.pages


def test_an_oracle_that_refuses_the_problem_itself_is_asked_once():
    class Refuses(Diary):
        def supports(self, problem):
            super().supports(problem)
            return False

    oracle = Refuses()
    with pytest.raises(UnsupportedProblem, match="oracle 'diary'"):
        run(oracle=oracle, ledger=Book(oracle.pages))
    assert oracle.pages == ["bare"]


def test_enumeration_takes_every_table_and_is_spared_the_trial(monkeypatch):
    perturbed = []

    class Counted(type(one_hot_mechanism(2))):
        def perturb(self, problem, spec, entropy):
            perturbed.append(type(entropy))
            return super().perturb(problem, spec, entropy)

    counted = Counted(blocks=one_hot_mechanism(2).blocks)
    run(counted, oracle="enumeration")
    assert perturbed == [SystemEntropy]
    perturbed.clear()
    run(counted, oracle=Diary())
    # The trial's noise is thrown away and never the operating system's.
    assert len(perturbed) == 2 and perturbed[0] is not SystemEntropy
    assert perturbed[1] is SystemEntropy


def test_a_problem_with_a_perturbation_or_another_grid_is_refused():
    zeros = Perturbation.separable([np.zeros(3, dtype=np.int64)] * 2, unit=1.0)
    with pytest.raises(CalibrationError, match="no perturbation"):
        run(problem=PROBLEM.with_perturbation(zeros))
    with pytest.raises(CalibrationError, match="public grid"):
        run(public=replace(PUBLIC, grid=WeightGrid.box(2, 2)))


@pytest.mark.parametrize("answer", [None, RuntimeError("cell 17"), MemoryError()])
def test_a_sampler_without_a_draw_says_only_that(answer):
    class Fails(Draws):
        pass

    Fails.answer = answer
    book = Book([])
    with pytest.raises(
        UncertifiedRelease, match="complete draw, but mechanism 'exponential'"
    ) as caught:
        run(Fails(), ledger=book)
    assert book.pages == ["spent"] and "17" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None


def test_a_sampling_mechanism_releases_its_draw_and_asks_no_oracle():
    assert run(Draws(), oracle="no such oracle").hypothesis == (1, -1)


def test_a_sampler_need_not_try_its_draw():
    """Only ``calibrate`` and ``draw`` are asked of who writes one."""
    own = ExponentialMechanism()
    plain = SimpleNamespace(
        name="plain", calibrate=own.calibrate, draw=lambda problem, spec, entropy: (1, -1)
    )
    assert run(plain).hypothesis == (1, -1)


def test_a_run_takes_settings_by_name_only():
    with pytest.raises(TypeError):
        run_mechanism(one_hot_mechanism(2), PROBLEM, PUBLIC, SystemEntropy())


# What the receipt of a run says, condition by condition.

SPEC = NoiseSpec(
    law="",
    scales=(1.0,),
    theorem="",
    status=one_hot_mechanism(2).calibrate(PUBLIC).status,
    allowance=0.25,
    total_variation=0.0,
    spacing=2.0**-10,
)


def receipt(mechanism=None, oracle=None, options=None, choice=""):
    return make_receipt(
        mechanism or one_hot_mechanism(2),
        SPEC,
        PUBLIC,
        oracle,
        options or SolveOptions(),
        SystemEntropy(),
        choice,
    )


def test_a_receipt_copies_the_public_facts():
    found = receipt(oracle=get_oracle("enumeration"), choice="by hand")
    assert (found.allowance, found.spacing, found.oracle) == (0.25, 2.0**-10, "enumeration")
    assert (found.weights, found.norm_budget, found.choice) == (GRID.values, None, "by hand")
    assert found.sensitivity == PUBLIC.changed_rows and found.guarantee == "HOLDS"
    assert found.conditions == ()


def test_who_searched_is_named_even_without_an_oracle():
    assert receipt(ExponentialMechanism()).oracle == ExponentialMechanism().sampler
    assert receipt(SimpleNamespace(name="bare")).oracle == ""


def test_trust_is_in_the_class_and_not_in_the_name():
    assert trusted_name(get_oracle("enumeration")) == "enumeration"
    assert trusted_name(Diary()) is None

    class Enumeration(EnumerationOracle):
        pass

    assert trusted_name(Enumeration()) is None
    (condition, ends) = receipt(oracle=Enumeration()).conditions
    assert "third-party oracle 'enumeration'" in condition
    assert ends.startswith("'enumeration' certifies on every table")


@pytest.mark.parametrize("first", ["enumeration", "diary"])
@pytest.mark.parametrize("second", ["enumeration", "diary"])
def test_a_hand_over_needs_two_trusted_oracles_and_a_complete_second(first, second):
    def build(name):
        return Diary() if name == "diary" else get_oracle(name)

    pair = HandoverOracle(first=build(first), second=build(second))
    found = receipt(oracle=pair, options=SolveOptions(time_limit=3)).conditions
    trusted = (first, second) == ("enumeration", "enumeration")
    assert any("third-party" in text for text in found) is not trusted
    assert any("certifies within 3 s" in text for text in found) is (second == "diary")


def test_time_limits_and_limits_of_the_oracles_own_are_conditions():
    limited = receipt(oracle=get_oracle("enumeration"), options=SolveOptions(time_limit=2.5))
    assert limited.conditions == ("'enumeration' certifies within 2.5 s on every table and every "
                                  "noise draw",)  # fmt: skip
    own = receipt(oracle=get_oracle("branch-and-bound", node_limit=10**9))
    assert own.conditions == ("'branch-and-bound' certifies on every table and every noise draw",)
    assert receipt(oracle=get_oracle("branch-and-bound")).conditions == ()


def test_a_sampling_mechanism_states_its_limit_once():
    assert receipt(ExponentialMechanism()).conditions == ()
    drawn = receipt(ExponentialMechanism(), options=SolveOptions(time_limit=2.0))
    assert drawn.conditions == ("the draw ends within 2 s on every table and every noise draw",)
    own = AStarPermuteAndFlipMechanism(time_limit=2.0)
    both = receipt(own, options=SolveOptions(time_limit=2.0)).conditions
    assert len(both) == len(set(both)) and own.condition in both
