"""A search over settings that pays for itself: GridSearchCV's interface, one receipt for all."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import Any, Self

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from opdisc.data import (
    parse_classes,
    parse_error_costs,
    parse_schema,
    two_classes,
    with_error_costs,
)
from opdisc.errors import CalibrationError
from opdisc.estimators.base import PrivateClassifier, PrivateEstimator
from opdisc.estimators.repeated_fits import paid_together, repetition_conditions
from opdisc.mechanisms import (
    CandidateReceipt,
    Selected,
    SelectionReceipt,
    prepare_selection,
    trial_law,
)
from opdisc.models import NoBound, SavedLinearModel, SavedModel
from opdisc.privacy import (
    EntropySource,
    Ledger,
    NeighboringRelation,
    Prepared,
    PrivacyParams,
    PrivacyReceipt,
    PublicInputs,
    parse_entropy,
    parse_relation,
    receipt_costs,
)
from oracles.problem import ErrorCosts

_OF_THE_SEARCH = (
    "epsilon",
    "delta",
    "ledger",
    "random_state",
    "relation",
    "progress",
    "error_costs",
)
"""Settings that all fits share."""

_OWN_CODE = "the estimator, which is not this library's, keeps the promise of its receipts"

_ONLY: dict[str, tuple[tuple[Any, ...], str]] = {
    "scoring": ((None, "accuracy"), "a score is a count of right answers; leave it out"),
    "cv": ((None,), "all rows are learned from and scored on, with noise; leave it out"),
    "n_jobs": ((None, 1), "how many trials there are is secret, they run in turn; leave it out"),
    "refit": ((True,), "the best trial itself is released; leave it out"),
    "verbose": ((0,), "a word for each trial would count them; leave it out"),
}


class PrivateSearchCV(ClassifierMixin, MetaEstimatorMixin, PrivateEstimator):  # type: ignore[misc]
    """Choose settings of a private classifier, and pay for all fits and the choice together.

    The interface is that of scikit-learn's ``GridSearchCV``. A random number of settings is tried;
    each is fitted and scored privately on all rows, and only the best one leaves.

    Parameters
    ----------
    estimator : private classifier
        One of this library's.
    param_grid : dict or list of dict
        Settings to try, as for ``GridSearchCV``; written down without looking at the rows. Budget,
        relation, ledger and seed are the whole search's and cannot be among them.
    epsilon, delta : float or None
        Budget of the whole search; None takes the estimator's.
    scoring, cv, n_jobs, refit, verbose
        For compatibility. They take only values that a private search can keep: ``None`` or
        "accuracy", ``None``, ``None`` or 1, ``True`` and 0.
    expected_trials : float, default 10.0
        Mean number of trials. How many there are is random, and secret.
    shape : float, default 0.0
        Of the law of their number; see docs/tuning.md.
    score_share : float, default 0.2
        Share of a trial's epsilon that its score costs.
    ledger : Ledger, path or None
        Where the budget is recorded, once, before anything is drawn; None takes the estimator's.
    random_state : int, RandomState or None
        None takes the estimator's. If that is None too, the operating system draws; anything else
        is for tests: the receipt is VOID.

    Attributes
    ----------
    best_estimator_ : estimator
        What the best trial fitted. Its ``receipt_`` states what the whole search costs.
    best_params_, best_index_
        Its settings, and their position in ``ParameterGrid(param_grid)``.
    noisy_correct_ : int
        Its number of right answers with noise, part of the release.
    best_score_ : float
        The same divided by the number of rows; only under "replace_one", where that is public.
        With error costs both count what right answers avoided instead.
    receipt_ : SelectionReceipt
        The privacy statement of all of it.
    classes_, n_features_in_, feature_names_in_
        Those of ``best_estimator_``.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; docs/tuning.md, entry "random-stopping". The other
    trials' models and scores, ``cv_results_`` in scikit-learn, are not released: they would cost
    more. The running time tells the number of trials and must not be published. An estimator's
    ``progress`` is not called, for each trial would call it.

    Examples
    --------
    >>> import numpy as np
    >>> from opdisc import PrivateScorecardClassifier
    >>> X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 500)
    >>> search = PrivateSearchCV(PrivateScorecardClassifier(epsilon=4.0), {"weight_bound": [1, 2]})
    >>> search = search.fit(X, X[:, 0])
    >>> search.predict([[1, 0], [0, 1]]).tolist(), search.receipt_.epsilon
    ([1, 0], 4.0)
    """

    receipt_: SelectionReceipt
    best_estimator_: Any

    def __init__(
        self,
        estimator: Any,
        param_grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        scoring: str | None = None,
        n_jobs: int | None = None,
        refit: bool = True,
        cv: None = None,
        verbose: int = 0,
        expected_trials: float = 10.0,
        shape: float = 0.0,
        score_share: float = 0.2,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.cv = cv
        self.verbose = verbose
        self.expected_trials = expected_trials
        self.shape = shape
        self.score_share = score_share
        self.ledger = ledger
        self.random_state = random_state

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        self._check_arguments()
        settings = list(ParameterGrid(self.param_grid))
        _check_settings(settings)
        params = PrivacyParams(epsilon=self._or_its("epsilon"), delta=self._or_its("delta") or 0.0)
        law = trial_law(self.expected_trials, self.shape)
        entropy = parse_entropy(self._or_its("random_state"))
        labels = self._column(y)
        costs = self._costs(settings[0], labels)
        candidates = [
            SettingsCandidate(
                name=name,
                estimator=self.estimator,
                settings=one,
                X=X,
                y=labels,
                entropy=entropy,
                error_costs=costs,
            )
            for name, one in zip(_names(settings), settings, strict=True)
        ]
        conditions = repetition_conditions(self._open_ledger())
        if any(not c.is_own_code for c in candidates):
            conditions = (*conditions, _OWN_CODE)
        charge = prepare_selection(
            candidates,
            PublicInputs(
                params=params,
                relation=parse_relation(self.estimator.relation),
                earlier_delta=self._earlier_delta(),
                **self._unit(),
            ),
            law,
            score_share=self.score_share,
            entropy=entropy,
            conditions=conditions,
            error_costs=costs,
        )
        return charge.then(partial(self._publish, settings, len(labels)))

    def _publish(
        self, settings: Sequence[Mapping[str, Any]], n_rows: int, selected: Selected[Any]
    ) -> Self:
        self.best_index_ = _names(settings).index(selected.name)
        self.best_params_ = settings[self.best_index_]
        self.best_estimator_ = best = selected.model
        self.noisy_correct_ = selected.noisy_correct
        if selected.receipt.relation == NeighboringRelation.REPLACE_ONE.value:
            self.best_score_ = selected.noisy_correct / n_rows
        self.classes_, self.n_features_in_ = best.classes_, best.n_features_in_
        if hasattr(best, "feature_names_in_"):
            self.feature_names_in_ = best.feature_names_in_
        best.receipt_ = _within_search(best.receipt_, selected.receipt)
        if hasattr(best, "_noise_"):
            best._noise_ = NoBound()  # none is known of the best of several trials
        self.receipt_ = selected.receipt
        return self

    def _or_its(self, name: str) -> Any:
        """Return an argument, or where it is None the estimator's."""
        own = getattr(self, name)
        return getattr(self.estimator, name, None) if own is None else own

    def _open_ledger(self) -> Ledger | None:
        given = self._or_its("ledger")
        return given if given is None or isinstance(given, Ledger) else Ledger(given)

    def _unit(self) -> dict[str, Any]:
        """Return what the first setting's schema says of privacy units; all must say the same."""
        schema = next(iter(ParameterGrid(self.param_grid))).get("schema", self.estimator.schema)
        if schema is None:
            return {}
        parsed = parse_schema(schema)
        return {"rows_per_unit": parsed.rows_per_unit, "privacy_unit": parsed.privacy_unit}

    def _costs(self, setting: Mapping[str, Any], labels: NDArray[Any]) -> ErrorCosts:
        """Return what a mistake costs; every setting's receipt must state the same."""
        own = getattr(self.estimator, "error_costs", None)
        schema = setting.get("schema", self.estimator.schema)
        if own is None and schema is None:
            return ErrorCosts()
        if schema is None:
            named = setting.get("classes", self.estimator.classes)
            known = two_classes(labels).tolist() if named is None else parse_classes(named).classes
            return parse_error_costs(own, classes=tuple(known))
        return with_error_costs(parse_schema(schema), own).error_costs

    def _check_arguments(self) -> None:
        if not isinstance(self.estimator, PrivateClassifier):
            raise CalibrationError(
                "estimator must be a private classifier of this library, but it is "
                f"{type(self.estimator).__name__}; put a pipeline's other steps before the search."
            )
        for name, (allowed, remedy) in _ONLY.items():
            if not any(getattr(self, name) is value for value in allowed) and (
                getattr(self, name) not in allowed
            ):
                raise CalibrationError(
                    f"{name} must be {' or '.join(map(repr, allowed))} in a private search, got "
                    f"{getattr(self, name)!r}: {remedy}."
                )

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the best estimator's label of each row, shape (n_samples,)."""
        return np.asarray(self._best().predict(X))

    def decision_function(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the best estimator's scores, above 0 where ``classes_[1]`` is predicted."""
        return np.asarray(self._best().decision_function(X))

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the best estimator's probability of each class, shape (n_samples, 2)."""
        return np.asarray(self._best().predict_proba(X))

    @available_if(lambda self: hasattr(self.estimator, "predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the logarithm of :meth:`predict_proba`."""
        return np.asarray(self._best().predict_log_proba(X))

    def to_model(self) -> SavedModel | SavedLinearModel:
        """Return what :func:`opdisc.save_model` writes; its receipt is for the whole search."""
        model: SavedModel | SavedLinearModel = self._best().to_model()
        return model

    def _best(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        """Declare what the estimator declares."""
        tags = super().__sklearn_tags__()
        theirs = get_tags(self.estimator).classifier_tags
        tags.classifier_tags.multi_class = theirs.multi_class
        tags.classifier_tags.poor_score = theirs.poor_score
        return tags


@dataclass(frozen=True, kw_only=True)
class SettingsCandidate:
    """One setting of an estimator, as a private selection wants it.

    Parameters
    ----------
    name : str
        Names it on the receipt.
    estimator : PrivateClassifier
        Not fitted itself; copies are.
    settings : mapping
        Public.
    X, y
        Private rows and labels.
    entropy : EntropySource
        Of the whole search; if it is seeded, so are the fits.
    error_costs : ErrorCosts
        Of the whole search: what right answers are weighed by.
    """

    name: str
    estimator: PrivateClassifier
    settings: Mapping[str, Any]
    X: Any = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    entropy: EntropySource
    error_costs: ErrorCosts = ErrorCosts()

    @property
    def is_own_code(self) -> bool:
        """Whether this library wrote the estimator, which then keeps its promise by proof."""
        return type(self.estimator).__module__.startswith("opdisc.")

    def promise(self, params: PrivacyParams) -> CandidateReceipt:
        """Return the receipt of a fit within a budget, which is asked for and not run."""
        with paid_together():
            promised = self._copy(params)._prepare(self.X, self.y).receipt
        if getattr(promised, "error_costs", None) != receipt_costs(self.error_costs):
            raise CalibrationError(
                "all settings of a search must state the same error costs, since they weigh "
                "its scores; give all schemas the same."
            )
        return promised

    def fit(self, params: PrivacyParams) -> tuple[PrivateClassifier, CandidateReceipt]:
        """Fit a copy within a budget."""
        model = self._copy(params)
        with warnings.catch_warnings(), paid_together():
            # All were shown by the promise; one for each trial would count the trials.
            warnings.simplefilter("ignore")
            model.fit(self.X, self.y)
        return model, model.receipt_

    def correct(self, model: PrivateClassifier) -> NDArray[np.bool_] | int:
        """Mark the rows whose label is predicted, or return what mistakes they would have cost.

        A row without a label is not marked, and costs nothing.
        """
        right = model._right(self.X, self.y)
        if self.error_costs.are_equal:
            return right
        positive = model._scores(self.X) > 0
        return self.error_costs.total(
            int(np.count_nonzero(right & positive)), int(np.count_nonzero(right & ~positive))
        )

    def _copy(self, params: PrivacyParams) -> PrivateClassifier:
        copy: PrivateClassifier = clone(self.estimator)
        budget = {"epsilon": params.epsilon, "delta": params.delta, "ledger": None}
        budget["progress"] = None  # a line for each trial would count them
        known = copy.get_params(deep=False)
        if not self.entropy.is_secure:
            budget["random_state"] = int(self.entropy.words(1)[0] >> np.uint64(33))
        else:
            budget["random_state"] = None
        shared = {name: value for name, value in budget.items() if name in known}
        copy.set_params(**self.settings, **shared)
        return copy


def _check_settings(settings: Sequence[Mapping[str, Any]]) -> None:
    for name in _OF_THE_SEARCH:
        if any(name in one for one in settings):
            raise CalibrationError(
                f"param_grid must leave {name} alone, which all fits of the search share; set it "
                "on the estimator or on the search."
            )


def _names(settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a distinct, short name for each setting."""
    texts = [
        " ".join(f"{name}={' '.join(repr(value).split())}" for name, value in one.items())
        for one in settings
    ]
    short = [text[:_LONGEST_NAME] or "as given" for text in texts]
    if len(set(short)) == len(short):
        return short
    return [f"{number}: {text}" for number, text in enumerate(short)]


_LONGEST_NAME = 80


def _within_search(own: PrivacyReceipt, whole: SelectionReceipt) -> PrivacyReceipt:
    """Return the receipt of a trial's fit with the promise of the whole search.

    It keeps the section of its own kind, so that a saved model can be read.
    """
    return msgspec.structs.replace(
        own,
        mechanism=f"private selection of {own.mechanism}",
        theorem=f"{whole.theorem}, each fit by {own.theorem}",
        epsilon=whole.epsilon,
        delta=whole.delta,
        delta_numerical=whole.delta_numerical,
        noise_law=f"{own.noise_law} (this fit: epsilon {own.epsilon:.6g}); {whole.noise_law}",
        noise_scales=(*own.noise_scales, *whole.noise_scales),
        calibration=whole.calibration,
        guarantee=whole.guarantee,
        conditions=whole.conditions,
    )
