"""Convex mechanisms: accuracy on census data, rates against the theorems, cost, dimension.

    python benchmarks/convex.py census      needs adult.csv (OPDISC_DATA)
    python benchmarks/convex.py rates       log-log slopes in n and epsilon beside the theorems'
    python benchmarks/convex.py methods     excess risk and gradient evaluations on the same data
    python benchmarks/convex.py dimension   zero columns appended, Gamma against Gaussian noise

Accuracies and excesses use the training or test rows in the clear: the figures are not private.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from opdisc.convex import (
    BatchPlan,
    ConvexPublic,
    Rows,
    SVRGPlan,
    accelerated_mirror_descent,
    exponential_sampling,
    gradient_descent,
    localization,
    mirror_descent,
    noisy_sgd,
    objective_perturbation,
    output_perturbation,
    svrg,
)
from opdisc.domains import L2Ball
from opdisc.losses import LogisticLoss, RowBounds
from opdisc.noise import SystemEntropy
from opdisc.privacy import NeighboringRelation, PrivacyParams

FloatArray = NDArray[np.float64]
Method = Callable[[Rows, ConvexPublic], FloatArray]
NU = 0.1
"""Strong convexity of the mean objective in the synthetic tables."""


def facts(n: int, epsilon: float, p: int, delta: float) -> ConvexPublic:
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=NeighboringRelation.REPLACE_ONE,
        loss=LogisticLoss(),
        bounds=RowBounds(l2=1.0),
        dimension=p,
        domain=L2Ball(dimension=p, radius=3.0),
        n_rows=n,
    )


def synthetic(n: int, p: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    chance = 1 / (1 + np.exp(-3 * X[:, 0]))
    return Rows(X=X, y=np.where(rng.random(n) < chance, 1.0, -1.0))


def objective(rows: Rows, theta: FloatArray) -> float:
    return rows.sum_value(LogisticLoss(), theta) / len(rows.y) + 0.5 * NU * float(theta @ theta)


def optimum(rows: Rows) -> float:
    start = np.zeros(rows.X.shape[1])
    return float(optimize.minimize(lambda t: objective(rows, t), start, tol=1e-12).fun)


def methods() -> dict[str, tuple[Method, str, Callable[[int], float]]]:
    """Each method, the theorem's rate for the mean objective, and gradient evaluations."""
    e = SystemEntropy()

    def batches(n: int) -> BatchPlan:
        return BatchPlan(batch=max(1, n // 50), steps=150, sampling="fixed")

    def epochs(n: int) -> SVRGPlan:
        return SVRGPlan(epochs=5, inner=20, batch=max(1, n // 50), sampling="fixed")

    return {
        "objective, pure": (
            lambda r, q: (
                objective_perturbation(r, q, ridge=NU * len(r.y), noise="pure", entropy=e).theta
            ),
            "p^2/(n eps)^2",
            lambda n: 10 * n,
        ),
        "objective, Gaussian": (
            lambda r, q: (
                objective_perturbation(
                    r, q, ridge=NU * len(r.y), noise="gaussian", entropy=e
                ).theta
            ),
            "p ln(1/d)/(n eps)^2",
            lambda n: 10 * n,
        ),
        "output, pure": (
            lambda r, q: (
                output_perturbation(r, q, ridge=NU * len(r.y), noise="pure", entropy=e).theta
            ),
            "p^2/(n eps)^2",
            lambda n: 10 * n,
        ),
        "noisy SGD": (
            lambda r, q: noisy_sgd(r, q, batches(len(r.y)), ridge=NU, entropy=e).theta,
            "p ln(1/d)/(n eps)^2 + 1/T",
            lambda n: batches(n).batch * 150,
        ),
        "DP-GD": (
            lambda r, q: gradient_descent(r, q, steps=40, ridge=NU, entropy=e).theta,
            "p ln(1/d)/(n eps)^2",
            lambda n: 40 * n,
        ),
        "DP-AccMD (nu = 0)": (
            lambda r, q: accelerated_mirror_descent(r, q, steps=20, entropy=e).theta,
            "sqrt(p ln(1/d))/(n eps)",
            lambda n: 20 * n,
        ),
        "DP-SVRG": (
            lambda r, q: svrg(r, q, epochs(len(r.y)), ridge=NU, entropy=e).theta,
            "p ln(1/d)/(n eps)^2",
            lambda n: 5 * n + 2 * 100 * max(1, n // 50),
        ),
        "mirror descent (nu = 0)": (
            lambda r, q: mirror_descent(r, q, entropy=e).theta,
            "1/sqrt n + sqrt p/(sqrt n eps)",
            lambda n: n / 2,
        ),
        "exponential (nu = 0)": (
            lambda r, q: exponential_sampling(r, q, entropy=e).theta,
            "p/(n eps)",
            lambda n: math.nan,
        ),
        "localization": (
            lambda r, q: localization(r, q, ridge=NU * len(r.y), entropy=e).theta,
            "p^2/(n eps)^2",
            lambda n: math.nan,
        ),
    }


def mean_excess(name: str, n: int, epsilon: float, p: int, repeats: int) -> float:
    run = methods()[name][0]
    public = facts(n, epsilon, p, 1e-6)
    excess = []
    for seed in range(repeats):
        rows = synthetic(n, p, seed)
        if "nu = 0" in name:
            plain = minimum_without_ridge(rows)
            excess.append(rows.sum_value(LogisticLoss(), run(rows, public)) / n - plain)
        else:
            excess.append(objective(rows, run(rows, public)) - optimum(rows))
    return float(np.mean(excess))


def minimum_without_ridge(rows: Rows) -> float:
    start, n = np.full(rows.X.shape[1], 0.1), len(rows.y)
    return float(
        optimize.minimize(
            lambda t: rows.sum_value(LogisticLoss(), t) / n,
            start,
            constraints={"type": "ineq", "fun": lambda t: 9.0 - t @ t},
            options={"ftol": 1e-13},
        ).fun
    )


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    return float(np.polyfit(np.log(xs), np.log(np.maximum(ys, 1e-12)), 1)[0])


def rates(repeats: int) -> None:
    print("replace-one, delta 1e-6, p = 3; slopes of log(mean excess), theorem's rate beside\n")
    print(f"{'method':<26}{'in n':>8}{'in eps':>8}   rate of the theorem")
    for name, (_, rate, _) in methods().items():
        sizes, budgets = (1000, 4000, 16000), (0.25, 1.0, 4.0)
        in_n = slope(sizes, [mean_excess(name, n, 1.0, 3, repeats) for n in sizes])
        in_eps = slope(budgets, [mean_excess(name, 4000, e, 3, repeats) for e in budgets])
        print(f"{name:<26}{in_n:>8.2f}{in_eps:>8.2f}   {rate}", flush=True)


def compare_methods(repeats: int) -> None:
    n, p = 8000, 3
    print(f"n = {n}, p = {p}, replace-one, delta 1e-6: mean excess of the mean objective\n")
    budgets = (0.1, 0.5, 2.0)
    heads = "".join(f"{'eps ' + str(e):>11}" for e in budgets)
    print(f"{'method':<26}{heads}{'gradients/n':>13}{'seconds':>9}")
    for name, (_, _, cost) in methods().items():
        begun = time.perf_counter()
        found = [mean_excess(name, n, e, p, repeats) for e in budgets]
        seconds = (time.perf_counter() - begun) / (repeats * len(budgets))
        cells = "".join(f"{value:>11.2e}" for value in found)
        print(f"{name:<26}{cells}{cost(n) / n:>13.1f}{seconds:>9.3f}", flush=True)


def dimension(repeats: int) -> None:
    """Jain and Thakurta's experiment: zero columns change nothing but p."""
    X, y = _census_rows()
    n = len(y)
    print(f"small census task, n = {n}, epsilon 0.5, delta 1/n^2, replace-one, training accuracy")
    print("objective perturbation, and output perturbation with ridge n/100\n")
    print(f"{'columns':>8}{'obj pure':>10}{'obj gauss':>10}{'out pure':>10}{'out gauss':>10}")
    for p in (8, 80, 800, 8000):
        points, inverse = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
        padded = np.zeros((len(points), p))
        padded[:, : X.shape[1]] = points[:, :-1]
        counts = np.bincount(inverse.ravel()).astype(float)
        rows = Rows(X=padded, y=points[:, -1].copy(), counts=counts)
        public = ConvexPublic(
            params=PrivacyParams(epsilon=0.5, delta=n**-2.0),
            relation=NeighboringRelation.REPLACE_ONE,
            loss=LogisticLoss(),
            bounds=RowBounds(l2=math.sqrt(1 + (X.shape[1] - 1) / 4), linf=1.0),
            dimension=p,
            n_rows=n,
        )
        cells = []
        for kind in ("objective", "output"):
            for noise in ("pure", "gaussian"):
                accuracies = []
                for _ in range(repeats):
                    theta = _fit(kind, noise, rows, public, n)
                    accuracies.append(
                        float(counts[(padded @ theta > 0) == (rows.y > 0)].sum() / n)
                    )
                cells.append(np.mean(accuracies))
        print(f"{p:>8}" + "".join(f"{cell:>10.3f}" for cell in cells), flush=True)


def _fit(kind: str, noise: str, rows: Rows, public: ConvexPublic, n: int) -> FloatArray:
    entropy = SystemEntropy()
    if kind == "objective":
        return objective_perturbation(rows, public, noise=noise, entropy=entropy).theta  # type: ignore[arg-type]
    return output_perturbation(rows, public, ridge=n / 100, noise=noise, entropy=entropy).theta  # type: ignore[arg-type]


def _census_rows() -> tuple[FloatArray, FloatArray]:
    from opdisc import load_dataset, load_schema
    from opdisc.encoding import encode_features, encode_labels

    table, schema = load_dataset("adult-balanced"), load_schema("adult-small")
    X = encode_features(table, schema).astype(float)
    X[:, 1:] -= 0.5
    return X, encode_labels(table, schema).astype(float)


def census(repeats: int) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    from opdisc import load_dataset
    from opdisc.linear_models import PrivateLinearSVC, PrivateLogisticRegression

    table = load_dataset("adult-balanced")
    labels = table["income-per-year"]
    train, test = train_test_split(np.arange(len(table)), test_size=0.3, random_state=0)
    X, y = _census_rows()
    plain = LogisticRegression(C=1e6).fit(X[train], y[train]).score(X[test], y[test])
    budgets = (0.05, 0.1, 0.25, 0.5, 1.0)
    print(f"small census task, test accuracy, fixed defaults; not private: {plain:.4f}")
    print("delta = 1/n^2; goals .755 .780 .789 .791 .793\n")
    print(f"{'model, mechanism, relation':<52}" + "".join(f"{e:>8}" for e in budgets) + "   s/fit")
    for cls in (PrivateLogisticRegression, PrivateLinearSVC):
        for mechanism in ("auto", "output_perturbation", "noisy_sgd", "gradient_descent", "svrg"):
            for relation in ("replace_one", "add_or_remove_one"):
                begun, cells = time.perf_counter(), ""
                for epsilon in budgets:
                    scores = [
                        cls(
                            epsilon=epsilon,
                            delta=len(train) ** -2.0,
                            mechanism=mechanism,
                            relation=relation,
                            schema="adult-small",
                            rows_guess=10_000,
                        )
                        .fit(table.iloc[train], labels.iloc[train])
                        .score(table.iloc[test], labels.iloc[test])
                        for _ in range(repeats)
                    ]
                    cells += f"{np.mean(scores):>8.4f}"
                each = (time.perf_counter() - begun) / (repeats * len(budgets))
                name = f"{cls.__name__}, {mechanism}, {relation}"
                print(f"{name:<52}{cells}{each:>8.2f}", flush=True)


def main() -> None:
    tables = {
        "census": census,
        "rates": rates,
        "methods": compare_methods,
        "dimension": dimension,
    }
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("table", choices=sorted(tables))
    parser.add_argument("--repeats", type=int, default=10)
    arguments = parser.parse_args()
    tables[arguments.table](arguments.repeats)


if __name__ == "__main__":
    main()
