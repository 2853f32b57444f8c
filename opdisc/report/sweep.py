"""Several oracles on one mechanism: the same accuracy, another time."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from opdisc.report.figures import seconds_text
from opdisc.report.formats import UNKNOWN, percent


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepLine:
    """One oracle on one method at one epsilon."""

    title: str
    epsilon: str
    oracle: str
    runs: str
    accuracy: str
    agreement: str
    seconds: str
    ratio: str


def swept_methods(runs: pd.DataFrame) -> list[str]:
    """Return the methods that ran with more than one oracle."""
    counts = runs.groupby("method", sort=False)["oracle"].nunique(dropna=True)
    return [str(method) for method, number in counts.items() if number > 1]


def sweep_lines(runs: pd.DataFrame) -> list[SweepLine]:
    """Return how the oracles compare, by method and epsilon, the fastest first.

    Agreement counts the repeats in which an oracle makes as many training errors as most oracles
    do there: exact oracles that get the same noise minimise the same perturbed objective, and
    may differ only where it has several minimisers.
    """
    lines = []
    for method in swept_methods(runs):
        mine = runs[runs["method"] == method]
        for epsilon, group in mine.groupby("epsilon", sort=True, dropna=False):
            lines += _lines(group, "none" if pd.isna(epsilon) else f"{float(str(epsilon)):g}")
    return lines


def _lines(group: pd.DataFrame, epsilon: str) -> list[SweepLine]:
    done = group[group["status"] == "ok"]
    modes = done.groupby("repeat")["train_errors"].agg(lambda errors: errors.mode().iloc[0])
    medians = done.groupby("oracle")["seconds"].median()
    names = [str(name) for name in group["oracle"].dropna().unique()]
    names.sort(key=lambda name: float(medians.get(name, float("inf"))))
    return [_line(group, done, epsilon, name, modes, medians) for name in names]


def _line(
    group: pd.DataFrame,
    done: pd.DataFrame,
    epsilon: str,
    name: str,
    modes: pd.Series,
    medians: pd.Series,
) -> SweepLine:
    mine = done[done["oracle"] == name]
    equal = int((mine["train_errors"] == mine["repeat"].map(modes)).sum())
    median = float(medians.get(name, float("nan")))
    ratio = median / float(medians.min()) if len(medians) else float("nan")
    return SweepLine(
        title=str(group["title"].iloc[0]),
        epsilon=epsilon,
        oracle=name,
        runs=f"{len(mine)} of {int((group['oracle'] == name).sum())}",
        accuracy=percent(float(mine["train_accuracy"].mean()), 2) if len(mine) else UNKNOWN,
        agreement=f"{equal} of {len(mine)}",
        seconds=seconds_text(median),
        ratio=f"{ratio:.1f}×" if ratio == ratio else UNKNOWN,
    )
