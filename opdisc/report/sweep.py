"""Several oracles on one mechanism: the same accuracy, another time."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from opdisc.report.formats import UNKNOWN, count, joined, percent, seconds_text


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepLine:
    """One oracle on one method at one epsilon, as text.

    Parameters
    ----------
    title : str
        The method.
    epsilon : str
        The privacy loss; "none" if the method is not private.
    oracle : str
        The oracle.
    runs : str
        Runs that succeeded, of all.
    accuracy : str
        Mean accuracy on the training rows, percent.
    agreement : str
        Runs with as many training errors as most oracles make in that repeat, of those that
        succeeded.
    seconds : str
        Median time of a fit, with its unit.
    ratio : str
        That time over the fastest oracle's.
    """

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
    do there. Exact oracles that get the same noise minimise the same perturbed objective. They may
    differ only where it has several minimisers.
    """
    lines = []
    for method in swept_methods(runs):
        mine = runs[runs["method"] == method]
        for epsilon, group in mine.groupby("epsilon", sort=True, dropna=False):
            lines += _lines(group, "none" if pd.isna(epsilon) else f"{float(str(epsilon)):g}")
    return lines


def sweep_sentences(runs: pd.DataFrame) -> tuple[str, ...]:
    """Say whether the oracles agree and how long they take; nothing if there is only one."""
    mine = runs[runs["method"].isin(swept_methods(runs))]
    if not len(mine):
        return ()
    done = mine[mine["status"] == "ok"]
    groups = done.groupby(["method", "epsilon", "repeat"], dropna=False)["train_errors"]
    shared = groups.nunique()[groups.size() > 1]
    medians = done.groupby("oracle")["seconds"].median().sort_values()
    times = [f"{name} {seconds_text(float(seconds))}" for name, seconds in medians.items()]
    silent = [str(name) for name in mine["oracle"].dropna().unique() if name not in medians.index]
    sentences = [
        "Given the same rows and noise, all oracles that finished made as many training errors as "
        f"each other in {int((shared == 1).sum())} of {count(len(shared), 'case')}.",
        f"Median time of a fit, the fastest first: {', '.join(times) or 'no result'}.",
    ]
    if silent:
        sentences.append(f"Without any result: {joined(silent)}.")
    return tuple(sentences)


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
