"""A scorecard as a FHIR R4B questionnaire that adds itself up.

An answer is a number or one of the declared values, and a missing cell is no answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from opdisc.errors import ModelFileError, is_plain, quoted
from opdisc.models.card import (
    AtLeast,
    CardSource,
    CardsSource,
    Characteristic,
    Column,
    OneOf,
    Statement,
    card_characteristics,
    card_columns,
    card_content,
    is_number_text,
    plain,
    single_card,
)

_CALCULATED = (
    "http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire-calculatedExpression"
)
_VARIABLE = "http://hl7.org/fhir/StructureDefinition/variable"
_WEIGHT = "http://hl7.org/fhir/StructureDefinition/ordinalValue"

_LARGEST, _WHOLE, _PLACES = 2**31, 10**15, 8
"""A whole number, a number and the decimals that every reader of FHIRPath keeps."""


def card_fhir(model: CardSource | CardsSource) -> str:
    """Return a FHIR R4B Questionnaire: an item a raw column, total and answer calculated.

    Parameters
    ----------
    model : SavedModel
        A scorecard with its schema and receipt.

    Returns
    -------
    str
        JSON. Values have their points as ``ordinalValue``, unless columns exclude each other.

    Raises
    ------
    ModelFileError
        If there are several cards, a total may reach 2^31, a threshold has more than 8 decimals,
        a value or label is not printable, a label has a backslash, or a column has values in two
        features.
    """
    model = single_card(model, "a FHIR questionnaire")
    card = model.scorecard
    if sum(map(abs, card.hypothesis)) + abs(card.threshold) >= _LARGEST:
        raise ModelFileError(
            "totals of a FHIR questionnaire must stay below 2^31, but this card's may not; write "
            "--python or --sql-text instead."
        )
    found = card_characteristics(card, model.schema)
    columns = card_columns(found, model.schema)
    links = {column.name: f"c{number}" for number, column in enumerate(columns, start=1)}
    items = [_item(column, found, links[column.name]) for column in columns]
    variables = [_variable(column, links[column.name]) for column in columns]
    total = " + ".join([f"({card.start})", *(_points(one, columns, links) for one in found)])
    negative, positive = (_literal(str(label)) for label in card.classes)
    answer = f"iif(%total >= {card.threshold}, {positive}, {negative})"
    content = card_content(model)
    lines = (content.parts[0].rule, *content.notes, *(f"{a}: {b}" for a, b in content.receipt))
    document = {
        "resourceType": "Questionnaire",
        "extension": [*variables, _expression(_VARIABLE, total, "total")],
        "title": plain(content.title),
        "status": "draft",
        "description": "\n".join(map(plain, lines)),
        "item": [
            *items,
            _result("total", "Total", "integer", "%total"),
            _result("answer", plain(card.target), "string", answer),
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _item(column: Column, found: tuple[Characteristic, ...], link: str) -> dict[str, Any]:
    item = {"linkId": link, "text": plain(column.name)}
    if column.is_number:
        return item | {"type": "decimal"}
    own = [one for one in found if column.name in one.columns]
    if len(own) > 1:
        raise ModelFileError(
            "a FHIR questionnaire needs the values of a column in one feature, but "
            f"{quoted(column.name)} has several; write --python or --sql-text instead."
        )
    weighed = len(own[0].columns) == 1
    options = [
        _option(f"v{number}", _shown(value), points if weighed else None)
        for number, (value, points) in enumerate(_values(own[0], column).items(), start=1)
    ]
    if column.allowed is None:
        options.append(_option("other", "anything else", 0 if weighed else None))
    return item | {"type": "choice", "answerOption": options}


def _values(one: Characteristic, column: Column) -> dict[str, int]:
    """Return what may be answered, with its points: of two statements the first one's."""
    found: dict[str, int] = {}
    for statement in one.statements:
        test = statement.test
        if isinstance(test, OneOf) and test.column == column.name:
            for value in test.values:
                found.setdefault(value, statement.points)
    for value in column.allowed or ():
        found.setdefault(value, 0)
    return found


def _option(code: str, display: str, points: int | None) -> dict[str, Any]:
    weight = {} if points is None else {"extension": [{"url": _WEIGHT, "valueDecimal": points}]}
    return weight | {"valueCoding": {"code": code, "display": display}}


def _variable(column: Column, link: str) -> dict[str, Any]:
    path = f"%resource.item.where(linkId = '{link}').answer.value"
    return _expression(_VARIABLE, path if column.is_number else f"{path}.code", link)


def _expression(url: str, expression: str, name: str | None = None) -> dict[str, Any]:
    named = {} if name is None else {"name": name}
    said = named | {"language": "text/fhirpath", "expression": expression}
    return {"url": url, "valueExpression": said}


def _result(link: str, text: str, kind: str, expression: str) -> dict[str, Any]:
    extension = [_expression(_CALCULATED, expression)]
    item = {"linkId": link, "text": text, "type": kind, "readOnly": True}
    return {"extension": extension, **item}


def _points(one: Characteristic, columns: tuple[Column, ...], links: dict[str, str]) -> str:
    """Return the points of a characteristic: a sum, or those of the first true statement."""
    by_name = {column.name: column for column in columns}
    tests = [
        (_is_true(one, statement, by_name[statement.test.column], links), f"({statement.points})")
        for statement in one.statements
    ]
    if one.adds_up:
        return " + ".join(f"iif({true}, {points}, 0)" for true, points in tests)
    rest = "0"
    for true, points in reversed(tests):
        rest = f"iif({true}, {points}, {rest})"
    return rest


def _is_true(
    one: Characteristic, statement: Statement, column: Column, links: dict[str, str]
) -> str:
    test, name = statement.test, f"%{links[column.name]}"
    if isinstance(test, AtLeast):
        absent = [f"{name} != {_decimal(number)}" for number in test.absent]
        return " and ".join([f"{name} >= {_decimal(test.cut)}", *absent])
    return " or ".join(_cases(one, test, column, name)) or "false"


def _cases(one: Characteristic, test: OneOf, column: Column, name: str) -> Iterator[str]:
    if test.blank:
        yield f"{name}.exists().not()"
    codes = {value: f"v{k}" for k, value in enumerate(_values(one, column), start=1)}
    for value in test.values:
        if not column.is_number:
            yield f"{name} = '{codes[value]}'"
        elif is_number_text(value):
            yield f"{name} = {_decimal(float(value))}"
        elif value not in column.missing:
            raise ModelFileError(
                "a FHIR questionnaire asks for numbers or for values, but "
                f"{quoted(column.name)} has thresholds and a value that is no number; write "
                "--python or --sql-text instead."
            )


def _decimal(number: float) -> str:
    text = format(Decimal(repr(number)), "f")
    if abs(number) >= _WHOLE or len(text.partition(".")[2]) > _PLACES:
        raise ModelFileError(
            "a FHIR questionnaire must compare numbers below 10^15 of 8 decimals at most, but "
            "this card has another; write --python or --sql-text instead."
        )
    return f"({text})"


def _shown(text: str) -> str:
    if not is_plain(text) or " ".join(text.split()) != text or not text:
        raise ModelFileError(
            "a FHIR questionnaire must have printable values and labels with single spaces, but "
            "one of this card is another; write --python or --sql-text instead."
        )
    return text


def _literal(text: str) -> str:
    if "\\" in text:  # fhirpathpy 2.2.4 reads two of them and an n as one and a line break
        raise ModelFileError(
            "labels of a FHIR questionnaire must have no backslash, which evaluators read in "
            "different ways, but one of this card has; write --python or --sql-text instead."
        )
    return "'" + _shown(text).replace("'", "\\'") + "'"
