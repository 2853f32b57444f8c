"""What a number may be: a bool is none, NumPy's numbers are, and NaN is never in a range."""

import math
from fractions import Fraction

import numpy as np
import pytest

from opdisc.arguments import check_choice, check_delta, check_finite, check_integer, check_within
from opdisc.audit.case import check_audit
from opdisc.calibration.gaussian import SampledSteps
from opdisc.comparison.plan import Plan
from opdisc.convex.objective_plan import require_ridge
from opdisc.convex.public import ConvexPublic, check_ridge
from opdisc.convex.sampling.grid_walk import plan_grid_walk
from opdisc.convex.variance_reduced import SVRGPlan
from opdisc.errors import CalibrationError, OPDiscError, SchemaError
from opdisc.mechanisms.composition.risks import split_epsilon
from opdisc.mechanisms.selection.random_stopping import TrialLaw, trial_law
from opdisc.mechanisms.staged import StagedMechanism
from opdisc.planning.limits import parse_max_rounds, parse_weight_bound
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import PublicInputs
from oracles import errors
from oracles.convex import HuberisedHingeLoss, L2Ball, RowBounds


def in_range(check, value):
    try:
        check("x", value)
    except CalibrationError:
        return False
    return True


CHECKS = {
    "(0, 1)": (lambda name, v: check_within(name, v, 0, 1), lambda v: 0 < v < 1),
    "(0, 1]": (lambda name, v: check_within(name, v, 0, 1, ends="(]"), lambda v: 0 < v <= 1),
    "[0, 1)": (lambda name, v: check_within(name, v, 0, 1, ends="[)"), lambda v: 0 <= v < 1),
    "[-1, 2]": (lambda name, v: check_within(name, v, -1, 2, ends="[]"), lambda v: -1 <= v <= 2),
    "> 0": (check_finite, lambda v: 0 < v < math.inf),
    ">= 0": (lambda name, v: check_finite(name, v, zero=True), lambda v: 0 <= v < math.inf),
}
NUMBERS = (-math.inf, -2, -1, -1e-300, 0, -0.0, 1e-300, 0.5, 1, 1.0, 2, 3, 1e308, math.inf)


@pytest.mark.parametrize("interval", CHECKS)
def test_a_range_takes_what_its_rule_says(interval):
    check, rule = CHECKS[interval]
    for number in NUMBERS:
        forms = [number, np.float64(number)]
        if math.isfinite(number):
            forms.append(Fraction(number))
        if isinstance(number, int):
            forms.append(np.int64(number))
        for form in forms:
            assert in_range(check, form) == rule(number), form
    for wrong in (True, np.True_, math.nan, np.float64("nan"), "0.5", None, 0.5j, [0.5]):
        assert not in_range(check, wrong), wrong
    assert not in_range(check, 10**400)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_a_short_number_of_numpy_counts_as_what_it_is(kind):
    assert check_finite("x", kind(3)) == check_within("x", kind(3), 0, 1e300) == 3.0
    third = kind(1) / kind(3)
    assert in_range(lambda n, v: check_within(n, v, 0, 1 / 3, ends="[]"), third) == (
        Fraction(float(third)) <= Fraction(1 / 3)
    )
    for wrong in (0, -1, math.inf, math.nan):
        assert not in_range(check_finite, kind(wrong))


def test_an_integer_is_returned_as_pythons_and_nothing_else_is_one():
    for given in (1, np.int8(1), np.uint64(7), 10**30):
        assert type(check_integer("x", given)) is int
        assert check_integer("x", given) == given
    for wrong in (0, -1, True, np.True_, 1.0, np.float64(1), "1", None, math.nan, Fraction(2)):
        assert not in_range(check_integer, wrong), wrong
    assert check_integer("x", 0, least=0) == 0 and check_integer("x", 5, most=5) == 5
    assert not in_range(lambda name, v: check_integer(name, v, most=5), 6)


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (lambda: check_integer("n", True), "n must be an integer of at least 1, got True."),
        (
            lambda: check_integer("n", np.int64(0), most=1000, remedy="leave it out"),
            "n must be an integer from 1 to 1,000, got 0; leave it out.",
        ),
        (
            lambda: check_within("share", "a\nb", 0, 1, of="a share of epsilon"),
            "share must be a share of epsilon in (0, 1), got 'a\\nb'.",
        ),
        (
            lambda: check_within("p", np.float64(2), 0, 1, ends="[)"),
            "p must be in [0, 1), got 2.0.",
        ),
        (
            lambda: check_finite("time", math.nan, unit="seconds"),
            "time must be finite and > 0 seconds, got nan.",
        ),
        (
            lambda: check_finite("room", Fraction(-1, 2), zero=True, unit="rows"),
            "room must be finite and >= 0 rows, got -0.5.",
        ),
        (
            lambda: check_choice("noise", "a\nb", {"red": 1, "blue": 2}),
            "noise must be one of red, blue, got 'a\\nb'.",
        ),
        (
            lambda: check_choice("noise", "x" * 200, ("red",)),
            f"noise must be one of red, got '{'x' * 76}...{'x' * 39}'.",
        ),
        (
            lambda: check_delta("noise", 0.0, "give one"),
            "noise needs delta > 0, got delta=0.0; give one.",
        ),
    ],
)
def test_a_refusal_is_one_sentence_with_rule_offence_and_remedy(check, sentence):
    with pytest.raises(CalibrationError) as refused:
        check()
    assert str(refused.value) == sentence


@pytest.mark.parametrize("check", [check_choice, errors.check_choice])
def test_a_name_is_one_of_those_that_are_known_and_nothing_else_is_one(check):
    refusal = CalibrationError if check is check_choice else errors.InvalidProblem
    for choices in (("red", "1"), ["red", "1"], {"red": 0, "1": 0}, {"red", "1"}):
        for name in ("red", "1", np.str_("red")):
            check("x", name, choices)
        for wrong in ("re", "red, 1", "", "Red", 1, None, b"red", ["red"], np.array(["red", "1"])):
            with pytest.raises(refusal, match=r"^x must be one of (red, 1|1, red), got "):
                check("x", wrong, choices)
        with pytest.raises(errors.OracleUnavailable, match="^x must be one of .*, got 'blue'.$"):
            check("x", "blue", choices, error=errors.OracleUnavailable)


def test_the_sentence_of_the_oracles_is_the_same():
    with pytest.raises(errors.FormulationError) as refused:
        errors.check_choice("kind", "a\nb", {"red": 1, "blue": 2}, errors.FormulationError)
    assert str(refused.value) == "kind must be one of red, blue, got 'a\\nb'."


def test_the_error_is_the_callers():
    for check in (check_integer, check_finite, lambda *a, **k: check_within(*a, 0, 1, **k)):
        with pytest.raises(SchemaError):
            check("x", -1, error=SchemaError)


def walk(steps):
    public = ConvexPublic(
        params=PrivacyParams(epsilon=1.0, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        loss=HuberisedHingeLoss(),
        bounds=RowBounds(l2=1.0, linf=1.0),
        dimension=1,
        domain=L2Ball(dimension=1, radius=1.0),
        n_rows=10,
    )
    return plan_grid_walk(public, steps=steps, spacing=0.5)


def inputs(**given):
    params = PrivacyParams(epsilon=1.0, delta=0.0)
    return PublicInputs(params=params, relation=NeighboringRelation.REPLACE_ONE, **given)


def plan(**given):
    return Plan(methods=("exponential",), epsilons=(1.0,), **given)


INTEGERS = {
    "weight_bound": parse_weight_bound,
    "max_rounds": parse_max_rounds,
    "steps": walk,
    "steps of a sampler": lambda v: SampledSteps(steps=v, rate=0.5),
    "rows_per_unit": lambda v: inputs(rows_per_unit=v),
    "public_row_guess": lambda v: inputs(public_row_guess=v),
    "draws": lambda v: check_audit(v, 0.5),
    "repeats": lambda v: plan(repeats=v),
    "seed": lambda v: plan(seed=v),
}
REALS = {
    "the ridge": require_ridge,
    "the ridge, or 0": check_ridge,
    "patience": lambda v: StagedMechanism(patience=v),
    "time-limit": lambda v: plan(time_limit=v),
    "decay": lambda v: SVRGPlan(epochs=1, inner=1, decay=v),
    "stop": lambda v: TrialLaw(shape=0.0, stop=v),
    "shape": lambda v: TrialLaw(shape=v, stop=0.5),
    "expected_trials": lambda v: trial_law(2 * v),
    "a sampling rate": lambda v: SampledSteps(steps=2, rate=v),
    "a sensitivity": lambda v: SampledSteps(steps=2, rate=0.5, sensitivity=v),
    "risk_budget": lambda v: split_epsilon(1.0, v),
    "false_alarm": lambda v: check_audit(1, v),
    "test-fraction": lambda v: plan(test_fraction=v),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_every_integer_takes_numpys_and_refuses_bools_and_what_is_not_one(name):
    INTEGERS[name](2)
    INTEGERS[name](np.int64(2))
    for wrong in (True, 1.5, math.nan, "2"):
        with pytest.raises(OPDiscError, match=f"{name.split(' of ')[0]} must be an integer"):
            INTEGERS[name](wrong)


@pytest.mark.parametrize("name", REALS)
def test_every_real_number_takes_numpys_and_refuses_bools_and_what_is_not_one(name):
    REALS[name](0.75)
    REALS[name](np.float64(0.75))
    wrong = [math.nan, "0.75"] if name == "expected_trials" else [True, math.nan, "0.75"]
    for value in wrong:
        with pytest.raises(OPDiscError, match=f"{name.split(',')[0]} must be .*, got "):
            REALS[name](value)
