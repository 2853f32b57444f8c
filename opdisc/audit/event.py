"""Audits: a lower bound on what a mechanism really loses, from its own output on neighbours.

An audit can refute a claimed epsilon, never prove it; the proofs are in docs/theory.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special, stats

from opdisc.errors import CalibrationError
from opdisc.mechanisms import Mechanism, NoiseSpec, PerturbingMechanism
from opdisc.privacy import EntropySource, GridPublic, NeighboringRelation
from oracles.interface import solve
from oracles.problem import ErrorCosts, Hypothesis, WeightGrid, ZeroOneProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboringPair:
    """Two neighbouring tables under replace-one, and an event that tells them apart.

    Parameters
    ----------
    name : str
        What it is called in a report.
    first, second : ZeroOneProblem
        The two tables, on the same grid.
    event : callable
        Hypothesis to bool; fixed before anything is drawn.
    """

    name: str
    first: ZeroOneProblem
    second: ZeroOneProblem
    event: Callable[[Hypothesis], bool]


def two_hypotheses(n_rows: int = 1) -> NeighboringPair:
    """Return ``n_rows`` positive rows and one coordinate with weights 0 and 1; one label flips.

    Weight 1 predicts "+" and weight 0 predicts "-": the losses of (0, 1) are (n, 0) and
    (n - 1, 1).
    """
    grid = WeightGrid(values=((0, 1),))

    def table(flipped: int) -> ZeroOneProblem:
        return ZeroOneProblem(
            points=np.ones((1, 1), dtype=np.int64),
            positives=np.array([n_rows - flipped]),
            negatives=np.array([flipped]),
            grid=grid,
        )

    return NeighboringPair(
        name=f"two hypotheses, n = {n_rows}",
        first=table(0),
        second=table(1),
        event=lambda w: w[0] == 1,
    )


def lost_majority() -> NeighboringPair:
    """Return two positive rows on one side of a 0/1 column; one label flips.

    Then neither answer is ahead on that side. A decision stump says "-" there with probability
    ``exp(-epsilon) / 2`` before and 1/2 after: its promise is reached.
    """
    return _one_column(
        "two rows on one side",
        2,
        WeightGrid(values=((0, 1), (-1, 0, 1))),
        lambda w: w[0] + w[1] < 1,
    )


def _one_column(
    name: str, n_rows: int, grid: WeightGrid, event: Callable[[Hypothesis], bool]
) -> NeighboringPair:
    """Return positive rows with a 1 in one column; one label flips."""

    def table(flipped: int) -> ZeroOneProblem:
        return ZeroOneProblem(
            points=np.ones((1, 2), dtype=np.int64),
            positives=np.array([n_rows - flipped]),
            negatives=np.array([flipped]),
            grid=grid,
        )

    return NeighboringPair(name=name, first=table(0), second=table(1), event=event)


def parity(n_signs: int) -> NeighboringPair:
    """Return losses 1[odd number of + signs] over ``{-1, +1}^n`` and their complement.

    With a fixed first weight 1 and first column ``1 - n``, the point with signs x scores at least
    1 only under the weights equal to x, so any table of losses is a sum of such points. No single
    row has these losses, but every pairwise difference of losses moves by at most two rows, which
    is all that a calibration uses (docs/theory.md, published-gaussian).
    """
    grid = WeightGrid(values=((1,),) + ((-1, 1),) * n_signs)
    signs = np.array(list(itertools.product((-1, 1), repeat=n_signs)))
    points = np.column_stack([np.full(len(signs), 1 - n_signs), signs])
    odd = (signs == 1).sum(axis=1) % 2
    nothing = np.zeros(len(signs), dtype=np.int64)
    return NeighboringPair(
        name=f"parity of {n_signs} signs",
        first=ZeroOneProblem(points=points, positives=nothing, negatives=odd, grid=grid),
        second=ZeroOneProblem(points=points, positives=nothing, negatives=1 - odd, grid=grid),
        event=lambda w: sum(a == 1 for a in w[1:]) % 2 == 0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What an audit found.

    Parameters
    ----------
    mechanism, pair : str
        What was audited, and on which tables.
    epsilon, delta : float
        The claim.
    lower_bound : float
        Confidence bound: the true epsilon at ``delta`` is at least this, except with probability
        ``false_alarm``.
    draws : int
        Releases drawn on each table.
    false_alarm : float
        Chance at most of refuting a claim that is true.
    """

    mechanism: str
    pair: str
    epsilon: float
    delta: float
    lower_bound: float
    draws: int
    false_alarm: float

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return self.lower_bound > self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCase:
    """A mechanism's audit, and its positive control.

    Parameters
    ----------
    calibrated : AuditResult
        The mechanism as it is; refuted means that it breaks its promise.
    less_noise : AuditResult
        The same with less noise; not refuted means that this audit would miss a mistake.
    divisor : float
        What the noise is divided by in the control.
    """

    calibrated: AuditResult
    less_noise: AuditResult
    divisor: float = 2.0


def audit_mechanism(
    mechanism: Mechanism,
    pair: NeighboringPair,
    public: GridPublic,
    *,
    claim: float | None = None,
    draws: int = 4_000,
    false_alarm: float = 1e-6,
    entropy: EntropySource,
    error_costs: ErrorCosts | None = None,
) -> AuditResult:
    """Draw releases on two neighbouring tables and bound the privacy loss from below.

    Parameters
    ----------
    mechanism : Mechanism
        What to audit.
    pair : NeighboringPair
        The two tables.
    public : GridPublic
        What the mechanism is calibrated with; the grid is replaced by the pair's.
    claim : float or None
        The epsilon to refute; None: the one it was calibrated for.
    draws : int
        Releases on each table, at least 1.
    false_alarm : float
        In (0, 1).
    entropy : EntropySource
        Random bits.
    error_costs : ErrorCosts or None
        What the tables' rows are weighed by; None: what the mechanism is calibrated with. Others
        are for a control that forgets the costs.

    Returns
    -------
    AuditResult
        Four Clopper-Pearson intervals, for the event and its complement in both directions, each
        limit at ``false_alarm / 8``.

    Raises
    ------
    CalibrationError
        If the relation is not replace-one, or ``draws`` or ``false_alarm`` is out of range.
    """
    if public.relation is not NeighboringRelation.REPLACE_ONE:
        raise CalibrationError("the audit's tables are neighbours under replace_one; audit that.")
    check_audit(draws, false_alarm)
    public = replace(public, grid=pair.first.grid)
    spec = mechanism.calibrate(public)
    costs = public.error_costs if error_costs is None else error_costs
    counts = [
        sum(pair.event(_release(mechanism, problem, spec, entropy)) for _ in range(draws))
        for problem in (costs.weigh(pair.first), costs.weigh(pair.second))
    ]
    return AuditResult(
        mechanism=mechanism.name,
        pair=pair.name,
        epsilon=public.params.epsilon if claim is None else claim,
        delta=public.params.delta,
        lower_bound=loss_bound(counts[0], counts[1], draws, public.params.delta, false_alarm),
        draws=draws,
        false_alarm=false_alarm,
    )


def _release(
    mechanism: Mechanism, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource
) -> Hypothesis:
    if isinstance(mechanism, PerturbingMechanism):
        return solve(mechanism.perturb(problem, spec, entropy), "enumeration").hypothesis
    return mechanism.draw(problem, spec, entropy)


def check_audit(draws: int, false_alarm: float) -> None:
    """Refuse an audit without draws or with an impossible false alarm."""
    if draws < 1 or not 0 < false_alarm < 1:
        raise CalibrationError("an audit needs draws of at least 1 and a false alarm in (0, 1).")


def loss_bound(first: int, second: int, draws: int, delta: float, false_alarm: float) -> float:
    """Return the largest certain ln((P - delta) / Q) over the event and its complement.

    Parameters
    ----------
    first, second : int
        How often the event happened on each table.
    draws : int
        Releases on each table.
    delta, false_alarm : float
        As in :class:`AuditResult`.
    """
    best = 0.0
    for one, other in (
        (first, second),
        (second, first),
        (draws - first, draws - second),
        (draws - second, draws - first),
    ):
        low = stats.beta.ppf(false_alarm / 8, one, draws - one + 1) if one else 0.0
        high = stats.beta.isf(false_alarm / 8, other + 1, draws - other) if other < draws else 1.0
        if low > delta:
            best = max(best, math.log((low - delta) / high))
    return best


def gaussian_parity_epsilon(
    stddev: float, n_signs: int, delta: float, *, gap: float = 2.0
) -> float:
    """Return the exact epsilon at ``delta`` of spherical Gaussian noise on the parity tables.

    Parameters
    ----------
    stddev : float
        Standard deviation of the noise, rows.
    n_signs : int
        Coordinates d; the weights are ``-tau/2`` and ``tau/2``, so ``R = tau sqrt(d) / 2``.
    delta : float
        In [0, 1).
    gap : float
        2 for replace-one, 1 for add-or-remove-one: how far the two tables move a difference of
        losses.

    Returns
    -------
    float
        ``ln((1 - q/2 - delta) / (q/2))`` under replace-one, where q is the chance that noise
        keeps the punished parity (docs/theory.md, published-gaussian).
    """
    # A unit of loss is overcome when some coordinate's noise is below R / tau in absolute value;
    # add-or-remove-one has a first table without any loss, where both parities are equally likely.
    survives = float(special.erfc(math.sqrt(n_signs / 4) / (math.sqrt(2) * stddev)) ** n_signs)
    likely = 1 - survives / 2 if gap == 2.0 else 0.5
    if likely <= delta:
        return 0.0
    if survives == 0.0:
        return math.inf
    return max(0.0, math.log((likely - delta) / (survives / 2)))
