"""The balanced census table, end to end. Needs adult.csv (OPDISC_DATA); skipped without it."""

import json
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from opdisc import PrivateScorecardClassifier, load_dataset, load_schema
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.data.encoding import encode
from opdisc.data.schema import column_structure
from opdisc.planning.grid import scorecard_grid
from opdisc.planning.plan import plan_fit
from opdisc.privacy.entropy import SystemEntropy
from oracles import ZeroOneProblem, solve
from oracles.sampling.rejection.sampler import PartitionSampler

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (Path(os.environ.get("OPDISC_DATA", "data")) / "adult.csv").is_file(),
        reason="adult.csv is not here; see docs/reference/known-tables.md",
    ),
]


def test_the_default_fit_reaches_its_accuracy_over_twenty_runs():
    table = load_dataset("adult-balanced")
    labels = table["income-per-year"]
    accuracies = [
        PrivateScorecardClassifier(epsilon=0.1, schema="adult-small")
        .fit(table, labels)
        .score(table, labels)
        for _ in range(20)
    ]
    assert len(table) == 15_682 and np.mean(accuracies) >= 0.775


def test_the_command_line_writes_the_table_learns_and_shows(tmp_path, capsys):
    balanced, model = str(tmp_path / "balanced.csv"), str(tmp_path / "m.json")
    assert run_command_line(cli, ["datasets", "adult-balanced", "--out", balanced]) == 0
    fit = ["fit", balanced, "--schema", "adult-small", "--epsilon", "0.1", "--out", model]
    assert run_command_line(cli, fit) == 0
    capsys.readouterr()
    assert run_command_line(cli, ["show", model, "--json"]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]
    assert (receipt["guarantee"], receipt["epsilon"]) == ("HOLDS", 0.1)
    assert receipt["n_rows"] == 15_682


@pytest.mark.statistical
def test_realised_regret_of_the_wide_task_stays_within_its_predicted_bound():
    # 200 independent exact draws at epsilon 0.1; 95% of them must be within the 95% bound t = 894.
    # False alarm below 1e-3: for b < beta, P[excess >= t] <= exp(-(beta - b) (t - E_b[excess])),
    # since ln Z(b) - ln Z(beta) <= (beta - b) E_b[excess]. At b = beta / 2 the mean excess is
    # about 385 rows, so one draw exceeds t with probability 3e-6.
    schema = load_schema("adult-wide")
    encoded = encode(load_dataset("adult-balanced"), schema)
    grid = scorecard_grid(schema, 1)
    problem = ZeroOneProblem(
        points=encoded.points.astype(np.int64),
        positives=encoded.positives,
        negatives=encoded.negatives,
        grid=grid,
    )
    best = solve(problem, "branch-and-bound").certificate
    assert best.proves_optimal
    plans = plan_fit("adult-wide", epsilon=0.1, n_rows=encoded.n_rows, weight_bound=1)
    (planned,) = (plan for plan in plans if plan.mechanism == "exponential")
    assert not planned.automatic and planned.prediction.level == 0.95
    sampler = PartitionSampler(problem, Fraction(1, 20), column_structure(schema))
    entropy = SystemEntropy()
    excess = [problem.loss(sampler.draw(entropy)) - best.primal_bound for _ in range(200)]
    within = sum(e <= planned.prediction.quantile for e in excess)
    assert min(excess) >= 0 and within >= 190
