"""Branch and bound over boxes: a proven gap for any loss in few dimensions.

On a box of parameters every score has an interval, and on it every loss lies above a line. The
weighted sum of the lines is linear in theta, so its minimum over the box is a lower bound. It is
exact where the losses are linear; a bound from the Lipschitz constant alone would be off by the
width of the box everywhere. The search stops when the gap is small enough.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.duality import RealClaim
from oracles.convex.polytopes import Simplex
from oracles.convex.problem import TiltedProblem
from oracles.convex.regression_losses import SquaredLoss
from oracles.convex.solve import RealOptions, Session

LARGEST_DIMENSION = 6

_BATCH = 128

_MOST_BOXES = 2_000_000


class GlobalOracle:
    """Best-first search over boxes, vectorised; without a limit on boxes it always ends.

    Parameters
    ----------
    most_boxes : int
        Stop after this many boxes with the gap reached so far.
    """

    name = "global"
    proves_partitions = True
    requirement = f"takes at most {LARGEST_DIMENSION} dimensions"

    def __init__(self, most_boxes: int = _MOST_BOXES) -> None:
        self._most_boxes = most_boxes

    def supports(self, problem: TiltedProblem) -> bool:
        """Return whether the dimension is small."""
        return problem.dimension <= LARGEST_DIMENSION

    def session(self, problem: TiltedProblem, options: RealOptions) -> Session:
        """Return a function that minimises the problem under any tilt."""
        most_boxes = self._most_boxes

        def search(tilt: FloatArray) -> RealClaim:
            return _search(problem.with_tilt(tilt), options, most_boxes)

        return search


@dataclass(slots=True)
class _Incumbent:
    """Best point so far.

    Parameters
    ----------
    point : ndarray of shape (d,), float64
        The parameters.
    value : float
        Their objective, in its own units.
    """

    point: FloatArray
    value: float

    def offer(self, problem: TiltedProblem, points: FloatArray) -> None:
        """Keep the best of some points, projected on the domain."""
        for point in points:
            inside = problem.domain.nearest_inside(point)
            value = problem.objective(inside)
            if value < self.value:
                self.point, self.value = inside, value


def _search(problem: TiltedProblem, options: RealOptions, most_boxes: int) -> RealClaim:
    deadline = time.perf_counter() + (options.time_limit or np.inf)
    low, high = problem.domain.lower[None, :].copy(), problem.domain.upper[None, :].copy()
    middle = problem.domain.nearest_inside(0.5 * (low[0] + high[0]))
    best = _Incumbent(middle, problem.objective(middle))
    bounds, forms = _bounds(problem, low, high)
    slack = _slack(problem)
    target = max(0.5 * options.absolute_gap - 2 * slack, 0.0)
    closed, boxes = np.inf, 1
    while len(bounds):
        done = bounds >= best.value - target
        closed = min(closed, float(bounds[done].min(initial=np.inf)))
        low, high, bounds, forms = low[~done], high[~done], bounds[~done], forms[~done]
        if not len(bounds) or boxes > most_boxes or time.perf_counter() > deadline:
            break
        order = np.argpartition(bounds, min(_BATCH, len(bounds)) - 1)
        chosen, rest = order[:_BATCH], order[_BATCH:]
        corners = np.where(forms[chosen] > 0, low[chosen], high[chosen])
        middles = 0.5 * (low[chosen] + high[chosen])
        best.offer(problem, np.concatenate([corners[:4], middles[:8]]))
        new_low, new_high, parents = _split(problem, low[chosen], high[chosen], bounds[chosen])
        new_bounds, new_forms = _bounds(problem, new_low, new_high)
        boxes += len(new_bounds)
        low, high = np.concatenate([low[rest], new_low]), np.concatenate([high[rest], new_high])
        bounds = np.concatenate([bounds[rest], np.maximum(new_bounds, parents)])
        forms = np.concatenate([forms[rest], new_forms])
    lowest = min(closed, float(bounds.min(initial=np.inf))) - slack
    return RealClaim(point=best.point, multipliers=None, lower_bound=min(lowest, best.value))


def _bounds(
    problem: TiltedProblem, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each box's lower bound and the linear form that gave it; inf off the domain."""
    positive, negative = np.maximum(problem.features, 0.0), np.minimum(problem.features, 0.0)
    score_low = low @ positive.T + high @ negative.T
    score_high = high @ positive.T + low @ negative.T
    slopes, heights = problem.loss.minorant(score_low, score_high, problem.targets)
    forms = (problem.weights * slopes) @ problem.features - problem.tilt
    bounds = heights @ problem.weights + np.minimum(forms * low, forms * high).sum(axis=1)
    return np.where(_meets(problem, low, high), bounds, np.inf), forms


def _meets(problem: TiltedProblem, low: FloatArray, high: FloatArray) -> np.ndarray:
    """Return whether each box may meet the domain; a box wrongly kept costs time only."""
    domain, tolerance = problem.domain, 1e-9
    nearest = np.maximum(np.maximum(low, -high), 0.0)
    if isinstance(domain, L1Ball):
        return np.asarray(nearest.sum(axis=1) <= domain.radius * (1 + tolerance))
    if isinstance(domain, L2Ball):
        return np.asarray((nearest**2).sum(axis=1) <= domain.radius**2 * (1 + tolerance))
    if isinstance(domain, Simplex):
        most, least = 1 + tolerance, 1 - tolerance
        return np.asarray((low.sum(axis=1) <= most) & (high.sum(axis=1) >= least))
    return np.ones(len(low), dtype=bool)


def _split(
    problem: TiltedProblem, low: FloatArray, high: FloatArray, bounds: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Halve each box across the coordinate that moves the scores most."""
    reach = problem.weights @ np.abs(problem.features) + 1e-12
    rows = np.arange(len(low))
    coordinate = ((high - low) * reach).argmax(axis=1)
    middle = 0.5 * (low[rows, coordinate] + high[rows, coordinate])
    left_high, right_low = high.copy(), low.copy()
    left_high[rows, coordinate] = middle
    right_low[rows, coordinate] = middle
    return (
        np.concatenate([low, right_low]),
        np.concatenate([left_high, high]),
        np.concatenate([bounds, bounds]),
    )


def _slack(problem: TiltedProblem) -> float:
    """Return a bound on the rounding error of any box's bound, objective units.

    Lines with steep slopes have large heights that cancel; their size is at most the slope times
    the largest score plus the largest loss.
    """
    low, high = problem.domain.lower, problem.domain.upper
    farthest = np.maximum(np.abs(low), np.abs(high))
    scores = np.abs(problem.features) @ farthest + np.abs(problem.targets) + 1.0
    steepest = max(1.0, 1.0 / problem.loss.width) * (
        float(scores.max()) if isinstance(problem.loss, SquaredLoss) else 1.0
    )
    losses = 4.0 * (1.0 + steepest * scores)
    total = float(problem.weights @ losses) + float(np.abs(problem.tilt) @ farthest)
    return problem.chain_error * total
