"""What a receipt promises, and how it is judged."""

from __future__ import annotations

import enum
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


class WeakPromise(UserWarning):
    """A delta is not far below 1 / rows, or an epsilon is so large that nothing is promised."""


LARGEST_NUMERICAL = 2.0**-30
"""Largest numerical delta of a promise, unless a larger delta was asked for."""


_TOO_LARGE = "is too large for a promise"


def numerical_reasons(delta: float, delta_numerical: float) -> tuple[str, ...]:
    """Return why a numerical delta leaves no promise worth the name; nothing if it does not.

    It must be at most the delta that was asked for, or :data:`LARGEST_NUMERICAL`, and both
    together below 1: (epsilon, 1)-privacy holds for every program.
    """
    if delta + delta_numerical >= 1 or delta_numerical > max(delta, LARGEST_NUMERICAL):
        return (
            f"the numerical delta, {delta_numerical:.1e}, {_TOO_LARGE}: it grows "
            "with e^epsilon, choose a smaller epsilon",
        )
    return ()


MOST_EXPOSED = 0.1
"""Rows that a delta may expose on average before a receipt names it: delta times rows."""

ROWS_UNKNOWN = 10_000
"""Rows that a delta is compared with where their number is neither public nor guessed."""

FEWEST_GUESSED = 100
"""A guess of fewer rows counts as so many: it may be wrong, and a delta above 0.001 is named."""

_ACCEPTED = "it is accepted that delta"


def delta_conditions(
    delta: float,
    n_rows: int | None,
    public_row_guess: int | None = None,
    *,
    earlier: float = 0.0,
) -> tuple[str, ...]:
    """Return what a promise rests on if its delta is not far below 1 / rows; nothing if it is.

    Publishing each row as it is with probability delta keeps an (epsilon, delta) promise: delta
    times rows is how many rows it may expose outright on average. Above :data:`MOST_EXPOSED`,
    that this is acceptable becomes a condition.

    Parameters
    ----------
    delta : float
        All of it, the numerical part included.
    n_rows : int or None
        Number of rows where it is public, else None.
    public_row_guess : int or None
        What takes its place, if there is one; at least :data:`FEWEST_GUESSED`. Without either,
        :data:`ROWS_UNKNOWN`.
    earlier : float
        What the table's ledger holds already. Where only the sum is too large, it is named.

    Notes
    -----
    **Guarantee.** A function of public inputs only.
    """
    rows, said = n_rows, f"the {n_rows or 0:,} rows"
    if rows is None and public_row_guess is not None:
        rows = max(public_row_guess, FEWEST_GUESSED)
        said = f"{rows:,} rows, a guess"
    elif rows is None:
        rows, said = ROWS_UNKNOWN, f"{ROWS_UNKNOWN:,} rows, for their number is not public"
    whole = delta + earlier
    if whole * rows <= MOST_EXPOSED * (1 + 1e-12):
        return ()
    most = MOST_EXPOSED / rows
    is_large = delta * rows > MOST_EXPOSED * (1 + 1e-12)
    exposed = (delta if is_large else whole) * rows
    count = f"{exposed:,.0f}" if exposed >= 10 else f"{exposed:.2g}"
    exposes = f"may expose {count} of {said}, outright and on average"
    if is_large:
        return (f"{_ACCEPTED} {delta:.3g} {exposes}; else choose at most {_rounded_down(most)}",)
    return (
        f"{_ACCEPTED} {whole:.3g}, the sum with all in the ledger, {exposes}; "
        f"else choose at most {_rounded_down(most)}",
    )


def _rounded_down(value: float) -> str:
    """Return a number of one digit that is at most a value."""
    power = math.floor(math.log10(value) + 1e-12)
    return f"{math.floor(value / 10.0**power * (1 + 1e-12)):d}e{power:d}"


def weak_promises(conditions: Sequence[str]) -> tuple[str, ...]:
    """Return those conditions, or reasons for VOID, that the size of delta or epsilon brings."""
    return tuple(text for text in conditions if _ACCEPTED in text or _TOO_LARGE in text)


def weak_promise_text(guarantee: str, conditions: Sequence[str]) -> str:
    """Return a sentence on a promise that its own size empties; empty where it does not."""
    weak = weak_promises(conditions)
    if not weak:
        return ""
    void = guarantee == Guarantee.VOID.value
    does = "says VOID and promises nothing" if void else "is CONDITIONAL on this"
    return f"the receipt {does}: {'; '.join(weak)}"


def warn_of_weak_promise(guarantee: str, conditions: Sequence[str]) -> None:
    """Warn of a promise that its own size empties: a function of public inputs only."""
    text = weak_promise_text(guarantee, conditions)
    if text:
        warnings.warn(text, WeakPromise, stacklevel=3)


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
        return Guarantee.VOID, tuple(dict.fromkeys(reasons))
    return (Guarantee.CONDITIONAL if conditions else Guarantee.HOLDS), tuple(conditions)


def numerical_delta(total_variation: float, epsilon: float) -> float:
    """Return ``(1 + e^epsilon) * total_variation``: what a law that near adds to delta."""
    if total_variation <= 0:
        return 0.0
    return min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * (1 + 1e-12) * total_variation)
