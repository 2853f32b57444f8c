"""Cards for several classes: what is shown, and code and explanations that answer as the model."""

import html
import importlib.util
import random
import re
import sqlite3

import pandas as pd
import pytest
from helpers.opdisc.cards import any_cards, any_row, released, released_cards
from hypothesis import given, settings, strategies as st

from opdisc import PrivateMulticlassClassifier
from opdisc.errors import TableError
from opdisc.models import (
    card_fragment,
    card_markdown,
    card_page,
    card_picture,
    card_python,
    card_sql_text,
)
from opdisc.models.card.content import card_content
from opdisc.models.card.picture import _lines

SEEDS = st.integers(0, 2**32)
SCHEMA = {
    "name": "triage",
    "target": {"column": "urgency", "classes": ["wait", "today", "soon", "now"]},
    "feature": [
        {"column": "age", "thresholds": [40, 65]},
        {"column": "breath", "categories": ["short", "normal"]},
        {"column": "fever", "binary": True},
    ],
}
MODEL = released_cards(SCHEMA, [(0, 0, 1, 1, 0, 1), (0, 1, 0, 0, 0, 0), (-1, 0, 0, 2, 0, 1)])
RIVALS = released_cards(
    SCHEMA,
    [(1, 0, 0, 0, 0, 0), (0, 0, 1, 0, 0, 1), (0, 2, 0, 0, 0, 0), (0, 0, 1, 2, 0, 0)],
    "one_versus_rest",
)
every_strategy = pytest.mark.parametrize("strategy", ["tree", "one_versus_rest"])


def cells(model, rows):
    return pd.DataFrame(rows, columns=list(model.schema.columns), dtype=object)


def answer(model, row):
    """Return the label of one row, None where the encoder refuses it."""
    try:
        return model.predict(cells(model, [row]))[0]
    except TableError:
        return None


# --- what is shown -------------------------------------------------------------------------------


def test_each_card_of_a_tree_says_what_comes_next():
    card = card_content(MODEL)
    assert card.subtitle == "3 scorecards “triage”, used together"
    assert card.rule == MODEL.rule()
    assert [part.name for part in card.parts] == [
        "Card 1: “wait or today” or “soon or now”?",
        "Card 2: “wait” or “today”?",
        "Card 3: “soon” or “now”?",
    ]
    assert [part.rule.split(" true. ")[1] for part in card.parts] == [
        "If the total is 1 or more, it is “soon or now”: go on with card 3. Otherwise it is “wait "
        "or today”: go on with card 2.",
        "If the total is 1 or more, the answer is “today”. Otherwise the answer is “wait”.",
        "If the total is 1 or more, the answer is “now”. Otherwise the answer is “soon”.",
    ]
    assert card.parts[0].outcomes == (
        ("Total of 1 or more", "soon or now (go on with card 3)"),
        ("Otherwise", "wait or today (go on with card 2)"),
    )


def test_rivals_are_compared_by_their_totals():
    card = card_content(RIVALS)
    assert [part.name for part in card.parts][:2] == ["Card 1: “wait”", "Card 2: “today”"]
    assert card.parts[1].rule.endswith("the total speaks for “today”.")
    assert "highest total" in card.rule and len(card.sums) == 4


def test_the_example_meets_several_cards_and_ends_in_its_answer():
    card = card_content(MODEL)
    way = MODEL.explain(dict.fromkeys(MODEL.schema.columns) | dict(card.example))
    assert card.sums == tuple((f"Card {number}", one) for number, one in way.cards)
    assert len(card.sums) == 2 and card.answer == way.answer


def test_labels_that_no_row_gets_are_said_first():
    assert str(MODEL.verdict_) == "" and MODEL.verdict_.never == ()
    blind = released_cards(SCHEMA, [(0, 0, 1, 1, 0, 1), (0, 1, 0, 0, 0, 0), (0, -1, 0, 0, -2, 0)])
    assert blind.verdict_.never == ("now",)
    constant = released_cards(SCHEMA, [(0,) * 6, (1, 0, 0, 0, 1, 0), (0, 1, 0, 0, 0, 0)])
    assert (constant.verdict_.never, constant.verdict_.answer) == (
        ("wait", "soon", "now"),
        "today",
    )
    assert RIVALS.verdict_.never == ()
    tied = [(1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 1), (0, 1, 0, 0, 0, 0), (0, 0, 1, 2, 0, 0)]
    rivals = released_cards(SCHEMA, tied, "one_versus_rest")
    assert rivals.verdict_.never == ("today", "soon")
    for form in (card_page, card_markdown):
        text = html.unescape(form(constant)).replace("&#39;", "'")
        assert text.index("These cards answer 'today' to everyone.") < text.index("Receipt")
        assert "Card 1" not in text.partition("The whole receipt")[0]  # no points


@every_strategy
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_no_row_contradicts_the_verdict(strategy, seed):
    rng = random.Random(seed)
    model = any_cards(rng, strategy)
    rows = [any_row(rng, model.schema, unreadable=0) for _ in range(20)]
    given = set(model.predict(cells(model, rows)))
    assert not given & set(model.verdict_.never)
    assert model.verdict_.answer is None or given == {model.verdict_.answer}


def test_one_short_receipt_for_all_and_the_whole_on_request():
    card = card_content(MODEL)
    assert [name for name, _ in card.receipt] == [
        "Guarantee", "Privacy loss", "Protects", "Mechanism", "Spent",
    ]  # fmt: skip
    assert card.receipt[1] == ("Privacy loss", "epsilon 1, delta 0")
    assert card_page(MODEL).count("<h2>Receipt</h2>") == 1
    assert "card 3:" in card.whole_receipt and card.whole_receipt == str(MODEL.receipt)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_form_with_a_receipt_says_the_unit_with_its_rows(n_classes):
    declared = {
        "name": "s",
        "unit": "one patient",
        "rows_per_unit": 3,
        "target": {"column": "y", "positive": "a", "negative": "b"}
        if n_classes == 2
        else {"column": "y", "classes": ["a", "b", "c"]},
        "feature": [{"column": "x", "binary": True}],
    }
    model = (
        released(declared, (1,)) if n_classes == 2 else released_cards(declared, [(0, 1), (0, 1)])
    )
    unit = "one patient (at most 3 rows)"
    assert dict(card_content(model).receipt)["Protects"] == f"{unit}, replace-one neighbours"
    for text in (card_page(model), card_markdown(model), model._repr_html_()):
        assert f"{unit}, replace-one neighbours" in text
    for text in (card_page(model), card_markdown(model)):
        assert f"privacy unit: {unit}" in text
    assert unit in str(model.receipt) and unit in model.receipt.brief()


@pytest.mark.parametrize("words", ["one patient", "one patient " * 10, "x" * 120])
def test_a_picture_leaves_out_nothing_of_the_receipt(words):
    declared = {**SCHEMA, "unit": words.strip(), "rows_per_unit": 3}
    card = card_content(released_cards(declared, [(0, 0, 1, 1, 0, 1)] * 3))
    drawn = [left for left, _, _ in _lines(card)]
    assert max(map(len, drawn)) <= 90 and "…" not in "".join(drawn)
    shown = re.sub(r"\s", "", "".join(drawn))
    for name, text in card.receipt:
        assert re.sub(r"\s", "", f"{name}: {text}") in shown
    assert "(at most 3 rows)" in dict(card.receipt)["Protects"]


@pytest.mark.parametrize("form", [card_page, card_markdown])
@pytest.mark.parametrize("model", [MODEL, RIVALS], ids=["tree", "one_versus_rest"])
def test_every_card_is_on_the_page_in_order(form, model):
    text = form(model)
    places = [text.index(part.name.split(":")[0] + ":") for part in card_content(model).parts]
    assert places == sorted(places)
    for part in card_content(model).parts:
        assert text.index(part.rule.split(":")[0]) > 0
    assert form(model) == text


@every_strategy
@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_no_name_becomes_markup(strategy, seed):
    model = any_cards(random.Random(seed), strategy)
    assert set(re.findall(r"<(\w+)", card_page(model))) <= set(
        "html head meta link title style body main header h1 h2 h3 p section table thead tr th "
        "tbody td tfoot ul li div dl dt dd caption details summary pre".split()
    )
    prose = "\n".join(
        line for line in card_markdown(model).split("\n") if not line.startswith("    ")
    )
    assert "<" not in prose and "://" not in prose and not re.search(r"(?<!\\)[`\[\]$]", prose)


def test_a_picture_is_drawn():
    for model in (MODEL, RIVALS):
        assert card_picture(model).startswith(b"\x89PNG")


# --- code and explanations -----------------------------------------------------------------------


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def run_sql(engine, model, rows):
    """Return what the SELECT finds of rows of text."""
    columns = list(model.schema.columns)
    if engine == "sqlite":
        connection = sqlite3.connect(":memory:")
    else:
        import duckdb

        connection = duckdb.connect(config={"threads": 1})
    try:
        connection.execute(
            f"CREATE TABLE your_table ({', '.join(f'{quoted(name)} TEXT' for name in columns)})"
        )
        marks = ", ".join("?" * len(columns))
        for row in rows:
            values = [row[name] for name in columns]
            connection.execute(f"INSERT INTO your_table VALUES ({marks})", values)
        return connection.execute(card_sql_text(model)).fetchall()
    finally:
        connection.close()


def tame(model, row):
    """Return the row with nothing in the columns that no card uses: code reads no other."""
    names = set()
    for card in model.scorecards:
        points = iter(card.points)
        for feature in model.schema.features:
            if any([next(points) for _ in feature.column_names]):
                names.add(feature.column)
    for group in model.schema.exclusive:
        names |= set(group) if names & set(group) else set()
    return {name: cell if name in names else None for name, cell in row.items()}


ENGINES = ["sqlite", *(["duckdb"] if importlib.util.find_spec("duckdb") else [])]


@every_strategy
@given(seed=SEEDS)
@settings(max_examples=5, deadline=None)
def test_sql_answers_as_the_model_does(strategy, seed):
    rng = random.Random(seed)
    model = any_cards(rng, strategy)
    rows = [tame(model, any_row(rng, model.schema)) for _ in range(8)]
    labels = [answer(model, row) for row in rows]
    ways = [None if a is None else model.explain(r) for r, a in zip(rows, labels, strict=True)]
    n_cards = len(model.scorecards)
    for engine in ENGINES:
        for label, way, line in zip(labels, ways, run_sql(engine, model, rows), strict=True):
            assert line[-1] == (None if label is None else str(label))
            if way is not None:
                totals = dict(enumerate(line[-1 - n_cards : -1], 1))
                assert {number: one.total for number, one in way.cards}.items() <= totals.items()


@every_strategy
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_python_code_answers_as_the_model_does(strategy, seed):
    rng = random.Random(seed)
    model = any_cards(rng, strategy)
    namespace = {}
    exec(compile(card_python(model), "card.py", "exec"), namespace)
    for _ in range(8):
        row = tame(model, any_row(rng, model.schema, unreadable=0.1))
        label = answer(model, row)
        if label is None:
            with pytest.raises(ValueError, match="needed in the column"):
                namespace["predict"](row)
        else:
            assert namespace["predict"](row) == label
            totals = dict(enumerate(namespace["scores"](row), 1))
            assert {n: e.total for n, e in model.explain(row).cards}.items() <= totals.items()


@every_strategy
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_an_explanation_leads_to_the_answer(strategy, seed):
    rng = random.Random(seed)
    model = any_cards(rng, strategy)
    for _ in range(6):
        row = any_row(rng, model.schema, unreadable=0)
        way = model.explain(row)
        assert way.answer == answer(model, row)
        for _, one in way.cards:
            assert one.start + sum(points for _, points in one.statements) == one.total
        if strategy == "tree":
            assert str(way.cards[-1][1].answer) == str(way.answer)
            assert str(way).count("so go on with card") == len(way.cards) - 1
        else:
            assert max(one.total for _, one in way.cards) in [
                one.total for _, one in way.cards if one.positive == way.answer
            ]


@pytest.mark.parametrize("labels", [["a", "b", "c"], [0, 1, 2]])
def test_an_estimator_shows_its_cards_and_explains_in_its_own_labels(labels):
    rows = [[0.0, 0.0], [0.0, 1.0], [1.0, 1.0]] * 10
    estimator = PrivateMulticlassClassifier(epsilon=80, classes=labels).fit(rows, labels * 10)
    assert estimator._repr_html_() == card_fragment(estimator.to_model())
    for row in rows[:3]:
        way = estimator.explain(row)
        assert way.answer == estimator.predict([row])[0] and type(way.answer) is type(labels[0])
