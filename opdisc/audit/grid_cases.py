"""Mechanisms over a grid, on pairs of tables at which half their noise would show."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import special

from opdisc.audit.case import AuditCase, AuditResult, Draw, check_audit, with_facts
from opdisc.audit.controls import overspent
from opdisc.errors import CalibrationError
from opdisc.mechanisms import (
    AStarPermuteAndFlipMechanism,
    ExponentialMechanism,
    Mechanism,
    NoiseSpec,
    PermuteAndFlipMechanism,
    PerturbingMechanism,
    SeparatorMechanism,
    SphereMechanism,
    StagedMechanism,
    one_hot_mechanism,
)
from opdisc.privacy import EntropySource, GridPublic, NeighboringRelation, PrivacyParams
from oracles.interface import solve
from oracles.problem import ErrorCosts, Hypothesis, WeightGrid, ZeroOneProblem

AUDITED_COSTS = ErrorCosts(false_negative=5, false_positive=1)
"""What a mistake costs in the audits. The pair's rows are of the class that costs more."""

_EQUAL = ErrorCosts()

_STUMP = StagedMechanism(stump=True, name="staged, stump")


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

    def table(flipped: int) -> ZeroOneProblem:
        return ZeroOneProblem(
            points=np.ones((1, 2), dtype=np.int64),
            positives=np.array([2 - flipped]),
            negatives=np.array([flipped]),
            grid=WeightGrid(values=((0, 1), (-1, 0, 1))),
        )

    return NeighboringPair(
        name="two rows on one side",
        first=table(0),
        second=table(1),
        event=lambda w: w[0] + w[1] < 1,
    )


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


def swapped_rows() -> NeighboringPair:
    """Return two tables of one positive row each, at the points 1 and -1 of one coordinate.

    Replacing one by the other moves two losses by the larger cost: that of the weight that gets
    only the first one right up, and that of the other weight down. That is the whole pairwise
    sensitivity (docs/theory.md, error-costs).
    """
    return _swapped("swapped costly rows", WeightGrid(values=((-1, 1),)), [[1], [-1]], (1,))


def swapped_binary_rows() -> NeighboringPair:
    """Return the same for mechanisms that take 0/1 points with a constant first column."""
    return _swapped(
        "swapped costly 0/1 rows",
        WeightGrid(values=((0, 1), (-1, 0, 1))),
        [[1, 0], [1, 1]],
        (1, -1),
    )


def _swapped(
    name: str, grid: WeightGrid, points: list[list[int]], right: Hypothesis
) -> NeighboringPair:
    """Return one row at either point; the event is getting the first one right only."""

    def table(first: int) -> ZeroOneProblem:
        return ZeroOneProblem(
            points=np.array(points),
            positives=np.array([first, 1 - first]),
            negatives=np.zeros(2, dtype=np.int64),
            grid=grid,
        )

    return NeighboringPair(name=name, first=table(1), second=table(0), event=lambda w: w == right)


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
    case = grid_case(mechanism, pair, public.error_costs if error_costs is None else error_costs)
    found = case.audit(case.draw, public, draws, false_alarm, entropy)
    return found if claim is None else replace(found, epsilon=claim)


def grid_case(
    mechanism: Mechanism,
    pair: NeighboringPair,
    error_costs: ErrorCosts = _EQUAL,
    effort: float = 1.0,
) -> AuditCase:
    """Return a case whose control has half the noise or, where costs differ, forgets them."""

    def public(epsilon: float) -> GridPublic:
        return GridPublic(
            params=PrivacyParams(epsilon=epsilon, delta=0.0),
            relation=NeighboringRelation.REPLACE_ONE,
            grid=pair.first.grid,
            error_costs=error_costs,
        )

    draw = _draws(mechanism)
    # Noise for twice the epsilon is half the noise, up to one lattice step.
    louder = partial(overspent, divisor=2.0) if error_costs.are_equal else _forgetful
    return AuditCase(
        name=mechanism.name,
        tables=pair.name,
        first=error_costs.weigh(pair.first),
        second=error_costs.weigh(pair.second),
        public=public,
        draw=draw,
        control=with_facts(draw, louder),
        event=pair.event,
        divisor=2.0 if error_costs.are_equal else float(error_costs.largest),
        effort=effort,
    )


def _forgetful(public: GridPublic) -> GridPublic:
    return replace(public, error_costs=_EQUAL)


def _draws(mechanism: Mechanism) -> Draw:
    def draw(
        problem: ZeroOneProblem, public: GridPublic, size: int, entropy: EntropySource
    ) -> list[Hypothesis]:
        spec = mechanism.calibrate(public)
        return [_release(mechanism, problem, spec, entropy) for _ in range(size)]

    return draw


def _release(
    mechanism: Mechanism, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource
) -> Hypothesis:
    if isinstance(mechanism, PerturbingMechanism):
        return solve(mechanism.perturb(problem, spec, entropy), "enumeration").hypothesis
    return mechanism.draw(problem, spec, entropy)


def grid_audit_cases() -> dict[str, AuditCase]:
    """Return the cases of the mechanisms over a grid, by mechanism."""
    single, five = two_hypotheses(), parity(5)
    return {
        "permute_and_flip": grid_case(PermuteAndFlipMechanism(), single),
        "exponential": grid_case(ExponentialMechanism(), two_hypotheses(4), effort=3),
        "staged": grid_case(StagedMechanism(), single),
        "staged_stump": grid_case(_STUMP, lost_majority()),
        "one_hot": grid_case(one_hot_mechanism(five.first.grid.n_features), five),
        "opdisc": grid_case(SphereMechanism(), parity(8), effort=10),
        "rspm": grid_case(SeparatorMechanism(), single),
    }


def cost_audit_cases() -> dict[str, AuditCase]:
    """Return every mechanism on rows of the class that costs more."""
    rows, binary = swapped_rows(), swapped_binary_rows()
    one_hot = one_hot_mechanism(rows.first.grid.n_features)
    a_star = AStarPermuteAndFlipMechanism(name="permute_and_flip, A*")
    return {
        "permute_and_flip_costs": grid_case(PermuteAndFlipMechanism(), rows, AUDITED_COSTS),
        "a_star_costs": grid_case(a_star, rows, AUDITED_COSTS),
        "exponential_costs": grid_case(ExponentialMechanism(), rows, AUDITED_COSTS),
        "staged_costs": grid_case(StagedMechanism(), binary, AUDITED_COSTS),
        "staged_stump_costs": grid_case(_STUMP, binary, AUDITED_COSTS),
        "one_hot_costs": grid_case(one_hot, rows, AUDITED_COSTS),
        "opdisc_costs": grid_case(SphereMechanism(), rows, AUDITED_COSTS, effort=2),
        "rspm_costs": grid_case(SeparatorMechanism(), rows, AUDITED_COSTS),
    }


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
