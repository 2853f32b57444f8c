"""Oracles for real parameters: minimise a tilted sum of losses, with a gap proven here.

An oracle opens a *session* on a problem: a function from tilts to claims. So what is common to
many tilts is prepared once. :func:`minimise` and :func:`minimise_tilts` turn claims into
certificates by weak duality (:mod:`oracles.convex.duality`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.duality import RealCertificate, RealClaim, certify
from oracles.convex.problem import TiltedProblem
from oracles.errors import InvalidOption, UnsupportedProblem
from oracles.interface import OracleEntry, Registry

Session = Callable[[FloatArray], RealClaim]
"""From a tilt to a claim. It may keep state between calls; every claim is certified by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealOptions:
    """How precisely, and for how long.

    Parameters
    ----------
    absolute_gap : float
        Gap to aim at, objective units.
    time_limit : float or None
        Seconds for one minimisation; None: no limit.
    """

    absolute_gap: float = 1e-6
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if not 0 <= self.absolute_gap < float("inf"):
            raise InvalidOption(f"absolute_gap must be finite and >= 0, got {self.absolute_gap}.")
        if self.time_limit is not None and not self.time_limit > 0:
            raise InvalidOption(f"time_limit must be > 0 seconds, got {self.time_limit}.")


@runtime_checkable
class RealOracle(Protocol):
    """Anything that minimises a :class:`~oracles.convex.TiltedProblem`.

    Attributes
    ----------
    name : str
        The name it is registered under.
    proves_partitions : bool
        Whether its own lower bound is a proof (native searches only). Others are certified by weak
        duality alone.
    requirement : str
        Completes "this oracle ...", for the message when :meth:`supports` is false.
    """

    name: str
    proves_partitions: bool
    requirement: str

    def supports(self, problem: TiltedProblem) -> bool:
        """Return whether :meth:`session` can take this problem, from its shape alone."""
        ...

    def session(self, problem: TiltedProblem, options: RealOptions) -> Session:
        """Return a function that minimises the problem under any tilt."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RealSolution:
    """A parameter vector with its certificate.

    Parameters
    ----------
    point : float array, shape (d,)
        In the domain; read-only.
    certificate : RealCertificate
        What is proved about it.
    oracle : str
        Who answered.
    seconds : float
        Wall time.
    """

    point: FloatArray
    certificate: RealCertificate
    oracle: str
    seconds: float


REAL_ORACLES: Registry[RealOracle] = Registry(
    {
        "lp-highs": OracleEntry(
            target="oracles.convex.linear_program:LinearOracle",
            modules=("highspy",),
            distributions=("highspy",),
            install="pip install highspy",
            summary="linear program, HiGHS; hinge and absolute loss; cutting planes on an l2 ball",
        ),
        "scipy": OracleEntry(
            target="oracles.convex.smooth:SmoothOracle",
            distributions=("scipy",),
            summary="L-BFGS-B or SLSQP, then Newton steps; smooth losses",
        ),
        "cvxpy": OracleEntry(
            target="oracles.convex.conic:CvxpyOracle",
            modules=("cvxpy", "clarabel"),
            distributions=("cvxpy", "clarabel"),
            install="pip install cvxpy clarabel",
            summary="Clarabel through CVXPY; every convex loss and domain",
        ),
        "global": OracleEntry(
            target="oracles.convex.box_search:GlobalOracle",
            distributions=("numpy",),
            summary="branch and bound over boxes; every loss, up to 6 dimensions",
        ),
    }
)
"""Everything that minimises a :class:`~oracles.convex.TiltedProblem`."""


def available_real_oracles() -> tuple[str, ...]:
    """Return the names of the oracles whose solvers are installed."""
    return REAL_ORACLES.available()


def real_oracle_versions(name: str) -> dict[str, str]:
    """Return the versions of the packages that identify an oracle."""
    entry = REAL_ORACLES.entry(name)
    return {} if entry is None else entry.versions()


def get_real_oracle(name: str) -> RealOracle:
    """Return a new oracle; OracleUnavailable where it is unknown or not installed."""
    return REAL_ORACLES.get(name)


def choose_real_oracle(problem: TiltedProblem) -> str:
    """Return the name that ``"auto"`` stands for: by loss, never by the points."""
    if not problem.loss.is_convex:
        return "global"
    return "scipy" if problem.loss.is_smooth else "lp-highs"


def resolve_real_oracle(oracle: str | RealOracle, problem: TiltedProblem) -> RealOracle:
    """Return the oracle object for a name, ``"auto"`` or an object; refuse what it cannot take."""
    if isinstance(oracle, str):
        chosen = get_real_oracle(choose_real_oracle(problem) if oracle == "auto" else oracle)
    else:
        chosen = oracle
    if not chosen.supports(problem):
        raise UnsupportedProblem(f"oracle '{chosen.name}' {chosen.requirement}.")
    return chosen


def minimise(
    problem: TiltedProblem,
    oracle: str | RealOracle = "auto",
    options: RealOptions | None = None,
) -> RealSolution:
    """Minimise one tilted sum of losses and certify the answer.

    Parameters
    ----------
    problem : TiltedProblem
        What to minimise.
    oracle : str or RealOracle
        ``"auto"``, a registered name, or an object that follows :class:`RealOracle`.
    options : RealOptions or None
        Precision and limit.

    Returns
    -------
    RealSolution
        Its certificate says how far it can be from optimal.

    Raises
    ------
    OracleUnavailable, UnsupportedProblem
        If the oracle is not there or cannot take the problem.
    InconsistentSolution
        If the claim contradicts the problem.

    Notes
    -----
    **Guarantee.** The objective was recomputed here and is an upper bound on itself, rounding
    included. The lower bound is weak duality evaluated here, or a native search's partition.

    Examples
    --------
    >>> from oracles.convex import minimise
    >>> from oracles.convex import AbsoluteLoss
    >>> from oracles.convex import Box
    >>> from oracles.convex import TiltedProblem
    >>> median = TiltedProblem(
    ...     features=[[1.0]] * 3, targets=[0.0, 2.0, 7.0], weights=[1.0] * 3,
    ...     loss=AbsoluteLoss(), domain=Box([0.0], [10.0]), tilt=[0.0],
    ... )
    >>> solution = minimise(median)
    >>> round(float(solution.point[0]), 6), solution.certificate.gap < 1e-9
    (2.0, True)
    """
    return next(minimise_tilts(problem, [problem.tilt], oracle, options))


def minimise_tilts(
    problem: TiltedProblem,
    tilts: Iterable[FloatArray],
    oracle: str | RealOracle = "auto",
    options: RealOptions | None = None,
) -> Iterator[RealSolution]:
    """Minimise the same problem under several tilts, in order, each certified by itself.

    Parameters and errors are those of :func:`minimise`; ``tilts`` replaces the problem's tilt.
    """
    chosen = resolve_real_oracle(oracle, problem)
    session = chosen.session(problem, options or RealOptions())
    for tilt in tilts:
        tilted = problem.with_tilt(tilt)
        started = time.perf_counter()
        claim = session(tilted.tilt)
        seconds = time.perf_counter() - started
        certificate = certify(tilted, claim, proves_partitions=chosen.proves_partitions)
        point = np.array(claim.point, dtype=np.float64)
        point.setflags(write=False)
        yield RealSolution(
            point=point, certificate=certificate, oracle=chosen.name, seconds=seconds
        )
