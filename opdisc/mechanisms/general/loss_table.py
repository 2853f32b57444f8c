"""Any hypothesis class that can be listed, any bounded loss: every mechanism on explicit tables.

Sensitivity is that of a sum of per-row losses in [0, 1]. For classes too large to list see
:mod:`opdisc.mechanisms.general.argmin`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.mechanisms import BaseMeasure, ExponentialMechanism, ExponentialSpec
from opdisc.mechanisms.base import (
    BOUNDED_ROWS,
    Mechanism,
    NoiseSpec,
    PerturbingMechanism,
    Release,
    SamplingMechanism,
)
from opdisc.mechanisms.run import run_sampler
from opdisc.privacy import EntropySource, GridPublic, Ledger, SystemEntropy
from oracles.arithmetic import RandomBits
from oracles.problem import Hypothesis, TabularProblem, hypothesis_at
from oracles.sampling import draw_level, draw_weighted

_SAMPLER = "exact minimum of an explicit table"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMinimum:
    """A perturbing mechanism whose minimum is read off an explicit table.

    Parameters
    ----------
    inner : PerturbingMechanism
        Where the noise comes from.
    sampler : str
        Who answers; printed on receipts.
    condition : None
        The minimum is always found.

    Notes
    -----
    **Guarantee.** That of ``inner`` with an exact oracle: the minimum over integers is exact.
    """

    inner: PerturbingMechanism
    sampler: str = _SAMPLER
    condition: None = None

    @property
    def name(self) -> str:
        """Name on receipts."""
        return self.inner.name

    def calibrate(self, public: GridPublic) -> NoiseSpec:
        """Return the inner mechanism's noise."""
        return self.inner.calibrate(public)

    def draw(self, problem: TabularProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return the minimiser under one fresh perturbation."""
        return self.inner.perturb(problem, spec, entropy).minimiser()[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableExponential:
    """The exponential mechanism on an explicit table.

    Parameters
    ----------
    name : str
        Name on receipts.
    sampler : str
        Who draws; printed on receipts.
    condition : None
        A draw always ends.
    base_measure : BaseMeasure
        As in :class:`~opdisc.mechanisms.ExponentialMechanism`.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP, exactly: losses are integers in steps of ``unit``, and the
    level is drawn in integer arithmetic with inverse temperature ``beta * unit`` per step.
    """

    name: str = "exponential"
    sampler: str = "exact draw by loss level over an explicit table"
    condition: None = None
    base_measure: BaseMeasure = BaseMeasure()

    def calibrate(self, public: GridPublic) -> ExponentialSpec:
        """Return the inverse temperature per row."""
        return ExponentialMechanism(base_measure=self.base_measure).calibrate(public)

    def draw(self, problem: TabularProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return one exact draw."""
        assert isinstance(spec, ExponentialSpec)
        members = problem.members()
        losses = problem.losses[members]
        bits, beta = RandomBits(entropy), spec.beta / problem.steps_per_row
        weights = self.base_measure.on(problem.grid)
        if weights is not None:
            return draw_weighted(problem.grid, losses, beta, weights, bits, members)
        levels, counts = np.unique(losses, return_counts=True)
        level = draw_level(levels, counts, beta, bits)
        candidates = members[losses == levels[level]]
        return hypothesis_at(problem.grid, int(candidates[bits.below(len(candidates))]))


def run_on_table(
    mechanism: Mechanism,
    problem: TabularProblem,
    public: GridPublic,
    *,
    entropy: EntropySource | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """Release one hypothesis of an explicit table of losses.

    Parameters
    ----------
    mechanism : Mechanism
        Any mechanism of :mod:`opdisc.mechanisms` that perturbs by tables, or the exponential one.
    problem : TabularProblem
        The private losses. Each row of the private table must add a number in [0, 1] (times
        ``public.rows_per_unit`` per privacy unit) to every entry, as
        :meth:`~oracles.problem.TabularProblem.from_rows` sees to. For any other table that is a
        condition on the receipt.
    public : GridPublic
        All that the noise may depend on; its spacing must be the table's unit.
    entropy : EntropySource or None
        None takes the operating system's.
    ledger : Ledger or None
        Where the budget is recorded first.

    Returns
    -------
    Release
        Hypothesis and receipt.

    Raises
    ------
    CalibrationError
        If the mechanism cannot run on tables or the units differ.
    """
    if not problem.from_bounded_rows:
        public = replace(public, assumptions=(*public.assumptions, BOUNDED_ROWS))
    runner: SamplingMechanism[TabularProblem]
    if isinstance(mechanism, ExponentialMechanism):
        runner = TableExponential(base_measure=mechanism.base_measure)
    elif isinstance(mechanism, PerturbingMechanism):
        if problem.unit != public.spacing:
            raise CalibrationError("the table's unit must be the public spacing; state one.")
        if getattr(mechanism, "route", "tables") != "tables":
            raise CalibrationError("a mechanism on tables must perturb by tables.")
        runner = TableMinimum(inner=mechanism)
    else:
        raise CalibrationError(
            f"mechanism '{mechanism.name}' samples by itself and does not take tables; choose one "
            "that perturbs, or the exponential mechanism."
        )
    return run_sampler(
        runner,
        problem,
        public,
        entropy=entropy or SystemEntropy(),
        ledger=ledger,
    )
