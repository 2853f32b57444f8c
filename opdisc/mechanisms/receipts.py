"""What a release may promise, and on which conditions: a function of public inputs only."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opdisc.mechanisms.base import (
    EVERYWHERE,
    NoiseSpec,
    PerturbingMechanism,
    Release,
    SamplingMechanism,
)
from opdisc.privacy import (
    EntropySource,
    GridPublic,
    GridReceipt,
    Prepared,
    Reason,
    common_fields,
    receipt_costs,
)
from oracles.interface import HandoverOracle, Oracle, SolveOptions, oracle_versions
from oracles.problem import Hypothesis

TRUSTED_ORACLES = {
    "enumeration": "oracles.enumeration.listing:EnumerationOracle",
    "branch-and-bound": "oracles.branch_and_bound.oracle:BranchAndBoundOracle",
    "cp-sat": "oracles.milp.cp_sat:CpSatOracle",  # third-party code, named as a condition
    "table": "oracles.enumeration.table_oracle:TabularOracle",
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
class PreparedRelease:
    """A release that was tried as far as it goes without the budget.

    Parameters
    ----------
    mechanism, spec, public, oracle, options, entropy, choice
        As :func:`make_receipt` takes them.
    draw : callable
        Draws once, after the budget is recorded; None, or any error, releases nothing.
    refusal : str
        The sentence that is said then: a function of public inputs only.
    """

    mechanism: PerturbingMechanism | SamplingMechanism[Any]
    spec: NoiseSpec
    public: GridPublic
    oracle: Oracle | None
    options: SolveOptions
    entropy: EntropySource
    choice: str | Reason
    draw: Callable[[], Hypothesis | None]
    refusal: str

    def receipt(self) -> GridReceipt:
        """Return its privacy statement."""
        return make_receipt(
            self.mechanism,
            self.spec,
            self.public,
            self.oracle,
            self.options,
            self.entropy,
            self.choice,
        )

    def charge(self) -> Prepared[Release]:
        """Return it as a charge of its own."""
        receipt = self.receipt()

        def draw() -> Release | None:
            card = self.draw()
            return None if card is None else Release(hypothesis=card, receipt=receipt)

        return Prepared(receipt=receipt, draw=draw, refusal=self.refusal)


def make_receipt(
    mechanism: PerturbingMechanism | SamplingMechanism[Any],
    spec: NoiseSpec,
    public: GridPublic,
    oracle: Oracle | None,
    options: SolveOptions,
    entropy: EntropySource,
    choice: str | Reason,
) -> GridReceipt:
    """Return the privacy statement of a release that has not happened yet."""
    searched = oracle.name if oracle is not None else getattr(mechanism, "sampler", "")
    common = common_fields(
        mechanism.name,
        spec,
        public,
        entropy,
        conditions=_conditions(mechanism, oracle, options),
        packages=oracle_versions(oracle.name) if oracle is not None else {},
    )
    why = choice if isinstance(choice, Reason) else Reason(choice)
    section = grid_section(spec, public, searched)
    return GridReceipt(**common, **section, choice=why.brief, choice_detail=why.detail)


def grid_section(spec: NoiseSpec, public: GridPublic, oracle: str) -> dict[str, Any]:
    """Return what a receipt says of the grid and of who searched it."""
    return {
        "sensitivity": public.loss_sensitivity,
        "allowance": spec.allowance,
        "spacing": spec.spacing,
        "oracle": oracle,
        "weights": public.grid.values,
        "norm_budget": public.grid.norm_budget,
        "alternatives": public.grid.alternatives,
        "error_costs": receipt_costs(public.error_costs),
        # Where the number of rows is public, plans take that one.
        "public_row_guess": public.public_row_guess if public.n_rows is None else None,
        "patience": spec.patience,
        "start": spec.start,
        "start_points": spec.start_points,
    }


def _conditions(
    mechanism: PerturbingMechanism | SamplingMechanism[Any],
    oracle: Oracle | None,
    options: SolveOptions,
) -> tuple[str, ...]:
    """Return what the guarantee rests on besides the public facts, in words."""
    conditions = []
    if isinstance(mechanism, SamplingMechanism) and mechanism.condition is not None:
        conditions.append(mechanism.condition)
    for name in third_party(oracle) if oracle is not None else ():
        conditions.append(f"the compiled third-party solver '{name}' proves what it says")
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
    return tuple(conditions)


def third_party(oracle: Oracle) -> tuple[str, ...]:
    """Return the names of the solvers of other projects that an oracle asks, if it may."""
    if type(oracle) is HandoverOracle:
        return tuple(dict.fromkeys((*third_party(oracle.first), *third_party(oracle.second))))
    theirs = type(oracle).__module__.startswith("oracles.milp")
    return (oracle.name,) if theirs else ()


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
