"""Public base measures: what the exponential mechanism draws from when the loss says nothing."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from opdisc.errors import CalibrationError
from oracles.problem import ENUMERATION_LIMIT, LevelWeights, LogWeights, WeightGrid
from oracles.sampling import SparseCards, is_sparse, sparse_memory, sparse_work

LARGEST_LOG_WEIGHT = 1e6

DEFAULT_PENALTY = 1.0

LEVELS = LevelWeights(shares=(1, 2, 4, 8, 16), whole=32)
"""The measure by levels: cards of up to four points, and all cards (docs/utility.md)."""

LEVEL_SECONDS = 5.0
"""Where a grid cannot be listed, levels have as many points as are counted in this time."""

_ASSUMED_ROWS = 100_000


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
            return _in_words(LEVELS.shares)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """The measure by levels on a grid that cannot be listed: its cards of few points are counted.

    Parameters
    ----------
    cards : SparseCards
        Cards of few points of -1..1, with the mass of each number of points.
    whole : int
        Mass of the whole grid in the same unit.
    larger : bool
        Whether the grid allows larger points than -1..1.
    """

    cards: SparseCards
    whole: int
    larger: bool

    @classmethod
    def on(cls, grid: WeightGrid, n_rows: int | None) -> Self:
        """Return the measure on a grid: a function of public facts.

        The rows, public or guessed, decide only how many levels can be counted in time.

        Raises
        ------
        CalibrationError
            If a weight may not be 0, or the start's values are no interval.
        """
        start = grid.values[0]
        if not all(0 in allowed for allowed in grid.values) or (
            start[-1] - start[0] != len(start) - 1
        ):
            raise CalibrationError(
                "base_measure='levels' takes weights that may be 0 and starts from an interval "
                "where not all cards can be listed; use such weights or another base measure."
            )
        signs = tuple(
            tuple(sign for sign in (1, -1) if sign in allowed) for allowed in grid.values[1:]
        )
        used, rows = sum(1 for options in signs if options), n_rows or _ASSUMED_ROWS
        starts: list[tuple[int, int]] = []
        for size in range(min(len(LEVELS.shares), used + 1)):
            low, high = start[0], start[-1]
            if grid.norm_budget is not None:
                if size > grid.norm_budget:
                    break
                far = math.isqrt(grid.norm_budget - size)
                low, high = max(low, -far), min(high, far)
            seconds = sparse_work(used, size, high - low + 1, rows)
            if size > 1 and (seconds > LEVEL_SECONDS or sparse_memory(used, size) > 5e8):
                break
            starts.append((low, high))
        shares = LEVELS.shares[: len(starts)]
        larger = any(max(abs(v) for v in allowed) > 1 for allowed in grid.values[1:])
        return cls(
            cards=SparseCards(signs=signs, starts=tuple(starts), shares=shares),
            whole=LEVELS.whole,
            larger=larger,
        )

    def log_inverse(self, grid: WeightGrid) -> float:
        """Return the largest ``ln(1 / mu(w))``: that of a card of no level, nats."""
        shares = self.cards.shares or ()
        used = sum(s for s, n in zip(shares, self.cards.counts, strict=True) if n)
        return math.log(grid.n_hypotheses) + math.log((self.whole + used) / self.whole)

    def describe(self) -> str:
        """Return what a receipt says."""
        return _in_words(self.cards.shares or (), " of -1..1" if self.larger else "")


def _in_words(shares: tuple[int, ...], kind: str = "") -> str:
    sizes = [str(size) for size in range(len(shares))]
    points = ", ".join(sizes[:-1]) + (" and " if sizes[1:] else "") + sizes[-1]
    masses = ", ".join(map(str, shares))
    return (
        f"masses {masses} on cards of {points} points{kind} and {LEVELS.whole} on the whole grid"
    )


def is_listed(grid: WeightGrid) -> bool:
    """Return whether every hypothesis of a grid can be looked at."""
    return grid.n_assignments <= ENUMERATION_LIMIT or is_sparse(grid)
