"""Selection from the whole grid at once: permute-and-flip and the exponential mechanism."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from opdisc.calibration import gibbs_weight
from opdisc.entropy import EntropySource
from opdisc.errors import CalibrationError
from opdisc.guarantee import CalibrationStatus
from opdisc.mechanisms.base import EVERYWHERE, MINIMISER_OPTIONS, NoiseSpec
from opdisc.mechanisms.base_measure import BaseMeasure
from opdisc.mechanisms.objective_perturbation import BlockOneHotMechanism, BlockSpec
from opdisc.public import GridPublic
from oracles import Hypothesis, NoHypothesis, WeightGrid, ZeroOneProblem
from oracles.column_groups import ColumnGroup
from oracles.loss_levels import sample_by_enumeration
from oracles.registry import ENUMERATION_LIMIT
from oracles.sampling_options import SamplingDiagnostics, SamplingOptions, SamplingProgress
from oracles.sparse_levels import is_sparse, sample_sparse

if TYPE_CHECKING:
    from oracles.partition_sampling import PartitionSampler


def check_enumerable(grid: WeightGrid, mechanism: str) -> None:
    """Refuse grids that cannot be listed, naming the limit and the remedies."""
    if grid.n_assignments > ENUMERATION_LIMIT:
        raise CalibrationError(
            f"{mechanism} lists every hypothesis and takes grids of at most {ENUMERATION_LIMIT:,} "
            f"weight combinations, got {grid.n_assignments:.3g}; use fewer columns, smaller "
            "weights or mechanism='exponential'."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlipMechanism:
    """Report-noisy-min with one-sided noise for every hypothesis.

    Parameters
    ----------
    allowance : float
        Certified gap that a release may have, rows; priced into the noise.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP: Theorem A of docs/theory.md with a single block. With
    continuous noise of mean Delta / epsilon it is the permute-and-flip mechanism.

    References
    ----------
    .. [1] McKenna, Sheldon (2020), Theorem 1. Ding, Kifer, Sayed, Steinke, Wang, Xiao, Zhang
       (2021): report-noisy-max with exponential noise has the same law.
    """

    uses_delta: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = MINIMISER_OPTIONS

    allowance: float = 0.0
    name: str = "permute_and_flip"

    def calibrate(self, public: GridPublic) -> BlockSpec:
        """Return the rate of the single block."""
        check_enumerable(public.grid, self.name)
        spec = self._block(public.grid.n_features).calibrate(public)
        return replace(
            spec,
            law="one-sided geometric for every hypothesis",
            theorem="Theorem A with one block: permute-and-flip (docs/theory.md, selection)",
        )

    def perturb(
        self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource
    ) -> ZeroOneProblem:
        """Return the problem with one fresh noise value per hypothesis."""
        return self._block(problem.n_features).perturb(problem, spec, entropy)

    def _block(self, n_features: int) -> BlockOneHotMechanism:
        return BlockOneHotMechanism(
            blocks=(tuple(range(n_features)),), allowance=self.allowance, name=self.name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GibbsSpec(NoiseSpec):
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
        Seconds after which a draw from a large grid gives up, looked at between rounds; whoever
        sets it also says so on the receipt, and reaching it releases nothing.
    progress : callable or None
        Told how a long draw goes, about once a second. What it is told depends on the rows: it is
        not private.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP with ``beta = epsilon / Delta``, whatever the base measure, as
    long as it does not depend on the rows (docs/theory.md, exponential-mechanism). Losses are
    integers; grids that can be listed are drawn from by level, larger ones by adaptive rejection
    over a partition, both exactly up to the distance on the receipt (docs/theory.md,
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

    def calibrate(self, public: GridPublic) -> GibbsSpec:
        """Return the inverse temperature; refuse what cannot be summed over."""
        measure = self.base_measure
        base = "" if measure.is_uniform else f"; base measure: {measure.describe()}"
        beta = gibbs_weight(public.changed_rows, public.params.epsilon)
        return GibbsSpec(
            law=f"Gibbs law over all hypotheses, inverse temperature per row{base}",
            scales=(float(beta),),
            theorem="McSherry, Talwar 2007, Theorem 6 (docs/theory.md, exponential-mechanism)",
            status=CalibrationStatus.PROVEN,
            allowance=0.0,
            distance=self._distance(public.grid, beta),
            spacing=0.0,
            beta=beta,
            log_inverse=measure.log_inverse(public.grid),
        )

    def _distance(self, grid: WeightGrid, beta: Fraction) -> float:
        """Return the sampler's distance from its law, which depends on public facts only."""
        if grid.n_assignments <= ENUMERATION_LIMIT or is_sparse(grid):
            return 0.0
        nothing = np.zeros(0, dtype=np.int64)
        empty = ZeroOneProblem(
            points=np.zeros((0, grid.n_features), dtype=np.int64),
            positives=nothing,
            negatives=nothing,
            grid=grid,
        )
        return self._sampler(empty, beta).distance_bound

    def _sampler(self, problem: ZeroOneProblem, beta: Fraction) -> PartitionSampler:
        from oracles.partition_sampling import PartitionSampler  # compiled code, slow to import

        watched = self.progress is not None or self.time_limit is not None
        options = SamplingOptions(
            max_rounds=self.max_rounds, progress=self._watch() if watched else None
        )
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

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return one exact draw."""
        assert isinstance(spec, GibbsSpec)
        weights = self.base_measure.on(problem.grid)
        if problem.grid.n_assignments <= ENUMERATION_LIMIT:
            hypothesis, distance = sample_by_enumeration(problem, spec.beta, entropy, weights)
        elif is_sparse(problem.grid):
            hypothesis, distance = sample_sparse(problem, spec.beta, entropy, weights)
        else:
            sampler = self._sampler(problem, spec.beta)
            hypothesis, distance = sampler.draw(entropy), sampler.distance_bound
        if distance > spec.distance or not math.isfinite(distance):
            raise CalibrationError("the sampler must not be less exact than was calibrated.")
        return hypothesis
