"""What a card shows: the release and public facts, in every form, with nothing taken as markup."""

import base64
import builtins
import hashlib
import html
import random
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import pandas as pd
import pytest
import sklearn
from helpers.opdisc.cards import HIDDEN, HOSTILE, any_model, released
from hypothesis import given, settings, strategies as st

import opdisc
from opdisc import PrivateScorecardClassifier
from opdisc.errors import OPDiscError
from opdisc.models import card_fragment, card_markdown, card_page, card_picture, card_python
from opdisc.models.card.content import card_content
from opdisc.models.exports import card_sql, card_sql_text

SEEDS = st.integers(0, 2**32)
SCHEMA = {
    "name": "loans",
    "target": {"column": "risk", "positive": "bad", "negative": "good"},
    "unit": "one applicant",
    "exclusive": [["owner", "tenant"]],
    "feature": [
        {"column": "months", "thresholds": [12, 24]},
        {"column": "history", "categories": ["critical", "paid"], "missing": "critical"},
        {"column": "owner", "binary": True},
        {"column": "tenant", "binary": True},
        {"column": "phone", "binary": True},
    ],
}
MODEL = released(SCHEMA, (1, 2, 1, -1, -2, 1, 0), start=-1)


class Extended:
    """A model with what other releases may carry: a verdict, a risk table."""

    def __init__(self, model, **extra):
        self._model, self._extra = model, extra

    def __getattr__(self, name):
        if name in self._extra:
            return self._extra[name]
        return getattr(self._model, name)


RISKS = SimpleNamespace(
    rows=(
        SimpleNamespace(lowest=-4, highest=0, rate=0.084, low=0.05, high=0.12),
        SimpleNamespace(lowest=1, highest=1, rate=0.41, low=0.33, high=0.5),
    ),
    noise_scale=10.0,
)


class Page(HTMLParser):
    """Elements, their attributes and the text of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def test_the_card_groups_points_by_column_and_says_how_to_use_them():
    card = card_content(MODEL)
    (part,) = card.parts
    assert [(group.column, group.lines) for group in part.groups] == [
        ("months", (("12 or more", 1), ("24 or more", 2))),
        ("history", (("critical", 1), ("paid", -1))),
        ("owner", (("yes", -2),)),
        ("tenant", (("yes", 1),)),
    ]
    assert part.rule == (
        "Start with −1, add the points of every line that is true, and answer “bad” if the total "
        "is 1 or more, otherwise “good”."
    )
    assert card.notes == (
        "A missing value makes none of its lines true.",
        "A missing value of history counts as critical.",
        "Of owner, tenant only the first that is true counts.",
    )
    assert part.unused == ("phone",)


def test_the_example_is_made_from_the_card_and_adds_up():
    card = card_content(MODEL)
    assert card.example == (("months", "24"), ("history", "critical"), ("owner", "1"))
    ((_, explained),) = card.sums
    assert explained == MODEL.explain(
        {"months": 24, "history": "critical", "owner": 1, "tenant": 0, "phone": 0}
    )
    assert explained.total == -1 + 1 + 2 + 1 - 2


def test_the_receipt_has_five_lines_and_all_of_it_on_request():
    card = card_content(MODEL)
    digest = MODEL.to_dict()["sha256"]
    assert card.receipt == (
        ("Guarantee", "CONDITIONAL: 2 conditions"),
        ("Privacy loss", "epsilon 1, delta 0"),
        ("Protects", "one applicant, replace-one neighbours"),
        ("Mechanism", "staged (proven)"),
        (
            "Spent",
            f"epsilon 1 of the table's budget; a ledger names this model by sha256 {digest[:16]}",
        ),
    )
    _, details = card_page(MODEL).split("<summary>The whole receipt</summary>")
    shown = html.unescape(re.search(r"<pre>(.*?)</pre>", details, re.DOTALL)[1])
    assert shown == str(MODEL.receipt)
    assert all(f"    {line}\n" in card_markdown(MODEL) for line in shown.splitlines())


def test_a_void_card_says_so():
    learned = PrivateScorecardClassifier(schema=SCHEMA, random_state=0)
    rows = [{"months": 3 * i, "history": "paid", "owner": i % 2, "tenant": 0, "phone": 0}
            for i in range(20)]  # fmt: skip
    model = learned.fit(pd.DataFrame(rows), ["good", "bad"] * 10).to_model()
    assert card_content(model).receipt[0] == ("Guarantee", "VOID: nothing is promised")
    assert '<dl class="receipt VOID">' in card_page(model)


@pytest.mark.parametrize("form", [card_page, card_markdown])
def test_risks_are_shown_if_they_were_paid_for(form):
    text = form(Extended(MODEL, risk_table=RISKS))
    assert all(word in text for word in ("Share of rows", "−4 to 0", "8%", "41%", "33% to 50%"))
    assert "Share of rows" not in form(MODEL)
    bare = SimpleNamespace(rows=(SimpleNamespace(lowest=1, highest=1, rate=0.5),))
    assert "50%" in form(Extended(MODEL, risk_table=bare))


@pytest.mark.parametrize("form", [card_page, card_markdown])
def test_a_verdict_comes_before_the_points(form):
    said = "This card answers 'good' to everyone."
    text = form(Extended(MODEL, verdict_=f"{said}\nThe noise dominates."))
    assert -1 < html.unescape(text).index(said) < text.index("The noise dom") < text.index("−1")


def test_the_page_allows_its_own_style_sheet_only_and_loads_nothing():
    text = card_page(MODEL)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text
    assert not re.search(r"https?:|//|\bsrc=|@import|url\(|<script|style=", text)
    assert dict(Page(text).attributes)["href"] == "data:,"


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_no_name_becomes_markup_on_the_page(seed):
    model = any_model(random.Random(seed))
    page, known = Page(card_page(model)), set(Page(card_page(MODEL)).tags)
    assert set(page.tags) <= known
    assert {name for name, _ in page.attributes} <= {
        *("lang", "charset", "name", "content", "http-equiv", "rel", "href", "class", "scope"),
        *("colspan", "role"),
    }
    assert str(model.scorecard.target) in page.text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", card_page(model))


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_no_name_becomes_markup_in_markdown(seed):
    text = card_markdown(any_model(random.Random(seed)))
    prose = "\n".join(line for line in text.split("\n") if not line.startswith("    "))
    assert "<" not in prose and "://" not in prose and not re.search(r"(?i)www\.", prose)
    assert not re.search(r"(?<!\\)[`\[\]$]", prose)
    bold = [line for line in prose.split("\n") if re.search(r"(?<!\\)\*\*", line)]
    assert all(re.fullmatch(r"\*\*(?:(?!\*\*).)*\*\*", line) for line in bold)
    said = ("**This card answers", "**Noise ", "**What the noise may have cost ", "**'")
    assert all(line.startswith(said) for line in bold)
    for table in re.findall(r"(?:^\|.*\n)+", prose, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e]", text)


@pytest.mark.parametrize("value", HIDDEN)
def test_control_characters_of_values_are_shown_escaped(value):
    categories = [{"name": "c", "values": [value]}]
    features = [{"column": "x", "categories": categories}]
    model = released(SCHEMA | {"exclusive": [], "feature": features}, (1,))
    shown = value.encode("unicode_escape").decode()
    assert html.escape(shown) in card_page(model)
    assert value not in card_page(model) and value not in card_markdown(model)
    assert value not in card_python(model)
    for form in (card_sql, card_sql_text):
        assert "'" + value + "'" in form(model)  # a literal must hold it


def test_code_says_names_in_comments_without_leaving_them():
    for name in HOSTILE:
        schema = SCHEMA | {"name": name, "target": SCHEMA["target"] | {"column": name}}
        model = released(schema, (1, 2, 1, -1, -2, 1, 0))
        for form in (card_sql, card_sql_text):
            comments = form(model).split("\nSELECT\n")[0].splitlines()
            assert all(line.startswith("--") for line in comments)
        assert card_python(model).splitlines()[0].startswith('"""A scorecard that')
        compile(card_python(model), "card.py", "exec")


def test_a_picture_is_drawn_whatever_the_names():
    for seed in range(3):
        assert card_picture(any_model(random.Random(seed))).startswith(b"\x89PNG")


def test_a_picture_without_matplotlib_is_refused_in_a_sentence(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(name=name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(OPDiscError, match=r"needs matplotlib.*install opdisc\[pictures\]"):
        card_picture(MODEL)


# --- notebooks -----------------------------------------------------------------------------------


def test_a_notebook_shows_the_card_of_a_model():
    assert MODEL._repr_html_() == card_fragment(MODEL)
    assert {"html", "body", "script", "meta"}.isdisjoint(Page(card_fragment(MODEL)).tags)
    rules = re.search(r"<style>(.*?)</style>", card_fragment(MODEL), re.DOTALL)[1]
    selectors = re.findall(r"([^{}]+)\{", re.sub(r"@(media|page)[^{]*\{", "", rules))
    assert len(selectors) > 30
    assert all("opdisc-card" in part or "size: A4" in part for part in selectors), selectors


@pytest.mark.parametrize("kind", ["PrivateScorecardClassifier", "RSPMClassifier"])
def test_a_fitted_estimator_shows_its_card_and_an_unfitted_one_its_parameters(kind):
    table, labels = [[0.0, 1.0], [1.0, 0.0]] * 10, ["no", "yes"] * 10
    estimator = getattr(opdisc, kind)()
    before = estimator._repr_mimebundle_()
    assert "sk-top-container" in before["text/html"]
    assert "sk-top-container" in estimator._repr_html_()
    estimator.fit(table, labels)
    after = estimator._repr_mimebundle_()
    assert after["text/plain"] == repr(estimator)
    assert after["text/html"] == estimator._repr_html_() == card_fragment(estimator.to_model())
    with sklearn.config_context(display="text"):
        assert set(estimator._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(estimator, "_repr_html_")


@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [True, False]])
def test_an_estimator_explains_in_its_own_labels(labels):
    table = [[0.0, 1.0], [1.0, 0.0]] * 10
    estimator = PrivateScorecardClassifier(epsilon=50).fit(table, labels * 10)
    for row in table[:2]:
        explained = estimator.explain(row)
        assert explained.answer == estimator.predict([row])[0]
        assert explained == estimator.explain(dict(zip(("x0", "x1"), row, strict=True)))
        assert type(explained.answer) is type(labels[0])


class Several(PrivateScorecardClassifier):
    """An estimator that releases something else than one scorecard."""

    def to_model(self):
        return (super().to_model(), super().to_model())


def test_an_estimator_of_several_scorecards_is_shown_as_scikit_learn_does():
    estimator = Several().fit([[0.0, 1.0], [1.0, 0.0]] * 10, ["no", "yes"] * 10)
    assert "sk-top-container" in estimator._repr_html_()
    assert "sk-top-container" in estimator._repr_mimebundle_()["text/html"]
    with pytest.raises(OPDiscError, match="one scorecard"):
        estimator.explain([0.0, 1.0])
