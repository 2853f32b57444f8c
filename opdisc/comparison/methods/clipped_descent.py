"""Private logistic regression by noisy SGD with clipped gradients: what people tune.

Clip, batch and learning rate are free public settings here, where
:mod:`opdisc.convex.stochastic`
derives them; the accountant, the sampler and the receipt are the same.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from opdisc.calibration import SampledSteps, sampled_multiplier
from opdisc.comparison.methods.method import ROWS_GUESS, FitTask
from opdisc.convex import (
    BatchPlan,
    ConvexPublic,
    ConvexRelease,
    LinearFeatures,
    NoisePlan,
    Rows,
    prepare,
)
from opdisc.data import Schema, encode_features, encode_labels
from opdisc.noise import NormalStream
from opdisc.privacy import CalibrationStatus, EntropySource, NeighboringRelation, PrivacyParams
from oracles.arithmetic import BoolArray, FloatArray
from oracles.convex import LogisticLoss


@dataclass(frozen=True, slots=True, kw_only=True)
class DescentSettings:
    """Settings of noisy SGD; public unless someone chose them by looking at the rows.

    Parameters
    ----------
    batch_share : float
        Chance of each row to be in a batch, in (0, 1].
    steps : int
        Number of batches.
    learning_rate : float
        Step length for the mean of the clipped gradients, parameter units per unit of gradient.
    clip : float
        Largest norm of one row's gradient, as a share of its public bound.
    """

    batch_share: float
    steps: int
    learning_rate: float
    clip: float

    @property
    def name(self) -> str:
        """The settings in words."""
        return (
            f"batch {self.batch_share:g} n, {self.steps} steps, rate {self.learning_rate:g}, "
            f"clip {self.clip:g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return asdict(self)


_BATCHES = ((0.1, 100), (1.0, 20), (1.0, 80))

SETTINGS = tuple(
    DescentSettings(batch_share=share, steps=steps, learning_rate=rate, clip=clip)
    for share, steps in _BATCHES
    for rate in (2.0, 8.0, 32.0)
    for clip in (0.1, 0.3, 1.0)
)
"""The grid that both searches use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescentTask:
    """Encoded training rows and the public facts about them.

    Parameters
    ----------
    schema : Schema
        Public facts.
    features : LinearFeatures
        The public map of 0/1 columns to bounded rows.
    rows : Rows
        Distinct rows with counts.
    relation : NeighboringRelation
        Which tables are neighbours.
    """

    schema: Schema
    features: LinearFeatures
    rows: Rows
    relation: NeighboringRelation

    def public(self, params: PrivacyParams) -> ConvexPublic:
        """Return the public facts for a budget."""
        replaced = self.relation is NeighboringRelation.REPLACE_ONE
        return ConvexPublic(
            params=params,
            relation=self.relation,
            loss=LogisticLoss(),
            bounds=self.features.bounds,
            dimension=self.rows.X.shape[1],
            n_rows=self.rows.n_rows if replaced else None,
            public_row_guess=None if replaced else ROWS_GUESS,
            rows_per_unit=self.schema.rows_per_unit,
            privacy_unit=self.schema.privacy_unit,
            schema_digest=self.schema.digest(),
        )

    def correct(self, parameters: FloatArray) -> int:
        """Return how many rows of either class are predicted rightly."""
        assert self.rows.counts is not None
        right = (self.rows.X @ parameters > 0) == (self.rows.y > 0)
        # A row without a label is all zeros here, and right for no parameter or for every one.
        return int(self.rows.counts[right].sum())

    def scores(self, parameters: FloatArray, table: pd.DataFrame) -> FloatArray:
        """Return scores of raw rows, above 0 for the positive class."""
        coefficients, intercept = self.features.weights(parameters)
        columns = encode_features(table, self.schema)[:, 1:]
        return np.asarray(columns @ coefficients + intercept, dtype=np.float64)

    def predict(self, parameters: FloatArray, table: pd.DataFrame) -> BoolArray:
        """Return whether raw rows are predicted positive."""
        return np.asarray(self.scores(parameters, table) > 0)


def descent_task(task: FitTask) -> DescentTask:
    """Encode a task's training rows."""
    features = LinearFeatures.of_schema(task.schema)
    encoded = encode_features(task.table, task.schema)
    rows = features.encoded_rows(encoded, encode_labels(task.table, task.schema))
    return DescentTask(schema=task.schema, features=features, rows=rows, relation=task.relation)


def clipped_descent(
    task: DescentTask, settings: DescentSettings, params: PrivacyParams, entropy: EntropySource
) -> ConvexRelease:
    """Run noisy SGD on the logistic loss and release the mean of the second half's iterates.

    Parameters
    ----------
    task : DescentTask
        Rows and public facts.
    settings : DescentSettings
        Public settings.
    params : PrivacyParams
        Budget; delta must be positive.
    entropy : EntropySource
        Random bits.

    Notes
    -----
    **Guarantee.** As on the receipt: Poisson batches, one row's clipped gradient has norm at most
    ``clip L`` (docs/convex.md, entry "sampled-steps"). It covers the settings only if nobody chose
    them by looking at the rows.
    """
    public = task.public(params)
    batches = BatchPlan(
        batch=settings.batch_share * public.step_rows, steps=settings.steps, sampling="poisson"
    )
    rate = batches.rate(public)
    steps = SampledSteps(steps=settings.steps, rate=rate)
    multiplier = sampled_multiplier(params, (steps,), public.relation)
    clip = settings.clip * public.constants.lipschitz_l2
    noise = multiplier * public.changed_rows * clip
    plan = NoisePlan(
        mechanism="clipped noisy_sgd",
        theorem="composition of sampled Gaussian steps (docs/convex.md, sampled-steps)",
        status=CalibrationStatus.PROVEN,
        law="Gaussian on each sum of clipped batch gradients",
        scales=(noise,),
        settings=(
            ("steps", settings.steps),
            ("rate", rate),
            ("multiplier", multiplier),
            ("clip", clip),
            ("learning rate", settings.learning_rate),
        ),
        conditions=("dp_accounting composes privacy-loss distributions as documented",),
        total_variation=2 * settings.steps * public.dimension * 2.0**-63,
    )

    def compute() -> FloatArray:
        # Without sampling, equal rows stay together with their counts.
        rows = task.rows if rate >= 1 else task.rows.expanded()
        size, normals = rate * public.step_rows, NormalStream(entropy)
        parameters = np.zeros(public.dimension)
        total = np.zeros_like(parameters)
        lengths = np.linalg.norm(rows.X, axis=1)
        for step in range(settings.steps):
            drawn = slice(None) if rate >= 1 else batches.draw(len(rows.y), rate, entropy)
            slope = _clipped_sum(rows, lengths, drawn, parameters, clip)
            slope += noise * normals.take(len(parameters))
            parameters = parameters - settings.learning_rate * slope / size
            if 2 * step >= settings.steps:
                total += parameters
        return np.asarray(total / (settings.steps - (settings.steps + 1) // 2))

    return prepare(plan, task.rows, public, compute, entropy=entropy).run(None)


def _clipped_sum(
    rows: Rows,
    lengths: FloatArray,
    drawn: slice | NDArray[np.int64],
    parameters: FloatArray,
    clip: float,
) -> FloatArray:
    """Return the sum of the drawn rows' logistic gradients, each shortened to the clip."""
    X, y = rows.X[drawn], rows.y[drawn]
    slopes = -y * special.expit(-y * (X @ parameters))
    norms = np.abs(slopes) * lengths[drawn]
    slopes *= np.minimum(1.0, clip / np.maximum(norms, 1e-300))
    if rows.counts is not None:
        slopes *= rows.counts[drawn]
    return np.asarray(slopes @ X)
