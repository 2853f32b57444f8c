"""A card's questionnaire filled in; an evaluator that knows the document alone calculates."""

import json


class Questionnaire:
    """A questionnaire of FHIR R4 that calculates.

    Parameters
    ----------
    text : str
        The document.
    """

    def __init__(self, text):
        from fhirpathpy import compile
        from fhirpathpy.models import models

        self.document = json.loads(text)
        self._r4 = models["r4"]
        self._steps = [
            (
                one["valueExpression"]["name"],
                compile(one["valueExpression"]["expression"], self._r4),
            )
            for one in self.document["extension"]
        ]
        self._results = [
            compile(item["extension"][0]["valueExpression"]["expression"], self._r4)
            for item in self.document["item"]
            if item.get("readOnly")
        ]

    def __call__(self, row, missing=()):
        """Return total and answer of cells by column; None if one cannot be answered."""
        items = []
        for item in self.document["item"]:
            if item.get("readOnly"):
                continue
            answer = _answer(item, row[item["text"]], missing)
            if answer == "none":
                return None
            items.append({"linkId": item["linkId"]} | ({"answer": [answer]} if answer else {}))
        response = {"resourceType": "QuestionnaireResponse", "status": "completed", "item": items}
        known = {"resource": response}
        for name, step in self._steps:
            known[name] = step(response, known)
        return tuple(result(response, known)[0] for result in self._results)


def filled_in(row, schema):
    """Return a row in which what is missing, and no declared value, is left out."""
    found = dict(row)
    for feature in schema.features:
        cell, declared = row[feature.column], getattr(feature, "values", ())
        if cell in schema.missing_texts(feature) and cell not in declared:
            found[feature.column] = None
    return found


def _answer(item, cell, missing):
    """Return the answer of a question: "none" where it has none, None where it is left out."""
    if item["type"] == "decimal":
        if cell is None or isinstance(cell, str):
            return (
                None if cell in (None, "", *missing) and not _is_number(cell) else _decimal(cell)
            )
        return _decimal(cell)
    options = {o["valueCoding"]["display"]: o["valueCoding"] for o in item["answerOption"]}
    if cell in options:
        return {"valueCoding": options[cell]}
    if cell is None or cell == "" or cell in missing:
        return None
    other = [each for each in options.values() if each["display"] == "anything else"]
    return {"valueCoding": other[0]} if other else "none"


def _is_number(cell):
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _decimal(cell):
    return {"valueDecimal": float(cell)} if _is_number(cell) else "none"
