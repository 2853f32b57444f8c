"""A plan decides as a fit does: the receipt of what is decided is the one that is recorded."""

import warnings
from dataclasses import replace

import pytest
from helpers.opdisc.frozen_plans import CONFIGURATIONS

import opdisc
from opdisc.data import parse_schema
from opdisc.errors import CalibrationError
from opdisc.estimators import PrivateMulticlassClassifier, PrivateScorecardClassifier
from opdisc.planning import decide_card, decide_cards, logistic_receipt, takes_logistic
from opdisc.planning.logistic import STARTED
from opdisc.privacy import PrivacyParams, PublicInputs, Reason, WeakPromise, parse_relation

CARDS = [
    name
    for name, case in CONFIGURATIONS.items()
    if case.schema is not None
    and issubclass(getattr(opdisc, case.estimator), PrivateScorecardClassifier)
]
NOT_PLANNED = {
    "private thresholds": {"schema_digest"},  # it names the thresholds that were drawn
    "private thresholds and risks": {"schema_digest"},
    "an oracle is named": {"conditions", "guarantee"},  # a plan asks for none
}
"""What the draw or a named oracle decides; besides who answers, and with which versions."""


def facts(case, schema, rows):
    """Return what is public of a table of so many rows."""
    settings = case.settings
    relation = parse_relation(settings.get("relation", "replace_one"))
    return PublicInputs(
        params=PrivacyParams(epsilon=settings["epsilon"], delta=settings.get("delta", 0.0)),
        relation=relation,
        rows_per_unit=schema.rows_per_unit,
        privacy_unit=schema.privacy_unit,
        schema_digest=schema.digest(),
        n_rows=rows if relation.name == "REPLACE_ONE" else None,
        public_row_guess=settings.get("public_row_guess"),
    )


def planned(case):
    """Return the receipt that is known before any row is read."""
    model = getattr(opdisc, case.estimator)(**case.settings)
    schema = opdisc.data.with_error_costs(
        parse_schema(case.schema), case.settings.get("error_costs")
    )
    public = facts(case, schema, case.rows)
    request = model._request(schema)
    if isinstance(model, PrivateMulticlassClassifier):
        return decide_cards(request, public, model.strategy).receipt()
    why = takes_logistic(request, public)
    if why is not None:
        return logistic_receipt(schema, public, why)
    return decide_card(request, public).receipt()


@pytest.mark.parametrize("name", CARDS)
def test_what_is_decided_is_what_is_recorded(name):
    case = CONFIGURATIONS[name]
    left_out = {"versions", "oracle"} | NOT_PLANNED.get(name, set())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakPromise)
        recorded, found = case.receipt(), planned(case).to_dict()
    assert found.keys() >= recorded.keys()
    assert {field for field in recorded if found[field] != recorded[field]} <= left_out


def test_most_configurations_are_cards():
    assert len(CARDS) >= 40 and set(NOT_PLANNED) < set(CARDS)


@pytest.mark.parametrize(
    ("mechanism", "is_started", "why"),
    [
        ("auto", True, STARTED),
        ("logistic", True, Reason()),  # it was named, and needs no reason
        ("logistic", False, Reason()),
        ("staged", True, None),
        ("staged", False, None),
    ],
)
def test_a_start_or_its_name_makes_a_card_a_logistic_one(mechanism, is_started, why):
    request, public = request_of(mechanism)
    assert takes_logistic(request, public, is_started=is_started) == why


@pytest.mark.parametrize(
    ("mechanism", "n_columns", "n_rows", "taken"),
    [
        ("auto", 19, 1900, True),
        ("auto", 19, 1899, False),  # below 100 rows times epsilon for each statement
        ("auto", 18, 100_000, False),
        ("staged", 19, 100_000, False),
    ],
)
def test_many_statements_with_many_rows_each_make_it_one(mechanism, n_columns, n_rows, taken):
    request, public = request_of(mechanism, n_columns=n_columns)
    why = takes_logistic(request, replace(public, n_rows=n_rows))
    assert (why is not None and bool(why)) is taken


def test_limits_of_points_are_refused_for_a_logistic_card_and_for_no_other():
    request, public = request_of("logistic", points={"at_most": 2})
    with pytest.raises(CalibrationError, match="a mechanism that draws from a grid"):
        takes_logistic(request, public)
    request, public = request_of("staged", points={"at_most": 2})
    assert takes_logistic(request, public) is None


def request_of(mechanism, n_columns=1, **feature):
    """Return what is asked with a mechanism, and public facts of 1,000 rows."""
    schema = parse_schema(
        {
            "name": "ward",
            "target": {"column": "ill", "positive": "yes", "negative": "no"},
            "feature": [
                {"column": f"yes {number}", "binary": True, **feature}
                for number in range(n_columns)
            ],
        }
    )
    params = PrivacyParams(epsilon=1.0, delta=0.0)
    public = PublicInputs(params=params, relation=parse_relation("replace_one"), n_rows=1000)
    model = PrivateScorecardClassifier(schema=schema, mechanism=mechanism)
    return model._request(schema), public
