"""Fetching known tables: against a stand-in for OpenML on this machine, never the network."""

import hashlib
import json
import os
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import _openml as sklearn_openml

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data.datasets import openml
from opdisc.data.datasets.loading import load_dataset
from opdisc.data.datasets.registry import DATASETS
from opdisc.errors import TableError

REAL = Path(os.environ.get("OPDISC_DATA", "data")).resolve()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty directory for the files, and a broken door to the real OpenML."""
    monkeypatch.setenv("OPDISC_DATA", str(tmp_path / "tables"))
    monkeypatch.chdir(tmp_path)

    def refuse(request, *arguments, **named):
        raise AssertionError(f"the network was asked for {request.full_url}")

    monkeypatch.setattr(sklearn_openml, "urlopen", refuse)


def _knowing(monkeypatch, name, text):
    """Let the known table of that name be the given text."""
    known = replace(DATASETS[name], sha256=hashlib.sha256(text.encode()).hexdigest())
    monkeypatch.setattr(openml, "DATASETS", MappingProxyType({**DATASETS, name: known}))


GERMAN_ROWS = """\
'<0',6,'critical/other existing credit',radio/tv,1169,'no known savings','>=7',4,'male single',\
none,4,'real estate',67,none,own,2,skilled,1,yes,yes,good
'0<=X<200',48,'existing paid',other,5951,'<100','1<=X<4',2,'female div/dep/mar',\
guarantor,2,'real estate',22,bank,'for free',1,'unskilled resident',1,none,no,bad
"""
GERMAN_TEXT = (
    ",".join(openml._GERMAN_COLUMNS)
    + """
A11,6,A34,A43,1169,A65,A75,4,A93,A101,4,A121,67,A143,A152,2,A173,1,A192,A201,1
A12,48,A32,A410,5951,A61,A73,2,A92,A103,2,A121,22,A141,A153,1,A172,1,A191,A202,2
"""
)
GERMAN_NAMES = [f"attribute{i}" for i in range(1, 21)] + ["class"]


def _arff(names, nominal, rows):
    def spell(word):
        return f"'{word}'" if not word.replace("/", "").isalnum() else word

    lines = ["@relation stand-in"]
    for name in names:
        words = nominal.get(name)
        kind = "numeric" if words is None else "{" + ", ".join(map(spell, words)) + "}"
        lines.append(f"@attribute {name} {kind}")
    return "\n".join([*lines, "@data", rows])


def _german_answers():
    nominal = {f"attribute{i}": words for i, words in openml._GERMAN_WORDS.items()}
    nominal["class"] = ("good", "bad")
    arff = _arff(GERMAN_NAMES, nominal, GERMAN_ROWS).encode()
    features = [
        {
            "index": str(i),
            "name": name,
            "data_type": "nominal" if name in nominal else "numeric",
            "is_target": str(name == "class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        | ({"nominal_value": list(nominal[name])} if name in nominal else {})
        for i, name in enumerate(GERMAN_NAMES)
    ]
    described = {
        "id": "31",
        "file_id": "31",
        "name": "credit-g",
        "version": "1",
        "description": "a stand-in",
        "format": "ARFF",
        "status": "active",
        "default_target_attribute": "class",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    return described, features, arff


@contextmanager
def _served(monkeypatch, answers):
    """Serve OpenML's four kinds of answers on this machine; yield the paths that were asked."""
    described, features, arff = answers
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            described["url"] = f"http://127.0.0.1:{self.server.server_port}/file.arff"
            body = {
                "/data/31": lambda: json.dumps({"data_set_description": described}).encode(),
                "/features/31": lambda: json.dumps(
                    {"data_features": {"feature": features}}
                ).encode(),
                "/qualities/31": lambda: json.dumps(
                    {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "2"}]}}
                ).encode(),
                "/file.arff": lambda: arff,
            }.get(self.path)
            self.send_response(200 if body else 404)
            self.end_headers()
            if body:
                self.wfile.write(body())

        def log_message(self, *arguments):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}"
    from urllib.request import urlopen

    monkeypatch.setattr(sklearn_openml, "urlopen", urlopen)
    # Releases before 1.7 put the host before each path and ask for files by number.
    monkeypatch.setattr(sklearn_openml, "_OPENML_PREFIX", "", raising=False)
    monkeypatch.setattr(sklearn_openml, "_DATA_FILE", f"{base}/file.arff", raising=False)
    for constant, path in (
        ("_DATA_INFO", "/data/{}"),
        ("_DATA_FEATURES", "/features/{}"),
        ("_DATA_QUALITIES", "/qualities/{}"),
    ):
        # raising=True: a scikit-learn that moved them must not be asked for the real thing.
        monkeypatch.setattr(sklearn_openml, constant, base + path)
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_download_is_fetched_converted_checked_and_written(monkeypatch, capsys):
    _knowing(monkeypatch, "german", GERMAN_TEXT)
    with _served(monkeypatch, _german_answers()) as asked:
        assert run_command_line(cli, ["datasets", "german", "--download"]) == 0
    assert asked[-1] == "/file.arff"
    assert "checksum as known" in capsys.readouterr().out
    assert Path("tables/german.csv").read_text() == GERMAN_TEXT
    assert load_dataset("german")["credit"].tolist() == ["1", "2"]
    assert run_command_line(cli, ["datasets", "german", "--download"]) == 1
    assert "must not replace a file" in capsys.readouterr().err


def test_another_table_is_refused_in_one_sentence_and_nothing_is_written(monkeypatch, capsys):
    with _served(monkeypatch, _german_answers()):
        assert run_command_line(cli, ["datasets", "german", "--download"]) == 1
    error = capsys.readouterr().err
    assert "SHA-256 after conversion is another; nothing was written" in error
    assert error.count("\n") == 1
    assert not Path("tables").exists()


def test_a_file_that_was_tampered_with_on_the_way_is_refused(monkeypatch):
    _knowing(monkeypatch, "german", GERMAN_TEXT)
    described, features, arff = _german_answers()
    answers = described, features, arff.replace(b"1169", b"1168")
    with (
        _served(monkeypatch, answers),
        pytest.raises(TableError, match="could not be asked for table 31 .ValueError"),
    ):
        openml.download_dataset("german")


def test_without_a_network_the_sentence_says_what_to_do(monkeypatch, capsys):
    def unreachable(*arguments, **named):
        raise OSError("no route")

    monkeypatch.setattr(sklearn_openml, "urlopen", unreachable)
    assert run_command_line(cli, ["datasets", "adult", "--download"]) == 1
    error = capsys.readouterr().err
    assert "check the network, or obtain the file by hand" in error and error.count("\n") == 1


def test_listing_and_explaining_ask_no_network(capsys):
    for arguments in (["datasets"], ["datasets", "adult"], ["datasets", "--json"]):
        assert run_command_line(cli, arguments) == 0
    assert run_command_line(cli, ["datasets", "adult", "--out", "x.csv"]) == 1
    text = capsys.readouterr().out
    assert "OpenML 1590; run: opdisc datasets adult --download" in text
    assert "or run: opdisc datasets german --download" in text


def test_what_openml_does_not_have_and_wrong_usage_are_refused(capsys):
    for name in ("mammo", "adult-binary", "breast-cancer"):
        with pytest.raises(TableError, match="is not on OpenML as its schema needs it"):
            openml.download_dataset(name)
    with pytest.raises(TableError, match="one of adult"):
        openml.download_dataset("nonsense")
    assert run_command_line(cli, ["datasets", "--download"]) == 2
    assert run_command_line(cli, ["datasets", "german", "--download", "--out", "a.csv"]) == 2
    assert "\n" not in capsys.readouterr().err.splitlines()[0]


ADULT = pd.DataFrame(
    {
        "age": [25, 39, 50],
        "workclass": ["Private", None, "Private"],
        "fnlwgt": [226802.0, 77516.0, 83311.0],
        **{f"c{i}": ["x", "y", "z"] for i in range(11)},
        "class": ["<=50K", "<=50K", ">50K"],
    }
)
ADULT_TRAINING = (
    ",".join(openml._ADULT_COLUMNS)
    + "\n39,?,77516,"
    + "y," * 11
    + "<=50K\n50,Private,83311,"
    + "z," * 11
    + ">50K\n"
)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 2, 0]], ids=["test first", "training first"])
def test_the_training_rows_are_cut_out_wherever_they_are(monkeypatch, order):
    monkeypatch.setattr(openml, "_ADULT_TRAINING", 2)
    monkeypatch.setattr(openml, "_ADULT_TEST", 1)
    _knowing(monkeypatch, "adult", ADULT_TRAINING)
    fetched = ADULT.iloc[order].astype({"workclass": "category", "class": "category"})
    path = openml.download_dataset("adult", fetch=lambda number: fetched)
    assert path.read_text() == ADULT_TRAINING


def test_rows_with_missing_cells_are_left_out_of_the_breast_cancer_table(monkeypatch):
    fetched = pd.DataFrame(np.arange(27.0).reshape(3, 9))
    fetched.iloc[1, 5] = np.nan
    fetched["Class"] = pd.Categorical(["benign", "benign", "malignant"])
    text = "Benign," + ",".join(openml._BREAST_COLUMNS) + "\n"
    text += "0,0,1,2,3,4,5,6,7,8\n1,18,19,20,21,22,23,24,25,26\n"
    _knowing(monkeypatch, "breastcancer", text)
    path = openml.download_dataset("breastcancer", fetch=lambda number: fetched)
    assert path.read_text() == text


@pytest.mark.parametrize("name", ["adult", "german", "breastcancer"])
def test_an_unexpected_shape_or_word_is_another_table(name):
    strange = pd.DataFrame({"only": ["column"]})
    words = pd.DataFrame([["strange"] * 21])
    for fetched in (strange, words):
        with pytest.raises(TableError, match="nothing was written"):
            openml.download_dataset(name, fetch=lambda number, rows=fetched: rows)


def _as_openml_has_it(name, table):
    """Undo the conversion of a real table, as far as its documentation tells OpenML's form."""
    if name == "adult":
        rows = table.replace("?", None)
        for column in rows:
            if rows[column].str.fullmatch(r"-?\d+").all():
                rows[column] = rows[column].astype(np.int64)
        return pd.concat([rows.iloc[:16_281], rows], ignore_index=True)
    if name == "german":
        rows = table.copy()
        for attribute, words in openml._GERMAN_WORDS.items():
            first = 0 if attribute in openml._FROM_ZERO else 1
            codes = {f"A{attribute}{first + i}": word for i, word in enumerate(words)}
            column = openml._GERMAN_COLUMNS[attribute - 1]
            rows[column] = pd.Categorical(rows[column].map(codes))
        rows["credit"] = pd.Categorical(rows["credit"].map({"1": "good", "2": "bad"}))
        return rows
    rows = table[[*table.columns[1:], "Benign"]].astype(float)
    rows["Benign"] = pd.Categorical(rows["Benign"].map({0: "benign", 1: "malignant"}))
    return pd.concat([rows.iloc[:5], rows.iloc[[5]].assign(BareNuclei=np.nan), rows.iloc[5:]])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adult", "german", "breastcancer"])
def test_the_real_table_survives_the_way_there_and_back(name, monkeypatch, tmp_path):
    real = REAL / DATASETS[name].filename
    if not real.is_file():
        pytest.skip(f"{DATASETS[name].filename} is not here; see docs/reference/known-tables.md")
    monkeypatch.setenv("OPDISC_DATA", str(REAL))
    fetched = _as_openml_has_it(name, load_dataset(name))
    monkeypatch.setenv("OPDISC_DATA", str(tmp_path / "new"))
    path = openml.download_dataset(name, fetch=lambda number: fetched)
    assert path.read_bytes() == real.read_bytes()
