"""A fit with the solver of another project, in a real process: what is said, what is charged."""

import json
import os
import subprocess
import sys

import pytest
from helpers.extras import DIRECT, needs_licence, oracle_params, takes_nothing

import oracles
from opdisc.privacy.ledger import Ledger
from oracles.arithmetic import module_environment

COLUMNS = [f"c{j}" for j in range(20)]
"""Yes or no each: 2^20 distinct points, and no licence that comes with a solver takes so many."""

TARGET = """name = "illness"
positive_share = 0.5
target = { column = "ill", positive = "yes", negative = "no" }
"""

LIMITED = [name for name in DIRECT if name != "scip"]


@pytest.fixture
def fitted(tmp_path, monkeypatch):
    """Fit a table of few rows with so many of its columns; return the process that has ended."""
    monkeypatch.chdir(tmp_path)
    lines = [
        ",".join([*(str(i >> j % 4 & 1) for j in range(20)), "yes" if i & 1 else "no"])
        for i in range(60)
    ]
    Ledger.create("budget")
    (tmp_path / "table.csv").write_text("\n".join([",".join([*COLUMNS, "ill"]), *lines, ""]))

    def run(oracle, n_columns, *more):
        features = "".join(
            f'[[feature]]\ncolumn = "{c}"\nbinary = true\n' for c in COLUMNS[:n_columns]
        )
        (tmp_path / "schema.toml").write_text(TARGET + features)
        options = "table.csv --schema ./schema.toml --epsilon 20 --mechanism one_hot --json"
        options += " --weight-bound 1 --relation add_or_remove_one --ledger budget --out card.json"
        arguments = ("fit", *options.split(), "--oracle", oracle, *more)
        return subprocess.run(
            [sys.executable, "-m", "opdisc.cli.app", *arguments],
            env=module_environment() | {"TMPDIR": os.fspath(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize("name", oracle_params(["highs", "cp-sat", "pulp:HiGHS", *DIRECT]))
def test_json_is_one_document_with_every_solver(name, fitted, tmp_path):
    needs_licence(oracles.get_oracle(name))
    done = fitted(name, 3)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["receipt"]["epsilon"] == 20
    notes = [line.partition(":")[0] for line in done.stderr.splitlines()]
    assert notes == ["note", "ledger budget"]
    assert sorted(os.listdir(tmp_path)) == ["budget", "card.json", "schema.toml", "table.csv"]


@pytest.mark.parametrize("name", oracle_params(LIMITED))
def test_a_licence_that_is_too_small_is_one_sentence_and_costs_nothing(name, fitted, tmp_path):
    done = fitted(name, 20)
    if done.returncode == 0:
        pytest.skip("needs a solver without a full licence")
    assert done.stdout == ""
    notes = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in notes] == ["note", "error"]
    wanted = (
        "needs a " if takes_nothing(oracles.get_oracle(name)) else "takes programs of at most "
    )
    assert notes[1].startswith(f"error: oracle '{name}' {wanted}")
    assert not Ledger("budget").spendings() and not (tmp_path / "card.json").exists()
    chain = fitted(f"{name} then branch-and-bound", 20, "--time-limit", "2")
    assert chain.returncode == 0 and json.loads(chain.stdout)["receipt"]["epsilon"] == 20
    assert len(Ledger("budget").spendings()) == 1
