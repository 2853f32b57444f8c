"""``opdisc audit``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from opdisc.arguments import check_choice
from opdisc.cli.console import print_json, print_text
from opdisc.cli.progress import progress_steps
from opdisc.errors import AuditFailure

if TYPE_CHECKING:
    from opdisc.audit import AuditCase, AuditResult


@click.command(
    epilog="""\b
Examples
  opdisc audit
  opdisc audit --attacks
  opdisc audit --list
  opdisc audit --mechanism exponential --epsilon 0.5 --draws 20000
"""
)
@click.option(
    "--mechanism",
    "names",
    multiple=True,
    help="A mechanism or an attack. Repeat for several; all mechanisms if left out.",
)
@click.option(
    "--attacks", is_flag=True, help="Try every attack on what surrounds a fit, not the noise."
)
@click.option(
    "--list", "list_only", is_flag=True, help="Print what can be audited, and audit nothing."
)
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
    names: tuple[str, ...],
    attacks: bool,
    list_only: bool,
    epsilon: float,
    draws: int,
    false_alarm: float,
    as_json: bool,
) -> None:
    """Try to refute the mechanisms' claims on adversarial tables; reads no table of yours.

    Each mechanism is run as calibrated, and once more with half the noise or less, which a good
    audit refutes. An attack tries what surrounds a fit (labels, types, prepared columns, order of
    the rows), and once more without its defence. Exit status 1 if a claim is refuted. All of them
    together take some minutes.
    """
    from opdisc.audit import attack_cases, audit_cases, audit_text, run_audit

    usual, attacking = audit_cases(), attack_cases()
    if list_only:
        _print_list(usual, attacking, as_json)
        return
    cases = {**usual, **attacking}
    chosen = tuple(dict.fromkeys((*names, *(attacking if attacks else ())))) or tuple(usual)
    for name in chosen:
        check_choice("--mechanism", name, cases, error=click.UsageError)
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
            f"a mechanism must lose at most its epsilon, but {', '.join(refuted)} lost more; "
            "release nothing with this installation."
        )


def _print_list(
    usual: dict[str, AuditCase], attacking: dict[str, AuditCase], as_json: bool
) -> None:
    if as_json:
        print_json({"mechanisms": list(usual), "attacks": list(attacking)})
        return
    width = max(map(len, attacking)) + 2
    lines = ["Mechanisms (all of them if none is named):", *(f"  {name}" for name in usual)]
    lines += ["", "Attacks (--attacks for all of them), and how their two tables differ:"]
    lines += [f"  {name:<{width}}{case.tables}" for name, case in attacking.items()]
    print_text("\n".join(lines) + "\n")


def _record(result: AuditResult) -> dict[str, Any]:
    return asdict(result) | {"refuted": result.refuted}
