"""The public facts that a convex mechanism may depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from opdisc.arguments import check_finite
from opdisc.errors import CalibrationError, as_calibration_error
from opdisc.privacy import NeighboringRelation, PrivacyParams, PublicInputs
from oracles.convex import Domain, LinearLoss, LossConstants, RowBounds


def check_ridge(ridge: float) -> float:
    """Return a ridge as a double; refuse one that is negative or not finite."""
    return check_finite("the ridge", ridge, zero=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPrivacy(PrivacyParams):
    """An infinite epsilon: the fit without noise, whose receipt is VOID. Delta is not used.

    Parameters
    ----------
    epsilon : float
        ``math.inf``, nothing else.

    Raises
    ------
    CalibrationError
        If epsilon is finite or delta out of range.
    """

    epsilon: float = math.inf

    def __post_init__(self) -> None:
        """Refuse a finite epsilon and an impossible delta."""
        if self.epsilon != math.inf:
            raise CalibrationError("a fit without privacy has an infinite epsilon; give that.")
        PrivacyParams(epsilon=1.0, delta=self.delta)


def convex_params(epsilon: float, delta: float) -> PrivacyParams:
    """Return the target of a convex mechanism; only here may epsilon be ``float("inf")``."""
    if isinstance(epsilon, float) and epsilon == math.inf:
        return NoPrivacy(delta=delta)
    return PrivacyParams(epsilon=epsilon, delta=delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexPublic(PublicInputs):
    """Public facts where the hypotheses are the parameters of a loss on a convex set.

    Mechanisms without a proof for more than one row per privacy unit refuse.

    Parameters
    ----------
    loss : LinearLoss
        Loss of one row.
    bounds : RowBounds
        Public bounds on one row, the constant column included.
    dimension : int
        Number p of parameters.
    domain : Domain or None
        Convex set of parameters; None means all of R^p, for mechanisms that allow it.

    Notes
    -----
    ``params`` may be :class:`NoPrivacy`: it runs the mechanism without noise.
    """

    loss: LinearLoss
    bounds: RowBounds
    dimension: int
    domain: Domain | None = None

    def __post_init__(self) -> None:
        """Refuse contradictory facts too."""
        PublicInputs.__post_init__(self)
        if self.domain is not None and self.domain.dimension != self.dimension:
            raise CalibrationError("the domain must have as many coordinates as a row.")

    @property
    def is_noiseless(self) -> bool:
        """Whether epsilon is infinite: no noise, no guarantee."""
        return math.isinf(self.params.epsilon)

    @property
    def constants(self) -> LossConstants:
        """Lipschitz, smoothness and convexity constants of one row's loss."""
        if self.domain is None:
            return self.unbounded_constants
        reach = self.domain.score_bound(self.bounds)
        with as_calibration_error():
            return self.loss.constants(self.bounds, score_bound=reach)

    @property
    def unbounded_constants(self) -> LossConstants:
        """Constants that hold for every parameter in R^p, whatever the domain."""
        with as_calibration_error():
            return self.loss.constants(self.bounds)

    @property
    def gradient_sensitivity(self) -> float:
        """Euclidean sensitivity of the sum of gradients."""
        return self.changed_rows * self.constants.lipschitz_l2

    def require_domain(self, what: str) -> Domain:
        """Return the domain, or refuse."""
        if self.domain is None:
            raise CalibrationError(f"{what} needs a bounded domain; declare one.")
        return self.domain

    def require_convex(self, what: str) -> None:
        """Refuse a loss that is not convex."""
        if not self.loss.is_convex:
            raise CalibrationError(
                f"{what} needs a convex loss, but the {self.loss.name} loss is not; choose "
                "another."
            )

    def require_smooth(self, what: str) -> None:
        """Refuse a loss whose gradient jumps."""
        if not self.loss.is_smooth:
            raise CalibrationError(
                f"{what} needs a smooth loss, but the {self.loss.name} loss is not; use a "
                "smoothed one such as 'huberised hinge'."
            )

    def require_curvature(self, what: str, ridge: float = 0.0) -> None:
        """Refuse a loss without curvature where steps are ``1 / (beta + ridge)``."""
        self.require_smooth(what)
        if not self.loss.curvature_bound() + ridge > 0:
            raise CalibrationError(
                f"{what} steps by 1 / smoothness, but the {self.loss.name} loss has none; "
                "use noisy SGD."
            )

    def require_one_row(self, what: str) -> None:
        """Refuse more than one row per privacy unit where that has no proof."""
        if self.rows_per_unit != 1:
            raise CalibrationError(
                f"{what} needs at most one row per privacy unit, got "
                f"rows_per_unit={self.rows_per_unit}; merge each unit's rows or use pure noise."
            )

    def require_relation(self, what: str, allowed: NeighboringRelation, why: str) -> None:
        """Refuse a relation without a proof."""
        if self.relation is not allowed:
            raise CalibrationError(f"{what} is private under {allowed.value} only: {why}.")
