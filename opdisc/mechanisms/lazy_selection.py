"""Permute-and-flip where the grid cannot be listed: noise drawn only where the search goes."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from opdisc.calibration import block_decay_rates, lattice_margin
from opdisc.entropy import EntropySource
from opdisc.errors import CalibrationError
from opdisc.guarantee import CalibrationStatus
from opdisc.mechanisms.base import EVERYWHERE, NoiseSpec
from opdisc.mechanisms.objective_perturbation import BlockSpec
from opdisc.public import GridPublic
from oracles import Hypothesis, NoHypothesis, UnsupportedProblem, ZeroOneProblem
from oracles.lazy_search import ROUNDING, check_lazy, minimise_lazily
from oracles.sampling_options import SearchDiagnostics, SearchProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyPermuteAndFlipMechanism:
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
    :class:`~opdisc.mechanisms.selection.PermuteAndFlipMechanism`, Theorem A with a single block,
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
        margin = lattice_margin(public.changed_rows, float(allowance), spacing)
        rates = block_decay_rates([grid.n_assignments], margin, spacing, public.params.epsilon)
        try:
            check_lazy(math.log2(grid.n_assignments), max(grid.shape), rates[0])
        except UnsupportedProblem as error:
            raise CalibrationError(f"permute_and_flip cannot run here: {error}") from None
        return BlockSpec(
            law="one-sided geometric for every hypothesis, drawn where the search goes",
            scales=(float(spacing / rates[0]),),
            theorem="Theorem A with one block: permute-and-flip (docs/theory.md, lazy-noise)",
            status=CalibrationStatus.PROVEN,
            allowance=float(allowance),
            distance=0.0,
            blocks=(tuple(range(grid.n_features)),),
            rates=rates,
            spacing=public.spacing,
        )

    def draw(self, problem: ZeroOneProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return the minimiser under one fresh perturbation."""
        assert isinstance(spec, BlockSpec)
        return minimise_lazily(
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
