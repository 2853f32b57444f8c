"""Private follow-the-regularised-leader: one sampled vertex of the simplex a round (J14 5.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from opdisc.calibration import require_delta
from opdisc.convex import noiseless_plan
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.simplex import TAIL, zcdp_budget
from opdisc.errors import CalibrationError
from opdisc.noise import categorical
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Ledger,
    NeighboringRelation,
    Prepared,
    prepared_first,
)
from opdisc.privacy.receipts import ConvexReceipt
from oracles.arithmetic import FloatArray

FTRLNoise = Literal["zcdp", "published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineRelease:
    """What an online learner played, and the promise that was kept.

    Parameters
    ----------
    actions : int64 array, shape (T,)
        Number of the vertex played in each round, from 0.
    receipt : ConvexReceipt
        The privacy statement.
    """

    actions: NDArray[np.int64]
    receipt: ConvexReceipt


def plan_ftrl(public: ConvexPublic, *, noise: FTRLNoise = "zcdp") -> NoisePlan:
    """Calibrate private FTRL; arguments as in :func:`private_ftrl`."""
    public.require_relation(
        "private FTRL", NeighboringRelation.REPLACE_ONE, "the number of rounds is seen"
    )
    if public.loss.curvature_bound() != 0:
        raise CalibrationError("private FTRL takes linear losses; use the 'score' loss.")
    require_delta(public.params, "private FTRL")
    largest, rounds = public.bounds.largest_coordinate, public.exact_rows
    if public.is_noiseless:
        return noiseless_plan("private_ftrl", ("entropy weight", 0.0), ("rounds", rounds))
    if noise == "published":
        scale = math.sqrt(8 * rounds * math.log(1 / public.params.delta)) / public.params.epsilon
        status, theorem = CalibrationStatus.REFUTED, "J14 section 5.2"
    elif noise == "zcdp":
        scale = math.sqrt(2 * rounds / zcdp_budget(public.params)) * (1 + 1e-12)
        scale *= public.rows_per_unit
        status, theorem = CalibrationStatus.PROVEN, "zCDP of sampled vertices"
    else:
        raise CalibrationError(f"noise must be zcdp or published, got {noise!r}.")
    return NoisePlan(
        mechanism="private_ftrl",
        theorem=f"{theorem} (docs/convex.md, private-ftrl)",
        status=status,
        law="one vertex a round with log probabilities -(sum of past losses) / weight",
        scales=(1 / (largest * scale),),
        settings=(("entropy weight", largest * scale), ("rounds", rounds)),
        total_variation=rounds * TAIL,
    )


@prepared_first
def private_ftrl(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    noise: FTRLNoise = "zcdp",
    ledger: Ledger | None = None,
) -> Prepared[OnlineRelease]:
    """Play one vertex of the simplex a round, follow-the-regularised-leader (J14 section 5.2).

    Parameters
    ----------
    rows : Rows
        Row t of X is the loss vector of round t; labels are ignored.
    public : ConvexPublic
        Public facts: the "score" loss, ``bounds.linf`` = R, replace-one with n = T rounds.
    entropy : EntropySource
        Random bits.
    noise : str
        "zcdp" (proven) or "published" (``lambda = R sqrt(8 T ln(1/delta)) / epsilon``, refuted at
        epsilon 8).
    ledger : Ledger or None
        Where the budget is recorded first.

    Notes
    -----
    **Guarantee.** Replacing one loss vector moves each round's log weights by at most 2R/lambda,
    within a range of 4R/lambda: ``2 R^2/lambda^2``-zCDP a round, T rounds, adaptively composed.
    """
    plan = plan_ftrl(public, noise=noise)

    def compute() -> FloatArray:
        data = rows.expanded()
        past = np.vstack([np.zeros(public.dimension), np.cumsum(data.X, axis=0)[:-1]])
        if public.is_noiseless:  # follow the leader, the first of equals
            return np.asarray(np.argmin(past, axis=1), dtype=np.float64)
        # The Gumbel-max trick would need p words a round; one word and a search are enough.
        chances = special.softmax(-past / plan.setting("entropy weight"), axis=1)
        return np.array([float(categorical(row, 1, entropy)[0]) for row in chances])

    return prepare(plan, rows, public, compute, entropy=entropy).then(_played)


def _played(done: ConvexRelease) -> OnlineRelease:
    actions = done.parameters.astype(np.int64)
    actions.setflags(write=False)
    return OnlineRelease(actions=actions, receipt=done.receipt)
