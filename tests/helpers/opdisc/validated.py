"""A card that is known, tables that drifted and did not, and what an exact validation says."""

import numpy as np
import pandas as pd
from helpers.opdisc.cards import released

from opdisc import PrivateScorecardClassifier, Schema

SCHEMA = {
    "name": "made",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [
        {"column": "fever", "binary": True},
        {"column": "cough", "binary": True},
        {"column": "age", "thresholds": [30, 60]},
    ],
}


def made_card():
    """Return a released card with totals from -2 to 4."""
    return released(SCHEMA, (2, 1, 1, 2), start=-2)


def logistic_card(seed=0):
    """Return a logistic card whose threshold is not 1."""
    rows = made_rows(500, seed)
    classifier = PrivateScorecardClassifier(
        schema=Schema.from_dict(SCHEMA), mechanism="logistic", epsilon=5.0, random_state=seed
    )
    card = classifier.fit(rows, rows["ill"]).to_model()
    return card.at_costs({"false_negative": 5, "false_positive": 1})


def made_rows(n, seed, *, fever=0.4, unlabelled=0.0):
    """Return rows; ``fever`` is the share that has it, so another share is a drift."""
    rng = np.random.default_rng(seed)
    has, coughs = rng.random(n) < fever, rng.random(n) < 0.5
    age = rng.integers(20, 80, n)
    chance = 0.1 + 0.4 * has + 0.2 * coughs + 0.2 * (age > 60)
    ill = np.where(rng.random(n) < chance, "yes", "no").astype(object)
    ill[rng.random(n) < unlabelled] = None
    return pd.DataFrame(
        {"fever": has.astype(int), "cough": coughs.astype(int), "age": age, "ill": ill}
    )


def write_rows(path, *arguments, **options):
    """Write such rows as a text file."""
    made_rows(*arguments, **options).to_csv(path, index=False)
    return path


def exact_cells(card, rows, report):
    """Return rows by group and label, (negatives, positives) each, counted one by one."""
    totals = card._totals(rows)
    found = []
    for group in report.groups:
        inside = [group.lowest <= total <= group.highest for total in totals]
        labels = [label for label, is_in in zip(rows["ill"], inside, strict=True) if is_in]
        found.append((labels.count("no"), labels.count("yes")))
    return found
