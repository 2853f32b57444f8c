"""Validating a released card: what is counted, what it costs, and what its receipt promises."""

import itertools
import json
import os
import random
from fractions import Fraction
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.cards import any_model, any_row, released_cards
from helpers.opdisc.validated import (
    SCHEMA,
    exact_cells,
    logistic_card,
    made_card,
    made_rows,
    write_rows,
)
from scipy import stats

from opdisc import (
    Ledger,
    PrivateLogisticRegression,
    PrivateScorecardClassifier,
    Schema,
    count_rows,
    load_model,
    save_model,
    validate_card,
)
from opdisc.errors import CalibrationError, LedgerError, ModelFileError, SchemaError, TableError
from opdisc.models import SavedModel, load_report, report_json, report_text, save_report
from opdisc.models.validation.groups import answers_positive, card_groups, count_groups
from opdisc.models.validation.shift import FLOOR, shift_between
from opdisc.noise import lattice

DRAWS = 1_000


def in_figure(value, figure):
    return figure.low - 1e-9 <= value <= figure.high + 1e-9


def noisy_cells(report):
    return [(group.negatives, group.positives) for group in report.groups]


@pytest.mark.parametrize("card", [made_card(), logistic_card()], ids=["plain", "logistic"])
@pytest.mark.parametrize("unlabelled", [0.0, 0.2])
def test_at_a_huge_epsilon_the_counts_are_those_of_the_rows(card, unlabelled):
    rows = made_rows(500, 3, unlabelled=unlabelled)
    report = validate_card(card, rows, epsilon=500.0)
    cells = exact_cells(card, rows, report)
    assert noisy_cells(report) == cells
    labelled = rows[rows["ill"].notna()]
    right = card.predict(labelled) == labelled["ill"].to_numpy()
    assert report.accuracy.estimate == pytest.approx(right.mean())
    answers, ill = card.predict(labelled) == "yes", labelled["ill"].to_numpy() == "yes"
    counts = {name: figure.estimate for name, figure in report.four_counts.items()}
    assert counts == {
        "true_positives": (answers & ill).sum(),
        "false_positives": (answers & ~ill).sum(),
        "false_negatives": (~answers & ill).sum(),
        "true_negatives": (~answers & ~ill).sum(),
    }
    for one, (negatives, positives) in zip(report.calibration, cells, strict=True):
        if negatives + positives:
            assert one.rate.estimate == pytest.approx(positives / (negatives + positives))


def test_groups_never_mix_answers_and_a_logistic_card_states_its_chances():
    card = logistic_card()
    assert card.scorecard.threshold != 1
    report = validate_card(card, made_rows(500, 3), epsilon=1.0)
    for group in report.groups:
        ends = {total >= card.scorecard.threshold for total in (group.lowest, group.highest)}
        assert ends == {group.answers_positive}
        assert group.chance_low <= group.chance_high
    stated = [group.chance_low for group in report.groups]
    assert stated == sorted(stated)
    assert "the card says" in report_text(report)


def test_a_card_that_scores_the_other_label_is_counted_by_its_answers():
    rows = made_rows(500, 5)
    scale = {"points0": 600, "odds0": 50, "pdo": 20, "high": "no"}
    classifier = PrivateScorecardClassifier(
        schema=Schema.from_dict(SCHEMA), mechanism="logistic", epsilon=5.0, odds_scale=scale
    )
    card = classifier.fit(rows, rows["ill"]).to_model()
    report = validate_card(classifier, rows, epsilon=500.0)
    assert noisy_cells(report) == exact_cells(card, rows, report)
    right = card.predict(rows) == rows["ill"].to_numpy()
    assert report.accuracy.estimate == pytest.approx(right.mean())
    stated = [group.chance_high for group in report.groups]
    assert stated == sorted(stated, reverse=True)


def test_a_card_with_a_scale_of_large_points_is_counted_at_once():
    rows = made_rows(500, 5)
    scale = {"points0": 1_000_000, "odds0": 50, "pdo": 20_000}
    classifier = PrivateScorecardClassifier(
        schema=Schema.from_dict(SCHEMA), mechanism="logistic", epsilon=5.0, odds_scale=scale
    ).fit(rows, rows["ill"])
    report = validate_card(classifier, rows, epsilon=500.0)
    assert noisy_cells(report) == exact_cells(classifier.to_model(), rows, report)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_every_interval_keeps_its_level_over_a_thousand_draws(relation):
    """False alarm: 1e-6 for each of about 20 figures; the seeds are fixed."""
    card, seeds = made_card(), np.random.RandomState(0)
    rows, drifted = made_rows(400, 1, unlabelled=0.1), made_rows(400, 2, fever=0.6)
    tables = [count_rows(each, card.schema) for each in (rows, drifted)]
    sure = {"epsilon": 900.0, "relation": relation}
    first = validate_card(card, tables[0], **sure, random_state=0)
    truth = report_numbers(
        first, validate_card(card, tables[1], **sure, since=first, random_state=1)
    )
    covered = dict.fromkeys(truth, 0)
    for _ in range(DRAWS):
        options = {"epsilon": 0.4, "relation": relation, "random_state": seeds}
        before = validate_card(card, tables[0], since=first, **options)
        after = validate_card(card, tables[1], since=before, **options)
        for name, figure in report_figures(before, after).items():
            covered[name] += in_figure(truth[name], figure)
    fewest = stats.binom.ppf(1e-6, DRAWS, 0.95)
    assert {name: hits for name, hits in covered.items() if hits < fewest} == {}
    # The level is not bought by intervals that say nothing.
    assert after.accuracy.high - after.accuracy.low < 0.35


def report_figures(before, after):
    """Return every figure of a pair of reports, by name."""
    shift = shift_between(before, after)
    rates = {f"rate {k}": one.rate for k, one in enumerate(after.calibration)}
    return {
        "accuracy": after.accuracy,
        "accuracy before": before.accuracy,
        **after.four_counts,
        **rates,
        "difference": shift.difference,
        "index": shift.index,
    }


def report_numbers(before, after):
    """Return the true numbers from reports without noise, each by its definition."""
    p, q = (np.array([sum(cell) for cell in noisy_cells(each)]) for each in (before, after))
    p, q = p / p.sum(), q / q.sum()
    exact = {name: figure.estimate for name, figure in report_figures(before, after).items()}
    exact["difference"] = np.abs(np.cumsum(p) - np.cumsum(q)).max()
    p, q = np.maximum(p, FLOOR), np.maximum(q, FLOOR)
    exact["index"] = ((p - q) * np.log(p / q)).sum()
    return exact


@pytest.mark.statistical
def test_tables_that_drifted_are_told_from_those_that_did_not():
    """False alarm: 100 pairs at 5% each give more than 20 with probability below 1e-7."""
    card, seeds, moved = made_card(), np.random.RandomState(0), {0.4: 0, 0.65: 0}
    for k in range(100):
        options = {"epsilon": 1.0, "random_state": seeds}
        earlier = validate_card(card, made_rows(1_500, 2 * k), **options)
        for fever in moved:
            rows = made_rows(1_500, 2 * k + 1, fever=fever)
            later = validate_card(card, rows, since=earlier, **options)
            moved[fever] += shift_between(earlier, later).moved
    assert moved[0.4] <= 20 and moved[0.65] >= 80


def test_the_noise_is_that_of_the_promise(tmp_path):
    path = write_rows(tmp_path / "rows.csv", 100, 1)
    for relation, changed in (("replace_one", 2), ("add_or_remove_one", 1)):
        receipt = validate_card(made_card(), path, epsilon=0.3, relation=relation).receipt
        assert receipt.guarantee == "HOLDS" and receipt.conditions == ()
        assert receipt.sensitivity == changed and receipt.rate == Fraction(0.3) / changed
        assert receipt.n_rows == (100 if relation == "replace_one" else None)
        assert receipt.epsilon == 0.3 and receipt.delta == 0


def test_no_row_moves_the_counts_by_more_than_the_noise_is_made_for():
    """Brute force: every row of the schema, with each label and with none, replaced by every."""
    card = made_card()
    bins = card_groups(card, 30)
    kinds = [
        {"fever": fever, "cough": cough, "age": age, "ill": ill}
        for fever, cough, age, ill in itertools.product(
            (0, 1), (0, 1), (20, 40, 70), ("no", "yes", None)
        )
    ]
    empty = count_groups(card, count_rows(made_rows(5, 1).iloc[:0], card.schema), bins)
    cells = [count_groups(card, count_rows(pd.DataFrame([k]), card.schema), bins) for k in kinds]
    assert max(np.abs(one - empty).sum() for one in cells) == 1
    moved = [np.abs(a - b).sum() for a, b in itertools.product(cells, cells)]
    assert max(moved) == 2


def test_rows_of_a_unit_are_paid_for():
    card = made_card()
    schema = Schema.from_dict(SCHEMA | {"unit": "one patient", "rows_per_unit": 3})
    receipt = msgspec.structs.replace(
        card.receipt,
        schema_digest=schema.digest(),
        privacy_unit="one patient",
        rows_per_unit=3,
    )
    card = type(card)(scorecard=card.scorecard, schema=schema, receipt=receipt)
    report = validate_card(card, made_rows(50, 1), epsilon=1.0)
    assert "also those of one unit" in report_text(report, report)
    receipt = report.receipt
    assert receipt.sensitivity == 6 and "one patient (at most 3 rows)" in str(receipt)


def test_a_frame_and_a_seed_keep_their_words():
    receipt = validate_card(made_card(), made_rows(50, 1), epsilon=1.0).receipt
    assert receipt.guarantee == "CONDITIONAL" and "dtypes were declared" in receipt.conditions[0]
    seeded = validate_card(made_card(), made_rows(50, 1), epsilon=1.0, random_state=0).receipt
    assert seeded.guarantee == "VOID"


def test_the_receipt_with_less_noise_is_no_receipt():
    receipt = validate_card(made_card(), made_rows(50, 1), epsilon=1.0).receipt
    for change in ({"noise_scales": (1.0,)}, {"sensitivity": 1}, {"epsilon": 0.5}):
        with pytest.raises(ValueError):
            type(receipt).from_dict(receipt.to_dict() | change)


def test_one_charge_before_the_draw(tmp_path, monkeypatch):
    book = Ledger(tmp_path / "ledger")
    validate_card(made_card(), made_rows(50, 1), epsilon=0.5, ledger=book)
    (charge,) = book.spendings()
    assert charge.epsilon == 0.5 and charge.mechanism == "validation"

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(lattice, "_bernoulli", stopped)
    with pytest.raises(KeyboardInterrupt):
        validate_card(made_card(), made_rows(50, 1), epsilon=0.25, ledger=book.path)
    assert [each.epsilon for each in book.spendings()] == [0.5, 0.25]


def test_a_cap_refuses_before_anything_is_drawn(tmp_path, monkeypatch):
    book = Ledger.create(tmp_path / "ledger", epsilon_limit=1.0)
    monkeypatch.setattr(lattice, "_bernoulli", None)  # a draw would fail otherwise
    with pytest.raises(LedgerError, match="caps epsilon"):
        validate_card(made_card(), made_rows(50, 1), epsilon=2.0, ledger=book)
    assert not book.spendings()


def three_classes():
    target = {"column": "ill", "classes": ["no", "yes", "maybe"]}
    return released_cards(SCHEMA | {"target": target}, [(0, 1, 1, 0, 0), (0, 0, 1, 0, 1)])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"epsilon": 0.0}, CalibrationError),
        ({"epsilon": 1e-15}, CalibrationError),
        ({"epsilon": float("nan")}, CalibrationError),
        ({"relation": "swap"}, CalibrationError),
        ({"public_row_guess": 0}, CalibrationError),
        ({"since": made_rows(5, 1)}, ModelFileError),
        ({"since": "not-there.json"}, ModelFileError),
        ({"model": "card.json"}, ModelFileError),
        ({"model": three_classes()}, ModelFileError),
    ],
)
def test_what_needs_no_rows_is_refused_before_they_are_read(tmp_path, change, error):
    class Unread:
        """A table that nobody may look at."""

        def __getattr__(self, name):
            raise AssertionError(name)

    book = Ledger(tmp_path / "ledger")
    arguments = {"model": made_card(), "epsilon": 1.0, "ledger": book} | change
    with pytest.raises(error) as refused:
        validate_card(arguments.pop("model"), Unread(), **arguments)
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)
    assert not book.spendings()


def test_a_linear_model_is_refused():
    rows = made_rows(200, 1)
    numbers = rows[["fever", "cough"]].to_numpy(dtype=float)
    linear = PrivateLogisticRegression(epsilon=5.0, data_norm=2.0).fit(numbers, rows["ill"])
    with pytest.raises(ModelFileError, match="scorecard of two classes"):
        validate_card(linear, rows, epsilon=1.0)


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (made_rows(5, 1).drop(columns="ill"), (TableError, SchemaError)),
        (made_rows(5, 1).assign(age="old"), (TableError, SchemaError)),
        (made_rows(5, 1).assign(ill="perhaps"), (TableError, SchemaError)),
        (made_rows(5, 1).iloc[:0], TableError),
        (count_rows(pd.DataFrame({"x0": [0], "target": [1]}), Schema.equal_width(1)), TableError),
    ],
)
def test_rows_that_cannot_be_read_cost_nothing(tmp_path, table, error):
    book = Ledger(tmp_path / "ledger")
    with pytest.raises(error):
        validate_card(made_card(), table, epsilon=1.0, ledger=book)
    assert not book.spendings()


def test_where_the_number_of_rows_is_hidden_no_rows_are_a_table_too():
    empty = made_rows(5, 1).iloc[:0]
    options = {"epsilon": 500.0, "relation": "add_or_remove_one"}
    report = validate_card(made_card(), empty, **options)
    assert report.receipt.n_rows is None and report.four_counts["true_positives"].high == 0


def test_counts_and_files_give_the_same(tmp_path):
    card, path = made_card(), write_rows(tmp_path / "rows.csv", 80, 1)
    counts = count_rows(path, card.schema)
    both = [validate_card(card, each, epsilon=1.0, random_state=0) for each in (path, counts)]
    assert both[0] == both[1]


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "report.json"
    save_report(validate_card(made_card(), made_rows(200, 1), epsilon=1.0), path)
    return path


def rewritten(path, change):
    """Write a report's fields changed, with a digest that fits."""
    from opdisc.models.document import model_digest

    record = json.loads(path.read_text())
    del record["sha256"]
    change(record)
    path.write_text(json.dumps(record | {"sha256": model_digest(record)}))


def test_a_report_is_read_as_it_was_saved(saved):
    report = load_report(saved)
    assert report.to_dict() == json.loads(saved.read_text())
    again = validate_card(made_card(), made_rows(200, 2), epsilon=1.0, since=saved)
    assert "Since the earlier report" in report_text(again, report)
    assert json.loads(json.dumps(report_json(again, report)))["shift"]["moved"] in (True, False)


CHANGES = {
    "a field more": lambda r: r.update(extra=1),
    "a field less": lambda r: r.pop("classes"),
    "no groups": lambda r: r.update(groups=[]),
    "a group less": lambda r: r["groups"].pop(),
    "groups in disorder": lambda r: r["groups"].reverse(),
    "a text for a count": lambda r: r["groups"][0].update(negatives="3"),
    "a huge count": lambda r: r["groups"][0].update(negatives=2**70),
    "two changes of answer": lambda r: [
        g.update(answers_positive=k % 2 == 0) for k, g in enumerate(r["groups"])
    ],
    "one chance": lambda r: r["groups"][0].update(chance_low=0.5),
    "less noise": lambda r: r["receipt"].update(noise_scales=[0.1]),
    "another promise": lambda r: r["receipt"].update(epsilon=0.1),
    "a forged line": lambda r: r.update(target="ill\nguarantee: HOLDS"),
    "a group that is none": lambda r: r.update(groups=[3]),
    "a card that is none": lambda r: r["receipt"].update(card="ff"),
    "another format": lambda r: r.update(format="opdisc-model"),
    "another version": lambda r: r.update(version=2),
    "a version that is a word": lambda r: r.update(version=True),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_report_that_contradicts_itself_is_refused(saved, name):
    rewritten(saved, CHANGES[name])
    with pytest.raises(ModelFileError) as refused:
        load_report(saved)
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)


def test_a_report_that_was_altered_is_refused(saved):
    saved.write_text(saved.read_text().replace('"target": "ill"', '"target": "all"'))
    with pytest.raises(ModelFileError, match="unaltered"):
        load_report(saved)


def test_a_report_of_another_card_or_of_mixed_groups_is_refused(saved):
    with pytest.raises(ModelFileError, match="same card"):
        validate_card(logistic_card(), made_rows(20, 1), epsilon=1.0, since=saved)

    def mix(record):
        for group in record["groups"]:
            group["answers_positive"] = True

    rewritten(saved, mix)
    with pytest.raises(ModelFileError, match="mix"):
        validate_card(made_card(), made_rows(20, 1), epsilon=1.0, since=saved)


def test_reports_of_two_cards_are_not_compared(saved):
    other = validate_card(logistic_card(), made_rows(50, 1), epsilon=1.0)
    with pytest.raises(CalibrationError, match="one card"):
        shift_between(load_report(saved), other)


def test_a_card_of_any_saved_version_is_validated(tmp_path):
    save_model(made_card(), tmp_path / "card.json")
    card = load_model(tmp_path / "card.json")
    report = validate_card(card, made_rows(50, 1), epsilon=1.0)
    written = json.loads((tmp_path / "card.json").read_text())["sha256"]
    assert report.receipt.card == written and os.path.exists(tmp_path / "card.json")


STORED = Path(__file__).parents[3] / "data" / "validation_1"
"""A card and its report as version 1 of the format wrote them; never written again."""


def test_a_stored_report_still_says_the_same_and_is_compared_with():
    report = load_report(STORED / "report.json")
    assert report.to_dict() == json.loads((STORED / "report.json").read_text())
    card = load_model(STORED / "card.json")
    later = validate_card(card, made_rows(500, 8), epsilon=1.0, since=report, random_state=0)
    assert shift_between(report, later).moved is False
    assert report.receipt.guarantee == "HOLDS" and report.receipt.epsilon == 1.0
    found = (report.accuracy.low, report.accuracy.estimate, report.accuracy.high)
    assert found == pytest.approx((0.68566, 0.71906, 0.75246), abs=1e-5)


OLD = Path(__file__).parents[3] / "data" / "version_0_1_dev"


def two_class_cards():
    loaded = {path.stem: load_model(path) for path in sorted(OLD.glob("scorecard*.json"))}
    return {name: card for name, card in loaded.items() if isinstance(card, SavedModel)}


def test_cards_of_earlier_versions_are_validated():
    rows = pd.read_csv(OLD / "table.csv", dtype=str, keep_default_na=False)
    validated = 0
    for card in two_class_cards().values():
        needed = {*card.schema.columns, card.schema.target.column}
        if needed <= set(rows.columns):
            report = validate_card(card, rows, epsilon=1.0)
            validated += report.receipt.card == card.to_dict()["sha256"]
    assert validated >= 3


@pytest.mark.parametrize("seed", range(30))
def test_any_card_is_counted_as_it_predicts(seed):
    """Cards of every kind of feature, with points of both signs, on rows of all kinds of cells."""
    rng = random.Random(seed)
    card = any_model(rng)
    cells = [any_row(rng, card.schema, unreadable=0.0) for _ in range(60)]
    rows = pd.DataFrame(cells, columns=list(card.schema.columns), dtype=object)
    negative, positive = card.schema.classes
    rows[card.schema.target.column] = rng.choices([str(negative), str(positive)], k=len(rows))
    report = validate_card(card, rows, epsilon=500.0)
    answers = card.predicts_positive(rows)
    ill = rows[card.schema.target.column].to_numpy() == str(positive)
    counts = {name: figure.estimate for name, figure in report.four_counts.items()}
    assert counts["true_positives"] == (answers & ill).sum()
    assert counts["false_positives"] == (answers & ~ill).sum()
    assert counts["true_negatives"] == (~answers & ~ill).sum()
    assert all(
        answers_positive(card, total) is group.answers_positive
        for group in report.groups
        for total in (group.lowest, group.highest)
    )


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 0.01, 1.0, 40.0, 1e5])
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_every_budget_ends_with_a_report_that_can_be_printed(epsilon, relation):
    options = {"epsilon": epsilon, "relation": relation}
    first = validate_card(made_card(), made_rows(300, 1), **options)
    second = validate_card(made_card(), made_rows(300, 2), since=first, **options)
    record = report_json(second, first)
    for figure in (record["accuracy"], *record["counts"].values(), record["shift"]["difference"]):
        assert figure["low"] <= figure["estimate"] <= figure["high"]
    assert json.loads(json.dumps(record, allow_nan=False)) and report_text(second, first)
