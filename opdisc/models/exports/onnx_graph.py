"""A scorecard as an ONNX model of plain operators: raw columns in, total and answer out.

An operator compares texts as they stand, and numbers as doubles.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterable
from functools import reduce
from typing import Any

from opdisc.errors import ModelFileError, OPDiscError, quoted
from opdisc.models.card import (
    NO_XML,
    AtLeast,
    CardSource,
    CardsSource,
    Characteristic,
    Column,
    OneOf,
    card_characteristics,
    card_columns,
    card_content,
    is_number_text,
    output_names,
    single_card,
    spelled,
)
from opdisc.models.odds import LARGEST_LOG_ODDS, OddsScale

_OPSET, _IR = 19, 9
"""The first set of operators that compares texts, and the format that came with it."""

_LARGEST = 2**24
"""Whole numbers below it are exact in 4 bytes too."""

_DOC = """\
{title}
Each input is a raw column with one cell a row: doubles, or texts. A missing number is NaN, and a \
missing text is empty. Of a row that the card does not read the total is NaN and the answer empty.
{receipt}"""


def card_onnx(model: CardSource | CardsSource) -> bytes:
    """Return an ONNX model that gives total and answer of rows.

    Parameters
    ----------
    model : SavedModel
        A scorecard and its schema.

    Returns
    -------
    bytes
        Inputs of shape (rows,) by the names of the raw columns: doubles where the card has
        thresholds, else texts. Outputs of that shape: ``total`` (double), ``prediction`` (text)
        and, of a logistic card, ``probability`` (double); a column keeps its name, and an output
        of that name gets an underscore.

    Raises
    ------
    OPDiscError
        If onnx is not installed.
    ModelFileError
        If there are several cards, no column has points, a total may reach 2^24, a column of
        numbers has a value that is none, or a name or value is not printable.
    """
    try:
        onnx: Any = importlib.import_module("onnx")
    except ModuleNotFoundError:
        raise OPDiscError(
            "an ONNX model needs onnx, which is not installed; install opdisc[onnx], or write "
            "--python instead."
        ) from None
    model = single_card(model, "an ONNX model")
    card = model.scorecard
    found = card_characteristics(card, model.schema)
    if not found or sum(map(abs, card.hypothesis)) + abs(card.threshold) >= _LARGEST:
        raise ModelFileError(
            "an ONNX model needs points and totals below 2^24, where every engine counts "
            "exactly, but this card has none or may pass it; write --python or --sql instead."
        )
    columns = card_columns(found, model.schema)
    names = output_names(model)
    graph = _Graph(onnx, [column.name for column in columns])
    for column in columns:
        graph.read(column)
    by_name = {column.name: column for column in columns}
    added = [_points(graph, one, by_name) for one in found]
    total = reduce(lambda a, b: graph.add("Add", a, b), added, graph.number(card.start))
    read = graph.every(_is_read(graph, column) for column in columns)
    graph.give(names.totals[0], graph.add("Where", read, total, graph.number(math.nan)))
    reached = graph.add("GreaterOrEqual", total, graph.number(card.threshold))
    negative, positive = (graph.text(str(label)) for label in card.classes)
    said = graph.add("Where", reached, positive, negative)
    answer = graph.add("Where", read, said, graph.text(""))
    graph.give(names.prediction, answer, is_text=True)
    odds: OddsScale | None = getattr(model, "odds", None)
    if odds is not None and names.probability is not None:
        chance = _chance(graph, odds, total)
        graph.give(names.probability, graph.add("Where", read, chance, graph.number(math.nan)))
    content = card_content(model)
    receipt = "\n".join(f"{name}: {line}" for name, line in content.receipt)
    return graph.content(_DOC.format(title=content.title, receipt=receipt))


class _Graph:
    """Operators as they are added; a value is known by its name.

    Parameters
    ----------
    onnx : module
        The package.
    columns : list of str
        Names that inputs have.
    """

    def __init__(self, onnx: Any, columns: list[str]) -> None:
        self._onnx, self._helper, self._types = onnx, onnx.helper, onnx.TensorProto
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._taken: set[str] = set(columns)
        for name in columns:
            self._check(name)

    def _check(self, text: str) -> str:
        if NO_XML.search(text):
            raise ModelFileError(
                "an ONNX model must hold no control character or half of a character pair, but a "
                "name or value of this model does; correct the schema and fit again."
            )
        return text

    def _name(self, wanted: str) -> str:
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted

    def _of_rows(self, name: str, *, is_text: bool) -> Any:
        kind = self._types.STRING if is_text else self._types.DOUBLE
        return self._helper.make_tensor_value_info(name, kind, ["rows"])

    def read(self, column: Column) -> None:
        """Add an input."""
        self._inputs.append(self._of_rows(column.name, is_text=not column.is_number))

    def add(self, operator: str, *inputs: str) -> str:
        """Add an operator, and return its result."""
        result = self._name(f"step {len(self._nodes)}")
        self._nodes.append(self._helper.make_node(operator, list(inputs), [result]))
        return result

    def number(self, value: float) -> str:
        """Return a double that is the same for all rows."""
        return self._constant(self._types.DOUBLE, float(value))

    def text(self, value: str) -> str:
        """Return a text that is the same for all rows."""
        return self._constant(self._types.STRING, self._check(value).encode("utf-8"))

    def _constant(self, kind: int, value: float | bytes) -> str:
        name = self._name(f"constant {len(self._constants)}")
        self._constants.append(self._helper.make_tensor(name, kind, [], [value]))
        return name

    def give(self, wanted: str, value: str, *, is_text: bool = False) -> None:
        """Make a value an output, under a name that no column has."""
        name = self._name(wanted)
        self._nodes.append(self._helper.make_node("Identity", [value], [name]))
        self._outputs.append(self._of_rows(name, is_text=is_text))

    def some(self, conditions: Iterable[str]) -> str:
        """Return whether one of at least one condition is true."""
        return reduce(lambda a, b: self.add("Or", a, b), conditions)

    def every(self, conditions: Iterable[str]) -> str:
        """Return whether all of at least one condition are true."""
        return reduce(lambda a, b: self.add("And", a, b), conditions)

    def content(self, words: str) -> bytes:
        """Return the model, checked by the package."""
        graph = self._helper.make_graph(
            self._nodes, "scorecard", self._inputs, self._outputs, self._constants
        )
        made = self._helper.make_model(
            graph,
            opset_imports=[self._helper.make_opsetid("", _OPSET)],
            ir_version=_IR,
            producer_name="opdisc",
            doc_string=self._check(words),
        )
        self._onnx.checker.check_model(made)
        return bytes(made.SerializeToString())


def _is_read(graph: _Graph, column: Column) -> str:
    """Return whether the card reads a cell: no infinite number, and yes or no where they are."""
    name = column.name
    if column.is_number:
        most = graph.number(sys.float_info.max)
        return graph.add("Not", graph.add("Greater", graph.add("Abs", name), most))
    if column.allowed is None:
        return graph.add("Equal", name, name)
    texts = spelled((*column.allowed, *column.missing), is_text=False)
    return graph.some(_equals(graph, name, ["", *texts]))


def _points(graph: _Graph, one: Characteristic, columns: dict[str, Column]) -> str:
    """Return the points of a characteristic."""
    nothing = graph.number(0)
    tests = [
        (_is_true(graph, s.test, columns[s.test.column]), graph.number(s.points))
        for s in one.statements
    ]
    if one.adds_up:
        added = (graph.add("Where", true, points, nothing) for true, points in tests)
        return reduce(lambda a, b: graph.add("Add", a, b), added)
    rest = nothing
    for true, points in reversed(tests):
        rest = graph.add("Where", true, points, rest)
    return rest


def _is_true(graph: _Graph, test: AtLeast | OneOf, column: Column) -> str:
    name = column.name
    if isinstance(test, AtLeast):
        reached = graph.add("GreaterOrEqual", name, graph.number(test.cut))
        absent = (graph.add("Equal", name, graph.number(number)) for number in test.absent)
        return graph.every([reached, *(graph.add("Not", each) for each in absent)])
    if not column.is_number:
        texts = spelled(test.values, is_text=test.is_text)
        return graph.some(_equals(graph, name, [*texts, *([""] if test.blank else [])]))
    numbers = [text for text in test.values if is_number_text(text)]
    if not set(test.values).issubset({*numbers, *column.missing}):
        raise ModelFileError(
            f"an ONNX model reads a column as numbers or as texts, but {quoted(name)} has "
            "thresholds and a value that is no number; write --python or --sql-text instead."
        )
    conditions = [graph.add("Equal", name, graph.number(float(text))) for text in numbers]
    blank = [graph.add("IsNaN", name)] if test.blank else []
    return graph.some([*blank, *conditions] or [graph.add("Less", name, name)])


def _equals(graph: _Graph, name: str, texts: list[str]) -> list[str]:
    return [graph.add("Equal", name, graph.text(text)) for text in texts]


def _chance(graph: _Graph, odds: OddsScale, total: str) -> str:
    """Return 1 / (1 + exp(-log odds)), the exponent within what a double holds."""
    away = graph.add("Sub", total, graph.number(odds.points0))
    grown = graph.add("Mul", away, graph.number(odds.per_point))
    log_odds = graph.add("Add", graph.number(math.log(odds.odds0)), grown)
    least, most = graph.number(-LARGEST_LOG_ODDS), graph.number(LARGEST_LOG_ODDS)
    held = graph.add("Max", graph.add("Min", log_odds, most), least)
    power = graph.add("Exp", graph.add("Neg", held))
    return graph.add("Div", graph.number(1), graph.add("Add", graph.number(1), power))
