"""What can fail without the rows is tried before anything is spent, on a toy of public facts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from opdisc.errors import CalibrationError, large_number, rehearse
from opdisc.mechanisms.base import NoiseSpec, PerturbingMechanism
from opdisc.mechanisms.receipts import COMPLETE_ORACLES, trusted_name
from opdisc.noise import MOST_NOISE
from opdisc.privacy import GridPublic, SeededEntropy
from oracles.errors import OracleUnavailable, UnsupportedProblem
from oracles.interface import HandoverOracle, Limit, Oracle, SolveOptions, Termination
from oracles.milp import ProgramSize, largest_program, problem_beyond
from oracles.problem import TabularProblem, WeightGrid, ZeroOneProblem

_TOY_SECONDS = 10.0

_ANY_GAP = 2.0**30

_FEW = 6

_MOST_DIGITS = 10**9

_LIMITS = (Limit.TIME, Limit.NODE, Limit.MEMORY, Limit.INTERRUPTED)


MOST_ROWS = 2**34
"""Rows that exact sums must have room for where their number is not public."""


def check_amount(problem: object, spacing: float, public: GridPublic) -> None:
    """Refuse a table of more rows than exact sums have room for.

    Parameters
    ----------
    problem : object
        The private problem.
    spacing : float
        Lattice spacing, rows; 0 for none, where losses are in rows.
    public : GridPublic
        Where it has no number of rows, spacing and costs must leave room for :data:`MOST_ROWS`:
        tables that a computer can count are refused by these alone.

    Raises
    ------
    UnsupportedProblem
        If so; nothing is spent.
    """
    if not isinstance(problem, ZeroOneProblem | TabularProblem):
        return  # a loss of the caller's own is in Python's integers
    unit = problem.unit if isinstance(problem, TabularProblem) else spacing or 1.0
    if public.largest_loss is None and MOST_ROWS * public.error_costs.largest / unit > MOST_NOISE:
        raise UnsupportedProblem(
            "where the number of rows is not public there must be room for 2**34 rows, but all "
            "rows together must weigh at most 2**54 lattice steps; use a coarser spacing."
        )
    if isinstance(problem, ZeroOneProblem):
        counts = (problem.positives, problem.negatives)
        steps = sum(float(np.abs(c.astype(float)).sum()) for c in counts) / (spacing or 1.0)
    else:
        steps = float(np.abs(problem.losses.astype(float)).max())
    # Three times what rows and noise may reach is below what the exact search can add up, so that
    # no sum can overflow after the spend.
    if steps > MOST_NOISE:
        raise UnsupportedProblem(
            "all rows together must weigh at most 2**54 lattice steps; use a coarser spacing."
        )


def check_room(spec: NoiseSpec, public: GridPublic, oracle: Oracle) -> None:
    """Refuse an oracle whose numbers the rows and the largest noise together could outgrow.

    Parameters
    ----------
    spec : NoiseSpec
        The noise that will be drawn.
    public : GridPublic
        What all rows can cost together; where that is not public, the guess takes its place. With
        neither the noise alone must have room.
    oracle : Oracle
        Who will be asked.

    Raises
    ------
    UnsupportedProblem
        If so; nothing is spent. Otherwise no draw can make the oracle refuse the problem, unless
        the number of rows is not public and larger than was guessed: that oracles with such a
        limit end with a certificate is a condition on the receipt.
    """
    most = getattr(oracle, "most_steps", None)
    if most is None or not spec.spacing:
        return
    rows = public.largest_loss
    if rows is None:
        rows = (public.public_row_guess or 0) * public.error_costs.largest
    # Noise that comes as weighted rows may count twice in a solver's sum of absolute values.
    if rows / spec.spacing + 2 * spec.most_steps > most:
        raise UnsupportedProblem(
            f"oracle '{oracle.name}' takes objectives of at most {most:.0e} lattice steps, but "
            "rows and the largest noise together could need more; use a coarser spacing, a larger "
            "epsilon or 'branch-and-bound'."
        )


def check_certifies(oracle: Oracle) -> None:
    """Refuse an oracle that never proves anything, so that no release could come of it.

    Raises
    ------
    UnsupportedProblem
        If so; nothing is spent.
    """
    if not getattr(oracle, "can_certify", True):
        raise UnsupportedProblem(
            f"a release needs a certificate, but oracle '{oracle.name}' never proves a bound; let "
            f"one take over that does: '{oracle.name} then branch-and-bound'."
        )


def check_size(
    oracle: Oracle,
    shape: ZeroOneProblem,
    public: GridPublic,
    added_points: Callable[[], int] = lambda: 0,
) -> None:
    """Refuse an oracle whose licence may not take the program that the rows will make.

    Whoever holds a full licence goes on: where public facts allow a program beyond the free one's
    limit, the solver is asked whether it takes one, of public numbers.

    Parameters
    ----------
    oracle : Oracle
        Who will be asked. Of a chain only the last one counts: it takes over from the others.
    shape : ZeroOneProblem
        A problem of the same grid and tables; its points are never looked at.
    public : GridPublic
        What bounds the number of distinct points.
    added_points : callable
        How many points noise adds to those of the rows.

    Raises
    ------
    UnsupportedProblem
        If so; nothing is spent.
    """
    if type(oracle) is HandoverOracle:
        check_size(oracle.second, shape, public, added_points)
        return
    limit = getattr(oracle, "size_limit", None)
    if limit is None or not isinstance(shape, ZeroOneProblem):
        return
    most = _largest_program(oracle, shape, public, added_points())
    if most is not None and limit.admits(*most):
        return
    if _takes(oracle, problem_beyond(limit)):
        return
    allowed = "any number of distinct points"
    if most is not None:
        allowed = f"{_count(most.rows)} rows and {_count(most.columns)} columns"
    raise UnsupportedProblem(
        f"oracle '{oracle.name}' takes programs of at most {limit} under its licence here, but "
        f"the public facts allow {allowed}; use a full licence, fewer statements, another oracle "
        f"or '{oracle.name} then branch-and-bound'."
    )


def points_of_noise(mechanism: PerturbingMechanism, spec: NoiseSpec, grid: WeightGrid) -> int:
    """Return how many points a mechanism's noise is: some noise is weighted rows."""
    toy = toy_problem(grid)
    return mechanism.perturb(toy, spec, SeededEntropy(0)).n_points - toy.n_points


def _largest_program(
    oracle: Oracle, shape: ZeroOneProblem, public: GridPublic, added_points: int
) -> ProgramSize | None:
    """Return how large a program public facts allow, or None where they set no bound."""
    known = [n for n in (public.most_points, public.n_rows) if n is not None]
    if not known:
        return None
    return largest_program(
        shape.grid,
        shape.perturbation,
        getattr(oracle, "formulation", "aggregated"),
        points=min(known) + added_points,
        weight=None if added_points else public.largest_loss,
    )


def _takes(oracle: Oracle, problem: ZeroOneProblem) -> bool:
    """Return whether an oracle takes a problem; how far it comes in a few seconds is no matter."""
    limits = SolveOptions(time_limit=_TOY_SECONDS, absolute_gap=_ANY_GAP)
    with suppress(Exception):  # each solver has its own way to refuse
        if oracle.supports(problem):
            claim = oracle.solve(problem, limits)
            return claim.hypothesis is not None or claim.limit in _LIMITS
    return False


def _count(number: int) -> str:
    return f"{number:,}" if number < _MOST_DIGITS else large_number(number)


def toy_problem(grid: WeightGrid) -> ZeroOneProblem:
    """Return a problem on a grid with two points."""
    points = np.zeros((2, grid.n_features), dtype=np.int64)
    points[:, 0] = 1
    points[1, 1:2] = 1
    return ZeroOneProblem(
        points=points,
        positives=np.array([1, 2], dtype=np.int64),
        negatives=np.array([2, 1], dtype=np.int64),
        grid=grid,
    )


def small_grid(grid: WeightGrid) -> WeightGrid:
    """Return a grid of as many coordinates, only the first few of which have a choice."""
    chosen = 0
    values = []
    for allowed in grid.values:
        nearest = sorted(allowed, key=abs)[: 3 if chosen < _FEW else 1]
        chosen += len(nearest) > 1
        values.append(tuple(sorted(nearest)))
    return replace(grid, values=tuple(values))


def rehearse_oracle(
    oracle: Oracle,
    mechanism: PerturbingMechanism,
    spec: NoiseSpec,
    shape: ZeroOneProblem,
    options: SolveOptions,
) -> None:
    """Let an oracle solve a toy of the same shape, under throw-away noise.

    Parameters
    ----------
    oracle : Oracle
        Who will be asked.
    mechanism : PerturbingMechanism
        Whose noise the problem will be under.
    spec : NoiseSpec
        The noise.
    shape : ZeroOneProblem
        The problem under throw-away noise; its grid and noise are looked at, never its points.
    options : SolveOptions
        How it will be asked.

    Raises
    ------
    OracleUnavailable
        If it raises, or ends without an answer before any limit.
    """
    if not isinstance(shape, ZeroOneProblem):
        return  # only their owner can make another problem of that shape
    if type(oracle) is HandoverOracle:
        with suppress(OracleUnavailable):  # the second one takes over
            rehearse_oracle(oracle.first, mechanism, spec, shape, options)
        rehearse_oracle(oracle.second, mechanism, spec, shape, options)
        return
    trusted = trusted_name(oracle)
    # Listing needs no compiled code, and takes as long on a toy as on a table.
    toy = toy_problem(small_grid(shape.grid) if trusted == "enumeration" else shape.grid)
    if trusted != "enumeration":
        if shape.perturbation is None:
            toy = mechanism.perturb(toy, spec, SeededEntropy(0))
        else:
            toy = toy.with_perturbation(shape.perturbation)
    seconds = min(options.time_limit or _TOY_SECONDS, _TOY_SECONDS)
    # A proof is only asked of those that give one in milliseconds.
    gap = options.absolute_gap if trusted in COMPLETE_ORACLES else _ANY_GAP
    limits = replace(options, time_limit=seconds, absolute_gap=gap, progress=None)

    def attempt() -> None:
        if oracle.supports(toy):
            claim = oracle.solve(toy, limits)
            if claim.termination is Termination.NO_HYPOTHESIS and claim.limit not in _LIMITS:
                raise CalibrationError("the toy problem has an answer.")

    rehearse(f"oracle '{oracle.name}'", attempt)
