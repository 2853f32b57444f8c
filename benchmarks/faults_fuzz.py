"""Faults of files and command lines: damaged models, schemas, ledgers and arguments."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data import Schema
from opdisc.errors import OPDiscError
from opdisc.models import load_model
from opdisc.models.document import model_digest
from opdisc.privacy import Ledger
from oracles.errors import OracleError

ROOT = Path(__file__).resolve().parents[1]
CANARY, NUMBER = "xq7canary", "918273645"
"""Cells of the private table: no message may hold them."""

_STRANGE = (
    None, True, False, 0, -1, 1, 2**53 + 1, 10**400, 1e308, 1e-308, float("nan"), float("inf"),
    -0.0, "", " ", "x" * 10_000, "\x1b[31m", "\u202e", "\x00", "../../etc/passwd", [], {}, [[]],
    {"": {}}, [None], ["a"] * 1000, {"a": [1, {"b": 2}]},
)  # fmt: skip

_SCHEMA = """
name = "illness"
target = { column = "ill", positive = "yes", negative = "no" }
unit = "one patient"
missing_values = ["?"]
[[feature]]
column = "age"
thresholds = [30, 50]
[[feature]]
column = "smoker"
categories = ["daily", "never"]
"""


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every part of a document."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            found += _places(part, (*path, key))
    return found


def damaged(document: Any, chance: random.Random) -> Any:
    """Return a document with one to three parts replaced, removed, doubled or exchanged."""
    document = copy.deepcopy(document)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        places = _places(document)
        if not places:
            return document
        *parents, last = chance.choice(places)
        holder = document
        for key in parents:
            holder = holder[key]
        kind = chance.randrange(5)
        if kind == 0:
            del holder[last]
        elif kind == 1 and isinstance(holder, dict):
            holder[f"{last}{chance.choice(('', '_', 'x'))}"] = copy.deepcopy(
                chance.choice(_STRANGE)
            )
        elif kind == 2 and isinstance(holder, list):
            holder.insert(int(last), copy.deepcopy(holder[int(last)]))
        elif kind == 3 and isinstance(holder[last], int | float):
            holder[last] = holder[last] * chance.choice((-1, 0, 2, 1e300, 0.5))
        else:
            holder[last] = copy.deepcopy(chance.choice(_STRANGE))
    return document


def damaged_bytes(text: bytes, chance: random.Random) -> bytes:
    """Return a text with bytes changed, removed, doubled, or its end cut off."""
    changed = bytearray(text)
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(max(1, len(changed)))
        kind = chance.randrange(4)
        if kind == 0:
            changed[place : place + 1] = chance.randbytes(1)
        elif kind == 1:
            del changed[place : place + chance.choice((1, 2, 50))]
        elif kind == 2:
            changed[place:place] = changed[place : place + 40]
        else:
            del changed[place:]
    return bytes(changed)


def _outcome(what: str, act: Callable[[], object]) -> str | None:
    """Return what is wrong with an outcome; a refusal in one sentence is right."""
    try:
        act()
    except (OPDiscError, OracleError) as error:
        text = str(error)
        if "\n" in text or len(text) > 2000 or not text.isprintable():
            return f"{what}: a message of more than a printable sentence: {ascii(text[:80])}"
        return f"{what}: a cell in a message" if CANARY in text or NUMBER in text else None
    except BaseException as error:  # noqa: B902  (whatever escapes is the finding)
        return f"{what}: {type(error).__name__} escapes: {ascii(str(error)[:80])}"
    return None


def models(count: int, chance: random.Random) -> list[str]:
    """Load damaged models of every kind, half of them with a digest that fits again."""
    files = sorted((ROOT / "tests" / "data" / "version_0_1_dev").glob("*.json"))
    originals = [path.read_bytes() for path in files if path.name != "expected.json"]
    records = [json.loads(text) for text in originals]
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        for number in range(count):
            if number % 4 == 0:
                path.write_bytes(damaged_bytes(chance.choice(originals), chance))
            else:
                record = damaged(chance.choice(records), chance)
                if number % 4 != 1 and isinstance(record, dict):
                    record.pop("sha256", None)
                    with contextlib.suppress(ValueError, TypeError, OverflowError):
                        record["sha256"] = model_digest(record)
                path.write_text(json.dumps(record))
            losses.append(_outcome("model", lambda: _shown(path)))
    return [loss for loss in losses if loss]


def _shown(path: Path) -> None:
    model = load_model(path)
    json.dumps(model.to_dict(), allow_nan=False)


def schemas(count: int, chance: random.Random) -> list[str]:
    """Read damaged schema files and documents."""
    texts = [path.read_text() for path in sorted((ROOT / "data").glob("*.toml"))] + [_SCHEMA]
    records = [tomllib.loads(text) for text in texts]
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.toml"
        for number in range(count):
            if number % 3 == 0:
                path.write_bytes(damaged_bytes(chance.choice(texts).encode(), chance))
                losses.append(_outcome("schema file", lambda: Schema.from_toml(path)))
            else:
                record = damaged(chance.choice(records), chance)
                losses.append(_outcome("schema", lambda record=record: Schema.from_dict(record)))  # type: ignore[misc]
    return [loss for loss in losses if loss]


def ledgers(count: int, chance: random.Random) -> list[str]:
    """Read and charge damaged ledgers; no charge that a ledger shows may be forgotten by one."""
    from faults_processes import charge

    folder = ROOT / "tests" / "data" / "version_0_1_dev"
    originals = [path.read_bytes() for path in sorted(folder.rglob("*.jsonl"))]
    losses: list[str | None] = []
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "ledger"
        Ledger.create(path, epsilon_limit=1.0)
        for _ in range(3):
            Ledger(path).spend(charge())
        originals += [path.read_bytes()] * 3
        for _ in range(count):
            path.write_bytes(damaged_bytes(chance.choice(originals), chance))
            if chance.random() < 0.3:
                losses.append(_outcome("ledger charged", lambda: Ledger(path).spend(charge())))
            losses.append(_outcome("ledger", lambda: Ledger(path).spendings()))
    return [loss for loss in losses if loss]


_ARGUMENTS = {
    "--schema": ("schema.toml", "damaged.toml", "adult-small", "/dev/null", "no such schema"),
    "--epsilon": ("1", "1e-308", "1e9", "nan", "-1", "0", "inf", "x"),
    "--delta": ("0", "1e-6", "1", "-1", "nan"),
    "--mechanism": ("auto", "exponential", "rspm", "opdisc", "one_hot", "permute_and_flip", "z"),
    "--noise": ("gaussian", "l2-laplace", "gaussian-published-7", "none"),
    "--weight-bound": ("1", "auto", "0", "-3", "10000000000", "x"),
    "--norm-budget": ("1", "0", "-1", "99999999999999999999"),
    "--relation": ("replace_one", "add_or_remove_one", "both"),
    "--ledger": ("ledger", "damaged.ledger", ".", "/dev/full"),
    "--table": ("table", "x" * 300, "\x1b[2J"),
    "--out": ("model.json", "table.csv", ".", "/dev/full", "no/such/folder/model.json"),
    "--json": (),
    "--nonsense": ("1",),
}
_FILES = ("table.csv", "damaged.csv", "damaged.toml", "damaged.json", "damaged.ledger", "missing")


def command_lines(count: int, chance: random.Random) -> list[str]:
    """Run damaged commands on damaged files: one sentence, a known status, no cell."""
    rows = [f"{NUMBER if i == 7 else 20 + i},daily,{CANARY},{'yes' if i % 2 else 'no'}"
            for i in range(30)]  # fmt: skip
    table = "\n".join(["age,smoker,note,ill", *rows, ""]).encode()
    model = (ROOT / "tests/data/version_0_1_dev/scorecard_numeric.json").read_bytes()
    losses, before = [], Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Ledger.create("ledger")
            ledger = Path("ledger").read_bytes()
            for _ in range(count):
                Path("table.csv").write_bytes(table)
                Path("schema.toml").write_text(_SCHEMA)
                sources = {"csv": table, "toml": _SCHEMA.encode(), "json": model, "ledger": ledger}
                for ending, text in sources.items():
                    Path(f"damaged.{ending}").write_bytes(damaged_bytes(text, chance))
                losses.append(_command_loss(_command(chance)))
        finally:
            os.chdir(before)
    return [loss for loss in losses if loss]


def _command(chance: random.Random) -> list[str]:
    command = chance.choice(("fit", "fit", "show", "predict", "budget", "plan", "fits"))
    files = [chance.choice(_FILES) for _ in range(2 if command == "predict" else 1)]
    if chance.random() < 0.05:
        files = files[1:]
    arguments = [command, *files]
    if command in ("fit", "plan") and chance.random() < 0.9:
        arguments += ["--schema", "schema.toml", "--epsilon", "1"]
    for _ in range(chance.randrange(4)):
        option, values = chance.choice(tuple(_ARGUMENTS.items()))
        arguments += [option, *([chance.choice(values)] if values else [])]
    return arguments


def _command_loss(arguments: list[str]) -> str | None:
    out, err = io.StringIO(), io.StringIO()
    shown = f"opdisc {' '.join(ascii(word)[1:-1][:40] for word in arguments)}"
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run_command_line(cli, arguments)
    except BaseException as error:  # noqa: B902  (whatever escapes is the finding)
        return f"{shown}: {type(error).__name__} escapes"
    said = err.getvalue()
    if status not in (0, 1, 2):
        return f"{shown}: status {status}"
    if "Traceback" in said or "an unexpected" in said:
        return f"{shown}: {said.strip()[-120:]}"
    if CANARY in said + out.getvalue() or NUMBER in said + out.getvalue():
        return None if arguments[0] == "predict" and status == 0 else f"{shown}: a cell"
    return None
