"""Adversarial pairs of neighbouring tables, as problems whose losses are known in closed form."""

import itertools

import numpy as np

from oracles import WeightGrid, ZeroOneProblem


def two_hypotheses() -> tuple[ZeroOneProblem, ZeroOneProblem]:
    """One row, one coordinate with weights 0 and 1; the neighbour has the other label.

    Weight 1 predicts "+" and weight 0 predicts "-", so the losses are (1, 0) and (0, 1).
    """
    grid = WeightGrid(values=((0, 1),))
    positive = ZeroOneProblem(points=[[1]], positives=[1], negatives=[0], grid=grid)
    negative = ZeroOneProblem(points=[[1]], positives=[0], negatives=[1], grid=grid)
    return positive, negative


def parity(n_signs: int) -> tuple[ZeroOneProblem, ZeroOneProblem]:
    """Losses 1[odd number of + signs] and its complement over ``{-1, +1}^n`` (theory, 2.3).

    With a fixed first weight 1 and first column ``1 - n``, the point with signs x scores at least
    1 only under the weights equal to x, so any table of losses is a sum of such points.
    """
    grid = WeightGrid(values=((1,),) + ((-1, 1),) * n_signs)
    signs = np.array(list(itertools.product((-1, 1), repeat=n_signs)))
    points = np.column_stack([np.full(len(signs), 1 - n_signs), signs])
    odd = (signs == 1).sum(axis=1) % 2
    nothing = np.zeros(len(signs), dtype=np.int64)
    first = ZeroOneProblem(points=points, positives=nothing, negatives=odd, grid=grid)
    second = ZeroOneProblem(points=points, positives=nothing, negatives=1 - odd, grid=grid)
    return first, second
