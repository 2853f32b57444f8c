"""Error costs in the convex mechanisms: their losses grow by a public cost, as does the noise."""

from dataclasses import replace

import numpy as np
import pytest

from opdisc.convex.defaults import RUNNERS
from opdisc.convex.objective_calibration import pure_scale
from opdisc.convex.objective_plan import plan_objective_perturbation
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import LogisticLoss
from oracles.convex.constants import RowBounds
from oracles.convex.costly_losses import with_costs
from oracles.problem.error_costs import ErrorCosts

COSTS = ErrorCosts(false_negative=5, false_positive=2)
ROWS = Rows(X=np.array([[1.0, 0.5], [-1.0, 0.5]] * 20), y=np.array([1.0, -1.0] * 20))


def facts(costs=COSTS, epsilon=1.0, delta=1e-5):
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=NeighboringRelation.REPLACE_ONE,
        n_rows=40,
        loss=with_costs(LogisticLoss(), costs),
        bounds=RowBounds(l2=1.25**0.5, linf=1.0),
        dimension=2,
        domain=L2Ball(dimension=2, radius=4.0),
    )


def largest_move(public, points=40):
    """Return how far one replaced row moves a sum of gradients, by trying rows and parameters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(points, 2))
    X *= public.bounds.l2 / np.linalg.norm(X, axis=1)[:, None]
    X = np.clip(np.concatenate([X, -X]), -1.0, 1.0)
    y = np.where(np.arange(len(X)) % 3 == 0, -1.0, 1.0)
    most = 0.0
    for theta in ([0.0, 0.0], [2.0, 1.0], [-4.0, 0.0]):
        gradients = public.loss.gradient(X, y, np.array(theta))
        apart = gradients[:, None, :] - gradients[None, :, :]
        most = max(most, float(np.linalg.norm(apart, axis=2).max()))
    return most


def test_the_sensitivity_of_gradients_covers_every_pair_of_rows():
    costly, plain = facts(), facts(ErrorCosts())
    assert costly.gradient_sensitivity == pytest.approx(5 * plain.gradient_sensitivity)
    assert plain.gradient_sensitivity < largest_move(costly) <= costly.gradient_sensitivity


def test_the_tilt_of_objective_perturbation_counts_slope_and_curvature():
    ridge = 30.0
    plan = plan_objective_perturbation(facts(), ridge=ridge, noise="pure")
    share = PrivacyParams(epsilon=0.99, delta=0.0)
    scale = pure_scale(
        share,
        NeighboringRelation.REPLACE_ONE,
        lipschitz=5 * 1.25**0.5,
        smoothness=5 * 0.25 * 1.25,
        ridge=ridge,
    )
    assert plan.scales[0] == pytest.approx(scale, rel=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "noisy_sgd" else name
        for name in RUNNERS
        if name not in ("auto", "grid_walk")
    ],
)
def test_every_mechanism_takes_costs_and_equal_ones_change_no_bit(mechanism):
    relation = NeighboringRelation.REPLACE_ONE
    if mechanism.endswith("k12"):
        relation = NeighboringRelation.ADD_OR_REMOVE_ONE

    def run(costs):
        public = facts(costs)
        if mechanism == "frank_wolfe":
            public = replace(public, domain=L1Ball(dimension=2, radius=1.0))
        if relation is not public.relation:
            public = ConvexPublic(
                params=public.params,
                relation=relation,
                public_row_guess=40,
                loss=public.loss,
                bounds=public.bounds,
                dimension=2,
                domain=public.domain,
            )
        return RUNNERS[mechanism].prepare(ROWS, public, None, SeededEntropy(2)).run(None)

    equal = ErrorCosts(false_negative=7, false_positive=7)
    plain, equal, costly = map(run, (ErrorCosts(), equal, COSTS))
    assert equal.parameters.tobytes() == plain.parameters.tobytes()
    assert equal.receipt.to_dict() == plain.receipt.to_dict()
    assert "error_costs" not in plain.receipt.to_dict()
    assert costly.receipt.lipschitz == pytest.approx(5 * plain.receipt.lipschitz)
    assert "a false negative costs 5, a false positive 2" in str(costly.receipt)
    assert type(costly.receipt).from_dict(costly.receipt.to_dict()) == costly.receipt
