"""What a mechanism is: it calibrates from public inputs, then perturbs or draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.noise import ExcessBound, Simulation
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic, GridReceipt
from oracles.arithmetic import FloatArray
from oracles.problem import Hypothesis, Perturbation, WeightGrid, ZeroOneProblem

EVERYWHERE = "on every table and every noise draw"
"""What a limit that may be met has to be assumed for."""

ROWS_COUNT_ONCE = "every row counts once before error costs weigh it"
"""What is assumed of counts that the library did not make from rows, under error costs."""

BOUNDED_ROWS = "every row adds a number in [0, 1] to each loss"
"""What is assumed of losses that the library did not make from rows."""

BYTES_PER_LISTED, _PER_LISTED = 50.0, 1e-6
"""Upper ends of what ``benchmarks/any_table.py`` measured, for each listed hypothesis."""

MINIMISER_OPTIONS = frozenset({"oracle", "time_limit"})
"""Options of every mechanism that asks an oracle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseSpec:
    """What a calibration decided. A function of :class:`GridPublic` only.

    Parameters
    ----------
    law : str
        The noise law in words.
    scales : tuple of float
        Its scale parameters, rows; of the exponential mechanism the inverse temperature, per row.
    theorem : str
        The statement that makes the release private.
    status : CalibrationStatus
        How well that statement is established.
    allowance : float
        Largest certified gap a release may have, rows.
    total_variation : float
        Total variation between the sampled noise and its law, or the probability that a draw is
        off by more than the calibration pays for; a probability.
    spacing : float
        Lattice spacing of the noise, rows; 0 if there is no lattice.
    most_steps : float
        What all noise of one draw together may come to, lattice steps; 0 for noise that is
        added to no objective.
    patience : float or None
        Seconds that draws are planned for at most; None where nothing depends on such a plan.
    start : str
        The public card that candidates are counted from, for a receipt; empty without one.
    start_points : tuple of int
        Its points.
    """

    law: str
    scales: tuple[float, ...]
    theorem: str
    status: CalibrationStatus
    allowance: float
    total_variation: float
    spacing: float
    most_steps: float = 0.0
    patience: float | None = None
    start: str = ""
    start_points: tuple[int, ...] = ()

    @property
    def yardstick(self) -> str:
        """What the excess loss is counted from; empty: the best hypothesis of the grid."""
        return ""

    def n_candidates(self, grid: WeightGrid) -> int | None:
        """Return among how many hypotheses losses choose; None where coins choose the most.

        Parameters
        ----------
        grid : WeightGrid
            The hypotheses that were calibrated for.
        """
        return grid.n_hypotheses

    def expected_excess(self, grid: WeightGrid) -> float | None:
        """Return a bound on the mean excess loss, rows, for every table; None without a formula.

        Parameters
        ----------
        grid : WeightGrid
            The hypotheses that were calibrated for.
        """
        return None

    def excess(
        self, grid: WeightGrid, level: float, simulation: Simulation | None = None
    ) -> ExcessBound:
        """Return how much a release may lose beyond the best hypothesis, for every table.

        Parameters
        ----------
        grid : WeightGrid
            The hypotheses that were calibrated for.
        level : float
            Level of the quantile, in (0, 1).
        simulation : Simulation or None
            How the law is simulated where it has no closed form; None: as by default.

        Raises
        ------
        CalibrationError
            If there is no such bound, or too few draws for the level.

        Notes
        -----
        **Guarantee.** On every table, P[excess loss > ``result.quantile``] <= 1 - ``level``; where
        it is simulated, with probability ``result.confidence`` over the simulation.
        """

        def law(rng: np.random.Generator, draws: int) -> FloatArray:
            return self.simulated_excess(grid, rng, draws)

        return (simulation or Simulation()).bound(law, level)

    def simulated_excess(
        self, grid: WeightGrid, rng: np.random.Generator, draws: int
    ) -> FloatArray:
        """Return draws of a bound on the excess loss, shape (draws,), rows.

        Raises
        ------
        CalibrationError
            If there is no bound for this noise.
        """
        raise CalibrationError(
            "this mechanism has no bound on its errors that holds for every table."
        )

    def excess_over_constants(self, level: float) -> float | None:
        """Return a quantile of the loss above that of the better constant answer.

        Parameters
        ----------
        level : float
            In (0, 1).

        Returns
        -------
        float or None
            Rows, for every table; None where no such bound is known.
        """
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a fit is expected to take: orders of magnitude, no promise.

    Parameters
    ----------
    seconds : float
        Processor time, seconds; most of it on one core, compiled code being on disk.
    memory : float
        Bytes at the peak, besides what the process and the raw table held before.
    """

    seconds: float
    memory: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededBound:
    """The largest weight that a draw has use for.

    Parameters
    ----------
    bound : int
        Weights are in ``-bound .. bound``.
    why : str
        Why not more, in a few words.
    detail : str
        The same in a longer sentence; empty: the same words.
    """

    bound: int
    why: str
    detail: str = ""


SMALLEST_BOUND = NeededBound(
    bound=1,
    why="larger ones make the exact search harder",
    detail="because larger ones make the exact search harder",
)
"""What a mechanism needs for which an oracle searches."""


def work_of_list(grid: WeightGrid) -> Work:
    """Return what it takes to look at every combination of a grid."""
    size = float(grid.n_assignments)
    return Work(seconds=_PER_LISTED * size, memory=BYTES_PER_LISTED * size)


class Perturbable(Protocol):
    """A problem that noise can be subtracted from: points, a table, or a loss of the caller's."""

    @property
    def grid(self) -> WeightGrid:
        """The hypotheses."""
        ...

    @property
    def n_features(self) -> int:
        """Number of coordinates of a hypothesis."""
        ...

    @property
    def perturbation(self) -> Perturbation | None:
        """What is subtracted from the loss."""
        ...

    def with_perturbation(self, perturbation: Perturbation) -> Self:
        """Return the same problem under another perturbation."""
        ...


Problem = TypeVar("Problem", bound=Perturbable)
_Drawn = TypeVar("_Drawn", contravariant=True)


@runtime_checkable
class PerturbingMechanism(Protocol):
    """A mechanism that perturbs the objective and asks an oracle for the minimiser."""

    @property
    def name(self) -> str:
        """Name on receipts."""
        ...

    def calibrate(self, public: GridPublic) -> NoiseSpec:
        """Return the noise; refuse with CalibrationError."""
        ...

    def perturb(self, problem: Problem, spec: NoiseSpec, entropy: EntropySource) -> Problem:
        """Return the problem under fresh noise; the problem itself is unchanged."""
        ...


@runtime_checkable
class SamplingMechanism(Protocol[_Drawn]):
    """A mechanism that draws a hypothesis directly, from one kind of problem."""

    @property
    def name(self) -> str:
        """Name on receipts."""
        ...

    @property
    def sampler(self) -> str:
        """Who draws, on receipts."""
        ...

    @property
    def condition(self) -> str | None:
        """What the draw's end rests on; None if it always ends with a hypothesis."""
        ...

    def calibrate(self, public: GridPublic) -> NoiseSpec:
        """Return the law; refuse with CalibrationError."""
        ...

    def draw(self, problem: _Drawn, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Return one hypothesis from the law."""
        ...


@runtime_checkable
class PreparedMechanism(Protocol):
    """A sampling mechanism that can say beforehand whether a draw may fail."""

    def prepare(self, problem: ZeroOneProblem, spec: NoiseSpec) -> None:
        """Refuse a table that the draw cannot take, and try the draw on a public toy.

        Called before anything is spent: what can fail for another reason than chance fails here.
        """
        ...


Mechanism = PerturbingMechanism | SamplingMechanism[ZeroOneProblem]


class PlannedMechanism(Protocol):
    """What plans ask a mechanism besides its noise: names, work, weights. Public facts only.

    Attributes
    ----------
    options : frozenset of str
        Which of a user's settings it takes.
    """

    options: ClassVar[frozenset[str]]

    @property
    def name(self) -> str:
        """Name on receipts."""
        ...

    @property
    def uses_delta(self) -> bool:
        """Whether a delta is spent."""
        ...

    def work(self, public: GridPublic, points: float) -> Work | None:
        """Return what one draw is expected to take, or None where nobody knows.

        Parameters
        ----------
        public : GridPublic
            What it would be calibrated with.
        points : float
            How many different rows a table can have.
        """
        ...

    def needed_bound(self, public: GridPublic) -> NeededBound | None:
        """Return the largest weight that the draw has use for, where nobody sets a bound.

        None where the errors decide: they grow with the number of hypotheses. A draw that cannot
        tell on so small a grid names the bound to be asked with again.
        """
        ...


class PlannedPerturbing(PerturbingMechanism, PlannedMechanism, Protocol):
    """A mechanism that asks an oracle, and that plans may ask."""


class PlannedSampling(SamplingMechanism[ZeroOneProblem], PlannedMechanism, Protocol):
    """A mechanism that draws, and that plans may ask."""


ScorecardMechanism = PlannedPerturbing | PlannedSampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A hypothesis that may be published, and the promise that was kept.

    Parameters
    ----------
    hypothesis : tuple of int
        Integer weights, the intercept first.
    receipt : GridReceipt
        The privacy statement.
    """

    hypothesis: Hypothesis
    receipt: GridReceipt
