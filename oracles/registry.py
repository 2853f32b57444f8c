"""Oracles by name, imported only when asked for."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oracles.errors import OracleUnavailable
from oracles.problem import ZeroOneProblem

if TYPE_CHECKING:
    from oracles.interface import Oracle

ENUMERATION_LIMIT = 10_000_000
"""Largest box (grid assignments) that ``enumeration`` takes."""

AUTOMATIC_ENUMERATION = 1_000_000
"""Largest box that ``"auto"`` gives to it: beyond, branch and bound is the faster one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleEntry:
    """Where an oracle lives and what it needs.

    Parameters
    ----------
    target : str or callable
        ``"module:attribute"`` or a factory; called with the settings given to :func:`get_oracle`.
    modules : tuple of str
        Modules that must be importable (looked up without importing them).
    distributions : tuple of str
        Installed packages whose versions identify the oracle.
    install : str
        The command that installs what is missing.
    summary : str
        One line for listings.
    runnable : callable or None
        Whether an executable that is not a Python module is there too.
    """

    target: str | Callable[..., Oracle]
    modules: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    install: str = ""
    summary: str = ""
    runnable: Callable[[], bool] | None = None

    @property
    def installed(self) -> bool:
        """Whether everything needed is there, found out without importing any of it."""
        return _installed(self.modules) and (self.runnable is None or self.runnable())


def _load_pulp(solver: str, **settings: Any) -> Oracle:
    return _load("oracles.pulp_backend:PulpOracle", solver=solver, **settings)


@functools.lru_cache(maxsize=1)
def _has_cbc() -> bool:
    """Return whether a CBC executable is on the path or came with PuLP."""
    found = importlib.util.find_spec("pulp")
    folders = [] if found is None else found.submodule_search_locations or []
    system = {"darwin": "osx", "win32": "win"}.get(sys.platform, "linux")
    return shutil.which("cbc") is not None or any(
        next(Path(folder).glob(f"solverdir/cbc/{system}/*/cbc*"), None) is not None
        for folder in folders
    )


_ENTRIES: dict[str, OracleEntry] = {
    "enumeration": OracleEntry(
        target="oracles.enumeration:EnumerationOracle",
        distributions=("numpy",),
        summary="every hypothesis; integers; grids up to 10,000,000",
    ),
    "branch-and-bound": OracleEntry(
        target="oracles.branch_and_bound:BranchAndBoundOracle",
        modules=("numba",),
        distributions=("numba",),
        install="pip install numba",
        summary="native exact search; integers; any size, proof included",
    ),
    "highs": OracleEntry(
        target="oracles.highs:HighsOracle",
        modules=("highspy",),
        distributions=("highspy",),
        install="pip install highspy",
        summary="HiGHS called directly; floating point; mixed-integer program",
    ),
    "pulp:HiGHS": OracleEntry(
        target="oracles.pulp_backend:PulpOracle",
        modules=("pulp", "highspy"),
        distributions=("pulp", "highspy"),
        install="pip install pulp highspy",
        summary="HiGHS through PuLP; floating point; mixed-integer program",
    ),
    "pulp:CBC": OracleEntry(
        target=functools.partial(_load_pulp, "CBC"),
        modules=("pulp",),
        distributions=("pulp",),
        install="pip install 'pulp[cbc]'",
        summary="CBC through PuLP; floating point; a bound only with a proof",
        runnable=_has_cbc,
    ),
    "pulp:SCIP": OracleEntry(
        target=functools.partial(_load_pulp, "SCIP"),
        modules=("pulp", "pyscipopt"),
        distributions=("pulp", "pyscipopt"),
        install="pip install pulp pyscipopt",
        summary="SCIP through PuLP; floating point; mixed-integer program",
    ),
    "pulp:GUROBI": OracleEntry(
        target=functools.partial(_load_pulp, "GUROBI"),
        modules=("pulp", "gurobipy"),
        distributions=("pulp", "gurobipy"),
        install="pip install pulp gurobipy",
        summary="Gurobi through PuLP; floating point; mixed-integer program",
    ),
    "cp-sat": OracleEntry(
        target="oracles.cpsat:CpSatOracle",
        modules=("ortools",),
        distributions=("ortools",),
        install="pip install ortools",
        summary="OR-tools CP-SAT in a child process; integers",
    ),
}


def register_oracle(
    name: str,
    target: str | Callable[..., Oracle],
    *,
    modules: tuple[str, ...] = (),
    distributions: tuple[str, ...] = (),
    install: str = "",
    summary: str = "",
) -> None:
    """Make an oracle available under a name.

    Parameters
    ----------
    name : str
        New or existing name; an existing one is replaced.
    target : str or callable
        ``"module:attribute"`` of the oracle class, or a factory.
    modules, distributions, install, summary
        See :class:`OracleEntry`.

    Examples
    --------
    >>> from oracles import get_oracle, register_oracle
    >>> register_oracle("mine", "oracles.enumeration:EnumerationOracle")
    >>> get_oracle("mine").name
    'enumeration'
    """
    _ENTRIES[name] = OracleEntry(
        target=target,
        modules=modules,
        distributions=distributions,
        install=install,
        summary=summary,
    )


def get_oracle(name: str, **settings: Any) -> Oracle:
    """Return a new oracle.

    Parameters
    ----------
    name : str
        A registered name, ``pulp:NAME`` for any solver PuLP knows, or ``"A then B"``: A under the
        time limit, and B without one wherever A ended without a proof.
    **settings
        Passed to the oracle's constructor, for example ``formulation="per-row"``.

    Returns
    -------
    Oracle
        Ready to be given to :func:`oracles.solve`.

    Raises
    ------
    OracleUnavailable
        If the name is unknown or its solver is not installed; the message lists what is installed.
    """
    first, then, second = name.partition(" then ")
    if then:
        return _load(
            "oracles.handover:HandoverOracle",
            first=get_oracle(first, **settings),
            second=get_oracle(second),
        )
    entry = _ENTRIES.get(name)
    if entry is None and name.startswith("pulp:") and _installed(("pulp",)):
        return _load("oracles.pulp_backend:PulpOracle", solver=name[len("pulp:") :], **settings)
    if entry is None:
        raise OracleUnavailable(
            f"oracle must be one of the installed ones ({', '.join(available_oracles())}), "
            f"got '{name}'."
        )
    if not entry.installed:
        raise OracleUnavailable(
            f"oracle '{name}' needs a solver that is not installed; run `{entry.install}` or "
            f"choose one of the installed ones ({', '.join(available_oracles())})."
        )
    return _load(entry.target, **settings)


def available_oracles() -> tuple[str, ...]:
    """Return the names of the oracles whose solvers are installed."""
    return tuple(name for name, entry in _ENTRIES.items() if entry.installed)


def oracle_entries() -> dict[str, OracleEntry]:
    """Return a copy of the registry, installed or not, for listings."""
    return dict(_ENTRIES)


def oracle_versions(name: str) -> dict[str, str]:
    """Return the versions of the packages that identify an oracle."""
    if " then " in name:
        first, _, second = name.partition(" then ")
        return oracle_versions(first) | oracle_versions(second)
    entry = _ENTRIES.get(name)
    names = ("pulp",) if entry is None else entry.distributions
    found: dict[str, str] = {}
    for distribution in names:
        try:
            found[distribution] = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def choose_oracle(problem: ZeroOneProblem) -> str:
    """Return the name that ``"auto"`` stands for.

    Parameters
    ----------
    problem : ZeroOneProblem
        Of it, only the grid and the lattice of the perturbation are looked at, never the points.

    Returns
    -------
    str
        ``enumeration`` for grids of at most :data:`AUTOMATIC_ENUMERATION` assignments; beyond, an
        installed oracle with integer arithmetic where the objective is on a lattice
        (``branch-and-bound``, else ``cp-sat``); else ``enumeration`` up to its own limit, and
        ``highs``. The first two always end with a proof, so that no other oracle has to take
        over. To give another one the first try, name it: ``"cp-sat then branch-and-bound"``.
    """
    size, installed = problem.grid.n_assignments, available_oracles()
    if size <= AUTOMATIC_ENUMERATION:
        return "enumeration"
    if problem.is_exact:
        for name in ("branch-and-bound", "cp-sat"):
            if name in installed:
                return name
    return "enumeration" if size <= ENUMERATION_LIMIT else "highs"


def _load(target: str | Callable[..., Oracle], **settings: Any) -> Oracle:
    if callable(target):
        return target(**settings)
    module, attribute = target.split(":")
    oracle: Oracle = getattr(importlib.import_module(module), attribute)(**settings)
    return oracle


@functools.lru_cache(maxsize=64)
def _installed(modules: tuple[str, ...]) -> bool:
    """Return whether every module can be found, without importing any."""
    return all(importlib.util.find_spec(module) is not None for module in modules)
