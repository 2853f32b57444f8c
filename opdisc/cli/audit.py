"""``opdisc audit``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.console import print_json, print_text, progress_steps
from opdisc.errors import AuditFailure

if TYPE_CHECKING:
    from opdisc.audit import AuditResult


@click.command(
    epilog="""\b
Examples
  opdisc audit
  opdisc audit --mechanism exponential --epsilon 0.5 --draws 20000
"""
)
@click.option("--mechanism", "names", multiple=True, help="Repeat for several; all if left out.")
@click.option("--epsilon", type=float, default=1.0, show_default=True, help="The claim, > 0.")
@click.option(
    "--draws", type=int, default=2_000, show_default=True, help="On each table, at least."
)
@click.option(
    "--false-alarm",
    type=float,
    default=1e-6,
    show_default=True,
    help="Chance at most of refuting a claim that is true.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def audit(
    names: tuple[str, ...], epsilon: float, draws: int, false_alarm: float, as_json: bool
) -> None:
    """Try to refute the mechanisms' claims on adversarial tables; reads no table of yours.

    Each mechanism is run as calibrated, and once more with half the noise or less, which a good
    audit refutes. Exit status 1 if a claim is refuted. All of them together take some minutes.
    """
    from opdisc.audit import attack_cases, audit_cases, audit_text, run_audit

    usual = audit_cases()
    cases = {**usual, **attack_cases()}
    chosen = names or tuple(usual)
    for name in chosen:
        if name not in cases:
            raise click.UsageError(f"--mechanism must be one of {', '.join(cases)}, got '{name}'.")
    audited = []
    with progress_steps(len(chosen)) as step:
        for name in chosen:
            step(f"auditing {name}")
            audited.append(run_audit(cases[name], epsilon, draws, false_alarm))
    if as_json:
        print_json(
            [
                _record(a.calibrated)
                | {"less_noise": _record(a.less_noise), "noise_divisor": a.divisor}
                for a in audited
            ]
        )
    else:
        print_text(audit_text(audited, epsilon, false_alarm))
    refuted = [a.calibrated.mechanism for a in audited if a.calibrated.refuted]
    if refuted:
        raise AuditFailure(
            f"a mechanism must lose at most its epsilon, {', '.join(refuted)} lost more; release "
            "nothing with this installation."
        )


def _record(result: AuditResult) -> dict[str, Any]:
    return asdict(result) | {"refuted": result.refuted}
