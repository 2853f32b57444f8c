"""Choosing among private candidates, privately: a random number of trials, the best one released.

Trying several settings and keeping the best leaks through the choice. Here the number of trials is
random, each trial takes a random setting, fits privately and scores privately, and only the best
trial leaves (:mod:`opdisc.mechanisms.selection.random_stopping`, docs/tuning.md).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Generic

import msgspec

from opdisc.arguments import check_within
from opdisc.errors import CalibrationError
from opdisc.mechanisms.selection.candidates import (
    CANDIDATE_NUMERICAL,
    Candidate,
    CandidateReceipt,
    Model,
    PromisingCandidate,
    check_promise,
    count_right,
)
from opdisc.mechanisms.selection.random_stopping import TrialLaw, trial_budget, trial_law
from opdisc.mechanisms.selection.receipt import SelectionReceipt
from opdisc.noise import discrete_laplace, geometric_total_variation, integers
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Guarantee,
    Ledger,
    NeighboringRelation,
    Prepared,
    PrivacyParams,
    PublicInputs,
    SystemEntropy,
    WeakPromise,
    common_fields,
    receipt_costs,
)
from oracles.problem import ErrorCosts

_DOWN = 1 - 1e-12

_CONDITIONS = (
    "every candidate keeps the promise of its own receipt",
    "one row changes a candidate's number of right answers by at most 1",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected(Generic[Model]):
    """The best trial. How many trials there were is private, and is not kept.

    Parameters
    ----------
    model : object
        What the best trial fitted.
    name : str
        Name of its candidate.
    noisy_correct : int
        Its number of right answers with noise; released with it.
    receipt : SelectionReceipt
        The privacy statement.
    """

    model: Model
    name: str
    noisy_correct: int
    receipt: SelectionReceipt


def private_selection(
    candidates: Sequence[Candidate[Model]],
    *,
    params: PrivacyParams,
    relation: NeighboringRelation,
    expected_trials: float = 10.0,
    shape: float = 0.0,
    score_share: float = 0.2,
    rows_per_unit: int = 1,
    privacy_unit: str = "one row",
    entropy: EntropySource | None = None,
    ledger: Ledger | None = None,
) -> Selected[Model]:
    """Try a random number of random candidates and release the best by a noisy score.

    Parameters
    ----------
    candidates : sequence of Candidate
        Settings, written down without looking at the rows; each trial takes one uniformly. They
        mark which rows they get right, and the marks are counted here.
    params : PrivacyParams
        Budget of the whole selection: every fit, every score and the choice.
    relation : NeighboringRelation
        Which tables are neighbours; the candidates' receipts must name the same.
    expected_trials, shape : float
        Law of the number of trials; see :func:`trial_law`.
    score_share : float
        Share of a trial's epsilon that its score costs, in (0, 1).
    rows_per_unit : int
        Public maximum of rows per privacy unit, and so the sensitivity of a score; the candidates'
        receipts must state the same.
    privacy_unit : str
        What one neighbour changes, in words; the candidates' receipts must state the same.
    entropy : EntropySource or None
        Random bits; None takes the operating system's.
    ledger : Ledger or None
        Where the budget is recorded before anything is drawn. Candidates record nothing.

    Returns
    -------
    Selected
        The best trial and a receipt for the selection.

    Raises
    ------
    CalibrationError
        If an argument is out of range, or what a candidate promises beforehand exceeds its budget
        or is for other neighbours; nothing is spent.
    UncertifiedRelease
        If a candidate fails, or its fit or marks break what it must keep to; the budget stays
        spent.

    Notes
    -----
    **Guarantee.** ``params`` in all, if each candidate keeps the promise of its receipt: (eps,
    delta) per trial costs ``((2 + eta) eps, E[K] delta)`` (docs/tuning.md, entry
    "random-stopping"). A trial's score is the count of right answers plus discrete Laplace noise;
    one unit changes the count by at most ``rows_per_unit``.
    **Not covered.** The number of trials, and so the running time: neither may be published.
    """
    law = trial_law(expected_trials, shape)
    public = PublicInputs(
        params=params, relation=relation, rows_per_unit=rows_per_unit, privacy_unit=privacy_unit
    )
    charge = prepare_selection(
        candidates,
        public,
        law,
        score_share=score_share,
        entropy=SystemEntropy() if entropy is None else entropy,
        conditions=_CONDITIONS,
    )
    return charge.run(ledger)


def prepare_selection(
    candidates: Sequence[Candidate[Model]],
    public: PublicInputs,
    law: TrialLaw,
    *,
    score_share: float,
    entropy: EntropySource,
    conditions: Sequence[str] = (),
    error_costs: ErrorCosts | None = None,
) -> Prepared[Selected[Model]]:
    """Prepare what :func:`private_selection` does, of candidates that may need no conditions.

    Parameters
    ----------
    candidates : sequence of Candidate
        Settings; those that promise are compared before anything is spent.
    public : PublicInputs
        Budget of the whole selection and what is public about the table.
    law : TrialLaw
        Law of the number of trials.
    score_share, entropy
        As in :func:`private_selection`.
    conditions : sequence of str
        What the guarantee rests on besides the candidates' own conditions.
    error_costs : ErrorCosts or None
        What the candidates' counts weigh right answers by; None: each is one.
    """
    names = tuple(candidate.name for candidate in candidates)
    if not names or len(set(names)) < len(names):
        raise CalibrationError("candidates must be one or more, with distinct names.")
    check_within("score_share", score_share, 0, 1)
    trial = trial_budget(public.params, law)
    fit = PrivacyParams(epsilon=(1 - score_share) * trial.epsilon * _DOWN, delta=trial.delta)
    promises = [c.promise(fit) for c in candidates if isinstance(c, PromisingCandidate)]
    for promised in promises:
        check_promise(promised, fit, public)
    theirs = [condition for promised in promises for condition in promised.conditions]
    costs = error_costs or ErrorCosts()
    sensitivity = score_sensitivity(public) * costs.largest
    rate = Fraction(score_share * trial.epsilon) / sensitivity
    noise = _SelectionNoise(
        scales=(sensitivity / (score_share * trial.epsilon),),
        total_variation=law.total_variation + law.mean * geometric_total_variation(rate, 2),
    )
    common = common_fields(
        "private selection",
        noise,
        _with_agreed_facts(public, promises if len(promises) == len(candidates) else []),
        entropy,
        conditions=tuple(dict.fromkeys((*conditions, *theirs))),
        void=[_VOID_CANDIDATE] if any(_is_void(p) for p in promises) else [],
    )
    common["delta_numerical"] += law.mean * CANDIDATE_NUMERICAL
    receipt = SelectionReceipt(
        **common,
        candidates=names,
        shape=law.shape,
        stop=law.stop,
        expected_trials=law.mean,
        trial_epsilon=trial.epsilon,
        trial_delta=trial.delta,
        score_epsilon=score_share * trial.epsilon,
        score_sensitivity=sensitivity,
        error_costs=receipt_costs(costs),
    )

    def draw() -> Selected[Model]:
        best: tuple[int, Candidate[Model], Model, CandidateReceipt] | None = None
        void = False
        for _ in range(law.draw(entropy)):
            candidate = candidates[int(integers(len(candidates), 1, entropy)[0])]
            model, promised, marks = _tried(candidate, fit)
            right = count_right(marks)
            check_promise(promised, fit, public)
            void = void or _is_void(promised)
            noisy = right + int(discrete_laplace(rate, 1, entropy)[0])
            # Trials are exchangeable, so keeping the earlier of two equal scores is a fair coin.
            if best is None or noisy > best[0]:
                best = (noisy, candidate, model, promised)
        assert best is not None  # the law starts at one trial
        noisy, candidate, model, promised = best
        return Selected(
            model=model,
            name=candidate.name,
            noisy_correct=noisy,
            receipt=_concluded(receipt, promised, void),
        )

    return Prepared(receipt=receipt, draw=draw, refusal=_FAILED)


def score_sensitivity(public: PublicInputs) -> int:
    """Return by how much one privacy unit can change the number of right answers.

    Replace-one turns at most r marks around, up or down; add-or-remove-one adds or removes at most
    r marks, each 0 or 1. So it is r, the rows of a unit, under both.
    """
    return public.rows_per_unit


_VOID_CANDIDATE = "a candidate's own receipt is VOID"


@dataclass(frozen=True, slots=True, kw_only=True)
class _SelectionNoise:
    """The noise of the scores, as a receipt states it."""

    scales: tuple[float, ...]
    total_variation: float
    law: str = "discrete Laplace on each trial's score, and a random number of trials"
    theorem: str = "random stopping (docs/tuning.md, random-stopping)"
    status: CalibrationStatus = CalibrationStatus.PROVEN


_FAILED = (
    "a candidate failed, or broke its promise or its marks, so the selection releases nothing; "
    "the budget is spent: try the candidates by themselves on a public table."
)


def _tried(candidate: Candidate[Model], fit: PrivacyParams) -> tuple[Model, CandidateReceipt, Any]:
    with warnings.catch_warnings():
        # The promises were warned of before; one warning for each trial would count them.
        warnings.simplefilter("ignore", WeakPromise)
        model, promised = candidate.fit(fit)
    return model, promised, candidate.correct(model)


def _is_void(promised: CandidateReceipt) -> bool:
    return promised.guarantee == Guarantee.VOID.value


def _with_agreed_facts(public: PublicInputs, promises: Sequence[CandidateReceipt]) -> PublicInputs:
    """Return public facts with the schema and number of rows that all promises state."""
    digests = {promised.schema_digest for promised in promises}
    counts = {getattr(promised, "n_rows", None) for promised in promises}
    return replace(
        public,
        schema_digest=digests.pop() if len(digests) == 1 else public.schema_digest,
        n_rows=counts.pop() if len(counts) == 1 else public.n_rows,
    )


def _concluded(
    receipt: SelectionReceipt, promised: CandidateReceipt, void: bool
) -> SelectionReceipt:
    guarantee, conditions = receipt.guarantee, receipt.conditions
    if guarantee != Guarantee.VOID.value and void:
        guarantee, conditions = Guarantee.VOID.value, (_VOID_CANDIDATE,)
    elif guarantee != Guarantee.VOID.value:
        conditions = tuple(dict.fromkeys((*conditions, *promised.conditions)))
        guarantee = (Guarantee.CONDITIONAL if conditions else Guarantee.HOLDS).value
    return msgspec.structs.replace(
        receipt, schema_digest=promised.schema_digest, guarantee=guarantee, conditions=conditions
    )
