"""Marks that tell series apart without colours."""

from __future__ import annotations

import math

from opdisc.report.figures.drawing import Drawing, Point


def _ring(corners: int, *, turn: float = 0.0, inner: float | None = None) -> tuple[Point, ...]:
    """Return corners on a circle, the first on top; with ``inner``, a star's."""
    radii = (1.0,) if inner is None else (1.0, inner)
    count = corners * len(radii)
    angles = (2 * math.pi * k / count + math.radians(turn) for k in range(count))
    return tuple(
        (radii[k % len(radii)] * math.sin(angle), -radii[k % len(radii)] * math.cos(angle))
        for k, angle in enumerate(angles)
    )


def _cross(turn: float) -> tuple[Point, ...]:
    """Return a cross of two bars."""
    arm, half = 1.0, 0.36
    corner = ((half, -arm), (half, -half), (arm, -half))
    sine, cosine = math.sin(math.radians(turn)), math.cos(math.radians(turn))
    quarters = [(1, 0), (0, 1), (-1, 0), (0, -1)]
    points = [(x * c - y * s, x * s + y * c) for c, s in quarters for x, y in corner]
    return tuple((x * cosine - y * sine, x * sine + y * cosine) for x, y in points)


MARKS = {
    "circle": _ring(20),
    "square": tuple((0.85 * x, 0.85 * y) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))),
    "up": _ring(3),
    "diamond": _ring(4),
    "down": _ring(3, turn=180),
    "plus": _cross(0),
    "times": _cross(45),
    "left": _ring(3, turn=-90),
    "right": _ring(3, turn=90),
    "pentagon": _ring(5),
    "hexagon": _ring(6),
    "star": _ring(5, inner=0.45),
}
"""Outlines around 0 within a circle of radius 1."""


def draw_mark(
    drawing: Drawing, place: Point, mark: str, color: str, *, filled: bool, radius: float = 4.6
) -> None:
    """Draw the mark of a name at a place."""
    outline = [(place[0] + radius * x, place[1] + radius * y) for x, y in MARKS[mark]]
    drawing.outline(outline, color, filled=filled)
