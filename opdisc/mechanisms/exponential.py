"""The exponential mechanism: one exact draw, proportional to ``mu(w) exp(-beta L(w))``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from opdisc.calibration import inverse_temperature
from opdisc.errors import CalibrationError, rehearse
from opdisc.mechanisms.base import BYTES_PER_LISTED, NoiseSpec, Work, work_of_list
from opdisc.mechanisms.base_measure import LEVELS, BaseMeasure, is_listed
from opdisc.mechanisms.rehearsal import small_grid, toy_problem
from opdisc.noise import ExcessBound, Simulation, excess_of_draw
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic, SeededEntropy
from opdisc.tuned import DEFAULT_PENALTY
from oracles.problem import ENUMERATION_LIMIT, Hypothesis, WeightGrid, ZeroOneProblem
from oracles.sampling import (
    check_sparse_table,
    sample_by_enumeration,
    sample_by_levels,
    sample_sparse,
)

_PER_CARD, _PER_CARD_AND_POINT = 1e-7, 2e-9
"""Upper ends of what ``benchmarks/any_table.py`` measured, processor seconds."""


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

    def expected_excess(self, grid: WeightGrid) -> float:
        """Return ``ln(1 / mu(w)) / beta``, the largest; ``ln |W| / beta`` if mu is uniform."""
        return self.log_inverse / float(self.beta)

    def excess(
        self, grid: WeightGrid, level: float, simulation: Simulation | None = None
    ) -> ExcessBound:
        """Return the bound in closed form."""
        return excess_of_draw(self.beta, self.log_inverse, level)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialMechanism:
    """An exact draw from ``P[w]`` proportional to ``mu(w) exp(-beta * L(w))``, on listed grids.

    Parameters
    ----------
    base_measure : BaseMeasure
        The public measure ``mu``; uniform by default.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP with ``beta = epsilon / Delta``, whatever the base measure, as
    long as it does not depend on the rows (docs/theory.md, exponential-mechanism). Losses are
    integers. A grid of at most 10^7 combinations, as they are or within a norm budget, is drawn
    from by the levels of its losses: exactly, with nothing rounded.

    References
    ----------
    .. [1] McSherry, Talwar (2007), Theorem 6.
    """

    uses_delta: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = frozenset({"base_measure"})
    takes_alternatives: ClassVar[bool] = True

    base_measure: BaseMeasure = BaseMeasure()
    name: str = "exponential"

    @property
    def sampler(self) -> str:
        """Who draws."""
        return "exact sampler: loss levels of a listed grid"

    @property
    def condition(self) -> None:
        """None: the draw ends on every table."""

    def calibrate(self, public: GridPublic) -> ExponentialSpec:
        """Return the inverse temperature; refuse a grid that cannot be listed."""
        measure = self.base_measure
        if not is_listed(public.grid):
            raise CalibrationError(
                f"exponential takes grids of at most {ENUMERATION_LIMIT:,} weight combinations; "
                "use fewer columns, smaller weights, a small max_nonzero or mechanism='staged'."
            )
        if public.grid.alternatives and not measure.is_uniform:
            raise CalibrationError(
                "alternatives are drawn from the uniform base measure, got another one; leave "
                "base_measure out."
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
            total_variation=0.0,
            spacing=0.0,
            beta=beta,
            log_inverse=measure.log_inverse(public.grid),
        )

    def work(self, public: GridPublic, points: float) -> Work | None:
        """Return what the list takes, or few points counted one by one; None on other grids."""
        grid = public.grid
        if grid.n_assignments <= ENUMERATION_LIMIT:
            return work_of_list(grid)
        if not is_listed(grid):
            return None
        cards = float(grid.n_hypotheses)
        each = _PER_CARD + _PER_CARD_AND_POINT * points
        return Work(seconds=cards * each, memory=BYTES_PER_LISTED * cards)

    def needed_bound(self, public: GridPublic) -> None:
        """Return None: larger points are weighed by the errors that more hypotheses bring."""

    def prepare(self, problem: ZeroOneProblem, spec: NoiseSpec) -> None:
        """Refuse a table that the draw cannot take, and draw from a small public toy."""
        assert isinstance(spec, ExponentialSpec)
        grid = problem.grid
        if grid.n_assignments <= ENUMERATION_LIMIT:
            return  # listing needs no compiled code, and takes every table
        weights = self.base_measure.on(grid)
        toy = toy_problem(small_grid(grid))
        # On the toy's grid: which hypothesis weighs how much is not what may fail.
        measure = None if weights is None else BaseMeasure(penalty=DEFAULT_PENALTY).on(toy.grid)
        check_sparse_table(problem)
        rehearse(
            "the sparse draw", lambda: sample_sparse(toy, spec.beta, SeededEntropy(0), measure)
        )

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return one exact draw."""
        assert isinstance(spec, ExponentialSpec)
        if self.base_measure.by_levels:
            return sample_by_levels(problem, spec.beta, entropy, LEVELS)[0]
        weights = self.base_measure.on(problem.grid)
        sample = (
            sample_by_enumeration
            if problem.grid.n_assignments <= ENUMERATION_LIMIT
            else sample_sparse
        )
        hypothesis, total_variation = sample(problem, spec.beta, entropy, weights)
        if total_variation > spec.total_variation:
            raise CalibrationError("the sampler must not be less exact than was calibrated.")
        return hypothesis
