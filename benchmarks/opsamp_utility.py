"""What OPSamp may cost in accuracy, before any budget is spent (docs/opsamp.md, "Utility")."""

from __future__ import annotations

import math

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.mechanisms.opsamp.mechanism import OPSampMechanism
from opdisc.mechanisms.opsamp.public import OPSampSpec
from oracles.arithmetic.arrays import FloatArray
from oracles.convex.balls import L1Ball
from oracles.convex.polytopes import Box, Simplex


def simulated_error(
    mechanism: OPSampMechanism,
    spec: OPSampSpec,
    public_row_guess: int,
    *,
    quantile: float = 0.95,
    simulations: int = 400,
    seed: int = 0,
) -> float:
    """Return a bound on the excess loss of a release that holds with probability ``quantile``.

    Parameters
    ----------
    mechanism : OPSampMechanism
        Convex loss.
    spec : OPSampSpec
        Its calibration.
    public_row_guess : int
        Number of rows.
    quantile : float
        Probability with which the error stays below.
    simulations : int
        Simulated noise draws; the bound is an order statistic two standard errors higher.
    seed : int
        Seed of the simulation, which involves no table.

    Returns
    -------
    float
        Rows (sum of losses).

    Raises
    ------
    CalibrationError
        If the loss is not convex: then nothing bounds the average's loss.
    """
    if not mechanism.loss.is_convex:
        raise CalibrationError("the error is bounded for convex losses only; measure it instead.")
    rng = np.random.default_rng(seed)
    constants = mechanism.constants()
    found = np.empty(simulations)
    draws, d = (spec.draws, spec.space.dimension), mechanism.domain.dimension
    for i in range(simulations):
        if spec.tilts == "uniform":
            tilts = rng.uniform(-spec.scales[0], spec.scales[0], draws)
        else:
            tilts = rng.exponential(spec.scales[0], draws) - spec.scales[0]
        # The minimisers follow the tilts; the best parameter does not.
        found[i] = spec.allowance + float(np.mean(_support(mechanism, spec, tilts)))
        found[i] += float(_support(mechanism, spec, -tilts.mean(axis=0, keepdims=True))[0])
        noise = np.abs(rng.laplace(0.0, spec.scales[1], d)) + 1.5 * spec.spacing
        moved = constants.lipschitz_l2 * float(np.linalg.norm(noise))
        if isinstance(mechanism.domain, Box):
            moved = min(moved, constants.lipschitz_l1 * float(noise.sum()))
        found[i] += public_row_guess * moved
    rank = simulations * quantile + 2 * math.sqrt(simulations * quantile * (1 - quantile))
    return float(np.sort(found)[min(simulations - 1, math.ceil(rank))])


def _support(mechanism: OPSampMechanism, spec: OPSampSpec, tilts: FloatArray) -> FloatArray:
    """Return ``max <sigma, u>`` over the search space for each tilt."""
    domain = mechanism.domain
    if spec.space.lifted or isinstance(domain, Simplex):
        return np.asarray(tilts.max(axis=1))
    if isinstance(domain, Box):
        return np.asarray(np.maximum(tilts * domain.lower, tilts * domain.upper).sum(axis=1))
    if isinstance(domain, L1Ball):
        return np.asarray(domain.radius * np.abs(tilts).max(axis=1))
    return np.array([float(t @ domain.minimise_linear(-t)) for t in tilts])
