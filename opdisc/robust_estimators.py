"""A scikit-learn classifier whose guarantee does not trust its learner."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from opdisc.accounting import Ledger
from opdisc.arguments import (
    SchemaLike,
    label_assumptions,
    parse_entropy,
    parse_relation,
    parse_weight_bound,
)
from opdisc.encoding import encode_features, encode_label_values, require_both_classes
from opdisc.estimators import PrivateScorecardClassifier
from opdisc.mechanisms.base import Release
from opdisc.mechanisms.robust import Isolation, run_robust_vote
from opdisc.mechanisms.vote import (
    RobustVoteMechanism,
    VoteRule,
    check_candidates,
    default_parts,
)
from opdisc.part_learners import ErmLearner, EstimatorLearner, PartLearner
from opdisc.privacy import NeighboringRelation, PrivacyParams
from opdisc.public import GridPublic
from oracles import Oracle, SolveOptions


class RobustVoteClassifier(PrivateScorecardClassifier):
    """A scorecard elected by learners that each saw a disjoint part of the rows.

    Parameters
    ----------
    epsilon, delta, schema, weight_bound, relation, ledger, random_state
        As in :class:`~opdisc.estimators.PrivateScorecardClassifier`; ``delta`` is used by
        ``rule="stability"`` only.
    learner : PartLearner, scikit-learn classifier or None
        Anything: a callable ``learner(part, grid)`` that returns one hypothesis or several, or a
        classifier, whose part approves of the scorecards that imitate it. None approves, by
        enumeration, of every scorecard nearly as good as the part's best. Must have been built
        without the rows.
    oracle : str, Oracle or None
        With ``learner=None``: an oracle that names one hypothesis per part instead. Not trusted.
    n_parts : int or None
        Public number of parts. None: enough for the noise, with 30 rows each or more where the
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
    **Guarantee.** As stated on ``receipt_``, for arbitrary learners and oracles (docs/robust.md).
    The other attributes are those of the base class.

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
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            weight_bound=weight_bound,
            mechanism="robust_vote",
            relation=relation,
            oracle=oracle,  # type: ignore[arg-type]
            time_limit=time_limit,
            ledger=ledger,
            random_state=random_state,
        )
        self.learner = learner
        self.n_parts = n_parts
        self.rule = rule
        self.isolation = isolation

    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Self:
        """Learn a scorecard.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows, as in the base class. Under "replace_one" their order belongs to the table.
        y : array-like of shape (n_samples,)
            Labels, as the schema spells them.

        Returns
        -------
        self

        Raises
        ------
        CalibrationError, IsolationError, SchemaError, TableError
            If an argument, the schema or the table is not acceptable; nothing is spent.
        """
        self._forget()
        params = PrivacyParams(epsilon=self.epsilon, delta=self.delta)
        relation = parse_relation(self.relation)
        bound = parse_weight_bound(self.weight_bound)
        schema, table, labels = self._validated(X, y)
        public = GridPublic(
            params=params,
            relation=relation,
            grid=self._grid(schema, bound),
            rows_per_unit=schema.rows_per_unit,
            privacy_unit=schema.privacy_unit,
            schema_digest=schema.digest(),
            n_rows=len(table) if relation is NeighboringRelation.REPLACE_ONE else None,
            assumptions=label_assumptions(*schema.classes) if self.schema is None else (),
        )
        check_candidates(public.grid)
        signs = encode_label_values(labels, schema)
        require_both_classes(signs)
        points = encode_features(table, schema).astype(np.int64)
        ledger = self.ledger
        if ledger is not None and not isinstance(ledger, Ledger):
            ledger = Ledger(ledger)
        n_parts = self.n_parts
        if n_parts is None:
            n_parts = default_parts(params.epsilon, public.grid.n_assignments, public.n_rows)
        release = run_robust_vote(
            RobustVoteMechanism(n_parts=n_parts, rule=self.rule),
            self._part_learner(),
            (points, signs.astype(np.int64)),
            public,
            entropy=parse_entropy(self.random_state),
            isolation=self.isolation,
            time_limit=self.time_limit,
            ledger=ledger,
        )
        nobody = tuple(min(allowed, key=abs) for allowed in public.grid.values)
        winner = nobody if release.hypothesis is None else release.hypothesis
        self.elected_ = release.hypothesis is not None
        self._publish(schema, Release(hypothesis=winner, receipt=release.receipt))
        return self

    def _part_learner(self) -> PartLearner:
        if self.learner is None:
            if self.oracle is None:
                return ErmLearner()
            options = SolveOptions(time_limit=self.time_limit)
            return ErmLearner(slack=-1.0, oracle=self.oracle, options=options)
        if hasattr(self.learner, "fit"):
            return EstimatorLearner(estimator=self.learner)
        found: PartLearner = self.learner
        return found
