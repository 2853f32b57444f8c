"""The same classifier with one mechanism each, under the names of the literature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Literal

import numpy as np

from opdisc.data import Classes, CostsLike, Schema, SchemaLike
from opdisc.estimators.scorecards.private import PrivateScorecardClassifier
from opdisc.mechanisms import SeparatorNoise, SeparatorRoute, SphereNoise
from opdisc.planning import MechanismSettings
from opdisc.privacy import Ledger
from opdisc.tuned import THRESHOLD_BUDGET
from oracles.interface import Oracle


class OPDiscClassifier(PrivateScorecardClassifier):
    """OPDisc of Neel, Roth, Vietri, Wu (2019): objective perturbation on the sphere.

    Parameters
    ----------
    epsilon, delta, schema, weight_bound, relation, oracle, time_limit, ledger, random_state
        As in :class:`PrivateScorecardClassifier`.
    norm_budget : int or None
        Largest squared norm of the weights; None takes the number of coordinates, as published.
    noise : str, default "l2-laplace"
        "l2-laplace" (proven, pure), "gaussian" (proven), or the refuted "gaussian-published-7" and
        "gaussian-published-3.5", whose receipts are VOID.
    max_nonzero, progress, classes, risk_budget, threshold_budget, error_costs, public_row_guess
        As in :class:`PrivateScorecardClassifier`.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: SchemaLike | None = None,
        weight_bound: int | Literal["auto"] = 1,
        relation: str = "replace_one",
        oracle: str | Oracle = "auto",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        norm_budget: int | None = None,
        noise: SphereNoise = "l2-laplace",
        max_nonzero: int | None = None,
        progress: Callable[[str], None] | None = None,
        classes: Classes | None = None,
        risk_budget: float | None = None,
        threshold_budget: float = THRESHOLD_BUDGET,
        error_costs: CostsLike | None = None,
        public_row_guess: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            weight_bound=weight_bound,
            mechanism="opdisc",
            relation=relation,
            oracle=oracle,
            time_limit=time_limit,
            ledger=ledger,
            random_state=random_state,
            norm_budget=norm_budget,
            max_nonzero=max_nonzero,
            progress=progress,
            classes=classes,
            risk_budget=risk_budget,
            threshold_budget=threshold_budget,
            error_costs=error_costs,
            public_row_guess=public_row_guess,
        )
        self.noise = noise

    def _settings(self, schema: Schema) -> MechanismSettings:
        return replace(super()._settings(schema), noise=self.noise)


class RSPMClassifier(PrivateScorecardClassifier):
    """RSPM of Neel, Roth, Wu (2018): random weights on a separator set.

    Parameters
    ----------
    epsilon, delta, schema, weight_bound, relation, oracle, time_limit, ledger, random_state
        As in :class:`PrivateScorecardClassifier`.
    noise : str, default "laplace"
        "laplace" (proven, pure), "gaussian" (proven) or the refuted "gaussian-published-3.5",
        whose receipts are VOID.
    route : str, default "tables"
        "tables" perturbs the objective; "rows" literally appends weighted separator rows to the
        data set (weights -1..1 only) and needs an oracle that takes negative weights. The two
        have the same objective.
    classes, risk_budget, threshold_budget, error_costs, public_row_guess
        As in :class:`PrivateScorecardClassifier`.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 500)
    >>> clf = RSPMClassifier(epsilon=5.0, route="rows").fit(X, X[:, 0])
    >>> clf.predict([[1, 0], [0, 1]]).tolist(), clf.receipt_.mechanism
    ([1, 0], 'rspm')
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: SchemaLike | None = None,
        weight_bound: int | Literal["auto"] = 1,
        relation: str = "replace_one",
        oracle: str | Oracle = "auto",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        noise: SeparatorNoise = "laplace",
        route: SeparatorRoute = "tables",
        classes: Classes | None = None,
        risk_budget: float | None = None,
        threshold_budget: float = THRESHOLD_BUDGET,
        error_costs: CostsLike | None = None,
        public_row_guess: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            weight_bound=weight_bound,
            mechanism="rspm",
            relation=relation,
            oracle=oracle,
            time_limit=time_limit,
            ledger=ledger,
            random_state=random_state,
            classes=classes,
            risk_budget=risk_budget,
            threshold_budget=threshold_budget,
            error_costs=error_costs,
            public_row_guess=public_row_guess,
        )
        self.noise = noise
        self.route = route

    def _settings(self, schema: Schema) -> MechanismSettings:
        return replace(super()._settings(schema), separators=(self.noise, self.route))


class PermuteAndFlipClassifier(PrivateScorecardClassifier):
    """Permute-and-flip over all scorecards of a grid (beyond listing by A* sampling): pure eps-DP.

    Parameters
    ----------
    epsilon, schema, weight_bound, relation, oracle, time_limit, ledger, random_state, classes, \
    error_costs
        As in :class:`PrivateScorecardClassifier`.
    risk_budget, threshold_budget, public_row_guess
        As in :class:`PrivateScorecardClassifier`.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: SchemaLike | None = None,
        weight_bound: int | Literal["auto"] = 1,
        relation: str = "replace_one",
        oracle: str | Oracle = "auto",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        classes: Classes | None = None,
        risk_budget: float | None = None,
        threshold_budget: float = THRESHOLD_BUDGET,
        error_costs: CostsLike | None = None,
        public_row_guess: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            schema=schema,
            weight_bound=weight_bound,
            mechanism="permute_and_flip",
            relation=relation,
            oracle=oracle,
            time_limit=time_limit,
            ledger=ledger,
            random_state=random_state,
            classes=classes,
            risk_budget=risk_budget,
            threshold_budget=threshold_budget,
            error_costs=error_costs,
            public_row_guess=public_row_guess,
        )
