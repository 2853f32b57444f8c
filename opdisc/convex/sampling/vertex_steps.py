"""Private Frank-Wolfe: steps towards vertices that are drawn exactly (docs/convex.md)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.metadata import version

import numpy as np

from opdisc.arguments import check_integer
from opdisc.convex import noiseless_minimum
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, charge_of
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows, check_rows, toy_rows
from opdisc.convex.sampling.simplex import zcdp_budget
from opdisc.convex.sampling.whole_rows import CELL, SLOPE, WholeRows, whole_slopes
from opdisc.errors import CalibrationError, rehearse
from opdisc.privacy import (
    FRANK_WOLFE,
    CalibrationStatus,
    EntropySource,
    Ledger,
    Prepared,
    PrivacyParams,
    SeededEntropy,
    prepared_first,
)
from opdisc.tuned import FRANK_WOLFE_BEND
from oracles.arithmetic import FloatArray, IntArray, RandomBits
from oracles.convex import L1Ball, LinearLoss, Simplex
from oracles.sampling import draw_level

MOST_STEPS = 1000


def vertex_sensitivity(public: ConvexPublic) -> int:
    """Return how far a difference of two vertices' scores moves between neighbours, in units.

    A row adds at most ``CELL * SLOPE`` in size to the score of a vertex.
    """
    return 2 * CELL * SLOPE * public.changed_rows


def step_epsilon(params: PrivacyParams, steps: int) -> Fraction:
    """Return the epsilon of one of T drawn vertices: the larger of pure and zCDP composition."""
    pure = _exact_epsilon(params) / steps
    if params.delta == 0:
        return pure
    return max(pure, Fraction(math.sqrt(8 * zcdp_budget(params) / steps) * (1 - 1e-12)))


def _exact_epsilon(params: PrivacyParams) -> Fraction:
    """Return the smaller of the decimal epsilon and its double."""
    epsilon = float(params.epsilon)
    return min(Fraction(epsilon), Fraction(repr(epsilon)))


def default_steps(public: ConvexPublic) -> int:
    """Return T, where the error of T steps without noise falls to that of the drawn vertices."""
    candidates = (2 if isinstance(public.domain, L1Ball) else 1) * public.dimension
    steepest = public.loss.slope_bound(public.bounds, _reach(public))
    bend = FRANK_WOLFE_BEND * public.loss.curvature_bound() * (2 * _reach(public)) ** 2
    unit = steepest * _reach(public) / (CELL * SLOPE)

    def error(steps: int) -> float:
        rate = float(step_epsilon(public.params, steps)) / vertex_sensitivity(public)
        noise = unit * math.log(max(2, candidates)) / (rate * public.step_rows)
        return 2 * bend / (steps + 2) + noise

    return min(range(1, MOST_STEPS + 1), key=error)


def _reach(public: ConvexPublic) -> float:
    """Return the largest score of a vertex: radius times the largest coordinate."""
    domain = public.require_domain("private Frank-Wolfe")
    return domain.radius_l1 * public.bounds.largest_coordinate


def plan_frank_wolfe(
    public: ConvexPublic, *, steps: int | None = None, is_exact: bool = False
) -> NoisePlan:
    """Calibrate private Frank-Wolfe; arguments as in :func:`frank_wolfe`.

    ``is_exact`` says that the rows are, as :class:`~opdisc.convex.Rows` has it.
    """
    _require_vertices(public)
    steps = default_steps(public) if steps is None else steps
    chosen = check_integer("steps", steps, most=MOST_STEPS)
    one = step_epsilon(public.params, chosen)
    sensitivity = vertex_sensitivity(public)
    return NoisePlan(
        mechanism=FRANK_WOLFE,
        theorem="T vertices drawn by the exponential mechanism (docs/convex.md, frank-wolfe)",
        status=CalibrationStatus.PROVEN,
        law="exponential mechanism on scores of vertices, drawn exactly",
        scales=(float(sensitivity / one / (CELL * SLOPE)),),
        settings=(
            ("steps", chosen),
            ("epsilon of one", float(one)),
            ("sensitivity", sensitivity),
            ("units of a cell", CELL),
            ("units of a slope", SLOPE),
        ),
        is_exact=is_exact and public.loss.name == "logistic",
    )


def _require_vertices(public: ConvexPublic) -> None:
    public.require_convex("private Frank-Wolfe")
    public.require_smooth("private Frank-Wolfe")
    if not isinstance(public.domain, L1Ball | Simplex):
        raise CalibrationError(
            "private Frank-Wolfe needs an l1 ball or the simplex as its domain; declare one."
        )


@prepared_first
def frank_wolfe(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    steps: int | None = None,
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Take T steps towards vertices that have a small product with the gradient, drawn privately.

    Parameters
    ----------
    rows : Rows
        Private rows.
    public : ConvexPublic
        Public facts: convex smooth loss, an l1 ball or the simplex; both relations.
    entropy : EntropySource
        Random bits.
    steps : int or None
        T; None balances the error of the steps with that of the draws.
    ledger : Ledger or None
        Where the budget is recorded first.

    Returns
    -------
    ConvexRelease
        A mean of T vertices with the weights 1, 2, ..., T.

    Raises
    ------
    CalibrationError
        If loss, domain, steps or rows do not suit; nothing is spent.

    Notes
    -----
    **Guarantee.** Pure by T times ``epsilon / T``, or (epsilon, delta) by zCDP; several rows per
    unit, error costs. Draws and scores are exact; docs/convex.md, entry "frank-wolfe", says where
    doubles enter.

    References
    ----------
    .. [1] Talwar, Thakurta, Zhang (2015), Algorithm 2: Laplace noise on each score.
    """
    if public.is_noiseless:
        _require_vertices(public)
        return noiseless_minimum(FRANK_WOLFE, rows, public, ridge=None, entropy=entropy)
    plan = plan_frank_wolfe(public, steps=steps, is_exact=rows.is_exact)
    check_rows(rows, public)
    chosen = int(plan.setting("steps"))
    one = step_epsilon(public.params, chosen)
    if chosen * one <= _exact_epsilon(public.params):
        public = replace(public, params=replace(public.params, delta=0.0))
    whole, toy = WholeRows.of(rows, public), WholeRows.of(toy_rows(public), public)
    rate = one / vertex_sensitivity(public)
    rehearse(
        FRANK_WOLFE, lambda: private_steps(toy, public, 1, rate, RandomBits(SeededEntropy(0)))
    )

    def compute() -> FloatArray:
        return private_steps(whole, public, chosen, rate, RandomBits(entropy))

    return charge_of(plan, public, compute, entropy=entropy, packages=_versions())


@dataclass(slots=True)
class _Walk:
    """A point of the domain in whole numbers, and each row's score at it.

    Parameters
    ----------
    vector : int64 array, shape (p,)
        The point is the radius times this over ``weight``.
    scores : int64 array, shape (m,)
        Products of the vector with the rows' units.
    weight : int
        Sum of the weights of the vertices so far.
    """

    vector: IntArray
    scores: IntArray
    weight: int

    @classmethod
    def at_centre(cls, rows: WholeRows, public: ConvexPublic) -> _Walk:
        p = public.dimension
        if isinstance(public.domain, Simplex):
            return cls(np.ones(p, dtype=np.int64), rows.sums(), p)
        return cls(np.zeros(p, dtype=np.int64), np.zeros(len(rows.y), dtype=np.int64), 1)

    def slopes(self, rows: WholeRows, public: ConvexPublic) -> IntArray:
        """Return each row's slope at the point, in units."""
        reach = _reach(public)
        scores = self.scores.astype(np.float64) * (reach / (CELL * self.weight))
        return whole_slopes(public.loss, scores, rows.y, _steepest(public.loss, public))

    def step(self, rows: WholeRows, vertex: tuple[int, int], number: int) -> None:
        """Move to a vertex, the ``number``-th one; the first one is a new beginning."""
        j, sign = vertex
        if number == 1:
            self.vector[:], self.scores[:], self.weight = 0, 0, 0
        self.vector[j] += sign * number
        self.scores += sign * number * rows.column(j)
        self.weight += number


def _steepest(loss: LinearLoss, public: ConvexPublic) -> float:
    return loss.slope_bound(public.bounds, _reach(public))


def private_steps(
    rows: WholeRows, public: ConvexPublic, steps: int, rate: Fraction | None, bits: RandomBits
) -> FloatArray:
    """Return the point after T steps; without a rate each vertex is the best one.

    Parameters
    ----------
    rows : WholeRows
        Private rows.
    public : ConvexPublic
        Public facts.
    steps : int
        T.
    rate : Fraction or None
        Of the exponential mechanism, per unit of a score.
    bits : RandomBits
        Random bits.

    Returns
    -------
    float64 array, shape (p,)
    """
    walk = _Walk.at_centre(rows, public)
    for number in range(1, steps + 1):
        scores = rows.gradient(walk.slopes(rows, public))
        if isinstance(public.domain, L1Ball):
            scores = np.concatenate([scores, -scores])
        drawn = int(np.argmin(scores)) if rate is None else draw_vertex(scores, rate, bits)
        turned, j = divmod(drawn, public.dimension)
        walk.step(rows, (j, -1 if turned else 1), number)
    radius = public.require_domain("private Frank-Wolfe").radius_l1
    return radius * walk.vector.astype(np.float64) / walk.weight


def draw_vertex(scores: IntArray, rate: Fraction, bits: RandomBits) -> int:
    """Return index ``v`` with probability proportional to ``exp(-rate * scores[v])``, exactly."""
    levels, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    level = draw_level(levels, counts, rate, bits)
    members = np.flatnonzero(place == level)
    return int(members[bits.below(len(members))])


@functools.cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "python-flint")}
