"""Private winners of votes: permute-and-flip, or a stability test that may answer "none"."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from opdisc.arguments import check_choice, check_delta, check_integer
from opdisc.calibration import block_decay_rates, lattice_margin
from opdisc.errors import CalibrationError, large_number
from opdisc.mechanisms.base import NoiseSpec
from opdisc.mechanisms.robust_vote.learners import CANDIDATE_LIMIT
from opdisc.noise import discrete_laplace, geometric, geometric_total_variation
from opdisc.privacy import CalibrationStatus, EntropySource, GridPublic
from opdisc.tuned import ROWS_PER_PART, VOTES_PER_NOISE
from oracles.arithmetic import IntArray
from oracles.problem import Hypothesis, WeightGrid, hypothesis_at, squared_norms

VoteRule = Literal["permute_and_flip", "stability"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteSpec(NoiseSpec):
    """Calibrated noise of a vote.

    Parameters
    ----------
    rate : Fraction
        Decay of the noise, nats per lattice step.
    threshold : int
        Lattice steps by which the noisy lead must reach (stability rule only).
    """

    rate: Fraction
    threshold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RobustVoteMechanism:
    """The winner of many small learners, none of which is trusted.

    Parameters
    ----------
    n_parts : int
        Public number of parts.
    rule : str
        ``"permute_and_flip"`` (pure) or ``"stability"`` (needs delta > 0; may answer "none").
    name : str
        Name on receipts.

    Notes
    -----
    **Guarantee.** Under either relation a privacy unit with r rows touches at most r ballots. Each
    entry of a ballot is in [0, 1], so the pairwise sensitivity of the votes is 2 r. Pure
    epsilon-DP for permute-and-flip, (epsilon, delta)-DP for the stability test, whatever learners
    and oracles answer, if each sees its own part only: docs/robust.md.
    """

    n_parts: int
    rule: VoteRule = "permute_and_flip"
    name: str = "robust_vote"

    @property
    def uses_delta(self) -> bool:
        """Whether the stability test may fail with probability delta."""
        return self.rule == "stability"

    def calibrate(self, public: GridPublic) -> VoteSpec:
        """Return the noise of the vote."""
        check_integer("n_parts", self.n_parts)
        check_choice("rule", self.rule, get_args(VoteRule))
        check_candidates(public.grid)
        sensitivity = vote_sensitivity(public)
        spacing = Fraction(public.spacing)
        if self.rule == "permute_and_flip":
            margin = lattice_margin(sensitivity, 0, spacing)
            n_candidates = public.grid.n_assignments
            rate = block_decay_rates([n_candidates], margin, spacing, public.params.epsilon)[0]
            law, draws, threshold = "one-sided geometric for every candidate", n_candidates, 0
            theorem = "robust vote by permute-and-flip (docs/robust.md)"
        else:
            rate = Fraction(public.params.epsilon) * spacing / sensitivity
            threshold = stability_threshold(rate, public.params.delta)
            threshold += int(sensitivity / spacing)
            law, draws = f"discrete Laplace on the lead, which must reach {threshold} steps", 2
            theorem = "robust vote by the stability test (docs/robust.md)"
        return VoteSpec(
            law=law,
            scales=(float(spacing / rate),),
            theorem=theorem,
            status=CalibrationStatus.PROVEN,
            allowance=0.0,
            total_variation=geometric_total_variation(rate, draws),
            spacing=public.spacing,
            rate=rate,
            threshold=threshold,
        )

    def choose(
        self, votes: IntArray, grid: WeightGrid, spec: VoteSpec, entropy: EntropySource
    ) -> Hypothesis | None:
        """Return the private winner.

        Parameters
        ----------
        votes : ndarray of shape (N,), int64
            Ballots that approve of each assignment, enumeration order.
        grid : WeightGrid
            The candidates.
        spec : VoteSpec
            From :meth:`calibrate`.
        entropy : EntropySource
            Random bits.
        """
        steps = votes * round(1 / spec.spacing)
        allowed = _members(grid)
        if self.rule == "permute_and_flip":
            noisy = steps + geometric(spec.rate, len(steps), entropy)
            return hypothesis_at(grid, int(allowed[np.argmax(noisy[allowed])]))
        top = int(allowed[np.argmax(steps[allowed])])
        others = allowed[allowed != top]
        lead = int(steps[top] - steps[others].max()) if len(others) else 0
        noise = int(discrete_laplace(spec.rate, 1, entropy)[0])
        return hypothesis_at(grid, top) if lead + noise >= spec.threshold else None


def vote_sensitivity(public: GridPublic) -> int:
    """Return the pairwise sensitivity of the votes: 2 per row of a unit, under both relations."""
    return 2 * public.rows_per_unit


def stability_threshold(rate: Fraction, delta: float) -> int:
    """Return the smallest k >= 1 with ``P[X >= k] <= delta`` for discrete Laplace noise X.

    Notes
    -----
    ``P[X >= k] = p^k / (1 + p)`` with ``p = exp(-rate)``, k >= 1. Rounded up and re-evaluated.

    Raises
    ------
    CalibrationError
        If delta is 0.
    """
    check_delta("the stability test", delta, "give a delta or use permute_and_flip")
    p = math.exp(-float(rate))
    k = max(1, math.floor(-math.log(delta * (1 + p)) / float(rate)))
    while -k * float(rate) * (1 - 1e-12) - math.log1p(p) > math.log(delta):
        k += 1
    return k


def check_candidates(grid: WeightGrid) -> None:
    """Refuse candidate lists that are too long to vote on, offer no choice or are no list."""
    if grid.alternatives:
        raise CalibrationError(
            "a vote takes no alternatives among the columns; leave them out of the schema, or use "
            "PrivateScorecardClassifier."
        )
    if grid.n_assignments > CANDIDATE_LIMIT:
        raise CalibrationError(
            f"a vote takes at most {CANDIDATE_LIMIT:,} candidates, got "
            f"{large_number(grid.n_assignments)}; use fewer columns or smaller weights."
        )
    if grid.n_hypotheses < 2:
        raise CalibrationError("a vote needs at least two candidates; allow more weights.")


def default_parts(epsilon: float, n_candidates: int, n_rows: int | None) -> int:
    """Return a public number of parts: three times the largest noise, of 30 rows or more each."""
    wanted = math.ceil(VOTES_PER_NOISE * 2 / epsilon * math.log(n_candidates))
    if n_rows is None:
        return max(2, wanted)
    return max(2, min(wanted, n_rows // ROWS_PER_PART))


def _members(grid: WeightGrid) -> NDArray[np.intp]:
    if grid.norm_budget is None:
        return np.arange(grid.n_assignments)
    return np.flatnonzero(squared_norms(grid) <= grid.norm_budget)
