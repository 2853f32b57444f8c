"""A small evaluator of PMML scorecards, from the document alone: it shares no code with opdisc."""

import math
import operator
import re
from xml.etree import ElementTree as ET

_SPACE = "{http://www.dmg.org/PMML-4_4}"
_BINARY = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_BINARY |= {"min": min, "max": max, "greaterOrEqual": operator.ge}


class Invalid(Exception):
    """A cell that the document does not allow."""


def _children(element, name=None):
    return [child for child in element if name is None or child.tag == _SPACE + name]


def _name(element):
    return element.tag.removeprefix(_SPACE)


class Scorecard:
    """A scorecard that was read from PMML."""

    def __init__(self, text):
        root = ET.fromstring(text)
        assert (root.tag, root.attrib["version"]) == (_SPACE + "PMML", "4.4")
        assert [_name(part) for part in root] == ["Header", "DataDictionary", "Scorecard"]
        self.dictionary = {field.attrib["name"]: field for field in root[1]}
        self.card = root[2]
        assert len(self.dictionary) == len(root[1]) > 0
        parts = ["MiningSchema", "Output", "Characteristics"]
        assert [_name(part) for part in self.card] == parts
        mining, self.output, self.characteristics = self.card
        assert [field.attrib["name"] for field in mining] == list(self.dictionary)
        assert len(self.characteristics) > 0
        outputs = [field.attrib["name"] for field in self.output]
        assert len({*outputs, *self.dictionary}) == len(outputs) + len(self.dictionary)

    def __call__(self, row):
        """Return the outputs of a row, by name."""
        cells = {name: self._read(field, row.get(name)) for name, field in self.dictionary.items()}
        total, lost = float(self.card.attrib["initialScore"]), {}
        for one in self.characteristics:
            points = self._points(one, cells)
            total += points
            if self.card.attrib["useReasonCodes"] == "true":
                code = one.attrib["reasonCode"]
                lost[code] = lost.get(code, 0) + float(one.attrib["baselineScore"]) - points
        reasons = sorted(lost, key=lost.get, reverse=True)
        given = {}
        for field in self.output:
            kind = field.attrib["feature"]
            if kind == "predictedValue":
                value = total
            elif kind == "reasonCode":
                value = reasons[int(field.attrib["rank"]) - 1 :][:1]
                value = (value[0], lost[value[0]]) if value else None
            else:
                value = _value(field[0], given)
            given[field.attrib["name"]] = value
        return given

    def _read(self, field, cell):
        if cell is None or cell != cell:
            return None
        values = [(v.attrib["value"], v.attrib["property"]) for v in field]
        if (cell, "missing") in values:
            return None
        if field.attrib["dataType"] == "double":
            try:
                return float(cell)
            except ValueError:
                raise Invalid from None
        allowed = [value for value, kind in values if kind == "valid"]
        if allowed and str(cell) not in allowed:
            raise Invalid
        return str(cell)

    def _points(self, characteristic, cells):
        assert _name(_children(characteristic)[-1][0]) == "True"
        for attribute in characteristic:
            (predicate,) = attribute
            if _truth(predicate, cells):
                return float(attribute.attrib["partialScore"])
        raise AssertionError("no attribute is true")


def _truth(predicate, cells):
    """Return whether a predicate is true; None where nobody knows."""
    kind, facts = _name(predicate), predicate.attrib
    if kind == "True":
        return True
    if kind == "CompoundPredicate":
        assert facts["booleanOperator"] == "or" and len(predicate) > 1
        found = [_truth(part, cells) for part in predicate]
        return True if True in found else (None if None in found else False)
    cell = cells[facts["field"]]
    if facts.get("operator") == "isMissing":
        return cell is None
    if cell is None:
        return None
    if kind == "SimpleSetPredicate":
        assert facts["booleanOperator"] == "isIn"
        (array,) = predicate
        texts = re.findall(r'"([^"\\]*)"', array.text)
        assert array.attrib == {"type": "string", "n": str(len(texts))}
        return cell in texts
    assert kind == "SimplePredicate"
    value = type(cell)(facts["value"])
    return {"equal": operator.eq, "greaterOrEqual": operator.ge}[facts["operator"]](cell, value)


def _value(element, given):
    if _name(element) == "Constant":
        return (float if element.attrib["dataType"] == "double" else str)(element.text)
    if _name(element) == "FieldRef":
        return given[element.attrib["field"]]
    function, parts = element.attrib["function"], [_value(part, given) for part in element]
    if function == "if":
        return parts[1] if parts[0] else parts[2]
    return math.exp(*parts) if function == "exp" else _BINARY[function](*parts)
