"""Public base measures: what the exponential mechanism draws from when the loss says nothing."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from opdisc.errors import CalibrationError
from opdisc.tuned import DEFAULT_PENALTY
from oracles.problem import ENUMERATION_LIMIT, LevelWeights, LogWeights, WeightGrid
from oracles.sampling import is_sparse

LARGEST_LOG_WEIGHT = 1e6


LEVELS = LevelWeights(shares=(1, 2, 4, 8, 16), whole=32)
"""The measure by levels: cards of up to four points, and all cards (docs/utility.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseMeasure:
    """A measure ``mu`` on the grid, a product over the coordinates; chosen without the rows.

    Parameters
    ----------
    penalty : float
        Nats: every weight other than 0 multiplies ``mu`` by ``exp(-penalty)``; negative values
        favour full scorecards.
    log_weights : tuple of tuple of float, or None
        Instead: for each coordinate the log-weight of each of its values, nats, in the order of
        the grid; they need not be normalised.
    by_levels : bool
        Instead: half of all mass on the whole grid, about a quarter on the scorecards of 4
        points, and half as much for each point fewer; uniform within each.

    Raises
    ------
    CalibrationError
        If a number is not finite or too large, or more than one of them is given.

    Notes
    -----
    **Guarantee.** Any base measure that does not depend on the rows leaves the exponential
    mechanism's pure epsilon-DP as it is (docs/theory.md, exponential-mechanism).

    Examples
    --------
    >>> BaseMeasure(penalty=0.5).describe()
    'each weight other than 0 counts exp(-0.5)'
    """

    penalty: float = 0.0
    log_weights: tuple[tuple[float, ...], ...] | None = None
    by_levels: bool = False

    def __post_init__(self) -> None:
        """Refuse what is not a measure; store plain floats."""
        object.__setattr__(self, "penalty", _checked(self.penalty))
        if self.by_levels and (self.penalty or self.log_weights is not None):
            raise CalibrationError("a base measure by levels takes no other weights; drop them.")
        if self.log_weights is None:
            return
        if self.penalty:
            raise CalibrationError("a base measure takes a penalty or log_weights, not both.")
        try:
            tables = tuple(tuple(_checked(v) for v in table) for table in self.log_weights)
        except TypeError:
            raise CalibrationError("log_weights must be one list of numbers per weight.") from None
        object.__setattr__(self, "log_weights", tables)

    @classmethod
    def parse(cls, measure: BaseMeasure | str) -> Self | BaseMeasure:
        """Return a base measure from a name, such as ``"levels"`` or ``"sparse:0.5"``."""
        if isinstance(measure, BaseMeasure):
            return measure
        kind, _, number = measure.partition(":") if isinstance(measure, str) else ("", "", "")
        if kind == "uniform" and measure == "uniform":
            return cls()
        if kind == "levels" and measure == "levels":
            return cls(by_levels=True)
        try:
            if kind == "sparse":
                return cls(penalty=float(number) if ":" in measure else DEFAULT_PENALTY)
        except ValueError:
            pass
        raise CalibrationError(
            "base_measure must be 'uniform', 'sparse', 'sparse:PENALTY' with a number, 'levels', "
            f"or a BaseMeasure, got {measure!r}."
        )

    @property
    def is_uniform(self) -> bool:
        """Whether every hypothesis counts the same."""
        if self.by_levels:
            return False
        if self.log_weights is None:
            return self.penalty == 0
        return all(len(set(table)) <= 1 for table in self.log_weights)

    def on(self, grid: WeightGrid) -> LogWeights | None:
        """Return the log-weights of a product on a grid; None where all weigh the same.

        Raises
        ------
        CalibrationError
            If explicit log-weights do not fit the grid.
        """
        if self.log_weights is not None:
            shape = tuple(len(table) for table in self.log_weights)
            if shape != grid.shape:
                raise CalibrationError(
                    "log_weights of a base measure must give one number per allowed value of "
                    f"each weight, got {list(shape)} for {list(grid.shape)}."
                )
            tables = self.log_weights
        else:
            tables = tuple(
                tuple(-self.penalty if value else 0.0 for value in allowed)
                for allowed in grid.values
            )
        weights = LogWeights(tables=tuple(tuple(map(Fraction, table)) for table in tables))
        return None if weights.is_flat else weights

    def log_inverse(self, grid: WeightGrid) -> float:
        """Return the largest ``ln(1 / mu(w))`` over a grid, ``mu`` normalised there, nats."""
        if self.by_levels:
            return LEVELS.log_inverse(grid)
        weights = self.on(grid)
        if weights is None:
            return math.log(grid.n_hypotheses)
        log_sum, largest = weights.summary(grid)
        return log_sum + largest

    def describe(self) -> str:
        """Return what a receipt says; explicit log-weights by their digest."""
        if self.is_uniform:
            return "uniform"
        if self.by_levels:
            *few, most = map(str, range(len(LEVELS.shares)))
            return (
                f"masses {', '.join(map(str, LEVELS.shares))} on cards of {', '.join(few)} and "
                f"{most} points and {LEVELS.whole} on the whole grid"
            )
        if self.log_weights is None:
            return f"each weight other than 0 counts exp({-self.penalty:g})"
        text = json.dumps(self.log_weights, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return f"given log-weights per weight and value (SHA-256 {digest}... of their JSON)"


def _checked(number: object) -> float:
    """Return a finite number of moderate size."""
    try:
        value = float(number)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = math.nan
    if not abs(value) <= LARGEST_LOG_WEIGHT:
        raise CalibrationError(
            f"log-weights and penalties of a base measure must be numbers up to "
            f"{LARGEST_LOG_WEIGHT:,.0f} in size, got {number!r}."
        )
    return value


def is_listed(grid: WeightGrid) -> bool:
    """Return whether every hypothesis of a grid can be looked at."""
    return grid.n_assignments <= ENUMERATION_LIMIT or is_sparse(grid)
