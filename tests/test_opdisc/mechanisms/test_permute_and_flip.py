"""Permute-and-flip beyond listing: choice, receipts, limits, command line."""

import json
import math

import numpy as np
import pytest

from opdisc import Ledger, PrivateScorecardClassifier
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.estimators.scorecards.progress import WARNING, draw_progress
from opdisc.mechanisms.permute_and_flip import (
    AStarPermuteAndFlipMechanism,
    PermuteAndFlipMechanism,
)
from opdisc.mechanisms.run import run_mechanism
from opdisc.planning.choice import MechanismSettings, build_mechanism
from opdisc.planning.utility import predict_error
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem

GRID = WeightGrid.box(16, 1)


def public(grid=GRID, epsilon=5.0):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=800,
    )


def problem(grid=GRID):
    rng = np.random.default_rng(0)
    points = np.unique(
        np.hstack([np.ones((40, 1), int), rng.integers(0, 2, (40, grid.n_features - 1))]), axis=0
    )
    rows = rng.integers(1, 20, len(points))
    wrong = rng.binomial(rows, 0.1)
    plus = points[:, 1] == 1
    return ZeroOneProblem(
        points=points,
        positives=np.where(plus, rows - wrong, wrong),
        negatives=np.where(plus, wrong, rows - wrong),
        grid=grid,
    )


def test_by_name_it_is_lazy_where_the_grid_makes_no_short_list():
    assert isinstance(
        build_mechanism("permute_and_flip", WeightGrid.box(12, 1))[0], PermuteAndFlipMechanism
    )
    settings = MechanismSettings(max_rounds=7, time_limit=3.0)
    lazy = build_mechanism("permute_and_flip", GRID, settings=settings)[0]
    assert lazy == AStarPermuteAndFlipMechanism(max_rounds=7, time_limit=3.0)
    with pytest.raises(CalibrationError, match="drop the oracle"):
        build_mechanism("permute_and_flip", GRID, settings=MechanismSettings(minimise=True))
    with pytest.raises(CalibrationError, match=r"2\*\*62"):
        AStarPermuteAndFlipMechanism().calibrate(public(WeightGrid.box(40, 1)))


def test_the_noise_is_that_of_the_listed_mechanism_plus_four_lattice_steps():
    grid = WeightGrid.box(5, 1)
    listed = PermuteAndFlipMechanism().calibrate(public(grid))
    lazy = AStarPermuteAndFlipMechanism().calibrate(public(grid))
    spacing = listed.spacing
    assert lazy.allowance == 2 * spacing
    assert lazy.scales[0] * 5.0 == pytest.approx(2 + 5 * spacing)
    assert listed.scales[0] * 5.0 == pytest.approx(2 + spacing)


def test_releases_are_good_and_their_receipts_hold():
    private = problem()
    release = run_mechanism(
        AStarPermuteAndFlipMechanism(),
        private,
        public(),
        entropy=SystemEntropy(),
        counts_rows=True,
    )
    assert release.receipt.guarantee == "HOLDS" and release.receipt.delta_numerical == 0
    assert "drawn where the search goes" in release.receipt.noise_law
    scale, rule = release.receipt.noise_scales[0], tuple(int(j == 1) for j in range(16))
    # No noise of 3^16 exceeds (ln 3^16 + 20) scales: false alarm below e^-20.
    excess = scale * (16 * math.log(3) + 20) + 1
    assert private.loss(release.hypothesis) <= private.loss(rule) + excess


def test_the_predicted_error_is_that_of_the_listed_mechanism_and_little_more():
    listed, lazy = (
        predict_error(build(), public(WeightGrid.box(5, 1)))
        for build in (PermuteAndFlipMechanism, AStarPermuteAndFlipMechanism)
    )
    assert listed.mean < lazy.mean < 1.01 * listed.mean + 0.01


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"max_rounds": 10**9}, "within 1000000000 nodes"),
        ({"time_limit": 900.0}, "within 900 s"),
    ],
)
def test_a_limit_is_a_condition_of_every_release(limits, words):
    mechanism = AStarPermuteAndFlipMechanism(**limits)
    release = run_mechanism(
        mechanism, problem(), public(), entropy=SystemEntropy(), counts_rows=True
    )
    assert release.receipt.guarantee == "CONDITIONAL"
    assert len(release.receipt.conditions) == 1 and words in release.receipt.conditions[0]


@pytest.mark.parametrize("limits", [{"max_rounds": 1}, {"time_limit": 1e-9}])
def test_a_limit_that_is_met_releases_nothing_and_the_budget_stays_spent(limits, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    grid = WeightGrid.box(16, 3)
    with pytest.raises(UncertifiedRelease, match="nothing is released"):
        run_mechanism(
            AStarPermuteAndFlipMechanism(**limits),
            problem(grid),
            public(grid, 0.5),
            entropy=SystemEntropy(),
            ledger=ledger,
        )
    assert ledger.total()[0] == pytest.approx(0.5)


def test_the_classifier_and_the_command_line_run_it(tmp_path, monkeypatch, capsys):
    rows = np.random.default_rng(1).integers(0, 2, (300, 15))
    model = PrivateScorecardClassifier(epsilon=20.0, mechanism="permute_and_flip")
    model.fit(rows, rows[:, 0])
    assert model.receipt_.oracle == AStarPermuteAndFlipMechanism().sampler
    monkeypatch.chdir(tmp_path)
    names = [f"c{j}" for j in range(15)]
    lines = [",".join([*names, "y"])] + [",".join(map(str, [*row, row[0]])) for row in rows]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    schema = 'name = "t"\ntarget = { column = "y", positive = "1", negative = "0" }\n'
    schema += "".join(f'[[feature]]\ncolumn = "{n}"\nbinary = true\n' for n in names)
    (tmp_path / "s.toml").write_text(schema)
    call = ["fit", "t.csv", "--schema", "./s.toml", "--epsilon", "20", "--json"]
    call += ["--mechanism", "permute_and_flip", "--max-rounds", "100000000"]
    assert run_command_line(cli, call) == 0
    assert json.loads(capsys.readouterr().out)["receipt"]["guarantee"] == "CONDITIONAL"


def test_progress_says_that_it_is_not_private():
    lines = []
    mechanism = AStarPermuteAndFlipMechanism(progress=draw_progress(lines.append))
    watch = mechanism._watch
    watch._reported -= 2.0
    watch(1234, 56)
    assert len(lines) == 1 and lines[0].startswith(f"{WARNING}: 1,234 nodes, 56 open")
