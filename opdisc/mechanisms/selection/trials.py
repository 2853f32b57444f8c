"""Choosing among private candidates, privately: a random number of trials, the best one released.

Trying several settings and keeping the best leaks through the choice. Here the number of trials is
random, each trial takes a random setting, fits privately and scores privately, and only the best
trial leaves (:mod:`opdisc.mechanisms.selection.random_stopping`, docs/tuning.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

import msgspec

from opdisc.errors import CalibrationError, OPDiscError, UncertifiedRelease
from opdisc.mechanisms.selection.random_stopping import trial_budget, trial_law
from opdisc.mechanisms.selection.receipt import SelectionReceipt
from opdisc.noise import discrete_laplace, geometric_total_variation, integers
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Expense,
    Guarantee,
    Ledger,
    NeighboringRelation,
    PrivacyParams,
    PublicInputs,
    SystemEntropy,
    common_fields,
)

_DOWN = 1 - 1e-12

Model = TypeVar("Model")


class CandidateReceipt(Expense, Protocol):
    """What a candidate's own receipt must say."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """What it rests on."""
        ...


class Candidate(Protocol[Model]):
    """One setting: fits privately, and counts the right answers of what it fitted."""

    @property
    def name(self) -> str:
        """Names the setting; public."""
        ...

    def fit(self, params: PrivacyParams) -> tuple[Model, CandidateReceipt]:
        """Fit within a budget and return the model with its receipt."""
        ...

    def correct(self, model: Model) -> int:
        """Return the number of private rows that the model predicts rightly."""
        ...


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
        Settings, written down without looking at the rows; each trial takes one uniformly.
    params : PrivacyParams
        Budget of the whole selection: every fit, every score and the choice.
    relation : NeighboringRelation
        Which tables are neighbours; the candidates' receipts must name the same.
    expected_trials, shape : float
        Law of the number of trials; see :func:`trial_law`.
    score_share : float
        Share of a trial's epsilon that its score costs, in (0, 1).
    rows_per_unit : int
        Public maximum of rows per privacy unit.
    privacy_unit : str
        What one neighbour changes, in words.
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
        If an argument is out of range, or a candidate's receipt exceeds its budget.
    UncertifiedRelease
        If a candidate fails; the budget stays spent.

    Notes
    -----
    **Guarantee.** ``params`` in all, if each candidate keeps the promise of its receipt: (eps,
    delta) per trial costs ``((2 + eta) eps, E[K] delta)`` (docs/tuning.md, entry
    "random-stopping"). A trial's score is the count of right answers plus discrete Laplace noise.
    **Not covered.** The number of trials, and so the running time: neither may be published.
    """
    entropy = SystemEntropy() if entropy is None else entropy
    names = tuple(candidate.name for candidate in candidates)
    if not names or len(set(names)) < len(names):
        raise CalibrationError("candidates must be one or more, with distinct names.")
    if not 0 < score_share < 1:
        raise CalibrationError(f"score_share must be in (0, 1), got {score_share!r}.")
    if isinstance(rows_per_unit, bool) or not rows_per_unit >= 1:
        raise CalibrationError(f"rows_per_unit must be at least 1, got {rows_per_unit!r}.")
    law = trial_law(expected_trials, shape)
    trial = trial_budget(params, law)
    rate = Fraction(score_share * trial.epsilon) / rows_per_unit
    fit = PrivacyParams(epsilon=(1 - score_share) * trial.epsilon * _DOWN, delta=trial.delta)
    noise = _SelectionNoise(
        scales=(rows_per_unit / (score_share * trial.epsilon),),
        total_variation=law.total_variation + law.mean * geometric_total_variation(rate, 2),
    )
    public = PublicInputs(
        params=params, relation=relation, rows_per_unit=rows_per_unit, privacy_unit=privacy_unit
    )
    common = common_fields("private selection", noise, public, entropy, conditions=_CONDITIONS)
    common["delta_numerical"] += law.mean * _CANDIDATE_NUMERICAL
    receipt = SelectionReceipt(
        **common,
        candidates=names,
        shape=law.shape,
        stop=law.stop,
        expected_trials=law.mean,
        trial_epsilon=trial.epsilon,
        trial_delta=trial.delta,
        score_epsilon=score_share * trial.epsilon,
        score_sensitivity=rows_per_unit,
    )
    if ledger is not None:
        ledger.spend(receipt)
    best: tuple[int, Candidate[Model], Model, CandidateReceipt] | None = None
    void = False
    for _ in range(law.draw(entropy)):
        candidate = candidates[int(integers(len(candidates), 1, entropy)[0])]
        model, promised, right = _tried(candidate, fit)
        _check_promise(promised, fit, relation)
        void = void or promised.guarantee == Guarantee.VOID.value
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


_CANDIDATE_NUMERICAL = 2.0**-40
"""Largest delta_numerical of a candidate; the receipt pays for it whichever candidates ran."""

_CONDITIONS = ("every candidate keeps the promise of its own receipt",)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SelectionNoise:
    """The noise of the scores, as a receipt states it."""

    scales: tuple[float, ...]
    total_variation: float
    law: str = "discrete Laplace on each trial's score, and a random number of trials"
    theorem: str = "random stopping (docs/tuning.md, random-stopping)"
    status: CalibrationStatus = CalibrationStatus.PROVEN


def _tried(candidate: Candidate[Model], fit: PrivacyParams) -> tuple[Model, CandidateReceipt, int]:
    try:
        model, promised = candidate.fit(fit)
        return model, promised, int(candidate.correct(model))
    except OPDiscError:
        raise  # its sentences hold nothing of the rows
    except Exception:  # noqa: BLE001  # nosec B110 # it may depend on the rows: say no more
        pass  # raised below, so that no cause with values of the rows is attached
    raise UncertifiedRelease(
        "a candidate failed, so the selection releases nothing; the budget is spent: try the "
        "candidates by themselves on a public table."
    )


def _check_promise(
    promised: CandidateReceipt, fit: PrivacyParams, relation: NeighboringRelation
) -> None:
    within = promised.epsilon <= fit.epsilon and promised.delta <= fit.delta
    if not (within and promised.delta_numerical <= _CANDIDATE_NUMERICAL):
        raise CalibrationError("a candidate's receipt must keep to the budget it was given.")
    if promised.relation != relation.value:
        raise CalibrationError(
            f"candidates must be private under {relation.value}, one is under "
            f"{promised.relation}; fit it under the same relation."
        )


def _concluded(
    receipt: SelectionReceipt, promised: CandidateReceipt, void: bool
) -> SelectionReceipt:
    guarantee, conditions = receipt.guarantee, receipt.conditions
    if guarantee != Guarantee.VOID.value and void:
        guarantee, conditions = Guarantee.VOID.value, ("a candidate's own receipt is VOID",)
    elif guarantee != Guarantee.VOID.value:
        conditions = (*conditions, *promised.conditions)
    return msgspec.structs.replace(
        receipt, schema_digest=promised.schema_digest, guarantee=guarantee, conditions=conditions
    )
