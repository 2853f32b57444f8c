"""What every convex mechanism takes and gives: private rows, public facts, a release.

A mechanism is a function ``mechanism(rows, public, ..., entropy)``. Everything its noise depends
on is in :class:`ConvexPublic` and in the other arguments, all public; :func:`release` writes the
receipt and the ledger before anything is drawn, and runs the computation once.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opdisc.accounting import Ledger
from opdisc.convex.draws import FLOATING_POINT
from opdisc.convex.receipt import ConvexReceipt
from opdisc.domains import Domain
from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.losses import LinearLoss, LossConstants, RowBounds
from opdisc.mechanisms.receipts import numerical_delta
from opdisc.noise import EntropySource
from opdisc.privacy import (
    CalibrationStatus,
    Guarantee,
    NeighboringRelation,
    PrivacyParams,
    PrivacyReceipt,
)

__all__ = [
    "ConvexPublic",
    "ConvexReceipt",
    "ConvexRelease",
    "NoisePlan",
    "Rows",
    "check_rows",
    "release",
]

FloatArray = NDArray[np.float64]

RELEASE_GRID = 2.0**-24
"""Released coordinates are rounded to multiples of this, so that low bits carry nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexPublic:
    """The public facts that a convex mechanism may depend on.

    Parameters
    ----------
    params : PrivacyParams
        Target.
    relation : NeighboringRelation
        Which tables are neighbours.
    loss : LinearLoss
        Loss of one row.
    bounds : RowBounds
        Public bounds on one row, the constant column included.
    dimension : int
        Number p of parameters.
    domain : Domain or None
        Convex set of parameters; None means all of R^p, for mechanisms that allow it.
    n_rows : int or None
        Number of rows where it is public (replace-one), else None.
    rows_guess : int or None
        Under add-or-remove-one: a public constant near the number of rows, where step sizes or
        sampling rates want one. It affects accuracy only.
    rows_per_unit : int
        Public maximum of rows that one privacy unit contributes; 1 is supported.
    privacy_unit, schema_digest : str
        As on the scorecard's receipts.
    assumptions : tuple of str
        What the caller takes to be public without having said so.
    """

    params: PrivacyParams
    relation: NeighboringRelation
    loss: LinearLoss
    bounds: RowBounds
    dimension: int
    domain: Domain | None = None
    n_rows: int | None = None
    rows_guess: int | None = None
    rows_per_unit: int = 1
    privacy_unit: str = "one row"
    schema_digest: str = ""
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse contradictory facts."""
        if self.rows_per_unit != 1:
            raise CalibrationError(
                "convex mechanisms need at most one row per privacy unit, got "
                f"rows_per_unit={self.rows_per_unit}; merge each unit's rows first."
            )
        if self.n_rows is not None and self.relation is not NeighboringRelation.REPLACE_ONE:
            raise CalibrationError(
                "the number of rows is public under replace_one only; give rows_guess instead."
            )
        if self.domain is not None and self.domain.dimension != self.dimension:
            raise CalibrationError("the domain must have as many coordinates as a row.")

    @property
    def constants(self) -> LossConstants:
        """Lipschitz, smoothness and convexity constants of one row's loss."""
        if self.domain is None:
            return self.loss.constants(self.bounds)
        return self.loss.constants(self.bounds, score_bound=self.domain.score_bound(self.bounds))

    @property
    def unbounded_constants(self) -> LossConstants:
        """Constants that hold for every parameter in R^p, whatever the domain."""
        return self.loss.constants(self.bounds)

    @property
    def changed_rows(self) -> int:
        """How many rows differ between neighbours, removed and added rows counted: 1 or 2."""
        return self.relation.loss_sensitivity

    @property
    def gradient_sensitivity(self) -> float:
        """Euclidean sensitivity of the sum of gradients."""
        return self.changed_rows * self.constants.lipschitz_l2

    @property
    def exact_rows(self) -> int:
        """The exact number of rows, which must be public."""
        if self.n_rows is None:
            raise CalibrationError("this needs the exact number of rows; give n_rows.")
        return self.n_rows

    @property
    def step_rows(self) -> int:
        """The public number of rows that step sizes and rates may use."""
        rows = self.n_rows if self.n_rows is not None else self.rows_guess
        if rows is None:
            raise CalibrationError(
                "step sizes need a public number of rows; under add_or_remove_one give rows_guess."
            )
        return rows

    def require_domain(self, what: str) -> Domain:
        """Return the domain, or refuse."""
        if self.domain is None:
            raise CalibrationError(f"{what} needs a bounded domain; declare one.")
        return self.domain

    def require_convex(self, what: str) -> None:
        """Refuse a loss that is not convex."""
        if not self.loss.is_convex:
            raise CalibrationError(
                f"{what} needs a convex loss, the {self.loss.name} loss is not; choose another."
            )

    def require_smooth(self, what: str) -> None:
        """Refuse a loss whose gradient jumps."""
        if not np.isfinite(self.loss.curvature_bound()):
            raise CalibrationError(
                f"{what} needs a smooth loss, the {self.loss.name} loss is not; use a smoothed "
                "one such as 'huberised hinge'."
            )

    def require_relation(self, what: str, allowed: NeighboringRelation, why: str) -> None:
        """Refuse a relation without a proof."""
        if self.relation is not allowed:
            raise CalibrationError(f"{what} is private under {allowed.value} only: {why}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Private rows within the public bounds; arrays are read-only.

    Parameters
    ----------
    X : float64 array, shape (m, p)
        Rows, the constant column included.
    y : float64 array, shape (m,)
        Labels: -1 or +1 for classification, numbers for regression.
    counts : float64 array of shape (m,), or None
        How many raw rows are equal to each; None means one each.
    """

    X: FloatArray
    y: FloatArray
    counts: FloatArray | None = None

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for array in (self.X, self.y, self.counts):
            if array is not None:
                array.setflags(write=False)

    @classmethod
    def clipped(cls, X: ArrayLike, y: ArrayLike, public: ConvexPublic) -> Rows:
        """Return rows made to satisfy the bounds, each by itself.

        Coordinates are clipped to ``bounds.linf``, rows are shortened to ``bounds.l2``, labels of
        a regression are clipped to ``bounds.label``; a label of a classification that is not
        positive counts as -1. What is not a number counts as 0.
        """
        rows = np.nan_to_num(np.array(X, dtype=np.float64), nan=0.0)
        widest = public.bounds.largest_coordinate
        np.clip(rows, -widest, widest, out=rows)
        lengths = np.linalg.norm(rows, axis=1)
        with np.errstate(divide="ignore"):
            rows *= np.minimum(1.0, public.bounds.l2 / lengths)[:, None]
        labels = np.nan_to_num(np.array(y, dtype=np.float64), nan=0.0)
        if public.loss.is_classification:
            labels = np.where(labels > 0, 1.0, -1.0)
        else:
            labels = np.clip(labels, -public.bounds.label, public.bounds.label)
        return cls(X=rows, y=labels)

    @property
    def n_rows(self) -> int:
        """Raw rows. Private under add-or-remove-one."""
        return len(self.y) if self.counts is None else int(round(self.counts.sum()))

    def expanded(self) -> Rows:
        """Return one row for each raw row."""
        if self.counts is None:
            return self
        times = self.counts.astype(np.int64)
        return Rows(X=np.repeat(self.X, times, axis=0), y=np.repeat(self.y, times))

    def sum_gradient(self, loss: LinearLoss, theta: FloatArray) -> FloatArray:
        """Return the gradient of the sum of losses over raw rows, shape (p,)."""
        return loss.sum_gradient(self.X, self.y, theta, self.counts)

    def sum_value(self, loss: LinearLoss, theta: FloatArray) -> float:
        """Return the sum of losses over raw rows."""
        return loss.sum_value(self.X, self.y, theta, self.counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePlan:
    """What a convex calibration decided: a function of public inputs only.

    Parameters
    ----------
    mechanism, theorem : str
        What will run, and the statement that makes it private.
    status : CalibrationStatus
        How well the statement is established.
    law : str
        The noise law in words.
    scales : tuple of float
        Its scale parameters.
    settings : tuple of (str, float)
        Public settings that the guarantee depends on (regularisation, steps, rates, ...).
    conditions : tuple of str
        What the guarantee rests on besides the arithmetic.
    distance : float
        Total variation that truncated tails may add.
    """

    mechanism: str
    theorem: str
    status: CalibrationStatus
    law: str
    scales: tuple[float, ...]
    settings: tuple[tuple[str, float], ...] = ()
    conditions: tuple[str, ...] = ()
    distance: float = 0.0

    def setting(self, name: str) -> float:
        """Return one setting by name."""
        return dict(self.settings)[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexRelease:
    """A parameter that may be published, and the promise that was kept.

    Parameters
    ----------
    theta : float64 array, shape (p,), read-only
        Parameter, rounded to multiples of :data:`RELEASE_GRID`.
    receipt : ConvexReceipt
        The privacy statement.
    """

    theta: FloatArray
    receipt: ConvexReceipt


def check_rows(rows: Rows, public: ConvexPublic) -> None:
    """Refuse rows that the public facts do not describe, before anything is spent."""
    if rows.X.ndim != 2 or rows.X.shape != (len(rows.y), public.dimension):
        raise CalibrationError(
            f"rows must have {public.dimension} coordinates and one label each; build them with "
            "Rows.clipped."
        )
    if public.n_rows is not None and public.n_rows != rows.n_rows:
        raise CalibrationError("n_rows must be the number of rows of the table; correct it.")
    slack = 1 + 1e-9
    lengths = np.einsum("ij,ij->i", rows.X, rows.X)
    inside = (
        float(lengths.max(initial=0.0)) <= (public.bounds.l2 * slack) ** 2
        and float(np.abs(rows.X).max(initial=0.0)) <= public.bounds.largest_coordinate * slack
        and float(np.abs(rows.y).max(initial=0.0)) <= public.bounds.label * slack
    )
    if not inside:
        raise CalibrationError("rows must lie within the public bounds; build with Rows.clipped.")


def release(
    plan: NoisePlan,
    rows: Rows,
    public: ConvexPublic,
    compute: Callable[[], FloatArray],
    *,
    entropy: EntropySource,
    ledger: Ledger | None,
) -> ConvexRelease:
    """Write the receipt, spend the budget, compute once, round.

    Raises
    ------
    CalibrationError
        If the rows are not as the public facts say; nothing is spent.
    UncertifiedRelease
        If the computation fails; nothing about the rows is said.
    """
    check_rows(rows, public)
    receipt = _receipt(plan, public, entropy)
    if ledger is not None:
        # The ledger reads fields that both kinds of receipt have.
        ledger.spend(cast(PrivacyReceipt, receipt))
    theta: FloatArray | None = None
    try:
        theta = compute()
    except Exception:  # noqa: BLE001 - whatever fails now depends on the rows: say nothing more
        theta = None
    if theta is None or not np.all(np.isfinite(theta)):
        raise UncertifiedRelease(
            f"{plan.mechanism} ended without the accuracy its calibration pays for; the budget is "
            "spent and nothing is released: allow a larger accuracy or scale the features."
        )
    rounded = np.round(theta / RELEASE_GRID) * RELEASE_GRID
    rounded.setflags(write=False)
    return ConvexRelease(theta=rounded, receipt=receipt)


def _receipt(plan: NoisePlan, public: ConvexPublic, entropy: EntropySource) -> ConvexReceipt:
    void = []
    if not entropy.is_secure:
        void.append("the random bits came from a seed, not from the operating system")
    if plan.status is not CalibrationStatus.PROVEN:
        void.append(f"the noise calibration is {plan.status.value}, not proven")
    conditions = tuple(void) or (*public.assumptions, *plan.conditions, FLOATING_POINT)
    constants = public.constants
    return ConvexReceipt(
        mechanism=plan.mechanism,
        theorem=plan.theorem,
        calibration=plan.status.value,
        epsilon=public.params.epsilon,
        delta=public.params.delta,
        delta_numerical=numerical_delta(plan.distance, public.params.epsilon),
        relation=public.relation.value,
        privacy_unit=public.privacy_unit,
        loss=public.loss.name,
        row_norm=public.bounds.l2,
        row_maximum=public.bounds.largest_coordinate,
        label_bound=public.bounds.label,
        lipschitz=constants.lipschitz_l2,
        smoothness=constants.smoothness_l2,
        domain="all of R^p" if public.domain is None else _domain_text(public.domain),
        noise_law=plan.law,
        noise_scales=plan.scales,
        settings=plan.settings,
        schema_digest=public.schema_digest,
        n_rows=public.n_rows,
        release_grid=RELEASE_GRID,
        versions=_versions(),
        guarantee=(Guarantee.VOID if void else Guarantee.CONDITIONAL).value,
        conditions=conditions,
    )


def _domain_text(domain: Domain) -> str:
    name, p = type(domain).__name__, domain.dimension
    return f"{name} in R^{p}, Euclidean diameter {domain.diameter_l2:.6g}"


@functools.cache
def _versions() -> tuple[tuple[str, str], ...]:
    packages = ("dp-accounting", "numpy", "opdisc", "scipy")
    found = {name: version(name) for name in packages}
    return tuple(sorted({**found, "python": platform.python_version()}.items()))
