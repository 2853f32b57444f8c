"""The exponential mechanism, and its public base measures.

It draws a hypothesis with probability proportional to ``mu(w) exp(-beta L(w))``. The base measure
``mu`` is what it draws from when the loss says nothing.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from opdisc.calibration import inverse_temperature
from opdisc.errors import CalibrationError, rehearse
from opdisc.mechanisms.base import EVERYWHERE, NoiseSpec
from opdisc.mechanisms.rehearsal import small_grid, toy_problem
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic, SeededEntropy
from oracles.errors import NoHypothesis
from oracles.problem import (
    ENUMERATION_LIMIT,
    ColumnGroup,
    Hypothesis,
    LevelWeights,
    LogWeights,
    WeightGrid,
    ZeroOneProblem,
    check_structure,
    complete_structure,
)
from oracles.sampling import (
    SamplingDiagnostics,
    SamplingOptions,
    SamplingProgress,
    check_sparse_table,
    is_sparse,
    sample_by_enumeration,
    sample_by_levels,
    sample_sparse,
)

if TYPE_CHECKING:
    from oracles.sampling import PartitionSampler

LARGEST_LOG_WEIGHT = 1e6

DEFAULT_PENALTY = 1.0

LEVELS = LevelWeights(shares=(1, 1, 1, 1, 1), whole=1)
"""The measure by levels: cards of up to four points, and all cards."""


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
        Instead: equal mass on the scorecards of 0, 1, 2, 3 and 4 points each, and on the whole
        grid; uniform within each.

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
            return "equal mass on cards of 0, 1, 2, 3 and 4 points and on the whole grid"
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
class ExponentialSpec(NoiseSpec):
    """Calibrated exponential mechanism.

    Parameters
    ----------
    beta : Fraction
        Inverse temperature, nats per misclassified row, exact.
    log_inverse : float
        Largest ``ln(1 / mu(w))`` of the base measure, nats, normalised on the grid; ``ln |W|`` if
        it is uniform.
    """

    beta: Fraction
    log_inverse: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism:
    """An exact draw from ``P[w]`` proportional to ``mu(w) exp(-beta * L(w))``, on any grid.

    Parameters
    ----------
    base_measure : BaseMeasure
        The public measure ``mu``; uniform by default.
    structure : tuple of ColumnGroup
        Public facts about the columns, from the schema; they make large grids affordable and
        change nothing else.
    max_rounds : int or None
        Public cap on the rounds of the sampler of large grids. A cap makes the guarantee
        conditional, and reaching it releases nothing.
    time_limit : float or None
        Seconds after which a draw from a large grid gives up, looked at between rounds. Whoever
        sets it also says so on the receipt. Reaching it releases nothing.
    progress : callable or None
        Told how a long draw goes, about once a second. What it is told depends on the rows: it is
        not private.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP with ``beta = epsilon / Delta``, whatever the base measure, as
    long as it does not depend on the rows (docs/theory.md, exponential-mechanism). Losses are
    integers. Grids that can be listed are drawn from by level, larger ones by adaptive rejection
    over a partition. Both are exact up to the distance on the receipt (docs/theory.md,
    exact-sampler).

    References
    ----------
    .. [1] McSherry, Talwar (2007), Theorem 6.
    """

    uses_delta: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = frozenset({"base_measure", "max_rounds"})

    base_measure: BaseMeasure = BaseMeasure()
    structure: tuple[ColumnGroup, ...] = ()
    max_rounds: int | None = None
    time_limit: float | None = None
    progress: SamplingProgress | None = field(default=None, compare=False)
    name: str = "exponential"

    @property
    def sampler(self) -> str:
        """Who draws."""
        return "exact sampler: loss levels of a listed grid, else rejection over a partition"

    @property
    def condition(self) -> str | None:
        """The limits on a draw, if there are any."""
        limits = []
        if self.max_rounds is not None:
            limits.append(f"a draw succeeds within {self.max_rounds} rounds on every table")
        if self.time_limit is not None:
            limits.append(f"the draw ends within {self.time_limit:g} s {EVERYWHERE}")
        return " and ".join(limits) or None

    def calibrate(self, public: GridPublic) -> ExponentialSpec:
        """Return the inverse temperature; refuse what cannot be summed over."""
        measure = self.base_measure
        if measure.by_levels and not _is_listed(public.grid):
            raise CalibrationError(
                "base_measure='levels' takes grids whose weight combinations can be listed; use "
                "a small max_nonzero, another base measure, or mechanism='staged'."
            )
        base = "" if measure.is_uniform else f"; base measure: {measure.describe()}"
        beta = inverse_temperature(public.loss_sensitivity, public.params.epsilon)
        unit = "row" if public.error_costs.are_equal else "unit of cost"
        return ExponentialSpec(
            law=f"Gibbs law over all hypotheses, inverse temperature per {unit}{base}",
            scales=(float(beta),),
            theorem="McSherry, Talwar 2007, Theorem 6 (docs/theory.md, exponential-mechanism)",
            status=CalibrationStatus.PROVEN,
            allowance=0.0,
            total_variation=_distance(public.grid, self.structure, measure),
            spacing=0.0,
            beta=beta,
            log_inverse=measure.log_inverse(public.grid),
        )

    def _sampler(self, problem: ZeroOneProblem, beta: Fraction) -> PartitionSampler:
        watched = self.progress is not None or self.time_limit is not None
        options = SamplingOptions(
            max_rounds=self.max_rounds, progress=self._watch() if watched else None
        )
        from oracles.sampling import PartitionSampler  # compiled code, slow to import

        weights = self.base_measure.on(problem.grid)
        return PartitionSampler(problem, beta, self.structure, options, weights)

    def _watch(self) -> SamplingProgress:
        """Return what is called between rounds: it reports, and gives up when time is over."""
        started = time.perf_counter()

        def watch(diagnostics: SamplingDiagnostics) -> None:
            if self.progress is not None:
                self.progress(diagnostics)
            limit = self.time_limit
            if limit is not None and time.perf_counter() - started > limit:
                raise NoHypothesis("a draw must end within its time limit; raise the limit.")

        return watch

    def prepare(self, problem: ZeroOneProblem, spec: NoiseSpec) -> None:
        """Refuse a table that the draw cannot take, and draw from a small public toy."""
        assert isinstance(spec, ExponentialSpec)
        grid = problem.grid
        weights = self.base_measure.on(grid)
        if grid.n_assignments <= ENUMERATION_LIMIT:
            return  # listing needs no compiled code, and takes every table
        toy = toy_problem(small_grid(grid))
        # On the toy's grid: which hypothesis weighs how much is not what may fail.
        measure = None if weights is None else BaseMeasure(penalty=DEFAULT_PENALTY).on(toy.grid)
        if is_sparse(grid):
            check_sparse_table(problem)
            rehearse(
                "the sparse draw", lambda: sample_sparse(toy, spec.beta, SeededEntropy(0), measure)
            )
            return
        check_structure(complete_structure(self.structure, problem.n_features), problem.points)
        rehearse("the exact sampler", lambda: _drawn_once(toy.grid, self.structure, spec.beta))

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return one exact draw."""
        assert isinstance(spec, ExponentialSpec)
        if self.base_measure.by_levels:
            return sample_by_levels(problem, spec.beta, entropy, LEVELS)[0]
        weights = self.base_measure.on(problem.grid)
        if problem.grid.n_assignments <= ENUMERATION_LIMIT:
            hypothesis, total_variation = sample_by_enumeration(
                problem, spec.beta, entropy, weights
            )
        elif is_sparse(problem.grid):
            hypothesis, total_variation = sample_sparse(problem, spec.beta, entropy, weights)
        else:
            sampler = self._sampler(problem, spec.beta)
            hypothesis, total_variation = sampler.draw(entropy), sampler.total_variation_bound
        if total_variation > spec.total_variation or not math.isfinite(total_variation):
            raise CalibrationError("the sampler must not be less exact than was calibrated.")
        return hypothesis


def _is_listed(grid: WeightGrid) -> bool:
    return grid.n_assignments <= ENUMERATION_LIMIT or is_sparse(grid)


@functools.lru_cache(maxsize=64)
def _distance(grid: WeightGrid, structure: tuple[ColumnGroup, ...], measure: BaseMeasure) -> float:
    """Return the sampler's distance from its law; the inverse temperature is no part of it.

    Raises
    ------
    UnsupportedProblem
        If the sampler does not take the grid.
    """
    if _is_listed(grid):
        return 0.0
    nothing = np.zeros(0, dtype=np.int64)
    empty = ZeroOneProblem(
        points=np.zeros((0, grid.n_features), dtype=np.int64),
        positives=nothing,
        negatives=nothing,
        grid=grid,
    )
    mechanism = ExponentialMechanism(structure=structure, base_measure=measure)
    return mechanism._sampler(empty, Fraction(1)).total_variation_bound


@functools.cache
def _drawn_once(
    grid: WeightGrid, structure: tuple[ColumnGroup, ...], beta: Fraction
) -> Hypothesis:
    """Draw from a toy by rejection, once per process: what it compiles or loads stays loaded."""
    from oracles.sampling import PartitionSampler

    options = SamplingOptions(n_threads=1)
    return PartitionSampler(toy_problem(grid), beta, structure, options).draw(SeededEntropy(0))
