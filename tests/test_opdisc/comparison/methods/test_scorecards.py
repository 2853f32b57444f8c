"""Scorecards as methods of a comparison: what they plan for where rows are private."""

import numpy as np
import pandas as pd
import pytest

from opdisc.comparison.methods.method import ROWS_GUESS, FitTask
from opdisc.comparison.methods.scorecards import METHODS
from opdisc.data.schema import Schema
from opdisc.privacy.params import NeighboringRelation

FITS = {method.name: method.fit for method in METHODS}
NAMES = [f"x{j}" for j in range(20)]


def task_of(relation, labels, target):
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, (900, 20))
    table = pd.DataFrame(cells, columns=NAMES)
    table["y"] = np.array(labels)[cells[:, :4].sum(axis=1).clip(1, len(labels)) - 1]
    features = [{"column": name, "binary": True} for name in NAMES]
    return FitTask(
        table=table,
        test=table[:0],
        schema=Schema.from_dict({"name": "t", "target": target, "feature": features}),
        epsilon=2.0,
        delta=0.0,
        relation=NeighboringRelation(relation),
        weight_bound="auto",
        oracle="auto",
        time_limit=None,
        seed=0,
        noise_seed=1,
        patience=4.0,
    )


@pytest.mark.parametrize(
    ("relation", "guess"), [("replace_one", None), ("add_or_remove_one", ROWS_GUESS)]
)
def test_the_automatic_choice_plans_for_a_constant_where_rows_are_private(relation, guess):
    two = {"column": "y", "positive": "b", "negative": "a"}
    task = task_of(relation, ("a", "b"), two)
    assert task.public_row_guess == guess
    receipt = FITS["auto"](task).receipt
    assert receipt.public_row_guess == guess
    # 900 rows are too few for weights of 20 statements at this epsilon, 10,000 are not.
    assert (receipt.mechanism == "hull") == (guess is not None)


def test_cards_of_several_classes_plan_for_their_part_of_it():
    several = {"column": "y", "classes": ["a", "b", "c"]}
    receipt = FITS["auto"](task_of("add_or_remove_one", ("a", "b", "c"), several)).receipt
    guesses = sorted(card.public_row_guess for card in receipt.cards)
    assert guesses == [ROWS_GUESS * 2 // 3, ROWS_GUESS]
