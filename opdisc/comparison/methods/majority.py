"""The private majority vote: the least that a private method must beat."""

from __future__ import annotations

import numpy as np
import pandas as pd

from opdisc.comparison.methods.method import FitTask, Fitted, Method, same_for_all
from oracles.arithmetic import BoolArray

NAME = "private-majority"


def fit_private_majority(task: FitTask) -> Fitted:
    """Release which class is the more frequent one, from exact noise on the two counts.

    Parameters
    ----------
    task : FitTask
        What to fit; only its labels are looked at.

    Notes
    -----
    **Guarantee.** As stated on the receipt: permute-and-flip over the two scorecards that answer
    the same to everyone, whose losses are the two counts; pure, on a lattice.
    """
    from opdisc.data import encode_labels
    from opdisc.mechanisms import PermuteAndFlipMechanism, run_mechanism
    from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams, parse_entropy
    from oracles.problem import WeightGrid, ZeroOneProblem

    assert task.epsilon is not None
    signs = encode_labels(task.table, task.schema)
    replaces = task.relation is NeighboringRelation.REPLACE_ONE
    grid = WeightGrid(values=((0, 1),))
    public = GridPublic(
        params=PrivacyParams(epsilon=task.epsilon, delta=0.0),
        relation=task.relation,
        grid=grid,
        rows_per_unit=task.schema.rows_per_unit,
        privacy_unit=task.schema.privacy_unit,
        schema_digest=task.schema.digest(),
        error_costs=task.schema.error_costs,
        n_rows=len(signs) if replaces else None,
    )
    problem = ZeroOneProblem(
        points=np.ones((1, 1), dtype=np.int64),
        positives=np.array([int((signs > 0).sum())], dtype=np.int64),
        negatives=np.array([int((signs < 0).sum())], dtype=np.int64),
        grid=grid,
    )
    released = run_mechanism(
        PermuteAndFlipMechanism(),
        problem,
        public,
        entropy=parse_entropy(task.noise_seed),
        oracle="enumeration",
        choice="which class is the more frequent one is all that is asked",
        counts_rows=True,
    )
    positive = bool(released.hypothesis[0] == 1)

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.full(len(table), positive)

    return Fitted(predict=predict, scores=same_for_all, receipt=released.receipt)


METHODS = (
    Method(
        name=NAME,
        title="private majority vote",
        family="reference",
        private=True,
        tuning="fixed",
        fit=fit_private_majority,
        summary="The more frequent class from noisy counts, pure: what a method must beat.",
    ),
)
