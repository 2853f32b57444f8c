"""Audits of private thresholds: positions drawn by rank on two neighbouring columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.audit.event import AuditedCase, AuditResult, check_audit, loss_bound
from opdisc.mechanisms import draw_cuts, plan_cuts
from opdisc.privacy import EntropySource, NeighboringRelation, SystemEntropy
from oracles.arithmetic import IntArray, RandomBits


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdAuditCase:
    """Two columns in which one row is replaced, and an event of the drawn positions.

    Parameters
    ----------
    name : str
        What the tables are called in a report.
    quantiles : int
        How many thresholds are drawn.
    first, second : tuple of int
        Rows below each candidate, then all rows.
    event : callable
        Positions to bool; fixed before anything is drawn.
    effort : int
        How many times the usual number of draws it takes to catch half the noise.
    """

    name: str
    quantiles: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    event: Callable[[tuple[int, ...]], bool]
    effort: int = 1

    def run(
        self, epsilon: float, draws: int, false_alarm: float, entropy: EntropySource | None = None
    ) -> AuditedCase:
        """Audit a claimed epsilon, and the same with half the noise.

        Parameters
        ----------
        epsilon : float
            The claim.
        draws : int
            Usual number of draws on each table; ``effort`` times as many are made.
        false_alarm : float
            Chance at most of refuting a claim that is true.
        entropy : EntropySource or None
            Random bits; None takes the operating system's.
        """
        check_audit(draws, false_alarm)
        bits = RandomBits(entropy or SystemEntropy())
        calibrated, less_noise = (
            self._audited(epsilon, factor, draws * self.effort, false_alarm, bits)
            for factor in (1, 2)
        )
        return AuditedCase(calibrated=calibrated, less_noise=less_noise)

    def _audited(
        self, epsilon: float, factor: int, draws: int, false_alarm: float, bits: RandomBits
    ) -> AuditResult:
        relation = NeighboringRelation.REPLACE_ONE
        cuts = plan_cuts(self.quantiles, factor * Fraction(epsilon), relation, 1)

        def count(ranks: IntArray) -> int:
            return sum(self.event(draw_cuts(cuts, ranks, bits)) for _ in range(draws))

        counts = [count(np.array(ranks, dtype=np.int64)) for ranks in (self.first, self.second)]
        return AuditResult(
            mechanism="private thresholds",
            pair=self.name,
            epsilon=epsilon,
            delta=0.0,
            lower_bound=loss_bound(counts[0], counts[1], draws, 0.0, false_alarm),
            draws=draws,
            false_alarm=false_alarm,
        )


def threshold_audit_cases() -> dict[str, ThresholdAuditCase]:
    """Return what is audited, by name: a median between two places.

    Of eight rows four and then all lie below the two places: in halves of a row the losses are
    (0, 8). The other table has one row moved from below both to above: (2, 6).
    """
    return {
        "thresholds_median": ThresholdAuditCase(
            name="two places, one row moves",
            quantiles=1,
            first=(4, 8, 8),
            second=(3, 7, 8),
            event=lambda places: places == (1,),
            effort=3,
        ),
    }
