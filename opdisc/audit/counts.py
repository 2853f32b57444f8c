"""The audit of noisy counts, of a risk table and of a validation: what they lose at least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.audit.event import AuditedCase, AuditResult, check_audit, loss_bound
from opdisc.mechanisms import calibrate_risks, calibrate_validation, noisy_counts
from opdisc.privacy import (
    EntropySource,
    NeighboringRelation,
    PrivacyParams,
    PublicInputs,
    SystemEntropy,
)

_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsAuditCase:
    """One row's label flips: one count falls by 1, another grows, the worst of replace-one.

    Parameters
    ----------
    mechanism : str
        Whose counts.
    rate : callable
        From public facts at a claimed epsilon to the decay of the noise on each count, per row.
    n_rows : int
        Rows of the two tables, all with one total.
    """

    mechanism: str
    rate: Callable[[PublicInputs], Fraction]
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
            params=PrivacyParams(epsilon=epsilon, delta=0.0),
            relation=NeighboringRelation.REPLACE_ONE,
            n_rows=self.n_rows,
        )
        rate = factor * self.rate(public)
        happened = []
        for positives in (0, 1):
            table = np.array([self.n_rows - positives, positives], dtype=np.int64)
            seen = noisy_counts(np.tile(table, (draws, 1)), rate, entropy)
            # Where the ratio of the two laws is largest.
            happened.append(int(np.sum((seen[:, 0] < self.n_rows) & (seen[:, 1] > 0))))
        return AuditResult(
            mechanism=self.mechanism,
            pair=f"one label flips, n = {self.n_rows}",
            epsilon=epsilon,
            delta=0.0,
            lower_bound=loss_bound(happened[0], happened[1], draws, 0.0, false_alarm),
            draws=draws,
            false_alarm=false_alarm,
        )


def counts_audit_cases() -> dict[str, CountsAuditCase]:
    """Return the counts of a risk table and those of a validation."""
    return {
        "risk_table": CountsAuditCase(mechanism="risk table", rate=_risk_rate),
        "validation": CountsAuditCase(mechanism="validation", rate=_validation_rate),
    }


def _risk_rate(public: PublicInputs) -> Fraction:
    # The counts of a card that leaves them half are audited at what they cost.
    whole = PrivacyParams(epsilon=public.params.epsilon / _SHARE, delta=0.0)
    facts = PublicInputs(params=whole, relation=public.relation, n_rows=public.n_rows)
    return calibrate_risks(facts, _SHARE).rate


def _validation_rate(public: PublicInputs) -> Fraction:
    return calibrate_validation(public, 1).rate
