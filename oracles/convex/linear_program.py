"""Hinge and absolute loss as a linear program, solved by HiGHS in its dual.

The dual of :mod:`oracles.convex.duality` is a linear program with one bounded variable per point
and one
row per coordinate of theta: few rows however many points. Row duals are theta. A new tilt changes
the right-hand side only, so the last basis is a warm start. An l2 ball is cut out of its enclosing
box by tangent planes, which stay valid for every tilt.
"""

from __future__ import annotations

import time
from typing import Any

import highspy
import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import HingeLoss
from oracles.convex.duality import RealClaim, lower_bound
from oracles.convex.polytopes import Simplex
from oracles.convex.problem import TiltedProblem
from oracles.convex.regression_losses import AbsoluteLoss
from oracles.convex.solve import RealOptions, Session
from oracles.errors import NoHypothesis

_FEASIBILITY = 1e-10

_MOST_CUTS = 2000


class LinearOracle:
    """Linear programs through HiGHS."""

    name = "lp-highs"
    proves_partitions = False
    requirement = "takes the hinge and absolute losses only"

    def supports(self, problem: TiltedProblem) -> bool:
        """Return whether the loss is piecewise linear and convex."""
        return isinstance(problem.loss, HingeLoss | AbsoluteLoss)

    def session(self, problem: TiltedProblem, options: RealOptions) -> Session:
        """Return a function that minimises the problem under any tilt, warm-started."""
        return _DualProgram(problem, options)


class _SilentHighs(highspy.Highs):
    """HiGHS 1.16 greets on standard output when callbacks are enabled, as the constructor does."""

    def enableCallbacks(self) -> None:  # noqa: N802 - HiGHS's name
        """Switch output off first."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()  # type: ignore[no-untyped-call]


class _DualProgram:
    """The dual program of one problem; call it with a tilt."""

    def __init__(self, problem: TiltedProblem, options: RealOptions) -> None:
        self._problem, self._options = problem, options
        self._two_sided = isinstance(problem.domain, L1Ball)
        self._solver: Any = _SilentHighs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("presolve", "off"),
            ("solver", "simplex"),
            ("primal_feasibility_tolerance", _FEASIBILITY),
            ("dual_feasibility_tolerance", _FEASIBILITY),
        ):
            self._solver.setOptionValue(option, value)
        self._solver.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self._add_rows()
        self._add_points()
        self._add_domain()

    def __call__(self, tilt: FloatArray) -> RealClaim:
        """Minimise under a tilt; on an l2 ball, cut until the gap is small enough."""
        self._set_tilt(tilt)
        parameters, multipliers = self._run()
        if not isinstance(self._problem.domain, L2Ball):
            return self._claim(parameters, multipliers)
        deadline = time.perf_counter() + (self._options.time_limit or np.inf)
        tilted, best = self._problem.with_tilt(tilt), self._claim(parameters, multipliers)
        best_bound, best_value = -np.inf, np.inf
        while True:
            claim = self._claim(parameters, multipliers)
            value = tilted.objective(claim.point)
            bound = lower_bound(tilted, multipliers)
            if value < best_value:
                best_value = value
                best = RealClaim(
                    point=claim.point, multipliers=best.multipliers, lower_bound=-np.inf
                )
            if bound > best_bound:
                best_bound = bound
                best = RealClaim(point=best.point, multipliers=multipliers, lower_bound=-np.inf)
            norm = float(np.linalg.norm(parameters))
            closed = best_value - best_bound <= 0.5 * self._options.absolute_gap
            if closed or norm <= self._problem.domain.radius or time.perf_counter() > deadline:
                return best
            if self._solver.getNumCol() > len(self._problem.targets) + _MOST_CUTS:
                return best
            self._cut(parameters / norm)
            parameters, multipliers = self._run()

    def _add_rows(self) -> None:
        empty = np.array([], dtype=np.int32), np.array([], dtype=np.float64)
        for _ in range(self._problem.dimension * (2 if self._two_sided else 1)):
            self._solver.addRow(0.0, 0.0, 0, *empty)

    def _add_column(self, cost: float, low: float, high: float, column: FloatArray) -> None:
        """Add a variable with one coefficient per coordinate."""
        full = np.concatenate([column, column]) if self._two_sided else column
        where = np.flatnonzero(full)
        self._solver.addCol(cost, low, high, len(where), where.astype(np.int32), full[where])

    def _add_points(self) -> None:
        problem = self._problem
        low, high = problem.loss.slope_range(problem.targets)
        for i, point in enumerate(problem.features):
            weight = float(problem.weights[i])
            # Conjugate of hinge and absolute loss: phi*(a) = a y.
            gain = -float(problem.targets[i])
            self._add_column(gain, weight * float(low[i]), weight * float(high[i]), point)

    def _add_domain(self) -> None:
        """Add the variables that express min over the domain of <v, theta>."""
        domain, inf = self._problem.domain, highspy.kHighsInf
        d = self._problem.dimension
        if isinstance(domain, Simplex):
            self._add_column(1.0, -inf, inf, -np.ones(d))
        elif isinstance(domain, L1Ball):
            both = np.concatenate([-np.ones(d), np.ones(d)])
            where = np.arange(2 * d, dtype=np.int32)
            self._solver.addCol(-domain.radius, 0.0, inf, 2 * d, where, both)
        else:
            low, high = domain.lower, domain.upper
            for j, unit in enumerate(np.eye(d)):
                self._add_column(float(low[j]), 0.0, inf, -unit)
                self._add_column(-float(high[j]), 0.0, inf, unit)

    def _cut(self, normal: FloatArray) -> None:
        domain = self._problem.domain
        assert isinstance(domain, L2Ball)
        self._add_column(-domain.radius, 0.0, highspy.kHighsInf, normal)

    def _set_tilt(self, tilt: FloatArray) -> None:
        d, inf = self._problem.dimension, highspy.kHighsInf
        domain = self._problem.domain
        for j, value in enumerate(tilt.tolist()):
            if isinstance(domain, L1Ball):
                self._solver.changeRowBounds(j, -inf, value)
                self._solver.changeRowBounds(d + j, value, inf)
            elif isinstance(domain, Simplex):
                self._solver.changeRowBounds(j, value, inf)
            else:
                self._solver.changeRowBounds(j, value, value)

    def _run(self) -> tuple[FloatArray, FloatArray]:
        """Return theta (not yet projected) and the multipliers."""
        if self._options.time_limit is not None:
            self._solver.setOptionValue("time_limit", self._options.time_limit)
        if self._solver.run() == highspy.HighsStatus.kError:
            # The process has a pool of other threads, which HiGHS refuses: 0 takes that one.
            self._solver.setOptionValue("threads", 0)
            self._solver.run()
        solution = self._solver.getSolution()
        duals = np.array(solution.row_dual, dtype=np.float64)
        values = np.array(solution.col_value, dtype=np.float64)
        d, n = self._problem.dimension, len(self._problem.targets)
        if len(duals) < d or len(values) < n or not np.isfinite(duals).all():
            raise NoHypothesis("oracle 'lp-highs' must find a point, but it stopped without one.")
        parameters = -(duals[:d] + duals[d:] if self._two_sided else duals[:d])
        weights = self._problem.weights
        multipliers = np.divide(values[:n], weights, out=np.zeros(n), where=weights > 0)
        return parameters, multipliers

    def _claim(self, parameters: FloatArray, multipliers: FloatArray) -> RealClaim:
        point = self._problem.domain.nearest_inside(parameters)
        return RealClaim(point=point, multipliers=multipliers, lower_bound=-np.inf)
