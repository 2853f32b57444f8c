"""Whatever fails once a budget is on disk says one sentence, wherever the draws are."""

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.validated import made_card, made_rows

import opdisc
from opdisc.errors import UncertifiedRelease

MECHANISMS = "opdisc.mechanisms."
X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 60)
TABLE = pd.DataFrame({"age": np.arange(240) % 80, "x": X[:, 1]})
FOUND = {
    "name": "t",
    "target": {"column": "y", "positive": "1", "negative": "0"},
    "feature": [
        {"column": "age", "thresholds": {"quantiles": 1, "range": [0, 100]}},
        {"column": "x", "thresholds": [1], "range": [0, 1]},
    ],
}


def scorecard(**settings):
    return lambda ledger: opdisc.PrivateScorecardClassifier(ledger=ledger, **settings).fit(
        X, X[:, 0]
    )


def with_thresholds(ledger):
    model = opdisc.PrivateScorecardClassifier(schema=FOUND, risk_budget=0.2, ledger=ledger)
    model.fit(TABLE, X[:, 0].astype(str))


def several_cards(ledger):
    model = opdisc.PrivateMulticlassClassifier(
        classes=(0, 1, 2), risk_budget=0.2, ledger=ledger, epsilon=3.0
    )
    model.fit(X, X.sum(axis=1))


def vote(ledger):
    opdisc.RobustVoteClassifier(n_parts=3, isolation="none", ledger=ledger).fit(X, X[:, 0])


def opsamp(ledger):
    opdisc.OPSampClassifier(feature_range=(0, 1), ledger=ledger).fit(X, X[:, 0])


def validation(ledger):
    opdisc.validate_card(made_card(), made_rows(50, 3), epsilon=1.0, ledger=ledger)


@pytest.mark.parametrize(
    ("release", "place"),
    [
        (scorecard(risk_budget=0.2), "composition.risks.count_by_bin"),
        (scorecard(risk_budget=0.2), "composition.risks.discrete_laplace"),
        (with_thresholds, "composition.risks.count_by_bin"),
        (several_cards, "composition.risks.count_by_bin"),
        (vote, "robust_vote.run.part_numbers"),
        (vote, "robust_vote.run.collect_votes"),
        (vote, "robust_vote.rules.RobustVoteMechanism.choose"),
        (opsamp, "opsamp.run.discrete_laplace"),
        (validation, "opdisc.mechanisms.composition.validation.noisy_counts"),
    ],
)
def test_a_failure_after_the_charge_says_nothing_of_it(release, place, tmp_path, monkeypatch):
    seen = []

    def fail(*_):
        seen.append(len(opdisc.Ledger(tmp_path / "book").spendings()))
        raise ValueError("xq7canary")

    monkeypatch.setattr(place if place.startswith("opdisc.") else MECHANISMS + place, fail)
    with pytest.raises(UncertifiedRelease, match="the budget is spent") as caught:
        release(tmp_path / "book")
    assert "xq7" not in str(caught.value) and seen == [1]
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert len(opdisc.Ledger(tmp_path / "book").spendings()) == 1
