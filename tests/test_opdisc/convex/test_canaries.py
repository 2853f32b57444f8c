"""No refusal of a convex mechanism or of OPSamp quotes a cell, in any of its causes.

The estimators' own refusals are in the contract of every estimator.
"""

import math

import numpy as np
import pytest
from test_opdisc.convex.test_refusals import BALL, NEED_CONVEX, NEED_DELTA, SIMPLEX, facts

from opdisc.convex.objective import objective_perturbation
from opdisc.convex.rows import Rows
from opdisc.errors import OPDiscError
from opdisc.mechanisms.opsamp.mechanism import OPSampMechanism
from opdisc.mechanisms.opsamp.run import run_opsamp
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import PublicInputs
from oracles.convex.classification_losses import HingeLoss, LogisticLoss
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Box
from oracles.convex.regression_losses import AbsoluteLoss
from oracles.errors import OracleError

TEXT, NUMBER = "xq7canary", 87654.3125
CANARIES = (TEXT, "87654")
EVERY = {f"{name}, convex": run for name, run in NEED_CONVEX.items()} | NEED_DELTA


def assert_says_nothing(call):
    with pytest.raises((OPDiscError, OracleError)) as caught:
        call()
    told = " ".join(f"{error!r} {error.args}" for error in chain(caught.value))
    assert not any(canary in told for canary in CANARIES)


def chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


BAD = {
    "text": [[TEXT, 0.0]] * 20,
    "a text": [[0.5, 0.0]] * 19 + [[0.5, TEXT]],
    "an object": [[0.5, 0.0]] * 19 + [[0.5, {TEXT: NUMBER}]],
    "ragged": [[0.5, 0.0]] * 19 + [[NUMBER]],
    "too large": [[0.5, 0.0]] * 19 + [[0.5, 10**400 + 87654]],
    "outside": [[0.5, 0.0]] * 19 + [[0.5, NUMBER]],
    "not finite": [[0.5, NUMBER]] * 19 + [[0.5, math.nan]],
    "one column": [[NUMBER]] * 20,
    "one dimension": [NUMBER] * 20,
    "three dimensions": [[[NUMBER, 0.0]]] * 20,
    "too few": [[NUMBER, 0.0]] * 7,
    "nothing": TEXT,
}
BAD_LABELS = {
    "text": [TEXT] * 20,
    "a text": [1.0] * 19 + [TEXT],
    "outside": [1.0] * 19 + [NUMBER],
    "not finite": [NUMBER] * 19 + [math.inf],
    "two columns": [[1.0, NUMBER]] * 20,
    "too few": [NUMBER] * 7,
}
GOOD, LABELS = [[0.5, 0.0]] * 20, [1.0, -1.0] * 10


@pytest.mark.parametrize("kind", ["text", "a text", "an object", "ragged", "too large", "nothing"])
def test_rows_that_are_no_numbers(kind):
    assert_says_nothing(lambda: Rows.clipped(BAD[kind], LABELS, facts()))
    if kind in BAD_LABELS:
        assert_says_nothing(lambda: Rows.clipped(GOOD, BAD_LABELS[kind], facts()))


@pytest.mark.parametrize("kind", ["outside", "one column", "too few"])
def test_rows_that_the_public_facts_do_not_describe(kind, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    X = np.array(BAD[kind], dtype=float)
    rows = Rows(X=X, y=np.ones(len(X)))
    assert_says_nothing(
        lambda: objective_perturbation(rows, facts(), entropy=SystemEntropy(), ledger=ledger)
    )
    assert not ledger.path.exists()


@pytest.mark.parametrize("name", list(EVERY))
def test_what_a_loss_says_of_the_rows_after_the_spend(name, tmp_path, monkeypatch):
    def telling(sound):
        def told(self, X, *arguments):
            if len(X) not in (0, 2):  # not the two public rows of the rehearsal
                raise ValueError(f"cell {TEXT} {NUMBER}")
            return sound(self, X, *arguments)

        return told

    for method in ("sum_gradient", "sum_value"):
        monkeypatch.setattr(LogisticLoss, method, telling(getattr(LogisticLoss, method)))
    public = facts(domain=SIMPLEX if name.startswith("simplex") else BALL)
    ledger = Ledger(tmp_path / "ledger")
    assert_says_nothing(lambda: EVERY[name](public, ledger=ledger))
    assert len(ledger.spendings()) == 1


def opsamp(X, y, loss, ledger=None):
    return run_opsamp(
        OPSampMechanism(
            loss=loss,
            domain=Box.cube(2, 1.0),
            bounds=RowBounds(l2=math.sqrt(2), linf=1.0),
            most_draws=50,
        ),
        X,
        y,
        PublicInputs(
            params=PrivacyParams(epsilon=50.0, delta=1e-3),
            relation=NeighboringRelation.REPLACE_ONE,
            public_row_guess=20,
            n_rows=20,
        ),
        entropy=SystemEntropy(),
        ledger=ledger,
    )


@pytest.mark.parametrize("loss", [HingeLoss(), AbsoluteLoss()])
@pytest.mark.parametrize("kind", [kind for kind in BAD if kind != "too few"])
def test_opsamp_and_rows(kind, loss, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    assert_says_nothing(lambda: opsamp(BAD[kind], LABELS, loss, ledger))
    assert not ledger.path.exists()


@pytest.mark.parametrize("loss", [HingeLoss(), AbsoluteLoss()])
@pytest.mark.parametrize("kind", list(BAD_LABELS))
def test_opsamp_and_targets(kind, loss, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    assert_says_nothing(lambda: opsamp(GOOD, BAD_LABELS[kind], loss, ledger))
    assert not ledger.path.exists()
