"""The exponential mechanism: one exact draw, proportional to ``mu(w) exp(-beta L(w))``."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from opdisc.calibration import inverse_temperature
from opdisc.errors import CalibrationError, rehearse
from opdisc.mechanisms.base import EVERYWHERE, NoiseSpec
from opdisc.mechanisms.exponential.base_measure import (
    DEFAULT_PENALTY,
    LEVELS,
    BaseMeasure,
    Mixture,
    is_listed,
)
from opdisc.mechanisms.rehearsal import small_grid, toy_problem
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic, SeededEntropy
from oracles.errors import NoHypothesis
from oracles.problem import (
    ENUMERATION_LIMIT,
    ColumnGroup,
    Hypothesis,
    WeightGrid,
    ZeroOneProblem,
    check_structure,
    complete_structure,
)
from oracles.sampling import (
    BinaryPoints,
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
    mixture : Mixture or None
        The measure by levels on a grid that cannot be listed.
    """

    beta: Fraction
    log_inverse: float
    mixture: Mixture | None = None


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
        mixture = None
        if measure.by_levels and not is_listed(public.grid):
            mixture = Mixture.on(public.grid, public.typical_rows)
        words = measure.describe() if mixture is None else mixture.describe()
        base = "" if measure.is_uniform else f"; base measure: {words}"
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
            log_inverse=measure.log_inverse(public.grid)
            if mixture is None
            else mixture.log_inverse(public.grid),
            mixture=mixture,
        )

    def _sampler(
        self, problem: ZeroOneProblem, beta: Fraction, mixture: Mixture | None = None
    ) -> PartitionSampler:
        watched = self.progress is not None or self.time_limit is not None
        options = SamplingOptions(
            max_rounds=self.max_rounds, progress=self._watch() if watched else None
        )
        from oracles.sampling import PartitionSampler  # compiled code, slow to import

        weights = self.base_measure.on(problem.grid)
        counted = None if mixture is None else (mixture.cards, mixture.whole)
        return PartitionSampler(problem, beta, self.structure, options, weights, counted)

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
        if spec.mixture is not None:
            BinaryPoints.of(problem)
        mixed = spec.mixture is not None
        rehearse(
            "the exact sampler", lambda: _drawn_once(toy.grid, self.structure, spec.beta, mixed)
        )

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return one exact draw."""
        assert isinstance(spec, ExponentialSpec)
        if self.base_measure.by_levels and spec.mixture is None:
            return sample_by_levels(problem, spec.beta, entropy, LEVELS)[0]
        weights = self.base_measure.on(problem.grid)
        if problem.grid.n_assignments <= ENUMERATION_LIMIT:
            hypothesis, total_variation = sample_by_enumeration(
                problem, spec.beta, entropy, weights
            )
        elif is_sparse(problem.grid):
            hypothesis, total_variation = sample_sparse(problem, spec.beta, entropy, weights)
        else:
            sampler = self._sampler(problem, spec.beta, spec.mixture)
            hypothesis, total_variation = sampler.draw(entropy), sampler.total_variation_bound
        if total_variation > spec.total_variation or not math.isfinite(total_variation):
            raise CalibrationError("the sampler must not be less exact than was calibrated.")
        return hypothesis


@functools.lru_cache(maxsize=64)
def _distance(grid: WeightGrid, structure: tuple[ColumnGroup, ...], measure: BaseMeasure) -> float:
    """Return the sampler's distance from its law; the inverse temperature is no part of it.

    Raises
    ------
    UnsupportedProblem
        If the sampler does not take the grid.
    """
    if is_listed(grid):
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
    grid: WeightGrid,
    structure: tuple[ColumnGroup, ...],
    beta: Fraction,
    mixed: bool = False,
) -> Hypothesis:
    """Draw from a toy by rejection, once per process: what it compiles or loads stays loaded."""
    mechanism = ExponentialMechanism(structure=structure)
    toy = toy_problem(grid)
    mixture = Mixture.on(grid, len(toy.points)) if mixed else None
    return mechanism._sampler(toy, beta, mixture).draw(SeededEntropy(0))
