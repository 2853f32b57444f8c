"""Where each formula of the papers is compared with measured slopes: points, tables, repeats."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from convex_problems import DELTA
from convex_settings import NU

from opdisc.calibration.gaussian import gaussian_multiplier
from opdisc.privacy.params import PrivacyParams

P = 3
"""Dimension."""


@dataclass(frozen=True)
class Regime:
    """Where a formula is compared: the formula, its points, the tables."""

    formula: Callable[[float, float], float]
    ridge: float = NU
    sizes: tuple[int, ...] = (1000, 4000, 16000)
    budgets: tuple[float, ...] = (1 / 16, 1 / 4, 1.0)
    tilts: Sequence[int] = tuple(range(2, 14))
    repeats: int = 4
    exact: bool = True
    other: Callable[[float, float], float] | None = None

    def stated(self, n: float, epsilon: float) -> float:
        """Return the other formula, if any, with exact noise where that is what runs."""
        formula = self.other or self.formula
        if not self.exact:
            return formula(n, epsilon)
        multiplier = gaussian_multiplier(PrivacyParams(epsilon=epsilon, delta=DELTA))
        return formula(n, math.sqrt(math.log(1 / DELTA)) / multiplier)


def _logs(n: float) -> float:
    return math.log(n / DELTA)


def pure(n: float, eps: float) -> float:
    return P**2 / (n * eps) ** 2


def gaussian(n: float, eps: float) -> float:
    return P * math.log(1 / DELTA) / (n * eps) ** 2


def gaussian_log(n: float, eps: float) -> float:
    return math.log(n) * gaussian(n, eps)


def gaussian_log2(n: float, eps: float) -> float:
    return math.log(n) * gaussian_log(n, eps)


def b14(n: float, eps: float) -> float:
    return P * _logs(n) ** 2 / (n * eps) ** 2


def half(formula: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda n, eps: math.sqrt(formula(n, eps))


def b14_convex(n: float, eps: float) -> float:
    return math.sqrt(P) * _logs(n) ** 1.5 / (n * eps)


def a20(n: float, eps: float) -> float:
    return (1 + math.sqrt(P * math.log(1 / DELTA)) / eps) / math.sqrt(n)


def a20_noise(n: float, eps: float) -> float:
    return math.sqrt(P * math.log(1 / DELTA) / n) / eps


def batches(n: float, eps: float) -> float:
    return gaussian(n, eps) ** (1 / 3) + 1 / math.sqrt(n)


SMALL: dict[str, Any] = {
    "sizes": (48, 96, 192),
    "budgets": (1.75, 3.5, 7.0),
    "ridge": 1.0,
    "exact": False,
}
"""T = n^2 steps of one row; B14's noise is stated up to epsilon 7.4, and is large."""

WIDER = {**SMALL, "sizes": (96, 192, 384)}
"""In the convex setting its excess at n = 48 is near the largest possible one."""

MIDDLE, LARGE = (4000, 16_000, 64_000), (16_000, 128_000, 1_024_000)
"""DP-SVRG++ ends with 32 inner steps at n = 1,000, DP-AccMD takes 15: too few for its rate."""

STRONG = {
    "output perturbation, pure": Regime(pure, repeats=32, exact=False),
    "objective perturbation, pure": Regime(pure, repeats=32, exact=False),
    "localization": Regime(pure, repeats=16, exact=False),
    "objective perturbation, Gaussian": Regime(gaussian, repeats=32),
    "approximate minima": Regime(gaussian, repeats=32),
    "noisy SGD": Regime(b14, repeats=16),
    "noisy SGD, B14's noise (void)": Regime(b14, repeats=24, **SMALL),
    "DP-SVRG": Regime(gaussian_log, repeats=32, other=gaussian),
    "DP-GD, last iterate (PL)": Regime(gaussian_log2, repeats=32, other=gaussian_log),
}
CONVEX = {
    "exponential sampling": Regime(
        half(pure), tilts=(2, 5, 6, 7, 8, 9, 10), repeats=3, exact=False
    ),
    "objective perturbation, pure": Regime(half(pure), repeats=24, exact=False),
    "objective perturbation, Gaussian": Regime(half(gaussian), repeats=24),
    "noisy SGD": Regime(b14_convex, repeats=3),
    "noisy SGD, B14's noise (void)": Regime(b14_convex, tilts=tuple(range(5)), repeats=2, **WIDER),
    "DP-SVRG++": Regime(half(gaussian), repeats=5, sizes=MIDDLE, tilts=tuple(range(3, 15))),
    "DP-AccMD": Regime(half(gaussian), repeats=16, sizes=LARGE, tilts=tuple(range(3, 20))),
    "single-use mirror descent": Regime(
        a20, tilts=tuple(range(9)), budgets=(2.0, 4.0, 8.0), repeats=3, other=a20_noise
    ),
    "single-use batches": Regime(
        batches, repeats=8, other=lambda n, eps: gaussian(n, eps) ** (1 / 3)
    ),
}
NOT_CONVEX = {"DP-GD, random iterate": Regime(half(gaussian), repeats=8)}
REGIMES = {"strongly convex": STRONG, "convex": CONVEX, "not convex": NOT_CONVEX}
