"""A record for the registry of deployments: what the receipt knows, and named blanks."""

import copy
import os
import random
import re
import types
from pathlib import Path

import msgspec
import pandas as pd
import pytest
from helpers.opdisc.cards import HOSTILE, any_cards, any_model, released

from opdisc import PrivateLogisticRegression
from opdisc.errors import ModelFileError
from opdisc.models import card_registry
from opdisc.models.exports.registry import REGISTRY, REGISTRY_COMMIT
from opdisc.privacy.receipts import RiskReceipt

WARD = {
    "name": "ward",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "unit": "patient",
    "rows_per_unit": 3,
    "feature": [{"column": "age", "thresholds": [40]}],
}
BLANKS = {
    "url_slug",
    "data_curators",
    "intended_use",
    "data_product_region",
    "publication_date",
    "actors",
    "release_type_details",
    "preprocessing_and_hyperparameter_tuning",
    "justification",
    "sources",
    "registry_authors",
}


def models():
    rng = random.Random(4)
    yield from (any_model(rng) for _ in range(20))
    yield from (any_cards(rng, strategy) for strategy in ("tree", "one_versus_rest"))
    yield from linear_models()


def linear_models():
    rows, labels = [[0.0, 1.0], [1.0, 0.0]] * 20, [0, 1] * 20
    yield PrivateLogisticRegression(data_norm=2.0).fit(rows, labels).to_model()
    table, ill = pd.DataFrame({"age": [30, 50] * 20}), ["no", "yes"] * 20
    yield PrivateLogisticRegression(schema=WARD | {"rows_per_unit": 1}).fit(table, ill).to_model()


def promised(model, **changes):
    """Return what a record reads of a model, with another receipt."""
    receipt = msgspec.structs.replace(model.receipt, **changes)
    return types.SimpleNamespace(schema=model.schema, receipt=receipt)


def record(model):
    import yaml

    return yaml.safe_load(card_registry(model))


def filled(found):
    """Return a record as its owner completes it."""
    found = copy.deepcopy(found)
    found["url_slug"] = "ward-2026"
    basic = found["deployment"]["basic"]
    basic |= {"data_curators": ["A"], "publication_date": "2026-01-31"}
    found["deployment"]["administrative"]["registry_authors"] = ["B"]
    return found


def test_what_only_the_owner_knows_is_empty_and_named():
    lines = card_registry(released(WARD, [1])).splitlines()
    empty = {
        line.split(":")[0].strip(): line for line in lines if re.search(r': (""|\[""\])', line)
    }
    assert set(empty) == BLANKS
    assert all(re.search("  # [a-z].{10}", line) for line in empty.values())
    assert any(REGISTRY in line for line in lines) and any(
        REGISTRY_COMMIT in line for line in lines
    )


@pytest.mark.extras("yaml")
def test_the_record_says_what_the_receipt_says():
    model = released(WARD, [1])
    found = record(model)["deployment"]
    loss = found["privacy_loss"]
    assert loss["privacy_unit"] == "patient (at most 3 rows)"
    assert loss["privacy_parameters"] == {"epsilon": model.receipt.epsilon}
    assert all(
        condition in loss["privacy_parameters_details"] for condition in model.receipt.conditions
    )
    assert found["dp_variant"]["variant_name"] == "Pure DP"
    rounded = record(promised(model, delta=1e-07, delta_numerical=1e-20))["deployment"]
    assert rounded["privacy_loss"]["privacy_parameters"]["delta"] == 1e-07 + 1e-20
    assert rounded["dp_variant"]["variant_name"] == "Approximate DP"


@pytest.mark.extras("yaml")
def test_a_linear_model_has_a_record_too():
    for model in linear_models():
        found = record(model)["deployment"]
        basic, domain = found["basic"], found["dp_variant"]["data_domain"]
        assert basic["name"] == ("Linear model ward" if model.schema else "Linear model")
        assert basic["description"].startswith("Linear model with a weight for each column")
        assert found["privacy_loss"]["privacy_parameters"]["epsilon"] == model.receipt.epsilon
        assert ("schema" in domain) == (model.schema is not None)


@pytest.mark.extras("yaml")
def test_rates_that_were_bought_are_no_consequence_of_points():
    model = released(WARD, [1])
    parts = RiskReceipt(
        card_epsilon=model.receipt.epsilon / 4,
        epsilon=model.receipt.epsilon / 4,
        sensitivity=6,
        noise_scale=2.4,
        counts=60,
    )
    found = record(promised(model, risks=parts))["deployment"]["accounting"]
    assert "points" not in found["post_processing"]
    assert "scale 2.4 rows" in found["composition"]
    assert "said below" not in found["composition"] and "  " not in found["composition"]


@pytest.mark.extras("yaml")
def test_no_name_breaks_out_of_its_text():
    for name in HOSTILE:
        feature = {"column": name, "binary": True}
        found = record(released(WARD | {"name": name, "feature": [feature]}, [1]))
        assert set(found) == {"url_slug", "status", "tier", "deployment"}
        assert "<" not in found["deployment"]["basic"]["name"]


def test_a_void_release_has_no_record():
    model = released(WARD, [1])
    void = promised(model, calibration="refuted", guarantee="VOID", conditions=("why",))
    with pytest.raises(ModelFileError, match="guarantee is VOID"):
        card_registry(void)


@pytest.mark.extras("yaml", "jsonschema")
def test_the_registry_takes_the_record_once_its_owner_completed_it():
    if "OPDISC_REGISTRY_SCHEMA" not in os.environ:
        pytest.skip(
            f"needs schemas/deployments-schema.yaml of {REGISTRY} at {REGISTRY_COMMIT}: its path "
            "in OPDISC_REGISTRY_SCHEMA"
        )
    import jsonschema
    import yaml

    schema = yaml.safe_load(Path(os.environ["OPDISC_REGISTRY_SCHEMA"]).read_text(encoding="utf-8"))
    judge = jsonschema.Draft7Validator(schema, format_checker=jsonschema.draft7_format_checker)
    for model in models():
        found = record(model)
        (fault,) = judge.iter_errors(found)
        assert list(fault.path) == ["deployment", "basic", "publication_date"]
        assert list(judge.iter_errors(filled(found))) == []
    surprise = filled(found)
    surprise["deployment"]["surprise"] = ""
    assert len(list(judge.iter_errors(surprise))) == 1, "the schema refuses what it does not know"
