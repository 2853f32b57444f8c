"""A scorecard as PMML 4.4, for engines that score.

An engine compares texts as they stand. So the file holds the usual spellings of each value, but a
cell with white space around it, or 1.00 for 1, is another text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import accumulate
from xml.etree import ElementTree as ET  # nosec B405 # a document is written, none is read

from opdisc.data import Schema
from opdisc.errors import ModelFileError, quoted
from opdisc.models.card import (
    NO_XML,
    AtLeast,
    CardSource,
    CardsSource,
    Characteristic,
    Column,
    OneOf,
    OutputNames,
    card_characteristics,
    card_columns,
    card_content,
    is_number_text,
    output_names,
    plain,
    single_card,
    spelled,
)
from opdisc.models.odds import LARGEST_LOG_ODDS as _MOST, OddsScale
from opdisc.models.scorecard import Scorecard

_NAMESPACE = "http://www.dmg.org/PMML-4_4"

_REASONS = 3
"""Reasons that a row gets at most."""


def card_pmml(model: CardSource | CardsSource) -> str:
    """Return a PMML document with a ``Scorecard`` that gives total, label and reasons.

    A logistic card gives the chance too.

    Parameters
    ----------
    model : SavedModel
        A scorecard and its schema.

    Returns
    -------
    str
        PMML 4.4. A baseline is the most points of a characteristic, so the first reason is the
        column that lost most of them.

    Raises
    ------
    ModelFileError
        If there are several cards, if a column is read as numbers but a value of it is none, or if
        a name or value holds a character that XML cannot.
    """
    model = single_card(model, "PMML")
    card, schema = model.scorecard, model.schema
    found = card_characteristics(card, schema)
    columns = card_columns(found, schema)
    root = ET.Element("PMML", {"xmlns": _NAMESPACE, "version": "4.4"})
    _header(root, model)
    dictionary = ET.SubElement(root, "DataDictionary")
    for column in columns or (_any_column(schema),):  # the format asks for one at least
        _data_field(dictionary, column)
    reasons = {"useReasonCodes": "false"}
    if found:
        reasons = {"useReasonCodes": "true", "reasonCodeAlgorithm": "pointsBelow"}
    start = {"functionName": "regression", "initialScore": str(card.start)}
    scorecard = ET.SubElement(root, "Scorecard", start | reasons, modelName=plain(schema.name))
    mining = ET.SubElement(scorecard, "MiningSchema")
    for field in dictionary:
        ET.SubElement(mining, "MiningField", name=field.attrib["name"])
    output = ET.SubElement(scorecard, "Output")
    names = output_names(model, reasons=min(_REASONS, len(found)))
    _answers(output, card, getattr(model, "odds", None), names)
    characteristics = ET.SubElement(scorecard, "Characteristics")
    by_name = {column.name: column for column in columns}
    for number, one in enumerate(found, start=1):
        _characteristic(characteristics, number, one, by_name)
    if not found:
        element = ET.SubElement(characteristics, "Characteristic", name="none")
        ET.SubElement(ET.SubElement(element, "Attribute", partialScore="0"), "True")
    return _text(root)


def _any_column(schema: Schema) -> Column:
    """Return a column for a card that reads none."""
    return Column(
        name=schema.columns[0], is_number=False, allowed=None, missing=(), needs_text=False
    )


def _text(root: ET.Element) -> str:
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    if NO_XML.search(text):
        raise ModelFileError(
            "XML cannot hold a control character or half of a character pair, but a name or value "
            "of this model does; correct the schema and fit again."
        )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _header(root: ET.Element, model: CardSource) -> None:
    content = card_content(model)
    header = ET.SubElement(
        root, "Header", description=plain(f"{content.title}. {content.subtitle}")
    )
    ET.SubElement(header, "Application", name="opdisc")
    for name, line in content.receipt:
        ET.SubElement(header, "Annotation").text = plain(f"{name}: {line}")
    for note in content.notes:
        ET.SubElement(header, "Annotation").text = plain(note)


def _data_field(dictionary: ET.Element, column: Column) -> None:
    field = ET.SubElement(
        dictionary,
        "DataField",
        name=column.name,
        optype="continuous" if column.is_number else "categorical",
        dataType="double" if column.is_number else "string",
    )
    # An engine refuses a value that is neither of yes and no, or makes the total NaN. No such
    # list is made of categories: another value is allowed there.
    allowed = spelled(column.allowed or (), is_text=False)
    for value in allowed:
        ET.SubElement(field, "Value", value=value, property="valid")
    if column.is_number or column.allowed is not None:
        for text in _marks(column):
            if text not in allowed:
                ET.SubElement(field, "Value", value=text, property="missing")


def _marks(column: Column) -> tuple[str, ...]:
    """Return the texts that stand for a missing value; numbers are told from others by cuts."""
    if not column.is_number:
        return ("", *spelled(column.missing, is_text=False))
    return ("", *(text for text in column.missing if not is_number_text(text)))


def _answers(
    output: ET.Element, card: Scorecard, odds: OddsScale | None, names: OutputNames
) -> None:
    (total,) = names.totals
    _output_field(output, total, "double", feature="predictedValue")
    said = _output_field(output, names.prediction, "string", feature="transformedValue")
    reached = _apply("greaterOrEqual", _field(total), _number(card.threshold))
    negative, positive = (_constant(str(label), "string") for label in card.classes)
    said.append(_apply("if", reached, positive, negative))
    if odds is not None and names.probability is not None:
        chance = _output_field(output, names.probability, "double", feature="transformedValue")
        chance.append(_chance(odds, total))
    for rank, name in enumerate(names.reasons, start=1):
        _output_field(output, name, "string", feature="reasonCode", rank=str(rank))


def _output_field(output: ET.Element, name: str, kind: str, **more: str) -> ET.Element:
    optype = "continuous" if kind == "double" else "categorical"
    return ET.SubElement(output, "OutputField", more, name=name, optype=optype, dataType=kind)


def _chance(odds: OddsScale, total: str) -> ET.Element:
    """Return 1 / (1 + exp(-log odds)), the exponent within what a double holds."""
    away = _apply("-", _field(total), _number(odds.points0))
    grown = _apply("*", away, _number(odds.per_point))
    log_odds = _apply("+", _number(math.log(odds.odds0)), grown)
    held = _apply("max", _apply("min", log_odds, _number(_MOST)), _number(-_MOST))
    power = _apply("exp", _apply("*", _number(-1), held))
    return _apply("/", _number(1), _apply("+", _number(1), power))


def _apply(function: str, *arguments: ET.Element) -> ET.Element:
    element = ET.Element("Apply", function=function)
    element.extend(arguments)
    return element


def _field(name: str) -> ET.Element:
    return ET.Element("FieldRef", field=name)


def _number(value: float) -> ET.Element:
    return _constant(repr(value), "double")


def _constant(text: str, kind: str) -> ET.Element:
    element = ET.Element("Constant", dataType=kind)
    element.text = text
    return element


def _characteristic(
    parent: ET.Element, number: int, one: Characteristic, columns: dict[str, Column]
) -> None:
    scored = list(_summed(one) if one.adds_up else _first_true(one, columns))
    columns_text = ", ".join(one.columns)
    element = ET.SubElement(
        parent,
        "Characteristic",
        name=f"{number}: {columns_text}",
        reasonCode=columns_text,
        baselineScore=str(max(0, *(points for _, points in scored))),
    )
    for predicate, points in (*scored, (ET.Element("True"), 0)):  # without it some engines raise
        ET.SubElement(element, "Attribute", partialScore=str(points)).append(predicate)


def _summed(one: Characteristic) -> Iterator[tuple[ET.Element, int]]:
    """Return predicates and points of cuts from the highest down: the first true one counts."""
    (name,) = one.columns
    cuts = [test for test in (s.test for s in one.statements) if isinstance(test, AtLeast)]
    if cuts[0].absent:
        yield _any(_equal(name, repr(number)) for number in cuts[0].absent), 0
    sums = accumulate(statement.points for statement in one.statements)
    for statement, cut, points in reversed(list(zip(one.statements, cuts, sums, strict=True))):
        if statement.points:
            yield _simple(name, "greaterOrEqual", value=repr(cut.cut)), points


def _first_true(
    one: Characteristic, columns: dict[str, Column]
) -> Iterator[tuple[ET.Element, int]]:
    for statement in one.statements:
        if statement.points or len(one.columns) > 1:
            assert isinstance(statement.test, OneOf)
            yield _one_of(statement.test, columns[statement.test.column]), statement.points


def _one_of(test: OneOf, column: Column) -> ET.Element:
    name = column.name
    blank = [_simple(name, "isMissing")] if test.blank else []
    if column.is_number:
        texts = [text for text in test.values if text not in _marks(column) or not test.blank]
        if not all(map(is_number_text, texts)):
            raise ModelFileError(
                f"PMML reads a column as numbers or as texts, but {quoted(name)} has thresholds "
                "and a value that is no number; write --python or --sql-text instead."
            )
        return _any([*blank, *(_equal(name, text) for text in texts)])
    texts = [*spelled(test.values, is_text=test.is_text), *([""] if test.blank else [])]
    if len(texts) == 1 or any(c in text for text in texts for c in '"\\'):
        return _any([*blank, *(_equal(name, text) for text in texts)])  # engines differ in "\""
    found = ET.Element("SimpleSetPredicate", field=name, booleanOperator="isIn")
    array = ET.SubElement(found, "Array", type="string", n=str(len(texts)))
    array.text = " ".join(f'"{text}"' for text in texts)
    return _any([*blank, found])


def _any(predicates: Iterable[ET.Element]) -> ET.Element:
    """Return the predicate that one of some is true."""
    listed = list(predicates)
    if len(listed) == 1:
        return listed[0]
    element = ET.Element("CompoundPredicate", booleanOperator="or")
    element.extend(listed)
    return element


def _equal(name: str, value: str) -> ET.Element:
    return _simple(name, "equal", value=value)


def _simple(name: str, operator: str, **value: str) -> ET.Element:
    return ET.Element("SimplePredicate", value, field=name, operator=operator)
