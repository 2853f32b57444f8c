"""Convex mechanisms: accuracy on census data, rates against the theorems, cost, dimension.

    python benchmarks/convex.py census      needs adult.csv (OPDISC_DATA); 10 minutes
    python benchmarks/convex.py rates       log-log slopes in n and epsilon beside the theorems'
                                            (Markdown; 15 minutes)
    python benchmarks/convex.py methods     excess risk and gradient evaluations on the same data;
                                            --out FOLDER also writes a figure (2 minutes)
    python benchmarks/convex.py dimension   zero columns appended, Gamma against Gaussian noise
    python benchmarks/convex.py cost        processor time beside a numpy loop and diffprivlib
                                            (--peer-python: an interpreter that has it)

Accuracies and excesses use the training or test rows in the clear: the figures are not private.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
from convex_cost import compare_cost
from convex_methods import compare
from convex_rates import rates

from opdisc.convex.objective import objective_perturbation
from opdisc.convex.output import output_perturbation
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.arithmetic.arrays import FloatArray
from oracles.convex.classification_losses import LogisticLoss
from oracles.convex.constants import RowBounds


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
                    parameters = _fit(kind, noise, rows, public, n)
                    accuracies.append(
                        float(counts[(padded @ parameters > 0) == (rows.y > 0)].sum() / n)
                    )
                cells.append(np.mean(accuracies))
        print(f"{p:>8}" + "".join(f"{cell:>10.3f}" for cell in cells), flush=True)


def _fit(kind: str, noise: str, rows: Rows, public: ConvexPublic, n: int) -> FloatArray:
    entropy = SystemEntropy()
    if kind == "objective":
        return objective_perturbation(rows, public, noise=noise, entropy=entropy).parameters  # type: ignore[arg-type]
    return output_perturbation(
        rows, public, ridge=n / 100, noise=noise, entropy=entropy
    ).parameters  # type: ignore[arg-type]


def _census_rows() -> tuple[FloatArray, FloatArray]:
    from opdisc import load_dataset, load_schema
    from opdisc.data.encoding import encode_features
    from opdisc.data.label_encoding import encode_labels

    table, schema = load_dataset("adult-balanced"), load_schema("adult-small")
    X = encode_features(table, schema).astype(float)
    X[:, 1:] -= 0.5
    return X, encode_labels(table, schema).astype(float)


def census(repeats: int) -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    from opdisc import load_dataset
    from opdisc.estimators.linear import PrivateLinearSVC, PrivateLogisticRegression

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
                            public_row_guess=10_000,
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
    tables = {"census": census, "dimension": dimension}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("table", choices=sorted([*tables, "methods", "rates", "cost"]))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path, help="folder for the figure and numbers of 'methods'")
    parser.add_argument("--peer-python", type=Path, help="an interpreter with diffprivlib")
    arguments = parser.parse_args()
    if arguments.table == "methods":
        compare(4000, 3, (0.1, 0.3, 1.0, 3.0), arguments.repeats, arguments.out)
    elif arguments.table == "rates":
        rates(arguments.repeats / 10)
    elif arguments.table == "cost":
        compare_cost(*_census_rows(), arguments.peer_python, arguments.repeats)
    else:
        tables[arguments.table](arguments.repeats)


if __name__ == "__main__":
    main()
