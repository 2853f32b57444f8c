"""What a solver says (a claim) and what has been checked (a certificate) are different types."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from oracles.arithmetic import Objective
from oracles.problem import Hypothesis


class Termination(enum.Enum):
    """Why a search stopped."""

    OPTIMAL = "optimal"
    """The gap was closed to within the requested absolute gap."""
    FEASIBLE = "feasible"
    """A limit came first; a hypothesis is known."""
    NO_HYPOTHESIS = "no-hypothesis"
    """A limit or a failure came before any hypothesis."""
    IMPRECISE = "imprecise"
    """The solver says optimal but its bounds, once checked, do not."""


class Limit(enum.Enum):
    """Which limit ended a search before a proof."""

    TIME = "time"
    NODE = "node"
    MEMORY = "memory"
    INTERRUPTED = "interrupted"
    NUMERICAL = "numerical"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an oracle says about its own answer. Nothing here is trusted.

    Parameters
    ----------
    hypothesis : tuple of int or None
        The best one found.
    objective : int or float or None
        Its objective as the oracle computed it, objective units; None if the oracle computed none.
    dual_bound : int or float
        Claimed lower bound on the optimum, objective units; ``-inf`` if there is none.
    termination : Termination
        Claimed reason for stopping.
    limit : Limit or None
        The limit that was met, if one was.
    nodes : int or None
        Search nodes, where the oracle counts them.
    """

    hypothesis: Hypothesis | None
    objective: Objective | None
    dual_bound: Objective
    termination: Termination
    limit: Limit | None
    nodes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What was verified about a hypothesis. Made by :func:`oracles.solve` only.

    Parameters
    ----------
    primal_bound : int or float
        The hypothesis' objective, recomputed from the problem, objective units.
    dual_bound : int or float
        Lower bound on the optimum, objective units; ``-inf`` if unknown.
    unit : float
        Rows per objective unit.
    termination : Termination
        Consistent with the two bounds.
    limit : Limit or None
        The limit that was met, if one was.
    integer_arithmetic : bool
        Whether the bound was proved in integers. If false it rests on a floating-point solver.
    """

    primal_bound: Objective
    dual_bound: Objective
    unit: float
    termination: Termination
    limit: Limit | None
    integer_arithmetic: bool

    @property
    def gap(self) -> Objective:
        """Absolute gap in objective units; 0 means proven optimal."""
        return self.primal_bound - self.dual_bound

    @property
    def gap_in_rows(self) -> float:
        """Absolute gap in rows."""
        return float(self.gap) * self.unit

    @property
    def proves_optimal(self) -> bool:
        """Whether no hypothesis has a smaller objective."""
        return self.gap <= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveStats:
    """What a solve cost.

    Parameters
    ----------
    oracle : str
        Name of the oracle that answered.
    seconds : float
        Wall time of the oracle, seconds.
    nodes : int or None
        Search nodes, where counted.
    """

    oracle: str
    seconds: float
    nodes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """A hypothesis with its certificate.

    Parameters
    ----------
    hypothesis : tuple of int
        Integer weights, in the grid.
    certificate : Certificate
        What is proved about it.
    stats : SolveStats
        What it cost.
    """

    hypothesis: Hypothesis
    certificate: Certificate
    stats: SolveStats
