"""What a receipt will say, known before a fit: made by the functions that make the receipt."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opdisc.errors import CalibrationError
from opdisc.mechanisms import (
    PerturbingMechanism,
    PreparedRelease,
    RiskSpec,
    ThresholdPlan,
    receipt_of_cards,
    receipt_with_risks,
    receipt_with_thresholds,
    toy_problem,
)
from opdisc.planning.weight_rule import SettledFit
from opdisc.privacy import (
    Guarantee,
    PrivacyReceipt,
    PublicInputs,
    SystemEntropy,
    weak_promise_text,
)
from oracles.errors import UnsupportedProblem
from oracles.interface import SolveOptions, resolve_oracle
from oracles.problem import Hypothesis

_SMALLEST, _CLOSE = 1e-3, 1.002

PromiseAt = Callable[[float], PrivacyReceipt]
"""The receipt of a fit at an epsilon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What a receipt will say of its guarantee.

    Parameters
    ----------
    guarantee : str
        HOLDS, CONDITIONAL or VOID; empty where nothing can run.
    conditions : tuple of str
        What it will rest on, or why it is VOID. Reading the rows can only add to them.
    epsilon_limit : float or None
        Where the size of epsilon makes it VOID, an epsilon at which the same fit is not: the
        largest, to three digits; None if there is none, or it is not VOID.
    protects : str
        The unit of privacy, with its most rows.
    """

    guarantee: str = ""
    conditions: tuple[str, ...] = ()
    epsilon_limit: float | None = None
    protects: str = ""

    @property
    def weakness(self) -> str:
        """A sentence where the size of delta or epsilon empties the promise; else empty."""
        text = weak_promise_text(self.guarantee, self.conditions)
        if text and self.epsilon_limit is not None:
            text += f"; up to epsilon {self.epsilon_limit:g} it does not"
        return text


def fit_receipt(
    settled: SettledFit, risks: RiskSpec | None = None, cuts: ThresholdPlan | None = None
) -> PrivacyReceipt:
    """Return the receipt of one card that is not drawn.

    Parameters
    ----------
    settled : SettledFit
        What would draw it, by the oracle that "auto" takes and without a limit.
    risks, cuts : RiskSpec, ThresholdPlan or None
        Other parts of the release.
    """
    prepared = _undrawn(settled)
    own = prepared.receipt() if risks is None else receipt_with_risks(prepared, risks)
    return own if cuts is None else receipt_with_thresholds(own, cuts)


def cards_receipt(
    strategy: str,
    n_classes: int,
    cards: Sequence[SettledFit],
    risks: Sequence[RiskSpec | None],
    public: PublicInputs,
) -> PrivacyReceipt:
    """Return the receipt of several cards that are not drawn."""
    prepared = [_undrawn(card) for card in cards]
    return receipt_of_cards(strategy, n_classes, prepared, risks, public, SystemEntropy())


def promise_of(receipt: PrivacyReceipt, at: PromiseAt | None = None) -> Promise:
    """Return what a receipt says; if it is VOID, and with ``at``, up to where it is not."""
    limit = None
    if at is not None and receipt.guarantee == Guarantee.VOID.value:
        limit = _largest_epsilon(at, receipt.epsilon)
    return Promise(
        guarantee=receipt.guarantee,
        conditions=receipt.conditions,
        epsilon_limit=limit,
        protects=receipt.protected_unit,
    )


def _undrawn(settled: SettledFit) -> PreparedRelease:
    spec = settled.mechanism.calibrate(settled.public)
    asks = isinstance(settled.mechanism, PerturbingMechanism)
    # Of a problem, only its grid and lattice decide who answers.
    toy = toy_problem(settled.public.grid)
    return PreparedRelease(
        mechanism=settled.mechanism,
        spec=spec,
        public=settled.public,
        oracle=resolve_oracle("auto", toy) if asks else None,
        options=SolveOptions(absolute_gap=spec.allowance),
        entropy=SystemEntropy(),
        choice=settled.reason,
        draw=_no_draw,
        refusal="",
    )


def _no_draw() -> Hypothesis:
    raise CalibrationError("a plan must not draw; fit instead.")


def keeping(at: PromiseAt) -> Callable[[float], bool]:
    """Return whether a fit at an epsilon can run and its receipt is not VOID, as a function."""

    def is_kept(epsilon: float) -> bool:
        try:
            return at(epsilon).guarantee != Guarantee.VOID.value
        except (CalibrationError, UnsupportedProblem):
            return False

    return is_kept


def _largest_epsilon(at: PromiseAt, epsilon: float) -> float | None:
    """Return the largest epsilon below one that is VOID, rounded down to three digits."""
    is_kept = keeping(at)
    low = epsilon / 2
    while not is_kept(low):
        low /= 2
        if low < _SMALLEST:
            return None
    high = 2 * low
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    step = 10.0 ** (math.floor(math.log10(low)) - 2)
    rounded = float(f"{math.floor(low / step) * step:.3g}")
    return rounded if is_kept(rounded) else None
