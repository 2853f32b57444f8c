"""Tiny problems whose optimum was worked out by hand.

Each function returns a problem and its optimum in objective units.
"""

import numpy as np

from oracles import Perturbation, WeightGrid, ZeroOneProblem


def one_threshold():
    """One column in {-1, 0, 1}; x = 1 seen with labels +++--, x = 0 with labels +-----.

    Score of x = 0 is 0: always "-", one mistake. x = 1: w = 1 predicts "+", two mistakes; w < 1
    predicts "-", three. Optimum 1 + 2 = 3 at w = 1.
    """
    problem = ZeroOneProblem(
        points=[[1], [0]], positives=[3, 1], negatives=[2, 5], grid=WeightGrid.box(1, 1)
    )
    return problem, 3


def exclusive_or():
    """Four corners of {0, 1}^2 and an intercept, labels x1 XOR x2, one row each; weights -1..1.

    A linear score cannot separate XOR and "always -" errs twice; (1, -1, 0) predicts "+" only on
    (1, 0): one mistake. Optimum 1.
    """
    problem = ZeroOneProblem(
        points=[[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1]],
        positives=[0, 1, 1, 0],
        negatives=[1, 0, 0, 1],
        grid=WeightGrid.box(3, 1),
    )
    return problem, 1


def tie_of_zero_scores():
    """One column, x = 1, one "+" row, weights {-1, 0}: no score reaches 1, so "+" is never said.

    A score of 0 predicts "-". Optimum 1.
    """
    problem = ZeroOneProblem(
        points=[[1]], positives=[1], negatives=[0], grid=WeightGrid(values=((-1, 0),))
    )
    return problem, 1


def pulled_by_table():
    """``one_threshold`` with a table (0, 0, -6) of half rows: w = 1 costs three rows more.

    In half rows: w = -1 and 0 lose 4 rows = 8; w = 1 loses 3 rows = 6, plus 6 = 12. Optimum 8.
    """
    problem, _ = one_threshold()
    table = Perturbation.separable([np.array([0, 0, -6])], unit=0.5)
    return problem.with_perturbation(table), 8


def pushed_out_of_budget():
    """Two columns, both needed: x = (1, 1) with 4 "+" rows, x = (1, 0) and (0, 1) with 3 "-" rows.

    Weights {0, 1}^2 cannot score (1, 1) at least 1 without giving one of the others at least 1.
    (1, 0): 3 mistakes; (0, 0): 4; (1, 1): 6. With norm budget 0 only (0, 0) is left. Optimum 4.
    """
    problem = ZeroOneProblem(
        points=[[1, 1], [1, 0], [0, 1]],
        positives=[4, 0, 0],
        negatives=[0, 3, 3],
        grid=WeightGrid(values=((0, 1), (0, 1)), norm_budget=0),
    )
    return problem, 4


def paid_by_norm():
    """``exclusive_or`` with a norm table (0, 3, 0, 5): the only norm 3 points earn five rows.

    Weights (a, b, c), all non-zero. Mistakes of (1, 1, -1): predicts "+" only on (1, 1), where the
    score is 1: 3 mistakes. (1, -1, -1) always scores below 1: 2. (1, -1, 1): "+" on (0, 0),
    (1, 0), (1, 1): 3 mistakes. (-1, -1, 1): "+" on (0, 0) only: 3. (1, 1, 1): always "+": 2.
    (-1, -1, -1): never "+": 2. So 2 - 5 = -3; norm 1 gives at best 2 - 3, norm 2 gives 1.
    """
    problem, _ = exclusive_or()
    table = Perturbation(blocks=(), tables=(), norm_table=np.array([0, 3, 0, 5]), unit=1.0)
    return problem.with_perturbation(table), -3


def rewarded_pair():
    """``exclusive_or`` with one block of coordinates (2, 0): 7 quarters for w_2 = 1 and w_0 = -1.

    Coordinate 2 is the intercept. (-1, b, 1): score 1 - x1 + b x2 is "+" on (0, 0) and, for
    b = 0, on (0, 1): mistakes (0, 0) and (1, 0) = 2; b = 1 adds "+" on (1, 1): 3; b = -1: "+" on
    (0, 0) only: 3. Optimum min(4 * 1, 4 * 2 - 7) = 1 quarter.
    """
    problem, _ = exclusive_or()
    table = np.zeros((3, 3), dtype=np.int64)
    table[2, 0] = 7
    return problem.with_perturbation(Perturbation(blocks=((2, 0),), tables=(table,), unit=0.25)), 1


ALL = (
    one_threshold,
    exclusive_or,
    tie_of_zero_scores,
    pulled_by_table,
    pushed_out_of_budget,
    paid_by_norm,
    rewarded_pair,
)


def too_hard(n_rows=3000, n_features=14):
    """Random labels on random binary columns: nothing to learn, so nothing can be pruned early.

    The optimum is not known and not needed: no oracle can prove it within a fraction of a second.
    """
    rng = np.random.default_rng(0)
    points = rng.integers(0, 2, (n_rows, n_features))
    positives = rng.integers(0, 2, n_rows)
    return ZeroOneProblem(
        points=points,
        positives=positives,
        negatives=1 - positives,
        grid=WeightGrid.box(n_features, 3),
    )


def score_indices(envelope, parts):
    """Return the clipped score index of every row of an envelope, given each block's weights."""
    return np.concatenate(
        [
            np.clip(block.contexts @ weights - low, 0, high - low)
            for block, weights, (low, high) in zip(
                envelope.sums, parts, envelope.spans, strict=True
            )
        ]
    )
