"""The exact release: the minimiser is enclosed until every rounded weight is known.

The weights are a function of the table and of the noise's digits. As many digits are drawn as that
function needs to be known: no search, no precision and no order of sums changes its value.
"""

from __future__ import annotations

import math
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from opdisc.convex.hull.newton import Found, search
from opdisc.convex.hull.noise import HullNoise
from opdisc.convex.hull.shape import HullShape
from opdisc.convex.hull.table import MOST_WEIGHT, HullTable, nearby_whole
from oracles.arithmetic import FloatArray

LARGEST_WEIGHT = 2**52
"""Where a rounded weight is cut off, in units of the resolution."""

_LEAST_DIGITS = 20
"""Digits that a point has at least."""

_MOST_WHOLE = 2**53
"""Below this sum of whole numbers every score is a double."""

_FARTHEST = 2.0**100
"""A search that ended beyond it failed."""

_ONE_AT_A_TIME = threading.RLock()
"""The precision of balls is shared by all threads of a process."""


def _after_fork() -> None:
    global _ONE_AT_A_TIME
    _ONE_AT_A_TIME = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_POLISH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class HullObjective:
    """The public part of what is minimised: the sum of losses, a tilt and a ridge.

    Parameters
    ----------
    shape : HullShape
        The hull.
    ridge : Fraction
        Lambda of ``(Lambda/2)|w|^2``, in centred coordinates, constant included.
    scale : Fraction
        What the noise is multiplied by.
    resolution : int
        Released weights are whole multiples of ``1 / resolution``.
    start : tuple of Fraction
        Plain weights that the ridge pulls towards, ``(Lambda/2)|w - start|^2``; none: 0.
    """

    shape: HullShape
    ridge: Fraction
    scale: Fraction
    resolution: int
    start: tuple[Fraction, ...] = ()


def transform_of(shape: HullShape) -> FloatArray:
    """Return the matrix from weights of plain columns to those of centred ones."""
    found = np.eye(shape.n_columns + 1)
    found[0, 1:] = [float(at) for at in shape.centre]
    return found


def released_weights(table: HullTable, objective: HullObjective, noise: HullNoise) -> list[int]:
    """Return the weights of constant and plain columns in units of ``1 / resolution``.

    Parameters
    ----------
    table : HullTable
        The private rows.
    objective : HullObjective
        What is minimised.
    noise : HullNoise
        The draw; it is refined until every weight is decided.

    Returns
    -------
    list of int
        ``floor(resolution * weight + 1/2)`` of the exact minimiser, cut at :data:`LARGEST_WEIGHT`.

    Notes
    -----
    **Guarantee.** The law is exactly that of real arithmetic. It ends with probability 1.
    """
    with _ONE_AT_A_TIME:
        return _released_weights(table, objective, noise)


def _released_weights(table: HullTable, objective: HullObjective, noise: HullNoise) -> list[int]:
    while (balls := noise.enclosure()) is None:
        noise.refine()
    transform = transform_of(objective.shape)
    tilt = float(objective.scale) * np.array([float(ball.mid()) for ball in balls])
    quadratic = float(objective.ridge) * transform.T @ transform
    if objective.start:
        tilt = tilt - quadratic @ np.array(list(map(float, objective.start)))
    found = search(table, tilt, quadratic)
    whole, digits = _as_whole(found.theta, table.unit)
    are_doubles = table.unit * sum(map(abs, whole)) < _MOST_WHOLE and table.total <= MOST_WEIGHT
    slope = table.slope_balls if are_doubles else table.deep_slope_balls
    gradient = _centred_gradient(objective, slope(whole, digits), balls, whole, digits)
    while (weights := _decided(objective, gradient, whole, digits)) is None:
        noise.refine()
        balls = noise.enclosure()
        assert balls is not None  # cells only shrink
        more = max(noise.digits - digits, 0)
        whole, digits = [value << more for value in whole], digits + more
        whole, gradient = _polished(table, objective, found, balls, whole, digits)
    return weights


def _as_whole(theta: FloatArray, unit: int) -> tuple[list[int], int]:
    """Return theta in whole units of ``2^-digits``.

    Their absolute sum in multiples of a table's unit is below 2^53 if it can.
    """
    whole = unit * float(np.abs(theta).sum())
    if not whole < _FARTHEST:
        return [0] * len(theta), _LEAST_DIGITS
    digits = max(51 - math.ceil(math.log2(1 + whole)), _LEAST_DIGITS)
    return [int(value) for value in np.rint(np.ldexp(theta, digits))], digits


def _centred_gradient(
    objective: HullObjective, slope: list[arb], balls: list[arb], whole: list[int], digits: int
) -> list[arb]:
    """Return balls around the objective's gradient in centred coordinates."""
    with ctx.workprec(digits + 128):
        scale, ridge = _ball(objective.scale), _ball(objective.ridge)
        centre = [_ball(at) for at in objective.shape.centre]
        away = [arb(value) * arb(2) ** -digits for value in whole]
        if objective.start:
            away = [a - _ball(b) for a, b in zip(away, objective.start, strict=True)]
        constant = away[0] + sum(
            (at * weight for at, weight in zip(centre, away[1:], strict=True)), arb(0)
        )
        total = [a + scale * b for a, b in zip(slope, balls, strict=True)]
        return [
            total[0] + ridge * constant,
            *(
                part - at * total[0] + ridge * weight
                for part, at, weight in zip(total[1:], centre, away[1:], strict=True)
            ),
        ]


def _ball(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def _decided(
    objective: HullObjective, gradient: list[arb], whole: list[int], digits: int
) -> list[int] | None:
    """Return the rounded weights if the enclosure decides them all.

    The objective is Lambda-strongly convex, so its minimiser is no further than the gradient's
    length over Lambda. The plain constant is the centred one less ``centre @ weights``.
    """
    with ctx.workprec(digits + 128):
        radius = _length(gradient) / _ball(objective.ridge)
        spread = _ball(sum((at * at for at in objective.shape.centre), Fraction(1))).sqrt()
        found = []
        for i, value in enumerate(whole):
            reach = radius if i else radius * spread
            middle = arb(value) * arb(2) ** -digits
            low, high = (
                _floor(objective.resolution * (middle + end * reach) + arb(0.5)) for end in (-1, 1)
            )
            if low is None or low != high:
                return None
            found.append(low)
    return found


def _length(gradient: list[arb]) -> arb:
    """Return an upper bound of a vector's length."""
    squares = sum((part.abs_upper() ** 2 for part in gradient), arb(0))
    return squares.upper().sqrt().upper()


def _floor(ball: arb) -> int | None:
    """Return the one whole number below all of a ball, cut off; None if there are several."""
    if not ball.is_finite() or (floor := ball.floor().unique_fmpz()) is None:
        return None
    return max(-LARGEST_WEIGHT, min(LARGEST_WEIGHT, int(floor)))


def _polished(
    table: HullTable,
    objective: HullObjective,
    found: Found,
    balls: list[arb],
    whole: list[int],
    digits: int,
) -> tuple[list[int], list[arb]]:
    """Return a point nearer to the minimiser, and the gradient there.

    Each step is Newton's with the Hessian there is. Where it fails to shorten the gradient, a
    short step along the gradient is taken, which always comes nearer.
    """
    transform = transform_of(objective.shape)
    centre = np.array(transform[0])
    steady = _shortest_step(table, objective)

    def at(point: list[int]) -> list[arb]:
        slope = table.deep_slope_balls(point, digits)
        return _centred_gradient(objective, slope, balls, point, digits)

    gradient = at(whole)
    for _ in range(_POLISH):
        size = max(part.mid().abs_upper() for part in gradient)
        if not size > 0:
            break
        flat = np.array([float((part.mid() / size).mid()) for part in gradient])
        # In plain coordinates: the gradient transposed back, or the step mapped back.
        plain = flat.copy()
        plain[1:] += centre[1:] * flat[0]
        newton = _moved(whole, found.inverse @ plain, size, digits)
        new = at(newton)
        if not _length(new) < _length(gradient) * 0.9:
            newton = _moved(whole, np.linalg.solve(transform, steady * flat), size, digits)
            new = at(newton)
        if not _length(new) < _length(gradient):
            break
        is_done = not _length(new) < _length(gradient) / 2
        whole, gradient = newton, new
        if is_done:
            break
    return whole, gradient


def _shortest_step(table: HullTable, objective: HullObjective) -> float:
    """Return one over a bound on the objective's curvature, in centred coordinates."""
    curvature = table.total / 4 * float(objective.shape.squared_radius) + float(objective.ridge)
    return 1 / curvature


def _moved(whole: list[int], step: NDArray[np.floating[Any]], size: arb, digits: int) -> list[int]:
    with ctx.workprec(digits + 128):
        unit = size * arb(2) ** digits
        moves = [nearby_whole(unit * float(part)) or 0 for part in step]
    return [value - move for value, move in zip(whole, moves, strict=True)]
