"""Drafts of schema files: any header, every value as it was, blanks refused in one sentence."""

import tomllib

import pytest
from hypothesis import example, given, strategies as st

from opdisc.data.schema import Schema, draft
from opdisc.data.schema.checks import BLANK
from opdisc.data.schema.draft import draft_schema, is_usable, toml_key, toml_text
from opdisc.errors import SchemaError, is_plain

TEXT = st.text(max_size=30)
VALUES = st.recursive(
    TEXT | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, width=32),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
HARD = 'a "b" \\ c\nd\te\x00\x1b[31m\x7f\u202e\u2028é\U0001f600 = ]'


@given(VALUES.filter(lambda value: value not in (float("inf"), float("-inf"))))
@example(HARD)
@example({HARD: [HARD, 1.5, True, {"a-b": 1, "": ""}]})
def test_toml_text_reads_back_and_shows_as_itself(value):
    text = toml_text(value)
    assert is_plain(text)
    if "inf" not in text.lower() and "Infinity" not in text:
        assert tomllib.loads(f"x = {text}") == {"x": value}


@given(TEXT)
@example("a.b")
@example("é")
def test_toml_key_reads_back(key):
    assert tomllib.loads(f"{toml_key(key)} = 1") == {key: 1}


@given(st.lists(TEXT, min_size=1, max_size=8), TEXT)
@example([HARD, "age", "age", ""], HARD)
def test_any_header_becomes_a_file_with_the_names_that_a_schema_can_use(columns, data):
    text = draft_schema(columns, data=data, name="t")
    assert all(is_plain(line) for line in text.split("\n"))
    raw = tomllib.loads(text)
    usable = [name for name in dict.fromkeys(columns) if is_usable(name)]
    assert [feature["column"] for feature in raw.get("feature", [])] == usable
    assert ("# Left out" in text) == (len(usable) < len(columns))


@given(st.lists(TEXT.map(str.strip).filter(is_usable), min_size=2, max_size=8, unique=True))
def test_a_draft_loads_once_its_blanks_are_filled(columns):
    text = draft_schema(columns, data="t.csv", name="t", target={"column": columns[0]})
    with pytest.raises(SchemaError, match="must be filled in"):
        Schema.from_dict(tomllib.loads(text))
    filled = text.replace(f'thresholds = "{BLANK}"', "binary = true")
    filled = filled.replace(f'negative = "{BLANK}"', 'negative = "*"').replace(BLANK, "yes")
    schema = Schema.from_dict(tomllib.loads(filled))
    assert schema.target.column == columns[0]
    assert list(schema.columns) == columns[1:]


def test_the_examples_of_a_draft_are_what_a_schema_takes():
    examples = [
        line.removeprefix("#").strip()
        for line in draft._HOW_TO.splitlines()
        if line.startswith("#   ")
    ]
    facts = [line.split("   ")[0] for line in examples if " = " in line]
    assert len(facts) == 9
    head = 'name = "t"\ntarget = { column = "y", positive = 1, negative = 0 }\n'
    head += '[[feature]]\ncolumn = "a"\n'
    for fact in facts:
        kind = {"text": 'categories = ["05"]\n'}
        kind |= dict.fromkeys(("range", "missing", "codes"), "thresholds = [30]\n")
        own = kind.get(fact.split()[0], "") + fact
        assert Schema.from_dict(tomllib.loads(head + own.format())).columns == ("a",)


def test_known_facts_take_the_place_of_blanks():
    text = draft_schema(
        ["age", "home", "note", "bad"],
        data="t.csv",
        name="t",
        target={"column": "bad", "positive": "yes", "negative": "no"},
        features={"age": {"thresholds": [30]}, "home": {"categories": ["own"]}, "note": None},
    )
    schema = Schema.from_dict(tomllib.loads(text))
    assert schema.column_names == ("age >= 30", "home = own")
    assert schema.classes == ("no", "yes")


def test_blanks_are_named_in_one_sentence():
    columns = [f"c{i}" for i in range(9)]
    text = draft_schema(columns, data="t.csv", name="t", target={"column": "c0"})
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(tomllib.loads(text))
    said = str(caught.value)
    assert "its positive label, its negative label, column 'c1'" in said and "\n" not in said
    assert "and 5 more" in said
