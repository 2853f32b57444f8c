"""What a receipt promises, and how it is judged."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

from opdisc.privacy.entropy import EntropySource


class CalibrationStatus(enum.Enum):
    """How well a noise calibration is established."""

    PROVEN = "proven"
    """A proof is given in docs/theory.md, or is standard."""
    PUBLISHED = "published"
    """As printed in a paper; not re-proven here."""
    REFUTED = "refuted"
    """Published, and a counterexample to the general statement is known."""


class Guarantee(enum.Enum):
    """What the receipt promises."""

    HOLDS = "HOLDS"
    """Unconditionally, running time aside."""
    CONDITIONAL = "CONDITIONAL"
    """If the listed conditions are true."""
    VOID = "VOID"
    """Nothing is promised."""


LARGEST_NUMERICAL = 2.0**-30
"""Largest numerical delta of a promise, unless a larger delta was asked for."""


def numerical_reasons(delta: float, delta_numerical: float) -> tuple[str, ...]:
    """Return why a numerical delta leaves no promise worth the name; nothing if it does not.

    It must be at most the delta that was asked for, or :data:`LARGEST_NUMERICAL`, and both
    together below 1: (epsilon, 1)-privacy holds for every program.
    """
    if delta + delta_numerical >= 1 or delta_numerical > max(delta, LARGEST_NUMERICAL):
        return (
            f"the numerical delta, {delta_numerical:.1e}, is too large for a promise: it grows "
            "with e^epsilon, choose a smaller epsilon",
        )
    return ()


def judge(
    status: CalibrationStatus,
    entropy: EntropySource,
    conditions: Sequence[str],
    *,
    void: Sequence[str] = (),
) -> tuple[Guarantee, tuple[str, ...]]:
    """Return what any release may promise, and what it rests on or why it is VOID.

    Parameters
    ----------
    status : CalibrationStatus
        How well the noise calibration is established; only a proven one promises anything.
    entropy : EntropySource
        Random bits; a seed promises nothing.
    conditions : sequence of str
        What the guarantee would rest on besides; with none it HOLDS.
    void : sequence of str
        Any other reasons why nothing is promised.
    """
    reasons = list(void)
    if not entropy.is_secure:
        reasons.append("the random bits came from a seed, not from the operating system")
    if status is not CalibrationStatus.PROVEN:
        reasons.append(f"the noise calibration is {status.value}, not proven")
    if reasons:
        return Guarantee.VOID, tuple(reasons)
    return (Guarantee.CONDITIONAL if conditions else Guarantee.HOLDS), tuple(conditions)


def numerical_delta(total_variation: float, epsilon: float) -> float:
    """Return ``(1 + e^epsilon) * total_variation``: what a law that near adds to delta."""
    if total_variation <= 0:
        return 0.0
    return min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * (1 + 1e-12) * total_variation)
