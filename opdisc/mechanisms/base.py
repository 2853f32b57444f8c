"""What a mechanism is: it calibrates from public inputs, then perturbs or draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar, runtime_checkable

from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic, GridReceipt
from oracles.problem import Hypothesis, Perturbation, WeightGrid, ZeroOneProblem

EVERYWHERE = "on every table and every noise draw"
"""What a limit that may be met has to be assumed for."""

ROWS_COUNT_ONCE = "every row counts once before error costs weigh it"
"""What is assumed of counts that the library did not make from rows, under error costs."""

BOUNDED_ROWS = "every row adds a number in [0, 1] to each loss"
"""What is assumed of losses that the library did not make from rows."""

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
