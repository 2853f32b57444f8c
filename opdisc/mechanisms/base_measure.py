"""Public base measures of the exponential mechanism: what it draws from when the loss is mute."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from opdisc.errors import CalibrationError
from oracles import WeightGrid
from oracles.log_weights import LogWeights

LARGEST_LOG_WEIGHT = 1e6
DEFAULT_PENALTY = 1.0


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

    Raises
    ------
    CalibrationError
        If a number is not finite or too large, or both are given.

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

    def __post_init__(self) -> None:
        """Refuse what is not a measure; store plain floats."""
        object.__setattr__(self, "penalty", _checked(self.penalty))
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
        """Return a base measure from ``"uniform"``, ``"sparse"``, ``"sparse:0.5"`` or itself."""
        if isinstance(measure, BaseMeasure):
            return measure
        kind, _, number = measure.partition(":") if isinstance(measure, str) else ("", "", "")
        if kind == "uniform" and measure == "uniform":
            return cls()
        try:
            if kind == "sparse":
                return cls(penalty=float(number) if ":" in measure else DEFAULT_PENALTY)
        except ValueError:
            pass
        raise CalibrationError(
            "base_measure must be 'uniform', 'sparse', 'sparse:PENALTY' with a number, or a "
            f"BaseMeasure, got {measure!r}."
        )

    @property
    def is_uniform(self) -> bool:
        """Whether every hypothesis counts the same."""
        if self.log_weights is None:
            return self.penalty == 0
        return all(len(set(table)) <= 1 for table in self.log_weights)

    def on(self, grid: WeightGrid) -> LogWeights | None:
        """Return the log-weights on a grid; None where all hypotheses weigh the same.

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
        weights = self.on(grid)
        if weights is None:
            return math.log(grid.n_hypotheses)
        log_sum, largest = weights.summary(grid)
        return log_sum + largest

    def describe(self) -> str:
        """Return what a receipt says; explicit log-weights by their digest."""
        if self.is_uniform:
            return "uniform"
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
