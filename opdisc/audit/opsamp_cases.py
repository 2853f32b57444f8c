"""OPSamp, in one coordinate, on two tables at which all of its claim would show.

The tilts are at most as long as the changed row is steep, so every tilted minimiser is at one end
of the interval, and at the other end on the neighbouring table: averages differ by the diameter.
The calibration must see that and cover the diameter; the control understates the slope, so that
its noise covers a quarter of it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from opdisc.audit.case import AuditCase, one_by_one, with_facts
from opdisc.audit.controls import understated
from opdisc.convex import ConvexPublic, Rows
from opdisc.mechanisms import OPSampMechanism, run_opsamp
from opdisc.privacy import EntropySource, NeighboringRelation, PrivacyParams
from oracles.arithmetic import FloatArray
from oracles.convex import (
    Box,
    HuberisedHingeLoss,
    LinearLoss,
    RealClaim,
    RealOptions,
    RowBounds,
    Session,
    TiltedProblem,
    with_costs,
)
from oracles.problem import ErrorCosts

_STEEPEST = 40
"""How many times as steep the changed row is as the control believes."""

_DELTA = 0.2
"""Large, so that few minimisations, and few releases, tell."""

_INTERVAL = Box.cube(1, 0.5)
"""Where the smoothed hinge is straight for rows of length 1."""


class _EndOracle:
    """The better end of an interval on which all losses are straight; certified like any other."""

    name = "end of the interval"
    proves_partitions = False
    requirement = "takes one dimension only"

    def supports(self, problem: TiltedProblem) -> bool:
        """Return whether there is one coordinate."""
        return problem.dimension == 1

    def session(self, problem: TiltedProblem, options: RealOptions) -> Session:
        """Return a function from a tilt to the end that it prefers."""
        scores = np.zeros(len(problem.targets))
        pull = (problem.weights * problem.loss.slopes(scores, problem.targets)) @ problem.features

        def end(tilt: FloatArray) -> RealClaim:
            low, high = problem.domain.lower, problem.domain.upper
            point = np.where(pull - tilt > 0, low, high)
            return RealClaim(point=point, multipliers=None, lower_bound=-np.inf)

        return end


def audited_mechanism(facts: ConvexPublic, steepest: int) -> OPSampMechanism:
    """Return OPSamp with tilts as long as ``steepest``, the slope of the changed row."""
    return OPSampMechanism(
        loss=facts.loss,
        domain=_INTERVAL,
        bounds=facts.bounds,
        tilts="uniform",
        tilt_rate=1.0 / steepest,
        inflation=2.5,
        project=False,
    )


def _case(name: str, loss: LinearLoss, steepest: int) -> AuditCase:
    def public(epsilon: float) -> ConvexPublic:
        return ConvexPublic(
            params=PrivacyParams(epsilon=epsilon, delta=_DELTA),
            relation=NeighboringRelation.REPLACE_ONE,
            loss=loss,
            bounds=RowBounds(l2=1.0, linf=1.0),
            dimension=1,
            domain=_INTERVAL,
            n_rows=1,
        )

    def release(rows: Rows, facts: ConvexPublic, entropy: EntropySource) -> float:
        mechanism = audited_mechanism(facts, steepest)
        found = run_opsamp(mechanism, rows.X, rows.y, facts, entropy=entropy, oracle=_EndOracle())
        return float(found.parameters[0])

    draw = one_by_one(release)
    return AuditCase(
        name=name,
        tables="one row replaced",
        first=Rows(X=np.array([[1.0]]), y=np.ones(1)),
        second=Rows(X=np.array([[-1.0]]), y=np.ones(1)),
        public=public,
        draw=draw,
        control=with_facts(draw, partial(understated, divisor=_STEEPEST)),
        event=lambda end: end >= 0.0,
        divisor=float(_STEEPEST),
    )


def opsamp_audit_cases() -> dict[str, AuditCase]:
    """Return the cases of OPSamp by name: one forgets how steep a loss is, one what it costs."""
    hinge = HuberisedHingeLoss(0.5)
    costly = with_costs(hinge, ErrorCosts(false_negative=_STEEPEST, false_positive=1))
    cases = (_case("opsamp", hinge, 1), _case("opsamp_costs", costly, _STEEPEST))
    return {case.name: case for case in cases}
