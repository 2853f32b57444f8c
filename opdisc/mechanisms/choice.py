"""Mechanisms by name, and the automatic choice, from public sizes only."""

from __future__ import annotations

from typing import Literal

from opdisc.errors import CalibrationError
from opdisc.mechanisms.base import Mechanism
from opdisc.mechanisms.objective_perturbation import (
    BlockOneHotMechanism,
    SphereMechanism,
    SphereNoise,
    one_hot_mechanism,
)
from opdisc.mechanisms.selection import ExponentialMechanism, PermuteAndFlipMechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.schema import Schema
from oracles import UnsupportedProblem, WeightGrid
from oracles.column_groups import LARGEST_BLOCK, ColumnGroup, choose_blocks, complete_structure
from oracles.registry import ENUMERATION_LIMIT

MECHANISMS = (
    "auto",
    "permute_and_flip",
    "exponential",
    "block_one_hot",
    "one_hot",
    "opdisc",
    "rspm",
)
BLOCK_ASSIGNMENTS = 243
"""Largest block that ``block_one_hot`` forms by itself: five coordinates at weights -1..1."""


def build_mechanism(
    name: str,
    grid: WeightGrid,
    *,
    noise: SphereNoise = "l2-laplace",
    allowance: float = 0.0,
    structure: tuple[ColumnGroup, ...] = (),
) -> tuple[Mechanism, str]:
    """Return a mechanism and, if it was chosen automatically, the reason.

    Parameters
    ----------
    name : str
        One of :data:`MECHANISMS`.
    grid : WeightGrid
        The hypotheses.
    noise : str
        Noise of the sphere, for ``"opdisc"``.
    allowance : float
        Certified gap that a release may have, rows; only where an oracle minimises.
    structure : tuple of ColumnGroup
        Public facts about the columns, for ``"exponential"``; see :func:`column_structure`.

    Raises
    ------
    CalibrationError
        If the name is unknown.
    """
    if name == "auto":
        chosen, reason = choose_mechanism(grid, structure)
        settled = build_mechanism(
            chosen, grid, noise=noise, allowance=allowance, structure=structure
        )
        return settled[0], reason
    match name:
        case "permute_and_flip":
            return PermuteAndFlipMechanism(allowance=allowance), ""
        case "exponential":
            _check_sampled(grid, structure)
            return ExponentialMechanism(structure=structure), ""
        case "block_one_hot":
            return BlockOneHotMechanism(blocks=even_blocks(grid), allowance=allowance), ""
        case "one_hot":
            return one_hot_mechanism(grid.n_features, allowance=allowance), ""
        case "opdisc":
            return SphereMechanism(noise=noise, allowance=allowance), ""
        case "rspm":
            return SeparatorMechanism(allowance=allowance), ""
        case _:
            raise CalibrationError(
                f"mechanism must be one of {', '.join(MECHANISMS)}, got '{name}'."
            )


def choose_mechanism(grid: WeightGrid, structure: tuple[ColumnGroup, ...] = ()) -> tuple[str, str]:
    """Return the name of the most accurate mechanism that can run on a grid, and why."""
    size = f"{grid.n_assignments:.3g}"
    if grid.n_assignments <= ENUMERATION_LIMIT:
        return (
            "permute_and_flip",
            f"the grid's {size} weight combinations can all be listed, and one block errs least",
        )
    if can_sample(grid, structure):
        return (
            "exponential",
            f"the grid's {size} weight combinations are too many to list, and its columns' "
            "structure lets the exponential mechanism be sampled exactly",
        )
    return (
        "block_one_hot",
        f"the grid's {size} weight combinations are too many to list; blocks of at most "
        f"{BLOCK_ASSIGNMENTS} come closest to one block",
    )


def can_sample(grid: WeightGrid, structure: tuple[ColumnGroup, ...]) -> bool:
    """Return whether two blocks hold a grid, which keeps the exact sampler's draws short.

    A function of public facts. With more blocks the sampler is as exact, but may take very long.
    """
    try:
        choose_blocks(complete_structure(structure, grid.n_features), grid, n_blocks=2)
    except UnsupportedProblem:
        return False
    return True


def _check_sampled(grid: WeightGrid, structure: tuple[ColumnGroup, ...]) -> None:
    """Refuse grids on which an exact draw may take very long, naming the frontier."""
    if grid.n_assignments > ENUMERATION_LIMIT and not can_sample(grid, structure):
        raise CalibrationError(
            f"exponential takes grids of at most {ENUMERATION_LIMIT:,} weight combinations, or "
            f"attributes that fit two blocks of {LARGEST_BLOCK:,} table entries each; use fewer "
            "columns, smaller weights or mechanism='block_one_hot'."
        )


def column_structure(schema: Schema) -> tuple[ColumnGroup, ...]:
    """Return what a schema says about encoded columns: exclusive categories, nested thresholds."""
    kinds: dict[str, Literal["exclusive", "nested", "free"]] = {
        "categories": "exclusive",
        "thresholds": "nested",
        "binary": "free",
    }
    return tuple(
        ColumnGroup(columns=attribute.indices, kind=kinds[attribute.kind])
        for attribute in schema.attributes
    )


def even_blocks(grid: WeightGrid, largest: int = BLOCK_ASSIGNMENTS) -> tuple[tuple[int, ...], ...]:
    """Return consecutive blocks of at most ``largest`` assignments each, as even as possible."""
    shape = grid.shape
    filled: list[list[int]] = [[]]
    size = 1
    for j, choices in enumerate(shape):
        if filled[-1] and size * choices > largest:
            filled.append([])
            size = 1
        filled[-1].append(j)
        size *= choices
    n_blocks, n_features = len(filled), len(shape)
    if len(set(shape)) > 1:
        return tuple(tuple(block) for block in filled)
    # Equal coordinates: the same number of blocks, their lengths differing by at most one.
    cuts = [n_features * k // n_blocks for k in range(n_blocks + 1)]
    return tuple(tuple(range(a, b)) for a, b in zip(cuts, cuts[1:], strict=False))
