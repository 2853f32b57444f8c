"""Oracles for real parameters: minimise a tilted sum of losses, with a gap proven here.

An oracle opens a *session* on a problem: a function from tilts to claims, so that what is common
to many tilts is prepared once. :func:`minimise` and :func:`minimise_tilts` turn claims into
certificates by weak duality (:mod:`oracles.duality`).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from oracles.convex_constants import FloatArray
from oracles.duality import RealCertificate, RealClaim, certify
from oracles.errors import InvalidOption, OracleUnavailable, UnsupportedProblem
from oracles.tilted_problem import TiltedProblem

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
    """Anything that minimises a :class:`~oracles.tilted_problem.TiltedProblem`.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RealOracleEntry:
    """Where an oracle lives and what it needs.

    Parameters
    ----------
    target : str or callable
        ``"module:attribute"`` or a factory without arguments.
    modules : tuple of str
        Modules that must be importable (looked up without importing them).
    distributions : tuple of str
        Installed packages whose versions identify the oracle.
    install : str
        The command that installs what is missing.
    summary : str
        One line for listings.
    """

    target: str | Callable[[], RealOracle]
    modules: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    install: str = ""
    summary: str = ""

    @property
    def installed(self) -> bool:
        """Whether everything needed is there, found out without importing any of it."""
        return all(importlib.util.find_spec(module) is not None for module in self.modules)


_ENTRIES: dict[str, RealOracleEntry] = {
    "lp-highs": RealOracleEntry(
        target="oracles.linear_oracle:LinearOracle",
        modules=("highspy",),
        distributions=("highspy",),
        install="pip install highspy",
        summary="linear program, HiGHS; hinge and absolute loss; cutting planes on an l2 ball",
    ),
    "scipy": RealOracleEntry(
        target="oracles.smooth_oracle:SmoothOracle",
        distributions=("scipy",),
        summary="L-BFGS-B or SLSQP, then Newton steps; smooth losses",
    ),
    "cvxpy": RealOracleEntry(
        target="oracles.cvxpy_oracle:CvxpyOracle",
        modules=("cvxpy", "clarabel"),
        distributions=("cvxpy", "clarabel"),
        install="pip install cvxpy clarabel",
        summary="Clarabel through CVXPY; every convex loss and domain",
    ),
    "global": RealOracleEntry(
        target="oracles.global_oracle:GlobalOracle",
        distributions=("numpy",),
        summary="branch and bound over boxes; every loss, up to 6 dimensions",
    ),
}


def register_real_oracle(name: str, entry: RealOracleEntry) -> None:
    """Make an oracle for real parameters available under a name; an existing one is replaced."""
    _ENTRIES[name] = entry


def available_real_oracles() -> tuple[str, ...]:
    """Return the names of the oracles whose solvers are installed."""
    return tuple(name for name, entry in _ENTRIES.items() if entry.installed)


def real_oracle_entries() -> dict[str, RealOracleEntry]:
    """Return a copy of the registry, installed or not, for listings."""
    return dict(_ENTRIES)


def real_oracle_versions(name: str) -> dict[str, str]:
    """Return the versions of the packages that identify an oracle."""
    entry = _ENTRIES.get(name)
    names = () if entry is None or not entry.installed else entry.distributions
    return {distribution: importlib.metadata.version(distribution) for distribution in names}


def get_real_oracle(name: str) -> RealOracle:
    """Return a new oracle.

    Raises
    ------
    OracleUnavailable
        If the name is unknown or its solver is not installed.
    """
    entry = _ENTRIES.get(name)
    installed = ", ".join(available_real_oracles())
    if entry is None:
        raise OracleUnavailable(
            f"oracle must be one of the installed ones ({installed}), got '{name}'."
        )
    if not entry.installed:
        raise OracleUnavailable(
            f"oracle '{name}' needs a solver that is not installed; run `{entry.install}` or "
            f"choose one of the installed ones ({installed})."
        )
    if callable(entry.target):
        return entry.target()
    module, attribute = entry.target.split(":")
    oracle: RealOracle = getattr(importlib.import_module(module), attribute)()
    return oracle


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
    >>> from oracles.convex_losses import AbsoluteLoss
    >>> from oracles.polytopes import Box
    >>> from oracles.tilted_problem import TiltedProblem
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
