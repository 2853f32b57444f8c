"""Bounds on the mean excess loss that are known in closed form (docs/utility.md)."""

from __future__ import annotations

import math

from opdisc.calibration import harmonic_number
from opdisc.mechanisms import BlockSpec, ExponentialSpec, NoiseSpec, StagedSpec
from oracles.problem import WeightGrid


def expected_excess(spec: NoiseSpec, grid: WeightGrid) -> float | None:
    """Return a bound on the expected excess loss of a release, for every table.

    Parameters
    ----------
    spec : NoiseSpec
        A calibration.
    grid : WeightGrid
        The hypotheses.

    Returns
    -------
    float or None
        Rows; None where no closed form is known.

    Notes
    -----
    **Guarantee.** Blocks: ``lambda (H_n - 1) + g`` each, the mean of the largest of n exponentials
    minus a given one, and a lattice step for the floor; exponential mechanism: the largest
    ``ln(1 / mu(w)) / beta`` of its base measure, which is ``ln |W| / beta`` if that is uniform.
    Few points (staged): that beside the best of its own candidates. A stump: on each
    of its two sides at most the maximum of ``x exp(-beta x) / 2``.
    """
    if isinstance(spec, StagedSpec) and spec.is_stump:
        return 1 / (math.e * float(spec.beta))
    if isinstance(spec, ExponentialSpec | StagedSpec):
        return spec.log_inverse / float(spec.beta)
    if not isinstance(spec, BlockSpec):
        return None
    total = spec.allowance
    for block, rate in zip(spec.blocks, spec.rates, strict=True):
        if rate > 0:
            size = block_size(grid, block)
            total += spec.spacing * (float(1 / rate) * (harmonic_number(size) - 1) + 1)
    return total


def block_size(grid: WeightGrid, block: tuple[int, ...]) -> int:
    """Return how many assignments of a block occur; one of all coordinates heeds the budget."""
    if len(block) == grid.n_features:
        return grid.n_hypotheses
    return math.prod(len(grid.values[j]) for j in block)
