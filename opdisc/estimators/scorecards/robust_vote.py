"""A scikit-learn classifier whose guarantee does not trust its learner."""

from __future__ import annotations

from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from opdisc.data import Classes, CostsLike, SchemaLike, count_combinations
from opdisc.errors import CalibrationError
from opdisc.estimators.refusals import require_no_alternatives
from opdisc.estimators.scorecards.base import ScorecardClassifier
from opdisc.mechanisms import (
    ErmLearner,
    EstimatorLearner,
    Isolation,
    PartLearner,
    RobustVoteMechanism,
    VoteRelease,
    VoteRule,
    check_candidates,
    default_parts,
    run_robust_vote,
)
from opdisc.planning import parse_weight_bound, scorecard_grid
from opdisc.privacy import GridPublic, Ledger, Prepared, PrivacyParams
from oracles.interface import Oracle, SolveOptions
from oracles.problem import ErrorCosts, Hypothesis


class RobustVoteClassifier(ScorecardClassifier):
    """A scorecard elected by learners that each saw a disjoint part of the rows.

    Parameters
    ----------
    epsilon, delta, schema, weight_bound, relation, ledger, random_state, classes, error_costs
        As in :class:`~opdisc.PrivateScorecardClassifier`; ``delta`` is used by
        ``rule="stability"`` only. Error costs weigh the loss on each part, one row still moves
        one ballot; with a learner of your own they are refused.
    learner : PartLearner, scikit-learn classifier or None
        Anything: a callable ``learner(part, grid)`` that returns one hypothesis or several, or a
        classifier, whose part approves of the scorecards that imitate it. None approves, by
        enumeration, of every scorecard nearly as good as the part's best. Your own makes the
        guarantee conditional on its having been built without the rows and on its reaching
        nothing outside its process.
    oracle : str, Oracle or None
        With ``learner=None``: an oracle that names one hypothesis per part instead. Its answers
        are not trusted; one that is not "enumeration" or "branch-and-bound" makes the guarantee
        conditional, like a learner of your own.
    n_parts : int or None
        Public number of parts. None: enough for the noise, with 30 rows each on average where the
        number of rows is public.
    rule : str, default "permute_and_flip"
        Or "stability" (needs delta > 0), which may elect nobody: then the scorecard is all 0.
    isolation : str, default "process"
        "process" or "none"; "none" makes the guarantee conditional.
    time_limit : float or None
        Seconds per part. A limit makes the guarantee conditional; a part that hits it casts an
        empty ballot.

    Attributes
    ----------
    elected_ : bool
        Whether there was a winner; part of the private release.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``, whatever learners and oracles answer
    (docs/robust.md); the order of the rows does not matter. The other attributes are those of
    :class:`~opdisc.PrivateScorecardClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 200)
    >>> clf = RobustVoteClassifier(epsilon=20.0, isolation="none").fit(X, X[:, 0])
    >>> clf.predict([[1, 0], [0, 1]]).tolist(), clf.receipt_.guarantee
    ([1, 0], 'CONDITIONAL')
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: SchemaLike | None = None,
        weight_bound: int = 1,
        relation: str = "replace_one",
        learner: PartLearner | Any = None,
        oracle: str | Oracle | None = None,
        n_parts: int | None = None,
        rule: VoteRule = "permute_and_flip",
        isolation: Isolation = "process",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        classes: Classes | None = None,
        error_costs: CostsLike | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.weight_bound = weight_bound
        self.relation = relation
        self.learner = learner
        self.oracle = oracle
        self.n_parts = n_parts
        self.rule = rule
        self.isolation = isolation
        self.time_limit = time_limit
        self.ledger = ledger
        self.random_state = random_state
        self.classes = classes
        self.error_costs = error_costs

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        params = PrivacyParams(epsilon=self.epsilon, delta=self.delta)
        bound = parse_weight_bound(self.weight_bound)
        require_no_alternatives(self.schema, "a vote is on cards of every kind")
        schema, rows, signs, assumptions = self._read_encoded(X, y)
        grid = scorecard_grid(schema, bound)
        check_candidates(grid)
        facts = self._public_facts(len(rows), schema, assumptions)
        public = GridPublic(
            params=params,
            grid=grid,
            error_costs=schema.error_costs,
            most_points=count_combinations(schema),
            **facts,
        )
        n_parts = self.n_parts
        if n_parts is None:
            n_parts = default_parts(params.epsilon, grid.n_assignments, public.n_rows)
        charge = run_robust_vote.prepare(
            RobustVoteMechanism(n_parts=n_parts, rule=self.rule),
            self._part_learner(schema.error_costs),
            (rows.astype(np.int64), signs.astype(np.int64)),
            public,
            entropy=self._entropy(),
            isolation=self.isolation,
            time_limit=self.time_limit,
        )
        nobody = tuple(min(allowed, key=abs) for allowed in grid.values)
        return charge.then(partial(self._publish_vote, nobody))

    def _publish_vote(self, nobody: Hypothesis, release: VoteRelease) -> Self:
        self.elected_ = release.hypothesis is not None
        self._publish(release.hypothesis or nobody, release.receipt)
        return self

    def _part_learner(self, costs: ErrorCosts) -> PartLearner:
        if self.learner is None:
            if self.oracle is None:
                return ErmLearner(error_costs=costs)
            options = SolveOptions(time_limit=self.time_limit)
            return ErmLearner(slack=-1.0, oracle=self.oracle, options=options, error_costs=costs)
        if not costs.are_equal:
            raise CalibrationError(
                "a learner of your own weighs mistakes by itself; leave out error_costs, or the "
                "learner."
            )
        if hasattr(self.learner, "fit"):
            return EstimatorLearner(estimator=self.learner)
        found: PartLearner = self.learner
        return found
