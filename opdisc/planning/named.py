"""The settings of mechanisms by name, and what builds one from them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from opdisc.errors import CalibrationError
from opdisc.mechanisms import (
    AStarPermuteAndFlipMechanism,
    BaseMeasure,
    PermuteAndFlipMechanism,
    PublicCard,
    SphereNoise,
    StagedMechanism,
)
from opdisc.planning.effort import PATIENCE, is_searched
from opdisc.privacy import GridPublic
from oracles.problem import ENUMERATION_LIMIT, ColumnGroup, WeightGrid
from oracles.sampling import SearchProgress

AROUND_A_START = ("staged", "permute_and_flip", "exponential")
"""Mechanisms whose levels can be the points that are changed of a public card."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanismSettings:
    """What some of the mechanisms need besides the grid, all public.

    Parameters
    ----------
    structure : tuple of ColumnGroup
        Facts about the columns, for ``"staged"``; see
        :func:`opdisc.data.column_structure`.
    noise : str
        Noise of the sphere, for ``"opdisc"``.
    allowance : float
        Certified gap that a release may have, rows; only where an oracle minimises.
    minimise : bool
        Whether ``"auto"`` shall keep to mechanisms that ask an oracle, because one was named.
    base_measure : BaseMeasure or None
        As in :class:`~opdisc.mechanisms.ExponentialMechanism`; None: uniform, and by levels for
        the draw of ``"staged"``.
    patience : float
        Seconds that a fit is expected to take at most, > 0: what is expected to draw longer is
        not chosen, and few points are planned for half of it.
    around : PublicCard or None
        A public card, to draw one that changes few of its points.
    max_rounds, time_limit, progress
        As in :class:`~opdisc.mechanisms.AStarPermuteAndFlipMechanism`.
    """

    structure: tuple[ColumnGroup, ...] = ()
    noise: SphereNoise = "l2-laplace"
    allowance: float = 0.0
    minimise: bool = False
    base_measure: BaseMeasure | None = None
    patience: float = PATIENCE
    around: PublicCard | None = None
    max_rounds: int | None = None
    time_limit: float | None = None
    progress: SearchProgress | None = None

    def __post_init__(self) -> None:
        """Refuse a patience that no fit could keep."""
        if not 0 < self.patience < math.inf:
            raise CalibrationError(
                f"patience must be finite and > 0 seconds, got {self.patience:g}."
            )


def staged_mechanism(settings: MechanismSettings) -> StagedMechanism:
    """Return the staged mechanism; its draw is by levels unless something else is asked."""
    measure = settings.base_measure
    if measure is not None and not (measure.is_uniform or measure.by_levels):
        raise CalibrationError(
            "staged draws take the base measure 'levels' or 'uniform'; use one of them or "
            "mechanism='exponential'."
        )
    return StagedMechanism(
        by_levels=measure is None or measure.by_levels,
        patience=settings.patience / 2,
        structure=settings.structure,
    )


def mechanism_around(
    name: str, around: PublicCard, settings: MechanismSettings
) -> StagedMechanism:
    """Return what draws a card near a public one; permute-and-flip and staged are one draw.

    Raises
    ------
    CalibrationError
        If the mechanism of a name cannot.
    """
    check_starts(name)
    is_exponential = name == "exponential"
    return StagedMechanism(
        patience=settings.patience / 2,
        around=around,
        is_exponential=is_exponential,
        name=name if is_exponential else "staged",
    )


def check_starts(name: str) -> None:
    """Refuse the name of a mechanism that takes no start; "auto" takes the logistic card."""
    if name not in (*AROUND_A_START, "logistic", "auto"):
        raise CalibrationError(
            "a start needs mechanism='logistic', 'staged', 'permute_and_flip', 'exponential' or "
            f"'auto', got {name!r}; name one of them, or leave out prior and pilot."
        )


def check_uniform(measure: BaseMeasure, other: str) -> None:
    """Refuse a base measure where something else than the exponential mechanism would run."""
    if not measure.is_uniform:
        raise CalibrationError(
            f"a base measure applies to mechanism='exponential' only, got {other}; drop one."
        )


def permute_and_flip(
    grid: WeightGrid, settings: MechanismSettings, public: GridPublic | None
) -> PermuteAndFlipMechanism | AStarPermuteAndFlipMechanism:
    """Return permute-and-flip; its limits concern grids that cannot be listed only."""
    listed = grid.n_assignments <= ENUMERATION_LIMIT
    if settings.allowance or (listed and (settings.minimise or not is_searched(grid, public))):
        return PermuteAndFlipMechanism(allowance=settings.allowance)
    if listed:
        return AStarPermuteAndFlipMechanism(progress=settings.progress)
    if settings.minimise:
        raise CalibrationError(
            f"permute_and_flip beyond {ENUMERATION_LIMIT:,} weight combinations searches by "
            "itself; drop the oracle or use a smaller grid."
        )
    return AStarPermuteAndFlipMechanism(
        max_rounds=settings.max_rounds,
        time_limit=settings.time_limit,
        progress=settings.progress,
    )
