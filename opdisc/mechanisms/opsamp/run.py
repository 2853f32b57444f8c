"""Run OPSamp: record, draw tilts, minimise each, check, average, add noise, release."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from opdisc.data import as_numbers
from opdisc.errors import CalibrationError, rehearse
from opdisc.mechanisms.opsamp.calibration import UNIFORM_BITS
from opdisc.mechanisms.opsamp.mechanism import OPSampMechanism
from opdisc.mechanisms.opsamp.minimisers import DrawOptions, tilted_minimisers
from opdisc.mechanisms.opsamp.public import OPSampSpec
from opdisc.noise import discrete_laplace, geometric
from opdisc.privacy import (
    EntropySource,
    Ledger,
    Prepared,
    PublicInputs,
    SeededEntropy,
    common_fields,
    prepared_first,
    receipt_costs,
)
from opdisc.privacy.receipts import OPSampReceipt
from oracles.arithmetic import FloatArray
from oracles.convex import (
    Box,
    L1Ball,
    L2Ball,
    RealOracle,
    Simplex,
    TiltedProblem,
    real_oracle_versions,
    resolve_real_oracle,
)

_ANY_GAP = 2.0**50

_NATIVE = {"global": "oracles.convex.box_search:GlobalOracle"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OPSampRelease:
    """A parameter vector that may be published, and the promise that was kept.

    Parameters
    ----------
    parameters : float64 array, shape (d,), read-only
        Parameters, on the columns that the mechanism was given.
    receipt : OPSampReceipt
        The privacy statement.
    """

    parameters: FloatArray
    receipt: OPSampReceipt


def tilted_problem(
    mechanism: OPSampMechanism, X: ArrayLike, y: ArrayLike, *, lifted: bool = False
) -> TiltedProblem:
    """Return the loss of a table over the mechanism's search space, equal rows merged.

    Parameters
    ----------
    mechanism : OPSampMechanism
        Loss, domain and bounds.
    X : array-like of shape (n, d)
        Rows within the public bounds.
    y : array-like of shape (n,)
        Labels or targets.
    lifted : bool
        Whether to write parameters of an l1 ball as differences over a simplex.

    Raises
    ------
    CalibrationError
        If a row is outside the public bounds: they set the noise, so clip first.
    """
    rows, targets = as_numbers(X, "rows"), as_numbers(y, "targets")
    if rows.ndim != 2 or targets.shape != rows.shape[:1]:
        raise CalibrationError("rows must be a matrix with one target each; check the shapes.")
    bounds = mechanism.bounds
    inside = bounds.hold(rows)
    if not mechanism.loss.is_classification:
        inside &= np.abs(targets).max(initial=0.0) <= bounds.label
    if not inside:
        raise CalibrationError("rows must be within the public bounds that set the noise; clip.")
    merged, counts = np.unique(np.column_stack([rows, targets]), axis=0, return_counts=True)
    features, domain = merged[:, :-1], mechanism.domain
    if not isinstance(domain, Box | L1Ball | L2Ball | Simplex):
        raise CalibrationError(
            "OPSamp takes a box, an l1 ball, an l2 ball or a simplex; choose one."
        )
    if lifted:
        assert isinstance(domain, L1Ball)
        features = np.hstack([domain.radius * features, -domain.radius * features])
        domain = Simplex(dimension=features.shape[1])
    return TiltedProblem(
        features=features,
        targets=merged[:, -1],
        weights=counts.astype(np.float64),
        loss=mechanism.loss,
        domain=domain,
        tilt=np.zeros(features.shape[1]),
    )


@prepared_first
def run_opsamp(
    mechanism: OPSampMechanism,
    X: ArrayLike,
    y: ArrayLike,
    public: PublicInputs,
    *,
    entropy: EntropySource,
    oracle: str | RealOracle = "auto",
    options: DrawOptions | None = None,
    ledger: Ledger | None = None,
) -> Prepared[OPSampRelease]:
    """Release one parameter vector, or nothing.

    Parameters
    ----------
    mechanism : OPSampMechanism
        What to run.
    X : array-like of shape (n, d)
        Rows within the public bounds.
    y : array-like of shape (n,)
        Labels (-1, +1) or targets.
    public : PublicInputs
        All that the noise may depend on.
    entropy : EntropySource
        Random bits; anything but the operating system's makes the receipt VOID.
    oracle : str or RealOracle
        Who minimises.
    options : DrawOptions or None
        Workers and progress.
    ledger : Ledger or None
        Where the budget is recorded, durably, before anything is drawn.

    Returns
    -------
    OPSampRelease

    Raises
    ------
    OracleUnavailable, UnsupportedProblem
        If the oracle cannot run here or cannot take the problem; nothing is spent.
    UncertifiedRelease
        If some minimisation was not certified within the allowance. The budget stays spent,
        nothing is released, and the message says nothing of the table.

    Notes
    -----
    **Guarantee.** As stated on the receipt. The noise is drawn once and never again.
    """
    options = options or DrawOptions()
    spec = mechanism.calibrate(public)
    problem = tilted_problem(mechanism, X, y, lifted=spec.space.lifted)
    chosen = resolve_real_oracle(oracle, problem)
    _rehearse(problem, spec, chosen, oracle, options)
    receipt = _receipt(mechanism, spec, public, chosen, options, entropy)

    def draw() -> OPSampRelease | None:
        tilts = draw_tilts(spec, entropy)
        noise = discrete_laplace(spec.release_decay, mechanism.domain.dimension, entropy)
        points = tilted_minimisers(problem, tilts, oracle, spec.allowance, options)
        if points is None:
            return None
        parameters = _noisy(mechanism, spec, points, noise)
        return OPSampRelease(parameters=parameters, receipt=receipt)

    refusal = (
        f"a release needs every minimisation certified within {spec.allowance:g}, but oracle "
        f"'{chosen.name}' missed one; the budget is spent and nothing is released: use "
        "another oracle or price a larger allowance."
    )
    return Prepared(receipt=receipt, draw=draw, refusal=refusal)


def _rehearse(
    problem: TiltedProblem,
    spec: OPSampSpec,
    chosen: RealOracle,
    oracle: str | RealOracle,
    options: DrawOptions,
) -> None:
    """Have one tilt of two public rows minimised as the table's will be: same oracle and workers.

    Of the problem, only the loss and the search space are looked at. The rows weigh so much that
    an answer of zeros, which is what some solvers leave behind when they fail, is not certified.
    """
    features = np.zeros((2, problem.dimension))
    features[0, 0] = 1.0
    targets = np.array([1.0, -1.0 if problem.loss.is_classification else 0.0])
    weights = np.full(2, 4 * max(1.0, spec.allowance))
    toy = replace(problem, features=features, targets=targets, weights=weights)
    tilt = draw_tilts(replace(spec, draws=1), SeededEntropy(0))
    # A search over boxes proves small gaps slowly: any answer shows that it works.
    gap = spec.allowance if problem.loss.is_convex else _ANY_GAP
    limits = replace(options, progress=None)

    def attempt() -> None:
        if tilted_minimisers(toy, tilt, oracle, gap, limits) is None:
            raise CalibrationError("the toy problem can be certified.")

    rehearse(f"oracle '{chosen.name}'", attempt)


def draw_tilts(spec: OPSampSpec, entropy: EntropySource) -> FloatArray:
    """Return centred tilts, shape (draws, k), every one an exact float.

    Subtracting the mean of exponential tilts adds a public linear form to every objective: it
    changes no difference between tables, and the tilts no longer pull one way.
    """
    size = spec.draws * spec.space.dimension
    if spec.tilts == "uniform":
        words = entropy.words(size) >> np.uint64(63 - UNIFORM_BITS)
        steps = words.astype(np.int64) - 2**UNIFORM_BITS
    else:
        steps = geometric(spec.tilt_decay, size, entropy) - round(1 / float(spec.tilt_decay))
    return np.asarray(steps.reshape(spec.draws, -1).astype(np.float64) * spec.tilt_step)


def _noisy(
    mechanism: OPSampMechanism, spec: OPSampSpec, points: FloatArray, noise: np.ndarray
) -> FloatArray:
    """Average, map to parameters, round to the lattice, add the noise, project."""
    average = np.array([math.fsum(column) / len(points) for column in points.T])
    if spec.space.lifted:
        d = mechanism.domain.dimension
        assert isinstance(mechanism.domain, L1Ball)
        average = mechanism.domain.radius * (average[:d] - average[d:])
    lattice = [
        round(float(v) / spec.spacing) + int(z) for v, z in zip(average, noise, strict=True)
    ]
    released = np.array([k * spec.spacing for k in lattice], dtype=np.float64)
    if mechanism.project:
        released = mechanism.domain.project(released)
    released.setflags(write=False)
    return released


def _receipt(
    mechanism: OPSampMechanism,
    spec: OPSampSpec,
    public: PublicInputs,
    oracle: RealOracle,
    options: DrawOptions,
    entropy: EntropySource,
) -> OPSampReceipt:
    return OPSampReceipt(
        **common_fields(
            mechanism.name + (" (lifted)" if spec.space.lifted else ""),
            spec,
            public,
            entropy,
            conditions=_conditions(oracle, options),
            packages=real_oracle_versions(oracle.name),
        ),
        sensitivity=public.changed_rows * mechanism.loss.costs.largest,
        allowance=spec.allowance,
        spacing=spec.spacing,
        oracle=oracle.name,
        loss=mechanism.loss.name,
        domain=repr(mechanism.domain),
        draws=spec.draws,
        stability=spec.stability,
        error_costs=receipt_costs(mechanism.loss.costs),
    )


def _conditions(oracle: RealOracle, options: DrawOptions) -> tuple[str, ...]:
    """Return what the guarantee rests on besides the public facts, in words."""
    within = f" within {options.time_limit:g} s" if options.time_limit is not None else ""
    ends = f"'{oracle.name}' reaches the certified gap{within} on every table and every tilt"
    target = f"{type(oracle).__module__}:{type(oracle).__qualname__}"
    if oracle.proves_partitions and _NATIVE.get(oracle.name) != target:
        return (
            f"the lower bounds of the third-party oracle '{oracle.name}' are right",
            ends,
        )
    return (ends,)
