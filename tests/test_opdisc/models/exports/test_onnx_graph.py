"""A card as an ONNX model: two evaluators that we did not write give its totals and answers."""

import random

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.cards import HIDDEN, any_cards, released
from helpers.opdisc.exported import held_row, read_columns, shown_model, told
from helpers.opdisc.graphs import by_reference, by_runtime, fed, readable

from opdisc import PrivateScorecardClassifier
from opdisc.errors import ModelFileError
from opdisc.models import card_onnx

pytestmark = pytest.mark.extras("onnx")

TARGET = {"column": "ill", "positive": "yes", "negative": "no"}


EVALUATORS = [
    pytest.param(by_runtime, marks=pytest.mark.extras("onnxruntime"), id="onnxruntime"),
    pytest.param(by_reference, id="reference"),
]


@pytest.mark.slow
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_the_graph_scores_as_the_model_does(evaluator):
    rng = random.Random(7)
    for _ in range(25 if evaluator is by_runtime else 3):
        model = shown_model(rng)
        read = read_columns(model)
        if not read:
            continue
        rows = [readable(held_row(rng, model.schema), model.schema) for _ in range(40)]
        rows = [{n: cell if n in read else None for n, cell in row.items()} for row in rows]
        content = card_onnx(model)
        totals, answers = evaluator(content)(None, fed(content, rows))
        for row, total, answer in zip(rows, totals, answers, strict=True):
            assert (None if np.isnan(total) else (total, answer)) == told(model, row)


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_a_logistic_card_gives_its_chances(evaluator):
    feature = {"column": "age", "thresholds": [40, 65], "range": [0, 120]}
    rows = pd.DataFrame({"age": [30.0, 50.0, 70.0, 90.0] * 50})
    ill = np.where(rows["age"] > 60, "yes", "no")
    fitted = PrivateScorecardClassifier(
        epsilon=5,
        schema={"name": "ward", "target": TARGET, "feature": [feature]},
        mechanism="logistic",
    ).fit(rows, ill)
    model = fitted.to_model()
    found = evaluator(card_onnx(model))(None, {"age": rows["age"].to_numpy()})
    towards = list(model.schema.classes).index(model.scorecard.classes[1])
    assert found[2] == pytest.approx(model.predict_proba(rows)[:, towards], abs=1e-12)
    assert list(found[1]) == list(model.predict(rows))


def test_a_broken_graph_would_be_noticed():
    feature = {"column": "total", "thresholds": [3, 5]}
    content = card_onnx(released({"name": "w", "target": TARGET, "feature": [feature]}, [1, 2]))
    cells = {"total": np.array([np.nan, 2.0, 3.0, 5.0, np.inf])}
    totals = by_reference(content)(["total_"], cells)[0]
    assert totals[:4].tolist() == [0, 0, 1, 3] and np.isnan(totals[4])
    import onnx

    model = onnx.load_from_string(content)
    for node in model.graph.node:
        node.op_type = node.op_type.replace("GreaterOrEqual", "Greater")
    broken = model.SerializeToString()
    assert by_reference(broken)(["total_"], cells)[0][:4].tolist() != [0, 0, 1, 3]


def test_names_of_the_outputs_give_way_to_columns_that_have_no_points_too():
    import onnx

    features = [{"column": name, "binary": True} for name in ("total", "Prediction", "step 0")]
    content = card_onnx(released({"name": "w", "target": TARGET, "feature": features}, [2, 0, 1]))
    graph = onnx.load_from_string(content).graph
    assert [one.name for one in graph.output] == ["total_", "prediction_"]
    cells = {name: np.array(["1"], dtype=object) for name in ("total", "step 0")}
    assert [found.tolist() for found in by_reference(content)(None, cells)] == [[3], ["yes"]]


def test_what_the_graph_cannot_say_is_refused():
    def made(feature, points):
        return card_onnx(released({"name": "w", "target": TARGET, "feature": feature}, points))

    yes_or_no = [{"column": "x", "binary": True}]
    for points in (0, 2**24):
        with pytest.raises(ModelFileError, match=r"below 2\^24"):
            made(yes_or_no, [points])
    with pytest.raises(ModelFileError, match="holds one scorecard"):
        card_onnx(any_cards(random.Random(1), "tree"))
    hidden = {"name": "b", "values": [HIDDEN[0]]}
    with pytest.raises(ModelFileError, match="no control character"):
        made([{"column": "x", "categories": ["a", hidden]}], [1, 2])
    both = [{"column": "x", "thresholds": [3]}, {"column": "x", "categories": ["never"]}]
    with pytest.raises(ModelFileError, match="a value that is no number"):
        made(both, [1, 2])
