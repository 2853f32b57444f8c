"""What is said first of a comparison: whether anything private beats the majority class."""

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc import report_rows

from opdisc.privacy import delta_conditions
from opdisc.report import write_report
from opdisc.report.cells import evaluations, find_cells
from opdisc.report.majority import headline, majority_sentences, weak_sentences
from opdisc.report.ranking import rank
from opdisc.report.results import read_results
from opdisc.report.series import find_series
from opdisc.report.tables import best_lines

BY_NAME = {method[0]: method for method in report_rows.METHODS}
CARD, LINEAR, MAJORITY = (BY_NAME[n] for n in ("auto", "logistic-objective", "majority"))


def rows(card, linear, majority=0.7, *, repeats=6, spread=0.001):
    """Runs of two private methods at the accuracies given for each epsilon."""
    rng = np.random.default_rng(3)
    found = []
    for repeat in range(repeats):
        for method, accuracies in ((CARD, card), (LINEAR, linear)):
            for epsilon, accuracy in accuracies.items():
                drawn = accuracy + spread * rng.normal()
                found.append(report_rows.row(method, epsilon, repeat, rng, test_accuracy=drawn))
        if majority is not None:
            found.append(report_rows.row(MAJORITY, None, repeat, rng, test_accuracy=majority))
    return found


def views(directory, records):
    results = read_results(report_rows.write(directory, records, report_rows.SETTINGS))
    series, runs = find_series(results.runs)
    evaluation = evaluations(runs)[0]
    cells = find_cells(evaluation, series)
    return evaluation, rank(evaluation, cells)


GOOD, POOR = {0.1: 0.78, 1.0: 0.8}, {0.1: 0.6, 1.0: 0.61}
MIXED = {0.1: 0.6, 1.0: 0.8}


@pytest.mark.parametrize(
    ("card", "majority", "first"),
    [
        (GOOD, 0.7, "At every ε that was tried, a private method beats the majority class, which "
         "is right on 70.0% of the held-out rows."),
        (GOOD, 0.9, "Nothing private beats the majority class, which is right on 90.0% of the "
         "held-out rows."),
        (MIXED, 0.7, "At ε = 1, a private method beats the majority class, which is right on "
         "70.0% of the held-out rows; at ε = 0.1 none does."),
        (GOOD, None, "Whether anything private beats the majority class is not known: it was not "
         "run."),
    ],
)  # fmt: skip
def test_the_first_sentence_says_whether_anything_private_beats_it(
    card, majority, first, tmp_path
):
    evaluation, rankings = views(tmp_path, rows(card, POOR, majority))
    assert majority_sentences(evaluation, rankings)[0] == first
    assert headline(tmp_path)[0] == first


@pytest.mark.parametrize("card", [GOOD, MIXED], ids=["good", "mixed"])
def test_one_repeat_tells_nothing(card, tmp_path):
    said = majority_sentences(*views(tmp_path, rows(card, POOR, 0.7, repeats=1)))
    assert said[0] == (
        "Whether anything private beats the majority class, which is right on 70.0% of the "
        "held-out rows, cannot be told from one repeat; run several (--repeats)."
    )


def test_a_small_difference_may_be_chance(tmp_path):
    wide = rows({0.1: 0.701}, {0.1: 0.5}, repeats=4, spread=0.02)
    for record in wide:
        if record["method"] == "auto":
            record["test_accuracy"] = 0.701 + (0.05, -0.05, 0.04, -0.03)[record["repeat"]]
    evaluation, rankings = views(tmp_path, wide)
    first = majority_sentences(evaluation, rankings)[0]
    assert first.startswith("Nothing private is known to beat") and "chance" in first


def test_a_lead_below_the_majority_is_never_clear(tmp_path):
    _, above = views(tmp_path, rows(GOOD, POOR))
    assert all(lead.clear for ranking in above for lead in ranking.leads)
    evaluation, below = views(tmp_path, rows(GOOD, POOR, 0.9))
    assert all(ranking.leads for ranking in below)
    assert not any(lead.clear or lead.clear_elsewhere for r in below for lead in r.leads)
    assert {line.mark for line in best_lines(evaluation, below)} == {"none"}
    said = {line.verdict for line in best_lines(evaluation, below)}
    assert said == {"no: not above the majority class"}


def test_a_leader_as_good_as_the_majority_is_not_above_it(tmp_path):
    records = rows({0.1: 0.7}, {0.1: 0.5}, spread=0.0)
    _, (ranking,) = views(tmp_path, records)
    assert ranking.gain.mean == 0 and not ranking.leads[0].clear


def test_balanced_accuracy_stands_beside_accuracy(tmp_path):
    evaluation, rankings = views(tmp_path, rows(GOOD, POOR))
    lines = majority_sentences(evaluation, rankings)[1:]
    assert len(lines) == 2 and all("balanced accuracy" in line for line in lines)
    assert all("area under the ROC curve 0.838 (any constant answer: 0.5)" in x for x in lines)


def test_the_report_begins_with_it(tmp_path):
    report_rows.write(tmp_path, rows(GOOD, POOR, 0.9), report_rows.SETTINGS)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    summary = page[page.index('<section id="summary"') :]
    assert summary[: summary.index("</p>")].endswith(
        "Nothing private beats the majority class, which is right on 90.0% of the held-out rows."
    )
    first = [summary.index(part) for part in ("<svg", 'id="best"', 'role="tablist"')]
    assert first == sorted(first)


def test_a_sweep_of_oracles_has_no_such_sentence(tmp_path):
    records = rows({0.1: 0.7}, {0.1: 0.5}, repeats=2)
    for number, record in enumerate(r for r in records if r["method"] == "auto"):
        record["oracle"] = ("highs", "cp-sat")[number % 2]
    report_rows.write(tmp_path, records, report_rows.SETTINGS)
    assert headline(tmp_path) == ()


def test_promises_that_delta_empties_are_said_with_their_methods():
    weak = delta_conditions(0.5, 150)
    runs = pd.DataFrame(
        [
            {"method": "a", "guarantee": "CONDITIONAL", "conditions": [*weak, "other"]},
            {"method": "b", "guarantee": "CONDITIONAL", "conditions": [*weak]},
            {"method": "b", "guarantee": "CONDITIONAL", "conditions": [*weak]},
            {"method": "c", "guarantee": "CONDITIONAL", "conditions": ["other"]},
            {"method": "d", "guarantee": None, "conditions": None},
        ]
    )
    assert weak_sentences(runs) == (f"a, b: the receipt is CONDITIONAL on this: {weak[0]}.",)
    assert weak_sentences(runs[3:]) == weak_sentences(runs[:0]) == ()
