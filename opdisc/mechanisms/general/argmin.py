"""A hypothesis class that only the caller can minimise over: a perturbed argmin of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from opdisc.mechanisms.base import (
    BOUNDED_ROWS,
    EVERYWHERE,
    NoiseSpec,
    PerturbingMechanism,
    Release,
)
from opdisc.mechanisms.run import run_sampler
from opdisc.privacy import EntropySource, GridPublic, Ledger, SystemEntropy
from oracles.arithmetic import Objective
from oracles.problem import Hypothesis, Perturbation, WeightGrid


class PerturbedArgmin(Protocol):
    """A user's own minimiser of "my loss minus this perturbation" over a grid.

    It gets a :class:`~oracles.Perturbation` (tables by block of coordinates, lattice steps) and
    returns a hypothesis of the grid that exactly minimises
    ``loss_steps(w) - perturbation_value(w)``. Whether it does is a condition on the receipt.
    """

    def __call__(self, perturbation: Perturbation, /) -> Sequence[int]:
        """Return an exact minimiser."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgminProblem:
    """A loss that is evaluated, not listed.

    Parameters
    ----------
    loss_steps : callable
        ``loss_steps(w)``: the private loss of a hypothesis as an integer number of lattice steps.
    grid : WeightGrid
        The hypotheses.
    unit : float
        Lattice spacing, rows.
    perturbation : Perturbation or None
        Subtracted from the loss.
    """

    loss_steps: Callable[[Hypothesis], int]
    grid: WeightGrid
    unit: float
    perturbation: Perturbation | None = None

    @property
    def is_exact(self) -> bool:
        """Whether objectives are exact integers: always."""
        return True

    @property
    def n_features(self) -> int:
        """Number of coordinates of a hypothesis."""
        return self.grid.n_features

    def objective(self, hypothesis: Hypothesis) -> Objective:
        """Return loss minus perturbation, in steps."""
        return int(self.loss_steps(hypothesis)) - perturbation_steps(
            self.perturbation, self.grid, hypothesis
        )

    def with_perturbation(self, perturbation: Perturbation | None) -> ArgminProblem:
        """Return the same problem under another perturbation."""
        return ArgminProblem(
            loss_steps=self.loss_steps,
            grid=self.grid,
            unit=self.unit,
            perturbation=perturbation,
        )


def perturbation_steps(
    perturbation: Perturbation | None, grid: WeightGrid, hypothesis: Sequence[int]
) -> int:
    """Return what a perturbation subtracts from one hypothesis, in lattice steps."""
    if perturbation is None:
        return 0
    at = grid.indices(hypothesis)
    total = sum(
        int(table[tuple(at[j] for j in block)])
        for block, table in zip(perturbation.blocks, perturbation.tables, strict=True)
    )
    if perturbation.norm_table is not None:
        total += int(perturbation.norm_table[sum(int(w) ** 2 for w in hypothesis)])
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgminMinimum:
    """A perturbing mechanism whose minimum the user's minimiser finds.

    Parameters
    ----------
    inner : PerturbingMechanism
        Where the noise comes from.
    argmin : PerturbedArgmin
        The user's minimiser; its word is taken, which is a condition on the receipt.
    sampler : str
        Its name on receipts.

    Notes
    -----
    **Guarantee.** That of ``inner``, if the minimiser is exact.
    """

    inner: PerturbingMechanism
    argmin: PerturbedArgmin
    sampler: str

    @property
    def name(self) -> str:
        """Name on receipts."""
        return self.inner.name

    @property
    def condition(self) -> str:
        """What the promise rests on."""
        return f"'{self.sampler}' returns the exact minimum {EVERYWHERE}"

    def calibrate(self, public: GridPublic) -> NoiseSpec:
        """Return the inner mechanism's noise."""
        return self.inner.calibrate(public)

    def draw(self, problem: ArgminProblem, spec: NoiseSpec, entropy: EntropySource) -> Hypothesis:
        """Ask the minimiser under one fresh perturbation; refuse an answer outside the grid."""
        perturbed = self.inner.perturb(problem, spec, entropy)
        assert perturbed.perturbation is not None
        hypothesis = tuple(int(w) for w in self.argmin(perturbed.perturbation))
        perturbed.objective(hypothesis)
        return hypothesis


def run_with_argmin(
    mechanism: PerturbingMechanism,
    argmin: PerturbedArgmin,
    loss_steps: Callable[[Hypothesis], int],
    public: GridPublic,
    *,
    name: str = "own argmin",
    entropy: EntropySource | None = None,
    ledger: Ledger | None = None,
) -> Release:
    """Release one hypothesis of a class that only the caller can minimise over.

    Parameters
    ----------
    mechanism : PerturbingMechanism
        Where the noise comes from.
    argmin : PerturbedArgmin
        Minimises the caller's loss minus a perturbation, exactly.
    loss_steps : callable
        The private loss of one hypothesis in lattice steps of ``public.spacing``; used to look at
        what ``argmin`` returned.
    public : GridPublic
        All that the noise may depend on.
    name : str
        Of the minimiser, for the receipt.
    entropy, ledger
        As in :func:`run_on_table`.

    Returns
    -------
    Release
        Its receipt is CONDITIONAL on the minimiser being exact on every table and every noise, and
        on every row adding at most 1 to a loss.

    Raises
    ------
    UncertifiedRelease
        If ``argmin`` raised or answered outside the grid; the budget is spent.
    """
    problem = ArgminProblem(loss_steps=loss_steps, grid=public.grid, unit=public.spacing)
    public = replace(public, assumptions=(*public.assumptions, BOUNDED_ROWS))
    return run_sampler(
        ArgminMinimum(inner=mechanism, argmin=argmin, sampler=name),
        problem,
        public,
        entropy=entropy or SystemEntropy(),
        ledger=ledger,
    )
