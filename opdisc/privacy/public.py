"""Public facts: everything that a noise scale may depend on."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from opdisc.arguments import check_integer
from opdisc.errors import CalibrationError
from opdisc.privacy.params import NeighboringRelation
from oracles.problem import ErrorCosts

if TYPE_CHECKING:
    from opdisc.privacy.params import PrivacyParams
    from oracles.problem import WeightGrid

DEFAULT_SPACING = 2.0**-10

MOST_ROWS_GUESSED = 10**12
"""Largest guess of a number of rows: beyond this plans leave the range of a double."""

_FINEST_SPACING_BITS = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicInputs:
    """What is public about a table and its privacy units. No table ever reaches a calibration.

    What is public about the hypotheses is in the kinds of it: :class:`GridPublic` for weights on
    a grid, :class:`opdisc.convex.ConvexPublic` for a loss on a convex set.

    Parameters
    ----------
    params : PrivacyParams
        The target.
    relation : NeighboringRelation
        Which tables are neighbours.
    rows_per_unit : int
        Public maximum of rows that one privacy unit contributes. Sensitivities grow with it.
    privacy_unit : str
        What one neighbour changes, in words.
    schema_digest : str
        Identifies the public schema; empty without one.
    n_rows : int or None
        Number of rows where it is public (replace-one), else None.
    public_row_guess : int or None
        A public constant near the number of rows, for mechanisms that tune steps, rates or noise
        to one, and for plans. It affects accuracy and time only.
    assumptions : tuple of str
        What the caller takes to be public without having said so; each becomes a condition.
    earlier_delta : float
        Sum of the deltas that the table's ledger holds already.
    """

    params: PrivacyParams
    relation: NeighboringRelation
    rows_per_unit: int = 1
    privacy_unit: str = "one row"
    schema_digest: str = ""
    n_rows: int | None = None
    public_row_guess: int | None = None
    assumptions: tuple[str, ...] = ()
    earlier_delta: float = 0.0

    def __post_init__(self) -> None:
        """Refuse impossible counts, and a public n where it is hidden."""
        check_integer("rows_per_unit", self.rows_per_unit)
        if self.public_row_guess is not None:
            check_integer(
                "public_row_guess",
                self.public_row_guess,
                remedy="give a public number near the number of rows, or leave it out",
            )
            if self.public_row_guess > MOST_ROWS_GUESSED:
                raise CalibrationError(
                    f"public_row_guess must be at most {MOST_ROWS_GUESSED:,}, got more; give a "
                    "public number near the number of rows, or leave it out."
                )
        if self.n_rows is not None and self.relation is not NeighboringRelation.REPLACE_ONE:
            raise CalibrationError(
                "the number of rows is public under replace_one only; give public_row_guess "
                "instead."
            )

    def facts(self) -> dict[str, Any]:
        """Return what is public whatever the hypotheses are, by name, for another kind of it."""
        return {field.name: getattr(self, field.name) for field in fields(PublicInputs)}

    @property
    def changed_rows(self) -> int:
        """How many rows differ between neighbours, removed and added rows counted.

        So much can a sum of per-row losses in [0, 1] move (mechanisms, section 2).
        """
        return self.relation.loss_sensitivity * self.rows_per_unit

    @property
    def exact_rows(self) -> int:
        """The exact number of rows, which must be public."""
        if self.n_rows is None:
            raise CalibrationError("this needs the exact number of rows; give n_rows.")
        return self.n_rows

    @property
    def typical_rows(self) -> int | None:
        """The number of rows to plan for: the public one, else the guess, else None.

        Nothing that must hold on every table may rest on it, for a guess may be wrong.
        """
        return self.public_row_guess if self.n_rows is None else self.n_rows

    @property
    def step_rows(self) -> int:
        """The public number of rows that step sizes and rates may use."""
        rows = self.typical_rows
        if rows is None:
            raise CalibrationError(
                "a public number of rows is needed; under add_or_remove_one give public_row_guess."
            )
        return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class GridPublic(PublicInputs):
    """Public facts where the hypotheses are weights on a grid.

    Parameters
    ----------
    grid : WeightGrid
        The hypotheses.
    spacing : float
        Lattice spacing of the noise, in units of the loss; a power of two.
    error_costs : ErrorCosts
        What a mistake costs. The loss counts rows where both cost the same, else units of cost.
    most_points : int or None
        How many distinct rows of statements there can be at most; None where nothing public says.
        It decides who may be asked to search, and no noise.
    """

    grid: WeightGrid
    spacing: float = DEFAULT_SPACING
    error_costs: ErrorCosts = ErrorCosts()
    most_points: int | None = None

    def __post_init__(self) -> None:
        """Refuse bad lattices too."""
        PublicInputs.__post_init__(self)
        if self.most_points is not None:
            check_integer("most_points", self.most_points)
        bits = -math.log2(self.spacing) if self.spacing > 0 else -1.0
        if bits != int(bits) or not 0 <= bits <= _FINEST_SPACING_BITS:
            raise CalibrationError(
                f"spacing must be 2**-r with r in 0..{_FINEST_SPACING_BITS}, got {self.spacing}."
            )

    @property
    def loss_sensitivity(self) -> int:
        """Pairwise sensitivity of the loss: every changed row moves it by the larger cost.

        Proved in docs/theory.md, entry "error-costs".
        """
        return self.changed_rows * self.error_costs.largest

    @property
    def largest_loss(self) -> int | None:
        """The most that all rows together can cost, where their number is public."""
        return None if self.n_rows is None else self.n_rows * self.error_costs.largest

    @property
    def typical_loss(self) -> int | Fraction | None:
        """Twice the most that the better constant prediction can cost; the rows, at equal costs.

        It is for plans: a guess takes the place of a number of rows that is not public. None
        where there is neither.
        """
        rows = self.typical_rows
        if rows is None or self.error_costs.are_equal:
            return rows
        return rows * self.error_costs.typical
