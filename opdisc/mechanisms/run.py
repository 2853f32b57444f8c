"""One way to run every mechanism: calibrate, record, perturb, solve, check, release."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.mechanisms.base import (
    BOUNDED_ROWS,
    Mechanism,
    NoiseSpec,
    Perturbable,
    PerturbingMechanism,
    PreparedMechanism,
    Problem,
    Release,
    SamplingMechanism,
)
from opdisc.mechanisms.receipts import make_receipt, trusted_name
from opdisc.mechanisms.rehearsal import check_amount, check_room, rehearse_oracle
from opdisc.privacy import EntropySource, GridPublic, Ledger, SeededEntropy
from oracles.errors import UnsupportedProblem
from oracles.interface import Oracle, Solution, SolveOptions, resolve_oracle, solve
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
    choice: str = "",
    counts_rows: bool = False,
) -> Release:
    """Release one hypothesis, or nothing.

    Parameters
    ----------
    mechanism : PerturbingMechanism or SamplingMechanism
        What to run.
    problem : ZeroOneProblem
        The private loss; its grid must be ``public.grid`` and it must carry no perturbation.
    public : GridPublic
        All that the noise may depend on.
    entropy : EntropySource
        Random bits; anything but the operating system's makes the receipt VOID.
    oracle : str or Oracle
        Who minimises; ignored by sampling mechanisms.
    options : SolveOptions or None
        Limits. Any limit makes the receipt CONDITIONAL.
    ledger : Ledger or None
        Where the budget is recorded, durably, before anything is drawn.
    choice : str
        Why this mechanism; printed on the receipt.
    counts_rows : bool
        Whether the problem's counts were made by counting rows, as :func:`opdisc.data.aggregate`
        does. If not, that no row counts for more than one is a condition on the receipt: counts
        are compared with the public number of rows, which a row that counts for two may hide
        behind one that counts for none.

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
    _check_public(problem, public)
    if not counts_rows:
        public = _counted(problem, public)
    if not isinstance(mechanism, PerturbingMechanism):
        return run_sampler(
            mechanism,
            problem,
            public,
            entropy=entropy,
            options=options,
            ledger=ledger,
            choice=choice,
        )
    spec = mechanism.calibrate(public)
    check_amount(problem, spec.spacing)
    options = replace(options or SolveOptions(), absolute_gap=spec.allowance)
    chosen = resolve_oracle(oracle, problem)
    check_room(problem, spec, public.n_rows, chosen)
    shape = _check_support(mechanism, problem, spec, chosen)
    rehearse_oracle(chosen, mechanism, spec, shape, options)
    receipt = make_receipt(mechanism, spec, public, chosen, options, entropy, choice)
    if ledger is not None:
        ledger.spend(receipt)
    solution = _certified(lambda: mechanism.perturb(problem, spec, entropy), chosen, options, spec)
    return Release(hypothesis=solution.hypothesis, receipt=receipt)


def run_sampler(
    mechanism: SamplingMechanism[Problem],
    problem: Problem,
    public: GridPublic,
    *,
    entropy: EntropySource,
    options: SolveOptions | None = None,
    ledger: Ledger | None = None,
    choice: str = "",
) -> Release:
    """Release one hypothesis that a mechanism draws by itself, from any kind of problem.

    Parameters, errors and guarantee are those of :func:`run_mechanism`; whether one row adds a
    value in [0, 1] to the problem's losses is the caller's to see to or to name as a condition.
    """
    _check_public(problem, public)
    spec = mechanism.calibrate(public)
    check_amount(problem, spec.spacing)
    options = replace(options or SolveOptions(), absolute_gap=spec.allowance)
    if isinstance(mechanism, PreparedMechanism) and isinstance(problem, ZeroOneProblem):
        mechanism.prepare(problem, spec)
    receipt = make_receipt(mechanism, spec, public, None, options, entropy, choice)
    if ledger is not None:
        ledger.spend(receipt)
    return Release(hypothesis=_drawn(mechanism, problem, spec, entropy), receipt=receipt)


def _check_public(problem: Perturbable, public: GridPublic) -> None:
    """Refuse a problem that is not the one the noise would be calibrated for."""
    if problem.grid != public.grid:
        raise CalibrationError("the problem's grid must be the public grid; state one grid.")
    if problem.perturbation is not None:
        raise CalibrationError("the problem must carry no perturbation before the noise is drawn.")


def _counted(problem: ZeroOneProblem, public: GridPublic) -> GridPublic:
    """Refuse counts that cannot be counts of rows; that they are is a condition."""
    if min(problem.positives.min(initial=0), problem.negatives.min(initial=0)) < 0:
        raise CalibrationError("a problem's counts must be >= 0, one of each row; merge rows.")
    counts = (*problem.positives.tolist(), *problem.negatives.tolist())
    if public.n_rows is not None and sum(counts) > public.n_rows:
        raise CalibrationError(
            "a problem's counts must add up to at most the public number of rows, or a row would "
            "weigh more than the noise covers; count each row once and give its n_rows."
        )
    return replace(public, assumptions=(*public.assumptions, BOUNDED_ROWS))


def _check_support(
    mechanism: PerturbingMechanism, problem: ZeroOneProblem, spec: NoiseSpec, oracle: Oracle
) -> ZeroOneProblem:
    """Refuse an oracle that cannot take problems of this shape, before anything is spent.

    Returns the problem under throw-away noise.
    """
    shape, supported = problem, oracle.supports(problem)
    if supported and trusted_name(oracle) != "enumeration":
        # Same shape, throw-away noise: tables of several coordinates are what oracles refuse.
        shape = mechanism.perturb(problem, spec, SeededEntropy(0))
        supported = oracle.supports(shape)
    if not supported:
        raise UnsupportedProblem(f"oracle '{oracle.name}' {oracle.requirement}.")
    return shape


def _certified(
    perturbed: Callable[[], ZeroOneProblem],
    oracle: Oracle,
    options: SolveOptions,
    spec: NoiseSpec,
) -> Solution:
    """Perturb and solve once; short of a certificate within the allowance is a refusal."""
    solution: Solution | None = None
    # Whatever goes wrong once noise is drawn depends on the rows: say nothing more.
    with suppress(Exception):
        solution = solve(perturbed(), oracle, options)
    # Raised outside the handler, so that no solver state travels along as the cause.
    if solution is None or solution.certificate.gap_in_rows > spec.allowance:
        raise UncertifiedRelease(
            f"a release needs a certified gap of at most {spec.allowance:g} rows, oracle "
            f"'{oracle.name}' ended without one; the budget is spent and nothing is released: use "
            "a complete oracle without a limit."
        )
    return solution


def _drawn(
    mechanism: SamplingMechanism[Problem],
    problem: Problem,
    spec: NoiseSpec,
    entropy: EntropySource,
) -> Hypothesis:
    """Draw once; a sampler that stops without a draw says no more than that."""
    hypothesis: Hypothesis | None = None
    with suppress(Exception):
        hypothesis = mechanism.draw(problem, spec, entropy)
    if hypothesis is None:
        raise UncertifiedRelease(
            f"a release needs a complete draw, mechanism '{mechanism.name}' ended without one; "
            "the budget is spent and nothing is released: raise its public cap or use a smaller "
            "grid."
        )
    return hypothesis
