"""Oracles by name, imported only when asked for."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from oracles.errors import OracleUnavailable
from oracles.interface.size import FREE_SIZES, SizeLimit

if TYPE_CHECKING:
    from oracles.interface.oracle import Oracle

ENTRY_POINTS = "opdisc.oracles"
"""Group of entry points by which an installed package offers oracles of its own."""

AUTOMATIC_ENUMERATION = 1_000_000
"""Largest box that ``"auto"`` gives to it: beyond, branch and bound is the faster one."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class OracleEntry(Generic[T]):
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
    licence : str
        Under which it may be used, for listings.
    size_limit : SizeLimit or None
        The largest program that it takes under the licence that comes with it; None for any.
    """

    target: str | Callable[..., T]
    modules: tuple[str, ...] = ()
    distributions: tuple[str, ...] = ()
    install: str = ""
    summary: str = ""
    runnable: Callable[[], bool] | None = None
    licence: str = ""
    size_limit: SizeLimit | None = None

    @property
    def installed(self) -> bool:
        """Whether everything needed is there, found out without importing any of it."""
        return _installed(self.modules) and (self.runnable is None or self.runnable())

    def versions(self) -> dict[str, str]:
        """Return the versions of those distributions that are installed."""
        found: dict[str, str] = {}
        for distribution in self.distributions:
            try:
                found[distribution] = _version(distribution)
            except importlib.metadata.PackageNotFoundError:
                continue
        return found

    def load(self, **settings: Any) -> T:
        """Import the oracle and return a new one."""
        if callable(self.target):
            return self.target(**settings)
        module, attribute = self.target.split(":")
        found: T = getattr(importlib.import_module(module), attribute)(**settings)
        return found


class Registry(Generic[T]):
    """Oracles of one protocol by name.

    Parameters
    ----------
    entries : mapping of str to OracleEntry
        Those that are always there.
    entry_points : str or None
        Group of entry points, ``name = module:attribute``, by which installed packages add to
        them. They are looked up when first needed, are imported only when asked for, and never
        replace a name that is there already.
    other_names : mapping of str to str or None
        Names that are understood too, and are not listed, with those that they stand for.
    """

    def __init__(
        self,
        entries: Mapping[str, OracleEntry[T]],
        *,
        entry_points: str | None = None,
        other_names: Mapping[str, str] | None = None,
    ) -> None:
        self._entries = dict(entries)
        self._entry_points = entry_points
        self._other_names = dict(other_names or {})

    def register(self, name: str, entry: OracleEntry[T]) -> None:
        """Add an entry; one of the same name is replaced."""
        self._entries[name] = entry

    def entry(self, name: str) -> OracleEntry[T] | None:
        """Return the entry of that name; None if there is none."""
        name = self._other_names.get(name, name)
        return self._entries.get(name) or self.entries().get(name)

    def entries(self) -> dict[str, OracleEntry[T]]:
        """Return every entry, installed or not."""
        found = {} if self._entry_points is None else _entry_points(self._entry_points)
        return self._entries | {k: v for k, v in found.items() if k not in self._entries}

    def available(self) -> tuple[str, ...]:
        """Return the names of the oracles whose solvers are installed."""
        return tuple(name for name, entry in self.entries().items() if entry.installed)

    def get(self, name: str, **settings: Any) -> T:
        """Return a new oracle.

        Raises
        ------
        OracleUnavailable
            If the name is unknown or its solver is not installed; the message lists those that
            are.
        """
        entry = self.entry(name)
        if entry is None:
            raise OracleUnavailable(
                f"oracle must be one of the installed ones ({', '.join(self.available())}), "
                f"got '{name}'."
            )
        if not entry.installed:
            raise OracleUnavailable(
                f"oracle '{name}' needs a solver that is not installed; run `{entry.install}` or "
                f"choose one of the installed ones ({', '.join(self.available())})."
            )
        return entry.load(**settings)


@functools.cache
def _entry_points(group: str) -> dict[str, OracleEntry[Any]]:
    return {
        point.name: OracleEntry(
            target=functools.partial(_load_entry_point, point),
            distributions=() if point.dist is None else (point.dist.name,),
            summary="" if point.dist is None else f"from the package {point.dist.name}",
        )
        for point in importlib.metadata.entry_points(group=group)
    }


def _load_entry_point(point: importlib.metadata.EntryPoint, **settings: Any) -> Any:
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise OracleUnavailable(
            f"oracle '{point.name}' must be importable, but its package fails with "
            f"{type(error).__name__}; repair or uninstall it."
        ) from error
    return found(**settings)


# By name: an oracle is imported when it is asked for, and never by this module.
_PULP: OracleEntry[Oracle] = OracleEntry(target="oracles.milp.pulp_oracle:PulpOracle")

_DIRECT: OracleEntry[Oracle] = OracleEntry(target="oracles.milp.direct_oracle:DirectOracle")

_HANDOVER: OracleEntry[Oracle] = OracleEntry(target="oracles.interface.handover:HandoverOracle")


def _load_pulp(solver: str, **settings: Any) -> Oracle:
    return _PULP.load(solver=solver, **settings)


def _direct(
    title: str, module: str, *, install: str | None = None, licence: str = "commercial"
) -> OracleEntry[Oracle]:
    """Return the entry of a solver that is called through its own Python interface."""
    solver = title.lower()
    return OracleEntry(
        target=functools.partial(_DIRECT.load, solver=solver),
        modules=(module,),
        distributions=(module,),
        install=install or f"pip install {module}",
        summary=f"{title} called directly; floating point; mixed-integer program",
        licence=licence,
        size_limit=FREE_SIZES.get(solver),
    )


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


ORACLES: Registry[Oracle] = Registry(
    {
        "enumeration": OracleEntry(
            target="oracles.enumeration.listing:EnumerationOracle",
            distributions=("numpy",),
            summary="every hypothesis; integers; grids up to 10,000,000",
            licence="Apache 2.0, part of this package",
        ),
        "branch-and-bound": OracleEntry(
            target="oracles.branch_and_bound.oracle:BranchAndBoundOracle",
            modules=("numba",),
            distributions=("numba",),
            install="pip install numba",
            summary="native exact search; integers; any size, proof included",
            licence="Apache 2.0, part of this package",
        ),
        "highs": OracleEntry(
            target="oracles.milp.highs:HighsOracle",
            modules=("highspy",),
            distributions=("highspy",),
            install="pip install highspy",
            summary="HiGHS called directly; floating point; mixed-integer program",
            licence="MIT",
        ),
        # The licence within gurobipy 12 has ended.
        "gurobi": _direct("Gurobi", "gurobipy", install="pip install 'gurobipy>=13'"),
        "cplex": _direct("CPLEX", "cplex"),
        "xpress": _direct("Xpress", "xpress"),
        "copt": _direct("COPT", "coptpy"),
        "mosek": _direct("MOSEK", "mosek"),
        "scip": _direct("SCIP", "pyscipopt", licence="Apache 2.0"),
        "pulp:HiGHS": OracleEntry(
            target="oracles.milp.pulp_oracle:PulpOracle",
            modules=("pulp", "highspy"),
            distributions=("pulp", "highspy"),
            install="pip install pulp highspy",
            summary="HiGHS through PuLP; floating point; mixed-integer program",
            licence="MIT",
        ),
        "pulp:CBC": OracleEntry(
            target=functools.partial(_load_pulp, "CBC"),
            modules=("pulp",),
            distributions=("pulp",),
            install="pip install 'pulp[cbc]'",
            summary="CBC through PuLP; floating point; a bound only with a proof",
            runnable=_has_cbc,
            licence="EPL 2.0",
        ),
        "pulp:SCIP": OracleEntry(
            target=functools.partial(_load_pulp, "SCIP"),
            modules=("pulp", "pyscipopt"),
            distributions=("pulp", "pyscipopt"),
            install="pip install pulp pyscipopt",
            summary="SCIP through PuLP; floating point; mixed-integer program",
            licence="Apache 2.0",
        ),
        "pulp:GUROBI": OracleEntry(
            target=functools.partial(_load_pulp, "GUROBI"),
            modules=("pulp", "gurobipy"),
            distributions=("pulp", "gurobipy"),
            install="pip install pulp gurobipy",
            summary="Gurobi through PuLP; floating point; mixed-integer program",
            licence="commercial",
            size_limit=FREE_SIZES["gurobi"],
        ),
        "cp-sat": OracleEntry(
            target="oracles.milp.cp_sat:CpSatOracle",
            modules=("ortools",),
            distributions=("ortools",),
            install="pip install ortools",
            summary="OR-tools CP-SAT; integers",
            licence="Apache 2.0",
        ),
    },
    entry_points=ENTRY_POINTS,
    other_names={"cbc": "pulp:CBC"},
)
"""Everything that minimises a :class:`~oracles.problem.ZeroOneProblem`."""


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

    Notes
    -----
    An installed package needs no call: it declares an entry point ``name = module:attribute`` in
    the group :data:`ENTRY_POINTS`.

    Examples
    --------
    >>> from oracles import get_oracle, register_oracle
    >>> register_oracle("mine", "oracles.enumeration.listing:EnumerationOracle")
    >>> get_oracle("mine").name
    'enumeration'
    """
    entry: OracleEntry[Oracle] = OracleEntry(
        target=target,
        modules=modules,
        distributions=distributions,
        install=install,
        summary=summary,
    )
    ORACLES.register(name, entry)


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
        return _HANDOVER.load(first=get_oracle(first, **settings), second=get_oracle(second))
    if name.startswith("pulp:") and ORACLES.entry(name) is None and _installed(("pulp",)):
        return _load_pulp(name[len("pulp:") :], **settings)
    return ORACLES.get(name, **settings)


def available_oracles() -> tuple[str, ...]:
    """Return the names of the oracles whose solvers are installed."""
    return ORACLES.available()


def oracle_versions(name: str) -> dict[str, str]:
    """Return the versions of the packages that identify an oracle."""
    if " then " in name:
        first, _, second = name.partition(" then ")
        return oracle_versions(first) | oracle_versions(second)
    other: OracleEntry[Oracle] = OracleEntry(target=_load_pulp, distributions=("pulp",))
    return (ORACLES.entry(name) or other).versions()


@functools.cache
def _version(distribution: str) -> str:
    """Return an installed version, looked up once: its file is parsed each time."""
    return importlib.metadata.version(distribution)


@functools.lru_cache(maxsize=64)
def _installed(modules: tuple[str, ...]) -> bool:
    """Return whether every module can be found, without importing any."""
    return all(importlib.util.find_spec(module) is not None for module in modules)
