"""Bad input to the convex mechanisms is refused in one sentence, before anything is spent."""

import re

import numpy as np
import pytest

from opdisc import PrivateLinearSVC, PrivateLogisticRegression
from opdisc.convex.full_gradient import accelerated_mirror_descent, gradient_descent
from opdisc.convex.objective import approximate_minima, objective_perturbation
from opdisc.convex.one_pass import mirror_descent
from opdisc.convex.output import output_perturbation
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.exponential import exponential_sampling
from opdisc.convex.sampling.ftrl import private_ftrl
from opdisc.convex.sampling.grid_walk import grid_walk_sampling
from opdisc.convex.sampling.localized import localization
from opdisc.convex.sampling.simplex import simplex_sampling
from opdisc.convex.stochastic import BatchPlan, noisy_sgd
from opdisc.convex.variance_reduced import SVRGPlan, svrg
from opdisc.errors import CalibrationError
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import LogisticLoss, RampLoss, SigmoidLoss
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Simplex
from oracles.convex.regression_losses import ScoreLoss

BALL, SIMPLEX = L2Ball(dimension=2, radius=1.0), Simplex(dimension=2)
ENTROPY = SystemEntropy()


def facts(loss=None, *, domain=BALL, delta=1e-6, epsilon=1.0):
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=NeighboringRelation.REPLACE_ONE,
        loss=loss or LogisticLoss(),
        bounds=RowBounds(l2=1.5, linf=1.0),
        dimension=2,
        domain=domain,
        n_rows=20,
    )


def rows():
    rng = np.random.default_rng(0)
    return Rows(X=rng.uniform(-1, 1, size=(20, 2)), y=rng.choice([-1.0, 1.0], size=20))


def refusal(call, tmp_path):
    """The message, after checking that it is one sentence and that nothing was spent."""
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(CalibrationError) as caught:
        call(ledger)
    message = str(caught.value)
    assert message.endswith(".") and not re.search(r"[.!?] [A-Z]", message)
    assert "\n" not in message and ledger.total() == (0.0, 0.0)
    return message


NEED_CONVEX = {
    "objective": lambda p, **k: objective_perturbation(rows(), p, entropy=ENTROPY, **k),
    "minima": lambda p, **k: approximate_minima(rows(), p, entropy=ENTROPY, **k),
    "output": lambda p, **k: output_perturbation(rows(), p, ridge=9.0, entropy=ENTROPY, **k),
    "exponential": lambda p, **k: exponential_sampling(rows(), p, entropy=ENTROPY, **k),
    "grid walk": lambda p, **k: grid_walk_sampling(
        rows(), p, steps=5, spacing=0.1, entropy=ENTROPY, **k
    ),
    "localization": lambda p, **k: localization(rows(), p, ridge=9.0, entropy=ENTROPY, **k),
    "accelerated": lambda p, **k: accelerated_mirror_descent(
        rows(), p, steps=3, entropy=ENTROPY, **k
    ),
    "mirror": lambda p, **k: mirror_descent(rows(), p, entropy=ENTROPY, **k),
    "simplex": lambda p, **k: simplex_sampling(rows(), p, entropy=ENTROPY, **k),
}


@pytest.mark.parametrize("loss", [RampLoss(), SigmoidLoss()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("name", list(NEED_CONVEX))
def test_a_loss_that_is_not_convex_is_refused_where_convexity_is_needed(name, loss, tmp_path):
    public = facts(loss, domain=SIMPLEX if name == "simplex" else BALL)
    message = refusal(lambda ledger: NEED_CONVEX[name](public, ledger=ledger), tmp_path)
    assert f"needs a convex loss, but the {loss.name} loss is not; choose another." in message


NEED_DELTA = {
    "sgd": lambda p, **k: noisy_sgd(rows(), p, BatchPlan(batch=5, steps=3), entropy=ENTROPY, **k),
    "fixed": lambda p, **k: noisy_sgd(
        rows(), p, BatchPlan(batch=5, steps=3, sampling="fixed"), entropy=ENTROPY, **k
    ),
    "svrg": lambda p, **k: svrg(
        rows(), p, SVRGPlan(epochs=2, inner=2, batch=5), entropy=ENTROPY, **k
    ),
    "svrg++": lambda p, **k: svrg(
        rows(), p, SVRGPlan(epochs=2, inner=2, batch=5, doubling=True), entropy=ENTROPY, **k
    ),
    "descent": lambda p, **k: gradient_descent(rows(), p, steps=3, entropy=ENTROPY, **k),
    "random": lambda p, **k: gradient_descent(
        rows(), p, steps=3, iterate="random", entropy=ENTROPY, **k
    ),
    "accelerated": NEED_CONVEX["accelerated"],
    "mirror": NEED_CONVEX["mirror"],
    "minima": NEED_CONVEX["minima"],
    "output": lambda p, **k: output_perturbation(
        rows(), p, ridge=9.0, noise="gaussian", entropy=ENTROPY, **k
    ),
    "output, j14": lambda p, **k: output_perturbation(
        rows(), p, ridge=9.0, noise="j14", entropy=ENTROPY, **k
    ),
    "objective": lambda p, **k: objective_perturbation(
        rows(), p, ridge=9.0, noise="gaussian", entropy=ENTROPY, **k
    ),
    "objective, j14": lambda p, **k: objective_perturbation(
        rows(), p, ridge=9.0, noise="j14", entropy=ENTROPY, **k
    ),
}


@pytest.mark.parametrize("name", list(NEED_DELTA))
def test_a_gaussian_with_delta_zero_is_refused(name, tmp_path):
    message = refusal(lambda ledger: NEED_DELTA[name](facts(delta=0.0), ledger=ledger), tmp_path)
    assert "needs delta > 0, got delta=0.0; give a delta" in message


@pytest.mark.parametrize("name", ["svrg", "svrg++", "descent", "random", "accelerated"])
def test_a_loss_without_curvature_is_refused_where_steps_need_it(name, tmp_path):
    public = facts(ScoreLoss())
    message = refusal(lambda ledger: NEED_DELTA[name](public, ledger=ledger), tmp_path)
    assert "steps by 1 / smoothness, but the score loss has none; use noisy SGD." in message


def test_online_play_with_delta_zero_is_refused(tmp_path):
    public = facts(ScoreLoss(), domain=SIMPLEX, delta=0.0)
    message = refusal(
        lambda ledger: private_ftrl(rows(), public, entropy=ENTROPY, ledger=ledger), tmp_path
    )
    assert "needs delta > 0, got delta=0.0" in message


@pytest.mark.parametrize("noise", ["pure", "gaussian", "auto"])
@pytest.mark.parametrize("ridge", [1e-3, 1e-9])
def test_a_ridge_too_small_for_the_claim_is_refused(noise, ridge, tmp_path):
    message = refusal(
        lambda ledger: objective_perturbation(
            rows(), facts(), ridge=ridge, noise=noise, entropy=ENTROPY, ledger=ledger
        ),
        tmp_path,
    )
    assert message.startswith("the ridge must exceed beta / (e^epsilon - 1) = ")
    assert f"got {ridge:g}; use a larger one." in message


@pytest.mark.parametrize("ridge", [0.0, -1.0, float("inf"), float("nan")])
def test_a_ridge_that_is_no_strong_convexity_is_refused(ridge, tmp_path):
    for mechanism in (objective_perturbation, output_perturbation, localization):
        message = refusal(
            lambda ledger, run=mechanism: run(
                rows(), facts(), ridge=ridge, entropy=ENTROPY, ledger=ledger
            ),
            tmp_path,
        )
        assert message == f"the ridge must be finite and > 0, got {ridge!r}."


@pytest.mark.parametrize("cls", [PrivateLogisticRegression, PrivateLinearSVC])
def test_features_without_a_public_bound_are_refused(cls, tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 2))
    for arguments, expected in (
        ({}, "a public bound on the rows is needed, and one only"),
        ({"data_norm": float("inf")}, "data_norm must be finite and > 0, got inf"),
        ({"data_norm": 0.0}, "data_norm must be finite and > 0, got 0.0"),
    ):
        message = refusal(
            lambda ledger, given=arguments: cls(ledger=ledger, **given).fit(X, X[:, 0] > 0),
            tmp_path,
        )
        assert expected in message


@pytest.mark.parametrize("mechanism", ["exponential_sampling", "localization"])
def test_too_many_parameters_for_an_exact_sampler_name_the_frontier(mechanism, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 5))
    model = PrivateLogisticRegression(data_norm=2.0, mechanism=mechanism)
    message = refusal(lambda ledger: model.set_params(ledger=ledger).fit(X, X[:, 0] > 0), tmp_path)
    assert message == (
        "exact exponential sampling needs at most 5 parameters, got 6; use objective perturbation."
    )
