"""Weights of plain logistic regression on public rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from opdisc.convex.hull.newton import search
from opdisc.convex.hull.release import transform_of
from opdisc.convex.hull.shape import HullShape
from opdisc.convex.hull.table import HullTable
from opdisc.convex.start import rounded_weights
from opdisc.data import EncodedTable
from opdisc.tuned import PILOT_RIDGE
from oracles.problem import ErrorCosts


def weights_of_rows(
    table: EncodedTable, shape: HullShape, costs: ErrorCosts | None = None
) -> tuple[Fraction, ...]:
    """Return the weights of constant and columns that public rows are fitted by, without noise.

    Parameters
    ----------
    table : EncodedTable
        Public rows as the schema encodes them, equal ones merged.
    shape : HullShape
        What the schema says about its columns.
    costs : ErrorCosts or None
        What rows weigh; None: all alike.

    Returns
    -------
    tuple of Fraction
        Not centred, towards the positive label, in units of log-odds.
    """
    rows = HullTable.of(table, shape, costs or ErrorCosts())
    transform = transform_of(shape)
    found = search(rows, np.zeros(shape.n_columns + 1), PILOT_RIDGE * transform.T @ transform)
    return rounded_weights(found.theta.tolist())
