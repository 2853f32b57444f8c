"""Why something was chosen: first what a reader wants to know, then what a reviewer checks.

A reason is one text, so that receipts hold it as it is: "brief; brief; in detail: text; text".
"""

from __future__ import annotations

_DETAIL = "; in detail: "

_SHORT = 90
"""Characters up to which a reason that has no detail counts as brief."""


def reason(brief: str, detail: str) -> str:
    """Return a reason in plain words, and what stands behind it."""
    return f"{brief}{_DETAIL}{detail}"


def all_reasons(first: str, second: str) -> str:
    """Return two reasons as one, the brief parts of both before their details."""
    parts = [text.partition(_DETAIL) for text in (first, second) if text]
    briefs = "; ".join(brief for brief, _, _ in parts)
    details = "; ".join(detail for _, _, detail in parts if detail)
    return reason(briefs, details) if details else briefs


def split_reason(text: str) -> tuple[str, str]:
    """Return a reason's brief part and its detail; empty where there is none.

    The whole of a long text without a detail, as older versions wrote, is detail.
    """
    brief, _, detail = text.partition(_DETAIL)
    if detail or len(brief) <= _SHORT:
        return brief, detail
    return "", brief


def count_in_words(number: int) -> str:
    """Return a count as one says it: 6,561, 1.6 million, 10^28."""
    if number < 10**6:
        return f"{number:,}"
    for power, word in ((9, "million"), (12, "billion")):
        if number < 10**power:
            shown = number / 10 ** (power - 3)
            return f"{shown:.0f} {word}" if shown >= 10 else f"{shown:.1f} {word}"
    return f"10^{len(str(number)) - 1}"
