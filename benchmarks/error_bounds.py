"""Closed-form errors of OPDisc, RSPM and OPSamp beside simulated quantiles. A minute, no data.

    python benchmarks/error_bounds.py

Small census task: n = 15,682, d = 8, weights -1..1 (R^2 = 8; 16 separators), delta = 1/n^2. The
three columns of quantiles (95%): closed form; the same quantity simulated; what the library
predicts from the noise. OPSamp: hinge loss on [-1, 1]^8, means instead of quantiles.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from noise_norm_bounds import (
    separator_gaussian_error_bound,
    separator_laplace_error_bound,
    sphere_error_bound,
)
from opsamp_utility import simulated_error
from published_bounds import opsamp_error_bound
from result_files import save

from opdisc.errors import CalibrationError
from opdisc.mechanisms.objective_perturbation import SphereMechanism
from opdisc.mechanisms.opsamp.mechanism import OPSampMechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.planning.utility import predict_error
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic, PublicInputs
from oracles import WeightGrid
from oracles.convex.classification_losses import HingeLoss
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Box

ROWS, D, M = 15_682, 8, 16
DELTA = ROWS**-2.0


def discrete(epsilon: float, rng: np.random.Generator) -> list[list[str]]:
    public = GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=DELTA),
        grid=WeightGrid.box(D, 1),
        relation=NeighboringRelation.REPLACE_ONE,
    )
    sphere = sphere_error_bound(D, D, epsilon, DELTA)
    laplace = separator_laplace_error_bound(M, epsilon)
    gaussian = separator_gaussian_error_bound(M, epsilon, DELTA)
    logs = math.sqrt(math.log(1 / DELTA)) / epsilon
    cases = (
        (
            r"OPDisc, $2\lvert \eta \rvert_2$, published Gaussian",
            sphere.quantile,
            2 * 7 * D * logs * np.linalg.norm(rng.normal(size=(50_000, D + 1)), axis=1),
            SphereMechanism(noise="gaussian-published-7"),
        ),
        (
            r"RSPM, $\lvert \eta \rvert_1$, Laplace",
            laplace.quantile,
            2 * M / epsilon * np.abs(rng.laplace(size=(50_000, M))).sum(axis=1),
            SeparatorMechanism(),
        ),
        (
            r"RSPM, $\lvert \eta \rvert_1$, published Gaussian",
            gaussian.quantile,
            3.5 * math.sqrt(M) * logs * np.abs(rng.normal(size=(50_000, M))).sum(axis=1),
            SeparatorMechanism(noise="gaussian-published-3.5"),
        ),
    )
    rows = []
    for name, closed, draws, mechanism in cases:
        simulated = float(np.quantile(draws, 0.95))
        predicted = predict_error(mechanism, public).quantile
        print(f"{name:<56}{epsilon:>6g}{closed:>12,.0f}{simulated:>12,.0f}{predicted:>12,.0f}")
        rows.append([name, f"{epsilon:g}", *(f"{x:,.0f}" for x in (closed, simulated, predicted))])
    return rows


def opsamp(epsilon: float) -> list[list[str]]:
    rows = []
    for allowance in (0.0, 0.1):
        closed = opsamp_error_bound(D, 2.0, 1.0, epsilon, ROWS, allowance=allowance)
        figures = []
        for stability in ("published", "proven"):
            mechanism = OPSampMechanism(
                loss=HingeLoss(),
                domain=Box.cube(D, 1.0),
                bounds=RowBounds(l2=math.sqrt(D), linf=1.0),
                allowance=allowance or 1e-6,
                stability=stability,
                most_draws=10_000_000,
            )
            public = PublicInputs(
                params=PrivacyParams(epsilon=epsilon, delta=DELTA),
                relation=NeighboringRelation.REPLACE_ONE,
                public_row_guess=ROWS,
                n_rows=ROWS,
            )
            try:
                spec = mechanism.calibrate(public)
            except CalibrationError:
                figures.append(f"{'-':>12}")
                continue
            if spec.draws > 20_000:  # the simulation draws them all
                figures.append(f"{spec.expected_error:>12,.0f}")
            else:
                figures.append(f"{simulated_error(mechanism, spec, ROWS, quantile=0.5):>12,.0f}")
        name = f"OPSamp, mean, gap {allowance:g}"
        print(f"{name:<56}{epsilon:>6g}{closed:>12,.0f}" + "".join(figures))
        cells = (f"{closed:,.0f}", *(figure.strip() for figure in figures))
        rows.append([f"{allowance:g}", f"{epsilon:g}", *cells])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path, nargs=2, default=(None, None), help="result files")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    print(f"{'':<56}{'eps':>6}{'closed form':>12}{'simulated':>12}{'library':>12}   rows")
    quantiles = [row for epsilon in (0.1, 1.0) for row in discrete(epsilon, rng)]
    print("\nOPSamp: the mean in closed form; the simulated median at either stability S")
    print(f"{'':<56}{'eps':>6}{'closed form':>12}{'published S':>12}{'proven S':>12}   rows")
    means = [row for epsilon in (0.1, 1.0) for row in opsamp(epsilon)]
    columns = ("quantity", r"$\varepsilon$", "closed form", "simulated", "library")
    save(arguments.save[0], columns, quantiles, align="lllll")
    columns = ("certified gap", r"$\varepsilon$", "closed form", "published $S$", "proven $S$")
    save(arguments.save[1], columns, means, align="lllll")


if __name__ == "__main__":
    main()
