"""An audit: a lower bound on what a release really loses, from its own output on neighbours.

An audit can refute a claimed epsilon, never prove it; the proofs are in docs/theory.md. Each case
is run as the library is, and once more with less noise or without its defence, at the same claim:
a good audit refutes that control.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from opdisc.arguments import check_integer, check_within
from opdisc.privacy import EntropySource, PublicInputs, SystemEntropy

Draw = Callable[[Any, Any, int, EntropySource], Sequence[Any]]
"""From a table, public facts, a number and random bits to that many releases; None is none."""

Event = Callable[[Any], bool]

Pilots = Callable[[int], tuple[Sequence[Any], Sequence[Any]]]
"""From a number to that many releases on each table, which are not counted."""

_PILOT = 300
"""Releases on each table that choose a threshold; the bound uses fresh ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditResult:
    """What an audit found.

    Parameters
    ----------
    mechanism, pair : str
        What was audited, and on which tables.
    epsilon, delta : float
        The claim.
    lower_bound : float
        Confidence bound: the true epsilon at ``delta`` is at least this, except with probability
        ``false_alarm``.
    draws : int
        Releases drawn on each table.
    false_alarm : float
        Chance at most of refuting a claim that is true.
    """

    mechanism: str
    pair: str
    epsilon: float
    delta: float
    lower_bound: float
    draws: int
    false_alarm: float

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return self.lower_bound > self.epsilon


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCase:
    """A mechanism's audit, and its positive control.

    Parameters
    ----------
    calibrated : AuditResult
        The mechanism as it is; refuted means that it breaks its promise.
    less_noise : AuditResult
        The same with less noise; not refuted means that this audit would miss a mistake.
    divisor : float
        What the noise is divided by in the control.
    """

    calibrated: AuditResult
    less_noise: AuditResult
    divisor: float = 2.0


def best_threshold(pilots: Pilots, delta: float) -> Event:
    """Return "at least t" with the t that pilots, at low confidence, give the largest bound."""
    first, second = map(np.asarray, pilots(_PILOT))
    levels = np.linspace(0.02, 0.98, 49)
    candidates = np.unique(np.quantile(np.concatenate([first, second]), levels))

    def promise(threshold: float) -> float:
        one, other = (int((pilot >= threshold).sum()) for pilot in (first, second))
        return loss_bound(one, other, _PILOT, delta, 0.25)

    threshold = max(candidates.tolist(), key=promise)
    return lambda release: bool(release >= threshold)


def first_seen(pilots: Pilots, delta: float) -> Event:
    """Return "as in one pilot on the first table"."""
    told = pilots(1)[0][0]
    return lambda release: bool(release == told)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCase:
    """Two neighbouring tables, how to release on them, and a control that must be caught.

    Parameters
    ----------
    name : str
        What is attacked.
    tables : str
        The two tables, or how they differ.
    first, second : object
        The tables, as the draws take them.
    public : callable
        From the claimed epsilon to the public facts of the claim, delta and relation included.
    draw : callable
        The release as it is.
    control : callable
        The same with less noise, or without its defence.
    event : callable or None
        From a release to whether what tells the tables apart happened. It is fixed before anything
        is drawn; None lets pilots choose it.
    choose : callable
        How pilots choose the event.
    divisor : float
        What the noise is divided by in the control; 1 if there is none to divide.
    effort : float
        How many times the usual number of draws is made.
    least : int
        Draws at least.
    """

    name: str
    tables: str
    first: Any
    second: Any
    public: Callable[[float], PublicInputs]
    draw: Draw
    control: Draw
    event: Event | None = None
    choose: Callable[[Pilots, float], Event] = best_threshold
    divisor: float = 2.0
    effort: float = 1.0
    least: int = 1

    def run(
        self, epsilon: float, draws: int, false_alarm: float, entropy: EntropySource | None = None
    ) -> AuditedCase:
        """Audit the release at a claimed epsilon, and its control at the same claim.

        Parameters
        ----------
        epsilon : float
            The claim.
        draws : int
            Usual number of draws on each table; ``effort`` times as many are made.
        false_alarm : float
            Chance at most of refuting a claim that is true.
        entropy : EntropySource or None
            Random bits; None takes the operating system's.

        Raises
        ------
        CalibrationError
            If ``epsilon``, ``draws`` or ``false_alarm`` is out of range.
        """
        check_audit(draws, false_alarm)
        public, source = self.public(epsilon), entropy or SystemEntropy()
        draws = max(self.least, int(draws * self.effort))
        kept, less = (
            self.audit(draw, public, draws, false_alarm, source)
            for draw in (self.draw, self.control)
        )
        return AuditedCase(calibrated=kept, less_noise=less, divisor=self.divisor)

    def audit(
        self,
        draw: Draw,
        public: PublicInputs,
        draws: int,
        false_alarm: float,
        entropy: EntropySource,
    ) -> AuditResult:
        """Return what ``draws`` releases on each table say of the claim in ``public``."""

        def on_each(size: int) -> tuple[Sequence[Any], Sequence[Any]]:
            first = draw(self.first, public, size, entropy)
            return first, draw(self.second, public, size, entropy)

        delta = public.params.delta
        event = self.event or self.choose(on_each, delta)
        return AuditResult(
            mechanism=self.name,
            pair=self.tables,
            epsilon=public.params.epsilon,
            delta=delta,
            lower_bound=_bound(on_each(draws), event, delta, false_alarm),
            draws=draws,
            false_alarm=false_alarm,
        )


def _bound(
    releases: tuple[Sequence[Any], Sequence[Any]], event: Event, delta: float, false_alarm: float
) -> float:
    # A refusal instead of a release concerns the keeper of the table alone.
    if any(one is None for table in releases for one in table):
        return 0.0
    first, second = (sum(bool(event(one)) for one in table) for table in releases)
    return loss_bound(first, second, len(releases[0]), delta, false_alarm)


def one_by_one(release: Callable[[Any, Any, EntropySource], Any]) -> Draw:
    """Return draws that are each a release of their own."""

    def draw(table: Any, public: Any, size: int, entropy: EntropySource) -> list[Any]:
        return [release(table, public, entropy) for _ in range(size)]

    return draw


def with_facts(draw: Draw, louder: Callable[[Any], Any]) -> Draw:
    """Return the same draws with other public facts than those of the claim."""

    def control(table: Any, public: Any, size: int, entropy: EntropySource) -> Sequence[Any]:
        return draw(table, louder(public), size, entropy)

    return control


def check_audit(draws: int, false_alarm: float) -> None:
    """Refuse an audit without draws or with an impossible false alarm."""
    check_integer("draws", draws)
    check_within("false_alarm", false_alarm, 0, 1)


def loss_bound(first: int, second: int, draws: int, delta: float, false_alarm: float) -> float:
    """Return the largest certain ln((P - delta) / Q) over the event and its complement.

    Parameters
    ----------
    first, second : int
        How often the event happened on each table.
    draws : int
        Releases on each table.
    delta, false_alarm : float
        As in :class:`AuditResult`.
    """
    best = 0.0
    for one, other in (
        (first, second),
        (second, first),
        (draws - first, draws - second),
        (draws - second, draws - first),
    ):
        low = stats.beta.ppf(false_alarm / 8, one, draws - one + 1) if one else 0.0
        high = stats.beta.isf(false_alarm / 8, other + 1, draws - other) if other < draws else 1.0
        if low > delta:
            best = max(best, math.log((low - delta) / high))
    return best
