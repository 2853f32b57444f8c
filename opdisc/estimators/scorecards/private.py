"""The scikit-learn classifier that learns a private scorecard."""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import dataclass, replace as replaced
from functools import partial
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from opdisc.convex import (
    ConvexRelease,
    Pilot,
    Prior,
    hull_perturbation,
    start_from,
    whole_points,
)
from opdisc.data import (
    Classes,
    CostsLike,
    RowCounts,
    Schema,
    SchemaLike,
    as_table,
    check_names,
    column_structure,
    count_below,
    count_no_rows,
    counted_problem,
    encode_features,
    parse_schema,
    require_both_classes,
    require_rows,
    table_assumptions,
    with_error_costs,
)
from opdisc.errors import CalibrationError, SchemaError, TableError
from opdisc.estimators.base import models_in, refuse_own_pilot
from opdisc.estimators.refusals import require_same_length
from opdisc.estimators.scorecards.base import ScorecardClassifier
from opdisc.estimators.scorecards.options import refuse_other_options
from opdisc.estimators.scorecards.progress import draw_progress, search_progress
from opdisc.mechanisms import (
    BaseMeasure,
    DrawnCard,
    PreparedRelease,
    PublicCard,
    RiskSpec,
    charge_with_risks,
    charge_with_thresholds,
    prepare_mechanism,
)
from opdisc.models import (
    LARGEST_POINTS,
    ChosenScale,
    Noise,
    ScaleLike,
    fitted_risks,
    parse_scale,
    points_of,
)
from opdisc.planning import (
    LOGISTIC,
    CardRequest,
    MechanismSettings,
    SettledFit,
    Shares,
    check_alternatives,
    check_starts,
    decide_card,
    logistic_public,
    noise_of_card,
    parse_automatic_bound,
    parse_base_measure,
    parse_max_rounds,
    parse_time_limit,
    takes_logistic,
    tilt_of,
)
from opdisc.privacy import EntropySource, Ledger, Prepared, PrivacyParams, PublicInputs, Reason
from opdisc.tuned import FIT_SECONDS, THRESHOLD_BUDGET
from oracles.interface import Oracle, SolveOptions
from oracles.problem import ZeroOneProblem

_KEPT = ("risk_budget",)
"""Options of other mechanisms that a draw around a start takes."""


class PrivateScorecardClassifier(ScorecardClassifier):
    """An integer scorecard learned by minimising the 0/1 loss under differential privacy.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss, > 0.
    delta : float, default 0.0
        In [0, 1); only Gaussian noise uses it, a pure mechanism does not spend it.
    schema : Schema, mapping, path, name of a shipped schema, or None
        Public facts about the table. None declares every column numeric on the range [0, 1] with
        one threshold in the middle; values outside are clipped.
    weight_bound : int or "auto", default "auto"
        Points are in ``-weight_bound .. weight_bound``; at most 1,000. "auto" is 1, and more, up
        to 5, where the number of rows is public or guessed and larger points cost little
        (docs/utility.md). Of a logistic card it is the most points of a statement, by default 10.
    mechanism : str, default "auto"
        "auto", "permute_and_flip", "exponential", "staged", "block_one_hot", "one_hot", "opdisc",
        "rspm" or "logistic". "auto" looks at public facts only. It takes the logistic card where
        there are more than 18 statements and at least 100 rows times epsilon for each, and no
        option asks for something else. Else it takes the mechanism with the smallest predicted
        error among those that end soon, and few points ("staged") where none does. "logistic" is
        private logistic regression (docs/convex.md, hull) with its weights rounded to whole
        points: totals are odds, probabilities cost nothing, and error costs only move the
        threshold.
    relation : str, default "replace_one"
        "replace_one" (the number of rows is public) or "add_or_remove_one".
    oracle : str or Oracle, default "auto"
        Who minimises; see :func:`oracles.available_oracles`. Naming one keeps
        ``mechanism="auto"`` to mechanisms that minimise.
    time_limit : float or None
        Seconds for the oracle or the draw. A limit makes the guarantee conditional; if it hits,
        nothing is released.
    ledger : Ledger, path or None
        Where the budget is recorded before the release.
    random_state : int, RandomState or None
        None draws from the operating system. Anything else is for tests: the receipt is VOID.
    norm_budget : int or None
        Largest squared norm of all weights, public.
    max_nonzero : int or None
        Largest number of weights other than 0, the starting points included, public; needs
        ``weight_bound=1``.
    max_rounds : int or None
        Public cap on the nodes of permute-and-flip's search of grids that cannot be listed. A cap
        makes the guarantee conditional; if it is met, nothing is released.
    base_measure : str or BaseMeasure, default "auto"
        Public measure that the exponential mechanism weighs scorecards by. "uniform" weighs all
        alike. "levels" has half of all mass on all scorecards, a quarter on those of 4 points,
        and half as much for each point fewer. With "sparse" or "sparse:PENALTY" every weight
        other than 0 counts exp(-PENALTY), by default exp(-1). Or give a
        :class:`~opdisc.mechanisms.BaseMeasure`. "auto" is by levels for few points ("staged");
        else uniform.
    patience : float or None
        Seconds that the fit is expected to take at most, public; None: 60. "auto" passes over
        what is expected to draw longer, and few points are as many as half of it
        allows. No clock is read while drawing.
    progress : callable or None
        Called with a line of text during a long search or draw. An oracle's last line says what
        bound it reached, whether it proved enough or not. What it says depends on the rows: it is
        not private and must not be published.
    risk_budget : float or None
        Share of epsilon, in (0, 1), that buys the observed rate of the positive label per total:
        ``risk_table_`` and ``predict_proba``. The card is drawn with the rest. None buys none.
        With private thresholds it is a share of what they leave.
    threshold_budget : float, default 0.1
        Share of epsilon, in (0, 1), that finds the private thresholds of a schema
        (docs/theory.md, private-thresholds); nothing is spent on them where it declares none.
    classes : (negative, positive) or None
        The two labels where there is no schema; any other label in ``y`` is refused. Labels are
        compared as text, numbers and truth values as in a schema, so the type that ``y`` has says
        nothing. None takes them from ``y``, which is a condition on the receipt.
    error_costs : mapping, ErrorCosts, "balanced" or None
        What a mistake costs, public whole numbers: ``{"false_negative": 5, "false_positive": 1}``,
        or by class, ``{"ill": 5, "well": 1}``, as scikit-learn writes ``class_weight``. The loss
        is then in units of cost, and one row moves it by the larger one. "balanced" takes
        the share of positive rows that the schema states, ``{"positive_share": 0.3}`` states one
        here; no cost is ever counted from the rows. None takes the schema's costs, by default one
        for every mistake.
    public_row_guess : int or None
        Public constant near the number of rows; plans want one under add-or-remove-one. It decides
        how many candidates and points there are, so accuracy and time, never privacy. Far
        too small a guess lets a fit take longer than ``patience``. It must not be counted from the
        rows; the receipt prints it. Under replace-one the number of rows is public and the guess
        is not used.
    odds_scale : mapping, OddsScale or None
        What totals of a logistic card are to stand for, as credit scores have it:
        ``{"points0": 600, "odds0": 50, "pdo": 20, "high": "good"}`` is 50 to 1 for "good" at 600
        points, doubled by every 20 more; without "high" the positive label scores high. None: a
        total of 1 is even odds and statements have at most ``weight_bound`` points.
    prior : SavedModel, SavedLinearModel, path, mapping of str to float, or None
        A public start: a released model of ours, its file, or points of a published score by the
        names of the schema's statements (``"start with"`` names those that everyone has; a total
        of 1 or more is the positive label). With a start
        "auto" takes the logistic card. "staged" and "permute_and_flip", which are one draw then,
        and "exponential" draw a card that changes few points of it by 1: points that were given
        stay up to 10, others are rounded to at most 5, and ``weight_bound`` decides otherwise.
        None starts from 0.
    pilot : DataFrame, RowCounts, path, or None
        Public rows with labels, read by the schema: the start is plain logistic regression on
        them. They must be public, and none of the private rows.

    Attributes
    ----------
    scorecard_ : Scorecard
        The published classifier.
    receipt_ : GridReceipt or ConvexReceipt
        The privacy statement; of a logistic card that of its weights.
    odds_ : OddsScale
        What a total stands for; with ``mechanism="logistic"`` only.
    risk_table_ : RiskTable
        Rates per total; with ``risk_budget`` only.
    verdict_ : Verdict
        Whether the card answers the same to everyone, and what the noise may have cost.
    schema_ : Schema
        The public facts that were used, and the private thresholds that were found.
    coef_ : ndarray of shape (1, n_encoded_columns), int64
        Points of the encoded columns (``schema_.column_names``).
    intercept_ : ndarray of shape (1,), int64
        Starting points.
    classes_ : ndarray of shape (2,)
        The two labels, sorted as scikit-learn requires. The positive one is
        ``schema_.target.positive``; it is ``classes_[0]`` where it sorts first. Where
        they come from ``y``, ``schema_`` and saved models have them in one form: 1, 1.0, True and
        "1" are the integer 1.
    n_features_in_ : int
        Raw columns.
    feature_names_in_ : ndarray of str
        Their names, where they have any.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``. Nothing else about the training rows is kept.
    **Assumes.** The schema, the bounds and the label values were written down without looking at
    the private rows. What the code cannot know becomes a condition on the receipt. With
    ``schema=None`` the columns were made without looking at the rows. Without ``classes`` the two
    labels are public too. With a schema, types of columns were not inferred from the rows, unless
    :func:`opdisc.read_table` read them. ``BaggingClassifier``, ``VotingClassifier``,
    ``StackingClassifier``, ``cross_val_predict`` for scores and what is in ``sklearn.multiclass``
    number the labels before they fit. A number does not say which label it stands for, so within
    them a schema or ``classes`` must call the labels 0 and 1; the ensemble itself answers in its
    own labels.

    References
    ----------
    .. [1] Neel, Roth, Vietri, Wu (2019). See docs/theory.md for each mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 50)
    >>> clf = PrivateScorecardClassifier(epsilon=2.0, classes=(0, 1)).fit(X, X[:, 0])
    >>> clf.predict([[1, 0], [0, 1]]).tolist()
    [1, 0]
    >>> clf.receipt_.guarantee, clf.receipt_.conditions
    ('CONDITIONAL', ('columns were made without looking at the rows',))
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: SchemaLike | None = None,
        weight_bound: int | Literal["auto"] = "auto",
        mechanism: str = "auto",
        relation: str = "replace_one",
        oracle: str | Oracle = "auto",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        norm_budget: int | None = None,
        max_nonzero: int | None = None,
        max_rounds: int | None = None,
        progress: Callable[[str], None] | None = None,
        base_measure: str | BaseMeasure = "auto",
        patience: float | None = None,
        classes: Classes | None = None,
        risk_budget: float | None = None,
        threshold_budget: float = THRESHOLD_BUDGET,
        error_costs: CostsLike | None = None,
        public_row_guess: int | None = None,
        odds_scale: ScaleLike | None = None,
        prior: Prior | None = None,
        pilot: Pilot | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.weight_bound = weight_bound
        self.mechanism = mechanism
        self.relation = relation
        self.oracle = oracle
        self.time_limit = time_limit
        self.ledger = ledger
        self.random_state = random_state
        self.norm_budget = norm_budget
        self.max_nonzero = max_nonzero
        self.max_rounds = max_rounds
        self.progress = progress
        self.base_measure = base_measure
        self.patience = patience
        self.classes = classes
        self.risk_budget = risk_budget
        self.threshold_budget = threshold_budget
        self.error_costs = error_costs
        self.public_row_guess = public_row_guess
        self.odds_scale = odds_scale
        self.prior = prior
        self.pilot = pilot

    def fit_counts(self, counts: RowCounts) -> Self:
        """Learn from rows that were counted, of a table of any size.

        Parameters
        ----------
        counts : RowCounts
            Of :func:`opdisc.count_rows`, or a sum of such; the schema must be this estimator's.

        Returns
        -------
        self

        Raises
        ------
        CalibrationError, SchemaError, TableError, UncertifiedRelease
            As for :meth:`fit`.

        Notes
        -----
        The model is that of :meth:`fit` on the rows that were counted. What the counts take for
        granted of the table is on the receipt; of a text file that is nothing.
        """
        refuse_own_pilot(self.pilot, counts)
        with self._anew():
            self._check_options()
            self._prepare_counts(self._checked(counts)).run(self._open_ledger())
        return self

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        refuse_own_pilot(self.pilot, X)
        self._check_options()
        return self._prepare_counts(self._counted(X, y))

    def _counted(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> RowCounts:
        if self.schema is not None and self._hides_rows() and isinstance(X, Sized) and not len(X):
            return self._no_rows(X, y, parse_schema(self.schema))
        schema, rows, signs, assumptions = self._read_encoded(X, y, stand_ins=True)
        counts = RowCounts.from_rows(rows, signs, schema, assumptions)
        if not schema.private_thresholds:
            return counts
        table = as_table(X, schema)

        ranks = count_below(table, schema, signs)
        return counts.described(ranks=ranks, recount=_Again(table, signs, assumptions))

    def _no_rows(self, X: ArrayLike | pd.DataFrame, y: ArrayLike, schema: Schema) -> RowCounts:
        """Return the counts of a table without rows, which is one like any other."""
        table, labels = as_table(X, schema), self._column(y)
        check_names(list(table.columns), schema.columns)
        require_same_length(table, labels)
        assumptions = table_assumptions(X, y, schema)
        counts = count_no_rows(schema, assumptions)
        if schema.private_thresholds:
            counts = counts.described(recount=_Again(table, labels, assumptions))
        return self._checked(counts)

    def _checked(self, counts: RowCounts) -> RowCounts:
        """Return counts by this estimator's schema, of both classes."""
        if not isinstance(counts, RowCounts):
            raise TableError(
                f"counts must be those of opdisc.count_rows, got {type(counts).__name__}."
            )
        schema = None if self.schema is None else parse_schema(self.schema)
        if schema is None or schema.at_equal_costs() != counts.schema.at_equal_costs():
            raise SchemaError(
                "the schema must be the one that the rows were counted by; give schema= the same."
            )
        schema = with_error_costs(schema, self.error_costs)
        if self.classes is not None:
            raise SchemaError("a schema declares the labels already; leave out classes.")
        private = schema.private_thresholds
        if private and (counts.recount is None or len(counts.ranks) != len(private)):
            raise TableError(
                "counts for private thresholds must hold ranks and read their rows once more, but "
                "these cannot; count the rows with opdisc.count_rows."
            )
        counts.check()
        if not self._hides_rows():
            require_rows(counts.n_rows)
            require_both_classes(np.sign([counts.positives.sum(), -counts.negatives.sum()]))
        self._describe_columns(schema)
        self.classes_ = np.sort(np.array(schema.classes))
        return counts.described(schema=schema)

    def _has_odds(self) -> bool:
        return self.mechanism == LOGISTIC or hasattr(self, "odds_")

    def _others_options(self) -> dict[str, bool]:
        """Return the options that a logistic card does not take, and whether they were given."""
        return {
            "norm_budget": self.norm_budget is not None,
            "max_nonzero": self.max_nonzero is not None,
            "base_measure": self.base_measure != "auto",
            "oracle": self.oracle != "auto",
            "time_limit": parse_time_limit(self.time_limit) is not None,
            "max_rounds": self.max_rounds is not None,
            "risk_budget": self.risk_budget is not None,
            "weight_bound beside odds_scale": "auto" != self.weight_bound
            and bool(self.odds_scale),
        }

    def _is_started(self) -> bool:
        return self.prior is not None or self.pilot is not None

    def _prepare_logistic(
        self, counts: RowCounts, facts: dict[str, Any], reason: Reason
    ) -> Prepared[Any]:
        """Prepare the weights of hull perturbation, whose loss weighs both mistakes alike."""
        schema, counted = counts.schema, models_in(self._open_ledger())
        start = start_from(self.prior, self.pilot, schema, counted=counted)
        scale = parse_scale(self.odds_scale, schema)
        params = PrivacyParams(epsilon=self.epsilon, delta=self.delta)
        shape, public = logistic_public(schema, params, facts)
        charge = hull_perturbation.prepare(
            counts.table, shape, public, entropy=self._entropy(), start=start, choice=reason
        )
        return charge.then(partial(self._publish_logistic, scale))

    def _publish_logistic(self, scale: ChosenScale | None, released: ConvexRelease) -> Self:
        """Publish weights as whole points: error costs move the threshold, and no noise."""
        bound, weights = parse_automatic_bound(self.weight_bound), released.parameters.tolist()
        largest = LARGEST_POINTS if bound is None else bound
        card, self.odds_ = points_of(weights, self.schema_, scale=scale, largest=largest)
        self._publish_card(card, released.receipt, tilt_of(self.schema_, released.receipt))
        return self

    def _check_options(self) -> None:
        """Refuse what no table could be fitted with, before one is read."""
        PrivacyParams(epsilon=self.epsilon, delta=self.delta)
        parse_automatic_bound(self.weight_bound)
        is_started = self._is_started()
        if self.mechanism == LOGISTIC or (is_started and self.mechanism == "auto"):
            refuse_other_options(self._others_options())
        elif self.odds_scale is not None:
            raise CalibrationError(
                f"odds_scale needs mechanism='{LOGISTIC}', got {self.mechanism!r}; leave it out."
            )
        elif is_started:
            check_starts(self.mechanism)
            refuse_other_options(self._others_options(), "a draw around a start", kept=_KEPT)
        if self.schema is not None and (schema := parse_schema(self.schema)).alternatives:
            check_alternatives(self.mechanism, self._settings(schema), is_started=is_started)

    def _prepare_counts(self, counts: RowCounts) -> Prepared[Any]:
        """Decide the card from public facts, and try all that can fail without the budget."""
        schema = counts.schema
        facts: dict[str, Any] = self._public_facts(counts.n_rows, schema, counts.conditions)
        facts["public_row_guess"] = self.public_row_guess
        params = PrivacyParams(epsilon=self.epsilon, delta=self.delta)
        request, whole = self._request(schema), PublicInputs(params=params, **facts)
        logistic = takes_logistic(request, whole, is_started=self._is_started())
        if logistic is not None:
            return self._prepare_logistic(counts, facts, logistic)
        if self._is_started():
            request, whole = self._around(request, whole)
        decided = decide_card(request, whole)
        settled = decided.settled.without_spare_delta()
        noise = noise_of_card(
            settled.mechanism,
            settled.public,
            schema,
            whole=whole.params.epsilon,
            by_default=bool(settled.reason.brief),
            patience=self._patience(schema),
        )
        charge = self._charge(counts, settled, decided.shares)
        return charge.then(partial(self._publish_drawn, noise, decided.shares.risks))

    def _charge(
        self, counts: RowCounts, settled: SettledFit, shares: Shares
    ) -> Prepared[DrawnCard]:
        """Return one charge for the card, the thresholds before it and the risks after it."""
        entropy, structure = self._entropy(), column_structure(counts.schema)

        def card_of(counted: RowCounts) -> Prepared[Any]:
            problem = counted_problem(counted, settled.public.grid)
            card = self._card(problem, settled, entropy)
            if shares.risks is None:
                return card.charge()
            return charge_with_risks(card, problem, shares.risks, structure)

        charge = card_of(counts)
        if shares.thresholds is None:
            return charge.then(partial(DrawnCard, counts.schema))
        return charge_with_thresholds(charge, shares.thresholds, counts, card_of, entropy)

    def _publish_drawn(self, noise: Noise, risks: RiskSpec | None, drawn: DrawnCard) -> Self:
        self.schema_, release = drawn.schema, drawn.release
        if risks is not None:
            self.risk_table_ = fitted_risks(release.bins, release.counts, risks.scale)
        self._publish(release.hypothesis, release.receipt, noise)
        return self

    def _request(self, schema: Schema) -> CardRequest:
        """Return what is asked of each card."""
        return CardRequest(
            schema=schema,
            mechanism=self.mechanism,
            bound=parse_automatic_bound(self.weight_bound),
            norm_budget=self.norm_budget,
            max_nonzero=self.max_nonzero,
            settings=self._settings(schema),
            threshold_budget=self.threshold_budget,
            risk_budget=self.risk_budget,
        )

    def _around(
        self, request: CardRequest, whole: PublicInputs
    ) -> tuple[CardRequest, PublicInputs]:
        """Return what is asked with the card that is drawn around, and what that is based on."""
        schema = request.schema
        if schema.private_thresholds:
            raise CalibrationError(
                "a start needs thresholds that are written down, but the schema leaves some to be "
                "found; declare them, or leave out prior and pilot."
            )
        costs, counted = schema.error_costs, models_in(self._open_ledger())
        start = start_from(self.prior, self.pilot, schema, costs=costs, counted=counted)
        assert start is not None
        points = whole_points(start, schema, request.bound)
        around = PublicCard(points=points, source=start.source)
        conditions = (*whole.assumptions, *start.conditions)
        return replaced(request, around=around), replaced(whole, assumptions=conditions)

    def _patience(self, schema: Schema) -> float:
        """Return the seconds that a card may be expected to take."""
        return FIT_SECONDS if self.patience is None else self.patience

    def _settings(self, schema: Schema) -> MechanismSettings:
        report = self.progress
        return MechanismSettings(
            structure=column_structure(schema),
            minimise=not (isinstance(self.oracle, str) and self.oracle == "auto"),
            base_measure=parse_base_measure(self.base_measure),
            patience=self._patience(schema),
            max_rounds=parse_max_rounds(self.max_rounds),
            time_limit=parse_time_limit(self.time_limit),
            progress=None if report is None else draw_progress(report),
        )

    def _card(
        self, problem: ZeroOneProblem, settled: SettledFit, entropy: EntropySource
    ) -> PreparedRelease:
        report = self.progress
        options = SolveOptions(
            time_limit=parse_time_limit(self.time_limit),
            progress=None if report is None else search_progress(report),
        )
        return prepare_mechanism(
            settled.mechanism,
            problem,
            settled.public,
            entropy=entropy,
            oracle=self.oracle,
            options=options,
            choice=settled.reason,
            counts_rows=True,
        )


@dataclass(frozen=True, slots=True)
class _Again:
    """Encodes a table in memory once more."""

    table: pd.DataFrame
    signs: NDArray[np.int8]
    assumptions: tuple[str, ...]

    def __call__(self, schema: Schema) -> RowCounts:
        if not len(self.table):
            return count_no_rows(schema, self.assumptions)
        rows = encode_features(self.table, schema)
        return RowCounts.from_rows(rows, self.signs, schema, self.assumptions)

    def check(self) -> None:
        """Do nothing: it is in memory."""
