"""A private regressor whose weights are a mixture of the columns."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opdisc.convex import ConvexPublic, ConvexRelease, Rows, convex_params, simplex_sampling
from opdisc.errors import CalibrationError
from opdisc.estimators.base import PrivateRegressor
from opdisc.models import SavedLinearModel, column_names
from opdisc.privacy import ConvexReceipt, Ledger, Prepared
from oracles.arithmetic import FloatArray
from oracles.convex import RowBounds, Simplex, SquaredLoss


class PrivateSimplexRegressor(PrivateRegressor):
    """Least squares over mixtures of the columns: non-negative weights that sum to 1.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss, > 0. ``float("inf")`` gives the least squares mixture itself, with an
        entropic regulariser only if ``entropy_weight`` is given; the receipt is VOID.
    delta : float, default 0.0
        In [0, 1); above 0 more vertices may be sampled.
    value_bound : float or None
        Public bound on the absolute value of every feature and of the target; values beyond it are
        clipped, in ``fit`` only. Required.
    relation : str, default "replace_one"
        Only "replace_one" has a proof: the sensitivity depends on the number of rows.
    entropy_weight : float or None
        Entropic regularisation of the sum of losses of values scaled to [-1, 1]; None takes the
        least predicted error.
    ledger : Ledger, path or None
        Where the budget is recorded before the release.
    random_state : int, RandomState or None
        None draws from the operating system. Anything else is for tests: the receipt is VOID.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the mixture.
    receipt_ : ConvexReceipt
        The privacy statement.
    n_features_in_ : int
        Columns.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; docs/convex.md, entry "simplex-sampling". The
    dimension enters the error through its logarithm only.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(50000, 4))
    >>> model = PrivateSimplexRegressor(epsilon=10.0, value_bound=1.0).fit(X, X[:, 2])
    >>> int(model.coef_.argmax())
    2
    """

    receipt_: ConvexReceipt

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        value_bound: float | None = None,
        relation: str = "replace_one",
        entropy_weight: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.value_bound = value_bound
        self.relation = relation
        self.entropy_weight = entropy_weight
        self.ledger = ledger
        self.random_state = random_state

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        params = convex_params(self.epsilon, self.delta)
        bound = self.value_bound
        if not (isinstance(bound, int | float | np.number) and 0 < bound < math.inf):
            raise CalibrationError(
                "a public bound on features and target is needed, got "
                f"value_bound={bound!r}; declare one."
            )
        values, target = self._read(X, y)
        dimension = values.shape[1]
        public = ConvexPublic(
            params=params,
            loss=SquaredLoss(),
            bounds=RowBounds(l2=math.sqrt(dimension), linf=1.0),
            dimension=dimension,
            domain=Simplex(dimension=dimension),
            **self._public_facts(len(target)),
        )
        charge = simplex_sampling.prepare(
            Rows(X=np.clip(values / bound, -1.0, 1.0), y=np.clip(target / bound, -1.0, 1.0)),
            public,
            entropy=self._entropy(),
            entropy_weight=self.entropy_weight,
        )
        return charge.then(self._publish)

    def _publish(self, release: ConvexRelease) -> Self:
        self.coef_ = release.parameters
        self.receipt_ = release.receipt
        return self

    def predict(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        """Return the mixture of each row's values, shape (n_samples,)."""
        check_is_fitted(self)
        return np.asarray(self._numbers(X) @ self.coef_)

    def to_model(self) -> SavedLinearModel:
        """Return what may be published: the mixture and its receipt."""
        check_is_fitted(self)
        return SavedLinearModel(
            columns=column_names(len(self.coef_), getattr(self, "feature_names_in_", None)),
            coefficients=tuple(self.coef_.tolist()),
            intercept=0.0,
            classes=None,
            schema=None,
            feature_range=None,
            target_range=None,
            receipt=self.receipt_,
        )
