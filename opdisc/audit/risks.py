"""The audit of a risk table: a lower bound on what its noisy counts lose."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.audit.event import AuditedCase, AuditResult, check_audit, loss_bound
from opdisc.mechanisms import calibrate_risks, noisy_counts
from opdisc.privacy import (
    EntropySource,
    NeighboringRelation,
    PrivacyParams,
    PublicInputs,
    SystemEntropy,
)

_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskAuditCase:
    """One row's label flips: one count falls by 1, another grows, the worst of replace-one.

    Parameters
    ----------
    n_rows : int
        Rows of the two tables, all with one total.
    """

    n_rows: int = 1

    def run(
        self, epsilon: float, draws: int, false_alarm: float, entropy: EntropySource | None = None
    ) -> AuditedCase:
        """Audit the counts at a claimed epsilon, and once more with half the noise."""
        check_audit(draws, false_alarm)
        kept, louder = (
            self._audited(epsilon, factor, draws, false_alarm, entropy or SystemEntropy())
            for factor in (1, 2)
        )
        return AuditedCase(calibrated=kept, less_noise=louder)

    def _audited(
        self, epsilon: float, factor: int, draws: int, false_alarm: float, entropy: EntropySource
    ) -> AuditResult:
        public = PublicInputs(
            params=PrivacyParams(epsilon=epsilon / _SHARE, delta=0.0),
            relation=NeighboringRelation.REPLACE_ONE,
            n_rows=self.n_rows,
        )
        rate = factor * calibrate_risks(public, _SHARE).rate
        return audited_counts(
            "risk table", rate, self.n_rows, epsilon, draws, false_alarm, entropy
        )


def audited_counts(
    mechanism: str,
    rate: Fraction,
    n_rows: int,
    epsilon: float,
    draws: int,
    false_alarm: float,
    entropy: EntropySource,
) -> AuditResult:
    """Return what noisy counts of two labels lose where one of so many equal rows flips its own.

    Parameters
    ----------
    mechanism : str
        What is audited.
    rate : Fraction
        Decay of the noise on each count, per row.
    n_rows : int
        Rows of the two tables.
    epsilon, draws, false_alarm, entropy
        As in :func:`opdisc.audit.audit_mechanism`.
    """
    happened = []
    for positives in (0, 1):
        table = np.array([n_rows - positives, positives], dtype=np.int64)
        seen = noisy_counts(np.tile(table, (draws, 1)), rate, entropy)
        # Where the ratio of the two laws is largest.
        happened.append(int(np.sum((seen[:, 0] < n_rows) & (seen[:, 1] > 0))))
    return AuditResult(
        mechanism=mechanism,
        pair=f"one label flips, n = {n_rows}",
        epsilon=epsilon,
        delta=0.0,
        lower_bound=loss_bound(happened[0], happened[1], draws, 0.0, false_alarm),
        draws=draws,
        false_alarm=false_alarm,
    )
