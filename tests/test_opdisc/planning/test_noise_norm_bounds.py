"""Closed forms of 2|eta|_2 and |eta|_1 against simulation and realised excess."""

import math

import numpy as np
import pytest
from noise_norm_bounds import (
    separator_gaussian_error_bound,
    separator_laplace_error_bound,
    sphere_error_bound,
)
from published_bounds import opdisc_error_bound, opsamp_error_bound

from opdisc.errors import CalibrationError
from opdisc.mechanisms.objective_perturbation import SphereMechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.planning.utility import predict_error
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid

DRAWS = 200_000


def norms(law, size, order):
    rng = np.random.default_rng(size)
    draws = rng.normal(size=(DRAWS, size)) if law == "normal" else rng.laplace(size=(DRAWS, size))
    return np.linalg.norm(draws, order, axis=1)


def test_the_sphere_form_is_the_law_of_twice_the_length():
    bound = sphere_error_bound(4, 4, 0.5, 1e-6, level=0.9, constant=3.5)
    sigma = 3.5 * 4 * math.sqrt(6 * math.log(10)) / 0.5
    simulated = 2 * sigma * norms("normal", 5, 2)
    assert bound.mean == pytest.approx(simulated.mean(), rel=0.01)
    assert bound.quantile == pytest.approx(np.quantile(simulated, 0.9), rel=0.01)
    # The concentration form of the same statement is a little larger.
    assert bound.quantile < opdisc_error_bound(4, 4, 0.5, 1e-6, 0.1, constant=3.5)
    twice = sphere_error_bound(4, 4, 0.5, 1e-6, level=0.9, constant=3.5, sensitivity=2.0)
    assert twice.quantile == pytest.approx(2 * bound.quantile)


def test_the_separator_forms_are_the_laws_of_the_l1_norm():
    laplace = separator_laplace_error_bound(12, 0.7, level=0.9)
    simulated = 2 * 12 / 0.7 * norms("laplace", 12, 1)
    assert laplace.mean == pytest.approx(simulated.mean(), rel=0.01)
    assert laplace.quantile == pytest.approx(np.quantile(simulated, 0.9), rel=0.01)
    gaussian = separator_gaussian_error_bound(12, 0.7, 1e-5, level=0.9)
    sigma = 3.5 * math.sqrt(12 * 5 * math.log(10)) / 0.7
    simulated = sigma * norms("normal", 12, 1)
    assert gaussian.mean == pytest.approx(simulated.mean(), rel=0.01)
    quantile = np.quantile(simulated, 0.9)
    assert quantile <= gaussian.quantile <= 1.25 * quantile


def test_the_simulated_bounds_of_the_library_are_smaller():
    public = GridPublic(
        params=PrivacyParams(epsilon=0.5, delta=1e-6),
        grid=WeightGrid.box(4, 1),
        relation=NeighboringRelation.REPLACE_ONE,
    )
    sphere = predict_error(SphereMechanism(noise="gaussian-published-7"), public)
    closed = sphere_error_bound(4, 4, 0.5, 1e-6)
    assert sphere.mean < closed.mean and sphere.quantile < closed.quantile
    for noise, bound in (
        ("laplace", separator_laplace_error_bound(8, 0.5)),
        ("gaussian-published-3.5", separator_gaussian_error_bound(8, 0.5, 1e-6)),
    ):
        found = predict_error(SeparatorMechanism(noise=noise), public)
        assert found.mean < 0.6 * bound.mean
        assert found.quantile < bound.quantile


def test_an_allowance_adds_itself_and_its_noise_to_the_opsamp_form():
    exact = opsamp_error_bound(3, 2.0, 0.5, 1.0, 1000, rate=1e-3)
    loose = opsamp_error_bound(3, 2.0, 0.5, 1.0, 1000, rate=1e-3, allowance=0.2)
    # alpha itself, and n G d (2 alpha / (10 G)) / eps of release noise.
    assert loose - exact == pytest.approx(0.2 + 1000 * 3 * 2 * 0.2 / 10)


def test_bad_levels_and_sensitivities_are_refused():
    with pytest.raises(CalibrationError, match="level must be in"):
        separator_laplace_error_bound(3, 1.0, level=1.0)
    with pytest.raises(CalibrationError, match="sensitivity must be finite and > 0"):
        sphere_error_bound(3, 3, 1.0, 1e-6, sensitivity=0.0)
    with pytest.raises(CalibrationError, match="delta > 0"):
        sphere_error_bound(3, 3, 1.0, 0.0)
