"""Private follow-the-regularised-leader: one sampled vertex of the simplex a round (J14 5.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from opdisc.calibration import require_delta
from opdisc.convex import noiseless_plan
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.running_sums import NoisySums, no_sums, tree_levels
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

FTRLNoise = Literal["zcdp", "tree", "published"]


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


def plan_ftrl(
    public: ConvexPublic, *, noise: FTRLNoise = "zcdp", conditions: tuple[str, ...] = ()
) -> NoisePlan:
    """Calibrate private FTRL; arguments as in :func:`private_ftrl`, and what a stream rests on."""
    public.require_relation(
        "private FTRL", NeighboringRelation.REPLACE_ONE, "the number of rounds is seen"
    )
    if public.loss.curvature_bound() != 0:
        raise CalibrationError("private FTRL takes linear losses; use the 'score' loss.")
    require_delta(public.params, "private FTRL")
    if public.is_noiseless:
        rounds = public.exact_rows
        return noiseless_plan("private_ftrl", ("entropy weight", 0.0), ("rounds", rounds))
    if noise == "tree":
        return _tree_plan(public, conditions)
    return _vertex_plan(public, noise, conditions)


def _vertex_plan(public: ConvexPublic, noise: FTRLNoise, conditions: tuple[str, ...]) -> NoisePlan:
    largest, rounds = public.bounds.largest_coordinate, public.exact_rows
    if noise == "published":
        scale = math.sqrt(8 * rounds * math.log(1 / public.params.delta)) / public.params.epsilon
        status, theorem = CalibrationStatus.REFUTED, "J14 section 5.2"
    elif noise == "zcdp":
        scale = math.sqrt(2 * rounds / zcdp_budget(public.params)) * (1 + 1e-12)
        scale *= public.rows_per_unit
        status, theorem = CalibrationStatus.PROVEN, "zCDP of sampled vertices"
    else:
        raise CalibrationError(f"noise must be zcdp, tree or published, got {noise!r}.")
    return NoisePlan(
        mechanism="private_ftrl",
        theorem=f"{theorem} (docs/convex.md, private-ftrl)",
        status=status,
        law="one vertex a round with log probabilities -(sum of past losses) / weight",
        scales=(1 / (largest * scale),),
        settings=(("entropy weight", largest * scale), ("rounds", rounds)),
        conditions=conditions,
        total_variation=rounds * TAIL,
    )


def tree_sensitivity(public: ConvexPublic) -> float:
    """Return how far one unit's vectors move a sum that holds them, Euclidean."""
    corner = public.bounds.largest_coordinate * math.sqrt(public.dimension)
    return 2 * public.rows_per_unit * min(public.bounds.l2, corner)


def _tree_plan(public: ConvexPublic, conditions: tuple[str, ...]) -> NoisePlan:
    levels, rho = tree_levels(public.exact_rows), zcdp_budget(public.params)
    scale = tree_sensitivity(public) * math.sqrt(levels / (2 * rho)) * (1 + 1e-12)
    return NoisePlan(
        mechanism="private_ftrl",
        theorem="zCDP of running sums (docs/convex.md, tree-sums)",
        status=CalibrationStatus.PROVEN,
        law="normal noise on sums by binary counting; the vertex of the least noisy sum a round",
        scales=(scale,),
        settings=(("tree levels", levels), ("rounds", public.exact_rows)),
        conditions=conditions,
        total_variation=2 * (public.exact_rows - 1) * public.dimension * TAIL,
    )


class Player:
    """Plays round after round by a plan; its sums are private.

    Parameters
    ----------
    plan : NoisePlan
        What :func:`plan_ftrl` decided.
    dimension : int
        Number p of vertices.
    """

    def __init__(self, plan: NoisePlan, dimension: int) -> None:
        settings = dict(plan.settings)
        self._weight = settings.get("entropy weight", 0.0)
        self._last = int(settings["rounds"])
        levels = int(settings.get("tree levels", 0))
        self._scale = plan.scales[0] if levels else 0.0
        self._tree: NoisySums | None = no_sums(levels, dimension) if levels else None
        self._past = np.zeros(dimension)
        self.rounds = 0

    def step(self, x: FloatArray, entropy: EntropySource) -> int:
        """Return this round's vertex, then take in its loss vector, shape (p,)."""
        action = self._action(entropy)
        if self.rounds + 1 < self._last:  # no later round depends on the last vector
            if self._tree is None:
                self._past = self._past + x
            else:
                self._tree.add(x, self._scale, entropy)
        self.rounds += 1
        return action

    def _action(self, entropy: EntropySource) -> int:
        if self._tree is not None:
            return int(np.argmin(self._tree.total()))
        if self._weight == 0:  # follow the leader, the first of equals
            return int(np.argmin(self._past))
        return int(categorical(special.softmax(-self._past / self._weight), 1, entropy)[0])

    def state(self) -> dict[str, Any]:
        """Return what a later run needs, private sums included, as plain numbers."""
        tree = self._tree
        return {
            "rounds": self.rounds,
            "sums": (self._past[None] if tree is None else tree.exact).tolist(),
            "noisy sums": [] if tree is None else tree.noisy.tolist(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take up what :meth:`state` gave; ValueError if it is of another plan."""
        rounds, sums = int(state["rounds"]), np.array(state["sums"], dtype=np.float64)
        noisy = np.array(state["noisy sums"], dtype=np.float64)
        tree = self._tree
        kept = self._past[None].shape if tree is None else tree.exact.shape
        wrong = sums.shape != kept or (tree is not None and noisy.shape != kept)
        if wrong or not 0 <= rounds <= self._last or not np.all(np.isfinite(sums)):
            raise ValueError("a state of another plan")
        self.rounds = rounds
        if tree is None:
            self._past = sums[0]
        else:
            count = min(rounds, self._last - 1)
            self._tree = NoisySums(exact=sums, noisy=noisy, count=count)


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
        "zcdp" (proven), "tree" (proven: the leader of noisy running sums) or "published"
        (``lambda = R sqrt(8 T ln(1/delta)) / epsilon``, refuted at epsilon 8).
    ledger : Ledger or None
        Where the budget is recorded first.

    Notes
    -----
    **Guarantee.** Replacing one loss vector moves each round's log weights by at most 2R/lambda,
    within a range of 4R/lambda: ``2 R^2/lambda^2``-zCDP a round, T rounds, adaptively composed.
    "tree": each vector is in at most ``L = bit length of T - 1`` sums, normal noise on each.
    """
    plan = plan_ftrl(public, noise=noise)

    def compute() -> FloatArray:
        data = rows.expanded()
        if noise == "tree":
            player = Player(plan, public.dimension)
            return np.array([float(player.step(x, entropy)) for x in data.X])
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
