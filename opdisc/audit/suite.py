"""The suite of audits: every mechanism against the tables that would expose it."""

from __future__ import annotations

from opdisc.audit.case import AuditCase, AuditedCase
from opdisc.audit.convex_cases import convex_audit_cases
from opdisc.audit.count_cases import count_audit_cases, threshold_audit_cases
from opdisc.audit.grid_cases import cost_audit_cases, gaussian_parity_epsilon, grid_audit_cases
from opdisc.audit.opsamp_cases import opsamp_audit_cases
from opdisc.calibration import published_gaussian_stddev
from opdisc.privacy import EntropySource


def audit_cases() -> dict[str, AuditCase]:
    """Return what is audited, by mechanism."""
    return {
        **grid_audit_cases(),
        **count_audit_cases(),
        **threshold_audit_cases(),
        **cost_audit_cases(),
        **convex_audit_cases(),
        **opsamp_audit_cases(),
    }


def run_audit(
    case: AuditCase,
    epsilon: float,
    draws: int,
    false_alarm: float,
    entropy: EntropySource | None = None,
) -> AuditedCase:
    """Audit one case at a claimed epsilon, ``draws * case.effort`` releases on each table."""
    return case.run(epsilon, draws, false_alarm, entropy)


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
