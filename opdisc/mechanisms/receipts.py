"""What a release may promise, and on which conditions: a function of public inputs only."""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version

from opdisc.mechanisms.base import EVERYWHERE, Mechanism, NoiseSpec, SamplingMechanism
from opdisc.noise import EntropySource
from opdisc.privacy import CalibrationStatus, Guarantee, PrivacyReceipt, PublicInputs
from oracles import Oracle, SolveOptions, oracle_versions
from oracles.handover import HandoverOracle

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


def make_receipt(
    mechanism: Mechanism,
    spec: NoiseSpec,
    public: PublicInputs,
    oracle: Oracle | None,
    options: SolveOptions,
    entropy: EntropySource,
    choice: str,
) -> PrivacyReceipt:
    """Return the privacy statement of a release that has not happened yet."""
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


def judge(
    status: CalibrationStatus, entropy: EntropySource, conditions: Sequence[str]
) -> tuple[Guarantee, tuple[str, ...]]:
    """Return what any release may promise, and what it rests on or why it is VOID.

    Parameters
    ----------
    status : CalibrationStatus
        How well the noise calibration is established; only a proven one promises anything.
    entropy : EntropySource
        Random bits; a seed promises nothing.
    conditions : sequence of str
        What the guarantee would rest on besides; with none it HOLDS.
    """
    void = []
    if not entropy.is_secure:
        void.append("the random bits came from a seed, not from the operating system")
    if status is not CalibrationStatus.PROVEN:
        void.append(f"the noise calibration is {status.value}, not proven")
    if void:
        return Guarantee.VOID, tuple(void)
    return (Guarantee.CONDITIONAL if conditions else Guarantee.HOLDS), tuple(conditions)


def _judgement(
    spec: NoiseSpec,
    oracle: Oracle | None,
    options: SolveOptions,
    entropy: EntropySource,
    assumptions: tuple[str, ...],
) -> tuple[Guarantee, tuple[str, ...]]:
    """Return what is promised, and the conditions or reasons in words."""
    conditions = list(assumptions)
    if oracle is not None and not oracle.integer_arithmetic:
        conditions.append(f"the floating-point lower bound of '{oracle.name}' is right")
    elif oracle is not None and not _all_trusted(oracle):
        conditions.append(f"the certificates of the third-party oracle '{oracle.name}' are right")
    if not _always_ends(oracle, options):
        within = f" within {options.time_limit:g} s" if options.time_limit is not None else ""
        who = "the draw ends" if oracle is None else f"'{oracle.name}' certifies"
        condition = f"{who}{within} {EVERYWHERE}"
        if condition not in conditions:  # a sampling mechanism states its own limit
            conditions.append(condition)
    return judge(spec.status, entropy, conditions)


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
