"""What a benchmark of the oracles runs, and a line of what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from oracles.benchmarking import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What to run.

    Parameters
    ----------
    tasks : tuple of str
        Names in :data:`opdisc.comparison.TASKS`.
    bounds : tuple of int
        Weight bounds.
    epsilons : tuple of float or None
        Privacy losses that the noise would buy; None: no noise.
    seeds : int
        Draws of the noise; without noise there is nothing to draw, and it is the solver's seed.
    oracles : tuple of str
        Their names.
    time_limit : float
        Seconds for each solve.
    limits : mapping of str to float
        Other limits for single oracles.
    threads : int
        For every oracle.
    skip_hopeless : bool
        Whether an oracle that ran out of time is spared the instances of the task with weights at
        least as large and noise at most as strong, and those with other seeds. An instance
        without noise is compared with those without noise only.
    """

    tasks: tuple[str, ...]
    bounds: tuple[int, ...]
    epsilons: tuple[float | None, ...]
    seeds: int
    oracles: tuple[str, ...]
    time_limit: float
    limits: Mapping[str, float] = field(default_factory=dict)
    threads: int = 1
    skip_hopeless: bool = False

    def limit(self, oracle: str) -> float:
        """Return the time limit of an oracle, seconds."""
        return self.limits.get(oracle, self.time_limit)

    @property
    def n_solves(self) -> int:
        """Number of solves, those to be skipped included."""
        instances = len(self.tasks) * len(self.bounds) * len(self.epsilons) * self.seeds
        return instances * len(self.oracles)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All seeds and oracles on one task, grid and strength of noise.

    Parameters
    ----------
    task : str
        Its name.
    bound : int
        Weight bound.
    epsilon : float or None
        None: no noise.
    runs : tuple of mapping of str to Measurement
        One per seed, by oracle.
    """

    task: str
    bound: int
    epsilon: float | None
    runs: tuple[Mapping[str, Measurement], ...]
