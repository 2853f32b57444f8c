"""Results by method and epsilon: means, intervals, failures, regret."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from opdisc.report.intervals import Interval, mean_interval
from opdisc.report.series import Series, worst_guarantee

METRICS = (
    "test_accuracy", "train_accuracy", "test_balanced_accuracy", "train_balanced_accuracy",
    "test_auc", "train_auc", "test_brier", "train_brier",
)  # fmt: skip

COST_METRICS = ("test_cost", "train_cost")
"""Recorded only where mistakes cost differently; smaller is better."""

OPTIMUM = "optimum"

MAJORITY = "majority"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """Runs that were evaluated alike, and what their repeats are.

    Parameters
    ----------
    name : str
        "held-out" or "training".
    metric : str
        Column of the accuracy.
    runs : DataFrame
        Failures included.
    overlap : float
        Held-out rows per training row; 0 for accuracy on the training rows.
    """

    name: str
    metric: str
    runs: pd.DataFrame
    overlap: float

    @property
    def epsilons(self) -> tuple[float, ...]:
        """Every epsilon, ascending."""
        return tuple(sorted(self.runs["epsilon"].dropna().unique()))

    @property
    def constant_balance(self) -> float:
        """Balanced accuracy of any constant answer; two classes where runs do not say."""
        stated = self.runs["n_classes"].dropna()
        return 1 / float(stated.max()) if len(stated) else 0.5

    @property
    def repeats(self) -> int:
        """Number of different repeats."""
        return int(self.runs["repeat"].nunique())


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultCell:
    """One method at one epsilon.

    Parameters
    ----------
    series : Series
        The method.
    epsilon : float or None
        None if the method is not private.
    metrics : dict of str to Interval
        By column name, for metrics that were recorded.
    seconds : pandas Series of float64
        Wall seconds of the runs that succeeded.
    ok, failed, limited : int
        Runs by outcome; "limited" hit the time limit.
    guarantee : str
        The worst among its runs.
    regret : Interval
        Training errors beyond the non-private optimum of the same repeat, per training row.
    delta : float
        The largest among its runs; NaN where not recorded.
    """

    series: Series
    epsilon: float | None
    metrics: dict[str, Interval]
    seconds: pd.Series
    ok: int
    failed: int
    limited: int
    guarantee: str
    regret: Interval
    delta: float

    @property
    def seconds_median(self) -> float:
        """Median wall-clock seconds of the runs that succeeded; NaN without any."""
        return float(self.seconds.median()) if len(self.seconds) else math.nan


def evaluations(runs: pd.DataFrame) -> tuple[Evaluation, ...]:
    """Return the held-out view and the training view of the runs, where they exist.

    The training view takes the runs that held nothing out if there are any, else the training
    accuracy of the others. The first view is the one that ranks.
    """
    trained = runs["evaluation"] == "training"
    views = []
    held_out = runs[~trained]
    if held_out["test_accuracy"].notna().any():
        views.append(_view("held-out", "test_accuracy", held_out))
    on_training = runs[trained] if trained.any() else held_out
    if on_training["train_accuracy"].notna().any() or not views:
        views.append(_view("training", "train_accuracy", on_training))
    return tuple(views)


def _view(name: str, metric: str, runs: pd.DataFrame) -> Evaluation:
    sizes = (runs["n_test"] / runs["n_train"]).dropna()
    overlap = float(sizes.median()) if name == "held-out" and len(sizes) else 0.0
    return Evaluation(name=name, metric=metric, runs=runs, overlap=overlap)


def find_cells(evaluation: Evaluation, series: tuple[Series, ...]) -> tuple[ResultCell, ...]:
    """Return every method at every epsilon it was run at, in the order of the series."""
    excess = regret(evaluation.runs)
    return tuple(
        _cell(one, epsilon, group, excess)
        for one in series
        for epsilon, group in _by_epsilon(evaluation.runs[evaluation.runs["series"] == one.index])
    )


def regret(runs: pd.DataFrame) -> pd.Series:
    """Return training errors beyond the optimum of the same repeat, per training row.

    NaN where a run failed or the optimum of its repeat is not known. Negative where a model with
    real weights does better than every scorecard on the grid.
    """
    best = optimum_errors(runs)
    return (runs["train_errors"] - best) / runs["n_train"]


def optimum_errors(runs: pd.DataFrame) -> pd.Series:
    """Return, for each run, the fewest training errors of any scorecard in its repeat.

    Any scorecard of the run's own weight bound, if that optimum was computed; else of any bound.
    """
    optima = optimum_runs(runs)
    same = optima.groupby(["repeat", "weight_bound"])["train_errors"].min()
    keys = zip(runs["repeat"], runs["weight_bound"], strict=True)
    found = pd.Series([float(same.get(key, math.nan)) for key in keys], index=runs.index)
    found = found.fillna(runs["repeat"].map(optima.groupby("repeat")["train_errors"].min()))
    return found.fillna(runs["optimum_errors"]).astype("float64")


def optimum_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs that computed a non-private optimum."""
    base = runs["method"].str.partition("@")[0]
    return runs[(base == OPTIMUM) & (runs["status"] == "ok")]


def optimum_metric(evaluation: Evaluation) -> pd.Series:
    """Return by repeat the accuracy of the optimum with the fewest training errors on average.

    Empty if none was computed.
    """
    optima = optimum_runs(evaluation.runs)
    if not len(optima):
        return pd.Series(dtype="float64")
    best = optima.groupby("method")["train_errors"].mean().idxmin()
    chosen = optima[optima["method"] == best]
    return chosen.groupby("repeat")[evaluation.metric].mean().dropna()


def majority_metric(evaluation: Evaluation) -> pd.Series:
    """Return by repeat how often the training rows' more frequent class is right, if known."""
    runs = evaluation.runs
    chosen = runs[(runs["method"] == MAJORITY) & (runs["status"] == "ok")]
    return chosen.groupby("repeat")[evaluation.metric].mean().dropna()


def _by_epsilon(runs: pd.DataFrame) -> Iterator[tuple[float | None, pd.DataFrame]]:
    plain = runs[runs["epsilon"].isna()]
    if len(plain):
        yield None, plain
    for epsilon, group in runs.groupby("epsilon", sort=True):
        yield float(str(epsilon)), group


def _cell(
    series: Series, epsilon: float | None, group: pd.DataFrame, excess: pd.Series
) -> ResultCell:
    done = group[group["status"] == "ok"]
    metrics = {
        name: mean_interval(done[name].dropna().to_numpy())
        for name in (*METRICS, *COST_METRICS)
        if done[name].notna().any()
    }
    limited = int((group["status"] == "time limit").sum())
    return ResultCell(
        series=series,
        epsilon=epsilon,
        metrics=metrics,
        seconds=done["seconds"].dropna(),
        ok=len(done),
        failed=len(group) - len(done) - limited,
        limited=limited,
        guarantee=worst_guarantee(group),
        regret=mean_interval(excess.loc[done.index].dropna().to_numpy()),
        delta=float(done["delta"].max()) if done["delta"].notna().any() else math.nan,
    )
