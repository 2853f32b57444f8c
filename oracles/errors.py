"""Everything that can go wrong while a problem is stated or solved.

Each error also derives from the builtin one would expect, so ``except ValueError`` keeps working.
No message carries a hypothesis or an objective value.
"""

from __future__ import annotations

from collections.abc import Collection


class OracleError(Exception):
    """Root of every error raised by :mod:`oracles`."""


class OracleUnavailable(OracleError, ImportError):
    """The named oracle is unknown or its solver is not installed."""


class UnsupportedProblem(OracleError, TypeError):
    """The oracle cannot solve problems of this shape or size."""


class InvalidProblem(OracleError, ValueError):
    """The problem itself is malformed."""


class InvalidOption(OracleError, ValueError):
    """An option has an impossible value, or the solver rejected it."""


class FormulationError(OracleError, ValueError):
    """The problem cannot be encoded within the solver's tolerances."""


class InconsistentSolution(OracleError, RuntimeError):
    """A solver's claim contradicts what was recomputed from the problem."""


class NoHypothesis(OracleError, RuntimeError):
    """A limit or a failure came before any feasible answer."""


def check_choice(
    name: str, value: object, choices: Collection[str], error: type[OracleError] = InvalidProblem
) -> None:
    """Refuse what is not one of the names that are known."""
    if not (isinstance(value, str) and value in choices):
        raise error(f"{name} must be one of {', '.join(choices)}, got {value!r}.")
