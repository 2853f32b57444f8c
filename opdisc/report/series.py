"""What is compared: a method, told apart by oracle, weights or relation where these vary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pandas as pd

FAMILY_ORDER = ("opdisc", "convex", "peer", "reference")

FAMILY_SHORT = {
    "opdisc": "scorecard",
    "convex": "linear model",
    "peer": "other library",
    "reference": "reference",
}

_VARIANTS = ("oracle", "weight_bound", "relation")

_WORST_FIRST = ("VOID", "unstated", "CONDITIONAL", "HOLDS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of the figures.

    Parameters
    ----------
    index : int
        Number in the order of display, from 0.
    method, title, family : str
        As the results have them; the title tells variants apart.
    private : bool
        Whether the method claims privacy, tuning aside.
    tuning : str
        "fixed", "non-private" or "private".
    guarantee : str
        The worst over all runs: HOLDS, CONDITIONAL, VOID or unstated; "none" if not private,
        "unknown" without a result.
    """

    index: int
    method: str
    title: str
    family: str
    private: bool
    tuning: str
    guarantee: str

    @property
    def rankable(self) -> bool:
        """Whether it may be called the best private method."""
        return self.private and self.tuning != "non-private" and self.guarantee in _KEPT

    @property
    def remark(self) -> str:
        """Why it may not, or what its guarantee rests on; empty if nothing is to be said."""
        if not self.private:
            return "" if "not private" in self.title else "not private"
        if self.tuning == "non-private":
            return "tuned on the private rows: not private as a whole"
        return {
            "VOID": "guarantee VOID",
            "unstated": "guarantee not stated",
            "unknown": "no result",
            "CONDITIONAL": "guarantee CONDITIONAL",
        }.get(self.guarantee, "")


_KEPT = ("HOLDS", "CONDITIONAL")


def find_series(runs: pd.DataFrame) -> tuple[tuple[Series, ...], pd.DataFrame]:
    """Return what is compared, and the runs with a column ``series`` of its indices.

    Parameters
    ----------
    runs : DataFrame
        As in :class:`opdisc.report.results.Results`.
    """
    varying = {
        method: [name for name in _VARIANTS if group[name].nunique(dropna=True) > 1]
        for method, group in runs.groupby("method", sort=False)
    }
    suffixes = [
        ", ".join(_variant(name, row[name]) for name in varying[row["method"]])
        for row in runs[["method", *_VARIANTS]].to_dict("records")
    ]
    keyed = runs.assign(variant=suffixes)
    groups = list(keyed.groupby(["method", "variant"], sort=False))
    groups.sort(key=lambda item: _family_rank(item[1]["family"].iloc[0]))
    series = []
    index = pd.Series(-1, index=keyed.index, dtype=int)
    for number, ((method, variant), group) in enumerate(groups):
        first = group.iloc[0]
        series.append(
            Series(
                index=number,
                method=str(method),
                title=_title(first, str(variant)),
                family=str(first["family"]),
                private=bool(first["private"]),
                tuning=str(first["tuning"]),
                guarantee=worst_guarantee(group),
            )
        )
        index.loc[group.index] = number
    return _distinct(series), keyed.assign(series=index)


def _title(run: pd.Series, variant: str) -> str:
    """Begin with a capital, unless it is another library's name."""
    title = str(run["title"])
    shown = title if run["family"] == "peer" else f"{title[:1].upper()}{title[1:]}"
    return f"{shown} ({variant})" if variant else shown


def _distinct(series: list[Series]) -> tuple[Series, ...]:
    """Add the names to titles that several methods share."""
    seen = Counter(one.title for one in series)
    return tuple(
        replace(one, title=f"{one.title} [{one.method}]") if seen[one.title] > 1 else one
        for one in series
    )


def worst_guarantee(runs: pd.DataFrame) -> str:
    """Return the weakest guarantee among runs of one method that succeeded."""
    if not runs["private"].any():
        return "none"
    done = runs[runs["status"] == "ok"]
    if not len(done):
        return "unknown"
    stated = {text if text in _WORST_FIRST else "unstated" for text in done["guarantee"]}
    return next((name for name in _WORST_FIRST if name in stated), "unstated")


def relation_text(relation: str | None) -> str:
    """Return which tables are neighbours, for a reader."""
    return "not stated" if not relation else str(relation).replace("_", "-")


def _variant(name: str, value: str | None) -> str:
    if name == "weight_bound":
        return "no weight bound" if pd.isna(value) else f"weights ±{value}"
    if name == "relation":
        return relation_text(None if pd.isna(value) else str(value))
    return str(value)


def _family_rank(family: str) -> int:
    return FAMILY_ORDER.index(family) if family in FAMILY_ORDER else len(FAMILY_ORDER)
