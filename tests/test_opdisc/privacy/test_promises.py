"""The figures and words of a receipt, one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from helpers.opdisc.ledger_receipts import receipt

from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.guarantee import CalibrationStatus, numerical_delta
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import DEFAULT_SPACING, GridPublic, PublicInputs
from opdisc.privacy.receipts.grid_receipt import GridReceipt
from opdisc.privacy.receipts.receipt import (
    CertifiedReceipt,
    PrivacyReceipt,
    common_fields,
    power_of_two,
    software_versions,
)
from oracles.problem import ErrorCosts, WeightGrid

PARAMS = PrivacyParams(epsilon=1.0, delta=0.0)
REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def changed(**fields: object) -> GridReceipt:
    """A receipt with other fields."""
    return msgspec.structs.replace(receipt(), **fields)


@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 1.0, 3.0, 20.0])
def test_numerical_delta_is_rounded_up_from_its_formula(epsilon: float) -> None:
    exact = (1 + math.exp(epsilon)) * 1e-15
    assert exact <= numerical_delta(1e-15, epsilon) <= exact * (1 + 1e-11)


def test_numerical_delta_is_a_probability() -> None:
    assert numerical_delta(0.0, 50.0) == 0.0
    assert numerical_delta(0.9, 1.0) == numerical_delta(1e-3, 800.0) == 1.0
    # No epsilon overflows: beyond 700 nats the exponential stays where it is.
    assert numerical_delta(1e-305, 710.0) == numerical_delta(1e-305, 700.0)
    assert numerical_delta(1e-305, 699.5) < numerical_delta(1e-305, 700.0)


@pytest.mark.parametrize("field", ["epsilon", "delta"])
@pytest.mark.parametrize("value", [True, "1", None, [1.0]])
def test_what_is_no_number_is_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(CalibrationError, match=f"{field} must be a number"):
        PrivacyParams(**({"epsilon": 1.0, "delta": 0.0} | {field: value}))


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0.0, 0.0), (-1.0, 0.0), (math.inf, 0.0), (math.nan, 0.0), (1.0, -1e-9), (1.0, 1.0)],
)
def test_impossible_promises_are_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(CalibrationError, match="must be"):
        PrivacyParams(epsilon=epsilon, delta=delta)


def test_edges_of_possible_promises_are_taken() -> None:
    assert PrivacyParams(epsilon=1e-9, delta=1 - 1e-9).delta < 1
    assert PrivacyParams(epsilon=1, delta=0).epsilon == 1


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64])
def test_numbers_of_numpy_count_as_exactly_what_they_hold(kind):
    params = PrivacyParams(epsilon=kind(3.3), delta=kind(0))
    assert type(params.epsilon) in (int, float) and params.epsilon == kind(3.3)
    assert PrivacyParams(epsilon=np.float32(0.1), delta=0.0).epsilon == 0.10000000149011612


@pytest.mark.parametrize("epsilon", [np.float32("nan"), np.float32("inf"), np.bool_(True), "1"])
def test_what_is_no_number_is_refused_whoever_made_it(epsilon):
    with pytest.raises(CalibrationError):
        PrivacyParams(epsilon=epsilon, delta=0.0)


@pytest.mark.parametrize(("relation", "rows"), [(REPLACE, 6), (ADD, 3)])
def test_a_unit_of_three_rows_changes_each_of_them(relation, rows: int) -> None:
    assert PublicInputs(params=PARAMS, relation=relation, rows_per_unit=3).changed_rows == rows


@pytest.mark.parametrize("name", ["rows_per_unit", "public_row_guess"])
@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1"])
def test_counts_are_whole_and_at_least_one(name: str, value: object) -> None:
    with pytest.raises(CalibrationError, match=f"{name} must be an integer of at least 1"):
        PublicInputs(params=PARAMS, relation=REPLACE, **{name: value})
    assert getattr(PublicInputs(params=PARAMS, relation=REPLACE, **{name: 1}), name) == 1


def test_who_may_know_the_number_of_rows() -> None:
    with pytest.raises(CalibrationError, match="replace_one only"):
        PublicInputs(params=PARAMS, relation=ADD, n_rows=5)
    known = PublicInputs(params=PARAMS, relation=REPLACE, n_rows=5, public_row_guess=9)
    assert (known.exact_rows, known.step_rows) == (5, 5)
    guessed = PublicInputs(params=PARAMS, relation=ADD, public_row_guess=9)
    assert guessed.step_rows == 9
    with pytest.raises(CalibrationError, match="exact number"):
        guessed.exact_rows  # noqa: B018
    with pytest.raises(CalibrationError, match="public number of rows is needed"):
        PublicInputs(params=PARAMS, relation=ADD).step_rows  # noqa: B018


@pytest.mark.parametrize("bits", [-1, 0, 1, 10, 28, 29])
def test_lattices_are_powers_of_two_from_one_to_two_to_minus_28(bits: int) -> None:
    public = GridPublic(params=PARAMS, relation=REPLACE, grid=WeightGrid.box(2, 1))
    assert public.spacing == DEFAULT_SPACING == 1 / 1024
    if 0 <= bits <= 28:
        assert replace(public, spacing=2.0**-bits).spacing == 2.0**-bits
    else:
        with pytest.raises(CalibrationError, match=r"2\*\*-r with r in 0\.\.28"):
            replace(public, spacing=2.0**-bits)


@pytest.mark.parametrize("kind", [PrivacyReceipt, CertifiedReceipt, GridReceipt])
def test_a_receipt_is_frozen_and_takes_names_only(kind: type) -> None:
    assert kind.__struct_config__.frozen
    with pytest.raises(TypeError, match="positional"):
        kind("m")


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (((-1, 0, 1), (-3, 2)), "2 weights in -3..2"),
        (((0, 5), (-1, 0), (0,)), "3 weights in -1..5, 2 of them never negative, 2 of them never "
                                  "positive"),
        (((-2, 2), (1, 4)), "2 weights in -2..4, 1 of them never negative"),
    ],
)  # fmt: skip
def test_the_hypotheses_are_told_by_their_signs(weights, text: str) -> None:
    lines = dict(changed(weights=weights).lines())
    assert lines["hypotheses"] == text
    assert dict(changed(weights=weights, norm_budget=7).lines())["hypotheses"] == (
        f"{text}, |w|^2 <= 7"
    )


def test_lines_follow_the_fields() -> None:
    plain = dict(receipt().lines())
    assert plain["lattice"] == "multiples of 2^-10 rows" and "chosen because" not in plain
    assert plain["rows"] == "10 (public under replace-one)"
    assert plain["schema"] == "sha256 " + "0" * 16
    other = dict(changed(spacing=0.0, choice="small", n_rows=None, schema_digest="").lines())
    assert other["lattice"] == "none: exact draw" and other["chosen because"] == "small"
    assert (other["rows"], other["schema"]) == ("not public", "none")
    assert dict(changed(spacing=1.0).lines())["lattice"] == "multiples of 2^0 rows"
    assert dict(changed(noise_scales=(2.0, 1.0, 2.0)).lines())["noise"] == "law; scale 2, 1"
    assert (power_of_two(0.0), power_of_two(0.25)) == ("0", "2^-2")
    conditional = changed(guarantee="CONDITIONAL", conditions=("one", "two")).lines()
    assert conditional[:3] == [
        ("guarantee", "CONDITIONAL"), ("  condition", "one"), ("  condition", "two")
    ]  # fmt: skip


@pytest.mark.parametrize("point", [-(2**31) - 1, 2**31 + 1])
def test_a_read_weight_is_of_a_size_that_can_be_added_up(point: int) -> None:
    record = receipt().to_dict()
    for edge in (-(2**31), 2**31):
        assert GridReceipt.from_dict(record | {"weights": [[edge]]}).weights == ((edge,),)
    with pytest.raises(ValueError):
        GridReceipt.from_dict(record | {"weights": [[point]]})


def test_common_fields_are_copied_and_judged() -> None:
    noise = SimpleNamespace(
        theorem="t", status=CalibrationStatus.PROVEN, law="l", scales=(1.0,), total_variation=1e-12
    )
    public = PublicInputs(params=PARAMS, relation=REPLACE, n_rows=4, assumptions=("first",))
    fields = common_fields(
        "m", noise, public, SystemEntropy(), conditions=("second",), packages={"solver": "7"}
    )
    assert fields["conditions"] == ("first", "second") and fields["guarantee"] == "CONDITIONAL"
    assert fields["delta_numerical"] == numerical_delta(1e-12, 1.0)
    assert fields["versions"]["solver"] == "7" and "python" in fields["versions"]
    assert common_fields("m", noise, public, SystemEntropy())["versions"] == software_versions({})
    void = common_fields("m", noise, public, SystemEntropy(), void=("why",))
    assert (void["guarantee"], void["conditions"]) == ("VOID", ("why",))


def test_a_guess_stands_in_for_rows_in_plans_and_nowhere_else() -> None:
    grid, costs = WeightGrid.box(2, 1), ErrorCosts(false_negative=3, false_positive=1)
    for own in (ErrorCosts(), costs):
        facts = {"params": PARAMS, "grid": grid, "error_costs": own}
        guessed = GridPublic(relation=ADD, public_row_guess=9, **facts)
        known = GridPublic(relation=REPLACE, n_rows=9, public_row_guess=5, **facts)
        neither = GridPublic(relation=ADD, **facts)
        assert [public.typical_rows for public in (guessed, known, neither)] == [9, 9, None]
        assert guessed.typical_loss == known.typical_loss is not None
        assert guessed.largest_loss is neither.largest_loss is neither.typical_loss is None
        assert known.largest_loss == 9 * own.largest
