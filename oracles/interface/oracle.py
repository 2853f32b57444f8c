"""The front door: check, run, verify.

An :class:`Oracle` returns a :class:`~oracles.interface.Claim`. :func:`solve` recomputes the
objective itself, refuses claims that contradict it, and only then makes a certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from oracles.errors import InvalidOption
from oracles.interface.solution import Claim
from oracles.problem import ZeroOneProblem

Progress = Callable[[float | None, float, float], None]
"""``progress(incumbent, bound, seconds)``: objective of the best hypothesis in rows (None before
the first), lower bound in rows (``-inf`` if none), wall seconds since the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOptions:
    """How to run an oracle.

    Parameters
    ----------
    time_limit : float or None
        Wall seconds after which the oracle stops with what it has. None: no limit.
    absolute_gap : float
        Stop when objective minus bound is at most this, in rows. 0 asks for a proof of optimality.
    threads : int
        Threads the oracle may use.
    seed : int
        Seed of the oracle's own tie-breaking and heuristics; never of anything else.
    progress : callable or None
        Called now and then as ``progress(incumbent, bound, seconds)``, in rows, and by
        :func:`oracles.solve` at the end with what is certified. It sees what the points say: where
        they are private it is for their owner's eyes only.
    """

    time_limit: float | None = None
    absolute_gap: float = 0.0
    threads: int = 1
    seed: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        if self.time_limit is not None and not self.time_limit > 0:
            raise InvalidOption(f"time_limit must be > 0 seconds, got {self.time_limit}.")
        if not self.absolute_gap >= 0 or math.isinf(self.absolute_gap):
            raise InvalidOption(f"absolute_gap must be >= 0 rows, got {self.absolute_gap}.")
        if self.threads < 1:
            raise InvalidOption(f"threads must be >= 1, got {self.threads}.")


@runtime_checkable
class Oracle(Protocol):
    """Anything that minimises a :class:`~oracles.problem.ZeroOneProblem`.

    This is the contract. The hypothesis is in the grid. ``dual_bound`` never exceeds the optimum.
    A search that a limit ended never claims ``OPTIMAL``. The problem is not modified. The same
    inputs give the same answer at ``threads=1``. :func:`oracles.testing.conformance.check_oracle`
    checks all of it.

    Attributes
    ----------
    name : str
        The name it is registered under.
    integer_arithmetic : bool
        Whether bounds are proved in integers, without tolerances.
    requirement : str
        Completes "this oracle ...", for the message when :meth:`supports` is false.

    Notes
    -----
    An oracle whose numbers are limited may also have ``most_steps``, a float: the most steps of
    the unit that all counts and tables together may come to. A caller whose tables are yet to be
    made compares with it what they may come to. One that never gives a bound may have
    ``can_certify``, false: whoever needs a certificate then does without asking it. One whose
    licence may limit programs may have ``size_limit``, a :class:`~oracles.interface.SizeLimit`,
    and ``formulation``, the name of its encoding. One that heeds the alternatives of a grid has
    ``takes_alternatives``, true; no other is asked about such a grid (:func:`refusal`).
    """

    name: str
    integer_arithmetic: bool
    requirement: str

    def supports(self, problem: ZeroOneProblem) -> bool:
        """Return whether :meth:`solve` can take this problem."""
        ...

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Minimise the objective."""
        ...


def refusal(oracle: Oracle, problem: ZeroOneProblem) -> str | None:
    """Return why an oracle cannot take a problem, to follow its name; None if it can."""
    if problem.grid.alternatives and not getattr(oracle, "takes_alternatives", False):
        return "takes no alternatives among the weights; use 'enumeration'"
    return None if oracle.supports(problem) else oracle.requirement
