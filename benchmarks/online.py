"""Regret of the online learner: sampled vertices, tree noise and random play, by round.

Vectors are uniform on [-1, 1] but for one vertex, whose losses are lower by `--gap` on average.
All ways see the same vectors. Regret is against the best vertex of the rounds so far.

    python benchmarks/online.py --seeds 3
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from result_files import save

from opdisc.convex import ConvexPublic, OnlineLearner
from opdisc.privacy import NeighboringRelation, PrivacyParams
from oracles.convex import RowBounds, ScoreLoss, Simplex

NAMES = {"zcdp": "sampled vertex", "tree": "tree noise", "random": "random play"}


def facts(rounds: int, p: int, epsilon: float, delta: float) -> ConvexPublic:
    """Return the public facts of a stream of vectors in [-1, 1]^p."""
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=NeighboringRelation.REPLACE_ONE,
        loss=ScoreLoss(),
        bounds=RowBounds(l2=math.sqrt(p), linf=1.0),
        dimension=p,
        domain=Simplex(dimension=p),
        n_rows=rounds,
    )


def vectors(rounds: int, p: int, gap: float, seed: int) -> np.ndarray:
    """Return loss vectors, shape (rounds, p); the last vertex is the best."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(rounds, p))
    X[:, -1] = np.clip(X[:, -1] - gap, -1, 1)
    return X


def regrets(way: str, X: np.ndarray, public: ConvexPublic, seed: int) -> np.ndarray:
    """Return the regret after each round, shape (T,)."""
    rounds, p = X.shape
    if way == "random":
        played = np.random.default_rng(1000 + seed).integers(p, size=rounds)
    else:
        stream = OnlineLearner(public, noise="tree" if way == "tree" else "zcdp")
        played = np.array([stream.step(x) for x in X])
    paid = np.cumsum(X[np.arange(rounds), played])
    return np.asarray(paid - np.cumsum(X, axis=0).min(axis=1))


def lines(
    p: int, rounds: int, seeds: int, at: Sequence[int], options: argparse.Namespace
) -> list[list[str]]:
    """Return a line for each way: the least and the most regret of the seeds at some rounds."""
    public, found = facts(rounds, p, options.epsilon, options.delta), []
    for way, name in NAMES.items():
        curves = np.array(
            [regrets(way, vectors(rounds, p, options.gap, s), public, s) for s in range(seeds)]
        )
        cells = [f"{curves[:, t - 1].min():,.0f} to {curves[:, t - 1].max():,.0f}" for t in at]
        found.append([str(p), name, *cells])
        print(" | ".join(found[-1]), flush=True)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--rounds", type=int, default=16_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--gap", type=float, default=0.1)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    at = [options.rounds // share for share in (16, 4, 2, 1)]
    rows = []
    for p in options.columns:
        rows += lines(p, options.rounds, options.seeds, at, options)
    save(options.save, ["p", "play", *(f"{t:,} rounds" for t in at)], rows)


if __name__ == "__main__":
    main()
