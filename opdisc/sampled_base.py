"""What the estimators of OPSamp share: public ranges, the domain, the release."""

from __future__ import annotations

import math
from os import PathLike

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from opdisc.accounting import Ledger
from opdisc.arguments import parse_entropy, parse_relation
from opdisc.domains import Box, Domain, L1Ball, L2Ball, Simplex
from opdisc.errors import CalibrationError
from opdisc.linear_model_file import SavedLinearModel, column_names
from opdisc.losses import FloatArray, LinearLoss, RowBounds, loss_by_name
from opdisc.mechanisms.sampled import SampledMechanism
from opdisc.mechanisms.sampled_receipt import SampledReceipt
from opdisc.mechanisms.sampled_release import SampledRelease, run_sampled
from opdisc.mechanisms.tilted_draws import DrawOptions, DrawProgress
from opdisc.privacy import NeighboringRelation, PrivacyParams
from opdisc.public import PublicInputs
from opdisc.target import Label
from oracles.convex import RealOracle

Range = tuple[ArrayLike, ArrayLike]
"""(lowest, highest): two numbers, or two arrays with one number per column."""


class SampledEstimator(BaseEstimator):  # type: ignore[misc]
    """What the classifier and the regressor share: arguments, ranges, domain, release."""

    receipt_: SampledReceipt

    def __init__(
        self,
        feature_range: Range | None = None,
        loss: str | LinearLoss = "hinge",
        epsilon: float = 1.0,
        delta: float | None = None,
        domain: str | Domain = "box",
        radius: float = 1.0,
        fit_intercept: bool = True,
        relation: str = "replace_one",
        public_row_guess: int | None = None,
        oracle: str | RealOracle = "auto",
        allowance: float | None = None,
        most_draws: int = 10_000,
        n_jobs: int = 1,
        backend: str = "sequential",
        progress: DrawProgress | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.feature_range = feature_range
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.relation = relation
        self.public_row_guess = public_row_guess
        self.oracle = oracle
        self.allowance = allowance
        self.most_draws = most_draws
        self.n_jobs = n_jobs
        self.backend = backend
        self.progress = progress
        self.ledger = ledger
        self.random_state = random_state

    def _forget(self) -> None:
        """Drop the last fit, so that a refused one cannot be mistaken for it."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether parameters were released."""
        return hasattr(self, "receipt_")

    def _loss(self) -> LinearLoss:
        loss = loss_by_name(self.loss) if isinstance(self.loss, str) else self.loss
        if loss.is_classification != isinstance(self, ClassifierMixin):
            kind = "classification" if isinstance(self, ClassifierMixin) else "regression"
            raise CalibrationError(f"loss must be one for {kind}, got '{loss.name}'.")
        return loss

    def _domain(self, dimension: int) -> Domain:
        if isinstance(self.domain, Domain):
            if self.domain.dimension != dimension:
                raise CalibrationError(
                    f"the domain must have {dimension} coordinates (columns and intercept), it "
                    f"has {self.domain.dimension}."
                )
            return self.domain
        match self.domain:
            case "l1":
                return L1Ball(dimension=dimension, radius=self.radius)
            case "l2":
                return L2Ball(dimension=dimension, radius=self.radius)
            case "box":
                return Box.cube(dimension, self.radius)
            case "simplex":
                return Simplex(dimension=dimension)
        raise CalibrationError(
            f"domain must be 'l1', 'l2', 'box', 'simplex' or a Domain, got {self.domain!r}."
        )

    def _release(
        self, rows: FloatArray, targets: FloatArray, assumptions: tuple[str, ...]
    ) -> SampledRelease:
        """Run the mechanism on scaled rows and targets."""
        n, relation = len(rows), parse_relation(self.relation)
        known = relation is NeighboringRelation.REPLACE_ONE
        guess = self.public_row_guess
        planned = guess if guess is not None else (n if known else None)
        if planned is None:
            raise CalibrationError(
                "public_row_guess must be given under add_or_remove_one, where the number of rows "
                "is private; give a public guess."
            )
        delta = 1.0 / planned**2 if self.delta is None else self.delta
        scaled = unit_scaled(rows, *self._range(self.feature_range, rows.shape[1], "feature"))
        if self.fit_intercept:
            scaled = np.column_stack([np.ones(n), scaled])
        dimension = scaled.shape[1]
        bounds = RowBounds(l2=math.sqrt(dimension), linf=1.0)
        mechanism = SampledMechanism(
            loss=self._loss(),
            domain=self._domain(dimension),
            bounds=bounds,
            allowance=self.allowance,
            # A search has no cheap precision: let it cost more of the stability.
            allowance_share=0.02 if self._loss().is_convex else 1.0,
            most_draws=self.most_draws,
            # Inside the domain or not, a linear score is one; a projection only adds bias.
            project=math.isinf(self._loss().slope_bound(bounds, math.inf)),
        )
        public = PublicInputs(
            params=PrivacyParams(epsilon=self.epsilon, delta=delta),
            relation=relation,
            public_row_guess=planned,
            n_rows=n if known else None,
            assumptions=assumptions,
        )
        ledger = self.ledger
        return run_sampled(
            mechanism,
            scaled,
            targets,
            public,
            entropy=parse_entropy(self.random_state),
            oracle=self.oracle,
            options=DrawOptions(n_jobs=self.n_jobs, backend=self.backend, progress=self.progress),
            ledger=ledger if ledger is None or isinstance(ledger, Ledger) else Ledger(ledger),
        )

    def _range(
        self, declared: Range | None, columns: int, what: str
    ) -> tuple[FloatArray, FloatArray]:
        """Return a declared public range as two arrays, or refuse."""
        if declared is None:
            raise CalibrationError(
                f"{what}_range must be declared, since it sets the noise and may not come from "
                "the table; give a public (lowest, highest)."
            )
        try:
            low, high = (
                np.broadcast_to(np.asarray(end, dtype=np.float64), (columns,)) for end in declared
            )
        except (TypeError, ValueError):
            raise CalibrationError(
                f"{what}_range must be (lowest, highest), numbers or one per column."
            ) from None
        if not (np.isfinite(low) & np.isfinite(high)).all() or not (low < high).all():
            raise CalibrationError(f"{what}_range must be finite with lowest < highest.")
        return low, high

    def _scores(self, X: ArrayLike) -> FloatArray:
        """Return the linear scores of rows, clipped to the public range."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        low, high = self._range(self.feature_range, rows.shape[1], "feature")
        scaled = unit_scaled(rows, low, high)
        start, slopes = self._split(self.hypothesis_)
        return np.asarray(scaled @ slopes + start)

    def _saved(
        self,
        coefficients: FloatArray,
        intercept: float,
        classes: tuple[Label, Label] | None,
        target_range: tuple[float, float] | None,
    ) -> SavedLinearModel:
        """Return what may be published, in raw units inside the public range."""
        low, high = self._range(self.feature_range, len(coefficients), "feature")
        return SavedLinearModel(
            columns=column_names(len(coefficients), getattr(self, "feature_names_in_", None)),
            coefficients=tuple(coefficients.tolist()),
            intercept=intercept,
            classes=classes,
            schema=None,
            feature_range=tuple(zip(low.tolist(), high.tolist(), strict=True)),
            target_range=target_range,
            receipt=self.receipt_,
        )

    def _split(self, hypothesis: FloatArray) -> tuple[float, FloatArray]:
        """Return intercept and slopes over the scaled columns."""
        if self.fit_intercept:
            return float(hypothesis[0]), hypothesis[1:]
        return 0.0, hypothesis

    def _raw_coefficients(
        self, hypothesis: FloatArray, columns: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return slopes and intercept over raw columns, valid inside the range."""
        low, high = self._range(self.feature_range, columns, "feature")
        start, slopes = self._split(hypothesis)
        raw = slopes / (high - low)
        return np.array(raw, dtype=np.float64), np.array([start - float(raw @ low)])


def unit_scaled(rows: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Clip to the public range and map it onto [0, 1]: a map of one row and public facts."""
    return np.clip((np.clip(rows, low, high) - low) / (high - low), 0.0, 1.0)
