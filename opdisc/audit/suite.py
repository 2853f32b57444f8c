"""The suite of audits: every mechanism against the tables that would expose it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from opdisc.audit.attacks import AttackCase
from opdisc.audit.convex import ConvexAuditCase
from opdisc.audit.convex_cases import convex_audit_cases
from opdisc.audit.costly_rows import AUDITED_COSTS, swapped_binary_rows, swapped_rows
from opdisc.audit.counts import CountsAuditCase, counts_audit_cases
from opdisc.audit.event import (
    AuditedCase,
    NeighboringPair,
    audit_mechanism,
    gaussian_parity_epsilon,
    lost_majority,
    parity,
    two_hypotheses,
)
from opdisc.audit.opsamp_cases import opsamp_audit_cases
from opdisc.audit.tables import TablesAuditCase
from opdisc.audit.thresholds import ThresholdAuditCase, threshold_audit_cases
from opdisc.calibration import published_gaussian_stddev
from opdisc.mechanisms import (
    AStarPermuteAndFlipMechanism,
    ExponentialMechanism,
    Mechanism,
    PermuteAndFlipMechanism,
    SeparatorMechanism,
    SphereMechanism,
    StagedMechanism,
    one_hot_mechanism,
)
from opdisc.privacy import (
    EntropySource,
    GridPublic,
    NeighboringRelation,
    PrivacyParams,
    SystemEntropy,
)
from oracles.problem import ErrorCosts


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCase:
    """A mechanism and tables on which half its noise would show.

    Parameters
    ----------
    build : callable
        From the number of coordinates to the mechanism.
    pair : NeighboringPair
        The tables.
    effort : int
        How many times the usual number of draws it takes to catch half the noise.
    error_costs : ErrorCosts
        What a mistake costs. Where the costs differ, the control forgets them instead.
    """

    build: Callable[[int], Mechanism]
    pair: NeighboringPair
    effort: int = 1
    error_costs: ErrorCosts = ErrorCosts()


_Apart = ConvexAuditCase | CountsAuditCase | TablesAuditCase | ThresholdAuditCase

_STUMP = StagedMechanism(stump=True, name="staged, stump")


def audit_cases() -> dict[str, AuditCase | _Apart]:
    """Return what is audited, by mechanism."""
    single, several = two_hypotheses(), two_hypotheses(4)
    return {
        "permute_and_flip": AuditCase(build=lambda d: PermuteAndFlipMechanism(), pair=single),
        "exponential": AuditCase(build=lambda d: ExponentialMechanism(), pair=several, effort=3),
        "staged": AuditCase(build=lambda d: StagedMechanism(), pair=single),
        "staged_stump": AuditCase(build=lambda d: _STUMP, pair=lost_majority()),
        "one_hot": AuditCase(build=one_hot_mechanism, pair=parity(5)),
        "opdisc": AuditCase(build=lambda d: SphereMechanism(), pair=parity(8), effort=10),
        "rspm": AuditCase(build=lambda d: SeparatorMechanism(), pair=single),
        **counts_audit_cases(),
        "attribute_tables": TablesAuditCase(),
        **threshold_audit_cases(),
        **_cost_cases(),
        **convex_audit_cases(),
        **opsamp_audit_cases(),
    }


def _cost_cases() -> dict[str, AuditCase]:
    """Return every mechanism on rows of the class that costs more."""
    rows, binary = swapped_rows(), swapped_binary_rows()
    cases = {
        "permute_and_flip": AuditCase(build=lambda d: PermuteAndFlipMechanism(), pair=rows),
        "a_star": AuditCase(
            build=lambda d: AStarPermuteAndFlipMechanism(name="permute_and_flip, A*"), pair=rows
        ),
        "exponential": AuditCase(build=lambda d: ExponentialMechanism(), pair=rows),
        "staged": AuditCase(build=lambda d: StagedMechanism(), pair=binary),
        "staged_stump": AuditCase(build=lambda d: _STUMP, pair=binary),
        "one_hot": AuditCase(build=one_hot_mechanism, pair=rows),
        "opdisc": AuditCase(build=lambda d: SphereMechanism(), pair=rows, effort=2),
        "rspm": AuditCase(build=lambda d: SeparatorMechanism(), pair=rows),
    }
    return {
        f"{name}_costs": replace(case, error_costs=AUDITED_COSTS) for name, case in cases.items()
    }


def run_audit(
    case: AuditCase | _Apart | AttackCase,
    epsilon: float,
    draws: int,
    false_alarm: float,
    entropy: EntropySource | None = None,
) -> AuditedCase:
    """Audit one case at a claimed epsilon, ``draws * case.effort`` releases on each table."""
    if isinstance(case, _Apart | AttackCase):
        return case.run(epsilon, draws, false_alarm, entropy)
    grid = case.pair.first.grid
    public = GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        error_costs=case.error_costs,
    )
    mechanism = case.build(grid.n_features)
    if case.error_costs.are_equal:
        # Noise for twice the epsilon is half the noise, up to one lattice step.
        louder = replace(public, params=PrivacyParams(epsilon=2 * epsilon, delta=0.0))
    else:
        louder = replace(public, error_costs=ErrorCosts())
    calibrated, less_noise = (
        audit_mechanism(
            mechanism,
            case.pair,
            inputs,
            claim=epsilon,
            draws=draws * case.effort,
            false_alarm=false_alarm,
            entropy=entropy or SystemEntropy(),
            error_costs=case.error_costs,
        )
        for inputs in (public, louder)
    )
    divisor = 2.0 if case.error_costs.are_equal else float(case.error_costs.largest)
    return AuditedCase(calibrated=calibrated, less_noise=less_noise, divisor=divisor)


def audit_text(audited: list[AuditedCase], epsilon: float, false_alarm: float) -> str:
    """Return the findings as a table."""
    lines = [
        f"Claim: epsilon {epsilon:g} at the delta shown. Lower bounds on the true epsilon, each",
        f"wrong with probability at most {false_alarm:g}; 'caught': less noise would be noticed.",
        "",
        f"{'mechanism':<30}{'tables':<26}{'delta':>6}{'at least':>10}  {'claim':<9}"
        f"{'with less noise':>24}",
    ]
    for case in audited:
        kept, less = case.calibrated, case.less_noise
        verdict = "REFUTED" if kept.refuted else "stands"
        caught = f"1/{case.divisor:g}: {less.lower_bound:.3f}, "
        caught += "caught" if less.refuted else "not caught"
        lines.append(
            f"{kept.mechanism:<30}{kept.pair:<26}{kept.delta:>6g}{kept.lower_bound:>10.3f}  "
            f"{verdict:<9}{caught:>24}"
        )
    sizes = (10, 50, 200, 1000)
    figures = ", ".join(f"{_published_loss(size):.2f} at d = {size}" for size in sizes)
    lines += [
        "",
        "OPDisc's published Gaussian (receipt VOID), claimed epsilon 1 at delta 1e-5, loses",
        f"exactly {figures} on parity.",
    ]
    return "\n".join(lines) + "\n"


def _published_loss(n_signs: int) -> float:
    stddev = published_gaussian_stddev(1, 1.0, 1e-5, constant=7.0) * n_signs / 4
    return gaussian_parity_epsilon(stddev, n_signs, 1e-5)
