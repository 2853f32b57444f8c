"""One way to run every mechanism: calibrate, record, perturb, solve, check, release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import (
    BOUNDED_ROWS,
    ROWS_COUNT_ONCE,
    Mechanism,
    NoiseSpec,
    Perturbable,
    PerturbingMechanism,
    PreparedMechanism,
    Problem,
    Release,
    SamplingMechanism,
)
from opdisc.mechanisms.receipts import PreparedRelease, trusted_name
from opdisc.mechanisms.rehearsal import (
    check_amount,
    check_certifies,
    check_room,
    check_size,
    points_of_noise,
    rehearse_oracle,
    toy_problem,
)
from opdisc.privacy import (
    EntropySource,
    GridPublic,
    Ledger,
    Reason,
    SeededEntropy,
)
from oracles.errors import UnsupportedProblem
from oracles.interface import HandoverOracle, Oracle, SolveOptions, refusal, resolve_oracle, solve
from oracles.problem import Hypothesis, ZeroOneProblem


def run_mechanism(
    mechanism: Mechanism,
    problem: ZeroOneProblem,
    public: GridPublic,
    *,
    entropy: EntropySource,
    oracle: str | Oracle = "auto",
    options: SolveOptions | None = None,
    ledger: Ledger | None = None,
    choice: str | Reason = "",
    counts_rows: bool = False,
) -> Release:
    """Release one hypothesis, or nothing.

    Parameters
    ----------
    mechanism : PerturbingMechanism or SamplingMechanism
        What to run.
    problem : ZeroOneProblem
        The private loss in rows; its grid must be ``public.grid`` and it must carry no
        perturbation. It is weighed here by ``public.error_costs``, and nowhere before.
    public : GridPublic
        All that the noise may depend on.
    entropy : EntropySource
        Random bits; anything but the operating system's makes the receipt VOID.
    oracle : str or Oracle
        Who minimises; ignored by sampling mechanisms.
    options : SolveOptions or None
        Limits. Any limit makes the receipt CONDITIONAL. Its ``progress`` is told the objective
        and the bound of the perturbed problem, which no budget pays for: for debugging only.
    ledger : Ledger or None
        Where the budget is recorded, durably, before anything is drawn.
    choice : str or Reason
        Why this mechanism; printed on the receipt.
    counts_rows : bool
        Whether the problem's counts were made by counting rows, as :func:`opdisc.data.aggregate`
        does. If not, it is a condition on the receipt that no row counts for more than one. Counts
        are compared with the public number of rows, but a row that counts for two may hide behind
        one that counts for none.

    Returns
    -------
    Release
        Hypothesis and receipt.

    Raises
    ------
    OracleUnavailable, UnsupportedProblem
        If the oracle cannot run here or cannot take the problem; nothing is spent.
    UncertifiedRelease
        If the oracle gave no certificate within the allowance. The budget stays spent, nothing is
        released, and the message carries no hypothesis and no objective.

    Notes
    -----
    **Guarantee.** As stated on the receipt, by Theorem A of docs/theory.md for perturbing
    mechanisms. There is one noise draw per call and never a second.
    """
    prepared = prepare_mechanism(
        mechanism,
        problem,
        public,
        entropy=entropy,
        oracle=oracle,
        options=options,
        choice=choice,
        counts_rows=counts_rows,
    )
    return prepared.charge().run(ledger)


def prepare_mechanism(
    mechanism: Mechanism,
    problem: ZeroOneProblem,
    public: GridPublic,
    *,
    entropy: EntropySource,
    oracle: str | Oracle = "auto",
    options: SolveOptions | None = None,
    choice: str | Reason = "",
    counts_rows: bool = False,
) -> PreparedRelease:
    """Return a release that has not happened: all of :func:`run_mechanism` but spend and draw.

    Several releases that are paid for together are prepared first, so that what can fail without
    the rows fails before the one charge. Parameters and errors are those of
    :func:`run_mechanism`.
    """
    _check_public(mechanism, problem, public)
    if not counts_rows:
        public = _counted(problem, public)
    if not isinstance(mechanism, PerturbingMechanism):
        return _prepare_sampler(
            mechanism, problem, public, entropy=entropy, options=options, choice=choice
        )
    spec = mechanism.calibrate(public)
    problem = public.error_costs.weigh(problem)
    check_amount(problem, spec.spacing, public)
    limits = replace(options or SolveOptions(), absolute_gap=spec.allowance)
    chosen = resolve_oracle(oracle, problem)
    check_certifies(chosen)
    check_room(spec, public, chosen)
    shape = _check_support(mechanism, problem, spec, chosen, public)
    rehearse_oracle(chosen, mechanism, spec, shape, limits)
    check_size(chosen, shape, public, lambda: points_of_noise(mechanism, spec, shape.grid))

    def draw() -> Hypothesis | None:
        solution = solve(mechanism.perturb(problem, spec, entropy), chosen, limits)
        is_certified = solution.certificate.gap_in_rows <= spec.allowance
        return solution.hypothesis if is_certified else None

    return PreparedRelease(
        mechanism=mechanism,
        spec=spec,
        public=public,
        oracle=chosen,
        options=limits,
        entropy=entropy,
        choice=choice,
        draw=draw,
        refusal=_uncertified(chosen, spec),
    )


def run_sampler(
    mechanism: SamplingMechanism[Problem],
    problem: Problem,
    public: GridPublic,
    *,
    entropy: EntropySource,
    options: SolveOptions | None = None,
    ledger: Ledger | None = None,
    choice: str | Reason = "",
) -> Release:
    """Release one hypothesis that a mechanism draws by itself, from any kind of problem.

    Parameters, errors and guarantee are those of :func:`run_mechanism`. The caller sees to it that
    one row adds a value in [0, 1] to the problem's losses, or names it as a condition.
    """
    prepared = _prepare_sampler(
        mechanism, problem, public, entropy=entropy, options=options, choice=choice
    )
    return prepared.charge().run(ledger)


def _prepare_sampler(
    mechanism: SamplingMechanism[Problem],
    problem: Problem,
    public: GridPublic,
    *,
    entropy: EntropySource,
    options: SolveOptions | None,
    choice: str | Reason,
) -> PreparedRelease:
    _check_public(mechanism, problem, public)
    spec = mechanism.calibrate(public)
    if isinstance(problem, ZeroOneProblem):
        problem = cast("Problem", public.error_costs.weigh(problem))
    check_amount(problem, spec.spacing, public)
    options = replace(options or SolveOptions(), absolute_gap=spec.allowance)
    if isinstance(mechanism, PreparedMechanism) and isinstance(problem, ZeroOneProblem):
        mechanism.prepare(problem, spec)
    return PreparedRelease(
        mechanism=mechanism,
        spec=spec,
        public=public,
        oracle=None,
        options=options,
        entropy=entropy,
        choice=choice,
        draw=lambda: mechanism.draw(problem, spec, entropy),
        refusal=(
            f"a release needs a complete draw, but mechanism '{mechanism.name}' ended without "
            "one; the budget is spent and nothing is released: raise its public cap or use a "
            "smaller grid."
        ),
    )


def _check_public(
    mechanism: PerturbingMechanism | SamplingMechanism[Any],
    problem: Perturbable,
    public: GridPublic,
) -> None:
    """Refuse a problem that is not the one the noise would be calibrated for."""
    if public.grid.alternatives and not getattr(mechanism, "takes_alternatives", False):
        raise CalibrationError(
            f"alternatives need a mechanism that lists or counts its hypotheses, but mechanism "
            f"'{mechanism.name}' does neither; use another one, or a grid without alternatives."
        )
    if problem.grid != public.grid:
        raise CalibrationError("the problem's grid must be the public grid; state one grid.")
    if not (public.error_costs.are_equal or isinstance(problem, ZeroOneProblem)):
        raise CalibrationError(
            "error costs weigh rows of two classes, and a loss of your own has none; put the "
            "costs into the loss."
        )
    if problem.perturbation is not None:
        raise CalibrationError("the problem must carry no perturbation before the noise is drawn.")


def _counted(problem: ZeroOneProblem, public: GridPublic) -> GridPublic:
    """Refuse counts that cannot be counts of rows; that they are is a condition."""
    if (problem.positives < 0).any() or (problem.negatives < 0).any():
        raise CalibrationError("a problem's counts must be >= 0, one of each row; merge rows.")
    counts = (*problem.positives.tolist(), *problem.negatives.tolist())
    if public.n_rows is not None and sum(counts) > public.n_rows:
        raise CalibrationError(
            "a problem's counts must add up to at most the public number of rows, since the "
            "noise covers no more; count each row once and give its n_rows."
        )
    assumed = BOUNDED_ROWS if public.error_costs.are_equal else ROWS_COUNT_ONCE
    return replace(public, assumptions=(*public.assumptions, assumed))


def _check_support(
    mechanism: PerturbingMechanism,
    problem: ZeroOneProblem,
    spec: NoiseSpec,
    oracle: Oracle,
    public: GridPublic,
) -> ZeroOneProblem:
    """Refuse an oracle that cannot take problems of this shape, before anything is spent.

    Returns the problem under throw-away noise. Where the number of rows is not public, nor
    anything else that an oracle may see in them, a toy on the same grid takes its place.
    """
    if public.n_rows is None and isinstance(problem, ZeroOneProblem):
        problem = toy_problem(problem.grid)
    shape, refused = problem, refusal(oracle, problem)
    if refused is None and trusted_name(oracle) != "enumeration":
        # Same shape, throw-away noise: tables of several coordinates are what oracles refuse.
        shape = mechanism.perturb(problem, spec, SeededEntropy(0))
        refused = refusal(oracle, shape)
    if refused is not None:
        raise UnsupportedProblem(f"oracle '{oracle.name}' {refused}.")
    return shape


def _uncertified(oracle: Oracle, spec: NoiseSpec) -> str:
    """Return what is said where no certificate within the allowance was reached."""
    surely = ""
    if type(oracle) is not HandoverOracle:
        surely = f", or '{oracle.name} then branch-and-bound'"
    return (
        f"a release needs a certified gap of at most {spec.allowance:g} rows, but oracle "
        f"'{oracle.name}' ended without one; the budget is spent and nothing is released: use "
        f"a complete oracle without a limit{surely}."
    )
