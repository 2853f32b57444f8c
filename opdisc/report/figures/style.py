"""Colours, markers and dashes of the series, told apart without colour vision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from opdisc.report import Series
from opdisc.report.figures.marks import MARKS

LIGHT_BACKGROUND = "#ffffff"

DARK_BACKGROUND = "#14171c"

# Hue is the family: blue, orange, purple, grey stay apart under every common colour vision.
# Within a family, lightness, marker and label tell methods apart.
_TONES = {
    "opdisc": (
        ("#0b3c7d", "#9cc9ff"),
        ("#0072b2", "#4fa8f0"),
        ("#1c7bab", "#8fdcf5"),
        ("#00787a", "#45c9c0"),
        ("#4b56b8", "#aab2ff"),
        ("#1b6a96", "#c4e4ff"),
    ),
    "convex": (
        ("#b84a00", "#ffab5e"),
        ("#8a3a00", "#ffc999"),
        ("#c25400", "#f08c3a"),
        ("#9a6a00", "#e6bf4a"),
        ("#a83226", "#ff9180"),
        ("#7d5a2b", "#d9b98c"),
    ),
    "peer": (
        ("#8e3b86", "#e49bdc"),
        ("#b04a96", "#f3bdea"),
        ("#6b2d73", "#c98fd6"),
        ("#99356b", "#f08fbf"),
    ),
    "reference": (
        ("#333b45", "#d7dde5"),
        ("#5c6673", "#b3bcc8"),
        ("#6a7480", "#8f99a6"),
        ("#454f5a", "#c3ccd6"),
    ),
}

_MARKERS = tuple(MARKS)

_DASHES = {"usual": "solid", "non-private": "dashed", "VOID": "dotted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one series is drawn.

    Parameters
    ----------
    light, dark : str
        Colours on the light and on the dark background, hexadecimal.
    marker : str
        A name of a mark.
    filled : bool
        False where the guarantee is not HOLDS.
    dash : str
        "solid", "dashed" (tuned on private rows) or "dotted" (VOID or not stated).
    """

    light: str
    dark: str
    marker: str
    filled: bool
    dash: str


def styles(series: Iterable[Series]) -> dict[int, Style]:
    """Return the style of each series by its index."""
    used: dict[str, int] = {}
    found = {}
    for one in series:
        family = one.family if one.family in _TONES else "peer"
        number = used.get(family, 0)
        used[family] = number + 1
        tones = _TONES[family]
        light, dark = tones[number % len(tones)]
        found[one.index] = Style(
            light=light,
            dark=dark,
            marker=_MARKERS[(number + 3 * list(_TONES).index(family)) % len(_MARKERS)],
            filled=one.guarantee == "HOLDS",
            dash=_dash(one),
        )
    return found


def _dash(series: Series) -> str:
    if series.private and series.guarantee in ("VOID", "unstated"):
        return _DASHES["VOID"]
    return _DASHES["non-private" if series.tuning == "non-private" else "usual"]
