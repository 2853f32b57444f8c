"""The summary in plain language: which method, which epsilon, how sure, what cost and promise.

What failed and what is missing is said too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from opdisc.report.analysis import (
    FAMILY_KINDS,
    Evaluation,
    Ranking,
    ResultCell,
    Results,
    relation_text,
)
from opdisc.report.error_costs import cost_sentences
from opdisc.report.formats import (
    count,
    epsilons_text,
    joined,
    loss_interval,
    percent,
    points,
    seconds_text,
)
from opdisc.report.majority import majority_sentences
from opdisc.report.sweep import sweep_sentences


def missing_sentences(results: Results) -> tuple[str, ...]:
    """Return what failed, and what has not run yet."""
    runs, failures = len(results.runs), results.failures
    limited = int((failures["status"] == "time limit").sum())
    sentences = []
    planned = results.planned
    if planned is not None and planned > runs:
        sentences.append(
            f"{runs:,} of {count(planned, 'planned run')} are there: the comparison is not "
            "finished, and everything here is provisional."
        )
    elif planned is not None:
        sentences.append(f"All {count(planned, 'planned run')} are there.")
    else:
        sentences.append(f"{count(runs, 'run')} are there.")
    if len(failures):
        failed = len(failures) - limited
        parts = [f"{count(failed, 'run')} failed"] * (failed > 0)
        parts += [f"{count(limited, 'run')} hit the time limit"] * (limited > 0)
        sentences.append(
            f"{joined(parts)}. They are counted in every table and have no accuracy to average; "
            "a method that failed at an ε is not ranked there."
        )
    else:
        sentences.append("No run failed or hit a time limit.")
    if results.torn:
        sentences.append("An incomplete last line of the results was left out.")
    if results.repeated:
        sentences.append(f"{count(results.repeated, 'line')} of repeated runs were left out.")
    return tuple(sentences)


Key = TypeVar("Key", bound=Hashable)

SMALL_LOSS = 0.01

_FEW_REPEATS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question of the reader, and sentences that answer it.

    Parameters
    ----------
    question : str
        Ends with a question mark.
    sentences : tuple of str
        Whole sentences, in the order of reading.
    """

    question: str
    sentences: tuple[str, ...]


def answers(
    results: Results,
    evaluation: Evaluation,
    cells: tuple[ResultCell, ...],
    rankings: tuple[Ranking, ...],
    *,
    swept: bool,
) -> tuple[Answer, ...]:
    """Return the summary, most important first.

    Parameters
    ----------
    results : Results
        For what failed and what is missing.
    evaluation : Evaluation
        The view that ranks.
    cells : tuple of ResultCell
        Its methods.
    rankings : tuple of Ranking
        By epsilon.
    swept : bool
        Whether several oracles were given the same noise.
    """
    against: tuple[Answer, ...] = ()
    if not swept:
        question = "Does anything private beat the majority class?"
        against = (Answer(question=question, sentences=majority_sentences(evaluation, rankings)),)
    if not rankings:
        return (
            *against,
            Answer(question="Which method?", sentences=(_no_ranking(swept),)),
            *_oracles(results),
            Answer(question="What is missing?", sentences=missing_sentences(results)),
        )
    costs = cost_sentences(evaluation, cells)
    return (
        *against,
        *((Answer(question="Which method costs least?", sentences=costs),) if costs else ()),
        Answer(question="Which method?", sentences=_which(evaluation, cells, rankings)),
        Answer(question="At which ε?", sentences=_at_which(rankings)),
        Answer(question="How sure is that?", sentences=_how_sure(evaluation, rankings)),
        Answer(question="At what cost?", sentences=_cost(rankings)),
        Answer(question="With what guarantee?", sentences=_guarantee(results, rankings)),
        Answer(question="What failed or is missing?", sentences=missing_sentences(results)),
    )


def _oracles(results: Results) -> tuple[Answer, ...]:
    sentences = sweep_sentences(results.runs)
    return (Answer(question="Which oracle?", sentences=sentences),) if sentences else ()


def _no_ranking(swept: bool) -> str:
    if swept:
        return (
            "None is ranked. The oracles were given the same noise on purpose, so that their "
            "answers and running times can be compared. Known noise protects nobody, so the "
            "receipts are VOID."
        )
    return (
        "None can be ranked: no private method has both a guarantee (HOLDS or CONDITIONAL) and "
        "runs without failure at the same ε."
    )


def _which(
    evaluation: Evaluation, cells: tuple[ResultCell, ...], rankings: tuple[Ranking, ...]
) -> tuple[str, ...]:
    sentences = []
    for kind, group in _grouped(rankings, _leader_kind):
        where = "every ε that was tried" if len(group) == len(rankings) else _at(group)
        leaders = _grouped(group, lambda r: r.leader.series.title)
        titles = [f"“{title}” at {_at(members)}" for title, members in leaders]
        named = f"“{leaders[0][0]}”" if len(leaders) == 1 else joined(titles)
        sentences.append(
            f"At {where}, a {kind} has the highest mean {evaluation.name} accuracy "
            f"of the private methods: {named}."
        )
    tied = {lead.other.series.title for r in rankings for lead in r.tied}
    if tied:
        sentences.append(
            "The table below names, at each ε, the methods that the leader cannot be told from; "
            "take them as equally good."
        )
    unearned = _unearned(evaluation, cells, rankings)
    if unearned:
        sentences.append(f"Not in the running, though higher at some ε: {unearned}.")
    return tuple(sentences)


def _leader_kind(ranking: Ranking) -> str:
    family = ranking.leader.series.family
    return FAMILY_KINDS.get(family, family)


def _unearned(
    evaluation: Evaluation, cells: tuple[ResultCell, ...], rankings: tuple[Ranking, ...]
) -> str:
    """Name private methods above the leader that could not be ranked, with the reason."""
    found: dict[str, str] = {}
    for ranking in rankings:
        for cell, reason in ranking.left_out:
            value = cell.metrics.get(evaluation.metric)
            if value is not None and value.mean > ranking.accuracy.mean:
                found.setdefault(cell.series.title, reason)
    return joined([f"“{title}” ({reason})" for title, reason in found.items()])


def _at_which(rankings: tuple[Ranking, ...]) -> tuple[str, ...]:
    known = [r for r in rankings if r.loss.n]
    if not known:
        return ("Unknown: the best scorecard without privacy was not computed.",)
    enough: list[Ranking] = []
    for ranking in reversed(known):
        if ranking.loss.mean >= SMALL_LOSS:
            break
        enough.insert(0, ranking)
    smaller = "ε is the privacy loss: the smaller, the stronger the protection."
    if not enough:
        return (
            f"At no ε that was tried does the best private method come within "
            f"{100 * SMALL_LOSS:g} percentage point of the best scorecard without privacy.",
            smaller,
        )
    first = enough[0].epsilon
    where = (
        "At every ε that was tried"
        if len(enough) == len(known)
        else f"At ε = {first:g}"
        if len(enough) == 1
        else f"From ε = {first:g} on"
    )
    return (
        f"{where}, the best private method loses less than {100 * SMALL_LOSS:g} percentage point "
        "on average to the best scorecard without privacy.",
        f"So ε = {first:g} is enough here, if that point is worth it to you. {smaller}",
    )


def _how_sure(evaluation: Evaluation, rankings: tuple[Ranking, ...]) -> tuple[str, ...]:
    repeats = min(r.repeats for r in rankings)
    if evaluation.name == "held-out":
        how = f"{count(repeats, 'random split')} of the table, the same for all methods"
    else:
        how = f"{count(repeats, 'repeat')} on the same training rows"
    sentences = [f"Each mean is over {how}."]
    if repeats < _FEW_REPEATS:
        sentences.append(
            "That is too few to tell methods apart reliably; intervals are wide or missing."
        )
    for verdict, group in _grouped(rankings, _family_verdict):
        sentences.append(f"At {_at(group)}, {verdict}.")
    sentences.append(
        "“Clear” allows for all comparisons at all ε together. The chance of any false “clear” on "
        "this page is at most 5%."
    )
    return tuple(sentences)


def _family_verdict(ranking: Ranking) -> str:
    rival = ranking.rival
    if rival is None:
        return "no method of another family is there to compare with"
    kind = FAMILY_KINDS.get(rival.other.series.family, rival.other.series.family)
    if rival.below_majority:
        return "no lead counts, for the best private method is not above the majority class"
    if rival.clear_elsewhere:
        return (
            f"the lead over the best {kind} is clear, also as a statement about other "
            "tables of this kind"
        )
    if rival.clear:
        return f"the lead over the best {kind} is clear on this table"
    if rival.likely:
        return (
            f"the lead over the best {kind} is likely: its 95% interval is above 0, but would not "
            "be with allowance for all comparisons of this report"
        )
    return f"the lead over the best {kind} cannot be told from chance"


def _cost(rankings: tuple[Ranking, ...]) -> tuple[str, ...]:
    sentences = []
    ends = [rankings[0]] if len(rankings) == 1 else [rankings[0], rankings[-1]]
    for ranking in ends:
        if ranking.loss.n:
            best = ranking.accuracy.mean + ranking.loss.mean
            sentences.append(
                f"At ε = {ranking.epsilon:g}, “{ranking.leader.series.title}” reaches "
                f"{percent(ranking.accuracy.mean)}; the best scorecard without privacy reaches "
                f"{percent(best)}. The price of privacy is "
                f"{loss_interval(ranking.loss)} percentage points (95% interval)."
            )
    seconds = [r.leader.seconds for r in rankings if len(r.leader.seconds)]
    if seconds:
        medians = sorted(float(s.median()) for s in seconds)
        slowest = max(float(s.max()) for s in seconds)
        spread = (
            seconds_text(medians[0])
            if seconds_text(medians[0]) == seconds_text(medians[-1])
            else f"{seconds_text(medians[0])} to {seconds_text(medians[-1])}"
        )
        sentences.append(f"A fit took {spread} (median), at most {seconds_text(slowest)}.")
    return tuple(sentences)


def _guarantee(results: Results, rankings: tuple[Ranking, ...]) -> tuple[str, ...]:
    sentences = []
    for (title, guarantee), group in _grouped(
        rankings, lambda r: (r.leader.series.title, r.leader.guarantee)
    ):
        cells = [ranking.leader for ranking in group]
        pure = all(not cell.delta > 0 for cell in cells)
        kind = "pure ε-differential privacy" if pure else "(ε, δ)-differential privacy"
        relations = _relations(results, cells)
        sentences.append(
            f"“{title}” at {_at(group)}: guarantee {guarantee}, {kind}, neighbouring tables by "
            f"{relations}."
        )
        if guarantee == "CONDITIONAL":
            sentences.append(_instead(group))
    sentences.append(
        "HOLDS: proven, and every step was checked. CONDITIONAL: true if the stated conditions "
        "are. VOID: nothing is promised. A receipt covers one published model, not this page."
    )
    return tuple(sentences)


def _instead(group: Sequence[Ranking]) -> str:
    parts = []
    for ranking in group:
        cell = ranking.holding
        if cell is None:
            continue
        lead = next(lead for lead in ranking.leads if lead.other is cell)
        behind = points(-lead.difference.mean)
        parts.append(f"“{cell.series.title}” at ε = {ranking.epsilon:g} ({behind} points)")
    if not parts:
        return "No method compared here has a guarantee that HOLDS at these ε."
    return f"Best with a guarantee that HOLDS: {joined(parts)}."


def _relations(results: Results, cells: Sequence[ResultCell]) -> str:
    methods = {cell.series.method for cell in cells}
    chosen = results.ok[results.ok["method"].isin(methods)]["relation"]
    return joined(sorted({relation_text(text) for text in chosen}), "or")


def _grouped(
    rankings: Sequence[Ranking], key: Callable[[Ranking], Key]
) -> list[tuple[Key, list[Ranking]]]:
    groups: dict[Key, list[Ranking]] = {}
    for ranking in rankings:
        groups.setdefault(key(ranking), []).append(ranking)
    return list(groups.items())


def _at(group: Sequence[Ranking]) -> str:
    return epsilons_text([ranking.epsilon for ranking in group])
