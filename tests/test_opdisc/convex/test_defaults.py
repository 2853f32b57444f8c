"""The table of defaults: each row draws what the mechanism does, whatever kind a ridge is."""

import math
from fractions import Fraction

import numpy as np
import pytest

from opdisc.convex.defaults import RUNNERS
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.convex import L2Ball, LogisticLoss, RowBounds

ROWS = Rows(
    X=np.column_stack([np.ones(40), np.linspace(-0.5, 0.5, 40)]),
    y=np.where(np.arange(40) % 3 > 0, 1.0, -1.0),
)


def facts(name):
    is_added = name.endswith("k12")
    return ConvexPublic(
        params=PrivacyParams(epsilon=2.0, delta=1e-3),
        relation=NeighboringRelation("add_or_remove_one" if is_added else "replace_one"),
        loss=LogisticLoss(),
        bounds=RowBounds(l2=math.sqrt(1.25), linf=1.0),
        dimension=2,
        domain=L2Ball(dimension=2, radius=2.0),
        n_rows=None if is_added else 40,
        public_row_guess=40 if is_added else None,
    )


def released(name, ridge):
    return RUNNERS[name].prepare(ROWS, facts(name), ridge, SeededEntropy(2)).run(None)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "noisy_sgd" else name
        for name, runner in RUNNERS.items()
        if runner.ridge != "none" and name != "auto"
    ],
)
def test_a_ridge_is_the_same_in_every_kind_of_number(name):
    plain = released(name, 3.0)
    for ridge in (np.int64(3), np.float32(3), Fraction(3)):
        other = released(name, ridge)
        assert other.parameters.tobytes() == plain.parameters.tobytes()
        assert other.receipt.to_dict() == plain.receipt.to_dict()


def test_the_scale_of_a_ridge_is_that_of_the_sum_for_every_mechanism():
    """The receipt says the ridge as the mechanism took it: of the sum, or of the mean."""
    scales = {"sum": 3.0, "output": 3.0, "mean": 3.0 / 40}
    for name in ("objective_perturbation", "output_perturbation", "gradient_descent", "svrg++"):
        settings = dict(released(name, 3.0).receipt.settings)
        assert settings["ridge"] == scales[RUNNERS[name].ridge], name


@pytest.mark.parametrize("name", [name for name, run in RUNNERS.items() if run.ridge == "none"])
def test_what_takes_no_ridge_says_so_by_its_name(name):
    with pytest.raises(CalibrationError, match=f"^{name} takes no ridge, got ridge=0.0; omit it"):
        released(name, 0.0)
