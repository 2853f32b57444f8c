"""One way to run every mechanism: calibrate, record, perturb, solve, check, release."""

from __future__ import annotations

import math
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Protocol, runtime_checkable

from opdisc.accounting import Ledger
from opdisc.errors import CalibrationError, UncertifiedRelease
from opdisc.noise import EntropySource, SeededEntropy
from opdisc.privacy import (
    CalibrationStatus,
    Guarantee,
    PrivacyReceipt,
    PublicInputs,
)
from oracles import (
    Hypothesis,
    Oracle,
    Solution,
    SolveOptions,
    UnsupportedProblem,
    ZeroOneProblem,
    oracle_versions,
    solve,
)
from oracles.handover import HandoverOracle
from oracles.interface import resolve_oracle

TRUSTED_ORACLES = {
    "enumeration": "oracles.enumeration:EnumerationOracle",
    "branch-and-bound": "oracles.branch_and_bound:BranchAndBoundOracle",
    "cp-sat": "oracles.cpsat:CpSatOracle",
    "table": "oracles.tabular:TabularOracle",
}
"""Classes that prove optimality in integers. A guarantee rests on the class, never on a name."""

COMPLETE_ORACLES = frozenset({"enumeration", "branch-and-bound", "table"})
"""Those of them that always end with a proof when no limit is set."""


def trusted_name(oracle: Oracle) -> str | None:
    """Return the name under which an oracle's class is trusted, or None."""
    for name, target in TRUSTED_ORACLES.items():
        module, attribute = target.split(":")
        known = getattr(sys.modules.get(module), attribute, None)
        if known is not None and type(oracle) is known:
            return name
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSpec:
    """What a calibration decided. A function of :class:`PublicInputs` only.

    Parameters
    ----------
    law : str
        The noise law in words.
    scales : tuple of float
        Its scale parameters, rows (per row for a Gibbs law).
    theorem : str
        The statement that makes the release private.
    status : CalibrationStatus
        How well that statement is established.
    allowance : float
        Largest certified gap a release may have, rows.
    distance : float
        Total variation between the sampled noise and its law, or the probability that a draw is
        off by more than the calibration pays for.
    spacing : float
        Lattice spacing of the noise, rows; 0 if there is no lattice.
    """

    law: str
    scales: tuple[float, ...]
    theorem: str
    status: CalibrationStatus
    allowance: float
    distance: float
    spacing: float


@runtime_checkable
class PerturbingMechanism(Protocol):
    """A mechanism that perturbs the objective and asks an oracle for the minimiser."""

    @property
    def name(self) -> str:
        """Name on receipts."""
        ...

    def calibrate(self, public: PublicInputs) -> NoiseSpec:
        """Return the noise; refuse with CalibrationError."""
        ...

    def perturb(
        self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource
    ) -> ZeroOneProblem:
        """Return the problem under fresh noise; the problem itself is unchanged."""
        ...


@runtime_checkable
class SamplingMechanism(Protocol):
    """A mechanism that draws a hypothesis directly."""

    @property
    def name(self) -> str:
        """Name on receipts."""
        ...

    @property
    def sampler(self) -> str:
        """Who draws, on receipts."""
        ...

    @property
    def condition(self) -> str | None:
        """What the draw's end rests on; None if it always ends with a hypothesis."""
        ...

    def calibrate(self, public: PublicInputs) -> NoiseSpec:
        """Return the law; refuse with CalibrationError."""
        ...

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return one hypothesis from the law."""
        ...


Mechanism = PerturbingMechanism | SamplingMechanism


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A hypothesis that may be published, and the promise that was kept.

    Parameters
    ----------
    hypothesis : tuple of int
        Integer weights, the intercept first.
    receipt : PrivacyReceipt
        The privacy statement.
    """

    hypothesis: Hypothesis
    receipt: PrivacyReceipt


def run_mechanism(
    mechanism: Mechanism,
    problem: ZeroOneProblem,
    public: PublicInputs,
    *,
    entropy: EntropySource,
    oracle: str | Oracle = "auto",
    options: SolveOptions | None = None,
    ledger: Ledger | None = None,
    choice: str = "",
) -> Release:
    """Release one hypothesis, or nothing.

    Parameters
    ----------
    mechanism : PerturbingMechanism or SamplingMechanism
        What to run.
    problem : ZeroOneProblem
        The private loss; its grid must be ``public.grid`` and it must carry no perturbation.
    public : PublicInputs
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
    spec = mechanism.calibrate(public)
    options = replace(options or SolveOptions(), absolute_gap=spec.allowance)
    if isinstance(mechanism, PerturbingMechanism):
        chosen = resolve_oracle(oracle, problem)
        _check_support(mechanism, problem, spec, chosen)
        receipt = _receipt(mechanism, spec, public, chosen, options, entropy, choice)
    else:
        chosen = None
        receipt = _receipt(mechanism, spec, public, None, options, entropy, choice)
    if ledger is not None:
        ledger.spend(receipt)
    if isinstance(mechanism, PerturbingMechanism):
        assert chosen is not None
        perturbed = mechanism.perturb(problem, spec, entropy)
        hypothesis = _certified(perturbed, chosen, options, spec).hypothesis
    else:
        hypothesis = _drawn(mechanism, problem, spec, entropy)
    return Release(hypothesis=hypothesis, receipt=receipt)


def _check_public(problem: ZeroOneProblem, public: PublicInputs) -> None:
    """Refuse a problem that is not the one the noise would be calibrated for."""
    if problem.grid != public.grid:
        raise CalibrationError("the problem's grid must be the public grid; state one grid.")
    if problem.perturbation is not None:
        raise CalibrationError("the problem must carry no perturbation before the noise is drawn.")


def _check_support(
    mechanism: PerturbingMechanism, problem: ZeroOneProblem, spec: NoiseSpec, oracle: Oracle
) -> None:
    """Refuse an oracle that cannot take problems of this shape, before anything is spent."""
    supported = oracle.supports(problem)
    if supported and trusted_name(oracle) != "enumeration":
        # Same shape, throw-away noise: tables of several coordinates are what oracles refuse.
        supported = oracle.supports(mechanism.perturb(problem, spec, SeededEntropy(0)))
    if not supported:
        raise UnsupportedProblem(f"oracle '{oracle.name}' {oracle.requirement}.")


def _certified(
    problem: ZeroOneProblem, oracle: Oracle, options: SolveOptions, spec: NoiseSpec
) -> Solution:
    """Solve once; anything short of a certificate within the allowance is a refusal."""
    solution: Solution | None = None
    # Whatever goes wrong after the noise was drawn depends on the rows: say nothing more.
    with suppress(Exception):
        solution = solve(problem, oracle, options)
    # Raised outside the handler, so that no solver state travels along as the cause.
    if solution is None or solution.certificate.gap_in_rows > spec.allowance:
        raise UncertifiedRelease(
            f"a release needs a certified gap of at most {spec.allowance:g} rows, oracle "
            f"'{oracle.name}' ended without one; the budget is spent and nothing is released: use "
            "a complete oracle without a limit."
        )
    return solution


def _drawn(
    mechanism: SamplingMechanism, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource
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


def _receipt(
    mechanism: Mechanism,
    spec: NoiseSpec,
    public: PublicInputs,
    oracle: Oracle | None,
    options: SolveOptions,
    entropy: EntropySource,
    choice: str,
) -> PrivacyReceipt:
    assumptions = public.assumptions
    if isinstance(mechanism, SamplingMechanism) and mechanism.condition is not None:
        assumptions = (*assumptions, mechanism.condition)
    guarantee, conditions = _judgement(spec, oracle, options, entropy, assumptions)
    epsilon = public.params.epsilon
    searched = oracle.name if oracle is not None else getattr(mechanism, "sampler", "")
    return PrivacyReceipt(
        mechanism=mechanism.name,
        theorem=spec.theorem,
        calibration=spec.status.value,
        epsilon=epsilon,
        delta=public.params.delta,
        delta_numerical=numerical_delta(spec.distance, epsilon),
        relation=public.relation.value,
        privacy_unit=public.privacy_unit,
        sensitivity=public.sensitivity,
        allowance=spec.allowance,
        noise_law=spec.law,
        noise_scales=spec.scales,
        spacing=spec.spacing,
        schema_digest=public.schema_digest,
        n_rows=public.n_rows,
        weights=public.grid.values,
        norm_budget=public.grid.norm_budget,
        oracle=searched,
        versions=_versions(oracle),
        guarantee=guarantee.value,
        conditions=conditions,
        choice=choice,
    )


def numerical_delta(distance: float, epsilon: float) -> float:
    """Return ``(1 + e^epsilon) * distance``: what a law within ``distance`` adds to delta."""
    return min(1.0, (1.0 + math.exp(min(epsilon, 700.0))) * (1 + 1e-12) * distance)


def _judgement(
    spec: NoiseSpec,
    oracle: Oracle | None,
    options: SolveOptions,
    entropy: EntropySource,
    assumptions: tuple[str, ...],
) -> tuple[Guarantee, tuple[str, ...]]:
    """Return what is promised, and the conditions or reasons in words."""
    void = []
    if not entropy.is_secure:
        void.append("the random bits came from a seed, not from the operating system")
    if spec.status is not CalibrationStatus.PROVEN:
        void.append(f"the noise calibration is {spec.status.value}, not proven")
    if void:
        return Guarantee.VOID, tuple(void)
    conditions = list(assumptions)
    if oracle is not None and not oracle.integer_arithmetic:
        conditions.append(f"the floating-point lower bound of '{oracle.name}' is right")
    elif oracle is not None and not _all_trusted(oracle):
        conditions.append(f"the certificates of the third-party oracle '{oracle.name}' are right")
    if not _always_ends(oracle, options):
        within = f" within {options.time_limit:g} s" if options.time_limit is not None else ""
        who = "the draw ends" if oracle is None else f"'{oracle.name}' certifies"
        conditions.append(f"{who}{within} on every table and every noise draw")
    if conditions:
        return Guarantee.CONDITIONAL, tuple(conditions)
    return Guarantee.HOLDS, ()


def _all_trusted(oracle: Oracle) -> bool:
    """Return whether every oracle that may answer proves its bounds in our own integers."""
    if type(oracle) is HandoverOracle:
        return _all_trusted(oracle.first) and _all_trusted(oracle.second)
    return trusted_name(oracle) is not None


def _always_ends(oracle: Oracle | None, options: SolveOptions) -> bool:
    """Return whether a certificate, or a draw, comes on every table and every noise."""
    if oracle is None:
        return options.time_limit is None
    if type(oracle) is HandoverOracle:
        return _is_complete(oracle.second)
    return options.time_limit is None and _is_complete(oracle)


def _is_complete(oracle: Oracle) -> bool:
    own_limit = not getattr(oracle, "is_complete", True)
    return trusted_name(oracle) in COMPLETE_ORACLES and not own_limit


def _versions(oracle: Oracle | None) -> tuple[tuple[str, str], ...]:
    found = {"opdisc": version("opdisc"), "python": platform.python_version()}
    found.update(oracle_versions(oracle.name) if oracle is not None else {})
    return tuple(sorted(found.items()))
