"""Whether anything private beats the majority class: the first sentence on a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from opdisc.privacy import weak_promise_text
from opdisc.report.cells import Evaluation, evaluations, find_cells
from opdisc.report.formats import epsilons_text, percent
from opdisc.report.ranking import Ranking, rank
from opdisc.report.results import read_results
from opdisc.report.roc import area_metric
from opdisc.report.series import find_series
from opdisc.report.sweep import swept_methods


def headline(directory: str | Path) -> tuple[str, ...]:
    """Return what to say first of a comparison, whatever it holds so far.

    Parameters
    ----------
    directory : path
        Holds ``settings.json`` and ``runs.jsonl``.

    Returns
    -------
    tuple of str
        Whether anything private beats the majority class, then the best private method at each
        epsilon, then whose promise its own delta or epsilon empties; none where it is oracles that
        are compared.

    Raises
    ------
    ReportError
        If the results cannot be read or hold no run.
    """
    results = read_results(Path(directory))
    if swept_methods(results.runs):
        return ()
    series, runs = find_series(results.runs)
    evaluation = evaluations(runs)[0]
    rankings = rank(evaluation, find_cells(evaluation, series))
    return (*majority_sentences(evaluation, rankings), *weak_sentences(results.ok))


def weak_sentences(runs: pd.DataFrame) -> tuple[str, ...]:
    """Return which methods promise something that the size of delta or epsilon empties.

    Parameters
    ----------
    runs : DataFrame
        Runs that gave a classifier.
    """
    told: dict[str, list[str]] = {}
    for run in runs.to_dict("records"):
        conditions = run.get("conditions")
        if isinstance(conditions, list):
            text = weak_promise_text(str(run.get("guarantee")), conditions)
            methods = told.setdefault(text, [])
            if run["method"] not in methods:
                methods.append(run["method"])
    return tuple(f"{', '.join(methods)}: {text}." for text, methods in told.items() if text)


def majority_sentences(evaluation: Evaluation, rankings: Sequence[Ranking]) -> tuple[str, ...]:
    """Return whether anything private beats the majority class, and by how much.

    Parameters
    ----------
    evaluation : Evaluation
        The view that ranks.
    rankings : sequence of Ranking
        By epsilon.
    """
    if not rankings:
        return ("No private method could be ranked, so none is known to beat the majority class.",)
    known = [ranking for ranking in rankings if ranking.gain.n]
    if not known:
        return ("Whether anything private beats the majority class is not known: it was not run.",)
    right = percent(known[0].majority)
    majority = f"the majority class, which is right on {right} of the {evaluation.name} rows"
    return (_first(known, majority), *(_line(evaluation, ranking) for ranking in known))


def _first(known: Sequence[Ranking], majority: str) -> str:
    if max(ranking.gain.n for ranking in known) < 2:
        return (
            f"Whether anything private beats {majority}, cannot be told from one repeat; run "
            "several (--repeats)."
        )
    better = [ranking for ranking in known if ranking.gain.low > 0]
    unsure = [ranking for ranking in known if ranking.gain.mean > 0 and ranking not in better]
    rest = [ranking for ranking in known if ranking.gain.mean <= 0]
    if not better and not unsure:
        return f"Nothing private beats {majority}."
    if not better:
        above = "" if len(unsure) == len(known) else f" at {_at(unsure)}"
        return (
            f"Nothing private is known to beat {majority}: the best is above it{above} on "
            "average, which may be chance."
        )
    if len(better) == len(known):
        return f"At every ε that was tried, a private method beats {majority}."
    said = f"At {_at(better)}, a private method beats {majority}"
    if rest:
        said += f"; at {_at(rest)} none does"
    if unsure:
        said += f"; at {_at(unsure)} the best is above it on average, which may be chance"
    return f"{said}."


def _line(evaluation: Evaluation, ranking: Ranking) -> str:
    metrics = ranking.leader.metrics
    balanced = metrics.get(evaluation.metric.replace("_acc", "_balanced_acc"))
    area = metrics.get(area_metric(evaluation))
    known = ""
    even = percent(evaluation.constant_balance, 0)
    if balanced is not None:
        known += f", balanced accuracy {percent(balanced.mean)} (any constant answer: {even})"
    if area is not None:
        known += f", area under the ROC curve {area.mean:.3f} (any constant answer: 0.5)"
    return (
        f"ε = {ranking.epsilon:g}: best “{ranking.leader.series.title}”, right on "
        f"{percent(ranking.accuracy.mean)}{known}."
    )


def _at(rankings: Sequence[Ranking]) -> str:
    return epsilons_text([ranking.epsilon for ranking in rankings])
