"""The settings of mechanisms by name, and what builds one from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from opdisc.arguments import check_finite
from opdisc.errors import CalibrationError, large_number
from opdisc.mechanisms import (
    AStarPermuteAndFlipMechanism,
    BaseMeasure,
    BlockOneHotMechanism,
    ExponentialMechanism,
    PermuteAndFlipMechanism,
    PublicCard,
    ScorecardMechanism,
    SeparatorMechanism,
    SeparatorNoise,
    SeparatorRoute,
    SphereMechanism,
    SphereNoise,
    StagedMechanism,
    is_searched,
    one_hot_mechanism,
)
from opdisc.planning.blocks import even_blocks, searchable_blocks
from opdisc.privacy import GridPublic
from opdisc.tuned import FIT_SECONDS
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
    separators : tuple of two str
        Noise of the separators and its route, for ``"rspm"``.
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
    max_rounds, time_limit, progress
        As in :class:`~opdisc.mechanisms.AStarPermuteAndFlipMechanism`.
    """

    structure: tuple[ColumnGroup, ...] = ()
    noise: SphereNoise = "l2-laplace"
    separators: tuple[SeparatorNoise, SeparatorRoute] = ("laplace", "tables")
    allowance: float = 0.0
    minimise: bool = False
    base_measure: BaseMeasure | None = None
    patience: float = FIT_SECONDS
    max_rounds: int | None = None
    time_limit: float | None = None
    progress: SearchProgress | None = None

    def __post_init__(self) -> None:
        """Refuse a patience that no fit could keep."""
        check_finite("patience", self.patience, unit="seconds")


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


def check_alternatives(
    name: str, settings: MechanismSettings, *, is_started: bool = False
) -> None:
    """Refuse what could not keep to the alternatives of a schema or a grid.

    Parameters
    ----------
    name : str
        Of a mechanism, or "auto".
    settings : MechanismSettings
        An oracle that was named asks for a search.
    is_started : bool
        Whether a card near a public one is drawn.

    Raises
    ------
    CalibrationError
        If so; the message names who can.
    """
    takers = [one for one, named in NAMED.items() if named.takes_alternatives]
    if name in (*takers, "auto") and not is_started and not settings.minimise:
        return
    got = f"mechanism={name!r}"
    if is_started or settings.minimise:
        got = "a start" if is_started else "an oracle by name"
    listed = ", ".join(f"'{one}'" for one in takers)
    raise CalibrationError(
        f"alternatives need a draw from listed or counted cards, mechanism={listed} or 'auto' "
        f"without a start or an oracle, got {got}; drop that, or alternatives from the schema."
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
    if grid.alternatives and not listed:
        raise CalibrationError(
            f"permute_and_flip with alternatives takes grids of at most {ENUMERATION_LIMIT:,} "
            f"weight combinations, got {large_number(grid.n_assignments)}; use fewer columns, "
            "smaller weights or mechanism='staged'."
        )
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


def _blocks(
    grid: WeightGrid, settings: MechanismSettings, public: GridPublic | None
) -> BlockOneHotMechanism:
    blocks = even_blocks(grid) if public is None else searchable_blocks(public)
    return BlockOneHotMechanism(blocks=blocks, allowance=settings.allowance)


def _separators(
    grid: WeightGrid, settings: MechanismSettings, public: GridPublic | None
) -> SeparatorMechanism:
    noise, route = settings.separators
    return SeparatorMechanism(noise=noise, route=route, allowance=settings.allowance)


Build = Callable[[WeightGrid, MechanismSettings, GridPublic | None], ScorecardMechanism]
"""A mechanism for a grid, from a user's settings and, where they are known, public facts."""


@dataclass(frozen=True, slots=True)
class NamedMechanism:
    """What a name stands for.

    Parameters
    ----------
    build : callable
        Returns the mechanism, or refuses with CalibrationError.
    kinds : tuple of type
        The classes that it may be of.
    """

    build: Build
    kinds: tuple[type[ScorecardMechanism], ...]

    def takes(self, option: str) -> bool:
        """Return whether a mechanism of this name takes a user's setting."""
        return any(option in kind.options for kind in self.kinds)

    @property
    def takes_alternatives(self) -> bool:
        """Whether a mechanism of this name draws from grids with alternatives."""
        return any(getattr(kind, "takes_alternatives", False) for kind in self.kinds)


NAMED: dict[str, NamedMechanism] = {
    "permute_and_flip": NamedMechanism(
        permute_and_flip, (PermuteAndFlipMechanism, AStarPermuteAndFlipMechanism)
    ),
    "exponential": NamedMechanism(
        lambda grid, s, public: ExponentialMechanism(base_measure=s.base_measure or BaseMeasure()),
        (ExponentialMechanism,),
    ),
    "staged": NamedMechanism(lambda grid, s, public: staged_mechanism(s), (StagedMechanism,)),
    "block_one_hot": NamedMechanism(_blocks, (BlockOneHotMechanism,)),
    "one_hot": NamedMechanism(
        lambda grid, s, public: one_hot_mechanism(grid.n_features, allowance=s.allowance),
        (BlockOneHotMechanism,),
    ),
    "opdisc": NamedMechanism(
        lambda grid, s, public: SphereMechanism(noise=s.noise, allowance=s.allowance),
        (SphereMechanism,),
    ),
    "rspm": NamedMechanism(_separators, (SeparatorMechanism,)),
}
"""All mechanisms that can be named: a new one is a line here."""
