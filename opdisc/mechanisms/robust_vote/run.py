"""Robust vote: a guarantee that does not trust the oracle (docs/robust.md).

Every row draws one of disjoint parts, a learner looks at each part by itself, and the winner of
the parts' ballots is chosen privately from a public list. One row touches one ballot.
"""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace

import numpy as np

from opdisc.errors import CalibrationError, rehearse
from opdisc.mechanisms.receipts import grid_section
from opdisc.mechanisms.rehearsal import check_size, toy_problem
from opdisc.mechanisms.robust_vote.isolation import IsolatedCalls
from opdisc.mechanisms.robust_vote.learners import (
    Ballots,
    ErmLearner,
    EstimatorLearner,
    Part,
    PartLearner,
)
from opdisc.mechanisms.robust_vote.parts import check_table, part_numbers, rows_of
from opdisc.mechanisms.robust_vote.rules import RobustVoteMechanism, vote_sensitivity
from opdisc.mechanisms.robust_vote.trust import Isolation, vote_conditions
from opdisc.privacy import (
    EntropySource,
    GridPublic,
    GridReceipt,
    Ledger,
    Prepared,
    PrivacyParams,
    common_fields,
    prepared_first,
)
from oracles.arithmetic import IntArray
from oracles.interface import resolve_oracle
from oracles.problem import Hypothesis, WeightGrid

_TOY_ROWS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteRelease:
    """The published outcome of a vote.

    Parameters
    ----------
    hypothesis : tuple of int or None
        The winner; None is the public answer "none" of the stability rule.
    receipt : GridReceipt
        The privacy statement.
    """

    hypothesis: Hypothesis | None
    receipt: GridReceipt


@prepared_first
def run_robust_vote(
    mechanism: RobustVoteMechanism,
    learner: PartLearner,
    table: Part,
    public: GridPublic,
    *,
    entropy: EntropySource,
    isolation: Isolation = "process",
    time_limit: float | None = None,
    ledger: Ledger | None = None,
    learner_name: str | None = None,
) -> Prepared[VoteRelease]:
    """Split, ask the learner for a ballot per part, and release the winner.

    Parameters
    ----------
    mechanism : RobustVoteMechanism
        How many parts, and how the winner is chosen.
    learner : PartLearner
        Anything. Its answers are not trusted; unless it is this library's own code, the receipt
        is CONDITIONAL on its reaching nothing outside its process.
    table : tuple of ndarray
        Arrays of equal length, one entry per row, e.g. ``(points, labels)``; int64 or float64.
    public : GridPublic
        Its grid is the list of candidates.
    entropy : EntropySource
        Random bits; anything but the operating system's makes the receipt VOID.
    isolation : str
        ``"process"``: each part in a process that has seen no other. ``"none"``: a copy of the
        learner in this process, CONDITIONAL on it remembering and looking up nothing.
    time_limit : float or None
        Public wall seconds per part, after which it casts the empty ballot; CONDITIONAL on no part
        slowing another down. None: a learner that never ends releases nothing.
    ledger : Ledger or None
        Where the budget is recorded first.
    learner_name : str or None
        For the receipt; None takes the learner's type.

    Returns
    -------
    VoteRelease
        Winner and receipt.

    Raises
    ------
    CalibrationError, IsolationError, OracleUnavailable, UnsupportedProblem
        If it cannot run, or the licence of the learner's oracle may not take a part; nothing is
        spent.
    """
    spec = mechanism.calibrate(public)
    check_table(table)
    if isolation not in ("process", "none"):
        raise CalibrationError(f"isolation must be process or none, got '{isolation}'.")
    if isolation == "none" and time_limit is not None:
        raise CalibrationError("a time limit per part needs isolation='process'.")
    named = learner_name or getattr(learner, "__name__", type(learner).__name__)
    who = f"untrusted {named} on {mechanism.n_parts} parts, isolation: {isolation}"
    conditions = vote_conditions(learner, isolation, time_limit)
    spent = public
    if not mechanism.uses_delta:
        spent = replace(public, params=PrivacyParams(epsilon=public.params.epsilon, delta=0.0))
    common = common_fields(mechanism.name, spec, spent, entropy, conditions=conditions)
    section = grid_section(spec, public, who) | {"sensitivity": vote_sensitivity(public)}
    receipt = GridReceipt(**common, **section, choice="")
    ballots = Ballots(learner, public.grid)
    with _answers(ballots, isolation, time_limit) as answer:
        _rehearse(answer, ballots, str(named))
    _check_sizes(learner, public)

    def draw() -> VoteRelease:
        parts = part_numbers(len(table[0]), mechanism.n_parts, entropy)
        with _answers(ballots, isolation, time_limit) as answer:
            votes = collect_votes(answer, table, parts, mechanism.n_parts, public.grid)
        winner = mechanism.choose(votes, public.grid, spec, entropy)
        return VoteRelease(hypothesis=winner, receipt=receipt)

    return Prepared(receipt=receipt, draw=draw, refusal=_UNCOUNTED)


_UNCOUNTED = (
    "a vote needs all its ballots counted, but it ended before; the budget is spent and nothing "
    "is released: try the learner on a public table."
)


def _rehearse(answer: Callable[[Part], bytes | None], ballots: Ballots, named: str) -> None:
    """Ask a learner of this library for its ballot on a public toy part; refuse an empty one.

    Its oracle or estimator may be missing or broken: no part would vote, and the winner would be
    noise. What a table of somebody else's learner looks like is not known.
    """
    if not isinstance(ballots.learner, ErmLearner | EstimatorLearner):
        return
    points = np.tile(toy_problem(ballots.grid).points, (_TOY_ROWS // 2, 1))
    # Either point has both labels, in equal numbers.
    labels = np.tile(np.array([1, 1, -1, -1], dtype=np.int64), _TOY_ROWS // 4)

    def attempt() -> None:
        if not any(answer((points, labels)) or b""):
            raise CalibrationError("a learner approves of somebody on the toy part.")

    rehearse(f"learner '{named}'", attempt)


def _check_sizes(learner: PartLearner, public: GridPublic) -> None:
    """Refuse an oracle whose licence may not take a part: one part may have all rows."""
    if isinstance(learner, ErmLearner) and learner.slack < 0:
        toy = toy_problem(public.grid)
        check_size(resolve_oracle(learner.oracle, toy), toy, public)


def collect_votes(
    answer: Callable[[Part], bytes | None],
    table: Part,
    parts: IntArray,
    n_parts: int,
    grid: WeightGrid,
) -> IntArray:
    """Return how many ballots approve of each assignment, shape (N,) int64."""
    size = grid.n_assignments
    votes = np.zeros(size, dtype=np.int64)
    for k in range(n_parts):
        ballot = answer(rows_of(table, np.flatnonzero(parts == k)))
        # A failed part's fixed public vote: nobody.
        if ballot is not None and len(ballot) == -(-size // 8):
            votes += np.unpackbits(np.frombuffer(ballot, dtype=np.uint8), count=size)
    return votes


@contextmanager
def _answers(
    ballots: Ballots, isolation: Isolation, time_limit: float | None
) -> Iterator[Callable[[Part], bytes | None]]:
    if isolation == "none":
        yield lambda part: _answer_here(ballots, part)
        return
    modules = (type(ballots.learner).__module__,)
    with IsolatedCalls(ballots, ballots.n_bytes, time_limit=time_limit, modules=modules) as calls:
        yield calls.answer


def _answer_here(ballots: Ballots, part: Part) -> bytes | None:
    """Ask a fresh copy of the learner; whatever it raises or prints is dropped."""
    try:
        with (
            redirect_stdout(io.StringIO()),
            redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            return Ballots(copy.deepcopy(ballots.learner), ballots.grid)(part)
    except BaseException:
        return None
