"""Which scorecards are allowed: value sets of the points, norm budget and sparsity, all public."""

from __future__ import annotations

import numpy as np

from opdisc.data import Schema
from opdisc.errors import CalibrationError
from opdisc.mechanisms import LARGEST_SHIFT
from oracles.problem import WeightGrid


def scorecard_grid(
    schema: Schema, bound: int, *, norm_budget: int | None = None, max_nonzero: int | None = None
) -> WeightGrid:
    """Return the allowed weights, the starting points first.

    Parameters
    ----------
    schema : Schema
        A feature's ``sign`` restricts its points to ``0 .. bound`` or ``-bound .. 0``; the
        starting points may have either sign.
    bound : int
        Points are in ``-bound .. bound``.
    norm_budget : int or None
        Largest squared norm of all weights.
    max_nonzero : int or None
        Largest number of weights other than 0, the starting points included. At ``bound = 1`` that
        is the squared norm; with larger points it is refused.

    Raises
    ------
    CalibrationError
        If a budget is not a number of at least 1, both are given, or ``max_nonzero`` comes with
        larger points.

    Notes
    -----
    **Guarantee.** A function of public facts. The grid stands on the receipt.
    """
    for name, value in (("norm_budget", norm_budget), ("max_nonzero", max_nonzero)):
        is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if value is not None and (not is_integer or value < 1):
            raise CalibrationError(f"{name} must be an integer of at least 1, got {value!r}.")
    if norm_budget is not None and max_nonzero is not None:
        raise CalibrationError("norm_budget and max_nonzero exclude each other; drop one.")
    if max_nonzero is not None and bound != 1:
        raise CalibrationError(
            f"max_nonzero needs weight_bound=1, where it is a squared norm, got weight_bound="
            f"{bound}; use norm_budget or smaller weights."
        )
    values = {
        None: tuple(range(-bound, bound + 1)),
        "positive": tuple(range(bound + 1)),
        "negative": tuple(range(-bound, 1)),
    }
    signs = [None, *(f.sign for f in schema.features for _ in f.column_names)]
    return WeightGrid(
        values=tuple(values[sign] for sign in signs),
        norm_budget=norm_budget if max_nonzero is None else max_nonzero,
    )


def grid_around(schema: Schema, points: tuple[int, ...], bound: int | None = None) -> WeightGrid:
    """Return the weights of cards that change points of a public one by 1.

    Parameters
    ----------
    schema : Schema
        A feature's ``sign`` restricts its points as in :func:`scorecard_grid`.
    points : tuple of int
        The card's, those that everyone starts with first, which may change by more; within the
        bound and the signs.
    bound : int or None
        Largest points of a statement; None: one more than those of the card.

    Notes
    -----
    **Guarantee.** A function of public facts. The grid stands on the receipt.
    """
    start = range(points[0] - LARGEST_SHIFT, points[0] + LARGEST_SHIFT + 1)
    signs = [f.sign for f in schema.features for _ in f.column_names]

    def is_allowed(point: int, sign: str | None) -> bool:
        against = {"positive": point < 0, "negative": point > 0}
        return not against.get(sign or "", False) and (bound is None or abs(point) <= bound)

    values = (
        tuple(new for new in (point - 1, point, point + 1) if is_allowed(new, sign))
        for point, sign in zip(points[1:], signs, strict=True)
    )
    return WeightGrid(values=(tuple(start), *values))
