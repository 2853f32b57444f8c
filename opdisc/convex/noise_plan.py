"""What every convex mechanism gives: a noise plan, a receipt, a release.

A mechanism is a function ``mechanism(rows, public, ..., entropy)``. Everything its noise depends
on is in :class:`~opdisc.convex.ConvexPublic` and in the other arguments, all public;
:func:`prepare` writes the receipt and gives one charge, which runs the computation once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np

from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows, check_rows, toy_rows
from opdisc.errors import rehearse
from opdisc.privacy import (
    FLOATING_POINT,
    CalibrationStatus,
    EntropySource,
    Prepared,
    Reason,
    common_fields,
    receipt_costs,
)
from opdisc.privacy.receipts import ConvexReceipt
from oracles.arithmetic import FloatArray
from oracles.convex import Domain

NO_PRIVACY = "epsilon is infinite: no noise was added, and nothing is promised"

RELEASE_GRID = 2.0**-24
"""Released coordinates are rounded to multiples of this, so that low bits carry nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisePlan:
    """What a convex calibration decided: a function of public inputs only.

    Parameters
    ----------
    mechanism, theorem : str
        What will run, and the statement that makes it private.
    status : CalibrationStatus
        How well the statement is established.
    law : str
        The noise law in words.
    scales : tuple of float
        Its scale parameters: noise in the units of what it is added to (sums of gradients,
        minimisers, tilts), rates per unit of loss. The law says which.
    settings : tuple of (str, float)
        Public settings that the guarantee depends on (regularisation, steps, rates, ...).
    conditions : tuple of str
        What the guarantee rests on besides the arithmetic.
    total_variation : float
        Total variation that truncated tails may add, a probability.
    grid : float
        Released coordinates are multiples of this.
    is_exact : bool
        Whether the law is that of real arithmetic, so that no rounding is left to a condition.
    start : str
        Where the public weights come from that the ridge pulls towards; empty where it is 0.
    """

    mechanism: str
    theorem: str
    status: CalibrationStatus
    law: str
    scales: tuple[float, ...]
    settings: tuple[tuple[str, float], ...] = ()
    conditions: tuple[str, ...] = ()
    total_variation: float = 0.0
    grid: float = RELEASE_GRID
    is_exact: bool = False
    start: str = ""

    def setting(self, name: str) -> float:
        """Return one setting by name."""
        return dict(self.settings)[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvexRelease:
    """A parameter that may be published, and the promise that was kept.

    Parameters
    ----------
    parameters : float64 array, shape (p,), read-only
        Parameter vector, rounded to multiples of the plan's grid.
    receipt : ConvexReceipt
        The privacy statement.
    """

    parameters: FloatArray
    receipt: ConvexReceipt


def prepare(
    plan: NoisePlan,
    rows: Rows,
    public: ConvexPublic,
    compute: Callable[[], FloatArray],
    *,
    entropy: EntropySource,
    solver: Callable[[Rows], object] | None = None,
) -> Prepared[ConvexRelease]:
    """Rehearse, write the receipt, and return the charge that computes once and rounds.

    On two public rows, loss and domain are tried first, and the solver if one is given.

    Raises
    ------
    CalibrationError
        If the rows are not as the public facts say; nothing is spent.
    OracleUnavailable
        If the solver, the loss or the domain fails on public rows; nothing is spent.
    """
    check_rows(rows, public)
    toy = toy_rows(public)
    rehearse(plan.mechanism, lambda: _one_step(toy, public))
    if solver is not None:
        rehearse(f"the solver of {plan.mechanism}", lambda: solver(toy))
    return charge_of(plan, public, compute, entropy=entropy, packages=versions())


def charge_of(
    plan: NoisePlan,
    public: ConvexPublic,
    compute: Callable[[], FloatArray],
    *,
    entropy: EntropySource,
    packages: Mapping[str, str],
    choice: Reason | None = None,
) -> Prepared[ConvexRelease]:
    """Write the receipt, and return the charge that computes once and rounds."""
    receipt = receipt_of(plan, public, entropy, packages, choice)

    def draw() -> ConvexRelease | None:
        parameters = compute()
        if not np.all(np.isfinite(parameters)):
            return None
        rounded: FloatArray = np.round(parameters / plan.grid) * plan.grid
        rounded.setflags(write=False)
        return ConvexRelease(parameters=rounded, receipt=receipt)

    refusal = (
        f"{plan.mechanism} ended without the accuracy its calibration pays for; the budget is "
        "spent and nothing is released: allow a larger accuracy or scale the features."
    )
    return Prepared(receipt=receipt, draw=draw, refusal=refusal)


def _one_step(rows: Rows, public: ConvexPublic) -> None:
    domain = public.domain
    start = np.zeros(public.dimension) if domain is None else domain.centre
    rows.sum_value(public.loss, start)
    step = start - rows.sum_gradient(public.loss, start)
    if domain is not None:
        domain.project(step)


def receipt_of(
    plan: NoisePlan,
    public: ConvexPublic,
    entropy: EntropySource,
    packages: Mapping[str, str],
    choice: Reason | None = None,
) -> ConvexReceipt:
    """Return the receipt of a release that has not happened yet; why its mechanism was chosen."""
    constants = public.constants
    return ConvexReceipt(
        **common_fields(
            plan.mechanism,
            plan,
            public,
            entropy,
            conditions=plan.conditions if plan.is_exact else (*plan.conditions, FLOATING_POINT),
            void=(NO_PRIVACY,) if public.is_noiseless else (),
            packages=packages,
        ),
        loss=public.loss.name,
        row_norm=public.bounds.l2,
        row_maximum=public.bounds.largest_coordinate,
        label_bound=public.bounds.label,
        lipschitz=constants.lipschitz_l2,
        smoothness=constants.smoothness_l2,
        domain="all of R^p" if public.domain is None else _domain_text(public.domain),
        settings=dict(plan.settings),
        release_grid=plan.grid,
        error_costs=receipt_costs(public.loss.costs),
        public_row_guess=None if public.n_rows is not None else public.public_row_guess,
        start=plan.start,
        choice="" if choice is None else choice.brief,
        choice_detail="" if choice is None else choice.detail,
    )


def _domain_text(domain: Domain) -> str:
    name, p = type(domain).__name__, domain.dimension
    return f"{name} in R^{p}, Euclidean diameter {domain.diameter_l2:.6g}"


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of the packages that convex mechanisms compute with."""
    return {name: version(name) for name in ("dp-accounting", "numpy", "scipy")}
