"""Oracles that lie, fail, talk or forge: none may release a wrong answer or say a cell."""

from __future__ import annotations

import contextlib
import io
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from opdisc.errors import UncertifiedRelease
from opdisc.mechanisms import one_hot_mechanism, run_mechanism
from opdisc.privacy import (
    GridPublic,
    GridReceipt,
    NeighboringRelation,
    PrivacyParams,
    SystemEntropy,
)
from oracles.enumeration.listing import EnumerationOracle
from oracles.errors import OracleError
from oracles.interface import Claim, SolveOptions, Termination
from oracles.problem import WeightGrid, ZeroOneProblem

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

CELL = "918273645"
GRID = WeightGrid.box(3, 1)
PROBLEM = ZeroOneProblem(
    points=[[1, 0, 0], [1, 1, 0], [1, 1, 1]],
    positives=[int(CELL), 1, 40],
    negatives=[2, 70, 3],
    grid=GRID,
)
PUBLIC = GridPublic(
    params=PrivacyParams(epsilon=1.0, delta=0.0),
    relation=NeighboringRelation.REPLACE_ONE,
    grid=GRID,
)


class Evil(EnumerationOracle):
    """Enumeration whose claim passes through someone else's hands."""

    name = "evil"

    def __init__(self, change: Callable[[Claim, ZeroOneProblem], Any]) -> None:
        self._change = change

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Return whatever was made of the claim."""
        answer: Claim = self._change(super().solve(problem, options), problem)
        return answer


def _raises(error: BaseException) -> Callable[[Claim, ZeroOneProblem], Any]:
    def act(claim: Claim, problem: ZeroOneProblem) -> Any:
        raise error

    return act


def _becomes(**fields: Any) -> Callable[[Claim, ZeroOneProblem], Any]:
    return lambda claim, problem: replace(claim, **fields)


def _talks(claim: Claim, problem: ZeroOneProblem) -> Claim:
    warnings.warn(f"the first cell is {CELL}", stacklevel=1)
    return replace(claim, dual_bound=-math.inf, termination=Termination.FEASIBLE)


def _unpickles(claim: Claim, problem: ZeroOneProblem) -> Any:
    class Odd:
        def __getattr__(self, name: str) -> Any:
            raise ValueError(CELL)

    return Odd()


def _without_bound(claim: Claim, problem: ZeroOneProblem) -> Claim:
    return replace(claim, dual_bound=-math.inf, termination=Termination.FEASIBLE)


_ANSWERS: dict[str, Callable[[Claim, ZeroOneProblem], Any]] = {
    "raises a cell": _raises(ValueError(CELL)),
    "raises out of memory": _raises(MemoryError(CELL)),
    "raises recursion": _raises(RecursionError(CELL)),
    "raises an unknown error": _raises(type("Novel", (Exception,), {})(CELL)),
    "raises a refusal with a cell": _raises(UncertifiedRelease(CELL)),
    "raises a key": _raises(KeyError(int(CELL))),
    "returns nothing": lambda claim, problem: None,
    "returns text": lambda claim, problem: CELL,
    "returns an object that raises": _unpickles,
    "no hypothesis, optimal": _becomes(hypothesis=None),
    "no bound": _without_bound,
    "bound not a number": _becomes(dual_bound=math.nan),
    "bound infinite": _becomes(dual_bound=math.inf),
    "bound as text": _becomes(dual_bound=CELL),
    "hypothesis of text": _becomes(hypothesis=(CELL, CELL, CELL)),
    "hypothesis too short": _becomes(hypothesis=(0,)),
    "hypothesis too long": _becomes(hypothesis=(0,) * 99),
    "objective not a number": _becomes(objective=math.nan),
    "objective better than true": lambda claim, p: replace(claim, objective=claim.objective - 999),
    "talks": _talks,
}


class Book:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.receipts: list[GridReceipt] = []

    def spend(self, receipt: GridReceipt) -> None:
        """Record a receipt."""
        self.receipts.append(receipt)


def evil_oracles(count: int) -> list[str]:
    """Run each evil oracle once and return what went wrong.

    Returns
    -------
    list of str
        Losses: a release that says HOLDS, a hypothesis outside the grid, a charge that was not
        recorded exactly once, an error other than a refusal, a cell in a refusal.
    """
    from helpers.oracles.broken import LIARS

    oracles: dict[str, Any] = {liar.name: liar() for liar in LIARS}
    oracles |= {name: Evil(change) for name, change in _ANSWERS.items()}
    losses = []
    for name, oracle in list(oracles.items())[:count]:
        book, wrong, refused = Book(), "", False
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("always")
            try:
                release = run_mechanism(
                    one_hot_mechanism(3),
                    PROBLEM,
                    PUBLIC,
                    entropy=SystemEntropy(),
                    oracle=oracle,
                    ledger=book,  # type: ignore[arg-type]
                )
                if release.receipt.guarantee == "HOLDS":
                    wrong = "says HOLDS"
                elif not GRID.contains(release.hypothesis):
                    wrong = "released from outside the grid"
            except UncertifiedRelease as error:
                if CELL in str(error) or error.__cause__ or error.__context__:
                    wrong = "a cell, or the oracle's own error, in the refusal"
            except OracleError as error:
                # A rehearsal without rows may find the oracle out before anything is spent.
                if book.receipts or CELL in str(error):
                    wrong = f"{type(error).__name__} after the charge, or with a cell"
                refused = not wrong
            except BaseException as error:  # noqa: B902  (whatever escapes is the finding)
                wrong = f"{type(error).__name__} escapes"
        if not (wrong or refused) and len(book.receipts) != 1:
            wrong = f"{len(book.receipts)} charges"
        if wrong:
            losses.append(f"{name}: {wrong}")
    return losses
