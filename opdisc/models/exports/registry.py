"""A release as a record for the Deployment Registry of OpenDP, a public list of such releases."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from opdisc.errors import ModelFileError, escaped
from opdisc.models.card import CardSource, CardsSource, prose
from opdisc.models.linear_file import SavedLinearModel
from opdisc.privacy import BELOW, Guarantee, PrivacyReceipt

REGISTRY = "opendp/deployments-registry-data"
"""The registry's repository."""

REGISTRY_COMMIT = "3e9c812a924cf01d228f26f6c462c59c391c3f2a"
"""Its commit whose ``schemas/deployments-schema.yaml`` the record follows."""

_HEAD = f"""\
# A record for the registry of deployments of differential privacy, written by opdisc.
# It follows schemas/deployments-schema.yaml of github.com/{REGISTRY}
# at commit {REGISTRY_COMMIT}.
# Fill in what is empty: only you know it. The record is a draft until you say otherwise.
"""

_NO_TEXT, _NO_TEXTS = '""', '[""]'

_TIER = 2
"""Variant, unit, parameters and model of trust are known; more of it only to the owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blank:
    """What only the owner knows.

    Parameters
    ----------
    asked : str
        What belongs here, in words.
    is_list : bool
        Whether the registry takes several texts.
    """

    asked: str
    is_list: bool = False


Value = str | int | float | Blank
Fields = Mapping[str, "Value | Fields"]


Released = CardSource | CardsSource | SavedLinearModel
"""What a record can be of: a model with its receipt."""


def card_registry(model: Released) -> str:
    """Return a record of a release for the OpenDP Deployment Registry.

    Parameters
    ----------
    model : SavedModel, SavedMulticlassModel or SavedLinearModel
        Scorecards or weights, with their receipt.

    Returns
    -------
    str
        YAML. It has what the receipt knows; what only the owner knows is empty, and a comment says
        what belongs there. The registry's check refuses it until the date of publication is given.

    Raises
    ------
    ModelFileError
        If the guarantee is VOID.
    """
    receipt = model.receipt
    if Guarantee(receipt.guarantee) is Guarantee.VOID:
        raise ModelFileError(
            "a record of the registry must be of a release that is private, but this one's "
            "guarantee is VOID; show --explain says why."
        )
    record: Fields = {
        "url_slug": Blank(asked="a short name for the record's address, such as bank-card-2026"),
        "status": "Draft",
        "tier": _TIER,
        "deployment": {
            "basic": _basic(model),
            "dp_variant": _variant(receipt),
            "privacy_loss": _privacy_loss(receipt),
            "deployment_model": _trust(),
            "accounting": _accounting(receipt),
            "implementation": _implementation(receipt),
            "administrative": _administrative(),
        },
    }
    return _HEAD + "\n".join(_lines(record)) + "\n"


def _basic(model: Released) -> Fields:
    name, description = _words(model)
    return {
        "name": prose(name),
        "data_curators": Blank(asked="who publishes it", is_list=True),
        "intended_use": Blank(asked="what it is meant for"),
        "data_product_type": "Machine learning model",
        "data_product_region": Blank(asked="the region whose people or laws it is about"),
        "description": prose(description),
        "publication_date": Blank(asked="when it was published, as YYYY-MM-DD"),
    }


def _words(model: Released) -> tuple[str, str]:
    """Return the name of a model and what it is, in words."""
    schema = model.schema
    kind, what = "Scorecard", "with whole points"
    if isinstance(model, SavedLinearModel):
        kind, what = "Linear model", "with a weight for each column"
        if schema is None:
            return kind, f"{kind} {what}, learned from the columns {', '.join(model.columns)}."
    assert schema is not None  # cards have one
    kind += "s" if isinstance(model, CardsSource) else ""
    columns = f"learned from the columns {', '.join(schema.columns)}"
    return f"{kind} {schema.name}", f"{kind} {what} for {schema.target.column}, {columns}."


def _variant(receipt: PrivacyReceipt) -> Fields:
    pure = receipt.delta == 0 and receipt.delta_numerical == 0
    rows = "None." if receipt.n_rows is None else f"The number of rows, {receipt.n_rows:,}."
    domain = "Tables of numbers whose public bounds were stated at the fit."
    if receipt.schema_digest:
        digest = receipt.schema_digest
        domain = f"Tables whose columns are declared by a public schema, SHA-256 {digest}."
    return {
        "variant_name": "Pure DP" if pure else "Approximate DP",
        "data_domain": prose(domain),
        "unprotected_quantities": prose(f"{rows} Running time is not covered."),
    }


def _privacy_loss(receipt: PrivacyReceipt) -> Fields:
    delta = receipt.delta + receipt.delta_numerical
    parameters: Fields = {"epsilon": receipt.epsilon, **({"delta": delta} if delta else {})}
    how = {
        "add_or_remove_one": "the rows of one unit are added or removed",
        "replace_one": "the rows of one unit are replaced",
    }
    conditions = "".join(f" Condition: {condition}." for condition in receipt.conditions)
    return {
        "privacy_unit": prose(receipt.protected_unit),
        "privacy_unit_details": prose(
            f"Two tables are neighbours if {how[receipt.relation]}: {receipt.protected_unit}."
        ),
        "privacy_parameters": parameters,
        "privacy_parameters_details": prose(
            f"Guarantee: {receipt.guarantee}.{conditions} Theorem: {receipt.theorem}."
        ),
    }


def _trust() -> Fields:
    return {
        "model_name": "Central",
        "actors": Blank(asked="who sees the table or the model, and what is trusted of them"),
        "release_type": "One release",
        "release_type_details": Blank(asked="what else was or will be published of the same data"),
        "access_type": "Non-interactive",
    }


def _accounting(receipt: PrivacyReceipt) -> Fields:
    split = [(name.strip(), text.removesuffix(f": {BELOW}")) for name, text in receipt.split()]
    parts = "; ".join(f"{name}: {text}" for name, text in split)
    return {
        "post_processing": prose("Every form of the model follows from what was released."),
        "composition": prose(f"Epsilon is that of the whole release. {parts}".strip()),
    }


def _implementation(receipt: PrivacyReceipt) -> Fields:
    versions = ", ".join(f"{name} {number}" for name, number in receipt.versions.items())
    scales = ", ".join(f"{scale:.6g}" for scale in dict.fromkeys(receipt.noise_scales))
    return {
        "preprocessing_and_hyperparameter_tuning": Blank(
            asked="what was done with the data before, such as a choice of columns or thresholds"
        ),
        "mechanisms": prose(
            f"{receipt.mechanism}. Noise: {receipt.noise_law}; scale {scales}. Versions: "
            f"{versions}."
        ),
        "justification": Blank(asked="why epsilon, unit and columns were chosen so"),
    }


def _administrative() -> Fields:
    return {
        "sources": Blank(asked="where the model and a description of it are"),
        "notes": prose("Written from the receipt of the model, which anyone can read beside it."),
        "registry_authors": Blank(asked="who filled in this record", is_list=True),
    }


def _lines(fields: Fields, depth: int = 0) -> Iterator[str]:
    """Return a record as YAML: texts in quotes, as JSON has them."""
    for name, value in fields.items():
        key = f"{'  ' * depth}{name}:"
        if isinstance(value, Mapping):
            yield key
            yield from _lines(value, depth + 1)
        elif isinstance(value, Blank):
            yield f"{key} {_NO_TEXTS if value.is_list else _NO_TEXT}  # {value.asked}"
        elif isinstance(value, str):
            yield f"{key} {json.dumps(escaped(value), ensure_ascii=False)}"
        else:
            yield f"{key} {_number(value)}"


def _number(value: float) -> str:
    """Return a number that YAML 1.1 takes for one: it wants a point before an exponent."""
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
