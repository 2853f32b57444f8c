"""Logistic regression and a support vector classifier over the convex mechanisms."""

from __future__ import annotations

from os import PathLike

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from opdisc.accounting import Ledger
from opdisc.arguments import SchemaLike
from opdisc.linear_classifier import PrivateLinearClassifier
from opdisc.losses import HuberisedHingeLoss, LinearLoss, LogisticLoss

__all__ = ["PrivateLinearSVC", "PrivateLogisticRegression"]

FloatArray = NDArray[np.float64]


class PrivateLogisticRegression(PrivateLinearClassifier):
    """Logistic regression under differential privacy.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss, > 0. ``float("inf")`` fits without noise: objective and output perturbation
        and "approximate_minima" minimise the sum of losses plus ``(ridge/2)|theta|^2`` (None: 0)
        over all weights, the samplers over the receipt's domain, the others take their steps
        without noise; the receipt is VOID.
    delta : float, default 0.0
        In [0, 1). 0 asks for a pure guarantee: objective and output perturbation have one.
    mechanism : str, default "auto"
        "auto" (objective perturbation with the noise of smaller predicted error),
        "objective_perturbation", "approximate_minima", "output_perturbation", "noisy_sgd",
        "gradient_descent", "gradient_descent_random" (a random iterate),
        "accelerated_mirror_descent", "mirror_descent", "svrg" and "svrg++", which all need delta >
        0 like "approximate_minima"; "exponential_sampling" and "localization" (pure, at most 5
        parameters, intercept included) and "grid_walk" (conditional on mixing); by name also
        "objective_perturbation_c11", "_k12", "_j14" and "output_perturbation_j14", published
        constants whose receipts are VOID.
    data_norm : float or None
        Public bound on a row's Euclidean norm; longer rows are shortened to it, in ``fit`` only.
        The intercept's constant column is added after that and counts in the sensitivity.
    schema : Schema, mapping, path, name of a shipped schema, or None
        Public facts instead of ``data_norm``: the bound follows from the encoding.
    relation : str, default "replace_one"
        "replace_one" (the number of rows is public) or "add_or_remove_one".
    ridge : float or None
        Quadratic regularisation ``(ridge/2)|theta|^2`` of the sum of losses, intercept included,
        in units of rows scaled as above. None takes a public default.
    public_row_guess : int or None
        Public constant near the number of rows; step sizes want one under add-or-remove-one.
    ledger : Ledger, path or None
        Where the budget is recorded before the release.
    random_state : int, RandomState or None
        None draws from the operating system. Anything else is for tests: the receipt is VOID.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns)
        Weights of the columns (encoded ones with a schema).
    intercept_ : ndarray of shape (1,)
        Intercept.
    classes_ : ndarray of shape (2,)
        Negative and positive label.
    receipt_ : ConvexReceipt
        The privacy statement.
    n_features_in_ : int
        Raw columns.
    feature_names_in_ : ndarray of str
        Their names, where they have any.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; proofs in docs/convex.md. **Assumes.** The bounds
    were written down without looking at the private rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0]] * 200)
    >>> model = PrivateLogisticRegression(epsilon=2.0, data_norm=1.0).fit(X, X[:, 0])
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 0.0]
    >>> model.receipt_.guarantee
    'CONDITIONAL'
    """

    def _loss(self) -> LinearLoss:
        return LogisticLoss()

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        """Return the fitted probability of each class, shape (n_samples, 2)."""
        positive = special.expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict_log_proba(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        """Return the logarithm of :meth:`predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))


class PrivateLinearSVC(PrivateLinearClassifier):
    """A linear support vector classifier under differential privacy, with a smoothed hinge.

    Parameters
    ----------
    epsilon, delta, mechanism, data_norm, schema, relation, ridge, public_row_guess, ledger
        As in :class:`PrivateLogisticRegression`.
    random_state
        As in :class:`PrivateLogisticRegression`.
    width : float, default 0.5
        Half-width of the parabola that replaces the hinge's kink.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; see docs/convex.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        mechanism: str = "auto",
        data_norm: float | None = None,
        schema: SchemaLike | None = None,
        relation: str = "replace_one",
        ridge: float | None = None,
        public_row_guess: int | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        width: float = 0.5,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            mechanism,
            data_norm,
            schema,
            relation,
            ridge,
            public_row_guess,
            ledger,
            random_state,
        )
        self.width = width

    def _loss(self) -> LinearLoss:
        return HuberisedHingeLoss(self.width)
