"""Public facts, tables and optima that tests of convex mechanisms share."""

import numpy as np
from scipy import optimize

from opdisc.convex.public import ConvexPublic, convex_params
from opdisc.convex.rows import Rows
from opdisc.privacy.params import NeighboringRelation
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import LogisticLoss
from oracles.convex.constants import RowBounds

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE
BALL = L2Ball(dimension=3, radius=2.0)


def facts(epsilon=1.0, delta=1e-6, relation=REPLACE, loss=None, n=400, domain=BALL):
    return ConvexPublic(
        params=convex_params(epsilon, delta),
        relation=relation,
        loss=loss or LogisticLoss(),
        bounds=RowBounds(l2=1.0),
        dimension=3,
        domain=domain,
        n_rows=n if relation is REPLACE else None,
        public_row_guess=n if relation is ADD else None,
    )


def rows(public, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return Rows.clipped(X, np.sign(X @ [1.0, -1.0, 0.3] + rng.normal(size=n)), public)


def best(data, loss, ridge):
    """Minimum of the mean objective on the ball, by a general solver."""
    n = len(data.y)
    found = optimize.minimize(
        lambda t: data.sum_value(loss, t) / n + 0.5 * ridge * t @ t,
        np.full(3, 0.1),
        constraints={"type": "ineq", "fun": lambda t: 4 - t @ t},
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    return found.fun, found.x


def mean_objective(data, loss, ridge, parameters):
    return data.sum_value(loss, parameters) / len(data.y) + 0.5 * ridge * parameters @ parameters


LARGE = dict(epsilon=1e7, delta=1e-6)
