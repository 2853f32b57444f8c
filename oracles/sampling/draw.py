"""Exact draws of hypotheses with probability proportional to ``exp(-beta * L(w))``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from oracles.arithmetic import EntropySource
from oracles.problem import ColumnGroup, Hypothesis, LogWeights, ZeroOneProblem
from oracles.sampling.options import SamplingOptions
from oracles.sampling.rejection import PartitionSampler


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleDraw:
    """A drawn hypothesis and how far its law may be from the target.

    Parameters
    ----------
    hypothesis : tuple of int
        The draw.
    total_variation_bound : float
        Bound on the total-variation distance of its law from the target, given uniform words.
    """

    hypothesis: Hypothesis
    total_variation_bound: float


def sample_hypotheses(
    problem: ZeroOneProblem,
    beta: Fraction | float,
    *,
    structure: Sequence[ColumnGroup] = (),
    entropy: EntropySource,
    options: SamplingOptions | None = None,
    log_weights: LogWeights | None = None,
) -> SampleDraw:
    """Draw one ``w`` with probability proportional to ``exp(-beta * L(w))`` from a large grid.

    Parameters
    ----------
    problem : ZeroOneProblem
        No perturbation.
    beta : Fraction or float
        Inverse temperature, nats per row of loss, >= 0.
    structure : sequence of ColumnGroup
        Public facts about columns; those of no group are free.
    entropy : EntropySource
        Where the random words come from.
    options : SamplingOptions or None
        Limits and callbacks.
    log_weights : LogWeights or None
        If given, probabilities are multiplied by the exponential of a hypothesis's log-weight.

    Raises
    ------
    UnsupportedProblem
        If the structure is too large to sum over; decided by public facts alone.
    NoHypothesis
        If the cap on rounds was met.
    InconsistentSolution
        If an invariant was violated; nothing is drawn then.
    """
    sampler = PartitionSampler(problem, beta, structure, options, log_weights)
    return SampleDraw(
        hypothesis=sampler.draw(entropy), total_variation_bound=sampler.total_variation_bound
    )
