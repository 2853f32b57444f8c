"""Audits of the convex mechanisms: lower bounds on what they lose, from their own releases.

As in :mod:`opdisc.audit.event`: an audit can refute a claim, never prove it. Each case runs the
released
function on two neighbouring tables, and once more with an understated Lipschitz constant, which
means less noise than the claim needs: a good audit refutes that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from opdisc.audit.event import AuditedCase, AuditResult, check_audit, loss_bound
from opdisc.convex import ConvexPublic, Rows
from opdisc.privacy import EntropySource, SystemEntropy
from oracles.arithmetic import FloatArray
from oracles.convex import LinearLoss, RowBounds

Release = Callable[[Rows, ConvexPublic, EntropySource], float]

_PILOT = 300
"""Releases on each table that choose the event; the bound uses fresh ones."""


class UnderstatedLoss(LinearLoss):
    """A loss that claims a fraction of its Lipschitz constant: a mistake to be caught.

    Parameters
    ----------
    loss : LinearLoss
        The loss itself.
    divisor : float
        What its slope bound is divided by.
    """

    def __init__(self, loss: LinearLoss, divisor: float) -> None:
        self._loss, self._divisor = loss, divisor
        self.name = f"{loss.name}, understated"
        self.is_convex, self.is_classification = loss.is_convex, loss.is_classification
        self.is_certifiable = loss.is_certifiable

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return self._loss.of_scores(scores, y)

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the true slopes."""
        return self._loss.slopes(scores, y)

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the true curvatures."""
        return self._loss.curvatures(scores, y)

    def slope_range(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the true range."""
        return self._loss.slope_range(y)

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return the true conjugates."""
        return self._loss.conjugates(slopes, y)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return less than the slope bound."""
        return self._loss.slope_bound(bounds, score_bound) / self._divisor

    def curvature_bound(self) -> float:
        """Return the true curvature bound."""
        return self._loss.curvature_bound()


def understated(public: ConvexPublic, divisor: float) -> ConvexPublic:
    """Return public facts with the loss's Lipschitz constant divided."""
    return replace(public, loss=UnderstatedLoss(public.loss, divisor))


def overspent(public: ConvexPublic, divisor: float) -> ConvexPublic:
    """Return public facts with epsilon multiplied: a pure noise is divided."""
    params = replace(public.params, epsilon=public.params.epsilon * divisor)
    return replace(public, params=params)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexAuditCase:
    """A convex mechanism, two neighbouring tables, and the mistake that must be caught.

    Parameters
    ----------
    name : str
        The mechanism and its setting.
    tables : str
        The tables in words.
    public : callable
        From the claimed epsilon to the public facts of the claim, delta and relation included.
    first, second : Rows
        Neighbouring tables; releases on the first tend to be larger.
    release : callable
        Draws one release and returns a number: larger means that the first table is likelier.
    divisor : float
        What the Lipschitz constant, and so the noise, is divided by in the positive control.
    louder : callable
        From public facts and the divisor to those of the control.
    threshold : float or None
        Releases from which on the first table is guessed; None lets pilot releases choose it.
    """

    name: str
    tables: str
    public: Callable[[float], ConvexPublic]
    first: Rows
    second: Rows
    release: Release
    divisor: float = 2.0
    louder: Callable[[ConvexPublic, float], ConvexPublic] = understated
    threshold: float | None = None

    def run(
        self,
        epsilon: float,
        draws: int,
        false_alarm: float,
        entropy: EntropySource | None = None,
    ) -> AuditedCase:
        """Audit the mechanism at a claimed epsilon, and its control at the same claim."""
        check_audit(draws, false_alarm)
        public, source = self.public(epsilon), entropy or SystemEntropy()
        calibrated, less = (
            self._audit(public, facts, draws, false_alarm, source)
            for facts in (public, self.louder(public, self.divisor))
        )
        return AuditedCase(calibrated=calibrated, less_noise=less, divisor=self.divisor)

    def _audit(
        self,
        claim: ConvexPublic,
        facts: ConvexPublic,
        draws: int,
        false_alarm: float,
        entropy: EntropySource,
    ) -> AuditResult:
        def sample(table: Rows, size: int) -> FloatArray:
            return np.array([self.release(table, facts, entropy) for _ in range(size)])

        delta, threshold = claim.params.delta, self.threshold
        if threshold is None:
            pilots = [sample(table, _PILOT) for table in (self.first, self.second)]
            threshold = _best_threshold(pilots, delta)
        counts = [
            int((sample(table, draws) >= threshold).sum()) for table in (self.first, self.second)
        ]
        return AuditResult(
            mechanism=self.name,
            pair=self.tables,
            epsilon=claim.params.epsilon,
            delta=delta,
            lower_bound=loss_bound(counts[0], counts[1], draws, delta, false_alarm),
            draws=draws,
            false_alarm=false_alarm,
        )


def _best_threshold(pilots: list[FloatArray], delta: float) -> float:
    """Return the threshold at which a pilot, at low confidence, gives the largest bound."""
    candidates = np.unique(np.quantile(np.concatenate(pilots), np.linspace(0.02, 0.98, 49)))

    def promise(threshold: float) -> float:
        first, second = (int((pilot >= threshold).sum()) for pilot in pilots)
        return loss_bound(first, second, _PILOT, delta, 0.25)

    return float(max(candidates.tolist(), key=promise))
