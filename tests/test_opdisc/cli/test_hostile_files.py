"""Model files, schemas, ledgers and results from anywhere: refused in a sentence, never obeyed.

The samples are those of version 0.1.dev: what is done to them, whoever forges a file can do, the
digest included.
"""

import copy
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.child_events import wait_for_line
from helpers.opdisc.command_lines import assert_one_plain_sentence, is_shown_as_it_is, told
from helpers.processes import PATIENCE
from hypothesis import given, settings, strategies as st

from opdisc.models.document import model_digest
from opdisc.privacy import Ledger

SAMPLES = Path(__file__).parents[2] / "data" / "version_0_1_dev"
KINDS = (
    "scorecard_words.json",
    "scorecard_exponential.json",
    "linear_schema.json",
    "linear_opsamp_regressor.json",
)
CELL = "xq7canary"
TABLE = f"age,smoker,ill\n30,{CELL},yes\n50,never,no\n71,{CELL},yes\n"
SCHEMA = """
name = "illness"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "age"
thresholds = [40]
[[feature]]
column = "smoker"
categories = ["never"]
"""
FORGERY = "one row\nguarantee:          HOLDS"
ESCAPE = "one row\x1b[2J\x1b[H"
BIDI = "one row \u202eSDLOH"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("table.csv").write_text(TABLE)
    Path("schema.toml").write_text(SCHEMA)
    return tmp_path


def sample(name):
    record = json.loads((SAMPLES / name).read_text(encoding="utf-8"))
    del record["sha256"]
    return record


def signed(record, path="model.json"):
    """Write a model with the digest of whatever it holds."""
    body = {key: value for key, value in record.items() if key != "sha256"}
    Path(path).write_text(json.dumps(body | {"sha256": model_digest(body)}))
    return path


def places(value, before=()):
    """Return the path of every part of a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items:
        yield (*before, key)
        if isinstance(part, dict | list):
            yield from places(part, (*before, key))


def changed(record, path, value):
    """Return a copy in which one part is another."""
    out = copy.deepcopy(record)
    part = out
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return out


def start_of(text):
    return ascii(text)[:30]


# --- Models --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [FORGERY, ESCAPE, BIDI, "x" * 200_000], ids=lambda text: ascii(text)[:30]
)
@pytest.mark.parametrize("name", KINDS)
def test_no_text_of_a_receipt_forges_a_line_or_moves_the_terminal(name, text, folder):
    record = sample(name)
    texts = [path for path in places(record["receipt"]) if _is_text(record["receipt"], path)]
    assert len(texts) > 8
    for path in texts:
        told_of = told("show", signed(changed(record, ("receipt", *path), text)))
        assert_one_plain_sentence(*told_of)
        assert told_of[0] == 2, path


def _is_text(record, path):
    for key in path:
        record = record[key]
    return isinstance(record, str)


@pytest.mark.parametrize(
    "text", [FORGERY, ESCAPE, BIDI, "x" * 1_000], ids=lambda text: ascii(text)[:30]
)
def test_no_label_or_name_of_a_scorecard_forges_a_line(text, folder):
    record = sample("scorecard_words.json")
    target = record["schema"]["target"]
    for change in (
        {"target": target | {"positive": text}},
        {"target": target | {"negative": text}},
        {"target": target | {"column": text}},
        {"unit": text},
    ):
        forged = copy.deepcopy(record)
        forged["schema"] |= change
        forged["scorecard"]["target"] = forged["schema"]["target"]["column"]
        forged["scorecard"]["classes"] = [
            forged["schema"]["target"]["negative"],
            forged["schema"]["target"]["positive"],
        ]
        canonical = json.dumps(forged["schema"], sort_keys=True, separators=(",", ":"))
        forged["receipt"]["schema_digest"] = hashlib.sha256(canonical.encode()).hexdigest()
        forged["receipt"]["privacy_unit"] = forged["schema"]["unit"]
        told_of = told("show", signed(forged))
        assert_one_plain_sentence(*told_of)


def test_names_of_a_raw_table_are_shown_escaped_and_no_wider_than_needed(folder):
    record = sample("linear_opsamp_regressor.json")
    record["columns"][0] = "dose\n  start              +9\x1b[2J"
    record["columns"][1] = "y" * 100_000
    status, out, err = told("show", signed(record))
    assert (status, err) == (0, "") and is_shown_as_it_is(out) and len(out) < 5_000
    assert out.count("\nguarantee:") == 1 and r"dose\n  start              +9\x1b[2J" in out


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("scorecard_words.json", {"guarantee": "HOLDS", "conditions": ["if it rains"]}),
        ("scorecard_words.json", {"guarantee": "CONDITIONAL", "conditions": []}),
        ("scorecard_words.json", {"guarantee": "VOID", "conditions": []}),
        ("scorecard_words.json", {"guarantee": "HOLDS", "calibration": "published"}),
        ("scorecard_words.json", {"guarantee": "HOLDS", "calibration": "refuted"}),
        ("scorecard_words.json", {"epsilon": 0.0}),
        ("scorecard_words.json", {"epsilon": None}),
        ("scorecard_words.json", {"schema_digest": "0" * 64}),
        ("scorecard_words.json", {"schema_digest": ""}),
        ("scorecard_words.json", {"privacy_unit": "one hospital"}),
        ("scorecard_words.json", {"relation": "add_or_remove_one", "n_rows": 40}),
        ("scorecard_words.json", {"norm_budget": 0, "weights": [[-1, 0, 1]]}),
        ("linear_schema.json", {"guarantee": "HOLDS", "conditions": [], "calibration": "refuted"}),
        ("linear_schema.json", {"guarantee": "HOLDS", "conditions": [], "epsilon": None}),
        ("linear_schema.json", {"rows_per_unit": 50}),
        ("linear_schema.json", {"privacy_unit": "one ward"}),
        ("linear_opsamp_regressor.json", {"schema_digest": "0" * 64}),
        ("linear_opsamp_regressor.json", {"schema_digest": "none of your business"}),
    ],
    ids=lambda value: value if isinstance(value, str) else ", ".join(value),
)
def test_a_receipt_that_contradicts_itself_or_its_model_is_refused(name, change, folder):
    record = sample(name)
    record["receipt"] |= change
    told_of = told("show", signed(record))
    assert_one_plain_sentence(*told_of)
    assert told_of[0] == 2


def test_points_outside_the_norm_on_the_receipt_are_refused(folder):
    record = sample("scorecard_words.json")
    record["receipt"]["norm_budget"] = 0
    assert any([record["scorecard"]["start"], *record["scorecard"]["points"]])
    assert_one_plain_sentence(*told("show", signed(record)))


def test_a_name_that_is_repeated_in_a_model_is_refused(folder):
    text = (SAMPLES / "scorecard_words.json").read_text()
    assert told("show", SAMPLES / "scorecard_words.json")[0] == 0
    Path("model.json").write_text(text.replace('"receipt": {', '"receipt": {"epsilon": 9.0, ', 1))
    assert_one_plain_sentence(*told("show", "model.json"))


VALUES = [
    *(None, "x", 0, -1, 10**30, 10**400, 0.5, 1e308, -1e308, 5e-324, True, [], {}, [[]], ""),
    *([[1, 2]], "x" * 1000, 2**31, 2**63, FORGERY, ESCAPE, BIDI, {"a": {}}, [1.5], "HOLDS"),
]


def check_a_changed_model(record, path, value):
    """A model with one part changed is shown and predicts, or is refused in a sentence."""
    try:
        model = signed(changed(record, path, value))
    except ValueError:
        return  # a number that no file can hold
    for command in (["show"], ["show", "--json"], ["predict", "table.csv"]):
        status, out, err = told(command[0], model, *command[1:])
        if status:
            assert_one_plain_sentence(status, out, err, hidden=[CELL])
        elif command == ["show"]:
            assert is_shown_as_it_is(out) and out.count("\nguarantee:") == 1


@given(data=st.data())
@settings(max_examples=120, deadline=None)
def test_any_changed_field_of_a_model_ends_in_output_or_a_sentence(tmp_path_factory, data):
    record = sample(data.draw(st.sampled_from(KINDS)))
    path = data.draw(st.sampled_from(sorted(places(record), key=str)))
    with _in(tmp_path_factory):
        check_a_changed_model(record, path, data.draw(st.sampled_from(VALUES)))


@pytest.mark.slow
@pytest.mark.long(2)
@pytest.mark.parametrize("name", sorted(p.name for p in SAMPLES.glob("*_*.json")))
def test_every_changed_field_of_every_model_ends_in_output_or_a_sentence(name, folder):
    record = sample(name)
    for path in places(record):
        if all(not isinstance(key, int) or key < 4 for key in path):
            for value in VALUES:
                check_a_changed_model(record, path, value)


class _in:
    """A directory of its own for one example, with the table and the schema in it."""

    def __init__(self, factory):
        self.directory = factory.mktemp("example")

    def __enter__(self):
        self.before = os.getcwd()
        os.chdir(self.directory)
        Path("table.csv").write_text(TABLE)
        Path("schema.toml").write_text(SCHEMA)

    def __exit__(self, *_):
        os.chdir(self.before)


# --- Schemas -------------------------------------------------------------------------------------

PLAN = ["plan", "table.csv", "--epsilon", "1", "--schema"]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/null"])
def test_a_device_is_no_schema_no_table_and_no_model(device, folder):
    for arguments in ([*PLAN, device], ["plan", device, *PLAN[2:], "./schema.toml"]):
        told_of = told(*arguments)
        assert_one_plain_sentence(*told_of)
        assert told_of[0] == 2 and "device" in told_of[2]
    told_of = told("show", device)
    assert_one_plain_sentence(*told_of)
    assert told_of[0] == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#" * (2**20 + 1), "at most 1 MiB"),
        ("a" + ".a" * 200_000 + " = 1", "short keys"),
        ("[" + "a." * 200_000 + "a]", "short keys"),
        ("x = { " + "a." * 200_000 + "a = 1 }", "short keys"),
        ("x = " + "[" * 200_000, "flat"),
        ("x = " + "{x = " * 200_000, "flat"),
        ("x = " + "9" * 10_000, "UTF-8 TOML"),
        ("x = 0x" + "f" * 10_000, "unknown key 'x'"),
        (SCHEMA.replace('"illness"', "0x" + "f" * 10_000), "name must be"),
        (SCHEMA.replace("[40]", "[0x" + "f" * 10_000 + "]"), "finite numbers"),
        (SCHEMA.replace('"illness"', "[" * 90 + "]" * 90), "name must be"),
        (SCHEMA.replace('"illness"', '"' + "x" * 100_000 + '"'), "at most 500 characters"),
        (SCHEMA.replace('"age"', '"' + "x" * 100_000 + '"'), "at most 500 characters"),
        (SCHEMA.replace('"yes"', '"' + "x" * 100_000 + '"'), "at most 500 characters"),
        (SCHEMA.replace('"yes"', '"y\\nerror: HOLDS"'), r"printable text, got 'y\nerror"),
        (SCHEMA.replace('"yes"', '"y\\u001b[2J"'), r"printable text"),
        (SCHEMA.replace('"yes"', '"y\\u202e"'), r"printable text"),
        (SCHEMA.replace('"never"', '"n\\u2028x"'), r"printable text"),
        ('"' + "k" * 100_000 + '" = 1', "unknown key"),
        ('"k\\u001b[2J" = 1', "unknown key"),
    ],
    ids=range(20),
)
def test_a_schema_of_any_size_or_depth_is_refused_in_a_short_sentence(text, words, folder):
    Path("schema.toml").write_text(text)
    told_of = told(*PLAN, "./schema.toml")
    assert_one_plain_sentence(*told_of, hidden=[CELL])
    assert told_of[0] == 2 and words in told_of[2]


@pytest.mark.parametrize(
    "arguments",
    [
        [*PLAN, "x" * 100_000],
        ["plan", "x" * 100_000, *PLAN[2:], "./schema.toml"],
        [*PLAN, "./schema.toml", "--relation", "x" * 100_000],
        [*PLAN, "./schema.toml", "--weight-bound", "x" * 100_000],
        ["fit", *PLAN[1:], "./schema.toml", "--mechanism", "x" * 100_000],
        ["fit", *PLAN[1:], "./schema.toml", "--oracle", "x " * 50_000],
        ["fit", *PLAN[1:], "./schema.toml", "--out", "x" * 100_000],
        ["fit", *PLAN[1:], "./schema.toml", "--ledger", "x" * 100_000],
        ["datasets", "x" * 100_000],
        ["audit", "--mechanism", "x" * 100_000],
        ["show", "x" * 100_000],
        ["show", "a\n\x1b[2J\u202eb"],
        ["budget", "x" * 100_000],
        ["budget", "--create", "new", "--epsilon-limit", "1", "--table", "x" * 100_000],
        ["compare", "--dataset", "x" * 100_000],
        ["compare", "--dataset", "breast-cancer", "--methods", "x" * 100_000],
        ["compare", "--dataset", "breast-cancer", "--oracles", "x" * 100_000],
        ["x" * 100_000],
        ["fit", "--" + "x" * 100_000],
    ],
    ids=lambda arguments: " ".join(arguments)[:60].encode("unicode_escape").decode(),
)
def test_a_name_that_was_typed_too_long_is_shortened_and_ends_with_2(arguments, folder):
    told_of = told(*arguments)
    assert_one_plain_sentence(*told_of, hidden=["x" * 300])
    assert told_of[0] == 2


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_any_schema_file_ends_in_a_plan_or_a_sentence(tmp_path_factory, data):
    with _in(tmp_path_factory):
        check_a_schema(data.draw(schema_texts))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("share", range(10))
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_many_schema_files_end_in_a_plan_or_a_sentence(tmp_path_factory, share, data):
    with _in(tmp_path_factory):
        check_a_schema(data.draw(schema_texts))


def check_a_schema(text):
    Path("schema.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    status, out, err = told(*PLAN, "./schema.toml")
    if status:
        assert_one_plain_sentence(status, out, err, hidden=[CELL])


TOML_VALUES = st.sampled_from(
    [
        *("1", "-1", "0", "true", "1e308", "-1e400", "inf", "nan", "[]", "{}", '""', '"x"', "[1]"),
        *('["a", 1]', "[[1]]", "1979-05-27", "9" * 400, '"\\u202e"', '"\\n"', '["yes"]', '"age"'),
        *("{ column = 1 }", '{ column = "ill" }', '[{ name = "a", values = [] }]', "[2, 1]"),
    ]
)


@st.composite
def changed_schemas(draw):
    """A schema with one value exchanged, one line repeated or left out, or keys added."""
    lines = SCHEMA.strip().splitlines()
    place = draw(st.integers(0, len(lines) - 1))
    action = draw(st.sampled_from(["exchange", "repeat", "leave out", "add"]))
    if action == "exchange":
        key = lines[place].partition("=")[0]
        lines[place] = f"{key}= {draw(TOML_VALUES)}"
    elif action == "repeat":
        lines.insert(draw(st.integers(0, len(lines))), lines[place])
    elif action == "leave out":
        del lines[place]
    else:
        keys = ["unit", "rows_per_unit", "missing_values", "exclusive", "range", "names", "sign"]
        keys += ["binary", "missing", "description", "name", "thresholds", "x"]
        lines.insert(place, f"{draw(st.sampled_from(keys))} = {draw(TOML_VALUES)}")
    return "\n".join(lines)


schema_texts = st.one_of(st.text(max_size=200), changed_schemas())


# --- Ledgers and results -------------------------------------------------------------------------

LEDGER = (SAMPLES / "ledger.jsonl").read_text(encoding="utf-8")


def check_a_ledger(data):
    Path("ledger").write_bytes(data)
    before = Path("ledger").read_bytes()
    for arguments in (["budget", "ledger"], ["budget", "ledger", "--json"]):
        status, out, err = told(*arguments)
        if status:
            assert_one_plain_sentence(status, out, err, hidden=[CELL])
        else:
            assert is_shown_as_it_is(out)
    assert Path("ledger").read_bytes() == before


@st.composite
def changed_ledgers(draw):
    """An older ledger, which has no digests, with one field exchanged; or one cut or torn."""
    lines = LEDGER.splitlines()
    place = draw(st.integers(0, len(lines) - 1))
    record = json.loads(lines[place])
    record[draw(st.sampled_from([*record, "x"]))] = draw(st.sampled_from(VALUES))
    lines[place] = json.dumps(record)
    text = ("\n".join(lines) + "\n").encode()
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) else text


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_any_ledger_file_ends_in_a_listing_or_a_sentence(tmp_path_factory, data):
    with _in(tmp_path_factory):
        check_a_ledger(data.draw(st.one_of(st.binary(max_size=200), changed_ledgers())))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("share", range(10))
@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_many_ledger_files_end_in_a_listing_or_a_sentence(tmp_path_factory, share, data):
    with _in(tmp_path_factory):
        check_a_ledger(data.draw(st.one_of(st.binary(max_size=200), changed_ledgers())))


RUN = {
    "run_id": "x",
    "dataset": "d",
    "method": "auto",
    "evaluation": "held-out",
    "status": "ok",
}


@pytest.mark.parametrize(
    "line",
    [
        "5",
        "[]",
        '{"run_id": "x"}',
        '{"run_id": ["x"], "status": "ok"}',
        '{"run_id": 7}',
        "[" * 100_000,
        json.dumps(RUN)[:-1] + ', "epsilon": NaN}',
        json.dumps(RUN),
        json.dumps(RUN | {"run_id": "x" * 100_000}),
        json.dumps(RUN | {"status": None}),
        f'{{"note": "{CELL}"}}',
    ],
    ids=range(11),
)
def test_resuming_on_a_foreign_line_is_one_sentence(line, folder):
    from opdisc.comparison import Plan, load_source
    from opdisc.comparison.comparing import settings_of

    source = load_source(None, None, "breast-cancer")
    plan = Plan(methods=("majority",), epsilons=(1.0,), repeats=1)
    arguments = {"data": None, "schema": None, "dataset": "breast-cancer"}
    Path("out").mkdir()
    Path("out/settings.json").write_text(json.dumps(settings_of(source, plan, arguments)))
    Path("out/runs.jsonl").write_text(line + "\n")
    told_of = told("compare", "--resume", "--out", "out")
    assert_one_plain_sentence(*told_of, hidden=[CELL])
    assert told_of[0] == 2 and Path("out/runs.jsonl").read_text() == line + "\n"


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, {"methods": 3}, [["a"]], -1e400], ids=str)
@pytest.mark.parametrize("key", ["plan", "arguments", "dataset"])
def test_resuming_on_foreign_settings_is_one_sentence(key, value, folder):
    from opdisc.comparison import Plan, load_source
    from opdisc.comparison.comparing import settings_of

    source = load_source(None, None, "breast-cancer")
    plan = Plan(methods=("majority",), epsilons=(1.0,), repeats=1)
    arguments = {"data": None, "schema": None, "dataset": "breast-cancer"}
    settings = json.loads(json.dumps(settings_of(source, plan, arguments))) | {key: value}
    Path("out").mkdir()
    Path("out/settings.json").write_text(json.dumps(settings))
    told_of = told("compare", "--resume", "--out", "out")
    assert_one_plain_sentence(*told_of)
    assert told_of[0] == 2


# --- Extremes of size ----------------------------------------------------------------------------


def wide(columns, categories):
    """Write a table of 30 rows a class and a schema of so many columns or categories."""
    names = [f"c{j}" for j in range(columns)]
    rows = [",".join([bit] * columns + [label]) for bit, label in (("0", "no"), ("1", "yes"))]
    Path("wide.csv").write_text("\n".join([",".join([*names, "ill"]), *(rows * 30)]) + "\n")
    schema = SCHEMA.split("[[feature]]")[0]
    listed = ", ".join(f'"v{k}"' for k in range(categories))
    kind = f"categories = [{listed}]" if categories else "binary = true"
    schema += "".join(f'[[feature]]\ncolumn = "{name}"\n{kind}\n' for name in names)
    Path("wide.toml").write_text(schema)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(("columns", "categories"), [(1_000, 0), (1, 10_000)])
@pytest.mark.parametrize("mechanism", [None, "permute_and_flip", "exponential"])
def test_a_thousand_columns_or_ten_thousand_categories_can_be_planned(
    mechanism, columns, categories, folder
):
    wide(columns, categories)
    arguments = ["wide.csv", "--schema", "./wide.toml", "--epsilon=1"]
    if mechanism is None:
        status, out, err = told("plan", *arguments, "--explain")
        assert (status, err) == (0, "") and "rspm" in out
        return
    told_of = told("fit", *arguments, "--mechanism", mechanism)
    assert_one_plain_sentence(*told_of)
    assert told_of[0] == 2


@pytest.mark.parametrize("epsilon", ["5e-324", "1e-308", "1.7e308"])
def test_an_epsilon_beyond_reason_is_refused(epsilon, folder):
    for mechanism in ("auto", "permute_and_flip", "exponential", "one_hot", "opdisc", "rspm"):
        arguments = ["table.csv", "--schema", "./schema.toml", "--mechanism", mechanism]
        told_of = told("fit", *arguments, "--epsilon", epsilon)
        assert_one_plain_sentence(*told_of, hidden=[CELL])
        assert told_of[0] == 2 and "epsilon must be from 1e-100 to 1e+300" in told_of[2]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["1e-100", "1e-9", "1e9", "1e300"])
def test_an_epsilon_at_the_ends_is_planned_and_fitted_or_refused(epsilon, folder):
    status, out, err = told(*PLAN, "./schema.toml", "--epsilon", epsilon)
    assert (status, err) == (0, ""), err
    for mechanism in ("auto", "permute_and_flip", "exponential", "one_hot", "opdisc", "rspm"):
        arguments = ["table.csv", "--schema", "./schema.toml", "--mechanism", mechanism]
        status, out, err = told("fit", *arguments, "--epsilon", epsilon)
        if status:
            assert_one_plain_sentence(status, out, err, hidden=[CELL])


# --- Standard output, interruptions, permissions -------------------------------------------------

OPDISC = [sys.executable, "-m", "opdisc.cli.start"]
PRINTING = [
    ["oracles"],
    ["datasets"],
    ["datasets", "adult"],
    pytest.param(["demo"], marks=pytest.mark.slow),
    [*PLAN, "schema.toml"],
    ["show", str(SAMPLES / "scorecard_words.json")],
    pytest.param(
        ["audit", "--mechanism", "permute_and_flip", "--draws", "50"], marks=pytest.mark.slow
    ),
    ["budget", "ledger"],
    pytest.param(
        ["predict", str(SAMPLES / "scorecard_words.json"), str(SAMPLES / "table.csv")],
        marks=pytest.mark.slow,
    ),
    pytest.param(["compare", "--list-methods"], marks=pytest.mark.slow),
]


@pytest.mark.long
@pytest.mark.parametrize("arguments", PRINTING, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize(
    "place", [pytest.param("closed", marks=pytest.mark.slow), "full"]
)  # a process each
def test_what_cannot_be_printed_is_a_failure(arguments, place, folder):
    if place == "full" and not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    Ledger.create("ledger", epsilon_limit=1.0)
    arguments = ["./schema.toml" if text == "schema.toml" else text for text in arguments]
    redirected = {"closed": ">&-", "full": ">/dev/full"}[place]
    result = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirected}', "sh", *OPDISC, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert_one_plain_sentence(result.returncode, "", result.stderr)
    assert result.returncode == 1


@pytest.mark.timing
@pytest.mark.parametrize("place", range(6))
def test_an_interruption_while_the_command_starts_ends_it_quietly(place, folder):
    # An import that is reached soon, in the middle, or late is made to wait for the signal.
    waited = ["opdisc.cli.app", "click", "rich.console", "pandas", "numpy", "opdisc.cli.console"]
    program = f"""
import os, signal, sys, time
class Waiting:
    def find_spec(self, name, path=None, target=None):
        if name == {waited[place]!r}:
            print("ready", flush=True)
            while True:  # a signal just before a long sleep would wait for its end
                time.sleep(0.05)
sys.meta_path.insert(0, Waiting())
sys.argv = ["opdisc", "plan", "table.csv", "--schema", "./schema.toml", "--epsilon", "1"]
from opdisc.cli.start import main
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        # From here on a signal is heard: the handler comes before the first import.
        wait_for_line(process, "ready")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err and err.count("\n") <= 1


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_private_rows_are_nobody_elses_and_a_replaced_file_keeps_its_mode(folder, usual_umask):
    fit = ["fit", "table.csv", "--schema", "./schema.toml", "--epsilon", "1", "--out", "m.json"]
    assert told(*fit)[0] == 0
    predict = ["predict", "m.json", "table.csv", "--out", "scored.csv"]
    assert told(*predict)[0] == 0
    assert (mode("m.json"), mode("scored.csv")) == (0o644, 0o600)
    for path in ("m.json", "scored.csv"):
        os.chmod(path, 0o640)
    assert told(*fit, "--force")[0] == 0 and told(*predict)[0] == 0
    assert (mode("m.json"), mode("scored.csv")) == (0o640, 0o640)
