"""The report of a comparison: what it states, what it counts, what it refuses and escapes."""

import csv
import html
import json
import math
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers.opdisc import report_rows
from scipy import stats

from opdisc.report import check_places, write_report
from opdisc.report.cells import evaluations, find_cells, optimum_errors, regret
from opdisc.report.evidence import card_tables, promises, receipts
from opdisc.report.figures.curves import spread_out
from opdisc.report.figures.style import DARK_BACKGROUND, LIGHT_BACKGROUND, styles
from opdisc.report.intervals import mean_interval
from opdisc.report.ranking import rank
from opdisc.report.results import ReportError, read_results
from opdisc.report.series import find_series
from opdisc.report.sweep import sweep_lines, sweep_sentences

HOSTILE = "<script>alert('x')</script>&\""
BY_NAME = {method[0]: method for method in report_rows.METHODS}
FEW = tuple(BY_NAME[n] for n in ("permute-and-flip", "logistic-objective", "optimum"))


def read(directory, records, settings=report_rows.SETTINGS):
    """Return results, series, and the views with their cells."""
    results = read_results(report_rows.write(directory, records, settings))
    series, runs = find_series(results.runs)
    views = tuple((view, find_cells(view, series)) for view in evaluations(runs))
    return results, series, runs, views


def ranked(directory, records):
    *_, views = read(directory, records)
    return {ranking.epsilon: ranking for ranking in rank(*views[0])}


def text_of(page):
    """Return what a reader sees, tags and style aside, white space collapsed."""
    body = re.sub(r"<(style|script|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


# --- intervals -----------------------------------------------------------------------------------


def test_a_paired_interval_is_that_of_scipy():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=12), rng.normal(size=12)
    reference = stats.ttest_rel(first, second).confidence_interval(0.99)
    found = mean_interval(first - second, level=0.99)
    assert (found.low, found.high) == pytest.approx((reference.low, reference.high), rel=1e-12)


def test_the_correction_for_overlapping_splits_is_that_of_the_paper():
    values = np.array([0.1, 0.4, 0.2, 0.3])
    plain, corrected = mean_interval(values), mean_interval(values, overlap=3 / 7)
    ratio = (corrected.high - corrected.mean) / (plain.high - plain.mean)
    assert ratio == pytest.approx(math.sqrt((1 / 4 + 3 / 7) / (1 / 4)), rel=1e-12)


@pytest.mark.parametrize("values", [[], [0.5]])
def test_too_few_repeats_have_no_interval(values):
    interval = mean_interval(values)
    assert not interval.known
    assert interval.n == len(values)
    assert math.isnan(interval.stddev)


# --- ranking -------------------------------------------------------------------------------------


def test_a_real_lead_is_clear_and_that_over_a_twin_is_not(tmp_path):
    rankings = ranked(tmp_path, report_rows.rows(epsilons=(0.01, 0.5)))
    small = rankings[0.01]
    assert small.leader.series.family == "opdisc"
    assert small.rival.other.series.family == "convex"
    assert small.rival.clear
    twins = {"Automatic choice", "Permute-and-flip"}
    for ranking in rankings.values():
        assert twins <= {
            ranking.leader.series.title,
            *(lead.other.series.title for lead in ranking.tied),
        }


def test_what_is_void_or_tuned_on_private_rows_is_never_the_best(tmp_path):
    """Both are made the most accurate by far."""
    records = [
        record | {"test_accuracy": 0.99}
        if record["method"] in ("opdisc-published", "logistic-noisy-sgd-tuned")
        else record
        for record in report_rows.rows(epsilons=(0.1, 1.0), repeats=4)
    ]
    for ranking in ranked(tmp_path, records).values():
        assert ranking.accuracy.mean < 0.9
        reasons = dict((cell.series.method, why) for cell, why in ranking.left_out)
        assert reasons == {
            "opdisc-published": "guarantee VOID",
            "logistic-noisy-sgd-tuned": "tuned on the private rows",
        }


def test_a_method_with_a_failed_run_is_not_ranked_at_that_epsilon(tmp_path):
    records = report_rows.rows(FEW, epsilons=(0.1, 1.0), repeats=4)
    worst = next(r for r in records if r["method"] == "permute-and-flip" and r["epsilon"] == 0.1)
    records[records.index(worst)] = report_rows.failed(worst, "time limit")
    rankings = ranked(tmp_path, records)
    assert rankings[0.1].leader.series.method == "logistic-objective"
    assert [why for _, why in rankings[0.1].left_out] == [
        "1 of 4 runs failed or hit the time limit"
    ]
    assert rankings[1.0].leader.series.method == "permute-and-flip"


def test_methods_are_compared_over_the_repeats_that_all_of_them_have(tmp_path):
    """The linear model has finished only the two easiest splits of an interrupted comparison."""
    records = []
    for repeat, accuracy in enumerate((0.6, 0.6, 0.9, 0.9)):
        for method, gain in ((FEW[0], 0.02), (FEW[1], 0.0)):
            if method is FEW[0] or repeat >= 2:
                rng = np.random.default_rng(repeat)
                row = report_rows.row(method, 0.1, repeat, rng, test_accuracy=accuracy + gain)
                records.append(row)
    ranking = ranked(tmp_path, records)[0.1]
    assert ranking.repeats == 2
    assert ranking.leader.series.method == "permute-and-flip"
    assert ranking.accuracy.mean == pytest.approx(0.92)


def test_levels_allow_for_all_pairs_at_all_epsilons(tmp_path):
    rankings = ranked(tmp_path, report_rows.rows(epsilons=(0.1, 1.0), repeats=3))
    pairs = 7 * 6 / 2
    for ranking in rankings.values():
        assert len(ranking.leads) == 6
        assert {lead.strict.level for lead in ranking.leads} == {1 - 0.05 / (2 * pairs)}


@pytest.mark.statistical
def test_equal_methods_rarely_have_a_clear_leader(tmp_path):
    """At most 5% of reports may call any lead clear; 15 or more of 60 have probability 2e-7.

    Intervals without the correction are wrong far more often: the test can fail.
    """
    rng = np.random.default_rng(5)
    methods = [(f"m{i}", f"M{i}", "opdisc", True, "fixed", "HOLDS", 0, 1) for i in range(5)]
    wrong = naive = 0
    for _ in range(60):
        records = [
            report_rows.row(method, epsilon, repeat, rng, test_accuracy=rng.normal())
            for method in methods
            for epsilon in (0.1, 1.0)
            for repeat in range(8)
        ]
        rankings = ranked(tmp_path, records).values()
        leads = [lead for ranking in rankings for lead in ranking.leads]
        wrong += any(lead.clear for lead in leads)
        naive += any(lead.likely for lead in leads)
    assert wrong <= 14
    assert naive > 14


# --- regret and cells ----------------------------------------------------------------------------


def test_regret_is_paired_with_the_optimum_of_the_same_split_and_grid(tmp_path):
    rng = np.random.default_rng(0)
    method, optimum = FEW[0], FEW[2]
    records = []
    for repeat, best in enumerate((100, 200)):
        for bound, gain in ((1, 0), (2, 30)):
            name = ("optimum" if bound == 1 else "optimum@2", *optimum[1:])
            errors = best - gain
            records.append(
                report_rows.row(name, None, repeat, rng, weight_bound=bound, train_errors=errors)
            )
        for bound, errors in ((1, best + 5), (2, best + 7), (None, best + 9)):
            row = report_rows.row(method, 1.0, repeat, rng, train_errors=errors)
            records.append(row | {"weight_bound": bound, "run_id": f"{bound}/{repeat}"})
    *_, runs, views = read(tmp_path, records)
    private = runs[runs["private"]]
    excess = (private["train_errors"] - optimum_errors(runs)).dropna()
    assert list(excess) == [5, 37, 39, 5, 37, 39]
    assert regret(runs).dropna().to_numpy()[-1] == pytest.approx(39 / 10977)
    titles = [cell.series.title for cell in views[0][1] if cell.series.private]
    assert titles == [
        "Permute-and-flip (weights ±1)",
        "Permute-and-flip (weights ±2)",
        "Permute-and-flip (no weight bound)",
    ]


def test_training_runs_are_not_mixed_with_held_out_ones(tmp_path):
    rng = np.random.default_rng(0)
    held = [report_rows.row(FEW[0], 1.0, r, rng, test_accuracy=0.7) for r in range(3)]
    plain = [
        row
        | {"evaluation": "training", "test_accuracy": None, "train_accuracy": 0.8, "n_test": 0}
        | {"run_id": row["run_id"] + "/training"}
        for row in held
    ]
    *_, views = read(tmp_path, held + plain)
    assert [view.name for view, _ in views] == ["held-out", "training"]
    assert views[0][1][0].metrics["test_accuracy"].mean == pytest.approx(0.7)
    assert views[1][1][0].metrics["train_accuracy"].mean == pytest.approx(0.8)
    assert views[1][1][0].ok == 3


def test_oracles_are_told_apart_and_compared(tmp_path):
    rng = np.random.default_rng(0)
    records = []
    for repeat in range(4):
        for oracle, seconds, extra in (("highs", 2.0, 0), ("fast", 0.5, 0), ("off", 1.0, 3)):
            row = report_rows.row(FEW[0], 1.0, repeat, rng, oracle=oracle, seconds=seconds)
            row |= {"train_errors": 100 + repeat + extra, "guarantee": "VOID"}
            records.append(row | {"run_id": f"{oracle}/{repeat}"})
    _, series, runs, views = read(tmp_path, records)
    assert [one.title for one in series] == [
        f"Permute-and-flip ({oracle})" for oracle in ("highs", "fast", "off")
    ]
    lines = sweep_lines(runs)
    assert [(line.oracle, line.agreement, line.ratio) for line in lines] == [
        ("fast", "4 of 4", "1.0×"),
        ("off", "0 of 4", "2.0×"),
        ("highs", "4 of 4", "4.0×"),
    ]
    rankings = rank(*views[0])
    assert rankings == ()
    cases, times = sweep_sentences(runs)
    assert "in 0 of 4 cases" in cases
    assert "fast 0.5 s, off 1 s, highs 2 s" in times
    page = text_of(write_report(tmp_path).read_text(encoding="utf-8"))
    assert "same noise on purpose" in page and cases in page and times in page
    assert "majority" not in page[: page.index("same noise on purpose")]


# --- scorecards, receipts, drawing ---------------------------------------------------------------


def test_scorecards_of_the_first_repeat_become_columns(tmp_path):
    _, series, runs, _ = read(tmp_path, report_rows.rows(FEW, repeats=2))
    repeat, tables = card_tables(runs, series)
    table = tables[0]
    assert repeat == 0
    assert table.heads == tuple(f"ε = {e:g}" for e in report_rows.EPSILONS)
    points = dict(table.lines)
    assert points["start with"] == ("−1",) * 6
    assert points["marital-status = Married-civ-spouse"] == ("+1", "+2", "+2", "+2", "+2", "+2")
    assert table.rule.startswith("Predict income-per-year. Total of 1 or more: >50K.")


@pytest.mark.parametrize("data", [None, "Predict x", {"points": [1]}])
def test_a_scorecard_without_its_data_is_shown_as_the_text_it_was_stored_as(tmp_path, data):
    records = report_rows.rows(FEW, epsilons=(0.1, 1.0), repeats=1)
    learned = [record for record in records if record["scorecard"]]
    learned[0]["scorecard_data"] = data
    _, series, runs, _ = read(tmp_path, records)
    _, tables = card_tables(runs, series)
    first, *others = tables
    assert first.lines == () and all(table.lines for table in others)
    assert [head for head, _ in first.texts] == ["ε = 0.1", "ε = 1"]
    assert all(text.startswith("Predict income-per-year\n") for _, text in first.texts)


def test_equal_receipts_are_shown_once(tmp_path):
    _, series, runs, _ = read(tmp_path, report_rows.rows(FEW, epsilons=(0.1, 1.0), repeats=3))
    found = receipts(runs, series)
    assert [receipt.runs for receipt in found] == [3, 3, 3, 3]
    assert found[0].heading == "Permute-and-flip, ε = 0.1: HOLDS"
    assert found[0].fields[0] == ("guarantee", "HOLDS")


PATIENTS = "one patient (at most 3 rows)"
UNITS = {
    "stated": ({"rows_per_unit": 3}, PATIENTS),
    "one row": ({"rows_per_unit": 1}, "one patient"),
    "an older loss": ({"sensitivity": 6}, PATIENTS),
    "an older loss with costs": (
        {"sensitivity": 30, "error_costs": {"false_negative": 5, "false_positive": 1}},
        PATIENTS,
    ),
    "older votes": ({"sensitivity": 6, "mechanism": "robust_vote"}, PATIENTS),
    "older scores": ({"score_sensitivity": 3}, PATIENTS),
    "not told": ({}, "one patient"),
    "no number": ({"rows_per_unit": "3?"}, "one patient"),
    "costs of nothing": ({"sensitivity": 6, "error_costs": {"false_negative": 0}}, "one patient"),
}


@pytest.mark.parametrize("told", UNITS)
def test_the_unit_of_a_receipt_is_shown_with_its_rows(told, tmp_path):
    facts, words = UNITS[told]
    records = report_rows.rows(FEW[:1], epsilons=(1.0,), repeats=1)
    for record in records:
        record["receipt"] |= {"privacy_unit": "one patient", **facts}
    _, series, runs, _ = read(tmp_path, records)
    assert [promise.unit for promise in promises(runs, series)] == [words]
    assert all(("privacy_unit", words) in one.fields for one in receipts(runs, series))
    page = text_of(write_report(tmp_path).read_text(encoding="utf-8"))
    assert "protects neighbours calibration" in page and page.count(words) >= 2


def test_a_method_without_a_receipt_says_its_unit_or_that_none_is_known(tmp_path):
    records = report_rows.rows(FEW[:2], epsilons=(1.0,), repeats=1)
    for record, unit in zip(records, (PATIENTS, None), strict=True):
        record |= {"receipt": None, "receipt_digest": None, "unit": unit}
    _, series, runs, _ = read(tmp_path, records)
    assert [promise.unit for promise in promises(runs, series)] == [PATIENTS, "–"]


def test_labels_keep_their_order_and_distance():
    heights = [0.5, 0.5, 0.51, 0.1, 0.99, 0.98]
    places = spread_out(heights, gap=0.1)
    order = np.argsort(heights, kind="stable")
    assert np.all(np.diff(np.array(places)[order]) >= 0.1 - 1e-12)
    assert 0 <= min(places) and max(places) <= 1 + 1e-12
    assert places[3] == pytest.approx(0.1)


def _luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def _contrast(first, second):
    bright, dim = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_every_colour_can_be_read_as_text_on_its_background(tmp_path):
    """WCAG 2.2, 1.4.3: 4.5 to 1 for text."""
    methods = [
        (f"{family}{i}", f"{family}{i}", family, family != "reference", "fixed", "HOLDS", 0.1, 1)
        for family in ("opdisc", "convex", "peer", "reference")
        for i in range(7)
    ]
    _, series, *_ = read(tmp_path, report_rows.rows(methods, epsilons=(1.0,), repeats=1))
    found = styles(series)
    assert len(found) == 28
    for style in found.values():
        assert _contrast(style.light, LIGHT_BACKGROUND) >= 4.5
        assert _contrast(style.dark, DARK_BACKGROUND) >= 4.5
    shapes = {(style.light, style.marker) for style in found.values()}
    assert len(shapes) == 28


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """An unfinished comparison with failures, a torn line, and text that tries to be markup."""
    directory = tmp_path_factory.mktemp("comparison")
    records = report_rows.rows(FEW, epsilons=(0.1, 1.0), repeats=3)
    for record in records:
        record["title"] += HOSTILE
        record["dataset"] = f"table {HOSTILE}"
        if record["scorecard"]:
            for name in ("scorecard", "scorecard_data"):
                text = json.dumps(record[name]).replace("education-num", json.dumps(HOSTILE)[1:-1])
                record[name] = json.loads(text)
        if record["receipt"]:
            record["receipt"] |= {"privacy_unit": HOSTILE, HOSTILE: HOSTILE}
        record["conditions"] = [HOSTILE for _ in record["conditions"]]
    lost = [i for i, r in enumerate(records) if r["method"] == "logistic-objective"]
    records[lost[0]] = report_rows.failed(records[lost[0]], error=f"stopped {HOSTILE}")
    records[lost[1]] = report_rows.failed(records[lost[1]], "time limit", "over 120 s")
    settings = report_rows.SETTINGS | {
        "dataset": f"table {HOSTILE}",
        "arguments": {"data": HOSTILE, HOSTILE: [HOSTILE]},
        "n_runs": 20,
    }
    report_rows.write(directory, records, settings)
    with (directory / "runs.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"run_id": "torn", "meth')
    assert write_report(directory) == directory / "report.html"
    return directory


def test_the_page_says_first_that_its_numbers_are_not_private(written):
    text = text_of((written / "report.html").read_text(encoding="utf-8"))
    warning = text.index("The numbers on this page are not private")
    assert warning < text.index("Summary") < text.index("Leads")
    assert "Together, the 12 private fits made here sum up to ε = 6.6." in text


def test_the_page_tells_what_failed_and_what_is_missing(written):
    text = text_of((written / "report.html").read_text(encoding="utf-8"))
    assert "15 of 20 planned runs are there" in text
    assert "1 run failed and 1 run hit the time limit. They" in text
    assert "An incomplete last line of the results was left out." in text
    assert "2 of 3 1 without result" in text
    assert "over 120 s" in text


def test_text_of_the_data_is_escaped_everywhere(written):
    page = (written / "report.html").read_text(encoding="utf-8")
    assert page.count("<script") == 1
    assert "&lt;script&gt;alert" in page
    for figure in (written / "figures").glob("*.svg"):
        assert "<script" not in figure.read_text(encoding="utf-8")


def test_the_page_needs_no_other_file_and_no_network(written):
    page = (written / "report.html").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/1999/xlink"}
    assert not re.findall(
        r"<(?:img|iframe|object|embed|link(?! rel=\"icon\" href=\"data:,\"))", page
    )
    assert not re.findall(r"\bsrc=|@import|url\((?!#)", page)
    targets = set(re.findall(r"<a [^>]*href=\"([^\"]+)\"", page))
    assert {t for t in targets if not t.startswith("#")} == {
        "summary.csv",
        *(f"figures/{path.name}" for path in (written / "figures").iterdir()),
    }
    ids = re.findall(r"\bid=\"([^\"]+)\"", page)
    assert len(ids) == len(set(ids))
    used = set(
        re.findall(r"(?:url\(|href=\"|aria-controls=\"|aria-labelledby=\")#?([\w-]+)", page)
    )
    assert {name for name in used if name.startswith(("accuracy", "regret", "seconds"))} <= set(
        ids
    )


def test_the_script_is_the_one_that_the_policy_allows(written):
    import base64
    import hashlib

    page = (written / "report.html").read_text(encoding="utf-8")
    script = re.search(r"<script>(.*?)</script>", page, flags=re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page


def test_the_table_of_means_is_that_of_the_runs(written):
    with (written / "summary.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    runs = [json.loads(line) for line in (written / "runs.jsonl").read_text().split("\n")[:-1]]
    assert len(lines) == 2 * 5
    for line in lines:
        epsilon = float(line["epsilon"]) if line["epsilon"] else None
        mine = [r for r in runs if (r["method"], r["epsilon"]) == (line["method"], epsilon)]
        values = [r["test_accuracy"] for r in mine if r["status"] == "ok"]
        assert int(line["runs_ok"]) == len(values)
        stopped = int(line["runs_failed"]) + int(line["runs_time_limit"])
        assert stopped == len(mine) - len(values)
        assert float(line["test_accuracy_mean"]) == pytest.approx(np.mean(values))
        assert float(line["test_accuracy_stddev"]) == pytest.approx(np.std(values, ddof=1))


def test_figures_are_there_as_files_of_their_own(written):
    names = {path.name for path in (written / "figures").iterdir()}
    stems = ("accuracy-held-out", "accuracy-training", "regret")
    assert names == {
        *(f"{stem}{end}.svg" for stem in stems for end in ("", "-ci95")),
        *(f"{stem}.svg" for stem in ("seconds", "roc-held-out")),
    }
    for path in (written / "figures").iterdir():
        root = ElementTree.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg" and "var(" not in path.read_text()


def test_stopped_solves_are_an_open_bar_at_their_limit(tmp_path):
    methods = [BY_NAME[n] for n in ("opdisc", "opdisc-published", "logistic-objective", "optimum")]
    records = report_rows.rows(methods, epsilons=(0.1, 1.0), repeats=4)
    for record in records:
        is_solved = not record["method"].startswith("logistic")
        record["solve_seconds"] = 0.9 * record["seconds"] if is_solved else None
    never = "no certificate came within the time limit of 60 seconds, so nothing was released."
    for number, record in enumerate(records):
        if record["method"] == "opdisc-published":
            stopped = report_rows.failed(record, "time limit", never)
            records[number] = stopped | {"seconds": 60.0, "solve_seconds": None}
    report_rows.write(tmp_path, records)
    page = write_report(tmp_path).read_text(encoding="utf-8")
    drawn = ElementTree.parse(tmp_path / "figures" / "solves.svg").getroot()
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "Logistic, objective perturbation" not in texts
    assert texts.index("8 at the time limit") == texts.index("OPDisc as published") + 1
    paths = list(drawn.iter("{http://www.w3.org/2000/svg}path"))
    opened = [path for path in paths if "stroke-width:1.4" in path.get("style")]
    filled = [path for path in paths if "stroke:none" in path.get("style")]
    assert len(opened) == 1 and filled
    # The open bar begins right of every bar, for all that ended were faster than the limit.
    begin = float(re.match(r"M([\d.]+),", opened[0].get("d"))[1])
    ends = [float(x) for path in filled for x in re.findall(r"([\d.]+),", path.get("d"))]
    assert begin > max(ends)
    assert "Seconds of an oracle&#39;s solve" in page and 'href="figures/solves.svg"' in page


def test_one_method_at_one_epsilon_beside_a_constant_is_drawn_without_a_warning(tmp_path):
    methods = [m for m in report_rows.METHODS if m[0] in ("auto", "majority")]
    report_rows.write(tmp_path, report_rows.rows(methods, epsilons=(0.01,), repeats=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert write_report(tmp_path).is_file()


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path):
    report_rows.write(tmp_path, report_rows.rows(FEW[:1], epsilons=(1.0,), repeats=1))
    (tmp_path / "report.html").write_text("old")
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(ReportError, match="figures is a file; move it away"):
        write_report(tmp_path)
    assert (tmp_path / "report.html").read_text() == "old"
    assert not list(tmp_path.glob(".*.tmp"))


def test_results_that_cannot_be_read_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(ReportError, match=r"settings\.json' cannot be read: No such file"):
        write_report(tmp_path)
    report_rows.write(tmp_path, [])
    with pytest.raises(ReportError, match="needs at least one finished run"):
        write_report(tmp_path)
    (tmp_path / "runs.jsonl").write_text('{"run_id": 1}\n{}\n')
    with pytest.raises(ReportError, match="line 1 of .* is not"):
        write_report(tmp_path)
    (tmp_path / "settings.json").write_text("[]")
    with pytest.raises(ReportError, match="must be a JSON object"):
        write_report(tmp_path)


def test_a_comparison_in_which_everything_failed_has_a_report(tmp_path):
    records = [report_rows.failed(r) for r in report_rows.rows(FEW, epsilons=(1.0,), repeats=2)]
    page = write_report(report_rows.write(tmp_path, records)).read_text(encoding="utf-8")
    assert "No private method could be ranked" in text_of(page)
    assert "Nothing is ranked" in text_of(page)
    assert text_of(page).count("the solver stopped") == 6


def test_importing_the_package_draws_nothing_in():
    code = (
        "import sys, opdisc, opdisc.report; "
        "print(*({'matplotlib', 'jinja2', 'PIL'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_the_report_is_written_where_matplotlib_is_missing(tmp_path):
    report_rows.write(tmp_path, report_rows.rows(FEW, epsilons=(0.1, 1.0), repeats=2))
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['PIL'] = None; "
        f"from opdisc.report import write_report; print(write_report({str(tmp_path)!r}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(tmp_path / "report.html")
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 8


@pytest.mark.parametrize("name", ["report.html", "summary.csv"])
def test_a_directory_in_the_way_of_a_file_is_found_before_the_work(name, tmp_path):
    check_places(tmp_path)
    (tmp_path / name).mkdir()
    with pytest.raises(ReportError, match=f"{name} is a directory; move it away"):
        check_places(tmp_path)


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to("nowhere")])
def test_something_else_in_the_place_of_the_figures_is_found(make, tmp_path):
    make(tmp_path / "figures")
    with pytest.raises(ReportError, match="figures is a file; move it away"):
        check_places(tmp_path)


def test_a_place_that_is_not_writable_is_found(tmp_path, monkeypatch):
    (tmp_path / "figures").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "figures")
    with pytest.raises(ReportError, match="figures is not; change its permissions"):
        check_places(tmp_path)
