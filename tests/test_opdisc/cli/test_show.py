"""``opdisc show``: cards written whole or not at all, never over a file unasked."""

import io
import json
import os
import re
import sys
from pathlib import Path

import pytest
from helpers.opdisc.cards import HIDDEN, released, released_cards
from helpers.opdisc.command_lines import assert_one_plain_sentence, told

from opdisc import PrivateLogisticRegression
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.models import (
    card_fhir,
    card_markdown,
    card_onnx,
    card_page,
    card_picture,
    card_pmml,
    card_python,
    card_registry,
    card_sql,
    card_sql_text,
    card_workbook,
    save_model,
)

ROOT = Path(__file__).resolve().parents[3]
FORMS = {
    "html": card_page,
    "markdown": card_markdown,
    "png": card_picture,
    "sql": card_sql,
    "sql-text": card_sql_text,
    "python": card_python,
    "fhir": card_fhir,
    "pmml": card_pmml,
    "registry": card_registry,
}
SCHEMA = {
    "name": "s",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [{"column": "x", "binary": True}],
}
MODEL = released(SCHEMA, (1,))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(MODEL, "card.json")
    return tmp_path


def content(form):
    made = FORMS[form](MODEL)
    return made if isinstance(made, bytes) else made.encode("utf-8")


def test_all_forms_are_written_at_once(folder):
    places = [word for form in FORMS for word in (f"--{form}", f"new.{form}")]
    status, out, err = told("show", "card.json", *places)
    assert (status, err) == (0, "")
    assert out == "".join(f"written: new.{form}\n" for form in FORMS)
    assert set(os.listdir(folder)) == {"card.json", *(f"new.{form}" for form in FORMS)}
    for form in FORMS:
        assert Path(f"new.{form}").read_bytes() == content(form)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "png"])
def test_one_form_is_printed_and_nothing_else(form):
    assert told("show", "card.json", f"--{form}", "-") == (0, content(form).decode("utf-8"), "")


def test_a_picture_is_printed_as_bytes(capfdbinary):
    assert run_command_line(cli, ["show", "card.json", "--png", "-"]) == 0
    assert capfdbinary.readouterr().out == content("png")


def test_json_names_what_was_written():
    status, out, _ = told("show", "card.json", "--html", "a.html", "--sql", "a.sql", "--json")
    assert status == 0
    assert json.loads(out) == {"written": {"html": "a.html", "sql": "a.sql"}}


def test_a_file_is_not_overwritten_unasked(folder):
    Path("old.sql").write_text("old")
    arguments = ["show", "card.json", "--html", "new.html", "--sql", "old.sql"]
    told_first = told(*arguments)
    assert_one_plain_sentence(*told_first)
    assert "say --force" in told_first[2] and told_first[0] == 2
    assert Path("old.sql").read_text() == "old" and not Path("new.html").exists()
    assert told(*arguments, "--force")[0] == 0
    assert Path("old.sql").read_bytes() == content("sql")
    assert sorted(os.listdir(folder)) == ["card.json", "new.html", "old.sql"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--html", "-", "--sql", "-"], "one form"),
        (["--html", "-", "--json"], "one form"),
        (["--html", "a", "--sql", "./a"], "file of its own"),
        (["--html", "card.json"], "must not replace an input"),
        (["--html", "absent/a.html"], "writable place"),
        (["--html", "."], "must go to a file"),
    ],
)
def test_places_that_cannot_be_are_refused_before_anything_is_written(arguments, words, folder):
    status, out, err = told("show", "card.json", *arguments, "--markdown", "new.md")
    assert_one_plain_sentence(status, out, err)
    assert status == 2 and words in err
    assert os.listdir(folder) == ["card.json"]


@pytest.mark.parametrize(
    ("form", "make"),
    [
        pytest.param("xlsx", card_workbook, marks=pytest.mark.extras("openpyxl")),
        pytest.param("onnx", card_onnx, marks=pytest.mark.extras("onnx")),
    ],
)
def test_forms_of_other_packages_are_written_too(form, make, folder):
    assert told("show", "card.json", f"--{form}", "new")[0] == 0
    assert Path("new").read_bytes() == make(MODEL)


def test_a_form_that_cannot_be_made_leaves_no_file(folder):
    schema = SCHEMA | {
        "feature": [{"column": "x", "categories": [{"name": "c", "values": ["a\0b"]}]}]
    }
    save_model(released(schema, (1,)), "null.json")
    status, out, err = told("show", "null.json", "--html", "a.html", "--sql", "a.sql")
    assert_one_plain_sentence(status, out, err)
    assert "null character" in err
    assert sorted(os.listdir(folder)) == ["card.json", "null.json"]


def test_cards_for_several_classes_have_every_form_too(folder):
    schema = {**SCHEMA, "target": {"column": "ill", "classes": ["no", "a little", "very"]}}
    model = released_cards(schema, [(0, 1), (0, -1)])
    save_model(model, "cards.json")
    forms = {
        form: make for form, make in FORMS.items() if form not in ("fhir", "pmml")
    }  # one card only
    places = [word for form in forms for word in (f"--{form}", f"new.{form}")]
    status, _, err = told("show", "cards.json", *places)
    assert (status, err) == (0, "")
    for form, make in forms.items():
        made = make(model)
        found = Path(f"new.{form}").read_bytes()
        assert found == (made if isinstance(made, bytes) else made.encode("utf-8"))
    assert "never answer 'very'" in told("show", "cards.json")[1].splitlines()[0]


def test_a_linear_model_has_no_card_but_a_record():
    estimator = PrivateLogisticRegression(data_norm=2.0)
    model = estimator.fit([[0.0, 1.0], [1.0, 0.0]] * 20, [0, 1] * 20).to_model()
    save_model(model, "linear.json")
    places = ("--registry", "a.yaml", "--html", "a.html")
    status, out, err = told("show", "linear.json", *places)
    assert_one_plain_sentence(status, out, err)
    assert "another kind of model" in err and "leave out --html" in err
    assert not Path("a.html").exists() and not Path("a.yaml").exists()
    assert told("show", "linear.json", "--registry", "a.yaml")[0] == 0
    assert Path("a.yaml").read_text(encoding="utf-8") == card_registry(model)
    assert told("show", "linear.json")[0] == 0


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_a_terminal_gets_no_picture_and_no_control_sequence(monkeypatch, capsys):
    value = HIDDEN[1]
    schema = SCHEMA | {
        "feature": [{"column": "x", "categories": [{"name": "c", "values": [value]}]}]
    }
    save_model(released(schema, (1,)), "red.json")
    for model, form, words in (
        ("card.json", "png", "a terminal shows no picture"),
        ("red.json", "sql", "a terminal would obey"),
    ):
        monkeypatch.setattr("sys.stdout", Terminal())
        status = run_command_line(cli, ["show", model, "--html", "a.html", f"--{form}", "-"])
        err = capsys.readouterr().err
        assert_one_plain_sentence(status, sys.stdout.getvalue(), err)
        assert words in err and status == 2 and not Path("a.html").exists()
    monkeypatch.setattr("sys.stdout", Terminal())
    assert run_command_line(cli, ["show", "card.json", "--sql", "-"]) == 0
    assert run_command_line(cli, ["show", "red.json", "--python", "-"]) == 0


def test_every_command_of_the_page_runs(folder):
    text = (ROOT / "docs" / "how-to" / "cards.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    commands = [line.split() for block in blocks for line in block.splitlines()]
    assert len(commands) >= 4 and all(words[0] == "opdisc" for words in commands)
    for _, *words in commands:
        status, _, err = told(*words)
        assert status == 0, (words, err)
    for end in ("html", "md", "png"):
        assert Path(f"cancer.{end}").stat().st_size > 500
