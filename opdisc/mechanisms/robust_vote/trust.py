"""What a robust vote rests on besides its proof: which learners are known to stay in."""

from __future__ import annotations

from typing import Literal

from opdisc.mechanisms.receipts import COMPLETE_ORACLES, trusted_name
from opdisc.mechanisms.robust_vote.learners import ErmLearner, PartLearner
from oracles.errors import OracleError
from oracles.interface import Oracle, SolveOptions, get_oracle

Isolation = Literal["process", "none"]

_AUTOMATIC = ("enumeration", "branch-and-bound")
"""What ``"auto"`` stands for on grids that can be listed."""


def vote_conditions(
    learner: PartLearner, isolation: Isolation, time_limit: float | None
) -> tuple[str, ...]:
    """Return what the lemma "one row, one ballot" needs and nobody here can check, in words.

    Parameters
    ----------
    learner : PartLearner
        Public.
    isolation : str
        ``"process"`` or ``"none"``.
    time_limit : float or None
        Wall seconds per part.
    """
    conditions = []
    if isolation == "none":
        conditions.append("the learner remembers nothing between parts and reads no other part")
    if not stays_in(learner):
        conditions += [
            "the learner was built without the rows",
            "the learner reaches nothing outside its process: no file, network, clock or other "
            "process",
        ]
    own = learner.options.time_limit if isinstance(learner, ErmLearner) else None
    limits = [limit for limit in (time_limit, own) if limit is not None]
    if limits:
        conditions.append(
            f"whether a part ends within {min(limits):g} s does not depend on the other parts"
        )
    return tuple(conditions)


def stays_in(learner: PartLearner) -> bool:
    """Return whether a learner is this library's own code throughout, which reaches nothing else.

    A process of its own does not hold a learner that wants out. It can leave a file, or look at
    the clock. It can start another process that outlives the part and kills the servers of later
    parts.
    """
    # The class itself, not one derived from it, and nothing of the user's that it would call.
    if type(learner) is not ErmLearner or type(learner.options) is not SolveOptions:
        return False
    if learner.slack >= 0:
        return True
    # The order in which threads finish is the clock's.
    if learner.options.progress is not None or learner.options.threads != 1:
        return False
    return all(_is_own(oracle) for oracle in _oracles(learner.oracle))


def _oracles(oracle: str | Oracle) -> list[Oracle | None]:
    if not isinstance(oracle, str):
        return [oracle]
    return [_named(name) for name in (_AUTOMATIC if oracle == "auto" else (oracle,))]


def _named(name: str) -> Oracle | None:
    try:
        return get_oracle(name)
    except OracleError:
        return None  # not installed: every part's ballot is empty


def _is_own(oracle: Oracle | None) -> bool:
    if oracle is None or not getattr(oracle, "is_complete", True):
        return False
    return trusted_name(oracle) in COMPLETE_ORACLES
