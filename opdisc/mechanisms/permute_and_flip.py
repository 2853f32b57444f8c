"""Permute-and-flip: one noise value a hypothesis, the best one wins.

Grids that can be listed are one block of noise. On others noise is drawn only where the search
goes (A* sampling).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from opdisc.calibration import block_decay_rates, lattice_margin
from opdisc.errors import CalibrationError, large_number, rehearse
from opdisc.mechanisms.base import (
    EVERYWHERE,
    MINIMISER_OPTIONS,
    NoiseSpec,
    Problem,
    Work,
    work_of_list,
)
from opdisc.mechanisms.objective_perturbation import BlockOneHotMechanism, BlockSpec
from opdisc.mechanisms.rehearsal import toy_problem
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic, SeededEntropy
from oracles.errors import NoHypothesis, UnsupportedProblem
from oracles.problem import ENUMERATION_LIMIT, Hypothesis, WeightGrid, ZeroOneProblem
from oracles.sampling import (
    ROUNDING,
    SearchDiagnostics,
    SearchProgress,
    check_a_star,
    check_a_star_table,
    minimise_by_a_star,
)

_A_STAR_FEATURES, _A_STAR_ASSIGNMENTS = 11, 11**8

_LISTED_QUICKLY, _SEARCHED_FEATURES = 1_000_000, 14

_PER_SEARCHED_POINT, _SEARCH_BYTES = 5e-4, 3e8
"""Upper ends of what ``benchmarks/any_table.py`` measured, processor seconds and bytes."""


def check_enumerable(grid: WeightGrid, mechanism: str) -> None:
    """Refuse grids that cannot be listed, naming the limit and the remedies."""
    if grid.n_assignments > ENUMERATION_LIMIT:
        raise CalibrationError(
            f"{mechanism} lists every hypothesis and takes grids of at most {ENUMERATION_LIMIT:,} "
            f"weight combinations, got {large_number(grid.n_assignments)}; use fewer columns, "
            "smaller weights or mechanism='exponential'."
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
    takes_alternatives: ClassVar[bool] = True

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

    def work(self, public: GridPublic, points: float) -> Work | None:
        """Return what the list takes; None beyond lists."""
        grid = public.grid
        return work_of_list(grid) if grid.n_assignments <= ENUMERATION_LIMIT else None

    def needed_bound(self, public: GridPublic) -> None:
        """Return None: larger points are weighed by the errors that more hypotheses bring."""

    def perturb(self, problem: Problem, spec: NoiseSpec, entropy: EntropySource) -> Problem:
        """Return the problem with one fresh noise value per hypothesis."""
        return self._block(problem.n_features).perturb(problem, spec, entropy)

    def _block(self, n_features: int) -> BlockOneHotMechanism:
        return BlockOneHotMechanism(
            blocks=(tuple(range(n_features)),), allowance=self.allowance, name=self.name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AStarPermuteAndFlipMechanism:
    """Report-noisy-min over a grid of any size: noise is drawn top-down along a search.

    Parameters
    ----------
    max_rounds : int or None
        Public cap on the nodes of the search. A cap makes the guarantee conditional, and reaching
        it releases nothing.
    time_limit : float or None
        Seconds after which the search gives up, looked at now and then; a condition as well.
    progress : callable or None
        Told how a long search goes, about once a second: it is not private.
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP: the one of
    :class:`~opdisc.mechanisms.PermuteAndFlipMechanism`, Theorem A with a single block,
    with an allowance of two lattice steps for the rounding of the search's doubles
    (docs/theory.md, lazy-noise).

    References
    ----------
    .. [1] Maddison, Tarlow, Minka (2014): top-down draws of Gumbel noise.
    """

    uses_delta: ClassVar[bool] = False
    options: ClassVar[frozenset[str]] = frozenset({"max_rounds", "time_limit"})

    max_rounds: int | None = None
    time_limit: float | None = None
    progress: SearchProgress | None = field(default=None, compare=False)
    name: str = "permute_and_flip"

    @property
    def sampler(self) -> str:
        """Who searches."""
        return "best-first search, noise drawn where it goes"

    @property
    def condition(self) -> str | None:
        """The limits on the search, if there are any."""
        limits = []
        if self.max_rounds is not None:
            limits.append(f"the search ends within {self.max_rounds} nodes on every table")
        if self.time_limit is not None:
            limits.append(f"the draw ends within {self.time_limit:g} s {EVERYWHERE}")
        return " and ".join(limits) or None

    def calibrate(self, public: GridPublic) -> BlockSpec:
        """Return the rate of the single block; refuse what rounding is not covered for."""
        grid, spacing = public.grid, Fraction(public.spacing)
        allowance = 2 * ROUNDING * spacing
        margin = lattice_margin(public.loss_sensitivity, float(allowance), spacing)
        rates = block_decay_rates([grid.n_assignments], margin, spacing, public.params.epsilon)
        try:
            check_a_star(math.log2(grid.n_assignments), max(grid.shape), rates[0])
        except UnsupportedProblem as error:
            raise CalibrationError(f"permute_and_flip cannot run here: {error}") from None
        return BlockSpec(
            law="one-sided geometric for every hypothesis, drawn where the search goes",
            scales=(float(spacing / rates[0]),),
            theorem="Theorem A with one block: permute-and-flip (docs/theory.md, lazy-noise)",
            status=CalibrationStatus.PROVEN,
            allowance=float(allowance),
            total_variation=0.0,
            blocks=(tuple(range(grid.n_features)),),
            rates=rates,
            spacing=public.spacing,
        )

    def work(self, public: GridPublic, points: float) -> Work | None:
        """Return what the search takes; None where it depends on the rows."""
        if not can_flip_by_a_star(public.grid):
            return None
        seconds = _PER_SEARCHED_POINT * points * (public.grid.n_features / 14) ** 2
        return Work(seconds=seconds, memory=_SEARCH_BYTES)

    def needed_bound(self, public: GridPublic) -> None:
        """Return None: larger points are weighed by the errors that more hypotheses bring."""

    def prepare(self, problem: ZeroOneProblem, spec: NoiseSpec) -> None:
        """Refuse more rows than the search can add up, and search a public toy."""
        assert isinstance(spec, BlockSpec)
        steps, rate = round(1 / spec.spacing), spec.rates[0]
        check_a_star_table(problem, steps)
        toy = toy_problem(problem.grid)
        rehearse(
            "the search of permute-and-flip",
            lambda: minimise_by_a_star(toy, rate, steps, entropy=SeededEntropy(0)),
        )

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return the minimiser under one fresh perturbation."""
        assert isinstance(spec, BlockSpec)
        return minimise_by_a_star(
            problem,
            spec.rates[0],
            round(1 / spec.spacing),
            entropy=entropy,
            max_nodes=self.max_rounds,
            watch=self._watch,
        )

    @property
    def _watch(self) -> _Watch:
        return _Watch(self.time_limit, self.progress)


def can_flip_by_a_star(grid: WeightGrid) -> bool:
    """Return whether permute-and-flip by A* sampling was quick on every table that was tried.

    Up to 11 weights and 11^8 combinations: at most 2 s of processor time at any epsilon, on tables
    of random labels too. With 16 or 17 weights tables of random labels took 4 to 15 s.
    """
    small = grid.n_features <= _A_STAR_FEATURES and grid.n_assignments <= _A_STAR_ASSIGNMENTS
    return (small and grid.is_box) or _lists_slowly(grid)


def _lists_slowly(grid: WeightGrid) -> bool:
    """Return whether a grid that can be listed is searched sooner by A* sampling.

    Measured on 0/1 columns and labels of coins, where both take longest, 82 to 100,000 rows and
    epsilon .003 to 10: a list of 10^6 to 10^7 takes 1 to 7 s of processor time on any table, the
    search 0.01 to 0.7 s up to 1,000 rows and at most 4.4 s.
    """
    return (
        _LISTED_QUICKLY < grid.n_assignments <= ENUMERATION_LIMIT
        and grid.n_features <= _SEARCHED_FEATURES
        and grid.is_box
    )


def is_searched(grid: WeightGrid, public: GridPublic | None) -> bool:
    """Return whether a grid that can be listed is better left to A* sampling, which takes it."""
    if not _lists_slowly(grid):
        return False
    try:
        if public is not None:
            AStarPermuteAndFlipMechanism().calibrate(public)
    except CalibrationError:
        return False
    return True


class _Watch:
    """Called between slices of the search: it reports, and gives up when time is over."""

    def __init__(self, time_limit: float | None, progress: SearchProgress | None) -> None:
        self._limit, self._progress = time_limit, progress
        self._started = self._reported = time.perf_counter()

    def __call__(self, nodes: int, open_nodes: int) -> None:
        now = time.perf_counter()
        if self._limit is not None and now - self._started > self._limit:
            raise NoHypothesis("a search must end within its time limit; raise the limit.")
        if self._progress is not None and now - self._reported > 1.0:
            self._reported = now
            self._progress(
                SearchDiagnostics(nodes=nodes, open_nodes=open_nodes, seconds=now - self._started)
            )
