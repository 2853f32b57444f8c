"""Error costs in OPSamp: sensitivity, stability and noise are those of the costlier class."""

from dataclasses import replace

import numpy as np
import pytest

from opdisc.audit.controls import understated
from opdisc.audit.opsamp_cases import audited_mechanism, opsamp_audit_cases
from opdisc.audit.suite import run_audit
from opdisc.mechanisms.opsamp.calibration import proven_stability
from opdisc.mechanisms.opsamp.mechanism import OPSampMechanism
from opdisc.mechanisms.opsamp.run import run_opsamp, tilted_problem
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import PublicInputs
from oracles.convex.classification_losses import HingeLoss
from oracles.convex.constants import RowBounds
from oracles.convex.costly_losses import with_costs
from oracles.convex.polytopes import Box
from oracles.problem.error_costs import ErrorCosts

COSTS = ErrorCosts(false_negative=2, false_positive=5)
REPLACE = NeighboringRelation.REPLACE_ONE


def mechanism(costs=COSTS, most_draws=600, **settings):
    return OPSampMechanism(
        most_draws=most_draws,
        loss=with_costs(HingeLoss(), costs),
        domain=Box.cube(2, 1.0),
        bounds=RowBounds(l2=2**0.5, linf=1.0),
        **settings,
    )


FEW = {"tilt_rate": 1 / 100, "tilts": "uniform", "inflation": 2.0}
"""Settings of few minimisations."""


def public(relation=REPLACE, rows=1):
    return PublicInputs(
        params=PrivacyParams(epsilon=20.0, delta=1e-3),
        relation=relation,
        n_rows=400 if relation is REPLACE else None,
        public_row_guess=400,
        rows_per_unit=rows,
    )


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("rows", [1, 3])
def test_the_calibration_covers_the_larger_cost(relation, rows):
    facts = public(relation, rows)
    fixed = {"tilt_rate": 1e-4, "tilts": "uniform", "allowance": 1e-6, "most_draws": 10**9}
    spec = mechanism(**fixed).calibrate(facts)
    stable = proven_stability(
        spec.space,
        difference=relation.loss_sensitivity * rows * 5.0,
        rate=1e-4,
        allowance=1e-6,
        tilts="uniform",
    )
    assert spec.stability == pytest.approx(stable, rel=1e-8)
    plain = mechanism(ErrorCosts(), **fixed).calibrate(facts)
    assert plain.stability < 0.21 * spec.stability


def test_a_difference_of_neighbours_is_as_steep_as_counted():
    # Two rows of the costly class at the bounds: the difference has slope 2 * 5 in l1.
    case, low, high = mechanism(), np.array([-0.5, 0.0]), np.array([0.5, 0.0])
    rows = np.array([[1.0, 0.0], [-1.0, 0.0]])
    first, second = (tilted_problem(case, rows[[i]], [-1.0]) for i in (0, 1))
    moved = [p.loss_at(high) - p.loss_at(low) for p in (first, second)]
    assert moved[0] - moved[1] == pytest.approx(2 * 5)
    assert case.constants().lipschitz_l1 == 5


def test_equal_costs_release_the_same_bits():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (400, 2)).astype(float), np.where(rng.random(400) < 0.5, 1.0, -1.0)
    plain, equal = (
        run_opsamp(
            replace(mechanism(ErrorCosts(), **FEW), loss=loss),
            X,
            y,
            public(),
            entropy=SeededEntropy(4),
        )
        for loss in (
            HingeLoss(),
            with_costs(HingeLoss(), ErrorCosts(false_negative=3, false_positive=3)),
        )
    )
    assert plain.parameters.tobytes() == equal.parameters.tobytes()
    assert plain.receipt.to_dict() == equal.receipt.to_dict()
    assert "error_costs" not in plain.receipt.to_dict()


def test_the_receipt_states_costs_and_sensitivity():
    X, y = np.ones((400, 2)), np.ones(400)
    receipt = run_opsamp(mechanism(**FEW), X, y, public(rows=3), entropy=SeededEntropy(4)).receipt
    assert receipt.sensitivity == 2 * 3 * 5 and receipt.largest_cost == 5
    line = "error costs:        a false negative costs 2, a false positive 5"
    assert line in str(receipt) and line in receipt.brief()
    assert type(receipt).from_dict(receipt.to_dict()) == receipt


@pytest.mark.parametrize(("name", "steepest"), [("opsamp", 1), ("opsamp_costs", 40)])
def test_noise_that_forgets_the_cost_covers_a_quarter_of_the_audited_difference(name, steepest):
    case = opsamp_audit_cases()[name]
    facts = case.public(1.0)
    covered = [
        audited_mechanism(public, steepest).calibrate(public).l1_sensitivity
        for public in (facts, understated(facts, case.divisor))
    ]
    # On the two tables all minimisers differ by the diameter, 1.
    assert 1.0 <= covered[0] < 1.01 and 0.24 < covered[1] < 0.27


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["opsamp", "opsamp_costs"])
def test_the_audit_stands_and_catches_less_noise(name):
    """300 draws on each table; false alarm 1e-6 for the claim."""
    audited = run_audit(opsamp_audit_cases()[name], 1.0, 300, 1e-6, SeededEntropy(1))
    assert not audited.calibrated.refuted
    assert audited.less_noise.refuted
