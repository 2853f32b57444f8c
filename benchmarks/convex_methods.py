"""The methods of Bassily et al. and of Wang et al. on the same data.

Three settings, one synthetic table each: strongly convex (logistic loss and a ridge), convex
(logistic loss on a ball), not convex (sigmoid loss on a ball). For each method the mean excess of
the mean objective, and how often it evaluated the loss or its derivative for one row, counted
while it ran. Rates are the papers', up to constants and logarithms; "-" where they have none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from convex_figure import draw
from convex_problems import DELTA, Counts, Method, Setting, facts, quality, synthetic
from convex_settings import SETTINGS

from opdisc.errors import CalibrationError


def measure(
    setting: Setting, method: Method, n: int, epsilon: float, p: int, repeats: int
) -> dict[str, float]:
    """Mean quality and mean row evaluations over tables and noise; NaN where it is refused."""
    public, found = facts(setting.loss, n, epsilon, p), []
    Counts.derivatives = Counts.values = 0
    for seed in range(repeats):
        rows = synthetic(n, p, seed)
        try:
            parameters = method.run(rows, public)
        except CalibrationError:
            return {"mean": math.nan, "error": math.nan, "derivatives": math.nan, "values": 0.0}
        found.append(quality(setting, method, rows, parameters))
    return {
        "mean": float(np.mean(found)),
        "error": float(np.std(found) / math.sqrt(repeats)),
        "derivatives": Counts.derivatives / repeats / n,
        "values": Counts.values / repeats / n,
    }


def compare(
    n: int, p: int, budgets: Sequence[float], repeats: int, out: Path | None
) -> list[dict[str, Any]]:
    """Print one table a setting; write the figure and the numbers if asked."""
    lines: list[dict[str, Any]] = []
    print(f"n = {n:,}, p = {p}, replace-one, delta {DELTA:g}, {repeats} tables each.")
    print("gradients, values: row evaluations over n at epsilon 1.\n")
    for make in SETTINGS:
        setting = make()
        print(f"{setting.name}: {setting.measure}")
        heads = "".join(f"{'eps ' + format(e, 'g'):>10}" for e in budgets)
        print(f"{'':<34}{heads}{'gradients':>11}{'values':>8}  rate (source)")
        for method in setting.methods:
            cells = [measure(setting, method, n, e, p, repeats) for e in budgets]
            middle = cells[list(budgets).index(1.0)]
            numbers = "".join(f"{cell['mean']:>10.1e}" for cell in cells)
            print(
                f"{method.name:<34}{numbers}{middle['derivatives']:>11.1f}"
                f"{middle['values']:>8.1f}  {method.rate} ({method.source})",
                flush=True,
            )
            lines.append(
                {
                    "setting": setting.name,
                    "measure": setting.measure,
                    "method": method.name,
                    "rate": method.rate,
                    "source": method.source,
                    "pure": method.pure,
                    "epsilon": list(budgets),
                    "cells": cells,
                }
            )
        print()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        record = {"n": n, "p": p, "delta": DELTA, "repeats": repeats, "lines": lines}
        (out / "convex-methods.json").write_text(json.dumps(record, indent=1) + "\n")
        draw(lines, f"n = {n:,}, p = {p}, delta {DELTA:g}, {repeats} tables", out)
    return lines
