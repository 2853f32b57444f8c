"""``opdisc explain``."""

import json

import pytest

from opdisc import PrivateScorecardClassifier
from opdisc.cli import run_command_line
from opdisc.cli.app import cli
from opdisc.privacy import all_statements


@pytest.fixture
def run(capsys):
    def run(*arguments):
        status = run_command_line(cli, ["explain", *arguments])
        return status, *capsys.readouterr()

    return run


def test_the_theorem_of_a_receipt_is_printed_with_its_proof(run):
    clf = PrivateScorecardClassifier(epsilon=1.0, classes=(0, 1)).fit([[0], [1]] * 40, [0, 1] * 40)
    status, out, err = run(clf.receipt_.theorem)
    assert status == 0 and err == ""
    assert out.startswith("docs/theory.md, ") and "**Statement.**" in out and "**Proof.**" in out


def test_without_a_name_everything_is_listed(run):
    status, out, _ = run()
    assert status == 0 and all(len(line) <= 100 for line in out.splitlines())
    words = " ".join(out.split())
    assert all(statement.name in words for statement in all_statements())


def test_an_unknown_name_gets_one_sentence_with_a_guess(run):
    status, out, err = run("spere")
    assert status == 2 and out == ""
    assert err.count("\n") == 1 and "'spere' is none; did you mean sphere" in err


def test_json(run):
    (entry,) = json.loads(run("sphere", "--json")[1])
    assert (entry["page"], entry["name"]) == ("theory", "sphere")
    assert "sphere" in json.loads(run("--json")[1])["theory"]
