"""Receipts of every kind: written and read back strictly, printed in the same words."""

import json
import math
from dataclasses import dataclass

import msgspec
import pytest

from opdisc import PrivacyReceipt
from opdisc.convex.public import ConvexPublic
from opdisc.errors import CalibrationError
from opdisc.mechanisms.selection.receipt import SelectionReceipt
from opdisc.privacy.entropy import SeededEntropy, SystemEntropy
from opdisc.privacy.guarantee import CalibrationStatus, Guarantee, judge
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic, PublicInputs
from opdisc.privacy.receipts.grid_receipt import GridReceipt
from opdisc.privacy.receipts.real_receipts import ConvexReceipt, OPSampReceipt
from opdisc.privacy.receipts.receipt import common_fields
from oracles import WeightGrid
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import LogisticLoss
from oracles.convex.constants import RowBounds

COMMON = {
    "mechanism": "m",
    "theorem": "t",
    "calibration": "proven",
    "epsilon": 1.0,
    "delta": 0.0,
    "delta_numerical": 1e-30,
    "relation": "replace_one",
    "privacy_unit": "one row",
    "noise_law": "law",
    "noise_scales": (2.5,),
    "schema_digest": "",
    "n_rows": 1000,
    "versions": {"opdisc": "0"},
    "guarantee": "CONDITIONAL",
    "conditions": ("all is well",),
}
CERTIFIED = {"sensitivity": 2, "allowance": 0.0, "spacing": 2.0**-10, "oracle": "enumeration"}
SECTIONS = {
    GridReceipt: CERTIFIED | {"weights": ((-1, 0, 1),), "norm_budget": None, "choice": "why"},
    OPSampReceipt: CERTIFIED | {"loss": "hinge", "domain": "d", "draws": 3, "stability": 0.5},
    ConvexReceipt: {
        "rows_per_unit": 3,
        "loss": "hinge",
        "row_norm": 1.0,
        "row_maximum": 1.0,
        "label_bound": 1.0,
        "lipschitz": 1.0,
        "smoothness": math.inf,
        "domain": "all of R^p",
        "settings": {"ridge": 0.5},
        "release_grid": 2.0**-24,
    },
    SelectionReceipt: {
        "candidates": ("a", "b"),
        "shape": 0.0,
        "stop": 0.1,
        "expected_trials": 4.0,
        "trial_epsilon": 0.3,
        "trial_delta": 0.0,
        "score_epsilon": 0.1,
        "score_sensitivity": 1,
    },
}
KINDS = pytest.mark.parametrize("kind", list(SECTIONS))

OPTIONAL = (
    *("risks", "stages", "error_costs", "choice_detail", "public_row_guess", "patience"),
    *("start", "start_points", "alternatives"),
)


@dataclass(frozen=True)
class Noise:
    """What a mechanism drew, as a receipt states it."""

    theorem: str = "t"
    status: CalibrationStatus = CalibrationStatus.PROVEN
    law: str = "law"
    scales: tuple[float, ...] = (2.5,)
    total_variation: float = 0.0


def receipt_of(kind, **changes):
    return kind(**{**COMMON, **SECTIONS[kind], **changes})


@KINDS
def test_a_receipt_reads_back_from_json_as_written(kind):
    receipt = receipt_of(kind)
    text = json.dumps(receipt.to_dict(), allow_nan=False)
    assert isinstance(receipt, PrivacyReceipt)
    assert kind.from_dict(json.loads(text)) == receipt
    written = [
        name
        for name in kind.__struct_fields__
        if name not in OPTIONAL
        and (name != "choice" or kind is not ConvexReceipt)
        and (name != "rows_per_unit" or receipt.rows_per_unit is not None)
    ]
    assert list(receipt.to_dict()) == written  # a section that is not there is not written


@KINDS
def test_every_kind_prints_the_common_lines(kind):
    text = str(receipt_of(kind))
    for line in (
        "guarantee:          CONDITIONAL",
        "  condition:        all is well",
        "noise:              law; scale 2.5",
        "rows:               1,000 (public under replace-one)",
        "schema:             none",
        "versions:           opdisc 0",
    ):
        assert line in text.split("\n")
    assert "not public" in str(receipt_of(kind, n_rows=None, relation="add_or_remove_one"))


@KINDS
def test_every_kind_says_how_many_rows_of_a_unit_are_protected(kind):
    receipt = receipt_of(kind, privacy_unit="one patient", rows_per_unit=3)
    unit = "one patient (at most 3 rows)"
    assert f"neighbours:         replace-one, privacy unit: {unit}" in str(receipt).split("\n")
    assert f"protects:           {unit} (replace-one)" in receipt.brief().split("\n")
    assert receipt.protected_unit == unit and "rows_per_unit=3" in repr(receipt)
    assert receipt.to_dict()["rows_per_unit"] == 3
    one = receipt_of(kind, rows_per_unit=1)
    assert "neighbours:         replace-one, privacy unit: one row" in str(one).split("\n")
    for wrong in (0, -1, 1.5, True, "3"):
        with pytest.raises(ValueError):
            kind.from_dict(receipt.to_dict() | {"rows_per_unit": wrong})


def test_what_every_receipt_has_says_the_rows_of_a_unit():
    public = public_of(PublicInputs, rows_per_unit=3, privacy_unit="one patient")
    common = common_fields("m", Noise(), public, SystemEntropy())
    assert (common["privacy_unit"], common["rows_per_unit"]) == ("one patient", 3)
    assert "at most 3 rows" in str(PrivacyReceipt(**common))


@KINDS
@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"epsilon": True},
        {"epsilon": -1.0},
        {"epsilon": None},
        {"delta": 1.0},
        {"delta_numerical": -1e-9},
        {"noise_scales": [math.inf]},
        {"noise_scales": ["a"]},
        {"n_rows": 1.5},
        {"mechanism": 3},
        {"versions": [["opdisc", "0"]]},
        {"conditions": [1]},
        {"guarantee": "SURE"},
        {"calibration": "hoped"},
        {"relation": "other"},
    ],
    ids=str,
)
def test_a_receipt_with_a_wrong_field_is_refused(kind, change):
    record = receipt_of(kind).to_dict()
    with pytest.raises(ValueError):
        kind.from_dict(record | change)


@KINDS
def test_a_receipt_without_one_of_its_fields_is_refused(kind):
    record = receipt_of(kind).to_dict()
    for name in record:
        with pytest.raises(ValueError):
            kind.from_dict({key: value for key, value in record.items() if key != name})
    with pytest.raises(ValueError, match="named fields"):
        kind.from_dict([])


def test_only_a_void_convex_receipt_may_have_an_infinite_epsilon():
    void = receipt_of(ConvexReceipt, epsilon=math.inf, guarantee="VOID")
    assert void.to_dict()["epsilon"] is None
    assert ConvexReceipt.from_dict(void.to_dict()) == void
    with pytest.raises(CalibrationError, match="epsilon must be finite"):
        msgspec.structs.replace(void, guarantee="HOLDS").__post_init__()
    with pytest.raises(CalibrationError, match="epsilon must be finite"):
        receipt_of(GridReceipt, epsilon=math.inf, guarantee="VOID")


@pytest.mark.parametrize(
    ("status", "entropy", "conditions", "void", "expected"),
    [
        ("proven", SystemEntropy(), (), (), "HOLDS"),
        ("proven", SystemEntropy(), ("c",), (), "CONDITIONAL"),
        ("proven", SeededEntropy(0), ("c",), (), "VOID"),
        ("published", SystemEntropy(), (), (), "VOID"),
        ("refuted", SystemEntropy(), (), (), "VOID"),
        ("proven", SystemEntropy(), ("c",), ("no noise",), "VOID"),
    ],
)
def test_one_judgement(status, entropy, conditions, void, expected):
    found, reasons = judge(CalibrationStatus(status), entropy, conditions, void=void)
    assert found is Guarantee(expected)
    assert bool(reasons) == (expected != "HOLDS")
    assert expected == "VOID" or reasons == conditions


def public_of(kind, **changes):
    own = {
        PublicInputs: {},
        GridPublic: {"grid": WeightGrid.box(2, 1)},
        ConvexPublic: {
            "loss": LogisticLoss(),
            "bounds": RowBounds(l2=1.0, linf=1.0),
            "dimension": 2,
            "domain": L2Ball(dimension=2, radius=1.0),
        },
    }
    common = {
        "params": PrivacyParams(epsilon=1.0, delta=0.0),
        "relation": NeighboringRelation.ADD_OR_REMOVE_ONE,
    }
    return kind(**{**common, **own[kind], **changes})


@pytest.mark.parametrize("kind", [PublicInputs, GridPublic, ConvexPublic])
def test_every_kind_of_public_facts_refuses_the_same(kind):
    assert public_of(kind, rows_per_unit=3).changed_rows == 3
    assert public_of(kind, public_row_guess=50).step_rows == 50
    with pytest.raises(CalibrationError, match="public under replace_one only"):
        public_of(kind, n_rows=10)
    for name in ("rows_per_unit", "public_row_guess"):
        for wrong in (0, True, 1.5):
            with pytest.raises(CalibrationError, match=f"{name} must be an integer of at least 1"):
                public_of(kind, **{name: wrong})
    with pytest.raises(CalibrationError, match="give public_row_guess"):
        _ = public_of(kind).step_rows
    known = public_of(kind, relation=NeighboringRelation.REPLACE_ONE, n_rows=10)
    assert (known.exact_rows, known.step_rows, known.changed_rows) == (10, 10, 2)


@KINDS
def test_a_brief_receipt_keeps_the_promise_and_every_condition(kind):
    receipt = receipt_of(kind, conditions=("one thing", "another thing"), delta=1e-6)
    text = receipt.brief()
    assert len(text.splitlines()) < len(str(receipt).splitlines())
    for line in (
        "guarantee:          CONDITIONAL",
        "  condition:        one thing",
        "  condition:        another thing",
        "epsilon:            1",
        "delta:              1e-06",
        f"protects:           {receipt.protected_unit} (replace-one)",
        "rows:               1,000",
        "method:             m",
    ):
        assert line in text.splitlines()
    assert (
        "law" not in text
        and "\n  condition:" not in receipt_of(kind, guarantee="HOLDS", conditions=()).brief()
    )


def test_the_reason_is_brief_first_and_whole_on_request():
    receipt = receipt_of(GridReceipt, choice="few cards", choice_detail="3^8 of them")
    assert "chosen because:     few cards" in receipt.brief().splitlines()
    assert "3^8" not in receipt.brief() and "3^8" in str(receipt)
    # The long texts of older versions are not brief.
    old = receipt_of(GridReceipt, choice="because of " * 20)
    assert "because" not in old.brief() and "because of" in str(old)
