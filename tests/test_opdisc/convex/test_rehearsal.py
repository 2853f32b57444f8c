"""A solver, a loss or a domain that does not work is found on public rows, before the spend."""

import numpy as np
import pytest
from test_opdisc.convex.test_refusals import BALL, NEED_CONVEX, NEED_DELTA, SIMPLEX, facts

from opdisc.convex.rows import check_rows, toy_rows
from opdisc.errors import UncertifiedRelease
from opdisc.privacy.ledger import Ledger
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import LogisticLoss
from oracles.convex.regression_losses import ScoreLoss, SquaredLoss
from oracles.errors import OracleUnavailable

EVERY = {f"{name}, convex": run for name, run in NEED_CONVEX.items()} | NEED_DELTA
SOLVERS = {
    "objective": "opdisc.convex.minimisation.linalg.solve",
    "minima": "opdisc.convex.minimisation.linalg.solve",
    "output": "opdisc.convex.minimisation.linalg.solve",
    "localization": "opdisc.convex.sampling.localized.minimise_on",
    "simplex": "opdisc.convex.sampling.simplex.np.linalg.solve",
}


def missing(*arguments, **options):
    raise OSError("libopenblas.so: cannot open shared object file")


def domain_of(name):
    return SIMPLEX if name.startswith("simplex") else BALL


def refused(run, public, tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(
        OracleUnavailable, match="before anything is spent, but it ended with OSError"
    ):
        run(public, ledger=ledger)
    assert not ledger.path.exists()


@pytest.mark.parametrize("name", list(SOLVERS))
def test_a_missing_solver_costs_nothing(name, tmp_path, monkeypatch):
    monkeypatch.setattr(SOLVERS[name], missing)
    refused(NEED_CONVEX[name], facts(domain=domain_of(name)), tmp_path)


@pytest.mark.parametrize("method", ["sum_gradient", "sum_value"])
@pytest.mark.parametrize("name", list(EVERY))
def test_a_loss_that_fails_costs_nothing(name, method, tmp_path, monkeypatch):
    monkeypatch.setattr(LogisticLoss, method, missing)
    refused(EVERY[name], facts(domain=domain_of(name)), tmp_path)


@pytest.mark.parametrize("name", ["exponential", "localization", "mirror"])
def test_a_domain_that_fails_costs_nothing(name, tmp_path, monkeypatch):
    monkeypatch.setattr(L2Ball, "project", missing)
    refused(NEED_CONVEX[name], facts(), tmp_path)


def test_what_fails_on_the_rows_alone_stays_charged_and_says_nothing(tmp_path, monkeypatch):
    sound = LogisticLoss.sum_gradient

    def picky(self, X, *arguments):
        if len(X) == 20:
            raise ValueError("20 rows")
        return sound(self, X, *arguments)

    monkeypatch.setattr(LogisticLoss, "sum_gradient", picky)
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(UncertifiedRelease) as caught:
        NEED_CONVEX["objective"](facts(), ledger=ledger)
    assert len(ledger.spendings()) == 1 and "20 rows" not in str(caught.value)


@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss(), ScoreLoss()])
def test_toy_rows_are_within_the_public_bounds(loss):
    public = facts(loss)
    toy = toy_rows(public)
    check_rows(toy, public.__class__(**{**_fields(public), "n_rows": 2}))
    assert len(toy.y) == 2 and np.isfinite(toy.X).all()


def _fields(public):
    names = ("params", "relation", "loss", "bounds", "dimension", "domain")
    return {name: getattr(public, name) for name in names}
