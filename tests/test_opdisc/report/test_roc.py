"""Areas under ROC curves and mean curves in the report of a comparison."""

import re

import numpy as np
import pytest
from helpers.opdisc import report_rows

from opdisc.report import write_report
from opdisc.report.cells import evaluations, find_cells
from opdisc.report.figures.roc import draw_roc, roc_panels
from opdisc.report.figures.style import styles
from opdisc.report.majority import majority_sentences
from opdisc.report.ranking import rank
from opdisc.report.results import read_results
from opdisc.report.roc import area_metric, mean_curves
from opdisc.report.series import find_series
from opdisc.report.tables import area_sentence, best_lines, number_lines, summary_table

BY_NAME = {method[0]: method for method in report_rows.METHODS}
FEW = tuple(BY_NAME[n] for n in ("auto", "logistic-objective", "optimum", "majority"))


def read(directory, records):
    results = read_results(report_rows.write(directory, records))
    series, runs = find_series(results.runs)
    evaluation = evaluations(runs)[0]
    return series, evaluation, find_cells(evaluation, series)


def without(records, *methods, drop=False):
    """Return runs in which some methods have no scores; without the field as versions before."""
    found = []
    for record in records:
        if record["method"] in methods:
            record = record | {"test_auc": None, "train_auc": None, "roc": None}
            if drop:
                del record["roc"]
        found.append(record)
    return found


def test_a_mean_curve_is_the_mean_of_the_rates(tmp_path):
    records = report_rows.rows(FEW, epsilons=(0.1, 1.0), repeats=3)
    for record in records:
        record["roc"] = report_rows.curve(0.6 + 0.1 * record["repeat"])
    _, evaluation, cells = read(tmp_path, records)
    found = mean_curves(evaluation, cells)
    assert [(c.cell.series.method, c.cell.epsilon) for c in found] == [
        ("auto", 0.1), ("auto", 1.0), ("logistic-objective", 0.1), ("logistic-objective", 1.0),
        ("optimum", None), ("majority", None),
    ]  # fmt: skip
    expected = np.mean([report_rows.curve(0.6 + 0.1 * repeat) for repeat in range(3)], axis=0)
    assert all(c.runs == 3 and c.rates == pytest.approx(expected) for c in found)


@pytest.mark.parametrize(
    "stored", [None, [], [0.5], "curve", [0, "1"], [0, True], [0, 2.0], [0, None], {"0": 1}]
)
def test_what_is_no_curve_is_left_out_of_the_mean(tmp_path, stored):
    records = report_rows.rows(FEW[:1], epsilons=(1.0,), repeats=3)
    records[1]["roc"] = stored
    _, evaluation, cells = read(tmp_path, records)
    (curve,) = mean_curves(evaluation, cells)
    assert curve.runs == 2 and curve.rates == pytest.approx(records[0]["roc"])


def test_each_epsilon_has_a_panel_with_the_references(tmp_path):
    records = report_rows.rows(FEW, epsilons=(0.1, 0.5, 1.0), repeats=2)
    series, evaluation, cells = read(tmp_path, records)
    panels = roc_panels(mean_curves(evaluation, cells), styles(series))
    assert [panel.title for panel in panels] == ["ε = 0.1", "ε = 0.5", "ε = 1"]
    for panel in panels:
        drawn = [curve.cell.series.method for curve, _ in panel.curves]
        assert drawn == ["auto", "logistic-objective", "optimum", "majority"]
    wide, narrow = (draw_roc(panels, size=size, in_page=True) for size in ("wide", "narrow"))
    drawn, small = (one.markup(name="x", title="", description="") for one in (wide, narrow))
    assert small.count('class="series line"') == 12 and "series label" not in small
    assert drawn.count('class="series line"') == 12 + 4
    names = re.findall(r'class="series label".*?<text[^>]*>([^<]*)<', drawn)
    assert names == [one.title for one in series]
    assert narrow.width < wide.width


def test_references_alone_have_one_panel(tmp_path):
    records = report_rows.rows(FEW[2:], repeats=2)
    series, evaluation, cells = read(tmp_path, records)
    (panel,) = roc_panels(mean_curves(evaluation, cells), styles(series))
    assert panel.title == "no privacy" and len(panel.curves) == 2


def test_tables_show_the_area_with_its_spread(tmp_path):
    records = report_rows.rows(FEW, epsilons=(1.0,), repeats=2)
    for record in records:
        record["test_auc"] = (0.8, 0.9)[record["repeat"]]
    _, evaluation, cells = read(tmp_path, records)
    assert area_metric(evaluation) == "test_auc"
    for line in number_lines(evaluation, cells):
        assert line.metrics[2] == ("0.850 ± 0.071", pytest.approx(0.85))
    (best,) = best_lines(evaluation, rank(evaluation, cells))
    assert best.area.startswith("0.850 [0.215,")
    table = summary_table([(evaluation, cells)])
    assert table["test_auc_mean"].tolist() == pytest.approx([0.85] * 4)
    assert area_sentence(evaluation, cells) == ""


def test_a_method_without_scores_has_a_dash_and_a_sentence(tmp_path):
    records = without(report_rows.rows(FEW, epsilons=(1.0,), repeats=2), "auto")
    _, evaluation, cells = read(tmp_path, records)
    lines = {line.title: line for line in number_lines(evaluation, cells)}
    assert lines["Automatic choice"].metrics[2][0] == "–"
    said = area_sentence(evaluation, cells)
    assert "for “Automatic choice”: it gives answers without scores" in said
    rankings = rank(evaluation, cells)
    assert rankings[0].leader.series.method == "auto"
    assert best_lines(evaluation, rankings)[0].area == "–"
    assert "ROC" not in majority_sentences(evaluation, rankings)[1]


def test_results_of_versions_before_have_a_report_without_the_figure(tmp_path):
    names = [method[0] for method in FEW]
    records = without(report_rows.rows(FEW, epsilons=(1.0,), repeats=2), *names, drop=True)
    _, evaluation, cells = read(tmp_path, records)
    assert mean_curves(evaluation, cells) == ()
    assert "for any method" in area_sentence(evaluation, cells)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "Mean ROC curves" not in page
    assert not list((tmp_path / "figures").glob("roc*"))


def test_the_page_draws_the_curves_and_names_who_has_none(tmp_path):
    records = without(report_rows.rows(FEW, epsilons=(0.1, 1.0), repeats=2), "majority")
    page = write_report(report_rows.write(tmp_path, records)).read_text(encoding="utf-8")
    assert {path.name for path in (tmp_path / "figures").glob("roc*")} == {
        "roc-held-out.svg",
    }  # fmt: skip
    figure = page[page.index("Mean ROC curves, held-out</h3>") :]
    figure = figure[: figure.index("</figcaption>")]
    assert figure.count("<svg") == 2
    assert set(re.findall(r'data-series="(\d+)"', figure)) == {"0", "1", "2"}
    assert "dash in its column, for “Majority class”" in figure
    assert "Optimum" not in figure and "Best scorecard, no privacy: area 0.840." in figure


PAIRS = [[0.1 * k + 0.05, min(1.0, 0.12 * k)] for k in range(10)]


def with_chances(records, *methods, pairs=PAIRS):
    return [r | {"calibration": pairs if r["method"] in methods else None} for r in records]


def test_the_page_draws_stated_chances_against_what_came(tmp_path):
    records = with_chances(
        report_rows.rows(FEW, epsilons=(0.1, 1.0), repeats=2), "auto", "optimum"
    )
    page = write_report(report_rows.write(tmp_path, records)).read_text(encoding="utf-8")
    figure = page[page.index("Stated chances and what came, held-out</h3>") :]
    figure = figure[: figure.index("</figcaption>")]
    assert figure.count("<svg") == 2 and "stated chance" in figure
    assert set(re.findall(r'data-series="(\d+)"', figure)) == {"0", "2"}
    assert (tmp_path / "figures" / "calibration-held-out.svg").is_file()
    _, evaluation, cells = read(tmp_path, records)
    found = mean_curves(evaluation, cells, "calibration")
    assert all(c.across == pytest.approx([x for x, _ in PAIRS]) for c in found)
    assert all(c.rates == pytest.approx([y for _, y in PAIRS]) for c in found)


@pytest.mark.parametrize(
    "pairs", [None, [], [[0.5, 0.5]], [0.5, 0.5], [[0.1, 2.0], [0.5, 1]], [[0.1], [0.2]], "x"]
)
def test_what_are_no_chances_are_not_drawn(tmp_path, pairs):
    records = with_chances(
        report_rows.rows(FEW[:1], epsilons=(1.0,), repeats=2), "auto", pairs=pairs
    )
    page = write_report(report_rows.write(tmp_path, records)).read_text(encoding="utf-8")
    assert "Stated chances and what came" not in page
